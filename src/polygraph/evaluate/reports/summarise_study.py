"""Summarise the answers and judgements of a study: rates, intervals, tests, ranking, costs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from polygraph.evaluate.judging.judgements import (
    Judgement,
    Outcome,
    judgements_by_pair,
    outcomes,
    verdicts_by_order,
)
from polygraph.evaluate.judging.length_alignment import AlignedPair, count_words
from polygraph.evaluate.judging.pairwise import judges_both_orders
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer, instance_of, method_of
from polygraph.evaluate.reports.findings import Findings, MethodSummary, PairSummary
from polygraph.evaluate.reports.study_conclusions import (
    control_sentence,
    pair_sentence,
    study_conclusions,
    study_notes,
)
from polygraph.evaluate.reports.study_provenance import provenance_notes, study_provenance
from polygraph.evaluate.statistics.agreement import order_consistency
from polygraph.evaluate.statistics.bradley_terry import Duel, Strength, bradley_terry
from polygraph.evaluate.statistics.decide import MARGIN, decide, further_questions
from polygraph.evaluate.statistics.intervals import Interval, PairedMean, paired_means
from polygraph.evaluate.statistics.length_bias import length_effect
from polygraph.evaluate.statistics.multiple_testing import ALPHA, holm, holm_levels
from polygraph.evaluate.statistics.power import power_analysis
from polygraph.evaluate.statistics.randomisation import FLIPS, FLIPS_PER_PAIR
from polygraph.evaluate.statistics.win_rates import WinRates, box_statistics, win_rates
from polygraph.records import Usage
from polygraph.tasks.evaluation.judge import HIGHEST

K = TypeVar("K")

_MIN_QUESTIONS = 10
"""Fewer questions give no relative win rate of a subset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StudyData:
    """What the summaries of all pairs share."""

    types: Mapping[str, str]
    """Type by question."""
    aligned: Sequence[AlignedPair]
    judgements: Mapping[frozenset[str], Sequence[Judgement]]
    """By pair of methods."""
    lengths: Mapping[tuple[str, str, str], float]
    """Words of the first method's answer less those of the second's, by question and pair; means over trials."""
    refused: Collection[tuple[str, str]]
    """Question and method of each refusal."""
    margin: float
    seed: int


