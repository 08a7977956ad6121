"""Co-occurrence graphs of noun phrases, with weights worked out by hand from METHODS 5.2."""

from math import log2

import pytest

from polygraph.graph.cooccurrence import Pruning, join_and_prune
from polygraph.graph.merge.view import GraphView
from polygraph.records import Entity

KEEP_ALL = Pruning(min_frequency=1, min_degree=0, drop_ego=False, min_weight_percentile=0)


def view(**chunks):
    """Phrases by id, each with the numbers of its chunks."""
    entities = [
        Entity(id=i, name=i.upper(), type="", aliases=(), descriptions=(), chunks=tuple(f"d:{n}" for n in ns))
        for i, ns in sorted(chunks.items())
    ]
    return GraphView(entities=tuple(entities), relations=())


def edges(found):
    return {(r.source, r.target): r.weight for r in found.relations}


def test_weights_are_shared_chunks_times_their_mutual_information():
    # 8 chunks. p(a) = 2/8, p(b) = 2/8, p(a,b) = 2/8: weight 2/8 log2(2/8 / (2/8 * 2/8)) = 1/4 log2 4 = 1/2.
    # p(c) = 4/8 and p(a,c) = 1/8: 1/8 log2(1/8 / (2/8 * 4/8)) = 1/8 log2 1 = 0, so chance, and no edge.
    # p(d) = 1/8, p(c,d) = 1/8: 1/8 log2(1/8 / (4/8 * 1/8)) = 1/8 log2 2 = 1/8.
    found = join_and_prune(view(a=[0, 1], b=[0, 1], c=[1, 2, 3, 4], d=[4]), 8, KEEP_ALL)
    assert edges(found) == {("a", "b"): 0.5, ("c", "d"): 0.125}
    assert found.relations[0].chunks == ("d:0", "d:1")
    assert [(e.id, e.degree) for e in found.entities] == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]


def test_a_weight_that_is_no_round_number_is_that_of_the_formula():
    found = join_and_prune(view(a=[0, 1, 2], b=[1, 2, 3]), 10, KEEP_ALL)
    assert edges(found)["a", "b"] == pytest.approx(0.2 * log2(0.2 / (0.3 * 0.3)), abs=1e-9)


def test_phrases_that_meet_no_more_than_by_chance_are_not_joined():
    # p(a) = p(b) = 3/4 and p(a,b) = 2/4 < 9/16.
    assert edges(join_and_prune(view(a=[0, 1, 2], b=[1, 2, 3]), 4, KEEP_ALL)) == {}
    # All phrases in all chunks: nothing tells them apart.
    assert edges(join_and_prune(view(a=[0, 1], b=[0, 1]), 2, KEEP_ALL)) == {}


def test_rare_phrases_go_first():
    found = join_and_prune(
        view(a=[0, 1], b=[0, 1], once=[0]), 9, Pruning(min_degree=0, drop_ego=False, min_weight_percentile=0)
    )
    assert [e.id for e in found.entities] == ["a", "b"]
    assert edges(found).keys() == {("a", "b")}


def test_phrases_that_stand_with_no_other_go_if_neighbours_are_asked_for():
    phrases = view(a=[0, 1], b=[0, 1], alone=[5, 6], rare=[5])
    some = Pruning(min_degree=1, drop_ego=False, min_weight_percentile=0)
    # `alone` stands with `rare` only, which is not there any more when neighbours are counted.
    assert [e.id for e in join_and_prune(phrases, 9, some).entities] == ["a", "b"]


def test_the_phrase_with_most_neighbours_goes_and_of_several_the_first():
    phrases = view(hub=[0, 1, 2, 3], a=[0, 1], b=[2, 3], c=[2, 3])
    found = join_and_prune(phrases, 9, Pruning(min_weight_percentile=0))
    assert [e.id for e in found.entities] == ["a", "b", "c"]
    assert edges(found).keys() == {("b", "c")}
    assert [e.degree for e in found.entities] == [0, 1, 1]  # what lost its last edge stays
    pair = join_and_prune(view(x=[0, 1], y=[0, 1]), 9, Pruning(min_weight_percentile=0))
    assert [e.id for e in pair.entities] == ["y"]


def test_edges_below_the_percentile_of_the_weights_go():
    # Six pairs that meet in 1 to 6 chunks of 100 and nowhere else: weights k/100 log2(100/k), which grow with k here.
    chunks, at = {}, 0
    for k in range(1, 7):
        chunks[f"a{k}"] = chunks[f"b{k}"] = list(range(at, at + k))
        at += k
    weight = {k: k / 100 * log2(100 / k) for k in range(1, 7)}
    settings = {"min_frequency": 1, "drop_ego": False}
    kept = edges(join_and_prune(view(**chunks), 100, Pruning(**settings, min_weight_percentile=40)))
    # The 40th percentile of six values lies at place 0.4 * 5 = 2, which is the third: it stays, two go.
    assert kept == {(f"a{k}", f"b{k}"): pytest.approx(weight[k], abs=1e-9) for k in (3, 4, 5, 6)}
    kept = edges(join_and_prune(view(**chunks), 100, Pruning(**settings, min_weight_percentile=50)))
    assert len(kept) == 3  # between the third and the fourth
    assert (
        len(edges(join_and_prune(view(**chunks), 100, Pruning(**settings, min_weight_percentile=100)))) == 1
    )


def test_nothing_comes_of_nothing():
    assert join_and_prune(view(), 0, Pruning()).entities == ()
    assert join_and_prune(view(a=[0]), 1, Pruning()).entities == ()
    with pytest.raises(ValueError, match=r"n_chunks must be positive .*, not 0"):
        join_and_prune(view(a=[0]), 0, Pruning())
