"""Pairwise comparison of methods by one metric on the same questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.bootstrap import Interval, bootstrap_differences
from polygraph.evaluate.statistics.multiple_testing import ALPHA, holm
from polygraph.evaluate.statistics.paired_tests import FLIPS, randomisation_test
from polygraph.evaluate.statistics.power import detectable_difference, questions_needed

_FLIPS_PER_PAIR = 200
"""Sign patterns per pair of methods. The smallest p they can give, times the number of pairs, is 0.005; with fewer, no
difference between two of many methods could be significant, however large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two methods on the questions that both were measured on, the better one first."""

    better: str
    """The method with the higher mean; of equals the one named first."""
    worse: str
    n: int
    difference: Interval
    """Mean of the paired differences, at least 0, with its 95 % interval."""
    p: float
    """Two-sided, by the randomisation test."""
    p_holm: float
    """The same, adjusted for all pairs of the report."""
    wins: int
    """Questions on which the better method scores higher."""
    ties: int
    losses: int
    detectable: float
    """True difference that so many questions detect with a power of 80 %."""
    needed: int | None
    """Questions needed to detect the observed difference with that power; None if there is no difference."""

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below `ALPHA`."""
        return self.p_holm < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "better": self.better,
            "worse": self.worse,
            "n": self.n,
            "difference": self.difference.mean,
            "interval": [self.difference.low, self.difference.high],
            "p": self.p,
            "p_holm": self.p_holm,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "detectable": self.detectable,
            "questions_needed": self.needed,
            "difference_found": self.significant,
        }


def compare_methods(values: Mapping[str, Mapping[str, float]], rng: np.random.Generator) -> list[Comparison]:
    """Compare every pair of methods, question by question.

    Holm's correction covers all pairs, not only those with the best method, because the best method was determined on
    the same questions.

    Args:
        values: score by question id, by method.
        rng: source of resamples and signs.

    Returns:
        One comparison per pair, in the order in which the methods are named.
    """
    pairs: list[tuple[str, str, NDArray[np.float64]]] = []
    same_questions: dict[tuple[str, ...], list[int]] = {}
    for a, b in combinations(values, 2):
        shared = tuple(q for q in values[a] if q in values[b])
        if shared:
            same_questions.setdefault(shared, []).append(len(pairs))
            first = np.array([values[a][q] for q in shared])
            second = np.array([values[b][q] for q in shared])
            ahead = bool(first.mean() >= second.mean())
            pairs.append((a, b, first - second) if ahead else (b, a, second - first))
    # Pairs on the same questions, usually all, share signs and resamples.
    p_values, intervals = [1.0] * len(pairs), [Interval(0.0, 0.0, 0.0)] * len(pairs)
    for members in same_questions.values():
        matrix = np.column_stack([pairs[i][2] for i in members])
        tested = randomisation_test(matrix, rng, flips=max(FLIPS, _FLIPS_PER_PAIR * len(pairs)))
        for i, p, interval in zip(members, tested, bootstrap_differences(matrix, rng), strict=True):
            p_values[i], intervals[i] = float(p), interval
    return [
        _comparison(better, worse, differences, p, p_holm, interval)
        for (better, worse, differences), p, p_holm, interval in zip(
            pairs, p_values, holm(p_values), intervals, strict=True
        )
    ]


def _comparison(
    better: str, worse: str, d: NDArray[np.float64], p: float, p_holm: float, interval: Interval
) -> Comparison:
    deviation = float(d.std(ddof=1)) if len(d) > 1 else 0.0
    gap = float(d.mean())
    return Comparison(
        better=better,
        worse=worse,
        n=len(d),
        difference=interval,
        p=p,
        p_holm=p_holm,
        wins=int((d > 0).sum()),
        ties=int((d == 0).sum()),
        losses=int((d < 0).sum()),
        detectable=detectable_difference(deviation, len(d)),
        needed=questions_needed(deviation, gap) if gap > 1e-12 and deviation else None,
    )
