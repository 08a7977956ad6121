"""Confusion of two methods, and the oracle that picks the best method for each question."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

CORRECT = 0.5
"""Score from which an answer counts as correct if scores are not only 0 and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Two methods on the same questions, as in figure 2 of "RAG vs. GraphRAG" (2502.11371)."""

    both: int
    a_only: int
    b_only: int
    neither: int

    @property
    def n(self) -> int:
        """Number of questions."""
        return self.both + self.a_only + self.b_only + self.neither


def confusion(a: Mapping[str, float], b: Mapping[str, float], *, correct: float = CORRECT) -> Confusion:
    """Count the questions that both methods, only one, or neither answers correctly.

    Args:
        a: score per question of the first method.
        b: of the second; questions that only one of them has are left out.
        correct: lowest score of a correct answer.

    >>> confusion({"q1": 1, "q2": 1, "q3": 0}, {"q1": 1, "q2": 0, "q3": 0})
    Confusion(both=1, a_only=1, b_only=0, neither=1)
    """
    pairs = [(a[q] >= correct, b[q] >= correct) for q in a if q in b]
    return Confusion(
        both=pairs.count((True, True)),
        a_only=pairs.count((True, False)),
        b_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
    )


def confusions(
    scores: Mapping[str, Mapping[str, float]], *, correct: float = CORRECT
) -> dict[tuple[str, str], Confusion]:
    """Return the confusion of each pair of methods.

    Args:
        scores: by method, score per question.
        correct: lowest score of a correct answer.
    """
    return {(a, b): confusion(scores[a], scores[b], correct=correct) for a, b in combinations(scores, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Score of an oracle router that always picks the best method."""

    n: int
    """Questions that every method has a score for."""
    mean: float
    """Mean score of the best method of each question: the upper bound of any router over these methods."""
    best: str
    """The best single method; of equals the one named first."""
    best_mean: float
    shares: Mapping[str, float]
    """For each method the share of questions on which no other is better; ties split the question evenly."""

    @property
    def gain(self) -> float:
        """Upper bound of what routing adds to the best single method."""
        return self.mean - self.best_mean


def oracle(scores: Mapping[str, Mapping[str, float]]) -> Oracle:
    """Compute the upper bound of choosing a method per question.

    Args:
        scores: by method, score per question.

    Raises:
        ValueError: if no question has a score by every method.

    >>> oracle({"a": {"q1": 1.0, "q2": 0.0}, "b": {"q1": 0.0, "q2": 1.0}}).gain
    0.5
    """
    methods = list(scores)
    shared = [q for q in scores[methods[0]] if all(q in scores[m] for m in methods)] if methods else []
    if not shared:
        raise ValueError("no question has a score by every method")
    n = len(shared)
    shares = dict.fromkeys(methods, 0.0)
    total = 0.0
    for question in shared:
        top = max(scores[m][question] for m in methods)
        total += top
        tied = [m for m in methods if scores[m][question] == top]
        for m in tied:
            shares[m] += 1 / len(tied) / n
    means = {m: sum(scores[m][q] for q in shared) / n for m in methods}
    best = max(methods, key=lambda m: (means[m], -methods.index(m)))
    return Oracle(n=n, mean=total / n, best=best, best_mean=means[best], shares=shares)
