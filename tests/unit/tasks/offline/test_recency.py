"""Of sentences that say the same with other values, that of the newest document comes first."""

from dataclasses import replace

import numpy as np
import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage
from polygraph.testing import hashed_models

PRICE = "How much does a ticket in the stalls cost?"


def passage(n, text, *, date="", title="Ticket prices"):
    chunk = Chunk(id=f"d{n}:0", document=f"d{n}", ordinal=0, start=0, end=len(text), text=text, n_tokens=9)
    return Passage(chunk=chunk, title=title, evidence=n, date=date)


def answered(question, *passages):
    return answer_with_sentences(question, passages, replace(hashed_models(), reranker=None))


OLD = passage(1, "A full-price ticket in the stalls costs £14. The balcony is closed.", date="2023-09-01")
NEW = passage(
    2, "A full-price ticket in the stalls costs £18. The balcony is closed.", date="1 September 2025"
)


@pytest.mark.parametrize("passages", [(OLD, NEW), (NEW, OLD)])
@pytest.mark.parametrize(
    ("question", "price"),
    [
        (PRICE, "£18"),
        ("How much did a ticket in the stalls cost in 2023?", "£14"),
        # The prices of 2023 were those of 2024.
        ("How much did a ticket in the stalls cost in May 2024?", "£14"),
        ("How much did a ticket in the stalls cost in 2026?", "£18"),
    ],
)
def test_the_newest_document_up_to_the_time_of_the_question_comes_first(passages, question, price):
    assert price in answered(question, *passages).sentences[0].text


def test_what_the_other_document_says_is_noted_with_its_date():
    note = answered(PRICE, OLD, NEW).note
    assert note == "a document of 2023-09-01 has “A full-price ticket in the stalls costs £14.” (d1)"


def test_what_the_same_document_says_of_an_office_is_no_earlier_state():
    text = "Marta Lind is responsible for contracts with suppliers. Her deputy is Joris Boer."
    found = answered("Who is responsible for contracts with suppliers?", passage(1, text, date="2026-02-10"))
    assert "Marta Lind" in found.sentences[0].text
    assert found.note == ""


def test_the_date_may_stand_in_the_title():
    hours = [
        passage(
            1, "The office is open from Tuesday to Saturday, 12 noon to 6 pm.", title="Hours (February 2022)"
        ),
        passage(
            2, "The office is open from Wednesday to Saturday, 2 pm to 7 pm.", title="Hours (March 2024)"
        ),
    ]
    assert "Wednesday" in answered("When is the office open?", *hours).sentences[0].text


def test_without_dates_or_about_an_earlier_state_the_order_stays():
    undated = [replace(each, date="") for each in (OLD, NEW)]
    assert "£14" in answered(PRICE, *undated).sentences[0].text
    assert (
        "£14" in answered("How much did a ticket in the stalls cost originally?", OLD, NEW).sentences[0].text
    )


def test_dates_that_overlap_do_not_decide():
    year = replace(OLD, date="2025")
    assert "£14" in answered(PRICE, year, NEW).sentences[0].text


def test_another_statement_of_a_newer_document_does_not_come_first():
    other = passage(2, "The programme in the stalls costs £3 and names the cast.", date="2025-09-01")
    assert "£14" in answered(PRICE, OLD, other).sentences[0].text


class Preferring:
    """A cross-encoder that prefers a name."""

    name = "preferring"

    def __init__(self, preferred, by):
        self._preferred, self._by = preferred, by

    def score(self, question, texts):
        return np.array([6.0 + self._by * (self._preferred in text) for text in texts])


@pytest.mark.parametrize(("by", "first"), [(3.0, "Omar Haddad"), (9.0, "Lina Brandt")])
def test_sentences_that_differ_only_in_a_name_are_equal_unless_one_is_much_better(by, first):
    managers = [
        passage(1, "The pool manager is Lina Brandt.", date="2023-03-01"),
        passage(2, "The pool manager is Omar Haddad.", date="2025-03-01"),
    ]
    models = replace(hashed_models(), reranker=Preferring("Brandt", by))
    found = answer_with_sentences("Which manager has the pool?", managers, models)
    assert first in found.sentences[0].text


