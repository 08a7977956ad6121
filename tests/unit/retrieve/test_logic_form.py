"""Logic forms: values worked out by hand on a graph whose vectors have one place for each word."""

import json
from dataclasses import replace

import pytest

from polygraph.errors import UnusableReply
from polygraph.models import Calls, Models
from polygraph.models.providers.scripted import ScriptedChat, task_of
from polygraph.retrieve.methods.rograg.executor import PlanExecutor
from polygraph.retrieve.methods.rograg.fact_search import MatchingOptions, link_name, search_facts
from polygraph.retrieve.methods.rograg.logic_form import RogragLogic
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.plan import Plan, parse_plan, plan, plan_by_rules, referenced_aliases
from polygraph.testing import WordEmbedder, scripted_chat

TEXTS = {
    "d1": "Ada built Alder in 1871.",
    "d2": "Bela built Brook in 1889.",
    "d3": "Ada married Cyra.",
    "d4": "Cyra owns Dora.",
    "d5": "Bela visits Ezra.",
    "d6": "Ada visits Ezra.",
    "d7": "Fern lent Gale £12 and three shillings.",
    "d8": "Hugo lent Gale £30.",
}
"""Each makes one statement, from the first name to the second."""
PAPER = MatchingOptions(
    link_threshold=0.2,
    predicate_threshold=0.2,
    max_hops=2,
    facts=10,
    min_facts=0,
    whole_facts=False,
    rerank=0,
)


WORDS = WordEmbedder(
    (
        *("ada", "bela", "cyra", "dora", "ezra", "fern", "gale"),
        *("hugo", "alder", "brook", "built", "married", "owns", "visits", "lent"),
    )
)


def models(chat=None):
    return Models(chat=chat, embedder=WORDS, name_embedder=WORDS, reranker=None, calls=Calls(None))


def saying(**replies):
    """A scripted model that says these things to some tasks; a list is said one after the other."""
    waiting = {task: list(said) if isinstance(said, list) else None for task, said in replies.items()}

    def reply(task, said):
        return lambda request: waiting[task].pop(0) if waiting[task] is not None else said

    return scripted_chat(
        [
            (lambda request, task=task: task_of(request) == task, reply(task, said))
            for task, said in replies.items()
        ]
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory, index_of):
    with index_of(tmp_path_factory.mktemp("logic"), TEXTS, models(scripted_chat())) as made:
        yield made


def row(index, name):
    (n,) = index.entities_named([name])[name]
    return n


def facts(index, subject="", predicate="", object_="", how=PAPER):
    known = [[row(index, name)] if name else [] for name in (subject, object_)]
    return search_facts(
        f"{subject} {predicate} {object_}?", known[0], predicate, known[1], index, models(), how
    )


def ids(found):
    return [f.triple.id for f in found]


def steps_of(*steps):
    return json.dumps({"steps": list(steps)})


def look(alias, subject="", predicate="", object_="", **more):
    return {
        "question": f"{subject} {predicate} {object_}",
        "operator": "retrieve",
        "alias": alias,
        "subject": subject,
        "predicate": predicate,
        "object": object_,
        **more,
    }


def run(index, *steps, chat=None, how=PAPER):
    made = parse_plan(steps_of(*steps))
    return PlanExecutor(index, models(chat), how, passages=5, method="test").run(made)


# --- linking and statements -------------------------------------------------------------------------------


def test_a_name_is_linked_exactly_or_to_the_nearest_above_the_threshold(index):
    assert link_name("ADA", index, models(), 0.2).rows == (row(index, "Ada"),)
    assert link_name("ADA", index, models(), 0.2).score == 1.0
    # Two words, one of which is Cyra: 1/√2.
    near = link_name("cyra owns", index, models(), 0.2)
    assert (near.rows, near.score) == ((row(index, "Cyra"),), pytest.approx(2**-0.5, abs=1e-5))
    assert link_name("cyra owns", index, models(), 0.8).rows == ()
    assert link_name("Nobody", index, models(), 0.2).rows == ()


def test_with_one_end_known_its_triples_are_filtered_by_predicate_in_both_directions(index):
    found = facts(index, "Ada", "built")
    assert ids(found) == ["ada | built | alder"]
    assert found[0].score == 1.0
    assert ids(facts(index, "", "visits", "Ezra")) == ["ada | visits | ezra", "bela | visits | ezra"]
    assert ids(facts(index, "Ezra", "visits")) == ["ada | visits | ezra", "bela | visits | ezra"]


