"""The format of a folder or file to import, detected from what it holds."""

from pathlib import Path

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.folder import MANIFEST
from polygraph.indexing.exchange.importers.csv import ENTITIES, RELATIONS, is_csv, read_csv_tables
from polygraph.indexing.exchange.importers.lightrag import GRAPHML, is_lightrag, read_lightrag
from polygraph.indexing.exchange.importers.msgraphrag import is_msgraphrag, read_msgraphrag
from polygraph.indexing.exchange.importers.openie import is_openie, openie_file, read_openie
from polygraph.indexing.exchange.importers.source_graph import SourceGraph

IMPORTS = ("jsonl", "msgraphrag", "lightrag", "openie", "csv")
"""Formats that can be imported: `jsonl` is an export of Polygraph, the others are graphs of other programs."""

_FILES = {
    GRAPHML: "lightrag",
    "entities.parquet": "msgraphrag",
    "create_final_entities.parquet": "msgraphrag",
    "nodes.jsonl": "lightrag",
    "edges.jsonl": "lightrag",
    ENTITIES: "csv",
    RELATIONS: "csv",
}
"""Files that may be named instead of their folder."""


def detect_format(path: Path, format: str | None = None) -> str:
    """Return which of `IMPORTS` a path holds.

    Args:
        path: of a folder, or of a file in one.
        format: one of `IMPORTS`, which is then returned whatever the files look like.

    Raises:
        BadInput: if the path does not exist, or has none of the formats.
    """
    if format is not None and format not in IMPORTS:
        raise BadInput(f"there is no import format {format!r}. Choose one of: {', '.join(IMPORTS)}")
    if not path.exists():
        raise BadInput(f"{path} does not exist. Name a folder that an export or another program wrote")
    if format is not None:
        return format
    if path.is_file():
        found = _FILES.get(path.name.removesuffix(".gz"))
        if found is None and is_openie(path):
            found = "openie"
    else:
        found = _of_folder(path)
    if found is None:
        raise BadInput(
            f"{path} has none of the formats that can be imported: an export of Polygraph ({MANIFEST}), the output of "
            f"Microsoft GraphRAG (entities.parquet), a working folder of LightRAG or nano-graphrag ({GRAPHML}, or "
            f"nodes.jsonl and edges.jsonl), OpenIE triples (openie.jsonl), or tables ({RELATIONS}). Name the folder "
            "that holds one"
        )
    return found


def _of_folder(folder: Path) -> str | None:
    if (folder / MANIFEST).is_file():
        return "jsonl"
    if is_msgraphrag(folder):
        return "msgraphrag"
    if is_lightrag(folder):
        return "lightrag"
    if openie_file(folder) is not None:
        return "openie"
    return "csv" if is_csv(folder) else None


def read_graph(path: Path, format: str) -> SourceGraph:
    """Read a graph that another program made.

    Args:
        path: of a folder, or of a file in one.
        format: one of `IMPORTS`, but not ``jsonl``.

    Raises:
        BadInput: if it cannot be read, or holds no entity and no relation.
        MissingExtra: for parquet files without pyarrow.
    """
    folder = path.parent if path.is_file() else path
    if format == "msgraphrag":
        graph = read_msgraphrag(folder)
    elif format == "lightrag":
        graph = read_lightrag(folder)
    elif format == "csv":
        graph = read_csv_tables(folder)
    else:
        file = path if path.is_file() else openie_file(folder)
        if file is None:
            raise BadInput(f"{folder} has no openie.jsonl. Name the file of triples itself")
        graph = read_openie(file)
    if not graph.entities and not graph.relations:
        raise BadInput(f"{path} holds no entity and no relation that could be used. Nothing was imported")
    return graph
