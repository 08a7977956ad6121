"""What the passages of many documents say, as arrays that can be kept: documents are taken out and put in.

```
documents  one row each: a mark of id and content, hash of the title, number of passages
titles     titles that stand in a passage
capitals   names by their capitals
words      marks of all words of a document
```
"""

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar import Mapped, Place, Table, append, interleaved, mapped
from polygraph.columnar.memmap import Column, Room
from polygraph.columnar.memory import let_go
from polygraph.extract.titles.find_titles import Keys, Naming, Rows, Said, among, marks, naming

_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "documents": {"mark": np.uint64, "title": np.uint64, "passages": np.int64},
    "titles": {"passage": np.int32, "name": np.uint64},
    "capitals": {"passage": np.int32, "name": np.uint64},
    "words": {"mark": np.uint32},
}
_FILE, _ABOUT = "said.bin", "said.json"
_OFFSETS = ""
"""Stands for a column where it is said at which byte each begins, and how many rows it has."""
_BLOCK = 1 << 16
"""Rows that are looked through at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Sayings:
    """What documents say, in the order of their ids."""

    tables: Mapping[str, Table]

    @classmethod
    def of(cls, documents: Iterable[tuple[int, int, Said]], folder: Path | None = None) -> "Sayings":
        """Collect documents, each as its mark, the hash of its title, and what it says.

        Args:
            documents: gone through once.
            folder: for the files where they lie, as for `Spill`.
        """
        offsets = {name: array("q", [0]) for name in _COLUMNS}
        columns = {
            name: {c: Column(np.dtype(kind).char, folder) for c, kind in kinds.items()}
            for name, kinds in _COLUMNS.items()
        }
        for mark, title, said in documents:
            rows: dict[str, dict[str, Iterable[int]]] = {
                "documents": {"mark": [mark], "title": [title], "passages": [len(said.titles)]},
                "titles": _by_passage(said.titles),
                "capitals": _by_passage(said.capitals),
                "words": {"mark": said.words},
            }
            for name, some in rows.items():
                for column, values in some.items():
                    columns[name][column].extend(values)
                    n = len(columns[name][column])
                offsets[name].append(n)
        return cls(
            {
                name: Table(
                    np.frombuffer(offsets[name], dtype=np.int64),
                    {c: column.mapped() for c, column in columns[name].items()},
                )
                for name in _COLUMNS
            }
        )

    @property
    def n_documents(self) -> int:
        """How many there are."""
        return len(self.marks)

    @property
    def marks(self) -> Keys:
        """By which documents are known again."""
        found: Keys = self.tables["documents"]["mark"]
        return found

    @property
    def titles(self) -> Keys:
        """Hash of the title of each document, 0 for one that is no name."""
        found: Keys = self.tables["documents"]["title"]
        return found

    def with_those(
        self, other: "Sayings", order: Sequence[tuple[str, int, int]], room: Room = np.empty
    ) -> "Sayings":
        """Documents of these and of others, in order (see `columns.interleaved`)."""
        sides = (self.tables, other.tables)
        return Sayings({name: interleaved([side[name] for side in sides], order, room) for name in _COLUMNS})

    def naming(self, room: Room = np.empty) -> Naming:
        """The names that the passages share.

        Args:
            room: where their pairs lie, and what is needed to find them.
        """
        documents = self.tables["documents"]
        sizes = documents["passages"]
        first = np.cumsum(sizes) - sizes

        def pairs(name: str) -> tuple[Rows, Keys]:
            table = self.tables[name]
            within, passages = table["passage"], room(len(table), np.int32)
            for at in range(0, len(table), _BLOCK):
                some = within[at : at + _BLOCK]
                passages[at : at + _BLOCK] = first[_documents(table, np.arange(at, at + len(some)))] + some
                let_go(within, passages)
            return passages, table["name"]

        return naming(self.titles, sizes, pairs("titles"), pairs("capitals"), room=room)

    def touched(self, gone: Collection[int], new: Iterable[tuple[str, ...]]) -> NDArray[np.bool_]:
        """Which documents may say other titles than before, when some titles are gone and others new.

        Args:
            gone: hashes.
            new: words of each.
        """
        found: NDArray[np.bool_] = np.zeros(self.n_documents, dtype=np.bool_)
        titles, words = self.tables["titles"], self.tables["words"]
        leaving = np.array(sorted(gone), dtype=np.uint64)
        found[_documents(titles, _rows_of(titles["name"], leaving))] = True
        wanted = [np.array(sorted(marks(title)), dtype=np.uint32) for title in new]
        if not wanted:
            return found
        rows = _rows_of(words["mark"], np.unique(np.concatenate(wanted)))
        # The documents that have each word, ascending, word by word.
        mark, document = words["mark"][rows], _documents(words, rows)
        order = np.argsort(mark, kind="stable")
        mark, document = mark[order], document[order]
        for each in wanted:
            begin, end = np.searchsorted(mark, each, side="left"), np.searchsorted(mark, each, side="right")
            having = sorted((document[a:b] for a, b in zip(begin, end, strict=True)), key=len)
            with_all = having[0]
            for some in having[1:]:
                with_all = with_all[among(with_all, some)]
            found[with_all] = True
        return found

    def save(self, folder: Path) -> None:
        """Write the files into a folder."""
        begins: dict[str, dict[str, list[int]]] = {}
        with (folder / _FILE).open("wb") as file:
            for name, table in self.tables.items():
                columns = {_OFFSETS: table.offsets, **table.columns}
                begins[name] = {
                    c: [append(file, _blocks(values)), len(values)] for c, values in columns.items()
                }
        (folder / _ABOUT).write_text(json.dumps(begins), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Sayings | None":
        """Open what `save` wrote; None if there is nothing. A column is mapped when it is asked for, and not kept."""
        if not (folder / _ABOUT).is_file():
            return None
        begins = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        tables = {}
        for name, columns in _COLUMNS.items():
            kinds = {_OFFSETS: np.int64, **columns}
            places: dict[str, Place] = {
                c: (folder / _FILE, begin, kinds[c], n) for c, (begin, n) in begins[name].items()
            }
            tables[name] = Table(mapped(places.pop(_OFFSETS)), Mapped(places))
        return cls(tables)


def _by_passage(names: Sequence[Sequence[int]]) -> dict[str, Iterable[int]]:
    """Names of the passages of a document as rows."""
    return {
        "passage": (i for i, some in enumerate(names) for _ in some),
        "name": chain.from_iterable(names),
    }


def _blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Some rows at a time; what was read of them is let go."""
    for at in range(0, len(values), _BLOCK):
        yield values[at : at + _BLOCK]
        let_go(values)


def _rows_of(values: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Rows whose value is among some, given ascending."""
    if not len(wanted):
        return np.zeros(0, dtype=np.int64)
    found = [i * _BLOCK + np.flatnonzero(among(some, wanted)) for i, some in enumerate(_blocks(values))]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _documents(table: Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of the document of each of some rows."""
    return np.searchsorted(table.offsets, rows, side="right") - 1
