"""Opening the store of an index: SQLite in its folder, or PostgreSQL if the folder names a database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from polygraph.models.call_store import CALLS_FILE, CallPlace
from polygraph.store import connection, database
from polygraph.store.database import SqliteStore
from polygraph.store.lock import writing
from polygraph.store.postgres.folder import database_of
from polygraph.store.postgres.generation import generation_of, has_tables
from polygraph.store.postgres.store import PostgresStore
from polygraph.store.protocol import Store


def is_begun(folder: Path) -> bool:
    """Tell whether a folder has an index.

    Raises:
        IndexUnreadable: if it is damaged, or its server does not let us in.
    """
    url = database_of(folder)
    return connection.is_begun(folder) if url is None else has_tables(url)


def calls_of(folder: Path) -> CallPlace:
    """Return where the replies and the ledger of an index are: a file in its folder, or its database."""
    return database_of(folder) or folder / CALLS_FILE


def has_index(folder: Path) -> bool:
    """Tell whether a folder has an index, without looking whether its file can be read.

    Raises:
        IndexUnreadable: if its server does not let us in.
    """
    return is_begun(folder) if database_of(folder) else (folder / connection.FILE_NAME).is_file()


def open_store(folder: Path, *, mode: Literal["read", "write"]) -> Store:
    """Open the tables of an index as they are now, which may be in the midst of a write.

    Args:
        folder: of the index.
        mode: ``write`` creates the tables if they are not there, and does not hold the lock of the one writer.

    Raises:
        IndexUnreadable: if there is no index, or it is damaged.
        StorageFailed: if it cannot be written.
    """
    url = database_of(folder)
    if url is None:
        return SqliteStore(folder, mode=mode)
    return PostgresStore(folder, url, mode=mode)


@contextmanager
def open_to_write(
    folder: Path, durability: Literal["normal", "full"] = "normal", wait_s: float = 0.0
) -> Iterator[Store]:
    """Open an index as its one writer; it is created if it is not there.

    Raises:
        IndexLocked: if another process is still writing after `wait_s`.
        StorageFailed: if it cannot be written.
    """
    url = database_of(folder)
    if url is None:
        with (
            writing(folder, wait_s=wait_s),
            closing(SqliteStore(folder, mode="write", durability=durability)) as store,
        ):
            yield store
        return
    with closing(PostgresStore(folder, url, mode="write", lock_s=wait_s)) as shared:
        yield shared


def finished_stamp(folder: Path) -> object:
    """Return a value that changes whenever a writer has finished; cheap to ask for."""
    # Each question asks, and to look for a URL where there is none takes longer than to find the file.
    found = database.finished_stamp(folder)
    url = database_of(folder) if found is None else None
    return found if url is None else generation_of(url)
