"""Replies, vectors and the ledger of all attempts, in a file or in a database."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from polygraph.errors import IndexUnreadable
from polygraph.models.call_store.database import CallDatabase, Row, Statements
from polygraph.models.call_store.records import Attempt, LedgerRow, Quarantined, QuestionUsage
from polygraph.models.protocols import ChatReply, Likelihood
from polygraph.text.surrogates import encodable

LOOKUP_KEYS = 900
"""Keys per query; older builds of SQLite accept at most 999 values in a statement."""


class CallStore:
    """What was paid for: replies, vectors, the ledger, questions, and requests in quarantine.

    Texts of replies are compressed by zlib.

    Args:
        database: holds the tables; its errors pass.
    """

    def __init__(self, database: CallDatabase) -> None:
        self._database = database

    # --- replies ----------------------------------------------------------------------------------

    def reply(self, key: str) -> ChatReply | None:
        """Return a stored reply."""
        rows = self._database.rows(
            "SELECT text, prompt_tokens, completion_tokens, finish, n_tokens, log_probability, probability "
            "FROM reply LEFT JOIN likelihood USING (key) WHERE key = ?",
            (key,),
        )
        if not rows:
            return None
        text, reads, writes, finish, *sums = rows[0]
        return ChatReply(
            text=self._unpacked(text),
            prompt_tokens=reads,
            completion_tokens=writes,
            finish=finish,
            likelihood=Likelihood(*sums) if sums[0] is not None else None,
        )

    def save_reply(self, key: str, reply: ChatReply, attempt: Attempt) -> ChatReply:
        """Commit a reply with its ledger entry.

        Returns:
            The reply to use: the stored one if another process was first.
        """
        with self._database.transaction() as run:
            inserted = insert_reply(run, key, reply, attempt)
        stored = self.reply(key) if not inserted else None
        return stored or reply

    def claim(self, key: str) -> AbstractContextManager[bool]:
        """Keep other processes from making the same call while a ``with`` block runs, where the database can.

        The block gets False if the database cannot, so that nobody was waited for.
        """
        return self._database.claim(key)

    def forget(self, keys: Iterable[str]) -> None:
        """Delete stored replies and failed batch requests, so that these requests are sent again."""
        some = sorted((key,) for key in keys)
        with self._database.transaction() as run:
            run.execute_many("DELETE FROM reply WHERE key = ?", some)
            run.execute_many("DELETE FROM likelihood WHERE key = ?", some)
            run.execute_many("DELETE FROM batch WHERE key = ? AND state != 'sent'", some)

    # --- vectors ----------------------------------------------------------------------------------

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that are stored, by key."""
        found: dict[bytes, bytes] = {}
        for begin in range(0, len(keys), LOOKUP_KEYS):
            some = keys[begin : begin + LOOKUP_KEYS]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, data FROM vector WHERE key IN ({marks})"  # noqa: S608  only question marks
            found.update(self._database.rows(query, some))
        return found

    def save_vectors(self, vectors: Mapping[bytes, bytes], attempt: Attempt) -> dict[bytes, bytes]:
        """Commit vectors with their ledger entry.

        Returns:
            The vectors to use: the stored ones where another process was first.
        """
        with self._database.transaction() as run:
            insert_attempt(run, attempt)
            # Sorted keys touch adjacent pages of the index, and two processes lock rows in the same order.
            n_new = run.execute_many(
                "INSERT INTO vector (key, data) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                sorted(vectors.items()),
            )
        return dict(vectors) if n_new == len(vectors) else self.vectors(list(vectors))

    # --- ledger -----------------------------------------------------------------------------------

    def log(self, attempt: Attempt) -> None:
        """Write a ledger entry; that of a call which costs nothing need not outlive a failure of the database."""
        with self._database.transaction(lasting=attempt.cost != 0.0) as run:
            insert_attempt(run, attempt)

    def log_cached(self, stage: str, method: str, model: str, n: int) -> None:
        """Count results that came from the store."""
        with self._database.transaction(lasting=False) as run:
            run.execute(
                "INSERT INTO cached VALUES (?, ?, ?, ?) "
                "ON CONFLICT (stage, method, model) DO UPDATE SET n = cached.n + excluded.n",
                (stage, method, model, n),
            )

    def log_question(self, method: str, calls: int, tokens: int) -> None:
        """Record a question that a method answered with a model, with its calls and tokens."""
        with self._database.transaction(lasting=False) as run:
            run.execute(
                "INSERT INTO asked VALUES (?, 1, ?, ?) ON CONFLICT (method) DO UPDATE SET n = asked.n + 1, "
                "calls = asked.calls + excluded.calls, tokens = asked.tokens + excluded.tokens",
                (method, calls, tokens),
            )

    def questions(self) -> dict[str, QuestionUsage]:
        """Return the questions and their usage by method."""
        rows = self._database.rows("SELECT method, n, calls, tokens FROM asked ORDER BY method")
        return {method: QuestionUsage(n=n, calls=calls, tokens=tokens) for method, n, calls, tokens in rows}

    def ledger(self) -> list[LedgerRow]:
        """Return the ledger summed by stage, method and model, in that order."""
        rows = self._database.rows(_LEDGER)
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
        values = (
            entry.key,
            entry.repair_key,
            entry.stage,
            entry.method,
            entry.model,
            encodable(entry.problem),
        )
        with self._database.transaction() as run:
            run.execute(
                "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "repair_key = excluded.repair_key, stage = excluded.stage, method = excluded.method, "
                "model = excluded.model, problem = excluded.problem, raw = excluded.raw",
                (*values, _packed(entry.raw)),
            )

    def release(self, keys: Iterable[str]) -> None:
        """Remove requests from quarantine."""
        with self._database.transaction() as run:
            run.execute_many("DELETE FROM quarantine WHERE key = ?", sorted((key,) for key in keys))

    def quarantined(self) -> list[Quarantined]:
        """Return the quarantined requests by stage, method and key."""
        rows = self._database.rows(
            "SELECT key, repair_key, stage, method, model, problem, raw FROM quarantine "
            "ORDER BY stage, method, key"
        )
        return [
            Quarantined(
                key=row[0],
                repair_key=row[1],
                stage=row[2],
                method=row[3],
                model=row[4],
                problem=row[5],
                raw=self._unpacked(row[6]),
            )
            for row in rows
        ]

    def keep_only(self, replies: Collection[str], vectors: Collection[bytes]) -> bool:
        """Delete every reply and vector with another key, and all text quoted in the ledger, without a trace.

        Returns:
            False if another process still reads the previous state, so that deleted data stays on the disk.
        """
        kept: tuple[tuple[str, Collection[object]], ...]
        kept = (
            *((table, replies) for table in ("reply", "likelihood", "quarantine", "batch")),
            ("vector", vectors),
        )
        with self._database.transaction(alone=True) as run:
            for table, keys in kept:
                found = run.rows(f"SELECT key FROM {table}")  # noqa: S608
                gone = sorted(row for row in found if row[0] not in keys)
                run.execute_many(f"DELETE FROM {table} WHERE key = ?", gone)  # noqa: S608
            for table in ("attempt", "batch"):
                run.execute(f"UPDATE {table} SET problem = '' WHERE problem != ''")  # noqa: S608
            run.execute("DELETE FROM batch_refusal")
        return self._database.clean()

    # --- moving to another place --------------------------------------------------------------------

    def n_rows(self) -> int:
        """Return the number of rows of all tables."""
        return sum(int(self._database.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in _COLUMNS)  # noqa: S608

    def take_over(self, other: "CallStore", on_rows: Callable[[int], None] = lambda _: None) -> None:
        """Replace everything by what another place holds in one state: all of it or nothing.

        Args:
            other: the other place; what is written there meanwhile is not copied.
            on_rows: receives the number of rows after each part.
        """
        with other._database.one_state(), self._database.transaction(alone=True) as run:
            for table, (key, *others) in _COLUMNS.items():
                run.execute(f"DELETE FROM {table}")  # noqa: S608
                # The number of an attempt only orders them.
                columns = others if key == "id" else [key, *others]
                marks = ", ".join("?" * len(columns))
                for rows in other._parts(table):
                    values = [row[-len(columns) :] for row in rows]
                    run.execute_many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)  # noqa: S608
                    on_rows(len(rows))

    def _parts(self, table: str) -> Iterator[list[Row]]:
        """Yield the rows of a table in parts, by key."""
        key, *_ = columns = _COLUMNS[table]
        query = f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608
        small = table in ("cached", "batch_refusal")  # their keys have several columns
        rows = self._database.rows(query if small else f"{query} ORDER BY {key} LIMIT {_PART}")
        while rows:
            yield rows
            if small or len(rows) < _PART:
                return
            more = f"{query} WHERE {key} > ? ORDER BY {key} LIMIT {_PART}"
            rows = self._database.rows(more, (rows[-1][0],))

    # --- transactions--------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[Statements]:
        """Run statements inside one transaction that excludes other threads and processes."""
        return self._database.transaction(alone=True)

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        self._database.close()

    def _unpacked(self, stored: bytes) -> str:
        try:
            return zlib.decompress(stored).decode("utf-8")
        except (TypeError, zlib.error, UnicodeError) as error:
            raise IndexUnreadable(
                f"a reply stored in {self._database.place} is damaged ({error}). Move the file away to continue "
                "without it: what it held will be requested from the models again"
            ) from error


