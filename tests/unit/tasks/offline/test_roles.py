"""Sentences that state who holds an office."""

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.roles import asks_for_present_holder, role_test
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
        "Ana Ruiz was re-elected treasurer.",
        "The board appointed Ana Ruiz as treasurer from 1 May.",
        "Name: Ana Ruiz; Office: Treasurer; Since: 2021.",
        'between **Ana Ruiz Ltd**, 14 Canal Street (the "Treasurer") and the City of Hull ("the Client")',
        "Ana Ruiz\nTreasurer of the Rowan Society",
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
        "Name: Ana Ruiz; Office: Secretary; Since: 2021.",
        "Office: Treasurer; Term: two years; Since: 2021.",
    ],
)
def test_an_office_without_a_name_beside_it_does_not(text):
    test = role_test("Who is the treasurer?")
    assert not test(candidate(text))


def test_what_else_the_question_says_has_to_be_there():
    test = role_test("Who is the treasurer of the Rowan Society?")
    assert not test(candidate("Treasurer: Ana Ruiz, phone 12345."))
    assert test(candidate("Treasurer: Ana Ruiz, phone 12345.", title="The Rowan Society"))


def test_a_year_need_not_be_repeated():
    assert role_test("Who was the treasurer in 2021?")(candidate("Treasurer: Ana Ruiz, phone 12345."))


@pytest.mark.parametrize(
    "text",
    [
        "Name: Ana Ruiz; Task: Boats; Since: 2021.",
        "Boats: Ana Ruiz, phone 12345.",
        "The boatman looks after the boats and the pier.",
    ],
)
@pytest.mark.parametrize("question", ["Who is in charge of the boats?", "Who looks after the boats now?"])
def test_whose_task_something_is_stands_beside_a_name_or_is_said(question, text):
    assert role_test(question)(candidate(text))


def test_a_task_that_is_only_mentioned_is_nobodys():
    test = role_test("Who is in charge of the boats?")
    assert not test(candidate("Ana Ruiz saw the boats from the pier."))
    assert not test(candidate("The boatman looks after the pier."))


@pytest.mark.parametrize(
    ("question", "is_present"),
    [("Who is the treasurer?", True), ("Who is the treasurer now?", True), ("Who was the treasurer?", False)],
)
def test_a_question_about_the_present_is_told_from_one_about_the_past(question, is_present):
    assert asks_for_present_holder(question) is is_present


@pytest.mark.parametrize("question", ["Who paid the treasurer?", "When is the treasurer in?", "Who is she?"])
def test_other_questions_have_no_test(question):
    assert role_test(question) is None


def candidates_of(text):
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=40)
    return candidate_sentences([Passage(chunk=chunk, title="Letter", evidence=1)])


def test_a_signature_of_three_lines_states_who_holds_the_office_of_the_firm():
    letter = "The winch that you sent us in the spring holds well, and so does\nthe rope that came with it."
    found = candidates_of(f"{letter}\n\nYours faithfully,\nAna Ruiz\nManaging Director\nRowan Boatyard Ltd")
    test = role_test("Who is the managing director of Rowan Boatyard?")
    assert "Ana Ruiz Managing Director Rowan Boatyard Ltd" in [c.quoted.text for c in found if test(c)]


def test_an_office_in_lower_case_is_joined_to_the_name_above_it():
    letter = "The winch that you sent us in the spring holds well."
    found = candidates_of(f"{letter}\n\nYours,\nAna Ruiz\nClerk to the harbour board")
    assert "Ana Ruiz Clerk to the harbour board" in [c.quoted.text for c in found]


def test_lines_of_several_people_are_joined_in_pairs():
    intro = "The people below can be reached by telephone on all days of\nthe week, from nine to five."
    found = candidates_of(f"{intro}\n\nAna Ruiz\nManaging Director\nTom Hill\nLocal Secretary")
    test = role_test("Who is the local secretary?")
    assert [c.quoted.text for c in found if test(c)] == ["Tom Hill Local Secretary"]
