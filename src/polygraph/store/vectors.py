"""Search for the nearest of the vectors of a layer, exactly."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors
from polygraph.store.matrix_rows import MatrixRows
from polygraph.store.token_rows import ABOUT, TokenRows

_DECIMALS = 6
"""Scores are rounded before ranking, so that the last bits of a matrix product decide nothing."""
_COPIED = 4_096
"""Rows that are copied at once."""


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


class Rows(Protocol):
    """Unit vectors as they are stored: `MatrixRows` or `TokenRows`."""

    def __len__(self) -> int: ...

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""


class VectorIndex:
    """Unit vectors in the order of their ids; a search costs one pass over them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @classmethod
    def open(cls, folder: Path) -> "VectorIndex":
        """Map the files of a layer into memory."""
        return cls(TokenRows(folder) if (folder / ABOUT).is_file() else MatrixRows(folder))

    def __len__(self) -> int:
        return len(self._rows)

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""
        return self._rows.scores(vector)

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""
        return self._rows.scores_of(vector, ns)

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        return self._rows.rows(ns)

    def copy_to(self, path: Path) -> None:
        """Write all vectors to a file in single precision, as `numpy.save` does, a part at a time."""
        dimension = self.rows(np.zeros(0, dtype=np.int64)).shape[1]
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(self), dimension)}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for at in range(0, len(self), _COPIED):
                some = self.rows(np.arange(at, min(at + _COPIED, len(self))))
                file.write(some.astype("<f4", copy=False).tobytes())

    def search(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> list[Hit]:
        """Return the `k` nearest rows (see `top`), of those that are allowed."""
        scores = self.scores(vector)
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        return top(scores, k)
