"""Questions that a chat model poses about parts of the graph, and reasoning with quotes that it writes."""

from collections.abc import Sequence
from dataclasses import replace

from polygraph.errors import UnusableReply
from polygraph.evaluate.metrics.answer_match import sub_exact_match
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.generate import LEVELS, grounded_questions, require_generator
from polygraph.finetune.data.quotes import locate, oracles_of, require_at_most
from polygraph.finetune.data.records import (
    DropError,
    DroppedQuestion,
    QuestionSet,
    TrainingQuestion,
    dropped,
)
from polygraph.indexing.progress import Progress
from polygraph.models import Models
from polygraph.records import Chunk
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.steps import chunk_evidence
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.answers.raft import RaftReply, renumber, write_reasoning

HOPS = 2
"""Distinct entities of a subgraph beyond the first; a row shows one or two passages with the answer."""
_SOURCES = 6
"""Passages from which a question is answered."""
_UNBOUNDED = 10**9


def model_questions(
    index: Snapshot, models: Models, *, n: int, seed: int, max_oracles: int, on_done: Progress
) -> QuestionSet:
    """Have the chat model pose questions about nodes, edges and subgraphs, and answer them with quotes.

    The passages of the quotes are those that hold the answer. Two calls for a question, three at the level of
    subgraphs. Questions that the model does not answer from their passages are dropped.

    Args:
        index: with a graph.
        models: with a chat model.
        n: most questions.
        seed: of the sampling of the graph.
        max_oracles: most passages that a question may rest on.
        on_done: called with stage, done and all.

    Raises:
        BadInput: if there is no chat model, or the graph is empty.
    """
    per_level = -(-n // len(LEVELS))
    posed = grounded_questions(
        index,
        models,
        per_level=per_level,
        hops=HOPS,
        seed=seed,
        on_done=lambda done, total: on_done("questions", done, total),
    )
    asked = posed.questions[:n]

    def answer(question: Question) -> TrainingQuestion | DroppedQuestion:
        try:
            sources = question.more.get("sources", [])
            ids = [str(i) for i in sources][:_SOURCES] if isinstance(sources, list) else []
            bare = TrainingQuestion(id=question.id, kind=question.type, question=question.question)
            return _reasoned(bare, index.chunks_by_id(ids), index, models, max_oracles)
        except DropError as reason:
            return dropped(question, reason)

    found = models.calls.map(answer, asked, on_done=lambda done: on_done("answers", done, len(asked)))
    return _collected(found, posed.notes)


def with_reasoning(questions: QuestionSet, index: Snapshot, models: Models, on_done: Progress) -> QuestionSet:
    """Have the chat model write reasoning with quotes towards the known answer of each question; one call each.

    Raises:
        BadInput: if there is no chat model.
    """
    require_generator(models)
    asked = questions.questions

    def reason(question: TrainingQuestion) -> TrainingQuestion | DroppedQuestion:
        try:
            if question.null:
                return question
            return _reasoned(question, question.oracles, index, models, len(question.oracles))
        except DropError as problem:
            return dropped(question, problem)

    done = models.calls.map(reason, asked, on_done=lambda n: on_done("reasoning", n, len(asked)))
    found = _collected(done, questions.notes)
    return replace(found, dropped=(*questions.dropped, *found.dropped))


def _collected(found: Sequence[TrainingQuestion | DroppedQuestion], notes: tuple[str, ...]) -> QuestionSet:
    return QuestionSet(
        questions=tuple(each for each in found if isinstance(each, TrainingQuestion)),
        dropped=tuple(each for each in found if isinstance(each, DroppedQuestion)),
        notes=notes,
    )


def _reasoned(
    question: TrainingQuestion, sources: Sequence[Chunk], index: Snapshot, models: Models, max_oracles: int
) -> TrainingQuestion:
    """Have the model answer a question from passages; the passages that it quotes are the oracles.

    Raises:
        DropError: if its reply gives no row.
    """
    chat = require_generator(models)
    known = question.answers[0] if question.answers else ""
    items = chunk_evidence(
        sources, [0.0] * len(sources), [""] * len(sources), index.headings([c.document for c in sources])
    )
    context = pack([Block(heading="", items=items)], max_tokens=_UNBOUNDED, merge_copies=False).context
    try:
        reply = write_reasoning(question.question, context, len(sources), known, chat, models.calls)
    except UnusableReply as problem:
        raise DropError("the model wrote no usable reasoning") from problem
    if reply.refused:
        raise DropError("the model found no answer in its passages")
    if known and not sub_exact_match(reply.answer, question.answers):
        raise DropError("the model reasoned towards another answer")
    return _resolved(question, reply, sources, max_oracles)


def _resolved(
    question: TrainingQuestion, reply: RaftReply, sources: Sequence[Chunk], max_oracles: int
) -> TrainingQuestion:
    quotes = [locate(quote, sources) for quote in reply.quotes]
    if any(quote is None for quote in quotes):
        raise DropError("the model quoted a heading instead of a passage")
    placed = tuple(dict.fromkeys(quote for quote in quotes if quote is not None))
    oracles = oracles_of(placed, sources)
    require_at_most(max_oracles, oracles)
    # A passage that is cited but not quoted is not shown, so that its number would be wrong.
    place = {chunk.id: n for n, chunk in enumerate(oracles, 1)}
    numbers = [place.get(chunk.id, 0) for chunk in sources]
    reasoning = renumber(reply.reasoning, numbers).replace(" [0]", "").replace("[0]", "")
    return replace(
        question,
        answers=question.answers or (reply.answer,),
        oracles=oracles,
        quotes=placed,
        excluded=question.excluded | {chunk.id for chunk in sources},
        reasoning=reasoning,
    )
