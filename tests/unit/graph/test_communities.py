"""Communities: a nested partition in which nobody is lost."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.graph.communities import communities
from polygraph.graph.csr import Graph
from polygraph.ids import chunk_key


def divide(n, edges, chunks=None, **options):
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    graph = Graph.from_edges(n, sources, targets, [1.0] * len(edges))
    return list(communities(graph, ids(n), chunks or [[f"doc:{i}"] for i in range(n)], **options))


def ids(n):
    return [f"e{i:04}" for i in range(n)]


def clique(vertices):
    return [(a, b) for a in vertices for b in vertices if a < b]


def planted(n_groups=6, size=12, n_between=10, seed=0):
    random = np.random.default_rng(seed)
    edges = [
        e for g in range(n_groups) for e in clique(range(g * size, (g + 1) * size)) if random.random() < 0.6
    ]
    return n_groups * size, edges + [tuple(random.integers(0, n_groups * size, 2)) for _ in range(n_between)]


def check(found, n):
    """The promises of the module, for any input."""
    by_id = {c.id: c for c in found}
    assert len(by_id) == len(found)
    top = sorted(entity for c in found if c.level == 0 for entity in c.entities)
    assert top == ids(n), "level 0 holds every entity exactly once"
    parts = {}
    for c in found:
        assert c.entities == tuple(sorted(set(c.entities)))
        assert (c.level == 0) == (c.parent == "")
        if c.parent:
            assert by_id[c.parent].level == c.level - 1
            parts.setdefault(c.parent, []).extend(c.entities)
    for parent, members in parts.items():
        assert sorted(members) == list(by_id[parent].entities), "parts cover their parent and do not overlap"
        assert len([c for c in found if c.parent == parent]) > 1, "a part is smaller than its parent"
    assert found == sorted(found, key=lambda c: (c.level, c.entities))


def test_planted_groups_are_found_and_divided_no_further_than_they_must():
    n, edges = planted()
    found = divide(n, edges, max_size=20)
    check(found, n)
    groups = {tuple(ids(n)[g * 12 : (g + 1) * 12]) for g in range(6)}
    assert {c.entities for c in found} == groups


def test_large_communities_are_divided_again():
    n, edges = planted(n_groups=8, size=30, n_between=300)
    found = divide(n, edges)
    check(found, n)
    assert max(c.level for c in found) >= 1
    leaves = {c.id for c in found} - {c.parent for c in found}
    assert all(len(c.entities) < 30 for c in found if c.id in leaves)


def test_a_star_cannot_be_divided_and_stays_whole():
    (found,) = divide(101, [(0, i) for i in range(1, 101)])
    assert len(found.entities) == 101


def test_small_components_are_communities_as_they_stand():
    n, edges = planted()
    extra = [(n, n + 1), (n + 1, n + 2), (n + 3, n + 4)]
    found = divide(n + 5, edges + extra, max_size=20)
    check(found, n + 5)
    names = ids(n + 5)
    assert {tuple(names[n : n + 3]), tuple(names[n + 3 :])} <= {c.entities for c in found}


def test_a_change_in_one_small_component_leaves_the_others_alone():
    n, edges = planted()
    before = divide(n + 4, [*edges, (n, n + 1), (n + 2, n + 3)])
    after = divide(n + 4, [*edges, (n, n + 1), (n + 2, n + 3), (n + 1, n + 2)])
    gone, come = (
        {c.id for c in before} - {c.id for c in after},
        {c.id for c in after} - {c.id for c in before},
    )
    assert (len(gone), len(come)) == (2, 1)
    check(after, n + 4)


def test_entities_without_relations_are_grouped_by_document_along_the_text():
    chunks = [["b:0"], ["a:2", "b:0"], ["a:10"], ["a:1"], [], ["b:7"]]
    found = divide(6, [], chunks, max_size=10)
    check(found, 6)
    assert [c.entities for c in found] == [("e0000", "e0005"), ("e0001", "e0002", "e0003"), ("e0004",)]
    assert [c.chunks for c in found] == [("b:0", "b:7"), ("a:1", "a:2", "a:10", "b:0"), ()]


def test_a_document_with_many_lone_entities_gives_groups_of_bounded_and_even_size():
    chunks = [[f"doc:{(7 * i) % 23}"] for i in range(23)]
    found = divide(23, [], chunks, max_size=10)
    check(found, 23)
    assert sorted(len(c.entities) for c in found) == [7, 8, 8]
    # Neighbours in the text are together.
    places = [sorted(chunk_key(chunk)[1] for chunk in c.chunks) for c in found]
    assert all(place == list(range(place[0], place[0] + len(place))) for place in places)


def test_ids_depend_on_level_and_members_alone():
    n, edges = planted()
    one = divide(n, edges)
    two = divide(n, edges, [["other:0"]] * n)
    assert [c.id for c in one] == [c.id for c in two]
    assert all(c.id.startswith(f"{c.level}-") for c in one)


def test_another_process_finds_the_same():
    n, edges = planted(n_groups=8, size=30, n_between=300)
    code = (
        "from polygraph.graph.csr import Graph; from polygraph.graph.communities import communities\n"
        f"edges = {[(int(a), int(b)) for a, b in edges]}\n"
        f"graph = Graph.from_edges({n}, [a for a, b in edges], [b for a, b in edges], [1.0] * len(edges))\n"
        f"ids = [f'e{{i:04}}' for i in range({n})]\n"
        f"print([c.id for c in communities(graph, ids, [[f'doc:{{i}}'] for i in range({n})])])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str([c.id for c in divide(n, edges)])


def test_the_seed_is_what_decides_between_equal_choices():
    n, edges = planted(n_groups=8, size=30, n_between=600)
    assert divide(n, edges, seed=1) == divide(n, edges, seed=1)
    check(divide(n, edges, seed=2), n)


def test_nothing_gives_nothing():
    assert divide(0, []) == []


@pytest.mark.parametrize(
    ("names", "options", "problem"),
    [
        (["b", "a"], {}, "ascending"),
        (["a", "a"], {}, "ascending"),
        (["a"], {}, "vertices"),
        (["a", "b"], {"max_size": 1}, "max_size"),
    ],
)
def test_wrong_arguments_are_refused(names, options, problem):
    graph = Graph.from_edges(2, [0], [1], [1.0])
    with pytest.raises(ValueError, match=problem):
        communities(graph, names, [[] for _ in names], **options)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=120)
        )
    ),
    st.integers(2, 12),
)
def test_nobody_is_lost_and_levels_nest_whatever_the_graph(graph, max_size):
    n, edges = graph
    check(divide(n, edges, max_size=max_size), n)


def test_a_community_has_the_chunks_of_its_members_once_and_in_order():
    n, edges = planted(n_groups=8, size=30, n_between=300)
    random = np.random.default_rng(7)
    chunks = [
        [f"{'ab'[d]}:{i}" for d in (0, 1) for i in sorted(random.integers(0, 30, 4).tolist())]
        for _ in range(n)
    ]
    chunks[3], chunks[5] = [], ["strange"]
    found = divide(n, edges, chunks)
    assert len(found) > 20
    for c in found:
        everything = {chunk for entity in c.entities for chunk in chunks[int(entity[1:])]}
        assert c.chunks == tuple(sorted(everything, key=lambda chunk: (chunk_key(chunk), chunk)))
