"""Dependence of the results of a comparison on the length of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.intervals import Interval

RESAMPLES = 2_000
"""Bootstrap resamples per interval."""
STEP = 25
"""Words per step of the slope: the difference of figure 6 of arXiv:2506.06331."""
_MIN_QUESTIONS = 10
"""Fewer questions give no meaningful slope."""


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
    """Whether equal length lies within the middle 90 % of the measured differences."""


def length_effect(
    results: Sequence[float], words: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> LengthEffect | None:
    """Regress results on differences in length by least squares, with intervals over resampled questions.

    A correlation does not prove bias: longer answers may be better ones. Between methods of the same quality, an effect
    is the judge's.

    Args:
        results: per question, 1 if the first method wins, -1 if it loses, 0 for a tie; in between for means of trials.
        words: per question, words of the first method's answer less those of the second's.
        rng: source of the resamples.
        resamples: number of resamples.

    Returns:
        None with fewer than ten questions, or if all answers are of equal length.

    Raises:
        ValueError: if the lengths of the arguments differ.

    >>> found = length_effect([0.1 * i - 0.5 for i in range(20)], [25.0 * i for i in range(20)],
    ...                       np.random.default_rng(0))
    >>> round(found.per_25_words.mean, 6), round(found.at_equal_length.mean, 6)
    (0.1, -0.5)
    """
    y, x = np.asarray(results, dtype=np.float64), np.asarray(words, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{y.size} results and {x.size} differences in length are not pairs")
    if y.size < _MIN_QUESTIONS or not x.any():
        return None
    if not np.ptp(x):
        constant = float(x[0])
        return LengthEffect(
            n=y.size,
            words=Interval(constant, constant, constant),
            per_25_words=None,
            at_equal_length=None,
            inside=False,
        )
    drawn = rng.integers(0, y.size, size=(resamples, y.size))
    samples = _regress(x[drawn], y[drawn])
    [observed] = _regress(x[None], y[None])
    low, high = np.nanquantile(samples, [0.025, 0.975], axis=0)
    reach = np.quantile(x, [0.05, 0.95])
    mean, slope, intercept = (Interval(float(observed[i]), float(low[i]), float(high[i])) for i in range(3))
    return LengthEffect(
        n=y.size,
        words=mean,
        per_25_words=slope,
        at_equal_length=intercept,
        inside=bool(reach[0] <= 0 <= reach[1]),
    )


def _regress(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean of x, slope per 25 words and intercept of each row; NaN if a row of x does not vary."""
    mx, my = x.mean(axis=1), y.mean(axis=1)
    spread = ((x - mx[:, None]) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = ((x - mx[:, None]) * (y - my[:, None])).sum(axis=1) / np.where(spread > 0, spread, np.nan)
    return np.stack([mx, STEP * slope, my - slope * mx], axis=1)
