"""What came out of a measurement of retrieval: figures, comparisons, and sentences that one can act on."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from polygraph.errors import WorkFailed
from polygraph.evaluate.metrics.oracle import Confusion, Oracle, confusion, oracle
from polygraph.evaluate.metrics.retrieval import (
    UNITS,
    Unit,
    check_metric,
    headline,
    metrics_of,
    ranks_by_unit,
    unit_of,
)
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.result_file import Measured
from polygraph.evaluate.statistics.bootstrap import Interval, bootstrap_means
from polygraph.evaluate.statistics.compare import Comparison, Costs, compare_all, conclusions

MAX_TYPES = 50
"""Types of question that get a table of their own."""
_GROUNDS = {
    "question": "question or gold",
    "method": "the method's parameters",
    "index": "the index",
    "models": "models",
    "options": "filter, budget or depths",
    "code": "the code",
}
"""What a result rests on, in words."""
_FEW = 30
_MANY_PAIRS = 10
"""More pairs than those of five methods: the correction of p for all of them is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Questions by what could be done with them."""

    total: int
    asked: int = 0
    null: int
    """Questions that the corpus does not answer; there is nothing to find."""
    incomplete: int
    """Questions of which some gold document is known to be missing; not measured by document."""
    without_gold: int
    """Neither null nor with gold of any kind."""
    gold_documents: int
    gone: tuple[str, ...] = ()
    """Gold documents that are not in the index; they count as not found."""
    outside: tuple[str, ...] = ()
    """Gold documents that the filter excludes; they count as not found."""
    unplaced: int = 0
    """Gold passages that are not in the index; they count as not found."""
    stale: int = 0
    """Results in the output file that belong to another run or an earlier state."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """Of these, how many were asked again since a part of their grounds is another, by its name."""
    types: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One method on some questions."""

    n: Mapping[Unit, int]
    """Questions by the kind of gold that they have; one question may count in several."""
    metrics: Mapping[str, Interval]
    """Means over the questions with gold of that kind, with 95 % intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """One method on all questions."""

    name: str
    scores: Scores
    by_type: Mapping[str, Scores]
    ms_per_question: float
    ms_median: float
    ms_p95: float
    cpu_ms_per_question: float | None
    """Processor time, over all cores; None where some question ran beside others."""
    calls_per_question: float
    cached_calls_per_question: float
    tokens_per_question: float
    """In and out, of language models."""
    cost_per_question: float | None
    """In US dollars, for retrieval alone; None when a price is not known."""
    context_tokens: float
    """Mean length of what an answer would be written from."""
    n_failed: int
    """Questions that could not be measured."""
    n_empty: int
    """Questions for which nothing was found."""
    n_unranked: int
    """Questions with evidence but without any ranked chunk: they count as nothing found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """Methods side by side."""

    methods: tuple[MethodResult, ...]
    """In the order asked for."""
    metric: str
    """By which they are compared."""
    comparisons: tuple[Comparison, ...]
    """Of every pair, better one first."""
    conclusions: tuple[str, ...]
    notes: tuple[str, ...]
    counts: Counts
    confusions: Mapping[tuple[str, str], Confusion] = field(default_factory=dict)
    """For each pair of methods the questions on which both, one or neither reach 1 in the metric of comparison."""
    router: Oracle | None = None
    """What a perfect choice of the method for each question could gain; None with one method."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values; figures of a method by the names of the metrics."""
        return {
            "methods": {m.name: _method_dict(m, unit_of(self.metric)) for m in self.methods},
            "metric": self.metric,
            "conclusions": list(self.conclusions),
            "comparisons": [c.as_dict() for c in self.comparisons],
            "confusions": [{"a": a, "b": b, **asdict(each)} for (a, b), each in self.confusions.items()],
            "router": {**asdict(self.router), "gain": self.router.gain} if self.router else None,
            "questions": {
                "total": self.counts.total,
                "asked": self.counts.asked,
                "null": self.counts.null,
                "incomplete": self.counts.incomplete,
                "without_gold": self.counts.without_gold,
                "types": dict(self.counts.types),
            },
            "notes": list(self.notes),
        }


