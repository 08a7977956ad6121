"""Nearest vectors, exactly, over a memory-mapped matrix."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors
from polygraph.store.atomic_files import write_folder

MATRIX = "matrix.npy"
"""Name of the file in the folder of its layer."""
_DECIMALS = 6
"""Scores are rounded before ranking, so that the last bits of a matrix product decide nothing."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a search found."""

    n: int
    score: float


def top(scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` best rows, score descending, then row; rows with score ``-inf`` are left out.

    Rows stand in the order of their ids, so ties by row are ties by id.

    >>> top(np.array([0.5, 0.9, 0.5]), 2)
    [Hit(n=1, score=0.9), Hit(n=0, score=0.5)]
    """
    k = min(k, len(scores))
    if k <= 0:
        return []
    rounded = np.round(scores, _DECIMALS)
    if k < len(rounded):
        # Keep everything that ties with the k-th, so that the cut does not depend on the partition.
        kth = np.partition(rounded, len(rounded) - k)[len(rounded) - k]
        candidates = np.flatnonzero(rounded >= kth)
    else:
        candidates = np.arange(len(rounded))
    order = candidates[np.lexsort((candidates, -rounded[candidates]))][:k]
    # A float32 is written out by its shortest decimal form, which rounding alone would not give.
    return [Hit(int(n), round(float(rounded[n]), _DECIMALS)) for n in order if np.isfinite(rounded[n])]


class VectorIndex:
    """Unit vectors in the order of their ids; a search costs one pass over the matrix."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix

    @classmethod
    def open(cls, folder: Path) -> "VectorIndex":
        """Map a saved matrix into memory."""
        return cls(np.load(folder / MATRIX, mmap_mode="r"))

    @staticmethod
    def save(folder: Path, matrix: Vectors) -> None:
        """Write a matrix, shape ``(n, dimension)``, atomically."""
        write_folder(folder, lambda place: np.save(place / MATRIX, matrix.astype(np.float32)), sealed=True)

    def __len__(self) -> int:
        return len(self._matrix)

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""
        if not len(self._matrix):
            return np.zeros(0, dtype=np.float32)
        product: NDArray[np.float32] = self._matrix @ vector.astype(np.float32)
        return product

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        return np.asarray(self._matrix[ns])

    def search(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> list[Hit]:
        """Return the `k` nearest rows (see `top`), of those that are allowed."""
        scores = self.scores(vector)
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        return top(scores, k)
