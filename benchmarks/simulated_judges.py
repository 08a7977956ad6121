"""Simulated judges with known biases, and simulated studies with a known truth, to test the evaluation itself.

A simulated judge perceives each answer as its true quality plus a bonus for the first position, for length, for
Markdown and for answers of its own family of models, and noise that is new in every call. Biases are given as they are
measured: in points of the win rate between equal answers (arXiv:2506.06331, figures 2 and 6).
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from polygraph.evaluate.judging.judgements import outcomes
from polygraph.evaluate.judging.length_alignment import TOLERANCE
from polygraph.evaluate.judging.pairwise import AnswerPair, JudgingDesign, judge_pairs
from polygraph.evaluate.statistics.intervals import paired_means
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.evaluate.statistics.power import power_analysis
from polygraph.tasks.evaluation.judge import ASPECTS, HIGHEST, JudgeReply

S = TypeVar("S")
T = TypeVar("T")
_WORDS = 200
"""Mean length of an answer (arXiv:2506.06331, figure 6: around 200)."""
_MIDDLE = 2.5
"""Score of an answer of quality 0."""


def lead_of_points(points: float) -> float:
    """Return the lead, in standard deviations of the noise, with which an answer wins by so many points.

    >>> round(lead_of_points(50.0), 3)
    0.674
    """
    return NormalDist().inv_cdf((1 + points / 100) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBias:
    """Biases and noise of a simulated judge."""

    position: float = 30.0
    """Points by which the answer shown first beats an equal one."""
    length: float = 50.0
    """Points by which an answer that is 25 words longer beats an equal one."""
    markdown: float = 0.0
    """Points by which an answer with Markdown beats an equal one without."""
    family: float = 0.0
    """Points by which an answer of the judge's own family of models beats an equal one of another."""
    noise: float = 1.0
    """Standard deviation of the difference of two perceived qualities, in points of the scale."""


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """An answer with known quality and length; its text is its name."""

    name: str
    quality: float
    """In standard deviations of the judge's noise."""
    words: int
    markdown: bool = False
    own_family: bool = False
    """Whether a model of the judge's family wrote it."""


