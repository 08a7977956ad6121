"""Approximate search: all rows as short codes, of which the best are compared exactly.

Product quantization (Jégou, Douze and Schmid 2011): of every four numbers of a vector, the nearest of 16 groups of four
that were learned from the rows, so that a row takes half a byte for four numbers. faiss compares 32 codes at once with
a table that fits into registers (André, Kermarrec and Le Scouarnec 2015). It reads all codes, for a small part of the
work of exact search; cells or graphs read less and miss rows here, because questions lie far from all rows.

The codes stand in the folder of their layer and are written with it, so they are never of another state. Without them,
or without faiss, search is exact.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors

CODES = "codes.faiss"
"""Name of the file in the folder of its layer."""
_CANDIDATES = 2_000
"""Rows whose cosine is computed in a search, at least."""
_MANY_ROWS, _ROWS_PER_CANDIDATE, _MOST = 200_000, 40, 20_000
"""Beyond a number of rows, one of so many is computed, too, up to a number: the more there are, the more have codes as
good as those of a hit."""
_CANDIDATES_PER_HIT = 20
"""Further ones for each row that is asked for."""
_MANY = 1_000
"""Hits beyond these have two candidates each: among many, the last may be missing."""
_GROUP, _GROUPS = 4, 64
"""Numbers that share a code, at most, and codes of a row, at least where it has as many numbers."""
_BITS = 4
_TRAINED = 256 << _BITS
"""Rows that the groups are learned from: as many as faiss uses."""
_ENCODED = 4_096
"""Rows that are encoded at once."""


def n_candidates(k: int, n_rows: int) -> int:
    """Return how many rows are compared exactly in a search for `k` of `n_rows` rows.

    >>> n_candidates(10, 200_000), n_candidates(10, 400_000), n_candidates(10, 9_000_000)
    (2200, 7200, 20200)
    """
    least = min(_CANDIDATES + max(0, n_rows - _MANY_ROWS) // _ROWS_PER_CANDIDATE, _MOST)
    return least + _CANDIDATES_PER_HIT * min(k, _MANY) + 2 * max(0, k - _MANY)


class Codes:
    """The codes of all rows of a layer.

    Args:
        index: of faiss, with the row numbers as ids.
    """

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def open(cls, folder: Path, n: int) -> "Codes | None":
        """Map the codes of `n` rows into memory; None if the layer has none, or faiss is missing."""
        path = folder / CODES
        faiss = _faiss() if path.is_file() else None
        if faiss is None:
            return None
        try:
            index = faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", 0))
        except RuntimeError:  # written by another version of faiss
            return None
        return cls(index) if index.ntotal == n else None

    def nearest(self, vector: Vectors, n: int) -> NDArray[np.int64]:
        """Return about the `n` rows nearest to a vector, in the order of rows."""
        _, rows = self._index.search(vector[None].astype(np.float32), n)
        return np.sort(rows[0][rows[0] >= 0]).astype(np.int64)


def write_codes(folder: Path, n: int, vectors: Callable[[NDArray[np.int64]], Vectors]) -> bool:
    """Write the codes of the rows of a layer.

    The groups are learned from rows at equal distances, with the fixed seed of faiss and in one thread, so that the
    same rows give the same codes.

    Args:
        folder: of the layer.
        n: number of rows.
        vectors: returns the unit vectors of some rows.

    Returns:
        False if there are none: faiss is missing, the rows are too few to learn from, or their dimension has no groups.
    """
    faiss = _faiss()
    if faiss is None or n < _TRAINED:
        return False
    sample = vectors(np.linspace(0, n - 1, _TRAINED).astype(np.int64))
    dimension = sample.shape[1]
    group = max(1, min(_GROUP, dimension // _GROUPS))
    if dimension % group:
        return False
    index = faiss.IndexPQFastScan(dimension, dimension // group, _BITS, faiss.METRIC_INNER_PRODUCT)
    index.train(sample)
    for at in range(0, n, _ENCODED):
        index.add(vectors(np.arange(at, min(at + _ENCODED, n))))
    faiss.write_index(index, str(folder / CODES))
    return True


def _faiss() -> Any:
    """Return the library, which then works in one thread, or None."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    return faiss
