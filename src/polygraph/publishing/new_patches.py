"""The patches of a new version: what a reader of the version before needs beside what it has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polygraph.errors import PolygraphError
from polygraph.publishing.cache import PinnedVersion, VersionCache
from polygraph.publishing.fetch import fetch
from polygraph.publishing.manifest import Block, Patch, Patches, PublishedFile, VersionManifest
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.object_writer import ObjectWriter
from polygraph.publishing.patches import LEAST_SOURCE, MOST, can_patch, make_patch
from polygraph.publishing.similar_parts import SimilarParts

_WORTH = 0.9
"""Share of the bytes of the blocks above which a patch is not written."""
_TABLES = ".sqlite"
_UNIQUE_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class FileParts:
    """A file that is published."""

    path: str
    """In the version."""
    file: Path
    parts: Sequence[tuple[str, int]]
    """SHA-256 and bytes of its blocks."""

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(size for _, size in self.parts)


@dataclass(frozen=True, slots=True)
class PatchDrafts:
    """Patches whose places in the store are not known yet: instead of an object they name themselves."""

    patches: Patches

    def placed_in(self, manifest: VersionManifest, places: Mapping[str, Block]) -> VersionManifest:
        """Return a manifest with the patches at their places."""
        of = {
            path: tuple(
                patch._replace(object=places[patch.object].object, offset=places[patch.object].offset)
                for patch in some
            )
            for path, some in self.patches.of.items()
        }
        return replace(manifest, patches=replace(self.patches, of=of) if of else None)


def base_for_patches(store: ObjectStore, cache: VersionCache, version: str) -> PinnedVersion | None:
    """Return a local copy of a version, which is fetched if it is not here; None if that is not possible."""
    if not can_patch():
        return None
    if found := cache.pin(version):
        return found
    try:
        fetch(store, cache, version)
    except (PolygraphError, FileNotFoundError):
        return None  # patches only save bytes
    return cache.pin(version)


def make_patches(
    files: Sequence[FileParts],
    manifest: VersionManifest,
    before: VersionManifest,
    base: PinnedVersion,
    writer: ObjectWriter,
) -> PatchDrafts:
    """Make patches of all parts of files that are new, where they save bytes.

    Args:
        files: of the new version.
        manifest: of the new version.
        before: manifest of the version before.
        base: a local copy of that version.
        writer: gets the patches.
    """
    known, of = before.blocks(), dict[str, tuple[Patch, ...]]()
    for file, published in zip(files, manifest.files, strict=True):
        source = _counterpart(published, before)
        if source is not None and not all(block.name in known for block in published.blocks):
            similar = SimilarParts(base.folder / source.path)
            found = [
                patch
                for first, at, some in _parts(published, known)
                if (patch := _patch(file.file, first, at, some, source.path, similar, known, writer))
            ]
            if found:
                of[file.path] = tuple(found)
    return PatchDrafts(Patches(base.name, of))


def _patch(
    file: Path,
    first: int,
    at: int,
    some: Sequence[Block],
    source: str,
    similar: SimilarParts,
    known: Mapping[str, Block],
    writer: ObjectWriter,
) -> Patch | None:
    """Write the patch of some blocks of a file, if it saves bytes."""
    with file.open("rb") as opened:
        opened.seek(at)
        new = opened.read(sum(block.size for block in some))
    start, end = similar.near(new, at)
    if end - start < LEAST_SOURCE:
        return None
    old = similar.read(start, end)
    # In tables, numbers are of any length.
    ways = (False,) if file.suffix == _TABLES else (False, True)
    size, patch, differences = min(
        (len(patch), patch, way) for way in ways for patch in [make_patch(new, at, old, differences=way)]
    )
    if size > _WORTH * sum(block.packed for block in some if block.name not in known):
        return None
    name = writer.add_patch(patch)
    return Patch(first, len(some), source, start, end, differences, name, 0, size)


def _parts(file: PublishedFile, known: Mapping[str, Block]) -> Iterator[tuple[int, int, Sequence[Block]]]:
    """Yield parts of a file that begin and end with new blocks: number of the first block, its place, the blocks."""
    some, first, start, size = list[Block](), 0, 0, 0
    for n, (at, block) in enumerate(file.at()):
        if some and size >= MOST:
            yield first, start, _without_known_end(some, known)
            some = []
        if not some:
            if block.name in known:
                continue
            first, start, size = n, at, 0
        some.append(block)
        size += block.size
    if some:
        yield first, start, _without_known_end(some, known)


def _without_known_end(blocks: Sequence[Block], known: Mapping[str, Block]) -> Sequence[Block]:
    n = len(blocks)
    while blocks[n - 1].name in known:
        n -= 1
    return blocks[:n]


def _counterpart(file: PublishedFile, before: VersionManifest) -> PublishedFile | None:
    """Return the file of the version before that has the same purpose: the names of layers end in their versions."""
    purpose = _purpose(file.path)
    return next((each for each in before.files if _purpose(each.path) == purpose), None)


def _purpose(path: str) -> str:
    """Return what remains the same of a path; parts of the full-text index have names of their own each time.

    >>> _purpose("derived/lexical-0123456789ab/0123456789abcdef0123456789abcdef.term")
    'derived/lexical/.term'
    """
    folder, _, name = path.rpartition("/")
    return f"{folder.rpartition('-')[0] or folder}/{_UNIQUE_NAME.sub('', name)}"
