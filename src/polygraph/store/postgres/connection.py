"""A connection to the tables of an index in PostgreSQL."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from polygraph.postgresql import (
    DatabaseUrl,
    connect,
    database_errors_explained,
    is_open,
)
from polygraph.store.sql import Row, SqlConnection

if TYPE_CHECKING:
    from polygraph.postgresql import DatabaseConnection

_KEYS = 10_000
"""Keys that are looked up by one statement."""
_FETCHED = 500
"""Rows that are fetched at once from a cursor."""
_COPIED = 500
"""Rows that are sent at once."""
_FEW = 8
"""Up to this number of rows, `INSERT` is used, which takes one round trip where `COPY` takes three."""
_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"


class PostgresDialect:
    """`store.sql.Dialect` of PostgreSQL."""

    def contains(self, column: str) -> str:
        """Return a condition with one parameter: a text that the column must contain."""
        return f"strpos({column}, ?) > 0"

    def list_length(self, column: str) -> str:
        """Return the number of items of a column that holds a JSON list."""
        return f"json_array_length({column}::json)"

    def n_bytes(self, column: str) -> str:
        """Return the number of bytes of a column that holds text."""
        return f"octet_length({column})"

    def one_of(self, column: str, values: Sequence[int]) -> tuple[str, Any]:
        """Return the condition that a column has one of any number of values, and its parameter."""
        return f"{column} = ANY(?)", list(values)

    def indexed_by(self, index: str) -> str:  # noqa: ARG002
        """Return nothing: PostgreSQL keeps long texts apart from the other columns of a row."""
        return ""

    shares_texts = False


@lru_cache(maxsize=512)
def _translated(statement: str) -> str:
    """Return a statement with the placeholders of psycopg."""
    return statement.replace("%", "%%").replace("?", "%s")


class PostgresConnection(SqlConnection):
    """A connection to the schema of an index. Threads may share it: statements wait for each other.

    Args:
        url: of the index.
        read_only: see one state for as long as the connection is open, and change nothing.

    Raises:
        MissingExtra: if psycopg is not installed.
        IndexUnreadable: if the server does not let us in.
    """

    dialect = PostgresDialect()

    def __init__(self, url: DatabaseUrl, *, read_only: bool) -> None:
        self.url, self._read_only = url, read_only
        self._db = connect(url)
        self._lock = threading.RLock()
        # Layers that are built side by side change the store in turn.
        self._changing = threading.RLock()
        self._cursor_numbers = count()
        self._unclosed: list[str] = []
        if read_only:
            self.begin_reading()

    def begin_reading(self) -> None:
        """Begin a transaction that sees one state: the one at its first query."""
        # Snapshots of an idle server must not be cut off.
        self.execute("SET idle_in_transaction_session_timeout = 0")
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    @property
    def raw(self) -> "DatabaseConnection":
        """The connection of psycopg."""
        return self._db

    def is_open(self) -> bool:
        """Tell whether statements can be run: the connection was not lost, and no error has ended its transaction.

        Nothing is sent to the server.
        """
        # While a thread runs a statement, that thread finds out.
        if not self._lock.acquire(blocking=False):
            return True
        try:
            return is_open(self._db) and self._db.info.transaction_status.name != "INERROR"
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._db.close()

    def __del__(self) -> None:
        # An outdated snapshot is not closed, since another thread may be reading it: the last one drops it.
        if getattr(self, "_db", None) is not None:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply all changes made inside, or none if an exception leaves the block; one thread at a time."""
        with self._changing:
            self.execute("BEGIN")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if not self._db.broken and not self._db.closed:
                    self.execute("ROLLBACK")
                raise

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that changes something."""
        self._run(_translated(statement), parameters)

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        translated = _translated(statement)
        found = iter(rows)
        while some := list(islice(found, _COPIED)):
            with self._locked(), self._db.cursor() as cursor:
                cursor.executemany(translated, some)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows that are not there yet, see `SqlConnection`."""
        found = iter(rows)
        # In parts: the rows may come from a query of this connection, which cannot run while rows are sent.
        while some := list(islice(found, _COPIED)):
            if len(some) <= _FEW:
                row = f"({', '.join(['%s'] * len(some[0]))})"
                values = [value for each in some for value in each]
                self._run(f"INSERT INTO {table} VALUES {', '.join([row] * len(some))}", values)  # noqa: S608
                continue
            with (
                self._locked(),
                self._db.cursor() as cursor,
                cursor.copy(f"COPY {table} FROM STDIN") as copy,
            ):
                for each in some:
                    copy.write_row(each)

    def insert_binary(self, table: str, parts: Iterable[bytes]) -> None:
        """Insert rows in the binary format of `COPY`, without its header; a part holds whole rows."""
        with (
            self._locked(),
            self._db.cursor() as cursor,
            cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.write(_COPY_HEADER)
            for part in parts:
                copy.write(part)
            copy.write(_COPY_END)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo what was done inside if an exception leaves the block, and let an open transaction continue."""
        with self._lock, self._db.transaction():
            yield

    def rows(self, query: str, parameters: Sequence[Any] = (), *, binary: bool = False) -> list[Row]:
        """Run a query and return all its rows; `binary`: as the server stores them, for columns of bytes."""
        return self._run(_translated(query), parameters, binary=binary)

    def iterate(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a query and yield its rows; a bounded number is in memory."""
        name = f"c{next(self._cursor_numbers)}"
        # The transactions of a writer come and go while it iterates.
        hold = "" if self._read_only else "WITH HOLD"
        self._run(f"DECLARE {name} NO SCROLL CURSOR {hold} FOR {_translated(query)}", parameters)
        try:
            while True:
                rows = self._run(f"FETCH {_FETCHED} FROM {name}")
                yield from rows
                if len(rows) < _FETCHED:
                    return
        finally:
            # Not closed here: a finalizer may run in the midst of another statement.
            self._unclosed.append(name)

    def pieces(self, table: str, column: str, key: str) -> Iterator[bytes]:
        """Yield the bytes of a long text in the row whose ``id`` is a key."""
        for (text,) in self.rows(f"SELECT {column} FROM {table} WHERE id = ?", (key,)):  # noqa: S608
            yield text.encode()

    def where_in(self, query: str, keys: Sequence[Any]) -> Iterator[Row]:
        """Run a query that ends in ``IN`` for any number of keys; rows come in no defined order."""
        whole = _translated(f"{query.removesuffix('IN')}= ANY(?)")
        for at in range(0, len(keys), _KEYS):
            yield from self._run(whole, (list(keys[at : at + _KEYS]),))

    def _run(self, statement: str, parameters: Sequence[Any] = (), *, binary: bool = False) -> list[Row]:
        with self._locked():
            if self._unclosed and self._db.info.transaction_status.name != "INERROR":
                names, self._unclosed = self._unclosed, []
                for name in names:
                    self._db.execute(f"CLOSE {name}")
            cursor = self._db.execute(statement, parameters, binary=binary)
            return cursor.fetchall() if cursor.description is not None else []

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock, database_errors_explained(self.url.shown):
            yield
