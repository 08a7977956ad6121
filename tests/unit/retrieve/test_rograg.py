"""ROGRAG: dual-level rankings worked out by hand, the order of its stages, and the threshold that examples teach."""

import numpy as np
import pytest

from polygraph.errors import BadInput, UnusableReply
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import task_of
from polygraph.retrieve.answer import answer
from polygraph.retrieve.methods.rograg.dual import RogragDual
from polygraph.retrieve.methods.rograg.rograg import Rograg
from polygraph.retrieve.relevance import calibrate, fit_threshold, relevance
from polygraph.tasks.evidence.verify import filter_rows, parse_verdict
from polygraph.tasks.questions.intent import INTENTS, classify_intent, parse_intent
from polygraph.tasks.questions.keywords import Keywords
from polygraph.testing import WordEmbedder, scripted_chat

pytestmark = pytest.mark.usefixtures("listed_keywords")

TEXTS = {
    "d1": "Ada funds Bela.",
    "d2": "Bela repairs Cyra.",
    "d3": "Cyra guards Dora.",
    "d4": "Ada visits Ezra.",
}
"""Each makes one relation. Words of the entities' texts: ezra and dora 3, the others 5."""
QUESTION = "Which guards did Ada hire?"
"""Details: Ada. Themes: guards, hire."""


WORDS = WordEmbedder(("ada", "bela", "cyra", "dora", "ezra", "funds", "repairs", "guards", "visits"))


class Longest:
    """A reranker that prefers long texts."""

    name = "longest"
    local = True

    def score(self, question, texts):
        return np.array([float(len(t)) for t in texts])


def models(chat=None, reranker=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=reranker, calls=Calls(None))


def saying(**replies):
    """A scripted model that says these things to some tasks."""
    return scripted_chat(
        [(lambda request, task=task: task_of(request) == task, said) for task, said in replies.items()]
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("rograg"), TEXTS, models(scripted_chat())) as made:
        yield made


def traced(method, index, question=QUESTION, given=None):
    found = method(question, index, given or models())
    return found, {step.name: step.value for step in found.trace}


def passages(found):
    return [chunk.partition(".")[0] for chunk in found.ranking]


def cosines(pairs):
    return [[name, pytest.approx(cosine, abs=1e-5)] for name, cosine in pairs]


# --- dual-level -------------------------------------------------------------------------------------------


def test_expanded_keys_search_entities_by_both_levels_joined(index):
    _, trace = traced(RogragDual(seed_names=False), index)
    assert trace["keywords"]["details"] == ["Ada", "guards", "hire"]
    # Two words that count, one of them in each text: 1/√(2·3) and 1/√(2·5).
    assert trace["entities by details"] == cosines(
        [("dora", 6**-0.5), ("ezra", 6**-0.5), ("ada", 10**-0.5), ("bela", 10**-0.5), ("cyra", 10**-0.5)]
    )


def test_without_expansion_only_low_level_keywords_find_entities(index):
    _, trace = traced(RogragDual(seed_names=False, expand=False), index)
    assert trace["entities by details"] == cosines([("ezra", 3**-0.5), ("ada", 5**-0.5), ("bela", 5**-0.5)])


def test_exact_matching_searches_each_keyword_alone_and_keeps_the_best(index):
    _, trace = traced(RogragDual(seed_names=False, matching="exact"), index)
    assert trace["entities by details"] == cosines(
        [("dora", 3**-0.5), ("ezra", 3**-0.5), ("ada", 5**-0.5), ("bela", 5**-0.5), ("cyra", 5**-0.5)]
    )


def test_limits_and_threshold_hold(index):
    _, trace = traced(RogragDual(seed_names=False, entities=2, relations=1), index)
    assert [name for name, _ in trace["entities by details"]] == ["dora", "ezra"]
    _, trace = traced(RogragDual(seed_names=False, threshold=0.4), index)
    assert [name for name, _ in trace["entities by details"]] == ["dora", "ezra"]


def test_levels_are_merged_high_level_first_and_names_before_both(index):
    # Themes: the relation of Cyra and Dora, 1/√3.
    _, trace = traced(RogragDual(seed_names=False), index)
    assert trace["relations by themes"] == cosines([("cyra | dora", 3**-0.5)])
    assert trace["entities"] == ["cyra", "dora", "ezra", "ada", "bela"]
    assert trace["relations"][0] == "cyra | dora"
    _, trace = traced(RogragDual(), index)
    assert trace["entities"] == ["ada", "cyra", "dora", "ezra", "bela"]


def test_in_the_order_of_the_code_passages_follow_the_high_level_relations_then_the_entities(index):
    found, _ = traced(RogragDual(seed_names=False, order="graph"), index)
    # d3 states the theme's relation; of the entities Dora adds nothing, Ezra d4, Ada d1, Bela d2.
    assert passages(found) == ["d3", "d4", "d1", "d2"]


