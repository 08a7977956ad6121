"""What speaks against a claim in the text that it cites."""

import pytest

from polygraph.text.claims import contradiction, numbers

SHOWN = (
    "The Alder Mill was built in 1817 by Thora Lindqvist. It ground 1,250,000 sacks, 340 tonnes a year, for seventeen "
    "weeks. The toll was not abolished. Silas came before the flood."
)


@pytest.mark.parametrize(
    "claim",
    [
        "Lindqvist built the Alder Mill in 1817",
        "Some 1.25 million sacks were ground",
        "It ran for 17 weeks",
        "The toll was never abolished",
        "The mill ground 1 250 000 sacks",
    ],
)
def test_what_a_text_says_in_other_words_is_not_contradicted(claim):
    assert contradiction(claim, SHOWN) == ""


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("It was built by Thora Sandqvist", "the name Sandqvist"),
        ("The Alder Mill was built in 1871", "the number 1871"),
        ("It ground 340 kilograms a year", "the unit of 340"),
        ("It ran for nineteen weeks", "the number nineteen"),
        ("The toll was abolished", "a negation"),
        ("Silas came after the flood", "an opposite"),
    ],
)
def test_a_changed_name_number_unit_or_negation_speaks_against_a_claim(claim, reason):
    assert contradiction(claim, SHOWN) == reason


def test_names_and_numbers_of_the_question_need_no_support():
    assert contradiction("It was Constancy, in 1881", SHOWN, given="What sank in 1881, Constancy?") == ""


def test_a_computed_number_need_not_stand_in_the_text():
    assert contradiction("It burned 14 years later", "Built in 1871. Burned in 1885.") == ""


def test_scales_ordinals_and_tens_in_words_are_read():
    assert [n.value for n in numbers("twenty-one of the sixteenth, 3.2 million, 16th")] == [3.2e6, 16, 21, 16]


def test_a_number_word_joined_to_its_unit_is_the_number():
    assert contradiction("The 18-inch mirror cracked", "The eighteen-inch mirror cracked.") == ""
    assert "18" in contradiction("The 18-inch mirror cracked", "The twenty-four-inch mirror cracked.")
