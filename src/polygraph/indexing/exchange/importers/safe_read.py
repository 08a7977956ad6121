"""Bounded reading of other programs' files: none too large, and none outside the folder."""

import importlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, MissingExtra
from polygraph.indexing.exchange.importers.source_graph import MAX_ITEMS
from polygraph.ingest.decode import decode, read_bytes

MAX_BYTES = 400_000_000
"""Largest file, packed or unpacked; of a parquet file, the columns that are read."""
_BATCH = 2_000


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of some files that a folder holds, each also with ``.gz`` added; None if there is none.

    Raises:
        BadInput: if it is a link to a file outside the folder.
    """
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                if not path.resolve().is_relative_to(folder.resolve()):
                    raise BadInput(f"{path} is a link out of its folder. Put the file itself there")
                return path
    return None


def read_text(path: Path) -> str:
    """Return a file as text.

    Raises:
        BadInput: if it cannot be read, is not text, or is too large.
    """
    try:
        return decode(read_bytes(path, MAX_BYTES))[0]
    except BadInput as error:
        raise BadInput(f"{path} {error}. Nothing was imported") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror or error}). Nothing was imported") from error


def read_json(path: Path) -> Any:
    """Return the value of a JSON file, unchecked.

    Raises:
        BadInput: if it cannot be read as JSON.
    """
    return _parse(read_text(path), f"{path}")


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file, in order; empty lines are skipped.

    Raises:
        BadInput: for a line that is not a JSON object, naming file and line.
    """
    for n, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        if n > MAX_ITEMS:
            raise BadInput(f"{path} has more than {MAX_ITEMS:,} lines. Split the graph")
        row = _parse(line, f"{path}:{n}")
        if not isinstance(row, dict):
            raise BadInput(f"{path}:{n}: is not a JSON object. Mend the line; nothing was imported")
        yield row


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else f"is not JSON ({error})"
        raise BadInput(f"{where}: {reason}. Mend it; nothing was imported") from error


def read_parquet(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet file with some of its columns; missing columns are None.

    Raises:
        BadInput: if it is damaged or too large.
        MissingExtra: without pyarrow.
    """
    with _parquet_of(path) as pq, pq.ParquetFile(path) as file:
        here = [name for name in columns if name in file.schema_arrow.names]
        _check_size(path, file.metadata, frozenset(here))
        for batch in file.iter_batches(batch_size=_BATCH, columns=here):
            for row in batch.to_pylist():
                yield {name: row.get(name) for name in columns}


def parquet_columns(path: Path) -> frozenset[str]:
    """Return the names of a parquet file's columns; raises what `read_parquet` does."""
    with _parquet_of(path) as pq:
        return frozenset(pq.read_schema(path).names)


@contextmanager
def _parquet_of(path: Path) -> Iterator[Any]:
    """Yield `pyarrow.parquet`; raise its errors as `BadInput` about a file."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("reading parquet files", "parquet")
    # Not an import statement: pyarrow has no types, and type checkers would complain where it is not installed.
    pa: Any = importlib.import_module("pyarrow")
    try:
        yield importlib.import_module("pyarrow.parquet")
    except BadInput:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise BadInput(f"{path} cannot be read as parquet ({reason}). Nothing was imported") from error


def _check_size(path: Path, metadata: Any, columns: frozenset[str]) -> None:
    """Refuse a file with too many rows, or too large unpacked."""
    if metadata.num_rows > MAX_ITEMS:
        raise BadInput(
            f"{path} has {metadata.num_rows:,} rows; {MAX_ITEMS:,} are read at most. Split the graph"
        )
    size = 0
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        for i in range(part.num_columns):
            column = part.column(i)
            if column.path_in_schema.split(".", 1)[0] in columns:
                size += column.total_uncompressed_size
    if size > MAX_BYTES:
        raise BadInput(f"{path} unpacks to more than {MAX_BYTES / 1e6:,.0f} MB. Split the graph")
