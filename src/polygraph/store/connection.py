"""Opening the file of an index, and telling what is wrong if it does not open."""

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polygraph.errors import IndexUnreadable, StorageFailed

FILE_NAME = "index.sqlite"
_BUSY_MS = 30_000
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_FULL_TEXT = re.compile(r"(?i)no space left|\bos error 28\b|^\d+ requested and \d+ written$")


def connect(path: Path) -> sqlite3.Connection:
    """Open a file for writing; every statement is a transaction of its own unless one is begun."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a file for reading; where nothing can be written, without the files that SQLite puts beside it."""
    if path.name == FILE_NAME and os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        return connect(path)
    log = path.with_name(f"{path.name}-wal")
    # A log that still holds something must be read with it; else nobody can write, and no lock is needed.
    how = "mode=ro" if log.is_file() and log.stat().st_size else "immutable=1"
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?{how}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_BUSY_MS / 1000,
    )


def is_begun(folder: Path) -> bool:
    """Tell whether a folder holds an index; a file without tables is one whose making was cut short.

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
    except sqlite3.Error as error:
        raise explain_storage(error, folder) from error


@contextmanager
def with_room(folder: Path) -> Iterator[None]:
    """Say it as `StorageFailed` if what is written meanwhile finds no room; other errors stay as they are."""
    try:
        yield
    except (OSError, ValueError) as error:
        if not _no_room(error):
            raise
        raise explain_storage(error, folder) from error


def _no_room(error: Exception) -> bool:
    """Whether a disk or quota is full; numpy and tantivy give only the text."""
    return getattr(error, "errno", None) in _FULL or bool(_FULL_TEXT.search(str(error)))


def explain_storage(error: Exception, folder: Path) -> Exception:
    """Turn an error of the file system or of SQLite into one that says what to do."""
    text = str(error).lower()
    if "full" in text or _no_room(error):
        return StorageFailed(
            f"the disk that holds {folder} is full. Free some space and run the same command again."
        )
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return IndexUnreadable(
            f"{folder / FILE_NAME} is not a readable index ({error}); {_saved(folder)}. Build it again in another "
            "folder with: polygraph index PATH --index NEW_FOLDER (copy calls.sqlite there first: it holds every "
            "reply already paid for)"
        )
    if "readonly" in text or "unable to open" in text or isinstance(error, PermissionError):
        return StorageFailed(
            f"{folder} cannot be written or opened ({error}). Choose another folder with --index."
        )
    if "locked" in text:
        return StorageFailed(f"{folder} is locked by another program. Wait until it ends and try again.")
    return StorageFailed(f"{folder}: {error}")


def readable(folder: Path) -> tuple[int, int]:
    """Count the documents and the extraction rows that a damaged `index.sqlite` still gives away."""
    counts = []
    for tables in (("documents",), ("entity_rows", "relation_rows")):
        n = 0
        for table in tables:
            key = "rowid" if table == "documents" else "window, seq"
            backwards = "rowid DESC" if table == "documents" else "window DESC, seq DESC"
            found, whole = _count(folder, f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608
            n += found
            if not whole:
                # What lies behind the damage is reached from the other end.
                n += _count(folder, f"SELECT * FROM {table} ORDER BY {backwards}")[0]  # noqa: S608
        counts.append(n)
    return counts[0], counts[1]


def _saved(folder: Path) -> str:
    """Say how much of a damaged index can still be read."""
    documents, rows = readable(folder)
    return f"{documents:,} documents and {rows:,} extraction rows of it can still be read"


def _count(folder: Path, query: str) -> tuple[int, bool]:
    """Rows that a query gives before it breaks off, and whether it did not."""
    n = 0
    with suppress(sqlite3.Error, OSError):
        db = connect_to_read(folder / FILE_NAME)
        try:
            for _ in db.execute(query):
                n += 1
            return n, True
        finally:
            db.close()
    return n, False
