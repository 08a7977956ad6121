"""Plain tables: ``entities.csv`` and ``relations.csv``, and perhaps a corpus beside them.

Columns of the entities: `name`, and optionally `type`, `description`, `documents`. Of the relations: `source`,
`target`, and optionally `predicate`, `keywords`, `description`, `strength`, `documents`. `keywords` and `documents`
are lists separated by semicolons; documents are given by their ids in the corpus.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from polygraph.errors import BadInput
from polygraph.indexing.exchange.importers.documents import read_corpus
from polygraph.indexing.exchange.importers.safe_read import find_file, read_text
from polygraph.indexing.exchange.importers.source_graph import MAX_ITEMS, SourceGraph

ENTITIES, RELATIONS = "entities.csv", "relations.csv"
_OTHER_NAMES = {
    "weight": "strength",
    "relation": "predicate",
    "title": "name",
    "entity": "name",
    "document": "documents",
}
_DELIMITERS = (",", ";", "\t")


def is_csv(folder: Path) -> bool:
    """Return whether a folder holds such tables; relations alone are enough."""
    return find_file(folder, RELATIONS) is not None


def read_csv_tables(folder: Path) -> SourceGraph:
    """Read the tables of a folder.

    Ends of relations that are not listed become entities. Other columns are not read, except `weight` for
    `strength`, `relation` for `predicate`, `title` or `entity` for `name`, `document` for `documents`.

    Raises:
        BadInput: if a required table or column is missing.
    """
    graph = SourceGraph(program="csv")
    read_corpus(graph, folder)
    path = find_file(folder, ENTITIES)
    graph.counts |= {"entities": 0, "relations": 0}
    if path is not None:
        for row in _rows(path, ("name",)):
            graph.add_entity(row["name"], row.get("type"), [row.get("description")], _list(row, "documents"))
            graph.counts["entities"] += 1
    path = find_file(folder, RELATIONS)
    if path is None:
        raise BadInput(f"{folder} has no {RELATIONS}. Put it there, with the columns source and target")
    for row in _rows(path, ("source", "target")):
        graph.add_relation(
            row["source"],
            row["target"],
            predicate=row.get("predicate"),
            keywords=_list(row, "keywords"),
            descriptions=[row.get("description")],
            strength=row.get("strength") or 1.0,
            units=_list(row, "documents"),
        )
        graph.counts["relations"] += 1
    return graph


def _rows(path: Path, required: tuple[str, ...]) -> Iterator[dict[str, str]]:
    text = read_text(path)
    # The library's limit (131,072 characters a field) holds for the whole process, and one page may exceed it.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    first = text.lstrip("\r\n").split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=first.count))
    columns: list[str] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not columns:
                columns = [_column(cell) for cell in row]
                missing = [name for name in required if name not in columns]
                if missing:
                    raise BadInput(
                        f"{path}:1: there is no column {missing[0]!r}, but {', '.join(columns[:10])}. Name the columns "
                        "in the first line"
                    )
                continue
            if reader.line_num > MAX_ITEMS:
                raise BadInput(f"{path} has more than {MAX_ITEMS:,} lines. Split the graph")
            cells = [*row, *[""] * (len(columns) - len(row))]
            found: dict[str, str] = {}
            for name, cell in zip(columns, cells, strict=False):
                found.setdefault(name, cell)
            yield found
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: is not CSV ({error}). Nothing was imported") from error


def _column(title: str) -> str:
    name = title.strip().lower()
    return _OTHER_NAMES.get(name, name)


def _list(row: dict[str, str], column: str) -> list[str]:
    return [part.strip() for part in row.get(column, "").split(";") if part.strip()]
