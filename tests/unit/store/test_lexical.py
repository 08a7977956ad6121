import numpy as np
import pytest

from polygraph.store.lexical import LexicalIndex, terms


@pytest.fixture
def index(tmp_path):
    rows = [
        (0, "Log", "the brig Merle sailed for Aldmouth"),
        (1, "Minutes", "dues were raised, the pilots objected"),
        (2, "The Merle", "nothing of note"),
        (3, "天文台", "東京の天文台で彗星を見た"),
        (4, "Notes", "pilot pilots piloting"),
    ]
    LexicalIndex.save(tmp_path / "lexical", rows)
    return LexicalIndex.open(tmp_path / "lexical")


def test_a_word_in_the_text_counts_more_than_one_in_the_title(index):
    assert [h.n for h in index.search("Merle", 5)] == [0, 2]


def test_forms_of_an_english_word_meet(index):
    assert {h.n for h in index.search("pilot", 5)} == {1, 4}


def test_runs_of_characters_without_spaces_are_found_by_pairs(index):
    assert [h.n for h in index.search("彗星", 5)] == [3]
    assert terms("彗星を見た") == ["彗星", "星を", "を見", "見た"]


def test_query_operators_and_quotes_are_plain_words(index):
    for question in (
        '"',
        "AND OR NOT",
        "text:Merle",
        "(Merle",
        "Merle^9 ~ *",
        'title:"x" [a TO b]',
        "o'brien's",
    ):
        index.search(question, 5)
    assert [h.n for h in index.search("NOT Merle", 5)] == [0, 2]


def test_a_question_without_words_finds_nothing(index):
    assert index.search("?!…", 5) == []


def test_the_filter_is_filled_up_from_further_down(index):
    allowed = np.array([False, True, True, True, True])
    assert [h.n for h in index.search("Merle pilots", 2, allowed)] == [4, 1]


def test_equal_scores_come_in_the_order_of_rows_whatever_the_cut(tmp_path):
    LexicalIndex.save(tmp_path / "l", [(n, "", "same words here") for n in range(50)])
    found = LexicalIndex.open(tmp_path / "l").search("words", 7)
    assert [h.n for h in found] == list(range(7))
