"""Arrays of relations and triples say what the tables say."""

from collections import Counter

import numpy as np
import pytest

from polygraph.graph.csr import Graph
from polygraph.records import Description, Entity, Relation, Triple
from polygraph.store.database import SqliteStore
from polygraph.store.graph_arrays import GraphArrays

N = 30
IDS = [f"e{n:02}" for n in range(N)]
CHUNKS = tuple(f'd:{n} of a document with a \\",\\" name é",' for n in range(4_000))


def random_graph(seed):
    """A graph in which entity 7 is a hub, as records."""
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, N, (120, 2)).tolist() if pair[0] != pair[1]}
    pairs |= {tuple(sorted((7, n))) for n in range(N) if n != 7}
    # By their ids, which is not the order of the rows of their ends: some ids begin with others.
    relations = sorted(
        (
            Relation(
                id=f"{IDS[a]} | {IDS[b]}",
                source=IDS[a],
                target=IDS[b],
                predicates=(),
                keywords=(),
                descriptions=tuple(
                    Description(f"said {n}", f"d:{n}") for n in range(int(rng.integers(0, 4)))
                ),
                weight=float(rng.integers(1, 4)),
                chunks=("d:0",),
            )
            for a, b in pairs
        ),
        key=lambda r: r.id[::-1],
    )
    counted = Counter(
        (*(pair if rng.random() < 0.5 else pair[::-1]), rng.choice(["met", "saw", "wrote"]))
        for pair in sorted(pairs)
        for _ in range(int(rng.integers(0, 4)))
    )
    triples = [
        Triple(
            id=f"{IDS[a]} | {p} | {IDS[b]}",
            source=IDS[a],
            target=IDS[b],
            predicate=str(p),
            weight=float(w),
            chunks=(),
        )
        for (a, b, p), w in sorted(counted.items())
    ]
    return relations, triples


@pytest.fixture(params=[1, 2])
def store(request, tmp_path):
    relations, triples = random_graph(request.param)
    entities = [Entity(id=i, name=i, type="", aliases=(), descriptions=(), chunks=CHUNKS) for i in IDS]
    opened = SqliteStore(tmp_path / "index", mode="write")
    with opened.transaction():
        opened.graph.put(entities, relations, triples, [])
    yield opened
    opened.close()


@pytest.fixture
def arrays(store, tmp_path):
    rows = list(store.graph.edges())
    graph = Graph.from_edges(N, *zip(*rows, strict=True))
    made = GraphArrays.of(graph, store.graph)
    made.save(tmp_path)
    return GraphArrays.open(tmp_path, graph)


def test_rows_of_relations_are_those_of_the_tables(arrays, store):
    pairs = [(a, b) for a in range(N) for b in range(N)]
    rows = {(a, b): n for n, (a, b, _) in enumerate(store.graph.relation_columns())}
    assert arrays.relations_between(pairs) == [rows[pair] for pair in pairs if pair in rows]
    assert arrays.relations_between([]) == []


def test_the_strongest_relations_are_those_of_the_tables_and_ties_go_by_the_rows_of_their_ends(arrays, store):
    for entity in range(N):
        whole = store.graph.relations_at([entity])
        for most in (1, 5, 99):
            best = sorted(whole, key=lambda r: (-r[3], r[1], r[2]))[:most]
            rows, others = arrays.strongest_relations(entity, most)
            assert list(zip(rows.tolist(), others.tolist(), strict=True)) == sorted(
                (n, b if a == entity else a) for n, a, b, _ in best
            )


def test_descriptions_are_counted_as_in_the_tables(arrays, store):
    assert arrays.description_counts.tolist() == [n for *_, n in store.graph.relation_columns()]


def test_triples_at_entities_and_between_them_are_those_of_the_tables(arrays, store):
    ends = {n: (a, b) for n, (a, b, *_) in enumerate(store.graph.triple_columns())}
    for entities in ([7], [0, 29], [3, 3, 4], list(range(N)), []):
        for some in (["source"], ["target"], ["source", "target"]):
            places = [("source", "target").index(end) for end in some]
            assert arrays.triple_ends(arrays.triples_at(entities, ends=some)) == [
                (n, *two) for n, two in ends.items() if any(two[i] in entities for i in places)
            ]
    for pairs in ([(7, 1)], [(1, 7), (7, 1), (2, 29)], [(5, 5)], []):
        wanted = {frozenset(pair) for pair in pairs}
        assert arrays.triples_between(pairs).tolist() == [
            n for n, two in ends.items() if frozenset(two) in wanted
        ]


def test_the_strongest_triples_are_those_of_the_tables(arrays, store):
    at = [(-weight, n) for n, (a, b, _, weight) in enumerate(store.graph.triple_columns()) if 7 in (a, b)]
    for most in (1, 4, 99):
        found = arrays.strongest_triples(arrays.triples_at([7]), most)
        assert found.tolist() == sorted(n for _, n in sorted(at)[:most])


def test_predicates_and_weights_are_those_of_the_triples(arrays, store):
    predicates = store.graph.predicates()
    found = [predicates[n] for n in arrays.triple_predicates]
    assert [(t.predicate, t.weight) for t in store.graph.all_triples()] == list(
        zip(found, arrays.triple_weights.tolist(), strict=True)
    )


def test_arrays_of_a_graph_with_other_edges_than_the_relations_are_not_made(store):
    rows = list(store.graph.edges())[1:]
    with pytest.raises(ValueError, match="edges"):
        GraphArrays.of(Graph.from_edges(N, *zip(*rows, strict=True)), store.graph)


def test_an_empty_graph_has_arrays_without_entries(tmp_path):
    empty = SqliteStore(tmp_path / "empty", mode="write")
    arrays = GraphArrays.of(Graph.from_edges(0, [], [], []), empty.graph)
    empty.close()
    arrays.save(tmp_path)
    again = GraphArrays.open(tmp_path, arrays.graph)
    assert again.triples_at([]).tolist() == again.triples_between([]).tolist() == []


@pytest.mark.parametrize("most", [1, 600, 3_999, 4_000, 4_001])
def test_the_head_of_an_entity_in_many_chunks_has_the_first_of_them(store, most):
    # The list takes several pieces of 64 kB, which begin anywhere.
    (found,) = store.graph.entity_heads([3], most_chunks=most)
    assert found.chunks == CHUNKS[:most]
