"""Batch calls of chat models: requests are written to files, and replies placed beside them are imported.

A command runs until every step needs a missing reply. Its requests up to that point are one round, and one batch
(https://platform.openai.com/docs/guides/batch). A request is written once; while it waits, later rounds leave it out.
The key links a reply to its request, so reply files may come in any number and order.
"""

import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NoReturn, Protocol, runtime_checkable

from polygraph.errors import BadInput, BudgetReached, RequestsWaiting, StorageFailed, UnusableReply, quoted
from polygraph.models.batch.lines import (
    ReplyLine,
    listing_line,
    listing_path,
    read_at,
    request_line,
    scan,
)
from polygraph.models.batch.store import BatchRow, BatchStore, LineResult
from polygraph.models.call_store import Attempt, CallStore
from polygraph.models.chat_completion import is_rejected, prompt_tokens, read_completion
from polygraph.models.protocols import ChatRequest
from polygraph.models.retry import Sender
from polygraph.models.transport import TransportError
from polygraph.text.prose import count_noun

_REQUEST_FILE = re.compile(r"requests-(\d{4,9})\.jsonl(\.tmp)?$")
_LISTING_FILE = re.compile(r"listing-\d{4,9}\.jsonl$")
_LOCK = "batch.lock"
_LAST = ".last-requests"
_LOCK_S = 60.0
_MAX_NAMED = 3
"""Files named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Folder and limits of batches."""

    folder: Path
    price: float = 0.5
    """Share of the regular price that a batch costs (OpenAI: half)."""
    tries: int = 3
    """Times that a request is written before an error counts as its result."""
    max_requests: int = 50_000
    """Requests per file (OpenAI: 50,000)."""
    max_bytes: int = 200_000_000
    """Bytes per file (OpenAI: 200 MB)."""


@runtime_checkable
class Batchable(Protocol):
    """A chat model whose requests can be written to a file."""

    def batch_body(self, request: ChatRequest, refusals: Sequence[str] = ()) -> dict[str, Any]:
        """Return the body of a request, without the features that the endpoint refused in earlier batches."""


@dataclass(slots=True)
class ImportedReplies:
    """Summary of an import of reply files."""

    replies: int = 0
    """Replies imported."""
    failed: int = 0
    """Requests that failed."""
    problems: Counter[str] = field(default_factory=Counter)
    """Their error messages."""
    unknown: int = 0
    """Replies to requests that this index has not made."""
    invalid: int = 0
    """Lines that are not replies."""
    files: int = 0
    """Files with any of these."""

    def __bool__(self) -> bool:
        return self.files > 0

    def __str__(self) -> str:
        parts = [f"{count_noun(self.replies, 'reply')} imported"]
        if self.failed:
            problem = min(self.problems, key=lambda text: (-self.problems[text], text))
            parts.append(f"{count_noun(self.failed, 'request')} failed (most often: {problem})")
        if self.unknown:
            parts.append(
                f"{count_noun(self.unknown, 'reply')} of another index or an earlier build found, "
                "used as this index comes to their requests"
            )
        if self.invalid:
            parts.append(f"{count_noun(self.invalid, 'line')} that cannot be read as a reply")
        return f"{', '.join(parts)}, from {count_noun(self.files, 'file')}"


@dataclass(slots=True)
class _DraftedRequest:
    """A request that this round will write."""

    row: BatchRow
    question: str
    """Id of the question that it is for, or empty."""
    begin: int
    size: int
    cost: float | None


class Round:
    """Requests of one round. Their lines are in a temporary file, since they may not fit into memory."""

    def __init__(self) -> None:
        self.drafted: dict[str, _DraftedRequest] = {}
        self.earlier: dict[str, str] = {}
        """Requests of this round that wait already: the file of an earlier round, by key."""
        self.held: set[str] = set()
        """Requests kept back by a cap."""
        self.used: set[str] = set()
        """Requests whose batch replies were used."""
        self._spool: IO[bytes] | None = None
        self._size = 0

    def add(self, row: BatchRow, question: str, line: bytes, cost: float | None) -> None:
        """Add a request."""
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  closed with the round
        self._spool.write(line)
        self.drafted[row.key] = _DraftedRequest(row, question, self._size, len(line), cost)
        self._size += len(line)

    def line(self, drafted: _DraftedRequest) -> bytes:
        """Read the line of a request."""
        assert self._spool is not None  # noqa: S101  it was written there
        self._spool.seek(drafted.begin)
        return self._spool.read(drafted.size)

    def close(self) -> None:
        """Close the temporary file."""
        if self._spool is not None:
            self._spool.close()

    @property
    def waits(self) -> bool:
        """True if any request has no reply."""
        return bool(self.drafted or self.earlier or self.held)


