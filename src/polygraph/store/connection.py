"""The file of an index: opening it, running statements, and explaining what is wrong with it."""

import errno
import json
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from polygraph.errors import IndexUnreadable, StorageFailed, quoted
from polygraph.store.shared_file import LockedConnection
from polygraph.store.sql import Row, SqlConnection
from polygraph.text.prose import count_noun

FILE_NAME = "index.sqlite"
BUSY_TIMEOUT_S = 30.0
"""How long a statement waits for another process's lock."""
_KEYS = 500
"""Keys that are looked up by one statement."""
_MAPPED_BYTES = 1 << 26
"""Bytes of a file that are mapped into memory where it is read, which saves a twentieth of the time of a question. As
with the arrays of layers, a file that another program truncates ends the process (SIGBUS)."""
PIECE_BYTES = 1 << 16
"""Bytes of a long value that are read at once."""
_UNREADABLE = (sqlite3.Error, UnicodeError)
"""Errors of reading a file; SQLite may quote a damaged name that is not UTF-8."""
_DAMAGED = (
    "malformed",
    "not a database",
    "no such table",
    "no such column",
    "no such index",
    "could not decode",
    "disk i/o error",
)
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_FULL_TEXT = re.compile(r"(?i)no space left|\bos error 28\b|^\d+ requested and \d+ written$")


def connect(path: Path) -> sqlite3.Connection:
    """Open a file for writing; every statement is its own transaction unless one is started."""
    return LockedConnection(
        str(path), path=path, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_S
    )


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a file for reading; in a read-only folder without the files that SQLite creates beside it."""
    if path.name == FILE_NAME and os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        return connect(path)
    log = path.with_name(f"{path.name}-wal")
    # A log with content must be read too; without one nobody can be writing, and no lock is needed.
    how = "mode=ro" if log.is_file() and log.stat().st_size else "immutable=1"
    return LockedConnection(
        f"{path.resolve().as_uri()}?{how}",
        path=path,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_S,
    )


def is_begun(folder: Path) -> bool:
    """Tell whether a folder has an index; a file without tables is one whose creation was interrupted.

    Raises:
        IndexUnreadable: if the file is damaged.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return False
    try:
        db = connect_to_read(path)
        try:
            return db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
        finally:
            db.close()
    except _UNREADABLE as error:
        raise explain_storage(error, folder) from error


@contextmanager
def storage_errors_explained(folder: Path) -> Iterator[None]:
    """Raise `StorageFailed` if the disk is full; other errors pass."""
    try:
        yield
    except (OSError, ValueError) as error:
        if not _no_room(error):
            raise
        raise explain_storage(error, folder) from error


def _no_room(error: Exception) -> bool:
    """Tell whether an error says that a disk or quota is full; numpy and tantivy give only a text."""
    return getattr(error, "errno", None) in _FULL or bool(_FULL_TEXT.search(str(error)))


def explain_storage(error: Exception, folder: Path) -> Exception:
    """Convert an error of the file system or of SQLite to one that says what to do."""
    text = str(error).lower()
    if "full" in text or _no_room(error):
        return StorageFailed(
            f"the disk that holds {folder} is full. Free some space and run the same command again."
        )
    if isinstance(error, UnicodeError) or any(part in text for part in _DAMAGED):
        return unreadable(folder, f"is not a readable index ({error})")
    if "readonly" in text or "unable to open" in text or isinstance(error, PermissionError):
        return StorageFailed(
            f"{folder} cannot be written or opened ({error}). Choose another folder with --index"
        )
    if "locked" in text:
        return StorageFailed(f"{folder} is locked by another program. Wait until it ends and try again.")
    return StorageFailed(f"{folder}: {error}")


def no_index(place: Path | str) -> IndexUnreadable:
    """Return the error for a place without an index."""
    return IndexUnreadable(
        f"there is no index at {place}. Make one with: polygraph index PATH --index {quoted(place)}"
    )


def unreadable(folder: Path, why: str) -> IndexUnreadable:
    """Return the error for a damaged `index.sqlite`, which names what is left of it and the fix."""
    return IndexUnreadable(
        f"{folder / FILE_NAME} {why}; {_saved(folder)}. Build it again in another folder with: polygraph index PATH "
        "--index NEW_FOLDER (copy calls.sqlite there first: it holds every reply already paid for). See what can be "
        f"saved with: polygraph doctor --index {quoted(folder)}"
    )


