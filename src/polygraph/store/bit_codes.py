"""Which rows can be among the nearest to a vector, from one bit for each of its numbers.

RaBitQ (Gao and Long 2024, arXiv:2405.12497): rows are moved to their mean and rotated at random, and the signs of the
result are kept. The cosine that they give is off by an error whose size is known for each row, whatever the vectors
are. So a search compares exactly the rows that may reach the last of the nearest, at six standard deviations, and finds
what comparing all rows finds. It reads a sixteenth of what is stored.

Two differences from the paper: the rotation is made of random signs and Hartley transforms, twice, which needs no
matrix (once is not enough for rows with a few large numbers), and the vector that is searched for is rounded to three
bits by the nearest value instead of at random. Four bits, as in the paper, leave a tenth fewer rows to be compared, and
take a third more for the estimates.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows
from polygraph.models.protocols import Vectors

_FEW = 2
"""At most the n-th part of all rows is compared: with the estimates, more would cost as much as all."""
_DEVIATIONS = 6.0
"""Standard deviations by which an estimate may be wrong: the chance that a row is missed is one in a billion."""
_SLACK = 1e-4
"""More than what rounding in single precision, and of scores before they are ranked, can change."""
_PLANES = 3
"""Bits of a number of the vector that is searched for."""
_SAMPLED = 1_000
"""Rows whose mean stands for that of all."""
_ENCODED = 64
"""Rows that are encoded at once: what a cache of the processor holds."""
_WORD = 64

Floats = NDArray[np.float32]
Scores = Callable[[NDArray[np.int64]], Floats]
"""Returns the exact cosines of some rows."""


class BitCodes:
    """The signs of all rows of a layer, in memory.

    Args:
        n: number of rows.
        vectors: returns the unit vectors of some rows.
    """

    def __init__(self, n: int, vectors: Callable[[NDArray[np.int64]], Vectors]) -> None:
        sample = vectors(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.int64))
        dimension = sample.shape[1]
        self._mean = sample.mean(axis=0, dtype=np.float32)
        self._signs = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.float32), (2, dimension))
        n_words = -(-dimension // _WORD)
        codes = np.zeros((n, n_words * _WORD // 8), dtype=np.uint8)
        # Of the product of signs with a vector, the factor that makes it an estimate; the rest of the cosine; the
        # standard deviation of the estimate for a vector of length 1.
        self._factors, self._rests, self._deviations = (np.zeros(n, dtype=np.float32) for _ in range(3))
        for at in range(0, n, _ENCODED):
            part = slice(at, min(at + _ENCODED, n))
            rows = vectors(np.arange(part.start, part.stop))
            self._rests[part] = dot_rows(rows, self._mean)
            rotated = self._rotated(rows)
            packed = np.packbits(rotated > 0, axis=1)
            codes[part, : packed.shape[1]] = packed
            lengths, sums = np.linalg.norm(rotated, axis=1), np.abs(rotated).sum(axis=1)
            # A row that equals the mean is known without its signs.
            some = lengths > 0
            np.divide(lengths * lengths, sums, out=self._factors[part], where=some)
            # Cosine of a row with its signs.
            aligned = np.divide(sums, lengths * np.sqrt(dimension), out=np.ones_like(sums), where=some)
            spread = np.sqrt(np.maximum(1.0 - aligned**2, 0.0) / (dimension - 1))
            self._deviations[part] = lengths * spread / aligned
        self._words = np.ascontiguousarray(codes.view(np.uint64).T)
        self._n_set = np.bitwise_count(self._words).sum(axis=0, dtype=np.uint16)

    def __len__(self) -> int:
        return len(self._factors)

    def candidates(
        self, vector: Vectors, k: int, scores_of: Scores, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64] | None:
        """Return the rows that may be among the `k` nearest, ascending; None if they are too many.

        Args:
            vector: of unit length, shape ``(dimension,)``.
            k: how many rows are wanted, at least 1 and at most half of those that are allowed.
            scores_of: the exact cosines of some rows with the vector.
            allowed: rows that may be found; None for all.
        """
        estimates, margins = self._estimates(vector.astype(np.float32))
        if allowed is not None:
            estimates = np.where(allowed, estimates, -np.inf)
        first = np.argpartition(estimates, len(self) - 2 * k)[len(self) - 2 * k :]
        # So many rows reach the last of these: no row below it is among the nearest.
        least = np.partition(scores_of(first), k)[k]
        found = np.flatnonzero(estimates >= least - margins)
        return found if len(found) <= len(self) // _FEW else None

    def _estimates(self, vector: Floats) -> tuple[Floats, Floats]:
        """Return the estimated cosine of each row with a vector, and by how much it may be wrong."""
        dimension = len(vector)
        rotated = self._rotated(vector)
        low = rotated.min()
        step = max((rotated.max() - low) / (2**_PLANES - 1), np.float32(1e-12))
        levels = np.rint((rotated - low) / step).astype(np.uint8)
        planes = np.zeros((_PLANES, len(self._words) * _WORD // 8), dtype=np.uint8)
        for plane in range(_PLANES):
            packed = np.packbits(levels >> plane & 1)
            planes[plane, : len(packed)] = packed
        counts = np.zeros((_PLANES, len(self)), dtype=np.uint16)
        shared, n_shared = np.empty(len(self), dtype=np.uint64), np.empty(len(self), dtype=np.uint8)
        # Word by word, so that the bits of all rows are read once for all planes.
        for word, of_planes in zip(self._words, planes.view(np.uint64).T, strict=True):
            for of_plane, bits in zip(counts, of_planes, strict=True):
                np.bitwise_and(word, bits, out=shared)
                np.bitwise_count(shared, out=n_shared)
                np.add(of_plane, n_shared, out=of_plane)
        # Not as a product of matrices, for which threads of BLAS would wait for each other.
        weighted = sum(counts[plane].astype(np.uint32) << plane for plane in range(_PLANES))
        set_bits = step * np.asarray(weighted, dtype=np.float32) + low * self._n_set
        product = 2 * set_bits - (step * levels.sum(dtype=np.float32) + low * dimension)
        constant = vector @ self._mean - self._mean @ self._mean
        rounding = step * np.sqrt(dimension / 12)
        deviations = np.hypot(self._deviations * np.linalg.norm(rotated), self._factors * rounding)
        estimates = self._factors * product + self._rests + constant
        return estimates.astype(np.float32), (_DEVIATIONS * deviations + _SLACK).astype(np.float32)

    def _rotated(self, vectors: Vectors) -> Floats:
        """Return vectors, moved to the mean of the rows, under the rotation."""
        first, second = self._signs
        return hartley(hartley((vectors - self._mean) * first) * second)


def hartley(vectors: Floats) -> Floats:
    """Return the Hartley transform along the last axis, as a rotation: lengths and angles stay.

    Bracewell (1983): real part less imaginary part of the Fourier transform.

    >>> hartley(np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32)).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    dimension = vectors.shape[-1]
    frequencies = np.fft.rfft(vectors, axis=-1, norm="ortho")
    found = np.empty(vectors.shape, dtype=np.float32)
    half = dimension // 2 + 1
    np.subtract(frequencies.real, frequencies.imag, out=found[..., :half])
    # The frequencies above the middle are the conjugates of those below.
    mirrored = frequencies[..., 1 : 1 + dimension - half][..., ::-1]
    np.add(mirrored.real, mirrored.imag, out=found[..., half:])
    return found
