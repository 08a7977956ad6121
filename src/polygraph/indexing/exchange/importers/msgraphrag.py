"""The output folder of Microsoft GraphRAG: parquet tables, in the current form and an older one.

Current: ``entities.parquet`` and so on. Older (before 1.0): ``create_final_entities.parquet`` and so on, with
`name` for `title`, `raw_content` for `text` and lists of documents per text unit.
"""

from pathlib import Path
from typing import Any

from polygraph.errors import BadInput
from polygraph.indexing.exchange.importers.documents import add_document
from polygraph.indexing.exchange.importers.safe_read import find_file, parquet_columns, read_parquet
from polygraph.indexing.exchange.importers.source_graph import SourceGraph
from polygraph.text.prose import count_noun

_TABLES = ("documents", "text_units", "entities", "relationships", "covariates", "community_reports")


def is_msgraphrag(folder: Path) -> bool:
    """Return whether a folder holds such an output."""
    return all(_table(folder, name) is not None for name in ("entities", "relationships"))


def read_msgraphrag(folder: Path) -> SourceGraph:
    """Read an output folder.

    Names, types, descriptions and text units are those of the tables; `weight`, which the program adds up over
    the text units, is the strength. Embeddings and positions for drawing are not read.

    Raises:
        BadInput: if a table is missing or damaged.
        MissingExtra: without pyarrow.
    """
    graph = SourceGraph(program="msgraphrag")
    tables = {name: path for name in _TABLES if (path := _table(folder, name)) is not None}
    for name in ("entities", "relationships"):
        if name not in tables:
            raise BadInput(f"{folder} has no {name}.parquet. Name the output folder of Microsoft GraphRAG")
    if "documents" in tables:
        for row in read_parquet(tables["documents"], ("id", "title", "text", "raw_content", "creation_date")):
            more = {"creation_date": row["creation_date"]} if row["creation_date"] else {}
            add_document(graph, row["id"], row["title"], row["text"] or row["raw_content"], more)
            _count(graph, "documents")
    if "text_units" in tables:
        for row in read_parquet(tables["text_units"], ("id", "text", "document_id", "document_ids")):
            graph.add_unit(row["id"], row["text"], _list(row["document_ids"]) or _list(row["document_id"]))
            _count(graph, "text_units")
    path = tables["entities"]
    _require(path, ("title", "name"))
    for row in read_parquet(path, ("title", "name", "type", "description", "text_unit_ids")):
        name = row["title"] if row["title"] is not None else row["name"]
        graph.add_entity(name, row["type"], _descriptions(row["description"]), _list(row["text_unit_ids"]))
        _count(graph, "entities")
    path = tables["relationships"]
    _require(path, ("source",))
    for row in read_parquet(path, ("source", "target", "description", "weight", "text_unit_ids")):
        graph.add_relation(
            row["source"],
            row["target"],
            descriptions=_descriptions(row["description"]),
            strength=1.0 if row["weight"] is None else row["weight"],
            units=_list(row["text_unit_ids"]),
        )
        _count(graph, "relations")
    for table, what in (("covariates", "claims"), ("community_reports", "reports")):
        if table in tables:
            graph.counts[what] = sum(1 for _ in read_parquet(tables[table], ("id",)))
    if n := graph.counts.get("claims"):
        graph.notes.append(f"{count_noun(n, 'claim')} left out: an index keeps no claims")
    return graph


def _count(graph: SourceGraph, what: str) -> None:
    graph.counts[what] = graph.counts.get(what, 0) + 1


def _table(folder: Path, name: str) -> Path | None:
    return find_file(folder, f"{name}.parquet", f"create_final_{name}.parquet")


def _require(path: Path, names: tuple[str, ...]) -> None:
    here = parquet_columns(path)
    if not here & frozenset(names):
        raise BadInput(
            f"{path} has no column {' or '.join(names)}, but {', '.join(sorted(here)[:10])}. Name the output folder "
            "of Microsoft GraphRAG"
        )


def _list(value: Any) -> list[Any]:
    """Return ids as a list; some versions join them by commas, also within a list."""
    values = value if isinstance(value, list) else [value]
    found: list[Any] = []
    for each in values:
        found += each.split(",") if isinstance(each, str) else [each]
    return [each for each in found if each is not None]


def _descriptions(value: Any) -> list[Any]:
    """Return descriptions as a list; they are one text unless the program was stopped before it merged them."""
    return value if isinstance(value, list) else [value]
