"""Publishing the finished state of an index as a new version.

1. Copy the tables of the finished state, and list the files of its layers.
2. Write the blocks that the store does not have.
3. Write patches by which readers of the version before get this one, then the manifest that names blocks and patches.
4. Switch the pointer: only now readers see the version.
5. Delete what no kept version names.

A publisher that is killed has at most written objects that nobody names. Of two publishers, the pointer that was
written last decides; a version is one manifest, whose name is its content, so no reader sees parts of two. What another
publisher needs is not deleted under it: an object is taken as present only if the version of the pointer names it or if
it was written within half of `grace_s`, objects are deleted only when they are older than `grace_s`, and a version only
that long after it has ceased to be among the last ones.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polygraph.errors import BadInput, IndexUnreadable, StorageFailed, quoted
from polygraph.publishing.blocks import blocks, sha256
from polygraph.publishing.cache import VersionCache
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
from polygraph.publishing.new_patches import FileParts, base_for_patches, make_patches
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.object_writer import ObjectWriter
from polygraph.store.atomic_files import damage
from polygraph.store.copy_to_file import copy_to_file
from polygraph.store.generations import open_finished, write_in_progress
from polygraph.store.layer_folders import folder_of
from polygraph.store.layers import FILE_LAYERS, up_to_date
from polygraph.store.page_sums import sums_file

KEEP = 10
"""Versions that stay readable."""
GRACE_S = 24 * 3600.0
"""Age from which on what is no longer needed is deleted."""
_USED_SHARE = 0.3
"""The blocks of an object are written again if less than this share of it is in use."""


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
    """Bytes of the files."""
    written_objects: int
    written_bytes: int
    """Bytes of the objects that were written, compressed, with the manifest."""
    patch_bytes: int
    """Bytes, among these, of the patches by which readers of the version before get this one; 0 if none was written."""
    deleted_objects: int


def publish(
    folder: Path,
    url: str,
    *,
    keep: int = KEEP,
    grace_s: float = GRACE_S,
    cache: VersionCache | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Published:
    """Write the finished state of an index to object storage, and make it the version that readers open.

    Args:
        folder: of the index; a writer may be at work.
        url: where; nothing else may be stored below it.
        keep: how many versions stay readable, at least 1.
        grace_s: seconds for which what is no longer needed stays, and twice what publishing may take. 0 deletes at
            once; no other publisher may be at work then.
        cache: local copies, among which the version before is, or to which it is fetched, to make patches from it.
            None: without patches, readers fetch more.
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
    recent = {name for name, changed in listed.items() if started - grace_s / 2 < changed < float("inf")}
    with tempfile.TemporaryDirectory(prefix="polygraph-publish-", ignore_cleanup_errors=True) as scratch:
        try:
            written = _write_objects(
                folder, Path(scratch), store, pointer, set(listed), recent, cache, progress
            )
        except FileNotFoundError as error:
            raise StorageFailed(
                f"{folder} was changed while it was published. Publish again when builds have ended"
            ) from error
    manifest = written.manifest
    if written.is_new or pointer is None:
        name, content = manifest.dumps()
        store.put(f"{VERSIONS}/{name}", content)
    else:  # with the patches by which it was published
        name, content = pointer.current, b""
    if grace_s and time.time() - started > grace_s / 2:
        raise StorageFailed(
            f"publishing took longer than half of the {grace_s / 3600:g} hours after which objects may be deleted. "
            "What was written is kept for a while; publish again with a larger --grace"
        )
    kept = _switch_pointer(store, name, keep, grace_s)
    if cache is not None:
        cache.delete_others([version for version, _ in kept.versions])
    return Published(
        url=store.url,
        version=name,
        is_new=written.is_new,
        files=len(manifest.files),
        bytes=manifest.size,
        written_objects=written.objects,
        written_bytes=written.bytes + len(content),
        patch_bytes=manifest.patches.packed if manifest.patches is not None else 0,
        deleted_objects=_delete_unnamed(store, kept, manifest.objects(), grace_s),
    )


def read_pointer(store: ObjectStore) -> Pointer | None:
    """Return the pointer of a store; None if nothing is published there."""
    try:
        return Pointer.loads(store.get(POINTER, MAX_POINTER_BYTES))
    except FileNotFoundError:
        return None


class _Written(NamedTuple):
    """The objects of a version, before its manifest is written."""

    manifest: VersionManifest
    is_new: bool
    """Whether it is another version than the one of the pointer."""
    objects: int
    bytes: int


