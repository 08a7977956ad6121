"""Which texts are kept of what was said of an item."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polygraph.columnar import Array, Columns
from polygraph.columnar.groupby import ranks, summed
from polygraph.columnar.memory import let_go
from polygraph.graph.merge.fingerprints import mark_of


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Texts chosen for each of some items."""

    ends: Array
    """Where the texts of each item begin, and the last ones end, shape ``(n + 1,)``."""
    text: Array
    """Numbers of texts."""
    chunk: Array
    """Where each stands."""

    def marks(self, hashes: Array, chunk_marks: Array) -> Array:
        """A number for each item, of its texts, their places and their order."""
        found = hashes[self.text] if len(self.text) else np.zeros(0, dtype=np.uint64)
        at = np.arange(len(self.text)) - np.repeat(self.ends[:-1], np.diff(self.ends))
        each = mark_of(found ^ mark_of(chunk_marks[self.chunk], 11), 12) + at.astype(np.uint64)
        return summed(mark_of(each, 13), self.ends)


class Texts:
    """The texts of all rows.

    Args:
        columns: the rows.
        most: so many are kept for one item.
        folder: for what is put aside, as for `spill.room`.
    """

    def __init__(self, columns: Columns, most: int, folder: Path | None = None) -> None:
        self._columns, self._most = columns, most
        self._ends = columns.text_ends(folder)

    def read(self, rows: Array) -> list[str]:
        """Texts by row."""
        found = self._columns.texts(rows.tolist(), self._ends)
        let_go(self._ends)
        return found

    @property
    def hashes(self) -> Array:
        """What tells texts from others, by row, uint64."""
        return self._columns["texts"]["hash"]

    def chosen(self, item: Array, chunk: Array, start: Array, text: Array, n: int) -> Said:
        """Choose texts: distinct, in order of (chunk, start, text), a spread of them where they are too many."""
        rows = np.flatnonzero(text >= 0)
        item, chunk, start, text = item[rows], chunk[rows], start[rows], text[rows]
        hashes, same = np.unique(self.hashes[text], return_inverse=True)
        order = np.lexsort((self._rank_of_ties(item, chunk, start, text, same), start, chunk, item))
        keys = (item * max(len(hashes), 1) + same)[order]
        _, first = np.unique(keys, return_index=True)
        kept = order[np.sort(first)]
        counts = np.bincount(item[kept], minlength=n)
        begins = np.concatenate(([0], np.cumsum(counts)))
        sizes = np.minimum(counts, self._most)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        many = np.repeat(counts, sizes)
        i = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        i = np.where(many > self._most, i * (many - 1) // max(self._most - 1, 1), i)
        chosen = kept[np.repeat(begins[:-1], sizes) + i]
        return Said(ends, text[chosen], chunk[chosen])

    def _rank_of_ties(self, item: Array, chunk: Array, start: Array, text: Array, same: Array) -> Array:
        """A rank by text for texts at the same place of the same item, 0 for all others."""
        rank = np.zeros(len(text), dtype=np.int64)
        order = np.lexsort((start, chunk, item))
        tied = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
        for values in (item, chunk, start):
            tied &= np.diff(values[order]) == 0
        tied &= np.diff(same[order]) != 0
        # The others at such a place are ranked as well.
        where = np.flatnonzero(tied)
        if not len(where):
            return rank
        place = np.zeros(len(order), dtype=np.int64)
        new = np.zeros(len(order), dtype=np.bool_)
        new[0] = True
        for values in (item, chunk, start):
            new[1:] |= np.diff(values[order]) != 0
        place[order] = np.cumsum(new)
        rows = np.flatnonzero(np.isin(place, place[order[where]]))
        rank[rows] = ranks(self.read(text[rows])) + 1
        return rank
