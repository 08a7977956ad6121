"""Judges with known faults, and studies with a known truth: the evaluator is itself tested.

A simulated judge has an impression of each answer: its true quality, a bonus for the place in front, a bonus for
length, and noise that is new in every call. The faults are given as they are measured: in points of the win rate
between equal answers (arXiv:2506.06331, figures 2 and 6).
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import erf, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from polygraph.evaluate.judging.judgements import outcomes
from polygraph.evaluate.judging.length_alignment import TOLERANCE
from polygraph.evaluate.judging.pairwise import Design, Pair, judge_pairs
from polygraph.evaluate.reports.findings import ALPHA
from polygraph.evaluate.statistics.bootstrap import bootstrap_differences
from polygraph.evaluate.statistics.paired_tests import paired_test, power_of
from polygraph.tasks.judge import ASPECTS, HIGHEST, Scores

S = TypeVar("S")
T = TypeVar("T")
_WORDS = 200
"""Mean length of an answer (arXiv:2506.06331, figure 6: around 200)."""
_MIDDLE = 2.5
"""Score of an answer of quality 0."""


def offset(points: float) -> float:
    """By how much one answer must stand out, in standard deviations of the noise, to win by so many points.

    >>> round(offset(50.0), 3)
    0.674
    """
    return NormalDist().inv_cdf((1 + points / 100) / 2)


def points(offset: float) -> float:
    """The inverse of `offset`: win rate less loss rate, in points.

    >>> round(points(0.674))
    50
    """
    return 100 * erf(offset / sqrt(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What is wrong with a judge."""

    position: float = 30.0
    """Points by which the answer in front beats an equal one."""
    length: float = 50.0
    """Points by which an answer that is 25 words longer beats an equal one."""
    noise: float = 1.0
    """Standard deviation of the difference of two impressions, in points of the scale."""


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """An answer of which only quality and length are known; its text is a name for it."""

    name: str
    quality: float
    """In standard deviations of the judge's noise."""
    words: int


