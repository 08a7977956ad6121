"""Scaling of vectors to unit length."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors

_ROWS = 32
"""Vectors that are scaled together: they stay in the processor's cache."""
_LEAST, _MOST = 1e-15, 1e15
"""Lengths between which no square of a number that counts is too small or too large for single precision."""


def unit_rows(vectors: NDArray[np.floating[Any]]) -> Vectors:
    """Return vectors scaled to unit length, each independent of its neighbours.

    A text without tokens has no direction, and zeros stay zeros: they are similar to nothing.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e30, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [1.0, 0.0]]
    """
    found = np.empty(vectors.shape, dtype=np.float32)
    for at in range(0, len(vectors), _ROWS):
        rows = vectors[at : at + _ROWS].astype(np.float32, copy=False)
        with np.errstate(over="ignore"):
            lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        if not ((lengths > _LEAST) & (lengths < _MOST)).all():
            exact = rows.astype(np.float64)
            exact_lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
            found[at : at + _ROWS] = exact / np.where(exact_lengths > 0, exact_lengths, 1.0)
        else:
            np.divide(rows, lengths, out=found[at : at + _ROWS])
    return found
