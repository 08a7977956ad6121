"""Rules that need a language model's rows: statements, types, descriptions, other scripts, nearest bearers."""

import json

import pytest

from polygraph.extract.resolution.records import Mention, NameRelation
from polygraph.extract.resolution.resolve import resolve
from tests.unit.extract.resolution.resolved_rows import resolved, same


def test_a_name_that_a_text_denies_is_kept_apart_in_every_document():
    found = resolved(
        [
            ("a", "Silas Threave", "person", "Keeper of the light."),
            ("a", "Alderman Threave", "person", "Another man."),
            ("b", "Alderman Threave", "person", "Opened the letter."),
        ],
        ("a", "Silas Threave", "is not", "Alderman Threave"),
    )
    assert not same(found, ("a", "Silas Threave"), ("a", "Alderman Threave"))
    assert not same(found, ("a", "Silas Threave"), ("b", "Alderman Threave"))
    assert same(found, ("a", "Alderman Threave"), ("b", "Alderman Threave"))
    assert any(pair.decision == "apart" for pair in found.pairs)


@pytest.mark.parametrize("predicate", ["is nephew of", "is father of", "ist Vater von", "danced with"])
def test_names_joined_by_a_relation_are_two(predicate):
    found = resolved(
        [("a", "Councillor Vane", "person", "Forbade it."), ("a", "Miss Vane", "person", "Answered him.")],
        ("a", "Councillor Vane", predicate, "Miss Vane"),
    )
    assert not same(found, ("a", "Councillor Vane"), ("a", "Miss Vane"))


@pytest.mark.parametrize(
    ("younger", "elder"),
    [
        ("Иван Петров младший", "Иван Петров старший"),
        ("Jan Kowalski młodszy", "Jan Kowalski starszy"),
        ("Jan Novák mladší", "Jan Novák starší"),
        ("Matti Virtanen nuorempi", "Matti Virtanen vanhempi"),
        ("Hans Roth der Jüngere", "Hans Roth der Ältere"),
    ],
)
def test_the_elder_and_the_younger_bear_one_name_in_many_languages(younger, elder):
    name = younger.rpartition(" ")[0].removesuffix(" der")
    found = resolved([("a", younger, "person", "A smith."), ("b", elder, "person", "A smith.")])
    assert not same(found, ("a", younger), ("b", elder))
    assert all(entity.startswith(f"{name.casefold()} (") for entity in found.entity_of.values())


@pytest.mark.parametrize("kind", ["person", "place"])
def test_a_name_with_nothing_behind_its_comma_is_a_name(kind):
    for name in ("Vessin, ", "Vessin,  ", "Vessin, ."):
        found = resolve([Mention(document="a", window="a@0", name=name, type=kind, description="")])
        assert found.entity_of == {("a@0", name): "vessin"}


def test_a_short_name_without_a_relation_still_merges_within_a_reply():
    found = resolved(
        [("a", "Ebenezer Scrooge", "person", "A miser."), ("a", "Scrooge", "person", "Hated Christmas.")]
    )
    assert same(found, ("a", "Ebenezer Scrooge"), ("a", "Scrooge"))


@pytest.mark.parametrize(
    "predicate",
    [
        "was renamed",
        "also called",
        "früher genannt",
        "anciennement",
        "también llamado",
        "又名",
        "также известен как",
    ],
)
def test_a_predicate_that_equates_merges_across_documents(predicate):
    found = resolved(
        [
            ("a", "Gopher Mail", "software", "Old program."),
            ("a", "Petrel", "software", "New program."),
            ("b", "Petrel", "software", "Crashed."),
            ("c", "Gopher Mail", "software", "Wrote an archive."),
        ],
        ("a", "Gopher Mail", predicate, "Petrel"),
    )
    assert len(set(found.entity_of.values())) == 1
    assert {(m.rule, m.evidence) for m in found.merges} == {("equated by text", predicate)}


