"""Edges of several kinds, and edges between like names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from polygraph.graph import synonyms
from polygraph.graph.csr import Graph
from polygraph.graph.edges import among_heaviest, begun, mention_edges, overwrite, strongest, with_counts
from polygraph.graph.synonyms import NEIGHBOURS, Synonyms, find_synonyms


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


def synonym_edges(names, vectors, **more):
    return find_synonyms(names, names, vectors, **more).edges


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
    # Directions drawn at random have no neighbourhoods, so more is missed than among names (0.2% of 5,000 among
    # 30,000 names of real texts with static vectors).
    assert len(found) >= 0.9 * len(wanted)


def test_names_with_one_and_the_same_vector_are_cut_in_cells_all_the_same():
    vectors = unit(np.ones((3_000, 4)))
    graph = synonym_edges([f"name {i}" for i in range(3_000)], vectors, exact=0)
    assert graph.degrees.min() >= NEIGHBOURS


def test_edges_do_not_depend_on_how_often_they_are_looked_for(many):
    one, other = (synonym_edges(*many, exact=0) for _ in range(2))
    assert one.weights.tobytes() == other.weights.tobytes()


def same(one, other):
    assert one.keys.tolist() == other.keys.tolist()
    assert one.cells.tolist() == other.cells.tolist()
    for part in ("indptr", "indices", "weights"):
        assert getattr(one.edges, part).tobytes() == getattr(other.edges, part).tobytes(), part


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.floats(0, 0.6), min_size=1, max_size=3))
def test_edges_are_the_same_whatever_was_there_before(seed, shares):
    rng = np.random.default_rng(seed)
    n = 200
    # Names of one direction, more than one may begin edges to, beside names that are only alike.
    near = 0.4 * rng.normal(size=(n, 8)) * (rng.random((n, 1)) < 0.7)
    vectors = unit(np.repeat(rng.normal(size=(10, 8)), n // 10, axis=0) + near)
    ids = np.array([f"name {i:03}" for i in range(n)])
    former = None
    for share in [*shares, 0.0]:
        rows = np.flatnonzero(rng.random(n) >= share)
        some = ids[rows].tolist(), ids[rows].tolist(), vectors[rows]
        found = find_synonyms(*some, former=former, neighbours=5)
        same(found, find_synonyms(*some, neighbours=5))
        former = found


def test_edges_are_the_same_when_names_come_into_other_cells(monkeypatch):
    # With few cells for each name, some pairs share none.
    monkeypatch.setattr("polygraph.graph.synonyms._CELLS", 2)
    rng = np.random.default_rng(3)
    vectors = unit(np.repeat(rng.normal(size=(250, 32)), 6, axis=0) + 0.45 * rng.normal(size=(1_500, 32)))
    names = np.array([f"name {i}" for i in range(1_500)])
    former = None
    for share in (0.1, 0.3, 0.0):
        rows = np.flatnonzero(np.random.default_rng(5).random(len(names)) >= share)
        some = names[rows].tolist(), names[rows].tolist(), vectors[rows]
        found = find_synonyms(*some, former=former, exact=0)
        same(found, find_synonyms(*some, exact=0))
        former = found
    assert 0 < found.edges.n_edges < find_synonyms(names.tolist(), names.tolist(), vectors).edges.n_edges


def test_a_name_that_lost_one_of_its_nearest_finds_the_next(tmp_path):
    n = NEIGHBOURS + 20
    vectors = unit([[1, 0.001 * i] for i in range(n)])
    ids = [f"name {i:03}" for i in range(n)]
    find_synonyms(ids, ids, vectors).save(tmp_path, "edges.csr")
    former = Synonyms.load(tmp_path, "edges.csr")
    # The first name began edges to the hundred behind it; without the second it begins one to the next.
    assert former.edges.neighbours(0).tolist() == [*range(1, n)][: len(former.edges.neighbours(0))]
    del ids[1]
    rows = [0, *range(2, n)]
    found = find_synonyms(ids, ids, vectors[rows], former=former)
    same(found, find_synonyms(ids, ids, vectors[rows]))
    assert found.edges.degrees.min() >= NEIGHBOURS


def test_a_name_with_another_vector_is_another_name():
    ids, vectors = ["one", "two", "three"], unit([[1, 0], [0, 1], [1, 0.1]])
    former = find_synonyms(ids, ids, vectors)
    assert listed(former.edges) == [(0, 2, 0.995)]
    vectors[0] = (0, 1)
    assert listed(find_synonyms(ids, ids, vectors, former=former).edges) == [(0, 1, 1.0)]


def test_looked_for_in_small_parts_the_edges_are_the_same(monkeypatch, tmp_path):
    rng = np.random.default_rng(8)
    vectors = unit(np.repeat(rng.normal(size=(40, 8)), 10, axis=0) + 0.3 * rng.normal(size=(400, 8)))
    vectors = vectors.astype(np.float32)
    ids = [f"name {i:03}" for i in range(400)]
    np.save(tmp_path / "matrix.npy", vectors)
    for exact in (0, 400):
        at_once = find_synonyms(ids, ids, vectors, neighbours=6, exact=exact)
        for name, size in (("_HELD", 50), ("_TILE", 30), ("_ROWS", 7), ("_PAIRS", 5)):
            monkeypatch.setattr(f"polygraph.graph.synonyms.{name}", size)
        monkeypatch.setattr("polygraph.graph.edges._ENTRIES", 30)
        # Of a file, too, and of names that come one by one.
        same(find_synonyms(iter(ids), iter(ids), tmp_path / "matrix.npy", neighbours=6, exact=exact), at_once)
        monkeypatch.undo()
    assert at_once.edges.degrees.max() > 6


def test_the_edges_that_a_vertex_begins_are_its_heaviest():
    star = Graph.from_edges(4, [0, 0, 0], [1, 2, 3], [1.0, 3.0, 3.0])
    assert among_heaviest(star, 2).tolist() == [False, True, True, True, True, True]
    assert [part.tolist() for part in begun(star, 1)] == [[0, 1, 2, 3], [2, 0, 0, 0], [3.0, 1.0, 3.0, 3.0]]


def test_names_are_compared_in_one_thread_and_the_threads_of_the_caller_stay(monkeypatch):
    def blas():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    before, during = blas(), []
    compared = synonyms._near
    monkeypatch.setattr(synonyms, "_near", lambda *given: during.append(blas()) or compared(*given))
    vectors = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    assert listed(find_synonyms(["abc", "abd", "xyz"], ["abc", "abd", "xyz"], vectors).edges) == [(0, 1, 1.0)]
    assert during == [{1}]
    assert blas() == before
