"""The findings of a study: figures of each method and each pair of methods, ranking, conclusions."""

from collections.abc import Mapping
from dataclasses import dataclass

from polygraph.evaluate.statistics.agreement import OrderConsistency
from polygraph.evaluate.statistics.bootstrap import Interval
from polygraph.evaluate.statistics.bradley_terry import Strength
from polygraph.evaluate.statistics.length_bias import LengthEffect
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.evaluate.statistics.paired_tests import PairedTest
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
    """Questions left out because the lengths of their answers could not be aligned."""
    unusable: int
    """Judgements without scores."""
    refused: int
    """Questions that either method refused; their answers are judged as they are, whatever their length."""
    where_answered: Interval | None
    """Relative win rate over the questions that neither method refused; None if those are all, or fewer than ten."""
    pooled: WinRates
    """Over all questions and trials."""
    win_box: BoxStatistics
    """Win rate of a, over trials."""
    relative_box: BoxStatistics
    """Relative win rate over trials, which shows the noise of the judge."""
    relative: Interval
    """Relative win rate with its interval over questions, which shows how other questions could differ."""
    gap: Interval
    """Mean difference of scores in points of the scale, with its interval over questions."""
    test: PairedTest
    """Of the mean difference of scores per question."""
    p: float
    """Of the test, after Holm's correction over all pairs."""
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
        return self.p < ALPHA and (self.relative.low > 0 or self.relative.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the judgements and costs of a study show."""

    methods: tuple[MethodSummary, ...]
    pairs: tuple[PairSummary, ...]
    ranking: tuple[Strength, ...]
    """Strongest first; empty with fewer than two judged methods."""
    conclusions: tuple[str, ...]
    notes: tuple[str, ...]
