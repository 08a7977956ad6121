"""Pairs that no rule compares and that are left undecided."""

import pytest

from polygraph.extract.resolution.resolve import resolve
from polygraph.text.normalize import normalize_name
from tests.unit.extract.resolution.resolved_rows import mentions_of, relations_of


def undecided(*rows):
    return {
        frozenset(pair.names) for pair in resolve(mentions_of(rows)).pairs if pair.decision == "undecided"
    }


PLACE = ("place", "City.")


def test_names_of_two_scripts_that_share_a_context_name_are_undecided():
    rows = (
        ("a", "Yuko Tanaka", "person", "Professor of botany."), ("a", "Tokyo", *PLACE),
        ("b", "田中裕子", "person", "東京の教授。"), ("b", "東京", *PLACE),
        ("c", "佐藤健", "person", "俳優。"), ("c", "大阪", *PLACE),
    )  # fmt: skip
    # The cities are described alike.
    assert undecided(*rows) == {frozenset({"yuko tanaka", "田中裕子"}), frozenset({"tokyo", "大阪"})}


def test_names_that_stand_in_one_text_are_two():
    rows = (
        ("a", "Yuko Tanaka", "person", "Professor of botany."), ("a", "Tokyo", *PLACE),
        ("a", "田中裕子", "person", "東京の教授。"), ("b", "Tokyo", *PLACE),
    )  # fmt: skip
    assert undecided(*rows) == set()


def decisions(*rows, relations=(), asks=True):
    found = resolve(mentions_of(rows), relations=relations_of(relations), asks=asks)
    return found, {frozenset(pair.names): pair.decision for pair in found.pairs}


def entities(found, *names):
    return {entity for (_, name), entity in found.entity_of.items() if name in names}


@pytest.mark.parametrize(
    ("first", "second", "type_", "about"),
    [
        ("Quarrel", "QuarrelDB", "software", "Embedded database in C."),
        ("Symphony No. 4", "Fourth Symphony", "musical work", "Work of a composer."),
        ("M. E. Robledo", "María Elena Robledo Paz", "person", "Judge of the mine."),
        ("Muzeum Narodowe w Toruniu", "National Museum in Toruń", "museum", "Museum with paintings of the Vistula."),
        ("The Halloran", "Halloran Telescope", "telescope", "Instrument in Chile."),
        ("Northern Mutual", "Northern Mutual Bank", "organization", "Bank of the docks."),
    ],
)  # fmt: skip
def test_names_alike_in_part_of_things_described_alike_reach_the_model(first, second, type_, about):
    _, pairs = decisions(("a", first, type_, about), ("b", second, type_, about))
    assert list(pairs.values()) == ["undecided"] or not pairs  # a rule may merge them
    found, _ = decisions(("a", first, type_, about), ("b", second, type_, about))
    assert pairs or len(set(found.entity_of.values())) == 1


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Marlin T4", "Marlin T5", "car model"),
        ("Ed Tanaka", "Emi Tanaka", "person"),
        ("North Harbour Trust", "South Harbour Trust", "organization"),
    ],
)
def test_names_that_differ_in_what_tells_things_apart_are_not_asked_about(first, second, type_):
    about = "Known for a protocol of 2017 in Exeter."
    found, pairs = decisions(("a", first, type_, about), ("b", second, type_, about))
    assert pairs == {}
    assert len(set(found.entity_of.values())) == 2


def test_a_common_name_and_another_one_are_asked_about_if_each_is_the_best_of_the_other():
    liz = "Lizard that lives only on the cliffs of the island Corvo."
    rows = (
        ("a", "Lacerta corvina", "species", liz), ("a", "Corvo", "place", "Island with cliffs."),
        ("b", "Ravencliff skink", "species", liz), ("b", "Corvo", "place", "Island with cliffs."),
    )  # fmt: skip
    _, pairs = decisions(*rows)
    assert pairs == {frozenset({"lacerta corvina", "ravencliff skink"}): "undecided"}


