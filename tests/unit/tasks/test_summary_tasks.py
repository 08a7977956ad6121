"""What is read from replies that summarise, follow up, rate and ask, however they are written."""

import json

import pytest

from polygraph.errors import UnusableReply
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Finding, Report
from polygraph.tasks.answers.answer import write_answer
from polygraph.tasks.answers.drift import parse_intermediate, run_primer
from polygraph.tasks.evidence.rate_reports import parse_rating
from polygraph.tasks.evidence.summarise import parse_summary
from polygraph.tasks.parsing.citations import likely_sources, strip_citations
from polygraph.tasks.questions.aspects import aspects, question_parts


@pytest.mark.parametrize(
    ("text", "plain", "numbers"),
    [
        ("One [1]. Two [2, 3].", "One. Two.", (1, 2, 3)),
        ("One [1][3] and two [ 2 ; 1 ].", "One and two.", (1, 3, 2)),
        ("No such note [9], no number [a], [].", "No such note, no number [a], [].", ()),
        ("[2]", "", (2,)),
        ("**Title**\n\n- point [1]\n- other", "**Title**\n\n- point\n- other", (1,)),
    ],
)
def test_citations_are_taken_out_and_read(text, plain, numbers):
    assert strip_citations(text, 3) == (plain, numbers)


def test_a_long_reply_is_read_in_linear_time():
    text = "[1 ; " * 50_000 + " " * 50_000 + "[1]" * 50_000
    assert strip_citations(text, 1)[1] == (1,)
    assert strip_citations(" " * 200_000 + "x", 1)[0] == "x"
    assert strip_citations("a" + " " * 200_000 + "x", 1)[0].endswith("x")


def test_a_summary_without_citations_rests_on_the_notes_that_share_its_words():
    assert parse_summary("The lamp was dark.", ["Oil is dear.", "The dark lamp.", "A lamp."]).notes == (2, 3)
    assert parse_summary("Zinc.", ["Oil is dear.", "A lamp."]).notes == (1,)
    assert likely_sources("", ["a"]) == ()


@pytest.mark.parametrize("text", ["NOTHING", "nothing.", "**NOTHING**", "<think>hm</think>\nNOTHING"])
def test_a_summary_may_say_nothing(text):
    assert parse_summary(text, ["a"]).text == ""


def test_an_empty_summary_is_asked_for_once_more():
    with pytest.raises(UnusableReply):
        parse_summary(" \n", ["a"])


def test_an_answer_on_the_way_is_read_from_broken_json():
    said = parse_intermediate(
        '```json\n{"answer": "Dark [1].", "score": "70", "follow_ups": ["Why?", "Why?", ""],}\n```', ["x"]
    )
    assert (said.text, said.score, said.follow_ups, said.cited) == ("Dark.", 70.0, ("Why?",), (1,))
    assert parse_intermediate('{"answer": "Dark.", "score": 400}', ["x"]).score == 100.0
    assert parse_intermediate('{"answer": "", "score": 90, "follow_ups": "no"}', ["x"]).score == 0.0
    assert parse_intermediate('{"answer": "Dark", "score": NaN}', ["x"]).score == 0.0
    with pytest.raises(UnusableReply, match="JSON"):
        parse_intermediate("It was dark.", ["x"])


def test_at_most_ten_questions_of_bounded_length_follow_from_one_reply():
    said = parse_intermediate(
        json.dumps({"answer": "a", "follow_ups": [f"{i} {'x' * 900}" for i in range(40)]}), ["a"]
    )
    assert len(said.follow_ups) == 10
    assert max(map(len, said.follow_ups)) == 300


def test_a_primer_rests_on_the_findings_that_say_it(hashed_models):
    report = Report(
        community="c", level=0, title="The light", summary="On it.", rating=5.0, chunks=("a:0", "a:1"),
        findings=(Finding(summary="Mara built it.", chunks=("a:0",)), Finding(summary="Oil is dear.", chunks=("a:1",))),
    )  # fmt: skip
    reply = '{"answer": "The oil is dear [1].", "score": 50, "follow_ups": []}'
    said = run_primer(
        "Why?", [report], hashed_models(ScriptedChat(replies={"primer": lambda _: reply})), method="m"
    )
    assert said.chunks == ("a:1",)


@pytest.mark.parametrize("text", ["6", "It depends.", '{"rating": "high"}', "", "3 or 4"])
def test_a_rating_outside_of_its_range_is_none(text):
    with pytest.raises(UnusableReply):
        parse_rating(text)


def test_entities_of_a_question_without_a_model_are_its_phrases_each_once(hashed_models):
    found = question_parts(
        "How can beekeepers market honey, and why do Beekeepers?", hashed_models(), method="m"
    )
    assert found == ("beekeepers market honey", "Beekeepers")
    assert question_parts("Why? WHY? Honey! honey!", hashed_models(), method="m") == ("Honey",)


def test_more_aspects_than_wanted_are_left_out(hashed_models):
    chat = ScriptedChat(
        replies={"aspects": lambda _: json.dumps({"questions": [f"{i}?" for i in range(30)]})}
    )
    assert len(aspects("Why?", "Why?", [], hashed_models(chat), chat, most=4, method="m")) == 4


def test_the_form_of_an_answer_chooses_the_prompt(hashed_models):
    chat = ScriptedChat(replies={"answer": lambda _: "prose", "answer_word": lambda _: "word"})
    given = hashed_models(chat)
    assert write_answer("Who?", "[1] x", given, chat, method="m") == "prose"
    assert write_answer("Who?", "[1] x", given, chat, method="m", form="short") == "word"
