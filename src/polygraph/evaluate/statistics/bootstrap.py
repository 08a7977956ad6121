"""How sure a mean over questions is: intervals and paired tests in numpy, with no further library.

`stats` has more tests, from scipy and statsmodels; what is here is what every run of `polygraph eval` needs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

RESAMPLES = 2_000
"""Bootstrap samples of an interval."""
FLIPS = 10_000
"""Random sign patterns of a paired test."""
_CELLS = 4_000_000
"""Numbers that are held at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the interval that holds it with a stated confidence."""

    mean: float
    low: float
    high: float


def bootstrap_means(
    values: Array, rng: np.random.Generator, *, resamples: int = RESAMPLES, confidence: float = 0.95
) -> list[Interval]:
    """Means of columns with percentile intervals over resampled rows.

    Efron and Tibshirani (1993), chapter 13. All columns see the same resamples, so that differences of columns are
    those of pairs. Of values between 0 and 1 that are all 0 or all 1 no resample differs; there the interval is that of
    Clopper and Pearson (1934) for so many successes, since "always" in 40 questions is not "always". Of a single row
    nothing is known but that the mean lies between 0 and 1.

    Args:
        values: shape ``(n_questions, n_columns)``; each row one question, within 0 and 1, without NaN.
        rng: source of the resamples.
        resamples: number of resamples.
        confidence: of the interval, in (0, 1).

    Returns:
        One interval per column, in order.

    Raises:
        ValueError: if there is no row.
    """
    n, columns = values.shape
    if not n:
        raise ValueError("no questions to take a mean of")
    tail = (1 - confidence) / 2
    if n == 1:
        return [Interval(float(value), 0.0, 1.0) for value in values[0]]
    means = np.concatenate([counts @ values / n for counts in _counts(n, resamples, rng)])
    lows, highs = np.quantile(means, [tail, 1 - tail], axis=0)
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
    """Means of paired differences with percentile intervals over resampled rows.

    Args:
        differences: shape ``(n_questions, n_pairs)``.
        rng: source of the resamples, the same for all pairs.
        resamples: number of resamples.
        confidence: of the intervals.

    Returns:
        One interval per column, in order.
    """
    n, tail = len(differences), (1 - confidence) / 2
    means = np.concatenate([counts @ differences / n for counts in _counts(n, resamples, rng)])
    lows, highs = np.quantile(means, [tail, 1 - tail], axis=0)
    observed = differences.mean(axis=0)
    return [Interval(*map(float, three)) for three in zip(observed, lows, highs, strict=True)]


def paired_randomisation(differences: Array, rng: np.random.Generator, *, flips: int = FLIPS) -> Array:
    """Two-sided p values of paired differences by random signs.

    Fisher's randomisation test, as Smucker, Allan and Carterette (2007) recommend for retrieval: if two methods are
    alike, each question's difference might as well have had the other sign. With few questions (2^n at most `flips`)
    every pattern of signs is taken, and p is exact; else p is ``(1 + at least as extreme) / (1 + flips)``.

    Args:
        differences: shape ``(n_questions, n_pairs)``.
        rng: source of the signs, the same for all pairs.
        flips: number of sign patterns.

    Returns:
        Shape ``(n_pairs,)``.

    >>> paired_randomisation(np.ones((5, 1)), np.random.default_rng(0)).tolist()  # 2 of 32 patterns
    [0.0625]
    """
    n, columns = differences.shape
    seen = np.abs(differences.sum(axis=0)) - 1e-9
    count = np.zeros(columns)
    step = max(1, _CELLS // max(n, columns))
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


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values of several tests so that one false alarm among them is as unlikely as in one test.

    Holm (1979): the i-th smallest of m is multiplied by m - i + 1, and none is less than one before it.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    m = len(p_values)
    adjusted = [0.0] * m
    before = 0.0
    for i, n in enumerate(sorted(range(m), key=lambda n: (p_values[n], n))):
        before = max(before, min(1.0, (m - i) * p_values[n]))
        adjusted[n] = before
    return adjusted


def detectable(deviation: float, n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Smallest true mean difference that a two-sided paired test finds with a given power (normal approximation).

    Args:
        deviation: standard deviation of the paired differences.
        n: number of questions.
        power: chance of finding it.
        alpha: chance of a false alarm.

    >>> round(detectable(0.4, 150), 3)
    0.091
    """
    return _z(power, alpha) * deviation / float(np.sqrt(n))


def questions_needed(deviation: float, gap: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Number of questions with which a true mean difference of `gap` is found with a given power.

    >>> questions_needed(0.4, 0.1)
    126
    """
    return max(2, int(np.ceil(round((_z(power, alpha) * deviation / gap) ** 2, 9))))


def _z(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def _counts(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """How often each of `n` rows stands in each resample, in blocks."""
    step = max(1, _CELLS // n)
    for begin in range(0, resamples, step):
        size = min(step, resamples - begin)
        drawn = rng.integers(0, n, size=(size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