_PART = 500
"""Rows that are moved at once."""
_COLUMNS: Mapping[str, list[str]] = {
    table: columns.split()
    for table, columns in {
        "reply": "key model text prompt_tokens completion_tokens finish",
        "likelihood": "key n_tokens log_probability probability",
        "vector": "key data",
        "attempt": "id stage method model outcome problem prompt_tokens completion_tokens seconds cost unreported",
        "cached": "stage method model n",
        "asked": "method n calls tokens",
        "quarantine": "key repair_key stage method model problem raw",
        "batch": "key stage method model outcome prompt_tokens state file tries problem cost",
        "batch_line": "digest",
        "batch_file": "path",
        "batch_refusal": "model problem",
    }.items()
}
"""The columns of each table, the key first."""

_LEDGER = """
SELECT stage, method, model, CAST(sum(ok) AS bigint), CAST(sum(failed) AS bigint), CAST(sum(repaired) AS bigint),
       CAST(sum(cached) AS bigint), CAST(sum(prompt) AS bigint), CAST(sum(completion) AS bigint),
       sum(seconds), sum(cost), CAST(sum(unknown) AS bigint), CAST(sum(unreported) AS bigint)
FROM (
  SELECT stage, method, model, CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END AS ok,
         CASE WHEN outcome = 'failed' THEN 1 ELSE 0 END AS failed,
         CASE WHEN outcome = 'repaired' THEN 1 ELSE 0 END AS repaired, 0 AS cached, prompt_tokens AS prompt,
         completion_tokens AS completion, seconds, coalesce(cost, 0.0) AS cost,
         CASE WHEN cost IS NULL THEN 1 ELSE 0 END AS unknown, unreported
  FROM attempt
  UNION ALL
  SELECT stage, method, model, 0, 0, 0, n, 0, 0, 0.0, 0.0, 0, 0 FROM cached
) AS usage
GROUP BY stage, method, model ORDER BY stage, method, model
"""


