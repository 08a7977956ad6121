"""Export to Parquet: a table with typed columns for each kind of record, for analysis; needs the extra ``parquet``."""

import importlib
import importlib.util
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from polygraph.errors import MissingExtra
from polygraph.indexing.exchange import schema
from polygraph.indexing.exchange.exporters.folder import write_export
from polygraph.indexing.exchange.exporters.records import KINDS, Row, finished_layers, rows
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import StoreReader

_BATCH = 2_000
"""Records in one row group, and in memory."""


def export_parquet(store: StoreReader, manifest: Manifest, output: Path) -> dict[str, int]:
    """Write a parquet file for each kind of record, with the fields of the JSON Lines export.

    Metadata, whose fields differ from document to document, is a column of JSON texts; tables, spans, descriptions and
    findings are lists of structs. `written`, a cache, is left out.

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
    """Return the columns of each kind of record but `written`."""
    text, whole, number = pa.string(), pa.int64(), pa.float64()
    texts = pa.list_(text)
    types = {
        schema.TEXT: text,
        schema.SOME_TEXT: text,
        schema.STATUS: text,
        schema.DECISION: text,
        schema.FIELDS: text,
        schema.WHOLE: whole,
        schema.NUMBER: number,
        schema.POSITIVE: number,
        schema.ANSWER: pa.bool_(),
        schema.TEXTS: texts,
        schema.GROUPS: pa.list_(texts),
        schema.SPANS: pa.list_(pa.struct([("chunk", text), ("start", whole), ("end", whole)])),
        schema.TABLES: pa.list_(
            pa.struct(
                [
                    ("title", text),
                    ("columns", texts),
                    ("rows", pa.list_(texts)),
                    ("spans", pa.list_(pa.list_(whole))),
                ]
            )
        ),
        schema.DESCRIPTIONS: pa.list_(pa.struct([("text", text), ("chunk", text)])),
        schema.FINDINGS: pa.list_(pa.struct([("summary", text), ("explanation", text), ("chunks", texts)])),
    }
    columns = {
        kind: {name: types[shape] for name, shape in fields.items()}
        for kind, fields in schema.SHAPES.items()
        if kind != "written"
    }
    # 32-bit offsets would end at 2 GB, and the texts of one row group may be larger.
    columns["documents"]["text"] = pa.large_string()
    return {
        kind: pa.schema([pa.field(name, type_, nullable=False) for name, type_ in fields.items()])
        for kind, fields in columns.items()
    }
