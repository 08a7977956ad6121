"""FastGraphRAG: the reset vector, the walk and the scores worked out by hand on a chain of four statements."""

import itertools

import numpy as np
import pytest

from polygraph.models import Calls, Models
from polygraph.retrieve import METHODS
from polygraph.retrieve.methods.fastgraphrag import FastGraphRAG, select_top
from polygraph.testing import WordEmbedder, scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "d1": "Ada funds Bela.",
    "d2": "Bela repairs Cyra.",
    "d3": "Cyra guards Dora.",
    "d4": "Ada visits Ezra.",
}
QUESTION = "What does Ada fund?"
EDGES = [(0, 1), (1, 2), (2, 3), (0, 4)]
"""Among ada, bela, cyra, dora, ezra."""


WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra"))


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("fastgraphrag"), TEXTS, models(scripted_chat())) as made:
        yield made


def ask(index, question=QUESTION, **parameters):
    found = FastGraphRAG(**parameters)(question, index, models())
    return found, {step.name: step.value for step in found.trace}


ROOT2, ROOT3 = 2**-0.5, 3**-0.5
SIMILAR = {
    "ada": (1 + ROOT3) / 2,  # described by "Ada funds Bela." and "Ada visits Ezra."
    "bela": (1 + ROOT3) / 2,  # "Ada funds Bela." and "Bela repairs Cyra."
    "cyra": 0.5,
    "dora": 0.5,
    "ezra": (1 + ROOT2) / 2,  # "Ada visits Ezra."
}
"""Similarity of the whole question with each entity, as ``(1 + cosine) / 2``."""
RESET = {n: s / sum(SIMILAR.values()) for n, s in SIMILAR.items()} | {"ada": 1.0}
"""The question's row scaled to a sum of 1; Ada, who is named, is a row of her own, and the larger counts."""


def solved(reset, weights):
    flow = np.zeros((5, 5))
    for (a, b), weight in zip(EDGES, weights, strict=True):
        flow[a, b] = flow[b, a] = weight
    flow /= flow.sum(axis=1, keepdims=True)
    start = np.array(reset) / np.sum(reset)
    return 0.15 * np.linalg.solve(np.eye(5) - 0.85 * flow.T, start)


def test_rows_are_scaled_and_the_larger_counts(index):
    _, trace = ask(index)
    assert [text for text, _ in trace["matches"]] == ["Ada", "the whole question"]  # "fund" is no known word
    assert trace["matches"][0] == ["Ada", [["ada", 1.0]]]
    assert dict(trace["matches"][1][1]) == pytest.approx(SIMILAR, abs=1e-5)
    assert dict(trace["reset"]) == pytest.approx(RESET, abs=1e-5)


def test_entities_are_scored_by_an_unweighted_walk(index):
    _, trace = ask(index, tolerance=1e-10)
    expected = solved(list(RESET.values()), [1, 1, 1, 1])
    assert dict(trace["entities"]) == pytest.approx(
        dict(zip(RESET, expected.tolist(), strict=True)), abs=1e-5
    )


def test_relations_score_the_sum_of_their_ends_and_passages_that_of_their_relations(index):
    found, trace = ask(index, tolerance=1e-10)
    ada, bela, cyra, dora, ezra = solved(list(RESET.values()), [1, 1, 1, 1])
    expected = {
        "ada | bela": ada + bela, "bela | cyra": bela + cyra, "cyra | dora": cyra + dora, "ada | ezra": ada + ezra,
    }  # fmt: skip
    assert dict(trace["relations"]) == pytest.approx(expected, abs=1e-5)
    passages = {
        "d1.txt:0": ada + bela,
        "d2.txt:0": bela + cyra,
        "d3.txt:0": cyra + dora,
        "d4.txt:0": ada + ezra,
    }
    assert dict(trace["chunks"]) == pytest.approx(passages, abs=1e-5)
    assert found.ranking == tuple(sorted(passages, key=lambda c: -passages[c]))


def test_an_entity_below_the_threshold_adds_nothing_to_its_relations(index):
    _, trace = ask(index, tolerance=1e-10, threshold=0.15)
    _ada, _bela, cyra, dora, _ezra = solved(list(RESET.values()), [1, 1, 1, 1])
    kept = {"ada", "bela", "ezra", "cyra"}
    assert {name for name, _ in trace["entities"]} == kept
    assert dora < 0.15 < cyra
    assert dict(trace["relations"])["cyra | dora"] == pytest.approx(cyra, abs=1e-5)


