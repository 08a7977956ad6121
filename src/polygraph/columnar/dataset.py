"""All tables of rows, of which only what a step asks for is in memory."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

from polygraph.columnar.group_sort import running
from polygraph.columnar.memmap import room
from polygraph.columnar.tables import (
    NO_ROWS,
    POOLS,
    TABLES,
    Array,
    Mapped,
    Table,
    append,
    cumulated,
    dtype_of,
    runs_of,
)

_FILE = "columns.bin"
_ABOUT = "columns.json"
TEXTS = "columns.texts"
"""The file of the texts."""
_OFFSETS = ""
"""Stands for a column where it is said at which byte each begins."""
_BLOCK = 1 << 18
"""Rows, or bytes of text, that are copied at once."""


@dataclass(slots=True, eq=False)
class Columns:
    """All tables."""

    documents: list[str]
    """Ids, ascending."""
    tables: dict[str, Table]
    pools: dict[str, list[str]]
    blob: bytes | Path
    """The texts, in UTF-8, one after the other, or the file where they lie."""

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def texts(self, rows: Sequence[int], ends: Array) -> list[str]:
        """Texts by row; `ends` as `text_ends` gives them."""
        found = []
        with self._blob() as file:
            for row in rows:
                begin = int(ends[row])
                file.seek(begin)
                found.append(file.read(int(ends[row + 1]) - begin).decode("utf-8", "surrogatepass"))
        return found

    def _blob(self) -> BinaryIO:
        # Read and not mapped: of texts that lie far apart each would bring its whole page into memory.
        return self.blob.open("rb", buffering=0) if isinstance(self.blob, Path) else BytesIO(self.blob)

    def text_ends(self, folder: Path | None = None) -> Array:
        """Where each text begins, and the last one ends, shape ``(n_texts + 1,)``; `folder` as for `spill.room`."""
        ends = room(len(self["texts"]) + 1, np.int64, folder)
        running(self["texts"]["length"], ends[1:])
        return ends

    def replaced(self, gone: Collection[str], new: "Columns", folder: Path) -> "Columns":
        """Take some documents out and put others in.

        Args:
            gone: ids; those that are not there do not matter.
            new: documents; one that was there takes the place of the former.
            folder: where the result is written, as by `save`.
        """
        leaving = {*gone, *new.documents}
        kept = [(document, 0, i) for i, document in enumerate(self.documents) if document not in leaving]
        order = sorted([*kept, *((document, 1, i) for i, document in enumerate(new.documents))])
        _write(folder, (self, new), order)
        return Columns.load(folder)

    def save(self, folder: Path) -> None:
        """Write the files into a folder."""
        _write(folder, (self,), [(document, 0, i) for i, document in enumerate(self.documents)])

    @classmethod
    def load(cls, folder: Path) -> "Columns":
        """Read what `save` wrote; rows and texts stay on the disk until they are asked for."""
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        path, tables = folder / _FILE, {}
        for name, columns in TABLES.items():
            begins, n = about["tables"][name], len(about["documents"]) + 1
            offsets = np.fromfile(path, dtype=np.int64, count=n, offset=begins[_OFFSETS])
            places = {
                column: (path, begins[column], dtype_of(kind), int(offsets[-1]))
                for column, kind in columns.items()
            }
            tables[name] = Table(offsets, Mapped(places))
        return cls(about["documents"], tables, about["pools"], folder / TEXTS)


def _write(folder: Path, sides: Sequence[Columns], order: Sequence[tuple[str, int, int]]) -> None:
    """Write documents of one side or of two, part by part, so that memory does not grow with their rows."""
    runs = runs_of(order)
    pools, numbers = _joined(sides, runs)
    begins: dict[str, dict[str, int]] = {}
    with (folder / _FILE).open("wb") as file:
        for name, columns in TABLES.items():
            tables = [side[name] for side in sides]
            sizes = [np.diff(tables[s].offsets[i : j + 1]) for s, i, j in runs]
            begins[name] = {_OFFSETS: append(file, [cumulated(np.concatenate([*sizes, NO_ROWS]))])}
            for column, kind in columns.items():
                own = (
                    (numbers[kind][s][part] if kind in POOLS else part).astype(dtype_of(kind), copy=False)
                    for s, part in _parts(tables, runs, column)
                )
                begins[name][column] = append(file, own)
    ends = [side.text_ends()[side["texts"].offsets] for side in sides]
    with (folder / TEXTS).open("wb") as into:
        for s, i, j in runs:
            with sides[s]._blob() as source:
                source.seek(int(ends[s][i]))
                left = int(ends[s][j] - ends[s][i])
                while left and (block := source.read(min(left, _BLOCK))):
                    left -= into.write(block)
    about = {"documents": [document for document, _, _ in order], "pools": pools, "tables": begins}
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def _parts(
    tables: Sequence[Table], runs: Sequence[tuple[int, int, int]], column: str
) -> Iterator[tuple[int, Array]]:
    """Rows of a column, some at a time, each with the number of its side."""
    values = [table[column] for table in tables]
    for s, i, j in runs:
        end = int(tables[s].offsets[j])
        for at in range(int(tables[s].offsets[i]), end, _BLOCK):
            yield s, values[s][at : min(at + _BLOCK, end)]


def _joined(
    sides: Sequence[Columns], runs: Sequence[tuple[int, int, int]]
) -> tuple[dict[str, list[str]], dict[str, list[Array]]]:
    """Pools that hold the strings in use, each once, and for each side the new numbers of its strings (-1 for -1)."""
    pools: dict[str, list[str]] = {}
    numbers: dict[str, list[Array]] = {}
    for pool in POOLS:
        # One more for none, which is the last one when counted from the end.
        used = [np.zeros(len(side.pools[pool]) + 1, dtype=np.bool_) for side in sides]
        for name, columns in TABLES.items():
            for column, kind in columns.items():
                if kind == pool:
                    for s, part in _parts([side[name] for side in sides], runs, column):
                        used[s][part] = True
        place: dict[str, int] = {}
        numbers[pool] = [np.full(len(mark), -1, dtype=np.int32) for mark in used]
        for side, mark, number in zip(sides, used, numbers[pool], strict=True):
            strings = side.pools[pool]
            for i in np.flatnonzero(mark[:-1]).tolist():
                number[i] = place.setdefault(strings[i], len(place))
        pools[pool] = list(place)
    return pools, numbers
