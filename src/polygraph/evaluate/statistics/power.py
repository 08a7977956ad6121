"""Power of paired comparisons: the smallest difference that can be detected, and the questions needed for one."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from polygraph.evaluate.extra import import_optional
from polygraph.evaluate.statistics.multiple_testing import ALPHA

POWER = 0.8
"""Chance of detecting a true difference, unless another is given."""
_REACH = NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(POWER)
"""Standard errors between no difference and one that is detected with `POWER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerAnalysis:
    """The difference that a comparison of `n` questions can detect."""

    n: int
    detectable: float
    """Smallest true difference that is detected with the stated power."""
    needed: int | None
    """Questions needed to detect the given difference; None if none was given."""
    sentence: str


def detectable_difference(deviation: float, n: int) -> float:
    """Return the smallest true mean difference that a paired test detects with `POWER` (normal approximation).

    Args:
        deviation: standard deviation of the paired differences.
        n: number of questions.

    >>> round(detectable_difference(0.4, 150), 3)
    0.091
    """
    return _REACH * deviation / float(np.sqrt(n))


def questions_needed(deviation: float, gap: float) -> int:
    """Return the number of questions that detect a true mean difference of `gap` with `POWER` (normal approximation).

    >>> questions_needed(0.4, 0.1)
    126
    """
    return max(2, int(np.ceil(round((_REACH * deviation / gap) ** 2, 9))))


def power_analysis(
    deviation: float,
    n: int,
    *,
    gap: float | None = None,
    power: float = POWER,
) -> PowerAnalysis:
    """Return the difference that `n` questions can detect, by the power of the paired t-test (Cohen, 1988).

    Args:
        deviation: standard deviation of the differences per question, greater than 0.
        n: number of questions, at least 2.
        gap: a true difference of interest, greater than 0, in the unit of the scores.
        power: chance of detecting a true difference.

    Raises:
        MissingExtra: without the extra `eval`.
        ValueError: if `deviation`, `n` or `gap` is out of range.
    """
    if deviation <= 0 or n < 2 or (gap is not None and gap <= 0):
        raise ValueError(f"no power for a deviation of {deviation}, {n} questions and a gap of {gap}")
    solver = import_optional("statsmodels.stats.power").TTestPower()
    effect = float(solver.solve_power(nobs=n, alpha=ALPHA, power=power, alternative="two-sided"))
    detectable = effect * deviation
    sentence = f"with {n} questions, gaps below {100 * detectable:.1f} points cannot be told from noise"
    needed = None
    if gap is not None:
        exact = solver.solve_power(
            effect_size=gap / deviation, alpha=ALPHA, power=power, alternative="two-sided"
        )
        needed = max(2, int(np.ceil(float(np.squeeze(exact)))))
        if needed > n:
            sentence += f"; detecting {100 * gap:.1f} points takes {needed:,} questions"
    return PowerAnalysis(n=n, detectable=detectable, needed=needed, sentence=sentence)
