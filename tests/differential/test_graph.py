"""Components and communities against networkx."""

import gzip
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from polygraph.graph.communities import communities
from polygraph.graph.csr import Graph

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def lenny():
    """A real graph: 3,442 entities and 3,782 relations that a model extracted from podcasts."""
    folder = DATA / "graph-lenny"
    if not folder.exists():
        pytest.skip(f"the data set {folder} is not here")
    with gzip.open(folder / "nodes.jsonl.gz", "rt", encoding="utf-8") as file:
        names = sorted({json.loads(line)["name"] for line in file})
    graph = nx.Graph()
    graph.add_nodes_from(names)
    with gzip.open(folder / "edges.jsonl.gz", "rt", encoding="utf-8") as file:
        for edge in map(json.loads, file):
            graph.add_edge(edge["source"], edge["target"], weight=float(edge["weight"]))
    return nx.convert_node_labels_to_integers(graph, ordering="sorted")


def ours(graph):
    edges = list(graph.edges(data="weight", default=1.0))
    return Graph.from_edges(
        graph.number_of_nodes(), [a for a, _, _ in edges], [b for _, b, _ in edges], [w for _, _, w in edges]
    )


def levels(graph, **options):
    ids = [f"{i:06}" for i in range(graph.n)]
    found = list(communities(graph, ids, [[] for _ in ids], **options))
    return [[{int(e) for e in c.entities} for c in found if c.level == level] for level in range(8)]


def random_graph(seed):
    return nx.gnm_random_graph(300, 260, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_components_are_those_of_networkx(seed):
    graph = random_graph(seed)
    labels = ours(graph).components()
    expected = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())} == expected


def test_components_and_strengths_of_a_real_graph_are_those_of_networkx(lenny):
    graph = ours(lenny)
    assert len(set(graph.components().tolist())) == nx.number_connected_components(lenny)
    expected = [lenny.degree(i, weight="weight") for i in range(graph.n)]
    loops = [2 * lenny.get_edge_data(i, i, {"weight": 0})["weight"] for i in range(graph.n)]
    assert np.allclose(graph.strengths, np.array(expected) - loops)
    assert graph.degrees.tolist() == [len(set(lenny[i]) - {i}) for i in range(graph.n)]


@pytest.mark.parametrize(
    "graph",
    [
        nx.karate_club_graph(),
        nx.planted_partition_graph(10, 30, 0.4, 0.01, seed=3),
        nx.connected_caveman_graph(20, 8),
        nx.les_miserables_graph(),
    ],
    ids=["karate club", "planted partition", "caveman", "les misérables"],
)
def test_level_0_is_about_as_good_a_partition_as_louvain_finds(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    best = max(
        nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed))
        for seed in range(5)
    )
    top = levels(ours(graph))[0]
    assert nx.community.modularity(graph, top) >= 0.97 * best


def test_planted_groups_are_found_to_the_last_member():
    graph = nx.planted_partition_graph(10, 30, 0.4, 0.01, seed=3)
    truth = {frozenset(range(30 * g, 30 * g + 30)) for g in range(10)}
    assert {frozenset(part) for part in levels(ours(graph))[0]} == truth


def test_every_community_of_a_real_graph_is_connected_and_the_top_is_good(lenny):
    graph = ours(lenny)
    found = levels(graph)
    degrees = dict(lenny.degree())
    for level in found:
        for part in level:
            if degrees[next(iter(part))]:
                assert nx.is_connected(lenny.subgraph(part))
    louvain = nx.community.louvain_communities(lenny, seed=1)
    assert nx.community.modularity(lenny, found[0]) >= 0.97 * nx.community.modularity(lenny, louvain)
