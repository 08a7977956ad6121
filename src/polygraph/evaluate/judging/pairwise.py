"""Design scoring of two methods: both orders, repeats, exact ties, trials.

Zeng et al. (arXiv:2506.06331), section 4.2. What the paper leaves open is a named setting here: a trial judges the
same answers again (`trials`), since new answers for each would cost far more and mix two kinds of noise; sums of
whole scores are compared, so that a tie is exact.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from polygraph.evaluate.judging.judgements import Judgement, judged
from polygraph.tasks.judge import Scores

S = TypeVar("S")
T = TypeVar("T")


class Run(Protocol):
    """Applies a function to items, in parallel if it likes; `Calls.map` is one."""

    def __call__(self, work: Callable[[S], T], items: Sequence[S], /) -> Iterable[T]:
        """Results in the order of the items."""


class PairJudge(Protocol):
    """Scores two answers in the order shown."""

    @property
    def name(self) -> str:
        """Identifies the judge in the records."""

    def __call__(self, question: str, first: str, second: str, sample: int) -> Scores:
        """One score per answer and aspect.

        Args:
            question: its text.
            first: the answer that is shown first.
            second: the answer that is shown second.
            sample: number of this judgement among those of the same texts, from 0.

        Raises:
            UnusableReply: if no scores could be had.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Which answers are judged in which order, and how often. The defaults are those of the unbiased protocol."""

    protocol: str = "unbiased"
    """Its name in the records."""
    orders: Literal["both", "first", "alternate"] = "both"
    """`first`: in the order given only; `alternate`: turned round in every other trial."""
    repeats: int = 2
    """Judgements of each order within a trial (N = 2, section 4.2)."""
    trials: int = 25
    """Rounds over all questions (section 4.2: 25). Fewer show the same mean with less of the judge's noise."""

    def turns(self, trial: int) -> tuple[bool, ...]:
        """Whether the answers are turned round, for each order of a trial."""
        if self.orders == "both":
            return (False, True)
        return (self.orders == "alternate" and trial % 2 == 1,)

    def n_calls(self, n_pairs_of_answers: int) -> int:
        """Judgements of so many pairs of answers.

        >>> Design().n_calls(150)
        15000
        """
        return sum(len(self.turns(t)) for t in range(self.trials)) * self.repeats * n_pairs_of_answers


UNBIASED = Design()
"""Zeng et al. (arXiv:2506.06331)."""
LIGHTRAG = Design(protocol="lightrag", orders="first", repeats=1, trials=1)
"""A winner for each criterion and over all, one order, no ties (arXiv:2410.05779, section 4.1). For comparison: it has
every bias that the unbiased protocol removes."""
FG_RAG = Design(protocol="fg-rag", repeats=1, trials=1)
"""The same criteria in both orders, pooled (arXiv:2504.07103, section 4)."""
RAG_VS_GRAPHRAG = Design(protocol="rag-vs-graphrag", repeats=1, trials=1)
"""Comprehensiveness and global diversity; both orders, reported apart (arXiv:2502.11371, section 5)."""
BENCHMARK_QED = Design(protocol="benchmark-qed", orders="alternate", repeats=1, trials=4)
"""A winner or a tie for each criterion; the order flips with every trial, so that their number must be even."""
DIFFERENTIAL = Design(protocol="differential", repeats=1, trials=1)
"""Only what one answer says and the other does not is judged."""
DESIGNS = {d.protocol: d for d in (UNBIASED, LIGHTRAG, FG_RAG, RAG_VS_GRAPHRAG, BENCHMARK_QED, DIFFERENTIAL)}
PEOPLE = "people"
"""Marks of a sheet that a person filled in."""


def in_both_orders(protocol: str) -> bool:
    """Whether every trial of a protocol shows two answers in both orders, so that only balanced sums count.

    Where it does not, a preference for a place cancels out over trials (`benchmark-qed`), over questions (`people`), or
    not at all (`lightrag`).
    """
    known = DESIGNS.get(protocol)
    return protocol != PEOPLE and (known is None or known.orders == "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two answers to one question, to be judged."""

    question: str
    """Id."""
    text: str
    """The question."""
    a: str
    b: str
    answers: tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Task:
    protocol: str
    pair: Pair
    turned: bool
    trial: int
    repeat: int

    def judgement(self, judge: str) -> Judgement:
        """The record without its scores."""
        a, b = self.pair.a, self.pair.b
        return Judgement(
            protocol=self.protocol,
            question=self.pair.question,
            methods=(b, a) if self.turned else (a, b),
            judge=judge,
            trial=self.trial,
            repeat=self.repeat,
        )


def judge_pairs(
    pairs: Sequence[Pair],
    judge: PairJudge,
    how: Design,
    *,
    run: Run,
    keep: Callable[[Judgement], None] = lambda _: None,
    done: Iterable[Judgement] = (),
) -> list[Judgement]:
    """Judge every pair as a design says, `repeats` times in each order of each of `trials` rounds.

    Args:
        pairs: aligned answers.
        judge: whom to ask.
        how: how often.
        run: applies a function to tasks, in parallel if it likes (`Calls.map`).
        keep: given each judgement as soon as it is there, from any thread.
        done: judgements of an earlier run; they are not asked for again.

    Returns:
        New judgements, by trial, pair, repeat, order. One without scores says why.
    """
    known = {one.key for one in done}
    tasks = [
        _Task(how.protocol, pair, turned, trial, repeat)
        for trial in range(how.trials)
        for pair in pairs
        for repeat in range(how.repeats)
        for turned in how.turns(trial)
    ]
    tasks = [task for task in tasks if task.judgement(judge.name).key not in known]

    def work(task: _Task) -> Judgement:
        first, second = reversed(task.pair.answers) if task.turned else task.pair.answers
        sample = task.trial * how.repeats + task.repeat
        return judged(task.judgement(judge.name), lambda: judge(task.pair.text, first, second, sample), keep)

    return list(run(work, tasks))
