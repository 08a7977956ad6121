"""Tables whose columns are arrays, in memory or in files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar.memory import let_go

Array: TypeAlias = NDArray[Any]

TABLES: Mapping[str, Mapping[str, str]] = {
    "names": {
        "window": "i",
        "written": "names",
        "type": "types",
        "base": "names",
        "rule": "b",
        "score": "d",
        "told": "evidence",
        "several": "b",
        "near": "b",
    },
    "mentions": {"name": "i", "type": "types", "n": "i", "start": "i", "text": "i"},
    "places": {"mention": "i", "chunk": "i"},
    "links": {
        "source": "i",
        "target": "i",
        "predicate": "phrases",
        "keywords": "phrases",
        "strength": "d",
        "text": "i",
    },
    "link_places": {"link": "i", "chunk": "i"},
    "texts": {"hash": "Q", "length": "i", "quality": "d"},
}
"""Columns of each table: a type code of `array`, or the pool that holds the strings (-1: none)."""

POOLS = ("names", "types", "evidence", "phrases")

_CODES: Mapping[str, type[np.generic]] = {
    "i": np.int32,
    "b": np.int8,
    "d": np.float64,
    "Q": np.uint64,
}
NO_ROWS = np.zeros(0, dtype=np.int64)
_ALIGNMENT = 8
"""Bytes, of which the place of a column is a multiple."""
_BLOCK = 1 << 16
"""Rows that are copied at once."""

Draft: TypeAlias = dict[str, dict[str, list[Any]]]
"""Rows of one document, by table and column; strings as they are, None for none."""


Place: TypeAlias = tuple[Path, int, Any, int]
"""Where a column lies: file, first byte, type, number of rows."""


def append(file: BinaryIO, parts: Iterable[Array]) -> int:
    """Write a column behind the others of a file, part by part; return its first byte, where it can be mapped."""
    file.write(bytes(-file.tell() % _ALIGNMENT))
    begin = file.tell()
    for part in parts:
        part.tofile(file)
    return begin


def mapped(place: Place) -> Array:
    """A column in a file; what is read of it counts as memory in use until it is let go."""
    path, begin, dtype, n = place
    if not n:
        return np.zeros(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", offset=begin, shape=(n,)))


class Mapped(Mapping[str, Array]):
    """Columns in files, mapped each time that they are asked for: what one step read is not held in the next."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Array:
        return mapped(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(slots=True, eq=False)
class Table:
    """One kind of rows."""

    offsets: Array
    """Where the rows of each document begin, shape ``(n_documents + 1,)``."""
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def document(self) -> Array:
        """Number of the document of each row, int32."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def shifted(self, name: str, to: "Table", rows: Array | None = None) -> Array:
        """A column that counts rows of another table within the document, counted from the first row of all.

        Args:
            name: of the column.
            to: the other table.
            rows: those wanted; all if not given.
        """
        first = to.offsets[:-1].astype(row_type(len(to)))
        if rows is None:
            local, found = self.columns[name], np.repeat(first, np.diff(self.offsets))
        else:
            local = self.columns[name][rows]
            found = first[np.searchsorted(self.offsets, rows, side="right") - 1]
        found += local
        found[local < 0] = -1
        return found


def row_type(n: int) -> type[np.int32] | type[np.int64]:
    """The type of numbers of so many rows: half of the memory, as long as they are few enough."""
    return np.int32 if n < 1 << 31 else np.int64


def interleaved(
    sides: Sequence[Table],
    order: Sequence[tuple[str, int, int]],
    room: Callable[[int, Any], Array] = np.empty,
) -> Table:
    """Rows of documents of two tables with the same columns.

    Args:
        sides: the tables.
        order: the documents wanted: id, number of the side that has it, number of the document there.
        room: where the rows lie (see `spill.Room`).
    """
    runs = runs_of(order)
    offsets = cumulated(
        np.concatenate([np.diff(sides[s].offsets[i : j + 1]) for s, i, j in runs] or [NO_ROWS])
    )
    columns = {}
    for name in sides[0].columns:
        values = [side[name] for side in sides]
        into, at, touched = room(int(offsets[-1]), values[0].dtype), 0, 0
        for s, i, j in runs:
            end = int(sides[s].offsets[j])
            for begin in range(int(sides[s].offsets[i]), end, _BLOCK):
                some = values[s][begin : min(begin + _BLOCK, end)]
                into[at : at + len(some)] = some
                at += len(some)
                if at > touched + _BLOCK:
                    let_go(into, *values)
                    touched = at
        let_go(into, *values)
        columns[name] = into
    return Table(offsets, columns)


def runs_of(order: Sequence[tuple[str, int, int]]) -> list[tuple[int, int, int]]:
    """Documents that follow each other on one side, together: the side, the first, and the one behind the last."""
    runs: list[tuple[int, int, int]] = []
    for _, side, i in order:
        if runs and runs[-1][0] == side and runs[-1][2] == i:
            runs[-1] = (side, runs[-1][1], i + 1)
        else:
            runs.append((side, i, i + 1))
    return runs


def cumulated(counts: Array) -> Array:
    """Where each of some stretches begins, and the last one ends.

    >>> cumulated(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def code_of(kind: str) -> str:
    """The type code of `array` of a kind of column."""
    return "i" if kind in POOLS else kind


def dtype_of(kind: str) -> type[np.generic]:
    """The same as a type of arrays."""
    return _CODES[code_of(kind)]
