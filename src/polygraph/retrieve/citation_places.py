"""Where citations stand in an answer and in their documents, and which other documents hold what they quote."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from polygraph.records import Chunk, Citation, Evidence, Span, Table
from polygraph.store.snapshot import Snapshot
from polygraph.text.headings import headings
from polygraph.text.prose import shorten
from polygraph.text.sentences import is_table_row

_MARK = re.compile(r"\[(\d{1,4})\]")
_MAX_TITLE = 80
"""Characters of a heading in a place."""
_MAX_SPANS = 20
"""Evidence that rests on more passages, such as a report, is not looked through for copies of a quote."""


def with_places(
    text: str, citations: Sequence[Citation], evidence: Sequence[Evidence], index: Snapshot
) -> tuple[Citation, ...]:
    """Return the citations of an answer with `Citation.at`, `Citation.also` and `Citation.place`.

    Args:
        text: of the answer.
        citations: in the order of the text; those that have `at` keep it.
        evidence: in the order of its numbers.
        index: the snapshot that it was retrieved from.
    """
    marks: dict[int, list[int]] = {}
    for mark in _MARK.finditer(text):
        marks.setdefault(int(mark[1]), []).append(mark.start())
    with_number: dict[int, list[int]] = {}
    for i, citation in enumerate(citations):
        with_number.setdefault(citation.n, []).append(i)
    at: dict[int, tuple[int, ...]] = {}
    for n, positions in with_number.items():
        places = marks.get(n, [])
        if len(places) == len(positions):
            at.update((i, (place,)) for i, place in zip(positions, places, strict=True))
        elif len(places) == 1 or len(positions) == 1:
            at.update((i, tuple(places)) for i in positions)
    chunks = _chunks_with_copies(citations, evidence, index)
    places_in_documents = _places(citations, index)
    return tuple(
        replace(
            citation,
            at=citation.at or at.get(i, ()),
            also=_also(citation, evidence, chunks),
            place=places_in_documents[i],
        )
        for i, citation in enumerate(citations)
    )


def letters(citations: Sequence[Citation]) -> dict[int, str]:
    """Return letters for marks of one number that stand for different documents, ``a`` for those of the first one.

    Returns:
        Letters by the offset of the mark in the text; none for a number whose marks all stand for the same documents.
    """
    sources: dict[int, dict[int, set[str]]] = {}
    for citation in citations:
        for offset in citation.at:
            sources.setdefault(citation.n, {}).setdefault(offset, set()).add(citation.document)
    found: dict[int, str] = {}
    for by_offset in sources.values():
        groups: dict[frozenset[str], list[int]] = {}
        for offset in sorted(by_offset):
            groups.setdefault(frozenset(by_offset[offset]), []).append(offset)
        if 1 < len(groups) <= len(ascii_lowercase):
            for letter, offsets in zip(ascii_lowercase, groups.values(), strict=False):
                found.update(dict.fromkeys(offsets, letter))
    return found


def with_letters(text: str, of_marks: Mapping[int, str]) -> str:
    """Write the letters of `letters` into the marks of a text.

    >>> with_letters("One [7]. Two [7].", {4: "a", 13: "b"})
    'One [7a]. Two [7b].'
    """
    return _MARK.sub(lambda mark: f"[{mark[1]}{of_marks.get(mark.start(), '')}]", text)


def _places(citations: Sequence[Citation], index: Snapshot) -> list[str]:
    """Return the `Citation.place` of each citation."""
    chunks = {c.id: c for c in index.chunks_by_id(list(dict.fromkeys(c.chunk for c in citations)))}
    with_rows = dict.fromkeys(c.document for c in citations if is_table_row(" ".join(c.quote.split())))
    tables = index.tables_of(list(with_rows)) if with_rows else {}
    found = []
    for citation in citations:
        chunk = chunks.get(citation.chunk)
        place = _row(citation, tables.get(citation.document, ()))
        if not place and chunk is not None:
            place = _page_and_section(citation, chunk, index) or _passage(chunk, index)
        found.append(place)
    return found


def _row(citation: Citation, tables: Sequence[Table]) -> str:
    for number, table in enumerate(tables, 1):
        for row, (start, end) in enumerate(table.spans, 1):
            if start <= citation.start < end:
                title = shorten(table.title, _MAX_TITLE)
                # Of several sheets, one may be called like the file.
                is_one_of_several = len(tables) > 1 and sum(t.title == table.title for t in tables) == 1
                if title and (is_one_of_several or not _same(title, citation.title)):
                    return f"row {row} of “{title}”"
                return f"row {row} of table {number}" if len(tables) > 1 else f"row {row}"
    return ""


def _page_and_section(citation: Citation, chunk: Chunk, index: Snapshot) -> str:
    section = _section(chunk, citation.start - chunk.start)
    parts = [f"page {page}"] if (page := _page(citation, chunk, index)) else []
    if section and not _same(section, citation.title):
        parts.append(f"section “{shorten(section, _MAX_TITLE)}”")
    return ", ".join(parts)


def _page(citation: Citation, chunk: Chunk, index: Snapshot) -> int:
    """Return the page on which a quote begins, from 1; 0 in a document without pages."""
    if "page" not in chunk.metadata:
        return 0
    pages = index.store.documents.metadata_of([citation.document]).get(citation.document, {}).get("pages")
    starts = [page for page in pages if isinstance(page, int)] if isinstance(pages, list) else []
    return max(1, bisect_right(starts, citation.start)) if starts else 0


def _section(chunk: Chunk, offset: int) -> str:
    """Return the heading above a position in a chunk; empty if there is none."""
    inside = headings(chunk.text)
    if above := [title for start, title in inside if start <= offset]:
        return above[-1]
    outer = chunk.metadata.get("begins_in")
    nearest = outer[-1] if isinstance(outer, list) and outer else chunk.metadata.get("section")
    # The section of a chunk is that of its middle, whose heading may be behind the position.
    is_known = isinstance(nearest, str) and all(title != nearest for _, title in inside)
    return nearest if is_known and isinstance(nearest, str) else ""


def _passage(chunk: Chunk, index: Snapshot) -> str:
    n = index.store.documents.n_chunks_of(chunk.document)
    return f"passage {chunk.ordinal + 1} of {n}" if n > 1 else ""


def _same(heading: str, title: str) -> bool:
    """Return whether a heading is the title of its document, or the beginning of one that is wrapped."""
    return title.casefold().startswith(heading.rstrip("…").casefold())


def _chunks_with_copies(
    citations: Sequence[Citation], evidence: Sequence[Evidence], index: Snapshot
) -> dict[str, Chunk]:
    """Read the passages of other documents behind the same evidence."""
    wanted = {span.chunk for c in citations for span in _others(c, evidence)}
    return {chunk.id: chunk for chunk in index.chunks_by_id(sorted(wanted))} if wanted else {}


def _others(citation: Citation, evidence: Sequence[Evidence]) -> list[Span]:
    if not 1 <= citation.n <= len(evidence):
        return []
    spans = evidence[citation.n - 1].spans
    return [s for s in spans if s.document != citation.document] if len(spans) <= _MAX_SPANS else []


def _also(citation: Citation, evidence: Sequence[Evidence], chunks: Mapping[str, Chunk]) -> tuple[str, ...]:
    """Return the other documents that hold the quote, in the order of the evidence."""
    return tuple(
        dict.fromkeys(
            span.document
            for span in _others(citation, evidence)
            if span.chunk in chunks and citation.quote in chunks[span.chunk].text
        )
    )
