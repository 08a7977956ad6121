"""Conclusions of a retrieval report in sentences: the best method, and every other one compared with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.evaluate.reports.formatting import p_equation
from polygraph.evaluate.statistics.compare import Comparison
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.text.prose import count_noun, join_list

_MAX_FURTHER = 10_000
"""A larger number of further questions is not given."""
_KINDS = ("better than", "equivalent to", "not shown to differ from", "worse than")
"""Standing of the best method towards another; if questions failed, it may be worse on those that both have."""
_MIN_RATIO = 1.5
"""Smallest ratio of costs that is mentioned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCost:
    """Mean cost of one question with a method."""

    money: float | None
    """US dollars; None if unknown."""
    tokens: float
    ms: float | None
    """None if other questions ran at the same time."""


def conclusions(
    metric: str,
    scores: Mapping[str, Interval],
    comparisons: Sequence[Comparison],
    costs: Mapping[str, QuestionCost],
    *,
    n_shared: int | None = None,
) -> list[str]:
    """Say whether the best method is better than the others, equivalent, or undecided; compare it with each.

    Args:
        metric: of comparison.
        scores: of all methods on the same questions, in the order of the report.
        comparisons: of every pair.
        costs: of each method.
        n_shared: number of the questions of `scores`, if some method failed on others; None if none did.
    """
    order = list(scores)
    best = max(order, key=lambda name: (scores[name].mean, -order.index(name)))
    top = scores[best]
    figures = f"{top.mean:.3f} [{top.low:.3f}, {top.high:.3f}]"
    if len(order) == 1:
        return [f"{best}: {metric} {figures}"]
    # If questions failed, a method may beat the best on more questions than all methods were measured on.
    ranked = sorted(
        (c for c in comparisons if best in (c.better, c.worse)),
        key=lambda c: (-scores[_other(c, best)].mean, order.index(_other(c, best))),
    )
    n = max((c.n for c in ranked), default=0) if n_shared is None else n_shared
    tied = [name for name in order if scores[name].mean == top.mean]
    who = f"{best} has" if len(tied) == 1 else f"{', '.join(tied[:-1])} and {tied[-1]} have"
    kinds = Counter(_kind(c, best) for c in ranked)
    others = count_noun(len(ranked), "other method")
    if len(kinds) == 1:
        standing = f"{next(iter(kinds))} the {others.removeprefix('1 ')}"
    else:
        standing = f"{join_list([f'{kind} {kinds[kind]}' for kind in _KINDS if kinds[kind]])} of {others}"
    on = count_noun(n, "question")
    if n_shared is not None:
        on = f"the {on} that every method could be measured on"
    found = [f"{who} the highest {metric}: {figures} on {on}; {best} is {standing}"]
    advice = _cheapest_sentence(best, ranked, costs)
    found += [advice] if advice else []
    found += [_comparison_sentence(c, costs, with_n=n_shared is not None) for c in ranked]
    return found


def _other(c: Comparison, best: str) -> str:
    return c.worse if c.better == best else c.better


def _kind(c: Comparison, best: str) -> str:
    if c.decision == "better":
        return _KINDS[0] if c.better == best else _KINDS[3]
    return _KINDS[1] if c.decision == "equivalent" else _KINDS[2]


def _cheapest_sentence(best: str, ranked: Sequence[Comparison], costs: Mapping[str, QuestionCost]) -> str:
    """Name the cheapest of the methods that are equivalent to the best; empty if there are none, or costs are equal."""
    equivalent = [best, *(_other(c, best) for c in ranked if c.within_margin)]
    if len(equivalent) == 1:
        return ""
    known = all(costs[name].money is not None for name in equivalent)
    amounts = {name: (costs[name].money or 0.0) if known else costs[name].tokens for name in equivalent}
    cheapest = min(equivalent, key=lambda name: amounts[name])
    if amounts[cheapest] == max(amounts.values()):
        return ""
    return f"{cheapest} is the cheapest of the equivalent methods {', '.join(equivalent)}"


def _comparison_sentence(c: Comparison, costs: Mapping[str, QuestionCost], *, with_n: bool) -> str:
    d = c.difference
    figures = f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}], {p_equation(c.p_holm)}"
    if c.p_holm > c.p:
        figures += " (both corrected for all pairs)"
    if with_n:
        figures += f", on {count_noun(c.n, 'question')}"
    cost = _cost_clause(costs[c.better], costs[c.worse], c.better, c.worse)
    if c.significant:
        return f"{c.better} finds more than {c.worse}: {figures}{cost}"
    if c.decision == "equivalent":
        return f"{c.better} and {c.worse} are equivalent within {c.margin:g}: {figures}{cost}"
    more = ""
    if c.further is not None:
        number = f"about {c.further:,}" if c.further <= _MAX_FURTHER else f"more than {_MAX_FURTHER:,}"
        more = f"; {number} further questions would decide"
    return f"undecided between {c.better} and {c.worse}: {figures}{more}"


def _cost_clause(better: QuestionCost, worse: QuestionCost, better_name: str, worse_name: str) -> str:
    """Compare costs by money if known, else by tokens, else by time."""
    if better.money is not None and worse.money is not None and (better.money or worse.money):
        amounts, words = (
            (better.money, worse.money),
            ("costs ${:.4f}", "costs {:.1f}x as much", "costs {:.1f}x less"),
        )
    elif better.tokens or worse.tokens:
        amounts = (better.tokens, worse.tokens)
        words = ("uses {:,.0f} tokens", "uses {:.1f}x as many tokens", "uses {:.1f}x fewer tokens")
    elif better.ms and worse.ms:
        amounts = (better.ms, worse.ms)
        words = ("takes {:,.0f} ms", "takes {:.1f}x as long", "takes {:.1f}x less time")
    else:
        return ""
    amount, more, less = words
    a, b = amounts
    if not a or not b:
        name, other, value = (worse_name, better_name, b) if b else (better_name, worse_name, a)
        return f"; {name} {amount.format(value)} per question, {other} nothing"
    ratio = max(a, b) / min(a, b)
    if ratio < _MIN_RATIO:
        return ""
    return f"; {worse_name} {(less if a > b else more).format(ratio)}"
