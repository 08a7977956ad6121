"""Writing blocks and patches, many in one object."""

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

from polygraph.publishing.blocks import pack, sha256
from polygraph.publishing.manifest import OBJECTS, Block
from polygraph.publishing.object_store import ObjectStore

THREADS = 8
"""Objects that are written at once."""
OBJECT_BYTES = 1 << 23
"""Bytes after which blocks become an object: a request for each block would take longer than its bytes."""


class ObjectWriter:
    """Packs blocks or patches into objects and writes these, several at once.

    Args:
        store: that gets the objects.
        kept: blocks that it has.
        recent: objects that were written a short time ago, and need not be written again.
    """

    def __init__(self, store: ObjectStore, kept: Mapping[str, Block], recent: set[str]) -> None:
        self._store, self._recent = store, recent
        self.placed = dict(kept)
        """Every block and patch with its place, once the work has ended."""
        self.objects = self.bytes = 0
        self._new: list[tuple[str, int, bytes]] = []
        self._waiting = set[str]()
        self._new_bytes = 0
        self._pool = ThreadPoolExecutor(THREADS, "publish")
        self._written: deque[Future[None]] = deque()

    def add(self, path: Path, parts: Sequence[tuple[str, int]]) -> None:
        """Write the blocks of a file that have no place yet; some wait for further ones."""
        with path.open("rb") as file:
            at = 0
            for name, size in parts:
                if name not in self.placed and name not in self._waiting:
                    file.seek(at)
                    self._add(name, size, pack(file.read(size)))
                at += size

    def add_patch(self, patch: bytes) -> str:
        """Write a patch; return its name."""
        name = sha256(patch)
        if name not in self.placed and name not in self._waiting:
            self._add(name, len(patch), patch)
        return name

    def _add(self, name: str, size: int, packed: bytes) -> None:
        self._new.append((name, size, packed))
        self._waiting.add(name)
        self._new_bytes += len(packed)
        if self._new_bytes >= OBJECT_BYTES:
            self._write()

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
        self._waiting.clear()

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
