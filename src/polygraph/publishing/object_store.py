"""Objects below a URL, through fsspec: each is written as a whole and never changed, but for the pointer."""

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, MissingExtra, StorageFailed
from polygraph.store.atomic_files import sync

PACKAGES = {
    "file": "",
    "memory": "",
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
}
"""Package that fsspec needs for a URL, by its scheme. These stores replace an object at once, never in part."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,3}(.*)", re.DOTALL)
_TIMES = ("LastModified", "mtime", "last_modified", "updated", "created")
"""Keys under which file systems list the time of the last change."""


def url_of(place: str | Path | None) -> str | None:
    """Return the URL of object storage that a place names; None for a folder or a database.

    A path that was made from a URL has lost a slash, which is put back.

    >>> url_of(Path("s3://bucket/handbook"))
    's3://bucket/handbook'
    >>> url_of("C:/handbook.index")
    """
    found = _URL.fullmatch(place.as_posix() if isinstance(place, Path) else place or "")
    if found is None or found[1].lower() in ("postgresql", "postgres"):
        return None
    scheme, rest = found[1].lower(), found[2].strip("/")
    return f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"


class ObjectStore:
    """Objects below a URL.

    Raises:
        BadInput: for a URL of a kind that is not known.
        MissingExtra: if fsspec is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        scheme, _, rest = url.partition("://")
        if scheme not in PACKAGES or not rest.strip("/") or "::" in url:
            raise BadInput(
                f"no index can be published at {url}. Name one as in s3://BUCKET/NAME, gs://BUCKET/NAME, "
                "az://CONTAINER/NAME or file:///FOLDER"
            )
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise MissingExtra(f"reading {scheme}://", "publish") from error
        try:
            self._fs, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            package = PACKAGES[scheme]
            raise BadInput(f"{scheme}:// needs the package {package}: pip install {package}") from error
        self._root = str(root).rstrip("/")
        self._is_local = scheme == "file"

    def get(self, name: str, most: int) -> bytes:
        """Return an object.

        Args:
            name: below the URL.
            most: bytes that are read; a larger object is refused.

        Raises:
            FileNotFoundError: if it is not there.
            StorageFailed: if it cannot be read.
        """
        found = self.part(name, 0, most + 1)
        if len(found) > most:
            raise StorageFailed(f"{self.url}/{name} has more than {most:,} bytes. Publish the index again")
        return found

    def part(self, name: str, start: int, end: int) -> bytes:
        """Return the bytes of an object from an offset to another; fewer at its end. Errors are those of `get`."""
        with self._explained():
            return bytes(self._fs.cat_file(self._path(name), start=start, end=end))[: end - start]

    def put(self, name: str, content: bytes) -> None:
        """Write an object; readers see the former one or the new one.

        Raises:
            StorageFailed: if it cannot be written.
        """
        with self._explained():
            if not self._is_local:
                self._fs.pipe_file(self._path(name), content)
                return
            target = Path(self._path(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
            temporary.write_bytes(content)
            sync(temporary)
            os.replace(temporary, target)

    def modified(self, folder: str) -> dict[str, float]:
        """Return when each object of a folder was last changed, in seconds since 1970; infinite if that is not known.

        Raises:
            StorageFailed: if they cannot be listed.
        """
        with self._explained():
            try:
                found = self._fs.find(self._path(folder), detail=True)
            except FileNotFoundError:
                return {}
        return {path.rpartition("/")[2]: _time(entry) for path, entry in found.items()}

    def delete(self, folder: str, names: list[str]) -> None:
        """Delete objects of a folder; one that is not there is none that must be deleted."""
        with self._explained():
            for at in range(0, len(names), 1000):
                try:
                    self._fs.rm([self._path(f"{folder}/{name}") for name in names[at : at + 1000]])
                except FileNotFoundError:  # another publisher was faster; the next one deletes the rest
                    continue

    def missing_folder(self) -> Path | None:
        """Return the first folder on the path of a ``file`` URL that does not exist; None if all do."""
        if not self._is_local:
            return None
        root = Path(self._root)
        return next((each for each in (*reversed(root.parents), root) if not each.is_dir()), None)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise `StorageFailed` for all errors but that of a missing object: every store has its own.

        An object is not missing but out of reach if the folder is missing that its URL lies in.
        """
        try:
            yield
        except StorageFailed:
            raise
        except FileNotFoundError as error:
            # The last folder is made with the first version; a missing one above it is a drive that is not connected.
            missing = self.missing_folder()
            if missing in (None, Path(self._root)):
                raise
            raise StorageFailed(
                f"{self.url} cannot be reached: the folder {missing} does not exist. Check the address, and that "
                "the drive is connected; or create the folder"
            ) from error
        except Exception as error:
            raise StorageFailed(
                f"{self.url} cannot be reached or used ({type(error).__name__}: {error}). Check the address, the "
                "network and the credentials that the environment names"
            ) from error


def _time(entry: dict[str, Any]) -> float:
    """Return the time of the last change that a listing gives."""
    value = next((entry[key] for key in _TIMES if entry.get(key) is not None), None)
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, int | float) else float("inf")
