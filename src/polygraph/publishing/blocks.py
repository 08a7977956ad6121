"""Cutting files into blocks that stay the same where the file does, and their form in objects.

A row that is added moves all that follow, so files are cut where the content says so: after 32 bytes whose rolling hash
(Gear; Xia et al. 2014, "Ddelta") begins with zeros. SQLite moves whole pages, so its files are cut behind pages whose
checksum ends in zeros.
"""

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from polygraph.errors import IndexUnreadable

LEAST, MOST = 1 << 11, 1 << 15
"""Fewest (but at the end of a file) and most bytes of a block."""
LEAST_TABLES, MOST_TABLES = 1 << 14, 1 << 16
"""The same for an SQLite file: of smaller blocks fewer bytes are new, but they are compressed less well."""
_PAGE = 1 << 12
_PAGES = 8
"""Pages before a cut, on average, beyond the least size."""
_ZEROS = 13
"""Leading zeros of the hash before a cut: one in 2**13 offsets, beyond the least size."""
_READ = 1 << 22
WINDOW = 32
"""Bytes that decide about a cut."""
_GEAR = np.frombuffer(
    b"".join(hashlib.sha256(bytes([n])).digest()[:4] for n in range(256)), dtype="<u4"
).astype(np.uint32)


def blocks(path: Path) -> Iterator[bytes]:
    """Yield the blocks of a file in order."""
    with path.open("rb") as file:
        if path.suffix == ".sqlite":
            yield from _cut_pages(file)
        else:
            yield from cut(file)


def cut(file: BinaryIO) -> Iterator[bytes]:
    """Yield what a file holds in blocks whose ends depend on the bytes before them alone."""
    rest = b""
    while piece := file.read(_READ):
        data, at = rest + piece, 0
        for end in (*ends(data), len(data)):
            while end - at > MOST:
                yield data[at : at + MOST]
                at += MOST
            if end - at >= LEAST and end < len(data):
                yield data[at:end]
                at = end
        rest = data[at:]
    if rest:
        yield rest


def _cut_pages(file: BinaryIO) -> Iterator[bytes]:
    """Yield what an SQLite file holds in blocks of whole pages."""
    pages, size = list[bytes](), 0
    while page := file.read(_PAGE):
        pages.append(page)
        size += len(page)
        if size >= MOST_TABLES or (size >= LEAST_TABLES and zlib.crc32(page) % _PAGES == 0):
            yield b"".join(pages)
            pages, size = [], 0
    if pages:
        yield b"".join(pages)


def ends(data: bytes) -> list[int]:
    """Return the offsets after which the content allows a cut, ascending."""
    hashes = _GEAR[np.frombuffer(data, dtype=np.uint8)]
    width = 1
    while width < WINDOW:  # a hash over twice as many bytes, from two of the present width
        hashes[width:] += hashes[:-width].copy() << np.uint32(width)
        width *= 2
    return [int(at) + 1 for at in np.flatnonzero(hashes < 1 << (32 - _ZEROS))]


def pack(block: bytes) -> bytes:
    """Return a block as an object holds it."""
    return zlib.compress(block, 6)


def unpack(content: bytes, name: str, size: int) -> bytes:
    """Return a block.

    Args:
        content: as it stands in an object.
        name: SHA-256 of the block, in hexadecimal digits.
        size: bytes of the block.

    Raises:
        IndexUnreadable: if it is another one.
    """
    try:
        block = zlib.decompressobj().decompress(content, size + 1)
    except zlib.error:
        block = b""
    if len(block) != size or sha256(block) != name:
        raise IndexUnreadable(
            f"the block {name} is not what its name says: its object was damaged or replaced. Delete all objects "
            "there and publish the index again, elsewhere if others can write to this place"
        )
    return block


def sha256(data: bytes) -> str:
    """Return the name of a content."""
    return hashlib.sha256(data).hexdigest()
