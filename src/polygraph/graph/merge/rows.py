"""Extraction rows as tables of numbers, from which the graph is merged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from json import dumps
from typing import Any, Literal, TypeAlias

from polygraph.arrays import Table, TableBuilder, text_hash
from polygraph.records import Extraction

RowKind: TypeAlias = Literal["mentions", "links"]
"""Entity rows and relation rows."""
DocumentRows: TypeAlias = dict[RowKind, dict[str, list[Any]]]
"""Rows of one document by kind and column."""

COLUMNS: Mapping[RowKind, Mapping[str, str]] = {
    "mentions": {"slot": "i", "type": "s", "n": "i", "n_chunks": "i", "start": "i", "text": "q"},
    "links": {
        "source": "i",
        "target": "i",
        "predicate": "s",
        "keywords": "s",
        "strength": "d",
        "n_chunks": "i",
        "text": "q",
    },
}
"""Columns of each kind, by type code of `array.array`, ``s`` for strings.

A mention is an entity row: its name in its window (`slot`), number of spans and of chunks, first character in the first
chunk. A link is a relation row. Texts are given by their hashes, 0 for none; keywords are a list in JSON. Beside them
`chunks` lists the chunks of all rows, one row after the other, ascending for each.
"""
_CHUNKS = {"chunks": "i"}


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
    rows: DocumentRows = {
        kind: {column: [] for column in (*columns, *_CHUNKS)} for kind, columns in COLUMNS.items()
    }
    texts: dict[int, str] = {}
    keys: dict[str, int] = {}
    """Hash of each text; a sentence describes several names."""
    mentions, links = rows["mentions"], rows["links"]

    def add(columns: dict[str, list[Any]], text: str, numbers: set[int]) -> None:
        text = text.strip()
        if (key := keys.get(text)) is None:
            key = keys[text] = text_hash(text)
            if text:
                texts[key] = text
        columns["text"].append(key)
        columns["n_chunks"].append(len(numbers))
        columns["chunks"] += sorted(numbers)

    for extraction in extractions:
        window = extraction.window
        by_name, everywhere = _fallback_chunks(extraction, chunks)
        for row in extraction.entities:
            spans = sorted((chunks[span.chunk], span.start) for span in row.spans)
            mentions["slot"].append(slots.get((window, row.name), -1))
            mentions["type"].append(row.type or None)
            mentions["n"].append(len(spans) or 1)
            mentions["start"].append(spans[0][1] if spans else 0)
            add(
                mentions,
                row.description,
                {chunk for chunk, _ in spans} or by_name.get(row.name) or everywhere,
            )
        for relation in extraction.relations:
            links["source"].append(slots.get((window, relation.source), -1))
            links["target"].append(slots.get((window, relation.target), -1))
            links["predicate"].append(relation.predicate or None)
            links["keywords"].append(_list_in_json(relation.keywords) if relation.keywords else None)
            links["strength"].append(relation.strength)
            add(links, relation.description, {chunks[chunk] for chunk in relation.chunks} or everywhere)
    return rows, texts


# Some keywords recur in many relations.
@lru_cache(maxsize=1_024)
def _list_in_json(texts: tuple[str, ...]) -> str:
    return dumps(texts)


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


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of one kind of all documents."""

    table: Table
    chunks: Table


class RowsBuilder:
    """Collects the rows of one kind, document by document in ascending order of their ids."""

    def __init__(self, kind: RowKind) -> None:
        self._table, self._chunks = TableBuilder(COLUMNS[kind]), TableBuilder(_CHUNKS)

    def add(self, rows: Mapping[str, list[Any]]) -> None:
        """Add what `read_rows` made of a document."""
        self._table.add(rows)
        self._chunks.add(rows)

    def rows(self) -> Rows:
        """Return the rows; nothing can be added afterwards."""
        return Rows(self._table.table(), self._chunks.table())
