"""The explanation of a retrieval: the reason for each piece of evidence, what was truncated, and the trace."""

from collections.abc import Iterator, Mapping

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polygraph.cli.render.answer import out
from polygraph.cli.terminal import printable
from polygraph.ids import document_name
from polygraph.records import Evidence, Json, Retrieval
from polygraph.text.prose import count_noun, shorten

_QUOTE = 160
"""Characters of a piece of evidence that are printed."""
_SPANS = 3
"""Maximum number of source passages for a piece of evidence."""
_ITEMS = 12
"""Maximum number of printed members of a list in the trace."""
_VALUE = 200
"""Characters of a value in the trace that are printed."""
_DEPTH = 4
_RANKED = 10


def show_context(found: Retrieval) -> None:
    """Print the context, not wrapped or shortened."""
    if found.empty_because:
        _show_nothing(found)
    else:
        print(printable(found.context))


def show_retrieval(found: Retrieval) -> None:
    """Print the evidence with reasons, what was truncated to fit the token budget, and intermediate values."""
    out.print(
        Text(
            f"{found.method}: {count_noun(len(found.evidence), 'piece')} of evidence, "
            f"{count_noun(found.n_tokens, 'token')} of context",
            style="bold",
        )
    )
    if found.empty_because:
        _show_nothing(found)
    for n, item in enumerate(found.evidence, 1):
        _show_evidence(n, item)
    if found.draft:
        _head("the method's own answer")
        out.print(Text(found.draft))
    if found.cuts or found.evidence:
        _head("truncated to fit the budget")
    for cut in found.cuts:
        out.print(
            Text(
                f"{cut.n_items:,} more of kind {cut.kind}, {cut.n_tokens:,} tokens; the budget of their block was "
                f"{cut.budget:,}"
            )
        )
    if found.evidence and not found.cuts:
        out.print(Text("nothing"))
    if found.ranking:
        _head(f"ranking: {count_noun(len(found.ranking), 'passage')}")
        packed = {span.chunk for item in found.evidence for span in item.spans}
        for n, chunk in enumerate(found.ranking[:_RANKED], 1):
            away = "" if chunk in packed else "  (not in the context)"
            out.print(Text(f"{n:>3}  {document_name(chunk)}{away}"))
        _more(len(found.ranking) - _RANKED)
    for step in found.trace:
        _head(f"step: {step.name}")
        for line in readable(step.value):
            text = line.lstrip()
            # Wrapped lines keep the indentation.
            out.print(Padding(Text(text), (0, 0, 0, len(line) - len(text))))


def readable(value: Json, depth: int = 0) -> Iterator[str]:
    """Yield the lines for one value of a trace: a list by items, an object by keys, an id with its score on one line.

    >>> list(readable([["a:0", 0.51], ["b:1", 0.4]]))
    ['  1  a:0  0.51', '  2  b:1  0.4']
    >>> list(readable({"kind": "fact", "parsed": True}))
    ['kind: fact', 'parsed: yes']
    """
    pad = "    " * depth
    if isinstance(value, list) and value:
        for n, item in enumerate(value[:_ITEMS], 1):
            if _flat(item):
                yield f"{pad}{n:>3}  {_line(item)}"
            else:
                first, *rest = list(readable(item, depth + 1)) if depth < _DEPTH else [_line(item)]
                yield f"{pad}{n:>3}  {first.strip()}"
                yield from (f" {line}" for line in rest)
        if len(value) > _ITEMS:
            yield f"{pad}     and {len(value) - _ITEMS:,} more (--json has all)"
    elif isinstance(value, Mapping) and value and depth and all(_flat(item) for item in value.values()):
        yield f"{pad}{_line(value)}"
    elif isinstance(value, Mapping) and value:
        for key, item in value.items():
            if _flat(item) or depth >= _DEPTH:
                yield f"{pad}{key}: {_line(item)}"
            else:
                yield f"{pad}{key}:"
                yield from readable(item, depth + 1)
    else:
        yield f"{pad}{_line(value)}"


def _flat(value: Json) -> bool:
    """Return True if a value fits on one line: a scalar or a short list of scalars."""
    if isinstance(value, list):
        return len(value) <= _ITEMS and not any(isinstance(item, list | dict) and item for item in value)
    return not isinstance(value, dict)


def _line(value: Json) -> str:
    if isinstance(value, list):
        return "  ".join(_line(item) for item in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_line(item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "–"
    text = " ".join(str(value).split())
    return text if len(text) <= _VALUE else f"{text[:_VALUE]} …"


def _show_nothing(found: Retrieval) -> None:
    out.print(Text(f"nothing, because {found.empty_because}", style="yellow"))


def _show_evidence(n: int, item: Evidence) -> None:
    out.print()
    out.print(
        Text.assemble(
            (f"[{n}] ", "bold"),
            (f"{item.kind} ", "dim"),
            (document_name(item.id), "cyan"),
            (f"  {item.score:.4g}", "bold"),
        )
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    places = [f"{document_name(s.chunk)} ({s.start}–{s.end})" for s in item.spans[:_SPANS]]
    more = f" and {len(item.spans) - _SPANS} more" if len(item.spans) > _SPANS else ""
    text = " ".join(item.text.split())
    table.add_row("    why", Text(item.why or "–"))
    table.add_row("    from", Text(f"{', '.join(places)}{more}", style="dim"))
    table.add_row("    text", Text(shorten(text, _QUOTE), style="dim"))
    out.print(table)


def _head(text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def _more(n: int) -> None:
    if n > 0:
        out.print(Text(f"     and {n:,} more (--json has all)"))
