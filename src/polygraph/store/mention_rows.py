"""Which passages mention which entities, as rows of both."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar.memmap import Column
from polygraph.store.database import Store

_BATCH = 1 << 14
"""Mentions whose passages are looked up at once."""


def mention_rows(store: Store, folder: Path | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows of the entity and of the passage of each mention, by entity, in files.

    Passages are looked up by hashes of their ids in an array: a dictionary of ids would take ten times the memory.

    Args:
        store: open.
        folder: for the files, as for `Spill`.

    Raises:
        KeyError: if an entity rests on a passage that is not in the index.
    """
    passages = _Passages(store)
    entities, chunks, waiting = Column("i", folder), Column("i", folder), list[str]()
    for n, ids in store.mentions():
        entities.extend(repeat(n, len(ids)))
        waiting += ids
        if len(waiting) >= _BATCH:
            chunks.put(passages.rows(waiting))
            waiting.clear()
    chunks.put(passages.rows(waiting))
    return entities.mapped(), chunks.mapped()


class _Passages:
    """Rows of passages by id."""

    def __init__(self, store: Store) -> None:
        # Almost surely no two ids have one hash; if two have, the hashes of longer strings are taken.
        self._salt = ""
        while True:
            self._sorted = self._hashes(store.chunk_ids())
            self._row = np.argsort(self._sorted).astype(np.int32)
            self._sorted.sort()
            if not (self._sorted[1:] == self._sorted[:-1]).any():
                break
            self._salt += "."

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Rows of some passages, in the order asked for."""
        hashes = self._hashes(ids)
        if not len(self._sorted):
            if ids:
                raise KeyError(ids[0])
            return np.zeros(0, dtype=np.int32)
        place = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        unknown = np.flatnonzero(self._sorted[place] != hashes)
        if len(unknown):
            raise KeyError(ids[unknown[0]])
        return self._row[place]

    def _hashes(self, ids: Iterable[str]) -> NDArray[np.int64]:
        return np.fromiter((hash(i + self._salt) for i in ids), dtype=np.int64)
