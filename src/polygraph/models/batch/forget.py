"""Deleting requests and replies from batch folders, since they quote the documents that they were made from."""

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from polygraph.models.batch.lines import MAX_LINE_BYTES, listing_path
from polygraph.models.batch.store import BatchStore
from polygraph.models.call_store import CallStore


@dataclass(slots=True)
class ForgottenLines:
    """What was deleted from batch folders."""

    deleted: dict[Path, int] = field(default_factory=dict)
    """Number of lines by folder."""
    left: list[str] = field(default_factory=list)
    """Folders and files that could not be searched, with the reason."""


def forget_lines(store: CallStore, keep: Collection[str]) -> ForgottenLines:
    """Delete from batch folders every request and reply of this store except some, before the store forgets them.

    Every file beside a request file of this store is searched, whatever its name. Lines of other stores stay.

    Args:
        store: which wrote the request files.
        keep: keys of the requests that stay.
    """
    batches, found = BatchStore(store), ForgottenLines()
    files = [Path(file) for file in batches.written_files()]
    gone = batches.known_keys()
    for file in files:
        for path in (file, listing_path(file)):
            if path.is_file():
                gone |= {key for _, key in _lines(path) if key}
    gone -= set(keep)
    for folder in sorted({file.parent for file in files}):
        if not folder.is_dir():
            found.left.append(f"{folder} (not there; if it was moved, delete it)")
            continue
        for path in sorted(folder.iterdir()):
            if not path.is_file() or path.is_symlink():
                continue
            try:
                n = _delete_lines(path, gone)
            except OSError as error:
                found.left.append(f"{path} ({error.strerror or error})")
                continue
            if n:
                found.deleted[folder] = found.deleted.get(folder, 0) + n
    batches.forget_files(
        file for file in map(str, files) if Path(file).parent.is_dir() and not Path(file).exists()
    )
    return found


def _delete_lines(path: Path, keys: Collection[str]) -> int:
    """Delete the lines of some requests, and the file if it has no others; return their number."""
    n = sum(key in keys for _, key in _lines(path))
    if not n:
        return 0
    temporary = path.with_name(f"{path.name}.forget")
    rest = 0
    with temporary.open("wb") as file:
        for data, key in _lines(path):
            if key not in keys:
                rest += bool(data.strip())
                file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if rest:
        temporary.replace(path)
    else:
        temporary.unlink()
        path.unlink()
    return n


def _lines(path: Path) -> Iterator[tuple[bytes, str]]:
    """Yield each line with the key of its request; the key is empty if it has none."""
    with path.open("rb") as file:
        while data := file.readline(MAX_LINE_BYTES):
            key = ""
            if data.lstrip()[:1] == b"{":
                try:
                    row = json.loads(data)
                    found = row.get("custom_id", row.get("key", ""))
                    key = found if isinstance(found, str) else ""
                except (ValueError, RecursionError):
                    pass
            yield data, key
