"""The arrays of a graph: built, saved, mapped, checked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.graph.csr import Graph

EDGES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0.001, 100, allow_nan=False)), max_size=40
)


def build(edges, n=7):
    sources, targets, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph.from_edges(n, sources, targets, weights)


def same(a, b):
    return (
        a.indptr.tobytes() == b.indptr.tobytes()
        and a.indices.tobytes() == b.indices.tobytes()
        and a.weights.tobytes() == b.weights.tobytes()
    )


def test_a_triangle_with_a_tail_has_the_arrays_worked_out_by_hand():
    graph = Graph.from_edges(5, [2, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4])
    assert graph.indptr.tolist() == [0, 2, 4, 7, 8, 8]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    assert graph.weights.tolist() == [2, 1, 2, 3, 1, 3, 4, 4]
    assert (graph.n, graph.n_edges) == (5, 4)
    assert graph.degrees.tolist() == [2, 2, 3, 1, 0]
    assert graph.strengths.tolist() == [3, 5, 8, 4, 0]
    assert graph.neighbours(2).tolist() == [0, 1, 3]
    assert graph.weights_of(2).tolist() == [1, 3, 4]
    assert [part.tolist() for part in graph.edges()] == [[0, 0, 1, 2], [1, 2, 2, 3], [2, 1, 3, 4]]
    assert graph.components().tolist() == [0, 0, 0, 0, 1]


def test_types_are_those_that_are_mapped_and_handed_to_libraries():
    graph = build([(0, 1, 2.0)])
    assert (graph.indptr.dtype, graph.indices.dtype, graph.weights.dtype) == (np.int64, np.int32, np.float32)


def test_a_graph_may_have_no_edges_or_no_vertices():
    assert build([], n=3).components().tolist() == [0, 1, 2]
    assert build([], n=3).strengths.tolist() == [0, 0, 0]
    assert build([], n=0).components().tolist() == []


def test_components_are_numbered_by_their_lowest_vertex():
    assert build([(6, 1, 1), (2, 4, 1)]).components().tolist() == [0, 1, 2, 3, 2, 4, 1]


@given(EDGES, st.randoms())
def test_neither_order_nor_direction_nor_loops_change_a_byte(edges, random):
    other = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in edges] + [(3, 3, 1.0)]
    random.shuffle(other)
    assert same(build(edges), build(other))


@given(EDGES)
def test_the_matrix_is_symmetric_sorted_and_sums_parallel_edges(edges):
    dense = np.zeros((7, 7))
    for a, b, w in edges:
        if a != b:
            dense[a, b] += w
            dense[b, a] += w
    graph = build(edges)
    found = np.zeros((7, 7))
    for i in range(7):
        assert np.all(np.diff(graph.neighbours(i)) > 0)
        found[i, graph.neighbours(i)] = graph.weights_of(i)
    assert np.allclose(found, dense, rtol=1e-6)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("mmap", [True, False])
@given(edges=EDGES)
def test_what_is_saved_is_what_is_loaded(tmp_path_factory, mmap, edges):
    path = tmp_path_factory.mktemp("graph") / "graph.bin"
    build(edges).save(path)
    assert same(Graph.load(path, mmap=mmap), build(edges))
    assert [file.name for file in path.parent.iterdir()] == ["graph.bin"]


def test_saving_again_replaces_the_file_under_a_reader(tmp_path):
    path = tmp_path / "graph.bin"
    build([(0, 1, 1.0)]).save(path)
    old = Graph.load(path)
    build([(0, 1, 1.0), (1, 2, 5.0)]).save(path)
    assert old.n_edges == 1
    assert Graph.load(path).n_edges == 2


def test_mapped_arrays_cannot_be_written(tmp_path):
    build([(0, 1, 1.0)]).save(tmp_path / "graph.bin")
    with pytest.raises(ValueError, match="read-only"):
        Graph.load(tmp_path / "graph.bin").weights[0] = 2


def test_every_way_of_cutting_the_file_short_is_noticed(tmp_path):
    path = tmp_path / "graph.bin"
    build([(0, 1, 1.0), (1, 2, 2.0)]).save(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="is not a graph or is damaged"):
            Graph.load(path)


def test_arrays_that_do_not_fit_each_other_are_noticed(tmp_path):
    path = tmp_path / "graph.bin"
    good = build([(0, 1, 1.0)])
    Graph(good.indptr, good.indices + np.int32(9), good.weights).save(path)
    with pytest.raises(ValueError, match="do not fit"):
        Graph.load(path)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((2, [0], [2], [1.0]), "outside the 2 vertices"),
        ((2, [-1], [1], [1.0]), "outside the 2 vertices"),
        ((2, [0], [1], [0.0]), "positive"),
        ((2, [0], [1], [float("nan")]), "positive"),
        ((2, [0], [1], [1.0, 2.0]), "equal shapes"),
        ((-1, [], [], []), "number of vertices"),
    ],
)
def test_wrong_edges_are_refused(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        Graph.from_edges(*arguments)


def test_a_file_holds_arrays_as_numpy_writes_them(tmp_path):
    graph = build([(0, 1, 0.5), (1, 2, 2.0)], n=3)
    graph.save(tmp_path / "graph")
    with (tmp_path / "graph").open("rb") as file:
        for array in (graph.indptr, graph.indices, graph.weights):
            file.seek(-file.tell() % 64, 1)
            assert np.load(file).tolist() == array.tolist()


def test_of_parallel_edges_the_heaviest_may_count():
    graph = Graph.from_edges(3, [0, 1, 1], [1, 0, 2], [0.5, 0.75, 2.0], parallel="heaviest")
    assert [part.tolist() for part in graph.edges()] == [[0, 1], [1, 2], [0.75, 2.0]]


@given(EDGES)
def test_the_edges_of_a_graph_make_the_same_graph(edges):
    graph = build(edges)
    assert same(Graph.from_edges(7, *graph.edges()), graph)


def test_edges_of_some_vertices_are_those_of_all_with_one_of_them():
    rng = np.random.default_rng(3)
    graph = Graph.from_edges(30, rng.integers(0, 30, 90), rng.integers(0, 30, 90), rng.random(90) + 0.1)
    everything = list(zip(*(part.tolist() for part in graph.edges()), strict=True))
    for some in ([], [7], [3, 12, 3, 29], list(range(30))):
        found = list(zip(*(part.tolist() for part in graph.edges_of(some)), strict=True))
        assert found == [edge for edge in everything if {edge[0], edge[1]} & set(some)]
        assert graph.degrees_of(some).tolist() == [len(graph.neighbours(v)) for v in some]
