"""The words of a text around a name."""

from polygraph.text.surroundings import around


def test_a_long_passage_is_cut_between_words_around_the_name():
    text = "Word. " * 100 + "Then Anna Vane came. " + "word " * 100
    found = around(text, "Anna Vane", max_chars=60)
    assert found == "Then Anna Vane came. word word word word word word word word …"


def test_the_sentence_of_a_name_does_not_begin_behind_a_title():
    text = "Word. " * 100 + "For the owners, Mr. Lund spoke. " + "word " * 100
    assert around(text, "Lund", max_chars=60).startswith("For the owners, Mr. Lund spoke.")
    text = "Word. " * 100 + "**The mill.** Lund sold it. " + "word " * 100
    assert around(text, "Lund", max_chars=60).startswith("**The mill.** Lund sold it.")


def test_a_sentence_that_is_too_long_is_cut_before_the_name():
    text = "It rained. " + "word " * 100 + "Anna Vane " + "word " * 100
    found = around(text, "Anna Vane", max_chars=60)
    assert found.startswith("… word")
    assert "Anna Vane" in found
    assert len(found) <= 64


def test_a_name_in_another_case_is_found():
    assert around("Выписала больного из Боткинской больницы.", "Боткинская больница")
    assert around("Anna Vaneford came.", "Vane") == "Anna Vaneford came."
    assert around("Anna came.", " ") == ""


def test_a_whole_word_is_found_before_a_part_of_one_in_any_script():
    for text, name in (
        ("Annabel left. Then ANN came. Ann stayed.", "ann"),
        ("Žofiannabel left. Then ANN came. Ann stayed.", "ann"),
        ("Ännabel left. Then ÄNN came. Änn stayed.", "änn"),
    ):
        assert around(text, name, max_chars=16).startswith("Then")
    assert around("Annabel left. He came later.", "ann", max_chars=13) == "Annabel left. …"
