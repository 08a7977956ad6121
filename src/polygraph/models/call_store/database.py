"""What the tables of calls need from a database."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = tuple[Any, ...]


class Statements(Protocol):
    """Runs statements inside one transaction.

    Statements are written so that SQLite and PostgreSQL both understand them, with ``?`` for each parameter.
    """

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run a statement that changes something; return the number of changed rows."""

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement once for each row of parameters; return the number of changed rows."""

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""


class CallDatabase(Protocol):
    """One connection for all threads of a process; the database coordinates several processes.

    Raises:
        IndexUnreadable: if the tables are damaged or have another format.
        StorageFailed: if they cannot be written.
        IndexLocked: if another process locks them for longer than a timeout.
    """

    @property
    def place(self) -> str:
        """The file or database, for messages."""

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a query outside of any transaction and return all its rows."""

    def transaction(self, *, alone: bool = False, lasting: bool = True) -> AbstractContextManager[Statements]:
        """Commit all changes made inside a ``with`` block, or none if an exception leaves it.

        Args:
            alone: only one process at a time is inside such a block.
            lasting: False for counts that may be lost when the machine of the database fails.
        """

    def one_state(self) -> AbstractContextManager[None]:
        """Have all queries inside a ``with`` block see one state, whatever other processes write."""

    def claim(self, key: str) -> AbstractContextManager[bool]:
        """Keep other processes that claim the same key waiting while a ``with`` block runs, where that is possible.

        A process that ends, however it ends, holds no claim. The block gets False if nobody can have been waited for,
        so that what was read before it need not be read again.
        """

    def clean(self) -> bool:
        """Remove deleted data from the disk.

        Returns:
            False if another process still reads the previous state, which keeps it there.
        """

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
