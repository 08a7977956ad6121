"""The indexes of a server. Each request reads one snapshot of an index from its first to its last step."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import BadInput, PolygraphError
from polygraph.memory import trim_heap
from polygraph.records import Answer, Retrieval
from polygraph.server.problems import NoDocuments, unknown
from polygraph.store.open_store import is_begun
from polygraph.store.snapshot import Snapshot
from polygraph.workspace.index import Index

_TRIM_S = 20.0


class PinnedIndex(Index):
    """An index on one snapshot, whatever writers do meanwhile."""

    def __init__(self, base: Index, snapshot: Snapshot) -> None:
        super().__init__(snapshot.folder, base.settings, base.models)
        self._pinned = snapshot

    def snapshot(self, where: Mapping[str, str] | None = None) -> Snapshot:
        """Return the snapshot of this request."""
        return self._pinned.where(where) if where else self._pinned

    def answer_live(
        self,
        question: str,
        method: str | None,
        *,
        on_retrieval: Callable[[Retrieval], None],
        on_text: Callable[[str], None] | None,
        **options: Any,
    ) -> Answer:
        """Answer as `ask` does, in this thread; an exception of a callback ends the work and is raised."""
        return self._answer(question, method, **options, on_retrieval=on_retrieval, on_text=on_text)

    def compare_live(
        self, question: str, methods: Sequence[str], *, check: Callable[[], None], **options: Any
    ) -> list[Answer]:
        """Compare as `compare` does; an exception of `check`, which precedes each step, ends the work and is raised."""

        def answer(name: str) -> Answer:
            check()
            return self.answer_live(question, name, on_retrieval=lambda _: check(), on_text=None, **options)

        return self._compare(answer, methods)

    def release(self) -> None:
        """Keep the snapshot: it is shared with other requests."""


@dataclass(slots=True)
class _Shared:
    """An open snapshot and how many requests read it."""

    snapshot: Snapshot
    stamp: object
    readers: int = 0
    facts: Any = None
    """What was worked out about this state, such as its counts."""


class ServedIndex:
    """An index under a name, with one open snapshot that requests share until the index changes.

    Opening a snapshot costs more than most questions: its vectors and tables are loaded at first use.

    Args:
        name: in the API.
        index: with open models; closed with this object.
    """

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.index = index
        self._lock = threading.Lock()
        self._current: _Shared | None = None
        self._counting = threading.Lock()
        self._counted: tuple[object, NDArray[np.uint64]] | None = None
        self._removals = 0

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self.index.folder

    @contextmanager
    def reading(self) -> Iterator[PinnedIndex]:
        """Open the last finished state for one request.

        Raises:
            NoDocuments: if there is no index yet.
            IndexUnreadable: if it is damaged.
        """
        shared = self._enter()
        try:
            yield PinnedIndex(self.index, shared.snapshot)
        finally:
            self._leave(shared)

    def facts(self, work_out: Callable[[PinnedIndex], Any]) -> Any:
        """Return a value that depends on the state of the index alone; it is worked out once for each state."""
        shared = self._enter()
        try:
            if shared.facts is None:
                shared.facts = work_out(PinnedIndex(self.index, shared.snapshot))
            return shared.facts
        finally:
            self._leave(shared)

    def removals(self) -> int:
        """Return how many changes of the index removed or replaced a document, as far as they were seen.

        What was kept from an earlier count may hold text that is gone. The first call after a change reads the hashes
        of all documents: about a second for a million.
        """
        shared = self._enter()
        try:
            with self._counting:
                if self._counted is None or self._counted[0] != shared.stamp:
                    found = _document_hashes(shared.snapshot)
                    if self._counted is not None and not np.isin(self._counted[1], found).all():
                        self._removals += 1
                    self._counted = (shared.stamp, found)
                return self._removals
        finally:
            self._leave(shared)

    def release_outdated(self) -> None:
        """Close the snapshot if the index has changed and nobody reads it: it keeps files of the earlier state."""
        with self._lock:
            current = self._current
            if current and not current.readers and self._is_outdated(current, self.index.stamp()):
                self._current = None
                current.snapshot.close()

    def close(self) -> None:
        """Release files and models."""
        with self._lock:
            if self._current is not None:
                self._current.snapshot.close()
                self._current = None
        self.index.close()

    def _enter(self) -> _Shared:
        with self._lock:
            # Taken before the state is opened, so that a change in between is noticed the next time.
            now = self.index.stamp()
            current = self._current
            if current is None or self._is_outdated(current, now):
                if not is_begun(self.folder):
                    raise NoDocuments(f"the index {self.name} has no documents yet. Add some, then ask")
                opened = _Shared(self.index.open_snapshot(), now)
                self._current = opened
                if current is not None and not current.readers:
                    current.snapshot.close()
                current = opened
            current.readers += 1
            return current

    @staticmethod
    def _is_outdated(shared: _Shared, stamp: object) -> bool:
        """Tell whether the index has changed, or the state cannot be read any more."""
        return shared.stamp != stamp or not shared.snapshot.store.is_open()

    def _leave(self, shared: _Shared) -> None:
        with self._lock:
            shared.readers -= 1
            if not shared.readers and shared is not self._current:
                shared.snapshot.close()


def _document_hashes(snapshot: Snapshot) -> NDArray[np.uint64]:
    """Return a hash of id and content of each document, in 8 bytes."""
    pairs = snapshot.store.documents.content_hashes()
    hashes = (
        int.from_bytes(blake2b(f"{i}\0{h}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
        for i, h in pairs
    )
    return np.fromiter(hashes, dtype=np.uint64)


class ServedIndexes:
    """All indexes of a server by name."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        if not indexes:
            raise BadInput("there is no index to serve. Name one with --index")
        self._served = {name: ServedIndex(name, index) for name, index in sorted(indexes.items())}
        self.first = self._served[next(iter(indexes))]
        """The index that was given first: its folder also holds what belongs to the server."""

    def names(self) -> list[str]:
        """Return the names in alphabetical order."""
        return list(self._served)

    def all(self) -> list[ServedIndex]:
        """Return the indexes by name."""
        return list(self._served.values())

    def __getitem__(self, name: str) -> ServedIndex:
        """Return an index.

        Raises:
            Problem: 404 for an unknown name.
        """
        if name not in self._served:
            raise unknown("index", name, "/api/v1/indexes")
        return self._served[name]

    def watch(self, stopped: threading.Event, every_s: float = 1.0) -> None:
        """Close outdated snapshots, and now and then return freed memory to the system; in a thread of its own."""
        trimmed = time.monotonic()
        while not stopped.wait(every_s):
            if time.monotonic() > trimmed + _TRIM_S:
                # Each of the threads that answer has a heap of its own, which keeps what it once needed.
                trim_heap()
                trimmed = time.monotonic()
            for served in self.all():
                with suppress(PolygraphError, OSError):
                    served.release_outdated()

    def close(self) -> None:
        """Release files and models of all indexes."""
        for served in self.all():
            served.close()