@pytest.mark.parametrize("date", ["1991", "December 2020", "1 July 1956"])
@pytest.mark.parametrize("predicate", ["renamed in", "was renamed", "umbenannt in", "is called since"])
def test_a_date_without_a_type_is_no_other_name(predicate, date):
    found = resolved(
        [("a", "Brunn AG", "organization", "Maker of pumps."), ("a", date, "", "")],
        ("a", "Brunn AG", predicate, date),
    )
    assert not same(found, ("a", "Brunn AG"), ("a", date))


@pytest.mark.parametrize("lesser", ["the Bishop", "L. F."])
def test_a_general_noun_or_initials_are_never_the_base_name_beside_a_name(lesser):
    found = resolved(
        [
            ("a", "Farrugia", "person", "Steward."),
            ("a", lesser, "person", "Name of Farrugia on board."),
            ("b", lesser, "person", "Name of Farrugia on board."),
        ],
        ("a", "Farrugia", "also called", lesser),
    )
    assert set(found.entity_of.values()) == {"farrugia"}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("Der alte Moe", True), ("La joven Moe", True), ("Alter Moe", False), ("Young Moe", False)],
)
def test_old_and_young_before_a_surname_are_no_given_names_behind_an_article(name, is_one):
    found = resolved([("a", "Aslak Moe", "person", "Master."), ("a", name, "person", "Was ill.")])
    assert same(found, ("a", "Aslak Moe"), ("a", name)) == is_one


def test_named_after_does_not_equate():
    found = resolved(
        [("a", "Crohn's disease", "disease", "Of the bowel."), ("a", "Burrill Crohn", "person", "A doctor.")],
        ("a", "Crohn's disease", "is named after", "Burrill Crohn"),
    )
    assert not same(found, ("a", "Crohn's disease"), ("a", "Burrill Crohn"))


def test_types_part_whatever_their_language():
    rows = [
        ("a", "Halcyon", "ship", "Sank in 1871."),
        ("b", "Halcyon", "Werk", "Gedicht in sechs Gesängen."),
        ("c", "Halcyon", "hotel", "Has forty beds."),
    ]
    found = resolved(rows)
    assert len(set(found.entity_of.values())) == 3
    assert {pair.rule for pair in found.pairs} == {"attributes"}


def test_a_lone_type_against_many_does_not_part():
    rows = [(d, "Halcyon", "ship", "Sailed.") for d in "abcd"] + [
        ("e", "Halcyon", "organization", "Was seen.")
    ]
    assert len(set(resolved(rows).entity_of.values())) == 1


def test_concepts_events_and_dates_never_part():
    rows = [("a", "Reform", "concept", "An idea."), ("b", "Reform", "event", "It came.")]
    assert len(set(resolved(rows).entity_of.values())) == 1


def test_types_of_the_parser_do_not_part():
    mentions = [
        Mention(document=d, window=f"{d}@0", name="Halcyon", type=t, description="Halcyon was there.")
        for d, t in (("a", "organization"), ("b", "work"))
    ]
    assert len(set(resolve(mentions, by_model=False).entity_of.values())) == 1


@pytest.mark.parametrize(
    ("name", "type_", "first", "second"),
    [
        ("Springfield", "place", "Capital of Illinois.", "City in Massachusetts."),
        ("John Adams", "person", "Lived from 1735 to 1826.", "Born in 1947, wrote an opera."),
        ("John Smith", "person", "Mapped the coast in 1607.", "Politician who died in 1994."),
        ("Jan Kest", "person", "Miller who died on 9 October 1809.", "Wrote a letter in 1899."),
        ("Jan Kest", "person", "Miller, born 3. Mai 1911.", "Clerk born in March 1871."),
        ("Carla Voss", "person", "Painter in Graz.", "Physicist in Bonn."),
        ("The Office", "work", "British series of 2001.", "American series of 2005."),
        ("Falcon", "software", "Web framework.", "Language model."),
        ("Robin Vale", "person", "Daughter of the smith.", "Son of the mayor."),
    ],
)
def test_a_description_is_said_of_its_entity(name, type_, first, second):
    if name == "Falcon":
        second = "Editor for scripts."
    found = resolved([("a", name, type_, first), ("b", name, type_, second)])
    assert not same(found, ("a", name), ("b", name))


