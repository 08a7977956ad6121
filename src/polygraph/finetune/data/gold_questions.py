"""Questions with gold, resolved to the passages of the index that hold their answers."""

from collections.abc import Iterable, Sequence

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_match import contains_answer, normalise_answer, normalise_passage
from polygraph.evaluate.metrics.relevance import is_searchable
from polygraph.evaluate.questions.file import GoldPassage, Question
from polygraph.finetune.data.quotes import (
    MAX_QUOTE,
    best_sentence,
    locate,
    oracles_of,
    require_at_most,
    sentences,
    shared,
)
from polygraph.finetune.data.records import (
    DropError,
    DroppedQuestion,
    QuestionSet,
    Quote,
    TrainingQuestion,
    dropped,
)
from polygraph.records import Chunk
from polygraph.store.snapshot import Snapshot
from polygraph.text.words import content_stems

_MAX_CHUNKS = 2_000
"""Chunks of one document that are searched for an answer."""
_IN_ANSWER = 2.0
"""What a sentence with the answer is preferred by, in shares of the question's words."""


def check_gold(questions: Sequence[Question], name: str) -> None:
    """Check that some question has an answer and says where it is.

    Args:
        questions: to learn from.
        name: of their file, for the message.

    Raises:
        BadInput: if there is none.
    """
    if not any(_has_gold(q) for q in questions):
        raise BadInput(
            f"{name} has no gold to learn from: none of its {len(questions):,} questions has an answer and the "
            "document or passage that holds it. Add to its lines `answer`, and `quotes`, `passages` or `evidence`, as "
            'in: {"question": "...", "answer": "...", "evidence": ["DOCUMENT"]}'
        )


def resolve_questions(questions: Sequence[Question], index: Snapshot, *, max_oracles: int) -> QuestionSet:
    """Find the passages and sentences that hold the answers of questions.

    Gold passages, quotes and facts are looked up word for word; of gold chunks and documents, the sentence with the
    answer and most words of the question is taken. Questions that cannot be resolved are dropped with the reason.

    Args:
        questions: with gold.
        index: that holds their evidence.
        max_oracles: most passages that a question may rest on.
    """
    found: list[TrainingQuestion] = []
    left_out: list[DroppedQuestion] = []
    seen: dict[tuple[str, ...], str] = {}
    for question in questions:
        words = tuple(sorted(content_stems(question.question)))
        try:
            if words and words in seen:
                raise DropError("it repeats an earlier question")
            found.append(_resolve(question, index, max_oracles))
            seen[words] = question.id
        except DropError as reason:
            left_out.append(dropped(question, reason))
    return QuestionSet(questions=tuple(found), dropped=tuple(left_out))


def _has_gold(question: Question) -> bool:
    return bool(
        question.answers and (question.evidence or question.chunks or question.passages or question.facts)
    )


def _resolve(question: Question, index: Snapshot, max_oracles: int) -> TrainingQuestion:
    kind = question.type or "question"
    if question.null:
        return TrainingQuestion(id=question.id, kind=kind, question=question.question)
    if not question.answers:
        raise DropError(
            "its gold is a summary, not an answer"
            if question.references or question.points
            else "it has no answer"
        )
    if not _has_gold(question):
        raise DropError("its gold does not say where the answer is")
    gold = _gold_quotes(question, index)
    quotes = gold or _searched(question, index)
    if not quotes:
        raise DropError("its evidence is not in the index, or only a part of it")
    answers = [a for a in map(normalise_answer, question.answers) if is_searchable(a)]
    oracles = oracles_of(quotes, index.chunks_by_id([q.chunk for q in quotes]))
    texts = [normalise_passage(chunk.text) for chunk in oracles]
    # A quote of the gold is trusted even if its answer is in other words.
    if answers and not gold and not any(contains_answer(text, a) for text in texts for a in answers):
        raise DropError("no passage of its evidence holds the answer word for word")
    require_at_most(max_oracles, oracles)
    return TrainingQuestion(
        id=question.id,
        kind=kind,
        question=question.question,
        answers=question.answers,
        oracles=oracles,
        quotes=quotes,
        excluded=frozenset(question.chunks),
    )


def _gold_quotes(question: Question, index: Snapshot) -> tuple[Quote, ...]:
    """Return gold passages and facts as quotes of chunks; empty unless all are found."""
    found: list[Quote] = []
    for passage in question.passages:
        quote = _quote_of(passage, question, index.chunks_of(passage.document))
        if quote is None:
            return ()
        found.append(quote)
    if not found and question.facts:
        chunks = [chunk for d in question.evidence for chunk in index.chunks_of(d)[:_MAX_CHUNKS]]
        for fact in question.facts:
            quote = locate(fact, chunks)
            if quote is None:
                return ()
            found.append(quote)
    return tuple({(q.chunk, q.start, q.end): q for q in found}.values())


def _quote_of(passage: GoldPassage, question: Question, chunks: Sequence[Chunk]) -> Quote | None:
    if passage.end > passage.start:
        inside = [c for c in chunks if c.start <= passage.start and passage.end <= c.end]
        text = (
            inside[0].text[passage.start - inside[0].start : passage.end - inside[0].start] if inside else ""
        )
        quote = locate(text, inside)
    else:
        quote = locate(passage.text, chunks)
    if quote is None or len(quote.text) <= MAX_QUOTE:
        return quote
    # A whole passage is no quote: its best sentence is.
    (chunk,) = [c for c in chunks if c.id == quote.chunk]
    return _best([chunk], question)


def _searched(question: Question, index: Snapshot) -> tuple[Quote, ...]:
    """Return the best sentence of each gold chunk, else of each gold document; none if one of them is missing."""
    if question.chunks:
        groups = [[chunk] for chunk in index.chunks_by_id(question.chunks)]
        complete = len(groups) == len(question.chunks)
    else:
        groups = [index.chunks_of(d)[:_MAX_CHUNKS] for d in question.evidence]
        complete = all(groups) and question.evidence_complete
        if question.evidence_rule == "any":
            groups = [[chunk for group in groups for chunk in group]]
            complete = True
    if not complete:
        return ()
    found = [quote for quote in (_best(group, question) for group in groups if group) if quote is not None]
    return tuple({(q.chunk, q.start): q for q in found}.values())


def _best(chunks: Iterable[Chunk], question: Question) -> Quote | None:
    """Return the sentence that holds the answer and most words of the question; ties by position."""
    wanted = frozenset(content_stems(question.question))
    answers = [a for a in map(normalise_answer, question.answers) if is_searchable(a)]
    best: tuple[float, Quote] | None = None
    for chunk in chunks:
        text = normalise_passage(chunk.text)
        holds = [a for a in answers if contains_answer(text, a)]
        found = _with_answer(chunk, holds, wanted) if holds else best_sentence(chunk, wanted)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best[1] if best is not None else None


def _with_answer(chunk: Chunk, answers: Sequence[str], wanted: frozenset[str]) -> tuple[float, Quote] | None:
    scored = [
        (_IN_ANSWER + shared(wanted, quote.text), quote)
        for quote in sentences(chunk)
        if any(contains_answer(normalise_passage(quote.text), answer) for answer in answers)
    ]
    return max(scored, key=lambda each: (each[0], -each[1].start)) if scored else best_sentence(chunk, wanted)