HELD = (
    passage(
        1,
        "The treasurer, Ana Ruiz, greeted the guests.",
        date="2021-05-01",
        title="Minutes of the Rowan Society",
    ),
    passage(
        2,
        "The members chose a hall. Ben Olsen was elected treasurer.",
        date="2023-05-01",
        title="Minutes of the Rowan Society",
    ),
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is the treasurer of the Rowan Society?", "Ben Olsen"),
        ("Who was the treasurer of the Rowan Society in 2022?", "Ana Ruiz"),
        ("Who was the treasurer of the Rowan Society in 2023?", "Ben Olsen"),
    ],
)
@pytest.mark.parametrize("passages", [HELD, HELD[::-1]])
def test_who_holds_an_office_is_told_by_the_newest_document_in_whatever_words(passages, question, name):
    assert name in answered(question, *passages).sentences[0].text


def test_undated_documents_with_other_numbers_are_both_quoted():
    undated = [replace(each, date="") for each in (OLD, NEW)]
    quoted = " ".join(s.text for s in answered(PRICE, *undated).sentences)
    assert "£14" in quoted
    assert "£18" in quoted


def test_what_stands_under_the_heading_that_is_asked_about_is_not_replaced_by_a_newer_one():
    text = "## Trial {}\n\nThe mean yield of the winter barley was {} tonnes."
    trials = [
        passage(1, text.format("T-31", "5.2"), title="Notes of March", date="1 March 2024"),
        passage(2, text.format("T-33", "6.4"), title="Notes of April", date="1 April 2024"),
    ]
    asked = answered("What was the mean yield of the winter barley in trial T-31?", *trials)
    assert [s.text for s in asked.sentences] == ["The mean yield of the winter barley was 5.2 tonnes."]
    assert "6.4" in answered("What was the mean yield of the winter barley?", *trials).sentences[0].text


@pytest.mark.parametrize("date", ["", "1 May 2025"])
def test_what_is_asked_of_two_versions_is_quoted_of_both(date):
    text = "The default limit of uploads is {} MB."
    releases = [
        passage(1, text.format(8), title="Release 4.2", date=date and "1 March 2025"),
        passage(2, text.format(20), title="Release 4.3", date=date),
    ]
    asked = "What changed in the default limit of uploads from 4.2 to 4.3?"
    assert {s.text for s in answered(asked, *releases).sentences} == {text.format(8), text.format(20)}
    only = answered("What is the default limit of uploads in 4.2?", *releases)
    assert [s.text for s in only.sentences] == [text.format(8)]


def test_what_heads_a_paragraph_says_what_its_values_are_of():
    minutes = [
        passage(
            n,
            f"1. **Oars.** All are here.\n2. **Next regatta.** {day} May, in the harbour.",
            title=f"Minutes of {n} March 2025",
        )
        for n, day in ((3, 16), (8, 23))
    ]
    assert "23 May" in answered("When is the next regatta?", *minutes).sentences[0].text


RULES = "Sails are dried in the loft for two days."
MOVED = passage(1, f"# Sails\n\nStatus: accepted\n\n{RULES.replace('loft', 'shed')}", title="Note 8")


@pytest.mark.parametrize(
    ("status", "how"),
    [
        ("**Status:** superseded by note 8", "superseded by note 8"),
        ("## Status\n\nReplaced by [note 8](8.md)", "Replaced by note 8"),
        ("This note is no longer valid.", "no longer valid"),
    ],
)
def test_what_no_longer_holds_comes_later_and_is_said(status, how):
    ended = passage(2, f"# Sails\n\n{status}\n\n{RULES}", title="Note 3")
    found = answered("Where are sails dried?", ended, MOVED)
    assert "shed" in found.sentences[0].text
    assert f"d2 says that it is “{how}”" in answered("Where are sails dried?", ended).note
    earlier = answered("When were sails originally dried in the loft?", ended, MOVED)
    assert "loft" in earlier.sentences[0].text


@pytest.mark.parametrize(
    "said",
    [
        "Status: accepted. The old loft was withdrawn from use.",
        "The boiler was replaced on 4 May.",
        "This boiler was replaced on 4 May.",
        "Status: expired; Name: Bo; Due: 4 May.",
    ],
)
def test_a_document_about_something_that_ended_holds(said):
    text = f"# Sails\n\n{said}\n\n{RULES}"
    assert answered("Where are sails dried?", passage(1, text, title="Note 3")).note == ""
