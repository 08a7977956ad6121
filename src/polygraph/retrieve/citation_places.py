"""Where the citations of an answer stand in its text, and which other documents hold what they quote."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from polygraph.records import Chunk, Citation, Evidence, Span
from polygraph.store.snapshot import Snapshot

_MARK = re.compile(r"\[(\d{1,4})\]")
_MAX_SPANS = 20
"""Evidence that rests on more passages, such as a report, is not looked through for copies of a quote."""


def with_places(
    text: str, citations: Sequence[Citation], evidence: Sequence[Evidence], index: Snapshot
) -> tuple[Citation, ...]:
    """Return the citations of an answer with `Citation.at` and `Citation.also`.

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
    return tuple(
        replace(
            citation,
            at=citation.at or at.get(i, ()),
            also=_also(citation, evidence, chunks),
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
