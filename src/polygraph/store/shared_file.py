"""Reading a file of SQLite's beside SQLite, without releasing its locks.

POSIX locks belong to a process: when it closes any descriptor of a file, all its locks on the file are gone, also those
of SQLite's connections (https://www.sqlite.org/howtocorrupt.html, section 2.2). Another process then takes itself for
the last user, and removes the write-ahead log under a reader. So a file that was opened beside SQLite stays open for as
long as this process has a connection to it.
"""

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

_Inode: TypeAlias = tuple[int, int]

_lock = threading.RLock()  # a finalizer may run within it
_users: "Counter[Path]" = Counter()
"""Connections to each file, and readers of it."""
_kept: dict[Path, list[tuple[_Inode, BinaryIO]]] = {}
"""Open files by path; several if a file was replaced."""


class LockedConnection(sqlite3.Connection):
    """A connection that counts as a user of its file until it is closed."""

    def __init__(self, database: str, *args: Any, path: Path, **options: Any) -> None:
        self._path: Path | None = path.resolve()
        _enter(self._path)
        try:
            super().__init__(database, *args, **options)
        except BaseException:
            self._leave()
            raise

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        super().close()
        self._leave()

    def __del__(self) -> None:
        # An outdated snapshot is not closed, since another thread may be reading it: the last one drops it.
        if getattr(self, "_path", None) is not None:
            self.close()

    def _leave(self) -> None:
        if self._path is not None:
            _leave(self._path)
            self._path = None


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file for `read_at`.

    Raises:
        OSError: if it cannot be opened.
    """
    path = path.resolve()
    _enter(path)
    try:
        with _lock:
            file = _opened(path)
        yield file
    finally:
        _leave(path)


def _opened(path: Path) -> BinaryIO:
    files = _kept.setdefault(path, [])
    now = os.stat(path)
    for inode, file in files:
        if inode == (now.st_dev, now.st_ino):
            return file
    opened = path.open("rb")
    found = os.fstat(opened.fileno())
    files.append(((found.st_dev, found.st_ino), opened))
    return opened


def read_at(file: BinaryIO, offset: int, n_bytes: int) -> bytes:
    """Read from an offset; the file may be shared by threads. Fewer bytes are returned at its end."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), n_bytes, offset)
    with _lock:
        file.seek(offset)
        return file.read(n_bytes)


def _enter(path: Path) -> None:
    with _lock:
        _users[path] += 1


def _leave(path: Path) -> None:
    with _lock:
        _users[path] -= 1
        if _users[path] <= 0:
            del _users[path]
            for _, file in _kept.pop(path, []):
                file.close()
