"""Synonym edges: entities whose names have similar vectors (HippoRAG 2).

Comparing every name with every other is quadratic, so only small graphs are compared exactly. In larger ones each name
is assigned to the cells of the few sampled names that are nearest to it and compared within its cells; a few pairs that
share no cell are missed. The hash of a name decides whether it is a sample, so cells change little when names come and
go, and edges between names whose cells did not change are reused without comparing them.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import distinct, group_order
from polygraph.graph.csr import Graph
from polygraph.graph.edges import among_heaviest, begun
from polygraph.models.protocols import Vectors
from polygraph.revisions import SYNONYM_COSINE as COSINE
from polygraph.revisions import SYNONYM_NEIGHBOURS as NEIGHBOURS
from polygraph.revisions import SYNONYMS as REVISION

_LETTERS = 2
"""Names with no more letters and digits than this have no synonyms (code: 2)."""

_EXACT = 20_000
"""Number of names up to which all pairs are compared: about 3 s of one core."""
_CELLS = 8
"""Cells of each name."""
_ROWS = 128
"""Names that are compared at once."""
_TILE = 1 << 20
"""Numbers of the vectors that they are compared with at once: 4 MB."""
_PAIRS = 1 << 16
"""Numbers of the vectors of either side, in double precision, of which cosines are computed at once."""
_HELD = 500_000
"""Pairs that are collected before all but the nearest of each name are dropped."""
_SLACK = 1e-3
"""Bound of the error of a cosine in single precision, with a margin."""
_DECIMALS = 6
_GRID = 2_048
"""Steps of a coordinate in the choice of cells: products and sums of so few bits are exact in single precision."""
_KEYS_FILE, _CELLS_FILE = "names.keys", "names.cells"

Rows: TypeAlias = NDArray[np.int32]
Keys: TypeAlias = NDArray[np.uint64]
Pairs: TypeAlias = tuple[Rows, Rows, NDArray[np.float32]]
"""Rows of two names, and their cosine with six decimals, which single precision keeps apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """Edges between names, and what is needed to update them when names come or go."""

    edges: Graph
    """Vertices are the rows of the names, weights are cosines."""
    keys: Keys
    """Hash of the id and vector of each name, shape ``(n,)``; 0 for a name that can have no synonyms."""
    cells: Keys
    """Keys of the samples whose cells a name is in, ascending, shape ``(n, k)``; `k` is 0 if all were compared."""

    def save(self, folder: Path, name: str) -> None:
        """Write the files of the layer, the edges under a name."""
        self.edges.save(folder / name)
        self.keys.tofile(folder / _KEYS_FILE)
        self.cells.tofile(folder / _CELLS_FILE)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Synonyms":
        """Read what `save` wrote."""
        keys = np.fromfile(folder / _KEYS_FILE, dtype=np.uint64)
        cells = np.fromfile(folder / _CELLS_FILE, dtype=np.uint64)
        # Not mapped, because the file may be replaced by the graph that is computed from it.
        edges = Graph.load(folder / name, mmap=False)
        return cls(edges, keys, cells.reshape(len(keys), -1) if len(keys) else _none(0))


def find_synonyms(
    ids: Iterable[str],
    names: Iterable[str],
    vectors: Vectors | Path,
    *,
    former: Synonyms | None = None,
    neighbours: int = NEIGHBOURS,
    exact: int = _EXACT,
) -> Synonyms:
    """Join each name with its nearest names whose cosine is at least `COSINE`, ties by row.

    HippoRAG 2, section 3 and code. A cosine is computed in double precision and rounded, so that it does not depend on
    what else is compared at the same time, and the result with `former` is the result without it.

    Args:
        ids: of the entities, ascending.
        names: of each.
        vectors: unit vectors of the names, shape ``(n, dimension)``, or the file that holds them, as `numpy.save`
            writes it, which is mapped.
        former: an earlier result, for any names; then only new names, and names that may have lost one of their
            nearest, are compared with all.
        neighbours: edges that one name may add.
        exact: number of names up to which all pairs are compared.

    Returns:
        A graph over the rows of the names. Time for `n` names: ``n ** 2`` up to `exact`, ``n ** 1.5`` beyond; with
        `former` in proportion to the new names, except for the choice of cells. Memory: some dozen bytes for each
        name, and about 50 for each edge.
    """
    matrix: Vectors = np.load(vectors, mmap_mode="r") if isinstance(vectors, Path) else vectors
    keys = _keys(ids, names, matrix, neighbours)
    rows = np.flatnonzero(keys).astype(np.int32)
    with _one_thread():
        cells = _cells(rows, keys, matrix) if len(rows) > exact else _none(len(keys))
        nearest = _Nearest(len(keys), neighbours)
        begun_before, again = _kept(former, keys, cells, neighbours)
        del former
        nearest.add(begun_before)
        del begun_before
        blocks = _all_pairs(rows, again) if not cells.shape[1] else _within_cells(rows, again, cells)
        for some, others in blocks:
            for pairs in _near(some, others, matrix, nearest.least):
                nearest.add(pairs)
    return Synonyms(nearest.graph(), keys, cells)