def _write_objects(
    folder: Path,
    scratch: Path,
    store: ObjectStore,
    pointer: Pointer | None,
    listed: set[str],
    recent: set[str],
    cache: VersionCache | None,
    progress: Callable[[int, int], None],
) -> _Written:
    """Write the blocks that the store does not have, and patches from the version before.

    Args:
        folder: of the index.
        scratch: an empty folder for the copy of the tables.
        store: gets the objects.
        pointer: names the version before; None if there is none.
        listed: names of the objects that the store has.
        recent: those of them that no other publisher deletes meanwhile.
        cache: see `publish`.
        progress: see `publish`.

    Raises:
        FileNotFoundError: if a file of the index is deleted meanwhile.
    """
    current = _manifest(store, pointer.current) if pointer is not None else None
    known = current.blocks() if current is not None else {}
    known = {name: block for name, block in known.items() if block.object in listed}
    files = [
        FileParts(path, file, [(sha256(block), len(block)) for block in blocks(file)])
        for path, file in _finished_files(folder, scratch)
    ]
    kept_blocks = _worth_keeping(known, {block for file in files for block in file.parts})
    done, total = 0, sum(file.size for file in files)
    with ObjectWriter(store, kept_blocks, recent) as writer:
        for file in files:
            writer.add(file.file, file.parts)
            done += file.size
            progress(done, total)
    manifest = VersionManifest(
        tuple(PublishedFile(f.path, tuple(writer.placed[name] for name, _ in f.parts)) for f in files)
    )
    is_new = current is None or manifest.files != current.files or not current.objects() <= listed
    base = None
    if is_new and current is not None and pointer is not None and cache is not None:
        base = base_for_patches(store, cache, pointer.current)
    if base is None or current is None:
        return _Written(manifest, is_new, writer.objects, writer.bytes)
    with ObjectWriter(store, {}, recent) as patch_writer:
        drafts = make_patches(files, manifest, current, base, patch_writer)
    return _Written(
        drafts.placed_in(manifest, patch_writer.placed),
        is_new,
        writer.objects + patch_writer.objects,
        writer.bytes + patch_writer.bytes,
    )


def _manifest(store: ObjectStore, version: str) -> VersionManifest | None:
    """Return the manifest of a version; None if it cannot be used, which readers cannot use either."""
    try:
        return VersionManifest.loads(version, store.get(f"{VERSIONS}/{version}", MAX_BYTES))
    except (FileNotFoundError, IndexUnreadable):
        return None


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
                f"the index at {store.place} is not finished. If no process is writing it, finish it with: polygraph "
                f"index --index {quoted(store.place)}"
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
                    f"{problem}. Build it again with: polygraph index --index {quoted(store.place)}"
                )
            found += [
                (file.relative_to(folder).as_posix(), file)
                for file in sorted(place.iterdir())
                if file.is_file() and file.suffix != ".lock"
            ]
        return found


def _switch_pointer(store: ObjectStore, version: str, keep: int, grace_s: float) -> Pointer:
    """Have readers open a version from now on; return the pointer, which names all versions that stay."""
    before = read_pointer(store)
    versions = before.versions if before else ()
    if not versions or versions[0][0] != version:
        versions = ((version, time.time()), *versions)
    after = Pointer(_kept(versions, keep, grace_s))
    if after != before:
        store.put(POINTER, after.dumps())
    return after


def _kept(
    versions: tuple[tuple[str, float], ...], keep: int, grace_s: float
) -> tuple[tuple[str, float], ...]:
    """Return the versions that stay: the last ones, and those that were among them not long ago."""
    newest: dict[str, float] = {}
    for name, published in versions:
        newest.setdefault(name, published)
    once, now = list(newest.items()), time.time()
    return tuple(v for i, v in enumerate(once) if i < keep or once[i - keep][1] + grace_s > now)


def _delete_unnamed(store: ObjectStore, pointer: Pointer, current: set[str], grace_s: float) -> int:
    """Delete manifests and objects that no version names and that are old enough; return how many objects.

    Args:
        store: that the versions are in.
        pointer: names the versions.
        current: the objects of the newest one, so that often no manifest need be read.
        grace_s: age in seconds from which on they are old enough.
    """
    before, versions = time.time() - grace_s, {name for name, _ in pointer.versions}
    old = {
        folder: {n for n, t in store.modified(folder).items() if t < before} for folder in (VERSIONS, OBJECTS)
    }
    old[VERSIONS] -= versions
    old[OBJECTS] -= current
    for version in versions:
        if old[OBJECTS] and (manifest := _manifest(store, version)) is not None:
            old[OBJECTS] -= manifest.objects()
    for folder, names in old.items():
        store.delete(folder, sorted(names))
    return len(old[OBJECTS])
