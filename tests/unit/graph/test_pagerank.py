"""Personalised PageRank by pushing and by iteration: values by hand, bounds, and what must not be asked."""

import numpy as np
import pytest

from polygraph.graph import pagerank as pagerank_module
from polygraph.graph.csr import Graph
from polygraph.graph.pagerank import EdgeKind, Network, inflow, strongest_paths, walk
from tests.power_iteration import pagerank


def network(n, edges, **options):
    sources, targets, weights = zip(*edges, strict=True)
    return Network((EdgeKind(Graph.from_edges(n, sources, targets, weights), **options),))


def random_network(seed, n=200, m=600):
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(n, rng.integers(n, size=m), rng.integers(n, size=m), rng.uniform(0.1, 5.0, m))
    return Network((EdgeKind(graph),))


def test_two_vertices_share_by_the_formula():
    # By hand: p0 = (1 - d) + d p1 and p1 = d p0, so p0 = 1 / (1 + d), p1 = d / (1 + d).
    found = walk(network(2, [(0, 1, 3.0)]), [0], [7.0], damping=0.6, tolerance=1e-12)
    assert found.at([0, 1]) == pytest.approx([1 / 1.6, 0.6 / 1.6])


def test_weights_decide_where_the_walk_goes_and_can_be_ignored():
    # A star: 1 and 2 return all they get, so they share what leaves 0, as 3 to 1.
    edges = [(0, 1, 3.0), (0, 2, 1.0)]
    _, a, b = walk(network(3, edges), [0], [1.0], tolerance=1e-12).at([0, 1, 2])
    assert a / b == pytest.approx(3.0)
    _, a, b = walk(network(3, edges, weighted=False), [0], [1.0], tolerance=1e-12).at([0, 1, 2])
    assert a / b == pytest.approx(1.0)