def test_policies_keep_the_head_of_a_ranking(index):
    _, trace = ask(index, entity_policy="top_k", max_entities=2)
    assert [name for name, _ in trace["entities"]] == ["ada", "bela"]
    _, trace = ask(index, entity_policy="elbow")
    scores = sorted(solved(list(RESET.values()), [1, 1, 1, 1]), reverse=True)
    gaps = [a - b for a, b in itertools.pairwise(scores)]
    assert len(trace["entities"]) == gaps.index(max(gaps)) + 1
    found, trace = ask(index, max_relations=1, max_chunks=1)
    assert [name for name, _ in trace["relations"]] == ["ada | bela"]
    assert found.ranking == ("d1.txt:0",)


@pytest.mark.parametrize("policy", ["threshold", "top_k", "elbow"])
def test_a_policy_takes_any_ranking(policy):
    assert select_top([], policy, limit=3) == []
    assert select_top([("a", 0.5)], policy, limit=3) == [("a", 0.5)]
    assert select_top([("a", 0.5), ("b", 0.5)], policy, limit=1) == [("a", 0.5)]


def test_a_named_entity_is_found_by_its_name_or_else_by_its_vector(index):
    _, trace = ask(index, seed_names=False)
    # Ezra is described in a text of two names, one of them Ada: nearer to "Ada" than Ada herself, who has three.
    assert trace["matches"][0] == ["Ada", [["ezra", pytest.approx((1 + ROOT2) / 2, abs=1e-5)]]]
    _, trace = ask(index, seed_names=False, named_similarity=0.9)
    assert [text for text, _ in trace["matches"]] == ["the whole question"]


def test_parallel_relations_are_one_edge_or_one_edge_per_row(tmp_path, write_files):
    papers = write_files(
        tmp_path / "papers",
        {"a.txt": "Ada funds Bela.", "b.txt": "Ada praises Bela.", "c.txt": "Ada visits Ezra."},
    )
    with Index.open(tmp_path / "index", models=models(scripted_chat())) as made:
        made.add(papers)
    with Index.open(tmp_path / "index", models=models()) as opened:
        snapshot = opened.snapshot()
        (one,) = FastGraphRAG().network(snapshot).kinds
        many, _ = METHODS["fast-graphrag:circlemind"].network(snapshot).kinds
        assert not one.weighted
        assert one.graph.n_edges == many.graph.n_edges == 2
        assert many.weighted
        assert many.graph.edges()[2].tolist() == [2.0, 1.0]


def test_entities_without_relations_lead_to_the_passages_that_mention_them(tmp_path, write_files):
    papers = write_files(
        tmp_path / "papers", {"a.txt": "In peace sleeps Ada.", "b.txt": "At dawn wakes Ezra."}
    )
    with Index.open(tmp_path / "index", models=models(scripted_chat())) as made:
        made.add(papers)
        found = made.retrieve("What does Ada do?", "fast-graphrag")
    assert found.ranking[0] == "a.txt:0"
    assert "no relation" in found.evidence[-1].why


def test_a_question_that_matches_nothing_says_so(index):
    found, trace = ask(index, "Who mends the roof?")
    assert not found.evidence
    assert "no entity of the graph matches" in found.empty_because
    assert trace["matches"] == []


def test_a_threshold_that_nothing_reaches_is_named(index):
    found, _ = ask(index, threshold=0.99)
    assert "0.99" in found.empty_because


def test_evidence_names_its_seed_and_the_path_of_the_walk(index):
    found, _ = ask(index)
    why = {e.id: e.why for e in found.evidence}
    assert "seeded by 'Ada' (similarity 1.00)" in why["ada"]
    assert "most of it came by Ada" in why["bela"]
    assert "1 of the relations, best ada — bela" in why["d1.txt:0"]


def test_a_filter_removes_relations_from_the_walk(index, within):
    found, trace = ask(within(index, "d1.txt", "d2.txt"))
    assert "ezra" not in repr(found)
    assert "dora" not in repr(found)
    assert {name for name, _ in trace["entities"]} == {"ada", "bela", "cyra"}


def test_a_model_is_asked_once_for_the_entities(index):
    given = models(scripted_chat())
    FastGraphRAG()(QUESTION, index, given)
    assert [row.stage for row in given.calls.ledger() if row.model == "scripted"] == ["question_entities"]
