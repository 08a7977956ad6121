"""Decision of a comparison: one method is better, both are equivalent, or the questions do not decide."""

from math import ceil, log, log1p
from statistics import NormalDist
from typing import Literal, TypeAlias

from polygraph.evaluate.statistics.intervals import Interval, PairedMean
from polygraph.evaluate.statistics.multiple_testing import ALPHA

Decision: TypeAlias = Literal["better", "equivalent", "undecided"]

MARGIN = 0.05
"""Default equivalence margin: differences of at most 5 points of 100 are of no consequence."""


def decide(difference: Interval, margin: float) -> Decision:
    """Return ``better`` if the interval excludes 0, else ``equivalent`` if it lies within the margin.

    >>> decide(Interval(0.01, -0.02, 0.04), 0.05), decide(Interval(0.0, -0.3, 0.3), 0.05)
    ('equivalent', 'undecided')
    """
    if difference.low > 0 or difference.high < 0:
        return "better"
    return "equivalent" if within(difference, margin) else "undecided"


def within(difference: Interval, margin: float) -> bool:
    """Return whether the whole interval lies within the margin."""
    return -margin <= difference.low and difference.high <= margin


def further_questions(
    paired: PairedMean, margin: float, *, alpha: float = ALPHA, power: float = 0.8
) -> int | None:
    """Return how many more questions would decide with the given power, if they vary as those asked.

    Either a difference is found or equivalence, whichever takes fewer questions; the true difference is taken to be
    the observed one. A normal approximation.

    Args:
        paired: the differences of the questions asked.
        margin: of equivalence.
        alpha: level of the interval that decides.
        power: chance that it decides.

    Returns:
        At least 1; None if no number would decide, because the observed difference is at most 0 and `margin` is 0.
    """
    if not paired.scale:
        gap, share = abs(paired.mean), max(paired.bound, 1e-12)
        # The share of other differences at which the interval of equal differences decides.
        limits = [gap / (gap + share), (margin - gap) / (share - gap) if gap < min(margin, share) else 0.0]
        totals = [log(alpha / 2) / log1p(-limit) for limit in limits if 1e-9 < limit < 1]
    else:
        gap = abs(paired.mean)
        normal = NormalDist()
        quantiles = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
        totals = [(quantiles * paired.scale / room) ** 2 for room in (gap, margin - gap) if room > 1e-9]
    if not totals:
        return None
    return max(1, ceil(min(totals) - 1e-9) - paired.n)
