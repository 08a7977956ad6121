"""How well sentences read by themselves, under what tells texts from others."""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from pathlib import Path

import numpy as np

from polygraph.columns.stored import Columns
from polygraph.columns.tables import Array


def text_hash(text: str) -> int:
    """The number by which a text is told from others."""
    return hash_of(text.encode("utf-8", "surrogatepass"))


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
    texts = Columns.load(folder)["texts"]
    return Qualities(texts["hash"], texts["quality"])


def hash_of(encoded: bytes) -> int:
    """The same of a text in UTF-8."""
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little") if encoded else 0
