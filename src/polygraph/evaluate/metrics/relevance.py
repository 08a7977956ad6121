"""Gold of a question resolved against an index, and its ranks in a retrieval."""

from collections.abc import Sequence
from dataclasses import dataclass

from polygraph.evaluate.metrics.answer_match import contains_answer, normalise_answer, normalise_passage
from polygraph.evaluate.metrics.ranking import ranks_of
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.evaluate.records import Unit
from polygraph.records import Chunk, Retrieval
from polygraph.store.snapshot import Snapshot
from polygraph.text.words import find_text

_YES_NO = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedGold:
    """Gold items to find in a ranking; an empty tuple if the question has no gold of that kind."""

    documents: tuple[frozenset[str], ...] = ()
    """For each gold item the documents that satisfy it."""
    chunks: tuple[frozenset[str], ...] = ()
    """For each gold passage the chunks that overlap it, or the gold chunk itself; passages with the same chunks are one
    item."""
    answers: tuple[str, ...] = ()
    """Normalised answers; a chunk that contains one of them satisfies the question."""
    facts: tuple[str, ...] = ()
    """Facts without spaces."""
    n_missing_passages: int = 0
    """Gold passages whose document or text is not in the index; they count as not found."""

    @property
    def measurable(self) -> bool:
        """Whether there is gold of any kind."""
        return bool(self.documents or self.chunks or self.answers or self.facts)

    def has(self, unit: Unit) -> bool:
        """Return whether there is gold of one kind."""
        kinds = {"document": self.documents, "chunk": self.chunks, "answer": self.answers, "fact": self.facts}
        return bool(kinds[unit])


def resolve_gold(question: Question, index: Snapshot) -> ResolvedGold:
    """Resolve the gold of a question against an index.

    Documents: all of `evidence`, or any of it under the rule ``any``; none if the evidence is known to be incomplete,
    since recall could not be right. Chunks: gold chunks, and the chunks that overlap a gold passage, however the index
    splits it. Answers: those that a text can contain, so not "yes", "no" or the letter of an option. A null question
    has no gold.
    """
    if question.null:
        return ResolvedGold()
    documents: tuple[frozenset[str], ...] = ()
    if question.evidence and question.evidence_complete:
        every = question.evidence_rule == "all"
        documents = tuple(map(frozenset, [[d] for d in question.evidence] if every else [question.evidence]))
    passages = [_overlapping_chunks(passage, index) for passage in question.passages]
    missing = [found for found in passages if not found]
    present = dict.fromkeys([*(frozenset([chunk]) for chunk in question.chunks), *filter(None, passages)])
    answers = dict.fromkeys(normalise_answer(answer) for answer in question.answers)
    return ResolvedGold(
        documents=documents,
        # No two items are the same chunks, otherwise the ideal ranking would show a chunk twice.
        chunks=(*present, *missing),
        answers=tuple(a for a in answers if is_searchable(a)),
        facts=tuple(dict.fromkeys(_without_spaces(fact) for fact in question.facts)),
        n_missing_passages=len(missing),
    )


def rank_gold(
    gold: ResolvedGold, retrieval: Retrieval, index: Snapshot, depth: int
) -> dict[Unit, tuple[int | None, ...]]:
    """Return the ranks of the gold of a question in what a method ranked, by kind of gold.

    A document is ranked by its first chunk. Answers have one rank, that of the first chunk that contains any of them.

    Args:
        gold: of the question.
        retrieval: provides the `ranking`; the packed context is ignored.
        index: that was searched.
        depth: number of top chunks in which answers and facts are searched for.
    """
    chunks = index.chunks_by_id(retrieval.ranking)
    texts = [chunk.text for chunk in chunks[:depth]]
    found: dict[Unit, tuple[int | None, ...]] = {}
    if gold.documents:
        documents = list(dict.fromkeys(c.document for c in chunks))
        found["document"] = tuple(ranks_of(gold.documents, documents))
    if gold.chunks:
        found["chunk"] = tuple(ranks_of(gold.chunks, [c.id for c in chunks]))
    if gold.answers:
        normalised = enumerate(map(normalise_passage, texts), 1)
        found["answer"] = (
            next((r for r, text in normalised if any(contains_answer(text, a) for a in gold.answers)), None),
        )
    if gold.facts:
        compact = list(enumerate(map(_without_spaces, texts), 1))
        found["fact"] = tuple(next((r for r, text in compact if fact in text), None) for fact in gold.facts)
    return found


def is_searchable(answer: str) -> bool:
    """Return whether a normalised answer can be searched for: not yes, no, or the letter of an option."""
    letter = len(answer) == 1 and answer.isascii() and answer.isalpha()
    return bool(answer) and answer not in _YES_NO and not letter


def _overlapping_chunks(passage: GoldPassage, index: Snapshot) -> frozenset[str]:
    start, end = passage.start, passage.end
    if end <= start:
        document = index.store.documents.get(passage.document)
        span = find_text(passage.text, document.text) if document else None
        if span is None:
            return frozenset()
        start, end = span
    chunks: Sequence[Chunk] = index.chunks_of(passage.document)
    return frozenset(c.id for c in chunks if c.start < end and start < c.end)


def _without_spaces(text: str) -> str:
    """Remove spaces and line breaks, as MultiHop-RAG's script does before it compares facts."""
    return text.replace(" ", "").replace("\n", "")
