"""Copying all tables of an index from one database to another."""

from contextlib import closing
from pathlib import Path

from polygraph.store.connection import FILE_NAME
from polygraph.store.database import SqliteStore
from polygraph.store.postgres.schema import STATE_TABLES
from polygraph.store.postgres.store import PostgresStore


def copy_tables(source: SqliteStore | PostgresStore, target: SqliteStore | PostgresStore) -> None:
    """Copy all rows of a state to a store that has none, in one transaction."""
    with target.transaction():
        for table in STATE_TABLES:
            columns = source.connection.columns(table)
            if columns:
                listed = ", ".join(f'"{column}"' for column in columns)
                rows = source.connection.iterate(f"SELECT {listed} FROM {table}")  # noqa: S608
                target.connection.insert(f"{table} ({listed})", rows)


def copy_to_file(source: SqliteStore | PostgresStore, folder: Path) -> Path:
    """Copy all tables of a state to a new `index.sqlite`, with checksums.

    Args:
        source: the state.
        folder: of the file; it has none yet.

    Raises:
        StorageFailed: if the disk is full.
    """
    path = folder / FILE_NAME
    if isinstance(source, SqliteStore):
        source.copy_to(path)
    else:
        with closing(SqliteStore(folder, mode="write")) as target:
            copy_tables(source, target)
    return path
