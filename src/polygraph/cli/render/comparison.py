"""The answers of several methods to one question, side by side."""

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from polygraph.cli.render.answer import err, out, show_table
from polygraph.ids import document_name
from polygraph.records import Answer
from polygraph.retrieve.overlap import SharedPassage, found_alone, overlap
from polygraph.text.prose import count_noun

_MARKS = re.compile(r"\s*\[[\d, ]{1,40}\]")
_ROWS = 15
"""Maximum number of listed passages."""
_ALONE = 3
"""Listed pieces of evidence that one method alone has."""
_WIDTH = 150
"""Characters of such a piece."""
_SOURCES = 4
"""Maximum number of cited documents below an answer."""


def show_compared(found: Sequence[Answer]) -> None:
    """Print the answers, their costs, and the passages that they are based on."""
    names = [f"{n} {a.method}" for n, a in enumerate(found, 1)]
    held = overlap([a.retrieval for a in found])
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("method", no_wrap=True)
    table.add_column("answer", overflow="fold")
    first: dict[str, str] = {}
    for name, a in zip(names, found, strict=True):
        earlier = first.setdefault(_MARKS.sub("", a.text), name)
        table.add_row(name, _answer(a, "" if earlier == name else earlier))
    out.print(table)
    _show_costs(found, names, held)
    _show_overlap(found, held)
    _show_alone(found)
    for a in found:
        for note in a.notes:
            err.print(Text(f"note: {a.method}: {note}", style="dim"))


def _show_costs(found: Sequence[Answer], names: Sequence[str], held: Sequence[SharedPassage]) -> None:
    """Print a row of figures for each method, without columns that no method fills."""
    columns: dict[str, list[str]] = {
        "cited": [str(len({c.chunk for c in a.citations})) for a in found],
        "found": [str(sum(h.positions[i] is not None for h in held)) for i in range(len(found))],
        "alone": [str(sum(h.n == 1 and h.positions[i] is not None for h in held)) for i in range(len(found))],
        "context": [f"{a.retrieval.n_tokens:,}" for a in found],
        "calls": [_calls(a) for a in found],
        "tokens": [
            f"{a.usage.prompt_tokens + a.usage.completion_tokens + a.usage.cached_tokens:,}" for a in found
        ],
        "cost": ["?" if a.usage.cost is None else f"${a.usage.cost:.4f}" for a in found],
        "sec": [f"{a.usage.seconds:.1f}" for a in found],
    }
    if not any(a.usage.calls or a.usage.cached_calls for a in found):
        for name in ("tokens", "cost"):
            del columns[name]
    table = Table(box=None, pad_edge=False, header_style="bold")
    # The full names are printed above; here they may be shortened.
    table.add_column("method", no_wrap=True, overflow="ellipsis")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in zip(names, zip(*columns.values(), strict=True), strict=True):
        table.add_row(name, *row)
    out.print(table)
    lines = ["found: passages behind the evidence; alone: those that no other method found; context: tokens"]
    if any(a.usage.cached_calls for a in found):
        lines.append("calls (+n): n more were answered from the cache at no cost; their tokens are included")
    lines.append("work that several methods share is done once and timed with the first")
    out.print(Text("\n".join(lines), style="dim"))


def _calls(a: Answer) -> str:
    return f"{a.usage.calls} (+{a.usage.cached_calls})" if a.usage.cached_calls else str(a.usage.calls)


def _answer(a: Answer, same_as: str) -> Text:
    text = Text(a.text, style="yellow" if a.refused else "")
    if same_as:
        text = Text(f"the same as {same_as}", style="dim")
    documents = list(dict.fromkeys(c.document for c in a.citations))
    for document in documents[:_SOURCES]:
        numbers = sorted({c.n for c in a.citations if c.document == document})
        text.append(f"\n{''.join(f'[{n}]' for n in numbers)} {document_name(document)}", style="cyan")
    if len(documents) > _SOURCES:
        text.append(f"\nand {count_noun(len(documents) - _SOURCES, 'more document')}", style="cyan")
    if a.nearest:
        nearest = ", ".join(dict.fromkeys(document_name(c.document) for c in a.nearest))
        text.append(f"\nnearest passages: {nearest}", style="cyan")
    if a.extractive and not a.refused and not same_as:
        text.append("\n(sentences from the documents)", style="dim")
    return text


def _show_overlap(found: Sequence[Answer], held: Sequence[SharedPassage]) -> None:
    """Print a row for each passage with its position in the evidence of each method; cited passages are marked."""
    if len(found) < 2 or not held:
        return
    every = sum(h.n == len(found) for h in held)
    out.print()
    out.print(
        Text(
            f"{count_noun(len(held), 'passage')} behind the evidence, {every} found by every method",
            style="bold",
        )
    )
    cited = [{c.chunk for c in a.citations} for a in found]
    shown = _selected(held, cited)
    columns = [str(n) for n in range(1, len(found) + 1)]
    rows = [
        (document_name(h.chunk), *(_position(h, i, h.chunk in cited[i]) for i in range(len(found))))
        for h in shown
    ]
    show_table(("passage", *columns), rows, right=columns)
    more = f"; {len(held) - len(shown)} more are not listed" if len(held) > len(shown) else ""
    out.print(Text(f"numbers are positions in the evidence, * is cited{more}", style="dim"))


def _show_alone(found: Sequence[Answer]) -> None:
    """Print the first pieces of evidence of each method that no other one has."""
    alone = found_alone([a.retrieval for a in found])
    if len(found) < 2 or not any(alone):
        return
    out.print()
    out.print(Text("what one method alone has, best first", style="bold"))
    for i, (a, numbers) in enumerate(zip(found, alone, strict=True), 1):
        if not numbers:
            continue
        n_all = len(a.retrieval.evidence)
        out.print(Text(f"{i} {a.method}: {len(numbers)} of {n_all} pieces of evidence", style="cyan"))
        for n in numbers[:_ALONE]:
            item = a.retrieval.evidence[n - 1]
            text = " ".join(item.text.split())
            line = f"  [{n}] {item.kind}: {text}"
            out.print(Text(line if len(line) <= _WIDTH else f"{line[:_WIDTH].rstrip()} …"), soft_wrap=True)


def _selected(held: Sequence[SharedPassage], cited: Sequence[set[str]]) -> list[SharedPassage]:
    """Select passages to list, preferring cited ones, in their order."""
    named = set().union(*cited)
    first = [h for h in held if h.chunk in named]
    rest = [h for h in held if h.chunk not in named]
    kept = {h.chunk for h in [*first, *rest][: max(_ROWS, len(first))]}
    return [h for h in held if h.chunk in kept]


def _position(h: SharedPassage, i: int, is_cited: bool) -> str:
    position = h.positions[i]
    return "" if position is None else f"{position}{'*' if is_cited else ''}"
