"""Export to JSON Lines, the canonical form: two equal indexes give equal bytes, and it can be imported again."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polygraph.indexing.exchange.exporters.folder import write_export
from polygraph.indexing.exchange.exporters.records import KINDS, finished_layers, rows
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import StoreReader


def export_jsonl(store: StoreReader, manifest: Manifest, output: Path) -> dict[str, int]:
    """Write one file for each kind of record, and ``manifest.json``.

    UTF-8, one object on a line, keys sorted, lines in the order of `records.rows`, numbers in the shortest form
    that reads back as the same number.

    Returns:
        Records by file name.
    """
    layers = finished_layers(store, manifest)

    def fill(place: Path) -> dict[str, int]:
        counts = {}
        for kind in KINDS:
            name = f"{kind}.jsonl"
            counts[name] = 0
            with (place / name).open("wb") as file:
                for row in rows(store, kind, layers):
                    file.write(line(row))
                    counts[name] += 1
        return counts

    return write_export(output, "jsonl", fill, {"index": asdict(manifest), "layers": list(layers)})


def line(row: dict[str, Any]) -> bytes:
    r"""Return a record as a line.

    >>> line({"b": 1.0, "a": "é"}).decode()
    '{"a":"é","b":1.0}\n'
    """
    text = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"{text}\n".encode()
