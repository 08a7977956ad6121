"""How two named things are connected, without a model: the sentences that name both, or lead from one to the other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polygraph.graph.reports.sentence_quality import name_likeness
from polygraph.ids import document_of_chunk
from polygraph.models import Models
from polygraph.records import Chunk, Entity, Retrieval
from polygraph.retrieve.added_chunks import RuleAnswer, with_chunks
from polygraph.retrieve.cited_sentences import cite
from polygraph.retrieve.evidence import passages_of
from polygraph.retrieve.question_names import entities_in_question
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.sentences import MAIL_HEADER, Candidate, candidate_sentences
from polygraph.tasks.offline.verdicts import asks_for_verdict
from polygraph.text.emphasis import without_emphasis
from polygraph.text.words import content_stem_set

NEEDS = frozenset({"graph", "mentions"})
"""Layers without which connections are not sought."""
_ASKS = re.compile(
    r"\b(?:connected|connections?|related|relations?|relationships?|linked|links?|associated|to do with|"
    r"know each other)\b",
    re.IGNORECASE,
)
_CHUNKS = 12
"""Passages that are read for one pair of names."""
_MOST = 2
"""Sentences that an answer shows."""
_MARGIN = 2.5
"""In logits, of a second sentence below the first."""
_MAX_DOCUMENTS = 3
"""A third thing connects two only if so few documents mention it: what occurs everywhere connects everything."""
_MAX_DISTANCE = 3
"""Sentences from one name to the other in a passage."""
_TRIED = 5
"""Third things that are tried."""
_MAX_RELATIONS = 1_000
_NAME = 0.5
"""Least `name_likeness` of a third thing: no common word, and no date."""


def answer_connection(
    question: str, retrieval: Retrieval, index: Snapshot, models: Models
) -> RuleAnswer | None:
    """Answer how two entities that a question names are connected; None for other questions, or if nothing does.

    In this order: the sentences that name both, best first by the cross-encoder; two sentences that lead from one to
    the other through a third entity, which few documents mention; two sentences of a passage that stand close.
    """
    if not _ASKS.search(question) or asks_for_verdict(question) or not index.layers >= NEEDS:
        return None
    named = {
        text: row for text, row in reversed(entities_in_question(question, index)) if text != text.lower()
    }
    rows = list(dict.fromkeys(named.values()))[::-1]
    if len(rows) != 2:
        return None
    a, b = (_Thing.of(row, entity) for row, entity in zip(rows, index.entities(rows), strict=True))
    shared = _Passages(_shared_chunks(a, b, retrieval, index), index)
    if both := [c for c in shared.sentences if a.is_in(c) and b.is_in(c)]:
        return _draft("", shared, _best(question, both, models), retrieval, index)
    if found := _through_another(a, b, index):
        return _draft(f"Through {found[0]}: ", found[1], found[2], retrieval, index)
    if near := _near(question, a, b, shared.sentences, models):
        return _draft("In the same document: ", shared, near, retrieval, index)
    return None


@dataclass(frozen=True, slots=True)
class _Thing:
    """An entity with the spellings of its name, as stems."""

    row: int
    name: str
    spellings: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, row: int, entity: Entity) -> "_Thing":
        spellings = [content_stem_set(name) for name in (entity.name, *entity.aliases)]
        return cls(row, entity.name, tuple(each for each in spellings if each))

    def is_in(self, candidate: Candidate) -> bool:
        stems = content_stem_set(candidate.quoted.text)
        return any(spelling <= stems for spelling in self.spellings)


class _Passages:
    """Some chunks with their sentences."""

    def __init__(self, chunks: Sequence[Chunk], index: Snapshot) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        passages = passages_of([chunk.id for chunk in chunks], index, read=chunks) if chunks else []
        self.sentences = [
            c for c in candidate_sentences(passages) if not (c.is_heading or MAIL_HEADER.match(c.quoted.text))
        ]


def _shared_chunks(a: _Thing, b: _Thing, retrieval: Retrieval, index: Snapshot) -> list[Chunk]:
    """Return the first chunks that mention both, those of the evidence before others."""
    mentions = index.edges("mentions")
    both = np.intersect1d(mentions.neighbours(a.row), mentions.neighbours(b.row)) - index.n_entities
    ids = index.chunk_ids(both[both >= 0].tolist())
    retrieved = dict.fromkeys(span.chunk for item in retrieval.evidence for span in item.spans)
    known = set(ids)
    first = [chunk for chunk in retrieved if chunk in known]
    return index.chunks_by_id(list(dict.fromkeys([*first, *ids]))[:_CHUNKS])


def _best(question: str, sentences: Sequence[Candidate], models: Models) -> list[Candidate]:
    """Return the sentences that the cross-encoder rates highest, or without one the shortest; ties in their order."""
    if models.reranker is None:
        return sorted(sentences, key=lambda c: len(c.quoted.text))[:1]
    logits = models.calls.score(models.reranker, question, [c.context for c in sentences], stage="answer")
    rated = sorted(
        zip((round(float(x), 4) for x in logits), range(len(sentences)), strict=True),
        key=lambda r: (-r[0], r[1]),
    )
    return [sentences[n] for logit, n in rated[:_MOST] if logit >= rated[0][0] - _MARGIN]


def _through_another(a: _Thing, b: _Thing, index: Snapshot) -> tuple[str, _Passages, list[Candidate]] | None:
    """Find a sentence that names the first and a third entity, and one that names this and the second."""
    ends = [_relations_of(thing.row, index) for thing in (a, b)]
    common = [row for row in ends[0] if row in ends[1] and row not in (a.row, b.row)]
    few: list[tuple[int, int, Entity]] = []
    for row, entity in zip(common, index.entities(common), strict=True):
        n_documents = len({document_of_chunk(chunk) for chunk in entity.chunks})
        if n_documents <= _MAX_DOCUMENTS and name_likeness(entity.name) >= _NAME:
            few.append((n_documents, row, entity))
    for _, row, entity in sorted(few, key=lambda each: each[:2])[:_TRIED]:
        third = _Thing.of(row, entity)
        relations = index.relations([ends[0][row], ends[1][row]])
        chunks = dict.fromkeys(chunk for each in relations.values() for chunk in each.chunks)
        passages = _Passages(index.chunks_by_id(list(chunks)[:_CHUNKS]), index)
        steps = [
            next((c for c in passages.sentences if thing.is_in(c) and third.is_in(c)), None)
            for thing in (a, b)
        ]
        if steps[0] is not None and steps[1] is not None:
            return third.name, passages, [steps[0], steps[1]]
    return None


def _relations_of(row: int, index: Snapshot) -> dict[int, int]:
    """Return the rows of the relations of an entity by the row of the other."""
    return {
        each.target if each.source == row else each.source: each.n
        for each in index.relations_at([row], most=_MAX_RELATIONS)
    }


def _near(
    question: str, a: _Thing, b: _Thing, sentences: Sequence[Candidate], models: Models
) -> list[Candidate]:
    """Return two sentences of a passage, one with each name, that stand close, in their order.

    Of each passage the closest two count; of several passages, the cross-encoder decides, or else the distance.
    """
    places = [[n for n, c in enumerate(sentences) if thing.is_in(c)] for thing in (a, b)]
    closest: dict[str, tuple[int, int, int]] = {}
    for x in places[0]:
        for y in places[1]:
            chunk = sentences[x].quoted.span.chunk
            found = (abs(x - y), min(x, y), max(x, y))
            if chunk == sentences[y].quoted.span.chunk and found[0] <= _MAX_DISTANCE:
                closest[chunk] = min(found, closest.get(chunk, found))
    pairs = sorted(closest.values())
    if models.reranker is not None and len(pairs) > 1:
        spoken = [" ".join(sentences[n].quoted.text for n in range(x, y + 1)) for _, x, y in pairs]
        logits = models.calls.score(models.reranker, question, spoken, stage="answer")
        pairs = [pairs[max(range(len(pairs)), key=lambda n: (round(float(logits[n]), 4), -n))]]
    return [sentences[n] for n in pairs[0][1:]] if pairs else []


def _draft(
    lead: str, passages: _Passages, sentences: Sequence[Candidate], retrieval: Retrieval, index: Snapshot
) -> RuleAnswer | None:
    chunks = [passages.chunks[c.quoted.span.chunk] for c in sentences]
    retrieval, numbers = with_chunks(
        retrieval, chunks, "names what the question asks the connection of", index
    )
    titles = index.titles([chunk.document for chunk in chunks])
    parts, citations = [], []
    for candidate, chunk in zip(sentences, chunks, strict=True):
        if chunk.id in numbers:
            span = candidate.quoted.span
            n = numbers[chunk.id]
            parts.append(f"{without_emphasis(candidate.quoted.text)} [{n}]")
            citations.append(cite(n, chunk, span.start - chunk.start, span.end - chunk.start, titles))
    if len(parts) < len(sentences):
        return None
    return RuleAnswer(text=lead + " ".join(parts), citations=tuple(citations), retrieval=retrieval)
