"""Retrieval metrics against trec_eval, if it is installed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygraph.evaluate.metrics import ranking as ranks

RUNS = st.permutations([f"d{n}" for n in range(12)])
GOLD = st.sets(st.sampled_from([f"d{n}" for n in range(14)]), min_size=1, max_size=6).map(sorted)


@settings(max_examples=60, deadline=None)
@given(RUNS, GOLD)
def test_recall_ndcg_and_mrr_are_those_of_trec_eval(ranking, gold):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = {"recall.1,5,10", "ndcg_cut.1,5,10", "recip_rank", "success.1,5,10"}
    judge = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(gold, 1)}, names)
    theirs = judge.evaluate({"q": {d: float(len(ranking) - n) for n, d in enumerate(ranking)}})["q"]
    ours = ranks.ranks_of([{g} for g in gold], ranking)
    for k in (1, 5, 10):
        assert ranks.recall(ours, k) == pytest.approx(theirs[f"recall_{k}"])
        assert ranks.ndcg(ours, k) == pytest.approx(theirs[f"ndcg_cut_{k}"])
        assert ranks.hit(ours, k) == theirs[f"success_{k}"]
    assert ranks.reciprocal_rank(ours) == pytest.approx(theirs["recip_rank"])
