"""Local copies of published versions, shared by processes and bounded in size.

```
CACHE/cache.lock                       held while versions are pinned or deleted
CACHE/PLACE/                           one published index; the name is a hash of its URL
    versions/SHA256/                   a whole version: a folder that opens as an index
    versions/SHA256.partial/           one that is being fetched, or whose fetching was stopped
    readers/SHA256.UNIQUE.lock         locked by a process that reads the version
    current                            name of the version that was current last
    fetching.lock                      held by the one process that fetches
    calls.sqlite                       replies of models
```
A lock is released by the system when its process ends, so that a version is in use only while its readers live.
"""

import os
import shutil
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from polygraph.publishing.blocks import sha256

MANIFEST = "manifest"
"""File with the manifest of a version, in its folder."""


class PinnedVersion:
    """A version on this disk, which is not deleted as long as this object exists.

    Args:
        folder: of the version, which opens as an index.
        lock: held for this reader.
    """

    def __init__(self, folder: Path, lock: FileLock) -> None:
        self.folder = folder
        self._lock = lock

    @property
    def name(self) -> str:
        """Name of the version."""
        return self.folder.name

    def __del__(self) -> None:
        with suppress(Exception):  # also when the interpreter ends
            self._lock.release(force=True)
            Path(self._lock.lock_file).unlink(missing_ok=True)


class VersionCache:
    """The local copies of one published index.

    Args:
        folder: of all copies; made if it is not there.
        url: of the published index.
        most_bytes: size of all copies that is kept; what processes read stays even if it is larger.
    """

    def __init__(self, folder: Path, url: str, most_bytes: int) -> None:
        self._all, self.most_bytes = folder, most_bytes
        self.place = folder / sha256(url.encode())[:16]
        self.versions = self.place / "versions"
        self._readers = self.place / "readers"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents may be private
        for each in (self.versions, self._readers):
            each.mkdir(parents=True, exist_ok=True)
        (self.place / "url").write_text(url, encoding="utf-8")
        self.fetching = FileLock(self.place / "fetching.lock", thread_local=False)

    def pin(self, name: str) -> PinnedVersion | None:
        """Return a version and keep it from being deleted; None if it is not here."""
        folder = self.versions / name
        with FileLock(self._all / "cache.lock"):
            if not folder.is_dir():
                return None
            lock = FileLock(self._readers / f"{name}.{uuid.uuid4().hex}.lock", thread_local=False)
            lock.acquire()
            os.utime(folder)  # when it was last used
        return PinnedVersion(folder, lock)

    def current(self) -> str:
        """Return the name of the version that was current when the store was last reached; empty if there is none."""
        try:
            return (self.place / "current").read_text(encoding="utf-8")[:64]
        except OSError:
            return ""

    def set_current(self, name: str) -> None:
        """Remember the current version for times when the store cannot be reached."""
        if name != self.current():
            temporary = self.place / f"current.{uuid.uuid4().hex}.tmp"
            temporary.write_text(name, encoding="utf-8")
            temporary.replace(self.place / "current")

    def delete_unused(self, but: str) -> None:
        """Delete the versions that were least recently used until the copies are small enough; hold `fetching`.

        Args:
            but: name of a version of this index that stays.
        """
        with FileLock(self._all / "cache.lock"):
            for partial in self.versions.glob("*.partial"):
                shutil.rmtree(partial, ignore_errors=True)
            folders = [each for each in self._all.glob("*/versions/*") if each.suffix != ".partial"]
            sizes = {each: _sizes(each) for each in folders}
            for folder in sorted(folders, key=lambda each: each.stat().st_mtime):
                files = {inode: size for some in sizes.values() for inode, size in some.items()}
                if sum(files.values()) <= self.most_bytes:
                    return
                if folder != self.versions / but and not _is_read(folder):
                    _delete(folder)
                    del sizes[folder]

    def delete(self, name: str) -> None:
        """Delete a version that no process reads."""
        with FileLock(self._all / "cache.lock"):
            folder = self.versions / name
            if folder.is_dir() and not _is_read(folder):
                _delete(folder)

    def delete_others(self, names: Collection[str]) -> None:
        """Delete the versions that are not among these and that no process reads."""
        with FileLock(self._all / "cache.lock"):
            for folder in list(self.versions.iterdir()):
                if folder.name not in names and folder.suffix != ".partial" and not _is_read(folder):
                    _delete(folder)


def _delete(folder: Path) -> None:
    # Renamed first: what remains if this process is killed must not look whole.
    gone = folder.rename(folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.partial"))
    shutil.rmtree(gone, ignore_errors=True)


def _is_read(folder: Path) -> bool:
    """Tell whether a process reads a version, and delete the locks of those that have ended."""
    for file in (folder.parents[1] / "readers").glob(f"{folder.name}.*.lock"):
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        file.unlink(missing_ok=True)
    return False


def _sizes(folder: Path) -> Mapping[tuple[int, int], int]:
    """Return the bytes of each file by its number in the file system: versions share files that are equal."""
    found = {}
    for file in folder.rglob("*"):
        with suppress(OSError):
            stat = file.lstat()
            found[stat.st_dev, stat.st_ino] = stat.st_size
    return found
