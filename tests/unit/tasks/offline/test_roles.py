"""Sentences that state who holds an office."""

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.roles import role_test
from polygraph.tasks.offline.sentences import Passage, candidate_sentences


def candidate(text, title="Minutes"):
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=9)
    (found,) = candidate_sentences([Passage(chunk=chunk, title=title, evidence=1)])
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Treasurer: Ana Ruiz, phone 12345.",
        "Present: Ana Ruiz (treasurer), Ben Olsen (chair).",
        "Ana Ruiz (our honorary treasurer) spoke.",
        "The treasurer, Ana Ruiz, reported a surplus.",
        "Ana Ruiz, our treasurer, presented the accounts.",
        "Treasurer Ana de la Cruz thanked all members.",
        "- Ana Ruiz - Treasurer",
    ],
)
def test_a_name_beside_the_office_states_who_holds_it(text):
    test = role_test("Who is the treasurer?")
    assert test(candidate(text))


@pytest.mark.parametrize(
    "text",
    [
        "The treasurer reported a surplus to Ana Ruiz.",
        "The post of treasurer is vacant.",
        "Ana Ruiz asked the treasurer, who refused.",
        "Secretary: Ines Fairweather of the board.",
    ],
)
def test_an_office_without_a_name_beside_it_does_not(text):
    test = role_test("Who is the treasurer?")
    assert not test(candidate(text))


def test_what_else_the_question_says_has_to_be_there():
    test = role_test("Who is the treasurer of the Rowan Society?")
    assert not test(candidate("Treasurer: Ana Ruiz, phone 12345."))
    assert test(candidate("Treasurer: Ana Ruiz, phone 12345.", title="The Rowan Society"))


@pytest.mark.parametrize("question", ["Who paid the treasurer?", "When is the treasurer in?", "Who is she?"])
def test_other_questions_have_no_test(question):
    assert role_test(question) is None
