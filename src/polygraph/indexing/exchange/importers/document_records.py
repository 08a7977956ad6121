"""Chunks, windows and extraction rows of one document of an export, checked against its text."""

from collections.abc import Iterator

from polygraph.ids import chunk_id, window_id
from polygraph.indexing.exchange.exporters.records import Row
from polygraph.indexing.exchange.importers.record_file import RecordFile
from polygraph.indexing.exchange.schema import shorten
from polygraph.records import Chunk, Document, EntityRow, Extraction, RelationRow, Span, Window
from polygraph.text.passage import short_fields


def read_chunks(document: Document, records: RecordFile) -> list[Chunk]:
    """Read the chunks of a document: numbered from 0, in order, each a slice of its text.

    Neighbours may share text, but begin and end of each lie after those of the one before.
    """
    chunks: list[Chunk] = []
    begin, end = -1, 0
    for row in records.take_while(lambda row: row["document"] == document.id):
        due = chunk_id(document.id, len(chunks))
        if row["ordinal"] != len(chunks) or row["id"] != due:
            records.reject(f"the next chunk of this document must be {shorten(due)}")
        if not (begin < row["start"] < row["end"] <= len(document.text) and end < row["end"]):
            records.reject(
                f"the characters {row['start']} to {row['end']} do not go on from those of the chunk before, or do "
                f"not lie within the {len(document.text)} characters of the document"
            )
        if row["text"] != document.text[row["start"] : row["end"]]:
            records.reject(f"the text is not what the document holds from {row['start']} to {row['end']}")
        begin, end = row["start"], row["end"]
        chunks.append(Chunk(**row))
    return chunks


def read_windows(
    document: Document, chunks: list[Chunk], records: RecordFile
) -> Iterator[tuple[Window, Row]]:
    """Yield the windows of a document with their lines: numbered from 0, each chunk in exactly one, in order."""
    n = at = 0
    for row in records.take_while(lambda row: row["document"] == document.id):
        due = window_id(document.id, n)
        if row["ordinal"] != n or row["id"] != due:
            records.reject(f"the next window of this document must be {shorten(due)}")
        if row["first"] != at or not at <= row["last"] < len(chunks):
            records.reject(
                f"the chunks {row['first']} to {row['last']} do not go on from the window before (chunk {at} of "
                f"{len(chunks)} is next)"
            )
        if bool(row["status"]) != bool(row["extractor"]):
            records.reject(
                "a window that was read has a status and an extractor, one that was not has neither"
            )
        own = tuple(chunks[at : row["last"] + 1])
        text = document.text[own[0].start : own[-1].end]
        window = Window(
            id=row["id"],
            document=document.id,
            ordinal=n,
            title=document.title,
            fields=short_fields(document.metadata),
            chunks=own,
            text=text,
        )
        yield window, row
        n, at = n + 1, row["last"] + 1
    if at != len(chunks):
        records.reject(f"a window is missing here: chunk {at} of {shorten(document.id)} is in none")


def read_extraction(window: Window, state: Row, entities: RecordFile, relations: RecordFile) -> Extraction:
    """Read the extraction rows of a window."""
    chunks = {chunk.id: chunk for chunk in window.chunks}
    entity_rows: list[EntityRow] = []
    for n, row in enumerate(_rows_of(window, state, entities)):
        _check_seq(row, n, entities)
        for span in row["spans"]:
            chunk = chunks.get(span["chunk"])
            if chunk is None:
                entities.reject(f"{shorten(span['chunk'])} is no chunk of the window {shorten(window.id)}")
            if not chunk.start <= span["start"] < span["end"] <= chunk.end:
                entities.reject(
                    f"the characters {span['start']} to {span['end']} do not lie within the chunk {shorten(chunk.id)}"
                )
        spans = tuple(Span(window.document, s["chunk"], s["start"], s["end"]) for s in row["spans"])
        entity_rows.append(
            EntityRow(name=row["name"], type=row["type"], description=row["description"], spans=spans)
        )
    relation_rows: list[RelationRow] = []
    for n, row in enumerate(_rows_of(window, state, relations)):
        _check_seq(row, n, relations)
        for i in row["chunks"]:
            if i not in chunks:
                relations.reject(f"{shorten(i)} is no chunk of the window {shorten(window.id)}")
        relation_rows.append(
            RelationRow(
                source=row["source"],
                target=row["target"],
                predicate=row["predicate"],
                keywords=tuple(row["keywords"]),
                description=row["description"],
                strength=float(row["strength"]),
                chunks=tuple(row["chunks"]),
            )
        )
    return Extraction(
        window=window.id,
        entities=tuple(entity_rows),
        relations=tuple(relation_rows),
        status=state["status"] or "ok",
        problem=state["problem"],
        raw=state["raw"],
    )


def _rows_of(window: Window, state: Row, records: RecordFile) -> Iterator[Row]:
    for row in records.take_while(lambda row: row["window"] == window.id):
        if state["status"] in ("", "failed"):
            records.reject(
                f"the window {shorten(window.id)} was not read, or its reading failed: it has no rows"
            )
        yield row


def _check_seq(row: Row, n: int, records: RecordFile) -> None:
    if row["seq"] != n:
        records.reject(f"seq must be {n}, not {row['seq']}: rows of a window are numbered from 0")
