"""`calls.sqlite`: all replies and vectors, and the ledger of all attempts."""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from polygraph.errors import IndexLocked, IndexUnreadable, StorageFailed
from polygraph.models.protocols import ChatReply, Likelihood

Outcome: TypeAlias = Literal["ok", "failed", "repaired"]
Durability: TypeAlias = Literal["normal", "full"]

FORMAT = 4
BUSY_TIMEOUT_S = 30.0
LOOKUP_KEYS = 900
"""Keys per query; older builds of SQLite accept at most 999 values in a statement."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, finish TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS likelihood (
  key TEXT PRIMARY KEY, n_tokens INTEGER NOT NULL, log_probability REAL NOT NULL, probability REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS attempt (
  id INTEGER PRIMARY KEY, stage TEXT NOT NULL, method TEXT NOT NULL, model TEXT NOT NULL,
  outcome TEXT NOT NULL, problem TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, seconds REAL NOT NULL, cost REAL, unreported INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS cached (
  stage TEXT NOT NULL, method TEXT NOT NULL, model TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (stage, method, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked (
  method TEXT PRIMARY KEY, n INTEGER NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS quarantine (
  key TEXT PRIMARY KEY, repair_key TEXT NOT NULL, stage TEXT NOT NULL, method TEXT NOT NULL,
  model TEXT NOT NULL, problem TEXT NOT NULL, raw TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch (
  key TEXT PRIMARY KEY, stage TEXT NOT NULL, method TEXT NOT NULL, model TEXT NOT NULL,
  outcome TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, state TEXT NOT NULL, file TEXT NOT NULL,
  tries INTEGER NOT NULL, problem TEXT NOT NULL, cost REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_line (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_file (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_refusal (
  model TEXT NOT NULL, problem TEXT NOT NULL, PRIMARY KEY (model, problem)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a call, with its outcome."""

    stage: str
    """Purpose of the call: extract, answer, judge..."""
    method: str
    """The retrieval method that it was made for, or empty."""
    model: str
    outcome: Outcome
    """`repaired`: the repair round after an unusable reply."""
    problem: str = ""
    """Reason of a failure."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = 0.0
    """In US dollars; None when the price is not known."""
    unreported: bool = False
    """True if the server may have billed it without reporting tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Usage of one model by one stage for one method."""

    stage: str
    method: str
    model: str
    ok: int
    """Attempts that were answered."""
    failed: int
    """Attempts that failed."""
    repaired: int
    """Answered attempts of repair rounds."""
    cached: int
    """Replies, or embedded texts, that came from the store."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """Summed over concurrent calls."""
    cost: float | None
    """In US dollars; None if any price was not known."""
    unreported: int
    """Attempts that may have been billed without reported tokens: the gap to the provider's bill."""

    @property
    def attempts(self) -> int:
        """Number of attempts."""
        return self.ok + self.failed + self.repaired

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the row as plain values, in the order of its fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionUsage:
    """Usage of the questions that a method answered with a model, including repeated questions."""

    n: int
    calls: int
    """Calls of a language model, including those answered from the store."""
    tokens: int
    """Tokens of these calls, read and written, as if none had been cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A request whose reply could not be used even after the repair round."""

    key: str
    repair_key: str
    stage: str
    method: str
    model: str
    problem: str
    raw: str
    """The last reply as received."""


