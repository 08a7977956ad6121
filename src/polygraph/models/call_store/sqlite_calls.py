"""`calls.sqlite`: the tables of calls in a file."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from polygraph.errors import IndexLocked, IndexUnreadable, StorageFailed, other_format
from polygraph.models.call_store.database import Row
from polygraph.models.call_store.records import Durability

FORMAT = 6
"""Raised with every change of what is written: no other is read."""
BUSY_TIMEOUT_S = 30.0
_FULL_BYTES = 1 << 16
"""Room below which a disk is full for SQLite: the file that its processes share begins with 32 kB."""
_PAGE_BYTES = 16_384
"""A page of SQLite's default size holds one vector of 1,536 numbers, and leaves a quarter empty."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, text BLOB NOT NULL,
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
  model TEXT NOT NULL, problem TEXT NOT NULL, raw BLOB NOT NULL
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
_HOLDS_WORK = """
SELECT EXISTS (SELECT 1 FROM reply) OR EXISTS (SELECT 1 FROM vector) OR EXISTS (SELECT 1 FROM quarantine)
    OR EXISTS (SELECT 1 FROM batch)
    OR EXISTS (SELECT 1 FROM attempt WHERE cost IS NULL OR cost > 0 OR prompt_tokens > 0)
"""


class SqliteCalls:
    """One connection, guarded by a lock; SQLite coordinates several processes.

    If another file has taken the place of the one that is open, as when a folder is replaced under a server, the next
    statement opens it: what was written to the former one would be lost.

    Two processes that make the same call at once both make it; the first reply that is committed is used by both.

    Args:
        path: the file, created if missing; None keeps everything in memory.
        durability: `normal` survives the end of the process at any moment, `full` also a loss of power.
    """

    def __init__(self, path: Path | None, durability: Durability) -> None:
        self._path, self._durability = path, durability
        self._lock = threading.RLock()
        self._closed = False
        with self._explained_errors():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._open()

    def _open(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise
        self._file = self._file_there()

    def _file_there(self) -> tuple[int, int] | None:
        """Return the number of the file that is at the path now; None if there is none."""
        try:
            found = os.stat(self._path) if self._path is not None else None
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino) if found is not None else None

    def _prepare(self) -> None:
        run = self._connection.execute
        # Before the file is written for the first time; later it has no effect.
        run(f"PRAGMA page_size = {_PAGE_BYTES}")
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {'FULL' if self._durability == 'full' else 'NORMAL'}")
        found = run("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            fix = "Move it away to continue without it: what it held will be requested from the models again"
            raise IndexUnreadable(other_format(str(self._path), found, FORMAT, fix))
        if not found:
            with self._transaction():
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        run(statement)
                run(f"PRAGMA user_version = {FORMAT}")

    @property
    def place(self) -> str:
        """The file, for messages."""
        return str(self._path)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""
        with self._explained():
            return self._connection.execute(query, parameters).fetchall()

    @contextmanager
    def transaction(self, *, alone: bool = False, lasting: bool = True) -> Iterator["SqliteCalls"]:  # noqa: ARG002
        """Commit all changes made inside a ``with`` block, or none; other threads and processes wait."""
        with self._explained(), self._transaction():
            yield self

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Have all queries inside a ``with`` block see one state; other threads wait."""
        with self._lock:
            with self._explained():
                self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run a statement inside a transaction; return the number of changed rows."""
        return self._connection.execute(statement, parameters).rowcount

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement once for each row of parameters; return the number of changed rows."""
        return self._connection.executemany(statement, rows).rowcount

    def claim(self, key: str) -> AbstractContextManager[bool]:  # noqa: ARG002
        """Do nothing: SQLite has no locks on anything smaller than the file."""
        return nullcontext(False)

    def clean(self) -> bool:
        """Rewrite the file and empty the write-ahead log."""
        with self._explained():
            self._connection.execute("VACUUM")
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        with self._lock:
            self._closed = True
            self._connection.close()

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
        """Hold the lock, open a file that was replaced, and convert errors of SQLite and the file system into ours."""
        with self._explained_errors():
            there = self._file_there()
            # Without a file there, what is written may still be found if the folder was only moved.
            is_replaced = there is not None and there != self._file and not self._closed
            if is_replaced and (self._file is None or not self._connection.in_transaction):
                # Closed first: closing deletes the journal by its name, which may be that of the other connection.
                self._connection.close()
                self._file = None
                self._open()
            yield

    @contextmanager
    def _explained_errors(self) -> Iterator[None]:
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

    def _is_full(self) -> bool:
        return self._path is not None and shutil.disk_usage(self._path.parent).free < _FULL_BYTES

    def _operational(self, error: sqlite3.OperationalError) -> IndexLocked | StorageFailed:
        text = str(error)
        if "locked" in text or "busy" in text:
            return IndexLocked(
                f"{self._path} has been locked by another process for more than {BUSY_TIMEOUT_S:.0f} s. "
                "Wait until that process ends, or stop it"
            )
        # On a full disk SQLite cannot make the file that it shares between processes, and calls that an I/O error.
        if "full" in text or ("I/O" in text and self._is_full()):
            return StorageFailed(
                f"the disk that holds {self._path} is full. Free some space: stored replies are kept, and the same "
                "command continues from there"
            )
        return StorageFailed(
            f"cannot write {self._path}: {text}. Choose a folder that can be written, with --index"
        )


def remove_unused(path: Path) -> None:
    """Remove a file of calls in which nothing stands that was paid for, and that no other process has open.

    Failed attempts that cost nothing may stand in it.
    """
    if not path.is_file():
        return
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        used = connection.execute(_HOLDS_WORK).fetchone()[0]
        # Only the last connection can leave this mode; the file of another process stays.
        is_alone = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
    except sqlite3.DatabaseError:
        return
    finally:
        connection.close()
    if is_alone and not used:
        path.unlink(missing_ok=True)
