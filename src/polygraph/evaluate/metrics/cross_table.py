"""Mean scores by two properties of the questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellMean:
    """Mean score of a group of questions."""

    n: int
    mean: float


def cross_table(
    scores: Sequence[float], rows: Sequence[str], columns: Sequence[str]
) -> dict[str, dict[str, CellMean]]:
    """Return mean scores by row and column with margins, as in NovelQA's table of complexity by aspect.

    Args:
        scores: one per question.
        rows: row of each question, such as its complexity.
        columns: column of each question, such as its aspect.

    Returns:
        By row, then column, both sorted, with the margin ``avg`` last; empty cells are left out. A margin is the mean
        over questions, not over cells.

    >>> table = cross_table([1, 0, 1], ["mh", "mh", "sh"], ["plot", "times", "plot"])
    >>> table["mh"]["avg"], table["avg"]["plot"]
    (CellMean(n=2, mean=0.5), CellMean(n=2, mean=1.0))
    """
    groups: dict[str, dict[str, list[float]]] = {}
    for score, row, column in zip(scores, rows, columns, strict=True):
        for r in (row, "avg"):
            for c in (column, "avg"):
                groups.setdefault(r, {}).setdefault(c, []).append(score)
    return {
        r: {
            c: CellMean(len(groups[r][c]), sum(groups[r][c]) / len(groups[r][c]))
            for c in _margin_last(groups[r])
        }
        for r in _margin_last(groups)
    }


def _margin_last(names: Mapping[str, object]) -> list[str]:
    return sorted(names, key=lambda name: (name == "avg", name))
