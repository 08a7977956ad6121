"""Expected values are computed in the tests, or by other formulations of the definitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.evaluate.metrics import ranking as ranks
from polygraph.evaluate.metrics.retrieval import UNITS, default_metric, metric_unit, unit_metrics

IDS = st.sampled_from([f"d{n}" for n in range(12)])
RANKINGS = st.lists(IDS, max_size=12, unique=True)
GOLD = st.sets(IDS, min_size=1, max_size=5).map(sorted)
DEPTHS = st.integers(1, 15)


def as_ranks(gold, ranking):
    return ranks.ranks_of([{g} for g in gold], ranking)


@given(GOLD, RANKINGS, DEPTHS)
def test_recall_hit_and_all_match_set_definitions(gold, ranking, k):
    found, top = as_ranks(gold, ranking), set(ranking[:k])
    assert ranks.recall(found, k) == pytest.approx(len(top & set(gold)) / len(gold))
    assert ranks.hit(found, k) == (not top.isdisjoint(gold))
    assert ranks.all_found(found, k) == (set(gold) <= top)


@given(GOLD, RANKINGS, DEPTHS)
def test_ndcg_is_the_sum_over_the_ranking_by_the_best_order(gold, ranking, k):
    gains = [float(d in gold) for d in ranking]

    def dcg(values):
        return sum(v / math.log2(place + 2) for place, v in enumerate(values[:k]))

    assert ranks.ndcg(as_ranks(gold, ranking), k) == pytest.approx(dcg(gains) / dcg([1.0] * len(gold)))


@given(GOLD, RANKINGS)
def test_the_reciprocal_rank_is_that_of_the_first_gold(gold, ranking):
    expected = next((1 / n for n, d in enumerate(ranking, 1) if d in gold), 0)
    assert ranks.reciprocal_rank(as_ranks(gold, ranking)) == expected


@given(GOLD, RANKINGS, DEPTHS)
def test_metrics_never_decrease_with_depth(gold, ranking, k):
    found = as_ranks(gold, ranking)
    for metric in (ranks.recall, ranks.hit, ranks.all_found):
        assert metric(found, k) <= metric(found, k + 1)


def test_if_any_of_several_is_enough_the_first_counts():
    found = ranks.ranks_of([{"a", "b", "c"}], ["x", "b", "a"])
    assert found == [2]
    assert ranks.recall(found, 2) == ranks.all_found(found, 2) == 1
    assert ranks.ndcg(found, 10) == pytest.approx(1 / math.log2(3))


@given(st.lists(st.none() | st.integers(1, 12), min_size=1, max_size=8), DEPTHS)
def test_gold_passages_that_share_a_chunk_do_not_lift_ndcg_above_one(found, k):
    assert 0 <= ranks.ndcg(found, k) <= 1 + 1e-12


def test_two_passages_in_one_chunk_need_one_chunk():
    assert ranks.ndcg([1, 1], 10) == 1
    # One chunk at rank 2 of an ideal of two chunks: (1/log2 3) / (1 + 1/log2 3).
    assert ranks.ndcg([2, 2, None], 10) == pytest.approx(0.63093 / 1.63093, abs=1e-5)


def mhrag_script(retrieved, gold, k=10):
    """Reimplement MultiHop-RAG's definition: each passage adds 1 / rank for each fact that it is the first to show."""
    seen, total, first = set(), 0.0, None
    for rank, text in enumerate(retrieved[:k], 1):
        bare = text.replace(" ", "")
        shown = [f for f in gold if f.replace(" ", "") in bare]
        if shown and first is None:
            first = rank
        total += len([f for f in shown if f not in seen]) / rank
        seen.update(shown)
    return first, total / min(len(gold), k)


@given(
    st.lists(st.lists(st.sampled_from("ABCDE"), max_size=3).map(" ".join), max_size=14),
    st.sets(st.sampled_from("ABCDE"), min_size=1).map(sorted),
)
def test_the_figures_of_multihop_rag_are_those_of_its_script(retrieved, gold):
    first, ap = mhrag_script(retrieved, gold)
    found = [next((n for n, text in enumerate(retrieved, 1) if f in text), None) for f in gold]
    metrics = unit_metrics("fact", found, [5])
    assert metrics["mhrag_map@10"] == pytest.approx(ap)
    assert metrics["mhrag_mrr@10"] == (1 / first if first else 0)
    assert metrics["mhrag_hits@10"] == (first is not None)
    assert metrics["mhrag_hits@4"] == (first is not None and first <= 4)


def test_units_are_never_mixed():
    names = {unit: set(unit_metrics(unit, (1,))) for unit in UNITS}
    assert sum(map(len, names.values())) == len(set().union(*names.values()))
    assert all(metric_unit(name) == unit for unit, some in names.items() for name in some)


def test_methods_are_compared_by_the_gold_that_most_questions_have():
    assert default_metric({"document": 100, "answer": 90}) == "recall@5"
    assert default_metric({"document": 27, "fact": 200}) == "fact_recall@5"
    assert default_metric({"chunk": 5}, [3, 10]) == "chunk_recall@3"
