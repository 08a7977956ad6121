"""Confidence intervals of means over questions, and p values by inverting the same intervals; numpy alone."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.evaluate.statistics.randomisation import FLIPS, randomisation_test
from polygraph.evaluate.statistics.score_interval import score, score_interval
from polygraph.evaluate.statistics.student import t_quantile, t_two_sided

Array: TypeAlias = NDArray[np.float64]

FEW_QUESTIONS = 30
"""Fewer questions give intervals whose coverage is uncertain if the values are skewed; every report warns of it."""
_PSEUDO = 0.2
"""Weight of each of two pseudo-observations; 1 would be that of Bonett and Price (2012), for shares alone."""
_MIN_SCALE = 0.25
"""Least distance of the pseudo-observations from 0, as a share of the bound."""


def few_questions_note(n: int) -> str:
    """Warn of few questions; empty with enough."""
    if n >= FEW_QUESTIONS:
        return ""
    return (
        f"only {n} {'question was' if n == 1 else 'questions were'} measured: with fewer than {FEW_QUESTIONS}, only "
        "large differences can be found, and intervals of skewed scores may be too narrow"
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMean:
    """The mean of paired differences, with a p value and intervals that never contradict it.

    For wins, ties and losses the interval is Tango's (`score_interval`). For other differences it is Student's with two
    corrections. Two pseudo-observations of opposite sign, at the largest difference observed, widen it if most
    differences are 0, after Bonett and Price (2012, doi:10.3102/1076998611411915). The skewness of the differences
    shifts one of its ends outwards, after Johnson (1978, doi:10.1080/01621459.1978.10480051). If all differences are
    equal, the interval covers what Clopper and Pearson (1934) allow for the share of others. The interval extends to 0
    if the exact randomisation test does not reject 0 at its level.
    """

    n: int
    mean: float
    bound: float
    """Largest absolute difference possible."""
    p: float
    """Two-sided: an interval excludes 0 if and only if p is below its `alpha`."""
    centre: float
    scale: float
    """Standard error over ``sqrt`` of the number of observations; 0 if all differences are equal."""
    skewness: float
    differing: int
    """Number of differences other than 0."""
    outcomes: tuple[int, int] | None = None
    """Wins and losses, if every difference is 0 or the bound and they are not all equal."""

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval that misses the true mean with a chance of `alpha`, in (0, 1)."""
        if self.n == 1:
            return Interval(self.mean, -self.bound, self.bound)
        if not self.scale:
            same = (alpha / 2) ** (1 / self.n)
            low, high = (same * self.mean + sign * (1 - same) * self.bound for sign in (-1, 1))
        elif self.outcomes:
            low, high = (end * self.bound for end in score_interval(*self.outcomes, self.n, alpha))
        else:
            weight = self.n + 2 * _PSEUDO
            reach = t_quantile(alpha, self.n - 1) / sqrt(weight)
            shift = self.skewness / 6 * (2 * reach**2 + 1 / weight)
            low = self.centre - self.scale * (reach - min(shift, 0.0))
            high = self.centre + self.scale * (reach + max(shift, 0.0))
        if self.p >= alpha:
            low, high = min(low, 0.0), max(high, 0.0)
        low, high = max(low, -self.bound), min(high, self.bound)
        return Interval(self.mean, min(low, self.mean), max(high, self.mean))


def paired_means(
    differences: Array, rng: np.random.Generator, *, bound: float = 1.0, flips: int = FLIPS
) -> list[PairedMean]:
    """Return the mean of each column of paired differences, for its interval and its p.

    benchmarks/coverage.py measures how often the intervals contain the true mean.

    Args:
        differences: shape ``(n_questions, n_pairs)``, within minus `bound` and `bound`.
        rng: source of the signs of the randomisation test, shared by all pairs.
        bound: largest absolute difference possible.
        flips: sign patterns of the randomisation test.

    Raises:
        ValueError: if there are no questions, or a difference exceeds the bound.
    """
    n = len(differences)
    if not n:
        raise ValueError("no questions to take a mean of")
    if float(np.abs(differences).max(initial=0.0)) > bound + 1e-9:
        raise ValueError(f"a difference exceeds the bound of {bound:g}")
    tested = randomisation_test(differences, rng, flips=flips)
    return [_paired_mean(column, float(p), bound) for column, p in zip(differences.T, tested, strict=True)]


