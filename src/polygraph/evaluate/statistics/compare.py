"""Methods against each other on the same questions, and what may be concluded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.bootstrap import (
    FLIPS,
    Interval,
    bootstrap_differences,
    detectable,
    holm,
    paired_randomisation,
    questions_needed,
)

ALPHA = 0.05
"""Chance of a false alarm among all comparisons of a report."""
_FLIPS_PER_PAIR = 200
"""Sign patterns for each pair of methods: the least p that they can give, times the number of pairs, is 0.005. With
fewer no difference between two of many methods could be told, however large."""
_MANY = 10_000
"""Beyond so many questions the number needed says only that the gap is next to nothing."""
_WORTH = 1.5
"""From so much on a difference in cost is mentioned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two methods on the questions that both were measured on; the better one first."""

    better: str
    """The one with the higher mean; of equals the one named first."""
    worse: str
    n: int
    difference: Interval
    """Mean of the paired differences, at least 0, with its 95 % interval."""
    p: float
    """Two-sided, by random signs."""
    p_holm: float
    """The same, adjusted for all pairs of the report."""
    wins: int
    """Questions on which the better one is ahead."""
    ties: int
    losses: int
    detectable: float
    """True difference that would be found with a power of 80 % on so many questions."""
    needed: int | None
    """Questions that would be needed to find the observed difference with that power; None if there is none."""

    @property
    def is_real(self) -> bool:
        """Whether chance is ruled out as far as `ALPHA` says."""
        return self.p_holm < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "better": self.better,
            "worse": self.worse,
            "n": self.n,
            "difference": self.difference.mean,
            "interval": [self.difference.low, self.difference.high],
            "p": self.p,
            "p_holm": self.p_holm,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "detectable": self.detectable,
            "questions_needed": self.needed,
            "difference_found": self.is_real,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What one question costs with a method."""

    money: float | None
    """US dollars; None if not known."""
    tokens: float
    ms: float | None
    """None where the time is that of a machine busy with other questions."""


def compare_all(values: Mapping[str, Mapping[str, float]], rng: np.random.Generator) -> list[Comparison]:
    """Compare every pair of methods, question by question.

    Holm's correction runs over all pairs, not only those with the best method: which one is best was found out on the
    same questions.

    Args:
        values: score by question id, by method.
        rng: source of resamples and signs.

    Returns:
        In the order of the pairs as the methods are named.
    """
    pairs: list[tuple[str, str, NDArray[np.float64]]] = []
    alike: dict[tuple[str, ...], list[int]] = {}
    for a, b in combinations(values, 2):
        shared = tuple(q for q in values[a] if q in values[b])
        if shared:
            alike.setdefault(shared, []).append(len(pairs))
            first = np.array([values[a][q] for q in shared])
            second = np.array([values[b][q] for q in shared])
            ahead = bool(first.mean() >= second.mean())
            pairs.append((a, b, first - second) if ahead else (b, a, second - first))
    # Pairs on the same questions, mostly all, share their signs and resamples.
    p_values, intervals = [1.0] * len(pairs), [Interval(0.0, 0.0, 0.0)] * len(pairs)
    for members in alike.values():
        matrix = np.column_stack([pairs[i][2] for i in members])
        tested = paired_randomisation(matrix, rng, flips=max(FLIPS, _FLIPS_PER_PAIR * len(pairs)))
        for i, p, interval in zip(members, tested, bootstrap_differences(matrix, rng), strict=True):
            p_values[i], intervals[i] = float(p), interval
    found = []
    for (better, worse, d), p, p_holm, interval in zip(
        pairs, p_values, holm(p_values), intervals, strict=True
    ):
        deviation = float(d.std(ddof=1)) if len(d) > 1 else 0.0
        gap = float(d.mean())
        found.append(
            Comparison(
                better=better,
                worse=worse,
                n=len(d),
                difference=interval,
                p=p,
                p_holm=p_holm,
                wins=int((d > 0).sum()),
                ties=int((d == 0).sum()),
                losses=int((d < 0).sum()),
                detectable=detectable(deviation, len(d)),
                needed=questions_needed(deviation, gap) if gap > 1e-12 and deviation else None,
            )
        )
    return found


