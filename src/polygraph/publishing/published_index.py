"""A published index as readers see it: a folder on this disk, exchanged when a new version is published."""

import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from polygraph.errors import IndexUnreadable, StorageFailed, quoted
from polygraph.publishing.cache import PinnedVersion, VersionCache
from polygraph.publishing.fetch import fetch
from polygraph.publishing.manifest import MAX_POINTER_BYTES, POINTER, Pointer
from polygraph.publishing.object_store import ObjectStore

_ATTEMPTS = 5


class StoreUnreachable(UserWarning):
    """The store cannot be reached, and the version that was fetched last is read."""


class PublishedIndex:
    """A published index: its newest version as a local folder.

    A thread of its own looks for new versions and fetches them; readers go on with the version that they have.

    Args:
        url: of the published index.
        cache_folder: of the local copies.
        most_bytes: size of the local copies of all indexes.
        follow_s: seconds between two looks for a new version; 0: none.
        progress: called with the bytes that were fetched and those that must be, of the first version.

    Raises:
        BadInput, MissingExtra: if the URL or what it needs cannot be used.
        IndexUnreadable: if nothing is published there, or what is there is no index.
        StorageFailed: if the store cannot be reached and no version is on this disk.

    Warns:
        StoreUnreachable: if it cannot be reached and a version is on this disk.
    """

    def __init__(
        self,
        url: str,
        cache_folder: Path,
        most_bytes: int,
        *,
        follow_s: float = 0.0,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self.url = url
        self._store = ObjectStore(url)
        try:
            self._cache = VersionCache(cache_folder, url, most_bytes)
        except OSError as error:
            raise StorageFailed(
                f"{cache_folder} cannot be written ({error.strerror or error}). Name another folder for local "
                "copies with the setting cache"
            ) from error
        self._progress = progress
        self._version = self._open()
        self._stopped = threading.Event()
        if follow_s > 0:
            me = weakref.ref(self, lambda _: self_stopped.set())
            self_stopped = self._stopped
            threading.Thread(target=_follow, args=(me, self._stopped, follow_s), daemon=True).start()

    def version(self) -> PinnedVersion:
        """Return the newest version that is here; it stays on the disk as long as the caller keeps what is returned."""
        return self._version

    @property
    def calls_file(self) -> Path:
        """File of the model calls, which all versions share."""
        return self._cache.place / "calls.sqlite"

    def refresh(self) -> bool:
        """Look for a new version and fetch it; return whether there was one.

        Raises:
            IndexUnreadable, StorageFailed: as the constructor does; the version that is here stays.
        """
        found = self._newest()
        if found.name == self._version.name:
            return False
        self._version = found
        return True

    def close(self) -> None:
        """Look for new versions no longer."""
        self._stopped.set()

    def _open(self) -> PinnedVersion:
        try:
            return self._newest()
        except StorageFailed as error:
            known = self._cache.pin(self._cache.current() or "none")
            if known is None:
                raise
            warnings.warn(
                f"{error}. Reading the version that was fetched last", StoreUnreachable, stacklevel=3
            )
            return known

    def _newest(self) -> PinnedVersion:
        for _ in range(_ATTEMPTS):
            try:
                with self._named():
                    pointer = Pointer.loads(self._store.get(POINTER, MAX_POINTER_BYTES))
            except FileNotFoundError:
                missing = self._store.missing_folder()
                why = f": the folder {missing} does not exist" if missing else ""
                raise IndexUnreadable(
                    f"nothing is published at {self.url}{why}. Publish an index with: "
                    f"polygraph publish {quoted(self.url)} --index DIR"
                ) from None
            found = self._cache.pin(pointer.current)
            if found is None:
                try:
                    with self._named():
                        fetch(self._store, self._cache, pointer.current, self._progress)
                except FileNotFoundError:
                    continue  # deleted meanwhile: the pointer names another one by now
                found = self._cache.pin(pointer.current)
            if found is not None:
                self._cache.set_current(found.name)
                return found
        raise IndexUnreadable(
            f"the version that {self.url} names is not there. Publish the index again with: "
            f"polygraph publish {quoted(self.url)} --index DIR"
        )

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Begin errors about what is published with the URL: a server may read several indexes."""
        try:
            yield
        except IndexUnreadable as error:
            raise IndexUnreadable(f"{self.url}: {error}") from error


def _follow(me: "weakref.ref[PublishedIndex]", stopped: threading.Event, every_s: float) -> None:
    """Look for new versions until the index is closed or nobody has it any more."""
    warned = ""
    while not stopped.wait(every_s):
        index = me()
        if index is None:
            return
        try:
            index.refresh()
            warned = ""
        except Exception as error:  # the thread must live: the next version may be whole
            if str(error) != warned:
                warnings.warn(
                    f"{error}. Going on with the version that is here", StoreUnreachable, stacklevel=1
                )
                warned = str(error)
        del index
