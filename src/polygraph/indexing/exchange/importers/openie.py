"""OpenIE triples: entities and (subject, predicate, object) by document.

As JSON Lines: ``openie.jsonl`` (or ``.gz``), each line `doc_id`, `entities` and `triples`, with a corpus beside it.
As HippoRAG writes it: one JSON object with `docs`, each `idx`, `passage`, `extracted_entities`, `extracted_triples`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput
from polygraph.indexing.exchange.importers.documents import add_document, read_corpus
from polygraph.indexing.exchange.importers.safe_read import find_file, read_json, read_objects
from polygraph.indexing.exchange.importers.source_graph import SourceGraph

LINES = ("openie.jsonl", "triples.jsonl")


def openie_file(folder: Path) -> Path | None:
    """Return the file of triples in a folder, if there is one."""
    found = find_file(folder, *LINES)
    if found is not None:
        return found
    named = sorted(folder.glob("openie_results*.json"))
    return find_file(folder, named[0].name) if named else None


def is_openie(path: Path) -> bool:
    """Return whether a file holds triples, by its first record."""
    try:
        if path.name.removesuffix(".gz").endswith(".json"):
            found = read_json(path)
            docs = found.get("docs") if isinstance(found, dict) else None
            return (
                isinstance(docs, list) and bool(docs) and isinstance(docs[0], dict) and "passage" in docs[0]
            )
        first = next(iter(read_objects(path)), None)
        return first is not None and "triples" in first
    except BadInput:
        return False


def read_openie(path: Path) -> SourceGraph:
    """Read a file of triples, with the corpus beside it.

    Ends of triples that are not listed as entities become entities, too. A triple without three parts is counted, and
    kept as written with its window.

    Raises:
        BadInput: if the file cannot be read.
    """
    graph = SourceGraph(program="openie")
    if path.name.removesuffix(".gz").endswith(".json"):
        rows = _hipporag(graph, path)
    else:
        read_corpus(graph, path.parent)
        rows = read_objects(path)
    counts = {"entities": 0, "triples": 0, "relations": 0}
    for row in rows:
        unit = row.get("doc_id", row.get("id"))
        key = str(unit) if isinstance(unit, str | int) else ""
        entities = row.get("entities")
        for entity in entities if isinstance(entities, list) else ():
            counts["entities"] += 1
            if isinstance(entity, dict):
                graph.add_entity(entity.get("name"), entity.get("type"), [entity.get("description")], [key])
            else:
                graph.add_entity(entity, units=[key])
        triples = row.get("triples")
        for triple in triples if isinstance(triples, list) else ():
            counts["triples"] += 1
            if not _is_whole(triple):
                graph.record_loss("triples that do not have three parts", triple, key)
                continue
            counts["relations"] += 1
            source, predicate, target = triple
            graph.add_relation(source, target, predicate=predicate, units=[key])
    graph.counts |= counts
    return graph


def _is_whole(triple: object) -> bool:
    return (
        isinstance(triple, list)
        and len(triple) == 3
        and all(isinstance(part, str) and part.strip() for part in triple)
    )


def _hipporag(graph: SourceGraph, path: Path) -> Iterable[dict[str, Any]]:
    found = read_json(path)
    docs = found.get("docs") if isinstance(found, dict) else None
    if not isinstance(docs, list):
        raise BadInput(f"{path}: has no list `docs`. Name a file of OpenIE results; nothing was imported")
    rows = []
    for n, doc in enumerate(docs):
        if not isinstance(doc, dict):
            graph.record_loss("records that are no objects", doc)
            continue
        passage = doc.get("passage")
        key = doc.get("idx", n)
        text = passage if isinstance(passage, str) else ""
        # A passage is a title, a line end, and the text.
        title = text.partition("\n")[0] if "\n" in text else ""
        add_document(graph, key, title[:200], text)
        rows.append(
            {
                "doc_id": key,
                "entities": doc.get("extracted_entities"),
                "triples": doc.get("extracted_triples"),
            }
        )
    graph.counts["documents"] = len(graph.documents)
    return rows
