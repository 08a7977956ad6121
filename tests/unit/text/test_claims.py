"""What speaks against a claim in the text that it cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.text.claims import contradiction, numbers
from polygraph.text.claims.repeats import is_quoted, sentence_parts, sentences
from polygraph.text.claims.tokens import most_tokens, tokens

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
    "sentence",
    [
        "Numbers range from 0 to 4, where 0 means no growth and 4 means growth to other parts of the body.",
        "Tiers 1, 2, and 3 earn 1, 2, and 6 points respectively towards qualifying for the program.",
    ],
)
def test_a_sentence_that_is_quoted_whole_is_not_contradicted(sentence):
    assert (
        contradiction(sentence, f"The toll was not abolished. {sentence}\nIt rose from 4 to 0 points.") == ""
    )


@pytest.mark.parametrize(
    "shown",
    [
        "It is not true that the toll was abolished.",
        "The toll was abolished, never.",
        "Crane: not the toll was abolished.",
    ],
)
def test_a_part_of_a_sentence_is_not_a_quotation(shown):
    assert not is_quoted("the toll was abolished.", shown)
    assert not is_quoted("The toll was abolished", shown)


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


@pytest.mark.parametrize(("said", "written"), [("died", "dying"), ("lied", "lying"), ("tied it", "tying it")])
def test_what_contradicts_a_claim_is_found_in_any_form_of_its_words(said, written):
    for one, other in ((said, written), (written, said)):
        assert contradiction(f"He {one} in 1871.", f"He was {other} in 1817.") == "the number 1871"


def test_a_negation_of_something_else_in_the_sentence_denies_nothing():
    shown = (
        "It is possible that Altman and Brockman, who stepped down as chairman, then resigned, wanted to make a bold "
        "move that he knew the board would not like."
    )
    assert contradiction("He stepped down as chairman and then resigned", shown) == ""
    # What is denied may still stand before the negation.
    assert (
        contradiction("The harbour dues were paid", "The harbour dues were paid by nobody.") == "a negation"
    )


def test_a_number_behind_a_negation_is_what_it_denies():
    shown = "The pumps were handed over on 8 March and not on 4 March, as the delivery note says."
    assert contradiction("The pumps were handed over on 8 March", shown) == ""
    assert contradiction("The pumps were handed over on 8 March, not on 4 March", shown) == ""
    assert contradiction("The pumps were handed over on 4 March", shown) == "a negation"


def test_what_a_text_asks_is_not_affirmed():
    shown = "Are you related to the Brandts at the Mill? There is a Brandt at the Mill, but that is another family."
    assert contradiction("The Brandt at the Mill is not related", shown) == ""


def test_each_text_that_a_claim_cites_may_support_a_part_of_it():
    shown = ("The Alder Mill was built by Thora Lindqvist.", "It ran from 3 March.", "It closed on 14 April.")
    assert contradiction("Lindqvist built the Alder Mill, which ran for 42 days", *shown) == ""
    assert contradiction("It closed on 14 April.", *shown) == ""
    assert contradiction("The Alder Mill was built by Thora Sandqvist", *shown) == "the name Sandqvist"
    assert contradiction("The Alder Mill was not built", *shown) == "a negation"


def test_a_word_that_one_text_denies_and_another_affirms_is_affirmed():
    denied, affirmed = "The toll was never paid.", "In May the toll was paid in full."
    assert contradiction("The widow paid the toll", denied) == "a negation"
    assert contradiction("The widow paid the toll", denied, affirmed) == ""


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


def test_a_number_with_a_word_for_about_may_be_rounded_and_a_year_may_not():
    shown = "ARDENT enrolled 1,208 adults. The mussel arrived about 2003. Its period is 2,340 years."
    assert contradiction("About 1,200 adults were enrolled", shown) == ""
    assert contradiction("Its period is some 2,300 years", shown) == ""
    assert contradiction("Some 1,300 adults were enrolled", shown) == "the number 1,300"
    assert contradiction("The mussel arrived about 2013", shown) == "the number 2013"


def test_a_percentage_may_follow_from_counts_or_from_a_fraction_in_words():
    shown = "It occurred in 91 of 604 patients. A quarter is payable now."
    assert contradiction("It occurred in 15% of the patients", shown) == ""
    assert contradiction("Some 25 percent is payable now", shown) == ""
    assert contradiction("It occurred in 51% of the patients", shown) == "the number 51"


def test_a_number_in_another_unit_is_the_same_number():
    shown = "Cut-in wind speed is 3 m/s. The rod is 2.5 m long. He left after 36 months."
    assert contradiction("The rod is 250 cm long", shown) == ""
    assert contradiction("The turbine starts at 3 metres per second", shown) == ""
    assert contradiction("The rod is 250 km long", shown) == "the number 250"


def test_a_sum_of_money_is_said_for_a_time():
    shown = "The scholarship pays £1,450 a month."
    assert contradiction("It pays £1,450 per month", shown) == ""
    assert contradiction("It pays £1,450 a year", shown) == "the unit of 1,450"


def test_a_date_has_the_month_of_the_text():
    shown = "Released 2023-03-21; the next version follows on 4 August."
    assert contradiction("It was released on 21 March 2023", shown) == ""
    assert contradiction("It was released on 21 May 2023", shown) == "the month May"


def test_names_that_only_begin_alike_are_not_one_name():
    shown = "Reported by Ana Kowalczyk, a Norwegian from Bergen."
    assert contradiction("It was reported by Ana Kowalska", shown) == "the name Kowalska"
    assert contradiction("The report came from Norway", shown) == ""


def test_a_name_put_together_from_two_others_is_missing():
    shown = "Questions go to Priya Nand. The fund was endowed by Hamish Lomond. Dr. Vance found Josiah Crane."
    assert contradiction("Questions go to Dr. Priya Nand", shown) == ""
    assert contradiction("Questions go to Priya Lomond", shown) == "the name Priya Lomond"
    assert contradiction("He was found by Dr. Crane", shown) == "the name Dr. Crane"


def test_a_name_in_an_introduction_may_stand_in_another_piece():
    shown, elsewhere = "The mirror came in the Kest in May.", lambda: "The Constancy was wrecked."
    assert (
        contradiction("In the Constancy, it seems: the mirror came in May", shown, elsewhere=elsewhere) == ""
    )
    assert contradiction("It seems: the mirror came in the Constancy", shown, elsewhere=elsewhere) != ""


def test_what_a_text_only_denies_is_not_affirmed():
    shown = "His widow withdrew the garrisons. She never paid the 40,000 thalers. Symptoms did not differ."
    assert contradiction("The widow paid the 40,000 thalers", shown) == "a negation"
    assert contradiction("There was no difference in symptoms", shown) == ""
    assert contradiction("The garrisons were withdrawn by the widow", shown) == ""
    assert (
        contradiction(
            "Elle obtint une médaille en 1888",
            "Elle n'y obtint aucune médaille en 1888, et le prix alla à un autre.",
        )
        == "a negation"
    )


def test_no_longer_is_a_negation_and_a_bound_is_none():
    shown = "Files in INI format are still read. The notice is no longer than two pages."
    assert contradiction("Files in INI format are no longer read", shown) == "a negation"
    assert contradiction("The notice has two pages or less", shown) == ""


@pytest.mark.parametrize("written", ["1957/58", "1957–58", "1957-58"])
def test_the_last_digits_of_a_year_are_that_year(written):
    assert [n.value for n in numbers(f"the commission of {written}")] == [1957, 1958]
    assert not contradiction(f"The commission of {written} sat.", "It sat from 2.4.1957 until 31.1.1958.")
    assert contradiction(f"The commission of {written} sat.", "It sat from 2.4.1957 until 31.1.1959.")


@pytest.mark.parametrize("written", ["2011-12", "2011/12/03", "2011-12-03"])
def test_a_month_after_a_year_is_no_year(written):
    assert 2012 not in [n.value for n in numbers(written)]


def test_the_abbreviation_of_number_is_no_negation():
    shown = (
        "Note on the cause. Ropes 12 (2004), no. 2. We conclude that the cause was a defect of the socket."
    )
    assert not contradiction("The note of 2004 found that a defect of the socket was the cause.", shown)
    assert contradiction("The note found the cause.", "The note found no cause.")


def test_two_numbers_that_have_changed_places_speak_against_a_claim():
    shown = "It was reported in 7.9% of the drug group and 3.1% of the placebo group."
    assert (
        contradiction("It was seen in 7.9% of those on the drug and in 3.1% of those on placebo", shown) == ""
    )
    assert "the order of" in contradiction(
        "It was seen in 3.1% of the drug group and in 7.9% of the placebo group", shown
    )


def test_two_names_that_have_changed_places_speak_against_a_claim():
    shown = "Tom Sayle owed Merrick thirty pounds."
    assert contradiction("Tom owed Merrick thirty pounds", shown) == ""
    assert contradiction("Merrick owed Tom thirty pounds", shown) == "who is who between Merrick and Tom"


def test_a_claim_in_other_words_is_not_contradicted_by_what_it_adds():
    shown = "The Great Comet was first seen by sailors on 1 September; Finlay measured it a week later."
    assert contradiction("In Victorian times, about 8 September, its position was taken", shown) == ""


def test_a_number_in_another_format_is_the_same_number():
    assert contradiction("The fund raised 12 million euros in May", "The fund raised €12m in May.") == ""
    assert (
        contradiction("The rooms cost her 132 kroner a year", "The rooms cost eleven kroner a month.") == ""
    )
    assert contradiction("The strike lasted 42 days", "The strike lasted from 3 March to 14 April.") == ""


def test_two_numbers_that_changed_places_are_found():
    shown = "The rye loaf keeps for five days instead of three."
    assert contradiction("The rye loaf keeps for three days instead of five", shown) == (
        "the order of three and five"
    )


def test_numbers_may_be_turned_round_by_the_words_between():
    shown = "It gave the number saved as nine instead of eleven."
    assert contradiction("It corrected the number saved from eleven to nine", shown) == ""


def test_another_name_before_the_same_verb_is_found():
    shown = "Toni Gasser and Walter Plank reached the top. Plank lost three toes to frostbite."
    assert contradiction("Gasser lost three toes to frostbite", shown) == "the name Gasser"
    assert contradiction("Plank lost three toes to frostbite", shown) == ""


def test_two_people_around_one_verb_that_changed_places_are_found():
    shown = "In May Mrs. Orme sued the landlord over the damp."
    assert contradiction("The landlord sued Mrs. Orme over the damp", shown).startswith("who is who between")
    assert contradiction("Mrs. Orme sued the landlord over the damp in May", shown) == ""


def test_a_negation_that_holds_for_a_time_is_none():
    assert contradiction("The bridge was not opened before June", "The bridge was opened in June.") == ""


WORDS = st.sampled_from(
    ["The", "parties", "sold", "selling", "mill's", "Mara", "Quill", "O'Neil’s", "1871", "ten", "Été", "of"]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: f"{' '.join(words)}.")


@given(SENTENCES, st.lists(SENTENCES, max_size=4).map(" ".join))
def test_a_sentence_has_no_more_tokens_of_a_claim_than_are_reckoned_without_reading_it(claim, shown):
    said = tokens(claim)
    for sentence, most in zip(sentences(shown), most_tokens(said, (shown,)), strict=True):
        there = {token.key for token in tokens(sentence)}
        assert sum(token.key in there for token in said) <= most


def test_of_hundreds_of_sentences_a_claim_is_compared_word_by_word_with_few():
    names = [
        f"{first}{last}" for first in ("Mar", "Tob", "Ska", "Wren", "Hal") for last in "abcdefghijklmnop"
    ]
    pairs = [(a, b) for a in names for b in names[:5] if a != b]
    told = [
        f"In the old harbour {a} Vane paid {b} Orme for {n + 100} days." for n, (a, b) in enumerate(pairs)
    ]
    shown = " ".join(told)
    tokens.cache_clear()
    assert contradiction(told[200], shown) == ""
    assert tokens.cache_info().misses < 10


@given(st.text(alphabet="ab .;:!?\n\té\xa0", max_size=30))
def test_parts_of_sentences_have_all_of_a_text_but_white_space_between_them(text):
    found = sentence_parts(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert not any("\n" in part or "; " in part or ": " in part for part in found)


def test_a_number_of_hundreds_of_digits_is_compared_like_any_other():
    digits = "9" * 400
    assert contradiction(
        "The code of the old mill was 12345.", f"The code of the old mill was {digits}."
    ) == ("the number 12345")
    assert contradiction(
        f"The code of the old mill was {digits}.", "The code of the old mill was 12345."
    ) == (f"the number {digits}")
    assert contradiction(f"The share of the mill grew {digits}%.", "The share of the mill grew 45%.") == (
        f"the number {digits}"
    )
    assert contradiction(f"The code of the mill was {digits}.", f"The code of the mill was {digits}!") == ""
