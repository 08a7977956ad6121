"""Questions without a model from the graph of an index: about nodes, edges and subgraphs, each with its sentences.

Levels as in Zeng et al. (arXiv:2506.06331), section 3. A question is made from a sentence that names its entities, so
that an error of the graph does not become an error of the question, and its answer stands in the sentence word for
word. The wording is English; `sentence_questions` also poses German ones.

| kind | rests on | example |
|---|---|---|
| `node` | a sentence with a date, number or description of an entity | "Who was Anselm Dray?" |
| `edge` | a sentence that names both ends of a relation | "The Halcyon struck which place in the fog?" |
| `subgraph` | two sentences of two passages that name the same entity | "Which person has to do with ...?" |
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polygraph.errors import BadInput
from polygraph.evaluate.questions.extractive import sentence_questions
from polygraph.finetune.data.gold_questions import resolve_questions
from polygraph.finetune.data.quotes import sentences
from polygraph.finetune.data.records import QuestionSet, Quote, TrainingQuestion
from polygraph.finetune.data.statements import (
    NOUNS,
    AskedStatement,
    Statement,
    description,
    is_name,
    named_entities,
    read_statement,
    values,
)
from polygraph.records import Chunk, Entity
from polygraph.store.snapshot import Snapshot
from polygraph.text.language import detect_language
from polygraph.text.words import content_stems

KINDS = ("node", "edge", "subgraph", "single", "two-hop")
"""Of `graph_questions`; the last two are those of `sentence_questions`."""
_PER_SENTENCE = 2
"""Questions about the same sentence."""
_PER_ENTITY = 3
"""Questions at the level of subgraphs that have the same answer."""
_MAX_NEIGHBOURS = 60
"""Neighbours of an entity beyond which it has to do with everything."""
_SAMPLES = 4
"""Sentences read per wanted question of a kind, at most, in chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """A sentence that names entities of the graph, and its chunk."""

    statement: Statement
    quote: Quote
    chunk: Chunk


def graph_questions(index: Snapshot, *, n: int, seed: int, max_oracles: int) -> QuestionSet:
    """Make questions of every kind from the sentences of an index, as equally as it has them.

    Args:
        index: with a graph.
        n: most questions.
        seed: of the order in which passages and relations are read.
        max_oracles: most passages that a question may rest on.

    Raises:
        BadInput: if the index has no graph.
    """
    if not {"graph", "mentions"} <= index.layers:
        raise BadInput(
            f"the index at {index.folder} has no graph to make questions from. Build it with: polygraph index --index "
            f"{index.folder}, or give questions with gold: --questions FILE.jsonl"
        )
    stated = list(_stated(index, np.random.default_rng([seed, 2]), _SAMPLES * n))
    by_kind: dict[str, list[TrainingQuestion]] = {
        "node": list(_node_questions(index, stated)),
        "edge": list(_edge_questions(index, stated)),
        "subgraph": list(_subgraph_questions(index, stated)) if max_oracles > 1 else [],
    }
    sentence = sentence_questions(index, n_single=n, n_double=n if max_oracles > 1 else 0, seed=seed)
    resolved = resolve_questions(sentence.questions, index, max_oracles=max_oracles)
    for question in resolved.questions:
        by_kind.setdefault(question.kind, []).append(question)
    chosen = _in_turns([by_kind.get(kind, []) for kind in KINDS], n)
    notes = [note for note in sentence.notes if "suitable sentences were skipped" in note]
    if len(chosen) < n:
        notes.append(f"{len(chosen):,} of {n:,} questions: the documents have no more suitable sentences")
    return QuestionSet(questions=tuple(chosen), dropped=resolved.dropped, notes=tuple(notes))


def _stated(index: Snapshot, rng: np.random.Generator, n: int) -> Iterator[_Stated]:
    """Yield English sentences that name entities, chunk by chunk in random order."""
    mentions = index.edges("mentions")
    found = 0
    for row in rng.permutation(index.n_chunks).tolist():
        if found >= n:
            return
        (chunk,) = index.chunks([row])
        if not index.permits([chunk.id]) or detect_language(chunk.text) not in ("en", ""):
            continue
        rows = [int(v) for v in mentions.neighbours(index.n_entities + row) if v < index.n_entities]
        entities = index.entities(sorted(rows))
        for quote in sentences(chunk):
            statement = read_statement(quote.text, entities)
            if statement is not None:
                found += 1
                yield _Stated(statement=statement, quote=quote, chunk=chunk)


def _node_questions(index: Snapshot, stated: Sequence[_Stated]) -> Iterator[TrainingQuestion]:
    """Yield questions about one entity: what it is, and days, years, amounts and numbers in its sentences."""
    for each in stated:
        described = description(each.statement)
        asked = [described] if described is not None else []
        asked += list(values(each.statement))[:_PER_SENTENCE]
        for question in asked:
            # Another passage that describes the entity may answer as well.
            _, entity = each.statement.names[0]
            excluded = frozenset(entity.chunks) if question is described else frozenset()
            yield _question("node", question, [each], excluded)


