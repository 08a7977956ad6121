"""Export of an index as JSON Lines, GraphML, Parquet or CSV for Neo4j, and import of exports and of other graphs."""

from pathlib import Path

from polygraph.errors import BadInput, IndexUnreadable, quoted
from polygraph.indexing.exchange.exporters.graphml import export_graphml
from polygraph.indexing.exchange.exporters.jsonl import export_jsonl
from polygraph.indexing.exchange.exporters.neo4j import export_neo4j
from polygraph.indexing.exchange.exporters.parquet import export_parquet
from polygraph.indexing.exchange.exporters.records import finished_layers
from polygraph.store.protocol import StoreReader

FORMATS = {
    "jsonl": export_jsonl,
    "graphml": export_graphml,
    "parquet": export_parquet,
    "neo4j": export_neo4j,
}
"""Every format by name; only ``jsonl`` can be imported again."""


def export(store: StoreReader, output: Path, format: str = "jsonl") -> dict[str, int]:
    """Write an index to a folder, in one of `FORMATS`.

    The folder is complete or does not exist, whatever happens. Memory does not grow with the index: records are
    streamed, documents one at a time. Only of reports that a model wrote 16 bytes each are held.

    Args:
        store: opened for reading.
        output: the folder; created if it does not exist, replaced if it holds an earlier export.
        format: name of the format.

    Returns:
        Records by file name.

    Raises:
        BadInput: for an unknown format, a folder that holds something else, or, for the formats of
            graphs, an index without an up to date graph.
        IndexUnreadable: if the index is empty.
        MissingExtra: for parquet without its extra.
        StorageFailed: if the folder cannot be written.
    """
    if format not in FORMATS:
        raise BadInput(f"there is no export format {format!r}. Choose one of: {', '.join(FORMATS)}")
    manifest = store.manifest()
    if manifest is None:
        raise IndexUnreadable(
            f"the index at {store.place} is empty. Fill it with: polygraph index PATH --index {quoted(store.place)}"
        )
    if format in ("graphml", "neo4j") and "graph" not in finished_layers(store, manifest):
        raise BadInput(
            f"{format} needs the graph, which the index at {store.place} does not have up to date. Build it with: "
            f"polygraph index --index {quoted(store.place)}"
        )
    return FORMATS[format](store, manifest, output)
