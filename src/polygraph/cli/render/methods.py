"""How the methods look: a table to choose from, and all that is known of one."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from polygraph.cli.render.answer import out
from polygraph.errors import UnknownMethod
from polygraph.models.cache import CallStore, QuestionUsage
from polygraph.retrieve import METHODS
from polygraph.retrieve.base import Method
from polygraph.retrieve.catalogue import describe

_CALLS = 22
"""Columns for a formula."""
_WIDE = 110
"""Columns from which the table also tells the source."""


def measured(calls_file: Path) -> dict[str, QuestionUsage]:
    """What questions cost with each method, by the ledger of an index; empty if there is none."""
    if not calls_file.is_file():
        return {}
    store = CallStore(calls_file, "normal")
    try:
        return store.questions()
    finally:
        store.close()


def methods_json(names: Sequence[str], spent: Mapping[str, QuestionUsage]) -> list[dict[str, Any]]:
    """Methods in the form that scripts rely on."""
    return [
        {
            "name": name,
            "needs": sorted(m.needs),
            "source": about.source,
            "calls": m.calls,
            "summary": about.summary,
            "tokens": about.tokens,
            "good": about.good,
            "bad": about.bad,
            "max_tokens": m.max_tokens,
            "measured": _measured_json(spent.get(name)),
        }
        for name, m, about in ((name, METHODS[name], describe(name)) for name in names)
    ]


def chosen(name: str | None) -> list[str]:
    """Names to tell of: all, or one with its presets.

    Raises:
        UnknownMethod: if there is no such method.
    """
    if name is None:
        return list(METHODS)
    if name not in METHODS:
        raise UnknownMethod(name, METHODS)
    return [name, *(other for other in METHODS if other.startswith(f"{name}:"))]


def show_list(spent: Mapping[str, QuestionUsage]) -> None:
    """Print a row for each method, presets aside."""
    bases = [name for name in METHODS if ":" not in name]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("calls", max_width=_CALLS)
    if spent:
        table.add_column("measured", justify="right")
    table.add_column("for", overflow="fold")
    if out.width >= _WIDE:
        table.add_column("source", overflow="fold")
    above = ""
    for name in bases:
        about = describe(name)
        cells = [name, _short(METHODS[name].calls)]
        cells += [f"{spent[name].calls / spent[name].n:.1f}" if name in spent else "–"] if spent else []
        cells += [about.summary if about.summary != above else "as above"]
        cells += [about.source] if out.width >= _WIDE else []
        table.add_row(*map(escape, cells))
        above = about.summary
    out.print(table)
    n = len(METHODS) - len(bases)
    out.print(
        Text(
            f"calls of a model for one question, its answer included; without a model 0. {n} presets reproduce papers. "
            "All about one: polygraph methods NAME; about all: --full",
            style="dim",
        )
    )


def show_full(names: Sequence[str], spent: Mapping[str, QuestionUsage]) -> None:
    """Print all that is known of some methods; of presets, in what they differ."""
    for name in names:
        base, _, preset = name.partition(":")
        if preset and base in names:
            continue
        presets = [other for other in METHODS if other.startswith(f"{name}:")] if not preset else []
        _show_one(name, METHODS[name], presets, spent)


def _show_one(name: str, method: Method, presets: Sequence[str], spent: Mapping[str, QuestionUsage]) -> None:
    about = describe(name)
    rows: list[tuple[str, str]] = [
        ("for", about.summary),
        ("source", about.source),
        ("needs", ", ".join(sorted(method.needs))),
        ("calls", f"{method.calls} for one question, the answer included; 0 without a model"),
        ("tokens", about.tokens),
        ("measured", _average(spent.get(name))),
        ("good at", about.good),
        ("bad at", about.bad),
    ]
    rows += [(f":{other.partition(':')[2]}", _preset(other, method, spent)) for other in presets]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        if text:
            table.add_row(f"  {label}", Text(text))
    out.print(Text(name, style="bold"))
    out.print(table)
    out.print()


def _measured_json(found: QuestionUsage | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"questions": found.n, "calls": found.calls / found.n, "tokens": found.tokens / found.n}


def _average(found: QuestionUsage | None) -> str:
    if found is None:
        return ""
    of = f"{found.n:,} {'question' if found.n == 1 else 'questions'}"
    return f"{found.calls / found.n:.1f} calls, {found.tokens / found.n:,.0f} tokens, averaged over {of} to this index"


def _preset(name: str, base: Method, spent: Mapping[str, QuestionUsage]) -> str:
    other = METHODS[name]
    differs = [
        f"{f.name} = {getattr(other, f.name)}"
        for f in fields(other)  # type: ignore[arg-type]  # every method is a dataclass
        if getattr(other, f.name) != getattr(base, f.name, None)
    ]
    calls = f"calls {other.calls}" if other.calls != base.calls else ""
    measured = f"measured: {_average(spent[name])}" if name in spent else ""
    return "; ".join(part for part in (", ".join(differs), calls, measured) if part)


def _short(calls: str) -> str:
    """A formula without how it is worked out, for a narrow column."""
    return calls.partition(" = ")[0].partition(", ")[0]
