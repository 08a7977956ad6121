"""Search for the nearest of the vectors of a layer: exact, or among the best by their codes."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polygraph.models.protocols import Vectors
from polygraph.store.approximate import Codes, n_candidates, write_codes
from polygraph.store.bit_codes import BitCodes
from polygraph.store.matrix_rows import MatrixRows, in_sixteen_bits
from polygraph.store.token_rows import ABOUT, TokenRows

_DECIMALS = 6
"""Scores are rounded before ranking, so that the last bits of a matrix product decide nothing."""
_COPIED = 1 << 18
"""Numbers of the vectors that are copied at once: 1 MB in single precision."""
_FEW = 8
"""Codes are used for at most the n-th part of all rows, and rows within a filter are compared one by one up to it."""
_WITH_BITS = range(10_000_000, 64_000_000)
"""Numbers of a layer that has bit codes: of fewer, comparing all rows costs little; of more, making them takes over a
second and more than 8 megabytes."""
_LEAST_DIMENSION = 768
"""Fewer bits tell less: too many rows would have to be compared."""
_SEARCHES_BEFORE_BITS = 12
"""Searches of a layer after which its bit codes are made: that costs as much as some 25 searches, which a process that
answers a few questions does not save."""
_ROWS_PER_HIT = 128
"""Rows of a layer for each one that is asked for: among fewer, too many are about as near as the last."""


class Hit(NamedTuple):
    """A row that a search found."""

    n: int
    score: float


class Nearest(NamedTuple):
    """The rows that a search found, best first, as arrays: of thousands, tuples would cost more than the search."""

    rows: NDArray[np.int64]
    """Shape ``(n_found,)``."""
    scores: NDArray[np.float64]
    """Cosine of each row, of the same shape."""

    @classmethod
    def of(cls, scores: NDArray[np.floating], k: int, rows: NDArray[np.int64] | None = None) -> "Nearest":
        """Return the `k` best of some scores, as `top` does.

        Args:
            scores: of the rows.
            k: how many.
            rows: ascending; default: all.
        """
        order, best = _best(scores, k)
        return cls(order if rows is None else rows[order], best)

    def hits(self, most: int | None = None) -> list[Hit]:
        """Return them, or the `most` best of them, one by one."""
        return list(map(Hit, self.rows[:most].tolist(), self.scores[:most].tolist()))


def top(scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` best rows, score descending, then row; rows with score ``-inf`` are left out.

    Rows stand in the order of their ids, so ties by row are ties by id.

    >>> top(np.array([0.5, 0.9, 0.5]), 2)
    [Hit(n=1, score=0.9), Hit(n=0, score=0.5)]
    """
    return Nearest.of(scores, k).hits()


