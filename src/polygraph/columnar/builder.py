"""From rows of one document after the other to tables of all."""

from array import array
from collections.abc import Iterable, Mapping
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from polygraph.columnar.dataset import TEXTS, Columns
from polygraph.columnar.tables import POOLS, TABLES, Array, Draft, Mapped, Table, code_of, dtype_of
from polygraph.columnar.text_scores import hash_of

_HELD = 4 << 20
"""Bytes that are collected in memory before they are written away."""


class Gathering:
    """Collects documents, in ascending order of their ids.

    Args:
        folder: an empty one, for what is more than fits into some megabytes; it must stay as long as the result is
            in use. None: all is held in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._documents: list[str] = []
        self._numbers: dict[str, dict[str, int]] = {pool: {} for pool in POOLS}
        self._offsets = {name: array("q", [0]) for name in TABLES}
        self._columns = {
            name: {column: array(code_of(kind)) for column, kind in columns.items()}
            for name, columns in TABLES.items()
        }
        self._blob = bytearray()

    def add(self, document: str, draft: Draft, texts: Iterable[str]) -> None:
        """Take in one document.

        Raises:
            ValueError: if it does not come after the last one.
        """
        if self._documents and document <= self._documents[-1]:
            raise ValueError(f"document {document!r} must come after {self._documents[-1]!r}")
        self._documents.append(document)
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._blob += b"".join(encoded)
        judged = draft.get("texts", {}).get("quality", [nan] * len(encoded))
        told = {
            "hash": [hash_of(text) for text in encoded],
            "length": [len(text) for text in encoded],
            "quality": judged,
        }
        held = len(self._blob)
        for name, columns in TABLES.items():
            rows: Mapping[str, list[Any]] = told if name == "texts" else draft.get(name, {})
            n = 0
            for column, kind in columns.items():
                values = rows.get(column, [])
                n = len(values)
                if kind in POOLS:
                    numbers = self._numbers[kind]
                    values = [-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
                into = self._columns[name][column]
                into.extend(values)
                held += into.itemsize * len(into)
            self._offsets[name].append(self._offsets[name][-1] + n)
        if self._folder is not None and held > _HELD:
            self._spill(self._folder)

    def _spill(self, folder: Path) -> None:
        for name, columns in self._columns.items():
            for column, values in columns.items():
                with _place(folder, name, column).open("ab") as file:
                    values.tofile(file)
                del values[:]
        with (folder / TEXTS).open("ab") as file:
            file.write(self._blob)
        self._blob.clear()

    def columns(self) -> Columns:
        """Everything that was collected."""
        folder = self._folder
        if folder is not None and not (folder / TEXTS).exists():
            folder = None  # all of it is still here
        if folder is not None:
            self._spill(folder)
        tables = {}
        for name, kinds in TABLES.items():
            offsets = np.array(self._offsets[name], dtype=np.int64)
            columns: Mapping[str, Array]
            if folder is None:
                held = self._columns[name]
                columns = {c: np.array(held[c], dtype=dtype_of(kind)) for c, kind in kinds.items()}
            else:
                n = int(offsets[-1])
                columns = Mapped(
                    {c: (_place(folder, name, c), 0, dtype_of(kind), n) for c, kind in kinds.items()}
                )
            tables[name] = Table(offsets, columns)
        pools = {pool: list(numbers) for pool, numbers in self._numbers.items()}
        blob = bytes(self._blob) if folder is None else folder / TEXTS
        return Columns(self._documents, tables, pools, blob)


def _place(folder: Path, table: str, column: str) -> Path:
    return folder / f"{table}.{column}"
