"""Rows of a matrix of vectors in sixteen bits, and writing them without embedding known texts again.

A number is an integer times the scale of its row, so that a cosine is off by some millionths: less than the half
precision in which the vectors of an endpoint are cached. Beside the matrix stands a file with a hash of every text.
When a matrix is written again, a row whose text is found there is copied byte for byte, so the new matrix equals one
that was embedded from nothing, at a fraction of the cost. Rows are written as they come, and only a part of each file
is mapped at a time, so that no matrix need fit into memory.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows, find_sorted
from polygraph.models.protocols import Vectors
from polygraph.store.atomic_files import damage, reserve_space, write_folder

MATRIX = "matrix.npy"
"""Name of the file of integers in the folder of its layer."""
SCALES = "scales.npy"
"""Name of the file with the scale of each row."""
HASHES = "texts.hashes"
"""Name of the file of text hashes: 8 bytes for each row; zeros for a row that must not be reused."""
_LARGEST = 32_767
"""Largest integer in the matrix."""
_BATCH = 512
"""Texts that are hashed at once."""
MAPPED_ROWS = 2 * _BATCH
"""Rows after which the files are mapped again: what was mapped before no longer counts as memory in use."""
_SCALED = 16
"""Vectors that are scaled together: they stay in the cache, and need no memory of the system."""
_CONVERTED = 100_000
"""Numbers that are converted at once in a search: 400 kB stay in the cache of a core."""

Hashes = NDArray[np.uint64]
"""Shape ``(n,)``."""
EmbedBlocks: TypeAlias = Callable[[Iterable[Sequence[str]]], Generator[tuple[int, Vectors], None, None]]
"""Returns the number of each block of texts, from 0, and its unit vectors, shape ``(len(block), dimension)``, in any
order."""


class MatrixRows:
    """A matrix of vectors, mapped into memory.

    Args:
        folder: written by `write_matrix`.
    """

    def __init__(self, folder: Path) -> None:
        # Views of a mapped file as plain arrays: a part of them takes a tenth of the time.
        self._matrix = np.asarray(np.load(folder / MATRIX, mmap_mode="r"))
        self._scales = np.asarray(np.load(folder / SCALES, mmap_mode="r"))
        self._at_once = max(1, _CONVERTED // max(1, self._matrix.shape[1]))

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def dimension(self) -> int:
        """Numbers of each row."""
        return int(self._matrix.shape[1])

    def scores(self, vectors: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with unit vectors, shape ``(k, dimension)``; shape ``(k, n)``."""
        vectors = vectors.astype(np.float32)
        found = np.zeros((len(vectors), len(self)), dtype=np.float32)
        block = np.empty((min(self._at_once, len(self)), self._matrix.shape[1]), dtype=np.float32)
        for at in range(0, len(self), self._at_once):
            some = block[: len(self) - at]
            # Read and converted once for all vectors.
            np.copyto(some, self._matrix[at : at + self._at_once])
            for scores, vector in zip(found, vectors, strict=True):
                scores[at : at + self._at_once] = dot_rows(some, vector)
        found *= self._scales
        return found

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""
        vector = vector.astype(np.float32)
        found = np.empty(len(ns), dtype=np.float32)
        for at in range(0, len(ns), self._at_once):
            some = np.asarray(self._matrix[ns[at : at + self._at_once]], dtype=np.float32)
            found[at : at + self._at_once] = dot_rows(some, vector)
        return np.asarray(found * self._scales[ns])

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        return np.asarray(self._matrix[ns] * self._scales[ns, None], dtype=np.float32)

    def stored(self, ns: NDArray[np.int64]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
        """The integers of some rows, shape ``(len(ns), dimension)``, and their scales."""
        return np.asarray(self._matrix[ns]), np.asarray(self._scales[ns])


def in_sixteen_bits(vectors: Vectors) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return vectors as integers and the scale of each row.

    >>> in_sixteen_bits(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))[0].tolist()
    [[16384, -32767], [0, 0]]
    """
    numbers = np.empty(vectors.shape, dtype=np.int16)
    scales = np.empty(len(vectors), dtype=np.float32)
    for at in range(0, len(vectors), _SCALED):
        some = np.abs(vectors[at : at + _SCALED])
        scale = (some.max(axis=1, initial=0) / np.float32(_LARGEST)).astype(np.float32)
        np.divide(vectors[at : at + _SCALED], np.where(scale > 0, scale, np.float32(1))[:, None], out=some)
        np.rint(some, out=some)
        np.clip(some, -_LARGEST, _LARGEST, out=some)
        numbers[at : at + _SCALED], scales[at : at + _SCALED] = some, scale
    return numbers, scales


def write_matrix(
    folder: Path,
    texts: Iterable[str],
    embed_blocks: EmbedBlocks,
    *,
    shape: tuple[int, int],
    embedder: str,
    block: int = _BATCH,
    previous: Path | None = None,
    on_done: Callable[[int], None] = lambda _: None,
    finish: Callable[[Path], object] = lambda _: None,
) -> int:
    """Embed texts and write their vectors as a layer.

    Args:
        folder: of the layer; written under a temporary name and renamed.
        texts: in the order of the rows.
        embed_blocks: embeds them.
        shape: number of texts, and dimension.
        embedder: name of the embedder; vectors of another one are not reused.
        block: texts of a block, at most.
        previous: a folder that was written before, with any texts; a damaged one is not used.
        on_done: called with the number of rows that are done.
        finish: called with the folder that has all these files, before it is renamed.

    Returns:
        The number of texts that were embedded.
    """
    known = None
    if previous is not None and (previous / MATRIX).is_file() and not damage(previous, thorough=True):
        known = _KnownVectors(previous)
    n_embedded = 0

    def fill(target: Path) -> None:
        nonlocal n_embedded
        if not shape[0]:
            np.save(target / MATRIX, np.empty(shape, dtype=np.int16))
            np.save(target / SCALES, np.empty(0, dtype=np.float32))
            (target / HASHES).write_bytes(b"")
            return
        rows = _NewRows(_MappedFiles.create(target, shape), known, block, on_done)
        # Closed at once if something fails, so that no more is embedded.
        with closing(embed_blocks(rows.unknown(texts, f"{embedder}\n".encode()))) as found:
            for number, vectors in found:
                rows.put(number, vectors)
        n_embedded = rows.n_embedded
        finish(target)

    # It has the disk write the files, also what was written through maps. Flushing the maps would do the same, but hold
    # up all threads meanwhile.
    write_folder(folder, fill, sealed=True)
    return n_embedded


class _NewRows:
    """The rows of a matrix that is being written.

    Args:
        files: the matrix.
        known: an earlier one, or None.
        block: texts of a block, at most.
        on_done: called with the number of rows that are done.
    """

    def __init__(
        self,
        files: "_MappedFiles",
        known: "_KnownVectors | None",
        block: int,
        on_done: Callable[[int], None],
    ) -> None:
        self._files, self._known, self._block, self._on_done = files, known, block, on_done
        self._rows_of: dict[int, NDArray[np.int64]] = {}
        """Rows of each block that is being embedded."""
        self._n_blocks = 0
        self._waiting: list[tuple[int, str]] = []
        self._n_copied = 0
        self.n_embedded = 0

    def unknown(self, texts: Iterable[str], prefix: bytes) -> Iterator[list[str]]:
        """Write the hashes of all texts, copy the rows that are known, and yield the other texts in blocks.

        Args:
            texts: in the order of the rows.
            prefix: of a text that is hashed.
        """
        files, known, at, rest = self._files, self._known, 0, iter(texts)
        while batch := list(islice(rest, _BATCH)):
            hashes = _hashes(prefix, batch)
            files.hashes[at : at + len(batch)] = hashes
            is_known = np.zeros(len(batch), dtype=np.bool_)
            if known is not None:
                is_known = known.copy(hashes, files, at)
                self._n_copied += int(is_known.sum())
                self._on_done(self._n_copied + self.n_embedded)
            self._waiting += [(at + int(i), batch[i]) for i in np.flatnonzero(~is_known)]
            at += len(batch)
            while len(self._waiting) >= self._block:
                yield self._next_block()
            if at % MAPPED_ROWS == 0:
                files.map()
                if known is not None:
                    known.files.map()
        if self._waiting:
            yield self._next_block()

    def _next_block(self) -> list[str]:
        some = self._waiting[: self._block]
        del self._waiting[: self._block]
        self._rows_of[self._n_blocks] = np.array([row for row, _ in some])
        self._n_blocks += 1
        return [text for _, text in some]

    def put(self, number: int, vectors: Vectors) -> None:
        """Write the vectors of a block."""
        rows = self._rows_of.pop(number)
        numbers, scales = in_sixteen_bits(np.asarray(vectors))
        self._files.matrix[rows], self._files.scales[rows] = numbers, scales
        # An endpoint that could not be reached gives zeros; the text must be embedded next time.
        self._files.hashes[rows[scales == 0]] = 0
        self.n_embedded += len(rows)
        self._on_done(self._n_copied + self.n_embedded)


def one_by_one(embed: Callable[[Sequence[str]], Vectors]) -> EmbedBlocks:
    """Return what embeds blocks one after the other by a function of the texts of one."""
    return lambda blocks: ((number, embed(block)) for number, block in enumerate(blocks))


class _MappedFiles:
    """A matrix, its scales and the hashes of its texts, mapped into memory."""

    matrix: "np.memmap[Any, np.dtype[Any]]"
    scales: "np.memmap[Any, np.dtype[np.float32]]"
    hashes: "np.memmap[Any, np.dtype[np.uint64]]"

    def __init__(self, folder: Path, mode: Literal["r", "r+"]) -> None:
        self._folder, self._mode = folder, mode
        self.n_rows = (folder / HASHES).stat().st_size // 8
        self.map()

    @classmethod
    def create(cls, folder: Path, shape: tuple[int, int]) -> "_MappedFiles":
        """Create files of zeros, with all of their space reserved on the disk."""
        np.lib.format.open_memmap(folder / MATRIX, mode="w+", dtype=np.int16, shape=shape)
        np.lib.format.open_memmap(folder / SCALES, mode="w+", dtype=np.float32, shape=shape[:1])
        np.memmap(folder / HASHES, mode="w+", dtype=np.uint64, shape=shape[:1])
        for name in (MATRIX, SCALES, HASHES):
            reserve_space(folder / name)
        return cls(folder, "r+")

    def map(self) -> None:
        """Map the files; a second call drops the former maps."""
        self.matrix = np.lib.format.open_memmap(self._folder / MATRIX, mode=self._mode)
        self.scales = np.lib.format.open_memmap(self._folder / SCALES, mode=self._mode)
        if self.n_rows:  # an empty file cannot be mapped
            self.hashes = np.memmap(
                self._folder / HASHES, mode=self._mode, dtype=np.uint64, shape=self.n_rows
            )


class _KnownVectors:
    """An earlier matrix, looked up by the hashes of its texts."""

    def __init__(self, folder: Path) -> None:
        self.files = _MappedFiles(folder, "r")
        hashes = np.fromfile(folder / HASHES, dtype=np.uint64)
        self._rows = np.argsort(hashes, kind="stable").astype(np.int32)
        hashes.sort()
        self._hashes = hashes

    def copy(self, hashes: Hashes, target: _MappedFiles, at: int) -> NDArray[np.bool_]:
        """Copy the vectors with some hashes to the rows of other files from row `at` on.

        Returns:
            Which of the hashes were found, shape ``(len(hashes),)``; the rows of the others stay as they are.
        """
        if not self.files.n_rows or self.files.matrix.shape[1] != target.matrix.shape[1]:
            return np.zeros(len(hashes), dtype=np.bool_)
        places, known = find_sorted(self._hashes, hashes)
        found: NDArray[np.bool_] = known & (hashes != 0)
        positions, rows = np.flatnonzero(found), self._rows[places[found]]
        target.matrix[at + positions] = self.files.matrix[rows]
        target.scales[at + positions] = self.files.scales[rows]
        return found


def _hashes(prefix: bytes, texts: Sequence[str]) -> Hashes:
    joined = b"".join(
        blake2b(prefix + text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint64)
