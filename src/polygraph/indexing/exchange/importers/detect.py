"""Which form a folder or file has that is to be imported: told by what it holds, not by its name alone."""

from pathlib import Path

from polygraph.errors import BadInput
from polygraph.indexing.exchange.exporters.folder import MANIFEST
from polygraph.indexing.exchange.importers.csv import ENTITIES, RELATIONS, is_csv, read_csv_tables
from polygraph.indexing.exchange.importers.lightrag import GRAPHML, is_lightrag, read_lightrag
from polygraph.indexing.exchange.importers.msgraphrag import is_msgraphrag, read_msgraphrag
from polygraph.indexing.exchange.importers.openie import is_openie, openie_file, read_openie
from polygraph.indexing.exchange.importers.source_graph import SourceGraph

IMPORTS = ("jsonl", "msgraphrag", "lightrag", "openie", "csv")
"""What can be imported: `jsonl` is an export of ours, the others are graphs of other programs."""

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


def recognise(place: Path, format: str | None = None) -> str:
    """Tell which of `IMPORTS` a place holds.

    Args:
        place: a folder, or a file of one.
        format: one of `IMPORTS`, to read it so whatever it looks like.

    Raises:
        BadInput: if it is not there, or has none of the forms.
    """
    if format is not None and format not in IMPORTS:
        raise BadInput(f"there is no import format {format!r}. Choose one of: {', '.join(IMPORTS)}")
    if not place.exists():
        raise BadInput(f"{place} does not exist. Name a folder that an export or another program wrote")
    if format is not None:
        return format
    if place.is_file():
        found = _FILES.get(place.name.removesuffix(".gz"))
        if found is None and is_openie(place):
            found = "openie"
    else:
        found = _of_folder(place)
    if found is None:
        raise BadInput(
            f"{place} has none of the forms that can be imported: an export of ours ({MANIFEST}), the output of "
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


def read_graph(place: Path, format: str) -> SourceGraph:
    """Read a graph that another program made.

    Args:
        place: a folder, or a file of one.
        format: one of `IMPORTS`, but not ``jsonl``.

    Raises:
        BadInput: if it cannot be read, or holds no entity and no relation.
        MissingExtra: for parquet files without pyarrow.
    """
    folder = place.parent if place.is_file() else place
    if format == "msgraphrag":
        graph = read_msgraphrag(folder)
    elif format == "lightrag":
        graph = read_lightrag(folder)
    elif format == "csv":
        graph = read_csv_tables(folder)
    else:
        file = place if place.is_file() else openie_file(folder)
        if file is None:
            raise BadInput(f"{folder} has no openie.jsonl. Name the file of triples itself")
        graph = read_openie(file)
    if not graph.entities and not graph.relations:
        raise BadInput(f"{place} holds no entity and no relation that could be used. Nothing was imported")
    return graph
