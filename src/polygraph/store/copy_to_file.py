"""Copying the tables of an index to an SQLite file, whatever database they are in."""

from contextlib import closing
from pathlib import Path

from polygraph.store.connection import FILE_NAME
from polygraph.store.database import SqliteStore
from polygraph.store.portable import PORTABLE_TABLES
from polygraph.store.protocol import StoreReader


def copy_to_file(source: StoreReader, folder: Path) -> Path:
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
        return path
    with closing(SqliteStore(folder, mode="write")) as target, target.transaction():
        for table in PORTABLE_TABLES:
            target.load(table, source.dump(table))
        for name, layer in source.layers().items():
            target.put_layer(name, *layer)
    return path
