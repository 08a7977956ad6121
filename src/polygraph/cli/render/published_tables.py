"""Published tables in a terminal: which there are, and our numbers beside theirs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polygraph.evaluate.reproduce.measure import TableValue
    from polygraph.evaluate.reproduce.tables import Table

_PICTURE = "picture"
"""Placeholder for a number that a paper gives only in a chart."""


def list_tables(as_json: bool) -> None:
    """Print the tables that can be reproduced."""
    from polygraph.cli.render import answer
    from polygraph.evaluate.reproduce.tables import TABLES

    if as_json:
        answer.as_json(
            [
                {
                    "paper": t.paper,
                    "table": t.name,
                    "place": t.place,
                    "title": t.title,
                    "data": t.data,
                    "methods": list(t.methods),
                    "models": list(t.numbers),
                    "questions": t.n or None,
                    "pictured": t.pictured,
                }
                for t in TABLES
            ]
        )
        return
    for t in TABLES:
        answer.out.print(f"{t.paper} {t.name}: {t.title}", style="bold", soft_wrap=True)
        known = any(v is not None for rows in t.numbers.values() for values in rows.values() for v in values)
        picture = f"; {'some ' if known else ''}numbers only in a chart" if t.pictured else ""
        answer.out.print(f"  {t.place}{picture}; {t.data}", style="dim", soft_wrap=True)
    answer.out.print("polygraph reproduce PAPER TABLE --data DIR --dry-run", soft_wrap=True)


def show_values(table: "Table", figures: "list[TableValue]", chat: str, bert: bool, as_json: bool) -> None:
    """Print our numbers beside the published ones."""
    from dataclasses import asdict

    from polygraph.cli.render import answer

    if as_json:
        answer.as_json(
            {
                "paper": table.paper,
                "table": table.name,
                "place": table.place,
                "model": chat,
                "pictured": table.pictured,
                "figures": [asdict(f) for f in figures],
                "differs": list(table.differs),
            }
        )
        return
    models = list(table.numbers)
    head = ("system", "method", "figure", *models, f"ours ({chat}) [95%]", "questions")
    rows = []
    for f in figures:
        unknown = _PICTURE if table.pictured else "–"
        published = [_number(f.published.get(model), unknown) for model in models]
        ours = (
            "–"
            if f.ours is None
            else f"{_number(f.ours.mean)} [{_number(f.ours.low)}, {_number(f.ours.high)}]"
        )
        rows.append((f.system, f.method or "not run", f.column, *published, ours, str(f.n)))
    title = f"{table.paper}, {table.place}: {table.title}"
    if table.judging is not None:
        reference = table.judging.reference
        title += f" ({reference} against each)" if reference else " (every pair; rates of the first)"
    answer.out.print(title, style="bold", soft_wrap=True)
    answer.show_table(head, rows, right=head[3:])
    for sentence in (*_remarks(table, bert), *table.differs):
        answer.warn(f"note: {sentence}")


def _remarks(table: "Table", bert: bool) -> "Iterator[str]":
    """Yield notes on numbers that are unknown or were not measured."""
    if table.pictured:
        yield (
            f"the paper gives the numbers marked {_PICTURE!r} only in a chart ({table.place}); they are not estimated "
            "from it"
        )
    if table.bert and not bert:
        yield "BERTScore was not measured. Add --bertscore, which needs the package bert-score and a model of 1.4 GB"


def _number(value: float | None, unknown: str = "–") -> str:
    if value is None:
        return unknown
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.3f}"
