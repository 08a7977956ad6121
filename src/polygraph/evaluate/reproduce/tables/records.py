"""Records of a published table: systems, columns, judging, and numbers with their place in the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, TypeAlias

from polygraph.config.profiles import ProfileName
from polygraph.evaluate.records import is_tuned, method_of

Measure: TypeAlias = Literal[
    "precision", "recall", "f1", "accuracy", "em", "only_correct", "rouge1", "rougeL",
    "rouge2_p", "rouge2_r", "rouge2", "bert_p", "bert_r", "bert_f1", "bleu", "similarity",
    "tokens", "seconds", "verdict",
]  # fmt: skip
"""`only_correct`: share of questions that one system answers correctly and the other does not. `tokens` and `seconds`:
per question."""
QuestionSource: TypeAlias = Literal["data", "summary", "grounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of a table."""

    name: str
    """As in the paper."""
    method: str = ""
    """The preset that corresponds to it; empty if there is none. ``PRESET#2`` is a second, independent run of it, and
    ``PRESET+tuned`` is answered by a tuned reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    name: str
    measure: Measure
    where: Mapping[str, str] = field(default_factory=dict)
    """Fields of a question with the values they must have; empty: all questions."""
    aspect: str = ""
    """For verdicts: the aspect; empty: all aspects together."""
    position: Literal["", "first", "second"] = ""
    """For verdicts: only those that showed the first system in this position; empty: all."""
    trial: int | None = None
    """For verdicts: only those of this trial, from 0; None: of all."""
    longer_by: tuple[int, int] | None = None
    """For verdicts: wins less losses of the longer answer, where lengths differ by at least the first and at most
    the second number of words; None: of the first system, whatever the lengths."""
    factor: float = 100.0
    """Factor from a value in [0, 1] to the unit of the paper: 1 if the paper prints fractions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSetup:
    """How the answers of a table are judged."""

    protocol: str
    """As for `polygraph eval judge --protocol`."""
    reference: str
    """System that is judged against every other one; the numbers are its. Empty: every pair is judged, and the numbers
    are those of the first system."""
    value: Literal["win", "relative"]
    """`win`: share of verdicts, both orders pooled, ties count for neither; `relative`: wins less losses, over all."""
    judge: str
    """Model that judged in the paper."""
    question_source: QuestionSource
    """Whether questions come with the data or are generated."""
    trials: int = 0
    """Rounds of the judges; 0: as in the protocol."""
    align: bool | None = None
    """Whether lengths are aligned; None: as in the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """Two systems whose answers are judged; the numbers are those of the first."""

    row: str
    """Its row in the table."""
    first: System
    second: System

    @property
    def methods(self) -> str:
        """What was run: that of the second system if the first is in every row; empty if either was not run."""
        if not (self.first.method and self.second.method):
            return ""
        return (
            self.second.method
            if self.row == self.second.name
            else f"{self.first.method}, {self.second.method}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper."""

    paper: str
    name: str
    """Its number, with the part if several parts are run separately."""
    place: str
    """Where in the paper the numbers are."""
    title: str
    data: str
    """Data set and subset."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    numbers: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    """By model that answered, then row (see `row_names`): one value per column; None if the paper has none."""
    scope: Literal["whole", "single"] = "whole"
    """`single`: one index per document, and each question is asked of its own document."""
    form: Literal["prose", "word"] = "prose"
    """`word`: answers are names, numbers, yes or no."""
    types: tuple[str, ...] = ()
    """Types of question that are asked; empty: all."""
    per_type: int = 0
    """Questions per type, sampled with a seed; 0: all."""
    n: int = 0
    """Questions in the paper; 0 if it does not say."""
    judging: JudgingSetup | None = None
    """None if nothing is judged."""
    bert: Literal["", "raw", "rescaled"] = ""
    """Whether its BERTScore is rescaled by the baseline; empty if it has none."""
    pictured: bool = False
    """Whether some of its numbers appear in the paper only as a chart, and so are unknown here."""
    profile: ProfileName = ""
    """Settings of the index that the paper used, see `config.profiles`."""
    differs: tuple[str, ...] = ()
    """What differs from the paper, or is not stated in it."""

    @property
    def methods(self) -> tuple[str, ...]:
        """What is run, in the order of the systems: presets, and second runs of presets."""
        return tuple(s.method for s in self.systems if s.method)

    @property
    def presets(self) -> tuple[str, ...]:
        """Presets to run, each once."""
        return tuple(dict.fromkeys(map(method_of, self.methods)))

    @property
    def has_tuned(self) -> bool:
        """Whether a tuned reader answers for some system."""
        return any(map(is_tuned, self.methods))

    def without_tuned(self) -> "Table":
        """Return the table without running what needs a tuned reader."""
        plain = tuple(replace(s, method="") if is_tuned(s.method) else s for s in self.systems)
        return replace(self, systems=plain)

    @property
    def judged_pairs(self) -> tuple[JudgedPair, ...]:
        """The pairs of systems that are judged, in the order of the systems; empty if nothing is judged."""
        if self.judging is None:
            return ()
        if not self.judging.reference:
            return tuple(
                JudgedPair(row=f"{a.name} over {b.name}", first=a, second=b)
                for a, b in combinations(self.systems, 2)
            )
        (first,) = (s for s in self.systems if s.name == self.judging.reference)
        return tuple(JudgedPair(row=s.name, first=first, second=s) for s in self.systems if s is not first)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: systems, or judged pairs."""
        return tuple(p.row for p in self.judged_pairs) or tuple(s.name for s in self.systems)

    @property
    def question_source(self) -> QuestionSource:
        """Whether questions come with the data or are generated."""
        return self.judging.question_source if self.judging else "data"


def rows(
    systems: tuple[System, ...], *values: tuple[float | None, ...]
) -> dict[str, tuple[float | None, ...]]:
    """Return numbers by system, given in the order of the systems."""
    return {s.name: row for s, row in zip(systems, values, strict=True)}


def mean_of(n: str) -> str:
    """Return the remark on a table of means, of which one data set is run here."""
    return f"the published rates are means of {n} data sets; ours are of the one given"