def insert_reply(run: Statements, key: str, reply: ChatReply, attempt: Attempt) -> bool:
    """Insert a reply and its ledger entry; return False if the reply was stored already."""
    insert_attempt(run, attempt)
    counts = (reply.prompt_tokens, reply.completion_tokens)
    inserted = run.execute(
        "INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
        (key, attempt.model, _packed(reply.text), *counts, reply.finish),
    )
    if inserted and (found := reply.likelihood) is not None:
        run.execute(
            "INSERT INTO likelihood VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
            "n_tokens = excluded.n_tokens, log_probability = excluded.log_probability, "
            "probability = excluded.probability",
            (key, found.n_tokens, found.log_probability, found.probability),
        )
    return bool(inserted)


def insert_attempt(run: Statements, attempt: Attempt) -> None:
    """Insert a ledger entry."""
    run.execute(
        "INSERT INTO attempt (stage, method, model, outcome, problem, prompt_tokens, completion_tokens, "
        "seconds, cost, unreported) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            attempt.stage,
            attempt.method,
            attempt.model,
            attempt.outcome,
            encodable(attempt.problem),
            attempt.prompt_tokens,
            attempt.completion_tokens,
            attempt.seconds,
            attempt.cost,
            int(attempt.unreported),
        ),
    )


def _packed(text: str) -> bytes:
    # A model may send half a surrogate pair, which has no encoding.
    return zlib.compress(text.encode("utf-8", "replace"))