def summarise_study(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    aligned: Sequence[AlignedPair],
    judgements: Sequence[Judgement],
    *,
    protocol: str = "unbiased",
    seed: int = 0,
    margin: float = MARGIN,
    new_answers: bool = False,
) -> Findings:
    """Summarise a study. Further instances of a method count only as controls, not as methods.

    Args:
        questions: of the study.
        answers: of all methods.
        aligned: the aligned pairs, if they were what was judged; otherwise none.
        judgements: by any protocols; those of several judges are pooled as further repeats.
        protocol: use judgements by this protocol.
        seed: of the intervals.
        margin: of equivalence, as a relative win rate.
        new_answers: whether each trial judged answers of its own.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    by_method = _by_method(answers)
    methods = [_summarise_method(name, rows) for name, rows in by_method.items() if instance_of(name) == 1]
    used = _pool_judges([j for j in judgements if j.protocol == protocol])
    of_pair = judgements_by_pair(used)
    balanced = judges_both_orders(protocol)
    found = {
        (a, b): pair_outcomes
        for a, b in combinations([m.method for m in methods], 2)
        if (pair_outcomes := outcomes(of_pair.get(frozenset((a, b)), ()), a, b, balanced=balanced))
    }
    flips = max(FLIPS, FLIPS_PER_PAIR * len(found))
    paired = [_paired(_mean_signs(pair_outcomes), seed, flips) for pair_outcomes in found.values()]
    p_values = [each.p for each in paired]
    adjusted = zip(paired, holm(p_values), holm_levels(p_values), strict=True)
    data = _StudyData(
        types={q.id: q.type for q in questions},
        aligned=aligned,
        judgements=of_pair,
        lengths=_length_differences(answers, aligned),
        refused={a.key for a in answers if a.refused},
        margin=margin,
        seed=seed,
    )
    by_name = {m.method: m for m in methods}
    pairs = []
    for ((a, b), pair_outcomes), (relative, p, level) in zip(found.items(), adjusted, strict=True):
        summary = _summarise_pair(a, b, pair_outcomes, relative, data)
        interval = relative.interval(level)
        decision = decide(interval, margin)
        further = further_questions(relative, margin, alpha=level) if decision == "undecided" else None
        summary = replace(summary, relative=interval, p=p, decision=decision, further=further, level=level)
        pairs.append(replace(summary, sentence=pair_sentence(summary, by_name[a], by_name[b])))
    instances = [name for name in by_method if instance_of(name) > 1]
    controls = _summarise_controls(instances, answers, balanced, data)
    notes = [
        *study_notes(protocol, pairs, used, has_control=bool(controls)),
        *provenance_notes(
            questions, answers, study_provenance(answers, used), protocol=protocol, new_answers=new_answers
        ),
    ]
    return Findings(
        methods=tuple(methods),
        pairs=tuple(pairs),
        ranking=tuple(_rank(found, seed)),
        conclusions=tuple(study_conclusions(methods, pairs, used)),
        notes=tuple(notes),
        controls=tuple(controls),
    )


# --- methods ------------------------------------------------------------------------------------------


def _by_method(answers: Iterable[StudyAnswer]) -> dict[str, list[StudyAnswer]]:
    found: dict[str, list[StudyAnswer]] = {}
    for answer in answers:
        found.setdefault(answer.method, []).append(answer)
    return {name: found[name] for name in sorted(found)}


def _summarise_method(method: str, answers: Sequence[StudyAnswer]) -> MethodSummary:
    used = [a.usage for a in answers if a.usage is not None] or [Usage()]
    costs = [a.usage.cost if a.usage is not None else None for a in answers]
    known = [cost for cost in costs if cost is not None]
    seconds = [u.seconds for u in used]
    return MethodSummary(
        method=method,
        n=len(answers),
        refused=sum(a.refused for a in answers),
        words=fmean(count_words(a.uncited_text) for a in answers),
        calls=fmean(u.calls + u.cached_calls for u in used),
        tokens=fmean(u.prompt_tokens + u.completion_tokens + u.cached_tokens for u in used),
        seconds_median=median(seconds),
        seconds_p95=float(np.quantile(seconds, 0.95)),
        cost=fmean(known) if len(known) == len(costs) else None,
    )


# --- pairs --------------------------------------------------------------------------------------------


def _pool_judges(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Renumber the judgements of several judges as repeats of one: those of the second follow those of the first."""
    judges = sorted({j.judge for j in judgements})
    if len(judges) < 2:
        return list(judgements)
    step = 1 + max((j.repeat for j in judgements), default=0)
    position = {name: i for i, name in enumerate(judges)}
    return [replace(j, repeat=j.repeat + step * position[j.judge]) for j in judgements]


def _summarise_controls(
    instances: Sequence[str], answers: Sequence[StudyAnswer], balanced: bool, data: _StudyData
) -> list[PairSummary]:
    """Summarise each further instance of a method against the first."""
    texts = {(*a.key, a.trial): a.text for a in answers}
    found = []
    for name in instances:
        method = method_of(name)
        judged_pairs = data.judgements.get(frozenset((method, name)), ())
        pair_outcomes = outcomes(judged_pairs, method, name, balanced=balanced)
        if pair_outcomes:
            relative = _paired(_mean_signs(pair_outcomes), data.seed)
            summary = _summarise_pair(method, name, pair_outcomes, relative, data)
            judged = {o.question for o in pair_outcomes}
            n_identical = sum(
                text == texts.get((question, method, trial))
                for (question, other, trial), text in texts.items()
                if other == name and trial == 0 and question in judged
            )
            decision = decide(summary.relative, data.margin)
            sentence = control_sentence(summary, n_identical)
            found.append(replace(summary, decision=decision, sentence=sentence))
    return found


