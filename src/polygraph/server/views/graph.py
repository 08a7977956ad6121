"""What the API shows of the graph: maps of communities and entities, neighbourhoods, one entity, reports."""

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from heapq import nsmallest
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from polygraph.errors import PolygraphError
from polygraph.indexing.entities.find import documents_of
from polygraph.records import Chunk, Description, Entity, Relation
from polygraph.server.problems import unknown
from polygraph.server.served_indexes import ServedIndex
from polygraph.store.snapshot import Snapshot
from polygraph.text.normalize import normalize_name, typed_forms
from polygraph.text.sentences import sentence_spans
from polygraph.text.statements import statements
from polygraph.workspace.graph_map import GraphMap

MAX_ENTITIES = 100_000
MAX_COMMUNITIES = 20_000
_MAX_EDGES = 300_000
_MAX_COMMUNITY_EDGES = 5_000
_MAX_RELATIONS = 200
_MAX_DESCRIPTIONS = 100
_MAX_EVIDENCE = 5
"""Sentences under one relation."""
_MAX_SENTENCE = 600
_PREPARED = 200_000
"""Most entities of an index whose map is made when the page is opened."""
_maps: WeakKeyDictionary[Snapshot, GraphMap] = WeakKeyDictionary()
_making = threading.Lock()


def map_of(snapshot: Snapshot) -> GraphMap:
    """Return the map of a state of an index; it is made once for each state.

    Raises:
        BadInput: if there is no graph.
    """
    found = _maps.get(snapshot)
    if found is None:
        with _making:
            found = _maps.get(snapshot) or GraphMap(snapshot)
            _maps[snapshot] = found
    return found


def prepare(indexes: Iterable[ServedIndex]) -> None:
    """Make the maps of indexes before anybody asks for them; of very large ones only when somebody does."""
    for served in indexes:
        with suppress(PolygraphError), served.reading() as opened:
            snapshot = opened.snapshot()
            if snapshot.store.count("entities") <= _PREPARED:
                map_of(snapshot)


def communities_view(graph: GraphMap, level: int | None) -> dict[str, Any]:
    """Return the communities of a level, or of all, with the edges between those of one level.

    Args:
        graph: of the index.
        level: None for the communities of all levels, with the edges of the coarsest.
    """
    shown = [c for c in graph.communities.values() if level is None or c.level == level][:MAX_COMMUNITIES]
    joined = level if level is not None else (graph.levels[0] if graph.levels else None)
    edges: list[dict[str, Any]] = []
    if joined is not None and joined in graph.levels:
        at = graph.at_level(joined)
        edges = [
            {"source": at[a].id, "target": at[b].id, "weight": weight}
            for a, b, weight in graph.edges_between(joined)[:_MAX_COMMUNITY_EDGES]
        ]
    return {
        "levels": graph.levels,
        "communities": [
            {
                "id": c.id,
                "level": c.level,
                "title": c.title,
                "size": c.size,
                "x": round(c.x, 1),
                "y": round(c.y, 1),
                "r": round(c.r, 1),
                "parent": c.parent or None,
                "rank": c.rank,
            }
            for c in shown
        ],
        "edges": edges,
    }


