"""Conclusions and notes of a study report in sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence

from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.pairwise import DESIGNS, HUMAN_PROTOCOL
from polygraph.evaluate.metrics.oracle import oracle
from polygraph.evaluate.reports.findings import MethodSummary, PairSummary
from polygraph.evaluate.reports.formatting import (
    confidence_percent,
    p_equation,
    rate_interval,
    signed_percent,
)
from polygraph.evaluate.statistics.intervals import Interval, few_questions_note
from polygraph.evaluate.statistics.multiple_testing import ALPHA
from polygraph.text.prose import count_noun

_DECISIONS = ("better", "equivalent", "undecided")
"""In the order of a report."""
_MIN_SHIFT = 0.05
"""Smallest change of a relative win rate by refusals that is mentioned."""
_MIN_WORDS = 2.0
"""Smallest mean difference in length that is mentioned: simulated judges with the length bias of arXiv:2506.06331 turn
2 words into 6 points of relative win rate (benchmarks/judges.py)."""
_MIN_POSITION_BIAS = 0.2


def pair_sentence(pair: PairSummary, a: MethodSummary, b: MethodSummary) -> str:
    """Say which of two methods is judged better, or that they are equivalent or undecided, and compare costs."""
    better, worse, rate = a, b, pair.relative
    if pair.differs and rate.mean < 0:
        # The rate of the better method is positive.
        better, worse, rate = b, a, Interval(-rate.mean, -rate.high, -rate.low)
    figures = _figures(rate, pair) + (", both corrected for all pairs" if pair.level < ALPHA else "")
    margin = f"{100 * pair.margin:.3g} points"
    if pair.differs:
        small = f"; the difference is within the margin of {margin}" if pair.within_margin else ""
        return (
            f"{better.method} is judged better than {worse.method} on {count_noun(pair.n, 'question')} "
            f"({figures}){small}{_cost_clause(better, worse)}."
        )
    cheap, expensive = sorted((a, b), key=lambda m: (m.tokens, m.method))
    if pair.decision == "equivalent":
        return (
            f"{a.method} and {b.method} are equivalent within {margin} on {count_noun(pair.n, 'question')} ({figures})"
            f"{_cost_clause(expensive, cheap)}."
        )
    more = f"; about {count_noun(pair.further, 'further question')} would decide" if pair.further else ""
    return (
        f"Undecided between {a.method} and {b.method} on {count_noun(pair.n, 'question')} ({figures}){more}."
    )


def control_sentence(pair: PairSummary, n_identical: int) -> str:
    """Say what the comparison of a method with itself shows.

    Args:
        pair: two instances of one method, without correction for other pairs.
        n_identical: questions on which both gave the same answer.
    """
    relative = pair.relative
    if n_identical >= pair.n:
        meaning = "all answers are identical, so the control proves nothing"
    elif relative.low <= 0 <= relative.high:
        meaning = "no difference is found, as it should be"
    else:
        meaning = "a difference is found where there is none, so differences of this size prove nothing"
    return (
        f"A/A control: two independent runs of {pair.a} were compared on {count_noun(pair.n, 'question')} "
        f"({_figures(relative, pair)}); {meaning}."
    )


def _figures(rate: Interval, pair: PairSummary) -> str:
    return (
        f"relative win rate {signed_percent(rate.mean)}%, {confidence_percent(pair.level)} interval "
        f"{signed_percent(rate.low)} to {signed_percent(rate.high)}%, {p_equation(pair.p)}"
    )


def study_conclusions(
    methods: Sequence[MethodSummary], pairs: Sequence[PairSummary], judgements: Sequence[Judgement]
) -> list[str]:
    """Return the conclusions: number of decisions, a recommendation, and one sentence per pair."""
    if not pairs and any(j.scores for j in judgements):
        return ["Only instances of one method were judged, so methods cannot be compared."]
    if not pairs and judgements:
        return [f"None of {len(judgements)} judgements was usable, so the methods cannot be compared."]
    if not pairs:
        return ["There are no judgements yet, so the methods cannot be compared."]
    ordered = sorted(pairs, key=lambda p: (_DECISIONS.index(p.decision), -abs(p.relative.mean), p.a, p.b))
    return [_first_sentence(pairs), *_advice(methods, pairs), *(p.sentence for p in ordered)]


def _first_sentence(pairs: Sequence[PairSummary]) -> str:
    margin = f"{100 * pairs[0].margin:.3g} points"
    if len(pairs) == 1:
        return {
            "better": "The comparison shows a significant difference.",
            "equivalent": f"The comparison shows that both methods are equivalent within {margin}.",
            "undecided": "The comparison shows neither a significant difference nor equivalence within "
            f"{margin}{_further_clause(pairs)}.",
        }[pairs[0].decision]
    n = Counter(p.decision for p in pairs)
    return (
        f"Of {len(pairs)} comparisons, {n['better']} {'shows' if n['better'] == 1 else 'show'} a significant "
        f"difference, {n['equivalent']} {'shows' if n['equivalent'] == 1 else 'show'} equivalence within {margin}, and "
        f"{n['undecided']} {'is' if n['undecided'] == 1 else 'are'} undecided{_further_clause(pairs)}."
    )


def _further_clause(pairs: Sequence[PairSummary]) -> str:
    needed = [p.further for p in pairs if p.further]
    if not needed:
        return ""
    if len(needed) == 1:
        return f"; about {count_noun(needed[0], 'further question')} would decide"
    low, high = min(needed), max(needed)
    about = count_noun(low, "further question") if low == high else f"{low:,} to {high:,} further questions"
    return f"; about {about} would decide"


def _advice(methods: Sequence[MethodSummary], pairs: Sequence[PairSummary]) -> list[str]:
    """Recommend the cheapest of equivalent methods, if one group of them beats or equals every other method."""
    by_pair = {frozenset((p.a, p.b)): p for p in pairs}

    def at_least_as_good(one: str, other: str) -> bool:
        pair = by_pair.get(frozenset((one, other)))
        return pair is not None and (pair.within_margin or (pair.differs and _loser(pair) == other))

    judged = [m for m in methods if any(m.method in pair for pair in by_pair)]
    best = [
        m
        for m in judged
        if all(at_least_as_good(m.method, other.method) for other in judged if other is not m)
    ]
    if not best:
        return ["No method can be recommended: comparisons with the leading methods are undecided."]
    if len(best) == 1:
        return [f"{best[0].method} is better than or equivalent to every other method."]
    cheapest = min(best, key=lambda m: (m.tokens, m.method))
    names = ", ".join(m.method for m in best)
    return [f"{cheapest.method} uses the fewest tokens of the equivalent methods {names}."]


def study_notes(
    protocol: str, pairs: Sequence[PairSummary], judgements: Sequence[Judgement], *, has_control: bool
) -> list[str]:
    """Return what limits the conclusions: protocol, control, unusable judgements, alignment, refusals, length, order.

    Args:
        protocol: of the judgements.
        pairs: of different methods.
        judgements: by the protocol.
        has_control: whether a method was compared with itself.
    """
    notes = []
    design = DESIGNS.get(protocol)
    if pairs and design is not None and design.orders == "first":
        notes.append(
            f"the protocol {protocol} shows answers in one order only, so position bias does not cancel out and none "
            "of these figures can be trusted"
        )
    if pairs and not has_control and protocol != HUMAN_PROTOCOL:
        notes.append(
            "no A/A control was run, so it is not known whether this protocol finds differences between equal methods. "
            "Run one by naming a method twice, as in -m hybrid,hybrid"
        )
    unusable = sum(bool(j.problem) for j in judgements)
    if unusable:
        notes.append(
            f"{unusable} of {len(judgements)} judgements were unusable; they were left out together with their "
            "counterparts in the other order"
        )
    discarded = sum(p.discarded for p in pairs)
    if discarded:
        total = sum(p.aligned for p in pairs)
        notes.append(
            f"{discarded} of {total} pairs of answers could not be aligned in length and were not judged"
        )
    if pairs and (few := few_questions_note(min(p.n for p in pairs))):
        notes.append(few)
    notes += _refusal_notes(pairs)
    notes += [note for note in map(_length_note, pairs) if note]
    biased = [p for p in pairs if (p.consistency.position_bias or 0) > _MIN_POSITION_BIAS]
    if biased:
        notes.append(
            f"the judge prefers the answer shown first in {len(biased)} of {len(pairs)} comparisons; both orders are "
            "judged, so the bias cancels out, but a less biased judge would give narrower intervals"
        )
    return notes


def oracle_sentence(correct: Mapping[str, Mapping[str, float]]) -> str:
    """Say what a perfect choice of the method for each question would gain; empty if nothing can be chosen.

    Args:
        correct: by method, 1 or 0 per question.
    """
    if len(correct) < 2 or not frozenset[str].intersection(*map(frozenset, correct.values())):
        return ""
    best = oracle(correct)
    return (
        f"An oracle that always picks the best method would answer {100 * best.mean:.0f}% of "
        f"{count_noun(best.n, 'question')} "
        f"correctly; {best.best} alone answers {100 * best.best_mean:.0f}%. No router over these methods can do "
        "better than the oracle."
    )


def _cost_clause(one: MethodSummary, other: MethodSummary) -> str:
    if one.tokens and other.tokens and one.tokens / other.tokens >= 1.2:
        return f"; {one.method} uses {_times(one.tokens / other.tokens)} as many tokens per question"
    if one.tokens and other.tokens and other.tokens / one.tokens >= 1.2:
        return f"; {other.method} uses {_times(other.tokens / one.tokens)} as many tokens per question"
    return ""


def _times(factor: float) -> str:
    return f"{factor:.1f} times" if factor < 10 else f"{factor:,.0f} times"


def _loser(pair: PairSummary) -> str:
    return pair.b if pair.relative.mean > 0 else pair.a


def _refusal_notes(pairs: Sequence[PairSummary]) -> list[str]:
    affected = [p for p in pairs if p.refused]
    if not affected:
        return []
    counted = (
        f"{sum(p.refused for p in affected)} of {sum(p.n for p in pairs)} pairs of answers contain a refusal and were "
        "judged as they are, without length alignment"
    )
    shifted = [
        f"{p.a} over {p.b} {rate_interval(rest)} instead of {signed_percent(p.relative.mean)}%"
        for p in affected
        if (rest := p.where_answered) is not None and abs(rest.mean - p.relative.mean) >= _MIN_SHIFT
    ]
    if not shifted:
        known = any(p.where_answered is not None for p in affected)
        return [
            f"{counted}; without them no relative win rate would change by 5 points" if known else counted
        ]
    return [f"{counted}; without them the relative win rate would be: {'; '.join(shifted)}"]


def _length_note(pair: PairSummary) -> str:
    """Return a warning if length may explain the result."""
    effect = pair.length
    if effect is None or abs(effect.words.mean) < _MIN_WORDS or effect.words.low <= 0 <= effect.words.high:
        return ""
    longer, shorter = (pair.a, pair.b) if effect.words.mean > 0 else (pair.b, pair.a)
    measured = (
        f"on average, the judged answers of {longer} are {abs(effect.words.mean):.0f} words longer than those of "
        f"{shorter}"
    )
    equal = effect.at_equal_length
    if effect.inside and equal is not None:
        return (
            f"{measured}; at equal length the relative win rate of {pair.a} over {pair.b} would be about "
            f"{rate_interval(equal)}"
        )
    return f"{measured}, and hardly ever shorter, so the effect of length cannot be separated"
