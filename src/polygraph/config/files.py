"""Settings files: the file of the user, the file of a folder, and whether the user trusts the latter.

The file of a folder comes with the folder, which may be somebody else's. It could send the key and the documents of the
user to any endpoint. So until the user trusts it, it may only set `HARMLESS` settings, which send no data, cost nothing
and name no paths. Trust applies to the content: a file that changes must be trusted again.
"""

import hashlib
import os
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput

FILE_NAME = "polygraph.toml"
MAX_BYTES = 1_000_000
"""A larger settings file is refused."""
HARMLESS = frozenset(
    {
        "approximate_rows",
        "call_deadline_s",
        "chunk_tokens",
        "community_size",
        "community_weight",
        "description_tokens",
        "concurrency",
        "durability",
        "entity_types",
        "language",
        "max_wait_s",
        "method",
        "overlap_tokens",
        "pgvector_rows",
        "processes",
        "profile",
        "report_words",
        "reranker",
        "retries",
        "timeout_s",
        "window_tokens",
    }
)
"""Settings that a file may set without being trusted."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of a settings file."""

    path: Path
    values: Mapping[str, Any]
    """Settings of the file, without ignored ones."""
    ignored: tuple[str, ...] = ()
    """Names of ignored settings, which the file may set only if it is trusted; sorted."""


def settings_files(environ: Mapping[str, str], folder: Path, known: Collection[str]) -> list[SettingsFile]:
    """Read the settings files in order of increasing priority: that of the user, then that of the folder.

    Args:
        environ: names the user's file (``POLYGRAPH_CONFIG``) and the folder for it (``XDG_CONFIG_HOME``, ``HOME``).
        folder: where the search for ``polygraph.toml`` starts; it goes up to the root, nearest first.
        known: names of all settings; unknown names are passed on, so that misspellings are reported.

    Raises:
        BadInput: if a file cannot be read, is not TOML, or ``POLYGRAPH_CONFIG`` names none.
    """
    files = []
    own = user_file(environ)
    if environ.get("POLYGRAPH_CONFIG") and not own.is_file():
        raise BadInput(f"POLYGRAPH_CONFIG names {own}, which is not a file. Create it, or unset the variable")
    if own.is_file():
        files.append(SettingsFile(own, _parse(own, _read(own))))
    found = find_file(folder)
    if found is not None and not (own.is_file() and found.samefile(own)):
        data = _read(found)
        values = _parse(found, data)
        ignored: tuple[str, ...] = ()
        if not is_trusted(data, environ):
            ignored = tuple(sorted(name for name in values if name in known and name not in HARMLESS))
            values = {name: value for name, value in values.items() if name not in ignored}
        files.append(SettingsFile(found, values, ignored))
    return files


def find_file(folder: Path) -> Path | None:
    """Return the nearest ``polygraph.toml`` in a folder or above it."""
    return next((p / FILE_NAME for p in (folder, *folder.parents) if (p / FILE_NAME).is_file()), None)


def user_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the settings file of the user, which need not exist."""
    named = environ.get("POLYGRAPH_CONFIG")
    return Path(named).expanduser() if named else _user_folder(environ) / "config.toml"


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for what can be fetched again, as the system names it; it need not exist."""
    environ = os.environ if environ is None else environ
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    if os.name == "nt":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "polygraph"


def is_trusted(data: bytes, environ: Mapping[str, str]) -> bool:
    """Tell whether the user has trusted a file with this content."""
    return _fingerprint(data) in _trusted(environ)


def trust(path: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Trust the current content of a settings file, and return its settings that need trust.

    Raises:
        BadInput: if it cannot be read or is not TOML, or the list of trusted files cannot be written.
    """
    data = _read(path)
    values = _parse(path, data)
    kept = _trusted(environ)
    if _fingerprint(data) not in kept:
        place = _trust_file(environ)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8") as lines:
                lines.write(f"{_fingerprint(data)} {str(path.resolve())!a}\n")
        except OSError as error:
            raise BadInput(f"the list of trusted files, {place}, cannot be written: {error}") from error
    return {name: value for name, value in values.items() if name not in HARMLESS}


def _trusted(environ: Mapping[str, str]) -> frozenset[str]:
    try:
        lines = _trust_file(environ).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return frozenset()
    return frozenset(line.partition(" ")[0] for line in lines)


def _trust_file(environ: Mapping[str, str]) -> Path:
    return _user_folder(environ) / "trusted"


def _user_folder(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME")
    if base:
        return Path(base) / "polygraph"
    home = environ.get("HOME")
    return (Path(home) if home else Path.home()) / ".config" / "polygraph"


def _fingerprint(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise BadInput(f"{path} has more than {MAX_BYTES:,} bytes, which no settings file needs")
    return data


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a `ValueError` too
        raise BadInput(f"{path} cannot be read: {error}") from error
