"""Pairwise judging: protocols with their orders, repeats and trials.

The unbiased protocol is that of Zeng et al. (arXiv:2506.06331), section 4.2. Two points that the paper leaves open: a
trial judges the same answers again unless `AnswerPair.trial` says otherwise, since new answers for each trial cost far
more and mix two kinds of noise; and sums of integer scores are compared, so that ties are exact.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from polygraph.evaluate.judging.judgements import Judgement, ParallelMap, ask_judge
from polygraph.tasks.evaluation.judge import JudgeReply


class PairJudge(Protocol):
    """Scores two answers in the order shown."""

    @property
    def name(self) -> str:
        """Name of the judge in the records."""

    def __call__(self, question: str, first: str, second: str, sample: int) -> JudgeReply:
        """Return one score per answer and aspect, with reasons if the judge gives any.

        Args:
            question: its text.
            first: the answer shown first.
            second: the answer shown second.
            sample: number of this judgement among those of the same texts, from 0.

        Raises:
            UnusableReply: if the judge gave no scores.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingDesign:
    """A protocol with the orders, repeats and trials of its judgements. Defaults are those of the unbiased protocol."""

    protocol: str = "unbiased"
    """Name of the protocol in the records."""
    orders: Literal["both", "first", "alternate"] = "both"
    """`first`: only the given order; `alternate`: swapped in every other trial."""
    repeats: int = 2
    """Judgements of each order within a trial (N = 2, section 4.2)."""
    trials: int = 25
    """Rounds over all questions (section 4.2: 25). The expected result does not depend on it, only the judge's
    noise."""

    def orders_of(self, trial: int) -> tuple[bool, ...]:
        """Return, for each order of a trial, whether the answers are swapped."""
        if self.orders == "both":
            return (False, True)
        return (self.orders == "alternate" and trial % 2 == 1,)

    def n_calls(self, n_answer_pairs: int) -> int:
        """Return the number of judgements for a number of pairs of answers.

        >>> JudgingDesign().n_calls(150)
        15000
        """
        return sum(len(self.orders_of(t)) for t in range(self.trials)) * self.repeats * n_answer_pairs

    def n_calls_of(self, pair: "AnswerPair") -> int:
        """Return the number of judgements of one pair of answers, which may belong to a single trial."""
        if pair.trial is None:
            return self.n_calls(1)
        return len(self.orders_of(pair.trial)) * self.repeats if pair.trial < self.trials else 0


UNBIASED = JudgingDesign()
"""Zeng et al. (arXiv:2506.06331)."""
LIGHTRAG = JudgingDesign(protocol="lightrag", orders="first", repeats=1, trials=1)
"""A winner per criterion and overall, one order, no ties (arXiv:2410.05779, section 4.1). For comparison only: it has
every bias that the unbiased protocol removes."""
FG_RAG = JudgingDesign(protocol="fg-rag", repeats=1, trials=1)
"""The same criteria in both orders, pooled (arXiv:2504.07103, section 4)."""
RAG_VS_GRAPHRAG = JudgingDesign(protocol="rag-vs-graphrag", repeats=1, trials=1)
"""Comprehensiveness and global diversity; both orders, reported separately (arXiv:2502.11371, section 5)."""
BENCHMARK_QED = JudgingDesign(protocol="benchmark-qed", orders="alternate", repeats=1, trials=4)
"""A winner or a tie per criterion; the order alternates between trials, so their number must be even."""
DIFFERENTIAL = JudgingDesign(protocol="differential", repeats=1, trials=1)
"""Only statements that one answer makes and the other does not are judged."""
DESIGNS = {d.protocol: d for d in (UNBIASED, LIGHTRAG, FG_RAG, RAG_VS_GRAPHRAG, BENCHMARK_QED, DIFFERENTIAL)}
HUMAN_PROTOCOL = "people"
"""Ratings from the sheets of human raters."""


def judges_both_orders(protocol: str) -> bool:
    """Return whether every trial of a protocol shows two answers in both orders, so that only balanced sums count.

    Otherwise position bias cancels out over trials (`benchmark-qed`), over questions (`people`), or not at all
    (`lightrag`).
    """
    design = DESIGNS.get(protocol)
    return protocol != HUMAN_PROTOCOL and (design is None or design.orders == "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """Two answers to one question, to be judged."""

    question: str
    """Id of the question."""
    text: str
    """Text of the question."""
    a: str
    b: str
    answers: tuple[str, str]
    trial: int | None = None
    """The only trial that judges it; None: every trial."""

    def unscored(self, judge: str, protocol: str, *, trial: int, repeat: int, swapped: bool) -> Judgement:
        """Return a judgement of the pair without scores."""
        return Judgement(
            protocol=protocol,
            question=self.question,
            methods=(self.b, self.a) if swapped else (self.a, self.b),
            judge=judge,
            trial=trial,
            repeat=repeat,
        )


def judge_pairs(
    pairs: Sequence[AnswerPair],
    judge: PairJudge,
    design: JudgingDesign,
    *,
    run: ParallelMap,
    on_judgement: Callable[[Judgement], None] = lambda _: None,
    done: Iterable[Judgement] = (),
) -> list[Judgement]:
    """Judge every pair, `repeats` times in each order of each of `trials` rounds.

    Args:
        pairs: answers to judge.
        judge: gives the scores.
        design: orders, repeats and trials.
        run: applies a function to judgements, possibly in parallel (`Calls.map`).
        on_judgement: called with each judgement as soon as it exists, from any thread.
        done: judgements of an earlier run, which are not repeated.

    Returns:
        New judgements, by trial, pair, repeat, order. One without scores has a `problem`.
    """
    known = {one.key for one in done}
    wanted = [
        (pair, pair.unscored(judge.name, design.protocol, trial=trial, repeat=repeat, swapped=swapped))
        for trial in range(design.trials)
        for pair in pairs
        if pair.trial in (None, trial)
        for repeat in range(design.repeats)
        for swapped in design.orders_of(trial)
    ]

    def work(item: tuple[AnswerPair, Judgement]) -> Judgement:
        pair, unscored = item
        by_method = dict(zip((pair.a, pair.b), pair.answers, strict=True))
        first, second = (by_method[method] for method in unscored.methods)
        sample = unscored.trial * design.repeats + unscored.repeat
        return ask_judge(unscored, lambda: judge(pair.text, first, second, sample), on_judgement)

    return list(run(work, [item for item in wanted if item[1].key not in known]))
