"""Entities, relations, triples and reports as evidence: their text in the context, and the passages they come from."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from polygraph.records import Chunk, Entity, Evidence, Json, Relation, Report, Retrieval, Span, Step, Triple
from polygraph.retrieve.row_texts import RowTexts, triple_line
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.offline.sentences import Passage
from polygraph.text.passage import Heading

_SPANS = 5
"""Most passages that one row is traced to."""
_DATES = 3
"""Most dates behind a triple: those of the documents that come first."""
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NO_SPANS: Mapping[str, Span] = MappingProxyType({})


def row_evidence(
    row: Entity | Relation,
    score: float,
    why: str,
    index: Snapshot,
    texts: RowTexts,
    known: Mapping[str, Span] = _NO_SPANS,
) -> Evidence:
    """Make evidence of an entity or relation, traced to the passages that describe it; `known` as for `spans_of`."""
    return Evidence(
        kind="entity" if isinstance(row, Entity) else "relation",
        id=row.id,
        text=texts.entity(row) if isinstance(row, Entity) else texts.relation(row),
        score=score,
        spans=spans_of(_described_in(row), index, known),
        why=why,
    )


def triple_evidence(
    triple: Triple,
    score: float,
    why: str,
    index: Snapshot,
    names: Mapping[str, str] = _NO_NAMES,
    known: Mapping[str, Span] = _NO_SPANS,
    text: str = "",
) -> Evidence:
    """Make evidence of a triple, traced to the passages that state it, whose dates stand behind it.

    `names` are those of its ends by id, `known` as for `spans_of`; `text` is shown in place of the triple.
    """
    spans = spans_of(_described_in(triple), index, known)
    return Evidence(
        kind="relation",
        id=triple.id,
        text=with_dates(text or triple_line(triple, names), [span.document for span in spans], index),
        score=score,
        spans=spans,
        why=why,
    )


def with_dates(text: str, documents: Sequence[str], index: Snapshot) -> str:
    """Add the dates of the documents that state a triple, each once, as behind the statements of a relation."""
    dates = index.dates(list(dict.fromkeys(documents)))
    new = [date for date in dict.fromkeys(dates.values()) if date and date not in text]
    return f"{text} ({', '.join(new[:_DATES])})" if new else text


def ordered_rows(
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    whys: Mapping[str, str],
    index: Snapshot,
    texts: RowTexts,
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Make evidence of entities and relations when only their order counts: scores count down to 1.

    Args:
        entities: best first.
        relations: best first; those that repeat others are left out.
        whys: reasons by id, for both.
        index: the snapshot they come from.
        texts: writes the rows.
    """
    texts.entities(entities)
    relations = texts.without_repeats(relations)
    known = spans_of_rows([*entities, *relations], index)

    def ordered(rows: Sequence[Entity | Relation]) -> tuple[Evidence, ...]:
        return tuple(
            row_evidence(row, float(len(rows) - i), whys[row.id], index, texts, known)
            for i, row in enumerate(rows)
        )

    return ordered(entities), ordered(relations)


def report_evidence(
    report: Report, score: float, why: str, index: Snapshot, *, traced: bool = True
) -> Evidence:
    """Make evidence of a report, traced to every passage it rests on, or to none if it is not `traced`."""
    return Evidence(
        kind="report",
        id=report.community,
        text=report.text,
        score=score,
        spans=spans_of(report.chunks, index) if traced else (),
        why=why,
    )


def _described_in(row: Entity | Relation | Triple) -> Sequence[str]:
    if isinstance(row, Triple):
        return row.chunks[:_SPANS]
    return [d.chunk for d in row.descriptions[:_SPANS]] or row.chunks[:1]


def spans_of(
    chunks: Iterable[str], index: Snapshot, known: Mapping[str, Span] = _NO_SPANS
) -> tuple[Span, ...]:
    """Return the spans of whole chunks, in the order given, each once.

    Args:
        chunks: ids.
        index: the snapshot they come from.
        known: spans of chunks that have been read already, by id; the others are read from the index.
    """
    wanted = dict.fromkeys(chunks)
    try:
        return tuple([known[chunk] for chunk in wanted])
    except KeyError:
        return tuple(index.spans(wanted).values())


def chunk_numbers(evidence: Sequence[Evidence]) -> dict[str, int]:
    """Return the chunks that evidence rests on, each with the number of the first such evidence, from 1."""
    numbers: dict[str, int] = {}
    for n, item in enumerate(evidence, 1):
        for span in item.spans:
            numbers.setdefault(span.chunk, n)
    return numbers


def spans_of_rows(rows: Iterable[Entity | Relation | Triple], index: Snapshot) -> dict[str, Span]:
    """Return the spans of the chunks that rows of the graph are traced to, by id.

    Hundreds of rows rest on a few passages: each passage is read once.
    """
    ids = dict.fromkeys(chunk for row in rows for chunk in _described_in(row))
    return index.spans(ids)


def passages_of(
    chunks: Sequence[str] | Mapping[str, int], index: Snapshot, *, read: Sequence[Chunk] = ()
) -> list[Passage]:
    """Return chunks with the titles of their documents, in the order given, for tasks that choose sentences.

    Args:
        chunks: ids, with or without the number of the evidence; without, they are numbered from 1.
        index: the snapshot they come from.
        read: the chunks themselves, if they have been read already.
    """
    found = list(read) or index.chunks_by_id(list(chunks))
    headings = index.headings([c.document for c in found])
    unknown = Heading("")
    numbers = chunks if isinstance(chunks, Mapping) else {c.id: n for n, c in enumerate(found, 1)}
    return [
        Passage(
            chunk=c,
            title=headings.get(c.document, unknown).title or c.document,
            evidence=numbers[c.id],
            date=headings.get(c.document, unknown).date,
        )
        for c in found
    ]


def nothing_found(
    question: str, method: str, reason: str, index: Snapshot, trace: tuple[Step, ...] = ()
) -> Retrieval:
    """Build a retrieval without evidence that says why, and mentions the filter if there is one."""
    return Retrieval(
        question=question,
        method=method,
        evidence=(),
        context="",
        trace=trace,
        empty_because=within_filter(reason, index),
    )


def within_filter(reason: str, index: Snapshot) -> str:
    """Add to the reason why nothing was found that a filter may be the cause; if it excludes every document, it is."""
    if not index.scope:
        return reason
    wanted = _conditions(index.scope)
    if not index.documents_allowed:
        wider = f"; some have {_conditions(index.wider_scope)}" if index.wider_scope else ""
        return f"no document has {wanted}{wider}"
    return f"{reason}; the filter {wanted} may exclude what would match"


def _conditions(scope: Mapping[str, str]) -> str:
    return " and ".join(f"{name}={value}" for name, value in scope.items())


def scores_as_json(rows: Iterable[tuple[str, float]]) -> Json:
    """Convert ids with scores for a trace."""
    return [[i, round(score, 6)] for i, score in rows]