def _one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: on a busy machine, several wait for each other ten times as long as they work."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


class _Nearest:
    """Pairs of names; pairs that are among the nearest of neither name are dropped from time to time."""

    def __init__(self, n: int, neighbours: int) -> None:
        self._n, self._neighbours = n, neighbours
        self.least = np.zeros(n, dtype=np.float32)
        """Lower bound of the cosines among the nearest of each name, as far as it is known, shape ``(n,)``."""
        self._size = 0
        self._columns: Pairs = _room(_HELD)

    def add(self, pairs: Pairs) -> None:
        """Add some pairs; a pair may be added several times."""
        if self._size + len(pairs[0]) > len(self._columns[0]):
            self._make_room(len(pairs[0]))
        end = self._size + len(pairs[0])
        for column, values in zip(self._columns, pairs, strict=True):
            column[self._size : end] = values
        self._size = end

    def graph(self) -> Graph:
        """Return the pairs that are among the nearest of one of their names."""
        return self._joined(*begun(self._graph(), self._neighbours))

    def _graph(self) -> Graph:
        """Return all pairs and drop them."""
        size, (a, b, cosines) = self._size, self._columns
        self._size, self._columns = 0, _room(0)
        return self._joined(a[:size], b[:size], cosines[:size])

    def _joined(self, a: Rows, b: Rows, cosines: NDArray[np.float32]) -> Graph:
        return Graph.from_edges(self._n, a, b, cosines, parallel="heaviest")

    def _make_room(self, n: int) -> None:
        """Keep only the nearest of each name, and make room for `n` pairs, at least `_HELD`."""
        names, others, cosines = begun(self._graph(), self._neighbours)
        degrees = np.bincount(names, minlength=self._n)
        having = np.flatnonzero(degrees)
        if len(having):
            least = np.minimum.reduceat(cosines, (np.cumsum(degrees) - degrees)[having])
            full = degrees[having] == self._neighbours
            self.least[having[full]] = least[full]
        # A pair that is among the nearest of both names is kept once.
        pairs = self._joined(names, others, cosines).edges()
        del names, others, cosines
        self._columns = _room(len(pairs[0]) + max(n, _HELD))
        self.add(pairs)


def _room(n: int) -> Pairs:
    return np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float32)


def _keys(ids: Iterable[str], names: Iterable[str], matrix: Vectors, neighbours: int) -> Keys:
    settings = f"{REVISION}\n{COSINE}\n{neighbours}\n".encode()
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for row, (i, name) in enumerate(zip(ids, names, strict=True)):
        at = row % _ROWS
        if at == 0:
            some = matrix[np.arange(row, min(row + _ROWS, len(keys)), dtype=np.int32)]
        if sum(map(str.isalnum, name)) > _LETTERS:
            hashed = blake2b(settings + i.encode("utf-8", "surrogatepass") + b"\n", digest_size=8)
            hashed.update(some[at].data)
            keys[row] = int.from_bytes(hashed.digest(), "little") or 1
    return keys


def _kept(
    former: Synonyms | None, keys: Keys, cells: Keys, neighbours: int
) -> tuple[Pairs, NDArray[np.bool_]]:
    """Return the edges that are reused, and whether each name must be compared again."""
    if former is None or former.cells.shape[1] != cells.shape[1] or not len(former.keys) or not len(keys):
        return _room(0), keys != 0
    # The present row of each former name; -1 if it is gone or in other cells.
    order = np.argsort(keys, kind="stable")
    place = order[np.minimum(np.searchsorted(keys, former.keys, sorter=order), len(keys) - 1)]
    same = (keys[place] == former.keys) & (former.keys != 0)
    same &= (cells[place] == former.cells).all(axis=1)
    row = np.where(same, place, -1).astype(np.int32)
    # A name with fewer edges than it may add has all of them. One that had as many and lost one may add an edge that
    # was not among the best before.
    edges = former.edges
    missed = among_heaviest(edges, neighbours) & (row < 0)[edges.indices]
    lost = np.zeros(len(row), dtype=np.bool_)
    lost[np.searchsorted(edges.indptr, np.flatnonzero(missed), side="right") - 1] = True
    settled = (row >= 0) & ~((edges.degrees >= neighbours) & lost)
    again = keys != 0
    again[row[settled]] = False
    a, b, cosines = edges.edges()
    both = settled[a] & settled[b]
    return (row[a[both]], row[b[both]], cosines[both]), again


