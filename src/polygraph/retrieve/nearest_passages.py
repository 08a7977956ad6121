"""The passages that come nearest to a question that was refused, so that its reader can judge."""

from collections.abc import Sequence
from dataclasses import replace

from polygraph.records import Citation, Evidence, Span
from polygraph.retrieve.citation_places import with_places
from polygraph.retrieve.citations import chunks_of, cite, supporting_sentence
from polygraph.store.snapshot import Snapshot
from polygraph.text.sentences import atx_heading
from polygraph.text.words import content_stems

_BEGINNING = 200
"""Characters of a passage that shares no word with the question."""


def nearest_passages(
    question: str, evidence: Sequence[Evidence], index: Snapshot, *, most: int = 3
) -> tuple[Citation, ...]:
    """Return the first passages of some evidence, each with its sentence that shares most words with the question.

    A passage that shares none shows its beginning, without headings.

    Args:
        question: as asked.
        evidence: best first; numbers of the citations count its pieces from 1.
        index: the snapshot that it was retrieved from.
        most: passages to return. A piece that rests on several passages gives its first.
    """
    firsts: dict[str, tuple[int, Evidence, Span]] = {}
    for n, item in enumerate(evidence, 1):
        if item.spans:
            firsts.setdefault(item.spans[0].chunk, (n, item, item.spans[0]))
    chosen = list(firsts.values())[:most]
    narrowed = [(n, replace(item, spans=(span,))) for n, item, span in chosen]
    chunks = chunks_of([item for _, item in narrowed], index)
    titles = index.titles(list(dict.fromkeys(span.document for _, _, span in chosen)))
    wanted = set(content_stems(question))
    found = []
    for n, item in narrowed:
        if (sentence := supporting_sentence(question, item, chunks, min_support=0)) is not None:
            chunk, start, end = sentence
            text = chunk.text[start:end]
            if atx_heading(text) or wanted.isdisjoint(content_stems(text)):
                start, end = _beginning(chunk.text)
            found.append(cite(n, chunk, start, end, titles))
    return with_places("", found, (), index)


def _beginning(text: str) -> tuple[int, int]:
    """Return the first characters of a text behind its headings."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not atx_heading(line):
            return start, min(len(text), start + _BEGINNING)
        start += len(line)
    return 0, min(len(text), _BEGINNING)
