"""DRIFT: what is imitated, read, followed and kept."""

import json
from dataclasses import replace

import pytest

from polygraph.models import Calls
from polygraph.retrieve.answer import answer
from polygraph.retrieve.methods.graphrag_drift import GraphRAGDrift, split_into_folds
from polygraph.testing import scripted_chat

QUESTION = "What happened to the Skerry Light, and who paid for it?"


def reply(text, score, *follow_ups):
    return json.dumps({"answer": text, "score": score, "follow_ups": follow_ups})


def trace(found):
    return {step.name: step.value for step in found.trace}


def made(models, stage=""):
    rows = [r for r in models.calls.ledger() if r.model == "scripted" and stage in ("", r.stage)]
    return sum(r.attempts for r in rows)


class Endless:
    """Says something to every question and always asks ten more."""

    def __init__(self):
        self.n = 0

    def __call__(self, request):
        said = request.messages[1].content
        self.n += 1
        return reply("The lamp was paid for [1].", 50, *(f"{hash(said) % 10**9}-{i}?" for i in range(10)))


def test_folds_are_consecutive_parts_of_nearly_equal_size():
    assert [len(f) for f in split_into_folds(list(range(20)), 5)] == [4, 4, 4, 4, 4]
    assert [list(f) for f in split_into_folds(list(range(7)), 5)] == [[0, 1], [2, 3], [4], [5], [6]]
    assert [list(f) for f in split_into_folds([0, 1], 5)] == [[0], [1]]


def test_calls_are_one_for_the_form_five_for_the_reports_sixty_that_follow_and_the_answer(
    small_index, hashed_models
):
    endless = Endless()
    given = hashed_models(scripted_chat([("Task: primer", endless), ("Task: follow_up", endless)]))
    n_folds = len(split_into_folds(small_index.reports(), 5))
    found = GraphRAGDrift()(QUESTION, small_index, given)
    answer(QUESTION, found, small_index, given)
    assert n_folds == 5
    assert {stage: made(given, stage) for stage in ("hyde", "primer", "follow_up", "answer")} == {
        "hyde": 1, "primer": 5, "follow_up": 60, "answer": 1,
    }  # fmt: skip
    assert made(given) == 67


def test_the_hypothetical_answer_is_modelled_on_the_highest_rated_report(small_index, hashed_models):
    best = min(small_index.reports(), key=lambda r: (-r.rating, r.level, r.community))
    chat = scripted_chat()
    found = GraphRAGDrift()(QUESTION, small_index, hashed_models(chat))
    assert trace(found)["hyde"][0] == best.community
    (request,) = [r for r in chat.requests if r.messages[0].content.startswith("Task: hyde")]
    assert best.title in request.messages[1].content


def test_reports_are_searched_with_the_hypothetical_answer(small_index, hashed_models):
    tale = "Old Tobin and the Halcyon and the Grey Reef in the fog"
    told = GraphRAGDrift()(QUESTION, small_index, hashed_models(scripted_chat([("Task: hyde", tale)])))
    plain = GraphRAGDrift(hyde="none")(tale, small_index, hashed_models(scripted_chat()))
    assert trace(told)["reports"] == trace(plain)["reports"]
    assert "hyde" not in trace(plain)


def test_questions_of_the_best_answers_are_followed_first_then_the_first_raised(small_index, hashed_models):
    scores = iter((20, 80, 50, 10, 5))
    names = iter("abcde")

    def primer(request):
        name = next(names)
        return reply("Paid [1].", next(scores), f"{name}1?", f"{name}2?")

    def follow_up(request):
        asked = request.messages[1].content.rpartition("Question: ")[2].partition("\n")[0]
        return reply("Said [1].", 90 if asked == "c1?" else 1, f"after {asked}")

    rules = [("Task: primer", primer), ("Task: follow_up", follow_up)]
    # One call at a time, so that the replies come in the order of the folds.
    given = replace(hashed_models(scripted_chat(rules)), calls=Calls(None, concurrency=1))
    found = GraphRAGDrift(per_round=3)(QUESTION, small_index, given)
    rounds = {
        name: [row[0] for row in value] for name, value in trace(found).items() if name.startswith("round")
    }
    assert rounds == {
        # Scores of the folds: a 20, b 80, c 50, d 10, e 5.
        "round 1": ["b1?", "b2?", "c1?"],
        # What c1? raised comes from an answer of 90.
        "round 2": ["after c1?", "c2?", "a1?"],
        "round 3": ["a2?", "d1?", "d2?"],
    }