def conclusions(
    metric: str,
    scores: Mapping[str, Interval],
    comparisons: Sequence[Comparison],
    costs: Mapping[str, Costs],
) -> list[str]:
    """Sentences about the best method and how each other one stands to it."""
    order = list(scores)
    best = max(order, key=lambda name: (scores[name].mean, -order.index(name)))
    top = scores[best]
    if len(order) == 1:
        return [f"{best}: {metric} {top.mean:.3f} [{top.low:.3f}, {top.high:.3f}]"]
    # Where questions failed, a method may be ahead of the best on those that both were measured on.
    others = [
        (c, c.worse if c.better == best else c.better) for c in comparisons if best in (c.better, c.worse)
    ]
    ranked = [c for c, _ in sorted(others, key=lambda pair: (-scores[pair[1]].mean, order.index(pair[1])))]
    n = max((c.n for c in ranked), default=0)
    equals = [name for name in order if scores[name].mean == top.mean]
    who = f"{best} has" if len(equals) == 1 else f"{', '.join(equals[:-1])} and {equals[-1]} have"
    on = f"{n:,} {'question' if n == 1 else 'questions'}"
    said = [f"{who} the highest {metric}: {top.mean:.3f} [{top.low:.3f}, {top.high:.3f}] on {on}"]
    said += [_sentence(metric, c, costs) for c in ranked]
    open_ones = [c for c in ranked if not c.is_real and c.detectable > 0]
    if open_ones:
        c = open_ones[0]
        more = ""
        if c.needed is not None and c.needed > c.n:
            number = f"about {c.needed:,}" if c.needed <= _MANY else f"more than {_MANY:,}"
            more = f"; to tell {c.better} from {c.worse} at the gap seen, {number} questions are needed"
        said.append(
            f"with {c.n} questions a true gap below {c.detectable:.3f} between {c.better} and {c.worse} is more likely "
            f"than one time in five to be missed{more}"
        )
    return said


def _sentence(metric: str, c: Comparison, costs: Mapping[str, Costs]) -> str:
    d = c.difference
    figures = f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}], p = {_p(c.p_holm)}"
    cost = _cost(costs[c.better], costs[c.worse], c.better, c.worse)
    if c.is_real:
        return f"{c.better} finds more than {c.worse}: {figures}{cost}"
    if not d.mean and c.ties == c.n:
        return f"{c.better} and {c.worse} have the same {metric} on every question{cost}"
    return f"no difference found between {c.better} and {c.worse}: {figures}{cost}"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "0.001 or less"


def _cost(better: Costs, worse: Costs, better_name: str, worse_name: str) -> str:
    """How much more or less the other method costs: by money, else by tokens, else by time."""
    if better.money is not None and worse.money is not None and (better.money or worse.money):
        return _ratio(
            better.money, worse.money, better_name, worse_name, "costs", "money", "${:.4f} a question"
        )
    if better.tokens or worse.tokens:
        return _ratio(
            better.tokens,
            worse.tokens,
            better_name,
            worse_name,
            "takes",
            "tokens",
            "{:,.0f} tokens a question",
        )
    if better.ms and worse.ms:
        return _ratio(better.ms, worse.ms, better_name, worse_name, "takes", "time", "{:,.0f} ms a question")
    return ""


def _ratio(a: float, b: float, a_name: str, b_name: str, verb: str, what: str, amount: str) -> str:
    if not a or not b:
        dear, cheap, value = (b_name, a_name, b) if b else (a_name, b_name, a)
        return f"; {dear} {verb} {amount.format(value)}, {cheap} nothing"
    ratio = max(a, b) / min(a, b)
    if ratio < _WORTH:
        return ""
    return f"; {b_name} {verb} {ratio:.1f}x {'less' if a > b else 'more'} {what}"
