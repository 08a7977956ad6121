"""What a published table is made of: systems, columns, judges, and numbers with their place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal[
    "precision", "recall", "f1", "accuracy", "em", "alone", "rouge1", "rougeL",
    "rouge2_p", "rouge2_r", "rouge2", "bert_p", "bert_r", "bert_f1", "bleu", "similarity",
    "tokens", "seconds", "verdict",
]  # fmt: skip
"""`alone`: the share of questions that a system answers rightly and the other of two does not. `tokens` and `seconds`:
of one question."""
Posing: TypeAlias = Literal["data", "summary", "grounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of a table."""

    name: str
    """As the paper has it."""
    method: str = ""
    """The preset that stands for it; empty where none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A figure of a table."""

    name: str
    measure: Measure
    where: Mapping[str, str] = field(default_factory=dict)
    """Field of a question and the value that it must have; none: all questions."""
    aspect: str = ""
    """For verdicts: the aspect, or empty for all together."""
    place: Literal["", "front", "behind"] = ""
    """For verdicts: only those that saw the reference in this place; empty: all."""
    factor: float = 100.0
    """What a value in [0, 1] is multiplied by: 1 where the paper prints fractions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """How answers are judged against each other."""

    protocol: str
    """As `polygraph eval judge --protocol` has it."""
    reference: str
    """System that is judged against every other one; figures are its."""
    value: Literal["win", "relative"]
    """`win`: share of verdicts, both orders pooled, ties counted for neither; `relative`: wins less losses by all."""
    judge: str
    """Model that judged in the paper."""
    posing: Posing
    """Whether questions come with the data or are posed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper."""

    paper: str
    arxiv: str
    name: str
    """Its number, with the part if several are run apart."""
    place: str
    """Where in the paper the numbers stand."""
    title: str
    data: str
    """Data set and what of it."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    numbers: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    """By model that answered, then system: one value for each column; None where the paper has none."""
    scope: Literal["whole", "single"] = "whole"
    """`single`: an index for each document, and each question is asked of its own."""
    form: Literal["prose", "word"] = "prose"
    """`word`: answers are names, numbers, yes or no."""
    types: tuple[str, ...] = ()
    """Types of question that are asked; none: all."""
    per_type: int = 0
    """So many of each type, drawn with a seed; 0: all."""
    n: int = 0
    """Questions in the paper; 0 where it does not say."""
    contest: Contest | None = None
    bert: Literal["", "raw", "rescaled"] = ""
    """Whether its BERTScore is rescaled by the baseline; empty where there is none."""
    pictured: bool = False
    """Whether the paper gives numbers of it only as a picture, so that they are not known here."""
    differs: tuple[str, ...] = ()
    """What cannot be as in the paper, or is not told there."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Presets to run, in the order of the systems."""
        return tuple(s.method for s in self.systems if s.method)


def rows(
    systems: tuple[System, ...], *values: tuple[float | None, ...]
) -> dict[str, tuple[float | None, ...]]:
    """Numbers by system, in the order of the systems."""
    return {s.name: row for s, row in zip(systems, values, strict=True)}


def mean_of(n: str, what: str = "data sets") -> str:
    """The remark on a table of means, of which one is run here."""
    return f"the published rates are means of {n} {what}; ours are of the one given"
