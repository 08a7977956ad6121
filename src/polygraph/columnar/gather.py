"""Arrays in files: sorted, grouped and picked from with a few megabytes of them in memory at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from polygraph.columnar.memmap import room
from polygraph.columnar.memory import let_go
from polygraph.columnar.tables import Array, cumulated

_WINDOW = 1 << 20
"""Bytes of an array that are looked at together."""
_BLOCK = 1 << 16
"""Numbers that are merged at once."""


def taken(array: Array, places: Array) -> Array:
    """``array[places]`` of an array in a file.

    Whatever is read brings the pages around it into memory, so places that are scattered would bring in all of a file.
    """
    window = max(1, _WINDOW // array.itemsize)
    if len(array) <= window:
        found = array[places]
        let_go(array)
        return found
    found = np.empty(len(places), dtype=array.dtype)
    which = places // window
    # Numbers of 16 bits are sorted in a fraction of the time.
    order = np.argsort(which.astype(np.uint16) if len(array) >> 16 < window else which, kind="stable")
    for begin, end in pairwise(cumulated(np.bincount(which)).tolist()):
        if begin < end:
            some = order[begin:end]
            found[some] = array[places[some]]
            let_go(array)
    return found


def listed(ends: Array, items: Array, groups: Array) -> tuple[Array, Array]:
    """The items of some groups, one group after the other, from files.

    Args:
        ends: where each group begins in `items`, and the last one ends, shape ``(n + 1,)``.
        items: group by group.
        groups: in ``[0, n)``, in any order, repeated or not.

    Returns:
        The items, and for each the position in `groups` of the group that it belongs to.

    >>> found = listed(np.array([0, 2, 2, 5]), np.array([7, 8, 4, 5, 6]), np.array([2, 0]))
    >>> [part.tolist() for part in found]
    [[4, 5, 6, 7, 8], [0, 0, 0, 1, 1]]
    """
    begins = taken(ends, groups).astype(np.int64)
    counts = taken(ends, groups + 1) - begins
    of = np.repeat(np.arange(len(groups)), counts)
    begins -= np.cumsum(counts) - counts
    return taken(items, np.arange(len(of)) + begins[of]), of


def parts(ends: Array, items: Array) -> Iterator[Array]:
    """The items of each group; what was given before is let go."""
    for begin, end in pairwise(ends.tolist()):
        yield items[begin:end]
        let_go(items)


@dataclass(frozen=True, slots=True, eq=False)
class ByHash:
    """Numbers by hash, in files."""

    hashes: Array
    """Ascending, none twice, uint64."""
    numbers: Array

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, wanted: Array, missing: float) -> Array:
        """The numbers of some hashes (uint64), `missing` for one that has none.

        >>> table = ByHash(np.array([3, 5], dtype=np.uint64), np.array([10, 20]))
        >>> table.of(np.array([5, 4], dtype=np.uint64), -1).tolist()
        [20, -1]
        """
        found = np.full(len(wanted), missing, dtype=self.numbers.dtype)
        order = np.argsort(wanted)
        wanted = wanted[order]
        window = max(1, _WINDOW // self.hashes.itemsize)
        cuts = np.searchsorted(wanted, self.hashes[window::window])
        for i, (begin, end) in enumerate(pairwise([0, *cuts.tolist(), len(wanted)])):
            some, first = self.hashes[i * window : (i + 1) * window], i * window
            if begin == end or not len(some):
                continue
            place = np.searchsorted(some, wanted[begin:end])
            there = np.flatnonzero(some[np.minimum(place, len(some) - 1)] == wanted[begin:end])
            found[order[begin + there]] = self.numbers[first + place[there]]
            let_go(self.hashes, self.numbers)
        return found

    def merged(self, other: "ByHash", folder: Path | None = None) -> "ByHash":
        """This and another that has no hash of it, in new files."""
        n = len(self) + len(other)
        hashes, numbers = room(n, np.uint64, folder), room(n, self.numbers.dtype, folder)
        begins = np.arange(0, max(len(self), 1), _BLOCK)
        # What comes before the first is put there.
        cuts = [0, *np.searchsorted(other.hashes, self.hashes[begins[1:]]).tolist(), len(other)]
        for begin, (first, last) in zip(begins.tolist(), pairwise(cuts), strict=True):
            mine, its = slice(begin, min(begin + _BLOCK, len(self))), slice(first, last)
            into = slice(mine.start + first, mine.stop + last)
            at = np.searchsorted(self.hashes[mine], other.hashes[its])
            hashes[into] = np.insert(self.hashes[mine], at, other.hashes[its])
            numbers[into] = np.insert(self.numbers[mine], at, other.numbers[its])
            let_go(self.hashes, self.numbers, other.hashes, other.numbers, hashes, numbers)
        return ByHash(hashes, numbers)
