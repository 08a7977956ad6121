"""Making a local copy of a version: what is here already is copied, the rest is fetched; every block is checked.

A reader that has the version before fetches patches where they are shorter. Blocks that do not come out of a patch as
they should be are fetched as if there were none.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Semaphore
from typing import BinaryIO, NamedTuple, TypeVar

from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.publishing.blocks import sha256, unpack
from polygraph.publishing.cache import MANIFEST, VersionCache
from polygraph.publishing.manifest import (
    MAX_BYTES,
    OBJECTS,
    VERSIONS,
    Block,
    Patch,
    PublishedFile,
    VersionManifest,
)
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.patches import PatchUnusable, apply_patch, can_patch
from polygraph.store.atomic_files import sync
from polygraph.store.connection import storage_errors_explained

THREADS = 16
"""Requests at once."""
_REQUEST = 1 << 21
"""Most bytes that one request fetches."""
_GAP = 1 << 16
"""Bytes between two blocks that are fetched too, since a further request would take longer."""
_AT_ONCE = 2
"""Patches that are applied at once: each takes about 50 MB."""
_MOST_STEPS = 8
"""Most versions through which a reader comes to the newest one by patches."""


class _Patched(NamedTuple):
    """Blocks of a file that a patch gives."""

    object: str
    offset: int
    packed: int
    patch: Patch
    at: int
    """Where they begin in the file."""
    blocks: tuple[Block, ...]


_Stored = TypeVar("_Stored", Block, _Patched)


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
        if (cache.versions / name).is_dir():
            return 0
        wanted = _Step.fetched(store, name)
        if wanted.manifest.size > cache.most_bytes:
            raise StorageFailed(
                f"the index at {store.url} has {wanted.manifest.size / 1e9:.1f} GB, and local copies may have "
                f"{cache.most_bytes / 1e9:g}. Allow more with the setting cache_gb"
            )
        *steps, _ = _steps(store, cache, wanted)
        n_bytes, between = 0, list[str]()
        for step in steps:
            try:
                n_bytes += _make(store, cache, step, progress)
            except (FileNotFoundError, IndexUnreadable):
                break  # without it, more blocks are fetched
            between.append(step.name)
            for former in between[:-1]:
                cache.delete(former)
        n_bytes += _make(store, cache, wanted, progress)
        for former in between:
            cache.delete(former)
        cache.delete_unused(but=name)
        return n_bytes


@dataclass(frozen=True, slots=True)
class _Step:
    """A version that is made here."""

    name: str
    content: bytes
    """Bytes of the manifest, as it is stored."""
    manifest: VersionManifest

    @classmethod
    def fetched(cls, store: ObjectStore, name: str) -> "_Step":
        content = store.get(f"{VERSIONS}/{name}", MAX_BYTES)
        return cls(name, content, VersionManifest.loads(name, content))


def _steps(store: ObjectStore, cache: VersionCache, wanted: _Step) -> list[_Step]:
    """Return the versions that are made one after the other, so that each follows from patches.

    The last one is that which is wanted, and often the only one.
    """
    steps, price = [wanted], 0
    if not can_patch() or not any(cache.versions.iterdir()):
        return steps
    while patches := steps[-1].manifest.patches:
        price += len(steps[-1].content) + patches.packed
        if (cache.versions / patches.base).is_dir():
            if len(steps) == 1:
                return steps
            known = {name for each in _manifests(cache).values() for name in each.blocks()}
            missing = sum(b.packed for name, b in wanted.manifest.blocks().items() if name not in known)
            return steps[::-1] if price < missing else [wanted]
        if len(steps) == _MOST_STEPS:
            break
        try:
            step = _Step.fetched(store, patches.base)
        except (FileNotFoundError, IndexUnreadable):
            break
        if step.manifest.size > cache.most_bytes:
            break
        steps.append(step)
    return [wanted]


def _manifests(cache: VersionCache) -> dict[Path, VersionManifest]:
    """Return the manifests of the versions that are here, by their folders."""
    found = {}
    for version in cache.versions.iterdir():
        with suppress(OSError, IndexUnreadable):
            found[version] = VersionManifest.loads(version.name, (version / MANIFEST).read_bytes())
    return found


def _make(store: ObjectStore, cache: VersionCache, step: _Step, progress: Callable[[int, int], None]) -> int:
    """Make a version; return the bytes that were fetched."""
    folder = cache.versions / step.name
    partial = folder.with_name(f"{step.name}.partial")
    n_bytes = len(step.content) + _Copy(store, cache, partial, progress).make(step.manifest)
    (partial / MANIFEST).write_bytes(step.content)
    for file in partial.rglob("*"):
        if file.is_file():
            sync(file)
    partial.rename(folder)
    sync(cache.versions)
    return n_bytes


class _Copy:
    """A local copy that is being made."""

    def __init__(
        self, store: ObjectStore, cache: VersionCache, folder: Path, progress: Callable[[int, int], None]
    ) -> None:
        self._store, self._folder, self._progress = store, folder, progress
        self._versions, self._applying = cache.versions, Semaphore(_AT_ONCE)
        self._n_done = self._n_expected = 0
        self._same: dict[tuple[str, ...], Path] = {}
        self._known: dict[str, tuple[Path, int]] = {}
        for version, earlier in _manifests(cache).items():
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
        patches = self._worthwhile_patches(manifest, missing)
        patched = {block for each in patches for block in each.blocks}
        self._n_expected = sum(patch.packed for patch in patches)
        self._n_expected += sum(block.packed for block in missing if block not in patched)
        with ThreadPoolExecutor(THREADS, "fetch") as pool:
            done = set[Block]()
            base = self._versions / manifest.patches.base if manifest.patches is not None else self._folder
            n_bytes = self._all(pool, patches, lambda some: self._apply(some, base, missing, done))
            rest = [block for block in missing if block not in done]
            n_bytes += self._all(pool, rest, lambda some: self._fetch(some, missing))
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
                        try:
                            sources[source] = stack.enter_context(source.open("rb"))
                        except FileNotFoundError:  # another process has deleted that version
                            continue
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

    def _worthwhile_patches(
        self, manifest: VersionManifest, missing: Mapping[Block, object]
    ) -> list[_Patched]:
        """Return the patches that are shorter than what is missing of their blocks."""
        patches = manifest.patches
        if patches is None or not can_patch() or not (self._versions / patches.base).is_dir():
            return []
        found = []
        for file in manifest.files:
            if some := patches.of.get(file.path, ()):
                offsets = [at for at, _ in file.at()]
                for patch in some:
                    blocks = file.blocks[patch.first : patch.first + patch.n_blocks]
                    if patch.packed < sum(block.packed for block in {*blocks} & missing.keys()):
                        place = patch.object, patch.offset, patch.packed
                        found.append(_Patched(*place, patch, offsets[patch.first], blocks))
        return found

    def _all(
        self, pool: ThreadPoolExecutor, stored: Iterable[_Stored], use: Callable[[list[_Stored]], int]
    ) -> int:
        """Fetch and use what stands in objects; return the bytes that were fetched."""
        requests, n_bytes = _requests(stored), 0
        # In parts, so that an error ends the work soon.
        for first in range(0, len(requests), 2 * THREADS):
            part = requests[first : first + 2 * THREADS]
            n_bytes += sum(pool.map(use, part))
            self._n_done += sum(each.packed for some in part for each in some)
            self._progress(self._n_done, max(self._n_done, self._n_expected))
        return n_bytes

    def _apply(
        self,
        some: Sequence[_Patched],
        base: Path,
        places: Mapping[Block, Sequence[tuple[Path, int]]],
        done: set[Block],
    ) -> int:
        """Fetch patches that stand near each other, and write the blocks that they give; add those to `done`."""
        start, end = some[0].offset, some[-1].offset + some[-1].packed
        try:
            content = self._store.part(f"{OBJECTS}/{some[0].object}", start, end)
        except FileNotFoundError:  # deleted; the blocks may be there
            return 0
        for each in some:
            at, patch = each.offset - start, each.patch
            size = sum(block.size for block in each.blocks)
            with self._applying:
                try:
                    with (base / patch.source).open("rb") as file:
                        file.seek(patch.start)
                        source = file.read(patch.end - patch.start)
                    new = apply_patch(
                        content[at : at + patch.packed], each.at, size, source, differences=patch.differences
                    )
                except (PatchUnusable, OSError):
                    continue
                offset = 0
                for block in each.blocks:
                    found = new[offset : offset + block.size]
                    offset += block.size
                    if block in places and sha256(found) == block.name:
                        _write(found, places[block])
                        done.add(block)
        return len(content)

    def _fetch(self, some: Sequence[Block], places: Mapping[Block, Sequence[tuple[Path, int]]]) -> int:
        """Fetch blocks that stand near each other in one object, and write them to their places."""
        start, end = some[0].offset, some[-1].offset + some[-1].packed
        content = self._store.part(f"{OBJECTS}/{some[0].object}", start, end)
        for block in some:
            at = block.offset - start
            found = unpack(content[at : at + block.packed], block.name, block.size)
            _write(found, places[block])
        return len(content)


def _write(data: bytes, places: Iterable[tuple[Path, int]]) -> None:
    """Write bytes to several places."""
    for path, offset in places:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)


def _requests(stored: Iterable[_Stored]) -> list[list[_Stored]]:
    """Put together what one request fetches: near each other in one object."""
    found: list[list[_Stored]] = []
    for block in sorted(stored, key=lambda each: (each.object, each.offset)):
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