def report(
    questions: Sequence[Question],
    timed: Mapping[str, bool],
    measured: Sequence[Measured],
    counts: Counts,
    ks: Sequence[int],
    metric: str,
    seed: int,
) -> RetrievalReport:
    """Sum up; every interval and test is drawn from `seed`.

    Args:
        questions: that were asked.
        timed: for each method, in the order asked for, whether its times may be compared.
        measured: every question with every method.
        counts: for the notes.
        ks: depths of the metrics.
        metric: by which methods are compared; empty: chosen by the gold that there is.
        seed: of intervals and tests.

    Raises:
        BadInput: if `metric` is not one that these questions have gold for.
        WorkFailed: if a method failed on every question.
    """
    methods = list(timed)
    types = {q.id: q.type for q in questions}
    rows: dict[str, list[Measured]] = {name: [] for name in methods}
    for each in measured:
        rows[each.method].append(each)
    for name, some in rows.items():
        if all(m.error for m in some):
            raise WorkFailed(f"{name} failed on all {len(some)} questions, last with: {some[-1].error}")
    common = [t for t, _ in sorted(Counter(types.values()).items(), key=lambda pair: (-pair[1], pair[0]))]
    shown = sorted(common[:MAX_TYPES]) if len(common) > 1 else []
    results = tuple(_result(name, rows[name], types, shown, ks, seed) for name in methods)
    # A method may have failed on every question of one kind.
    units: dict[Unit, int] = {u: min(r.scores.n.get(u, 0) for r in results) for u in UNITS}
    if not any(units.values()):
        raise WorkFailed(
            "no kind of gold was measured with every method: too many questions failed. Run the same command again, or "
            "leave a method out"
        )
    chosen = metric or headline(units, ks)
    check_metric(chosen, [u for u in UNITS if units[u]], ks)
    unit = unit_of(chosen)
    values = {
        name: {
            m.question: metrics_of(unit, ranks, ks)[chosen]
            for m in rows[name]
            if not m.error and (ranks := ranks_by_unit(m.found).get(unit))
        }
        for name in methods
    }
    comparisons = compare_all(values, np.random.default_rng(seed))
    costs = {
        r.name: Costs(
            money=r.cost_per_question,
            tokens=r.tokens_per_question,
            ms=r.ms_per_question if timed[r.name] else None,
        )
        for r in results
    }
    said = conclusions(chosen, {r.name: r.scores.metrics[chosen] for r in results}, comparisons, costs)
    shared = frozenset[str].intersection(*map(frozenset, values.values()))
    router = oracle(values) if len(values) > 1 and shared else None
    if router is not None and router.gain > 0:
        said.append(
            f"a router that always knew the best method would reach {router.mean:.3f} in {chosen}, {router.best} alone "
            f"{router.best_mean:.3f}: no choice between these methods can gain more"
        )
    return RetrievalReport(
        confusions={(a, b): confusion(values[a], values[b], right=1.0) for a, b in combinations(values, 2)},
        router=router,
        methods=results,
        metric=chosen,
        comparisons=tuple(comparisons),
        conclusions=tuple(said),
        notes=tuple(_notes(counts, results, common, units[unit], len(comparisons))),
        counts=counts,
    )


def _result(
    name: str,
    rows: Sequence[Measured],
    types: Mapping[str, str],
    shown: Sequence[str],
    ks: Sequence[int],
    seed: int,
) -> MethodResult:
    done = [m for m in rows if not m.error]
    ms = np.array([m.ms for m in done])
    n = len(done)
    costs = [m.usage.cost for m in done]
    cpu = [m.cpu_ms for m in done]
    by_type: defaultdict[str, list[Measured]] = defaultdict(list)
    for m in done:
        by_type[types[m.question]].append(m)
    return MethodResult(
        name=name,
        scores=_scores(done, ks, seed),
        by_type={t: _scores(by_type[t], ks, seed) for t in shown if by_type[t]},
        ms_per_question=float(ms.mean()),
        ms_median=float(np.median(ms)),
        ms_p95=float(np.quantile(ms, 0.95)),
        cpu_ms_per_question=None if None in cpu else sum(c or 0.0 for c in cpu) / n,
        calls_per_question=sum(m.usage.calls for m in done) / n,
        cached_calls_per_question=sum(m.usage.cached_calls for m in done) / n,
        tokens_per_question=sum(m.usage.prompt_tokens + m.usage.completion_tokens for m in done) / n,
        cost_per_question=None if None in costs else sum(c or 0.0 for c in costs) / n,
        context_tokens=sum(m.context_tokens for m in done) / n,
        n_failed=len(rows) - n,
        n_empty=sum(not m.n_evidence for m in done),
        n_unranked=sum(bool(m.n_evidence) and not m.n_ranked for m in done),
    )


