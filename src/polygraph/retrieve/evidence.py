"""Rows of the graph as evidence: the text that goes into a context, and where it comes from."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from polygraph.records import Chunk, Entity, Evidence, Json, Relation, Report, Retrieval, Span, Step, Triple
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.sentences import Passage
from polygraph.text.tokens import truncate

_ROW_TOKENS = 120
"""One row of a table is at most so long, so that a table holds many."""
_SPANS = 5
"""Passages that one row is traced to, at most."""
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NOT_READ: Mapping[str, Chunk] = MappingProxyType({})


def entity_line(entity: Entity, *, max_tokens: int = _ROW_TOKENS) -> str:
    """Name, type and description on one line."""
    kind = f" ({entity.type})" if entity.type else ""
    return truncate(f"{entity.name}{kind}: {entity.description}", max_tokens)


def relation_line(relation: Relation, *, max_tokens: int = _ROW_TOKENS) -> str:
    """Both ends, predicates (keywords where there are none) and description on one line."""
    said = ", ".join(relation.predicates[:4] or relation.keywords[:4])
    return truncate(
        f"{relation.source} — {said or 'with'} — {relation.target}: {relation.description}", max_tokens
    )


def triple_line(triple: Triple, names: Mapping[str, str] = _NO_NAMES) -> str:
    """Subject, predicate and object on one line; ends by their names where these are given, else by id."""
    source, target = (names.get(end, end) for end in (triple.source, triple.target))
    return truncate(f"{source} → {triple.predicate} → {target}", _ROW_TOKENS)


def entity_evidence(
    entity: Entity, score: float, why: str, index: Snapshot, read: Mapping[str, Chunk] = _NOT_READ
) -> Evidence:
    """An entity, traced to the passages that describe it; `read` as for `spans_of`."""
    return Evidence(
        kind="entity",
        id=entity.id,
        text=entity_line(entity),
        score=score,
        spans=spans_of(_described_in(entity), index, read),
        why=why,
    )


def relation_evidence(
    relation: Relation, score: float, why: str, index: Snapshot, read: Mapping[str, Chunk] = _NOT_READ
) -> Evidence:
    """A relation, traced to the passages that describe it; `read` as for `spans_of`."""
    return Evidence(
        kind="relation",
        id=relation.id,
        text=relation_line(relation),
        score=score,
        spans=spans_of(_described_in(relation), index, read),
        why=why,
    )


def triple_evidence(
    triple: Triple, score: float, why: str, index: Snapshot, names: Mapping[str, str] = _NO_NAMES
) -> Evidence:
    """A triple, traced to the passages that state it; `names` of its ends by id, as for `triple_line`."""
    return Evidence(
        kind="relation",
        id=triple.id,
        text=triple_line(triple, names),
        score=score,
        spans=spans_of(triple.chunks[:_SPANS], index),
        why=why,
    )


def ordered_rows(
    entities: Sequence[Entity], relations: Sequence[Relation], whys: Mapping[str, str], index: Snapshot
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Entities and relations as evidence where only their order counts: of each the last scores 1, one before it 2.

    Args:
        entities: best first.
        relations: best first.
        whys: reasons by id, of both.
        index: that they are of.
    """
    n, m = len(entities), len(relations)
    # Tables of hundreds of rows stand on few passages: these are read once.
    rows: Sequence[Entity | Relation] = [*entities, *relations]
    cited = dict.fromkeys(chunk for row in rows for chunk in _described_in(row))
    read = {chunk.id: chunk for chunk in index.chunks_by_id(list(cited))}
    return (
        tuple(entity_evidence(e, float(n - i), whys[e.id], index, read) for i, e in enumerate(entities)),
        tuple(relation_evidence(r, float(m - i), whys[r.id], index, read) for i, r in enumerate(relations)),
    )


def report_evidence(report: Report, score: float, why: str, index: Snapshot) -> Evidence:
    """A report, traced to every passage that it rests on."""
    return Evidence(
        kind="report",
        id=report.community,
        text=report.text,
        score=score,
        spans=spans_of(report.chunks, index),
        why=why,
    )


def _described_in(row: Entity | Relation) -> Sequence[str]:
    return [d.chunk for d in row.descriptions][:_SPANS] or row.chunks[:1]


def spans_of(
    chunks: Iterable[str], index: Snapshot, read: Mapping[str, Chunk] = _NOT_READ
) -> tuple[Span, ...]:
    """The whole stretches of some chunks, in the order given, each once.

    Args:
        chunks: ids.
        index: that they are of.
        read: chunks that have been read already, by id; the others are read from the index.
    """
    wanted = list(dict.fromkeys(chunks))
    known = [read[chunk] for chunk in wanted if chunk in read]
    found = known if len(known) == len(wanted) else index.chunks_by_id(wanted)
    return tuple(Span(c.document, c.id, c.start, c.end) for c in found)


def passages_of(
    chunks: Sequence[str] | Mapping[str, int], index: Snapshot, *, read: Sequence[Chunk] = ()
) -> list[Passage]:
    """Chunks with the titles of their documents, in the order asked for, for the tasks that choose sentences.

    Args:
        chunks: ids, each perhaps with the number of its evidence; default: numbered from 1.
        index: that they are of.
        read: the chunks themselves, where they have been read already.
    """
    found = list(read) or index.chunks_by_id(list(chunks))
    titles = index.titles([c.document for c in found])
    numbers = chunks if isinstance(chunks, Mapping) else {c.id: n for n, c in enumerate(found, 1)}
    return [Passage(chunk=c, title=titles.get(c.document, c.document), evidence=numbers[c.id]) for c in found]


def nothing(
    question: str, method: str, reason: str, index: Snapshot, trace: tuple[Step, ...] = ()
) -> Retrieval:
    """A retrieval without evidence that says why, and that a filter may be the cause."""
    if index.scope:
        reason += f"; the filter {index.scope} may exclude what would match"
    return Retrieval(
        question=question, method=method, evidence=(), context="", trace=trace, empty_because=reason
    )


def as_json(rows: Iterable[tuple[str, float]]) -> Json:
    """Ids with scores, for a trace."""
    return [[i, round(score, 6)] for i, score in rows]
