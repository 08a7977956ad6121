"""Paths between two entities, shortest first."""

from collections.abc import Iterator

import numpy as np

from polygraph.graph.csr import Graph

MOST = 1_000
"""Most paths listed between two vertices; hubs have many more neighbours in common than anybody reads."""


def paths(graph: Graph, a: int, b: int, max_hops: int = 2, *, most: int = MOST) -> list[tuple[int, ...]]:
    """List the simple paths between two vertices.

    ROGRAG (arXiv:2503.06474) and KAG join two known entities in this way, with one hop or two. The last two hops are
    found as the common neighbours of two vertices, which costs as much as reading two lists of neighbours.

    Args:
        graph: undirected.
        a: where paths begin, in ``[0, n)``.
        b: where they end, another vertex.
        max_hops: edges of the longest path, at least 1. The cost grows with the number of paths of
            ``max_hops - 2`` edges that begin at `a`.
        most: number of paths that are listed, the first in order.

    Returns:
        Vertices of each path from `a` to `b`, by number of edges, then by vertices; empty if ``a == b``.

    >>> graph = Graph.from_edges(4, [0, 0, 1, 2], [1, 2, 3, 3], [1.0] * 4)
    >>> paths(graph, 0, 3), paths(graph, 0, 1, 3)
    ([(0, 1, 3), (0, 2, 3)], [(0, 1), (0, 2, 3, 1)])
    """
    if a == b:
        return []
    found: list[tuple[int, ...]] = []
    for hops in range(1, max_hops + 1):
        for path in _exactly(graph, (a,), b, hops):
            if len(found) >= most:
                return found
            found.append(path)
    return found


def _exactly(graph: Graph, begun: tuple[int, ...], b: int, hops: int) -> Iterator[tuple[int, ...]]:
    """Yield the continuations of a path to `b` by exactly `hops` edges, in the order of vertices."""
    near = graph.neighbours(begun[-1])
    if hops == 1:
        at = int(np.searchsorted(near, b))
        if at < len(near) and near[at] == b:
            yield (*begun, b)
    elif hops == 2:
        for middle in np.intersect1d(near, graph.neighbours(b), assume_unique=True).tolist():
            if middle not in begun and middle != b:
                yield (*begun, middle, b)
    else:
        for step in near.tolist():
            if step not in begun and step != b:
                yield from _exactly(graph, (*begun, step), b, hops - 1)
