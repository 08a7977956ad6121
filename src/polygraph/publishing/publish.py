"""Publishing the finished state of an index as a new version.

1. Copy the tables of the finished state, and list the files of its layers.
2. Write the blocks that the store does not have, then the manifest that names them.
3. Switch the pointer: only now readers see the version.
4. Delete what no kept version names.

A publisher that is killed has at most written objects that nobody names. Of two publishers, the pointer that was
written last decides; a version is one manifest, whose name is its content, so no reader sees parts of two. What another
publisher needs is not deleted under it: an object is taken as present only if the version of the pointer names it or if
it was written within half of `grace_s`, objects are deleted only when they are older than `grace_s`, and a version only
that long after it has ceased to be among the last ones.
"""

import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from polygraph.errors import BadInput, IndexUnreadable, StorageFailed
from polygraph.publishing.blocks import blocks, pack, sha256
from polygraph.publishing.manifest import (
    MAX_BYTES,
    MAX_POINTER_BYTES,
    OBJECTS,
    POINTER,
    VERSIONS,
    Block,
    Pointer,
    PublishedFile,
    VersionManifest,
)
from polygraph.publishing.object_store import ObjectStore
from polygraph.store.atomic_files import damage
from polygraph.store.copy_to_file import copy_to_file
from polygraph.store.generations import open_finished, write_in_progress
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import FILE_LAYERS, up_to_date
from polygraph.store.page_sums import sums_file

KEEP = 10
"""Versions that stay readable."""
GRACE_S = 24 * 3600.0
THREADS = 8
"""Objects that are written at once."""
OBJECT_BYTES = 1 << 23
"""Bytes after which blocks become an object: a request for each block would take longer than its bytes."""
_USED_SHARE = 0.3
"""Of an object that is in use less, the blocks are written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a publisher did."""

    url: str
    version: str
    """Name of the version: the SHA-256 of its manifest."""
    is_new: bool
    """False if the store had this version as its newest one."""
    files: int
    bytes: int
    """Of the files."""
    written_objects: int
    written_bytes: int
    """Of the objects that were written, compressed, with the manifest."""
    deleted_objects: int


