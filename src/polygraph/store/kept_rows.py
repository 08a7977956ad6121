"""Rows of a state of an index that were read last, so that questions about the same things read them once."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class KeptRows(Generic[K, V]):
    """Values by key, up to a total size; shared by threads, which must not change the values.

    There are two halves. When the younger one is full, it becomes the older one, whose values are dropped unless they
    were asked for since.

    Args:
        most: largest total size.
        size: of a value; default: 1 each.

    >>> kept = KeptRows[int, str](4)
    >>> kept.read([2, 1, 2], lambda missing: {n: str(n) for n in missing})
    {2: '2', 1: '1'}
    >>> kept.read([1, 3], lambda missing: {n: f"new {n}" for n in missing})
    {1: '1', 3: 'new 3'}
    """

    def __init__(self, most: int, size: Callable[[V], int] | None = None) -> None:
        self._half, self._size = most // 2, size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._used = 0
        self._lock = threading.Lock()

    def read(self, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """Return values by key, each once, in the order asked for; keys without a value are left out.

        Args:
            keys: what is wanted.
            fetch: returns the values of keys that are not kept.
        """
        wanted = dict.fromkeys(keys)
        young, old = self._young, self._old
        found = {key: young[key] for key in wanted if key in young}
        if len(found) == len(wanted):
            return found
        again = {key: old[key] for key in wanted if key in old and key not in found}
        missing = [key for key in wanted if key not in found and key not in again]
        again.update(fetch(missing) if missing else {})
        self._keep(again)
        found.update(again)
        return {key: found[key] for key in wanted if key in found}

    def _keep(self, values: Mapping[K, V]) -> None:
        with self._lock:
            for key, value in values.items():
                if key not in self._young:
                    self._young[key] = value
                    self._used += 1 if self._size is None else self._size(value)
                if self._used >= self._half:
                    self._young, self._old, self._used = {}, self._young, 0
