"""Questions about the user's own documents: grounded in the graph and its source texts, or from summaries.

Graph-text-grounded questions follow Zeng et al. (arXiv:2506.06331), section 3: a node, an edge or a subgraph is
drawn at random, and the question is posed from it with the source texts beside it, so that a fault of the graph
does not become a fault of the question. Summary-based ones follow LightRAG (arXiv:2410.05779): 5 users x 5 tasks x
5 questions from the beginnings and ends of the documents, with the ends that the published script leaves empty.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polygraph.errors import BadInput, UnusableReply
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.questions.graph_sampling import (
    HOPS,
    random_walk,
    shuffled_entities,
    shuffled_relations,
)
from polygraph.models import ChatModel, Models
from polygraph.models.thread_pool import in_turn
from polygraph.records import Chunk
from polygraph.retrieve.evidence import entity_line, relation_line
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.generate_questions import (
    Level,
    generate_question,
    generate_user_questions,
    summarise_sources,
)
from polygraph.text.tokens import truncate
from polygraph.text.words import content_stems

LEVELS: tuple[Level, ...] = ("node", "edge", "subgraph")
_SOURCE_TOKENS = 3_000
"""Source texts of a node or an edge."""
_SUMMARISED_TOKENS = 12_000
"""Source texts of a subgraph that are summed up."""
_STRUCTURE_TOKENS = 2_500
_RELATIONS = 80
"""Relations of a subgraph that are shown."""
_TRIES = 4
"""Parts drawn for each question wanted, before it is given up."""
_PIECE_TOKENS = 1_000
"""Of a document's beginning and end, each (LightRAG)."""
_DESCRIPTION_TOKENS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Posed:
    """Questions, and what was given up."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()


def grounded_questions(
    index: Snapshot,
    models: Models,
    *,
    per_level: int = 50,
    levels: Sequence[Level] = LEVELS,
    hops: int = HOPS,
    seed: int = 0,
    temperature: float = 0.7,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> Posed:
    """Pose questions at the levels of node, edge and subgraph.

    Parts are drawn with a seed and asked about in the order drawn; a question that has the content words of an
    earlier one is dropped and another part drawn. One call for each question, one more for each subgraph.

    Args:
        index: with a graph.
        models: its chat model generates; it should not be one of the judges.
        per_level: questions wanted for each level (section 5.1: 50).
        levels: in this order.
        hops: distinct entities that the walk of a subgraph reaches.
        seed: of everything random.
        temperature: of the generator.
        on_done: told after each question.

    Raises:
        BadInput: if there is no chat model, or the graph is empty.
    """
    chat = generator_of(models)
    posed: list[Question] = []
    notes: list[str] = []
    seen: set[frozenset[str]] = set()

    def pose(level: Level) -> None:
        rng = np.random.default_rng([seed, LEVELS.index(level)])
        parts = _parts(level, index, rng, hops)
        kept: list[Question] = []
        lost = tried = 0
        while len(kept) < per_level and tried < _TRIES * per_level:
            batch = [part for part, _ in zip(parts, range(per_level - len(kept)), strict=False)]
            if not batch:
                break
            tried += len(batch)
            asked = models.calls.map(lambda part: _ask(part, chat, models, temperature), batch)
            for question in asked:
                words = frozenset(content_stems(question.question)) if question else frozenset()
                if question is None or words in seen:
                    lost += 1
                    continue
                seen.add(words)
                kept.append(replace(question, id=f"{level}-{len(kept) + 1:03d}"))
            on_done(len(posed) + len(kept), per_level * len(levels))
        if len(kept) < per_level:
            why = "the graph has no more parts to ask about"
            if tried >= _TRIES * per_level:
                why = f"{lost} replies were unusable, or asked what had been asked"
            notes.append(f"{len(kept)} of {per_level} questions at the level {level}: {why}")
        posed.extend(kept)

    in_turn(pose, levels)
    return Posed(questions=tuple(posed), notes=tuple(notes))


def summary_questions(
    index: Snapshot,
    models: Models,
    *,
    n_users: int = 5,
    n_tasks: int = 5,
    n_questions: int = 5,
    temperature: float = 0.0,
) -> Posed:
    """Pose questions from a description of the collection: one call.

    Raises:
        BadInput: if there is no chat model.
        UnusableReply: if the model does not name exactly as many as asked for, also after the repair round.
    """
    chat = generator_of(models)
    description = describe_collection(index)
    found = generate_user_questions(
        description,
        chat,
        models.calls,
        n_users=n_users,
        n_tasks=n_tasks,
        n_questions=n_questions,
        temperature=temperature,
    )
    questions = [
        Question(
            id=f"summary-{n:03d}",
            question=q.question,
            type="summary",
            more={"user": q.user, "task": q.task},
        )
        for n, q in enumerate(found, 1)
    ]
    return Posed(questions=tuple(questions))


def describe_collection(index: Snapshot, *, max_tokens: int = _DESCRIPTION_TOKENS) -> str:
    """Beginnings and ends of the documents, in the order of their ids; of many, each gets its share."""
    ids = [
        i
        for i, _, _ in index.store.documents.headers()
        if index.documents_allowed is None or i in index.documents_allowed
    ]
    share = min(2 * _PIECE_TOKENS, max_tokens // max(len(ids), 1))
    pieces = []
    for i in ids:
        document = index.store.documents.get(i)
        if document is not None:
            pieces.append(f"## {document.title}\n{_ends(document.text, max(share, 40))}")
    return truncate("\n\n".join(pieces), max_tokens)


def _ends(text: str, tokens: int) -> str:
    """The first and the last stretch of a text; the whole of a short one."""
    if truncate(text, tokens) == text:
        return text
    half = tokens // 2
    head = truncate(text, half)
    # Tokens of an end cannot be counted from the front: a stretch of the length that the head has is as good.
    tail = text[-len(head) :].partition(" ")[2]
    return f"{head}\n[...]\n{tail}"


# --- parts of the graph -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    level: Level
    structure: str
    chunks: tuple[Chunk, ...]
    sources: str
    entities: tuple[str, ...]


def _parts(level: Level, index: Snapshot, rng: np.random.Generator, hops: int) -> Iterator[_Part]:
    if level == "node":
        for n in shuffled_entities(index, rng):
            (entity,) = index.entities([n])
            yield _part(level, index, [entity_line(entity, max_tokens=600)], entity.chunks, [entity.id])
    elif level == "edge":
        for n in shuffled_relations(index, rng):
            relation = index.relations([n])[n]
            ends = index.entities(list(index.entity_numbers([relation.source, relation.target]).values()))
            lines = [*(entity_line(e) for e in ends), relation_line(relation, max_tokens=600)]
            yield _part(level, index, lines, relation.chunks, [relation.source, relation.target])
    else:
        drawn: set[frozenset[int]] = set()
        while (walk := random_walk(index.graph, rng, hops=hops)) is not None:
            if frozenset(walk.entities) in drawn:
                return  # a small graph has one subgraph only
            drawn.add(frozenset(walk.entities))
            entities = [e for e in index.entities(walk.entities) if e.chunks]
            inside = set(walk.entities)
            rows = [r.n for r in index.relations_at(walk.entities) if {r.source, r.target} <= inside]
            relations = list(index.relations(rows[:_RELATIONS]).values())
            lines = [
                *(entity_line(e, max_tokens=40) for e in entities),
                *(relation_line(r, max_tokens=40) for r in relations),
            ]
            chunks = dict.fromkeys(c for e in entities for c in e.chunks[:3])
            if chunks:
                yield _part(level, index, lines, tuple(chunks), [e.id for e in entities])


def _part(
    level: Level, index: Snapshot, lines: Sequence[str], chunks: Sequence[str], entities: Sequence[str]
) -> _Part:
    found = tuple(index.chunks_by_id(chunks))
    budget = _SUMMARISED_TOKENS if level == "subgraph" else _SOURCE_TOKENS
    return _Part(
        level=level,
        structure=truncate("\n".join(lines), _STRUCTURE_TOKENS),
        chunks=found,
        sources=truncate("\n\n".join(c.text for c in found), budget),
        entities=tuple(entities),
    )


def _ask(part: _Part, chat: ChatModel, models: Models, temperature: float) -> Question | None:
    try:
        sources = part.sources
        if part.level == "subgraph":
            sources = summarise_sources(sources, chat, models.calls)
        text = generate_question(
            part.level, part.structure, sources, chat, models.calls, temperature=temperature, sample=0
        )
    except UnusableReply:
        return None
    return Question(
        id="",
        question=text,
        type=part.level,
        # What it was posed from: sources, not proof that each of them is needed.
        more={
            "entities": list(part.entities),
            "sources": [c.id for c in part.chunks],
            "hops": len(part.entities) - 1,
        },
    )


def generator_of(models: Models) -> ChatModel:
    """The model that poses questions.

    Raises:
        BadInput: if there is none.
    """
    if models.chat is None:
        raise BadInput(
            "questions of this kind are posed by a model, and none is configured. Set POLYGRAPH_CHAT_MODEL and "
            "OPENAI_BASE_URL or OPENAI_API_KEY, or ask for questions without one: --kind sentences"
        )
    return models.chat
