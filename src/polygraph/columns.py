"""Rows of many documents as arrays: what is read from each document once, and worked on for all of them together.

A hundred thousand chunks give some millions of rows; as objects they would fill the memory, and reading them from
the tables would take longer than working on them. Here each table is a few arrays, ordered by document, strings are
numbers in pools, and texts lie in one stretch of bytes. Documents can be taken out and put in, and all of it is
written to a few files.

```
names      what one window calls something: a row for each name of each window
mentions   entity rows; `places` are their chunks
links      relation rows; `link_places` are their chunks
texts      descriptions, each once for a document
```
References between tables count from the first row of the document.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import nan
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
_FILE = "columns.npz"
_STRINGS = "columns.json"
_TEXTS = "columns.texts"
_CODES = {"i": np.int32, "b": np.int8, "d": np.float64, "Q": np.uint64}

Draft: TypeAlias = dict[str, dict[str, list[Any]]]
"""Rows of one document, by table and column; strings as they are, None for none."""


@dataclass(slots=True, eq=False)
class Table:
    """One kind of rows."""

    offsets: Array
    """Where the rows of each document begin, shape ``(n_documents + 1,)``."""
    columns: dict[str, Array]

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def document(self) -> Array:
        """Number of the document of each row, int64."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def shifted(self, name: str, to: "Table") -> Array:
        """A column that counts rows of another table within the document, counted from the first row of all."""
        local = self.columns[name].astype(np.int64)
        return np.where(local < 0, -1, local + np.repeat(to.offsets[:-1], np.diff(self.offsets)))


def interleaved(sides: Sequence[Table], order: Sequence[tuple[str, int, int]]) -> Table:
    """Rows of documents of two tables with the same columns.

    Args:
        sides: the tables.
        order: the documents wanted: id, number of the side that has it, number of the document there.
    """
    ends = [side.offsets for side in sides]
    sizes = np.array([ends[s][i + 1] - ends[s][i] for _, s, i in order], dtype=np.int64)
    columns = {c: _gathered([side[c] for side in sides], ends, order) for c in sides[0].columns}
    return Table(_cumulated(sizes), columns)


