"""Correction for multiple tests."""

from collections.abc import Sequence

ALPHA = 0.05
"""Family-wise error rate: chance of at least one false alarm among all comparisons of a report."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values by Holm's step-down procedure, which controls the family-wise error rate.

    Holm (1979): the i-th smallest of m is multiplied by m - i + 1, and none is smaller than the one before it.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    m = len(p_values)
    adjusted = [0.0] * m
    before = 0.0
    for i, n in enumerate(sorted(range(m), key=lambda n: (p_values[n], n))):
        before = max(before, min(1.0, (m - i) * p_values[n]))
        adjusted[n] = before
    return adjusted


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """Return for each p value the level that Holm's procedure compares it with.

    The interval at this level excludes 0 if and only if the adjusted p is below `ALPHA`. The first p that is not
    rejected ends the procedure: the larger ones get its level.

    >>> [round(level, 4) for level in holm_levels([0.01, 0.04, 0.03])]
    [0.0167, 0.025, 0.025]
    """
    m = len(p_values)
    levels = [ALPHA] * m
    step, stopped = 0, False
    for n in sorted(range(m), key=lambda n: (p_values[n], n)):
        levels[n] = ALPHA / (m - step)
        stopped = stopped or p_values[n] >= levels[n]
        step += not stopped
    return levels
