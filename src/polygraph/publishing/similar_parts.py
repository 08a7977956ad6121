"""Finding the part of a file that is like a part of another file.

Rows are added and removed, so that equal bytes stand at other places. A sample of places is chosen by their content, as
ends of blocks are; a part lies where most of its places lie close together.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.publishing.blocks import WINDOW, ends
from polygraph.publishing.patches import MOST_SOURCE

_READ = 1 << 22


class SimilarParts:
    """Parts of a file, by content.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._size = path, path.stat().st_size
        self._moved = 0
        """How far the last part that was found had moved."""
        if self._size > MOST_SOURCE:
            self._keys, self._places = _sample(path)

    def near(self, part: bytes, at: int) -> tuple[int, int]:
        """Return begin and end of the bytes that are like a part; the begin is a multiple of four.

        Args:
            part: of another file; parts come in the order of that file.
            at: where it begins there. If no place of the part is known, it is assumed to have moved as far as the last
                one.
        """
        if self._size <= MOST_SOURCE:
            return 0, self._size
        keys = np.array([_key(part, end) for end in ends(part)], dtype=np.uint64)
        found = np.searchsorted(self._keys, keys)
        there = found < len(self._keys)
        there[there] = self._keys[found[there]] == keys[there]
        if there.any():
            places = np.sort(self._places[found[there]])
            close = np.searchsorted(places, places + len(part), side="right") - np.arange(len(places))
            first = int(np.argmax(close))
            self._moved = int(np.median(places[first : first + close[first]])) - at - len(part) // 2
        middle = at + len(part) // 2 + self._moved
        begin = max(0, min(middle - MOST_SOURCE // 2, self._size - MOST_SOURCE)) // 4 * 4
        return begin, min(begin + MOST_SOURCE, self._size)

    def read(self, begin: int, end: int) -> bytes:
        """Return a part of the file."""
        with self._path.open("rb") as file:
            file.seek(begin)
            return file.read(end - begin)


def _sample(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the keys of a sample of places, ascending, and the places; without keys of several places."""
    sampled = [(_key(data, end), at + end) for at, data in _pieces(path) for end in ends(data)]
    keys = np.array([key for key, _ in sampled], dtype=np.uint64)
    places = np.array([place for _, place in sampled], dtype=np.int64)
    keys, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return keys[counts == 1], places[first[counts == 1]]


def _pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        at = 0
        while data := file.read(_READ):
            yield at, data
            at += len(data)


def _key(data: bytes, end: int) -> int:
    """Return a hash of the bytes before a place."""
    digest = hashlib.blake2b(data[max(0, end - WINDOW) : end], digest_size=8).digest()
    return int.from_bytes(digest, "little")