class CallStore:
    """One connection, guarded by a lock; SQLite coordinates several processes.

    Args:
        path: the file, created if missing; None keeps everything in memory.
        durability: `normal` survives the end of the process at any moment, `full` also a loss of power.

    Raises:
        IndexUnreadable: if the file is damaged or has a newer format.
        StorageFailed: if it cannot be written.
        IndexLocked: if another process locks it for longer than the timeout.
    """

    def __init__(self, path: Path | None, durability: Durability) -> None:
        self._path = path
        self._lock = threading.RLock()
        with self._explained():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._explained():
                self._prepare(durability)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, durability: Durability) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        found = run("PRAGMA user_version").fetchone()[0]
        if found > FORMAT:
            raise IndexUnreadable(
                f"{self._path} was written by a newer version of Polygraph (format {found}, this one reads "
                f"{FORMAT}). Upgrade with: pip install -U polygraph-rag"
            )
        if found < FORMAT:
            with self._transaction():
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        run(statement)
                run(f"PRAGMA user_version = {FORMAT}")

    # --- replies ----------------------------------------------------------------------------------

    def reply(self, key: str) -> ChatReply | None:
        """Return a stored reply."""
        with self._explained():
            row = self._connection.execute(
                "SELECT text, prompt_tokens, completion_tokens, finish, n_tokens, log_probability, probability "
                "FROM reply LEFT JOIN likelihood USING (key) WHERE key = ?",
                (key,),
            ).fetchone()
        if row is None:
            return None
        text, reads, writes, finish, *sums = row
        likelihood = Likelihood(*sums) if sums[0] is not None else None
        return ChatReply(
            text=text, prompt_tokens=reads, completion_tokens=writes, finish=finish, likelihood=likelihood
        )

    def save_reply(self, key: str, reply: ChatReply, attempt: Attempt) -> ChatReply:
        """Commit a reply with its ledger entry.

        Returns:
            The reply to use: the stored one if another process was first.
        """
        with self.transaction():
            inserted = self.insert_reply(key, reply, attempt)
        stored = self.reply(key) if not inserted else None
        return stored or reply

    def insert_reply(self, key: str, reply: ChatReply, attempt: Attempt) -> bool:
        """Insert a reply and its ledger entry inside a transaction; return False if the reply was stored already."""
        self.insert_attempt(attempt)
        text = _storable(reply.text)
        values = (key, attempt.model, text, reply.prompt_tokens, reply.completion_tokens, reply.finish)
        run = self._connection.execute
        inserted = bool(run("INSERT OR IGNORE INTO reply VALUES (?, ?, ?, ?, ?, ?)", values).rowcount)
        if inserted and (found := reply.likelihood) is not None:
            sums = (key, found.n_tokens, found.log_probability, found.probability)
            run("INSERT OR REPLACE INTO likelihood VALUES (?, ?, ?, ?)", sums)
        return inserted

    def forget(self, keys: Iterable[str]) -> None:
        """Delete stored replies and failed batch requests, so that these requests are sent again."""
        some = [(key,) for key in keys]
        with self.transaction() as run:
            run.executemany("DELETE FROM reply WHERE key = ?", some)
            run.executemany("DELETE FROM likelihood WHERE key = ?", some)
            run.executemany("DELETE FROM batch WHERE key = ? AND state != 'sent'", some)

    # --- vectors ----------------------------------------------------------------------------------

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that are stored, by key."""
        found: dict[bytes, bytes] = {}
        with self._explained():
            for begin in range(0, len(keys), LOOKUP_KEYS):
                some = keys[begin : begin + LOOKUP_KEYS]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT key, data FROM vector WHERE key IN ({marks})",  # noqa: S608  only question marks
                    some,
                )
                found.update(rows.fetchall())
        return found

    def save_vectors(self, vectors: Mapping[bytes, bytes], attempt: Attempt) -> dict[bytes, bytes]:
        """Commit vectors with their ledger entry.

        Returns:
            The vectors to use: the stored ones where another process was first.
        """
        with self._explained(), self._transaction():
            self.insert_attempt(attempt)
            before = self._connection.total_changes
            # Sorted keys touch adjacent pages of the index.
            self._connection.executemany(
                "INSERT OR IGNORE INTO vector (key, data) VALUES (?, ?)", sorted(vectors.items())
            )
            all_new = self._connection.total_changes - before == len(vectors)
        return dict(vectors) if all_new else self.vectors(list(vectors))

    # --- ledger -----------------------------------------------------------------------------------

    def log(self, attempt: Attempt) -> None:
        """Write a ledger entry."""
        with self._explained(), self._transaction():
            self.insert_attempt(attempt)

    def log_cached(self, stage: str, method: str, model: str, n: int) -> None:
        """Count results that came from the store."""
        with self._explained(), self._transaction():
            self._connection.execute(
                "INSERT INTO cached VALUES (?, ?, ?, ?) "
                "ON CONFLICT (stage, method, model) DO UPDATE SET n = n + excluded.n",
                (stage, method, model, n),
            )

    def log_question(self, method: str, calls: int, tokens: int) -> None:
        """Record a question that a method answered with a model, with its calls and tokens."""
        with self._explained(), self._transaction():
            self._connection.execute(
                "INSERT INTO asked VALUES (?, 1, ?, ?) ON CONFLICT (method) DO UPDATE SET "
                "n = n + 1, calls = calls + excluded.calls, tokens = tokens + excluded.tokens",
                (method, calls, tokens),
            )

    def questions(self) -> dict[str, QuestionUsage]:
        """Return the questions and their usage by method."""
        with self._explained():
            rows = self._connection.execute("SELECT method, n, calls, tokens FROM asked ORDER BY method")
            return {
                method: QuestionUsage(n=n, calls=calls, tokens=tokens) for method, n, calls, tokens in rows
            }

    def ledger(self) -> list[LedgerRow]:
        """Return the ledger summed by stage, method and model, in that order."""
        query = """
            SELECT stage, method, model, sum(ok), sum(failed), sum(repaired), sum(cached), sum(prompt),
                   sum(completion), sum(seconds), sum(cost), sum(unknown), sum(unreported)
            FROM (
              SELECT stage, method, model, outcome = 'ok' AS ok, outcome = 'failed' AS failed,
                     outcome = 'repaired' AS repaired, 0 AS cached, prompt_tokens AS prompt,
                     completion_tokens AS completion, seconds, coalesce(cost, 0.0) AS cost,
                     cost IS NULL AS unknown, unreported
              FROM attempt
              UNION ALL
              SELECT stage, method, model, 0, 0, 0, n, 0, 0, 0.0, 0.0, 0, 0 FROM cached
            )
            GROUP BY stage, method, model ORDER BY stage, method, model
        """
        with self._explained():
            rows = self._connection.execute(query).fetchall()
        return [
            LedgerRow(
                stage=row[0],
                method=row[1],
                model=row[2],
                ok=row[3],
                failed=row[4],
                repaired=row[5],
                cached=row[6],
                prompt_tokens=row[7],
                completion_tokens=row[8],
                seconds=row[9],
                cost=None if row[11] else row[10],
                unreported=row[12],
            )
            for row in rows
        ]

    # --- quarantine ---------------------------------------------------------------------------------

    def quarantine(self, entry: Quarantined) -> None:
        """Store the raw text of a reply that could not be used."""
        values = (entry.key, entry.repair_key, entry.stage, entry.method, entry.model, entry.problem)
        with self._explained(), self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*values, _storable(entry.raw)),
            )

    def release(self, keys: Iterable[str]) -> None:
        """Remove requests from quarantine."""
        with self._explained(), self._transaction():
            self._connection.executemany("DELETE FROM quarantine WHERE key = ?", [(key,) for key in keys])

    def quarantined(self) -> list[Quarantined]:
        """Return the quarantined requests by stage, method and key."""
        with self._explained():
            rows = self._connection.execute(
                "SELECT key, repair_key, stage, method, model, problem, raw FROM quarantine "
                "ORDER BY stage, method, key"
            ).fetchall()
        return [
            Quarantined(
                key=row[0],
                repair_key=row[1],
                stage=row[2],
                method=row[3],
                model=row[4],
                problem=row[5],
                raw=row[6],
            )
            for row in rows
        ]

    def keep_only(self, replies: Collection[str], vectors: Collection[bytes]) -> bool:
        """Delete every reply and vector with another key, and all text quoted in the ledger, without a trace.

        Returns:
            False if another process still reads the previous state, so that the write-ahead log cannot be emptied.
        """
        run = self._connection.execute
        with self._explained():
            with self._transaction():
                kept: tuple[tuple[str, Collection[object]], ...]
                kept = (("reply", replies), ("quarantine", replies), ("batch", replies), ("vector", vectors))
                for table, keys in kept:
                    found = run(f"SELECT key FROM {table}").fetchall()  # noqa: S608
                    gone = [row for row in found if row[0] not in keys]
                    self._connection.executemany(f"DELETE FROM {table} WHERE key = ?", gone)  # noqa: S608
                for table in ("attempt", "batch"):
                    run(f"UPDATE {table} SET problem = '' WHERE problem != ''")  # noqa: S608
                run("DELETE FROM batch_refusal")
            run("VACUUM")
            busy = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        with self._lock:
            self._connection.close()

    # --- transactions--------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection inside one transaction that excludes other threads and processes."""
        with self._explained(), self._transaction():
            yield self._connection

    def insert_attempt(self, attempt: Attempt) -> None:
        """Insert a ledger entry inside a transaction."""
        self._connection.execute(
            "INSERT INTO attempt (stage, method, model, outcome, problem, prompt_tokens, completion_tokens, "
            "seconds, cost, unreported) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                attempt.stage,
                attempt.method,
                attempt.model,
                attempt.outcome,
                _storable(attempt.problem),
                attempt.prompt_tokens,
                attempt.completion_tokens,
                attempt.seconds,
                attempt.cost,
                attempt.unreported,
            ),
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Hold the lock and convert errors of SQLite and the file system into ours."""
        with self._lock:
            try:
                yield
            except sqlite3.ProgrammingError:
                raise  # used after it was closed
            except sqlite3.OperationalError as error:
                raise self._operational(error) from error
            except sqlite3.DatabaseError as error:
                raise IndexUnreadable(
                    f"{self._path} is damaged ({error}). Move it away to continue without it: what it held will be "
                    "requested from the models again"
                ) from error
            except OSError as error:
                raise StorageFailed(f"cannot write {self._path}: {error.strerror or error}") from error

    def _operational(self, error: sqlite3.OperationalError) -> IndexLocked | StorageFailed:
        text = str(error)
        if "locked" in text or "busy" in text:
            return IndexLocked(
                f"{self._path} has been locked by another process for more than {BUSY_TIMEOUT_S:.0f} s. "
                "Wait until that process ends, or stop it"
            )
        if "full" in text:
            return StorageFailed(
                f"no space left to write {self._path}. Free some space: stored replies are kept, and the same "
                "command continues from there"
            )
        return StorageFailed(
            f"cannot write {self._path}: {text}. Choose a folder that can be written, with --index"
        )


def _storable(text: str) -> str:
    # SQLite accepts only valid UTF-8, and models sometimes send half a surrogate pair.
    return text.encode("utf-8", "replace").decode("utf-8")