def test_triples_below_the_threshold_are_dropped_except_the_minimum(index):
    assert facts(index, "Ada", "owns") == []
    kept = facts(index, "Ada", "owns", how=replace(PAPER, min_facts=2))
    # All score 0: the order is that of rows, which is that of ids.
    assert ids(kept) == ["ada | built | alder", "ada | married | cyra"]


def test_with_both_ends_known_paths_of_two_hops_connect_them(index):
    found = facts(index, "Ada", "owns", "Dora")
    # The path holds one statement like the predicate: it is kept whole, by the better of the two.
    assert sorted(ids(found)) == ["ada | married | cyra", "cyra | owns | dora"]
    assert all("Ada – Cyra – Dora" in f.why for f in found)
    assert facts(index, "Ada", "lent", "Dora") == []
    assert facts(index, "Ada", "owns", "Dora", replace(PAPER, max_hops=1)) == []
    assert facts(index, "Ada", "owns", "Gale") == []


def test_without_a_path_a_model_reads_what_is_stated_of_either_end(index):
    ends = look("x", "Ada", "married", "Gale")
    whole = replace(PAPER, whole_facts=True)
    found = run(index, ends, chat=scripted_chat(), how=whole)["x"]
    assert ids(found.facts)[0] == "ada | married | cyra"
    assert "no path joins the two" not in found.problem
    # Without a model, everything that is found is the answer.
    assert run(index, ends, how=whole)["x"].problem == "no path joins the two"


def test_for_a_phrase_that_is_no_name_statements_near_the_question_are_read_too(index):
    # The nearest name is Cyra's; what the question asks for is said of others.
    step = look("x", object_="lent cyra gale")
    read = {}
    for chat in (None, scripted_chat()):
        read[chat is None] = run(index, step, chat=chat, how=replace(PAPER, whole_facts=True))["x"]
    assert "fern | lent | gale" not in ids(read[True].facts)
    assert {"fern | lent | gale", "hugo | lent | gale"} <= {*ids(read[False].facts)}


def test_with_a_predicate_alone_all_triples_of_the_nearest_predicate_are_found(index):
    assert ids(facts(index, predicate="lent")) == ["fern | lent | gale", "hugo | lent | gale"]
    assert facts(index, predicate="sold") == []


def test_a_whole_triple_may_match_the_question(index):
    how = replace(PAPER, whole_facts=True)
    # The question holds two of the three words of the statement, and no others that count: 2/√(2·3).
    found = facts(index, "Ada", "", "", how)
    assert found[0].score == pytest.approx(3**-0.5, abs=1e-5)
    asked = search_facts("Who married Ada?", [row(index, "Ada")], "wed", [], index, models(), how)
    assert asked[0].triple.id == "ada | married | cyra"
    assert asked[0].score == pytest.approx(2 / 6**0.5, abs=1e-5)


# --- operators over results -------------------------------------------------------------------------------


def test_distinct_entities_are_counted_without_a_model(index):
    done = run(
        index,
        look("v", "", "visits", "Ezra"),
        {"question": "How many?", "operator": "count", "alias": "n", "of": ["@v"]},
    )
    assert (done["n"].quantity.value, done["n"].text) == (2.0, "2 (Ada; Bela)")
    assert set(done["n"].chunks) == set(done["v"].chunks)


def test_the_earlier_of_two_and_the_years_between_are_computed_from_their_passages(index):
    done = run(
        index,
        look("a", "Ada", "built"),
        look("b", "Bela", "built"),
        {
            "question": "Who was earlier?",
            "operator": "compare",
            "alias": "c",
            "of": ["@b", "@a"],
            "op": "earlier",
        },
        {
            "question": "Years?",
            "operator": "compare",
            "alias": "d",
            "of": ["a", "b"],
            "op": "diff",
            "key": "year",
        },
        {"question": "Sum?", "operator": "math", "alias": "m", "expression": "(@b - @a) * 2"},
    )
    assert done["c"].text == "Ada (Bela: 1889; Ada: 1871)"
    assert (done["d"].quantity.value, done["m"].quantity.value) == (18.0, 36.0)
    assert done["d"].text == "18 years (1871; 1889)"
    assert len(done["m"].facts) == 2


