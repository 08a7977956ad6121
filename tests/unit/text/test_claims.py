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


def test_a_number_of_a_range_has_the_scale_of_the_range():
    shown = "61.4 million litres in 2019, against 58.9 million litres in 2018."
    assert contradiction("Deliveries rose from 58.9 to 61.4 million litres", shown) == ""
    assert contradiction("Deliveries rose from 55.9 to 61.4 million litres", shown) == "the number 55.9"


def test_a_small_number_with_decimals_is_no_count_of_the_reader():
    assert (
        contradiction("Replication came in version 3.9", "Replication came in version 3.6.")
        == "the number 3.9"
    )


def test_a_bound_in_negative_form_denies_nothing():
    shown = "Either party may end this lease by notice in writing, but not before 31 March 2026."
    assert contradiction("A party can end the lease by notice on 31 March 2026 at the earliest", shown) == ""


def test_words_of_exclusion_may_stand_for_a_negation():
    assert (
        contradiction("Grant Wexley was not to blame", "The architect Grant Wexley was cleared of blame.")
        == ""
    )


def test_nouns_of_a_short_german_claim_are_no_names():
    shown = "Die Spinnerei stellte am 30. Juni 1978 den Betrieb ein. Zuletzt arbeiteten dort 264 Frauen und 71 Männer."
    assert contradiction("Am Schluss waren 264 Frauen beschäftigt", shown) == ""


def test_the_last_of_two_capitalised_words_is_a_name_in_german():
    shown = (
        "Vogelsang will das Freibad bis zum Ende der Saison und nicht erst im Jahr 2027 wieder öffnen. "
        "Die Kosten schätzt der Kämmerer Ömer Yildiz auf 3,8 Millionen Euro."
    )
    assert contradiction("Die Kosten schätzt der Kämmerer Ömer Yildiz auf 3,8 Millionen Euro", shown) == ""
    assert contradiction("Die Kosten schätzt Rolf Dietz auf 3,8 Millionen Euro", shown) == "the name Dietz"


def test_a_number_may_be_rounded_but_not_changed_in_its_last_digit():
    assert contradiction("It weighs 340.2 kg", "It weighs 340.17 kg.") == ""
    assert contradiction("It requires version 3.12", "It requires version 3.11.") == "the number 3.12"


def test_a_time_of_day_may_be_written_in_words():
    shown = "The maroons were fired at twenty-five minutes past three."
    assert contradiction("The maroons were fired only at 3.25", shown) == ""


def test_a_number_word_inside_another_word_is_no_number():
    found = [
        (n.value, n.unit)
        for n in numbers("It's-one, a stone, some-two-more; twenty\nthree, Twenty-one and 5one")
    ]
    assert found == [(5.0, ""), (20.0, ""), (3.0, ""), (21.0, ""), (1.0, "")]
