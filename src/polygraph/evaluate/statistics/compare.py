"""Pairwise comparison of methods by one metric on the same questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.decide import MARGIN, Decision, decide, further_questions, within
from polygraph.evaluate.statistics.intervals import Interval, PairedMean, paired_means
from polygraph.evaluate.statistics.multiple_testing import ALPHA, holm, holm_levels
from polygraph.evaluate.statistics.power import detectable_difference, questions_needed
from polygraph.evaluate.statistics.randomisation import FLIPS, FLIPS_PER_PAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two methods on the questions that both were measured on, the better one first."""

    better: str
    """The method with the higher mean; of equals the one named first."""
    worse: str
    n: int
    difference: Interval
    """Mean of the paired differences, at least 0; its interval has the level that Holm's correction gives the pair, and
    excludes 0 if and only if `p_holm` is below `ALPHA`."""
    raw: Interval
    """The same with the 95% interval of this pair alone; excludes 0 if and only if `p` is below 0.05."""
    p: float
    """Two-sided, from the same construction as the intervals."""
    p_holm: float
    """The same, adjusted for all pairs of the report."""
    margin: float
    """Differences of at most so much are of no consequence."""
    decision: Decision
    further: int | None
    """Questions to add for a decision, if undecided; None if decided, or if no number would decide."""
    wins: int
    """Questions on which the better method scores higher."""
    ties: int
    losses: int
    detectable: float
    """True difference that this number of questions detects with a power of 80%."""
    needed: int | None
    """Questions needed to detect the observed difference with that power; None if there is no difference."""

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below `ALPHA`."""
        return self.p_holm < ALPHA

    @property
    def within_margin(self) -> bool:
        """Whether the whole interval lies within the margin."""
        return within(self.difference, self.margin)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "better": self.better,
            "worse": self.worse,
            "n": self.n,
            "difference": self.difference.mean,
            "interval": [self.difference.low, self.difference.high],
            "interval_95": [self.raw.low, self.raw.high],
            "p": self.p,
            "p_holm": self.p_holm,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "detectable": self.detectable,
            "questions_needed": self.needed,
            "difference_found": self.significant,
            "margin": self.margin,
            "decision": self.decision,
            "further_questions": self.further,
        }


def compare_methods(
    values: Mapping[str, Mapping[str, float]], rng: np.random.Generator, *, margin: float = MARGIN
) -> list[Comparison]:
    """Compare every pair of methods, question by question.

    Holm's correction covers all pairs, not only those with the best method, because the best method was determined on
    the same questions.

    Args:
        values: score between 0 and 1 by question id, by method.
        rng: source of signs.
        margin: of equivalence, in the unit of the scores.

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
    # Pairs on the same questions, usually all, share signs.
    flips = max(FLIPS, FLIPS_PER_PAIR * len(pairs))
    found: dict[int, PairedMean] = {}
    for members in same_questions.values():
        matrix = np.column_stack([pairs[i][2] for i in members])
        found |= zip(members, paired_means(matrix, rng, flips=flips), strict=True)
    p_values = [found[i].p for i in range(len(pairs))]
    adjusted = zip(holm(p_values), holm_levels(p_values), strict=True)
    return [
        _comparison(better, worse, differences, found[i], p_holm, level, margin)
        for i, ((better, worse, differences), (p_holm, level)) in enumerate(zip(pairs, adjusted, strict=True))
    ]


def _comparison(
    better: str,
    worse: str,
    d: NDArray[np.float64],
    paired: PairedMean,
    p_holm: float,
    level: float,
    margin: float,
) -> Comparison:
    deviation = float(d.std(ddof=1)) if len(d) > 1 else 0.0
    gap = float(d.mean())
    interval = paired.interval(level)
    decision = decide(interval, margin)
    return Comparison(
        better=better,
        worse=worse,
        n=len(d),
        difference=interval,
        raw=paired.interval(),
        p=paired.p,
        p_holm=p_holm,
        margin=margin,
        decision=decision,
        further=further_questions(paired, margin, alpha=level) if decision == "undecided" else None,
        wins=int((d > 0).sum()),
        ties=int((d == 0).sum()),
        losses=int((d < 0).sum()),
        detectable=detectable_difference(deviation, len(d)),
        needed=questions_needed(deviation, gap) if gap > 1e-12 and deviation else None,
    )
