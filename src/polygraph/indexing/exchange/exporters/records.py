"""What an export holds: the records of an index kind by kind, streamed in a defined order.

The order of every kind is that of its keys by code point, never that in which documents arrived, and what
depends on the machine or on the past of an index is left out: folders and sources of documents, times, notes,
files that could not be read, layers that are out of date. So two equal indexes give equal records.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from polygraph.records import Report, digest
from polygraph.store.database import Store
from polygraph.store.layers import DEPENDENCIES, versions
from polygraph.store.manifest import Manifest
from polygraph.store.serialization import report_from_json, report_to_json

Row: TypeAlias = dict[str, Any]

_PAGE = 200
"""Rows that are held in memory together; of documents only one."""


def finished_layers(store: Store, manifest: Manifest) -> tuple[str, ...]:
    """Layers that are up to date by what the tables say, in the order of building.

    Whether the files under ``derived/`` are there does not matter: they can be rebuilt at any time, and an
    export must not depend on it.
    """
    wanted, done = versions(store, manifest), store.layers()
    found: list[str] = []
    for layer, below in DEPENDENCIES.items():
        if layer in done and done[layer][0] == wanted[layer] and all(b in found for b in below):
            found.append(layer)
    return tuple(found)


def rows(store: Store, kind: str, layers: Sequence[str]) -> Iterator[Row]:
    """Every record of a kind, as plain values, in its order.

    Args:
        store: opened for reading, which sees one state for as long as it is open.
        kind: one of `KINDS`.
        layers: those that are up to date; views of others give no records.
    """
    layer = LAYER_OF.get(kind)
    if layer is not None and layer not in layers:
        return
    if kind == "written":
        yield from _written(store, in_use="reports" in layers)
    else:
        yield from _STREAMS[kind](store)


def _paged(
    store: Store, columns: str, source: str, key: Sequence[str], page: int = _PAGE
) -> Iterator[tuple[Any, ...]]:
    """Read a table in the order of a unique key, page by page: memory holds one page.

    Each page starts behind the key of the last row, so that an index on the key makes it cheap to find.
    """
    keys, marks, n = ", ".join(key), ", ".join("?" * len(key)), len(key)
    last: tuple[Any, ...] = ()
    while True:
        behind = f"WHERE ({keys}) > ({marks})" if last else ""
        found = store.rows(
            f"SELECT {keys}, {columns} FROM {source} {behind} ORDER BY {keys} LIMIT {page}",  # noqa: S608
            last,
        )
        for row in found:
            yield row[n:]
        if len(found) < page:
            return
        last = found[-1][:n]


def _documents(store: Store) -> Iterator[Row]:
    for i, title, text, metadata in _paged(store, "id, title, text, metadata", "documents", ["id"], page=1):
        yield {"id": i, "title": title, "text": text, "metadata": _metadata(metadata)}


def _chunks(store: Store) -> Iterator[Row]:
    columns = "id, document, ordinal, start, end, text, n_tokens, metadata"
    for row in _paged(store, columns, "chunks", ["document", "ordinal"]):
        yield _named(columns, row) | {"metadata": _metadata(row[-1])}


def _windows(store: Store) -> Iterator[Row]:
    columns = "id, document, ordinal, first, last, extractor, status, problem, raw"
    for row in _paged(store, columns, "windows", ["document", "ordinal"]):
        yield _named(columns, row)


def _entity_rows(store: Store) -> Iterator[Row]:
    columns = "window, seq, name, type, description, spans"
    for row in _rows_by_window(store, columns, "entity_rows"):
        spans = [{"chunk": c, "start": start, "end": end} for c, start, end in json.loads(row[-1])]
        yield _named(columns, row) | {"spans": spans}


def _relation_rows(store: Store) -> Iterator[Row]:
    columns = "window, seq, source, target, predicate, description, strength, keywords, chunks"
    for row in _rows_by_window(store, columns, "relation_rows"):
        yield _named(columns, row) | {"keywords": json.loads(row[-2]), "chunks": json.loads(row[-1])}


def _rows_by_window(store: Store, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
    for (window,) in _paged(store, "id", "windows", ["document", "ordinal"]):
        query = f"SELECT {columns} FROM {table} WHERE window = ? ORDER BY seq"  # noqa: S608
        yield from store.rows(query, (window,))


def _decisions(store: Store) -> Iterator[Row]:
    columns = "kind, a, b"
    for row in _paged(store, columns, "decisions", ["kind", "a", "b"]):
        yield _named(columns, row)


def _entities(store: Store) -> Iterator[Row]:
    columns = "id, name, type, degree, aliases, descriptions, chunks"
    for row in _paged(store, columns, "entities", ["n"]):
        yield _named(columns, row) | {
            "aliases": json.loads(row[-3]),
            "descriptions": _descriptions(row[-2]),
            "chunks": json.loads(row[-1]),
        }


def numbered_relations(store: Store) -> Iterator[tuple[int, int, Row]]:
    """Every relation with the positions of its ends among the entities, from 0."""
    columns = "r.source, r.target, s.id, t.id, weight, predicates, keywords, r.descriptions, r.chunks"
    source = "relations r JOIN entities s ON s.n = r.source JOIN entities t ON t.n = r.target"
    for row in _paged(store, columns, source, ["r.n"]):
        start, end, source_id, target_id, weight, predicates, keywords, descriptions, chunks = row
        yield (
            start,
            end,
            {
                "id": f"{source_id} | {target_id}",
                "source": source_id,
                "target": target_id,
                "weight": weight,
                "predicates": json.loads(predicates),
                "keywords": json.loads(keywords),
                "descriptions": _descriptions(descriptions),
                "chunks": json.loads(chunks),
            },
        )


def _relations(store: Store) -> Iterator[Row]:
    for _, _, relation in numbered_relations(store):
        yield relation


def _merges(store: Store) -> Iterator[Row]:
    # Resolution writes them in the order of (entity, name, document), all at once.
    columns = "entity, name, document, rule, score, other"
    for row in _paged(store, columns, "merges", ["rowid"]):
        yield _named(columns, row)


def _communities(store: Store) -> Iterator[Row]:
    columns = "id, level, parent, entities, chunks"
    for row in _paged(store, columns, "communities", ["id"]):
        yield _named(columns, row) | {"entities": json.loads(row[-2]), "chunks": json.loads(row[-1])}


def _reports(store: Store) -> Iterator[Row]:
    columns = "community, level, title, summary, rating, weight, written_by, findings, chunks"
    for row in _paged(store, columns, "reports", ["community"]):
        findings = [
            {"summary": summary, "explanation": explanation, "chunks": chunks}
            for summary, explanation, chunks in json.loads(row[-2])
        ]
        yield _named(columns, row) | {"findings": findings, "chunks": json.loads(row[-1])}


def _written(store: Store, *, in_use: bool) -> Iterator[Row]:
    """Texts by a model under the hash of their input; `in_use`: only those that a present report consists of.

    What earlier states of an index had written stays in its tables as a cache. It would make two equal
    indexes export differently, so it comes along only where the reports are out of date and may need it.
    """
    present: set[bytes] = set()
    if in_use:
        for (community,) in _paged(store, "community", "reports", ["community"]):
            for report in store.reports([community]):
                present.add(bytes.fromhex(digest(_told(report))))
    for key, value in _paged(store, "key, value", "written", ["key"]):
        told = _told(report_from_json(value))
        if not in_use or bytes.fromhex(digest(told)) in present:
            yield {"key": key, "value": told}


def _told(report: Report) -> str:
    """What a report says, whichever community it was written for: a kept one takes over those of its new one."""
    return report_to_json(replace(report, community="", level=0, weight=0.0, rating=float(report.rating)))


def _named(columns: str, row: Sequence[Any]) -> Row:
    return dict(zip(columns.split(", "), row, strict=True))


def _descriptions(text: str) -> list[Row]:
    return [{"text": said, "chunk": chunk} for said, chunk in json.loads(text)]


def _metadata(text: str) -> Row:
    # JSON has no infinite numbers; a file with one such (1e999) has nothing that could be compared there.
    found: Row = json.loads(text, parse_constant=lambda _: None)
    return found


_STREAMS: Mapping[str, Callable[[Store], Iterator[Row]]] = {
    "documents": _documents,
    "chunks": _chunks,
    "windows": _windows,
    "entity_rows": _entity_rows,
    "relation_rows": _relation_rows,
    "decisions": _decisions,
    "entities": _entities,
    "relations": _relations,
    "merges": _merges,
    "communities": _communities,
    "reports": _reports,
}

KINDS = (*_STREAMS, "written")
"""Every kind of record: first what is read and decided, then the views of it, then what models wrote."""

LAYER_OF: Mapping[str, str] = {
    "entities": "graph",
    "relations": "graph",
    "merges": "graph",
    "communities": "communities",
    "reports": "reports",
}
"""The layer that a view belongs to."""