def _edge_questions(index: Snapshot, stated: Sequence[_Stated]) -> Iterator[TrainingQuestion]:
    """Yield questions for one end of a relation whose other end the sentence names."""
    rows = _rows(index, stated)
    for each in stated:
        asked = 0
        for question in named_entities(each.statement):
            ends = {e.id for _, e in each.statement.names} - {question.asked.id if question.asked else ""}
            near = _neighbours(index, rows[question.asked.id]) if question.asked else frozenset()
            if asked < _PER_SENTENCE and any(rows[end] in near for end in ends):
                asked += 1
                yield _question("edge", question, [each], frozenset())


def _subgraph_questions(index: Snapshot, stated: Sequence[_Stated]) -> Iterator[TrainingQuestion]:
    """Yield questions for the only entity of its type that is related to two others, stated in two passages."""
    rows = _rows(index, stated)
    by_row = {rows[e.id]: e for each in stated for _, e in each.statement.names}
    about: dict[str, list[tuple[_Stated, Entity]]] = {}
    for each in stated:
        for _, middle in each.statement.names:
            for _, end in each.statement.names:
                if end.id != middle.id and rows[end.id] in _neighbours(index, rows[middle.id]):
                    about.setdefault(middle.id, []).append((each, end))
    entities = {e.id: e for e in by_row.values()}
    for middle_id in about:
        middle = entities[middle_id]
        near = _neighbours(index, rows[middle_id])
        noun = NOUNS.get(middle.type)
        if noun is None or not is_name(middle.name) or len(near) > _MAX_NEIGHBOURS:
            continue
        made = 0
        used: set[str] = set()
        for one, left in about[middle_id]:
            for other, right in about[middle_id]:
                if made >= _PER_ENTITY or left.id in used or right.id in used:
                    continue
                if not _is_pair(index, one, left, other, right, middle, rows, by_row):
                    continue
                made += 1
                used |= {left.id, right.id}
                asked = AskedStatement(
                    question=f"Which {noun} has to do with both {_shown(left, one)} and {_shown(right, other)}?",
                    answer=middle.name,
                    asked=middle,
                )
                yield _question("subgraph", asked, [one, other], frozenset())


def _is_pair(
    index: Snapshot,
    one: _Stated,
    left: Entity,
    other: _Stated,
    right: Entity,
    middle: Entity,
    rows: dict[str, int],
    by_row: dict[int, Entity],
) -> bool:
    """Return whether two sentences of two passages link two entities by `middle` and by no other of its type."""
    if (
        one.chunk.id >= other.chunk.id
        or left.id == right.id
        or not (is_name(left.name) and is_name(right.name))
    ):
        return False
    if {left.type, right.type} & {"date", "quantity"} or _overlap(left, right) or _overlap(left, middle):
        return False
    first, second = _neighbours(index, rows[left.id]), _neighbours(index, rows[right.id])
    if rows[right.id] in first or _overlap(right, middle) or max(len(first), len(second)) > _MAX_NEIGHBOURS:
        return False
    common = [by_row[row] if row in by_row else index.entities([row])[0] for row in sorted(first & second)]
    return [e.id for e in common if NOUNS.get(e.type) == NOUNS.get(middle.type)] == [middle.id]


def _overlap(one: Entity, other: Entity) -> bool:
    """Return whether two entities share a word of their names."""
    words = [set(content_stems(" ".join((e.name, *e.aliases)))) for e in (one, other)]
    return bool(words[0] & words[1])


def _shown(entity: Entity, stated: _Stated) -> str:
    """Return the name of an entity as its sentence spells it, with the article that it has there."""
    spelling = next(spelling for spelling, e in stated.statement.names if e.id == entity.id)
    return (
        f"the {spelling}" if f"the {spelling}" in stated.statement.text.replace("The ", "the ") else spelling
    )


def _rows(index: Snapshot, stated: Sequence[_Stated]) -> dict[str, int]:
    return index.entity_rows(sorted({e.id for each in stated for _, e in each.statement.names}))


def _neighbours(index: Snapshot, row: int) -> frozenset[int]:
    return frozenset(int(v) for v in index.graph.neighbours(row))


def _question(
    kind: str, asked: AskedStatement, stated: Sequence[_Stated], excluded: frozenset[str]
) -> TrainingQuestion:
    entity = asked.asked
    answers = (asked.answer, *((entity.name, *entity.aliases) if entity is not None else ()))
    return TrainingQuestion(
        id="",
        kind=kind,
        question=asked.question,
        answers=tuple(dict.fromkeys(answers)),
        oracles=tuple(each.chunk for each in stated),
        quotes=tuple(each.quote for each in stated),
        excluded=excluded,
    )


def _in_turns(groups: Sequence[Sequence[TrainingQuestion]], n: int) -> list[TrainingQuestion]:
    """Take one question of each group in turn until there are `n`, without repeated wordings; number them by kind."""
    taken: list[TrainingQuestion] = []
    seen: set[frozenset[str]] = set()
    numbers: dict[str, int] = {}
    for i in range(max(map(len, groups), default=0)):
        for group in groups:
            if i >= len(group) or len(taken) >= n:
                continue
            words = frozenset(content_stems(group[i].question))
            if words in seen:
                continue
            seen.add(words)
            kind = group[i].kind
            numbers[kind] = numbers.get(kind, 0) + 1
            taken.append(replace(group[i], id=f"{kind}-{numbers[kind]:04d}"))
    return taken
