"""What judges said, and what it adds up to for a question: one record for every protocol."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polygraph.errors import UnusableReply
from polygraph.evaluate.statistics.agreement import Verdict
from polygraph.records import Json


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
    """Of the same order within one trial."""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For each aspect one score per method, in the order of `methods`; higher is better."""
    problem: str = ""
    """Why there are no scores."""

    @property
    def key(self) -> tuple[str, str, tuple[str, ...], str, int, int]:
        """What makes it one of a kind in a study."""
        return (self.protocol, self.question, self.methods, self.judge, self.trial, self.repeat)

    def as_json(self) -> dict[str, Json]:
        """For a line of ``judgements.jsonl``."""
        return {
            "protocol": self.protocol,
            "question": self.question,
            "methods": list(self.methods),
            "judge": self.judge,
            "trial": self.trial,
            "repeat": self.repeat,
            "scores": {aspect: list(scores) for aspect, scores in self.scores.items()},
            "problem": self.problem,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Json]) -> "Judgement":
        """Read what `as_json` wrote.

        Raises:
            ValueError: if a field is missing or not what it must be.
        """
        methods, scores = row.get("methods"), row.get("scores")
        if not isinstance(methods, list) or not isinstance(scores, dict):
            raise ValueError("a judgement needs `methods` and `scores`")
        read: dict[str, tuple[float, ...]] = {}
        for aspect, values in scores.items():
            if not isinstance(values, list) or len(values) != len(methods):
                raise ValueError(f"the aspect {aspect!r} needs one score for each of {len(methods)} methods")
            read[aspect] = tuple(_number(value) for value in values)
        return cls(
            protocol=str(row.get("protocol", "")),
            question=str(row.get("question", "")),
            methods=tuple(str(m) for m in methods),
            judge=str(row.get("judge", "")),
            trial=int(_number(row.get("trial", 0))),
            repeat=int(_number(row.get("repeat", 0))),
            scores=read,
            problem=str(row.get("problem", "")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the judgements on one pair of answers add up to, in one trial."""

    question: str
    a: str
    b: str
    trial: int
    totals: Mapping[str, tuple[float, float]]
    """Sum of the scores of a and b for each aspect, over a balanced set of judgements."""
    n_judgements: int
    """Judgements in the sums: as many in one order as in the other."""

    @property
    def total(self) -> tuple[float, float]:
        """Sum over the aspects."""
        return sum(a for a, _ in self.totals.values()), sum(b for _, b in self.totals.values())

    def result(self, aspect: str | None = None) -> Verdict:
        """Who wins, over all aspects or in one. Sums are compared, so that ties are exact."""
        a, b = self.total if aspect is None else self.totals[aspect]
        return "a" if a > b else "b" if a < b else "tie"

    @property
    def gap(self) -> float:
        """Mean score of a less that of b, per judgement and aspect, so that 1 is one point of the scale."""
        a, b = self.total
        return (a - b) / (self.n_judgements * len(self.totals)) if self.totals else 0.0


def outcomes(judgements: Iterable[Judgement], a: str, b: str, *, balanced: bool = True) -> list[Outcome]:
    """Add up the judgements of two methods, by trial, then in the order in which questions first appear.

    Judgements of lists count as well: for them the order is which of the two stands before the other.

    Args:
        judgements: of one protocol and one judge; those on other methods are passed over.
        a: one method.
        b: the other; the same name would have no meaning.
        balanced: use only as many judgements in one order as there are in the other, the lowest repeats first, so
            that a preference for a position cancels out. A question with judgements in one order only is left out.

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
    places = {question: i for i, question in enumerate(dict.fromkeys(q for _, q in groups))}
    for trial, question in sorted(groups, key=lambda key: (key[0], places[key[1]])):
        forth, back = groups[trial, question]
        n = min(len(forth), len(back)) if balanced else max(len(forth), len(back))
        used = [v for side in (forth, back) for v in sorted(side, key=lambda v: v.repeat)[:n]]
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


def by_order(judgements: Iterable[Judgement], a: str, b: str) -> tuple[list[Verdict], list[Verdict]]:
    """Results with a shown first and with b shown first, of the same question, judge, trial and repeat.

    For `agreement.order_consistency`; a judgement without its counterpart is left out.
    """
    seen: dict[tuple[str, str, int, int], dict[str, Verdict]] = {}
    for one in judgements:
        if len(one.methods) == 2 and set(one.methods) == {a, b} and one.scores:
            total = dict(zip(one.methods, map(sum, zip(*one.scores.values(), strict=True)), strict=True))
            result: Verdict = "a" if total[a] > total[b] else "b" if total[b] > total[a] else "tie"
            seen.setdefault((one.question, one.judge, one.trial, one.repeat), {})[one.methods[0]] = result
    both = [group for group in seen.values() if len(group) == 2]
    return [group[a] for group in both], [group[b] for group in both]


def judged(
    empty: Judgement, judge: Callable[[], Mapping[str, tuple[float, ...]]], keep: Callable[[Judgement], None]
) -> Judgement:
    """Ask a judge for the scores of a judgement, and hand it on at once; one without scores says why."""
    try:
        found = replace(empty, scores=judge())
    except UnusableReply as error:
        found = replace(empty, problem=str(error))
    keep(found)
    return found


def pairs_of(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Every pair of methods, each once, in the order given.

    >>> pairs_of(["a", "b", "c"])
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    return [(a, b) for i, a in enumerate(methods) for b in methods[i + 1 :]]


def _totals(judgements: Sequence[Judgement], a: str, b: str) -> dict[str, tuple[float, float]]:
    aspects = list(dict.fromkeys(aspect for v in judgements for aspect in v.scores))
    found = {}
    for aspect in aspects:
        scored = [
            dict(zip(v.methods, v.scores[aspect], strict=True)) for v in judgements if aspect in v.scores
        ]
        found[aspect] = (sum(s[a] for s in scored), sum(s[b] for s in scored))
    return found


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
