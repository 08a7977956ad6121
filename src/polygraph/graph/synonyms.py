"""Which names are near each other: edges between entities whose name vectors are alike (HippoRAG 2).

Comparing every name with every other is quadratic, so only small graphs are compared exactly. In larger ones each name
is put in the cells of the few sampled names that are nearest to it, and compared within its cells; a few pairs that
share no cell are missed. Whether a name is a sample is decided by its own hash, so cells change little when names
come and go, and what was found between names whose cells are the same is taken over without comparing them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph
from polygraph.graph.edges import strongest
from polygraph.models.protocols import Vectors

REVISION = "2"
"""Raised whenever other pairs or cosines may come out."""
COSINE = 0.8
"""Least cosine of an edge (arXiv:2502.14802, appendix: 0.8)."""
NEIGHBOURS = 100
"""Edges that one name may begin, the nearest first (code: about 100)."""
_LETTERS = 2
"""Names with no more letters and digits than this have no synonyms (code: 2)."""

_EXACT = 20_000
"""Up to so many names, all pairs are compared: about 3 s of one core."""
_CELLS = 8
"""Cells that a name is put in."""
_ROWS = 128
"""Names that are compared at once."""
_PAIRS = 2_048
"""Pairs whose cosine is computed at once."""
_HELD = 2_000_000
"""Pairs that are held before all but the best of each name are dropped."""
_SLACK = 1e-3
"""How far a cosine in single precision may be off, and more."""
_DECIMALS = 6
_GRID = 2_048
"""Steps of a coordinate in the choice of cells: products and sums of so few bits are exact in single precision."""
_KEYS_FILE, _CELLS_FILE = "names.keys", "names.cells"

Rows: TypeAlias = NDArray[np.int64]
Keys: TypeAlias = NDArray[np.uint64]
Pairs: TypeAlias = tuple[Rows, Rows, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """Edges between names, and what it takes to find them again after some names came or went."""

    edges: Graph
    """Over the rows of the names; the weight is the cosine."""
    keys: Keys
    """Hash of the id and vector of each name, shape ``(n,)``; 0 for a name that has no synonyms."""
    cells: Keys
    """Keys of the samples in whose cells a name is, ascending, shape ``(n, k)``; `k` is 0 if all were compared."""

    def save(self, folder: Path, name: str) -> None:
        """Write the files of the layer, the edges under a name."""
        self.edges.save(folder / name)
        self.keys.tofile(folder / _KEYS_FILE)
        self.cells.tofile(folder / _CELLS_FILE)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Synonyms | None":
        """Read what `save` wrote; None if it was written before there were keys."""
        if not (folder / _KEYS_FILE).is_file() or not (folder / _CELLS_FILE).is_file():
            return None
        keys = np.fromfile(folder / _KEYS_FILE, dtype=np.uint64)
        cells = np.fromfile(folder / _CELLS_FILE, dtype=np.uint64)
        # Not mapped, since its place may be taken by what follows from it.
        edges = Graph.load(folder / name, mmap=False)
        return cls(edges, keys, cells.reshape(len(keys), -1) if len(keys) else _none(0))


def find_synonyms(
    ids: Sequence[str],
    names: Sequence[str],
    vectors: Vectors,
    *,
    former: Synonyms | None = None,
    neighbours: int = NEIGHBOURS,
    exact: int = _EXACT,
) -> Synonyms:
    """Join names whose cosine is at least `COSINE`, each with its nearest, ties by row.

    HippoRAG 2, section 3 and code. A cosine is computed in double precision and rounded, so that it is the same
    whatever else is compared at the same time, and the result is the same with a former one as without.

    Args:
        ids: of the entities, ascending.
        names: of each.
        vectors: unit vectors of the names, shape ``(n, dimension)``, in memory or mapped.
        former: what was found before, among whatever names; only names that are new are then compared with all,
            and those that may have lost one of their nearest.
        neighbours: edges that one name may begin.
        exact: up to so many names, all pairs are compared.

    Returns:
        A graph over the rows of the names. Cost for `n` names: up to `exact` of them time as ``n ** 2``, beyond as
        ``n ** 1.5``; with a former one in proportion to the new names, but for the choice of cells. Memory as `n`.
    """
    n = len(names)
    keys = _keys(ids, names, vectors, neighbours)
    rows = np.flatnonzero(keys)
    cells = _cells(rows, keys, vectors) if len(rows) > exact else _none(n)
    begun, again = _kept(former, keys, cells, neighbours)
    blocks = _all_pairs(rows, again) if not cells.shape[1] else _within_cells(rows, again, cells)
    found, held = [begun], 0
    for some, others in blocks:
        for pairs in _near(some, others, vectors):
            found.append(pairs)
            held += len(pairs[0])
            if held > _HELD:
                found, held = [_pairs(_best(n, found, neighbours))], 0
    return Synonyms(_best(n, found, neighbours), keys, cells)


def _keys(ids: Sequence[str], names: Sequence[str], vectors: Vectors, neighbours: int) -> Keys:
    settings = f"{REVISION}\n{COSINE}\n{neighbours}\n".encode()
    keys, vectors = np.zeros(len(names), dtype=np.uint64), np.asarray(vectors)
    for row, (i, name) in enumerate(zip(ids, names, strict=True)):
        if sum(map(str.isalnum, name)) > _LETTERS:
            told = blake2b(settings + i.encode("utf-8", "surrogatepass") + b"\n", digest_size=8)
            told.update(np.ascontiguousarray(vectors[row]).data)
            keys[row] = int.from_bytes(told.digest(), "little") or 1
    return keys


def _kept(
    former: Synonyms | None, keys: Keys, cells: Keys, neighbours: int
) -> tuple[Pairs, NDArray[np.bool_]]:
    """Edges of the former graph that hold as they are, and of each name whether it must be compared again."""
    nothing: Pairs = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    if former is None or former.cells.shape[1] != cells.shape[1] or not len(former.keys) or not len(keys):
        return nothing, keys != 0
    # The present row of each former name; -1 for one that is gone or is in other cells now.
    order = np.argsort(keys, kind="stable")
    place = order[np.minimum(np.searchsorted(keys[order], former.keys), len(keys) - 1)]
    same = (keys[place] == former.keys) & (former.keys != 0) & (cells[place] == former.cells).all(axis=1)
    row = np.where(same, place, -1)
    # A name with fewer edges than it may begin has all that there are. One with as many, of which one is gone, may
    # begin an edge that was not among the best before.
    ends, indices = former.edges.rows(), np.asarray(former.edges.indices)
    ranked = np.lexsort((indices, -np.asarray(former.edges.weights), ends))
    rank = np.arange(len(ranked)) - np.repeat(np.asarray(former.edges.indptr)[:-1], former.edges.degrees)
    full, begins = former.edges.degrees >= neighbours, rank < neighbours
    lost = np.zeros(len(row), dtype=np.bool_)
    lost[ends[ranked[begins & (row[indices[ranked]] < 0)]]] = True
    settled = (row >= 0) & ~(full & lost)
    again = keys != 0
    again[row[settled]] = False
    a, b, weights = _pairs(former.edges)
    both = settled[a] & settled[b]
    return (row[a[both]], row[b[both]], weights[both]), again


def _all_pairs(rows: Rows, again: NDArray[np.bool_]) -> Iterator[tuple[Rows, Rows]]:
    yield rows[again[rows]], rows[~again[rows]]


def _within_cells(rows: Rows, again: NDArray[np.bool_], cells: Keys) -> Iterator[tuple[Rows, Rows]]:
    """Of each cell the names that are compared, and its other names."""
    member = np.repeat(rows, cells.shape[1])
    order = np.argsort(cells[rows].reshape(-1), kind="stable")
    cell, member = cells[rows].reshape(-1)[order], member[order]
    for some in np.split(member, np.flatnonzero(np.diff(cell)) + 1):
        yield some[again[some]], some[~again[some]]


def _near(some: Rows, others: Rows, vectors: Vectors) -> Iterator[Pairs]:
    """Pairs that are near enough, each once, of some names among themselves and with others."""
    if not len(some):
        return
    rows = np.concatenate([some, others])
    near = np.asarray(vectors[rows])
    for at in range(0, len(some), _ROWS):
        part = near[at : min(at + _ROWS, len(some))]
        cosines = part @ near[at:].T
        i, j = np.divmod(np.flatnonzero(cosines >= COSINE - _SLACK), cosines.shape[1])
        i, j = i[j > i] + at, j[j > i] + at
        for begin in range(0, len(i), _PAIRS):
            a, b = i[begin : begin + _PAIRS], j[begin : begin + _PAIRS]
            exact = np.einsum("ij,ij->i", near[a].astype(np.float64), near[b].astype(np.float64))
            # Cosines of one direction alone can be a little above 1.
            weights = np.minimum(np.round(exact, _DECIMALS), 1.0)
            enough = weights >= COSINE
            yield rows[a[enough]], rows[b[enough]], weights[enough]


def _best(n: int, found: Sequence[Pairs], neighbours: int) -> Graph:
    """A graph of the pairs that one of both names begins."""
    a, b = (np.concatenate([pairs[k] for pairs in found]).astype(np.int64) for k in (0, 1))
    weights = np.concatenate([pairs[2] for pairs in found])
    low, high = np.minimum(a, b), np.maximum(a, b)
    # Names that share several cells meet several times.
    _, first = np.unique(low * n + high, return_index=True)
    return strongest(Graph.from_edges(n, low[first], high[first], weights[first]), neighbours)


def _pairs(graph: Graph) -> Pairs:
    a, b, weights = graph.edges()
    return a.astype(np.int64), b.astype(np.int64), weights.astype(np.float64)


def _cells(rows: Rows, keys: Keys, vectors: Vectors) -> Keys:
    """Keys of the samples that are nearest to each name, ascending; of equally near ones any, by hash.

    Names with one and the same vector so spread over the samples that have it too. With too few samples all
    names are compared.
    """
    rate = 1 << max(0, int(np.log2(len(rows) ** 0.5 / 2)))
    samples = rows[keys[rows] % np.uint64(rate) == 0]
    samples = samples[np.argsort(keys[samples])]
    if len(samples) <= _CELLS:
        return _none(len(keys))
    found = np.zeros((len(keys), _CELLS), dtype=np.uint64)
    centres = _on_grid(vectors, samples).T
    for at in range(0, len(rows), _ROWS):
        part = rows[at : at + _ROWS]
        near = (_on_grid(vectors, part) @ centres).astype(np.int64) << 38
        near |= _mixed(keys[part][:, None] ^ keys[samples][None, :])
        nearest = np.argpartition(near, -_CELLS, axis=1)[:, -_CELLS:]
        found[part] = np.sort(keys[samples][nearest], axis=1)
    return found


def _on_grid(vectors: Vectors, rows: Rows) -> NDArray[np.float32]:
    return np.round(np.asarray(vectors[rows], dtype=np.float32) * _GRID)


def _mixed(keys: Keys) -> Rows:
    """38 bits of each number that look drawn at random (the last steps of MurmurHash 3)."""
    mixed = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return ((mixed ^ (mixed >> np.uint64(33))) >> np.uint64(26)).astype(np.int64)


def _none(n: int) -> Keys:
    return np.zeros((n, 0), dtype=np.uint64)
