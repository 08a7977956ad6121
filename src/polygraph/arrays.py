"""Groups of rows in numpy arrays, and tables that are filled document by document."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.memory import trim_heap

Array: TypeAlias = NDArray[Any]

BATCH = 1 << 16
"""Rows that are worked on together where each needs Python objects or several temporary arrays."""

_PART = 1 << 17
"""Rows of a table that are collected in one array each column."""
_PARTS = 32
"""Parts into which the groups of a long array are divided, about."""


def offsets(counts: ArrayLike) -> Array:
    """Return where each of some groups begins and the last one ends, shape ``(n + 1,)``.

    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    ends = np.zeros(np.size(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def dot_rows(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of every row with a vector of shape ``(dimension,)``; shape ``(n,)``.

    It runs in one thread. A product of matrices (``@``) divides a search among the threads of BLAS, which wait for
    each other in a loop that takes all of a core.

    >>> dot_rows(np.eye(2, 3, dtype=np.float32), np.array([0.5, 0.25, 1.0], dtype=np.float32)).tolist()
    [0.5, 0.25]
    """
    return np.asarray(np.vecdot(matrix, vector))


def group_order(groups: Array, n: int) -> tuple[Array, Array]:
    """Return the order that puts rows of one group together, each group in the order of rows.

    Args:
        groups: group of each row, in ``[0, n)``.
        n: number of groups.

    Returns:
        Offsets of the groups, shape ``(n + 1,)``, and the rows, group by group, int32.

    >>> [part.tolist() for part in group_order(np.array([2, 0, 2]), 3)]
    [[0, 1, 1, 3], [1, 0, 2]]
    """
    return offsets(np.bincount(groups, minlength=n)), np.argsort(groups, kind="stable").astype(np.int32)


def members(ends: Array, groups: Array) -> tuple[Array, Array]:
    """Return the rows of some groups, one group after the other.

    Args:
        ends: offsets of all groups, shape ``(n + 1,)``.
        groups: in ``[0, n)``, in any order, repeated or not.

    Returns:
        Rows, in ``[ends[0], ends[-1])``, and for each the position in `groups` of its group.

    >>> [found.tolist() for found in members(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[2, 3, 4, 0, 1], [0, 0, 0, 1, 1]]
    """
    begins = ends[groups].astype(np.int64)
    counts = ends[groups + 1] - begins
    owner = np.repeat(np.arange(len(groups)), counts)
    begins -= np.cumsum(counts) - counts
    return np.arange(len(owner)) + begins[owner], owner


def rows_of_groups(groups: Array, n: int) -> Iterator[Array]:
    """Yield all rows in a few parts, each with the rows of consecutive groups, ascending.

    A part is small against the whole unless one group is large, so that what is made of it takes little memory.

    Args:
        groups: group of each row, in ``[0, n)``.
        n: number of groups.

    >>> [part.tolist() for part in rows_of_groups(np.array([2, 0, 2]), 3)]
    [[0, 1, 2]]
    """
    counts = np.zeros(n, dtype=np.int64)
    for at in range(0, len(groups), BATCH):
        # In parts, since counting converts the groups to 64 bits.
        counts += np.bincount(groups[at : at + BATCH], minlength=n)
    # Every part looks at all rows, so the number of parts is bounded.
    for first, last in batches(offsets(counts), max(BATCH, len(groups) // _PARTS)):
        yield np.flatnonzero((groups >= first) & (groups < last))


def batches(ends: Array, size: int | None = None) -> Iterator[tuple[int, int]]:
    """Divide groups into batches of at most `size` rows, or of one larger group.

    Args:
        ends: offsets of the groups, shape ``(n + 1,)``.
        size: `BATCH` if not given.

    Yields:
        The first group of a batch and the one behind its last.

    >>> list(batches(np.array([0, 2, 5, 6]), size=4))
    [(0, 1), (1, 3)]
    """
    first, n = 0, len(ends) - 1
    while first < n:
        last = int(np.searchsorted(ends, ends[first] + (size or BATCH), side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def distinct(values: Array) -> Array:
    """Return the distinct values of an array of shape ``(n,)``, ascending.

    Three times as fast as `numpy.unique`, whose first call imports masked arrays, which takes 40 ms.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    found = np.sort(values)
    return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found


def union(a: Array, b: Array) -> Array:
    """Return the distinct values of two arrays of one dimension, ascending.

    >>> union(np.array([3, 1]), np.array([2, 1])).tolist()
    [1, 2, 3]
    """
    return distinct(np.concatenate((a, b)))


def overlap(a: Array, b: Array) -> bool:
    """Return whether two arrays of one dimension, each of distinct values, ascending, have a value in common.

    >>> overlap(np.array([1, 3]), np.array([2, 3])), overlap(np.array([1, 3]), np.array([2]))
    (True, False)
    """
    if not len(a) or not len(b) or a[-1] < b[0] or b[-1] < a[0]:
        return False
    both = np.concatenate((a, b))
    both.sort()
    return bool((both[1:] == both[:-1]).any())


def find_sorted(ascending: Array, wanted: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the position of each wanted value in an ascending array, and whether it is there; if not, any position.

    >>> [found.tolist() for found in find_sorted(np.array([1, 3, 5]), np.array([3, 9, 2]))]
    [[1, 2, 1], [True, False, False]]
    """
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return places, np.asarray(ascending[places] == wanted)


def look_up(ascending: Array, values: Array, wanted: Array, missing: float) -> Array:
    """Return the value of each wanted key, `missing` for a key that is not among the ascending ones.

    >>> look_up(np.array([1, 3, 5]), np.array([0.1, 0.3, 0.5]), np.array([3, 4]), missing=0.0).tolist()
    [0.3, 0.0]
    """
    if not len(ascending):
        return np.full(len(wanted), missing)
    places, known = find_sorted(ascending, wanted)
    return np.where(known, values[places], missing)


def pair_numbers(groups: Array, n: int) -> Array:
    """Return one number for each pair of members of a group: the first times `n` plus the second.

    Args:
        groups: groups of one size as rows, each with its members ascending and in ``[0, n)``.
        n: number of possible members.

    >>> pair_numbers(np.array([[1, 2, 5]]), 10).tolist()
    [12, 15, 25]
    """
    first, second = np.triu_indices(groups.shape[1], 1)
    return np.asarray(groups[:, first].astype(np.int64) * n + groups[:, second]).reshape(-1)


def largest(values: Array, k: int) -> Array:
    """Return the positions of the `k` largest of values of shape ``(n,)``, ascending; of equal values the first.

    >>> largest(np.array([0.5, 0.9, 0.5, 0.1]), 2).tolist()
    [0, 1]
    """
    if k >= len(values):
        return np.arange(len(values))
    if k <= 0:
        return np.arange(0)
    least = np.partition(values, len(values) - k)[len(values) - k]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)
    return np.sort(np.concatenate((above, equal[: k - len(above)])))


def text_hash(text: str) -> int:
    """Return a 64-bit hash of a text, signed as SQLite stores integers; 0 for an empty text."""
    if not text:
        return 0
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of all documents, document by document."""

    offsets: Array
    """Offsets of the documents, shape ``(n_documents + 1,)``."""
    columns: Mapping[str, Array]
    """Strings as positions in `strings`, -1 for none."""
    strings: Mapping[str, list[str]]
    """The distinct strings of each column that holds strings."""

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def __getitem__(self, column: str) -> Array:
        return self.columns[column]

    def only(self, *columns: str) -> "Table":
        """Return the table with some columns, so that the others can be freed."""
        return Table(
            self.offsets,
            {column: self.columns[column] for column in columns},
            {column: strings for column, strings in self.strings.items() if column in columns},
        )

    def shifted(self, column: str, first: Array) -> Array:
        """Return a column that counts within its document, counted through all documents, int32.

        Args:
            column: -1 stays -1.
            first: what 0 stands for in each document, shape ``(n_documents,)``.
        """
        values = self.columns[column]
        found = np.repeat(first.astype(np.int32), np.diff(self.offsets))
        found += values
        found[values < 0] = -1
        return found


def _constant_or_copy(parts: Sequence[Array]) -> Array:
    """Concatenate parts; if every row has the same value, return a read-only array that takes no memory."""
    filled = [part for part in parts if len(part)]
    if filled and all(
        part[0] == filled[0][0] and (part.strides == (0,) or (part == part[0]).all()) for part in filled
    ):
        return np.broadcast_to(filled[0][0], sum(map(len, filled)))
    return np.concatenate(parts)


class TableBuilder:
    """A table that is filled document by document.

    Args:
        columns: type code of `array.array` by column, or ``s`` for strings.

    >>> builder = TableBuilder({"name": "s", "n": "i"})
    >>> for rows in ({"name": ["Orme", None], "n": [2, 1]}, {"name": ["Orme"], "n": [1]}):
    ...     builder.add(rows)
    >>> table = builder.table()
    >>> table["name"].tolist(), table.strings["name"], table.offsets.tolist()
    ([0, -1, 0], ['Orme'], [0, 2, 3])

    A column of one value in every row is read-only and takes no memory.
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._numbers: dict[str, dict[str, int]] = {c: {} for c, code in columns.items() if code == "s"}
        self._codes = {c: "i" if code == "s" else code for c, code in columns.items()}
        self._values = {c: array(code) for c, code in self._codes.items()}
        self._parts: dict[str, list[Array]] = {c: [] for c in columns}
        self._offsets = array("q", [0])

    def add(self, rows: Mapping[str, Sequence[Any]]) -> None:
        """Append the rows of the next document, given by column."""
        for column, values in self._values.items():
            added = rows[column]
            if (number := self._numbers.get(column)) is not None:
                added = [-1 if s is None else number.setdefault(s, len(number)) for s in added]
            values.extend(added)
        self._offsets.append(self._offsets[-1] + len(added))
        if len(values) >= _PART:
            self._end_part()

    def _end_part(self) -> None:
        """Begin new arrays: long ones that grow side by side are moved again and again and leave holes."""
        for column, code in self._codes.items():
            self._parts[column].append(_constant_or_copy([np.array(self._values[column])]))
            self._values[column] = array(code)

    def table(self) -> Table:
        """Return the table; nothing can be added afterwards."""
        self._end_part()
        columns: dict[str, Array] = {}
        for column in self._codes:
            parts = self._parts.pop(column)
            columns[column] = _constant_or_copy(parts)
            del parts
            if self._offsets[-1] > _PART:
                trim_heap()
        return Table(
            np.asarray(self._offsets),
            columns,
            {column: list(number) for column, number in self._numbers.items()},
        )
