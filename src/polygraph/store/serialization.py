"""Converting records to and from the rows of `index.sqlite`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from polygraph.errors import IndexUnreadable
from polygraph.records import Chunk, Description, Entity, Finding, Relation, Report, Triple
from polygraph.store.connection import FILE_NAME
from polygraph.text.compact_json import compact_json

PART = 1 << 16
"""Characters of a long list that are parsed at once."""
_ID_CHARACTERS = 24
"""Characters of the id of a chunk with its quotation marks, about."""
_BETWEEN = '","'
"""Separator of two strings of a list."""

_ESCAPED = re.compile(rb"\\.", re.DOTALL)


def dump(value: object) -> str:
    """Return a value as JSON."""
    return compact_json(value)


def load(text: str) -> Any:
    """Parse a value that `dump` returned.

    Raises:
        IndexUnreadable: if it is damaged.
    """
    try:
        # Half of the time of `json.loads`, since values are many and short.
        return from_json(text)
    except (ValueError, TypeError) as found:
        error = found
    raise IndexUnreadable(
        f"a row of {FILE_NAME} is damaged ({error}). Build the index again in another folder with: polygraph "
        "index PATH --index NEW_FOLDER (copy calls.sqlite there first: it holds every reply already paid for)"
    ) from error


def load_strings(text: str, part: int | None = None) -> Iterator[list[str]]:
    """Parse a list of strings that `dump` returned, in parts: as strings they take many times the memory of the text.

    Args:
        text: the list.
        part: characters of it that are parsed at once, about; default: `PART`.

    >>> list(load_strings('["a","b"]')), list(load_strings("[]"))
    ([['a', 'b']], [[]])
    """
    begin, part = 1, part or PART
    while isinstance(text, str) and len(text) - begin > part:
        cut = text.find(_BETWEEN, begin + part)
        # Skip a separator whose first quotation mark is escaped, or opens a string that begins with a comma.
        while cut > 0 and text[cut - 1] in "\\,":
            cut = text.find(_BETWEEN, cut + 1)
        if cut < 0:
            break
        yield load(f"[{text[begin : cut + 1]}]")
        begin = cut + 2
    yield load(text if begin == 1 else f"[{text[begin:]}")


def first_strings(text: str, most: int | None) -> tuple[str, ...]:
    """Parse the first strings of a list that `dump` returned, all of them if `most` is None.

    >>> first_strings('["a","b","c"]', 2)
    ('a', 'b')
    """
    if most is None:
        return tuple(load(text))
    found: list[str] = []
    for some in load_strings(text, _ID_CHARACTERS * most):
        found += some
        if len(found) >= most:
            break
    return tuple(found[:most])


def whole_strings(text: str) -> str:
    """Return the beginning of a list that `dump` returned, up to the end of a string, with as much as a part of it has.

    >>> whole_strings('["a","b","c'), whole_strings('["a')
    ('["a","b"', '[')
    """
    cut = text.rfind(_BETWEEN)
    # A separator whose first quotation mark is escaped, or opens a string that begins with a comma, is none.
    while cut > 0 and text[cut - 1] in "\\,":
        cut = text.rfind(_BETWEEN, 0, cut)
    return text[: cut + 1] if cut > 0 else "["


def n_strings(pieces: Iterable[bytes]) -> int:
    r"""Count the strings of a list that `dump` returned, from pieces of its bytes.

    >>> n_strings([b'["a\\', b'"b","c', b'"]'])
    2
    """
    n_quotes, rest = 0, b""
    for piece in pieces:
        text = rest + piece
        # The character after a backslash is part of a string, and may be in the next piece.
        rest = text[-1:] if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        if b"\\" in text:
            text = _ESCAPED.sub(b"", text[: len(text) - len(rest)])
        n_quotes += text.count(b'"')
    return n_quotes // 2


def chunk_of(row: tuple[Any, ...]) -> Chunk:
    """Convert a row of `chunks` to a chunk."""
    i, _, document, ordinal, start, end, text, n_tokens, metadata = row
    return Chunk(
        id=i,
        document=document,
        ordinal=ordinal,
        start=start,
        end=end,
        text=text,
        n_tokens=n_tokens,
        metadata=load(metadata),
    )


def entity_of(row: tuple[Any, ...], most_chunks: int | None = None) -> Entity:
    """Convert a row of `entities` with its descriptions and summary, and at most `most_chunks` of its chunks."""
    _, i, name, kind, aliases, descriptions, chunks, degree, summary = row
    return Entity(
        id=i,
        name=name,
        type=kind,
        aliases=tuple(load(aliases)),
        descriptions=tuple(Description(text, chunk) for text, chunk in descriptions),
        chunks=first_strings(chunks, most_chunks),
        degree=degree,
        summary=summary or "",
    )


def relation_of(row: tuple[Any, ...]) -> Relation:
    """Convert a row of `relations` with its descriptions and summary, and the ids of its ends, to a relation."""
    _, _, _, predicates, keywords, descriptions, weight, chunks, summary, source, target = row
    return Relation(
        id=f"{source} | {target}",
        source=source,
        target=target,
        predicates=tuple(load(predicates)),
        keywords=tuple(load(keywords)),
        descriptions=tuple(Description(text, chunk) for text, chunk in descriptions),
        weight=weight,
        chunks=tuple(load(chunks)),
        summary=summary or "",
    )


def triple_of(row: tuple[Any, ...]) -> Triple:
    """Convert a row of `triples` with the ids or names of its ends to a triple."""
    _, _, _, predicate, weight, chunks, source, target = row
    return Triple(
        id=f"{source} | {predicate} | {target}",
        source=source,
        target=target,
        predicate=predicate,
        weight=weight,
        chunks=tuple(load(chunks)),
    )


def report_of(row: tuple[Any, ...]) -> Report:
    """Convert a row of `reports` to a report."""
    community, level, title, summary, findings, rating, chunks, weight, written_by = row
    return Report(
        community=community,
        level=level,
        title=title,
        summary=summary,
        findings=tuple(Finding(summary=s, explanation=e, chunks=tuple(c)) for s, e, c in load(findings)),
        rating=rating,
        chunks=tuple(load(chunks)),
        weight=weight,
        written_by=written_by,
    )


def report_row(report: Report) -> tuple[Any, ...]:
    """Return a report as a row of `reports`."""
    return (
        report.community,
        report.level,
        report.title,
        report.summary,
        dump([[f.summary, f.explanation, f.chunks] for f in report.findings]),
        report.rating,
        dump(report.chunks),
        report.weight,
        report.written_by,
    )


def report_to_json(report: Report) -> str:
    """Return a report as JSON."""
    return dump(report_row(report))


def report_from_json(text: str) -> Report:
    """Parse what `report_to_json` returned."""
    return report_of(tuple(load(text)))
