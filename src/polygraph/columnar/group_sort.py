"""Rows in the order of what they belong to, sorted in parts."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polygraph.columnar.memmap import room
from polygraph.columnar.memory import let_go
from polygraph.columnar.tables import Array, cumulated, row_type

BLOCK = 1 << 17
"""Rows that are worked on at once, where there are as many as the corpus gives."""

Blocks = Callable[[], Iterable[tuple[Array, Any]]]
"""Gives groups and the items that belong to them, some at a time, the same each time that it is called."""


def blocks(n: int) -> Iterator[Array]:
    """Numbers of `n` rows, some at a time.

    >>> [part.tolist() for part in blocks(3)]
    [[0, 1, 2]]
    """
    for begin in range(0, n, BLOCK):
        yield np.arange(begin, min(begin + BLOCK, n), dtype=row_type(n))


def running(values: Array, into: Array) -> Array:
    """The running sums of some numbers, written part by part; `into` may be the same array.

    >>> running(np.array([2, 0, 3]), np.zeros(3, dtype=np.int64)).tolist()
    [2, 2, 5]
    """
    total = 0
    for rows in blocks(len(values)):
        into[rows] = np.cumsum(values[rows], dtype=into.dtype) + total
        total = int(into[rows[-1]])
        let_go(values, into)
    return into


def whole_groups(ends: Array, size: int | None = None) -> Iterator[tuple[int, int]]:
    """Divide groups of rows in parts of so many rows, or of one group: the first group, and the one behind the last.

    Args:
        ends: where the rows of each group begin, and the last ones end, shape ``(n + 1,)``.
        size: most rows of a part of several groups; some ten thousand if not given.

    >>> list(whole_groups(np.array([0, 2, 5, 6]), size=4))
    [(0, 1), (1, 3)]
    """
    first, n = 0, len(ends) - 1
    while first < n:
        last = int(np.searchsorted(ends, ends[first] + (size or BLOCK), side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def by_group(given: Blocks, n: int, dtype: Any, folder: Path | None = None) -> tuple[Array, Array]:
    """Put items in the order of the groups that they belong to; those of one group stay as they are given.

    A counting sort: items are counted first, and then put in their places. Memory: some numbers for each group.

    Args:
        given: groups, in ``[0, n)``, and items; asked for twice.
        n: number of groups.
        dtype: of the items.
        folder: where the result lies, as for `spill.room`.

    Returns:
        Where each group begins, and the last one ends, shape ``(n + 1,)``; and the items.

    >>> ends, items = by_group(lambda: iter([(np.array([2, 0]), [4, 5]), (np.array([2]), [6])]), 3, np.int32)
    >>> ends.tolist(), items.tolist()
    ([0, 1, 1, 3], [5, 4, 6])
    """
    counts = np.zeros(n, dtype=np.int64)
    for group, _ in given():
        found, often = np.unique(group, return_counts=True)
        counts[found] += often
    ends = cumulated(counts)
    items, filled = room(int(ends[-1]), dtype, folder), ends[:-1].copy()
    for group, some in given():
        order = np.argsort(group, kind="stable")
        ascending = group[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-1))
        sizes = np.diff(first, append=len(ascending))
        place = filled[ascending] + np.arange(len(ascending)) - np.repeat(first, sizes)
        items[place] = np.asarray(some)[order]
        filled[ascending[first]] += sizes
        let_go(items)
    return ends, items
