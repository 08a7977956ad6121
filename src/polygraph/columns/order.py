"""Rows in the order of what they belong to, sorted in parts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from polygraph.columns.spill import room
from polygraph.columns.tables import Array, cumulated, row_type
from polygraph.memory import let_go

BLOCK = 1 << 17
"""Rows that are worked on at once, where there are as many as the corpus gives."""

Blocks = Callable[[], Iterator[tuple[Array, Array]]]
"""Gives items and the rows that belong to them, some at a time, the same each time that it is called."""


def blocks(n: int) -> Iterator[Array]:
    """Numbers of `n` rows, some at a time.

    >>> [part.tolist() for part in blocks(3)]
    [[0, 1, 2]]
    """
    for begin in range(0, n, BLOCK):
        yield np.arange(begin, min(begin + BLOCK, n), dtype=row_type(n))


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


def by_item(n: int, given: Blocks, folder: Path | None = None) -> tuple[Array, Array]:
    """Sort rows by the item that they belong to; rows of one item stay in the order in which they are given.

    A counting sort: rows are counted first, and then put in their places. Memory: some numbers for each item.

    Args:
        n: number of items.
        given: items, in ``[0, n)``, and rows; asked for twice.
        folder: where the result lies, as for `spill.room`.

    Returns:
        Where the rows of each item begin, and the last ones end, shape ``(n + 1,)``; and the rows.

    >>> ends, rows = by_item(3, lambda: iter([(np.array([2, 0]), np.array([4, 5])), (np.array([2]), np.array([6]))]))
    >>> ends.tolist(), rows.tolist()
    ([0, 1, 1, 3], [5, 4, 6])
    """
    counts, last = np.zeros(n, dtype=np.int64), 0
    for item, rows in given():
        found, often = np.unique(item, return_counts=True)
        counts[found] += often
        last = max(last, int(rows.max(initial=0)))
    ends = cumulated(counts)
    sorted_rows = room(int(ends[-1]), row_type(last + 1), folder)
    filled = ends[:-1].copy()
    for item, rows in given():
        order = np.argsort(item, kind="stable")
        ascending = item[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-1))
        sizes = np.diff(first, append=len(ascending))
        place = filled[ascending] + np.arange(len(ascending)) - np.repeat(first, sizes)
        sorted_rows[place] = rows[order]
        filled[ascending[first]] += sizes
        let_go(sorted_rows)
    return ends, sorted_rows
