"""The map step of global search: what is read from a reply, and what stands in for it without a model."""

import json

import pytest

from polygraph.errors import UnusableReply
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Finding, Report
from polygraph.tasks.evidence.map_reports import find_points
from polygraph.testing import hashed_models

REPORTS = [
    Report(
        community="0-a", level=0, title="The light", summary="On the light.", rating=8.0, chunks=("a:0", "a:1", "a:2"),
        findings=(
            Finding(summary="Mara Quill built the light.", chunks=("a:0",)),
            Finding(summary="The oil was never paid for.", explanation="The Board refused.", chunks=("a:1",)),
        ),
    ),
    Report(
        community="0-b", level=0, title="The wreck", summary="On the wreck.", rating=5.0, chunks=("b:0",),
        findings=(Finding(summary="The Halcyon struck the reef.", chunks=("b:0",)),),
    ),
]  # fmt: skip
QUESTION = "Why was the oil not paid for?"


def models(*replies):
    said = iter(replies)
    chat = ScriptedChat(replies={"points": lambda _: next(said)}) if replies else None
    return hashed_models(chat)


def reply(*points):
    return json.dumps({"points": [{"point": p, "score": s, "reports": r} for p, s, r in points]})


def found(*points):
    return find_points(QUESTION, REPORTS, models(reply(*points)))


def test_a_point_rests_on_the_findings_that_say_it():
    (point,) = found(("The Board refused to pay for the oil.", 90, [1]))
    assert (point.text, point.score, point.reports) == (
        "The Board refused to pay for the oil.",
        90.0,
        ("0-a",),
    )
    assert point.chunks == ("a:1",)


def test_a_point_that_only_the_summary_says_rests_on_the_whole_report():
    report = Report(
        community="0-c",
        level=0,
        title="The ward",
        summary="The ward was short of nurses.",
        findings=(Finding(summary="The ward keeps old pumps.", chunks=("c:1",)),),
        rating=5.0,
        chunks=("c:0", "c:1"),
    )
    said = models(reply(("The ward was short of nurses.", 60, [1])))
    assert find_points(QUESTION, [report], said)[0].chunks == ("c:0", "c:1")


def test_a_point_that_no_finding_shares_a_word_with_rests_on_the_whole_report():
    (point,) = found(("Zinc.", 10, [1]))
    assert point.chunks == ("a:0", "a:1", "a:2")


def test_numbers_of_reports_that_are_not_there_count_as_all():
    (point,) = found(("The Halcyon struck.", 50, [7, 0, "x", -1]))
    assert point.reports == ("0-a", "0-b")
    assert point.chunks == ("b:0",)


def test_scores_are_read_as_numbers_within_bounds_and_zero_is_dropped():
    points = found(("a", "85", [1]), ("b", 400, [1]), ("c", 0, [1]), ("", 50, [1]), ("e", -3, [1]))
    assert [(p.text, p.score) for p in points] == [("a", 85.0), ("b", 100.0)]


@pytest.mark.parametrize("score", ["", '"score": "high", ', '"score": NaN, '])
def test_a_point_without_a_score_is_kept_as_useful(score):
    (point,) = find_points(
        QUESTION, REPORTS, models(f'{{"points": [{{"point": "a", {score}"reports": [1]}}]}}')
    )
    assert point.score == 50.0


def test_a_report_may_be_named_without_a_list():
    assert found(("a", 50, 2))[0].reports == found(("a", 50, "2"))[0].reports == ("0-b",)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"points": [{"point": "a", "score": 5, "reports": [1]}]}\n```',
        'Here it is: {"points": [{"point": "a", "score": 5, "reports": [1]}]} Anything else?',
        '[{"point": "a", "score": 5, "reports": [1]}]',
        '{"points": [{"description": "a", "score": "5", "reports": ["1"]}, "noise", 3]}',
        '{"points": [{"point": "a", "score": 5, "reports": [1]}, {"point": "b", "sco',
    ],
)
def test_replies_in_other_wrappings_are_read(text):
    points = find_points(QUESTION, REPORTS, models(text))
    assert [p.text for p in points] == ["a"]


def test_no_points_is_an_answer():
    assert find_points(QUESTION, REPORTS, models('{"points": []}')) == []


def test_prose_is_asked_for_again_once_and_then_an_error():
    good = reply(("a", 5, [1]))
    assert [p.text for p in find_points(QUESTION, REPORTS, models("I would say so.", good))] == ["a"]
    with pytest.raises(UnusableReply, match="points"):
        find_points(QUESTION, REPORTS, models("I would say so.", "Still."))


def test_points_hold_no_text_that_cannot_be_stored_and_no_values_of_other_kinds():
    points = found(("a\ud800\x00b", 50, [1]), ({"text": "c"}, 40, [1]), (["d"], 30, [1]))
    assert [p.text for p in points] == ["a\ufffdb"]


def test_at_most_twelve_points_are_taken():
    assert len(found(*((f"p{n}", 50, [1]) for n in range(40)))) == 12


def test_the_request_numbers_the_reports_and_fences_them():
    used = models(reply(("a", 5, [1])))
    find_points(QUESTION, REPORTS, used)
    (request,) = used.chat.requests
    user = request.messages[1].content
    assert "<reports>\n[1] # The light" in user
    assert "\n\n[2] # The wreck" in user
    assert user.endswith(f"Question: {QUESTION}")
    assert request.schema is not None


def test_without_a_model_the_findings_themselves_are_the_points():
    points = find_points(QUESTION, REPORTS, models())
    assert points[0].text.startswith("The oil was never paid for.")
    assert points[0].chunks == ("a:1",)
    assert all(0 <= p.score <= 100 for p in points)
    assert [p.score for p in points] == sorted((p.score for p in points), reverse=True)
    assert find_points(QUESTION, [], models()) == []
