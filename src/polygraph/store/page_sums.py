"""Checksums of the pages of an SQLite file, so that a damaged page is noticed before it changes an answer.

A writer deletes the checksums before its first change and writes them again when it closes the file. A reader that
opens the file compares all pages if the file has changed since it was last compared, by its stamps in the file system,
or if that was a day ago.
Design: docs/design/checksums.md.
"""

import os
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

from polygraph.store.shared_file import read_at, reading

AGAIN_S = 24 * 3600.0
"""A file whose stamps have not changed is compared again after this time, since a disk may change bits silently."""
RESOLUTION_S = 2.0
"""Coarsest unit of times in a file system, for notes that another machine may read."""
TICK_S = 0.05
"""The same for this process, which most file systems refine to a few milliseconds."""
_MAGIC = b"PGSUMS1\n"
_HEAD = struct.Struct("<8sIIII")
"""Magic, page size, CRC-32 of the schema, number of pages, CRC-32 of the checksums; then 32 bits for each page."""
_LOG_HEAD, _FRAME_HEAD = 32, 24
_BLOCK_PAGES = 256

Stamp: TypeAlias = tuple[int, ...]

_compared: dict[Path, tuple[Stamp, float]] = {}
"""When this process has compared a file with its checksums, for folders in which nothing can be written."""


class SumsDamaged(Exception):
    """The file of checksums is damaged."""


@dataclass(frozen=True, slots=True)
class PageSums:
    """Checksums of one state of a file."""

    page_size: int
    schema: int
    """CRC-32 of the statements that create the tables."""
    sums: "array[int]"
    """CRC-32 of each page."""

    def dumps(self) -> bytes:
        """Return the content of the file of checksums."""
        values = array("I", self.sums)
        if sys.byteorder == "big":
            values.byteswap()
        data = values.tobytes()
        return _HEAD.pack(_MAGIC, self.page_size, self.schema, len(values), zlib.crc32(data)) + data

    @classmethod
    def loads(cls, content: bytes) -> "PageSums":
        """Parse what `dumps` returned.

        Raises:
            SumsDamaged: if it is not that.
        """
        data = content[_HEAD.size :]
        try:
            magic, page_size, schema, n, checksum = _HEAD.unpack_from(content)
        except struct.error as error:
            raise SumsDamaged from error
        known_size = page_size & (page_size - 1) == 0 and 512 <= page_size <= 65_536
        if magic != _MAGIC or not known_size or len(data) != 4 * n or zlib.crc32(data) != checksum:
            raise SumsDamaged
        values = array("I", data)
        if sys.byteorder == "big":
            values.byteswap()
        return cls(page_size, schema, values)


def schema_sum(schema: str) -> int:
    """Return the checksum of the statements that create the tables."""
    return zlib.crc32(schema.encode("utf-8"))


def sums_file(path: Path) -> Path:
    """Return the file with the checksums of an SQLite file."""
    folder = path.parent if path.parent.name == "derived" else path.parent / "derived"
    return folder / f"{path.stem}.sums"


def read_sums(path: Path) -> PageSums | None:
    """Return the checksums of an SQLite file; None if it has none.

    Raises:
        SumsDamaged: if they cannot be read.
    """
    try:
        return PageSums.loads(sums_file(path).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SumsDamaged from error


def drop_sums(path: Path) -> None:
    """Delete the checksums of an SQLite file, which is about to change."""
    sums_file(path).unlink(missing_ok=True)
    _compared.pop(path.resolve(), None)


def write_sums(path: Path, schema: int) -> None:
    """Write the checksums of an SQLite file that nobody changes meanwhile."""
    with reading(path) as file:
        size = int.from_bytes(read_at(file, 16, 2), "big")
    page_size = 65_536 if size == 1 else size
    found = PageSums(page_size, schema, array("I", _page_sums(path, page_size)))
    target = sums_file(path)
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f"{target.name}.tmp")
    temporary.write_bytes(found.dumps())
    temporary.replace(target)
    # Whoever changes the file deletes its checksums first, which changes the stamp however soon it happens.
    _compared[path.resolve()] = (_stamp(path), time.time())


def damaged_pages(path: Path, expected: PageSums) -> list[int]:
    """Return the numbers (from 1) of the pages that are not as they were written, missing and additional ones too."""
    found = array("I", islice(_page_sums(path, expected.page_size), len(expected.sums) + 1))
    if found == expected.sums:
        return []
    both = min(len(found), len(expected.sums))
    different = [n + 1 for n in range(both) if found[n] != expected.sums[n]]
    return different + list(range(both + 1, max(len(found), len(expected.sums)) + 1))