def test_arithmetic_has_one_unit_for_each_kind_of_quantity(tmp_path, index_of):
    texts = {"d1": "Ada visits Alder over 2 km.", "d2": "Bela visits Brook over 500 m."}
    with index_of(tmp_path, texts, models(scripted_chat())) as lengths:
        done = run(
            lengths,
            look("a", "Ada", "visits"),
            look("b", "Bela", "visits"),
            {"question": "?", "operator": "compare", "alias": "d", "of": ["a", "b"], "op": "diff"},
            {"question": "?", "operator": "math", "alias": "m", "expression": "@a - @b"},
            {"question": "?", "operator": "math", "alias": "n", "expression": "@d * 2"},
        )
    assert done["d"].text == "1.5 km (2 km; 500 m)"
    assert done["m"].text == "a - b = 1.5 (a = 2 km, b = 0.5 km)"
    assert done["n"].text == "d * 2 = 3 (d = 1.5 km)"


def test_sums_sorting_and_filters_read_the_sentences_of_each_row(index):
    done = run(
        index,
        look("l", "", "lent", "Gale"),
        {"question": "Total?", "operator": "sum", "alias": "t", "of": ["l"], "key": "amount"},
        {"question": "Largest?", "operator": "sort", "alias": "s", "of": ["l"], "key": "amount", "limit": 1},
        {"question": "?", "operator": "filter", "alias": "f", "of": ["l"], "condition": "less than £20"},
        {"question": "?", "operator": "filter", "alias": "g", "of": ["l"], "condition": "lent shillings"},
    )
    assert (done["t"].text, done["t"].quantity.value) == ("£42", 42.0)
    assert done["s"].text == "Hugo (£30)"
    assert done["f"].text == done["g"].text == "Fern"


def test_a_later_step_continues_from_the_result_of_an_earlier_one(index):
    done = run(index, look("x", "Ada", "married"), look("y", "@x", "owns"))
    assert [r.name for r in done["y"].rows] == ["Dora"]
    assert [item.text for item in done["y"].linked] == ["Cyra"]


def test_a_condition_keeps_the_triples_whose_sentence_fulfils_it(index):
    done = run(index, look("x", predicate="built", where="after 1880"))
    assert ids(done["x"].facts) == ["bela | built | brook"]


def test_a_step_that_cannot_be_computed_says_why_and_the_others_run(index):
    done = run(
        index,
        look("x", "Nobody", "built"),
        look("y", "Ada", "married"),
        {"question": "?", "operator": "count", "alias": "n", "of": ["x"]},
        {"question": "?", "operator": "math", "alias": "m", "expression": "@y / 0"},
        {"question": "?", "operator": "compare", "alias": "c", "of": ["x", "y"], "op": "max"},
    )
    assert "no entity is near “Nobody”" in done["x"].problem
    assert "earlier steps found nothing" in done["n"].problem
    assert "cannot be worked out" in done["m"].problem
    assert "cannot be compared" in done["c"].problem
    assert done["y"].facts


def test_with_a_model_a_step_is_answered_and_narrowed_to_what_the_answer_names(index):
    chat = saying(sub_answer='{"answer": "Bela did", "names": ["Bela"]}')
    done = run(
        index,
        look("v", "", "visits", "Ezra"),
        {"question": "How many?", "operator": "count", "alias": "n", "of": ["v"]},
        chat=chat,
    )
    assert done["v"].text == "Bela did"
    assert [r.name for r in done["v"].rows] == ["Bela"]
    assert (done["n"].quantity.value, done["v"].calls, done["n"].calls) == (1.0, 1, 0)


def test_rows_that_code_cannot_decide_are_judged_by_the_model_in_one_call(index):
    done = run(
        index,
        look("l", "", "lent", "Gale"),
        {"question": "?", "operator": "filter", "alias": "g", "of": ["l"], "condition": "is generous"},
        chat=saying(sub_answer='{"answer": "x", "names": ["Fern", "Hugo"]}', keep_rows='{"keep": [2, 9]}'),
    )
    assert ([r.name for r in done["g"].rows], done["g"].calls) == (["Hugo"], 1)


