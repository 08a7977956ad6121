"""What the store holds: the manifest of a version, and the pointer that names the versions.

```
current.json          the pointer: names of the versions, newest first; the only object that is ever replaced
versions/SHA256       manifests
objects/SHA256        blocks of files, or patches, one after the other
```
All of it may come from anybody: what is read here is checked before it is used, and its names are used as paths only
after they have been found to be those of an index.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polygraph.errors import IndexUnreadable, other_format
from polygraph.publishing import patches as patching
from polygraph.publishing.blocks import MOST, MOST_TABLES, sha256
from polygraph.store.connection import FILE_NAME
from polygraph.store.tables import FORMAT

POINTER_FORMAT = 1
"""Manifests have the format of the index (`store.tables.FORMAT`), so that no reader fetches what it cannot read."""
PATCH_METHOD = 1
"""How patches are made. Readers of another method fetch blocks instead."""
POINTER = "current.json"
VERSIONS = "versions"
OBJECTS = "objects"
MAX_BYTES = 1 << 28
"""Largest manifest, unpacked: enough for an index of 30 GB."""
MOST_PACKED = max(MOST, MOST_TABLES) + (1 << 10)
"""Most bytes of a block in an object; what cannot be compressed becomes a little longer."""
_MOST_PATCHED = patching.MOST + max(MOST, MOST_TABLES)
"""Most bytes of the blocks of a patch, and of the patch: one that saves nothing is not written."""
MAX_POINTER_BYTES = 1 << 20
_MOST_FILES = 10_000
_UNUSABLE = "what is published there cannot be used"
_AGAIN = "Publish the index again"
_WITHOUT_POINTER = f"Delete the object {POINTER} there and publish the index again"
"""A publisher reads the pointer too, and does not overwrite one that it does not know."""
_NAME = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(
    r"index\.sqlite|derived/index\.sums|derived/[a-z_]{1,40}-[0-9a-f]{12}/\.?[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
)


class Patch(NamedTuple):
    """Blocks of a file as what differs from a part of a file of the version before, and its place in the store."""

    first: int
    """Number of the first block in the file."""
    n_blocks: int
    source: str
    """Path of the file in the version before."""
    start: int
    """Where the part begins there."""
    end: int
    differences: bool
    """Whether the differences of 32-bit numbers are compared."""
    object: str
    """Name of the object that holds it."""
    offset: int
    """In the object."""
    packed: int
    """Bytes that it takes there."""


@dataclass(frozen=True, slots=True)
class Patches:
    """How a reader of the version before gets a version with fewer bytes."""

    base: str
    """Name of the version before."""
    of: Mapping[str, tuple[Patch, ...]]
    """Patches by path of the file, in the order of its blocks; of blocks that are not new there is none."""

    @property
    def packed(self) -> int:
        """Bytes of all patches."""
        return sum(patch.packed for some in self.of.values() for patch in some)


class Block(NamedTuple):
    """A part of a file, and its place in the store."""

    name: str
    """SHA-256."""
    size: int
    """Bytes."""
    object: str
    """Name of the object that holds it."""
    offset: int
    """In the object."""
    packed: int
    """Bytes that it takes there."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a version."""

    path: str
    """Below the folder of the index, with slashes."""
    blocks: tuple[Block, ...]
    """In order."""

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return sum(block.size for block in self.blocks)

    @property
    def content(self) -> tuple[str, ...]:
        """Names of the blocks: equal for files that are equal."""
        return tuple(block.name for block in self.blocks)

    def at(self) -> Iterator[tuple[int, Block]]:
        """Yield each block with its offset in the file."""
        offset = 0
        for block in self.blocks:
            yield offset, block
            offset += block.size


