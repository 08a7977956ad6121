"""Making a local copy of a version: what is here already is copied, the rest is fetched; every block is checked."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.publishing.blocks import sha256, unpack
from polygraph.publishing.cache import MANIFEST, VersionCache
from polygraph.publishing.manifest import (
    MAX_BYTES,
    OBJECTS,
    VERSIONS,
    Block,
    PublishedFile,
    VersionManifest,
)
from polygraph.publishing.object_store import ObjectStore
from polygraph.store.atomic_files import sync
from polygraph.store.connection import storage_errors_explained

THREADS = 16
"""Requests at once."""
_REQUEST = 1 << 21
"""Most bytes that one request fetches."""
_GAP = 1 << 16
"""Bytes between two blocks that are fetched too, since a further request would take longer."""


def fetch(
    store: ObjectStore, cache: VersionCache, name: str, progress: Callable[[int, int], None] = lambda *_: None
) -> int:
    """Make a local copy of a version. One process fetches, others wait for it.

    Args:
        store: that the version is in.
        cache: that gets it.
        name: of the version.
        progress: called with the bytes that were fetched and those that must be, after each block.

    Returns:
        The bytes that were fetched.

    Raises:
        FileNotFoundError: if the store does not have the version any more.
        IndexUnreadable: if an object is not what its name says.
        StorageFailed: if the store cannot be reached, or the disk is full.
    """
    with storage_errors_explained(cache.place), cache.fetching:
        folder = cache.versions / name
        if folder.is_dir():
            return 0
        content = store.get(f"{VERSIONS}/{name}", MAX_BYTES)
        manifest = VersionManifest.loads(name, content)
        if manifest.size > cache.most_bytes:
            raise StorageFailed(
                f"the index at {store.url} has {manifest.size / 1e9:.1f} GB, and local copies may have "
                f"{cache.most_bytes / 1e9:g}. Allow more with the setting cache_gb"
            )
        partial = folder.with_name(f"{name}.partial")
        n_bytes = len(content) + _Copy(store, cache, partial, progress).make(manifest)
        (partial / MANIFEST).write_bytes(content)
        for file in partial.rglob("*"):
            if file.is_file():
                sync(file)
        partial.rename(folder)
        sync(cache.versions)
        cache.delete_unused(but=name)
        return n_bytes


class _Copy:
    """A local copy that is being made."""

    def __init__(
        self, store: ObjectStore, cache: VersionCache, folder: Path, progress: Callable[[int, int], None]
    ) -> None:
        self._store, self._folder, self._progress = store, folder, progress
        self._same: dict[tuple[str, ...], Path] = {}
        self._known: dict[str, tuple[Path, int]] = {}
        for version in cache.versions.iterdir():
            with suppress(OSError, IndexUnreadable):
                earlier = VersionManifest.loads(version.name, (version / MANIFEST).read_bytes())
                for file in earlier.files:
                    self._same[file.content] = version / file.path
                    self._known |= {block.name: (version / file.path, at) for at, block in file.at()}

    def make(self, manifest: VersionManifest) -> int:
        """Write all files; what was written before an interruption is used. Return the bytes that were fetched."""
        missing: dict[Block, list[tuple[Path, int]]] = {}
        for file in manifest.files:
            path = self._folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            same = self._same.get(file.content)
            if same is None or not _link(same, path, file.size):
                for at, block in self._copy_known(path, file):
                    missing.setdefault(block, []).append((path, at))
        requests = _requests(missing)
        total, n_done, n_bytes = sum(block.packed for block in missing), 0, 0
        with ThreadPoolExecutor(THREADS, "fetch") as pool:
            # In parts, so that an error ends the work soon.
            for first in range(0, len(requests), 2 * THREADS):
                part = requests[first : first + 2 * THREADS]
                n_bytes += sum(pool.map(lambda some: self._fetch(some, missing), part))
                n_done += sum(block.packed for some in part for block in some)
                self._progress(n_done, total)
        if os.name != "nt":  # there, files that may not be written cannot be deleted
            for file in manifest.files:
                (self._folder / file.path).chmod(0o444)
        return n_bytes

    def _copy_known(self, path: Path, file: PublishedFile) -> list[tuple[int, Block]]:
        """Write the blocks of a file that are on this disk; return the others."""
        missing = []
        with suppress(FileNotFoundError):
            # Linked by an attempt that was interrupted: another version has the file too, or had it.
            if path.stat().st_nlink > 1:
                path.unlink()
            else:
                path.chmod(0o644)
        with ExitStack() as stack:
            target = stack.enter_context(path.open("r+b" if path.is_file() else "w+b"))
            sources: dict[Path, BinaryIO] = {path: target}
            target.truncate(file.size)
            for at, block in file.at():
                for source, offset in ((path, at), self._known.get(block.name, (path, at))):
                    if source not in sources:
                        sources[source] = stack.enter_context(source.open("rb"))
                    sources[source].seek(offset)
                    found = sources[source].read(block.size)
                    if sha256(found) == block.name:
                        if source != path:
                            target.seek(at)
                            target.write(found)
                        break
                else:
                    missing.append((at, block))
        return missing

    def _fetch(self, some: Sequence[Block], places: Mapping[Block, Sequence[tuple[Path, int]]]) -> int:
        """Fetch blocks that stand near each other in one object, and write them to their places."""
        start, end = some[0].offset, some[-1].offset + some[-1].packed
        content = self._store.part(f"{OBJECTS}/{some[0].object}", start, end)
        for block in some:
            at = block.offset - start
            found = unpack(content[at : at + block.packed], block.name, block.size)
            for path, offset in places[block]:
                with path.open("r+b") as file:
                    file.seek(offset)
                    file.write(found)
        return len(content)


def _requests(blocks: Iterable[Block]) -> list[list[Block]]:
    """Put blocks together that one request fetches: near each other in one object."""
    found: list[list[Block]] = []
    for block in sorted(blocks, key=lambda each: (each.object, each.offset)):
        if found:
            first, last = found[-1][0], found[-1][-1]
            gap = block.offset - last.offset - last.packed
            near = 0 <= gap <= _GAP and block.offset + block.packed - first.offset <= _REQUEST
            if block.object == last.object and near:
                found[-1].append(block)
                continue
        found.append([block])
    return found


def _link(source: Path, target: Path, size: int) -> bool:
    """Let two versions share a file that is equal; False if the file is not as it was or cannot be shared."""
    try:
        if source.stat().st_size != size:
            return False
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:  # a file system without links
            shutil.copyfile(source, target)
    except OSError:
        return False
    return True