def test_no_damping_means_the_start_itself():
    assert walk(random_network(1), [3, 5], [1.0, 3.0], damping=0.0).at([3, 5, 7]) == pytest.approx(
        [0.25, 0.75, 0]
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_pushing_is_never_too_high_and_too_low_by_no_more_than_the_bound(seed, tolerance):
    net = random_network(seed)
    start = [seed, 50 + seed, 120]
    exact = pagerank(net, start, [1, 2, 3], damping=0.85)
    found = walk(net, start, [1, 2, 3], damping=0.85, tolerance=tolerance)
    error = exact - found.at(np.arange(net.n))
    graph = net.kinds[0].graph
    with_edges = graph.degrees > 0
    least_mean = (graph.strengths[with_edges] / graph.degrees[with_edges]).min()
    assert error.min() > -1e-9
    assert (error <= tolerance * graph.strengths / least_mean + 1e-9).all()
    assert error.sum() == pytest.approx(found.missing, abs=1e-9)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_with_equal_weights_the_error_is_at_most_tolerance_times_degree(tolerance):
    rng = np.random.default_rng(7)
    graph = Graph.from_edges(100, rng.integers(100, size=300), rng.integers(100, size=300), np.ones(300))
    net = Network((EdgeKind(graph, weighted=False),))
    error = pagerank(net, [4], [1.0]) - walk(net, [4], [1.0], tolerance=tolerance).at(np.arange(100))
    assert (error <= tolerance * graph.degrees + 1e-12).all()


def test_vertices_without_edges_send_the_walk_back_to_the_start():
    # 2 has no edge. By hand with d = 0.5: leaking, p2 = 0.25 and the others share 0.5; a quarter leaks: divide by 0.75.
    net = network(3, [(0, 1, 1.0)])
    found = walk(net, [0, 2], [1.0, 1.0], damping=0.5, tolerance=1e-12)
    assert found.at([2]) == pytest.approx([0.25 / 0.75])
    assert found.at([0, 1, 2]) == pytest.approx(pagerank(net, [0, 2], [1.0, 1.0], damping=0.5))
    assert found.scores.sum() + found.missing == pytest.approx(1.0)


def test_only_vertices_without_edges_keep_the_weights_of_the_start():
    net = Network((EdgeKind(Graph.from_edges(3, [], [], [])),))
    assert walk(net, [0, 2], [1.0, 3.0]).at([0, 1, 2]) == pytest.approx([0.25, 0, 0.75])


def test_edges_of_several_kinds_add_up_with_their_factors():
    one = Graph.from_edges(3, [0, 1], [1, 2], [1.0, 2.0])
    two = Graph.from_edges(4, [0, 2], [1, 3], [0.5, 4.0])
    both = Network((EdgeKind(one), EdgeKind(two, factor=2.0)))
    merged = Network((EdgeKind(Graph.from_edges(4, [0, 1, 0, 2], [1, 2, 1, 3], [1.0, 2.0, 1.0, 8.0])),))
    assert both.n == 4
    found, expected = (walk(n, [0], [1.0], tolerance=1e-12) for n in (both, merged))
    assert found.at(range(4)) == pytest.approx(expected.at(range(4)))
    assert pagerank(both, [0], [1.0]) == pytest.approx(pagerank(merged, [0], [1.0]))


@pytest.mark.parametrize("many", [0, 1 << 15])
@pytest.mark.parametrize("small", [0, 1 << 15])
@pytest.mark.parametrize("seed", range(3))
def test_pushing_along_all_edges_gives_the_same_bits_as_picking_those_of_the_front(
    monkeypatch, seed, small, many
):
    rng = np.random.default_rng(seed)
    one, two = (
        Graph.from_edges(
            300, rng.integers(n, size=900), rng.integers(n, size=900), rng.choice([1.0, 0.3, 2.5], 900)
        )
        for n in (200, 290)
    )
    kinds = (EdgeKind(one, factor=0.7), EdgeKind(two), EdgeKind(two, weighted=False))
    start = [seed, 50, 120, 299]  # the last one has no edges
    monkeypatch.setattr(pagerank_module, "_LARGEST", 0)
    picked = [walk(Network(some), start, [1, 2, 3, 4]) for some in (kinds, kinds[2:])]
    monkeypatch.undo()
    # With 0, rounds of few vertices pick their edges and rounds of many do not.
    monkeypatch.setattr(pagerank_module, "_SMALL", small)
    monkeypatch.setattr(pagerank_module, "_MANY", many)
    for expected, some in zip(picked, (kinds, kinds[2:]), strict=True):
        net = Network(some)
        for _ in range(2):
            found = walk(net, start, [1, 2, 3, 4])
            assert found.vertices.tolist() == expected.vertices.tolist()
            assert found.scores.tobytes() == expected.scores.tobytes()
            assert found.missing == expected.missing


def test_work_does_not_grow_with_the_graph():
    def far_ring(n):
        ring = np.arange(n)
        return Network((EdgeKind(Graph.from_edges(n, ring, (ring + 1) % n, np.ones(n))),))

    small, large = (walk(far_ring(n), [0], [1.0], tolerance=1e-4) for n in (1_000, 500_000))
    assert len(small.vertices) == len(large.vertices) < 200
    assert small.scores.tolist() == large.scores.tolist()


def test_the_order_of_the_start_changes_nothing():
    net = random_network(5)
    one, other = walk(net, [9, 2, 4], [1, 2, 3]), walk(net, [2, 4, 9], [2, 3, 1])
    assert one.scores.tobytes() == other.scores.tobytes()


def test_the_best_are_given_by_score_then_vertex_and_within_a_range():
    found = walk(network(5, [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]), [0], [1.0], tolerance=1e-9)
    assert [v for v, _ in found.top(3)] == [0, 1, 2]
    assert [v for v, _ in found.top(9, first=2)] == [2, 3]
    assert [v for v, _ in found.top(9, first=1, last=3)] == [1, 2]


@pytest.mark.parametrize(
    ("vertices", "weights", "damping", "tolerance", "said"),
    [
        ([0], [0.0], 0.85, 1e-6, "not all zero"),
        ([], [], 0.85, 1e-6, "not all zero"),
        ([0], [-1.0], 0.85, 1e-6, "not negative"),
        ([0], [float("nan")], 0.85, 1e-6, "finite"),
        ([0, 0], [1.0, 1.0], 0.85, 1e-6, "twice"),
        ([9], [1.0], 0.85, 1e-6, "outside the 2 vertices"),
        ([0], [1.0, 2.0], 0.85, 1e-6, "as many weights"),
        ([0], [1.0], 1.0, 1e-6, "damping"),
        ([0], [1.0], 0.85, 0.0, "tolerance"),
    ],
)
def test_a_walk_that_cannot_be_says_why(vertices, weights, damping, tolerance, said):
    with pytest.raises(ValueError, match=said):
        walk(network(2, [(0, 1, 1.0)]), vertices, weights, damping=damping, tolerance=tolerance)


def test_inflow_divides_a_score_by_where_it_comes_from():
    # A path 0 - 1 - 2 with d = 0.5 from 0: p = (0.5833, 0.3333, 0.0833).
    net = network(3, [(0, 1, 1.0), (1, 2, 1.0)])
    found = walk(net, [0], [1.0], damping=0.5, tolerance=1e-12)
    came = inflow(net, found, [0, 1, 2], damping=0.5)
    assert came.strongest.tolist() == [1, 0, 1]
    assert came.contribution == pytest.approx([0.5 * (1 / 3) / 2, 0.5 * (7 / 12), 0.5 * (1 / 3) / 2])
    assert came.restart == pytest.approx([0.5, 0.0, 0.0], abs=1e-9)


def test_edges_of_several_kinds_bring_their_scores_together_and_the_first_of_equals_counts(monkeypatch):
    # 3 gets as much from 1, by two kinds of edge, as from 2, by one that weighs as much as both.
    one, two = (
        Graph.from_edges(4, [0, 0, 1, 2], [1, 2, 3, 3], [1.0, 1.0, 1.0, 3.0]),
        Graph.from_edges(4, [1], [3], [2.0]),
    )
    net = Network((EdgeKind(one), EdgeKind(two)))
    came = [inflow(net, walk(net, [0], [1.0]), [3, 0], damping=0.85)]
    monkeypatch.setattr(pagerank_module, "_LARGEST", 0)
    came.append(inflow(net, walk(net, [0], [1.0]), [3, 0], damping=0.85))
    assert came[0].strongest.tolist() == came[1].strongest.tolist() == [1, 1]
    assert came[0].contribution.tobytes() == came[1].contribution.tobytes()
    p = walk(net, [0], [1.0]).at([1])
    assert came[0].contribution[0] == pytest.approx(0.85 * p[0] * 3 / 4)


def test_the_sum_of_the_weights_at_a_hub_is_read_once(monkeypatch):
    plain = Graph.from_edges(9, [0] * 8, range(1, 9), [1.0] * 8)
    heavy = Graph.from_edges(9, [0, 0, 1], [1, 2, 2], [0.5, 2.0, 4.0])
    net = Network((EdgeKind(plain, 0.25, weighted=False), EdgeKind(heavy, 2.0)))
    monkeypatch.setattr(pagerank_module, "_LARGEST", 0)
    monkeypatch.setattr(pagerank_module, "_HUB", 5)
    read = []
    edges_at = Network.edges_at
    monkeypatch.setattr(
        Network, "edges_at", lambda self, some: read.append(some.tolist()) or edges_at(self, some)
    )
    for _ in range(2):
        # By hand: 8 / 4 + 2 * 2.5; 1 / 4 + 2 * 4.5; 1 / 4 + 2 * 6; 1 / 4.
        assert net.strengths(np.array([3, 0, 2, 1, 0])).tolist() == [0.25, 7.0, 12.25, 9.25, 7.0]
    # Edges of one weight are counted, not read.
    assert read == [[1, 2, 3], [0], [1, 2, 3]]


def test_a_path_leads_from_the_start_to_the_vertex():
    net = network(5, [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 4, 1.0)])
    found = walk(net, [0], [1.0], tolerance=1e-12, damping=0.5)
    assert strongest_paths(net, found, [3, 0], damping=0.5) == [[0, 1, 2, 3], [0]]
    assert strongest_paths(net, found, [3], damping=0.5, most=2) == [[2, 3]]
    assert strongest_paths(net, found, [], damping=0.5) == []