class SimulatedJudge:
    """A judge with faults. The same texts, sample and seed always get the same scores."""

    name = "simulated"

    def __init__(self, answers: Mapping[str, SimulatedAnswer], faults: Faults, seed: int = 0) -> None:
        self._answers = answers
        self._faults = faults
        self._seed = seed

    def __call__(self, question: str, first: str, second: str, sample: int) -> Scores:
        """Score two answers by name."""
        one, other = self._answers[first], self._answers[second]
        faults = self._faults
        lead = offset(faults.position) + offset(faults.length) / 25 * (one.words - other.words)
        lead += one.quality - other.quality
        rng = np.random.default_rng(_number(f"{self._seed}|{question}|{first}|{second}|{sample}"))
        # Half of the lead for the one, half against the other; the noise of the difference has the size asked for.
        noise = rng.normal(0.0, faults.noise / sqrt(2), size=2)
        impressions = (faults.noise * lead / 2 + noise[0], -faults.noise * lead / 2 + noise[1])
        spread = rng.normal(0.0, 0.3, size=(len(ASPECTS), 2))
        raw = np.clip(np.round(_MIDDLE + np.asarray(impressions) + spread), 0, HIGHEST)
        return {aspect: (float(raw[i, 0]), float(raw[i, 1])) for i, aspect in enumerate(ASPECTS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """How two simulated methods differ."""

    n: int = 150
    """Questions."""
    gap: float = 0.0
    """Points by which A beats B before a judge without faults."""
    longer: float = 0.0
    """Words by which answers of A are longer on the average."""
    spread: float = 25.0
    """Standard deviation of the length of answers, in words."""
    left: float = 0.0
    """Words by which every answer of A stays shorter once it is aligned: a generator that always misses its target."""
    questions: float = 0.5
    """Standard deviation of the difference in quality from question to question, in that of the judge's noise."""


def usual_win_rate(truth: Truth, faults: Faults, seed: int) -> float:
    """The usual protocol: A in front, one judgement for each question, no tie. Returns the share that A wins.

    Equal totals go to the answer in front, since a winner must be named.
    """
    answers = _answers(truth, seed, aligned=False)
    judge = SimulatedJudge(_by_name(answers), faults, seed)
    wins = 0
    for n, (a, b) in enumerate(answers):
        scores = judge(f"q{n}", a.name, b.name, 0)
        wins += sum(s[0] for s in scores.values()) >= sum(s[1] for s in scores.values())
    return wins / truth.n


def unbiased_gaps(truth: Truth, faults: Faults, seed: int, how: Design) -> dict[str, list[float]]:
    """Our protocol on answers of equal length: per question the result of each trial, 1, 0 or -1 for A."""
    answers = _answers(truth, seed, aligned=True)
    judge = SimulatedJudge(_by_name(answers), faults, seed)
    pairs = [
        Pair(question=f"q{n}", text=f"q{n}", a="A", b="B", answers=(a.name, b.name))
        for n, (a, b) in enumerate(answers)
    ]
    judged = judge_pairs(pairs, judge, how, run=_one_after_another)
    worth = {"a": 1.0, "tie": 0.0, "b": -1.0}
    found: dict[str, list[float]] = {}
    for outcome in outcomes(judged, "A", "B"):
        found.setdefault(outcome.question, []).append(worth[outcome.result()])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What both protocols conclude from one simulated study."""

    usual: float
    """Win rate of A by the usual protocol, which is read as it stands: above one half is better."""
    relative: float
    """Relative win rate of A by the unbiased protocol."""
    differs: bool
    """Whether the unbiased protocol says that one method is better, by the rule of the report."""
    detectable: float
    """Relative win rate that the study says it can tell from noise, with a power of 0.95."""


def read_study(truth: Truth, faults: Faults, seed: int, how: Design) -> Reading:
    """Judge one simulated study by both protocols, and read each as its users do.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    rows = unbiased_gaps(truth, faults, seed, how)
    values = np.asarray([np.mean(results) for results in rows.values()])
    [interval] = bootstrap_differences(values[:, None], np.random.default_rng(seed))
    p = paired_test(values.tolist(), [0.0] * len(values)).p
    deviation = float(values.std(ddof=1))
    return Reading(
        usual=usual_win_rate(truth, faults, seed),
        relative=interval.mean,
        differs=p < ALPHA and (interval.low > 0 or interval.high < 0),
        detectable=power_of(deviation, len(values), power=0.95).detectable if deviation else 0.0,
    )


def _answers(truth: Truth, seed: int, *, aligned: bool) -> list[tuple[SimulatedAnswer, SimulatedAnswer]]:
    rng = np.random.default_rng([seed, truth.n])
    # The gap is meant over questions too, whose difficulty differs for the methods.
    mean = offset(truth.gap) * sqrt(1 + truth.questions**2)
    quality = rng.normal(mean, truth.questions, size=truth.n)
    a = np.rint(rng.normal(_WORDS + truth.longer, truth.spread, size=truth.n))
    b = np.rint(rng.normal(_WORDS, truth.spread, size=truth.n))
    if aligned:
        # The shorter one is written anew and misses the target by chance, within the tolerance.
        miss = np.clip(np.rint(rng.normal(0.0, TOLERANCE / 2, size=truth.n)), -TOLERANCE, TOLERANCE)
        a, b = np.where(a < b, b + miss, a), np.where(a < b, b, a + miss)
        if truth.left:
            a = b - truth.left
    return [
        (
            SimulatedAnswer(f"A{n}", float(quality[n]) / 2, int(a[n])),
            SimulatedAnswer(f"B{n}", -float(quality[n]) / 2, int(b[n])),
        )
        for n in range(truth.n)
    ]


def _by_name(answers: Sequence[tuple[SimulatedAnswer, SimulatedAnswer]]) -> dict[str, SimulatedAnswer]:
    return {answer.name: answer for pair in answers for answer in pair}


def _one_after_another(work: Callable[[S], T], items: Sequence[S]) -> Iterable[T]:
    return map(work, items)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
