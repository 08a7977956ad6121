"""Places of a graph on a plane."""

import numpy as np

from polygraph.graph.csr import Graph
from polygraph.graph.layout import RADIUS, place


def planted(n_groups, size, seed=0):
    """A graph of groups that are dense inside and sparse between, with its two levels."""
    rng = np.random.default_rng(seed)
    n = n_groups * size
    fine = np.repeat(np.arange(n_groups), size)
    a = rng.integers(0, n, 6 * n)
    inside = fine[a] * size + rng.integers(0, size, len(a))
    b = np.where(rng.random(len(a)) < 0.9, inside, rng.integers(0, n, len(a)))
    return Graph.from_edges(n, a, b, np.ones(len(a))), [fine // 4, fine]


def test_the_same_graph_has_the_same_places():
    graph, levels = planted(8, 20)
    first, second = place(graph, levels), place(graph, levels)
    assert np.array_equal(first.entities, second.entities)


def test_places_are_distinct_finite_and_within_the_disc():
    graph, levels = planted(8, 20)
    found = place(graph, levels).entities
    assert np.isfinite(found).all()
    assert np.hypot(*found.T).max() <= RADIUS * 1.001
    assert len(np.unique(np.round(found, 3), axis=0)) == len(found)


def test_members_stand_within_their_community_and_communities_within_their_parent():
    graph, levels = planted(8, 20)
    found = place(graph, levels)
    for level, centres, radii in zip(levels, found.communities, found.radii, strict=True):
        away = np.hypot(*(found.entities - centres[level]).T)
        assert (away <= radii[level] * 1.001).all()


def test_communities_overlap_little():
    graph, levels = planted(12, 25)
    found = place(graph, levels)
    centres, radii = found.communities[1], found.radii[1]
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    overlap = np.clip(radii[:, None] + radii[None] - apart, 0, None)
    np.fill_diagonal(overlap, 0)
    assert overlap.max() < 0.35 * radii.min()


def test_graphs_without_communities_edges_or_entities_have_places():
    alone = Graph.from_edges(3, [], [], [])
    assert place(alone, []).entities.shape == (3, 2)
    assert place(alone, [np.array([-1, 0, -1])]).entities.shape == (3, 2)
    assert place(Graph.from_edges(0, [], [], []), []).entities.shape == (0, 2)
    assert np.isfinite(place(Graph.from_edges(1, [], [], []), [np.array([0])]).entities).all()
