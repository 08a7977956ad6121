"""The findings of a study: figures of each method and each pair of methods, ranking, conclusions."""

from collections.abc import Mapping
from dataclasses import dataclass

from polygraph.evaluate.statistics.agreement import OrderConsistency
from polygraph.evaluate.statistics.bradley_terry import Strength
from polygraph.evaluate.statistics.decide import Decision, within
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.evaluate.statistics.length_bias import LengthEffect
from polygraph.evaluate.statistics.power import PowerAnalysis
from polygraph.evaluate.statistics.win_rates import BoxStatistics, WinRates


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSummary:
    """One method over all questions of a study."""

    method: str
    n: int
    refused: int
    words: float
    """Mean length of its original answers."""
    calls: float
    """Mean per question, including cached calls."""
    tokens: float
    """Mean per question, prompt and completion, as if nothing had been cached."""
    seconds_median: float
    seconds_p95: float
    cost: float | None
    """Mean per question in US dollars; None if a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSummary:
    """Two methods judged on the same questions."""

    a: str
    b: str
    n: int
    """Questions with an outcome."""
    discarded: int
    """Pairs of answers left out because their lengths could not be aligned."""
    aligned: int
    """Pairs of answers whose lengths were to be aligned."""
    unusable: int
    """Judgements without scores."""
    refused: int
    """Questions that either method refused; their answers are judged as they are, whatever their length."""
    where_answered: Interval | None
    """Relative win rate over the questions that neither method refused; None if those are all, or fewer than ten."""
    pooled: WinRates
    """Over all questions and trials."""
    relative_box: BoxStatistics
    """Relative win rate over trials, which shows the noise of the judge."""
    relative: Interval
    """Relative win rate with its interval over questions, which shows how other questions could differ; it excludes 0
    if and only if the pair differs."""
    level: float
    """Chance that the interval misses the true rate: 0.05, less if Holm's correction divides it among several pairs."""
    p: float
    """p-value of the relative win rate, from the same construction, after Holm's correction over all pairs."""
    margin: float
    """Relative win rates within minus and plus this are of no consequence."""
    decision: Decision
    further: int | None
    """Questions to add for a decision, if undecided; None if decided, or if no number would decide."""
    gap: Interval
    """Mean difference of scores in points of the scale, with its 95% interval over questions, for this pair alone."""
    gap_p: float
    """p-value of the gap, from the same construction, for this pair alone."""
    by_aspect: Mapping[str, WinRates]
    by_type: Mapping[str, tuple[WinRates, Interval]]
    consistency: OrderConsistency
    power: PowerAnalysis | None
    """None if no question differs."""
    length: LengthEffect | None
    """Effect of the remaining difference in length; None with fewer than ten questions, or if all answers are of equal
    length."""
    sentence: str

    @property
    def differs(self) -> bool:
        """Whether the methods differ significantly."""
        return self.decision == "better"

    @property
    def within_margin(self) -> bool:
        """Whether the whole interval lies within the margin."""
        return within(self.relative, self.margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the judgements and costs of a study show."""

    methods: tuple[MethodSummary, ...]
    pairs: tuple[PairSummary, ...]
    ranking: tuple[Strength, ...]
    """Strongest first; empty with fewer than two judged methods."""
    conclusions: tuple[str, ...]
    notes: tuple[str, ...]
    controls: tuple[PairSummary, ...] = ()
    """A/A controls: two independent instances of one method each, without correction for several pairs."""
