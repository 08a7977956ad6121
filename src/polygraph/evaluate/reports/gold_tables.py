"""Tables of the scores of answers against gold."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygraph.evaluate.metrics.answer_scores import AnswerScores, MetricScores
from polygraph.evaluate.reports.formatting import mean_interval, p_value, percent, signed_interval

Table: TypeAlias = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Caption, columns, rows."""


def gold_tables(scores: AnswerScores) -> Iterator[Table]:
    """Yield tables of means, notes, paired tests, types, aspects and refusals, as far as there are any."""
    if scores.metrics:
        yield _means(scores.metrics)
        if notes := [(metric.name, metric.note) for metric in scores.metrics if metric.note]:
            yield "Notes on the metrics", ("metric", "note"), [*notes]
        if tests := list(_tests(scores.metrics)):
            yield (
                "Paired differences on the same questions; intervals and p are corrected for all pairs of a metric "
                "(Holm), effects are Cohen's d",
                ("metric", "first", "second", "difference [interval]", "p (Holm)", "effect (d)"),
                tests,
            )
    if scores.by_type:
        methods = list(scores.by_type[0].means)
        yield (
            "Accuracy by type of question [95%]; for null questions a refusal is correct",
            ("type", "questions", *methods),
            [
                (each.type or "no type", str(each.n), *(mean_interval(each.means[m]) for m in methods))
                for each in scores.by_type
            ],
        )
    for method, table in scores.by_aspect.items():
        names = dict.fromkeys(name for cells in table.values() for name in cells if name != "avg")
        columns = (*names, "avg")
        rows = [
            (row, *(f"{c.mean:.3f} ({c.n})" if (c := cells.get(name)) else "–" for name in columns))
            for row, cells in table.items()
        ]
        yield (
            f"Accuracy of {method} by complexity and aspect (number of questions)",
            ("complexity", *columns),
            rows,
        )
    if scores.refusals:
        yield (
            "Refusals of questions that the documents do not answer",
            ("method", "correct refusals", "hallucinations", "wrong refusals", "precision", "recall"),
            [
                (
                    method,
                    *map(str, (r.refused_null, r.answered_null, r.refused_answerable)),
                    *("–" if share is None else percent(share) for share in (r.precision, r.recall)),
                )
                for method, r in scores.refusals.items()
            ],
        )


def _means(metrics: Sequence[MetricScores]) -> Table:
    methods = list(metrics[0].means)
    rows: list[tuple[str, ...]] = [
        (metric.name, str(metric.n), *(mean_interval(metric.means[m]) for m in methods)) for metric in metrics
    ]
    return "Means over questions [95% interval]", ("metric", "questions", *methods), rows


def _tests(metrics: Sequence[MetricScores]) -> Iterator[tuple[str, ...]]:
    for metric in metrics:
        for test in metric.tests:
            yield (
                metric.name,
                test.a,
                test.b,
                signed_interval(test.difference),
                p_value(test.p),
                "–" if test.effect is None else f"{test.effect:+.2f}",
            )
