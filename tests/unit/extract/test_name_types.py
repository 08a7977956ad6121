"""Types that a window settles: single names follow the full name, and what has an article is no person."""

from collections import Counter

import pytest

pytest.importorskip("spacy", reason="needs the extra `local`")

from polygraph.extract.nlp.name_types import NameInWindow, likeliest, settle_types
from polygraph.extract.nlp.workers import extract_texts


def name(words, first, types=None, *, n=1, n_located=0, n_determined=0, n_personal=0):
    return NameInWindow(
        words=tuple(words.split()),
        is_name=True,
        types=Counter(types or {}),
        first=first,
        n=n,
        n_located=n_located,
        n_determined=n_determined,
        n_personal=n_personal,
    )


def settled(*names):
    settle_types(names)
    return [likeliest(each.types) for each in names]


def test_a_surname_is_a_person_after_the_full_name():
    assert settled(name("ines korvath", 0, {"person": 1}), name("korvath", 90, {"place": 2}, n=2)) == [
        "person",
        "person",
    ]


def test_a_given_name_is_a_person_after_the_full_name():
    assert settled(name("ines korvath", 0, {"person": 1}), name("ines", 90, {"product": 1})) == [
        "person",
        "person",
    ]


def test_a_full_name_is_a_person_if_its_surname_speaks_or_its_given_name_is_known():
    assert settled(name("ines korvath", 0, {"place": 1}), name("korvath", 90, {"person": 1})) == [
        "person",
        "person",
    ]
    assert settled(name("travis dunmore", 0, {"organization": 1})) == ["person"]
    assert settled(name("ines korvath", 0, {"organization": 1})) == ["organization"]


def test_a_name_before_the_full_name_keeps_its_type_unless_a_sentence_takes_it_for_a_person():
    assert settled(name("ines korvath", 50, {"person": 1}), name("korvath", 0, {"place": 1}))[1] == "place"
    types = {"place": 2, "person": 1}
    assert settled(name("ines korvath", 50, {"person": 1}), name("korvath", 0, types, n=3))[1] == "person"


def test_where_something_is_keeps_its_type():
    found = settled(name("ines lindau", 0, {"person": 1}), name("lindau", 90, {"place": 3}, n=3, n_located=1))
    assert found == ["person", "place"]


def test_a_name_that_begins_another_name_keeps_its_type():
    found = settled(
        name("ines korvath", 0, {"person": 1}),
        name("korvath shipping", 40, {"organization": 1}),
        name("korvath", 90, {"organization": 2}, n=2),
    )
    assert found == ["person", "organization", "organization"]


def test_a_name_of_two_people_is_one_of_theirs():
    people = name("ines korvath", 0, {"person": 1}), name("ruth korvath", 30, {"person": 1})
    assert settled(*people, name("korvath", 90, {"place": 1}))[2] == "person"


def test_a_single_name_is_a_person_only_if_something_says_so():
    assert settled(name("grotto", 0, {"person": 2}, n=2)) == [""]
    assert settled(name("grotto", 0, {"person": 1, "product": 1}, n=2)) == ["product"]
    assert settled(name("korvath", 0, {"person": 2}, n=2, n_personal=1)) == ["person"]
    assert settled(name("travis", 0, {"person": 1})) == ["person"]


def test_what_has_an_article_is_no_person():
    assert settled(name("observatory", 0, {"person": 3}, n=5, n_determined=2)) == ["place"]
    assert settled(name("halcyon", 0, {"person": 3, "ship": 1}, n=3, n_determined=3)) == ["ship"]
    assert settled(name("rev pell", 0, {"person": 3}, n=3, n_determined=3)) == ["person"]


def types_in(text):
    ((entities, _, problem),) = extract_texts([(text, "en", "")])
    assert problem == ""
    return {name: type_ for name, type_, *_ in entities}


def test_rows_of_a_text_have_these_types():
    types = types_in(
        "Marek Dunmore joined the club in 2019. Dunmore plays in goal. The Observatory stands above Kestle Lane, "
        "and people walk to the Observatory from Kestle Lane."
    )
    assert types["Dunmore"] == types["Marek Dunmore"] == "person"
    assert types["Observatory"] == types["Kestle Lane"] == "place"


def test_an_article_or_place_before_what_somebody_has_is_not_before_the_name():
    types = types_in(
        "Hanna Kowalik lost a vote. The Kowalik government had no majority, and in Kowalik's view the court was wrong."
    )
    assert types["Kowalik"] == "person"


def test_who_speaks_in_a_chat_or_is_meant_by_a_pronoun_is_a_person():
    types = types_in(
        "Juho: The key is lost.\n\nKornhill was born in Leeds. He left in 1902.\n\nKaniko builds the image."
    )
    assert types["Juho"] == types["Kornhill"] == "person"
    assert types["Kaniko"] != "person"


def test_what_tells_father_and_son_of_one_name_apart_belongs_to_their_names():
    types = types_in(
        "Pieter Holm the Elder painted the altar, and Pieter Holm the younger burnt it. John Vane, Jr., was a "
        "clerk. They called Anna Quill the younger sister."
    )
    assert [name for name, type_ in types.items() if type_ == "person"] == [
        "Pieter Holm the Elder",
        "Pieter Holm the younger",
        "John Vane, Jr.",
        "Anna Quill",
    ]
    assert not {"Jr.", "Elder"} & types.keys()
