"""Bytes and numbers that are put aside in files until they are asked for."""

import os
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from polygraph.columnar.tables import Array

Room: TypeAlias = Callable[[int, Any], Array]
"""Gives an array of some length and type: in memory (`numpy.empty`), or in a file (`room`)."""

_BLOCK = 1 << 14
"""Numbers that are held in memory before they are written away."""
_PART = 1 << 17
"""Numbers that are read again at once."""
_SMALL = 1 << 14
"""Bytes for which no file is made."""


# Half of the time that a file object takes; not on Windows.
_PREAD: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)
_FALLOCATE: Callable[[int, int, int], None] | None = getattr(os, "posix_fallocate", None)


class Spill:
    """Bytes in a file without a name, which is gone when nobody uses it any more, also after a crash.

    Args:
        folder: where it lies; None: where the system has its temporary files.

    >>> spill = Spill()
    >>> spill.add(b"lamp"), spill.add(b"oil")
    (4, 7)
    >>> spill.read(4, 7)
    b'oil'
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed when this is gone
        self._handle = self._file.fileno()
        self._end = 0
        self._written = True
        weakref.finalize(self, self._file.close)

    def add(self, data: bytes) -> int:
        """Write something behind the rest; return where it ends."""
        self._written = False
        self._end += self._file.write(data)
        return self._end

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from one place to another."""
        if not self._written:
            self._file.flush()
            self._written = True
        if _PREAD is not None:
            return _PREAD(self._handle, end - begin, begin)
        self._file.seek(begin)
        found = self._file.read(end - begin)
        self._file.seek(self._end)
        return found

    def mapped(self, dtype: Any, n: int) -> Array:
        """The first numbers of some type, in the file; it stays for as long as the array does."""
        if not n:
            return np.zeros(0, dtype=dtype)
        self._file.flush()
        self._written = True
        return np.asarray(np.memmap(self._file, dtype=dtype, mode="r", shape=(n,)))

    def __len__(self) -> int:
        return self._end


def room(n: int, dtype: Any, folder: Path | None = None) -> Array:
    """An array of zeros in a file as of `Spill`, which counts as memory in use from being touched until `let_go`.

    One of some pages lies in memory.

    Raises:
        OSError: if the disk is full; it is not found out later, where it would end the process.

    >>> numbers = room(3, np.int32)
    >>> numbers[1] = 7
    >>> numbers.tolist()
    [0, 7, 0]
    """
    size = n * np.dtype(dtype).itemsize
    if size <= _SMALL:
        return np.zeros(n, dtype=dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(size)
        claim(file, size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(n,)))


def claim(file: IO[bytes], size: int) -> None:
    """Have the system set aside the bytes of a file that is about to be mapped and written.

    Of a file that was only made longer they are found when they are written; on a full disk that ends the process.

    Raises:
        OSError: if the disk is full.
    """
    if _FALLOCATE is not None:
        _FALLOCATE(file.fileno(), 0, size)


class Column:
    """Numbers that come one by one and are asked for all together: an array that grows would be held twice.

    Args:
        typecode: of `array.array`.
        folder: as for `Spill`.

    >>> column = Column("i")
    >>> column.extend([3, 1]), column.append(2)
    (None, None)
    >>> column.array().tolist(), len(column)
    ([3, 1, 2], 3)
    """

    def __init__(self, typecode: str, folder: Path | None = None) -> None:
        self._last: array[Any] = array(typecode)
        self._rest = Spill(folder)
        self._n = 0
        self.append: Callable[[float], None] = self._last.append
        """Put one number behind the others; whoever does it often has to `settle` them."""

    def extend(self, numbers: Iterable[float]) -> None:
        """Put some numbers behind the others."""
        self._last.extend(numbers)
        if len(self._last) >= _BLOCK:
            self.settle()

    def put(self, numbers: Array) -> None:
        """Put an array behind the others."""
        self.settle()
        self._n += len(numbers)
        self._rest.add(numbers.astype(self._last.typecode, copy=False).tobytes())

    def part(self, begin: int, end: int) -> Array:
        """Those from one place to another; nothing can be added after anything was read."""
        self.settle()
        each = self._last.itemsize
        return np.frombuffer(self._rest.read(begin * each, end * each), dtype=self._last.typecode)

    def blocks(self) -> Iterator[Array]:
        """All of them, some at a time."""
        for begin in range(0, len(self), _PART):
            yield self.part(begin, min(begin + _PART, len(self)))

    def array(self) -> Array:
        """All of them."""
        found, at = np.empty(len(self), dtype=self._last.typecode), 0
        for block in self.blocks():
            found[at : at + len(block)] = block
            at += len(block)
        return found

    def mapped(self) -> Array:
        """All of them, in the file; nothing can be added afterwards."""
        self.settle()
        return self._rest.mapped(self._last.typecode, self._n)

    def settle(self) -> None:
        """Write away what is held in memory."""
        if self._last:
            self._n += len(self._last)
            self._rest.add(self._last.tobytes())
            del self._last[:]

    def __len__(self) -> int:
        return self._n + len(self._last)
