"""The scripted model reads questions and texts that are written without spaces."""

import json

import pytest

from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import prompt
from polygraph.prompts.fences import as_data
from polygraph.testing import scripted_chat

QUESTION = "灯塔守是谁？"
HOLDS, DOES_NOT = "老托宾是灯塔守。", "渔船在黎明出港。"
BOTH = f"[1] {DOES_NOT}\n[2] {HOLDS}"


def reply(task: str, tag: str, text: str, **values: str) -> str:
    fenced = as_data(text, tag, keep_numbers=True)
    system, user = prompt(task).fill({"question": QUESTION, tag: fenced, **values})
    request = ChatRequest(messages=(Message("system", system), Message("user", user)))
    return scripted_chat().chat(request).text


def test_a_report_that_answers_is_rated_above_one_that_does_not():
    ratings = [json.loads(reply("rate", "report", text))["rating"] for text in (DOES_NOT, HOLDS)]
    assert ratings[0] == 0
    assert ratings[1] >= 2


def test_the_fact_that_answers_is_kept():
    assert json.loads(reply("relevant_facts", "facts", BOTH)) == {"facts": [2]}


@pytest.mark.parametrize(
    ("task", "tag", "values"),
    [
        ("answer", "evidence", {"history": "", "length": ""}),
        ("rq_answer", "evidence", {}),
        ("summarise", "notes", {"subject": "灯塔", "aspects": ""}),
        ("follow_up", "evidence", {"larger": QUESTION}),
    ],
)
def test_the_text_that_answers_is_cited_and_no_other(task: str, tag: str, values: dict[str, str]):
    found = reply(task, tag, BOTH, **values)
    assert HOLDS.rstrip("。") in found
    assert "[2]" in found
    assert "渔船" not in found


def test_evidence_suffices_if_it_holds_half_of_the_question():
    assert [reply("supports", "evidence", text) for text in (DOES_NOT, HOLDS)] == ["NO", "YES"]
