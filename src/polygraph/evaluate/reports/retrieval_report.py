"""The report of a retrieval measurement: metrics with intervals, comparisons, conclusions, notes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from polygraph import notebook
from polygraph.errors import WorkFailed
from polygraph.evaluate.metrics.oracle import Confusion, Oracle, confusions, oracle
from polygraph.evaluate.metrics.retrieval import (
    UNITS,
    check_metric,
    default_metric,
    metric_unit,
    unit_metrics,
)
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import QuestionResult, Unit
from polygraph.evaluate.reports.retrieval_conclusions import QuestionCost, conclusions
from polygraph.evaluate.statistics.compare import Comparison, compare_methods
from polygraph.evaluate.statistics.intervals import (
    FEW_QUESTIONS,
    Interval,
    few_questions_note,
    mean_intervals,
)

MAX_TYPES = 50
"""Types of question with metrics of their own; of more types the commonest."""
_PARTS = {
    "question": "question or gold",
    "method": "parameters of the method",
    "index": "index",
    "models": "models",
    "options": "filter, token budget or depths",
    "code": "code",
}
"""Parts of the provenance of a result, for notes."""
_MANY_PAIRS = 10
"""More pairs than those of five methods get a note on the correction of p."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """Questions by how they were treated."""

    total: int
    asked: int = 0
    null: int
    """Questions that the corpus does not answer; there is nothing to find."""
    incomplete: int
    """Questions with a gold document known to be missing from the corpus; not measured by document."""
    without_gold: int
    """Neither null nor with gold of any kind."""
    gold_documents: int
    missing_documents: tuple[str, ...] = ()
    """Gold documents that are not in the index; they count as not found."""
    filtered_documents: tuple[str, ...] = ()
    """Gold documents that the filter excludes; they count as not found."""
    missing_passages: int = 0
    """Gold passages that are not in the index; they count as not found."""
    stale: int = 0
    """Results in the output file that belong to another run or an earlier state."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """How many of them were measured again because a part of their provenance changed, by part."""
    types: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricMeans:
    """Metrics of one method on some questions."""

    n: Mapping[Unit, int]
    """Questions by the kind of gold that they have; one question may count for several kinds."""
    metrics: Mapping[str, Interval]
    """Means over the questions with gold of that kind, with 95% intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """One method on all questions."""

    name: str
    scores: MetricMeans
    by_type: Mapping[str, MetricMeans]
    ms_per_question: float
    ms_median: float
    ms_p95: float
    cpu_ms_per_question: float | None
    """Processor time over all cores; None if some questions ran in parallel."""
    calls_per_question: float
    cached_calls_per_question: float
    tokens_per_question: float
    """Prompt and completion tokens of language models."""
    cost_per_question: float | None
    """In US dollars, for retrieval alone; None if a price is unknown."""
    context_tokens: float
    """Mean length of the context that an answer would be written from."""
    n_failed: int
    """Questions that could not be measured."""
    problem: str
    """Why the first of them could not; empty without any."""
    n_empty: int
    """Questions for which nothing was found."""
    n_unranked: int
    """Questions with evidence but without any ranked chunk; they count as nothing found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """Methods measured on the same questions."""

    methods: tuple[MethodResult, ...]
    """In the order given."""
    metric: str
    """The metric that methods are compared by."""
    comparisons: tuple[Comparison, ...]
    """Comparison of every pair, better method first."""
    conclusions: tuple[str, ...]
    notes: tuple[str, ...]
    counts: QuestionCounts
    confusions: Mapping[tuple[str, str], Confusion] = field(default_factory=dict)
    """For each pair of methods the questions on which both, one or neither reach 1 in the metric of comparison."""
    router: Oracle | None = None
    """Upper bound of choosing the method per question; None with one method."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; the figures of a method have the names of the metrics."""
        return {
            "methods": {m.name: _method_dict(m, metric_unit(self.metric)) for m in self.methods},
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

    def _repr_html_(self) -> str:
        rows = [
            (m.name, f"{found.mean:.3f}", f"[{found.low:.3f}, {found.high:.3f}]", f"{m.ms_per_question:.0f}")
            for m in self.methods
            if (found := m.scores.metrics.get(self.metric)) is not None
        ]
        columns = ("method", self.metric, "95% interval", "ms")
        return notebook.table_html("Retrieval", columns, rows, self.notes)


def summarise_retrieval(
    questions: Sequence[Question],
    timed: Mapping[str, bool],
    results: Sequence[QuestionResult],
    counts: QuestionCounts,
    ks: Sequence[int],
    metric: str,
    seed: int,
    margin: float,
) -> RetrievalReport:
    """Summarise the results of all methods; all tests are seeded.

    Args:
        questions: that were asked.
        timed: for each method, in the order of the report, whether its times may be compared.
        results: of every question with every method.
        counts: for the notes.
        ks: depths of the metrics.
        metric: to compare methods by; empty: `default_metric`.
        seed: of the tests.
        margin: of equivalence.

    Raises:
        BadInput: if these questions have no gold for `metric`.
        WorkFailed: if a method failed on every question.
    """
    rows = _by_method(results, timed)
    types = {q.id: q.type for q in questions}
    by_count = [t for t, _ in sorted(Counter(types.values()).items(), key=lambda pair: (-pair[1], pair[0]))]
    shown = sorted(by_count[:MAX_TYPES]) if len(by_count) > 1 else []
    methods = tuple(_method_result(name, rows[name], types, shown, ks) for name in timed)
    # The minimum, since a method may have failed on every question with gold of one kind.
    units: dict[Unit, int] = {u: min(m.scores.n.get(u, 0) for m in methods) for u in UNITS}
    if not any(units.values()):
        raise WorkFailed(
            "no kind of gold was measured with every method, because too many questions failed. Run the same command "
            "again, or leave a method out"
        )
    chosen = metric or default_metric(units, ks)
    check_metric(chosen, [u for u in UNITS if units[u]], ks)
    values = _values(rows, chosen, ks)
    comparisons = compare_methods(values, np.random.default_rng(seed), margin=margin)
    costs = {
        m.name: QuestionCost(
            money=m.cost_per_question,
            tokens=m.tokens_per_question,
            ms=m.ms_per_question if timed[m.name] else None,
        )
        for m in methods
    }
    shared = [q.id for q in questions if all(q.id in scored for scored in values.values())]
    scores = {m.name: m.scores.metrics[chosen] for m in methods}
    n_shared = None
    if shared and any(len(scored) > len(shared) for scored in values.values()):
        # Means over different questions would favour a method that fails on difficult ones.
        table = np.array([[values[m.name][q] for m in methods] for q in shared])
        scores, n_shared = dict(zip(scores, mean_intervals(table), strict=True)), len(shared)
    sentences = conclusions(chosen, scores, comparisons, costs, n_shared=n_shared)
    router = oracle(values) if len(values) > 1 and shared else None
    if router is not None and router.gain > 0:
        sentences.append(
            f"an oracle that always picks the best method would reach {router.mean:.3f} in {chosen}; {router.best} "
            f"alone reaches {router.best_mean:.3f}"
        )
    return RetrievalReport(
        confusions=confusions(values, correct=1.0),
        router=router,
        methods=methods,
        metric=chosen,
        comparisons=tuple(comparisons),
        conclusions=tuple(sentences),
        notes=tuple(_notes(counts, methods, by_count, units[metric_unit(chosen)], len(comparisons))),
        counts=counts,
    )


def _by_method(results: Sequence[QuestionResult], methods: Iterable[str]) -> dict[str, list[QuestionResult]]:
    """Group results by method, in the order of the methods.

    Raises:
        WorkFailed: if a method failed on every question.
    """
    rows: dict[str, list[QuestionResult]] = {name: [] for name in methods}
    for result in results:
        rows[result.method].append(result)
    for name, some in rows.items():
        if all(r.error for r in some):
            raise WorkFailed(f"{name} failed on every question ({len(some):,}), last with: {some[-1].error}")
    return rows


def _values(
    rows: Mapping[str, Sequence[QuestionResult]], metric: str, ks: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Return a metric by method and question, for questions that did not fail and have gold for it."""
    unit = metric_unit(metric)
    return {
        name: {
            r.question: unit_metrics(unit, ranks, ks)[metric]
            for r in some
            if not r.error and (ranks := r.ranks.get(unit))
        }
        for name, some in rows.items()
    }


def _method_result(
    name: str,
    rows: Sequence[QuestionResult],
    types: Mapping[str, str],
    shown: Sequence[str],
    ks: Sequence[int],
) -> MethodResult:
    done = [r for r in rows if not r.error]
    ms = np.array([r.ms for r in done])
    n = len(done)
    costs = [r.usage.cost for r in done]
    cpu = [r.cpu_ms for r in done]
    by_type: defaultdict[str, list[QuestionResult]] = defaultdict(list)
    for r in done:
        by_type[types[r.question]].append(r)
    return MethodResult(
        name=name,
        scores=_metric_means(done, ks),
        by_type={t: _metric_means(by_type[t], ks) for t in shown if by_type[t]},
        ms_per_question=float(ms.mean()),
        ms_median=float(np.median(ms)),
        ms_p95=float(np.quantile(ms, 0.95)),
        cpu_ms_per_question=None if None in cpu else sum(c or 0.0 for c in cpu) / n,
        calls_per_question=sum(r.usage.calls for r in done) / n,
        cached_calls_per_question=sum(r.usage.cached_calls for r in done) / n,
        tokens_per_question=sum(r.usage.prompt_tokens + r.usage.completion_tokens for r in done) / n,
        cost_per_question=None if None in costs else sum(c or 0.0 for c in costs) / n,
        context_tokens=sum(r.context_tokens for r in done) / n,
        n_failed=len(rows) - n,
        problem=next((r.error for r in rows if r.error), ""),
        n_empty=sum(not r.n_evidence for r in done),
        n_unranked=sum(bool(r.n_evidence) and not r.n_ranked for r in done),
    )


def _metric_means(rows: Sequence[QuestionResult], ks: Sequence[int]) -> MetricMeans:
    values: dict[Unit, list[dict[str, float]]] = {}
    for row in rows:
        for unit, ranks in row.ranks.items():
            values.setdefault(unit, []).append(unit_metrics(unit, ranks, ks))
    metrics: dict[str, Interval] = {}
    for unit in UNITS:
        if unit in values:
            names = list(values[unit][0])
            matrix = np.array([[each[name] for name in names] for each in values[unit]])
            metrics.update(zip(names, mean_intervals(matrix), strict=True))
    return MetricMeans(n={unit: len(values[unit]) for unit in UNITS if unit in values}, metrics=metrics)


# --- notes ----------------------------------------------------------------------------------------------


def _notes(
    counts: QuestionCounts,
    methods: Sequence[MethodResult],
    types: Sequence[str],
    n_measured: int,
    n_pairs: int,
) -> list[str]:
    """Return what a reader must know to interpret the figures."""
    found = [f"{text}: {n:,}" for text, n in (*_question_notes(counts), *_method_notes(methods)) if n]
    if counts.changed:
        listed = ", ".join(f"{_PARTS[part]} ({n:,})" for part, n in counts.changed.items())
        found.append(f"measured again instead of read from the output file, because of changes to: {listed}")
    found += [
        f"{m.name}: {m.cached_calls_per_question:.2f} calls per question came from the cache and cost nothing this time"
        for m in methods
        if m.cached_calls_per_question
    ]
    if len(types) > MAX_TYPES:
        found.append(
            f"only the {MAX_TYPES} commonest of {len(types)} types of question are reported separately"
        )
    for unit in UNITS:
        means = [i.mean for m in methods for name, i in m.scores.metrics.items() if metric_unit(name) == unit]
        if means and not any(means):
            found.append(
                f"no method found any gold {unit}: check that the documents contain it as the questions give it"
            )
    if n_pairs > _MANY_PAIRS:
        found.append(
            f"p and intervals of differences are corrected for {n_pairs:,} comparisons: fewer methods allow smaller "
            "differences to be detected"
        )
    if n_measured < FEW_QUESTIONS:
        found.append(few_questions_note(n_measured))
    return found


def _question_notes(counts: QuestionCounts) -> list[tuple[str, int]]:
    example = counts.missing_documents[0] if counts.missing_documents else ""
    return [
        ("null questions, not asked because the corpus does not answer them", counts.null),
        ("questions without gold evidence or an answer to search for, not asked", counts.without_gold),
        (
            "questions with a gold document missing from the corpus, not measured by document",
            counts.incomplete,
        ),
        (
            f"gold documents that are not in the index and count as not found, of {counts.gold_documents} (the first: "
            f"{example})",
            len(counts.missing_documents),
        ),
        (
            "gold documents excluded by the filter, which count as not found",
            len(counts.filtered_documents),
        ),
        ("gold passages that are not in the index and count as not found", counts.missing_passages),
        ("results in the output file from another run or an earlier state, not used", counts.stale),
    ]


def _method_notes(methods: Sequence[MethodResult]) -> list[tuple[str, int]]:
    return [
        note
        for m in methods
        for note in (
            (
                f"questions that failed with {m.name}, excluded from its figures and asked again by the next run "
                f"(the first: {m.problem})",
                m.n_failed,
            ),
            (f"questions for which {m.name} found nothing", m.n_empty),
            (f"questions for which {m.name} found evidence but ranked no chunk", m.n_unranked),
        )
    ]


# --- JSON -----------------------------------------------------------------------------------------------


def _method_dict(result: MethodResult, unit: Unit) -> dict[str, Any]:
    cpu_ms = result.cpu_ms_per_question
    return {
        "n": result.scores.n.get(unit, 0),
        **{name: each.mean for name, each in result.scores.metrics.items()},
        "ms_per_question": round(result.ms_per_question, 3),
        "ms_median": round(result.ms_median, 3),
        "ms_p95": round(result.ms_p95, 3),
        "cpu_ms_per_question": None if cpu_ms is None else round(cpu_ms, 3),
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
            type_: {
                "n": scores.n.get(unit, 0),
                **{name: each.mean for name, each in scores.metrics.items()},
                "intervals": _intervals(scores),
            }
            for type_, scores in result.by_type.items()
        },
    }


def _intervals(scores: MetricMeans) -> dict[str, list[float]]:
    return {name: [each.low, each.high] for name, each in scores.metrics.items()}
