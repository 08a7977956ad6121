"""Conclusions of a retrieval report in sentences: the best method, and every other one compared with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.evaluate.reports.formatting import p_equation
from polygraph.evaluate.statistics.bootstrap import Interval
from polygraph.evaluate.statistics.compare import Comparison

_MAX_NEEDED = 10_000
"""Above this, the number of questions needed says only that the gap is negligible."""
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
) -> list[str]:
    """Name the best method, compare the others with it, and say what so few questions would have missed."""
    order = list(scores)
    best = max(order, key=lambda name: (scores[name].mean, -order.index(name)))
    top = scores[best]
    if len(order) == 1:
        return [f"{best}: {metric} {top.mean:.3f} [{top.low:.3f}, {top.high:.3f}]"]
    # If questions failed, a method may beat the best on the questions that both were measured on.
    others = [
        (c, c.worse if c.better == best else c.better) for c in comparisons if best in (c.better, c.worse)
    ]
    ranked = [c for c, _ in sorted(others, key=lambda pair: (-scores[pair[1]].mean, order.index(pair[1])))]
    n = max((c.n for c in ranked), default=0)
    tied = [name for name in order if scores[name].mean == top.mean]
    who = f"{best} has" if len(tied) == 1 else f"{', '.join(tied[:-1])} and {tied[-1]} have"
    on = f"{n:,} {'question' if n == 1 else 'questions'}"
    found = [f"{who} the highest {metric}: {top.mean:.3f} [{top.low:.3f}, {top.high:.3f}] on {on}"]
    found += [_comparison_sentence(metric, c, costs) for c in ranked]
    undecided = [c for c in ranked if not c.significant and c.detectable > 0]
    if undecided:
        found.append(_power_sentence(undecided[0]))
    return found


def _comparison_sentence(metric: str, c: Comparison, costs: Mapping[str, QuestionCost]) -> str:
    d = c.difference
    figures = f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}], {p_equation(c.p_holm)}"
    cost = _cost_clause(costs[c.better], costs[c.worse], c.better, c.worse)
    if c.significant:
        return f"{c.better} finds more than {c.worse}: {figures}{cost}"
    if not d.mean and c.ties == c.n:
        return f"{c.better} and {c.worse} have the same {metric} on every question{cost}"
    return f"no difference found between {c.better} and {c.worse}: {figures}{cost}"


def _power_sentence(c: Comparison) -> str:
    more = ""
    if c.needed is not None and c.needed > c.n:
        number = f"about {c.needed:,}" if c.needed <= _MAX_NEEDED else f"more than {_MAX_NEEDED:,}"
        more = f"; detecting the gap observed takes {number} questions"
    return (
        f"with {c.n} questions, a true gap below {c.detectable:.3f} between {c.better} and {c.worse} would be missed "
        f"more than one time in five{more}"
    )


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