def test_a_number_of_people_before_a_year_is_no_day():
    rows = [
        ("a", "Jan Kest", "person", "Witnessed the death of 14 passengers in 1857."),
        ("b", "Jan Kest", "person", "Kept a diary in 1919."),
    ]
    assert same(resolved(rows), ("a", "Jan Kest"), ("b", "Jan Kest"))


def test_a_trade_further_on_in_a_description_is_that_of_another():
    rows = [
        ("a", "Carla Voss", "person", "Painter in Graz."),
        ("b", "Carla Voss", "person", "Told the judge all."),
    ]
    assert same(resolved(rows), ("a", "Carla Voss"), ("b", "Carla Voss"))


def test_parts_of_different_wholes_are_two():
    found = resolved(
        [
            ("a", "Article 5", "law", "Protects liberty."),
            ("a", "Convention", "law", "Contains it."),
            ("b", "Article 5", "law", "Obliges to help."),
            ("b", "Treaty", "law", "Contains it."),
        ],
        ("a", "Article 5", "is part of", "Convention"),
        ("b", "Article 5", "is part of", "Treaty"),
    )
    assert not same(found, ("a", "Article 5"), ("b", "Article 5"))


def test_a_titled_surname_goes_to_the_nearest_bearer_in_each_document():
    found = resolved(
        [
            ("a", "Karin Lund", "person", "Teaches geology."),
            ("a", "Erik Lund", "person", "Runs the clinic."),
            ("b", "Professor Lund", "person", "Dated the slate with her geology students."),
            ("c", "Dr. Lund", "person", "Set a leg at the clinic."),
            ("d", "Lund", "person", "Was late."),
        ]
    )
    assert same(found, ("b", "Professor Lund"), ("a", "Karin Lund"))
    assert same(found, ("c", "Dr. Lund"), ("a", "Erik Lund"))
    assert found.entity_of["d@0", "Lund"] == "lund"
    undecided = {pair.entities for pair in found.pairs if pair.decision == "undecided"}
    assert ("karin lund", "lund") in undecided


def test_names_side_by_side_are_not_spellings_of_one():
    rows = [
        ("a", "Sintelly Systems", "organization", "Won."),
        ("a", "Sentelly Systems", "organization", "Lost."),
        ("a", "Tallinn", "place", "Home of both."),
        ("b", "Sentelly Systems", "organization", "Appealed."),
        ("b", "Tallinn", "place", "Seat of a court."),
    ]
    found = resolved(rows)
    assert not same(found, ("a", "Sintelly Systems"), ("a", "Sentelly Systems"))


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Сергей Бубка", "Sergei Bubka", "person"),
        ("Γιώργος Παπαδόπουλος", "Giorgos Papadopoulos", "person"),
        ("محمد صلاح", "Mohamed Salah", "person"),
        ("北京", "Beijing", "place"),
        ("Gabriel García Márquez", "Gabriel Garcia Marquez", "person"),
        ("München", "Munich", "place"),
        ("Norwind Turbines GmbH", "Norwind Turbines", "organization"),
        ("Smith & Sons", "Smith and Sons", "organization"),
        ("RMS Titanic", "Titanic", "ship"),
        ("J. J. Thomson", "Joseph John Thomson", "person"),
        ("García Márquez", "Gabriel García Márquez", "person"),
        ("Tanaka Ichiro", "Ichiro Tanaka", "person"),
        ("Morbus Crohn", "Crohn's disease", "disease"),
        ("Henry the Fourth", "Henry IV", "person"),
        ("Johann Strauss Sohn", "Johann Strauss the younger", "person"),
    ],
)
def test_one_thing_under_two_names_comes_together(first, second, type_):
    found = resolved([("a", first, type_, "Is named."), ("b", second, type_, "Was seen.")])
    assert same(found, ("a", first), ("b", second)), found.pairs


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("Eleni Papadopoulou", "Γιώργος Παπαδόπουλος", "person"),
        ("Helios Energy", "Helios Energy Canada", "organization"),
        ("U 47", "U 99", "ship"),
        ("Charles I", "Charles II", "person"),
        ("Matthias Corve", "Old Matthias Corving", "person"),
        ("John Vane", "John Quincy Vane", "person"),
        ("Victoria", "Lake Victoria", "place"),
    ],
)
def test_alike_is_not_the_same(first, second, type_):
    found = resolved([("a", first, type_, "Is named."), ("b", second, type_, "Was seen.")])
    assert not same(found, ("a", first), ("b", second))


