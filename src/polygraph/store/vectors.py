"""Unit vectors in a memory-mapped matrix: exact search, and writing without embedding known texts again.

Beside each matrix stands a file with a hash of every text. When a matrix is written again, a row whose text is found
there is copied byte for byte, so the new matrix equals one that was embedded from nothing, at a fraction of the cost.
Rows are written to the file as they come, and only a part of each file is mapped at a time, so that no matrix need
fit into memory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows
from polygraph.models.protocols import Vectors
from polygraph.store.atomic_files import damage, reserve_space, write_folder

MATRIX = "matrix.npy"
"""Name of the file in the folder of its layer."""
HASHES = "texts.hashes"
"""Name of the file of text hashes: 16 bytes for each row; zeros for a row that must not be reused."""
_DECIMALS = 6
"""Scores are rounded before ranking, so that the last bits of a matrix product decide nothing."""
_BATCH = 512
"""Texts that are hashed, and texts that are embedded, at once."""
MAPPED_ROWS = 2 * _BATCH
"""Rows after which the files are mapped again: what was mapped before no longer counts as memory in use."""

Hashes = NDArray[np.uint64]
"""Shape ``(n, 2)``."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a search found."""

    n: int
    score: float


def top(scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` best rows, score descending, then row; rows with score ``-inf`` are left out.

    Rows stand in the order of their ids, so ties by row are ties by id.

    >>> top(np.array([0.5, 0.9, 0.5]), 2)
    [Hit(n=1, score=0.9), Hit(n=0, score=0.5)]
    """
    k = min(k, len(scores))
    if k <= 0:
        return []
    rounded = np.round(scores, _DECIMALS)
    if k < len(rounded):
        # Keep everything that ties with the k-th, so that the cut does not depend on the partition.
        kth = np.partition(rounded, len(rounded) - k)[len(rounded) - k]
        candidates = np.flatnonzero(rounded >= kth)
    else:
        candidates = np.arange(len(rounded))
    order = candidates[np.lexsort((candidates, -rounded[candidates]))][:k]
    # A float32 is written out by its shortest decimal form, which rounding alone would not give.
    return [Hit(int(n), round(float(rounded[n]), _DECIMALS)) for n in order if np.isfinite(rounded[n])]


class VectorIndex:
    """Unit vectors in the order of their ids; a search costs one pass over the matrix."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix

    @classmethod
    def open(cls, folder: Path) -> "VectorIndex":
        """Map a saved matrix into memory."""
        return cls(np.load(folder / MATRIX, mmap_mode="r"))

    @staticmethod
    def save(folder: Path, matrix: Vectors) -> None:
        """Write a matrix, shape ``(n, dimension)``, atomically."""
        write_folder(folder, lambda place: np.save(place / MATRIX, matrix.astype(np.float32)), sealed=True)

    def __len__(self) -> int:
        return len(self._matrix)

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""
        if not len(self._matrix):
            return np.zeros(0, dtype=np.float32)
        return dot_rows(self._matrix, vector.astype(np.float32))

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        return np.asarray(self._matrix[ns])

    def search(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> list[Hit]:
        """Return the `k` nearest rows (see `top`), of those that are allowed."""
        scores = self.scores(vector)
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        return top(scores, k)


def write_vectors(
    folder: Path,
    texts: Iterable[str],
    embed: Callable[[Sequence[str]], Vectors],
    *,
    shape: tuple[int, int],
    embedder: str,
    previous: Path | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> int:
    """Embed texts and write their vectors as a layer.

    Args:
        folder: of the layer; written under a temporary name and renamed.
        texts: in the order of the rows.
        embed: returns unit vectors, shape ``(len(texts), dimension)``.
        shape: number of texts, and dimension.
        embedder: name of the embedder; vectors of another one are not reused.
        previous: a folder that was written before, with any texts; a damaged one is not used.
        on_done: called with the number of rows that are done.

    Returns:
        The number of texts that were embedded.
    """
    known = None
    if previous is not None and not damage(previous, thorough=True):
        known = _KnownVectors(previous)
    n_embedded = 0

    def fill(target: Path) -> None:
        nonlocal n_embedded
        if not shape[0]:
            np.save(target / MATRIX, np.empty(shape, dtype=np.float32))
            (target / HASHES).write_bytes(b"")
            return
        files = _MappedFiles.create(target, shape)
        waiting: list[tuple[int, str]] = []

        def embed_waiting() -> None:
            nonlocal n_embedded
            if waiting:
                rows = np.array([row for row, _ in waiting])
                files.matrix[rows] = vectors = embed([text for _, text in waiting])
                # An endpoint that could not be reached gives zeros; the text must be embedded next time.
                files.hashes[rows[~np.asarray(vectors).any(axis=1)]] = 0
                n_embedded += len(waiting)
                waiting.clear()

        at, rest = 0, iter(texts)
        while batch := list(islice(rest, _BATCH)):
            hashes = _hashes(f"{embedder}\n".encode(), batch)
            files.hashes[at : at + len(batch)] = hashes
            is_known = np.zeros(len(batch), dtype=np.bool_)
            if known is not None:
                is_known = known.copy(hashes, files.matrix, at)
            waiting += [(at + int(i), batch[i]) for i in np.flatnonzero(~is_known)]
            at += len(batch)
            if len(waiting) >= _BATCH:
                embed_waiting()
            on_done(at - len(waiting))
            if at % MAPPED_ROWS == 0:
                files.map()
                if known is not None:
                    known.files.map()
        embed_waiting()
        on_done(at)
        files.matrix.flush()
        files.hashes.flush()

    write_folder(folder, fill, sealed=True)
    return n_embedded


class _MappedFiles:
    """A matrix and the hashes of its texts, mapped into memory."""

    matrix: "np.memmap[Any, np.dtype[np.float32]]"
    hashes: "np.memmap[Any, np.dtype[np.uint64]]"

    def __init__(self, folder: Path, mode: Literal["r", "r+"]) -> None:
        self._folder, self._mode = folder, mode
        file = folder / HASHES
        self.n_hashes = file.stat().st_size // 16 if file.is_file() else 0
        self.map()

    @classmethod
    def create(cls, folder: Path, shape: tuple[int, int]) -> "_MappedFiles":
        """Create files of zeros, with all of their space reserved on the disk."""
        np.lib.format.open_memmap(folder / MATRIX, mode="w+", dtype=np.float32, shape=shape)
        np.memmap(folder / HASHES, mode="w+", dtype=np.uint64, shape=(shape[0], 2))
        for path in (folder / MATRIX, folder / HASHES):
            reserve_space(path)
        return cls(folder, "r+")

    def map(self) -> None:
        """Map the files; a second call drops the former maps."""
        self.matrix = np.lib.format.open_memmap(self._folder / MATRIX, mode=self._mode)
        if self.n_hashes:
            self.hashes = np.memmap(
                self._folder / HASHES, mode=self._mode, dtype=np.uint64, shape=(self.n_hashes, 2)
            )


class _KnownVectors:
    """An earlier matrix, looked up by the hashes of its texts."""

    def __init__(self, folder: Path) -> None:
        self.files = _MappedFiles(folder, "r")
        n = self.files.n_hashes
        # Half of a hash finds the row; the whole is compared there.
        halves = np.empty(n, dtype=np.uint64)
        for at in range(0, n, MAPPED_ROWS):
            part = np.fromfile(folder / HASHES, dtype=np.uint64, count=2 * MAPPED_ROWS, offset=16 * at)
            halves[at : at + MAPPED_ROWS] = part[::2]
        self._rows = np.argsort(halves, kind="stable").astype(np.int32)
        halves.sort()
        self._halves = halves

    def copy(self, hashes: Hashes, matrix: Vectors, at: int) -> NDArray[np.bool_]:
        """Copy the vectors with some hashes to the rows of a matrix from row `at` on.

        Returns:
            Which of the hashes were found, shape ``(len(hashes),)``; the rows of the others stay as they are.
        """
        n = self.files.n_hashes
        if not n or self.files.matrix.shape[1] != matrix.shape[1]:
            return np.zeros(len(hashes), dtype=np.bool_)
        rows = self._rows[np.minimum(np.searchsorted(self._halves, hashes[:, 0]), n - 1)]
        found: NDArray[np.bool_] = (self.files.hashes[rows] == hashes).all(axis=1)
        positions = np.flatnonzero(found)
        matrix[at + positions] = self.files.matrix[rows[positions]]
        return found


def _hashes(prefix: bytes, texts: Sequence[str]) -> Hashes:
    joined = b"".join(
        blake2b(prefix + text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
