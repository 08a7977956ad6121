"""Precision and recall of refusals on questions that the corpus does not answer."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Refusals of one method on null and answerable questions."""

    refused_null: int
    """Null questions that were refused, as they should be."""
    answered_null: int
    """Null questions that were answered: hallucinations."""
    refused_answerable: int
    """Questions that the documents answer and the method refused."""

    @property
    def precision(self) -> float | None:
        """Share of the refusals that were correct; None without refusals."""
        return _share(self.refused_null, self.refused_null + self.refused_answerable)

    @property
    def recall(self) -> float | None:
        """Share of the null questions that were refused; None without null questions."""
        return _share(self.refused_null, self.refused_null + self.answered_null)


def count_refusals(null: Sequence[bool], refused: Sequence[bool]) -> Refusals:
    """Count refusals by whether the question should have been refused.

    >>> count_refusals([True, True, False, False], [True, False, True, False]).precision
    0.5
    """
    pairs = list(zip(null, refused, strict=True))
    return Refusals(
        refused_null=pairs.count((True, True)),
        answered_null=pairs.count((True, False)),
        refused_answerable=pairs.count((False, True)),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
