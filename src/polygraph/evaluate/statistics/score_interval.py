"""Tango's score interval for wins less losses.

Tango (1998), Statistics in Medicine 17, 891-908.
"""

from math import sqrt
from statistics import NormalDist

_HALVINGS = 60


def score(difference: float, wins: int, losses: int, n: int) -> float:
    """Return how many standard errors the observed wins less losses exceed a true difference of shares.

    The standard error is that under the true difference, with the share of losses most likely under it.

    Args:
        difference: of the true shares of wins and losses, in (-1, 1).
        wins: questions of `n` that are won.
        losses: questions of `n` that are lost; the others are ties.
        n: number of questions.

    >>> round(score(0.0, 8, 1, 9), 4)  # McNemar: (8 - 1) / sqrt(8 + 1)
    2.3333
    """
    b = (2 * n - wins + losses) * difference - wins - losses
    losing = (sqrt(max(b * b + 8 * n * losses * difference * (1 - difference), 0.0)) - b) / (4 * n)
    variance = n * (2 * losing + difference * (1 - difference))
    return (wins - losses - n * difference) / sqrt(max(variance, 1e-300))


def score_interval(wins: int, losses: int, n: int, alpha: float) -> tuple[float, float]:
    """Return the differences of shares that the score test does not reject at the level `alpha`, in (0, 1)."""
    quantile = NormalDist().inv_cdf(1 - alpha / 2)
    return (
        _end(wins, losses, n, quantile),
        -_end(losses, wins, n, quantile),
    )


def _end(wins: int, losses: int, n: int, quantile: float) -> float:
    """Return the lower end, by bisection: the score falls with the difference."""
    low, high = -1.0, (wins - losses) / n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if score(middle, wins, losses, n) > quantile:
            low = middle
        else:
            high = middle
    return low
