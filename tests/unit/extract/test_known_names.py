"""Names of entities in passages: what is found, and what is left alone because it may mean something else."""

import pytest

from polygraph.extract.known_names import KnownName, NameFinder


def found(names, texts, documents=None):
    """Return the passages in which each entity is found, each passage being a document of its own."""
    entities = list(dict.fromkeys(entity for entity, *_ in names))
    known = [
        KnownName(entity=entities.index(entity), name=name, in_documents=bool(scope))
        for entity, name, *scope in names
    ]
    finder = NameFinder(known, [set((documents or {}).get(entity, ())) for entity in entities])
    for n, text in enumerate(texts):
        finder.read(n, n, text)
    return {entities[entity]: passages for entity, passages in finder.found()}


def test_a_name_is_found_wherever_it_stands():
    texts = ["The Wesleyan chapel dented it.", "Nothing here.", "Bees for the\nWesleyan  chapel, too."]
    assert found([("chapel", "Wesleyan chapel")], texts) == {"chapel": [0, 2]}


def test_possessive_endings_and_determiners_do_not_hide_a_name():
    assert found([("hill", "The Lanthorn Hill")], ["Lanthorn Hill's soot", "the Lanthorn Hill"]) == {
        "hill": [0, 1]
    }


def test_the_longest_of_several_names_counts():
    names = [("man", "Tobias Quillan"), ("man", "Quillan"), ("inn", "Quillan's Comet")]
    texts = ["Beer at Quillan's Comet.", "Tobias Quillan came."]
    assert found(names, texts, {"man": [1]}) == {"inn": [0], "man": [1]}


def test_a_proper_name_needs_its_capitals_and_a_term_does_not():
    names = [("poem", "The Loss of the Constancy"), ("term", "Church clock")]
    texts = ["since the loss of the Constancy", "He read The Loss of the Constancy.", "the church clock"]
    assert found(names, texts) == {"poem": [1], "term": [2]}


def test_a_word_that_is_written_small_somewhere_is_no_name():
    names = [("board", "Board"), ("ship", "Constancy")]
    texts = ["The Board met on the Constancy.", "They went on board.", "The Board rose."]
    assert found(names, texts) == {"ship": [0]}


def test_the_last_word_of_a_text_is_no_beginning_of_a_longer_name():
    names = [("board", "Board"), ("hall", "Board Hall")]
    assert found(names, ["They went on board.", "Board Hall", "met the Board"]) == {"hall": [1]}


@pytest.mark.parametrize("name", ["of", "It", "colza", "1881", "...", "", "A"])
def test_what_is_no_name_of_its_own_is_not_looked_for(name):
    assert found([("x", name)], ["Of it, colza, 1881 ... A of It colza"]) == {}


def test_punctuation_within_a_name_counts():
    names = [("steps", "Custom House Steps"), ("firm", "Threave & Lodd")]
    texts = ["At the Custom House. Steps were heard.", "Threave, Lodd and Vane", "Threave & Lodd's works"]
    assert found(names, texts) == {"firm": [2]}


def test_a_name_of_several_entities_counts_where_one_of_them_is_known():
    names = [("widow", "Patience Orme"), ("boat", "Patience Orme")]
    texts = ["Patience Orme died.", "The Patience Orme was launched.", "Patience Orme"]
    assert found(names, texts, {"widow": [0, 2], "boat": [1, 2]}) == {"widow": [0], "boat": [1]}


def test_a_surname_counts_only_where_its_bearer_is_known():
    names = [("master", "A. Dabney"), ("master", "Dabney")]
    assert found(names, ["Dabney rose.", "Councillor Dabney"], {"master": [0]}) == {"master": [0]}


def test_what_a_name_means_in_one_document_says_nothing_of_others():
    names = [("board", "Sallowmouth Harbour Board"), ("board", "the Harbour Trust", "one document")]
    texts = ["the Harbour Trust met", "the Harbour Trust met", "Sallowmouth Harbour Board"]
    assert found(names, texts, {"board": [0]}) == {"board": [0, 2]}


def test_scripts_without_capitals_need_two_words():
    names = [("harbour", "ميناء"), ("person", "أحمد بن ماجد"), ("city", "長崎港"), ("lake", "湖")]
    texts = ["ميناء أحمد بن ماجد", "昨日長崎港に湖の船が着いた"]
    assert found(names, texts) == {"person": [0], "city": [1]}
