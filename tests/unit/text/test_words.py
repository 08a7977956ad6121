"""Stems of words, and which of them a text has."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.text.words import (
    StemCounts,
    content_stems,
    question_names,
    shared_stems,
    stem,
    word_set,
    words,
)

TEXT = (
    "The parties' mills, Mara O'Neil’s and others', were re-opened in 1871: she changed a_plan; x'y'z hoped."
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"parti", "mill", "mara"}, {"parti", "mill", "mara"}),
        ({"neil"}, set()),  # a part of the word O'Neil
        ({"o'neil"}, {"o'neil"}),
        ({"chang", "chan"}, {"chang"}),
        ({"plan", "a"}, {"plan"}),
        ({"y", "z"}, set()),
        ({"187", "1871"}, {"1871"}),
        (set(), set()),
    ],
)
def test_a_stem_is_found_where_a_whole_word_has_it(wanted, found):
    assert shared_stems(wanted, TEXT) == found == wanted & set(content_stems(TEXT))


def test_shared_stems_are_those_of_the_stemmed_text():
    chance = random.Random(7)
    pieces = [
        "mill",
        "mills",
        "milling",
        "'s",
        "’",
        "_",
        " ",
        " ",
        "\n",
        "-",
        "e",
        "İ",
        "ß",
        "parties",
        "7",
        "y",
        "a",
    ]
    for _ in range(500):
        text, other = ("".join(chance.choices(pieces, k=30)) for _ in range(2))
        wanted = {*content_stems(other), *content_stems(text)[:2]}
        assert shared_stems(wanted, text) == wanted & set(content_stems(text))
        parts = [text[:9], "", text[9:20], text[20:]]
        counts = StemCounts(wanted)
        some = wanted - set(sorted(wanted)[:1])
        # In parts, so that some were looked through before.
        assert counts.of(parts[:2], without=some) == [len(shared_stems(wanted - some, p)) for p in parts[:2]]
        assert counts.of(parts) == [len(shared_stems(wanted, part)) for part in parts]


@given(st.text(alphabet="ab Z9'’_-.\n\x1f\té\u212a", max_size=30))
def test_words_are_runs_of_letters_and_digits_joined_by_apostrophes(text):
    expected = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.casefold())
    assert words(text) == [re.sub(r"['’]s\Z", "", word) for word in expected]


@given(
    st.lists(st.text(alphabet="abE é'\n-İß", max_size=12), max_size=5),
    st.sets(st.sampled_from(["ab", "é", "bb", "ss"])),
)
def test_texts_that_were_looked_through_before_are_counted_as_if_they_were_not(texts, wanted):
    counts = StemCounts(wanted)
    # What was left out before is looked for when it counts.
    counts.look_through([(["ab"], texts[:2]), ([], texts[1:3])])
    assert counts.of(texts) == [len(shared_stems(wanted, text)) for text in texts]
    assert counts.of(texts, without=["ab"]) == [len(shared_stems(wanted - {"ab"}, text)) for text in texts]


@pytest.mark.parametrize(
    "word",
    ["I'm", "I’m", "I've", "I’ll", "I'd", "We're", "It's", "What’s", "Let's", "Don't", "Can’t", "There's"],
)
def test_a_contraction_of_a_function_word_is_no_name(word):
    assert question_names(f"Which boat is free now that {word} late in Wick?") == ["Wick"]


@pytest.mark.parametrize(
    ("word", "name"), [("May's", "May"), ("Will’s", "Will"), ("O'Neil", "O'Neil"), ("Ann'd", "Ann'd")]
)
def test_a_name_with_an_apostrophe_is_one(word, name):
    assert question_names(f"Which boat is {word} boat?") == [name]


@pytest.mark.parametrize(
    "forms",
    [
        "wine wines",
        "hire hires hired hiring",
        "move moved moves moving",
        "sale sales",
        "stop stopped stopping",
    ],
)
def test_forms_of_short_words_have_one_stem(forms):
    assert len(set(map(stem, forms.split()))) == 1


def test_words_that_share_letters_have_different_stems():
    assert len(set(map(stem, word_set("win wine plan plane star stare organ organization")))) == 8


def test_a_word_is_found_by_its_stem_where_both_share_one_letter():
    assert shared_stems({"die", "tie"}, "The dying king was tied.") == {"die", "tie"}