def _scores(rows: Sequence[Measured], ks: Sequence[int], seed: int) -> Scores:
    values: dict[Unit, list[dict[str, float]]] = {}
    for row in rows:
        for unit, ranks in ranks_by_unit(row.found).items():
            values.setdefault(unit, []).append(metrics_of(unit, ranks, ks))
    metrics: dict[str, Interval] = {}
    for unit in UNITS:
        if unit in values:
            names = list(values[unit][0])
            matrix = np.array([[each[name] for name in names] for each in values[unit]])
            # The same seed for every method, so that methods see the same resamples of the questions.
            metrics.update(zip(names, bootstrap_means(matrix, np.random.default_rng(seed)), strict=True))
    return Scores(n={unit: len(values[unit]) for unit in UNITS if unit in values}, metrics=metrics)


def _notes(
    counts: Counts, results: Sequence[MethodResult], types: Sequence[str], measured: int, pairs: int
) -> list[str]:
    """What a reader must know to read the figures rightly."""
    named = [
        ("null questions, not asked since the corpus does not hold their answer", counts.null),
        ("questions without gold evidence or an answer to look for, not asked", counts.without_gold),
        (
            "questions of which some gold document is not in the corpus, not measured by document",
            counts.incomplete,
        ),
        (
            f"gold documents that are not in the index and count as not found, of {counts.gold_documents} "
            f"(the first: {counts.gone[0] if counts.gone else ''})",
            len(counts.gone),
        ),
        ("gold documents outside the filter, which count as not found", len(counts.outside)),
        ("gold passages that are not in the index and count as not found", counts.unplaced),
        ("results in the output file that are of another run or an earlier state, not counted", counts.stale),
    ]
    for r in results:
        named += [
            (
                f"questions that failed in {r.name}, not in its figures; the next run asks them again",
                r.n_failed,
            ),
            (f"questions for which {r.name} found nothing", r.n_empty),
            (f"questions for which {r.name} found evidence and ranked no chunk", r.n_unranked),
        ]
    found = [f"{what}: {n:,}" for what, n in named if n]
    if counts.changed:
        told = ", ".join(f"{_GROUNDS[part]} ({n:,})" for part, n in counts.changed.items())
        found.append(f"measured anew instead of taken from the output file, since something changed: {told}")
    found += [
        f"{r.name}: {r.cached_calls_per_question:.2f} calls a question came from the cache and cost nothing now"
        for r in results
        if r.cached_calls_per_question
    ]
    if len(types) > MAX_TYPES:
        found.append(f"only the {MAX_TYPES} commonest of {len(types)} types of question are shown apart")
    for unit in UNITS:
        means = [i.mean for r in results for name, i in r.scores.metrics.items() if unit_of(name) == unit]
        if means and not any(means):
            found.append(
                f"no method found any gold {unit}: look whether it stands in these documents as the questions have it"
            )
    if pairs > _MANY_PAIRS:
        found.append(
            f"p is corrected for {pairs:,} comparisons, intervals are not: between fewer methods smaller differences "
            "can be told"
        )
    if measured < _FEW:
        found.append(f"fewer than {_FEW} questions were measured: intervals tend to be too narrow")
    return found


def _method_dict(result: MethodResult, unit: Unit) -> dict[str, Any]:
    return {
        "n": result.scores.n.get(unit, 0),
        **{name: each.mean for name, each in result.scores.metrics.items()},
        "ms_per_question": round(result.ms_per_question, 3),
        "ms_median": round(result.ms_median, 3),
        "ms_p95": round(result.ms_p95, 3),
        "cpu_ms_per_question": None
        if result.cpu_ms_per_question is None
        else round(result.cpu_ms_per_question, 3),
        "calls_per_question": result.calls_per_question,
        "cached_calls_per_question": result.cached_calls_per_question,
        "tokens_per_question": result.tokens_per_question,
        "cost_per_question": result.cost_per_question,
        "context_tokens": result.context_tokens,
        "n_by_unit": dict(result.scores.n),
        "n_failed": result.n_failed,
        "n_empty": result.n_empty,
        "n_unranked": result.n_unranked,
        "intervals": _intervals(result.scores),
        "by_type": {
            kind: {
                "n": scores.n.get(unit, 0),
                **{name: each.mean for name, each in scores.metrics.items()},
                "intervals": _intervals(scores),
            }
            for kind, scores in result.by_type.items()
        },
    }


def _intervals(scores: Scores) -> dict[str, list[float]]:
    return {name: [each.low, each.high] for name, each in scores.metrics.items()}
