"""A write in progress, and the finished state that readers see meanwhile.

Before a writer changes anything that a finished layer rests on, it saves a copy of the tables and records that a write
is in progress. Readers that find the record read the copy. When all layers are up to date again, the record is
deleted, then the copy. A writer that was killed leaves both: readers still see the last finished state, and the next
writer continues.
"""

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polygraph.errors import IndexUnreadable
from polygraph.store.database import SAVED_STATE, SqliteStore
from polygraph.store.postgres.folder import database_of
from polygraph.store.postgres.store import PostgresStore
from polygraph.store.protocol import Store, StoreReader
from polygraph.store.tables import READING, UNFINISHED

_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteInProgress:
    """What a writer is about to do, or was doing when it was stopped."""

    layers: tuple[str, ...] = ()
    """Layers that it must bring up to date, besides those that the next command asks for."""
    removed: tuple[str, ...] = ()
    """Ids of documents that it has removed: removing them again continues the write."""
    forget: bool = False
    """Whether every trace of removed documents must be deleted."""


def write_in_progress(store: StoreReader) -> WriteInProgress | None:
    """Return the record of a writer that is at work or was stopped; None if all is finished."""
    text = store.meta(UNFINISHED)
    if text is None:
        return None
    found = json.loads(text)
    return WriteInProgress(
        layers=tuple(found["layers"]), removed=tuple(found["removed"]), forget=bool(found["forget"])
    )


def begin_write(
    store: Store, *, layers: Collection[str] = (), removed: Collection[str] = (), forget: bool = False
) -> WriteInProgress:
    """Save the finished state for readers, and record what is about to be done.

    A record that is already there is extended. The arguments are the fields of `WriteInProgress`.
    """
    earlier = write_in_progress(store)
    if earlier is None and store.layers():
        store.save_state()
    write = WriteInProgress(
        layers=tuple(sorted({*layers, *(earlier.layers if earlier else ())})),
        removed=tuple(sorted({*removed, *(earlier.removed if earlier else ())})),
        forget=forget or bool(earlier and earlier.forget),
    )
    if write != earlier:
        value = {"layers": write.layers, "removed": write.removed, "forget": write.forget}
        with store.transaction():
            store.set_meta(UNFINISHED, json.dumps(value))
    return write


def finish_write(store: Store) -> None:
    """Let readers see the new state."""
    if store.meta(UNFINISHED) is not None:
        with store.transaction():
            store.set_meta(UNFINISHED, None)
    store.drop_saved_state()


def begin_reading(store: Store, paths: Collection[str]) -> None:
    """Record that documents are read from some paths, so that a reading that is stopped is known as incomplete."""
    _set_unread(store, {*unread_paths(store), *paths})


def finish_reading(store: Store, paths: Collection[str]) -> None:
    """Record that some paths were read to the end."""
    _set_unread(store, set(unread_paths(store)).difference(paths))


def unread_paths(store: StoreReader) -> list[str]:
    """Return the paths whose reading is in progress or was stopped, sorted."""
    return list(json.loads(store.meta(READING) or "[]"))


def _set_unread(store: Store, paths: Collection[str]) -> None:
    value = json.dumps(sorted(paths)) if paths else None
    if value != store.meta(READING):
        with store.transaction():
            store.set_meta(READING, value)


def open_finished(folder: Path) -> SqliteStore | PostgresStore:
    """Open the last finished state for reading.

    Raises:
        IndexUnreadable: if there is no index, or it is damaged.
    """
    if (url := database_of(folder)) is not None:
        return PostgresStore(folder, url, mode="read", state="finished")
    for _ in range(_ATTEMPTS):
        store = SqliteStore(folder, mode="read")
        if store.meta(UNFINISHED) is None or not (folder / SAVED_STATE).is_file():
            return store
        try:
            saved = open_saved(folder)
        except IndexUnreadable:
            return store  # the copy is damaged
        if saved is None:
            store.close()
            continue  # the writer has just finished
        store.close()
        return saved
    return SqliteStore(folder, mode="read")


def open_saved(folder: Path) -> SqliteStore | PostgresStore | None:
    """Open the state that was saved for readers; None if no write is in progress.

    Raises:
        IndexUnreadable: if the copy is damaged.
    """
    if (url := database_of(folder)) is not None:
        with suppress(IndexUnreadable):
            return PostgresStore(folder, url, mode="read", state="saved")
        return None
    try:
        return SqliteStore(folder, mode="read", file=SAVED_STATE)
    except IndexUnreadable:
        if (folder / SAVED_STATE).is_file():
            raise
        return None