def test_the_question_of_a_step_names_the_results_that_it_builds_on(index):
    asked = []

    def answered(request):
        asked.append(request.messages[1].content)
        return '{"answer": "Cyra", "names": ["Cyra"]}'

    chat = ScriptedChat([(lambda request: task_of(request) == "sub_answer", answered)])
    done = run(
        index,
        look("a", "Ada", "married", question="Whom did Ada marry?"),
        look("b", "@a", "owns", question="What does that person own?"),
        look("c", "@a", "owns", question="What does @a own?"),
        chat=chat,
    )
    assert done["b"].question == "What does that person own? (Found before: Whom did Ada marry? Cyra)"
    assert done["c"].question == "What does Cyra own?"
    assert [text.rsplit("Question: ", 1)[1] for text in asked[1:]] == [done["b"].question, done["c"].question]


def test_what_was_found_for_the_questions_before_is_listed_in_their_order(index):
    chat = saying(sub_answer='{"answer": "Cyra", "names": ["Cyra"]}')
    done = run(
        index,
        look("a", "Ada", "married", question="Whom did Ada marry?"),
        look("b", "@a", "owns", question="Who lends things to that person?"),
        look("c", "@b", "owns", question="What does the lender own?"),
        chat=chat,
    )
    assert done["c"].question == (
        "What does the lender own? (Found before: Whom did Ada marry? Cyra; Who lends things to that person? Cyra)"
    )


def test_an_output_brings_everything_that_it_builds_on(index):
    done = run(
        index,
        look("a", "Ada", "married"),
        look("b", "@a", "owns"),
        look("x", "Bela", "built"),
        {"question": "How many has @b?", "operator": "count", "alias": "n", "of": ["b"]},
    )
    assert [r.step.alias for r in done.with_ancestors(["n"])] == ["a", "b", "n"]
    assert done.with_ancestors(["unknown"]) == []


def test_a_step_is_answered_from_what_passages_say_of_its_triples_and_when(index, monkeypatch):
    monkeypatch.setattr(Snapshot, "dates", lambda self, documents: dict.fromkeys(documents, "1911-05-03"))
    chat = saying(sub_answer='{"answer": "£12", "names": []}')
    run(index, look("v", "Fern", "lent"), chat=chat)
    (prompt,) = [r.messages[-1].content for r in chat.requests if task_of(r) == "sub_answer"]
    assert "\n- Fern lent Gale £12 and three shillings. (1911-05-03)\n" in prompt


def test_an_unusable_sub_answer_is_recorded(index):
    done = run(index, look("v", "Ada", "built"), chat=saying(sub_answer="I cannot say."))
    assert "could not be used" in done["v"].problem
    assert done["v"].facts


# --- plans ------------------------------------------------------------------------------------------------


def test_an_unknown_operator_drops_its_step_and_not_the_plan():
    made = parse_plan(steps_of({"operator": "divine", "question": "?"}, look("a", "Ada")))
    assert [s.alias for s in made.steps] == ["a"]
    assert made.dropped == ("step 1: divine",)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([look("a", "@b")], "before it is defined"),
        ([look("a", "Ada"), {"operator": "count", "alias": "n", "of": ["b"]}], "'b' before it is defined"),
        ([look("a", "Ada"), {"operator": "math", "alias": "m", "expression": "a + sum(z, 2)"}], "'z'"),
        ([look("a", "Ada"), look("a", "Bela")], "again"),
        ([{"operator": "count", "alias": "n", "of": []}], "no step with the operator retrieve"),
    ],
)
def test_an_invalid_plan_is_rejected_with_the_reason(steps, problem):
    with pytest.raises(UnusableReply, match=problem):
        parse_plan(steps_of(*steps))


def test_synonyms_unknown_slots_and_missing_aliases_are_understood():
    made = parse_plan(
        '[{"step": "Who?", "operator": "get_spo", "subject": "?x", "object": "Ezra"},'
        ' {"operator": "get", "of": "@s1"}]'
    )
    first, last = made.steps
    assert (first.question, first.operator, first.alias, first.subject) == ("Who?", "retrieve", "s1", "")
    assert (last.operator, last.of) == ("output", ("s1",))


def test_references_are_found_in_every_field():
    step = parse_plan(steps_of(look("a", "Ada"), look("b", "@a", "like @a", "x", where="after @a"))).steps[1]
    assert referenced_aliases(step) == ["a"]


