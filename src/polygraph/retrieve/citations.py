"""The check of citations: each is resolved to the sentence that supports it, or removed from the text with a note."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygraph.records import Chunk, Citation, Evidence
from polygraph.store.snapshot import Snapshot
from polygraph.text.sentences import sentence_spans
from polygraph.text.words import content_stems

_CITATION = re.compile(r"\s*((?:\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\])+)")
_NUMBER = re.compile(r"\d{1,4}")
_BOLD_END = re.compile(r"(?:\*{1,3}|_{1,3})\s+")
"""Markup at the start of a sentence that closes bold text before it."""
_MIN_SUPPORT = 0.2
"""Share of a claim's content words that a cited passage must contain; otherwise the citation is removed."""
_CLAIM_CHARACTERS = 1_000
"""Text before a citation in which its claim is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text whose citations have been checked."""

    text: str
    """Without the citations that were removed."""
    citations: tuple[Citation, ...]
    """In the order of the text, each sentence once per piece of evidence."""
    notes: tuple[str, ...]
    """What was removed, and why."""


def check_citations(text: str, evidence: Sequence[Evidence], index: Snapshot) -> CheckedText:
    """Check the citations ``[n]`` that a model wrote, where `n` counts the evidence from 1.

    A citation is removed if there is no such evidence, or if its passages share next to no content word with the claim,
    which is the sentence before it.
    """
    chunks = chunks_of(evidence, index)
    titles = index.titles([c.document for c in chunks.values()])
    citations: list[Citation] = []
    seen: set[tuple[int, str, int]] = set()
    notes: list[str] = []
    parts: list[str] = []
    end_of_last = 0
    for match in _CITATION.finditer(text):
        claim = _claim_before(text[: match.start()])
        parts.append(text[end_of_last : match.start()])
        kept = []
        for n in dict.fromkeys(int(number) for number in _NUMBER.findall(match.group())):
            if not 1 <= n <= len(evidence):
                notes.append(f"the citation [{n}] was removed: there is no such evidence")
                continue
            found = supporting_sentence(claim, evidence[n - 1], chunks)
            if found is None:
                notes.append(f"the citation [{n}] was removed: its passage does not support “{claim[:80]}”")
                continue
            chunk, start, end = found
            kept.append(n)
            if (n, chunk.id, start) not in seen:
                seen.add((n, chunk.id, start))
                citations.append(cite(n, chunk, start, end, titles))
        parts.append("".join([" ", *(f"[{n}]" for n in kept)]) if kept else "")
        end_of_last = match.end()
    parts.append(text[end_of_last:])
    if not citations:
        notes.append("no statement of this answer is supported by a citation that could be checked")
    return CheckedText(text="".join(parts).strip(), citations=tuple(citations), notes=tuple(notes))


def chunks_of(evidence: Sequence[Evidence], index: Snapshot) -> dict[str, Chunk]:
    """Read the chunks that evidence rests on, by id."""
    return {c.id: c for c in index.chunks_by_id(sorted({s.chunk for e in evidence for s in e.spans}))}


def supporting_sentence(
    claim: str, evidence: Evidence, chunks: Mapping[str, Chunk]
) -> tuple[Chunk, int, int] | None:
    """Find the sentence of a piece of evidence that shares most content words with a claim; of equals the first.

    Returns:
        The chunk, with start and end of the sentence in it; None if no chunk shares enough words with the claim.
    """
    wanted = set(content_stems(claim))
    best: tuple[float, Chunk, int, int] | None = None
    for span in evidence.spans:
        chunk = chunks.get(span.chunk)
        if chunk is None:
            continue
        if wanted and len(wanted & set(content_stems(chunk.text))) / len(wanted) < _MIN_SUPPORT:
            continue
        for begin, end in sentence_spans(chunk.text):
            markup = _BOLD_END.match(chunk.text, begin, end)
            start = markup.end() if markup else begin
            shared = len(wanted & set(content_stems(chunk.text[start:end]))) / (len(wanted) or 1)
            if best is None or shared > best[0]:
                best = (shared, chunk, start, end)
    return best[1:] if best is not None else None


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


def _claim_before(text: str) -> str:
    """Return the last sentence of a text, without citations."""
    plain = _CITATION.sub("", text)[-_CLAIM_CHARACTERS:]
    spans = sentence_spans(plain)
    return plain[spans[-1][0] : spans[-1][1]] if spans else ""