def is_intact(path: Path) -> bool:
    """Tell whether a file is as it was written; it is, if it has no checksums or a writer changes it just now.

    Raises:
        SumsDamaged: if its checksums cannot be read.
    """
    if _is_remembered(path):
        return True
    for _ in range(3):
        before = _stamp(path)
        expected = read_sums(path)
        if expected is None:
            return True
        if not damaged_pages(path, expected):
            if before == _stamp(path):
                _remember(path)
            return True
        if read_sums(path) == expected and before == _stamp(path):
            return False
    return False


# --- pages ----------------------------------------------------------------------------------------------


def _page_sums(path: Path, page_size: int) -> Iterator[int]:
    """Yield the checksum of each page as SQLite reads it: from the log if the log has it, otherwise from the file."""
    with ExitStack() as stack:
        log: BinaryIO | None = None
        with suppress(FileNotFoundError):
            log = stack.enter_context(path.with_name(f"{path.name}-wal").open("rb"))
        frames, n_pages = _frames(log, page_size) if log is not None else ({}, None)
        file = stack.enter_context(reading(path))
        n = 0
        while n_pages is None or n < n_pages:
            block = memoryview(read_at(file, n * page_size, _BLOCK_PAGES * page_size))
            if not block and (n_pages is None or not frames or n >= max(frames)):
                return
            n_read = -(-len(block) // page_size) if block else _BLOCK_PAGES
            if not frames:
                yield from [zlib.crc32(block[at : at + page_size]) for at in range(0, len(block), page_size)]
                n += n_read
                continue
            for at in range(n_read if n_pages is None else min(n_read, n_pages - n)):
                page = block[at * page_size : (at + 1) * page_size]
                if log is not None and n + at + 1 in frames:
                    log.seek(frames[n + at + 1])
                    page = memoryview(log.read(page_size))
                yield zlib.crc32(page)
            n += n_read


def _frames(log: BinaryIO, page_size: int) -> tuple[dict[int, int], int | None]:
    """Return where the log holds the last committed state of pages, and the number of pages of the file."""
    head = log.read(_LOG_HEAD)
    if len(head) < _LOG_HEAD or int.from_bytes(head[8:12], "big") not in {page_size, page_size & 0xFFFF}:
        return {}, None
    committed: dict[int, int] = {}
    waiting: dict[int, int] = {}
    n_pages: int | None = None
    at = _LOG_HEAD
    while len(frame := log.read(_FRAME_HEAD)) == _FRAME_HEAD and frame[8:16] == head[16:24]:
        page, size = struct.unpack_from(">II", frame)
        waiting[page] = at + _FRAME_HEAD
        if size:
            committed |= waiting
            waiting, n_pages = {}, size
        at += _FRAME_HEAD + page_size
        log.seek(at)
    return committed, n_pages


# --- what was compared ----------------------------------------------------------------------------------


def _stamp(path: Path) -> Stamp:
    """Return a value that changes with every write to a file, its log or its checksums."""
    found: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal"), sums_file(path)):
        try:
            s = os.stat(file)
        except OSError:
            found += (0, 0, 0, 0)
            continue
        # An empty log comes and goes with each reader.
        if file.suffix == ".sqlite-wal" and not s.st_size:
            found += (0, 0, 0, 0)
        else:
            found += (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
    return tuple(found)


def _note(path: Path) -> Path:
    return sums_file(path).with_suffix(".compared")


def _remember(path: Path) -> None:
    """Record that a file is as it was written, unless it has just changed: it could change again without a trace."""
    stamp, now = _stamp(path), time.time()
    age = now - max(*stamp[2::4], *stamp[3::4]) / 1e9
    if age > TICK_S:
        _compared[path.resolve()] = (stamp, now)
    if age <= RESOLUTION_S:
        return
    with suppress(OSError):
        note = _note(path)
        temporary = note.with_name(f"{note.name}.{os.getpid()}.tmp")
        temporary.write_text(" ".join(map(str, (now, *stamp))), encoding="ascii")
        temporary.replace(note)


def _is_remembered(path: Path) -> bool:
    """Tell whether a file was compared within `AGAIN_S` and has not changed since."""
    stamp, now = _stamp(path), time.time()
    known = _compared.get(path.resolve())
    if known is None or known[0] != stamp:
        try:
            when, *values = _note(path).read_text(encoding="ascii").split()
            known = tuple(int(value) for value in values), float(when)
        except (OSError, ValueError):
            return False
    return known[0] == stamp and 0 <= now - known[1] < AGAIN_S