def test_a_name_that_is_described_as_that_of_its_neighbour_is_asked_about():
    rows = (
        ("a", "Bundesanstalt für Moorkunde", "organization", "Institute for bogs."),
        ("a", "BfMK", "organization", "Abbreviation of the institute."),
    )
    assert decisions(*rows)[1] == {frozenset({"bundesanstalt für moorkunde", "bfmk"}): "undecided"}
    # Of two neighbours of its kind it may be either.
    rows = (rows[0], ("a", "Torf", "organization", "Abbreviation of the institute."))
    _, pairs = decisions(*rows, ("a", "Ostrava Polder", "organization", "Club."))
    assert "undecided" not in pairs.values()


@pytest.mark.parametrize(
    ("name", "other", "type_", "description"),
    [
        ("Osvaldo Ribera", "el Zurdo", "person", "Apodo de Osvaldo Ribera."),
        ("Kansallislaitos", "Kela", "organization", "Kansallislaitoksen lyhenne."),
        ("Галина Петровна Лужина", "Галя", "person", "Домашнее имя Галины Петровны."),
        ("东湖大学附属医院", "东湖医院", "organization", "东湖大学附属医院的简称。"),
        ("Halcyon", "T-41", "ship", "The liner Halcyon."),
    ],
)
def test_a_name_that_is_described_as_another_name_in_any_language_is_asked_about(
    name, other, type_, description
):
    rows = (
        ("a", name, type_, "Known in the town."),
        ("a", other, type_, description),
        ("a", "Wallace Orme", type_, "Has nothing to do with it."),
    )
    assert decisions(*rows)[1] == {frozenset({normalize_name(name), normalize_name(other)}): "undecided"}


def test_a_relation_that_says_nickname_does_not_keep_two_names_apart():
    rows = (("a", "Willem Kram", "person", "Captain."), ("a", "Roodbaard Kram", "person", "Sailed out."))
    for predicate, expected in (("on lempinimi", {"undecided"}), ("on poika", set())):
        _, pairs = decisions(*rows, relations=[("a", "Roodbaard Kram", predicate, "Willem Kram")])
        assert set(pairs.values()) == expected


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Bürgerliches Gesetzbuch", "BGB", "law"),  # letters inside of words
        ("Ministry of Trade", "MoT", "organization"),
        ("National Groundwater Institute", "NGI Bhopal", "organization"),
        ("Harlow v. Pike", "Harlow v. Pike [1987]", "case"),
        ("Vessin Treaty of 1921", "Second Vessin Treaty", "treaty"),
        ("Ruta Jonaitis", "rjonaitis", "person"),
        ("Karel IV.", "Charles IV", "person"),
        ("Pliny the Younger", "Plinius der Jüngere", "person"),
    ],
)
def test_more_forms_of_one_name_are_asked_about(first, second, type_):
    about = "Known for the bridge of Ostrava."
    rows = (("a", first, type_, about), ("b", second, type_, about))
    assert len(decisions(*rows)[1]) == 1


def test_an_initial_of_a_genus_beside_two_of_them_is_asked_about():
    rows = tuple(
        ("a", name, "organism", "Bacterium.") for name in ("Escherichia coli", "E. coli", "Bordela coli")
    )
    assert decisions(*rows)[1] == {frozenset({"escherichia coli", "e coli"}): "undecided"}


def test_what_belongs_to_a_name_is_not_asked_about():
    about = "Stands in the story of the winter."
    rows = (
        ("a", "Wexley", "place", about),
        ("b", "Wexley's Gate", "place", about),
        ("c", "Wexley's Mill", "place", about),
    )
    assert decisions(*rows)[1] == {}


def test_an_abbreviation_beside_its_only_long_name_is_asked_about():
    rows = (
        ("a", "Bürgerliches Gesetzbuch", "law", "In force since 1900."),
        ("a", "BGB", "law", "Cited by the court."),
    )
    assert set(decisions(*rows)[1].values()) == {"undecided"}
    two = ("a", "Bergisches Gesetzbuch", "law", "Older.")
    assert decisions(*rows, two)[1] == {}


