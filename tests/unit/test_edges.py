"""Edges of several kinds, and edges between like names."""

import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.graph.edges import mention_edges, overwrite, strongest, with_counts
from polygraph.graph.synonyms import NEIGHBOURS, synonym_edges


def listed(graph):
    return [(int(a), int(b), round(float(w), 4)) for a, b, w in zip(*graph.edges(), strict=True)]


def test_mentions_can_be_read_from_either_side():
    graph = mention_edges(3, 2, [0, 1, 1, 2], [0, 0, 1, 1])
    assert graph.n == 5
    assert (graph.neighbours(1) - 3).tolist() == [0, 1]
    assert graph.neighbours(3 + 1).tolist() == [1, 2]


def test_overwriting_keeps_the_edges_of_one_and_the_weights_of_the_other():
    under = Graph.from_edges(4, [0, 1], [1, 2], [5.0, 6.0])
    over = Graph.from_edges(4, [1, 2], [0, 3], [0.9, 0.8])
    assert listed(overwrite(under, over)) == [(0, 1, 0.9), (1, 2, 6.0), (2, 3, 0.8)]


def test_counts_replace_weights_and_are_one_where_nothing_was_counted():
    pairs = Graph.from_edges(4, [0, 1, 2], [1, 2, 3], [9.0, 9.0, 9.0])
    counted = Graph.from_edges(4, [1], [2], [3.0])
    assert listed(with_counts(pairs, counted)) == [(0, 1, 1.0), (1, 2, 3.0), (2, 3, 1.0)]
    assert listed(with_counts(pairs, Graph.from_edges(4, [], [], [])))[1] == (1, 2, 1.0)


def test_the_strongest_edges_of_either_end_stay():
    # 3's best is 2; 0's best is 1; 2's best is 3 by its lower weight to 0.
    graph = Graph.from_edges(4, [0, 0, 2, 1], [1, 2, 3, 2], [0.9, 0.5, 0.7, 0.6])
    assert listed(strongest(graph, 1)) == [(0, 1, 0.9), (2, 3, 0.7)]
    assert listed(strongest(graph, 3)) == listed(graph)
    assert strongest(graph, 0).n_edges == 0


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_like_names_are_joined_by_their_cosine_and_short_names_never():
    # By hand: cosines 0.8 (on the bound), 0.6 and 0 between the first three; the last has two letters.
    vectors = unit([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1], [1, 0, 0]])
    assert listed(synonym_edges(["Quill", "Quills", "Wren", "Q."], vectors)) == [(0, 1, 0.8)]


def test_letters_of_every_script_count():
    vectors = unit([[1, 0], [1, 0]])
    assert synonym_edges(["Øye", "Öye"], vectors).n_edges == 1
    assert synonym_edges(["北京市", "北京城"], vectors).n_edges == 1


def test_a_name_begins_no_more_than_so_many_edges():
    n = 3 * NEIGHBOURS
    graph = synonym_edges([f"name {i:04}" for i in range(n)], unit(np.ones((n, 2))))
    # All names are the same: each begins its first hundred, which are nearly always the same hundred.
    assert graph.n_edges <= n * NEIGHBOURS
    assert graph.degrees.min() == NEIGHBOURS


def test_no_names_have_no_synonyms():
    assert synonym_edges([], np.zeros((0, 4), dtype=np.float32)).n == 0
    assert synonym_edges(["a"], np.ones((1, 4), dtype=np.float32)).n_edges == 0


@pytest.fixture(scope="module")
def many():
    """Groups of like names, as spellings of one name are."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(700, 32))
    vectors = unit(np.repeat(centres, 4, axis=0) + 0.25 * rng.normal(size=(2_800, 32)))
    return [f"name {i}" for i in range(2_800)], vectors


def test_cells_find_most_of_what_all_pairs_find_and_nothing_else(many):
    exact, cells = synonym_edges(*many), synonym_edges(*many, exact=0)
    found, wanted = set(listed(cells)), set(listed(exact))
    assert len(wanted) > 2_500
    assert found <= wanted
    # Directions drawn at random have no neighbourhoods, so more is missed than among names (94% found of 19,000).
    assert len(found) >= 0.8 * len(wanted)


def test_names_with_one_and_the_same_vector_are_cut_in_cells_all_the_same():
    vectors = unit(np.ones((3_000, 4)))
    graph = synonym_edges([f"name {i}" for i in range(3_000)], vectors, exact=0)
    assert graph.degrees.min() >= NEIGHBOURS


def test_edges_do_not_depend_on_how_often_they_are_looked_for(many):
    one, other = (synonym_edges(*many, exact=0) for _ in range(2))
    assert one.weights.tobytes() == other.weights.tobytes()
