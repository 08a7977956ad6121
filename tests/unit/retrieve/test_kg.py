"""KG-GraphRAG: seeds, walks and weights worked out by hand on a chain of four statements."""

import numpy as np
import pytest

from polygraph.models import Calls, Models
from polygraph.retrieve import METHODS, triple_traversal
from polygraph.retrieve.methods.kg import KnowledgeGraph
from polygraph.retrieve.triple_traversal import traverse_triples
from polygraph.tasks.questions.keywords import graph_keywords
from polygraph.testing import WordEmbedder, scripted_chat

TEXTS = {
    "d1": "Ada funds Bela.",
    "d2": "Bela repairs Cyra.",
    "d3": "Cyra guards Dora.",
    "d4": "Ada visits Ezra.",
}
"""Each makes one statement, from the first name to the second."""
QUESTION = "What does Ada fund?"
FUNDS, VISITS, REPAIRS, GUARDS = (
    "ada | funds | bela", "ada | visits | ezra", "bela | repairs | cyra", "cyra | guards | dora",
)  # fmt: skip


WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra"))


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("kg"), TEXTS, models(scripted_chat())) as made:
        yield made


def ask(index, question=QUESTION, **parameters):
    parameters = {"similar_triples": 0, **parameters}
    found = KnowledgeGraph(**parameters)(question, index, models())
    return found, {step.name: step.value for step in found.trace}


def hops(trace):
    return {triple: hop for triple, hop, _ in trace["triples"]}


def weights(trace):
    return {chunk.partition(".")[0]: weight for chunk, weight in trace["passages"]}


# --- names ------------------------------------------------------------------------------------------------


def test_keywords_without_a_model_are_names_first():
    assert graph_keywords("Who paid the keeper of Gull Rock?", models(), method="kg") == (
        "Gull Rock", "paid", "keeper",
    )  # fmt: skip


def test_a_model_gives_keywords_in_one_call_and_at_most_ten(index):
    given = models(scripted_chat())
    found = KnowledgeGraph()(QUESTION, index, given)
    assert [row.stage for row in given.calls.ledger() if row.model == "scripted"] == ["graph_keywords"]
    assert found.trace[0].value == ["Ada", "fund"]
    long = "Who met " + ", ".join(f"Person{n}" for n in range(30)) + "?"
    assert len(graph_keywords(long, given, method="kg")) == 10


def test_a_name_in_the_question_is_a_seed(index):
    _, trace = ask(index)
    assert trace["seeds"] == [["ada", "'Ada' stands in the question"]]
    _, trace = ask(index, seed_names=False)
    assert trace["seeds"] == [["ada", "keyword 'Ada': its name"]]


def test_a_name_in_another_spelling_is_matched_by_the_nearest_name(index):
    _, trace = ask(index, "What did Lady Ada fund?", seed_names=False)
    assert trace["seeds"] == [["ada", "keyword 'Lady Ada': nearest name, cosine 1.000"]]
    # Without the cascade it is looked up word by word.
    _, trace = ask(index, "What did Lady Ada fund?", seed_names=False, match="exact")
    assert trace["seeds"] == [["ada", "word 'Ada' of keyword 'Lady Ada': its name"]]
    # Two names at once are as far from either: 1/√2, which is too far.
    _, trace = ask(index, "What did Ada Bela fund?", seed_names=False, threshold=0.8)
    assert [seed for seed, _ in trace["seeds"]] == ["ada", "bela"]
    assert all("word" in why for _, why in trace["seeds"])


def test_keywords_that_match_nothing_are_looked_up_word_by_word(index):
    method = KnowledgeGraph(seed_names=False, similar_triples=0)
    seeds = method.find_seeds("", ["Ada", "old Bela of Cyra"], index, models())
    assert [s.entity.id for s in seeds] == ["ada", "bela", "cyra"]
    always = METHODS["kg-triplets:rag-vs-graphrag"].find_seeds("", ["Ada", "old Bela"], index, models())
    assert [(s.entity.id, s.why) for s in always] == [
        ("ada", "keyword 'Ada': its name"),
        ("bela", "word 'Bela' of keyword 'old Bela': its name"),
    ]


