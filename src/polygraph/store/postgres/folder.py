"""The local folder of an index in PostgreSQL: copies of the files of layers, and what only this machine needs.

The folder names its database, so that whoever gets the folder opens the tables there. Passwords are not written down:
a process that was given one remembers it, others get it as every program of PostgreSQL does (``PGPASSWORD``,
``~/.pgpass``).
"""

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from polygraph.errors import StorageFailed
from polygraph.postgresql import DatabaseUrl, is_database_url, parse_url

URL_FILE = "database.url"
"""Name of the file that names the database."""

_PATH = re.compile(r"(postgres(?:ql)?):/([^/].*)", re.IGNORECASE | re.DOTALL)

_given: dict[Path, DatabaseUrl] = {}
"""URLs with which this process opened folders."""


def folder_for(url: DatabaseUrl, cache: Path) -> Path:
    """Make the folder of an index in PostgreSQL, and remember its URL.

    Args:
        url: of the index.
        cache: folder that holds the folders of all indexes.

    Raises:
        StorageFailed: if it cannot be written.
    """
    folder = cache / "postgresql" / hashlib.sha256(url.shown.encode()).hexdigest()[:16]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents may be private
        (folder / URL_FILE).write_text(url.shown, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(
            f"{folder} cannot be written ({error.strerror or error}). Name another folder for local copies with the "
            "setting cache"
        ) from error
    _given[folder.resolve()] = url
    return folder


def database_url_of(place: str | Path) -> str | None:
    """Return the URL of a database that a place names; None for other places.

    A path that was made from a URL has lost slashes, which are put back.

    >>> database_url_of(Path("postgresql://ann@db.example/texts"))
    'postgresql://ann@db.example/texts'
    >>> database_url_of(Path("postgresql:///texts?host=%2Frun"))
    'postgresql:///texts?host=%2Frun'
    >>> database_url_of("s3://bucket/handbook")
    """
    text = place.as_posix() if isinstance(place, Path) else place
    if isinstance(place, Path) and (found := _PATH.fullmatch(text)) is not None:
        has_host = "/" in found[2].partition("?")[0]
        text = f"{found[1]}://{'' if has_host else '/'}{found[2]}"
    return text if is_database_url(text) else None


def database_of(folder: Path) -> DatabaseUrl | None:
    """Return the URL of the database that holds the tables of a folder; None if the folder holds them itself."""
    # Resolving a path takes longer than all else here, and each question asks.
    if _given and (url := _given.get(folder.resolve())) is not None:
        return url
    with suppress(OSError):
        return parse_url((folder / URL_FILE).read_text(encoding="utf-8"))
    return None


def place_of(folder: Path) -> str:
    """Return what messages call an index: its folder, or the URL of its database without password."""
    return str(database_of(folder) or folder)
