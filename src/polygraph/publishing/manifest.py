"""What the store holds: the manifest of a version, and the pointer that names the versions.

```
current.json          the pointer: names of the versions, newest first; the only object that is ever replaced
versions/SHA256       manifests
objects/SHA256        blocks of files, one after the other
```
All of it may come from anybody: what is read here is checked before it is used, and its names are used as paths only
after they have been found to be those of an index.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from polygraph.errors import IndexUnreadable
from polygraph.publishing.blocks import FIXED, MOST, sha256
from polygraph.store.connection import FILE_NAME

FORMAT = 1
POINTER = "current.json"
VERSIONS = "versions"
OBJECTS = "objects"
MAX_BYTES = 1 << 28
"""Largest manifest, unpacked: enough for an index of 30 GB."""
MOST_PACKED = max(FIXED, MOST) + (1 << 10)
"""Most bytes of a block in an object; what cannot be compressed becomes a little longer."""
MAX_POINTER_BYTES = 1 << 20
_MOST_FILES = 10_000
_NAME = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(
    r"index\.sqlite|derived/index\.sums|derived/[a-z_]{1,40}-[0-9a-f]{12}/\.?[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
)


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

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def blocks(self) -> dict[str, Block]:
        """Return every block by name."""
        return {block.name: block for file in self.files for block in file.blocks}

    def dumps(self) -> tuple[str, bytes]:
        """Return the name of this version and the content of its object."""
        blocks = {block: n for n, block in enumerate(dict.fromkeys(b for f in self.files for b in f.blocks))}
        objects = {name: n for n, name in enumerate(dict.fromkeys(block.object for block in blocks))}
        value = {
            "format": FORMAT,
            "objects": list(objects),
            "blocks": [[b.name, b.size, objects[b.object], b.offset, b.packed] for b in blocks],
            "files": [
                {"path": f.path, "size": f.size, "blocks": [blocks[b] for b in f.blocks]} for f in self.files
            ],
        }
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
        value = _parse(text, "manifest")
        try:
            objects = [_name(each) for each in value["objects"]]
            blocks = [
                Block(
                    _name(block),
                    _number(size, 1, max(FIXED, MOST)),
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
        except (KeyError, TypeError, ValueError) as error:
            raise _unusable(f"its manifest holds what none has ({str(error)[:80]})") from error
        return cls(files)


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
        return json.dumps({"format": FORMAT, "versions": versions}, indent=1).encode()

    @classmethod
    def loads(cls, content: bytes) -> "Pointer":
        """Parse and check a pointer.

        Raises:
            IndexUnreadable: if it is not one.
        """
        value = _parse(content, "pointer")
        try:
            versions = tuple((_name(v["name"]), float(v["published"])) for v in value["versions"])
        except (KeyError, TypeError, ValueError) as error:
            raise _unusable(f"its pointer holds what none has ({str(error)[:80]})") from error
        if not versions:
            raise _unusable("its pointer names no version")
        return cls(versions)


def _parse(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unusable(f"its {what} cannot be read") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else None
        raise _unusable(f"its {what} has the format {str(found)[:20]!r}, and this version reads {FORMAT}")
    return value


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


def _unusable(why: str) -> IndexUnreadable:
    return IndexUnreadable(
        f"what is published there cannot be used: {why}. Publish the index again with this version of Polygraph"
    )
