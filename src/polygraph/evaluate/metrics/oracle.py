"""What single outcomes add up to: two methods side by side, the best choice per question, refusals, tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RIGHT = 0.5
"""Score from which an answer counts as right where scores are not 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Two methods on the same questions, as figure 2 of "RAG vs. GraphRAG" (2502.11371) has it."""

    both: int
    a_only: int
    b_only: int
    neither: int

    @property
    def n(self) -> int:
        """Number of questions."""
        return self.both + self.a_only + self.b_only + self.neither


def confusion(a: Mapping[str, float], b: Mapping[str, float], *, right: float = RIGHT) -> Confusion:
    """Count the questions that both methods, one, or neither got right.

    Args:
        a: score by question of the first method.
        b: of the second; questions that only one of them has are left out.
        right: scores from here on are right.

    >>> confusion({"q1": 1, "q2": 1, "q3": 0}, {"q1": 1, "q2": 0, "q3": 0})
    Confusion(both=1, a_only=1, b_only=0, neither=1)
    """
    pairs = [(a[q] >= right, b[q] >= right) for q in a if q in b]
    return Confusion(
        both=pairs.count((True, True)),
        a_only=pairs.count((True, False)),
        b_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """What a router could gain that always knew the best method."""

    n: int
    """Questions that every method has a score for."""
    mean: float
    """Mean score of the best method of each question: no choice between these methods can be better."""
    best: str
    """The best single method; of equals the one named first."""
    best_mean: float
    shares: Mapping[str, float]
    """For each method the share of questions on which no other is better; equals share the question evenly."""

    @property
    def gain(self) -> float:
        """Upper bound of what choosing per question adds to the best single method."""
        return self.mean - self.best_mean


def oracle(scores: Mapping[str, Mapping[str, float]]) -> Oracle:
    """Upper bound of choosing a method per question.

    Args:
        scores: by method, score by question.

    Raises:
        ValueError: if there is no question that all methods have a score for.

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
        ahead = [m for m in methods if scores[m][question] == top]
        for m in ahead:
            shares[m] += 1 / len(ahead) / n
    means = {m: sum(scores[m][q] for q in shared) / n for m in methods}
    best = max(methods, key=lambda m: (means[m], -methods.index(m)))
    return Oracle(n=n, mean=total / n, best=best, best_mean=means[best], shares=shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """How well a method knows what the documents do not say."""

    refused_null: int
    """Null questions that were refused, as they should be."""
    answered_null: int
    """Null questions that were answered: made up."""
    refused_answerable: int
    """Questions that the documents answer and the method refused."""
    answered_answerable: int

    @property
    def precision(self) -> float | None:
        """Share of the refusals that were right; None without any refusal."""
        return _share(self.refused_null, self.refused_null + self.refused_answerable)

    @property
    def recall(self) -> float | None:
        """Share of the null questions that were refused; None without null questions."""
        return _share(self.refused_null, self.refused_null + self.answered_null)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of the two; None where one of them is."""
        if self.precision is None or self.recall is None:
            return None
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def false_refusals(self) -> float | None:
        """Share of the answerable questions that were refused; None without any."""
        return _share(self.refused_answerable, self.refused_answerable + self.answered_answerable)


def refusals(null: Sequence[bool], refused: Sequence[bool]) -> Refusals:
    """Count refusals against what should have been refused.

    >>> refusals([True, True, False, False], [True, False, True, False]).precision
    0.5
    """
    pairs = list(zip(null, refused, strict=True))
    return Refusals(
        refused_null=pairs.count((True, True)),
        answered_null=pairs.count((True, False)),
        refused_answerable=pairs.count((False, True)),
        answered_answerable=pairs.count((False, False)),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean score of a group of questions."""

    n: int
    mean: float


def breakdown(
    scores: Sequence[float], rows: Sequence[str], columns: Sequence[str]
) -> dict[str, dict[str, Cell]]:
    """Mean scores by two properties with margins, as NovelQA's table of complexity by aspect.

    Args:
        scores: one per question.
        rows: of each question, such as its complexity.
        columns: of each question, such as its aspect.

    Returns:
        By row and column, both sorted, each with ``avg`` at the end for the margin; empty cells are left out. A margin
        is the mean over questions, not over cells.

    >>> table = breakdown([1, 0, 1], ["mh", "mh", "sh"], ["plot", "times", "plot"])
    >>> table["mh"]["avg"], table["avg"]["plot"]
    (Cell(n=2, mean=0.5), Cell(n=2, mean=1.0))
    """
    groups: dict[str, dict[str, list[float]]] = {}
    for score, row, column in zip(scores, rows, columns, strict=True):
        for r in (row, "avg"):
            for c in (column, "avg"):
                groups.setdefault(r, {}).setdefault(c, []).append(score)
    return {
        r: {
            c: Cell(len(groups[r][c]), sum(groups[r][c]) / len(groups[r][c])) for c in _margin_last(groups[r])
        }
        for r in _margin_last(groups)
    }


def _margin_last(names: Mapping[str, object]) -> list[str]:
    return sorted(names, key=lambda name: (name == "avg", name))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
