"""The sentence behind a statement: the one of its evidence that shares most words with it, and the citation of it."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from polygraph.records import Chunk, Citation, Evidence
from polygraph.store.snapshot import Snapshot
from polygraph.text.claims.repeats import roots
from polygraph.text.sentences import after_markup, atx_heading, sentence_spans
from polygraph.text.words import content_stems

_NOT = re.compile(r"\bnot\b")
_MIN_SUPPORT = 0.2
"""Share of a claim's content words that the sentence must contain that supports it."""


def chunks_of(evidence: Sequence[Evidence], index: Snapshot) -> dict[str, Chunk]:
    """Read the chunks that evidence rests on, by id."""
    return {c.id: c for c in index.chunks_by_id(sorted({s.chunk for e in evidence for s in e.spans}))}


def supporting_sentence(
    claim: str, evidence: Evidence, chunks: Mapping[str, Chunk], *, min_support: float = _MIN_SUPPORT
) -> tuple[Chunk, int, int] | None:
    """Find the sentence of a piece of evidence that shares most content words with a claim; of equals the first.

    ``not`` counts as a content word. A heading, which states nothing, is only found where no other sentence shares a
    word.

    Returns:
        The chunk, with start and end of the sentence in it; None if no chunk shares enough words with the claim.
    """
    wanted = _stems_and_not(claim)
    # A sentence shares no more words than its chunk has roots of them, so that few chunks are divided into sentences.
    parts = roots(wanted)
    reach: list[tuple[int, int, Chunk]] = []
    for order, span in enumerate(evidence.spans):
        chunk = chunks.get(span.chunk)
        if chunk is not None:
            folded = casefolded(chunk.text)
            reach.append((-sum([part in folded for part in parts]), order, chunk))
    best: tuple[float, int, int, int, Chunk] | None = None
    for least, order, chunk in sorted(reach, key=lambda found: found[:2]):
        if best is not None and (least, order) > best[:2]:
            break
        if wanted and min_support > 0:
            shared = len(wanted.intersection(content_stems(chunk.text)))
            if shared / len(wanted) < min_support:
                continue
        # So does a sentence, and those that may share most come first.
        for most, start, end in sorted(
            (-sum([part in folded for part in parts]), start, end)
            for start, end, folded in _sentences(chunk.text)
        ):
            if best is not None and (most, order, start) > best[:3]:
                break
            sentence = chunk.text[start:end]
            n_shared: float = len(wanted & _stems_and_not(sentence))
            if atx_heading(sentence):
                n_shared = min(n_shared, 0.5)
            if best is None or (-n_shared, order, start) < best[:3]:
                best = (-n_shared, order, start, end, chunk)
    return (best[4], best[2], best[3]) if best is not None else None


@lru_cache(maxsize=4_096)
def _stems_and_not(text: str) -> frozenset[str]:
    return frozenset((*content_stems(text), *_NOT.findall(text)))


@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sentences of a chunk, which many answers may cite: start, end, and the text without case."""
    starts = [(after_markup(text, begin, end), end) for begin, end in sentence_spans(text)]
    return tuple((start, end, text[start:end].casefold()) for start, end in starts)


def cite(n: int, chunk: Chunk, start: int, end: int, titles: Mapping[str, str]) -> Citation:
    """Make a citation of part of a chunk; `start` and `end` count from the beginning of the chunk."""
    return Citation(
        n=n,
        document=chunk.document,
        chunk=chunk.id,
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
        title=titles.get(chunk.document, chunk.document),
    )


# A passage may be behind several pieces of evidence, each cited for several claims.
@lru_cache(maxsize=512)
def casefolded(text: str) -> str:
    """Return a text without case."""
    return text.casefold()
