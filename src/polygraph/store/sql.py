"""What the tables of a store need of a database: statements that SQLite and PostgreSQL both understand.

Statements are written once, with ``?`` for parameters, `ON CONFLICT` for what may be there already, and quotation marks
around column names that PostgreSQL reserves. What the two databases spell differently is in `Dialect`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
T = TypeVar("T")
_BATCH = 512
"""Rows that are worked on together."""


class Dialect(Protocol):
    """Expressions that databases spell differently."""

    def contains(self, column: str) -> str:
        """Return a condition with one parameter: a text that the column must contain."""

    def list_length(self, column: str) -> str:
        """Return the number of items of a column that holds a JSON list."""

    def n_bytes(self, column: str) -> str:
        """Return the number of bytes of a column that holds text."""

    def one_of(self, column: str, values: Sequence[int]) -> tuple[str, Any]:
        """Return the condition that a column has one of any number of values, and its parameter."""

    def indexed_by(self, index: str) -> str:
        """Return what stands behind the table of a query that must read an index.

        SQLite prefers the index of a primary key to one that holds all that a query asks for.
        """

    @property
    def shares_texts(self) -> bool:
        """Whether a text that many rows share is stored once, see `shared_texts`."""


class SqlConnection(Protocol):
    """A connection to the tables of one index."""

    @property
    def dialect(self) -> Dialect:
        """How this database spells what databases spell differently."""

    def transaction(self) -> AbstractContextManager[None]:
        """Apply all changes made inside, or none if an exception leaves the block."""

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that changes something."""

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows that are not there yet.

        Args:
            table: its name, followed by a list of columns in brackets if the rows have not all of them.
            rows: the values, in the order of the columns; they may come from a query of the same connection.
        """

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""

    def iterate(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a query and yield its rows; a bounded number is in memory."""

    def pieces(self, table: str, column: str, key: str) -> Iterator[bytes]:
        """Yield the bytes of a long text in the row whose ``id`` is a key."""

    def where_in(self, query: str, keys: Sequence[Any]) -> Iterator[Row]:
        """Run a query that ends in ``IN`` for any number of keys; rows come in no defined order."""

    def by_key(self, query: str, keys: Sequence[Any]) -> list[Row]:
        """Run a query that ends in ``IN`` and whose first column is the key.

        Returns:
            One row for each key that was found, in the order of `keys`.
        """
        rows = {row[0]: row for row in self.where_in(query, list(dict.fromkeys(keys)))}
        return [rows[key] for key in keys if key in rows]


def in_batches(rows: Iterable[T]) -> Iterator[tuple[int, list[T]]]:
    """Yield some rows at a time, with the position of the first of them."""
    at, rest = 0, iter(rows)
    while batch := list(islice(rest, _BATCH)):
        yield at, batch
        at += len(batch)