class Batch:
    """The batches of one store of calls.

    Args:
        options: folder and limits.
        store: of the calls.
        sender: its caps and prices apply.
        persistent: False if the store is in memory only, so that replies could not be matched later.
    """

    def __init__(self, options: BatchOptions, store: CallStore, sender: Sender, *, persistent: bool) -> None:
        if options.folder.exists() and not options.folder.is_dir():
            raise BadInput(
                f"--batch {options.folder} is a file. Name a folder, which is created if it does not exist"
            )
        self.options = options
        self.index = ""
        """What messages call the index that the calls are for; empty if they are for none."""
        self._folder = options.folder.resolve()
        self._calls = store
        self._store = BatchStore(store)
        self._sender = sender
        self._persistent = persistent
        self._lock = threading.Lock()
        self._rows: dict[str, BatchRow] = {}
        self._refusals: dict[str, list[str]] = {}
        self._scanned: dict[str, tuple[int, int]] = {}
        self._unmatched: dict[str, tuple[Path, int]] = {}
        """Replies to requests that were not made so far: file and position of the line, by key."""

    # --- rounds -------------------------------------------------------------------------------------

    @contextmanager
    def round(self) -> Iterator[Round]:
        """Import new replies, run the block, and write its requests.

        Raises:
            RequestsWaiting: after the block, if a request waits.
            BudgetReached: after the block, if a cap kept requests from being written.
        """
        self.import_replies()
        current = Round()
        try:
            try:
                yield current
            except RequestsWaiting:
                if not current.waits:
                    raise
            if current.waits:
                # Even if the caller handled RequestsWaiting: later steps depend on the missing replies.
                self._publish(current)
            if current.used:
                # The command that used them has finished: from now on they are cached replies.
                self._store.mark_used(current.used)
        finally:
            current.close()

    def ask(
        self,
        current: Round,
        model: Any,
        request: ChatRequest,
        key: str,
        line: Attempt,
        writes: int,
        *,
        question: str = "",
    ) -> None:
        """Draft a request that has no stored reply. Return only if an unmatched reply to it was found and stored.

        Args:
            current: the round.
            model: that replies.
            request: to write.
            key: of the request.
            line: its ledger entry.
            writes: expected tokens of the reply.
            question: id of the question that it is for, or empty.

        Raises:
            RequestsWaiting: otherwise; the request is written at the end of the round.
            UnusableReply: if all its attempts ended with errors.
            BadInput: if the requests of this model cannot be written to a file.
        """
        with self._lock:
            row = self._rows.get(key)
            if row is not None and row.state == "refused":
                raise UnusableReply(row.problem)
            if row is not None and row.state == "failed" and row.tries >= self.options.tries:
                raise UnusableReply(f"it failed in {row.tries} batches, the last time with: {row.problem}")
            if row is not None and row.state == "sent":
                current.earlier[key] = row.file
                raise RequestsWaiting
            known = current.drafted.get(key)
            if known is not None:
                # Two methods make the same request: it is recorded for the first by name, whichever thread came first.
                stage, method, known.question = min(
                    (known.row.stage, known.row.method, known.question), (line.stage, line.method, question)
                )
                known.row = replace(known.row, stage=stage, method=method)
                raise RequestsWaiting
            fresh = BatchRow(
                key=key,
                stage=line.stage,
                method=line.method,
                model=line.model,
                outcome=line.outcome,
                prompt_tokens=prompt_tokens(request),
                tries=row.tries if row is not None else 0,
            )
            if self._import_unmatched(fresh):
                return
            if key in current.held:
                raise RequestsWaiting
            self._draft(current, model, request, fresh, question, writes)

    def _draft(
        self, current: Round, model: Any, request: ChatRequest, row: BatchRow, question: str, writes: int
    ) -> NoReturn:
        if not isinstance(model, Batchable):
            raise BadInput(
                f"the model {model.name!r} cannot be called by batch. Run the command without --batch"
            )
        if not self._persistent:
            raise BadInput(
                "the folder of the index cannot be written, so the replies of a batch could not be stored. Name "
                "another folder with --index, or run the command without --batch"
            )
        body = model.batch_body(request, self._refusals.get(row.model, ()))
        try:
            cost = self._sender.commit(model, row.prompt_tokens, writes, share=self.options.price)
        except BudgetReached:
            current.held.add(row.key)
            raise RequestsWaiting from None
        current.add(row, question, request_line(row.key, body), cost)
        raise RequestsWaiting

    def _publish(self, current: Round) -> NoReturn:
        """Write the requests of a round, and raise the error that says so."""
        with self._folder_lock():
            # Another process may have written some of them in the meantime.
            for key, row in self._store.rows().items():
                if row.state == "sent" and key in current.drafted:
                    del current.drafted[key]
                    current.earlier[key] = row.file
            written = self._write(current)
        n, earlier = len(current.drafted), len(current.earlier)
        message = self._waiting_message(current, written) if n or earlier else ""
        if current.held:
            stopped = f"{message}; " if message else ""
            raise BudgetReached(
                f"{stopped}{count_noun(len(current.held), 'more request')} would exceed the cap: not written. The same "
                "command with a higher --max-cost or --max-spend-tokens writes them"
            ) from None
        raise RequestsWaiting(message, files=written, written=n, earlier=earlier) from None

    def _write(self, current: Round) -> list[Path]:
        """Write new files, ordered by stage, method and key, and record their requests; existing files stay.

        Beside each is a listing that says what its requests are for.
        """
        ordered = sorted(current.drafted.values(), key=lambda d: (d.row.stage, d.row.method, d.row.key))
        files: list[Path] = []
        at = 0
        while at < len(ordered):
            end, size = at, 0
            while end < len(ordered) and end - at < self.options.max_requests:
                size += ordered[end].size
                if size > self.options.max_bytes and end > at:
                    break
                end += 1
            try:
                path = self._next_path()
                temporary = path.with_name(f"{path.name}.tmp")
                with temporary.open("wb") as file:
                    for drafted in ordered[at:end]:
                        file.write(current.line(drafted))
                    file.flush()
                    os.fsync(file.fileno())
                with listing_path(path).open("wb") as listing:
                    for drafted in ordered[at:end]:
                        row = drafted.row
                        listing.write(listing_line(row.key, row.stage, row.method, drafted.question))
                # Record first, rename then: a visible file is always recorded, whenever this is interrupted.
                self._store.put(replace(d.row, state="sent", file=str(path)) for d in ordered[at:end])
                temporary.replace(path)
            except OSError as error:
                raise StorageFailed(
                    f"cannot write {self.options.folder}: {error.strerror or error}. Nothing is lost: the same command "
                    "writes what is missing"
                ) from error
            files.append(path)
            at = end
        return files

    def _next_path(self) -> Path:
        """Return a file name that was never used in this folder, even by a file that was moved: scripts list names."""
        last = self._folder / _LAST
        recorded = last.read_text(encoding="ascii", errors="replace").strip() if last.is_file() else ""
        names = [path.name for path in self._folder.iterdir()]
        numbers = [int(found[1]) for name in names if (found := _REQUEST_FILE.fullmatch(name))]
        if recorded.isascii() and recorded.isdigit() and len(recorded) < 10:
            numbers.append(int(recorded))
        n = max(numbers, default=0) + 1
        last.write_text(f"{n}\n", encoding="ascii")
        return self._folder / f"requests-{n:04d}.jsonl"

    def _waiting_message(self, current: Round, written: Sequence[Path]) -> str:
        n, m = len(current.drafted), len(current.earlier)
        total = f"{count_noun(n + m, 'request')} waiting in"
        resume = "Put the replies there, in files of any name, and run the same command again"
        before = self._file_names(Path(file) for file in current.earlier.values())
        if not n:
            again = f"polygraph batch --again{f' --index {quoted(self.index)}' if self.index else ''}"
            return f"{total} {before}. {resume}; or, if there will be none, write the requests again with: {again}"
        size = f"about {sum(d.row.prompt_tokens for d in current.drafted.values()):,} input tokens"
        costs = [d.cost for d in current.drafted.values()]
        if None not in costs:
            cost = sum(each or 0.0 for each in costs)
            size += f", about ${cost:.{2 if cost >= 1 else 4}f}"
        stages = Counter(drafted.row.stage for drafted in current.drafted.values())
        size += "; " + ", ".join(f"{count:,} of {stage}" for stage, count in sorted(stages.items()))
        earlier = f"; {m:,} of them already in {before}" if m else ""
        return f"{total} {self._file_names(written)} ({size}){earlier}. {resume}"

    def _file_names(self, files: Iterable[Path]) -> str:
        """Return some file names for a message, in the folder as the user named it."""
        listed = sorted(set(files))
        shown = [
            str(self.options.folder / file.name if file.parent == self._folder else file) for file in listed
        ]
        more = f" and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
        return ", ".join(shown[:_MAX_NAMED]) + more

    # --- replies ------------------------------------------------------------------------------------

    def import_replies(self) -> ImportedReplies:
        """Import the replies in the folder, each once, and return a summary.

        Raises:
            StorageFailed: if the folder cannot be read.
        """
        imported = ImportedReplies()
        with self._lock:
            self._rows = self._store.rows()
            if not self._folder.is_dir():
                return imported
            self._rename_recorded()
            try:
                for path in sorted(self._folder.iterdir()):
                    self._import_file(path, imported)
            except OSError as error:
                raise StorageFailed(
                    f"cannot read {self.options.folder}: {error.strerror or error}"
                ) from error
            if imported:
                self._rows = self._store.rows()
            self._refusals = self._store.refusals()
        return imported

    def _import_file(self, path: Path, imported: ImportedReplies) -> None:
        if (
            _REQUEST_FILE.fullmatch(path.name)
            or _LISTING_FILE.fullmatch(path.name)
            or path.name.startswith(".")
            or path.name == _LOCK
            or not path.is_file()
        ):
            return
        state = path.stat()
        now = (state.st_size, state.st_mtime_ns)
        if self._scanned.get(path.name) == now:
            return
        before = (imported.replies, imported.failed, imported.unknown, imported.invalid)
        for piece in scan(path):
            imported.invalid += piece.invalid
            new = self._store.unseen([line.digest for _, line in piece.lines])
            known: list[LineResult] = []
            for begin, line in piece.lines:
                if line.digest not in new:
                    continue
                if line.key in self._rows:
                    known.append(self._result_of(line, self._rows[line.key]))
                elif line.completion is not None:
                    self._unmatched[line.key] = (path, begin)
                    # A reply that is stored already was requested directly, or by another index.
                    imported.unknown += self._calls.reply(line.key) is None
            for result in self._store.commit(known):
                if result.reply is not None:
                    imported.replies += 1
                else:
                    imported.failed += 1
                    imported.problems[result.problem] += 1
        self._scanned[path.name] = now
        imported.files += before != (imported.replies, imported.failed, imported.unknown, imported.invalid)

    def _result_of(self, line: ReplyLine, row: BatchRow) -> LineResult:
        """Return the result of a line for its request."""
        if line.completion is None:
            rejected = is_rejected(line.status, line.problem)
            return LineResult(
                key=row.key,
                digest=line.digest,
                reply=None,
                problem=line.problem,
                retryable=not rejected,
                refusal=line.status in {400, 422} and not rejected,
            )
        try:
            reply = read_completion(line.completion, row.prompt_tokens)
        except TransportError as error:
            return LineResult(
                key=row.key,
                digest=line.digest,
                reply=None,
                problem=str(error),
                prompt_tokens=error.prompt_tokens,
                completion_tokens=error.completion_tokens,
                cost=self._cost(row.model, error.prompt_tokens, error.completion_tokens),
                retryable=error.retryable,
            )
        cost = self._cost(row.model, reply.prompt_tokens, reply.completion_tokens)
        return LineResult(key=row.key, digest=line.digest, reply=reply, cost=cost)

    def _import_unmatched(self, row: BatchRow) -> bool:
        """Import a reply to a request of another index, or of this one before its store of calls was lost."""
        position = self._unmatched.pop(row.key, None)
        line = read_at(*position) if position is not None else None
        if line is None or line.key != row.key or line.completion is None:
            return False
        result = self._result_of(line, row)
        if result.reply is None:
            return False
        self._store.put([row])
        self._store.commit([result])
        self._rows[row.key] = replace(row, state="came", cost=result.cost)
        return True

    def _cost(self, model: str, reads: int, writes: int) -> float | None:
        cost = self._sender.cost_of(model, reads, writes)
        return None if cost is None else cost * self.options.price

    # --- use ----------------------------------------------------------------------------------------

    def first_use(self, current: Round, key: str) -> BatchRow | None:
        """Return the request of a batch reply that no finished command has used yet and that counts as paid now."""
        with self._lock:
            row = self._rows.get(key)
            if row is None or row.state != "came" or key in current.used:
                return None
            current.used.add(key)
            return row

    # --- the folder ---------------------------------------------------------------------------------

    @contextmanager
    def _folder_lock(self) -> Iterator[None]:
        """Keep other processes from writing to the folder."""
        from filelock import FileLock, Timeout

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / _LOCK, timeout=_LOCK_S):
                yield
        except Timeout as error:
            raise StorageFailed(
                f"another process has been writing to {self.options.folder} for a minute. Wait until it ends"
            ) from error
        except OSError as error:
            raise StorageFailed(f"cannot write {self.options.folder}: {error.strerror or error}") from error

    def _rename_recorded(self) -> None:
        """Rename temporary files that an interrupted process had recorded."""
        if any(self._folder.glob("requests-*.jsonl.tmp")):
            with self._folder_lock():
                recorded = {row.file for row in self._store.rows().values()}
                for temporary in sorted(self._folder.glob("requests-*.jsonl.tmp")):
                    # A file that is not recorded may belong to another index; its requests will be written again.
                    if str(temporary.with_suffix("")) in recorded:
                        temporary.replace(temporary.with_suffix(""))
