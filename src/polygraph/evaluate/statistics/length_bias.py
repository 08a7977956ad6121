"""How far the results of a comparison follow the length of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.bootstrap import RESAMPLES, Interval

STEP = 25
"""Words for which the effect is told: the gap of figure 6 of arXiv:2506.06331."""
_FEWEST = 10
"""Questions below which a slope says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthEffect:
    """Results of one method against another, by question, as a straight line over the difference in words."""

    n: int
    words: Interval
    """Mean number of words by which the answers of the first method are longer."""
    per_25_words: Interval | None
    """Change of the relative win rate where the first method's answer is 25 words longer; None where the difference in
    length is the same everywhere."""
    at_equal_length: Interval | None
    """Relative win rate that the line gives for answers of equal length. Far from any measured difference it is a
    guess: see `inside`."""
    inside: bool
    """Whether equal length lies within the middle 90 % of the measured differences, so that no guess is made."""


def length_effect(
    results: Sequence[float], words: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> LengthEffect | None:
    """Fit results of questions on differences in length by least squares, with intervals over resampled questions.

    It describes; it does not prove: longer answers may also be better ones. An effect within pairs of methods of the
    same quality is the judge's.

    Args:
        results: by question, 1 where the first method wins, -1 where it loses, 0 for a tie, means of trials between.
        words: by question, words of the first method's answer less those of the second's.
        rng: source of the resamples.
        resamples: number of resamples.

    Returns:
        None with fewer than ten questions, or where all answers are of equal length.

    >>> found = length_effect([0.1 * i - 0.5 for i in range(20)], [25.0 * i for i in range(20)],
    ...                       np.random.default_rng(0))
    >>> round(found.per_25_words.mean, 6), round(found.at_equal_length.mean, 6)
    (0.1, -0.5)
    """
    y, x = np.asarray(results, dtype=np.float64), np.asarray(words, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{y.size} results and {x.size} differences in length are not pairs")
    if y.size < _FEWEST or not x.any():
        return None
    if not np.ptp(x):
        everywhere = float(x[0])
        return LengthEffect(
            n=y.size,
            words=Interval(everywhere, everywhere, everywhere),
            per_25_words=None,
            at_equal_length=None,
            inside=False,
        )
    drawn = rng.integers(0, y.size, size=(resamples, y.size))
    samples = _lines(x[drawn], y[drawn])
    [seen] = _lines(x[None], y[None])
    low, high = np.nanquantile(samples, [0.025, 0.975], axis=0)
    reach = np.quantile(x, [0.05, 0.95])
    mean, slope, start = (Interval(float(seen[i]), float(low[i]), float(high[i])) for i in range(3))
    return LengthEffect(
        n=y.size,
        words=mean,
        per_25_words=slope,
        at_equal_length=start,
        inside=bool(reach[0] <= 0 <= reach[1]),
    )


def _lines(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of x, slope for 25 words and value at 0 of each row; NaN where a row of x does not vary."""
    mx, my = x.mean(axis=1), y.mean(axis=1)
    spread = ((x - mx[:, None]) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = ((x - mx[:, None]) * (y - my[:, None])).sum(axis=1) / np.where(spread > 0, spread, np.nan)
    return np.stack([mx, STEP * slope, my - slope * mx], axis=1)