def test_a_rejected_plan_is_requested_again_with_the_reason_at_most_three_times():
    bad, good = steps_of(look("a", "@zz")), steps_of(look("a", "Ada"))
    for replies, calls, n_steps in (([good], 1, 1), ([bad, "no", good], 3, 1), ([bad] * 4, 4, 0)):
        given = models(saying(plan=list(replies)))
        made = plan("Who?", given, method="test")
        assert (made.calls, len(made.steps), len(made.problems)) == (
            calls,
            n_steps,
            len(replies) - (n_steps > 0),
        )
        assert sum(r.attempts for r in given.calls.ledger()) == calls
    assert "'zz' before it is defined" in made.problems[0]


def test_no_retries_mean_one_call():
    given = models(saying(plan="no plan"))
    assert plan("Who?", given, method="test", retries=0) == Plan(
        steps=(), problems=('the reply is not JSON of the form {"steps": [...]}',), calls=1
    )


@pytest.mark.parametrize(
    ("question", "operators"),
    [
        ("Who built Alder?", ["retrieve"]),
        ("What joins Ada and Dora?", ["retrieve", "retrieve", "retrieve"]),
        ("Which is older, Alder or Brook?", ["retrieve", "retrieve", "compare"]),
        ("How many people visit Ezra?", ["retrieve", "count"]),
        ("What did Gale owe in total?", ["retrieve", "sum"]),
        ("What is the earliest building of Ada?", ["retrieve", "sort"]),
        ("what is built", ["retrieve"]),
        ("?", []),
    ],
)
def test_rules_make_a_plan_without_a_model(question, operators):
    assert [s.operator for s in plan_by_rules(question).steps] == operators


def test_rules_prefer_names_that_the_graph_knows_and_leave_longer_names_whole():
    (step,) = plan_by_rules("who keeps the skerry light", ["skerry light"]).steps
    assert (step.subject, step.predicate) == ("skerry light", "keeps")
    (step,) = plan_by_rules("Who built Alder Mill?", ["Alder", "Alder Mill"]).steps
    assert step.subject == "Alder Mill"


# --- the method -------------------------------------------------------------------------------------------


def ask(index, question, chat=None, **parameters):
    found = RogragLogic(**parameters)(question, index, models(chat))
    return found, {step.name: step.value for step in found.trace}


def test_results_triples_and_passages_are_evidence_with_their_step(index):
    found, trace = ask(index, "Which is older, Alder or Brook?", min_facts=0)
    assert [s["result"] for s in trace["steps"]][2] == "Alder (Alder: 1871; Brook: 1889)"
    kinds = [e.kind for e in found.evidence]
    assert kinds == sorted(kinds, key=["summary", "relation", "chunk"].index)
    last = [e for e in found.evidence if e.kind == "summary"][-1]
    assert last.text.endswith("→ Alder (Alder: 1871; Brook: 1889)")
    assert "worked out by code" in last.why
    assert [c.partition(".")[0] for c in found.ranking] == ["d1", "d2"]
    assert all(e.spans for e in found.evidence)


def test_output_selects_what_goes_into_the_context(index):
    both = [look("a", "Ada", "built"), look("b", "Bela", "built")]
    found, _ = ask(
        index,
        "q",
        saying(plan=steps_of(*both, {"operator": "output", "of": ["@b"]})),
        min_facts=0,
        whole_facts=False,
    )
    assert [c.partition(".")[0] for c in found.ranking] == ["d2"]
    found, _ = ask(index, "q", saying(plan=steps_of(*both)), min_facts=0, whole_facts=False)
    assert [c.partition(".")[0] for c in found.ranking] == ["d1", "d2"]


def test_a_missing_plan_and_missing_triples_have_different_reasons(index):
    found, _ = ask(index, "q", saying(plan="no plan at all"))
    assert "no plan was made" in found.empty_because
    found, _ = ask(index, "q", saying(plan=steps_of(look("a", "Nobody"))))
    assert "no entity is near “Nobody”" in found.empty_because


def test_a_plan_is_executed_only_up_to_the_maximum_of_steps(index):
    chat = saying(plan=steps_of(*(look(f"a{n}", "Ada", "built") for n in range(6))))
    _, trace = ask(index, "q", chat, max_steps=2)
    assert len(trace["steps"]) == 2
    assert trace["plan"]["dropped"] == ["4 steps beyond 2"]
