"""Choose at most so many distinct descriptions for each entity or relation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from polygraph.arrays import Array, offsets
from polygraph.records import Description

ReadTexts: TypeAlias = Callable[[Sequence[int]], Mapping[int, str]]
"""Gives texts by their hashes."""


@dataclass(frozen=True, slots=True)
class DescriptionSelection:
    """Chooses descriptions and reads their texts."""

    most: int
    """Most descriptions of one item."""
    read: ReadTexts
    chunk_ids: Sequence[str]

    def choose(
        self, item: Array, chunk: Array, start: Array, text: Array, n: int
    ) -> Iterator[tuple[Description, ...]]:
        """Yield the descriptions that `choose_rows` yields."""
        for found in self.choose_rows(item, chunk, start, text, n):
            yield tuple([description for description, _ in found])

    def choose_rows(
        self, item: Array, chunk: Array, start: Array, text: Array, n: int
    ) -> Iterator[list[tuple[Description, int]]]:
        """Yield the descriptions of each item with their rows.

        They are distinct, by (chunk, start, text), and evenly spread if they are too many. Of equal ones, the row is
        that of the first.

        Args:
            item: what each row describes, in ``[0, n)``.
            chunk: position of its first chunk.
            start: its first character there.
            text: hash of its description, 0 for none.
            n: number of items.
        """
        rows = np.flatnonzero(text)
        item, chunk, start, text = item[rows], chunk[rows], start[rows], text[rows]
        order = np.lexsort((text, start, chunk, item))
        item, chunk, start, text, rows = item[order], chunk[order], start[order], text[order], rows[order]
        order = np.lexsort((self._tie_ranks(item, chunk, start, text), start, chunk, item))
        item, chunk, text, rows = item[order], chunk[order], text[order], rows[order]
        _, text_number = np.unique(text, return_inverse=True)
        _, first = np.unique(item * (len(text) + 1) + text_number, return_index=True)
        kept = np.sort(first)
        counts = np.bincount(item[kept], minlength=n)
        sizes = np.minimum(counts, self.most)
        ends = offsets(sizes)
        i, many = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes), np.repeat(counts, sizes)
        i = np.where(many > self.most, i * (many - 1) // max(self.most - 1, 1), i)
        chosen = kept[np.repeat(offsets(counts)[:-1], sizes) + i]
        keys = text[chosen].tolist()
        texts = self.read(list(set(keys)))
        found = [
            (Description(texts[key], self.chunk_ids[n]), row)
            for key, n, row in zip(keys, chunk[chosen].tolist(), rows[chosen].tolist(), strict=True)
        ]
        for begin, end in pairwise(ends.tolist()):
            yield found[begin:end]

    def _tie_ranks(self, item: Array, chunk: Array, start: Array, text: Array) -> Array:
        """Return a rank by text for rows at the same place of the same item, 0 for all others.

        Rows are given by (item, chunk, start, hash).
        """
        ranks = np.zeros(len(text), dtype=np.int64)
        same = (np.diff(item) == 0) & (np.diff(chunk) == 0) & (np.diff(start) == 0)
        tied = np.zeros(len(text), dtype=np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        if tied.any():
            keys, number = np.unique(text[tied], return_inverse=True)
            texts = self.read(keys.tolist())
            in_order = sorted(range(len(keys)), key=[texts[key] for key in keys.tolist()].__getitem__)
            rank = np.empty(len(keys), dtype=np.int64)
            rank[in_order] = np.arange(len(keys))
            ranks[tied] = rank[number]
        return ranks
