"""How two names are connected: in one sentence, through a third name, or side by side."""

import pytest

FILES = {
    "mill.txt": "Ada Brook owns the mill in Porthallow. Ada Brook bought rope from Carver Ropeworks in May.",
    "pier.txt": "Ben Olsen repaired the pier. Carver Ropeworks employs Ben Olsen in the winter.",
    "choir.txt": "Ada Brook and Dora Finch founded the choir. Nobody else sang.",
    "club.txt": "Ella Sand opened the club. The roof leaked. Fred Lake paid for the slates.",
    "far.txt": "Gus Hale painted the tower.",
}


@pytest.fixture(scope="module")
def index(index_offline):
    return index_offline(FILES)


def test_a_sentence_with_both_names_says_it(ask):
    answer = ask("How is Ada Brook connected with Dora Finch?")
    assert answer.text.startswith("Ada Brook and Dora Finch founded the choir. [")


def test_a_third_name_leads_from_one_to_the_other_in_the_order_of_the_question(ask):
    answer = ask("How are Ben Olsen and Ada Brook connected?")
    assert answer.text.startswith(
        "Through Carver Ropeworks: Carver Ropeworks employs Ben Olsen in the winter. ["
    )
    assert "Ada Brook bought rope from Carver Ropeworks" in answer.text
    assert [c.document for c in answer.citations] == ["pier.txt", "mill.txt"]


def test_names_that_stand_close_are_shown_as_they_stand(ask):
    answer = ask("What has Fred Lake to do with Ella Sand?")
    assert answer.text.startswith("In the same document: Ella Sand opened the club. [")


def test_a_verdict_and_other_questions_are_answered_otherwise(ask):
    for question in ("Is Ada Brook related to Dora Finch?", "What did Ada Brook and Fred Lake build?"):
        text = ask(question).text
        assert not text.startswith(("Through", "In the same document"))


def test_names_that_nothing_connects_get_no_connection(ask):
    text = ask("How is Gus Hale connected with Dora Finch?").text
    assert not text.startswith(("Through", "In the same document"))
