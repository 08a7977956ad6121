"""LightRAG: values worked out by hand on a graph of five entities whose vectors have one place for each word."""

from dataclasses import replace

import numpy as np
import pytest

from polygraph.models import Calls, Models
from polygraph.retrieve import METHODS
from polygraph.retrieve.dual_level import RelationReader
from polygraph.retrieve.linked_passages import (
    PassageCosines,
    assign_to_first,
    pick_by_quota,
    rank_by_statements,
)
from polygraph.retrieve.methods.lightrag import LightRAG
from polygraph.retrieve.row_texts import RowTexts
from polygraph.testing import WordEmbedder, scripted_chat

pytestmark = pytest.mark.usefixtures("listed_keywords")

TEXTS = {
    "d1": "Ada funds Bela.",
    "d2": "Bela repairs Cyra.",
    "d3": "Cyra guards Dora.",
    "d4": "Ada visits Ezra.",
}
"""Each makes one relation. Neighbours: ada 2, bela 2, cyra 2, dora 1, ezra 1."""
QUESTION = "Which guards did Ada hire?"
"""Details: Ada. Themes: guards, hire."""


WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra", "funds", "repairs", "guards", "visits"))


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("lightrag"), TEXTS, models(scripted_chat())) as made:
        yield made


def ask(index, question=QUESTION, **parameters):
    found = LightRAG(**parameters)(question, index, models())
    return found, {step.name: step.value for step in found.trace}


def ids(found, kind):
    return [e.id for e in found.evidence if e.kind == kind]


def passages(found):
    return [chunk.partition(".")[0] for chunk in found.ranking]


def test_low_level_keywords_find_entities_by_cosine_and_their_relations_by_degree(index):
    found, trace = ask(index, mode="local")
    assert trace["keywords"] == {"details": ["Ada"], "themes": ["guards", "hire"]}
    # Ezra's text holds three words, one of them Ada: 1/√3. Those of Ada and Bela hold five: 1/√5.
    assert trace["entities by details"] == [
        ["ezra", pytest.approx(3**-0.5, abs=1e-5)],
        ["ada", pytest.approx(5**-0.5, abs=1e-5)],
        ["bela", pytest.approx(5**-0.5, abs=1e-5)],
    ]
    # Neighbours of both ends: 2 + 2, 2 + 2, 2 + 1.
    assert trace["relations of these"] == [
        ["ada | bela", 4, 5.0],
        ["bela | cyra", 4, 5.0],
        ["ada | ezra", 3, 5.0],
    ]
    assert "relations by themes" not in trace
    assert ids(found, "entity") == ["ezra", "ada", "bela"]


def test_high_level_keywords_find_relations_by_cosine_and_their_ends_in_order_of_appearance(index):
    found, trace = ask(index, mode="global")
    assert trace["relations by themes"] == [["cyra | dora", pytest.approx(3**-0.5, abs=1e-5)]]
    assert trace["entities of these"] == ["cyra", "dora"]
    assert "entities by details" not in trace
    assert passages(found)[0] == "d3"


def test_the_levels_are_interleaved_low_level_first(index):
    _, trace = ask(index, mode="hybrid")
    assert trace["entities"] == ["ezra", "cyra", "ada", "dora", "bela"]
    assert trace["relations"] == ["ada | bela", "cyra | dora", "bela | cyra", "ada | ezra"]
    assert trace["passages near the question"] == []


def test_version_1_0_puts_the_high_level_before_the_low_level(index):
    found = METHODS["lightrag-hybrid:unbiased-evaluation"](QUESTION, index, models())
    trace = {step.name: step.value for step in found.trace}
    assert trace["entities"] == ["cyra", "dora", "ezra", "ada", "bela"]
    assert trace["relations"] == ["cyra | dora", "ada | bela", "bela | cyra", "ada | ezra"]
    # The relation's passage, then those of Ezra, Ada and Bela.
    assert passages(found) == ["d3", "d4", "d1", "d2"]