def test_a_question_is_followed_once_and_never_the_question_itself(small_index, hashed_models):
    said = reply("Paid [1].", 50, "Who paid?", "WHO PAID?", QUESTION)
    rules = [("Task: primer", said), ("Task: follow_up", said)]
    found = GraphRAGDrift()(QUESTION, small_index, hashed_models(scripted_chat(rules)))
    assert [row[0] for row in trace(found)["round 1"]] == ["Who paid?"]
    assert "round 2" not in trace(found)


def test_random_order_and_random_report_are_seeded(small_index, hashed_models):
    def run(seed):
        endless = Endless()
        rules = [("Task: primer", reply("Paid [1].", 50, *"abcdefgh")), ("Task: follow_up", endless)]
        method = GraphRAGDrift(hyde="random", order="shuffle", per_round=4, rounds=1, seed=seed)
        return trace(method(QUESTION, small_index, hashed_models(scripted_chat(rules))))

    assert run(1) == run(1)
    assert len({json.dumps(run(seed)["round 1"]) for seed in range(5)}) > 1
    assert len({run(seed)["hyde"][0] for seed in range(8)}) > 1


def test_an_unusable_reply_loses_one_answer_and_not_the_question(small_index, hashed_models):
    rules = [
        ("Question: What is known about", "I would rather not say."),
        ("Task: follow_up", reply("x [1]", 1)),
    ]
    given = hashed_models(scripted_chat(rules))
    found = GraphRAGDrift()(QUESTION, small_index, given)
    assert found.evidence
    assert all(score == 0 for _, _, score, _ in trace(found)["round 1"])
    assert len(given.calls.quarantined()) == len(trace(found)["round 1"])


def test_answers_are_ranked_by_score_and_traced_to_their_citations(small_index, hashed_models):
    rules = [
        ("Task: primer", reply("Mara Quill built it [1].", 40, "Who paid?")),
        ("Task: follow_up", reply("Mara Quill paid [2].", 70)),
    ]
    found = GraphRAGDrift()(QUESTION, small_index, hashed_models(scripted_chat(rules)))
    assert (found.evidence[0].id, found.evidence[0].text) == ("Who paid?", "Mara Quill paid.")
    assert [item.score for item in found.evidence] == sorted((i.score for i in found.evidence), reverse=True)
    assert "raised by reports 1 (scored 40)" in found.evidence[0].why
    assert found.ranking[0] == found.evidence[0].spans[0].chunk


def test_without_a_model_titles_are_followed_and_answers_are_sentences(small_index, hashed_models):
    given = hashed_models()
    found = GraphRAGDrift()(QUESTION, small_index, given)
    steps = trace(found)
    assert "hyde" not in steps
    assert steps["round 1"]
    assert all(text.startswith(QUESTION) for text, *_ in steps["round 1"])
    followed = [item for item in found.evidence if item.id.startswith(QUESTION)]
    for item in followed:
        for span in item.spans:
            text = small_index.store.documents.get(span.document).text[span.start : span.end]
            assert " ".join(text.split()) in item.text


@pytest.mark.parametrize("chat", [None, scripted_chat()])
def test_without_follow_ups_the_reports_still_answer(small_index, hashed_models, chat):
    found = GraphRAGDrift(rounds=0)(QUESTION, small_index, hashed_models(chat))
    assert found.evidence
    assert all(item.id.startswith("reports ") for item in found.evidence)
