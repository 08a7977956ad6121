"""Edges between entities and passages, with a graph for each kind of edge.

Entities are vertices ``0 .. n_entities - 1`` of every graph; passages follow where a graph has them.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.arrays import batches, look_up
from polygraph.graph.csr import Graph, Vertices, Weights

_ENTRIES = 1 << 18
"""Entries of a graph that are ranked at once."""
_EDGE = np.dtype([("source", np.int32), ("target", np.int32), ("weight", np.float64)])


def edge_arrays(edges: Iterable[tuple[int, int, float]]) -> tuple[Vertices, Vertices, NDArray[np.float64]]:
    """Return the sources, targets and weights of some edges, each of shape ``(n_edges,)``, in the order given.

    >>> [column.tolist() for column in edge_arrays([(0, 1, 0.5), (1, 2, 2.0)])]
    [[0, 1], [1, 2], [0.5, 2.0]]
    """
    found = np.fromiter(edges, dtype=_EDGE)
    return found["source"].copy(), found["target"].copy(), found["weight"].copy()


def mention_edges(n_entities: int, n_chunks: int, entities: ArrayLike, chunks: ArrayLike) -> Graph:
    """Join entities to the passages that mention them.

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
    rows = np.asarray(entities)
    passages = np.asarray(chunks) + np.int32(n_entities)
    return Graph.from_edges(n_entities + n_chunks, rows, passages, np.broadcast_to(1.0, len(rows)))


def overwrite(under: Graph, over: Graph) -> Graph:
    """Return the edges of two graphs; where both join a pair, the weight is that of the second.

    The code of HippoRAG 2 puts synonym edges over fact edges in this way.

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
    """Return the edges of one graph with the weights of another, 1 where that has no such edge.

    >>> pairs, counted = Graph.from_edges(3, [0, 1], [1, 2], [9.0, 9.0]), Graph.from_edges(3, [0], [1], [2.0])
    >>> with_counts(pairs, counted).edges()[2].tolist()
    [2.0, 1.0]
    """
    a, b, _ = pairs.edges()
    c, d, counts = counted.edges()
    keys, known = _keys(a, b, pairs.n), _keys(c, d, pairs.n)  # both ascend, like edges
    return Graph.from_edges(pairs.n, a, b, look_up(known, counts, keys, missing=1.0))


def strongest(graph: Graph, k: int) -> Graph:
    """Keep the `k` heaviest edges of each vertex, ties by neighbour; an edge stays if either end keeps it.

    >>> star = Graph.from_edges(4, [0, 0, 0], [1, 2, 3], [1.0, 3.0, 2.0])
    >>> strongest(star, 1).n_edges, strongest(Graph.from_edges(3, [0, 0, 1], [1, 2, 2], [3.0, 1.0, 2.0]), 1).n_edges
    (3, 2)
    """
    # An edge that both ends keep occurs twice.
    return Graph.from_edges(graph.n, *begun(graph, k), parallel="heaviest")


def begun(graph: Graph, k: int) -> tuple[Vertices, Vertices, Weights]:
    """Return the `k` heaviest edges of each vertex, ties by neighbour: vertices, ascending, neighbours, weights."""
    kept = among_heaviest(graph, k)
    rows = np.repeat(np.arange(graph.n, dtype=np.int32), np.minimum(graph.degrees, k))
    return rows, graph.indices[kept], graph.weights[kept]


def among_heaviest(graph: Graph, k: int) -> NDArray[np.bool_]:
    """Return whether each entry of `indices` is one of the `k` heaviest edges of its vertex, ties by neighbour."""
    kept = np.zeros(len(graph.indices), dtype=np.bool_)
    # Ranks of all entries would take several times the memory of the graph.
    for first, last in batches(graph.indptr, _ENTRIES):
        begin, end = graph.indptr[first], graph.indptr[last]
        starts, degrees = graph.indptr[first:last] - begin, graph.degrees[first:last]
        rows = np.repeat(np.arange(last - first), degrees)
        order = np.lexsort((graph.indices[begin:end], -graph.weights[begin:end], rows))
        rank = np.arange(len(order)) - np.repeat(starts, degrees)
        kept[begin + order[rank < k]] = True
    return kept


def _keys(a: NDArray[np.integer], b: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Return one number for each pair."""
    return a.astype(np.int64) * n + b
