"""Records as small pieces of HTML, for notebooks: escaped, without script, style sheet or link.

The records import this module, so that it does not know their types; each function names what it reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from polygraph.ids import document_name

MAX_CHARS = 400
"""Characters of one text that are shown."""
MAX_ROWS = 20
"""Rows of one table that are shown."""


def answer_html(found: Any) -> str:
    """Return an `Answer`: question, text, sources or nearest passages, and one line on the method and its cost."""
    usage = found.usage
    cost = "cost unknown" if usage.cost is None else f"{usage.cost:.4f} USD"
    facts = [
        found.method,
        "refused" if found.refused else "",
        f"{usage.seconds:.1f} s",
        "1 call" if usage.calls == 1 else f"{usage.calls} calls",
        cost,
    ]
    columns = ("title", "place", "quote")
    sources = [(f"[{c.n}]", *_source(c)) for c in found.citations]
    return _block(
        found.question,
        _paragraphs(found.text, limit=20 * MAX_CHARS),
        _table(("", *columns), sources),
        "<p>Nearest passages:</p>" if found.nearest else "",
        _table(columns, [_source(c) for c in found.nearest]),
        _paragraphs("\n\n".join(found.notes)),
        _small(" · ".join(each for each in facts if each)),
    )


def retrieval_html(found: Any) -> str:
    """Return a `Retrieval`: its evidence, best first, and what did not fit."""
    rows = [
        (str(n), each.kind, each.document, f"{each.score:.3g}", each.text)
        for n, each in enumerate(found.evidence, 1)
    ]
    cut = sum(each.n_items for each in found.cuts)
    facts = [
        found.method,
        f"{found.n_tokens:,} tokens",
        f"{cut} did not fit" if cut else "",
        found.empty_because,
    ]
    return _block(
        found.question,
        _table(("", "kind", "document", "score", "text"), rows),
        _small(" · ".join(each for each in facts if each)),
    )


def report_html(found: Any) -> str:
    """Return a `Report` on a community: summary and findings."""
    rows = [(each.summary, each.explanation) for each in found.findings]
    return _block(
        found.title,
        _paragraphs(found.summary, limit=20 * MAX_CHARS),
        _table(("finding", "explanation"), rows),
        _small(f"community {found.community} · rating {found.rating:g} · passages: {len(found.chunks)}"),
    )


def table_html(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """Return a table below a title, and notes."""
    return _block(title, _table(columns, list(rows)), *(_small(note) for note in notes[:MAX_ROWS]))


def facts_html(title: str, facts: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """Return names and values below a title."""
    rows = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in facts.items()]
    return table_html(title, ("", ""), rows, notes)


def _source(citation: Any) -> tuple[str, str, str]:
    """Return title, document with place, and quote."""
    name = document_name(citation.document)
    return citation.title or name, f"{name}, {citation.place}" if citation.place else name, citation.quote


def _block(title: str, *parts: str) -> str:
    return f"<div><p><strong>{_text(title)}</strong></p>{''.join(parts)}</div>"


def _paragraphs(text: str, limit: int = MAX_CHARS) -> str:
    return "".join(f"<p>{_text(part, limit)}</p>" for part in text.split("\n\n") if part.strip())


def _small(text: str) -> str:
    return f"<p><small>{_text(text)}</small></p>" if text else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{_text(column)}</th>" for column in columns) if any(columns) else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows[:MAX_ROWS]
    )
    left = len(rows) - MAX_ROWS
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>" + (
        _small(f"and {left:,} more") if left > 0 else ""
    )


def _text(text: str, limit: int = MAX_CHARS) -> str:
    """Return text that no browser reads as markup, and no notebook as a formula."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return escape(short).replace("$", "&#36;").replace("\n", "<br>")