def test_mix_interleaves_passages_near_the_question(index):
    found, trace = ask(index, mode="mix")
    # The question holds two words of the texts; d1, d3 and d4 hold one of them and two others: 1/√6. d2 holds none.
    assert [c.partition(".")[0] for c in trace["passages near the question"]] == ["d1", "d3", "d4"]
    assert passages(found) == ["d1", "d3", "d4", "d2"]
    assert "cosine 0.408" in next(e.why for e in found.evidence if e.kind == "chunk")


def test_relations_rank_their_passages_though_entities_mention_them(index):
    # Dora and Cyra are in d3, and Cyra in d2; the relation found by "guards" rests on d3.
    _, trace = ask(index, mode="global")
    assert [c.partition(".")[0] for c in trace["passages of the entities"]] == ["d3", "d2"]
    assert [c.partition(".")[0] for c in trace["passages of the relations"]] == ["d3"]
    _, trace = ask(index, mode="global", pick="similarity")
    assert len(trace["passages of the entities"]) == 2
    assert trace["passages of the relations"] == []


def test_reasons_of_a_passage_are_listed_once(index):
    found, _ = ask(index, mode="mix")
    why = next(e.why for e in found.evidence if e.kind == "chunk" and e.id.startswith("d3"))
    assert why == "cosine 0.408 with the question; mentions Cyra; states cyra | dora"


def test_passages_by_quota_follow_the_rows(index):
    found, _ = ask(index, mode="local", pick="quota")
    # Ezra's, then Ada's other one, then Bela's other one.
    assert passages(found) == ["d4", "d1", "d2"]
    assert [e.why for e in found.evidence if e.kind == "chunk"] == [
        "mentions Ezra",
        "mentions Ada",
        "mentions Bela",
    ]


def test_a_threshold_drops_distant_hits(index):
    _, trace = ask(index, mode="local", threshold=0.5)
    assert [e for e, _ in trace["entities by details"]] == ["ezra"]
    found, _ = ask(index, mode="local", threshold=0.99)
    assert "no entity is near" in found.empty_because


def test_a_level_without_keywords_uses_those_of_the_other_unless_switched_off(index):
    _, trace = ask(index, "Ada?", mode="global", threshold=0.1)
    assert trace["keywords"] == {"details": ["Ada"], "themes": ["Ada"]}
    assert [r for r, _ in trace["relations by themes"]] == ["ada | bela", "ada | ezra"]
    found, trace = ask(index, "Ada?", mode="global", fill_empty=False)
    assert trace["keywords"]["themes"] == []
    assert "no relation is near" in found.empty_because


def test_a_short_question_without_keywords_is_its_own_low_level_keyword(index):
    _, trace = ask(index, "Who is it?", mode="local", fill_empty=False)
    assert trace["keywords"] == {"details": ["Who is it?"], "themes": []}
    _, trace = ask(index, "Who is it? " * 9, mode="local", fill_empty=False)
    assert trace["keywords"] == {"details": [], "themes": []}


def test_tables_are_truncated_to_their_budgets_with_a_record(index):
    # "Ezra (concept): Ada visits Ezra." is a dozen tokens.
    found, trace = ask(index, mode="local", entity_tokens=30)
    assert trace["entities"] == ["ezra"]
    (cut,) = [c for c in found.cuts if c.kind == "entity"]
    assert (cut.n_items, cut.budget) == (2, 30)
    # The passages of rows that were cut are not read.
    assert trace["passages of the entities"] == ["d4.txt:0"]


def test_a_small_budget_shrinks_the_tables_and_keeps_passages(index):
    found, _ = ask(index, mode="mix", max_tokens=120)
    assert {e.kind for e in found.evidence} == {"entity", "relation", "chunk"}


def test_the_presets_of_version_1_0_never_shrink_their_budgets():
    for name in ("lightrag-local:v1-0", "lightrag-global:v1-0", "lightrag-hybrid:unbiased-evaluation"):
        method = METHODS[name]
        levels = 2 if method.mode == "hybrid" else 1
        tables = levels * (method.entity_tokens + method.relation_tokens)
        assert method.tables_share * method.max_tokens >= tables
        assert method.max_tokens == tables + levels * method.passage_tokens
    assert LightRAG().tables_share * 30_000 >= 6_000 + 8_000


