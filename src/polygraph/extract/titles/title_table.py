"""Names found in the passages of all documents, stored as arrays, and the matches between passages.

```
documents  fingerprint of id and content, hash of the title, number of passages
titles     titles that occur in a passage
capitals   names recognised by their capitals
words      hashes of all words of a document
```
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import Array, Table, TableBuilder, distinct, find_sorted, members, offsets, union
from polygraph.extract.titles.find_titles import DocumentTitles, word_hashes

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "documents": {"fingerprint": "Q", "title": "Q", "passages": "q"},
    "titles": {"passage": "i", "name": "Q"},
    "capitals": {"passage": "i", "name": "Q"},
    "words": {"hash": "I"},
}
_FILE = "titles.npz"

Keys: TypeAlias = NDArray[np.uint64]
Pairs: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TitleMatches:
    """Names, each by the hash of its words, and the passages that they title or occur in."""

    keys: Keys
    """Hash of each name, ascending, shape ``(n,)``; its position is the number of the name."""
    titles: Pairs
    """Pairs of a name and a passage of a document with this title, by passage, then name, shape ``(m, 2)``."""
    links: Pairs
    """Pairs of such a name and a passage of another document in which it occurs, in the same order."""
    shared: Pairs
    """Pairs of any other name and a passage in which it occurs, for names of at least two passages."""


@dataclass(frozen=True, slots=True, eq=False)
class TitleTable:
    """Names found in documents, in the order of their ids."""

    tables: Mapping[str, Table]

    @classmethod
    def of(cls, documents: Iterable[tuple[int, int, DocumentTitles]]) -> "TitleTable":
        """Collect documents, each as its fingerprint, the hash of its title, and the names found in it."""
        builders = {name: TableBuilder(columns) for name, columns in _COLUMNS.items()}
        for fingerprint, title, found in documents:
            n = len(found.titles)
            builders["documents"].add({"fingerprint": [fingerprint], "title": [title], "passages": [n]})
            for name, by_passage in (("titles", found.titles), ("capitals", found.capitals)):
                passages = [i for i, names in enumerate(by_passage) for _ in names]
                builders[name].add({"passage": passages, "name": list(chain.from_iterable(by_passage))})
            builders["words"].add({"hash": found.words})
        return cls({name: builder.table() for name, builder in builders.items()})

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.fingerprints)

    @property
    def fingerprints(self) -> Keys:
        """Fingerprint of each document."""
        return self.tables["documents"]["fingerprint"]

    @property
    def titles(self) -> Keys:
        """Hash of the title of each document, 0 if it does not look like a name."""
        return self.tables["documents"]["title"]

    def select(self, other: "TitleTable", documents: Array) -> "TitleTable":
        """Return some documents of this table and another.

        Args:
            other: the other table.
            documents: numbers of documents; those of the other table are counted after those of this one.
        """
        tables = {}
        for name, table in self.tables.items():
            added = other.tables[name]
            ends = np.concatenate((table.offsets, added.offsets[1:] + len(table)))
            rows, _ = members(ends, documents)
            columns = {c: np.concatenate((table[c], added[c]))[rows] for c in table.columns}
            tables[name] = Table(offsets(np.diff(ends)[documents]), columns, {})
        return TitleTable(tables)

    def matches(self) -> TitleMatches:
        """Return the names that connect passages."""
        sizes = self.tables["documents"]["passages"]
        first = np.cumsum(sizes) - sizes
        own = np.repeat(self.titles, sizes)
        """Title of the document of each passage."""
        passages, names = self.tables["titles"].shifted("passage", first), self.tables["titles"]["name"]
        linked = names != own[passages]
        known = distinct(self.titles[self.titles != 0])
        capitals = self.tables["capitals"]
        found, counts = np.unique(capitals["name"], return_counts=True)
        shared = np.setdiff1d(found[counts > 1], known, assume_unique=True)
        keys = union(known, shared)
        return TitleMatches(
            keys,
            _pairs(np.arange(len(own)), own, known, keys),
            _pairs(passages[linked], names[linked], known, keys),
            _pairs(capitals.shifted("passage", first), capitals["name"], shared, keys),
        )

    def affected(self, gone: Collection[int], new: Iterable[Sequence[str]]) -> NDArray[np.bool_]:
        """Return which documents may contain other titles than before.

        Args:
            gone: hashes of removed titles.
            new: words of each new title.
        """
        found: NDArray[np.bool_] = np.zeros(len(self), dtype=np.bool_)
        titles, words = self.tables["titles"], self.tables["words"]
        leaving = np.array(sorted(gone), dtype=np.uint64)
        found[_documents(titles, np.flatnonzero(_among(titles["name"], leaving)))] = True
        wanted = [np.array(sorted(word_hashes(title)), dtype=np.uint32) for title in new]
        if not wanted:
            return found
        rows = np.flatnonzero(_among(words["hash"], distinct(np.concatenate(wanted))))
        # The documents with each word, ascending, word by word.
        word, document = words["hash"][rows], _documents(words, rows)
        order = np.argsort(word, kind="stable")
        word, document = word[order], document[order]
        for each in wanted:
            begin, end = np.searchsorted(word, each, side="left"), np.searchsorted(word, each, side="right")
            having = sorted((document[a:b] for a, b in zip(begin, end, strict=True)), key=len)
            with_all = having[0]
            for some in having[1:]:
                with_all = with_all[_among(with_all, some)]
            found[with_all] = True
        return found

    def save(self, folder: Path) -> None:
        """Write the file into a folder."""
        arrays = {
            f"{name}.{column}": values
            for name, table in self.tables.items()
            for column, values in {"offsets": table.offsets, **table.columns}.items()
        }
        np.savez(folder / _FILE, **arrays)  # type: ignore[arg-type] # of allow_pickle, which no array is called

    @classmethod
    def load(cls, folder: Path) -> "TitleTable":
        """Read what `save` wrote."""
        with np.load(folder / _FILE) as arrays:
            return cls(
                {
                    name: Table(
                        arrays[f"{name}.offsets"],
                        {column: arrays[f"{name}.{column}"] for column in columns},
                        {},
                    )
                    for name, columns in _COLUMNS.items()
                }
            )


def _among(values: Array, ascending: Array) -> NDArray[np.bool_]:
    """Return which of some values are among others, which ascend."""
    return find_sorted(ascending, values)[1]


def _pairs(passages: Array, names: Keys, wanted: Keys, keys: Keys) -> Pairs:
    """Return the wanted names in passages as pairs of the position in `keys` and the passage, in the order given."""
    rows = _among(names, wanted)
    numbers = np.searchsorted(keys, names[rows]).astype(np.int32)
    return np.stack((numbers, passages[rows].astype(np.int32, copy=False)), axis=1)


def _documents(table: Table, rows: Array) -> Array:
    """Return the number of the document of each row."""
    return np.searchsorted(table.offsets, rows, side="right") - 1
