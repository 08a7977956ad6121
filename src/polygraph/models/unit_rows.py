"""Scaling of vectors to unit length."""

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors

_ROWS = 32
"""Vectors that are scaled together: they stay in the processor's cache."""
_LEAST, _MOST = 1e-15, 1e15
"""Lengths between which no square of a number that counts is too small or too large for single precision."""
_OFF = 4e-6
"""How far the square of a unit vector's length may be from 1: what single precision loses."""


def unit_rows(vectors: NDArray[np.floating[Any]]) -> Vectors:
    """Return vectors scaled to unit length, each independent of its neighbours.

    A text without tokens has no direction, and zeros stay zeros: they are similar to nothing. Where all vectors are
    units in single precision already, as endpoints send them, they are returned as they are.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e30, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [1.0, 0.0]]
    """
    if are_units(vectors):
        return vectors
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


def are_units(vectors: NDArray[np.floating[Any]]) -> TypeGuard[Vectors]:
    """Tell whether all vectors have unit length as far as single precision can tell, in a sixth of the time of scaling.

    >>> are_units(np.array([[0.6, 0.8]], dtype=np.float32)), are_units(np.array([[3, np.nan]], dtype=np.float32))
    (True, False)
    """
    if vectors.dtype != np.float32:
        return False
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors)
    return bool((np.abs(squares - 1) < _OFF).all())