def readable(folder: Path) -> tuple[int, int]:
    """Count the documents and extraction rows that can still be read from a damaged `index.sqlite`."""
    counts = []
    for tables in (("documents",), ("entity_rows", "relation_rows")):
        n = 0
        for table in tables:
            key = "rowid" if table == "documents" else "window, seq"
            backwards = "rowid DESC" if table == "documents" else "window DESC, seq DESC"
            found, whole = _count(folder, f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608
            n += found
            if not whole:
                # Rows behind the damage are reached from the other end.
                n += _count(folder, f"SELECT * FROM {table} ORDER BY {backwards}")[0]  # noqa: S608
        counts.append(n)
    return counts[0], counts[1]


def _saved(folder: Path) -> str:
    """Say how much of a damaged index can still be read."""
    documents, rows = readable(folder)
    return f"{count_noun(documents, 'document')} and {count_noun(rows, 'extraction row')} of it can still be read"


def _count(folder: Path, query: str) -> tuple[int, bool]:
    """Return the number of rows that a query yields before it fails, and whether it did not fail."""
    n = 0
    with suppress(*_UNREADABLE, OSError):
        db = connect_to_read(folder / FILE_NAME)
        try:
            for _ in db.execute(query):
                n += 1
            return n, True
        finally:
            db.close()
    return n, False


def _nothing() -> None:
    return None


class SqliteDialect:
    """`store.sql.Dialect` of SQLite."""

    def contains(self, column: str) -> str:
        """Return a condition with one parameter: a text that the column must contain."""
        return f"instr({column}, ?)"

    def list_length(self, column: str) -> str:
        """Return the number of items of a column that holds a JSON list."""
        return f"json_array_length({column})"

    def n_bytes(self, column: str) -> str:
        """Return the number of bytes of a column that holds text."""
        return f"length(CAST({column} AS BLOB))"

    def one_of(self, column: str, values: Sequence[int]) -> tuple[str, Any]:
        """Return the condition that a column has one of any number of values, and its parameter."""
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values))  # noqa: S608

    def indexed_by(self, index: str) -> str:
        """Return what stands behind the table of a query that must read an index."""
        return f"INDEXED BY {index}"

    shares_texts = True


class Connection(SqlConnection):
    """One open file of tables: statements that explain what is wrong when they fail.

    Args:
        folder: of the index, named in errors.
        path: of the file.
        schema: statements that create the tables if they are missing; None opens the file for reading, as one state
            for as long as it is open.
        durability: ``full`` also survives a loss of power.

    Raises:
        IndexUnreadable: if the file is damaged.
        StorageFailed: if it cannot be written.
    """

    dialect = SqliteDialect()

    def __init__(
        self,
        folder: Path,
        path: Path,
        schema: str | None,
        durability: Literal["normal", "full"] = "normal",
    ) -> None:
        self.folder = folder
        self.before_change: Callable[[], None] = _nothing
        # Layers that are built side by side change the store in turn.
        self._changing = threading.RLock()
        # Since Python 3.12, two threads that run the same query at once can be given one prepared statement, and then
        # each other's rows.
        self._reading = threading.Lock()
        try:
            if schema is not None:
                folder.mkdir(parents=True, exist_ok=True)
                self._db = connect(path)
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
                # All tables or none, so that an index whose creation was interrupted can be created again.
                self._db.executescript(f"BEGIN; {schema} COMMIT;")
            else:
                self._db = connect_to_read(path)
                self._db.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
                self._db.execute("PRAGMA query_only = 1")
                self._db.execute("BEGIN")
        except (OSError, *_UNREADABLE) as error:
            raise explain_storage(error, folder) from error

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def __del__(self) -> None:
        # An outdated snapshot is not closed, since another thread may be reading it: the last one drops it. The
        # connection below is part of a circle, which only the garbage collector would free.
        if (db := getattr(self, "_db", None)) is not None:
            db.close()

    @property
    def raw(self) -> sqlite3.Connection:
        """The connection of the standard library."""
        return self._db

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply all changes made inside, or none if an exception leaves the block; one thread at a time."""
        with self._changing:
            try:
                self.before_change()
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, _UNREADABLE):
                    raise explain_storage(error, self.folder) from error
                raise

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that changes something; errors are explained by the transaction around it."""
        self.before_change()
        self._db.execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        self.before_change()
        self._db.executemany(statement, rows)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows that are not there yet, see `SqlConnection`."""
        self.before_change()
        found = iter(rows)
        first = next(found, None)
        if first is not None:
            marks = ", ".join("?" * len(first))
            self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", chain([first], found))  # noqa: S608

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""
        try:
            with self._reading:
                return self._db.execute(query, parameters).fetchall()
        except _UNREADABLE as error:
            raise explain_storage(error, self.folder) from error

    def iterate(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a query and yield its rows one by one."""
        try:
            with self._reading:
                found = self._db.execute(query, parameters)
            while True:
                with self._reading:
                    row = next(found, None)
                if row is None:
                    return
                yield row
        except _UNREADABLE as error:
            raise explain_storage(error, self.folder) from error

    def pieces(self, table: str, column: str, key: str) -> Iterator[bytes]:
        """Yield the bytes of a long text in the row whose ``id`` is a key."""
        ((row,),) = self.rows(f"SELECT rowid FROM {table} WHERE id = ?", (key,))  # noqa: S608
        try:
            with self._db.blobopen(table, column, row, readonly=True) as blob:
                while piece := blob.read(PIECE_BYTES):
                    yield piece
        except _UNREADABLE as error:
            raise explain_storage(error, self.folder) from error

    def where_in(self, query: str, keys: Sequence[Any]) -> Iterator[Row]:
        """Run a query that ends in ``IN`` for any number of keys; rows come in no defined order."""
        for at in range(0, len(keys), _KEYS):
            some = list(keys[at : at + _KEYS])
            # A statement of another length would have to be prepared, which takes half of the time of a short one. A
            # key that is repeated finds nothing more.
            length = min(_KEYS, 1 << (len(some) - 1).bit_length())
            some += some[-1:] * (length - len(some))
            yield from self.rows(f"{query} ({','.join('?' * length)})", some)