def share_intervals(values: Array, *, confidence: float = 0.95) -> list[Interval]:
    """Return means of columns with intervals, for values between 0 and 1.

    Wilson's interval (1927) for zeros and ones. Other values vary less; the interval is then Wilson's for the larger
    number of zeros and ones whose mean would vary as much, with Student's quantile, after Korn and Graubard (1998). If
    all values are equal, the interval is that of Clopper and Pearson (1934), since 40 successes out of 40 do not prove
    certainty. A single value gives the interval [0, 1].

    Args:
        values: shape ``(n_questions, n_columns)``; one question per row, within 0 and 1, without NaN.
        confidence: of the intervals, in (0, 1).

    Raises:
        ValueError: if there are no rows, or a value is not within 0 and 1.
    """
    if not len(values):
        raise ValueError("no questions to take a mean of")
    if not all(map(_are_shares, values.T)):
        raise ValueError("a value is not within 0 and 1")
    return [_share_interval(np.clip(column, 0.0, 1.0), 1 - confidence) for column in values.T]


def mean_intervals(values: Array) -> list[Interval]:
    """Return means of columns with 95% intervals: `share_intervals`, or `paired_means` if values leave [0, 1].

    Args:
        values: shape ``(n_questions, n_columns)``, without NaN; the bound of values outside [0, 1] is the largest of
            their column.

    Raises:
        ValueError: if there are no rows.
    """
    if not len(values):
        raise ValueError("no questions to take a mean of")
    found = []
    for column in values.T[:, :, None]:
        if _are_shares(column):
            found += share_intervals(column)
        else:
            bound = float(np.abs(column).max())
            found.append(paired_means(column, np.random.default_rng(0), bound=bound)[0].interval())
    return found


def _are_shares(values: Array) -> bool:
    """Return whether values are within 0 and 1, up to rounding."""
    return bool(values.min() >= -1e-6 and values.max() <= 1 + 1e-6)


def _paired_mean(d: Array, p_randomisation: float, bound: float) -> PairedMean:
    n, mean = len(d), float(d.mean())
    differing = int((np.abs(d) > 1e-12).sum())
    if n == 1 or float(np.ptp(d)) < 1e-12:
        # The share of other differences that still allows a mean of 0, by the interval of Clopper and Pearson.
        share = bound / (bound + abs(mean))
        p = max(min(1.0, 2 * share**n), p_randomisation) if n > 1 else 1.0
        return PairedMean(
            n=n, mean=mean, bound=bound, p=p, centre=mean, scale=0.0, skewness=0.0, differing=differing
        )
    weight = n + 2 * _PSEUDO
    largest = max(float(np.abs(d).max()), _MIN_SCALE * bound)
    centre = float(d.sum()) / weight
    around = d - centre
    ends = (largest - centre, -largest - centre)
    scale = sqrt((float((around**2).sum()) + _PSEUDO * sum(e**2 for e in ends)) / weight)
    skewness = (float((around**3).sum()) + _PSEUDO * sum(e**3 for e in ends)) / weight / scale**3
    outcomes = _outcomes(d, bound)
    if outcomes:
        p = 2 * NormalDist().cdf(-abs(score(0.0, *outcomes, n)))
    else:
        # The quantile at which the end of the interval that is nearer to 0 reaches 0.
        towards = max(0.0, -skewness if centre > 0 else skewness) / 6
        distance = abs(centre) / scale - towards / weight
        reach = (
            (sqrt(1 + 8 * towards * max(distance, 0.0)) - 1) / (4 * towards) if towards > 1e-9 else distance
        )
        p = t_two_sided(max(reach, 0.0) * sqrt(weight), n - 1)
    return PairedMean(
        n=n,
        mean=mean,
        bound=bound,
        p=max(p, p_randomisation),
        centre=centre,
        scale=scale,
        skewness=skewness,
        differing=differing,
        outcomes=outcomes,
    )


def _outcomes(d: Array, bound: float) -> tuple[int, int] | None:
    """Return the wins and losses if every difference is 0 or the bound, up to rounding."""
    size = np.abs(d)
    extreme = size > bound - 1e-9
    if not (extreme | (size < 1e-9)).all():
        return None
    return int((extreme & (d > 0)).sum()), int((extreme & (d < 0)).sum())


def _share_interval(x: Array, alpha: float) -> Interval:
    n, mean = len(x), min(max(float(x.mean()), 0.0), 1.0)
    if n == 1:
        return Interval(mean, 0.0, 1.0)
    if float(np.ptp(x)) < 1e-12:
        same = (alpha / 2) ** (1 / n)
        return Interval(mean, same * mean, mean + (1 - mean) * (1 - same))
    binary = mean * (1 - mean)
    # One pseudo-observation with the variance of zeros and ones; of those it changes nothing.
    variance = (float(((x - mean) ** 2).sum()) + binary) / (n + 1)
    # The variance of zeros and ones follows from their mean; of other values it is estimated.
    estimated = not np.isin(x, (0.0, 1.0)).all()
    z = t_quantile(alpha, n - 1) if estimated else NormalDist().inv_cdf(1 - alpha / 2)
    effective = n * binary / variance
    centre = (mean + z**2 / (2 * effective)) / (1 + z**2 / effective)
    half = z / (1 + z**2 / effective) * sqrt(binary / effective + z**2 / (4 * effective**2))
    return Interval(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))
