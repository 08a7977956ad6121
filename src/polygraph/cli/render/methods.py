"""The methods: a table for choosing one, and full descriptions."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from typing import get_args

from rich.table import Table
from rich.text import Text

from polygraph.cli.render.answer import out
from polygraph.models.call_store import CallPlace, QuestionUsage, calls_exist, open_call_store
from polygraph.retrieve import METHODS, describe, method, offered
from polygraph.retrieve.base import Method
from polygraph.retrieve.catalogue import Group
from polygraph.text.prose import count_noun

_CALLS = 22
"""Width of the column of formulas."""
_WIDE = 110
"""Terminal width from which the table includes the source."""


def usage_by_method(calls: CallPlace) -> dict[str, QuestionUsage]:
    """Return the usage of questions by method from the ledger of an index; empty without a ledger."""
    if not calls_exist(calls):
        return {}
    with closing(open_call_store(calls)) as store:
        return store.questions()


def selected(name: str | None) -> list[str]:
    """Return the names to describe: all that are part of Polygraph, or one with its presets.

    Raises:
        UnknownMethod: if there is no such method.
        BadInput: if an installed package offers it and it cannot be loaded.
    """
    if name is None:
        return list(METHODS)
    method(name)
    return [name, *(other for other in METHODS if other.startswith(f"{name}:"))]


def show_list(usage: Mapping[str, QuestionUsage]) -> None:
    """Print a row for each method, without presets, below what it searches."""
    groups: dict[Group | None, list[str]] = {group: [] for group in get_args(Group)}
    for name in METHODS:
        if ":" not in name:
            groups[describe(name).group].append(name)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("calls", max_width=_CALLS)
    if usage:
        table.add_column("measured", justify="right")
    table.add_column("for", overflow="fold")
    if out.width >= _WIDE:
        table.add_column("source", overflow="fold")
    for group, names in groups.items():
        table.add_row(Text(str(group), style="bold"))
        for name in names:
            about = describe(name)
            cells = [name, _short(METHODS[name].calls)]
            cells += [f"{usage[name].calls / usage[name].n:.1f}" if name in usage else "–"] if usage else []
            cells += [about.summary]
            cells += [about.source] if out.width >= _WIDE else []
            table.add_row(*cells)
    out.print(table)
    if offered():
        out.print(Text(f"of installed packages: {', '.join(offered())}"))
    n = sum(":" in name for name in METHODS)
    out.print(
        Text(
            f"model calls for one question, including its answer; 0 without a model. {n} presets reproduce papers. "
            "Full descriptions: polygraph methods NAME, or --full for all",
            style="dim",
        )
    )


def show_full(names: Sequence[str], usage: Mapping[str, QuestionUsage]) -> None:
    """Print full descriptions of methods; for presets, only the differences."""
    for name in names:
        base, _, preset = name.partition(":")
        if preset and base in names:
            continue
        presets = [other for other in METHODS if other.startswith(f"{name}:")] if not preset else []
        _show_one(name, method(name), presets, usage)


def _show_one(name: str, shown: Method, presets: Sequence[str], usage: Mapping[str, QuestionUsage]) -> None:
    about = describe(name)
    rows: list[tuple[str, str]] = [
        ("for", about.summary),
        ("source", about.source),
        ("needs", ", ".join(sorted(shown.needs))),
        ("calls", f"{shown.calls} for one question, including the answer; 0 without a model"),
        ("tokens", about.tokens),
        ("answers", about.form),
        ("measured", _average(usage.get(name))),
        ("good at", about.good),
        ("bad at", about.bad),
    ]
    rows += [(f":{other.partition(':')[2]}", _preset(other, shown, usage)) for other in presets]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        if text:
            table.add_row(f"  {label}", Text(text))
    out.print(Text(name, style="bold"))
    out.print(table)
    out.print()


def _average(found: QuestionUsage | None) -> str:
    if found is None:
        return ""
    of = count_noun(found.n, "question")
    return f"{found.calls / found.n:.1f} calls, {found.tokens / found.n:,.0f} tokens, averaged over {of} to this index"


def _preset(name: str, base: Method, usage: Mapping[str, QuestionUsage]) -> str:
    other = METHODS[name]
    differs = [
        f"{f.name} = {getattr(other, f.name)}"
        for f in fields(other)  # type: ignore[arg-type]  # every method is a dataclass
        if getattr(other, f.name) != getattr(base, f.name, None)
    ]
    calls = f"calls {other.calls}" if other.calls != base.calls else ""
    measured = f"measured: {_average(usage[name])}" if name in usage else ""
    return "; ".join(part for part in (", ".join(differs), calls, measured) if part)


def _short(calls: str) -> str:
    """Return a formula without its derivation, for a narrow column."""
    return calls.partition(" = ")[0].partition(", ")[0]
