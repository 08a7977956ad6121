"""Decision of a comparison: one method is better, both are equivalent, or the questions do not decide."""

from math import ceil, floor, log, log1p, log2
from statistics import NormalDist
from typing import Literal, TypeAlias

from polygraph.evaluate.statistics.intervals import Interval, PairedMean
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.evaluate.statistics.power import POWER

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


def further_questions(paired: PairedMean, margin: float, *, alpha: float = ALPHA) -> int | None:
    """Return how many more questions would decide with `POWER`, if they vary as those asked.

    Either a difference is found or equivalence, whichever takes fewer questions; the true difference is taken to be
    the observed one. A normal approximation; but a difference takes at least as many questions as the randomisation
    test needs to reject when all that differ have the same sign.

    Args:
        paired: the differences of the questions asked.
        margin: of equivalence.
        alpha: level of the interval that decides.

    Returns:
        At least 1; None if no number would decide, because the observed difference is at most 0 and `margin` is 0.
    """
    totals = []
    gap = abs(paired.mean)
    if not paired.scale:
        share = max(paired.bound, 1e-12)
        # The share of other differences at which the interval of equal differences decides.
        limits = [gap / (gap + share), (margin - gap) / (share - gap) if gap < min(margin, share) else 0.0]
        found, equivalent = (log(alpha / 2) / log1p(-limit) if 1e-9 < limit < 1 else None for limit in limits)
    else:
        normal = NormalDist()
        quantile = normal.inv_cdf(1 - alpha / 2)
        reach = (quantile + normal.inv_cdf(POWER)) * paired.scale
        # Guenther (1981): Student's quantile takes so many observations more than the normal one.
        student = 0.0 if paired.outcomes else quantile**2 / 2
        found, equivalent = (
            (reach / room) ** 2 + student if room > 1e-9 else None for room in (gap, margin - gap)
        )
    if found is not None:
        totals.append(max(found, _rejecting(alpha) * paired.n / paired.differing))
    if equivalent is not None:
        totals.append(equivalent)
    if not totals:
        return None
    return max(1, ceil(min(totals) - 1e-9) - paired.n)


def _rejecting(alpha: float) -> int:
    """Return how many differences of one sign the randomisation test rejects at a level: those with 2 / 2^n below it.

    >>> _rejecting(0.05), _rejecting(0.05 / 6)
    (6, 8)
    """
    return floor(1 - log2(alpha)) + 1
