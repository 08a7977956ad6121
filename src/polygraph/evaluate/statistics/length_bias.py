"""Dependence of the results of a comparison on the length of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.intervals import Interval, paired_means
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.evaluate.statistics.student import t_quantile

Array: TypeAlias = NDArray[np.float64]

STEP = 25
"""Words per step of the slope: the difference of figure 6 of arXiv:2506.06331."""
_MIN_QUESTIONS = 10
"""Fewer questions give no meaningful slope."""
_MAX_LEVERAGE = 1 - 1e-9
"""A question of more leverage determines its own prediction, so that its residual says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthEffect:
    """Linear regression of the results per question on the difference in length."""

    n: int
    words: Interval
    """Mean number of words by which the first method's answers are longer."""
    per_25_words: Interval | None
    """Change of the relative win rate per 25 words that the first method's answer is longer; None if the difference in
    length is the same everywhere."""
    at_equal_length: Interval | None
    """Relative win rate predicted for answers of equal length; an extrapolation unless `inside`."""
    inside: bool
    """Whether equal length lies within the middle 90% of the measured differences."""


def length_effect(results: Sequence[float], words: Sequence[float]) -> LengthEffect | None:
    """Regress results on differences in length by least squares.

    The intervals are Student's, with the variances of MacKinnon and White (1985, HC3), since wins and losses do not
    vary equally at all lengths. A correlation does not prove bias: longer answers may be better ones. Between methods
    of the same quality, an effect is the judge's.

    Args:
        results: per question, 1 if the first method wins, -1 if it loses, 0 for a tie; in between for means of trials.
        words: per question, words of the first method's answer less those of the second's.

    Returns:
        None with fewer than ten questions, or if all answers are of equal length.

    Raises:
        ValueError: if the lengths of the arguments differ.

    >>> found = length_effect([0.1 * i - 0.5 for i in range(20)], [25.0 * i for i in range(20)])
    >>> round(found.per_25_words.mean, 6), round(found.at_equal_length.mean, 6)
    (0.1, -0.5)
    """
    y, x = np.asarray(results, dtype=np.float64), np.asarray(words, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{y.size} results and {x.size} differences in length are not pairs")
    if y.size < _MIN_QUESTIONS or not x.any():
        return None
    mean = float(x.mean())
    if not np.ptp(x):
        return LengthEffect(
            n=y.size,
            words=Interval(mean, mean, mean),
            per_25_words=None,
            at_equal_length=None,
            inside=False,
        )
    reach = t_quantile(ALPHA, y.size - 1) * float(x.std(ddof=1)) / sqrt(y.size)
    at_equal_length, slope = _regress(x, y)
    quantiles = np.quantile(x, [0.05, 0.95])
    return LengthEffect(
        n=y.size,
        words=Interval(mean, mean - reach, mean + reach),
        per_25_words=Interval(*(STEP * each for each in (slope.mean, slope.low, slope.high))),
        at_equal_length=at_equal_length,
        inside=bool(quantiles[0] <= 0 <= quantiles[1]),
    )


def _regress(x: Array, y: Array) -> tuple[Interval, Interval]:
    """Return intercept and slope with their intervals."""
    design = np.column_stack([np.ones_like(x), x])
    inverse = np.linalg.inv(design.T @ design)
    fitted = inverse @ design.T @ y
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    room = 1 - np.minimum(leverage, _MAX_LEVERAGE)
    deleted = np.where(leverage < _MAX_LEVERAGE, (y - design @ fitted) / room, 0.0)
    around = inverse @ (design.T * deleted**2) @ design @ inverse
    reach = t_quantile(ALPHA, y.size - 2) * np.sqrt(np.diag(around))
    intercept, slope = (
        Interval(float(f), float(f - r), float(f + r)) for f, r in zip(fitted, reach, strict=True)
    )
    if not np.ptp(y):
        # Without any variation the residuals are 0, which does not prove that other questions would not vary.
        intercept = paired_means(y[:, None], np.random.default_rng(0))[0].interval()
    return intercept, slope
