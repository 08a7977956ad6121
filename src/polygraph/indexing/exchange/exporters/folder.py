"""The folder of an export: written completely or not at all, and never over anything but an earlier export."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, StorageFailed, other_format
from polygraph.store.atomic_files import write_folder

MANIFEST = "manifest.json"
VERSION = 2
"""Format of an export. Raised with every change of what is written: no other is read."""
MAX_MANIFEST_BYTES = 1_000_000


def write_export(
    output: Path, format: str, fill: Callable[[Path], Mapping[str, int]], about: Mapping[str, Any]
) -> dict[str, int]:
    """Write the folder of an export under a temporary name, then rename it.

    Args:
        output: the folder; created if it does not exist, replaced if it is empty or holds an earlier export.
        format: goes into ``manifest.json``.
        fill: writes the files into a given folder, and returns the number of records by file name.
        about: more for ``manifest.json``.

    Returns:
        What `fill` returned.

    Raises:
        BadInput: if `output` is anything else.
        StorageFailed: if it cannot be written.
    """
    target = Path(os.path.realpath(output))
    _check_free(target, output)
    staged = target.with_name(f".{target.name}.{os.getpid()}.export")
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    counts: dict[str, int] = {}

    def fill_all(place: Path) -> None:
        counts.update(fill(place))
        manifest = {"polygraph_export": VERSION, "format": format, "files": counts, **about}
        text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        (place / MANIFEST).write_bytes(text.encode())

    try:
        write_folder(staged, fill_all)
        _check_free(target, output)  # it may have been filled meanwhile
        if target.exists():
            target.rename(old)
        staged.rename(target)
    except OSError as error:
        raise StorageFailed(
            f"the export cannot be written to {output} ({error.strerror or error}). Free some space there, or "
            "choose another folder with --output"
        ) from error
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for left in (staged, staged.with_name(f"{staged.name}.tmp"), old):
            shutil.rmtree(left, ignore_errors=True)
    return counts


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return ``manifest.json`` of an export of this version; all but the version is unchecked.

    Raises:
        BadInput: if there is none, or it is of another version.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BadInput(
            f"{folder} is not an export: it has no {MANIFEST}. Make one with: polygraph export --output FOLDER"
        )
    try:
        with path.open("rb") as file:
            data = file.read(MAX_MANIFEST_BYTES + 1)
        if len(data) > MAX_MANIFEST_BYTES:
            raise ValueError(f"it is larger than {MAX_MANIFEST_BYTES:,} bytes")
        found = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}:1: cannot be read as JSON ({error}). Export the index again") from error
    if not isinstance(found, dict) or "polygraph_export" not in found:
        raise BadInput(f"{path}:1: is not the manifest of an export of Polygraph. Name the folder of one")
    if found["polygraph_export"] != VERSION:
        raise BadInput(
            other_format(
                f"{path}:1: the export", found["polygraph_export"], VERSION, "Export the index again"
            )
        )
    return found


def _check_free(target: Path, output: Path) -> None:
    """Raise an error if something would be lost by replacing a folder."""
    fix = "Choose a new or empty folder with --output, or delete it yourself"
    if not target.exists():
        return
    if not target.is_dir():
        raise BadInput(f"{output} is a file. {fix}")
    here = {path.name for path in target.iterdir()}
    if not here:
        return
    try:
        files = read_manifest(target).get("files")
    except BadInput:
        files = None
    if not isinstance(files, dict):
        raise BadInput(f"{output} is not empty and holds no earlier export of Polygraph. {fix}")
    foreign = sorted(here - files.keys() - {MANIFEST})
    if foreign:
        raise BadInput(
            f"{output} holds {foreign[0]!r} beside an earlier export, which would be deleted. {fix}"
        )
