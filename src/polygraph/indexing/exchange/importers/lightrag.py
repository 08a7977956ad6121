"""The working folder of LightRAG and of nano-graphrag, and the same graph as JSON Lines.

A working folder holds ``graph_chunk_entity_relation.graphml``, ``kv_store_text_chunks.json`` and
``kv_store_full_docs.json``; its vector stores are not read. As JSON Lines: ``nodes.jsonl`` (`name`, `type`,
`description`, `chunks`), ``edges.jsonl`` (`source`, `target`, `description`, `keywords`, `weight`, `chunks`), and
``chunks.jsonl`` (`id`, `text`, perhaps `document`), each optionally with ``.gz``. Lists that the programs write as one
text, separated by ``<SEP>``, are split in both.
"""

import re
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from polygraph.errors import BadInput
from polygraph.indexing.exchange.importers.documents import add_document
from polygraph.indexing.exchange.importers.safe_read import find_file, read_json, read_objects, read_text
from polygraph.indexing.exchange.importers.source_graph import MAX_ITEMS, SourceGraph

GRAPHML = "graph_chunk_entity_relation.graphml"
_SEPARATOR = "<SEP>"
_KEYWORDS = re.compile(r"[,;\n]")
_UNNAMED = ("", "unknown_source", "no-file-path")


def is_lightrag(folder: Path) -> bool:
    """Return whether a folder holds such a graph."""
    if find_file(folder, GRAPHML) is not None:
        return True
    return all(find_file(folder, name) is not None for name in ("nodes.jsonl", "edges.jsonl"))


def read_lightrag(folder: Path) -> SourceGraph:
    """Read a working folder, or the JSON Lines form.

    Chunks become text units in their order within their document. The program is ``nano-graphrag`` if the
    nodes name clusters, as that program writes them.

    Raises:
        BadInput: if a file is missing or damaged.
    """
    graph = SourceGraph(program="lightrag")
    path = find_file(folder, GRAPHML)
    nodes, edges = _graphml(path) if path is not None else _lines(folder)
    if any(node.get("clusters") for node in nodes):
        graph.program = "nano-graphrag"
    _texts(graph, folder)
    for node in nodes:
        name = node.get("name", node.get("entity_id"))
        kind = node.get("type", node.get("entity_type"))
        graph.add_entity(name, kind, _parts(node.get("description")), _units(node))
    for edge in edges:
        weight = edge.get("weight")
        graph.add_relation(
            edge.get("source"),
            edge.get("target"),
            keywords=_keywords(edge.get("keywords")),
            descriptions=_parts(edge.get("description")),
            strength=1.0 if weight is None else weight,
            units=_units(edge),
        )
    graph.counts |= {"entities": len(nodes), "relations": len(edges)}
    return graph


def _lines(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found = []
    for name in ("nodes.jsonl", "edges.jsonl"):
        path = find_file(folder, name)
        if path is None:
            raise BadInput(f"{folder} has neither {GRAPHML} nor {name}. Name the working folder of LightRAG")
        found.append(list(read_objects(path)))
    return found[0], found[1]


def _texts(graph: SourceGraph, folder: Path) -> None:
    if (path := find_file(folder, "kv_store_full_docs.json")) is not None:
        for key, value in _table(path):
            title = value.get("file_path")
            title = None if title in _UNNAMED else str(title).replace("\\", "/").rpartition("/")[2]
            add_document(graph, key, title, value.get("content"))
        graph.counts["documents"] = len(graph.documents)
    rows: list[tuple[Any, dict[str, Any]]] = []
    if (path := find_file(folder, "kv_store_text_chunks.json")) is not None:
        rows += _table(path)
    elif (path := find_file(folder, "chunks.jsonl")) is not None:
        rows = [(row.get("id"), row) for row in read_objects(path)]
    # The sort is stable: where no order is stated, that of the file stays.
    rows.sort(key=lambda row: _order(row[1]))
    for key, value in rows:
        text = value.get("content", value.get("text"))
        document = value.get("full_doc_id", value.get("document"))
        graph.add_unit(key, text, [] if document is None else [document], value.get("title"))
    graph.counts["text_units"] = len(rows)
    if (path := find_file(folder, "kv_store_community_reports.json")) is not None:
        graph.counts["reports"] = len(_table(path))
    elif (path := find_file(folder, "community_reports.jsonl")) is not None:
        graph.counts["reports"] = sum(1 for _ in read_objects(path))


def _order(value: dict[str, Any]) -> int:
    order = value.get("chunk_order_index", value.get("order", 0))
    return order if isinstance(order, int) else 0


def _table(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the items of a key-value store: one object whose values are objects."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise BadInput(f"{path}: is not a JSON object of records. Nothing was imported")
    return [(key, value) for key, value in found.items() if isinstance(value, dict)]


def _parts(value: object) -> list[object]:
    if not isinstance(value, str):
        return list(value) if isinstance(value, list) else []
    return list(value.split(_SEPARATOR))


def _keywords(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [part for each in _parts(value) for part in _KEYWORDS.split(str(each))]


def _units(row: dict[str, Any]) -> list[object]:
    return _parts(row.get("chunks", row.get("source_id")))


# --- GraphML --------------------------------------------------------------------------------------------


def _graphml(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return nodes and edges with their attributes by name; only text is taken from the file.

    Raises:
        BadInput: if it is damaged, has a document type (whose entities could expand to any size), or too many nodes.
    """
    reader = _GraphML(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        parser.Parse(read_text(path).encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise BadInput(f"{path}:{error.lineno}: is not XML ({error}). Nothing was imported") from error
    except ValueError as error:  # an encoding that it does not know
        raise BadInput(f"{path} cannot be read as XML ({error}). Nothing was imported") from error
    return reader.nodes, reader.edges


class _GraphML:
    """Nodes and edges, collected from the events of a parser."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str, str] = {}
        self._item: dict[str, Any] | None = None
        self._key = ""
        self._text: list[str] = []
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []

    def doctype(self, *_: object) -> NoReturn:
        raise BadInput(f"{self._path} has a document type, which no GraphML needs. Nothing was imported")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "key":
            self._names[attributes.get("id", "")] = attributes.get("attr.name", "")
        elif tag == "node":
            self._item = {"name": attributes.get("id", "")}
            self.nodes.append(self._item)
        elif tag == "edge":
            self._item = {"source": attributes.get("source"), "target": attributes.get("target")}
            self.edges.append(self._item)
        elif tag == "data":
            self._key, self._text = self._names.get(attributes.get("key", ""), ""), []
        if max(len(self.nodes), len(self.edges)) > MAX_ITEMS:
            raise BadInput(f"{self._path} has more than {MAX_ITEMS:,} nodes or edges. Split the graph")

    def text(self, text: str) -> None:
        if self._key:
            self._text.append(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "data":
            # An attribute never replaces the id of a node or the ends of an edge.
            if self._item is not None and self._key:
                self._item.setdefault(self._key, "".join(self._text))
            self._key = ""
        elif tag in ("node", "edge"):
            self._item = None
