"""Scores against gold as tables that a reader can take in."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygraph.evaluate.metrics.answer_scores import GoldMetric, GoldScores
from polygraph.evaluate.reports.html import p_value, percent
from polygraph.evaluate.statistics.bootstrap import Interval

Table: TypeAlias = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Caption, columns, rows."""


def gold_tables(gold: GoldScores) -> Iterator[Table]:
    """Means with intervals, paired tests, parts by type and by aspect, refusals; each where there is something."""
    if gold.metrics:
        yield _means(gold.metrics)
        if notes := [(metric.name, metric.note) for metric in gold.metrics if metric.note]:
            yield "What the values depend on", ("metric", "note"), [*notes]
        if rows := list(_tests(gold.metrics)):
            told = "Differences on the same questions, corrected over all pairs of a metric"
            yield (
                told,
                ("metric", "first", "second", "difference [95 %]", "p (Holm)", "test", "effect (d)"),
                rows,
            )
    if gold.by_type:
        methods = list(gold.by_type[0].means)
        parts = [
            (part.type or "no type", str(part.n), *(_with_interval(part.means[m]) for m in methods))
            for part in gold.by_type
        ]
        told = "Accuracy by type of question [95 %]; a question without an answer is right if it was refused"
        yield told, ("type", "questions", *methods), parts
    for method, table in gold.by_aspect.items():
        names = dict.fromkeys(name for cells in table.values() for name in cells if name != "avg")
        columns = (*names, "avg")
        cells = [
            (row, *(f"{c.mean:.3f} ({c.n})" if (c := found.get(name)) else "–" for name in columns))
            for row, found in table.items()
        ]
        yield f"Accuracy of {method} by complexity and aspect (questions)", ("complexity", *columns), cells
    if gold.refusals:
        yield (
            "Refusals: how well a method knows what the documents do not say",
            ("method", "rightly refused", "made up", "wrongly refused", "precision", "recall"),
            [
                (
                    method,
                    *map(str, (r.refused_null, r.answered_null, r.refused_answerable)),
                    *("–" if share is None else percent(share) for share in (r.precision, r.recall)),
                )
                for method, r in gold.refusals.items()
            ],
        )


def _means(metrics: Sequence[GoldMetric]) -> Table:
    methods = list(metrics[0].means)
    rows: list[tuple[str, ...]] = [
        (metric.name, str(metric.n), *(_with_interval(metric.means[m]) for m in methods))
        for metric in metrics
    ]
    return "Means over questions [95 % interval]", ("metric", "questions", *methods), rows


def _tests(metrics: Sequence[GoldMetric]) -> Iterator[tuple[str, ...]]:
    for metric in metrics:
        for test in metric.tests:
            low, high = test.difference.low, test.difference.high
            yield (
                metric.name,
                test.a,
                test.b,
                f"{_signed(test.difference.mean)} [{_signed(low)}, {_signed(high)}]",
                p_value(test.p),
                test.test,
                "–" if test.effect is None else f"{test.effect:+.2f}",
            )


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _with_interval(found: Interval) -> str:
    return f"{found.mean:.3f} [{found.low:.2f}, {found.high:.2f}]"
