"""Paths between vertices, against networkx."""

import time

import networkx as nx
import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.graph.paths import paths


def random_graph(seed, n=14, m=30):
    rng = np.random.default_rng(seed)
    return n, rng.integers(0, n, m), rng.integers(0, n, m)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("max_hops", [1, 2, 3, 4])
def test_all_simple_paths_are_found_in_the_order_promised(seed, max_hops):
    n, a, b = random_graph(seed)
    graph = Graph.from_edges(n, a, b, np.ones(len(a)))
    other = nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from((int(x), int(y)) for x, y in zip(a, b, strict=True) if x != y)
    for start, end in [(0, 1), (2, 5), (7, 3)]:
        expected = sorted(
            (tuple(path) for path in nx.all_simple_paths(other, start, end, cutoff=max_hops)),
            key=lambda path: (len(path), path),
        )
        assert paths(graph, start, end, max_hops) == expected
        assert paths(graph, start, end, max_hops, most=2) == expected[:2]


def test_a_vertex_has_no_path_to_itself_nor_to_another_part():
    graph = Graph.from_edges(4, [0, 2], [1, 3], [1.0, 1.0])
    assert paths(graph, 0, 0, 4) == paths(graph, 0, 2, 4) == []


def test_two_hops_between_hubs_are_quick():
    # Two hubs with 50,000 neighbours each, 49,999 of them in common.
    n = 50_001
    spokes = np.arange(2, n)
    graph = Graph.from_edges(
        n,
        np.concatenate([np.zeros(len(spokes)), np.ones(len(spokes))]),
        np.concatenate([spokes, spokes]),
        np.ones(2 * len(spokes)),
    )
    started = time.process_time()
    assert len(paths(graph, 0, 1)) == 1_000
    assert time.process_time() - started < 0.5
