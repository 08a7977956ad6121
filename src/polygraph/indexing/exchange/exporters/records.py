"""The records of an index, kind by kind, streamed in a defined order.

Each kind is ordered by its keys by code point, never by the arrival of documents. What depends on the machine or on the
history of an index is left out: folders and sources of documents, times, notes, files that could not be read, layers
that are out of date. So two equal indexes give equal records.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import Any, TypeAlias

from polygraph.records import Description, Report, digest
from polygraph.store.layers import DEPENDENCIES, versions
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import DECISION_KINDS, StoreReader
from polygraph.store.serialization import report_from_json, report_to_json

Row: TypeAlias = dict[str, Any]

_PAGE = 200
"""Communities or reports that are held in memory together."""


def finished_layers(store: StoreReader, manifest: Manifest) -> tuple[str, ...]:
    """Return the layers that are up to date according to the tables, in the order of building.

    Files under ``derived/`` are not looked at: they can be rebuilt at any time, and an export must not depend on them.
    """
    wanted, done = versions(store, manifest), store.layers()
    found: list[str] = []
    for layer, below in DEPENDENCIES.items():
        if layer in done and done[layer][0] == wanted[layer] and all(b in found for b in below):
            found.append(layer)
    return tuple(found)


def rows(store: StoreReader, kind: str, layers: Sequence[str]) -> Iterator[Row]:
    """Yield every record of a kind, as plain values, in its order.

    Args:
        store: opened for reading, which sees one state for as long as it is open.
        kind: one of `KINDS`.
        layers: that are up to date; views of other layers give no records.
    """
    layer = LAYER_OF.get(kind)
    if layer is not None and layer not in layers:
        return
    if kind == "written":
        yield from _written(store, in_use="reports" in layers)
    else:
        yield from _STREAMS[kind](store)


def _documents(store: StoreReader) -> Iterator[Row]:
    for i, _ in store.documents.content_hashes():
        if (document := store.documents.get(i)) is not None:
            yield {
                "id": i,
                "title": document.title,
                "text": document.text,
                "metadata": _without_infinity(dict(document.metadata)),
                "tables": [
                    {"title": t.title, "columns": t.columns, "rows": t.rows, "spans": t.spans}
                    for t in document.tables
                ],
            }


def _chunks(store: StoreReader) -> Iterator[Row]:
    for document, _ in store.documents.content_hashes():
        for chunk in store.documents.chunks_of(document):
            yield {
                "id": chunk.id,
                "document": chunk.document,
                "ordinal": chunk.ordinal,
                "start": chunk.start,
                "end": chunk.end,
                "text": chunk.text,
                "n_tokens": chunk.n_tokens,
                "metadata": _without_infinity(dict(chunk.metadata)),
            }


def _windows(store: StoreReader) -> Iterator[Row]:
    for window in store.extractions.window_states():
        yield asdict(window)


def _entity_rows(store: StoreReader) -> Iterator[Row]:
    for _, extraction in store.extractions.iterate():
        for seq, row in enumerate(extraction.entities):
            yield {
                "window": extraction.window,
                "seq": seq,
                "name": row.name,
                "type": row.type,
                "description": row.description,
                "spans": [{"chunk": s.chunk, "start": s.start, "end": s.end} for s in row.spans],
            }


def _relation_rows(store: StoreReader) -> Iterator[Row]:
    for _, extraction in store.extractions.iterate():
        for seq, row in enumerate(extraction.relations):
            yield {
                "window": extraction.window,
                "seq": seq,
                "source": row.source,
                "target": row.target,
                "predicate": row.predicate,
                "description": row.description,
                "strength": row.strength,
                "keywords": list(row.keywords),
                "chunks": list(row.chunks),
            }


def _decisions(store: StoreReader) -> Iterator[Row]:
    for kind in DECISION_KINDS:
        for a, b in sorted(store.extractions.decisions(kind)):
            yield {"kind": kind, "a": a, "b": b}


def _same_answers(store: StoreReader) -> Iterator[Row]:
    for key, same in sorted(store.extractions.same_answers().items()):
        yield {"key": key, "same": same}


def _name_lists(store: StoreReader) -> Iterator[Row]:
    for key, groups in sorted(store.extractions.name_lists().items()):
        yield {"key": key, "groups": [list(group) for group in groups]}


def _written_summaries(store: StoreReader) -> Iterator[Row]:
    for key, summary in store.graph.all_written_summaries():
        yield {
            "key": key,
            "text": summary.text,
            "written_by": summary.written_by,
            "chunks": list(summary.chunks),
        }


def _entities(store: StoreReader) -> Iterator[Row]:
    for entity in store.graph.all_entities():
        yield {
            "id": entity.id,
            "name": entity.name,
            "type": entity.type,
            "degree": entity.degree,
            "aliases": list(entity.aliases),
            "descriptions": _descriptions(entity.descriptions),
            "chunks": list(entity.chunks),
        }


def numbered_relations(store: StoreReader) -> Iterator[tuple[int, int, Row]]:
    """Yield every relation with the positions of its ends among the entities, from 0."""
    pairs = zip(store.graph.edges(), store.graph.all_relations(), strict=True)
    for (source, target, _), relation in pairs:
        yield (
            source,
            target,
            {
                "id": relation.id,
                "source": relation.source,
                "target": relation.target,
                "weight": relation.weight,
                "predicates": list(relation.predicates),
                "keywords": list(relation.keywords),
                "descriptions": _descriptions(relation.descriptions),
                "chunks": list(relation.chunks),
            },
        )


def _relations(store: StoreReader) -> Iterator[Row]:
    for _, _, relation in numbered_relations(store):
        yield relation


def _merges(store: StoreReader) -> Iterator[Row]:
    for merge in store.graph.merges():
        fields = ("entity", "name", "document", "rule", "score", "other", "evidence")
        yield dict(zip(fields, merge, strict=True))


def _communities(store: StoreReader) -> Iterator[Row]:
    for page in _pages(store.reports.community_ids()):
        for community in store.reports.communities(page):
            yield {
                "id": community.id,
                "level": community.level,
                "parent": community.parent,
                "entities": list(community.entities),
                "chunks": list(community.chunks),
            }


def _reports(store: StoreReader) -> Iterator[Row]:
    for page in _pages(sorted(store.reports.reported_communities())):
        yield from map(report_row, store.reports.get(page))


def report_row(report: Report) -> Row:
    """Return a report as plain values."""
    return {
        "community": report.community,
        "level": report.level,
        "title": report.title,
        "summary": report.summary,
        "rating": report.rating,
        "weight": report.weight,
        "written_by": report.written_by,
        "findings": [
            {"summary": f.summary, "explanation": f.explanation, "chunks": list(f.chunks)}
            for f in report.findings
        ],
        "chunks": list(report.chunks),
    }


def _pages(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + _PAGE] for at in range(0, len(ids), _PAGE))


def described(row: Row) -> str:
    """Return the descriptions of an entity or relation as one text."""
    return " ".join(each["text"] for each in row["descriptions"])


def _written(store: StoreReader, *, in_use: bool) -> Iterator[Row]:
    """Yield the texts that a model wrote, under the hash of their input.

    Texts that were written for earlier states of the index stay in its tables as a cache. They would make two equal
    indexes export differently, so they are exported only where the reports are out of date and may need them.

    Args:
        store: opened for reading.
        in_use: yield only the texts that a present report consists of.
    """
    present: set[bytes] = set()
    if in_use:
        present = {bytes.fromhex(digest(_text_of(report))) for report in store.reports.all()}
    for key, value in store.reports.all_written():
        text = _text_of(report_from_json(value))
        if not in_use or bytes.fromhex(digest(text)) in present:
            yield {"key": key, "value": text}


def _text_of(report: Report) -> str:
    """Return what a report says, whichever community it was written for."""
    # A text that is used again takes community, level, weight and rating from its new community.
    return report_to_json(replace(report, community="", level=0, weight=0.0, rating=float(report.rating)))


def _descriptions(descriptions: Sequence[Description]) -> list[Row]:
    return [{"text": d.text, "chunk": d.chunk} for d in descriptions]


def _without_infinity(value: Any) -> Any:
    """Replace numbers that JSON does not have, such as 1e999, by None, at any depth."""
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_infinity(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


_STREAMS: Mapping[str, Callable[[StoreReader], Iterator[Row]]] = {
    "documents": _documents,
    "chunks": _chunks,
    "windows": _windows,
    "entity_rows": _entity_rows,
    "relation_rows": _relation_rows,
    "decisions": _decisions,
    "same_answers": _same_answers,
    "name_lists": _name_lists,
    "entities": _entities,
    "relations": _relations,
    "merges": _merges,
    "written_summaries": _written_summaries,
    "communities": _communities,
    "reports": _reports,
}

KINDS = (*_STREAMS, "written")
"""Every kind of record: documents, rows and decisions, then the views of them, then texts that models wrote."""

LAYER_OF: Mapping[str, str] = {
    "entities": "graph",
    "relations": "graph",
    "merges": "graph",
    "communities": "communities",
    "reports": "reports",
}
"""The layer that a view belongs to."""
