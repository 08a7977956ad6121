"""Export to Parquet: a table with typed columns for each kind of record, for analysis; needs the extra ``parquet``."""

import importlib
import importlib.util
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from polygraph.errors import MissingExtra
from polygraph.indexing.exchange.exporters.folder import write_export
from polygraph.indexing.exchange.exporters.records import KINDS, Row, finished_layers, rows
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import StoreReader

_BATCH = 2_000
"""Records in one row group, and in memory."""


def export_parquet(store: StoreReader, manifest: Manifest, output: Path) -> dict[str, int]:
    """Write a parquet file for each kind of record, with the fields of the JSON Lines export.

    Metadata, whose fields differ from document to document, is a column of JSON texts; spans, descriptions and findings
    are lists of structs. `written`, a cache, is left out.

    Raises:
        MissingExtra: without pyarrow.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("the format parquet", "parquet")
    # Not an import statement: pyarrow has no types, and type checkers would complain where it is not installed.
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")

    layers = finished_layers(store, manifest)
    schemas = _schemas(pa)

    def fill(place: Path) -> dict[str, int]:
        counts = {}
        for kind in KINDS:
            if kind not in schemas:
                continue
            name = f"{kind}.parquet"
            counts[name] = 0
            records = rows(store, kind, layers)
            with pq.ParquetWriter(place / name, schemas[kind], compression="zstd") as writer:
                while batch := list(_flat(islice(records, _BATCH))):
                    writer.write_table(pa.Table.from_pylist(batch, schema=schemas[kind]))
                    counts[name] += len(batch)
        return counts

    return write_export(output, "parquet", fill, {})


def _flat(records: Iterator[Row]) -> Iterator[Row]:
    for row in records:
        if "metadata" in row:
            row["metadata"] = json.dumps(row["metadata"], ensure_ascii=False, sort_keys=True)
        yield row


def _schemas(pa: Any) -> dict[str, Any]:
    text, whole, number = pa.string(), pa.int64(), pa.float64()
    texts = pa.list_(text)
    spans = pa.list_(pa.struct([("chunk", text), ("start", whole), ("end", whole)]))
    descriptions = pa.list_(pa.struct([("text", text), ("chunk", text)]))
    findings = pa.list_(pa.struct([("summary", text), ("explanation", text), ("chunks", texts)]))
    tables: dict[str, dict[str, Any]] = {
        "documents": {"id": text, "title": text, "text": pa.large_string(), "metadata": text},
        "chunks": {
            "id": text,
            "document": text,
            "ordinal": whole,
            "start": whole,
            "end": whole,
            "text": text,
            "n_tokens": whole,
            "metadata": text,
        },
        "windows": {
            "id": text,
            "document": text,
            "ordinal": whole,
            "first": whole,
            "last": whole,
            "extractor": text,
            "status": text,
            "problem": text,
            "raw": text,
        },
        "entity_rows": {
            "window": text,
            "seq": whole,
            "name": text,
            "type": text,
            "description": text,
            "spans": spans,
        },
        "relation_rows": {
            "window": text,
            "seq": whole,
            "source": text,
            "target": text,
            "predicate": text,
            "keywords": texts,
            "description": text,
            "strength": number,
            "chunks": texts,
        },
        "decisions": {"kind": text, "a": text, "b": text},
        "same_answers": {"key": text, "same": pa.bool_()},
        "name_lists": {"key": text, "groups": pa.list_(texts)},
        "entities": {
            "id": text,
            "name": text,
            "type": text,
            "aliases": texts,
            "descriptions": descriptions,
            "chunks": texts,
            "degree": whole,
        },
        "relations": {
            "id": text,
            "source": text,
            "target": text,
            "predicates": texts,
            "keywords": texts,
            "descriptions": descriptions,
            "weight": number,
            "chunks": texts,
        },
        "merges": {
            "entity": text,
            "name": text,
            "document": text,
            "rule": text,
            "score": number,
            "other": text,
            "evidence": text,
        },
        "written_summaries": {"key": text, "text": text, "written_by": text, "chunks": texts},
        "communities": {"id": text, "level": whole, "parent": text, "entities": texts, "chunks": texts},
        "reports": {
            "community": text,
            "level": whole,
            "title": text,
            "summary": text,
            "findings": findings,
            "rating": number,
            "chunks": texts,
            "weight": number,
            "written_by": text,
        },
    }
    return {
        kind: pa.schema([pa.field(name, type_, nullable=False) for name, type_ in columns.items()])
        for kind, columns in tables.items()
    }
