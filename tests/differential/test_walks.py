"""Personalised PageRank against networkx."""

import networkx as nx
import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.graph.pagerank import EdgeKind, Network, walk
from tests.power_iteration import pagerank


def theirs(graph, start, damping, weight):
    found = nx.pagerank(
        graph, alpha=damping, personalization=start, weight=weight, tol=1e-14 / len(graph), max_iter=2_000
    )
    return np.array([found[v] for v in sorted(graph)])


def random_graph(seed):
    graph = nx.gnm_random_graph(150, 260, seed=seed)  # so few edges that some vertices have none
    rng = np.random.default_rng(seed)
    for a, b in graph.edges:
        graph[a][b]["weight"] = float(np.float32(rng.uniform(0.1, 9.0)))
    return graph


def ours(graph, *, weighted):
    edges = list(graph.edges(data="weight", default=1.0))
    made = Graph.from_edges(
        len(graph), [a for a, _, _ in edges], [b for _, b, _ in edges], [w for _, _, w in edges]
    )
    return Network((EdgeKind(made, weighted=weighted),))


@pytest.mark.parametrize("damping", [0.5, 0.85])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_both_forms_agree_with_networkx(seed, weighted, damping):
    graph = random_graph(seed)
    rng = np.random.default_rng(100 + seed)
    start = {int(v): float(rng.uniform(0.1, 1.0)) for v in rng.choice(150, size=12, replace=False)}
    expected = theirs(graph, start, damping, "weight" if weighted else None)
    net = ours(graph, weighted=weighted)
    args = (list(start), list(start.values()))
    assert pagerank(net, *args, damping=damping) == pytest.approx(expected, abs=1e-9)
    assert walk(net, *args, damping=damping, tolerance=1e-11).at(np.arange(150)) == pytest.approx(
        expected, abs=1e-7
    )


def test_the_ranking_of_a_hub_graph_is_that_of_networkx():
    graph = nx.barabasi_albert_graph(2_000, 3, seed=1)
    expected = theirs(graph, {17: 1.0, 1_400: 2.0}, 0.85, None)
    found = walk(ours(graph, weighted=False), [17, 1_400], [1.0, 2.0], damping=0.85, tolerance=1e-11)
    best = np.lexsort((np.arange(2_000), -np.round(expected, 12)))[:50]
    assert [v for v, _ in found.top(50)] == best.tolist()