# --- statements -------------------------------------------------------------------------------------------


def test_triples_are_followed_two_hops(index):
    found, trace = ask(index)
    assert hops(trace) == {FUNDS: 1, VISITS: 1, REPAIRS: 2}
    why = next(e.why for e in found.evidence if e.id == REPAIRS)
    assert why == "'Ada' stands in the question; hop 2 from Ada → Bela; cosine 0.000"
    _, trace = ask(index, depth=1)
    assert hops(trace) == {FUNDS: 1, VISITS: 1}
    _, trace = ask(index, depth=3)
    assert hops(trace) == {FUNDS: 1, VISITS: 1, REPAIRS: 2, GUARDS: 3}


def test_triples_are_followed_in_both_directions_unless_out(index):
    _, trace = ask(index, "What of Cyra?")
    assert hops(trace) == {REPAIRS: 1, GUARDS: 1, FUNDS: 2}
    _, trace = ask(index, "What of Cyra?", direction="out")
    assert hops(trace) == {GUARDS: 1}


def test_triples_are_ordered_by_cosine_with_the_question(index):
    # The question names Ada and Ezra: a statement of both has a cosine of 1, of one 1/2.
    _, trace = ask(index, "Did Ada meet Ezra?")
    assert [(t, round(c, 4)) for t, _, c in trace["triples"]] == [(VISITS, 1.0), (FUNDS, 0.5), (REPAIRS, 0.0)]
    _, trace = ask(index, "Did Ada meet Ezra?", max_triples=1)
    assert hops(trace) == {VISITS: 1}
    _, trace = ask(index, "Did Ada meet Ezra?", order="walk", max_triples=1)
    assert hops(trace) == {FUNDS: 1}


def test_similar_triples_are_added_and_never_truncated(index):
    _, trace = ask(index, "Did Ada meet Dora?", seed_names=False, match="exact", similar_triples=3, depth=1)
    assert hops(trace) == {GUARDS: 1, FUNDS: 1, VISITS: 1}
    _, trace = ask(index, "Who is there?", similar_triples=2)
    assert set(hops(trace).values()) == {0}
    # The walk comes upon the statement of Ada and Bela first; that of Ada and Ezra is the more similar.
    _, trace = ask(index, "Did Ada meet Ezra?", order="walk", similar_triples=1, max_triples=1)
    assert hops(trace) == {VISITS: 1}
    _, trace = ask(index, "Did Ada meet Ezra?", order="walk", similar_triples=1, max_triples=2)
    assert list(hops(trace)) == [FUNDS, VISITS]


def test_without_a_matching_name_the_retrieval_is_empty_with_the_reason(index):
    found, _ = ask(index, "Where is Quill?")
    assert found.evidence == ()
    assert found.empty_because == "the graph has no entity by the name of “Quill”"
    found, _ = ask(index, "Who is Dora?", direction="out")
    assert found.empty_because == "no statement of the graph leads from “Dora”"


def test_a_triple_is_shown_with_the_names_as_written(index):
    found, _ = ask(index, depth=1)
    assert [e.text for e in found.evidence] == ["Ada funds Bela", "Ada visits Ezra"]
    assert [e.kind for e in found.evidence] == ["relation", "relation"]


# --- passages ---------------------------------------------------------------------------------------------


def test_a_triple_divides_its_cosine_among_passages(index):
    found, trace = ask(index, text=True)
    # The question is Ada alone; the statements of Ada hold two names: c = 1/√2. Repairs has 0.
    # Ada's weight of 2c goes to d1 and d4, Bela's c to d1 and d2, Ezra's c to d4, Cyra's 0 to d2 and d3.
    c = 2**-0.5
    assert weights(trace) == pytest.approx(
        {"d4": c + c + c, "d1": c + c + c / 2, "d2": c / 2, "d3": 0}, abs=1e-5
    )
    assert [chunk.partition(".")[0] for chunk in found.ranking] == ["d4", "d1", "d2", "d3"]
    first = found.evidence[0]
    assert (first.kind, first.why) == ("chunk", "states 1 of the statements; their weight 2.121")


