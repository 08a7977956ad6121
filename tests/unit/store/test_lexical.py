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


@pytest.fixture
def mixed(tmp_path):
    rows = [
        (0, "Bericht", "Die Häuser am Hafen wurden versteigert."),
        (1, "Lettre", "L'assurance paie les dégâts aux bateaux."),
        (2, "Report", "The harbour sold its boats and the houses."),
        (3, "Rapport", "Les membres de la société et de la ville."),
    ]
    LexicalIndex.save(tmp_path / "mixed", rows, ["de", "fr", "en", "fr"])
    return LexicalIndex.open(tmp_path / "mixed")


@pytest.mark.parametrize(
    ("question", "found"),
    [("Haus", [0]), ("Hafens", [0]), ("assurances", [1]), ("boat", [2]), ("sociétés", [3])],
)
def test_forms_of_a_word_meet_by_the_rules_of_each_language(mixed, question, found):
    assert [hit.n for hit in mixed.search(question, 5)] == found


def test_function_words_of_a_question_in_another_language_than_english_are_not_searched(mixed):
    assert [hit.n for hit in mixed.search("Qui paie les dégâts de la ville ?", 1)] == [1]
    assert mixed.search("Qui est dans la et de ?", 5)


def test_a_word_that_languages_stem_alike_counts_once(tmp_path):
    rows = [(0, "", "ferry ferry pier"), (1, "", "Fähre")]
    scores = []
    for name, languages in (("one", ["en", "en"]), ("two", ["en", "de"])):
        LexicalIndex.save(tmp_path / name, rows, languages)
        scores.append([hit.score for hit in LexicalIndex.open(tmp_path / name).search("pier", 1)])
    assert scores[0] == scores[1]