def test_by_similarity_passages_follow_their_cosine_with_the_question(index):
    found, _ = traced(RogragDual(seed_names=False), index)
    # The question's words that count are Ada and guards: d1, d3 and d4 hold one of them, d2 none; ties by row.
    assert passages(found) == ["d1", "d3", "d4", "d2"]
    assert any(f"cosine {6**-0.5:.3f}" in e.why for e in found.evidence if e.kind == "chunk")


def test_the_first_passages_are_reranked(index):
    given = models(reranker=Longest())
    # The longest text is that of d2, then those of d3 and d4, of equal length.
    found, _ = traced(RogragDual(seed_names=False, order="graph", rerank=2), index, given=given)
    assert passages(found) == ["d3", "d4", "d1", "d2"]
    found, _ = traced(RogragDual(seed_names=False, order="graph", rerank=4), index, given=given)
    assert passages(found) == ["d2", "d3", "d4", "d1"]
    assert "reranked" in next(e.why for e in found.evidence if e.kind == "chunk")


def test_each_kind_keeps_to_its_own_budget(index):
    found, _ = traced(RogragDual(entity_tokens=30, relation_tokens=8_000, chunk_tokens=12_000), index)
    kinds = [e.kind for e in found.evidence]
    assert kinds.count("entity") < 5
    assert kinds.count("chunk") == 4
    assert any(cut.kind == "entity" and cut.budget == 30 for cut in found.cuts)


def test_a_question_unlike_anything_in_the_graph_finds_nothing(index):
    found, _ = traced(RogragDual(), index, "What about xylophones?")
    assert "cosine of 0.2" in found.empty_because


# --- stages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("?", "0 letters and digits"),
        ("x!", "1 letters and digits"),
        ("Good morning!", "greeting"),
        ("Who are you?", "the system itself"),
        ("Thanks, bye", "greeting"),
    ],
)
def test_text_that_is_not_a_question_gets_no_retrieval_and_says_so(index, question, why):
    for chat in (None, scripted_chat()):
        given = models(chat)
        found, trace = traced(Rograg(), index, question, given)
        assert why in found.empty_because
        assert "relevance" not in trace
        assert "steps" not in trace
        assert (found.evidence, found.ranking) == ((), ())
        told = answer(question, found, index, given)
        assert told.refused
        assert why in told.text


def test_greetings_are_looked_up_without_the_check_of_intents(index):
    found, trace = traced(Rograg(intents=False), index, "Good morning, Ada!")
    assert "intent" not in trace
    assert found.evidence


def test_relevance_is_the_mean_of_the_best_entity_and_the_best_relation(index):
    near = relevance(Keywords(low=("Ada",), high=("guards", "hire")), index, models())
    assert (near.entity, near.relation) == (
        pytest.approx(3**-0.5, abs=1e-5),
        pytest.approx(3**-0.5, abs=1e-5),
    )
    assert near.score == pytest.approx(3**-0.5, abs=1e-5)
    near = relevance(Keywords(low=("Ada",), high=("xylophones",)), index, models())
    assert near.score == pytest.approx(3**-0.5 / 2, abs=1e-5)
    near = relevance(Keywords(low=(), high=("guards",)), index, models())
    assert (near.entity, near.score) == (None, pytest.approx(3**-0.5, abs=1e-5))
    assert relevance(Keywords(low=(), high=()), index, models()).score == 0.0


def test_a_question_far_from_the_graph_is_refused_with_the_figures(index):
    found, trace = traced(Rograg(refuse_below=0.9), index)
    assert found.empty_because.startswith(
        "nothing in the graph is near the question (relevance 0.577, below 0.9)"
    )
    assert "steps" not in trace
    found, _ = traced(Rograg(refuse_below=0.0), index)
    assert found.evidence


def test_a_logic_form_that_passes_the_check_is_the_retrieval(index):
    found, trace = traced(Rograg(), index, given=models(saying(supports="YES.")))
    assert trace["verified"] == {"check": "pre", "holds": True, "calls": 1}
    assert found.evidence[0].kind == "summary"
    assert not any(name.startswith("dual-level") for name in trace)


@pytest.mark.parametrize("verdict", ["NO", "Perhaps.", "It says YES somewhere"])
def test_a_logic_form_that_fails_or_has_no_clear_verdict_falls_back_to_dual_level(index, verdict):
    given = models(saying(supports=verdict))
    found, trace = traced(Rograg(), index, given=given)
    assert trace["verified"]["holds"] is False
    dual, plain = traced(RogragDual(), index, given=given)
    assert (found.evidence, found.ranking, found.method) == (dual.evidence, dual.ranking, "rograg")
    assert {f"dual-level: {name}" for name in plain} <= set(trace)
    # The keywords are asked for twice, and paid for once.
    ledger = [r for r in given.calls.ledger() if r.stage == "keywords" and r.method == "rograg"]
    assert (sum(r.attempts for r in ledger), sum(r.cached for r in ledger)) == (1, 1)