def entities_view(graph: GraphMap, start: int, limit: int) -> dict[str, Any]:
    """Return entities as columns, the best connected first, with the edges among those returned.

    Args:
        graph: of the index.
        start: how many are left out before.
        limit: most entities.
    """
    degrees = graph.graph.degrees
    order = np.lexsort((np.arange(len(degrees)), -degrees))[start : start + limit]
    number = np.full(len(degrees), -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    sources, targets, weights = graph.graph.edges()
    a, b = number[sources], number[targets]
    kept = np.flatnonzero((a >= 0) & (b >= 0))
    if len(kept) > _MAX_EDGES:
        kept = np.sort(kept[np.argsort(-weights[kept], kind="stable")[:_MAX_EDGES]])
    level = graph.levels[0] if graph.levels else None
    of = graph.community_of(level) if level is not None else np.full(len(degrees), -1)
    names = [c.id for c in graph.at_level(level)] if level is not None else []
    return {
        "ids": [graph.ids[n] for n in order],
        "names": [graph.names[n] for n in order],
        "types": [graph.types[n] for n in order],
        "x": graph.places[order, 0].tolist(),
        "y": graph.places[order, 1].tolist(),
        "degree": degrees[order].tolist(),
        "community": [names[n] if n >= 0 else None for n in of[order]],
        "edges": {
            "source": a[kept].tolist(),
            "target": b[kept].tolist(),
            "weight": np.round(weights[kept].astype(np.float64), 3).tolist(),
        },
        "next": start + limit if start + limit < len(degrees) else None,
        "total": len(degrees),
    }


def neighbours_view(graph: GraphMap, entity: str, hops: int, limit: int) -> dict[str, Any]:
    """Return an entity, the entities around it, the strongest connected first, and the edges among them.

    Raises:
        Problem: 404 for an unknown entity.
    """
    start = _row(graph, entity)
    found, border = {start: 0.0}, [start]
    left_out = 0
    for _ in range(hops):
        strength: dict[int, float] = {}
        for vertex in border:
            around = zip(
                graph.graph.neighbours(vertex).tolist(), graph.graph.weights_of(vertex).tolist(), strict=True
            )
            for other, weight in around:
                if other not in found:
                    strength[other] = strength.get(other, 0.0) + weight
        ordered = sorted(strength, key=lambda n: (-strength[n], n))
        room = max(0, limit - len(found) + 1)
        left_out += max(0, len(ordered) - room)
        border = ordered[:room]
        found |= {n: strength[n] for n in border}
    level = graph.levels[0] if graph.levels else None
    of = graph.community_of(level) if level is not None else None
    at = graph.at_level(level) if level is not None else []
    return {
        "entity": entity,
        "entities": [
            _node(graph, n) | {"community": at[of[n]].id if of is not None and of[n] >= 0 else None}
            for n in found
        ],
        "edges": [
            {"source": graph.ids[n], "target": graph.ids[other], "weight": round(weight, 3)}
            for n in found
            for other, weight in zip(
                graph.graph.neighbours(n).tolist(), graph.graph.weights_of(n).tolist(), strict=True
            )
            if other in found and n < other
        ],
        "left_out": left_out,
    }


def completions(graph: GraphMap, snapshot: Snapshot, q: str, limit: int) -> list[dict[str, Any]]:
    """Return entities whose name or alias contains a text: equal names first, then beginnings, then by mentions."""
    wanted = typed_forms(q) if normalize_name(q) else ()
    rows: Iterable[int] = snapshot.store.graph.entities_containing(q) if wanted else range(len(graph.ids))

    def order(n: int) -> tuple[int, int, int]:
        forms = typed_forms(graph.names[n]) if wanted else ()
        fits = [
            0 if name == form else 1 if name.startswith(form) else 2 if form in name else 3
            for name in forms
            for form in wanted
        ]
        return min(fits, default=0), -int(graph.mentions[n]), n

    return [_node(graph, n) for n in nsmallest(limit, rows, key=order)]


def entity_view(graph: GraphMap, snapshot: Snapshot, entity: str) -> dict[str, Any]:
    """Return everything that the index says of an entity, each statement with the sentences that it rests on.

    Raises:
        Problem: 404 for an unknown entity.
    """
    row = _row(graph, entity)
    (found,) = snapshot.entities([row])
    at = snapshot.relations_at([row])
    neighbours = sorted(at, key=lambda r: (-r.weight, r.n))[:_MAX_RELATIONS]
    relations = list(snapshot.relations([r.n for r in neighbours]).values())
    wanted = [d.chunk for d in found.descriptions[:_MAX_DESCRIPTIONS]]
    wanted += [id for r in relations for id in _evidence_chunks(r)]
    chunks = {c.id: c for c in snapshot.chunks_by_id(list(dict.fromkeys(wanted)))}
    documents = _documents_of(found)
    titles = snapshot.titles([*documents, *{c.document for c in chunks.values()}])
    communities = [id for _, id in snapshot.communities_of([entity])] if graph.levels else []
    shown = [c for id in communities if (c := graph.communities.get(id)) is not None]
    return {
        **_node(graph, row),
        "names": [found.name, *found.aliases],
        "description": found.summary,
        "descriptions": [
            _located(d, chunks[d.chunk], titles)
            for d in found.descriptions[:_MAX_DESCRIPTIONS]
            if d.chunk in chunks
        ],
        "relations": [_relation(r, graph, entity, chunks, titles) for r in relations],
        "relations_left_out": max(0, len(at) - len(relations)),
        "documents": [
            {"id": id, "title": titles.get(id, id), "mentions": n} for id, n in list(documents.items())[:200]
        ],
        "reports": [
            {"id": c.id, "title": c.title, "level": c.level}
            for c in sorted(shown, key=lambda c: (-c.level, c.id))
        ],
    }


def report_view(graph: GraphMap, snapshot: Snapshot, community: str) -> dict[str, Any]:
    """Return the report of a community with its members, the best connected first.

    Raises:
        Problem: 404 for an unknown community.
    """
    found = graph.communities.get(community)
    if found is None:
        raise unknown("report", community, "/api/v1/indexes/INDEX/graph/communities")
    reports = snapshot.reports([community]) if "reports" in snapshot.layers else []
    degrees = graph.graph.degrees[found.members]
    members = found.members[np.lexsort((found.members, -degrees))][:200]
    values: dict[str, Any] = {
        "id": community,
        "title": found.title,
        "level": found.level,
        "size": found.size,
        "parent": found.parent or None,
        "summary": "",
        "findings": [],
        "members": [{"id": graph.ids[n], "name": graph.names[n]} for n in members],
        "documents": [],
    }
    for report in reports[:1]:
        chunks = {c.id: c for c in snapshot.chunks_by_id(list(report.chunks)[:500])}
        titles = snapshot.titles(sorted({c.document for c in chunks.values()}))
        values |= {
            "title": report.title,
            "summary": report.summary,
            "rating": report.rating,
            "written_by": report.written_by,
            "findings": [
                {
                    "summary": f.summary,
                    "explanation": f.explanation,
                    "evidence": [
                        {"document": chunks[i].document, "start": chunks[i].start, "end": chunks[i].end}
                        for i in f.chunks[:_MAX_EVIDENCE]
                        if i in chunks
                    ],
                }
                for f in report.findings
            ],
            "documents": [{"id": id, "title": title} for id, title in sorted(titles.items())],
        }
    return values


def _row(graph: GraphMap, entity: str) -> int:
    row = graph.rows.get(entity)
    if row is None:
        raise unknown("entity", entity, "/api/v1/indexes/INDEX/entities?q=NAME")
    return row


def _node(graph: GraphMap, n: int) -> dict[str, Any]:
    return {
        "id": graph.ids[n],
        "name": graph.names[n],
        "type": graph.types[n],
        "mentions": int(graph.mentions[n]),
        "degree": int(graph.graph.degrees[n]),
        "x": float(graph.places[n, 0]),
        "y": float(graph.places[n, 1]),
    }


def _documents_of(entity: Entity) -> dict[str, int]:
    """Return how many chunks of each document mention an entity, most first."""
    return dict(sorted(documents_of(entity), key=lambda pair: (-pair[1], pair[0])))


def _evidence_chunks(relation: Relation) -> list[str]:
    ids = [d.chunk for d in relation.descriptions[:_MAX_EVIDENCE]] + list(relation.chunks[:_MAX_EVIDENCE])
    return list(dict.fromkeys(ids))[:_MAX_EVIDENCE]


def _relation(
    relation: Relation, graph: GraphMap, entity: str, chunks: dict[str, Chunk], titles: dict[str, str]
) -> dict[str, Any]:
    """Return a relation as a sentence with the sentences of the documents that it rests on."""
    ends = [graph.names[graph.rows[i]] if i in graph.rows else i for i in (relation.source, relation.target)]
    sentence = statements(relation.predicates[:4], *ends)
    if not sentence:
        about = f" ({'; '.join(relation.keywords[:4])})" if relation.keywords else ""
        sentence = relation.summary or f"{ends[0]} and {ends[1]} are mentioned together{about}."
    evidence = []
    said = {d.chunk: d for d in reversed(relation.descriptions)}
    for id in _evidence_chunks(relation):
        chunk = chunks.get(id)
        if chunk is not None:
            place = _found_in(said[id].text, chunk) if id in said else None
            start, end = place or _sentence_about(chunk, ends)
            evidence.append(_place(chunk, start, end, titles))
    return {
        "id": relation.id,
        "source": relation.source,
        "target": relation.target,
        "other": relation.target if relation.source == entity else relation.source,
        "other_name": ends[1] if relation.source == entity else ends[0],
        "sentence": sentence,
        "descriptions": [d.text for d in relation.descriptions[:_MAX_EVIDENCE]],
        "weight": round(relation.weight, 3),
        "evidence": evidence,
    }


def _located(description: Description, chunk: Chunk, titles: dict[str, str]) -> dict[str, Any]:
    start, end = _found_in(description.text, chunk) or (chunk.start, chunk.end)
    return {
        "text": description.text,
        "document": chunk.document,
        "title": titles.get(chunk.document, chunk.document),
        "start": start,
        "end": end,
    }


def _found_in(text: str, chunk: Chunk) -> tuple[int, int] | None:
    """Return where a description stands in its chunk, if it is a sentence of the document."""
    at = chunk.text.find(text) if text else -1
    return None if at < 0 else (chunk.start + at, chunk.start + at + len(text))


def _sentence_about(chunk: Chunk, names: Sequence[str]) -> tuple[int, int]:
    """Return the first sentence with the most of some names; without any, the whole chunk."""
    best, most = (chunk.start, chunk.end), 0
    for start, end in sentence_spans(chunk.text):
        text = chunk.text[start:end].casefold()
        n = sum(name.casefold() in text for name in names)
        if n > most:
            best, most = (chunk.start + start, chunk.start + end), n
    return best


def _place(chunk: Chunk, start: int, end: int, titles: dict[str, str]) -> dict[str, Any]:
    quote = chunk.text[start - chunk.start : end - chunk.start]
    return {
        "document": chunk.document,
        "title": titles.get(chunk.document, chunk.document),
        "start": start,
        "end": end,
        "quote": quote if len(quote) <= _MAX_SENTENCE else quote[:_MAX_SENTENCE] + " ...",
    }
