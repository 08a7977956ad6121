"""What became of the requests of batches, in `calls.sqlite`: each is written once, and each reply counts once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polygraph.models.cache import Attempt, CallStore, Outcome
from polygraph.models.protocols import ChatReply

State: TypeAlias = Literal["sent", "failed", "refused", "came"]
"""`sent`: in a file, without a reply. `failed`: an error came instead of one, and it may be asked again. `refused`: it
need not be asked again. `came`: its reply is stored, and no finished command has made use of it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """A request of a batch."""

    key: str
    stage: str
    method: str
    model: str
    outcome: Outcome
    """`repaired`: it asks for an unusable reply to be written again."""
    prompt_tokens: int
    """As counted when it was written."""
    state: State = "sent"
    file: str = ""
    """Path of the file that it was last written to."""
    tries: int = 0
    """Errors that came for it."""
    problem: str = ""
    """The last of them."""
    cost: float | None = None
    """Of its reply, in US dollars; None if the price is not known."""

    def attempt(self, **more: object) -> Attempt:
        """Its line in the ledger."""
        line = {"stage": self.stage, "method": self.method, "model": self.model, "outcome": self.outcome}
        return Attempt(**{**line, **more})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a line brought for a request."""

    key: str
    digest: bytes
    """Of the line."""
    reply: ChatReply | None
    """None: an error."""
    cost: float | None = 0.0
    problem: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    again: bool = True
    """Whether a request that got an error may be asked again."""
    refusal: bool = False
    """Whether the endpoint minds the form of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """How far a file of requests is answered."""

    file: str
    waiting: int
    """Requests without a reply."""
    failed: int
    """Requests that got an error and are not written again yet."""


_COLUMNS = "key, stage, method, model, outcome, prompt_tokens, state, file, tries, problem, cost"
_WAITS = "state = 'sent' AND key NOT IN (SELECT key FROM reply)"


class BatchStore:
    """The tables of batches in a store of calls."""

    def __init__(self, store: CallStore) -> None:
        self._store = store

    def rows(self) -> dict[str, BatchRow]:
        """All requests, by key."""
        with self._store.transaction() as run:
            found = run.execute(f"SELECT {_COLUMNS} FROM batch").fetchall()  # noqa: S608  names of columns
        names = _COLUMNS.split(", ")
        return {row[0]: BatchRow(**dict(zip(names, row, strict=True))) for row in found}

    def refusals(self) -> dict[str, list[str]]:
        """What endpoints said against the form of requests, by model, in alphabetical order."""
        found: dict[str, list[str]] = {}
        with self._store.transaction() as run:
            for model, problem in run.execute("SELECT model, problem FROM batch_refusal ORDER BY 1, 2"):
                found.setdefault(model, []).append(problem)
        return found

    def files(self) -> list[FileState]:
        """Files with requests that are not answered, by path."""
        query = f"SELECT file, sum({_WAITS}), sum(state = 'failed') FROM batch GROUP BY file ORDER BY file"  # noqa: S608
        with self._store.transaction() as run:
            found = run.execute(query).fetchall()
        return [FileState(file=f, waiting=n, failed=m) for f, n, m in found if n or m]

    def put(self, rows: Iterable[BatchRow]) -> None:
        """Record requests that are written to a file."""
        values = [tuple(getattr(row, name) for name in _COLUMNS.split(", ")) for row in rows]
        marks = ", ".join("?" * len(_COLUMNS.split(", ")))
        with self._store.transaction() as run:
            run.executemany(f"INSERT OR REPLACE INTO batch VALUES ({marks})", values)  # noqa: S608  question marks

    def unseen(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those among some lines that were not taken in yet."""
        new = set(digests)
        with self._store.transaction() as run:
            for digest in digests:
                if run.execute("SELECT 1 FROM batch_line WHERE digest = ?", (digest,)).fetchone():
                    new.discard(digest)
        return new

    def take(self, came: Sequence[Came]) -> list[Came]:
        """Commit what lines brought, with the ledger; a line that another process took in counts no more.

        Returns:
            Those that were for a request of this store and were new.
        """
        taken: list[Came] = []
        with self._store.transaction() as run:
            for one in came:
                found = run.execute(
                    f"SELECT {_COLUMNS} FROM batch WHERE key = ?",  # noqa: S608
                    (one.key,),
                ).fetchone()
                if found is None:
                    continue
                if not run.execute("INSERT OR IGNORE INTO batch_line VALUES (?)", (one.digest,)).rowcount:
                    continue
                row = BatchRow(**dict(zip(_COLUMNS.split(", "), found, strict=True)))
                taken.append(one)
                if one.reply is not None:
                    tokens = {
                        "prompt_tokens": one.reply.prompt_tokens,
                        "completion_tokens": one.reply.completion_tokens,
                    }
                    self._store.insert_reply(one.key, one.reply, row.attempt(cost=one.cost, **tokens))
                    run.execute(
                        "UPDATE batch SET state = 'came', problem = '', cost = ? WHERE key = ?",
                        (one.cost, one.key),
                    )
                    continue
                self._store.insert_attempt(
                    row.attempt(
                        outcome="failed",
                        problem=one.problem,
                        cost=one.cost,
                        prompt_tokens=one.prompt_tokens,
                        completion_tokens=one.completion_tokens,
                    )
                )
                if row.state == "sent":
                    run.execute(
                        "UPDATE batch SET state = ?, tries = tries + 1, problem = ? WHERE key = ?",
                        ("failed" if one.again else "refused", one.problem, one.key),
                    )
                if one.refusal:
                    run.execute("INSERT OR IGNORE INTO batch_refusal VALUES (?, ?)", (row.model, one.problem))
        return taken

    def used(self, keys: Collection[str]) -> None:
        """Forget of replies that they came by a batch, now that a finished command made use of them."""
        with self._store.transaction() as run:
            run.executemany(
                "DELETE FROM batch WHERE key = ? AND state = 'came'", [(key,) for key in sorted(keys)]
            )

    def abandon(self, file: str) -> int:
        """Stop waiting for the replies to a file, so that its requests are written again; return their number."""
        with self._store.transaction() as run:
            return run.execute(
                f"DELETE FROM batch WHERE {_WAITS} AND file = ?",  # noqa: S608
                (file,),
            ).rowcount