def test_the_index_of_the_paper_counts_ends_and_the_first_passages_of_names(index):
    found = METHODS["kg-text:rag-vs-graphrag"](QUESTION, index, models())
    trace = {step.name: step.value for step in found.trace}
    # Two hops out of Ada: ends are Ada twice, Bela twice, Ezra and Cyra once.
    # d1: 2 + 2, d2: 2 + 1, d3: 1, d4: 2 + 1; Ada is looked up: one more for d1 and d4.
    assert hops(trace) == {FUNDS: 1, VISITS: 1, REPAIRS: 2}
    assert weights(trace) == {"d1": 5, "d4": 4, "d2": 3, "d3": 1}


def test_passages_come_before_triples_and_are_limited(index):
    found, _ = ask(index, text=True, chunks_top=2)
    assert [e.kind for e in found.evidence] == ["chunk", "chunk", "relation", "relation", "relation"]
    assert len(found.ranking) == 4


def test_without_text_only_passages_that_state_a_triple_are_ranked(index):
    found, trace = ask(index)
    assert list(weights(trace)) == ["d4", "d1", "d2"]
    assert found.ranking == ("d4.txt:0", "d1.txt:0", "d2.txt:0")


# --- walks ------------------------------------------------------------------------------------------------


def walk(index, *names, scores=(0.0, 0.0, 0.0, 0.0), best_first=False, **options):
    rows = index.entity_rows(list(names))
    options = {"depth": 2, "per_node": 30, "direction": "both", **options}
    found = traverse_triples(
        [rows[n] for n in names], index, lambda ns: [scores[n] for n in ns], best_first=best_first, **options
    )
    return [(index.triples([r.n])[r.n].id, r.hop, len(r.path)) for r in found]


def test_the_traversal_reaches_every_triple_once_breadth_first(index):
    assert walk(index, "ada", "cyra", depth=5) == [
        (FUNDS, 1, 1), (VISITS, 1, 1), (REPAIRS, 1, 1), (GUARDS, 1, 1),
    ]  # fmt: skip
    assert walk(index, "dora", depth=9) == [(GUARDS, 1, 1), (REPAIRS, 2, 2), (FUNDS, 3, 3), (VISITS, 4, 4)]
    assert walk(index) == []


def test_the_traversal_follows_the_best_or_the_first_triples_of_an_entity(index):
    # Rows in the order of (subject, object): funds, visits, repairs, guards.
    assert walk(index, "ada", per_node=1, depth=1) == [(FUNDS, 1, 1)]
    assert walk(index, "ada", per_node=1, depth=1, scores=(0.1, 0.2, 0, 0), best_first=True) == [
        (VISITS, 1, 1)
    ]


def test_the_traversal_never_follows_hidden_triples(index):
    hidden = (-np.inf, 0.0, 0.0, 0.0)
    assert walk(index, "ada", depth=5, scores=hidden) == [(VISITS, 1, 1)]
    assert walk(index, "ada", per_node=1, depth=1, scores=hidden) == [(VISITS, 1, 1)]


def test_from_a_hub_only_the_nearest_triples_are_followed(index, monkeypatch):
    monkeypatch.setattr(triple_traversal, "MANY_TRIPLES", 1)
    scores = {"scores": (0.1, 0.2, 0.3, 0.4), "best_first": True, "depth": 1}
    # Ada has two neighbours, so that she is a hub; rows are funds, visits, repairs, guards.
    assert walk(index, "ada", near=[3, 1], **scores) == [(VISITS, 1, 1)]
    # Ezra has one neighbour, and shares its triple with the hub.
    assert walk(index, "ada", "ezra", near=[0], **scores) == [(VISITS, 1, 1), (FUNDS, 1, 1)]
    assert walk(index, "ada", near=[], **scores) == [(VISITS, 1, 1), (FUNDS, 1, 1)]