@dataclass(slots=True, eq=False)
class Columns:
    """All tables."""

    documents: list[str]
    """Ids, ascending."""
    tables: dict[str, Table]
    pools: dict[str, list[str]] = field(default_factory=dict)
    blob: Array = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """The texts, in UTF-8, one after the other."""

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def texts(self, rows: Sequence[int], ends: Array) -> list[str]:
        """Texts by row; `ends` as `text_ends` gives them."""
        blob = self.blob
        return [
            blob[int(ends[row]) : int(ends[row + 1])].tobytes().decode("utf-8", "surrogatepass")
            for row in rows
        ]

    def text_ends(self) -> Array:
        """Where each text begins, and the last one ends, shape ``(n_texts + 1,)``."""
        return _cumulated(self["texts"]["length"])

    def replaced(self, gone: Collection[str], new: "Columns") -> "Columns":
        """Take some documents out and put others in.

        Args:
            gone: ids; those that are not there do not matter.
            new: documents; one that was there takes the place of the former.
        """
        leaving = {*gone, *new.documents}
        kept = [(document, 0, i) for i, document in enumerate(self.documents) if document not in leaving]
        order = sorted([*kept, *((document, 1, i) for i, document in enumerate(new.documents))])
        pools, numbers = _joined(self.pools, new.pools)
        sides = (self, new)
        tables = {}
        for name, columns in TABLES.items():
            both = [
                Table(
                    side[name].offsets,
                    {
                        column: _renumbered(side[name][column], numbers[kind][s])
                        if kind in POOLS
                        else side[name][column]
                        for column, kind in columns.items()
                    },
                )
                for s, side in enumerate(sides)
            ]
            tables[name] = interleaved(both, order)
        ends = [side.text_ends()[side["texts"].offsets] for side in sides]
        blob = _gathered([side.blob for side in sides], ends, order)
        found = Columns([document for document, _, _ in order], tables, pools, blob)
        found._drop_unused()
        return found

    def _drop_unused(self) -> None:
        """Forget strings that no row has: they may be of documents that are gone."""
        for pool in POOLS:
            places = [(t, c) for t, columns in TABLES.items() for c, kind in columns.items() if kind == pool]
            used = np.zeros(len(self.pools[pool]) + 1, dtype=np.bool_)
            for table, column in places:
                used[self[table][column]] = True  # -1 marks the one behind the last
            if used[:-1].all():
                continue
            number = np.cumsum(used[:-1]) - 1
            for table, column in places:
                self[table].columns[column] = _renumbered(self[table][column], number)
            self.pools[pool] = [string for string, kept in zip(self.pools[pool], used, strict=False) if kept]

    def save(self, folder: Path) -> None:
        """Write the files into a folder."""
        arrays: dict[str, Any] = {
            f"{name}.{column}": values
            for name, table in self.tables.items()
            for column, values in (("", table.offsets), *table.columns.items())
        }
        np.savez(folder / _FILE, **arrays)
        self.blob.tofile(folder / _TEXTS)
        strings = {"documents": self.documents, **self.pools}
        (folder / _STRINGS).write_text(json.dumps(strings), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Columns":
        """Read what `save` wrote; texts stay on the disk until they are asked for."""
        strings = json.loads((folder / _STRINGS).read_text(encoding="utf-8"))
        with np.load(folder / _FILE) as arrays:
            tables = {
                name: Table(arrays[f"{name}."], {column: arrays[f"{name}.{column}"] for column in columns})
                for name, columns in TABLES.items()
            }
        size = (folder / _TEXTS).stat().st_size
        blob = np.memmap(folder / _TEXTS, dtype=np.uint8, mode="r") if size else np.zeros(0, dtype=np.uint8)
        return cls(strings.pop("documents"), tables, strings, blob)


class Gathering:
    """Collects documents, in ascending order of their ids."""

    def __init__(self) -> None:
        self._documents: list[str] = []
        self._numbers: dict[str, dict[str, int]] = {pool: {} for pool in POOLS}
        self._offsets = {name: array("q", [0]) for name in TABLES}
        self._columns = {
            name: {c: array("i" if kind in POOLS else kind) for c, kind in columns.items()}
            for name, columns in TABLES.items()
        }
        self._blob = bytearray()

    def add(self, document: str, draft: Draft, texts: Iterable[str]) -> None:
        """Take in one document.

        Raises:
            ValueError: if it does not come after the last one.
        """
        if self._documents and document <= self._documents[-1]:
            raise ValueError(f"document {document!r} must come after {self._documents[-1]!r}")
        self._documents.append(document)
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._blob += b"".join(encoded)
        judged = draft.get("texts", {}).get("quality", [nan] * len(encoded))
        told = {
            "hash": [_hash(text) for text in encoded],
            "length": [len(text) for text in encoded],
            "quality": judged,
        }
        for name, columns in TABLES.items():
            rows: Mapping[str, list[Any]] = told if name == "texts" else draft.get(name, {})
            n = 0
            for column, kind in columns.items():
                values = rows.get(column, [])
                n = len(values)
                if kind in POOLS:
                    numbers = self._numbers[kind]
                    values = [-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
                self._columns[name][column].extend(values)
            self._offsets[name].append(self._offsets[name][-1] + n)

    def columns(self) -> Columns:
        """Everything that was collected."""
        tables = {
            name: Table(
                np.array(self._offsets[name], dtype=np.int64),
                {
                    column: np.frombuffer(values, dtype=_CODES[values.typecode])
                    if values
                    else np.zeros(0, dtype=_CODES[values.typecode])
                    for column, values in columns.items()
                },
            )
            for name, columns in self._columns.items()
        }
        pools = {pool: list(numbers) for pool, numbers in self._numbers.items()}
        return Columns(self._documents, tables, pools, np.frombuffer(self._blob, dtype=np.uint8))


def text_hash(text: str) -> int:
    """The number by which a text is told from others."""
    return _hash(text.encode("utf-8", "surrogatepass"))


class Qualities:
    """How well texts read by themselves, for some that are one sentence each.

    >>> known = Qualities(np.array([text_hash("Fog.")], dtype=np.uint64), np.array([0.3]))
    >>> known.of(text_hash("Fog.")), known.of(text_hash("Rain."))
    (0.3, None)
    """

    def __init__(self, hashes: Array, values: Array) -> None:
        """Keep what is known.

        Args:
            hashes: of texts, by `text_hash`, uint64.
            values: how well each reads; those that are no number are left out.
        """
        known = ~np.isnan(values)
        distinct, first = np.unique(hashes[known].astype(np.uint64), return_index=True)
        # Arrays of Python, of which one number at a time is read faster.
        self._hashes = array("Q", distinct.tobytes())
        self._values = array("d", values[known][first].astype(np.float64).tobytes())

    def of(self, hash_: int) -> float | None:
        """What is known of a text."""
        place = bisect_left(self._hashes, hash_)
        return self._values[place] if place < len(self._hashes) and self._hashes[place] == hash_ else None


def known_qualities(folder: Path) -> Qualities:
    """The column `quality`, of what `Columns.save` wrote."""
    with np.load(folder / _FILE) as arrays:
        return Qualities(arrays["texts.hash"], arrays["texts.quality"])


def _hash(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little") if encoded else 0


def _cumulated(counts: Array) -> Array:
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def _renumbered(values: Array, number: Array) -> Array:
    if not len(number):
        return values
    return np.where(values < 0, values, number[values]).astype(values.dtype)


def _joined(
    first: Mapping[str, list[str]], second: Mapping[str, list[str]]
) -> tuple[dict[str, list[str]], dict[str, tuple[Array, Array]]]:
    """Pools that hold the strings of both, and the new numbers of each side's strings."""
    pools, numbers = {}, {}
    for pool in POOLS:
        place = {string: i for i, string in enumerate(first[pool])}
        theirs = [place.setdefault(string, len(place)) for string in second[pool]]
        pools[pool] = list(place)
        numbers[pool] = (np.arange(len(first[pool])), np.array(theirs, dtype=np.int64))
    return pools, numbers


def _gathered(
    values: Sequence[Array], offsets: Sequence[Array], order: Sequence[tuple[str, int, int]]
) -> Array:
    """Stretches of rows of either side, in order; neighbours are copied together."""
    parts: list[Array] = []
    side, begin, end = 0, 0, 0
    for _, s, i in order:
        a, b = int(offsets[s][i]), int(offsets[s][i + 1])
        if s == side and a == end:
            end = b
            continue
        parts.append(values[side][begin:end])
        side, begin, end = s, a, b
    parts.append(values[side][begin:end])
    return np.concatenate(parts)
