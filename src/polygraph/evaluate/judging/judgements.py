"""Judgements of single replies, and their outcome per question: one record for every protocol."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Protocol, TypeVar

from polygraph.errors import UnusableReply
from polygraph.evaluate.statistics.agreement import Verdict
from polygraph.models.reply_cache import about_question
from polygraph.tasks.evaluation.judge import JudgeReply

S = TypeVar("S")
T = TypeVar("T")


class ParallelMap(Protocol):
    """Applies a function to items, possibly in parallel; `Calls.map` is one."""

    def __call__(self, work: Callable[[S], T], items: Sequence[S], /) -> Iterable[T]:
        """Return the results in the order of the items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One reply of one judge."""

    protocol: str
    question: str
    """Id of the question."""
    methods: tuple[str, ...]
    """In the order in which their answers were shown."""
    judge: str
    trial: int = 0
    repeat: int = 0
    """Number of the repeat of the same order within one trial."""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For each aspect one score per method, in the order of `methods`; higher is better."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """For each aspect why the judge gave these scores; "first" and "second" mean the order of `methods`."""
    problem: str = ""
    """Why there are no scores."""

    @property
    def key(self) -> tuple[str, str, tuple[str, ...], str, int, int]:
        """The fields that identify a judgement within a study."""
        return (self.protocol, self.question, self.methods, self.judge, self.trial, self.repeat)

    def __post_init__(self) -> None:
        """Check that every method has a score in every aspect."""
        for aspect, scores in self.scores.items():
            if len(scores) != len(self.methods):
                raise ValueError(
                    f"the aspect {aspect!r} needs one score for each of {len(self.methods)} methods"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Sum of the judgements of two answers to one question in one trial."""

    question: str
    a: str
    b: str
    trial: int
    totals: Mapping[str, tuple[float, float]]
    """For each aspect the summed scores of a and b."""
    n_judgements: int
    """Judgements in the sums; if balanced, as many in one order as in the other."""

    @property
    def total(self) -> tuple[float, float]:
        """Sums over the aspects."""
        return sum(a for a, _ in self.totals.values()), sum(b for _, b in self.totals.values())

    def verdict(self, aspect: str | None = None) -> Verdict:
        """Return the winner, over all aspects or in one. Sums are compared, so ties are exact."""
        a, b = self.total if aspect is None else self.totals[aspect]
        return "a" if a > b else "b" if a < b else "tie"

    @property
    def gap(self) -> float:
        """Mean score of a less that of b, per judgement and aspect: 1 is one point of the scale."""
        a, b = self.total
        return (a - b) / (self.n_judgements * len(self.totals)) if self.totals else 0.0


def judgements_by_pair(judgements: Iterable[Judgement]) -> dict[frozenset[str], list[Judgement]]:
    """Group judgements by the two methods that they compare; a listwise one belongs to several pairs."""
    found: dict[frozenset[str], list[Judgement]] = {}
    for one in judgements:
        for pair in combinations(dict.fromkeys(one.methods), 2):
            found.setdefault(frozenset(pair), []).append(one)
    return found


def outcomes(judgements: Iterable[Judgement], a: str, b: str, *, balanced: bool = True) -> list[Outcome]:
    """Sum the judgements of two methods per trial and question.

    Listwise judgements count as well; their order is which of the two methods is shown before the other.

    Args:
        judgements: of one protocol and one judge; those of other methods are ignored.
        a: one method.
        b: the other method.
        balanced: use equally many judgements in both orders, lowest repeats first, so that position bias cancels out.
            A question judged in one order only is left out.

    Returns:
        By trial, then in the order in which questions first appear.

    Raises:
        ValueError: if both methods are the same.
    """
    if a == b:
        raise ValueError(f"both methods are {a!r}")
    groups: dict[tuple[int, str], tuple[list[Judgement], list[Judgement]]] = {}
    for one in judgements:
        if a in one.methods and b in one.methods:
            group = groups.setdefault((one.trial, one.question), ([], []))
            if one.scores:
                group[one.methods.index(b) < one.methods.index(a)].append(one)
    found = []
    position = {question: i for i, question in enumerate(dict.fromkeys(q for _, q in groups))}
    for trial, question in sorted(groups, key=lambda key: (key[0], position[key[1]])):
        a_first, b_first = groups[trial, question]
        n = min(len(a_first), len(b_first)) if balanced else max(len(a_first), len(b_first))
        used = [v for order in (a_first, b_first) for v in sorted(order, key=lambda v: v.repeat)[:n]]
        if used:
            found.append(
                Outcome(
                    question=question,
                    a=a,
                    b=b,
                    trial=trial,
                    totals=_totals(used, a, b),
                    n_judgements=len(used),
                )
            )
    return found


def verdicts_by_order(judgements: Iterable[Judgement], a: str, b: str) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts with a shown first and those with b shown first, matched pair by pair.

    Two judgements match if question, judge, trial and repeat are the same; unmatched ones are left out. The result is
    meant for `agreement.order_consistency`.
    """
    matched: dict[tuple[str, str, int, int], dict[str, Verdict]] = {}
    for one in judgements:
        if len(one.methods) == 2 and set(one.methods) == {a, b} and one.scores:
            total = dict(zip(one.methods, map(sum, zip(*one.scores.values(), strict=True)), strict=True))
            verdict: Verdict = "a" if total[a] > total[b] else "b" if total[b] > total[a] else "tie"
            matched.setdefault((one.question, one.judge, one.trial, one.repeat), {})[one.methods[0]] = verdict
    both = [group for group in matched.values() if len(group) == 2]
    return [group[a] for group in both], [group[b] for group in both]


def ask_judge(
    unscored: Judgement,
    judge: Callable[[], JudgeReply],
    on_judgement: Callable[[Judgement], None],
) -> Judgement:
    """Get scores and reasons from a judge and report them at once; an unusable reply becomes a `problem`."""
    try:
        with about_question(unscored.question):
            reply = judge()
        found = replace(unscored, scores=reply.scores, reasons=reply.reasons)
    except UnusableReply as error:
        found = replace(unscored, problem=str(error))
    on_judgement(found)
    return found


def _totals(judgements: Sequence[Judgement], a: str, b: str) -> dict[str, tuple[float, float]]:
    aspects = list(dict.fromkeys(aspect for v in judgements for aspect in v.scores))
    found = {}
    for aspect in aspects:
        scored = [
            dict(zip(v.methods, v.scores[aspect], strict=True)) for v in judgements if aspect in v.scores
        ]
        found[aspect] = (sum(s[a] for s in scored), sum(s[b] for s in scored))
    return found
