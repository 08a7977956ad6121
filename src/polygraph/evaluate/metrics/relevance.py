"""What a question's gold means in one index, and at which ranks a retrieval meets it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polygraph.evaluate.metrics.ranking import first_appearances, ranks_of
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.evaluate.tokens_of_answers import contains, normalised
from polygraph.records import Chunk, Document, Retrieval
from polygraph.store.snapshot import Snapshot

YES_NO = frozenset({"yes", "no", "noanswer"})
"""Normalised answers that no passage holds as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What to look for in a ranking; an empty tuple where the question has no gold of that kind."""

    documents: tuple[frozenset[str], ...] = ()
    """For each need the documents that meet it."""
    chunks: tuple[frozenset[str], ...] = ()
    """For each gold passage the chunks that it overlaps, or the gold chunk itself."""
    answers: tuple[str, ...] = ()
    """Normalised answers of which one should stand in a chunk."""
    facts: tuple[str, ...] = ()
    """Facts without white space."""
    unplaced: int = 0
    """Gold passages whose document or words are not in the index; they count as never found."""

    @property
    def measurable(self) -> bool:
        """Whether a ranking can be right or wrong."""
        return bool(self.documents or self.chunks or self.answers or self.facts)

    def has(self, unit: Literal["document", "chunk", "answer", "fact"]) -> bool:
        """Whether there is gold of one kind."""
        kinds = {"document": self.documents, "chunk": self.chunks, "answer": self.answers, "fact": self.facts}
        return bool(kinds[unit])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """At which rank, from 1, each need was met; None where it was not. Empty where there is no gold."""

    documents: tuple[int | None, ...] = ()
    """In the ranking of documents by the first appearance of one of their chunks."""
    chunks: tuple[int | None, ...] = ()
    answer: tuple[int | None, ...] = ()
    """One rank: that of the first chunk that holds an answer."""
    facts: tuple[int | None, ...] = ()


def gold_of(question: Question, index: Snapshot) -> Gold:
    """Resolve the gold of a question against an index.

    By document: all of `evidence`, or one of it where the rule is ``any``. A question whose evidence is known not to
    be complete has no gold by document, since its recall could not be right. By chunk: gold chunks, and the chunks that
    a gold passage overlaps, so that a passage is found wherever the index cut it. By answer: answers that a text can
    hold; "yes" and "no" and the single letters of multiple choice cannot be looked for. A null question has no gold.
    """
    if question.null:
        return Gold()
    documents: tuple[frozenset[str], ...] = ()
    if question.evidence and question.evidence_complete:
        every = question.evidence_rule == "all"
        documents = tuple(map(frozenset, [[d] for d in question.evidence] if every else [question.evidence]))
    chunks: list[frozenset[str]] = [frozenset([chunk]) for chunk in question.chunks]
    unplaced = 0
    for passage in question.passages:
        over = _chunks_over(passage, index)
        unplaced += not over
        chunks.append(over)
    answers = dict.fromkeys(normalised(answer) for answer in question.answers)
    return Gold(
        documents=documents,
        chunks=tuple(chunks),
        answers=tuple(a for a in answers if can_stand_in_text(a)),
        facts=tuple(dict.fromkeys(_unspaced(fact) for fact in question.facts)),
        unplaced=unplaced,
    )


def found_in(gold: Gold, retrieval: Retrieval, index: Snapshot, depth: int) -> Found:
    """Look for the gold of a question in what a method ranked.

    Args:
        gold: of the question.
        retrieval: whose `ranking` is read; what was packed does not matter.
        index: that it comes from.
        depth: answers and facts are looked for in so many first chunks.
    """
    listed = index.chunks_by_id(retrieval.ranking)
    texts = [chunk.text for chunk in listed[:depth]]
    answer: tuple[int | None, ...] = ()
    if gold.answers:
        plain = enumerate(map(normalised, texts), 1)
        answer = (next((r for r, text in plain if any(contains(text, a) for a in gold.answers)), None),)
    facts: tuple[int | None, ...] = ()
    if gold.facts:
        bare = list(enumerate(map(_unspaced, texts), 1))
        facts = tuple(next((r for r, text in bare if fact in text), None) for fact in gold.facts)
    return Found(
        documents=tuple(ranks_of(gold.documents, first_appearances([c.document for c in listed]))),
        chunks=tuple(ranks_of(gold.chunks, [c.id for c in listed])),
        answer=answer,
        facts=facts,
    )


def _chunks_over(passage: GoldPassage, index: Snapshot) -> frozenset[str]:
    start, end = passage.start, passage.end
    if end <= start:
        document = index.store.document(passage.document)
        place = _place(passage.text, document) if document else None
        if place is None:
            return frozenset()
        start, end = place
    chunks: Sequence[Chunk] = index.chunks_of(passage.document)
    return frozenset(c.id for c in chunks if c.start < end and start < c.end)


def _place(text: str, document: Document) -> tuple[int, int] | None:
    """Where words stand in a document, white space aside."""
    words = text.split()
    if not words:
        return None
    # Only literal words and runs of white space: the search is linear but for repeats of the first word.
    found = re.search(r"\s+".join(map(re.escape, words)), document.text)
    return found.span() if found else None


def can_stand_in_text(answer: str) -> bool:
    """Whether a normalised answer can be looked for: not yes, no, or a letter of multiple choice."""
    letter = len(answer) == 1 and answer.isascii() and answer.isalpha()
    return bool(answer) and answer not in YES_NO and not letter


def _unspaced(text: str) -> str:
    """Without spaces and line breaks, as MultiHop-RAG's script compares facts."""
    return text.replace(" ", "").replace("\n", "")
