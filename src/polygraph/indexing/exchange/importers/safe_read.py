"""Reading files of others: nothing larger than is meant to be read, nothing outside of the folder."""

import importlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, MissingExtra
from polygraph.indexing.exchange.importers.source_graph import MAX_ITEMS
from polygraph.ingest.decode import decode, read_bytes

MAX_BYTES = 400_000_000
"""Largest file, packed or unpacked; of a parquet file, the columns that are read."""
_BATCH = 2_000


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of some files that a folder holds, also with ``.gz`` behind the name.

    Raises:
        BadInput: if it is a link to a place outside of the folder.
    """
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                if not path.resolve().is_relative_to(folder.resolve()):
                    raise BadInput(f"{path} is a link out of its folder. Put the file itself there")
                return path
    return None


def read_text(path: Path) -> str:
    """A file as text.

    Raises:
        BadInput: if it cannot be read, is no text, or is too large.
    """
    try:
        return decode(read_bytes(path, MAX_BYTES))[0]
    except BadInput as error:
        raise BadInput(f"{path} {error}. Nothing was imported") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror or error}). Nothing was imported") from error


def read_json(path: Path) -> Any:
    """A JSON file, its contents unchecked.

    Raises:
        BadInput: if it cannot be read as JSON.
    """
    return _parse(read_text(path), f"{path}")


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, in order; empty lines are passed over.

    Raises:
        BadInput: for a line that is no JSON object, naming file and line.
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
    """The rows of a parquet file, some columns of them; columns that it lacks are None.

    Raises:
        BadInput: if it is damaged or too large.
        MissingExtra: without pyarrow.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("reading parquet files", "parquet")
    # Not by name: pyarrow has no types, and a checker would have to be told so wherever it is not installed.
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    try:
        with pq.ParquetFile(path) as file:
            here = [name for name in columns if name in file.schema_arrow.names]
            _check_size(path, file.metadata, frozenset(here))
            for batch in file.iter_batches(batch_size=_BATCH, columns=here):
                for row in batch.to_pylist():
                    yield {name: row.get(name) for name in columns}
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, BadInput):
            raise
        reason = str(error).split("\n", 1)[0][:200]
        raise BadInput(f"{path} cannot be read as parquet ({reason}). Nothing was imported") from error


def parquet_columns(path: Path) -> frozenset[str]:
    """Names of a parquet file's columns; as `read_parquet` in what it raises."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("reading parquet files", "parquet")
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    try:
        return frozenset(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise BadInput(f"{path} cannot be read as parquet ({reason}). Nothing was imported") from error


def _check_size(path: Path, metadata: Any, columns: frozenset[str]) -> None:
    """Refuse a file that would unpack to more than is meant to be read."""
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