def _best(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    k = min(k, len(scores))
    if k <= 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    rounded = np.round(scores, _DECIMALS)
    if k < len(rounded):
        # Keep everything that ties with the k-th, so that the cut does not depend on the partition.
        kth = np.partition(rounded, len(rounded) - k)[len(rounded) - k]
        candidates = np.flatnonzero(rounded >= kth)
    else:
        candidates = np.arange(len(rounded))
    order = candidates[np.lexsort((candidates, -rounded[candidates]))][:k]
    order = order[np.isfinite(rounded[order])]
    # A float32 is written out by its shortest decimal form, which rounding in double precision gives.
    best = np.round(rounded[order].astype(np.float64), _DECIMALS)
    return order.astype(np.int64, copy=False), np.asarray(best, dtype=np.float64)


class Rows(Protocol):
    """Unit vectors as they are stored: `MatrixRows` or `TokenRows`."""

    def __len__(self) -> int: ...

    def scores(self, vectors: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with unit vectors, shape ``(k, dimension)``; shape ``(k, n)``."""

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""


class VectorSearch(Protocol):
    """The vectors of a layer, to be searched: `VectorIndex`, or a database."""

    def __len__(self) -> int: ...

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""

    def search(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> list[Hit]:
        """Return the `k` nearest rows, of those that are allowed, by exact cosine (see `top`)."""
        return self.nearest(vector, k, allowed).hits()

    def nearest(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Nearest:
        """Return what `search` does, as arrays of at most `k` rows and scores."""

    def search_each(
        self, vectors: Vectors, ks: Sequence[int], allowed: NDArray[np.bool_] | None = None
    ) -> list[list[Hit]]:
        """Return for each of some vectors, shape ``(m, dimension)``, its nearest rows, as `search` does for one."""

    def compares_all(self, k: int) -> bool:
        """Tell whether a search for `k` rows without a filter compares all rows, so that `scores` costs no more."""

    def is_approximate(self, k: int) -> bool:
        """Tell whether a search for `k` rows without a filter costs less than comparing all rows."""


class VectorIndex(VectorSearch):
    """Unit vectors in the order of their ids.

    Args:
        rows: as they are stored.
        codes: of these rows, for approximate search; without them a search costs one pass over all rows.
    """

    def __init__(self, rows: Rows, codes: Codes | None = None) -> None:
        self._rows, self._codes = rows, codes
        self._searches = 0
        self._making_bits = Lock()
        self._bits: BitCodes | None = None

    @classmethod
    def open(cls, folder: Path) -> "VectorIndex":
        """Map the files of a layer into memory."""
        rows = TokenRows(folder) if (folder / ABOUT).is_file() else MatrixRows(folder)
        return cls(rows, Codes.open(folder, len(rows)))

    def __len__(self) -> int:
        return len(self._rows)

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector of shape ``(dimension,)``; shape ``(n,)``."""
        return np.asarray(self._rows.scores(vector[None])[0])

    def scores_of(self, vector: Vectors, ns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""
        return self._rows.scores_of(vector, ns)

    def rows(self, ns: NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        return self._rows.rows(ns)

    def in_sixteen_bits(self, ns: NDArray[np.int64]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
        """The vectors of some rows as integers, shape ``(len(ns), dimension)``, and the scale of each."""
        return self._rows.stored(ns) if isinstance(self._rows, MatrixRows) else in_sixteen_bits(self.rows(ns))

    def copy_to(self, path: Path) -> None:
        """Write all vectors to a file in single precision, as `numpy.save` does, a part at a time."""
        dimension = self.rows(np.zeros(0, dtype=np.int64)).shape[1]
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(self), dimension)}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            n_rows = max(1, _COPIED // max(1, dimension))
            for at in range(0, len(self), n_rows):
                some = self.rows(np.arange(at, min(at + n_rows, len(self))))
                file.write(some.astype("<f4", copy=False).data)

    def nearest(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Nearest:
        """Return what `search` does, as arrays of at most `k` rows and scores.

        With codes, a few of the nearest may be missing. With a filter none is missed that would be found without it:
        where too few of the best rows by their codes are allowed, all allowed rows are compared.
        """
        (found,) = self._nearest_of_each(vector[None], [k], allowed)
        return found

    def search_each(
        self, vectors: Vectors, ks: Sequence[int], allowed: NDArray[np.bool_] | None = None
    ) -> list[list[Hit]]:
        """Return for each of some vectors its nearest rows, as `search` does; rows are read once for all.

        Args:
            vectors: shape ``(m, dimension)``.
            ks: how many rows each vector wants.
            allowed: rows that may be found; None for all.
        """
        return [found.hits() for found in self._nearest_of_each(vectors, ks, allowed)]

    def _nearest_of_each(
        self, vectors: Vectors, ks: Sequence[int], allowed: NDArray[np.bool_] | None
    ) -> list[Nearest]:
        found: dict[int, Nearest] = {}
        compared: list[int] = []
        for n, (vector, k) in enumerate(zip(vectors, ks, strict=True)):
            some = self._candidates(vector, k, allowed)
            if some is None:
                compared.append(n)
            else:
                found[n] = Nearest.of(self.scores_of(vector, some), k, some)
        if compared:
            for n, scores in zip(compared, self._rows.scores(vectors[compared]), strict=True):
                within = scores if allowed is None else np.where(allowed, scores, -np.inf)
                found[n] = Nearest.of(within, ks[n])
        return [found[n] for n in range(len(ks))]

    def is_approximate(self, k: int) -> bool:
        """Tell whether a search for `k` rows without a filter uses codes, rather than compare all rows."""
        return self._codes is not None and n_candidates(k, len(self)) <= len(self) // _FEW

    def compares_all(self, k: int) -> bool:
        """Tell whether a search for `k` rows without a filter compares all rows, so that `scores` costs no more."""
        return not self.is_approximate(k) and (self._codes is not None or not self._may_use_bits(k))

    def _candidates(
        self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64] | None:
        """Return the rows that are compared, ascending; None for all."""
        if self._codes is None:
            return self._certain_candidates(vector, k, allowed)
        if k <= 0:
            return None
        wanted, most = n_candidates(k, len(self)), len(self) // _FEW
        if allowed is None:
            return self._codes.nearest(vector, wanted) if wanted <= most else None
        permitted = np.flatnonzero(allowed)
        if len(permitted) <= most:
            return permitted
        # Half as many again, since chance may put fewer of the allowed rows among the best.
        n = int(1.5 * wanted * len(self) / len(permitted))
        if n > most:
            return None
        found = self._codes.nearest(vector, n)
        found = found[allowed[found]]
        return found if len(found) >= wanted else None

    def _certain_candidates(
        self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64] | None:
        """Return rows among which are all of the `k` nearest, ascending; None for all rows."""
        bits = self._bit_codes() if self._may_use_bits(k) else None
        if bits is None:
            return None
        if allowed is not None:
            permitted = np.flatnonzero(allowed)
            if len(permitted) <= len(self) // _FEW:
                return permitted
        return bits.candidates(vector, k, lambda ns: self.scores_of(vector, ns), allowed)

    def _may_use_bits(self, k: int) -> bool:
        """Tell whether bit codes of these rows pay in searches for `k` of them."""
        rows = self._rows
        return (
            0 < k <= len(self) // _ROWS_PER_HIT
            and isinstance(rows, MatrixRows)
            and rows.dimension >= _LEAST_DIMENSION
            and len(self) * rows.dimension in _WITH_BITS
        )

    def _bit_codes(self) -> BitCodes | None:
        """Return the bit codes of these rows; None if they are not made yet."""
        if self._bits is None:
            self._searches += 1
            # Other threads compare all rows while one makes them.
            if self._searches > _SEARCHES_BEFORE_BITS and self._making_bits.acquire(blocking=False):
                try:
                    self._bits = self._bits or BitCodes(len(self), self.rows)
                finally:
                    self._making_bits.release()
        return self._bits


def add_codes(folder: Path, least: int) -> bool:
    """Write the codes of a layer that has at least `least` rows, 0 for never; return whether they were written."""
    index = VectorIndex.open(folder)
    return 0 < least <= len(index) and write_codes(folder, len(index), index.rows)