def publish(
    folder: Path,
    url: str,
    *,
    keep: int = KEEP,
    grace_s: float = GRACE_S,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Published:
    """Write the finished state of an index to object storage, and make it the version that readers open.

    Args:
        folder: of the index; a writer may be at work.
        url: where; nothing else may be stored below it.
        keep: how many versions stay readable, at least 1.
        grace_s: seconds for which what is no longer needed stays, and twice what publishing may take. 0 deletes at
            once; no other publisher may be at work then.
        progress: called with the bytes of the files that are done and of all, after each file.

    Raises:
        BadInput: for a URL that cannot be used.
        IndexUnreadable: if there is no finished index, or it is damaged, or what is published there is not one.
        StorageFailed: if the store cannot be reached or written, or publishing took too long.
    """
    if keep < 1:
        raise BadInput(f"--keep {keep} would delete the version that readers open. Keep at least 1")
    store, started = ObjectStore(url), time.time()
    pointer = read_pointer(store)
    listed = store.modified(OBJECTS)
    known = _blocks(store, pointer.current) if pointer is not None else {}
    known = {name: block for name, block in known.items() if block.object in listed}
    recent = {name for name, changed in listed.items() if started - grace_s / 2 < changed < float("inf")}
    with tempfile.TemporaryDirectory(prefix="polygraph-publish-", ignore_cleanup_errors=True) as scratch:
        try:
            files = [
                (path, file, [(sha256(block), len(block)) for block in blocks(file)])
                for path, file in _finished_files(folder, Path(scratch))
            ]
            kept_blocks = _worth_keeping(known, {block for *_, parts in files for block in parts})
            done, total = 0, sum(size for *_, parts in files for _, size in parts)
            with _Writer(store, kept_blocks, recent) as writer:
                for _, file, parts in files:
                    writer.add(file, parts)
                    done += sum(size for _, size in parts)
                    progress(done, total)
        except FileNotFoundError as error:
            raise StorageFailed(
                f"{folder} was changed while it was published. Publish again when builds have ended"
            ) from error
    manifest = VersionManifest(
        tuple(
            PublishedFile(path, tuple(writer.placed[name] for name, _ in parts)) for path, _, parts in files
        )
    )
    name, content = manifest.dumps()
    is_new = pointer is None or pointer.current != name
    if is_new:
        store.put(f"{VERSIONS}/{name}", content)
    if grace_s and time.time() - started > grace_s / 2:
        raise StorageFailed(
            f"publishing took longer than half of the {grace_s / 3600:g} hours after which objects may be deleted. "
            "What was written is kept for a while; publish again with a larger --grace"
        )
    before = read_pointer(store)
    versions = before.versions if before else ()
    if not versions or versions[0][0] != name:
        versions = ((name, time.time()), *versions)
    kept = Pointer(_kept(versions, keep, grace_s))
    if kept != before:
        store.put(POINTER, kept.dumps())
    return Published(
        url=store.url,
        version=name,
        is_new=is_new,
        files=len(manifest.files),
        bytes=manifest.size,
        written_objects=writer.objects,
        written_bytes=writer.bytes + (len(content) if is_new else 0),
        deleted_objects=_delete_unnamed(store, kept, manifest.blocks(), grace_s),
    )


def read_pointer(store: ObjectStore) -> Pointer | None:
    """Return the pointer of a store; None if nothing is published there."""
    try:
        return Pointer.loads(store.get(POINTER, MAX_POINTER_BYTES))
    except FileNotFoundError:
        return None


def _blocks(store: ObjectStore, version: str) -> dict[str, Block]:
    """Return the blocks of a version; none if its manifest cannot be used, which readers cannot use either."""
    try:
        return VersionManifest.loads(version, store.get(f"{VERSIONS}/{version}", MAX_BYTES)).blocks()
    except (FileNotFoundError, IndexUnreadable):
        return {}


def _worth_keeping(known: Mapping[str, Block], wanted: set[tuple[str, int]]) -> dict[str, Block]:
    """Return the blocks that need not be written again.

    Those of an object of which little is still in use are written again, so that the object can be deleted once.
    """
    found = {name: known[name] for name, _ in wanted if name in known}
    total, used = Counter[str](), Counter[str]()
    for counts, some in ((total, known), (used, found)):
        for block in some.values():
            counts[block.object] += block.packed
    return {name: b for name, b in found.items() if used[b.object] >= _USED_SHARE * total[b.object]}


def _finished_files(folder: Path, scratch: Path) -> list[tuple[str, Path]]:
    """Return the files of the finished state by their paths in a version; the tables are copied to a folder."""
    with closing(open_finished(folder)) as store:
        manifest = store.manifest()
        if manifest is None or write_in_progress(store) is not None:
            raise IndexUnreadable(
                f"the index at {store.place} is not finished. Finish it with: polygraph index --index {store.place}"
            )
        layers = up_to_date(store, manifest)
        tables = copy_to_file(store, scratch)
        files = [tables, sums_file(tables)]
        found = [(file.relative_to(scratch).as_posix(), file) for file in files]
        for layer in sorted(FILE_LAYERS & set(layers)):
            place = folder_of(folder, layer, layers[layer])
            store.fetch_files(place)
            if problem := damage(place, thorough=True):
                raise IndexUnreadable(
                    f"{problem}. Build it again with: polygraph index --index {store.place}"
                )
            found += [
                (file.relative_to(folder).as_posix(), file)
                for file in sorted(place.iterdir())
                if file.is_file() and file.suffix != ".lock"
            ]
        return found


class _Writer:
    """Packs blocks into objects and writes these, several at once."""

    def __init__(self, store: ObjectStore, kept: Mapping[str, Block], recent: set[str]) -> None:
        self._store, self._recent = store, recent
        self.placed = dict(kept)
        """Every block with its place."""
        self.objects = self.bytes = 0
        self._new: list[tuple[str, int, bytes]] = []
        self._new_bytes = 0
        self._pool = ThreadPoolExecutor(THREADS, "publish")
        self._written: deque[Future[None]] = deque()

    def add(self, path: Path, parts: Sequence[tuple[str, int]]) -> None:
        """Write the blocks of a file that have no place yet; some wait for further ones."""
        with path.open("rb") as file:
            at, waiting = 0, {name for name, _, _ in self._new}
            for name, size in parts:
                if name not in self.placed and name not in waiting:
                    file.seek(at)
                    packed = pack(file.read(size))
                    self._new.append((name, size, packed))
                    self._new_bytes += len(packed)
                    waiting.add(name)
                    if self._new_bytes >= OBJECT_BYTES:
                        self._write()
                        waiting.clear()
                at += size

    def _write(self) -> None:
        content = b"".join(packed for *_, packed in self._new)
        object_name, at = sha256(content), 0
        for name, size, packed in self._new:
            self.placed[name] = Block(name, size, object_name, at, len(packed))
            at += len(packed)
        if object_name not in self._recent:
            if len(self._written) >= THREADS:
                self._written.popleft().result()
            self._written.append(self._pool.submit(self._store.put, f"{OBJECTS}/{object_name}", content))
            self.objects += 1
            self.bytes += len(content)
        self._new, self._new_bytes = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Wait until all objects are written; after an error no further one is started."""
        try:
            if error is None:
                if self._new:
                    self._write()
                for each in self._written:
                    each.result()
        finally:
            self._pool.shutdown(cancel_futures=True)


def _kept(
    versions: tuple[tuple[str, float], ...], keep: int, grace_s: float
) -> tuple[tuple[str, float], ...]:
    """Return the versions that stay: the last ones, and those that were among them not long ago."""
    newest: dict[str, float] = {}
    for name, published in versions:
        newest.setdefault(name, published)
    once, now = list(newest.items()), time.time()
    return tuple(v for i, v in enumerate(once) if i < keep or once[i - keep][1] + grace_s > now)


def _delete_unnamed(
    store: ObjectStore, pointer: Pointer, current: Mapping[str, Block], grace_s: float
) -> int:
    """Delete manifests and objects that no version names and that are old enough; return how many objects.

    Args:
        store: that the versions are in.
        pointer: names the versions.
        current: the blocks of the newest one, so that often no manifest need be read.
        grace_s: age in seconds from which on they are old enough.
    """
    before, versions = time.time() - grace_s, {name for name, _ in pointer.versions}
    old = {
        folder: {n for n, t in store.modified(folder).items() if t < before} for folder in (VERSIONS, OBJECTS)
    }
    old[VERSIONS] -= versions
    old[OBJECTS] -= {block.object for block in current.values()}
    for version in versions:
        if old[OBJECTS]:
            old[OBJECTS] -= {block.object for block in _blocks(store, version).values()}
    for folder, names in old.items():
        store.delete(folder, sorted(names))
    return len(old[OBJECTS])
