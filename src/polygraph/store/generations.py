"""What a writer is in the midst of, and the state that readers see meanwhile.

Before a writer changes anything that a finished layer rests on, it copies the tables to
``derived/before.sqlite`` and notes in `index.sqlite` that its work is unfinished. Readers that find the note
read the copy. When all layers are in step again the note is taken away, and then the copy. A writer that was
killed leaves both, so readers go on seeing the last finished state, and the next writer goes on.
"""

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polygraph.errors import IndexUnreadable
from polygraph.store.database import Store

BEFORE = "derived/before.sqlite"
"""The last finished state, while the next one is made."""
FINISHED = "derived/finished"
"""Replaced whenever a writer has finished: tells readers to look again."""

_KEY = "unfinished"
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A note of a writer about itself."""

    layers: tuple[str, ...] = ()
    """Layers that it must bring in step, besides those that the next command asks for."""
    removed: tuple[str, ...] = ()
    """Documents that it has removed: to remove them again means to go on."""
    forget: bool = False
    """Whether every trace of removed documents must go."""


def unfinished(store: Store) -> Unfinished | None:
    """The note of a writer that is at work or was stopped; None if all is finished."""
    text = store.meta(_KEY)
    if text is None:
        return None
    found = json.loads(text)
    return Unfinished(
        layers=tuple(found["layers"]), removed=tuple(found["removed"]), forget=bool(found["forget"])
    )


def begin(
    store: Store, *, layers: Collection[str] = (), removed: Collection[str] = (), forget: bool = False
) -> Unfinished:
    """Keep the finished state for readers, and note what is about to be done; adds to an earlier note.

    Args:
        store: open for writing.
        layers: see `Unfinished`.
        removed: see `Unfinished`.
        forget: see `Unfinished`.
    """
    before = unfinished(store)
    if before is None and store.layers():
        store.copy_to(store.folder / BEFORE)
    note = Unfinished(
        layers=tuple(sorted({*layers, *(before.layers if before else ())})),
        removed=tuple(sorted({*removed, *(before.removed if before else ())})),
        forget=forget or bool(before and before.forget),
    )
    if note != before:
        value = {"layers": note.layers, "removed": note.removed, "forget": note.forget}
        with store.transaction():
            store.set_meta(_KEY, json.dumps(value))
    return note


def finish(store: Store) -> None:
    """Let readers see the new state."""
    if store.meta(_KEY) is not None:
        with store.transaction():
            store.set_meta(_KEY, None)
    with suppress(OSError):  # Windows keeps what a reader has open; nobody looks at it without the note
        (store.folder / BEFORE).unlink(missing_ok=True)
    file = store.folder / FINISHED
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_name(f"{file.name}.tmp")
    temporary.write_text("", encoding="utf-8")
    temporary.replace(file)


def finished_state(folder: Path) -> Store:
    """Open the last finished state for reading.

    Raises:
        IndexUnreadable: if there is no index, or it is damaged.
    """
    for _ in range(_TRIES):
        store = Store(folder, mode="read")
        if store.meta(_KEY) is None or not (folder / BEFORE).is_file():
            return store
        try:
            before = Store(folder, mode="read", file=BEFORE)
        except IndexUnreadable:
            if (folder / BEFORE).is_file():
                return store  # the copy is damaged
            store.close()
            continue  # the writer has just finished
        store.close()
        return before
    return Store(folder, mode="read")


def stamp(folder: Path) -> tuple[int, int] | None:
    """Changes whenever a writer has finished; cheap to ask."""
    try:
        found = os.stat(folder / FINISHED)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
