"""What the passages of many documents say, as arrays that can be kept: documents are taken out and put in.

```
documents  one row each: a mark of id and content, hash of the title, number of passages
titles     titles that stand in a passage
capitals   names by their capitals
words      marks of all words of a document
```
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.columns import Table, interleaved
from polygraph.extract.naming import Keys, Naming, Pairs, Said, marks, naming

_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "documents": {"mark": np.uint64, "title": np.uint64, "passages": np.int64},
    "titles": {"passage": np.int32, "name": np.uint64},
    "capitals": {"passage": np.int32, "name": np.uint64},
    "words": {"mark": np.uint32},
}
_FILE = "said.npz"
_BATCH = 50
"""Documents that are collected as objects before they become arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class Sayings:
    """What documents say, in the order of their ids."""

    tables: Mapping[str, Table]

    @classmethod
    def of(cls, documents: Iterable[tuple[int, int, Said]]) -> "Sayings":
        """Collect documents, each as its mark, the hash of its title, and what it says."""
        parts = [_collected([])]
        batch: list[tuple[int, int, Said]] = []
        for document in documents:
            batch.append(document)
            if len(batch) == _BATCH:
                parts.append(_collected(batch))
                batch = []
        parts.append(_collected(batch))
        return cls({name: _joined([part[name] for part in parts]) for name in _COLUMNS})

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

    def with_those(self, other: "Sayings", order: Sequence[tuple[str, int, int]]) -> "Sayings":
        """Documents of these and of others, in order (see `columns.interleaved`)."""
        return Sayings(
            {name: interleaved([table, other.tables[name]], order) for name, table in self.tables.items()}
        )

    def naming(self) -> Naming:
        """The names that the passages share."""
        documents = self.tables["documents"]
        sizes = documents["passages"]
        first = np.cumsum(sizes) - sizes

        def pairs(name: str) -> tuple[Pairs, Keys]:
            table = self.tables[name]
            return table["passage"] + np.repeat(first, np.diff(table.offsets)), table["name"]

        return naming(self.titles, sizes, pairs("titles"), pairs("capitals"))

    def touched(self, gone: Collection[int], new: Iterable[tuple[str, ...]]) -> NDArray[np.bool_]:
        """Which documents may say other titles than before, when some titles are gone and others new.

        Args:
            gone: hashes.
            new: words of each.
        """
        found: NDArray[np.bool_] = np.zeros(self.n_documents, dtype=np.bool_)
        titles, words = self.tables["titles"], self.tables["words"]
        found[titles.document()[np.isin(titles["name"], np.array(sorted(gone), dtype=np.uint64))]] = True
        wanted = [np.array(sorted(marks(title)), dtype=np.uint32) for title in new]
        if not wanted:
            return found
        rows = np.flatnonzero(np.isin(words["mark"], np.concatenate(wanted)))
        # The documents that have each word, ascending, word by word.
        document = np.searchsorted(words.offsets, rows, side="right") - 1
        order = np.argsort(words["mark"][rows], kind="stable")
        mark, document = words["mark"][rows][order], document[order]
        for each in wanted:
            begin, end = np.searchsorted(mark, each, side="left"), np.searchsorted(mark, each, side="right")
            having = sorted((document[a:b] for a, b in zip(begin, end, strict=True)), key=len)
            with_all = having[0]
            for some in having[1:]:
                with_all = with_all[_among(with_all, some)]
            found[with_all] = True
        return found

    def save(self, folder: Path) -> None:
        """Write one file into a folder."""
        arrays: dict[str, Any] = {
            f"{name}.{column}": values
            for name, table in self.tables.items()
            for column, values in (("", table.offsets), *table.columns.items())
        }
        np.savez(folder / _FILE, **arrays)

    @classmethod
    def load(cls, folder: Path) -> "Sayings | None":
        """Read what `save` wrote; None if there is nothing."""
        if not (folder / _FILE).is_file():
            return None
        with np.load(folder / _FILE) as arrays:
            return cls(
                {
                    name: Table(
                        arrays[f"{name}."], {column: arrays[f"{name}.{column}"] for column in columns}
                    )
                    for name, columns in _COLUMNS.items()
                }
            )


def _collected(documents: Sequence[tuple[int, int, Said]]) -> dict[str, Table]:
    rows: dict[str, list[list[Any]]] = {name: [] for name in _COLUMNS}
    for mark, title, said in documents:
        rows["documents"].append([(mark, title, len(said.titles))])
        rows["titles"].append([(i, name) for i, names in enumerate(said.titles) for name in names])
        rows["capitals"].append([(i, name) for i, names in enumerate(said.capitals) for name in names])
        rows["words"].append([(word,) for word in said.words])
    tables = {}
    for name, of_documents in rows.items():
        offsets = np.cumsum([0, *map(len, of_documents)], dtype=np.int64)
        tables[name] = Table(offsets, _arrays(name, [row for some in of_documents for row in some]))
    return tables


def _joined(parts: Sequence[Table]) -> Table:
    """Tables one after the other."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    columns = {c: np.concatenate([part[c] for part in parts]) for c in parts[0].columns}
    return Table(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), columns)


def _among(some: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some ascending numbers are among others, at least as many."""
    if not len(some):
        return np.zeros(0, dtype=np.bool_)
    found: NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, some), len(others) - 1)] == some
    return found


def _arrays(name: str, rows: Sequence[tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    return {
        column: np.fromiter((row[i] for row in rows), dtype=kind, count=len(rows))
        for i, (column, kind) in enumerate(_COLUMNS[name].items())
    }