def _means(values: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Return the mean of the values of each key, in the order of the keys."""
    rows: dict[K, list[float]] = {}
    for key, value in values:
        rows.setdefault(key, []).append(value)
    return {key: fmean(some) for key, some in rows.items()}


def _mean_signs(found: Sequence[Outcome]) -> dict[str, float]:
    """Return wins less losses per question, as a share of its trials."""
    sign = {"a": 1.0, "tie": 0.0, "b": -1.0}
    return _means((outcome.question, sign[outcome.verdict()]) for outcome in found)


def _summarise_pair(
    a: str, b: str, found: Sequence[Outcome], relative: PairedMean, data: _StudyData
) -> PairSummary:
    """Summarise two methods, without correction for other pairs; the sentence is empty."""
    signs, gaps = _mean_signs(found), _means((outcome.question, outcome.gap) for outcome in found)
    # Questions with a refusal say nothing about the effect of length.
    answered = {q: s for q, s in signs.items() if (q, a) not in data.refused and (q, b) not in data.refused}
    values = np.asarray(list(signs.values()))
    gap = _paired(gaps, data.seed, bound=max(float(HIGHEST), *map(abs, gaps.values())))
    own = [j for j in data.judgements[frozenset((a, b))] if len(j.methods) == 2]
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    measured = [q for q in answered if (q, a, b) in data.lengths]
    return PairSummary(
        a=a,
        b=b,
        n=len(signs),
        discarded=sum({pair.a, pair.b} == {a, b} and pair.how == "discarded" for pair in data.aligned),
        aligned=sum({pair.a, pair.b} == {a, b} for pair in data.aligned),
        unusable=sum(bool(j.problem) for j in own),
        refused=len(signs) - len(answered),
        where_answered=_paired(answered, data.seed).interval()
        if _MIN_QUESTIONS <= len(answered) < len(signs)
        else None,
        pooled=win_rates([o.verdict() for o in found]),
        relative_box=box_statistics([t.relative for t in _rates_by_trial(found)]),
        relative=relative.interval(),
        level=ALPHA,
        p=relative.p,
        margin=data.margin,
        decision="undecided",
        further=None,
        gap=gap.interval(),
        gap_p=gap.p,
        by_aspect={
            aspect: win_rates([o.verdict(aspect) for o in found if aspect in o.totals])
            for aspect in dict.fromkeys(aspect for o in found for aspect in o.totals)
        },
        by_type=_by_type(found, signs, data),
        consistency=order_consistency(*verdicts_by_order(own, a, b)),
        power=power_analysis(deviation, len(values)) if deviation > 0 and len(values) > 1 else None,
        length=length_effect(
            [answered[q] for q in measured],
            [data.lengths[q, a, b] for q in measured],
        ),
        sentence="",
    )


def _rates_by_trial(found: Sequence[Outcome]) -> list[WinRates]:
    by_trial: dict[int, list[Outcome]] = {}
    for outcome in found:
        by_trial.setdefault(outcome.trial, []).append(outcome)
    return [win_rates([o.verdict() for o in rows]) for _, rows in sorted(by_trial.items())]


def _length_differences(
    answers: Sequence[StudyAnswer], aligned: Sequence[AlignedPair]
) -> dict[tuple[str, str, str], float]:
    """Return the differences in words between the answers that were judged, by question and pair."""
    if aligned:
        return _means(
            difference
            for p in aligned
            for difference in (
                ((p.question, p.a, p.b), p.words[0] - p.words[1]),
                ((p.question, p.b, p.a), p.words[1] - p.words[0]),
            )
        )
    words = _means((answer.key, count_words(answer.uncited_text)) for answer in answers)
    methods = list(dict.fromkeys(method for _, method in words))
    return {
        (question, a, b): words[question, a] - words[question, b]
        for question in dict.fromkeys(question for question, _ in words)
        for a, b in permutations(methods, 2)
        if (question, a) in words and (question, b) in words
    }


def _paired(values: Mapping[str, float], seed: int, flips: int = FLIPS, bound: float = 1.0) -> PairedMean:
    """Return the mean of the values by question."""
    column = np.asarray(list(values.values()))[:, None]
    return paired_means(column, np.random.default_rng(seed), bound=bound, flips=flips)[0]


def _by_type(
    found: Sequence[Outcome], signs: Mapping[str, float], data: _StudyData
) -> dict[str, tuple[WinRates, Interval]]:
    result = {}
    for type_ in dict.fromkeys(data.types.get(q, "") for q in signs):
        rows = [o for o in found if data.types.get(o.question, "") == type_]
        own = {q: v for q, v in signs.items() if data.types.get(q, "") == type_}
        result[type_] = (win_rates([o.verdict() for o in rows]), _paired(own, data.seed).interval())
    return result


def _rank(found: Mapping[tuple[str, str], Sequence[Outcome]], seed: int) -> list[Strength]:
    duels = [
        Duel(question=question, a=a, b=b, score=(1 + sign) / 2)
        for (a, b), pair_outcomes in found.items()
        for question, sign in _mean_signs(pair_outcomes).items()
    ]
    try:
        return bradley_terry(duels, np.random.default_rng(seed))
    except ValueError:
        return []  # no duels, or methods that no chain of duels connects
