"""Writing a matrix of vectors anew without embedding again the texts that the former one had.

Beside each matrix stands a file with a hash of every text. A row whose text is found there is copied, bytes and
all, so the new matrix is the one that would be made from nothing, at a fraction of the cost. Rows are written to
the file as they come, and only a stretch of each file is mapped at a time, so that no matrix need fit in memory.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar import claim
from polygraph.models.protocols import Vectors
from polygraph.store.atomic_files import damage, write_folder
from polygraph.store.vectors import MATRIX

HASHES = "texts.hashes"
"""16 bytes for each row; zeros for a row that must not be taken over."""
_BATCH = 512
"""Texts that are hashed, and texts that are embedded, at once."""
_MAPPED = 8 * _BATCH
"""Rows after which the files are mapped anew: what was mapped before no longer counts as memory in use."""

Hashes = NDArray[np.uint64]
"""Shape ``(n, 2)``."""


def write_vectors(
    folder: Path,
    texts: Iterable[str],
    embed: Callable[[Sequence[str]], Vectors],
    *,
    shape: tuple[int, int],
    embedder: str,
    former: Path | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> int:
    """Write the vectors of some texts as `VectorIndex.save` does.

    Args:
        folder: where to.
        texts: in the order of the rows.
        embed: gives unit vectors, shape ``(len(texts), dimension)``.
        shape: number of texts, and dimension.
        embedder: name of the embedder; vectors of another are not taken over.
        former: a folder that was written before, whatever its texts; a damaged one is not used.
        on_done: told how many rows are done.

    Returns:
        How many texts were embedded.
    """
    known = _Former(former) if former is not None and not damage(former, thorough=True) else None
    prefix = f"{embedder}\n".encode()
    n_embedded = 0

    def fill(place: Path) -> None:
        nonlocal n_embedded
        if not shape[0]:
            np.save(place / MATRIX, np.empty(shape, dtype=np.float32))
            (place / HASHES).write_bytes(b"")
            return
        matrix = np.lib.format.open_memmap(place / MATRIX, mode="w+", dtype=np.float32, shape=shape)
        hashes = np.memmap(place / HASHES, mode="w+", dtype=np.uint64, shape=(shape[0], 2))
        for path in (place / MATRIX, place / HASHES):
            with path.open("r+b") as file:
                claim(file, path.stat().st_size)
        waiting: list[tuple[int, str]] = []
        at = 0

        def settle() -> None:
            nonlocal n_embedded
            if waiting:
                rows = np.array([row for row, _ in waiting])
                matrix[rows] = vectors = embed([text for _, text in waiting])
                # A vector of zeros may stand for one that could not be had at the time.
                hashes[rows[~np.asarray(vectors).any(axis=1)]] = 0
                n_embedded += len(waiting)
                waiting.clear()

        for batch in _batches(texts):
            mine = _hashes(prefix, batch)
            hashes[at : at + len(batch)] = mine
            found = (
                known.rows(mine, matrix, at) if known is not None else np.zeros(len(batch), dtype=np.bool_)
            )
            waiting += [(at + int(i), batch[i]) for i in np.flatnonzero(~found)]
            at += len(batch)
            if len(waiting) >= _BATCH:
                settle()
            on_done(at - len(waiting))
            if at % _MAPPED == 0:
                del matrix, hashes
                matrix = np.lib.format.open_memmap(place / MATRIX, mode="r+")
                hashes = np.memmap(place / HASHES, mode="r+", dtype=np.uint64, shape=(shape[0], 2))
                if known is not None:
                    known.map()
        settle()
        on_done(at)
        matrix.flush()
        hashes.flush()

    write_folder(folder, fill, sealed=True)
    return n_embedded


class _Former:
    """A matrix that was written before, by the hashes of its texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        file = folder / HASHES
        self._n = file.stat().st_size // 16 if file.is_file() else 0
        # Half of a hash finds the row; the whole is read there.
        halves = np.empty(self._n, dtype=np.uint64)
        for at in range(0, self._n, _MAPPED):
            some = np.fromfile(file, dtype=np.uint64, count=2 * _MAPPED, offset=16 * at)
            halves[at : at + _MAPPED] = some[::2]
        self._rows = np.argsort(halves, kind="stable").astype(np.int32)
        halves.sort()
        self._halves = halves
        self.map()

    def map(self) -> None:
        """Map the files, anew if they were mapped before."""
        self._matrix = np.load(self._folder / MATRIX, mmap_mode="r")
        if self._n:
            self._hashes = np.memmap(self._folder / HASHES, mode="r", dtype=np.uint64, shape=(self._n, 2))

    def rows(self, hashes: Hashes, matrix: Vectors, at: int) -> NDArray[np.bool_]:
        """Copy the rows that are known into a matrix from a row on; tell which they were."""
        found: NDArray[np.bool_] = np.zeros(len(hashes), dtype=np.bool_)
        if not self._n or self._matrix.shape[1] != matrix.shape[1]:
            return found
        place = np.minimum(np.searchsorted(self._halves, hashes[:, 0]), self._n - 1)
        theirs = self._rows[place]
        found = (self._hashes[theirs] == hashes).all(axis=1)
        rows = np.flatnonzero(found)
        matrix[at + rows] = self._matrix[theirs[rows]]
        return found


def _hashes(prefix: bytes, texts: Sequence[str]) -> Hashes:
    joined = b"".join(
        blake2b(prefix + text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)


def _batches(texts: Iterable[str]) -> Iterable[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
