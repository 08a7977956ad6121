"""State of batch requests beside the replies: each request is written once, and each reply counts once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from polygraph.models.call_store import Attempt, CallStore, Outcome
from polygraph.models.call_store.call_store import insert_attempt, insert_reply
from polygraph.models.call_store.database import Row
from polygraph.models.protocols import ChatReply

State: TypeAlias = Literal["sent", "failed", "refused", "came"]
"""`sent`: written to a file, no reply yet. `failed`: an error, may be sent again. `refused`: an error, sending it again
is pointless. `came`: the reply is stored, and no finished command has used it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """A batch request."""

    key: str
    stage: str
    method: str
    model: str
    outcome: Outcome
    """`repaired`: the repair round after an unusable reply."""
    prompt_tokens: int
    """Counted when the request was written."""
    state: State = "sent"
    file: str = ""
    """File that it was last written to."""
    tries: int = 0
    """Number of errors received for it."""
    problem: str = ""
    """The last error."""
    cost: float | None = None
    """Cost of the reply in US dollars; None if the price is not known."""

    def attempt(self, **more: object) -> Attempt:
        """Return its ledger entry."""
        line = {"stage": self.stage, "method": self.method, "model": self.model, "outcome": self.outcome}
        return Attempt(**{**line, **more})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """The result of a reply line for its request."""

    key: str
    digest: bytes
    """Identifies the line."""
    reply: ChatReply | None
    """None for an error."""
    cost: float | None = 0.0
    problem: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retryable: bool = True
    """False if sending the request again is pointless."""
    refusal: bool = False
    """True if the endpoint refuses a feature of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """Open requests of a request file."""

    file: str
    waiting: int
    """Requests without a reply."""
    failed: int
    """Requests that failed and are not written again yet."""


_COLUMNS = tuple(field.name for field in fields(BatchRow))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM batch"  # noqa: S608  names of columns
_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
_WAITS = "state = 'sent' AND key NOT IN (SELECT key FROM reply)"


class BatchStore:
    """The batch tables of a store of calls."""

    def __init__(self, store: CallStore) -> None:
        self._store = store

    def rows(self) -> dict[str, BatchRow]:
        """Return all requests by key."""
        with self._store.transaction() as run:
            found = run.rows(_SELECT)
        return {row[0]: _batch_row(row) for row in found}

    def refusals(self) -> dict[str, list[str]]:
        """Return the messages with which endpoints refused features of requests, by model, in alphabetical order."""
        found: dict[str, list[str]] = {}
        with self._store.transaction() as run:
            for model, problem in run.rows("SELECT model, problem FROM batch_refusal ORDER BY 1, 2"):
                found.setdefault(model, []).append(problem)
        return found

    def files(self) -> list[FileState]:
        """Return the files with unanswered requests, by path."""
        query = (
            f"SELECT file, sum(CASE WHEN {_WAITS} THEN 1 ELSE 0 END), "  # noqa: S608
            "sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) FROM batch GROUP BY file ORDER BY file"
        )
        with self._store.transaction() as run:
            found = run.rows(query)
        return [FileState(file=f, waiting=n, failed=m) for f, n, m in found if n or m]

    def put(self, rows: Iterable[BatchRow]) -> None:
        """Record requests that are written to a file."""
        some = list(rows)
        values = [tuple(getattr(row, name) for name in _COLUMNS) for row in some]
        marks = ", ".join("?" * len(_COLUMNS))
        with self._store.transaction() as run:
            run.execute_many(
                f"INSERT INTO batch VALUES ({marks}) ON CONFLICT (key) DO UPDATE SET {_REPLACED}",  # noqa: S608
                values,
            )
            files = sorted({(row.file,) for row in some})
            run.execute_many("INSERT INTO batch_file VALUES (?) ON CONFLICT (path) DO NOTHING", files)

    def written_files(self) -> list[str]:
        """Return the paths of all request files ever written, sorted."""
        query = "SELECT path FROM batch_file UNION SELECT file FROM batch WHERE file != '' ORDER BY 1"
        with self._store.transaction() as run:
            return [path for (path,) in run.rows(query)]

    def forget_files(self, paths: Iterable[str]) -> None:
        """Forget request files that were deleted."""
        with self._store.transaction() as run:
            run.execute_many("DELETE FROM batch_file WHERE path = ?", [(path,) for path in paths])

    def known_keys(self) -> set[str]:
        """Return the keys of all stored requests and replies."""
        query = "SELECT key FROM batch UNION SELECT key FROM reply UNION SELECT key FROM quarantine"
        with self._store.transaction() as run:
            return {key for (key,) in run.rows(query)}

    def unseen(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return the lines that were not imported yet."""
        new = set(digests)
        with self._store.transaction() as run:
            for digest in digests:
                if run.rows("SELECT 1 FROM batch_line WHERE digest = ?", (digest,)):
                    new.discard(digest)
        return new

    def commit(self, results: Sequence[LineResult]) -> list[LineResult]:
        """Commit the results of lines with their ledger entries; a line that another process imported is skipped.

        Returns:
            The new results of requests of this store.
        """
        committed: list[LineResult] = []
        with self._store.transaction() as run:
            for one in results:
                found = run.rows(f"{_SELECT} WHERE key = ?", (one.key,))
                if not found or not run.execute(
                    "INSERT INTO batch_line VALUES (?) ON CONFLICT (digest) DO NOTHING", (one.digest,)
                ):
                    continue
                row = _batch_row(found[0])
                committed.append(one)
                if one.reply is not None:
                    tokens = {
                        "prompt_tokens": one.reply.prompt_tokens,
                        "completion_tokens": one.reply.completion_tokens,
                    }
                    insert_reply(run, one.key, one.reply, row.attempt(cost=one.cost, **tokens))
                    run.execute(
                        "UPDATE batch SET state = 'came', problem = '', cost = ? WHERE key = ?",
                        (one.cost, one.key),
                    )
                    continue
                insert_attempt(
                    run,
                    row.attempt(
                        outcome="failed",
                        problem=one.problem,
                        cost=one.cost,
                        prompt_tokens=one.prompt_tokens,
                        completion_tokens=one.completion_tokens,
                    ),
                )
                if row.state == "sent":
                    run.execute(
                        "UPDATE batch SET state = ?, tries = tries + 1, problem = ? WHERE key = ?",
                        ("failed" if one.retryable else "refused", one.problem, one.key),
                    )
                if one.refusal:
                    run.execute(
                        "INSERT INTO batch_refusal VALUES (?, ?) ON CONFLICT DO NOTHING",
                        (row.model, one.problem),
                    )
        return committed

    def mark_used(self, keys: Collection[str]) -> None:
        """Mark batch replies as used by a finished command: from now on they are cached replies."""
        with self._store.transaction() as run:
            run.execute_many(
                "DELETE FROM batch WHERE key = ? AND state = 'came'", [(key,) for key in sorted(keys)]
            )

    def abandon(self, file: str) -> int:
        """Stop waiting for the replies to a file, so that its requests are written again; return their number."""
        with self._store.transaction() as run:
            return run.execute(
                f"DELETE FROM batch WHERE {_WAITS} AND file = ?",  # noqa: S608
                (file,),
            )


def _batch_row(values: Row) -> BatchRow:
    return BatchRow(**dict(zip(_COLUMNS, values, strict=True)))