def _all_pairs(rows: Rows, again: NDArray[np.bool_]) -> Iterator[tuple[Rows, Rows]]:
    yield rows[again[rows]], rows[~again[rows]]


def _within_cells(rows: Rows, again: NDArray[np.bool_], cells: Keys) -> Iterator[tuple[Rows, Rows]]:
    """Yield of each cell the names that are compared, and its other names."""
    in_cells = cells[rows].reshape(-1)
    known = distinct(in_cells)
    ends, order = group_order(np.searchsorted(known, in_cells), len(known))
    names = np.repeat(rows, cells.shape[1])[order]
    for begin, end in pairwise(ends.tolist()):
        some = names[begin:end]
        yield some[again[some]], some[~again[some]]


def _near(some: Rows, others: Rows, matrix: Vectors, least: NDArray[np.float32]) -> Iterator[Pairs]:
    """Yield the similar pairs, each once, of some names among themselves and with others."""
    rows = np.concatenate([some, others])
    tile = max(_ROWS, _TILE // max(1, matrix.shape[1]))
    for at in range(0, len(some), tile):
        mine = some[at : at + tile]
        near = matrix[mine]
        yield from _near_in(mine, mine, near, near, least, same=True)
        for first in range(at + len(mine), len(rows), tile):
            theirs = rows[first : first + tile]
            yield from _near_in(mine, theirs, near, matrix[theirs], least, same=False)


def _near_in(
    mine: Rows, theirs: Rows, near: Vectors, others: Vectors, least: NDArray[np.float32], *, same: bool
) -> Iterator[Pairs]:
    """Yield the similar pairs of one tile: of two sets of names, or of one set if `same`."""
    at_once = max(1, _PAIRS // max(1, near.shape[1]))
    for i, j in _candidates(mine, theirs, near, others, least, same=same):
        for begin in range(0, len(i), at_once):
            a, b = i[begin : begin + at_once], j[begin : begin + at_once]
            exact = np.einsum("ij,ij->i", near[a].astype(np.float64), others[b].astype(np.float64))
            # Rounding can give cosines a little above 1.
            cosines = np.minimum(np.round(exact, _DECIMALS), 1.0)
            enough = cosines >= COSINE
            yield mine[a[enough]], theirs[b[enough]], cosines[enough].astype(np.float32)


def _candidates(
    mine: Rows, theirs: Rows, near: Vectors, others: Vectors, least: NDArray[np.float32], *, same: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the pairs, by position, that may be among the nearest of one of their names."""
    for at in range(0, len(mine), _ROWS):
        first = at if same else 0
        cosines = near[at : at + _ROWS] @ others[first:].T
        i, j = np.divmod(np.flatnonzero(cosines >= COSINE - _SLACK), cosines.shape[1])
        if same:
            upper = j > i
            i, j = i[upper], j[upper]
        wanted = np.minimum(least[mine[i + at]], least[theirs[j + first]]) - _SLACK
        hopeful = cosines[i, j] >= wanted
        yield i[hopeful] + at, j[hopeful] + first


def _cells(rows: Rows, keys: Keys, matrix: Vectors) -> Keys:
    """Return the keys of the samples nearest to each name, ascending; ties by hash.

    So names with the same vector spread over the samples that have it too. With too few samples all pairs are compared.
    """
    rate = 1 << max(0, int(np.log2(len(rows) ** 0.5 / 2)))
    samples = rows[keys[rows] % np.uint64(rate) == 0]
    samples = samples[np.argsort(keys[samples])]
    if len(samples) <= _CELLS:
        return _none(len(keys))
    found = np.zeros((len(keys), _CELLS), dtype=np.uint64)
    centres = _on_grid(matrix, samples).T
    for at in range(0, len(rows), _ROWS):
        part = rows[at : at + _ROWS]
        near = (_on_grid(matrix, part) @ centres).astype(np.int64) << 38
        near |= _mixed(keys[part][:, None] ^ keys[samples][None, :])
        nearest = np.argpartition(near, -_CELLS, axis=1)[:, -_CELLS:]
        found[part] = np.sort(keys[samples][nearest], axis=1)
    return found


def _on_grid(matrix: Vectors, rows: Rows) -> NDArray[np.float32]:
    return np.round(np.asarray(matrix[rows], dtype=np.float32) * _GRID)


def _mixed(keys: Keys) -> NDArray[np.int64]:
    """Return 38 well mixed bits of each number (the last steps of MurmurHash 3)."""
    mixed = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return ((mixed ^ (mixed >> np.uint64(33))) >> np.uint64(26)).astype(np.int64)


def _none(n: int) -> Keys:
    return np.zeros((n, 0), dtype=np.uint64)
