"""Calls of chat models by batch: requests are written to files, and replies that are put beside them are taken in.

A command runs until nothing goes on without a reply that is not there; all that it would have asked until then is one
round, and one batch (https://platform.openai.com/docs/guides/batch). A request is written once: while it waits, further
rounds leave it out. A reply belongs to its request by the key, so files may come in any order and number.
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

from polygraph.errors import BadInput, BudgetReached, RequestsWaiting, StorageFailed, UnusableReply
from polygraph.models.batch.lines import ReplyLine, read_at, request_line, scan
from polygraph.models.batch.store import BatchRow, BatchStore, Came
from polygraph.models.cache import Attempt, CallStore
from polygraph.models.chat_completion import is_rejected, prompt_tokens, read_completion
from polygraph.models.protocols import ChatRequest
from polygraph.models.retry import Sender
from polygraph.models.transport import TransportError

_OURS = re.compile(r"requests-(\d{4,9})\.jsonl(\.tmp)?$")
_LOCK = "batch.lock"
_LAST = ".last-requests"
_LOCK_S = 60.0
_SHOWN = 3
"""Files that are named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Where batches are, and how large."""

    folder: Path
    price: float = 0.5
    """Share of the usual price that a batch costs (OpenAI: half)."""
    tries: int = 3
    """Times that a request is written before errors count as its answer."""
    max_requests: int = 50_000
    """Requests in one file (OpenAI: 50,000)."""
    max_bytes: int = 200_000_000
    """Bytes of one file (OpenAI: 200 MB)."""


@runtime_checkable
class Batchable(Protocol):
    """A chat model whose requests can be written down."""

    def batch_body(self, request: ChatRequest, refusals: Sequence[str] = ()) -> dict[str, Any]:
        """The body of a request, without what the endpoint refused in earlier batches."""


@dataclass(slots=True)
class Taken:
    """What was found beside the requests."""

    replies: int = 0
    """Replies that were taken in."""
    failed: int = 0
    """Errors that came for requests."""
    problems: Counter[str] = field(default_factory=Counter)
    """What they said."""
    unknown: int = 0
    """Replies to requests that this index has not written."""
    odd: int = 0
    """Lines that are not replies."""
    files: int = 0
    """Files that held any of these."""

    def __bool__(self) -> bool:
        return self.files > 0

    def __str__(self) -> str:
        told = [f"{_n(self.replies, 'reply', 'replies')} taken in"]
        if self.failed:
            problem = min(self.problems, key=lambda text: (-self.problems[text], text))
            told.append(f"{_n(self.failed, 'request')} failed (most often: {problem})")
        if self.unknown:
            told.append(f"{_n(self.unknown, 'reply', 'replies')} to what this index has not asked so far")
        if self.odd:
            told.append(f"{_n(self.odd, 'line')} that no batch service writes")
        return f"{', '.join(told)}, from {_n(self.files, 'file')}"


@dataclass(slots=True)
class _Drafted:
    """A request that this round will write."""

    row: BatchRow
    begin: int
    size: int
    cost: float | None


class Round:
    """Requests of one round, their lines in a temporary file, since all of them may not fit the memory."""

    def __init__(self) -> None:
        self.drafted: dict[str, _Drafted] = {}
        self.earlier: dict[str, str] = {}
        """Files of earlier rounds in which requests of this one wait, by key."""
        self.held: set[str] = set()
        """Requests for which a cap has no room."""
        self.used: set[str] = set()
        """Requests whose replies, that a batch brought, were made use of."""
        self._spool: IO[bytes] | None = None
        self._size = 0

    def add(self, row: BatchRow, line: bytes, cost: float | None) -> None:
        """Take a request."""
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  closed with the round
        self._spool.write(line)
        self.drafted[row.key] = _Drafted(row, self._size, len(line), cost)
        self._size += len(line)

    def line(self, drafted: _Drafted) -> bytes:
        """Read a request back."""
        assert self._spool is not None  # noqa: S101  it was written there
        self._spool.seek(drafted.begin)
        return self._spool.read(drafted.size)

    def close(self) -> None:
        """Let go of the temporary file."""
        if self._spool is not None:
            self._spool.close()

    @property
    def waits(self) -> bool:
        """Whether anything was asked that is not answered."""
        return bool(self.drafted or self.earlier or self.held)


class Batch:
    """The batches of one store of calls.

    Args:
        options: where, and how large.
        store: of the calls.
        sender: whose caps and prices count.
        kept: False if the store is in memory only, so that replies would find nobody who asked.
    """

    def __init__(self, options: BatchOptions, store: CallStore, sender: Sender, *, kept: bool) -> None:
        if options.folder.exists() and not options.folder.is_dir():
            raise BadInput(
                f"--batch {options.folder} is a file. Name a folder, which is made if it is not there"
            )
        self.options = options
        self._folder = options.folder.resolve()
        self._calls = store
        self._store = BatchStore(store)
        self._sender = sender
        self._kept = kept
        self._lock = threading.Lock()
        self._rows: dict[str, BatchRow] = {}
        self._refusals: dict[str, list[str]] = {}
        self._scanned: dict[str, tuple[int, int]] = {}
        self._loose: dict[str, tuple[Path, int]] = {}
        """Where replies to requests stand that were not asked so far, by key."""

    # --- rounds -------------------------------------------------------------------------------------

    @contextmanager
    def round(self) -> Iterator[Round]:
        """Take in what came, run the block, and write what it asked.

        Raises:
            RequestsWaiting: after the block, if anything waits.
            BudgetReached: after the block, if a cap kept requests from being written.
        """
        self.take_in()
        current = Round()
        try:
            try:
                yield current
            except RequestsWaiting:
                if not current.waits:
                    raise
            if current.waits:
                # Also if somebody took a request that waits for an answer: nobody asked for what comes of that.
                self._publish(current)
            if current.used:
                # What made use of them is finished: from now on they are known replies like others.
                self._store.used(current.used)
        finally:
            current.close()

    def ask(
        self, current: Round, model: Any, request: ChatRequest, key: str, line: Attempt, writes: int
    ) -> None:
        """Draft a request that has no stored reply; come back only if its reply lay there all the same, and is stored.

        Raises:
            RequestsWaiting: if it is not there; it is written at the end of the round.
            UnusableReply: if only errors came for it.
            BadInput: if the model's requests cannot be written down.
        """
        with self._lock:
            row = self._rows.get(key)
            if row is not None and row.state == "refused":
                raise UnusableReply(row.problem)
            if row is not None and row.state == "failed" and row.tries >= self.options.tries:
                raise UnusableReply(f"only errors came in {row.tries} batches, the last: {row.problem}")
            if row is not None and row.state == "sent":
                current.earlier[key] = row.file
                raise RequestsWaiting
            known = current.drafted.get(key)
            if known is not None:
                # Two methods ask the same: whichever thread was first, it counts for the first by name.
                whose = min((known.row.stage, known.row.method), (line.stage, line.method))
                known.row = replace(known.row, stage=whose[0], method=whose[1])
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
            if self._find_loose(fresh):
                return
            if key in current.held:
                raise RequestsWaiting
            self._draft(current, model, request, fresh, writes)

    def _draft(
        self, current: Round, model: Any, request: ChatRequest, row: BatchRow, writes: int
    ) -> NoReturn:
        if not isinstance(model, Batchable):
            raise BadInput(f"the model {model.name!r} cannot be asked by batch. Go without --batch")
        if not self._kept:
            raise BadInput(
                "the folder of the index cannot be written, so the replies of a batch would have no place. Name "
                "another one with --index, or go without --batch"
            )
        body = model.batch_body(request, self._refusals.get(row.model, ()))
        try:
            cost = self._sender.commit(model, row.prompt_tokens, writes, share=self.options.price)
        except BudgetReached:
            current.held.add(row.key)
            raise RequestsWaiting from None
        current.add(row, request_line(row.key, body), cost)
        raise RequestsWaiting

    def _publish(self, current: Round) -> NoReturn:
        """Write what a round asked, and say so."""
        with self._alone():
            # Another process may have written some of it meanwhile.
            for key, row in self._store.rows().items():
                if row.state == "sent" and key in current.drafted:
                    del current.drafted[key]
                    current.earlier[key] = row.file
            written = self._write(current)
        n, earlier = len(current.drafted), len(current.earlier)
        told = self._told(current, written) if n or earlier else ""
        if current.held:
            stopped = f"{told}; " if told else ""
            raise BudgetReached(
                f"{stopped}{len(current.held):,} more requests would pass the cap and were not written. The same "
                "command with a higher --max-cost or --max-spend-tokens writes them"
            ) from None
        raise RequestsWaiting(told, files=written, written=n, earlier=earlier) from None

    def _write(self, current: Round) -> list[Path]:
        """Write new files, by stage, method and key, and record what is in them; those that are there stay."""
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
                # First the record, then the name: a file that can be seen is known, whenever this is stopped.
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
        """A name that was never used in this folder, also if its file was moved away: scripts keep lists of names."""
        last = self._folder / _LAST
        noted = last.read_text(encoding="ascii", errors="replace").strip() if last.is_file() else ""
        names = [path.name for path in self._folder.iterdir()]
        numbers = [int(found[1]) for name in names if (found := _OURS.fullmatch(name))]
        n = max([*numbers, int(noted) if noted.isascii() and noted.isdigit() and len(noted) < 10 else 0]) + 1
        last.write_text(f"{n}\n", encoding="ascii")
        return self._folder / f"requests-{n:04d}.jsonl"

    def _told(self, current: Round, written: Sequence[Path]) -> str:
        n, m = len(current.drafted), len(current.earlier)
        total = f"{_n(n + m, 'request')} waiting in"
        go_on = "Put the replies there, in files of any name, and run the same command again"
        before = self._named(Path(file) for file in current.earlier.values())
        if not n:
            again = "polygraph batch --again"
            return (
                f"{total} {before}. {go_on}; or, if there will be none, have them written again with: {again}"
            )
        size = f"about {sum(d.row.prompt_tokens for d in current.drafted.values()):,} tokens to be read"
        costs = [d.cost for d in current.drafted.values()]
        if None not in costs:
            cost = sum(each or 0.0 for each in costs)
            size += f", about ${cost:.{2 if cost >= 1 else 4}f}"
        earlier = f"; {m:,} of them already in {before}" if m else ""
        return f"{total} {self._named(written)} ({size}){earlier}. {go_on}"

    def _named(self, files: Iterable[Path]) -> str:
        """Some files in a line; those of this folder as the user calls it."""
        listed = sorted(set(files))
        shown = [
            str(self.options.folder / file.name if file.parent == self._folder else file) for file in listed
        ]
        more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        return ", ".join(shown[:_SHOWN]) + more

    # --- replies ------------------------------------------------------------------------------------

    def take_in(self) -> Taken:
        """Take in the replies that lie in the folder, each once, and tell what there was."""
        taken = Taken()
        with self._lock:
            self._rows = self._store.rows()
            if not self._folder.is_dir():
                return taken
            self._mend()
            try:
                for path in sorted(self._folder.iterdir()):
                    self._take_file(path, taken)
            except OSError as error:
                raise StorageFailed(
                    f"cannot read {self.options.folder}: {error.strerror or error}"
                ) from error
            if taken:
                self._rows = self._store.rows()
            self._refusals = self._store.refusals()
        return taken

    def _take_file(self, path: Path, taken: Taken) -> None:
        if (
            _OURS.fullmatch(path.name)
            or path.name.startswith(".")
            or path.name == _LOCK
            or not path.is_file()
        ):
            return
        state = path.stat()
        now = (state.st_size, state.st_mtime_ns)
        if self._scanned.get(path.name) == now:
            return
        before = (taken.replies, taken.failed, taken.unknown, taken.odd)
        for piece in scan(path):
            taken.odd += piece.odd
            new = self._store.unseen([line.digest for _, line in piece.lines])
            known: list[Came] = []
            for begin, line in piece.lines:
                if line.digest not in new:
                    continue
                if line.key in self._rows:
                    known.append(self._came(line, self._rows[line.key]))
                elif line.completion is not None:
                    self._loose[line.key] = (path, begin)
                    # What the store has already was asked over the wire, or by another index's file.
                    taken.unknown += self._calls.reply(line.key) is None
            for came in self._store.take(known):
                if came.reply is not None:
                    taken.replies += 1
                else:
                    taken.failed += 1
                    taken.problems[came.problem] += 1
        self._scanned[path.name] = now
        taken.files += before != (taken.replies, taken.failed, taken.unknown, taken.odd)

    def _came(self, line: ReplyLine, row: BatchRow) -> Came:
        """What a line brings for a request."""
        if line.completion is None:
            rejected = is_rejected(line.status, line.problem)
            return Came(
                key=row.key,
                digest=line.digest,
                reply=None,
                problem=line.problem,
                again=not rejected,
                refusal=line.status in {400, 422} and not rejected,
            )
        try:
            reply = read_completion(line.completion, row.prompt_tokens)
        except TransportError as error:
            return Came(
                key=row.key,
                digest=line.digest,
                reply=None,
                problem=str(error),
                prompt_tokens=error.prompt_tokens,
                completion_tokens=error.completion_tokens,
                cost=self._cost(row.model, error.prompt_tokens, error.completion_tokens),
                again=error.retryable,
            )
        cost = self._cost(row.model, reply.prompt_tokens, reply.completion_tokens)
        return Came(key=row.key, digest=line.digest, reply=reply, cost=cost)

    def _find_loose(self, row: BatchRow) -> bool:
        """Take in a reply to what another index wrote, or this one before it lost its store of calls."""
        place = self._loose.pop(row.key, None)
        line = read_at(*place) if place is not None else None
        if line is None or line.key != row.key or line.completion is None:
            return False
        came = self._came(line, row)
        if came.reply is None:
            return False
        self._store.put([row])
        self._store.take([came])
        self._rows[row.key] = replace(row, state="came", cost=came.cost)
        return True

    def _cost(self, model: str, reads: int, writes: int) -> float | None:
        cost = self._sender.cost_of(model, reads, writes)
        return None if cost is None else cost * self.options.price

    # --- use ----------------------------------------------------------------------------------------

    def first_use(self, current: Round, key: str) -> BatchRow | None:
        """The request of a stored reply that no finished command has made use of yet, so that it counts as paid now."""
        with self._lock:
            row = self._rows.get(key)
            if row is None or row.state != "came" or key in current.used:
                return None
            current.used.add(key)
            return row

    # --- the folder ---------------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing requests in the folder."""
        from filelock import FileLock, Timeout

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / _LOCK, timeout=_LOCK_S):
                yield
        except Timeout as error:
            raise StorageFailed(
                f"another process has been writing in {self.options.folder} for a minute"
            ) from error
        except OSError as error:
            raise StorageFailed(f"cannot write {self.options.folder}: {error.strerror or error}") from error

    def _mend(self) -> None:
        """Give their names to files that a process had recorded when it was stopped."""
        if any(self._folder.glob("requests-*.jsonl.tmp")):
            with self._alone():
                recorded = {row.file for row in self._store.rows().values()}
                for temporary in sorted(self._folder.glob("requests-*.jsonl.tmp")):
                    # One that is not recorded may be another index's; its requests will be asked again.
                    if str(temporary.with_suffix("")) in recorded:
                        temporary.replace(temporary.with_suffix(""))


def _n(n: int, one: str, more: str = "") -> str:
    return f"{n:,} {one if n == 1 else more or one + 's'}"