def test_an_acronym_goes_to_the_long_form_with_common_neighbours():
    found = resolved(
        [
            ("a", "Baltic Freight Union", "organization", "Raised its fees."),
            ("a", "BFU", "organization", "Carries grain."),
            ("a", "Riga", "place", "A port."),
            ("b", "BFU", "organization", "Never answers."),
            ("b", "Riga", "place", "A port."),
            ("c", "Bavarian Football Union", "organization", "Banned two."),
            ("c", "BFU", "organization", "Will hear them."),
        ]
    )
    assert same(found, ("b", "BFU"), ("a", "Baltic Freight Union"))
    assert same(found, ("c", "BFU"), ("c", "Bavarian Football Union"))
    assert not same(found, ("a", "BFU"), ("c", "BFU"))


def test_a_place_before_a_name_needs_that_place_beside_the_short_name():
    rows = [
        ("a", "Sallowmouth Harbour Board", "organization", "Reduced the dues."),
        ("b", "Harbour Board", "organization", "Met on Monday."),
    ]
    assert not same(resolved(rows), ("a", "Sallowmouth Harbour Board"), ("b", "Harbour Board"))
    rows.append(("b", "Sallowmouth", "place", "A port."))
    assert same(resolved(rows), ("a", "Sallowmouth Harbour Board"), ("b", "Harbour Board"))


def test_another_name_in_a_description_counts():
    rows = [
        ("a", "acetaminophen", "drug", "Painkiller, also known as paracetamol."),
        ("a", "paracetamol", "drug", "Was given."),
    ]
    assert same(resolved(rows), ("a", "acetaminophen"), ("a", "paracetamol"))


def test_what_a_name_adds_in_brackets_or_behind_a_comma_distinguishes():
    rows = [
        ("a", "Matthias Corve, coxswain", "person", "Steered the boat."),
        ("a", "Matthias Corve, Harbour-Master", "person", "Kept the keys."),
    ]
    found = resolved(
        rows, ("a", "Matthias Corve, coxswain", "is nephew of", "Matthias Corve, Harbour-Master")
    )
    assert set(found.entity_of.values()) == {"matthias corve (coxswain)", "matthias corve (harbour-master)"}


@pytest.mark.parametrize(
    ("others", "is_one"),
    [
        (["Mr. Percy Stote", "Mr. Edwin Sturm", "Mrs. Ada Vane"], False),
        (["Percy Stote", "Mr. Edwin Sturm", "Ada Vane"], True),
    ],
)
def test_a_full_name_without_the_title_that_others_have_is_not_mr(others, is_one):
    prizes = [("prizes", name, "person", f"Was present {n}.") for n, name in enumerate(others)]
    found = resolved(
        [
            *prizes,
            ("prizes", "Albert Gudgeon", "person", "Recited a poem."),
            ("news", "Mr. Gudgeon", "person", "Sexton who looked at the church clock."),
        ]
    )
    assert same(found, ("prizes", "Albert Gudgeon"), ("news", "Mr. Gudgeon")) == is_one
    assert is_one or [p.decision for p in found.pairs if "albert gudgeon" in p.entities] == ["undecided"]


def test_what_a_reply_adds_to_one_name_to_tell_two_apart_keeps_them_apart():
    rows = [
        ("minutes", "Ruth Vane (chief pharmacist)", "person", "Asked for two pharmacists."),
        ("minutes", "Ruth Vane (lead governor)", "person", "Reported complaints about the barrier."),
        ("minutes", "Gerald Mott", "person", "Abstained."),
        ("later", "Ruth Vane", "person", "Chief pharmacist who spoke of the library."),
        ("news", "Ruth Vane", "person", "Lead governor who had warned about staffing."),
    ]
    found = resolved(rows)
    chief, governor = (("minutes", rows[n][1]) for n in (0, 1))
    assert not same(found, chief, governor)
    assert same(found, chief, ("later", "Ruth Vane"))
    assert same(found, governor, ("news", "Ruth Vane"))
    assert found.entity_of["later@0", "Ruth Vane"] == "ruth vane (pharmacist)"


