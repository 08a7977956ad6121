"""Power of paired comparisons: the smallest difference that can be detected, and the questions needed for one."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from polygraph.evaluate.extra import import_optional


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerAnalysis:
    """The difference that a comparison of `n` questions can detect."""

    n: int
    detectable: float
    """Smallest true difference that is detected with the stated power."""
    needed: int | None
    """Questions needed to detect the given difference; None if none was given."""
    sentence: str


def detectable_difference(deviation: float, n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the smallest true mean difference that a two-sided paired test detects (normal approximation).

    Args:
        deviation: standard deviation of the paired differences.
        n: number of questions.
        power: chance of detecting it.
        alpha: chance of a false alarm.

    >>> round(detectable_difference(0.4, 150), 3)
    0.091
    """
    return _quantiles(power, alpha) * deviation / float(np.sqrt(n))


def questions_needed(deviation: float, gap: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the number of questions with which a true mean difference of `gap` is detected (normal approximation).

    >>> questions_needed(0.4, 0.1)
    126
    """
    return max(2, int(np.ceil(round((_quantiles(power, alpha) * deviation / gap) ** 2, 9))))


def power_analysis(
    deviation: float,
    n: int,
    *,
    gap: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    points: float = 100.0,
) -> PowerAnalysis:
    """Return the difference that `n` questions can detect, by the power of the paired t-test (Cohen, 1988).

    Args:
        deviation: standard deviation of the differences per question, greater than 0.
        n: number of questions, at least 2.
        gap: a true difference of interest, greater than 0, in the unit of the scores.
        power: chance of detecting a true difference.
        alpha: chance of a false alarm.
        points: points per unit of the scores: 100 for scores in [0, 1].

    Raises:
        MissingExtra: without the extra `eval`.
        ValueError: if `deviation`, `n` or `gap` is out of range.
    """
    if deviation <= 0 or n < 2 or (gap is not None and gap <= 0):
        raise ValueError(f"no power for a deviation of {deviation}, {n} questions and a gap of {gap}")
    solver = import_optional("statsmodels.stats.power").TTestPower()
    effect = float(solver.solve_power(nobs=n, alpha=alpha, power=power, alternative="two-sided"))
    detectable = effect * deviation
    sentence = f"with {n} questions, gaps below {points * detectable:.1f} points cannot be told from noise"
    needed = None
    if gap is not None:
        exact = solver.solve_power(
            effect_size=gap / deviation, alpha=alpha, power=power, alternative="two-sided"
        )
        needed = max(2, int(np.ceil(float(np.squeeze(exact)))))
        if needed > n:
            sentence += f"; detecting {points * gap:.1f} points takes {needed:,} questions"
    return PowerAnalysis(n=n, detectable=detectable, needed=needed, sentence=sentence)


def _quantiles(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
