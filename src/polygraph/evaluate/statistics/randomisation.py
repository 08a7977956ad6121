"""Fisher's randomisation test of paired differences, in numpy alone."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

FLIPS = 10_000
"""Random sign patterns of a randomisation test."""
FLIPS_PER_PAIR = 200
"""Sign patterns per pair of methods. The smallest p they can give, times the number of pairs, is 0.005; with fewer, no
difference between two of many methods could be significant, however large."""
_BLOCK_CELLS = 4_000_000
"""Largest number of cells that a block of sign patterns has in memory."""


def randomisation_test(differences: Array, rng: np.random.Generator, *, flips: int = FLIPS) -> Array:
    """Return two-sided p values of paired differences by Fisher's randomisation test.

    Smucker, Allan and Carterette (2007) recommend it for retrieval: if two methods are equal, the sign of each
    question's difference is random. With few questions (2^n at most `flips`) all sign patterns are enumerated and p
    is exact; otherwise p is ``(1 + at least as extreme) / (1 + flips)``.

    Args:
        differences: shape ``(n_questions, n_pairs)``.
        rng: source of the signs, shared by all pairs.
        flips: number of sign patterns.

    Returns:
        Shape ``(n_pairs,)``.

    >>> randomisation_test(np.ones((5, 1)), np.random.default_rng(0)).tolist()  # 2 of 32 patterns
    [0.0625]
    """
    n, columns = differences.shape
    seen = np.abs(differences.sum(axis=0)) - 1e-9
    count = np.zeros(columns)
    step = max(1, _BLOCK_CELLS // max(n, columns))
    if 2**n <= flips:
        for begin in range(0, 2**n, step):
            numbers = np.arange(begin, min(begin + step, 2**n))
            patterns = 1.0 - 2.0 * (numbers[:, None] >> np.arange(n)[None, :] & 1)
            count += (np.abs(patterns @ differences) >= seen).sum(axis=0)
        return np.asarray(count / 2**n, dtype=np.float64)
    for begin in range(0, flips, step):
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(min(step, flips - begin), n))
        count += (np.abs(signs @ differences) >= seen).sum(axis=0)
    return np.asarray((1 + count) / (1 + flips), dtype=np.float64)
