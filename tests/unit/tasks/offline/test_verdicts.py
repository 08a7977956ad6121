"""Yes or no, and which of two, by rule: what is decided, and what is not."""

import pytest

from polygraph.records import Chunk
from polygraph.tasks.offline.sentences import Passage, candidate_sentences
from polygraph.tasks.offline.verdicts import asks_for_verdict, find_verdict


def decide(question: str, *texts: str) -> str:
    passages = [
        Passage(
            chunk=Chunk(id=f"d{n}:0", document=f"d{n}", ordinal=0, start=0, end=len(t), text=t, n_tokens=0),
            title="Log",
            evidence=n,
        )
        for n, t in enumerate(texts, 1)
    ]
    found = find_verdict(question, candidate_sentences(passages))
    return found.text if found else ""


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        ("Is alcohol reimbursed?", "Alcohol is not reimbursed.", "No"),
        (
            "Does Orrin pay for the seals?",
            "The supplier, Orrin, pays for the seals but not for labour.",
            "Yes",
        ),
        ("Is the lamp going to be replaced?", "The lamp will not be replaced this year.", "No"),
        ("May dogs enter the tower?", "Dogs may never enter the tower.", "No"),
        ("Did the board decline the offer?", "The board declined the offer.", "Yes"),
        ("Did the board approve the lamp?", "The board declined to approve the lamp.", "No"),
    ],
)
def test_one_clear_clause_decides_and_its_negation_is_understood(
    question: str, text: str, verdict: str
) -> None:
    assert decide(question, text) == verdict


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Is a taxi reimbursed?", "A taxi is reimbursed only if no train runs."),  # limited
        ("Was the lamp broken?", "Ferris said that the lamp was broken."),  # somebody says so
        ("Did Vane defeat Corve at Wick?", "Corve did defeat Vane at Wick."),  # the other way round
        ("Did Vane sell 12 lamps in Wick?", "Vane sold 7 lamps in Wick."),  # another number
        ("Is the tower open?", "The tower was open in those years."),  # another time
        ("Are all lamps lit?", "Lamps are lit."),  # more than it states
        ("Is the lamp not lit?", "The lamp is lit."),
        ("May fitters work from home in Leeds?", "# Working from home in Leeds"),  # a heading
        ("May fitters work from home in Leeds?", "Clerks may work from home in Leeds."),  # of somebody else
        ("Is the tower of Wick tall?", "Port: Wick; Tower: tall; Lamps: 2."),  # a row of a table
        ("Who lit the lamp?", "Mara lit the lamp."),
    ],
)
def test_a_case_that_is_not_clear_has_no_verdict(question: str, text: str) -> None:
    assert decide(question, text) == ""


def test_sentences_that_contradict_each_other_give_no_verdict() -> None:
    assert (
        decide("Is alcohol reimbursed?", "Alcohol is not reimbursed.", "Alcohol is reimbursed at fairs.")
        == ""
    )


def test_two_things_are_compared_by_the_date_that_one_sentence_states_of_each() -> None:
    texts = ("The Halcyon was built in Leith in 1871.", "The Petrel was built in Wick in 1864.")
    assert decide("Which was built first, the Halcyon or the Petrel?", *texts) == "Petrel"
    assert decide("Which was built later, the Halcyon or the Petrel?", *texts) == "Halcyon"
    assert decide("Which was sold first, the Halcyon or the Petrel?", *texts) == ""
    assert decide("Which was built first, the Halcyon or the Petrel?", texts[0]) == ""
    assert decide("Which was built first, the Halcyon or the Tern?", *texts) == ""


def test_two_things_are_compared_by_a_quantity_of_the_right_kind() -> None:
    texts = ("The north tower is 41 metres high and white.", "The south tower is 38 metres high.")
    assert decide("Which is higher, the north tower or the south tower?", *texts) == "north tower"
    assert decide("Which is heavier, the north tower or the south tower?", *texts) == ""


def test_a_quantity_of_something_else_in_a_sentence_that_names_a_thing_is_not_its_own() -> None:
    texts = (
        "Fell Kot lies 15 km from Broad Fell at 6861 m.",
        "Broad Fell is 8051 m high.",
        "Fell Kot is high.",
    )
    assert decide("Which is higher, Fell Kot or Broad Fell?", *texts) == ""


def test_a_thing_that_is_counted_otherwise_gets_no_verdict() -> None:
    text = "Each member may keep one boat or two rafts."
    assert decide("May a member keep two boats?", text) == ""
    assert decide("May a member keep two rafts?", text) == "Yes"


def test_of_a_relation_that_holds_in_either_direction_names_may_change_places() -> None:
    text = "Ana Ruiz and Ben Olsen are not related."
    assert decide("Is Ben Olsen related to Ana Ruiz?", text) == "No"
    assert decide("Did Ben Olsen defeat Ana Ruiz?", "Ana Ruiz did defeat Ben Olsen.") == ""


def test_before_or_after_is_decided_by_the_clauses_of_two_events() -> None:
    texts = (
        "The first pump was sold to a brewery in 1926.",
        "She took over in 1951 and opened the mill in Wick in 1968.",
    )
    assert decide("Did the mill in Wick open before or after the first pump was sold?", *texts) == "After"


def test_questions_that_ask_for_a_verdict() -> None:
    assert asks_for_verdict("Which is taller, the mill or the tower?")
    assert asks_for_verdict("Has the lamp been lit?")
    assert not asks_for_verdict("Which lamp was lit?")


def test_a_list_and_a_command_are_quoted_with_the_sentence_above_them() -> None:
    text = (
        "To reset it:\n\n1. Switch it off.\n2. Hold the key P.\n\nThen wait.\n\n"
        "Run this command now:\n\n```\na\n\nb\n```"
    )
    chunk = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=0)
    found = [c.quoted.text for c in candidate_sentences([Passage(chunk=chunk, title="Log", evidence=1)])]
    assert found[0] == "To reset it: 1. Switch it off. 2. Hold the key P."
    assert found[-1] == "Run this command now: ``` a b ```"
