"""From a retrieval to a cited answer, or an explicit refusal."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from polygraph.models import Models
from polygraph.records import Answer, Chunk, Citation, Evidence, Retrieval
from polygraph.retrieve.evidence import passages_of
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answer import NO_ANSWER, Turn, write_answer
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.question_scope import is_global_question
from polygraph.tasks.offline.sentences import Passage
from polygraph.text.sentences import sentences
from polygraph.text.words import content

_PASSAGES = 16
"""Chunks from which an extractive answer is made."""
_POINTS = 6
"""Points of an extractive answer about the whole collection."""
_PER_DOCUMENT = 2
"""Of them from one document, at most."""
_CLOSING = re.compile(r"(?:\*{1,3}|_{1,3})\s+")
"""Closes what stood in bold before a sentence."""
_MARKS = re.compile(r"\s*((?:\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\])+)")
_NUMBER = re.compile(r"\d{1,4}")
_OPENING = 40
"""Characters of a reply within which it says whether it is a refusal."""
_SUPPORT = 0.2
"""Share of a claim's content words that a cited passage must hold, or else the citation is removed."""


def answer(
    question: str,
    retrieval: Retrieval,
    index: Snapshot,
    models: Models,
    *,
    history: Sequence[Turn] = (),
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """Answer a question from what was retrieved.

    With a chat model: one call, or the draft of a method that has made one; its citations are resolved to sentences
    of the documents, and those whose passage shares next to nothing with the claim are removed and noted. Without:
    sentences of the documents.

    Args:
        question: as asked.
        retrieval: by any method.
        index: the state that it was retrieved from.
        models: in use.
        history: earlier questions and answers of a conversation.
        on_text: given pieces of the text as they come (whole sentences without a model).
    """
    started = time.perf_counter()
    with models.calls.meter() as meter:
        if not retrieval.evidence:
            draft = _refusal(retrieval.empty_because or "nothing was found")
        elif models.chat is None:
            draft = _extract(question, retrieval, index, models)
        elif retrieval.draft:
            draft = _resolve(retrieval.draft, retrieval, index)
        else:
            shown = _Opening(on_text) if on_text is not None else None
            ended: list[str] = []
            text = write_answer(
                question,
                retrieval.context,
                models,
                models.chat,
                method=retrieval.method,
                form=retrieval.answer_form,
                history=history,
                on_text=shown,
                on_finish=ended.append,
            )
            draft = _resolve(text, retrieval, index)
            if "length" in ended:
                draft = replace(
                    draft, notes=(*draft.notes, "the answer was cut off at the limit of its length")
                )
            if shown is not None:
                shown.end(draft)
    if on_text is not None and (models.chat is None or not retrieval.evidence or retrieval.draft):
        on_text(draft.text)
    usage = retrieval.usage + replace(meter.usage, seconds=time.perf_counter() - started)
    if models.chat is not None:
        models.calls.log_question(retrieval.method, usage)
    return Answer(
        question=question,
        method=retrieval.method,
        text=draft.text,
        refused=draft.refused,
        citations=draft.citations,
        retrieval=retrieval,
        usage=usage,
        extractive=models.chat is None,
        notes=draft.notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    text: str
    refused: bool = False
    citations: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()


class _Opening:
    """Hands a streamed reply on once it is clear that it is no refusal, which is shown in our words instead."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._held = ""
        self._passes = False

    def __call__(self, piece: str) -> None:
        """Take the next piece of the reply."""
        if self._passes:
            self._on_text(piece)
            return
        self._held += piece
        if len(self._held.lstrip()) >= _OPENING and NO_ANSWER not in self._held.lstrip()[:_OPENING]:
            self._passes = True
            self._on_text(self._held)

    def end(self, draft: _Draft) -> None:
        """Show what was held back."""
        if not self._passes:
            self._on_text(draft.text if draft.refused else self._held)


def _refusal(reason: str) -> _Draft:
    return _Draft(text=f"The documents do not answer this: {reason}.", refused=True)


# --- without a model ----------------------------------------------------------------------------------


def _extract(question: str, retrieval: Retrieval, index: Snapshot, models: Models) -> _Draft:
    if is_global_question(question) and retrieval.answer_form == "points":
        return _list_points(retrieval, index)
    passages = _passages(question, retrieval.evidence, index)
    selection = answer_with_sentences(question, passages, models)
    if not selection.sentences:
        broad = is_global_question(question) and retrieval.answer_form != "points"
        hint = "; a question about the whole collection is one for `graphrag-global`" if broad else ""
        return _refusal(selection.refused_because + hint)
    chunks = {p.chunk.id: p.chunk for p in passages}
    titles = {p.chunk.document: p.title for p in passages}
    citations = []
    for s in selection.sentences:
        chunk = chunks[s.span.chunk]
        citations.append(
            _citation(s.evidence, chunk, s.span.start - chunk.start, s.span.end - chunk.start, titles)
        )
    return _Draft(
        text=" ".join(f"{s.text} [{s.evidence}]" for s in selection.sentences), citations=tuple(citations)
    )


def _list_points(retrieval: Retrieval, index: Snapshot) -> _Draft:
    """Answer a question about the whole collection: the best points, no two from one passage, few per document."""
    chunks = {
        c.id: c for c in index.chunks_by_id(sorted({s.chunk for e in retrieval.evidence for s in e.spans}))
    }
    titles = index.titles([c.document for c in chunks.values()])
    lines: list[str] = []
    citations: list[Citation] = []
    for n, item in enumerate(retrieval.evidence, 1):
        found = _best_sentence(item.text, item, chunks)
        if found is None:
            continue
        chunk, start, end = found
        cited = [c.document for c in citations]
        if any(c.chunk == chunk.id for c in citations) or cited.count(chunk.document) >= _PER_DOCUMENT:
            continue
        lines.append(f"- {' '.join(item.text.split())} [{n}]")
        citations.append(_citation(n, chunk, start, end, titles))
        if len(lines) == _POINTS:
            break
    return _Draft(text="\n".join(lines), citations=tuple(citations))


def _citation(n: int, chunk: Chunk, start: int, end: int, titles: Mapping[str, str]) -> Citation:
    """A citation of a stretch of a chunk; `start` and `end` count from the chunk's beginning."""
    return Citation(
        n=n,
        document=chunk.document,
        chunk=chunk.id,
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
        title=titles.get(chunk.document, chunk.document),
    )


def _passages(question: str, evidence: Sequence[Evidence], index: Snapshot) -> list[Passage]:
    """Chunks under the evidence: chunks themselves first, then what other kinds rest on, by shared words."""
    numbers: dict[str, int] = {}
    for direct in (True, False):
        for n, item in enumerate(evidence, 1):
            if (item.kind == "chunk") == direct:
                for span in item.spans:
                    numbers.setdefault(span.chunk, n)
    chunks = index.chunks_by_id(list(numbers))
    if len(chunks) > _PASSAGES:
        wanted = set(content(question))
        shared = [len(wanted & set(content(c.text))) for c in chunks]
        # The order of the evidence counts too: a place costs as much as a twentieth of a word.
        order = sorted(range(len(chunks)), key=lambda i: (-(shared[i] - i / 20), i))[:_PASSAGES]
        chunks = [chunks[i] for i in sorted(order)]
    return passages_of(numbers, index, read=chunks)


# --- with a model -------------------------------------------------------------------------------------


def _resolve(text: str, retrieval: Retrieval, index: Snapshot) -> _Draft:
    """Check a model's citations and give each a sentence of a document; `n` is the number of the evidence."""
    if text.startswith(NO_ANSWER) or NO_ANSWER in text[:_OPENING]:
        reason = text.partition(NO_ANSWER)[2].strip().rstrip(".") or "the evidence does not suffice"
        return _refusal(
            reason[0].lower() + reason[1:] if reason[:1].isupper() and reason[1:2].islower() else reason
        )
    evidence = retrieval.evidence
    chunks = {c.id: c for c in index.chunks_by_id(sorted({s.chunk for e in evidence for s in e.spans}))}
    titles = index.titles([c.document for c in chunks.values()])
    citations: list[Citation] = []
    seen: set[tuple[int, str, int]] = set()
    notes: list[str] = []
    parts: list[str] = []
    at = 0
    for mark in _MARKS.finditer(text):
        claim = _claim(text[: mark.start()])
        parts.append(text[at : mark.start()])
        cited = []
        for n in dict.fromkeys(int(number) for number in _NUMBER.findall(mark.group())):
            if not 1 <= n <= len(evidence):
                notes.append(f"the citation [{n}] was removed: there is no such evidence")
                continue
            found = _best_sentence(claim, evidence[n - 1], chunks)
            if found is None:
                notes.append(f"the citation [{n}] was removed: its passage does not support “{claim[:80]}”")
                continue
            chunk, start, end = found
            cited.append(n)
            if (n, chunk.id, start) not in seen:
                seen.add((n, chunk.id, start))
                citations.append(_citation(n, chunk, start, end, titles))
        parts.append("".join([" ", *(f"[{n}]" for n in cited)]) if cited else "")
        at = mark.end()
    parts.append(text[at:])
    if not citations:
        notes.append("no statement of this answer is supported by a citation that could be checked")
    return _Draft(text="".join(parts).strip(), citations=tuple(citations), notes=tuple(notes))


def _claim(text: str) -> str:
    """The sentence before a citation, earlier citations taken out."""
    plain = _MARKS.sub("", text)
    spans = sentences(plain[-1_000:])
    return plain[-1_000:][spans[-1][0] : spans[-1][1]] if spans else ""


def _best_sentence(claim: str, evidence: Evidence, chunks: dict[str, Chunk]) -> tuple[Chunk, int, int] | None:
    """The sentence under a piece of evidence that shares most content words with a claim."""
    wanted = set(content(claim))
    best: tuple[float, Chunk, int, int] | None = None
    for span in evidence.spans:
        chunk = chunks.get(span.chunk)
        if chunk is None:
            continue
        if wanted and len(wanted & set(content(chunk.text))) / len(wanted) < _SUPPORT:
            continue
        for begin, end in sentences(chunk.text):
            closing = _CLOSING.match(chunk.text, begin, end)
            start = closing.end() if closing else begin
            shared = len(wanted & set(content(chunk.text[start:end]))) / (len(wanted) or 1)
            if best is None or shared > best[0]:
                best = (shared, chunk, start, end)
    return best[1:] if best is not None else None
