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


@pytest.mark.parametrize(
    ("question", "text"),
    [
        # Another model, whose name begins like that of the question.
        ("Can I mount the QT-450?", "The QT-450S may be mounted on the wall."),
        ("Can the QT-450S be mounted?", "The QT-450 may be mounted on the wall."),
        ("Can the QT 450 be mounted?", "The QT-450S may be mounted on the wall."),
        ("Can the QT 450 be mounted?", "The QT 450 S may be mounted on the wall."),
        ("Can I mount the QT-450?", "The QT-450S may be mounted on the QT-450."),
        # A word of the question is missing: its verb, its object or its number.
        ("Can the bowl of the QT-450 go in the oven?", "The bowl of the QT-450 holds 3 litres."),
        ("Can the QT-450 be used with salt water?", "The QT-450 is a salt-water pump."),
        ("Can the QT-450 be used with hot water?", "The QT-450 is used with cold water."),
        ("Does the QT-450 have a lid?", "The lid of the QT-450 is red."),
        ("Can I mount two QT-450?", "The QT-450 may be mounted on the wall."),
        # Part of a compound, and what a compound is about.
        ("Is the QT-450 a water pump?", "The QT-450 is a salt-water pump."),
        ("Can the lid be dried?", "The glass lid can be dried."),
        ("Can I use salt?", "Do not use salt tablets."),
        # Words of two sentences.
        (
            "Can I dry the QT-450 lid?",
            "The QT-450 has a lid of glass. Its wooden spoon can be dried in the sun.",
        ),
        ("Can the QT-450 be dried?", "The QT-450 has a lid of glass. Its spoon can be dried."),
        ("Can the QT-450 be dried?", "The spoon is part of the QT-450S. It can be dried."),
        # The negation is of something else, or of a part only.
        ("Can lids be boiled?", "Lids must not be dried and can be boiled."),
        ("Can I stack two lids?", "Do not stack more than two lids."),
        ("May dogs enter?", "Dogs may not enter without a lead."),
        ("May dogs enter?", "Dogs may enter without a lead."),
        ("Can I boil the lid?", "Avoid boiling the lid."),
        # A duty, a leave and a deed are not the same.
        ("Must the lid be boiled?", "The lid can be boiled."),
        ("Can the lid be boiled?", "The lid need not be boiled."),
        ("Can I boil the lid?", "The firm boils the lid."),
        ("Does the lamp leak?", "The lamp may leak."),
        # Who does it to whom.
        ("Can the lamp be seen from the tower?", "The tower can be seen from the lamp."),
    ],
)
def test_a_clause_about_something_else_gives_no_verdict(question: str, text: str) -> None:
    assert decide(question, text) == ""


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        (
            "Can the QT-450S be mounted?",
            "The QT-450S may be mounted on a QT-450S with the frame DF-2.",
            "Yes",
        ),
        ("Can I mount the QT 450S?", "The QT-450S may be mounted on the wall.", "Yes"),
        ("Can I mount the QT-450 S?", "The QT 450S may be mounted on the wall.", "Yes"),
        ("Is the QT-450 a salt-water pump?", "The QT-450 is a salt-water pump.", "Yes"),
        ("Does the QT-450 work with salt water?", "The QT-450 works with salt-water.", "Yes"),
        ("Can the QT-450 be dried?", "The QT-450 has a lid of glass. It cannot be dried.", "No"),
        ("Can lids be dried?", "Lids must not be dried and can be boiled.", "No"),
        ("Can the lid be dried?", "The glass lid can be dried. The lid cannot be dried.", "No"),
        ("May dogs enter without a lead?", "Dogs may not enter without a lead.", "No"),
        ("May dogs enter without a lead?", "Dogs may enter without a lead.", "Yes"),
        ("Do I have to boil the lid?", "The lid must be boiled.", "Yes"),
        ("Does the QT-450 have a lid?", "The QT-450 has no lid.", "No"),
        ("Can I boil the lid?", "The lid can be boiled.", "Yes"),
    ],
)
def test_a_clause_with_all_that_is_asked_decides(question: str, text: str, verdict: str) -> None:
    assert decide(question, text) == verdict


def test_a_german_question_that_begins_like_an_english_one_gets_no_verdict() -> None:
    text = "Die Jahreskarte kostet im Sommer und im Winter 30 Euro. Sie ist nicht mit anderen zu nutzen."
    assert decide("Was kostet die Jahreskarte?", text) == ""


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


def test_models_are_compared_by_their_own_quantities() -> None:
    texts = ("The QT-450S weighs 33 kg.", "The QT-450 weighs 31 kg.", "The PT-310 weighs 32 kg.")
    assert decide("Which is heavier, the QT-450 or the PT-310?", *texts) == "PT-310"
    assert decide("Which is heavier, the QT-450S or the QT-450?", *texts) == "QT-450S"
    assert decide("Which is heavier, the QT-450E or the PT-310?", *texts) == ""


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
