"""What a study shows: rates, intervals, tests, costs, and sentences that a person can act on."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.judging.judgements import Judgement, Outcome, by_order, outcomes, pairs_of
from polygraph.evaluate.judging.length_alignment import Aligned, count_words
from polygraph.evaluate.judging.pairwise import DESIGNS, in_both_orders
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.study_folder import StudyAnswer
from polygraph.evaluate.runs.study_steps import plain
from polygraph.evaluate.statistics.agreement import OrderConsistency, order_consistency
from polygraph.evaluate.statistics.bootstrap import Interval, bootstrap_differences, holm
from polygraph.evaluate.statistics.bradley_terry import Duel, Strength, bradley_terry
from polygraph.evaluate.statistics.length_bias import LengthEffect, length_effect
from polygraph.evaluate.statistics.paired_tests import PairedTest, Power, paired_test, power_of
from polygraph.evaluate.statistics.win_rates import Box, Rates, box, rates

ALPHA = 0.05
_TELLING_SHIFT = 0.05
"""Change of a relative win rate by questions that a method refused, from which it is told."""
_FEWEST = 10
"""Questions below which no rate of a part is told."""
_TELLING_WORDS = 2.0
"""Mean difference in length from which a note warns: simulated judges with the length bias of arXiv:2506.06331 turn 2
words into 6 points of relative win rate (benchmarks/judges.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFigures:
    """One method over all questions of a study."""

    method: str
    n: int
    refused: int
    words: float
    """Mean length of its answers as they came."""
    calls: float
    """Mean per question, those answered from the store included."""
    tokens: float
    """Mean per question, read and written, as if nothing had been in the store."""
    seconds_median: float
    seconds_p95: float
    cost: float | None
    """Mean per question in US dollars; None where a price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigures:
    """Two methods judged on the same questions."""

    a: str
    b: str
    n: int
    """Questions with a result."""
    discarded: int
    """Questions left out because their answers could not be brought to equal length."""
    unusable: int
    """Judgements without scores."""
    refused: int
    """Questions that one of the two refused to answer, or both; they are judged as they came, whatever their length."""
    where_answered: Interval | None
    """Relative win rate over the questions that neither refused; None if they are all, or too few (below 10)."""
    pooled: Rates
    """Over all questions and trials."""
    win_box: Box
    """Win rate of a, over trials."""
    relative_box: Box
    """Relative win rate, over trials: what is noise of the judge."""
    relative: Interval
    """Relative win rate with its interval over questions: what would differ with other questions."""
    gap: Interval
    """Mean difference of scores in points of the scale, with its interval over questions."""
    test: PairedTest
    """Of the mean difference of scores by question."""
    p: float
    """Of the test, after Holm's correction over all pairs."""
    by_aspect: Mapping[str, Rates]
    by_type: Mapping[str, tuple[Rates, Interval]]
    consistency: OrderConsistency
    power: Power | None
    """None where no question differs."""
    length: LengthEffect | None
    """How far results follow what is left of the difference in length; None with fewer than ten questions, or where
    all answers are of equal length."""
    sentence: str

    @property
    def differs(self) -> bool:
        """Whether a difference was found."""
        return self.p < ALPHA and (self.relative.low > 0 or self.relative.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a study shows."""

    methods: tuple[MethodFigures, ...]
    pairs: tuple[PairFigures, ...]
    ranking: tuple[Strength, ...]
    """Strongest first; empty with fewer than two judged methods."""
    conclusions: tuple[str, ...]
    notes: tuple[str, ...]


def find(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    aligned: Sequence[Aligned],
    judgements: Sequence[Judgement],
    *,
    protocol: str = "unbiased",
    judge: str = "",
    seed: int = 0,
) -> Findings:
    """Sum a study up.

    Args:
        questions: of the study.
        answers: of all methods.
        aligned: pairs of answers of equal length, if it is those that were judged; else none.
        judgements: by any protocols.
        protocol: whose judgements count.
        judge: whose judgements count; default: all judges, each as further repeats of the others.
        seed: of the intervals.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    methods = [_figures(name, rows) for name, rows in _by_method(answers).items()]
    used = _renumbered([j for j in judgements if j.protocol == protocol and judge in ("", j.judge)])
    kinds = {q.id: q.type for q in questions}
    drafts = []
    for a, b in pairs_of([m.method for m in methods]):
        found = outcomes(used, a, b, balanced=in_both_orders(protocol))
        if found:
            drafts.append((a, b, found))
    adjusted = holm([_test(found).p for _, _, found in drafts])
    cost = {m.method: m for m in methods}
    longer = _longer(answers, aligned)
    refused = {a.key for a in answers if a.refused}
    pairs = [
        _pair(a, b, found, p, kinds, aligned, used, cost, longer, refused, seed)
        for (a, b, found), p in zip(drafts, adjusted, strict=True)
    ]
    ranking = _ranking(drafts, seed) if len(methods) > 1 and drafts else []
    return Findings(
        methods=tuple(methods),
        pairs=tuple(pairs),
        ranking=tuple(ranking),
        conclusions=tuple(_conclusions(methods, pairs, used)),
        notes=(*_order_note(protocol, pairs), *_notes(pairs, used)),
    )


# --- methods ------------------------------------------------------------------------------------------


def _by_method(answers: Iterable[StudyAnswer]) -> dict[str, list[StudyAnswer]]:
    found: dict[str, list[StudyAnswer]] = {}
    for answer in answers:
        found.setdefault(answer.method, []).append(answer)
    return {name: found[name] for name in sorted(found)}


def _figures(method: str, answers: Sequence[StudyAnswer]) -> MethodFigures:
    def each(name: str) -> list[float]:
        values = [a.usage.get(name) for a in answers]
        return [float(v) for v in values if isinstance(v, int | float)] or [0.0]

    costs = [a.usage.get("cost") for a in answers]
    calls = [x + y for x, y in zip(each("calls"), each("cached_calls"), strict=False)]
    kinds = (each("prompt_tokens"), each("completion_tokens"), each("cached_tokens"))
    tokens = [sum(parts) for parts in zip(*kinds, strict=False)]
    return MethodFigures(
        method=method,
        n=len(answers),
        refused=sum(a.refused for a in answers),
        words=fmean(count_words(plain(a.text)) for a in answers),
        calls=fmean(calls),
        tokens=fmean(tokens),
        seconds_median=median(each("seconds")),
        seconds_p95=float(np.quantile(each("seconds"), 0.95)),
        cost=None if any(c is None for c in costs) else fmean(each("cost")),
    )


# --- pairs --------------------------------------------------------------------------------------------


def _renumbered(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Judgements of several judges as repeats of one: the repeats of the second follow those of the first."""
    judges = sorted({j.judge for j in judgements})
    if len(judges) < 2:
        return list(judgements)
    step = 1 + max((j.repeat for j in judgements), default=0)
    place = {name: i for i, name in enumerate(judges)}
    return [replace(j, repeat=j.repeat + step * place[j.judge]) for j in judgements]


def _gaps(found: Sequence[Outcome]) -> dict[str, float]:
    """Mean difference of scores by question, over trials."""
    rows: dict[str, list[float]] = {}
    for outcome in found:
        rows.setdefault(outcome.question, []).append(outcome.gap)
    return {question: fmean(values) for question, values in rows.items()}


def _signs(found: Sequence[Outcome]) -> dict[str, float]:
    """Wins less losses by question, as a share of its trials."""
    worth = {"a": 1.0, "tie": 0.0, "b": -1.0}
    rows: dict[str, list[float]] = {}
    for outcome in found:
        rows.setdefault(outcome.question, []).append(worth[outcome.result()])
    return {question: fmean(values) for question, values in rows.items()}


def _test(found: Sequence[Outcome]) -> PairedTest:
    gaps = list(_gaps(found).values())
    return paired_test(gaps, [0.0] * len(gaps))


def _pair(
    a: str,
    b: str,
    found: Sequence[Outcome],
    p: float,
    kinds: Mapping[str, str],
    aligned: Sequence[Aligned],
    judgements: Sequence[Judgement],
    cost: Mapping[str, MethodFigures],
    longer: Mapping[tuple[str, str, str], int],
    refused: Collection[tuple[str, str]],
    seed: int,
) -> PairFigures:
    signs, gaps = _signs(found), _gaps(found)
    # Where one refuses, what was judged is not whose answer is longer: these questions say nothing of length.
    answered = {q: s for q, s in signs.items() if (q, a) not in refused and (q, b) not in refused}
    values = np.asarray(list(signs.values()))
    by_trial: dict[int, list[Outcome]] = {}
    for outcome in found:
        by_trial.setdefault(outcome.trial, []).append(outcome)
    trials = [rates([o.result() for o in rows]) for _, rows in sorted(by_trial.items())]
    mine = [j for j in judgements if set(j.methods) == {a, b}]
    relative = _interval(values, seed)
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    made = PairFigures(
        a=a,
        b=b,
        n=len(signs),
        discarded=sum({q.a, q.b} == {a, b} and q.how == "discarded" for q in aligned),
        unusable=sum(bool(j.problem) for j in mine),
        refused=len(signs) - len(answered),
        where_answered=_interval(np.asarray(list(answered.values())), seed)
        if _FEWEST <= len(answered) < len(signs)
        else None,
        pooled=rates([o.result() for o in found]),
        win_box=box([t.win for t in trials]),
        relative_box=box([t.relative for t in trials]),
        relative=relative,
        gap=_interval(np.asarray(list(gaps.values())), seed),
        test=_test(found),
        p=p,
        by_aspect={
            aspect: rates([o.result(aspect) for o in found if aspect in o.totals])
            for aspect in dict.fromkeys(x for o in found for x in o.totals)
        },
        by_type=_by_type(found, signs, kinds, seed),
        consistency=order_consistency(*by_order(mine, a, b)),
        power=power_of(deviation, len(values)) if deviation > 0 and len(values) > 1 else None,
        length=length_effect(
            [s for q, s in answered.items() if (q, a, b) in longer],
            [longer[q, a, b] for q in answered if (q, a, b) in longer],
            np.random.default_rng(seed),
        ),
        sentence="",
    )
    return replace(made, sentence=_sentence(made, cost[a], cost[b]))


def _longer(answers: Sequence[StudyAnswer], aligned: Sequence[Aligned]) -> dict[tuple[str, str, str], int]:
    """Words of the first method's answer less those of the second's as they were judged, by question and pair."""
    found: dict[tuple[str, str, str], int] = {}
    if aligned:
        for p in aligned:
            found[p.question, p.a, p.b] = p.words[0] - p.words[1]
            found[p.question, p.b, p.a] = p.words[1] - p.words[0]
        return found
    words = {a.key: count_words(plain(a.text)) for a in answers}
    methods = list(dict.fromkeys(method for _, method in words))
    for question in dict.fromkeys(question for question, _ in words):
        mine = [m for m in methods if (question, m) in words]
        for a in mine:
            for b in mine:
                if a != b:
                    found[question, a, b] = words[question, a] - words[question, b]
    return found


def _interval(values: NDArray[np.float64], seed: int) -> Interval:
    return bootstrap_differences(values[:, None], np.random.default_rng(seed))[0]


def _by_type(
    found: Sequence[Outcome], signs: Mapping[str, float], kinds: Mapping[str, str], seed: int
) -> dict[str, tuple[Rates, Interval]]:
    result = {}
    for kind in dict.fromkeys(kinds.get(q, "") for q in signs):
        rows = [o for o in found if kinds.get(o.question, "") == kind]
        values = np.asarray([v for q, v in signs.items() if kinds.get(q, "") == kind])
        interval = _interval(values, seed)
        result[kind] = (rates([o.result() for o in rows]), interval)
    return result


def _ranking(drafts: Sequence[tuple[str, str, Sequence[Outcome]]], seed: int) -> list[Strength]:
    duels = [
        Duel(question=question, a=a, b=b, score=(1 + sign) / 2)
        for a, b, found in drafts
        for question, sign in _signs(found).items()
    ]
    try:
        return bradley_terry(duels, np.random.default_rng(seed))
    except ValueError:
        return []  # methods that were never compared, not even by a third


# --- sentences ----------------------------------------------------------------------------------------


def _sentence(pair: PairFigures, a: MethodFigures, b: MethodFigures) -> str:
    low, mean, high = pair.relative.low, pair.relative.mean, pair.relative.high
    better, worse = (a, b)
    if pair.differs and mean < 0:
        # Told of the better one, the rate is above 0.
        better, worse, low, mean, high = b, a, -high, -mean, -low
    figures = (
        f"relative win rate {100 * mean:+.0f} %, 95 % interval {100 * low:+.0f} to {100 * high:+.0f} %, "
        f"{pair.n} questions"
    )
    if pair.differs:
        p = "p < 0.001" if pair.p < 0.001 else f"p = {pair.p:.3f}"
        return (
            f"{better.method} is judged better than {worse.method} ({figures}, {p}){_price(better, worse)}."
        )
    cheap, dear = sorted((a, b), key=lambda m: (m.tokens, m.method))
    hint = f"; {pair.power.sentence}" if pair.power else ""
    return f"No difference found between {a.method} and {b.method} ({figures}{hint}){_price(dear, cheap)}."


def _price(one: MethodFigures, other: MethodFigures) -> str:
    if one.tokens and other.tokens and one.tokens / other.tokens >= 1.2:
        return (
            f"; {one.method} reads and writes {_times(one.tokens / other.tokens)} as many tokens per question"
        )
    if one.tokens and other.tokens and other.tokens / one.tokens >= 1.2:
        return f"; {one.method} also needs {_times(other.tokens / one.tokens)} fewer tokens per question"
    return ""


def _times(factor: float) -> str:
    return f"{factor:.1f} times" if factor < 10 else f"{factor:,.0f} times"


def _conclusions(
    methods: Sequence[MethodFigures], pairs: Sequence[PairFigures], judgements: Sequence[Judgement]
) -> list[str]:
    if not pairs and judgements:
        return [
            f"None of {len(judgements)} judgements could be used, so nothing can be said of which method is better."
        ]
    if not pairs:
        return ["Nothing was judged yet, so nothing can be said of which method is better."]
    found = [p for p in pairs if p.differs]
    some = f"{len(found)} of {len(pairs)} comparisons" if found else f"None of {len(pairs)} comparisons"
    first = f"{some} {'show' if len(found) > 1 else 'shows'} a difference that these questions can tell from noise."
    unbeaten = [
        m
        for m in methods
        if not any(m.method in (p.a, p.b) and p.differs and _loser(p) == m.method for p in pairs)
    ]
    cheapest = min(unbeaten, key=lambda m: (m.tokens, m.method))
    advice = f"Of the methods that no other is judged better than, {cheapest.method} is the cheapest."
    ordered = sorted(pairs, key=lambda p: (not p.differs, -abs(p.relative.mean), p.a, p.b))
    return [first, advice, *(p.sentence for p in ordered)]


def _loser(pair: PairFigures) -> str:
    return pair.b if pair.relative.mean > 0 else pair.a


def _order_note(protocol: str, pairs: Sequence[PairFigures]) -> list[str]:
    design = DESIGNS.get(protocol)
    if not pairs or design is None or design.orders != "first":
        return []
    return [
        f"the protocol {protocol} shows one order only: whatever stands in front has the judge's preference for that "
        "place, and none of these figures can be trusted"
    ]


def _notes(pairs: Sequence[PairFigures], judgements: Sequence[Judgement]) -> list[str]:
    notes = []
    unusable = sum(bool(j.problem) for j in judgements)
    if unusable:
        notes.append(
            f"{unusable} of {len(judgements)} judgements were unusable and left out, with their counterparts"
        )
    lost = sum(p.discarded for p in pairs)
    if lost:
        total = lost + sum(p.n for p in pairs)
        notes.append(
            f"{lost} of {total} pairs of answers could not be brought to equal length and were not judged"
        )
    notes += _refusal_notes(pairs)
    notes += [note for note in map(_length_note, pairs) if note]
    swayed = [p for p in pairs if (p.consistency.position_bias or 0) > 0.2]
    if swayed:
        notes.append(
            f"the judge prefers the answer in front in {len(swayed)} of {len(pairs)} comparisons; both orders are "
            "judged, so that this cancels out, but a steadier judge would tell more"
        )
    return notes


def _refusal_notes(pairs: Sequence[PairFigures]) -> list[str]:
    """What refusals do to the comparisons."""
    some = [p for p in pairs if p.refused]
    if not some:
        return []
    told = (
        f"{sum(p.refused for p in some)} of {sum(p.n for p in pairs)} pairs of answers hold a refusal, and were "
        "judged as they came, not lengthened"
    )
    moved = [
        f"{p.a} over {p.b} {100 * rest.mean:+.0f} % [{100 * rest.low:+.0f}, {100 * rest.high:+.0f}] instead of "
        f"{100 * p.relative.mean:+.0f} %"
        for p in some
        if (rest := p.where_answered) is not None and abs(rest.mean - p.relative.mean) >= _TELLING_SHIFT
    ]
    if not moved:
        known = [p for p in some if p.where_answered is not None]
        return [f"{told}; without them no relative win rate would differ by 5 points" if known else told]
    return [f"{told}; without them the relative win rate would be: {'; '.join(moved)}"]


def _length_note(pair: PairFigures) -> str:
    """A warning where results may be due to length."""
    found = pair.length
    if found is None or abs(found.words.mean) < _TELLING_WORDS or found.words.low <= 0 <= found.words.high:
        return ""
    one, other = (pair.a, pair.b) if found.words.mean > 0 else (pair.b, pair.a)
    told = f"answers of {one} were judged {abs(found.words.mean):.0f} words longer than those of {other} on the average"
    line = found.at_equal_length
    if found.inside and line is not None:
        return (
            f"{told}; at equal length the relative win rate of {pair.a} over {pair.b} would be about "
            f"{100 * line.mean:+.0f} % [{100 * line.low:+.0f}, {100 * line.high:+.0f}]"
        )
    return f"{told}, and hardly ever as long or shorter: how much of the result is length cannot be told"
