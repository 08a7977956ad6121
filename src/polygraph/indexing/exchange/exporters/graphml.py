"""Export to GraphML: entities and relations, for graph tools. It cannot be imported again."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from polygraph.indexing.exchange.exporters.folder import write_export
from polygraph.indexing.exchange.exporters.records import (
    Row,
    described,
    finished_layers,
    numbered_relations,
    rows,
)
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import StoreReader

FILE_NAME = "graph.graphml"

_NODE = {
    "entity": "string",
    "label": "string",
    "type": "string",
    "description": "string",
    "aliases": "string",
    "chunks": "string",
    "degree": "int",
}
_EDGE = {
    "relation": "string",
    "weight": "double",
    "predicates": "string",
    "keywords": "string",
    "description": "string",
    "chunks": "string",
}
"""Attributes and their types. Lists, which GraphML does not have, are JSON texts."""

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even as a reference."""


def export_graphml(store: StoreReader, manifest: Manifest, output: Path) -> dict[str, int]:
    """Write ``graph.graphml``: nodes ``n0, n1...`` in the order of entity ids, undirected edges.

    A node's id in the file is a number, because two entity ids could become equal when characters that XML cannot
    hold are left out; the entity's id is the attribute `entity`.
    """
    layers = finished_layers(store, manifest)

    def fill(place: Path) -> dict[str, int]:
        n = 0
        with (place / FILE_NAME).open("w", encoding="utf-8", newline="\n") as file:
            for text in _lines(store, layers):
                file.write(text)
                n += text.startswith(("<node", "<edge"))
        return {FILE_NAME: n}

    return write_export(output, "graphml", fill, {})


def _lines(store: StoreReader, layers: tuple[str, ...]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for domain, prefix, types in (("node", "v", _NODE), ("edge", "e", _EDGE)):
        for name, kind in types.items():
            yield (f'<key id="{prefix}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n')
    yield '<graph edgedefault="undirected">\n'
    if "graph" in layers:
        for n, entity in enumerate(rows(store, "entities", layers)):
            values = entity | {"entity": entity["id"], "label": entity["name"]} | _texts(entity)
            yield f'<node id="n{n}">{_data("v", _NODE, values)}</node>\n'
        for n, (source, target, relation) in enumerate(numbered_relations(store)):
            values = relation | {"relation": relation["id"]} | _texts(relation)
            data = _data("e", _EDGE, values)
            yield f'<edge id="e{n}" source="n{source}" target="n{target}">{data}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _texts(row: Row) -> Row:
    found: Row = {
        name: json.dumps(row[name], ensure_ascii=False)
        for name in ("aliases", "predicates", "keywords", "chunks")
        if name in row
    }
    return found | {"description": described(row)}


def _data(prefix: str, types: Mapping[str, str], values: Row) -> str:
    return "".join(
        f'<data key="{prefix}_{name}">{xml_text(str(values[name]))}</data>'
        for name in types
        if values[name] != ""
    )


def xml_text(text: str) -> str:
    r"""Return text for the content of an XML element; what XML 1.0 cannot hold is left out.

    >>> xml_text("a\x00 < b & c]]>\r")
    'a &lt; b &amp; c]]&gt;&#13;'
    """
    return escape(_FORBIDDEN.sub("", text), {"\r": "&#13;"})