@dataclass(frozen=True, slots=True)
class VersionManifest:
    """The files of a version."""

    files: tuple[PublishedFile, ...]
    patches: Patches | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def blocks(self) -> dict[str, Block]:
        """Return every block by name."""
        return {block.name: block for file in self.files for block in file.blocks}

    def objects(self) -> set[str]:
        """Return the names of the objects that hold blocks and patches."""
        patches = self.patches.of.values() if self.patches is not None else ()
        return {block.object for file in self.files for block in file.blocks} | {
            patch.object for some in patches for patch in some
        }

    def dumps(self) -> tuple[str, bytes]:
        """Return the name of this version and the content of its object."""
        blocks = {block: n for n, block in enumerate(dict.fromkeys(b for f in self.files for b in f.blocks))}
        objects = {name: n for n, name in enumerate(dict.fromkeys(block.object for block in blocks))}
        value: dict[str, Any] = {
            "format": FORMAT,
            "objects": list(objects),
            "blocks": [[b.name, b.size, objects[b.object], b.offset, b.packed] for b in blocks],
            "files": [
                {"path": f.path, "size": f.size, "blocks": [blocks[b] for b in f.blocks]} for f in self.files
            ],
        }
        if self.patches is not None:
            value["patches"] = _dump_patches(self.patches, [file.path for file in self.files])
        text = json.dumps(value, separators=(",", ":")).encode()
        return sha256(text), zlib.compress(text, 6)

    @classmethod
    def loads(cls, name: str, content: bytes) -> "VersionManifest":
        """Parse and check a manifest.

        Raises:
            IndexUnreadable: if it is not the one of that name, or not that of an index.
        """
        try:
            text = zlib.decompressobj().decompress(content, MAX_BYTES)
        except zlib.error:
            text = b""
        if sha256(text) != name:
            raise _unusable(f"the manifest {name} is not what its name says")
        value = _parse(text, "manifest", FORMAT, _AGAIN)
        try:
            objects = [_name(each) for each in value["objects"]]
            blocks = [
                Block(
                    _name(block),
                    _number(size, 1, max(MOST, MOST_TABLES)),
                    objects[_number(n, 0, len(objects) - 1)],
                    _number(offset, 0, 1 << 62),
                    _number(packed, 1, MOST_PACKED),
                )
                for block, size, n, offset, packed in value["blocks"]
            ]
            files = tuple(
                PublishedFile(f["path"], tuple(blocks[_number(n, 0, len(blocks) - 1)] for n in f["blocks"]))
                for f in value["files"]
            )
            _check(files, [f["size"] for f in value["files"]])
            patches = _load_patches(value["patches"], files) if "patches" in value else None
        except (KeyError, TypeError, ValueError) as error:
            raise _unusable(f"its manifest holds what none has ({str(error)[:80]})") from error
        return cls(files, patches)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The versions that can be read."""

    versions: tuple[tuple[str, float], ...] = ()
    """Name, and time of publishing in seconds since 1970; newest first."""

    @property
    def current(self) -> str:
        """Name of the version that readers open."""
        return self.versions[0][0]

    def dumps(self) -> bytes:
        """Return the content of the object."""
        versions = [{"name": name, "published": published} for name, published in self.versions]
        return json.dumps({"format": POINTER_FORMAT, "versions": versions}, indent=1).encode()

    @classmethod
    def loads(cls, content: bytes) -> "Pointer":
        """Parse and check a pointer.

        Raises:
            IndexUnreadable: if it is not one.
        """
        value = _parse(content, "pointer", POINTER_FORMAT, _WITHOUT_POINTER)
        try:
            versions = tuple((_name(v["name"]), float(v["published"])) for v in value["versions"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _unusable(
                f"its pointer holds what none has ({str(error)[:80]})", _WITHOUT_POINTER
            ) from error
        if not versions:
            raise _unusable("its pointer names no version", _WITHOUT_POINTER)
        return cls(versions)


def _parse(text: bytes, what: str, format: int, fix: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unusable(f"its {what} cannot be read", fix) from error
    found = value.get("format") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(found, int):
        raise _unusable(f"its {what} is none", fix)
    if found != format:
        raise IndexUnreadable(f"{_UNUSABLE}: {other_format(f'its {what}', found, format, fix)}")
    return value


def _dump_patches(patches: Patches, paths: Sequence[str]) -> dict[str, Any]:
    some = [(paths.index(path), patch) for path, found in patches.of.items() for patch in found]
    objects = {name: n for n, name in enumerate(dict.fromkeys(patch.object for _, patch in some))}
    sources = {path: n for n, path in enumerate(dict.fromkeys(patch.source for _, patch in some))}
    return {
        "method": PATCH_METHOD,
        "base": patches.base,
        "objects": list(objects),
        "sources": list(sources),
        "patches": [
            [n, *p[:2], sources[p.source], *p[3:5], int(p.differences), objects[p.object], *p[7:]]
            for n, p in some
        ],
    }


def _load_patches(value: Any, files: tuple[PublishedFile, ...]) -> Patches | None:
    """Return checked patches; None if they were made in another way. Otherwise raise `ValueError` or the like."""
    if value["method"] != PATCH_METHOD:
        return None
    objects, sources = [_name(each) for each in value["objects"]], value["sources"]
    if not all(isinstance(path, str) and _PATH.fullmatch(path) for path in sources):
        raise ValueError("a path that is not one of an index")
    found: dict[str, list[Patch]] = {}
    for n, first, n_blocks, source, start, end, differences, name, offset, packed in value["patches"]:
        file = files[_number(n, 0, len(files) - 1)]
        some = found.setdefault(file.path, [])
        least = some[-1].first + some[-1].n_blocks if some else 0
        patch = Patch(
            _number(first, least, len(file.blocks) - 1),
            _number(n_blocks, 1, len(file.blocks) - first),
            sources[_number(source, 0, len(sources) - 1)],
            _number(start, 0, 1 << 62),
            _number(end, start + 1, start + patching.MOST_SOURCE),
            bool(_number(differences, 0, 1)),
            objects[_number(name, 0, len(objects) - 1)],
            _number(offset, 0, 1 << 62),
            _number(packed, 1, _MOST_PATCHED),
        )
        if start % 4 or sum(b.size for b in file.blocks[first : first + n_blocks]) > _MOST_PATCHED:
            raise ValueError("a patch of too many blocks, or to a place that none begins at")
        some.append(patch)
    return Patches(_name(value["base"]), {path: tuple(some) for path, some in found.items()})


def _name(value: Any) -> str:
    """Return a value that is a SHA-256; otherwise raise `ValueError`."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is no SHA-256")
    return value


def _number(value: Any, least: int, most: int) -> int:
    """Return a value that is a number within bounds; otherwise raise `ValueError`."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is not a number from {least} to {most}")
    return value


def _check(files: tuple[PublishedFile, ...], sizes: list[Any]) -> None:
    """Raise `ValueError` for files that no index has."""
    paths = [file.path for file in files]
    if len(files) > _MOST_FILES or not all(isinstance(p, str) and _PATH.fullmatch(p) for p in paths):
        raise ValueError("a path that is not one of an index")
    if len({path.lower() for path in paths}) != len(paths) or FILE_NAME not in paths:
        raise ValueError(f"a file twice, or no {FILE_NAME}")
    if sizes != [file.size for file in files]:
        raise ValueError("a size that is not that of its blocks")


def _unusable(why: str, fix: str = _AGAIN) -> IndexUnreadable:
    return IndexUnreadable(f"{_UNUSABLE}: {why}. {fix}")