def test_a_row_found_on_both_levels_gives_both_reasons(index):
    found, _ = ask(index, "Who funds Ada?", mode="hybrid", threshold=0.1)
    why = next(e.why for e in found.evidence if e.id == "ada | bela")
    assert (
        why == "of Ada; its ends have 4 neighbours, weight 5.0; cosine 0.577 with the themes of the question"
    )


def test_reranking_orders_passages_only(index):
    class Lengths:
        name = "lengths"
        local = True

        def score(self, question, texts):
            return np.array([-float(len(t)) for t in texts])

    given = replace(models(), reranker=Lengths())
    plain = LightRAG(mode="mix")(QUESTION, index, given)
    found = LightRAG(mode="mix", rerank=20)(QUESTION, index, given)
    # Fifteen letters, sixteen, sixteen, seventeen... the shortest first, ties by row.
    assert passages(found) == sorted(passages(plain), key=lambda d: (len(TEXTS[d]), d))
    assert ids(found, "entity") == ids(plain, "entity")


def test_one_call_asks_for_keywords_and_modes_share_it(index):
    given = models(scripted_chat())
    for mode in ("local", "global", "hybrid", "mix"):
        LightRAG(mode=mode)(QUESTION, index, given)
    rows = [row for row in given.calls.ledger() if row.model == "scripted"]
    assert [row.stage for row in rows] == ["keywords"] * 4
    assert sum(row.attempts for row in rows) == 1


# --- passages behind rows ---------------------------------------------------------------------------------


def test_a_passage_belongs_to_the_first_row_that_cites_it():
    assert assign_to_first([["a", "b", "a"], ["b", "c"], []]) == [["a", "b"], ["c"], []]
    assert assign_to_first([["a"], ["b"]], exclude={"a"}) == [[], ["b"]]


def test_quotas_fall_linearly_to_one_and_unused_quotas_are_redistributed():
    rows = [[f"{row}{n}" for n in range(9)] for row in "abc"]
    # 5, 3 and 1.
    assert pick_by_quota(rows, 5) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2", "c0"]
    # b cannot use 2 of its 3: they go to a and c.
    assert pick_by_quota([rows[0], ["b0"], rows[2]], 5) == [
        "a0",
        "a1",
        "a2",
        "a3",
        "a4",
        "b0",
        "c0",
        "a5",
        "c1",
    ]
    assert pick_by_quota([["a0", "a1"]], 5) == ["a0", "a1"]
    assert pick_by_quota([], 5) == []


def test_passages_by_similarity_break_ties_by_row(index):
    chunks, texts = ["d4.txt:0", "d2.txt:0", "d1.txt:0"], RowTexts(index, "Ada")
    cosines = PassageCosines(WORDS.embed(["Ada"], "query")[0], index)
    found = rank_by_statements(chunks, [], cosines, texts)
    assert [p.chunk for p in found] == ["d1.txt:0", "d4.txt:0", "d2.txt:0"]
    assert found[0].cosine == pytest.approx(3**-0.5, abs=1e-5)
    assert rank_by_statements(chunks, [], cosines, texts, most=2) == found[:2]
    assert rank_by_statements([], [], cosines, texts) == []


def test_a_question_about_the_whole_collection_asks_a_model_for_an_overview(index):
    def form(question, chat):
        return LightRAG()(question, index, models(chat)).answer_form

    broad = "Which funds recur throughout these papers?"
    assert (form(broad, scripted_chat()), form(QUESTION, scripted_chat())) == ("overview", "cited")
    assert form(broad, None) == "cited"


def test_the_first_relations_are_traced_by_id_and_weight_without_their_texts(index):
    rows = list(range(index.store.count("relations")))[::-1]
    whole = index.relations(rows)
    expected = [(whole[n].id, whole[n].weight) for n in rows]
    assert RelationReader(index).heads(rows) == expected
    within = index.where({"id": "*"})
    assert RelationReader(within).heads(rows) == expected
