"""Edges of several kinds between entities and passages, each kind a graph of its own.

Entities are vertices ``0 .. n_entities - 1`` of every kind; passages follow, where a kind has them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.graph.csr import Graph


def mention_edges(n_entities: int, n_chunks: int, entities: ArrayLike, chunks: ArrayLike) -> Graph:
    """Join entities to the passages that mention them: the incidence of both, readable from either side.

    Args:
        n_entities: number of entities.
        n_chunks: number of passages.
        entities: row of the entity of each mention, shape ``(m,)``.
        chunks: row of its passage.

    Returns:
        A graph of ``n_entities + n_chunks`` vertices: passage `c` is vertex ``n_entities + c``. Each weight is 1.

    >>> graph = mention_edges(2, 2, [0, 1, 1], [0, 0, 1])
    >>> graph.neighbours(2).tolist(), graph.neighbours(1).tolist()
    ([0, 1], [2, 3])
    """
    rows = np.asarray(entities, dtype=np.int64)
    return Graph.from_edges(
        n_entities + n_chunks, rows, np.asarray(chunks, dtype=np.int64) + n_entities, np.ones(len(rows))
    )


def overwrite(under: Graph, over: Graph) -> Graph:
    """Take the edges of two graphs; where both join a pair, only the weight of the second counts.

    HippoRAG 2's code puts synonym edges over fact edges so.

    >>> under, over = Graph.from_edges(3, [0, 1], [1, 2], [5.0, 5.0]), Graph.from_edges(3, [0], [1], [0.5])
    >>> overwrite(under, over).edges()[2].tolist()
    [0.5, 5.0]
    """
    n = max(under.n, over.n)
    a, b, weights = under.edges()
    c, d, others = over.edges()
    kept = ~np.isin(_keys(a, b, n), _keys(c, d, n))
    return Graph.from_edges(
        n,
        np.concatenate([a[kept], c]),
        np.concatenate([b[kept], d]),
        np.concatenate([weights[kept], others]),
    )


def with_counts(pairs: Graph, counted: Graph) -> Graph:
    """The edges of one graph with the weights of another, 1 where that has none: how many edges were parallel.

    >>> pairs, counted = Graph.from_edges(3, [0, 1], [1, 2], [9.0, 9.0]), Graph.from_edges(3, [0], [1], [2.0])
    >>> with_counts(pairs, counted).edges()[2].tolist()
    [2.0, 1.0]
    """
    a, b, _ = pairs.edges()
    c, d, counts = counted.edges()
    keys, known = _keys(a, b, pairs.n), _keys(c, d, pairs.n)  # `known` ascends, as edges do
    weights = np.ones(len(keys))
    if len(known):
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        weights = np.where(known[place] == keys, counts[place], 1.0)
    return Graph.from_edges(pairs.n, a, b, weights)


def strongest(graph: Graph, k: int) -> Graph:
    """Keep the `k` heaviest edges of each vertex, ties by neighbour; an edge stays if either end keeps it.

    >>> star = Graph.from_edges(4, [0, 0, 0], [1, 2, 3], [1.0, 3.0, 2.0])
    >>> strongest(star, 1).n_edges, strongest(Graph.from_edges(3, [0, 0, 1], [1, 2, 2], [3.0, 1.0, 2.0]), 1).n_edges
    (3, 2)
    """
    rows = graph.rows()
    order = np.lexsort((graph.indices, -graph.weights, rows))
    rank = np.arange(len(order)) - np.repeat(graph.indptr[:-1], graph.degrees)
    kept = order[rank < k]
    a, b, weights = rows[kept], graph.indices[kept], graph.weights[kept]
    # An edge that both ends keep is there twice, and its weights would add up.
    _, first = np.unique(_keys(np.minimum(a, b), np.maximum(a, b), graph.n), return_index=True)
    return Graph.from_edges(graph.n, a[first], b[first], weights[first])


def _keys(a: NDArray[np.integer], b: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """One number for each pair."""
    return a.astype(np.int64) * n + b
