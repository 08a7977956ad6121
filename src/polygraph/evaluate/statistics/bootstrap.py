"""Bootstrap intervals of means over questions, in numpy alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

RESAMPLES = 2_000
"""Bootstrap resamples per interval."""
BLOCK_CELLS = 4_000_000
"""Largest number of cells that a block of resamples or sign patterns has in memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


def bootstrap_means(
    values: Array, rng: np.random.Generator, *, resamples: int = RESAMPLES, confidence: float = 0.95
) -> list[Interval]:
    """Return means of columns with percentile intervals over resampled rows, for values between 0 and 1.

    Efron and Tibshirani (1993), chapter 13. All columns share the resamples, so differences between columns are
    paired. If all values are 0, or all are 1, every resample is the same; the interval is then that of Clopper and
    Pearson (1934), since 40 successes out of 40 do not prove certainty. A single row gives the interval [0, 1].

    Args:
        values: shape ``(n_questions, n_columns)``; one question per row, within 0 and 1, without NaN.
        rng: source of the resamples.
        resamples: number of resamples.
        confidence: of the interval, in (0, 1).

    Returns:
        One interval per column, in order.

    Raises:
        ValueError: if there are no rows.
    """
    n, columns = values.shape
    if not n:
        raise ValueError("no questions to take a mean of")
    tail = (1 - confidence) / 2
    if n == 1:
        return [Interval(float(value), 0.0, 1.0) for value in values[0]]
    lows, highs = _percentiles(values, rng, resamples, tail)
    found = []
    for j in range(columns):
        mean = float(values[:, j].mean())
        low, high = float(lows[j]), float(highs[j])
        if (values[:, j] == 1.0).all():
            low = tail ** (1 / n)
        elif (values[:, j] == 0.0).all():
            high = 1 - tail ** (1 / n)
        found.append(Interval(mean, min(low, mean), max(high, mean)))
    return found


def bootstrap_differences(
    differences: Array, rng: np.random.Generator, *, resamples: int = RESAMPLES, confidence: float = 0.95
) -> list[Interval]:
    """Return means of paired differences with percentile intervals over resampled rows.

    Args:
        differences: shape ``(n_questions, n_pairs)``.
        rng: source of the resamples, shared by all pairs.
        resamples: number of resamples.
        confidence: of the intervals.

    Returns:
        One interval per column, in order.
    """
    lows, highs = _percentiles(differences, rng, resamples, (1 - confidence) / 2)
    observed = differences.mean(axis=0)
    return [Interval(*map(float, each)) for each in zip(observed, lows, highs, strict=True)]


def _percentiles(values: Array, rng: np.random.Generator, resamples: int, tail: float) -> Array:
    """Return lower and upper percentiles of the resampled means, shape ``(2, n_columns)``."""
    n = len(values)
    means = np.concatenate([counts @ values / n for counts in _resample_counts(n, resamples, rng)])
    return np.asarray(np.quantile(means, [tail, 1 - tail], axis=0), dtype=np.float64)


def _resample_counts(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield blocks of resamples: how often each of `n` rows was drawn."""
    step = max(1, BLOCK_CELLS // n)
    for begin in range(0, resamples, step):
        size = min(step, resamples - begin)
        drawn = rng.integers(0, n, size=(size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
