"""Extraction rows as tables of numbers, from which the graph is merged."""

from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, TypeAlias

from polygraph.arrays import Table, TableBuilder, text_hash
from polygraph.records import Extraction

DocumentRows: TypeAlias = dict[str, dict[str, list[Any]]]
"""Rows of one document by table and column."""

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "mentions": {"slot": "i", "type": "s", "n": "i", "n_chunks": "i", "start": "i", "text": "q"},
    "mention_chunks": {"chunk": "i"},
    "links": {
        "source": "i",
        "target": "i",
        "predicate": "s",
        "keywords": "s",
        "strength": "d",
        "n_chunks": "i",
        "text": "q",
    },
    "link_chunks": {"chunk": "i"},
}
"""Columns of each table, by type code of `array.array`, ``s`` for strings.

A mention is an entity row: its name in its window (`slot`), number of spans, chunks, first character in the first of
them. A link is a relation row. Chunks stand in tables of their own, in the order of the mentions or links, ascending
for each. A text is told by its hash, 0 for none; keywords are a list in JSON.
"""


def read_rows(
    extractions: Iterable[Extraction], slots: Mapping[tuple[str, str], int], chunks: Mapping[str, int]
) -> tuple[DocumentRows, dict[int, str]]:
    """Turn the extraction rows of a document into columns.

    An entity row without spans rests on the chunks of its relations in the same window, else on every chunk
    that the rows of the window name.

    Args:
        extractions: each window once, in any order.
        slots: number of each name of a window, by ``(window id, name as written)``; a name without one means nothing.
        chunks: number of each chunk in the document.

    Returns:
        Rows as in `COLUMNS`, and their texts by hash.

    Raises:
        KeyError: if a row names a chunk that `chunks` lacks.
    """
    rows: DocumentRows = {table: {column: [] for column in columns} for table, columns in COLUMNS.items()}
    texts: dict[int, str] = {}
    mentions, links = rows["mentions"], rows["links"]

    def add_text(table: dict[str, list[Any]], text: str) -> None:
        text = text.strip()
        key = text_hash(text)
        table["text"].append(key)
        if text:
            texts[key] = text

    def add_chunks(name: str, numbers: set[int]) -> None:
        rows[name]["n_chunks"].append(len(numbers))
        rows[f"{name[:-1]}_chunks"]["chunk"] += sorted(numbers)

    for extraction in extractions:
        window = extraction.window
        by_name, everywhere = _fallback_chunks(extraction, chunks)
        for row in extraction.entities:
            spans = sorted((chunks[span.chunk], span.start) for span in row.spans)
            mentions["slot"].append(slots.get((window, row.name), -1))
            mentions["type"].append(row.type or None)
            mentions["n"].append(len(spans) or 1)
            mentions["start"].append(spans[0][1] if spans else 0)
            add_chunks("mentions", {chunk for chunk, _ in spans} or by_name.get(row.name) or everywhere)
            add_text(mentions, row.description)
        for relation in extraction.relations:
            links["source"].append(slots.get((window, relation.source), -1))
            links["target"].append(slots.get((window, relation.target), -1))
            links["predicate"].append(relation.predicate or None)
            links["keywords"].append(dumps(relation.keywords) if relation.keywords else None)
            links["strength"].append(relation.strength)
            add_chunks("links", {chunks[chunk] for chunk in relation.chunks} or everywhere)
            add_text(links, relation.description)
    return rows, texts


def _fallback_chunks(
    extraction: Extraction, number: Mapping[str, int]
) -> tuple[Mapping[str, set[int]], set[int]]:
    """Return the chunks of rows that name none: by name those of its relations, and those of the whole window."""
    by_name: dict[str, set[int]] = {}
    if any(not row.spans for row in extraction.entities):
        for relation in extraction.relations:
            for name in (relation.source, relation.target):
                by_name.setdefault(name, set()).update(number[chunk] for chunk in relation.chunks)
    everywhere: set[int] = set()
    if by_name or any(not relation.chunks for relation in extraction.relations):
        everywhere.update(number[span.chunk] for row in extraction.entities for span in row.spans)
        everywhere.update(number[chunk] for relation in extraction.relations for chunk in relation.chunks)
    return by_name, everywhere


class RowTables:
    """The rows of all documents, added in ascending order of their ids."""

    def __init__(self) -> None:
        self._builders = {name: TableBuilder(columns) for name, columns in COLUMNS.items()}

    def add(self, rows: DocumentRows) -> None:
        """Add what `read_rows` made of a document."""
        for name, builder in self._builders.items():
            builder.add(rows[name])

    def tables(self) -> dict[str, Table]:
        """Return the tables by name; nothing can be added afterwards."""
        return {name: builder.table() for name, builder in self._builders.items()}
