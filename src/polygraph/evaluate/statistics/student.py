"""Student's t distribution with a whole number of degrees of freedom, without scipy."""

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt
from statistics import NormalDist

_NORMAL_FROM = 5_000
"""Degrees of freedom from which the normal distribution is used."""


def t_two_sided(t: float, degrees: int) -> float:
    """Return the chance that the absolute value exceeds `t`, accurate to about 1e-13.

    By the finite sums of Abramowitz and Stegun (1964), equations 26.7.3 and 26.7.4.

    >>> round(t_two_sided(2.262157, 9), 6)
    0.05
    """
    if degrees >= _NORMAL_FROM:
        return 2 * NormalDist().cdf(-abs(t))
    angle = atan(abs(t) / sqrt(degrees))
    square = cos(angle) ** 2
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for k in range(odd + 2, degrees + 1, 2):
        total += term
        term *= square * (k - 1) / k
    inside = 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
    return min(1.0, max(0.0, 1 - inside))


@lru_cache(maxsize=4096)
def t_quantile(alpha: float, degrees: int) -> float:
    """Return the value that the absolute value exceeds with the chance `alpha`, in (0, 1).

    >>> round(t_quantile(0.05, 9), 4)
    2.2622
    """
    low, high = 0.0, 1.0
    while t_two_sided(high, degrees) > alpha:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        if t_two_sided(middle, degrees) > alpha:
            low = middle
        else:
            high = middle
    return high