def test_a_general_name_is_asked_about_beside_one_or_two_names_of_its_kind():
    rows = (
        ("a", "Meridian Foods", "organization", "Maker of peas."),
        ("a", "The company", "organization", "Founded in 1961."),
        ("b", "Brannock Mills", "organization", "Chain of bakeries."),
        ("b", "the company", "organization", "Sells bread."),
    )
    _, pairs = decisions(*rows)
    assert pairs[frozenset({"company", "meridian foods"})] == "undecided"
    assert pairs[frozenset({"company", "brannock mills"})] == "undecided"
    # The two companies are presumed to be one, as where nobody is asked.
    assert pairs[frozenset({"company"})] == "presumed"
    more = [("a", f"{name} Works", "organization", "Firm.") for name in ("Corve", "Denholm", "Threave")]
    assert frozenset({"company", "meridian foods"}) not in decisions(*rows, *more)[1]


def test_a_general_name_of_a_place_or_an_object_is_asked_about_only_beside_those_of_its_class():
    rows = (
        ("a", "The ship", "ship", "Sank."), ("a", "Honora", "ship", "Barque of 1861."), ("a", "Alma", "ship", "Ship."),
        ("b", "The comet", "object", "Moved."), ("b", "Brass spyglass", "object", "With a dent."),
    )  # fmt: skip
    _, pairs = decisions(*rows)
    assert pairs == {frozenset({"ship", name}): "undecided" for name in ("alma", "honora")}


def test_namesakes_of_years_far_apart_are_asked_about():
    rows = (
        ("a", "HMS Petrel", "ship", "Ship launched in 1741."),
        ("b", "HMS Petrel", "ship", "Ship launched for the navy in 1804."),
    )
    assert set(decisions(*rows)[1].values()) == {"presumed"}
    near = (rows[0], ("b", "HMS Petrel", "ship", "Ship launched for the navy in 1744."))
    assert decisions(*near)[1] == {}


def test_a_body_described_with_the_words_of_another_name_is_asked_about():
    rows = (
        ("a", "თბილისის სასამართლო", "court", "Maritime court in Tbilisi."),
        ("b", "Tbilisi Maritime Court", "court", "Freed a crew."),
    )
    assert set(decisions(*rows)[1].values()) == {"undecided"}


SURNAMES = (
    ("a", "Daniel Kest", "person", "Baker in Ostrava."),
    ("b", "Mr. Kest", "person", "Spoke about drains."),
)


def test_a_surname_of_which_nothing_speaks_for_its_bearer_is_presumed_where_a_model_is_asked():
    found, pairs = decisions(*SURNAMES)
    assert pairs == {frozenset({"daniel kest", "kest"}): "presumed"}
    assert len(set(found.entity_of.values())) == 2
    found, pairs = decisions(*SURNAMES, asks=False)
    assert pairs == {}
    assert len(set(found.entity_of.values())) == 1


def test_a_surname_that_a_model_lists_beside_the_full_name_is_presumed_to_be_its():
    rows = (
        ("a", "Clara Stanescu", "person", "Conductor."),
        ("a", "Stanescu", "person", "Composer of the symphony."),
    )
    assert decisions(*rows)[1] == {frozenset({"clara stanescu", "stanescu"}): "presumed"}
    assert len(set(decisions(*rows, asks=False)[0].entity_of.values())) == 1


def test_a_wife_and_a_name_that_does_not_tell_a_woman_are_presumed_to_be_one_whatever_they_share():
    rows = [
        ("a", "Yaro Rell", "person", "Worked on the line."),
        ("b", "Mrs. Rell", "person", "Landlady."),
        *((d, place, "place", "Lies there.") for d in "ab" for place in ("Kelsby", "Omsk Hill", "Inn")),
    ]
    assert decisions(*rows)[1][frozenset({"rell", "yaro rell"})] == "presumed"
    assert len(entities(decisions(*rows, asks=False)[0], "Yaro Rell", "Mrs. Rell")) == 1


def test_the_younger_and_a_name_without_it_are_presumed_to_be_one_whatever_they_share():
    rows = [
        ("a", "Piet Brun", "person", "Sold shares of the firm."),
        ("b", "Piet Brun jun.", "person", "Represented the firm."),
        *((d, "Brun Works", "organization", "A firm.") for d in "ab"),
    ]
    assert decisions(*rows)[1][frozenset({"piet brun"})] == "presumed"
    assert len(entities(decisions(*rows, asks=False)[0], "Piet Brun", "Piet Brun jun.")) == 1