def test_an_addition_that_only_says_more_does_not_part():
    rows = [
        ("a", "Ruth Vane (pharmacist)", "person", "Asked for help."),
        ("a", "Ruth Vane (chief pharmacist)", "person", "Spoke."),
    ]
    assert same(resolved(rows), ("a", rows[0][1]), ("a", rows[1][1]))


def test_a_thing_is_not_the_kind_that_a_relation_says_it_is():
    rows = [("a", "S5-00417", "object", "A pump in bay 14."), ("a", "Sonde 5", "object", "Model of pump.")]
    found = resolved(rows, ("a", "S5-00417", "is a", "Sonde 5"))
    assert not same(found, ("a", "S5-00417"), ("a", "Sonde 5"))


def test_the_younger_is_not_merged_with_the_only_longer_name_without_being_asked():
    found = resolved(
        [
            ("a", "Ignaz Roth", "person", "Optician in Hamburg who sent a mirror to the Trust."),
            ("b", "Dr. Roth the younger", "person", "Of Hamburg; sent the Trust a letter."),
        ]
    )
    assert not same(found, ("a", "Ignaz Roth"), ("b", "Dr. Roth the younger"))
    assert [pair.decision for pair in found.pairs] == ["undecided"]


@pytest.mark.parametrize(
    "description",
    [
        "Late Harbour-Master who gave Sturm the hour.",
        "Predecessor of Sturm as Harbour-Master, gave the hour.",
    ],
)
def test_an_office_after_a_word_for_the_past_or_as_tells_namesakes_apart(description):
    found = resolved(
        [
            ("a", "Matthias Corve", "person", "Harbour-Master of the port."),
            ("b", "Matthias Corve", "person", "Coxswain, gave Sturm the hour."),
            ("c", "Mr. Corve", "person", description),
        ],
        ("a", "Matthias Corve", "is uncle of", "Young Matthias Corve"),
    )
    assert same(found, ("a", "Matthias Corve"), ("c", "Mr. Corve"))
    assert not same(found, ("b", "Matthias Corve"), ("c", "Mr. Corve"))


def test_the_merges_seen_in_real_replies_are_gone(shared_data):
    mentions, relations = [], []
    replies = shared_data("replies-sample-strong") / "replies.jsonl"
    lines = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
    for n, row in enumerate(line for line in lines if line["task"].strip().endswith("extract")):
        window = f"{n:02}@0"
        for record in row["reply"].splitlines():
            fields = [field.strip() for field in record.split("|")]
            if fields[0] == "entity" and len(fields) > 3:
                mentions.append(
                    Mention(
                        document=f"{n:02}",
                        window=window,
                        name=fields[1],
                        type=fields[2],
                        description=fields[3],
                    )
                )
            elif fields[0] == "relation" and len(fields) > 3:
                relations.append(
                    NameRelation(window=window, source=fields[1], target=fields[2], predicate=fields[3])
                )
    found = resolve(mentions, relations=relations)
    of_name = {
        name: {e for (_, written), e in found.entity_of.items() if written == name}
        for name in {m.name for m in mentions}
    }
    assert of_name["Silas Threave"].isdisjoint(of_name["Alderman Threave"])
    assert of_name["Alderman Silas Threave"] == of_name["Alderman Threave"]
    assert of_name["Young Matthias Corve"].isdisjoint(of_name["Mr. Matthias Corve"])
    assert of_name["Matthias Corve, nephew"].isdisjoint(of_name["Matthias Corve, Harbour-Master"])
    assert of_name["Councillor Vane"].isdisjoint(of_name["Miss Vane"])
    assert of_name["Walter Roop"].isdisjoint(of_name["Isaac Roop"])
    assert of_name["Harbour Board"] == of_name["Sallowmouth Harbour Board"]
    assert of_name["Albert Gudgeon"].isdisjoint(of_name["Mr. Gudgeon"])
    assert of_name["Mr. Corve"].isdisjoint(of_name["Matthias Corve, coxswain"])
