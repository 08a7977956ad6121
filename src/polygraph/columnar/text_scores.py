"""How well sentences read by themselves, under what tells texts from others."""

from collections.abc import Iterator
from hashlib import blake2b
from math import nan
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from polygraph.columnar.dataset import Columns
from polygraph.columnar.gather import ByHash, parts
from polygraph.columnar.group_sort import by_group
from polygraph.columnar.memmap import Column
from polygraph.columnar.memory import let_go
from polygraph.columnar.tables import Array

_PART = 1 << 16
"""Texts that are sorted together."""
_PAIR = np.dtype([("hash", np.uint64), ("value", np.float64)])


def text_hash(text: str) -> int:
    """The number by which a text is told from others."""
    return hash_of(text.encode("utf-8", "surrogatepass"))


class Qualities:
    """How well texts read by themselves, for some that are one sentence each; it lies in files.

    >>> known = Qualities(np.array([text_hash("Fog.")], dtype=np.uint64), np.array([0.3]))
    >>> known.of([text_hash("Fog."), text_hash("Rain.")]).tolist()
    [0.3, nan]
    """

    def __init__(self, hashes: Array, values: Array, folder: Path | None = None) -> None:
        """Keep what is known.

        Args:
            hashes: of texts, by `text_hash`, uint64.
            values: how well each reads; those that are no number are left out.
            folder: for the files, as in `Spill`.
        """
        # Hashes are spread evenly, so each part holds about as many.
        bits = max(1, (len(hashes) // _PART).bit_length())

        def blocks() -> Iterator[tuple[Array, Array]]:
            for begin in range(0, len(hashes), _PART):
                some = slice(begin, begin + _PART)
                known = np.flatnonzero(~np.isnan(values[some]))
                pairs = np.empty(len(known), dtype=_PAIR)
                pairs["hash"], pairs["value"] = hashes[some][known], values[some][known]
                let_go(hashes, values)
                yield (pairs["hash"] >> np.uint64(64 - bits)).astype(np.int64), pairs

        distinct, first_values = Column("Q", folder), Column("d", folder)
        for part in parts(*by_group(blocks, 1 << bits, _PAIR, folder)):
            found, first = np.unique(part["hash"], return_index=True)
            distinct.put(found)
            first_values.put(part["value"][first])
        self._known = ByHash(distinct.mapped(), first_values.mapped())

    def of(self, hashes: ArrayLike) -> Array:
        """What is known of some texts; not a number where nothing is."""
        return self._known.of(np.asarray(hashes, dtype=np.uint64), nan)


def known_qualities(folder: Path) -> Qualities:
    """The column `quality`, of what `Columns.save` wrote."""
    texts = Columns.load(folder)["texts"]
    return Qualities(texts["hash"], texts["quality"], folder.parent)


def hash_of(encoded: bytes) -> int:
    """The same of a text in UTF-8."""
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little") if encoded else 0