def test_result_checking_judges_an_answer_and_gives_it_without_another_call(index):
    given = models(saying(answer="Cyra guards Dora. [1]", answered="YES"))
    found, trace = traced(Rograg(verify="post"), index, given=given)
    assert trace["verified"] == {"check": "post", "holds": True, "calls": 2}
    assert found.draft == "Cyra guards Dora. [1]"
    answer(QUESTION, found, index, given)
    assert sum(r.attempts + r.cached for r in given.calls.ledger() if r.stage == "answer") == 1
    found, trace = traced(Rograg(verify="post"), index, given=models(saying(answered="NO")))
    assert (found.draft, trace["verified"]["holds"]) == ("", False)


def test_without_a_check_any_logic_form_with_evidence_is_the_retrieval(index):
    _, trace = traced(Rograg(verify="none"), index, given=models(saying(supports="NO")))
    assert trace["verified"] == {"check": "none", "holds": True, "calls": 0}
    found, trace = traced(Rograg(verify="none"), index, given=models(saying(plan="no plan")))
    assert (trace["verified"]["holds"], trace["plan"]["calls"]) == (False, 4)
    assert found.evidence


def test_a_question_about_the_whole_collection_is_not_refused_for_naming_nothing(index):
    _, trace = traced(Rograg(refuse_below=0.9), index, "What are the main themes of these documents?")
    assert "plan" in trace


# --- tasks ------------------------------------------------------------------------------------------------


def test_verdicts_are_read_from_the_first_word_only():
    assert parse_verdict("<think>no?</think>YES, all of it") is True
    assert parse_verdict("**No**") is False
    for text in ("", "Possibly yes", "support", "Yesterday it was"):
        with pytest.raises(UnusableReply):
            parse_verdict(text)


def test_intents_are_read_from_the_first_word_and_default_to_question():
    for intent in INTENTS:
        assert parse_intent(f"**{intent.upper()}**") == intent
    with pytest.raises(UnusableReply):
        parse_intent("It is a GREETING")
    assert classify_intent("Hello", models(saying(intent="well…")), method="test") == "question"


def test_rows_are_judged_forty_at_a_time():
    given = models(saying(keep_rows='{"keep": [1, 40, 41, true, "2"]}'))
    kept, calls = filter_rows([f"row {n}" for n in range(50)], "odd", given, method="test")
    # 41 is beyond the first batch, and 40 beyond the second, which has ten.
    assert (kept, calls) == ([0, 1, 39, 40, 41], 2)


# --- calibration ------------------------------------------------------------------------------------------


def brute_force(good, bad):
    """The best precision + recall over every cut between the scores."""
    best = 0.0
    for cut in [*good, *bad]:
        passed, wrong = sum(g >= cut for g in good), sum(b >= cut for b in bad)
        if passed:
            best = max(best, passed / (passed + wrong) + passed / len(good))
    return best


@pytest.mark.parametrize("seed", range(30))
def test_no_other_threshold_has_more_precision_and_recall(seed):
    rng = np.random.default_rng(seed)
    good = (rng.integers(0, 20, 8) / 20 + 0.2).tolist()
    bad = (rng.integers(0, 20, 6) / 20).tolist()
    found = fit_threshold(good, bad)
    passed, wrong = sum(g >= found.threshold for g in good), sum(b >= found.threshold for b in bad)
    assert found.precision == passed / (passed + wrong)
    assert found.recall == passed / len(good)
    assert found.precision + found.recall == pytest.approx(brute_force(good, bad))


def test_of_equal_thresholds_the_one_that_refuses_least_is_chosen():
    # 0.5: 1 + 1/2; 0.3: 2/3 + 1. The latter.
    assert fit_threshold([0.5, 0.3], [0.4]).threshold == 0.3
    assert fit_threshold([0.6], [0.2]).threshold == 0.4
    with pytest.raises(ValueError, match="answerable and of unanswerable"):
        fit_threshold([], [0.1])


def test_a_threshold_is_fitted_on_questions(index):
    found = calibrate(["Who funds Bela?", QUESTION], ["Where are xylophones made?"], index, models())
    assert found.unanswerable == (0.0,)
    assert min(found.answerable) > 0.2
    assert 0.0 < found.threshold < min(found.answerable)
    assert (found.precision, found.recall) == (1.0, 1.0)
    with pytest.raises(BadInput, match="should not"):
        calibrate([QUESTION], [], index, models())
