"""The passages that come nearest to an answer that was refused, so that its reader can judge."""

from collections.abc import Sequence
from dataclasses import replace

from polygraph.records import Citation, Evidence, Span
from polygraph.retrieve.cited_sentences import chunks_of, cite, supporting_sentence
from polygraph.store.snapshot import Snapshot
from polygraph.text.sentences import atx_heading
from polygraph.text.words import content_stems

_MOST = 3
"""Passages that are returned."""
_BEGINNING = 200
"""Characters of a passage that shares no word with the question."""


def nearest_passages(
    question: str,
    sentences: Sequence[Citation],
    evidence: Sequence[Evidence],
    index: Snapshot,
) -> tuple[Citation, ...]:
    """Return the sentences of some evidence that come nearest to an answer, and of further passages the first.

    Of a further passage it is the sentence that shares most words with the question; of one that shares none, its
    beginning without headings.

    Args:
        question: as asked.
        sentences: that would be the answer if it were not refused, best first. They often answer a question that uses
            other words. Empty if a name kept the question from being answered.
        evidence: best first; numbers of the citations count its pieces from 1.
        index: the snapshot that it was retrieved from.

    Returns:
        At most `_MOST` citations, each of another passage. A piece that rests on several passages gives its first.
    """
    found = list(sentences[:_MOST])
    shown = {citation.chunk for citation in found}
    firsts: dict[str, tuple[int, Evidence, Span]] = {}
    for n, item in enumerate(evidence, 1):
        if item.spans and item.spans[0].chunk not in shown:
            firsts.setdefault(item.spans[0].chunk, (n, item, item.spans[0]))
    chosen = list(firsts.values())[: _MOST - len(found)]
    narrowed = [(n, replace(item, spans=(span,))) for n, item, span in chosen]
    chunks = chunks_of([item for _, item in narrowed], index)
    titles = index.titles(list(dict.fromkeys(span.document for _, _, span in chosen)))
    wanted = set(content_stems(question))
    for n, item in narrowed:
        if (sentence := supporting_sentence(question, item, chunks, min_support=0)) is not None:
            chunk, start, end = sentence
            text = chunk.text[start:end]
            if atx_heading(text) or wanted.isdisjoint(content_stems(text)):
                start, end = _beginning(chunk.text)
            found.append(cite(n, chunk, start, end, titles))
    return tuple(found)


def _beginning(text: str) -> tuple[int, int]:
    """Return the first characters of a text behind its headings."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not atx_heading(line):
            return start, min(len(text), start + _BEGINNING)
        start += len(line)
    return 0, min(len(text), _BEGINNING)
