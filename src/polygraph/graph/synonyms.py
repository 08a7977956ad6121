"""Which names are near each other: edges between entities whose name vectors are alike (HippoRAG 2).

Comparing every name with every other is quadratic, so only small graphs are compared exactly. In larger ones names
are put in cells around sampled names, and each cell is compared with the nearest few: the cost grows with the power
1.5 of the number of names, and a few pairs that lie in cells far apart are missed.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph
from polygraph.models.protocols import Vectors

COSINE = 0.8
"""Least cosine of an edge (arXiv:2502.14802, appendix: 0.8)."""
NEIGHBOURS = 100
"""Edges that one name may begin, the nearest first (code: about 100)."""
_LETTERS = 2
"""Names with no more letters and digits than this have no synonyms (code: 2)."""

_EXACT = 20_000
"""Up to so many names, all pairs are compared: about 5 s of one core."""
_CELLS_PER_ROOT = 2
"""Cells for each square root of the number of names."""
_FULL = 4
"""A cell that holds so many times the square root is divided again."""
_ROUNDS = 3
"""So often; after that a full cell is cut in the order of its names."""
_PROBES = 24
"""Cells that a cell is compared with, itself included."""
_ROWS = 1_024
"""Names that are compared at once."""
_DECIMALS = 6

Rows = NDArray[np.int64]


def synonym_edges(names: Sequence[str], vectors: Vectors, *, exact: int = _EXACT) -> Graph:
    """Join names whose cosine is at least `COSINE`; the weight of an edge is the cosine.

    HippoRAG 2, section 3 and code. The same for the same input: cells are drawn evenly from the order of the names, and
    cosines are rounded before they are compared.

    Args:
        names: sorted by id.
        vectors: unit vectors of the names, shape ``(n, dimension)``, in memory or mapped.
        exact: up to so many names, all pairs are compared.

    Returns:
        A graph over the rows of the names. Cost for `n` names beyond `exact`: time as ``n ** 1.5``, memory as `n`.
    """
    n = len(names)
    wanted = np.array([sum(map(str.isalnum, name)) > _LETTERS for name in names], dtype=np.bool_)
    rows = np.flatnonzero(wanted)
    found: list[tuple[Rows, Rows, NDArray[np.float32]]] = []
    blocks = _all_pairs(rows) if len(rows) <= exact else _by_cells(rows, vectors)
    for some, others in blocks:
        near = np.asarray(vectors[others])
        for at in range(0, len(some), _ROWS):
            part = some[at : at + _ROWS]
            cosines = np.round(np.asarray(vectors[part]) @ near.T, _DECIMALS)
            found.append(_nearest(part, others, cosines))
    if not found:
        return Graph.from_edges(n, [], [], [])
    a, b, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # A pair that both names begin is one edge.
    low, high = np.minimum(a, b), np.maximum(a, b)
    _, first = np.unique(low * n + high, return_index=True)
    # Cosines of one direction alone can be a little above 1.
    return Graph.from_edges(n, low[first], high[first], np.minimum(weights[first], 1.0))


def _nearest(
    rows: Rows, others: Rows, cosines: NDArray[np.float32]
) -> tuple[Rows, Rows, NDArray[np.float32]]:
    """Of each row the `NEIGHBOURS` best of those that are near enough, ties by row."""
    i, j = np.nonzero(cosines >= COSINE)
    other = others[j] != rows[i]
    i, j = i[other], j[other]
    scores = cosines[i, j]
    order = np.lexsort((others[j], -scores, i))
    i, j, scores = i[order], j[order], scores[order]
    begins = np.searchsorted(i, np.arange(len(rows)))
    kept = np.arange(len(i)) - begins[i] < NEIGHBOURS
    return rows[i[kept]], others[j[kept]], scores[kept]


def _all_pairs(rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    if len(rows):
        yield rows, rows


def _by_cells(rows: Rows, vectors: Vectors) -> Iterator[tuple[Rows, Rows]]:
    """Names of a cell, with those of the nearest cells."""
    root = int(len(rows) ** 0.5)
    cells = _cells(rows, vectors, _CELLS_PER_ROOT * root, _FULL * root)
    # A cell's place is that of its mean name.
    middles = np.stack([_unit(np.asarray(vectors[cell]).mean(axis=0)) for cell in cells])
    for at in range(0, len(cells), _ROWS):
        similar = np.round(middles[at : at + _ROWS] @ middles.T, _DECIMALS)
        for i, row in enumerate(similar):
            nearest = np.lexsort((np.arange(len(row)), -row))[:_PROBES]
            probed = np.union1d(nearest, [at + i])
            yield cells[at + i], np.concatenate([cells[c] for c in probed])


def _cells(rows: Rows, vectors: Vectors, n_cells: int, full: int) -> list[Rows]:
    """Divide names in cells of at most `full`, each around one of `n_cells` sampled names."""
    waiting, done = [(rows, n_cells)], []
    for _ in range(_ROUNDS):
        divided = [part for some, parts in waiting for part in _divide(some, vectors, parts)]
        done += [cell for cell in divided if len(cell) <= full]
        waiting = [(cell, 2 * -(-len(cell) // full)) for cell in divided if len(cell) > full]
    # Names with one and the same vector cannot be divided by it.
    done += [cell[at : at + full] for cell, _ in waiting for at in range(0, len(cell), full)]
    return sorted(done, key=lambda cell: int(cell[0]))


def _divide(rows: Rows, vectors: Vectors, parts: int) -> list[Rows]:
    """Put each name to the nearest of `parts` names drawn evenly from the order."""
    drawn = rows[np.linspace(0, len(rows) - 1, min(parts, len(rows))).astype(np.int64)]
    centres = np.asarray(vectors[drawn])
    nearest = np.concatenate(
        [
            np.argmax(np.round(np.asarray(vectors[rows[at : at + _ROWS]]) @ centres.T, _DECIMALS), axis=1)
            for at in range(0, len(rows), _ROWS)
        ]
    )
    order = np.argsort(nearest, kind="stable")
    cuts = np.flatnonzero(np.diff(nearest[order])) + 1
    return np.split(rows[order], cuts)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