def test_namesakes_with_nothing_in_common_are_presumed_to_be_one():
    rows = (
        ("a", "Wang Jianguo", "person", "Director of the ocean centre."),
        ("b", "Wang Jianguo", "person", "Chef with a restaurant."),
    )
    assert decisions(*rows)[1] == {frozenset({"wang jianguo"}): "presumed"}
    assert len(set(decisions(*rows, asks=False)[0].entity_of.values())) == 1


def test_namesakes_in_places_written_in_two_ways_are_asked_about():
    rows = (
        ("a", "Wexley, Ontario", "place", "Town with a paper mill."),
        ("b", "Wexley (Ont.)", "place", "Town whose paper mill was fined."),
    )
    assert decisions(*rows)[1] == {frozenset({"wexley"}): "undecided"}


def test_a_common_noun_is_not_the_software_that_is_spelled_like_it():
    rows = (
        ("a", "Orchestrion", "software", "Scheduler of containers."),
        ("b", "orchestrion", "musical instrument", "Automatic organ with drums."),
    )
    assert len(entities(decisions(*rows, asks=False)[0], "Orchestrion", "orchestrion")) == 2


def test_an_initial_never_joins_two_given_names_of_one_surname():
    rows = (
        ("a", "Ed Tanaka", "person", "Author of the relay protocol."), ("a", "Relay Protocol", "software", "Draft."),
        ("b", "E. Tanaka", "person", "Author of the relay protocol."), ("b", "Relay Protocol", "software", "Draft."),
        ("c", "Emi Tanaka", "person", "Author of the relay protocol."), ("c", "Relay Protocol", "software", "Draft."),
    )  # fmt: skip
    assert len(entities(decisions(*rows, asks=False)[0], "Ed Tanaka", "Emi Tanaka")) == 2


@pytest.mark.parametrize(
    "predicate", ["was later named", "is brand name of", "is common name of", "is Korean name of"]
)
def test_another_name_in_a_relation_equates(predicate):
    rows = (("a", "QR-2281", "drug", "Compound."), ("a", "Ornalutide", "drug", "Drug."))
    found, _ = decisions(*rows, relations=[("a", "QR-2281", predicate, "Ornalutide")], asks=False)
    assert len(set(found.entity_of.values())) == 1
    found, _ = decisions(*rows, relations=[("a", "QR-2281", "had named", "Ornalutide")], asks=False)
    assert len(set(found.entity_of.values())) == 2


def test_given_names_tell_only_people_apart():
    rows = (
        ("a", "Athletic Club Marvale", "sports team", "Club of the striker Reis."),
        ("b", "AC Marvale", "sports team", "Club that sold the striker Reis."),
    )
    assert decisions(*rows)[1] == {frozenset({"athletic club marvale", "ac marvale"}): "undecided"}


def test_a_surname_with_as_much_in_common_with_two_people_is_not_given_to_the_lesser_known():
    both = (("board", "Chidi Okafor", "person", "Member."), ("board", "Thomas Okafor", "person", "Member."))
    context = tuple(
        (d, name, "object", "Pump.") for d in ("board", "pump") for name in ("NX-40", "Basin East")
    )
    more = tuple((f"mail{n}", *row) for n in range(4) for row in (both[1][1:], context[0][1:]))
    found, pairs = decisions(*both, *context, *more, ("pump", "Mr. Okafor", "person", "Wants one pump."))
    (okafor,) = entities(found, "Mr. Okafor")
    assert okafor not in entities(found, "Chidi Okafor", "Thomas Okafor")
    assert {names for names, decision in pairs.items() if "okafor" in names and decision == "undecided"} == {
        frozenset({"okafor", "chidi okafor"}), frozenset({"okafor", "thomas okafor"})
    }  # fmt: skip


def test_an_initial_is_that_of_a_first_name_and_not_of_a_middle_one():
    listed = [("board", f"{name} Okafor", "person", "Member of the board.") for name in ("C.", "T. C.")]
    found, _ = decisions(*listed)
    assert len(entities(found, "C. Okafor", "T. C. Okafor")) == 2