class SimulatedJudge:
    """A judge with known biases. The same texts, sample and seed always get the same scores."""

    name = "simulated"

    def __init__(self, answers: Mapping[str, SimulatedAnswer], bias: JudgeBias, seed: int = 0) -> None:
        self._answers = answers
        self._bias = bias
        self._seed = seed

    def __call__(self, question: str, first: str, second: str, sample: int) -> JudgeReply:
        """Score two answers by name."""
        one, other = self._answers[first], self._answers[second]
        bias = self._bias
        lead = lead_of_points(bias.position) + lead_of_points(bias.length) / 25 * (one.words - other.words)
        lead += one.quality - other.quality
        lead += lead_of_points(bias.markdown) * (one.markdown - other.markdown)
        lead += lead_of_points(bias.family) * (one.own_family - other.own_family)
        rng = np.random.default_rng(_number(f"{self._seed}|{question}|{first}|{second}|{sample}"))
        # Half of the lead goes to each answer; the noise of the difference has the given standard deviation.
        noise = rng.normal(0.0, bias.noise / sqrt(2), size=2)
        perceived = (bias.noise * lead / 2 + noise[0], -bias.noise * lead / 2 + noise[1])
        spread = rng.normal(0.0, 0.3, size=(len(ASPECTS), 2))
        raw = np.clip(np.round(_MIDDLE + np.asarray(perceived) + spread), 0, HIGHEST)
        return JudgeReply({aspect: (float(raw[i, 0]), float(raw[i, 1])) for i, aspect in enumerate(ASPECTS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStudy:
    """The true difference between two simulated methods, A and B."""

    n: int = 130
    """Questions."""
    gap: float = 0.0
    """Points by which A beats B before an unbiased judge."""
    longer: float = 0.0
    """Mean number of words by which A's answers are longer."""
    spread: float = 25.0
    """Standard deviation of the length of answers, in words."""
    shortfall: float = 0.0
    """Words by which every aligned answer of A is shorter: a generator that always misses its target."""
    markdown: tuple[float, float] = (0.5, 0.5)
    """Share of the answers of A and of B that use Markdown."""
    own_family: tuple[float, float] = (0.5, 0.5)
    """Share of the answers of A and of B that the judge's own family of models wrote."""
    questions: float = 0.5
    """Standard deviation over questions of the difference in quality, in units of the judge's noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedResult:
    """Conclusions of both protocols from one simulated study."""

    single_order_win_rate: float
    """Win rate of A by the single-order protocol, usually read as "better" above one half."""
    relative: float
    """Relative win rate of A by the unbiased protocol."""
    differs: bool
    """Whether the unbiased protocol declares one method better, by the rule of the report."""
    detectable: float
    """Relative win rate that the study can detect with a power of 0.95."""


def single_order_win_rate(study: SimulatedStudy, bias: JudgeBias, seed: int) -> float:
    """Return the win rate of A by the single-order protocol: A first, one judgement per question, no ties.

    Equal totals go to the answer shown first, since a winner must be named.
    """
    answers = _answers(study, seed, aligned=False)
    judge = SimulatedJudge(_by_name(answers), bias, seed)
    wins = 0
    for n, (a, b) in enumerate(answers):
        scores = judge(f"q{n}", a.name, b.name, 0).scores
        wins += sum(s[0] for s in scores.values()) >= sum(s[1] for s in scores.values())
    return wins / study.n


def unbiased_results(
    study: SimulatedStudy, bias: JudgeBias, seed: int, design: JudgingDesign
) -> dict[str, list[float]]:
    """Return the result of each trial by question under the unbiased protocol: 1, 0 or -1 for A."""
    answers = _answers(study, seed, aligned=True)
    judge = SimulatedJudge(_by_name(answers), bias, seed)
    pairs = [
        AnswerPair(question=f"q{n}", text=f"q{n}", a="A", b="B", answers=(a.name, b.name))
        for n, (a, b) in enumerate(answers)
    ]
    judgements = judge_pairs(pairs, judge, design, run=_sequential_map)
    sign = {"a": 1.0, "tie": 0.0, "b": -1.0}
    found: dict[str, list[float]] = {}
    for outcome in outcomes(judgements, "A", "B"):
        found.setdefault(outcome.question, []).append(sign[outcome.verdict()])
    return found


def simulate_study(
    study: SimulatedStudy, bias: JudgeBias, seed: int, design: JudgingDesign
) -> SimulatedResult:
    """Judge one simulated study by both protocols.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    rows = unbiased_results(study, bias, seed, design)
    values = np.asarray([np.mean(results) for results in rows.values()])
    [paired] = paired_means(values[:, None], np.random.default_rng(seed))
    deviation = float(values.std(ddof=1))
    return SimulatedResult(
        single_order_win_rate=single_order_win_rate(study, bias, seed),
        relative=paired.mean,
        differs=paired.p < ALPHA,
        detectable=power_analysis(deviation, len(values), power=0.95).detectable if deviation else 0.0,
    )


def _answers(
    study: SimulatedStudy, seed: int, *, aligned: bool
) -> list[tuple[SimulatedAnswer, SimulatedAnswer]]:
    rng = np.random.default_rng([seed, study.n])
    # The gap is defined over questions, whose difficulty differs between the methods.
    mean = lead_of_points(study.gap) * sqrt(1 + study.questions**2)
    quality = rng.normal(mean, study.questions, size=study.n)
    a = np.rint(rng.normal(_WORDS + study.longer, study.spread, size=study.n))
    b = np.rint(rng.normal(_WORDS, study.spread, size=study.n))
    if aligned:
        # The rewritten, shorter answer misses the target at random within the tolerance.
        miss = np.clip(np.rint(rng.normal(0.0, TOLERANCE / 2, size=study.n)), -TOLERANCE, TOLERANCE)
        a, b = np.where(a < b, b + miss, a), np.where(a < b, b, a + miss)
        if study.shortfall:
            a = b - study.shortfall
    markdown = rng.random((study.n, 2)) < study.markdown
    own = rng.random((study.n, 2)) < study.own_family
    return [
        (
            SimulatedAnswer(f"A{n}", float(quality[n]) / 2, int(a[n]), bool(markdown[n, 0]), bool(own[n, 0])),
            SimulatedAnswer(
                f"B{n}", -float(quality[n]) / 2, int(b[n]), bool(markdown[n, 1]), bool(own[n, 1])
            ),
        )
        for n in range(study.n)
    ]


def _by_name(answers: Sequence[tuple[SimulatedAnswer, SimulatedAnswer]]) -> dict[str, SimulatedAnswer]:
    return {answer.name: answer for pair in answers for answer in pair}


def _sequential_map(work: Callable[[S], T], items: Sequence[S]) -> Iterable[T]:
    return map(work, items)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
