import random
import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from polygraph.extract.resolution import resolve as resolve_module
from polygraph.extract.resolution.disambiguation import splitting
from polygraph.extract.resolution.disambiguation.conflicts import any_contradict
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.evidence.sentence_attributes import extract_attributes
from polygraph.extract.resolution.merging.blocking import one_edit_pairs
from polygraph.extract.resolution.names.name_parts import split_name
from polygraph.extract.resolution.records import Mention, NameRelation, Resolution
from polygraph.extract.resolution.resolve import resolve
from tests.unit.extract.resolution.resolved_rows import same


def mention(
    name: str, document: str = "a.md", text: str = "", type: str = "person", window: int = 0
) -> Mention:
    return Mention(
        document=document,
        window=f"{document}@{window}",
        name=name,
        type=type,
        description=text or f"{name} was there.",
    )


def ids(found: Resolution) -> dict[tuple[str, str], str]:
    return dict(found.entity_of)


def n_entities(found: Resolution) -> int:
    return len(set(found.entity_of.values()))


# --- the same name


def test_names_with_one_normalised_form_are_one_entity():
    found = resolve([mention("The Halcyon", type="ship"), mention("Halcyon’s", "b.md", type="ship")])
    assert set(found.entity_of.values()) == {"halcyon"}


def test_titles_do_not_count_and_the_merge_is_recorded():
    found = resolve([mention("Captain Thomas Quill"), mention("Thomas Quill", "b.md")])
    assert set(found.entity_of.values()) == {"thomas quill"}
    (merge,) = [m for m in found.merges if m.name == "Captain Thomas Quill"]
    assert (merge.rule, merge.score, merge.entity) == ("same name", 1.0, "thomas quill")


def test_each_merge_is_told_by_its_own_rule_and_with_the_name_that_it_joined():
    rows = [
        mention("Johann Müller"), mention("Mr. Müller"),
        mention("Johann Mueller", "b.md"), mention("Johann Mueller", "c.md"), mention("Johann Mueller", "d.md"),
        mention("The Miller", "d.md"),
    ]  # fmt: skip
    found = resolve(rows, must_link=frozenset({("The Miller", "Johann Müller")}), by_model=False)
    assert set(found.entity_of.values()) == {"johann mueller"}
    told = {(m.name, m.document, m.rule, m.other, m.score) for m in found.merges}
    assert told == {
        ("Mr. Müller", "a.md", "alias in document", "johann müller", 0.9),
        ("Johann Müller", "", "spelling", "johann mueller", 0.95),
        ("The Miller", "", "user", "johann müller", 1.0),
    }


@pytest.mark.parametrize(
    ("a", "b", "type_", "evidence"),
    [
        ("Grey-Reef", "Grey Reef", "place", "equal without accents and hyphens"),
        ("Brücke", "Bruecke", "place", "equal with two letters for a letter with marks"),
        ("Ohlsen GmbH", "Ohlsen", "organization", "equal without legal form"),
        ("night watches", "night watch", "concept", "equal without plural"),
        (
            "Dept of Mines",
            "Department of Mines",
            "organization",
            "equal with abbreviations and numerals in one form",
        ),
    ],
)
def test_a_merge_of_spellings_says_what_makes_them_equal(a, b, type_, evidence):
    (merge,) = resolve([mention(a, type=type_), mention(b, "b.md", type=type_)], by_model=False).merges
    assert (merge.rule, merge.evidence) == ("spelling", evidence)


def test_a_title_before_a_place_is_part_of_its_name():
    found = resolve([mention("King Street", type="place"), mention("Street", type="place")])
    assert set(found.entity_of.values()) == {"king street", "street"}


# --- aliases


def test_a_surname_stands_for_the_only_full_name_of_its_document():
    found = resolve([mention("Thomas Quill"), mention("Quill"), mention("Captain Quill")])
    assert set(found.entity_of.values()) == {"thomas quill"}
    assert {m.rule for m in found.merges} == {"alias in document"}
    assert {m.document for m in found.merges} == {"a.md"}


def test_a_surname_of_two_people_is_an_entity_of_its_own():
    found = resolve([mention("Thomas Quill"), mention("Edward Quill"), mention("Quill")])
    assert ids(found)["a.md@0", "Quill"] == "quill"


def test_a_title_selects_the_person_of_its_gender():
    found = resolve(
        [mention("Thomas Quill"), mention("Anna Quill"), mention("Mr. Quill"), mention("Miss Quill")]
    )
    assert same(found, ("a.md", "Mr. Quill"), ("a.md", "Thomas Quill"))
    assert same(found, ("a.md", "Miss Quill"), ("a.md", "Anna Quill"))


def test_mrs_is_not_merged_if_several_people_have_the_surname():
    found = resolve([mention("Bob Cratchit"), mention("Martha Cratchit"), mention("Mrs. Cratchit")])
    assert ids(found)["a.md@0", "Mrs. Cratchit"] == "mrs cratchit"


def test_a_bare_surname_in_a_document_with_mr_and_mrs_is_neither():
    found = resolve([mention("Mr. Vane"), mention("Mrs. Vane"), mention("Vane")])
    assert n_entities(found) == 3


def test_a_bare_surname_merges_with_the_only_person_in_the_corpus_who_has_it():
    found = resolve([mention("Thomas Quill"), mention("Quill", "b.md")])
    assert same(found, ("a.md", "Thomas Quill"), ("b.md", "Quill"))
    found = resolve([mention("Thomas Quill"), mention("Edward Quill", "c.md"), mention("Quill", "b.md")])
    assert ids(found)["b.md@0", "Quill"] == "quill"


def test_ms_merges_with_the_only_person_of_that_surname_unless_it_is_a_man():
    found = resolve([mention("Tracey Swan"), mention("Ms. Swan")], by_model=False)
    assert same(found, ("a.md", "Tracey Swan"), ("a.md", "Ms. Swan"))
    found = resolve([mention("Thomas Quill"), mention("Ms. Quill")], by_model=False)
    assert ids(found)["a.md@0", "Ms. Quill"] == "ms quill"
    found = resolve([mention("Robin Vane"), mention("Mr. Vane"), mention("Ms. Vane")], by_model=False)
    assert not same(found, ("a.md", "Mr. Vane"), ("a.md", "Ms. Vane"))


def test_mrs_does_not_merge_with_a_man_of_that_surname():
    found = resolve([mention("Thomas Quill"), mention("Mrs. Quill", "b.md")])
    assert ids(found)["b.md@0", "Mrs. Quill"] == "mrs quill"


def test_initials_and_omitted_middle_names_merge_within_a_document():
    found = resolve(
        [mention("John Robert Vane"), mention("J. R. Vane"), mention("John Vane"), mention("J. Vane")]
    )
    assert set(found.entity_of.values()) == {"john robert vane"}


def test_initials_that_fit_two_people_are_not_merged():
    found = resolve([mention("John Vane"), mention("James Vane"), mention("J. Vane")])
    assert n_entities(found) == 3


def test_a_title_of_a_work_has_no_surname():
    found = resolve([mention("Mark of the Renegade", type=""), mention("Renegade")])
    assert n_entities(found) == 2


def test_an_acronym_merges_with_its_long_form_within_a_document():
    found = resolve(
        [
            mention("Bergen Tide Society", type="organization", text="The Bergen Tide Society (BTS) met."),
            mention("BTS", type="organization"),
            mention("BTS", "b.md", type="organization"),
        ]
    )
    assert same(found, ("a.md", "BTS"), ("a.md", "Bergen Tide Society"))


def test_without_a_model_two_letters_are_an_acronym_only_if_the_text_has_it_in_brackets():
    in_brackets = [
        mention("Harbour Board", type="organization", text="The Harbour Board (HB) met."),
        mention("HB", type="organization"),
    ]
    without = [mention("Harbour Board", type="organization"), mention("HB", type="organization")]
    assert n_entities(resolve(in_brackets)) == 1
    assert n_entities(resolve(without, by_model=False)) == 2


# --- disambiguation


def one_name(first: str, second: str, *more: Mention) -> Resolution:
    return resolve([mention("Thomas Quill", "a.md", first), mention("Thomas Quill", "b.md", second), *more])


def test_different_occupations_in_different_contexts_split_a_name():
    found = one_name(
        "Thomas Quill, the harbour-master, signed.",
        "Thomas Quill, photographer, showed plates.",
        mention("Edda Lind", "a.md"),
        mention("Rosa Brandt", "b.md"),
    )
    assert set(found.entity_of.values()) >= {"thomas quill (harbour-master)", "thomas quill (photographer)"}
    (kept,) = found.splits
    assert kept.name == "thomas quill"
    assert "photographer" in kept.reason


def test_different_occupations_in_one_context_do_not_split_a_name():
    found = one_name(
        "Thomas Quill, the pilot, signed.",
        "Thomas Quill, the harbour-master, signed.",
        mention("Edda Lind", "a.md"),
        mention("Edda Lind", "b.md"),
        *[mention("Someone Else", f"{i}.md") for i in range(20)],
    )
    assert same(found, ("a.md", "Thomas Quill"), ("b.md", "Thomas Quill"))


def test_a_name_without_conflicting_attributes_is_one_entity():
    found = one_name("Thomas Quill, the harbour-master, signed.", "They saw Thomas Quill.")
    assert set(found.entity_of.values()) == {"thomas quill"}
    assert found.splits == ()


def test_different_years_of_birth_split_a_name():
    found = one_name("Thomas Quill (1801–1860) sailed.", "Thomas Quill (1845–1911) painted.")
    assert set(found.entity_of.values()) == {"thomas quill (born 1801)", "thomas quill (born 1845)"}


def test_the_elder_and_the_younger_are_two():
    found = one_name("Thomas Quill the elder died.", "Thomas Quill the younger wrote.")
    assert n_entities(found) == 2


def test_junior_and_senior_in_the_name_are_two():
    found = resolve([mention("Thomas Quill Jr."), mention("Thomas Quill Sr.", "b.md")])
    assert set(found.entity_of.values()) == {"thomas quill (the elder)", "thomas quill (the younger)"}


def test_a_captain_and_a_reverend_are_two():
    found = resolve([mention("Captain Thomas Quill"), mention("Reverend Thomas Quill", "b.md")])
    assert n_entities(found) == 2


def test_a_mayor_who_was_a_captain_is_one():
    found = resolve([mention("Captain Thomas Quill"), mention("Mayor Thomas Quill", "b.md")])
    assert set(found.entity_of.values()) == {"thomas quill"}


def test_a_ship_is_not_the_woman_it_is_named_after():
    found = resolve(
        [
            mention("Anna Vane", "a.md", "Anna Vane, the teacher, came aboard."),
            mention("Anna Vane", "b.md", "The schooner Anna Vane left at dawn."),
            mention("Anna Vane", "c.md", "Nobody saw Anna Vane."),
        ]
    )
    assert ids(found)["b.md@0", "Anna Vane"] == "anna vane (schooner)"
    assert same(found, ("a.md", "Anna Vane"), ("c.md", "Anna Vane")) or same(
        found, ("b.md", "Anna Vane"), ("c.md", "Anna Vane")
    )


def test_a_name_is_split_within_one_document():
    found = resolve(
        [
            mention("Anna Vane", "a.md", "Anna Vane, the teacher, came."),
            mention("Anna Vane", "a.md", "The schooner Anna Vane left.", window=1),
        ]
    )
    assert n_entities(found) == 2


# --- spelling variants


def test_hyphens_and_plurals_are_spelling_variants():
    found = resolve(
        [
            mention("counting-house", type="concept"),
            mention("counting house", "b.md", type="concept"),
            mention("lighthouses", type="concept"),
            mention("lighthouse", "b.md", type="concept"),
        ]
    )
    assert n_entities(found) == 2
    assert {m.rule for m in found.merges} == {"spelling"}


def test_names_with_different_numbers_never_merge():
    rows = [
        ("Henry IV", "person"),
        ("Henry V", "person"),
        ("Gale of 1871", "event"),
        ("Gale of 1872", "event"),
    ]
    rows += [("Section 1-2", "concept"), ("Section 12", "concept"), ("1920s", "date"), ("1920", "date")]
    found = resolve([mention(name, type=kind) for name, kind in rows], embed=all_alike)
    assert n_entities(found) == len(rows)


@pytest.mark.parametrize("by_model", [True, False])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("QT-450", "QT-450S"),
        ("QT-450", "QT-450E"),
        ("QT-450S", "QT-450E"),
        ("QT-450", "PT-450"),
        ("qt-450", "qt-450s"),  # no plural
        ("D-31", "D-32"),
        ("v3.1", "v3.1.1"),
        ("Room 12", "Room 12b"),
        ("Sallow QT-450 pump", "Sallow QT-450S pump"),
        ("QT 450 pump", "QT-450S pump"),
        ("QT-450 / QT-450S", "QT-450"),
    ],
)
def test_codes_that_differ_never_merge_by_likeness(first, second, by_model):
    rows = [mention(name, d, type="object") for d, name in (("a.md", first), ("b.md", second))]
    rows += [mention("Ana Ruiz", d) for d in ("a.md", "b.md")]
    found = resolve(rows, embed=all_alike, by_model=by_model)
    assert not same(found, ("a.md", first), ("b.md", second))
    assert same(
        resolve(rows, embed=all_alike, by_model=by_model, must_link=frozenset([(first, second)])),
        ("a.md", first),
        ("b.md", second),
    )


@pytest.mark.parametrize(
    ("first", "second"), [("Sallow Works D-31", "Sallow Works D-32"), ("Sallow v3.1", "Sallow v3.1.1")]
)
def test_codes_are_no_transcriptions_of_one_name(first, second):
    rows = [mention(name, d, type="organization") for d, name in (("a.md", first), ("b.md", second))]
    rows += [mention("Ana Ruiz", d) for d in ("a.md", "b.md")]
    assert not same(resolve(rows), ("a.md", first), ("b.md", second))


@pytest.mark.parametrize("by_model", [True, False])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("QT-450S", "QT 450S"),
        ("QT-450S", "QT450S"),
        ("QT-450S", "Qt-450s"),
        ("QT-450S", "QT 450 S"),
        ("CL-30", "CL30"),  # no Roman numeral
        ("Sallow pump QT-450", "Sallow pumpe QT 450"),
        ("Sallow v3.1", "Sallow 3.1"),
    ],
)
def test_spellings_of_one_code_merge(first, second, by_model):
    rows = [mention(name, d, type="object") for d, name in (("a.md", first), ("b.md", second))]
    found = resolve(rows, embed=all_alike, by_model=by_model)
    assert same(found, ("a.md", first), ("b.md", second))


def test_names_one_edit_apart_merge_only_with_a_shared_context_name():
    variants = [mention("Ebenezer Fezziwigg"), mention("Ebenezer Fezziwig", "b.md")]
    context = [mention("Dick Wilkins"), mention("Dick Wilkins", "b.md")]
    others = [mention(f"Other Person{c}", f"{c}.md") for c in "defghijklmnopqrstuvw"]
    assert same(
        resolve(variants + context + others), ("a.md", "Ebenezer Fezziwigg"), ("b.md", "Ebenezer Fezziwig")
    )
    assert not same(resolve(variants), ("a.md", "Ebenezer Fezziwigg"), ("b.md", "Ebenezer Fezziwig"))


def all_alike(names):
    return np.ones((len(names), 1), dtype=np.float32)


def test_the_embedding_rule_needs_similar_spelling_and_similar_vectors():
    rows = [mention("Meridian Telegraph Company", type="organization")]
    rows += [mention("Meridian Telegraf Company", "b.md", type="organization")]
    rows += [
        mention("Northern Bank", type="organization"),
        mention("Southern Bank", "b.md", type="organization"),
    ]
    found = resolve(rows, embed=all_alike)
    assert same(found, ("a.md", "Meridian Telegraph Company"), ("b.md", "Meridian Telegraf Company"))
    assert not same(found, ("a.md", "Northern Bank"), ("b.md", "Southern Bank"))
    assert {m.rule for m in found.merges} == {"embedding"}
    assert n_entities(resolve(rows)) == 4


def test_names_of_different_types_are_not_spelling_variants():
    rows = [
        mention("Meridian Telegraph", type="organization"),
        mention("Meridian Telegraf", "b.md", type="place"),
    ]
    assert n_entities(resolve(rows, embed=all_alike)) == 2


# --- constraints


def test_a_cannot_link_constraint_splits_a_name_by_document():
    rows = [mention("Thomas Quill"), mention("Thomas Quill", "b.md"), mention("Thomas Quill", "c.md")]
    found = resolve(rows, cannot_link=frozenset({("Thomas Quill @ a.md", "Thomas Quill @ b.md")}))
    assert n_entities(found) == 2
    assert found.splits[0].reason == "constraint of the user"


def test_a_cannot_link_constraint_prevents_an_alias_and_a_spelling_variant():
    rows = [mention("Thomas Quill"), mention("Quill")]
    assert n_entities(resolve(rows, cannot_link=frozenset({("Quill", "Thomas Quill")}))) == 2
    rows = [mention("lighthouse", type="concept"), mention("lighthouses", type="concept")]
    assert (
        len(set(resolve(rows, cannot_link=frozenset({("lighthouse", "lighthouses")})).entity_of.values()))
        == 2
    )


def test_a_must_link_constraint_merges_by_name_and_by_id():
    rows = [mention("Old Nick", type=""), mention("Thomas Quill", "b.md")]
    found = resolve(rows, must_link=frozenset({("Old Nick", "Thomas Quill")}))
    assert n_entities(found) == 1
    assert {m.rule for m in found.merges} == {"user"}
    rows = [mention("Thomas Quill Jr."), mention("Thomas Quill Sr.", "b.md")]
    pair = ("thomas quill (the elder)", "thomas quill (the younger)")
    assert n_entities(resolve(rows, must_link=frozenset({pair}))) == 1


# --- properties

NAMES = [
    "Thomas Quill",
    "Quill",
    "Captain Quill",
    "Mrs. Quill",
    "T. Quill",
    "Anna Quill",
    "Halcyon",
    "lighthouses",
]
NAMES += ["lighthouse", "BTS", "Bergen Tide Society", "Reverend Thomas Quill", "Thomas Quill Jr.", "…"]
TEXTS = [
    "{} left.",
    "{}, the pilot, left.",
    "{}, photographer, left.",
    "The schooner {} left.",
    "{} (1801–1860) left.",
]
MENTIONS = st.builds(
    lambda name, doc, text, kind, window: mention(name, doc, text.format(name), kind, window),
    st.sampled_from(NAMES),
    st.sampled_from(["a.md", "b.md", "c.md", "d.md"]),
    st.sampled_from(TEXTS),
    st.sampled_from(["person", "", "organization", "concept", "ship"]),
    st.integers(0, 2),
)


@given(st.lists(MENTIONS, max_size=25), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_the_order_of_mentions_does_not_matter(mentions: list[Mention], rng: random.Random):
    mixed = mentions[:]
    rng.shuffle(mixed)
    constraints = {
        "cannot_link": frozenset({("Quill", "Thomas Quill")}),
        "must_link": frozenset({("BTS", "Halcyon")}),
    }
    assert resolve(mentions) == resolve(mixed)
    assert resolve(mentions, embed=all_alike, **constraints) == resolve(mixed, embed=all_alike, **constraints)


@given(st.lists(MENTIONS, max_size=25))
def test_every_mention_has_an_entity_and_every_merge_is_of_one(mentions: list[Mention]):
    found = resolve(mentions)
    assert set(found.entity_of) == {(m.window, m.name) for m in mentions}
    entities = set(found.entity_of.values())
    assert {m.entity for m in found.merges} <= entities
    assert all(0 < m.score <= 1 for m in found.merges)
    assert all(set(a.entities) <= entities and len(a.entities) > 1 for a in found.splits)


def test_no_mentions_give_no_entities():
    assert resolve([]) == Resolution(entity_of={}, merges=(), splits=())


@pytest.mark.slow
def test_cost_grows_with_the_number_of_mentions():
    rng = random.Random(1)

    def corpus(n: int) -> list[Mention]:
        # As many words as names, so that each name shares its words with as few others in both.
        words = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=7)).capitalize() for _ in range(n)]
        return [
            mention(" ".join(rng.sample(words, 2)), f"{i // 20}.md", "A common sentence about it.")
            for i in range(n)
        ]

    def seconds(n: int) -> float:
        rows = corpus(n)
        start = time.process_time()
        resolve(rows)
        return time.process_time() - start

    small, large = seconds(500), seconds(5_000)
    # 100 times the time would be quadratic.
    assert large < 30 * small


def test_a_widow_and_a_miss_of_one_name_are_two():
    found = one_name(
        "I, Patience Orme, widow of Elias, set this down.".replace("Patience Orme", "Thomas Quill"), "x"
    )
    assert found.splits == ()
    rows = [
        mention("Patience Orme", "a.md", "I, Patience Orme, widow of Elias Orme, set this down."),
        mention("Miss Patience Orme", "b.md", "Miss Patience Orme was appointed."),
    ]
    assert n_entities(resolve(rows)) == 2


def test_an_office_splits_a_name_where_the_text_mentions_a_namesake():
    keeper = mention("Silas Threave", "a.md", "The keeper Silas Threave saw it.")
    alderman = mention("Alderman Silas Threave", "b.md", "Alderman Silas Threave died.")
    letter = mention(
        "Silas Threave", "c.md", "It was meant for the other Silas Threave, the keeper of the light."
    )
    assert n_entities(resolve([keeper, alderman])) == 1
    found = resolve([keeper, alderman, letter])
    assert same(found, ("a.md", "Silas Threave"), ("c.md", "Silas Threave"))
    assert not same(found, ("a.md", "Silas Threave"), ("b.md", "Alderman Silas Threave"))


def test_an_office_and_a_trade_do_not_split_a_name():
    found = one_name("Thomas Quill, chairman of the Trust, spoke.", "Thomas Quill, merchant, signed.")
    assert set(found.entity_of.values()) == {"thomas quill"}


def test_a_lower_case_suffix_after_the_name_counts():
    found = one_name("Thomas Quill junior, coxswain, rowed.", "Thomas Quill senior watched.")
    assert n_entities(found) == 2


def test_a_firm_or_an_office_does_not_have_a_surname():
    rows = [mention("Messrs. Lodd"), mention("Lodd"), mention("Town Clerk"), mention("Clerk")]
    assert set(resolve(rows).entity_of.values()) >= {"lodd", "clerk"}


def test_blocking_finds_all_pairs_one_edit_apart():
    chance = random.Random(7)
    names = set()
    for word in ("ebenezer", "fezziwig", "harbour", "skerrylight"):
        for _ in range(25):
            letters = list(word)
            for _ in range(chance.randrange(3)):
                place = chance.randrange(len(letters))
                letters[place : place + 1] = chance.choice(["", "x", letters[place] * 2, "ab"])
            names.add(f"{chance.choice(['anna', 'anne', 'old'])} {''.join(letters)}")
    wanted = [
        (a, b)
        for a, b in combinations(sorted(names), 2)
        if OSA.distance(a, b) == 1
        and [
            min(map(len, pair)) >= 7 for pair in zip(a.split(), b.split(), strict=True) if len(set(pair)) > 1
        ]
        == [True]
    ]
    assert len(wanted) > 20
    assert list(one_edit_pairs(names)) == wanted


def test_a_name_is_split_by_document_or_by_type_on_request():
    rows = [
        mention("Halcyon", "a.md", type="ship"),
        mention("Halcyon", "b.md", type="ship"),
        mention("Halcyon", "c.md", type="ship"),
        mention("Halcyon", "c.md", type="", window=1),
    ]
    assert n_entities(resolve(rows)) == 1
    assert n_entities(resolve(rows, cannot_link=frozenset({("Halcyon @ *", "Halcyon @ *")}))) == 3
    mixed = [*rows[:2], mention("Halcyon", "c.md", type="work")]
    apart = frozenset({("Halcyon # *", "Halcyon # *")})
    assert n_entities(resolve(mixed, cannot_link=apart)) == 2
    assert n_entities(resolve(mixed, cannot_link=frozenset({("Halcyon # ship", "Halcyon # work")}))) == 2


@pytest.mark.parametrize("by_model", [True, False])
def test_mentions_that_agree_are_one_cluster_as_if_they_had_been_assigned_one_by_one(monkeypatch, by_model):
    sights = ["the mill", "the harbour", "a bridge", "the long road", "an old church"]
    mentions = [
        Mention(
            document=d,
            window=f"{d}@0",
            name=name,
            type="person",
            description=f"Saw {sights[n % 5]} {n} times.",
        )
        for n, d in enumerate("abcdefgh")
        for name in ("Thomas Quill", f"Tamar Quay {n % 2}")
    ]
    # What a text keeps apart from the name comes first; the rest is in the order of the documents.
    relations = [NameRelation(window="e@0", source="Thomas Quill", target="Tamar Quay 0", predicate="met")]
    found = resolve(mentions, relations=relations, by_model=by_model)
    monkeypatch.setattr(splitting, "_agree", lambda *_: False)
    assert resolve(mentions, relations=relations, by_model=by_model) == found
    assert found.entity_of["a@0", "Thomas Quill"] == found.entity_of["h@0", "Thomas Quill"]


def test_a_mention_that_contradicts_itself_does_not_agree_with_another_like_it():
    one = Attributes(kind="person", born=1901, died=1850)
    other = Attributes(kind="person", born=1901, died=1850, words=frozenset(["sculpt"]))
    assert one.parting() == other.parting()
    assert any_contradict([one, other])
    assert not any_contradict([one])


def test_rules_are_repeated_only_after_a_merge():
    begun: list[str] = []

    class Merges:
        n_merges = 0

    def first(merger):
        begun.append("first")

    def second(merger):
        begun.append("second")
        merger.n_merges += len(begun) < 3

    merge_forms = resolve_module._repeatable(Merges(), (first, second))
    merge_forms()
    merge_forms()
    merge_forms()
    assert begun == ["first", "second", "first", "second"]


def test_m_before_a_surname_is_a_title_where_the_rows_are_in_french():
    about = "Maire de la commune qui a fait construire le port avec les pêcheurs."
    rows = [
        ("a", "Jean Aubry", "person", about),
        ("b", "M. Aubry", "person", "Il était dans le port avec les autres."),
    ]
    mentions = [
        Mention(document=d, window=f"{d}@0", name=n, type=t, description=text) for d, n, t, text in rows
    ]
    assert len(set(resolve(mentions).entity_of.values())) == 1
    english = [replace(m, description="Mayor of the town who built the port.") for m in mentions]
    assert len(set(resolve(english).entity_of.values())) == 2


def test_documents_that_say_the_same_of_a_given_name_at_length_are_one_choice():
    """An imported graph has what is said of an entity in each of its documents."""
    host = "Host of a podcast about growth, careers, startups, metrics, leadership, pricing and hiring."
    mentions = [
        mention
        for n in range(12)
        for mention in (
            Mention(document=f"{n:02}", window=f"{n:02}@0", name="Lenny", type="person", description=host),
            Mention(
                document=f"{n:02}", window=f"{n:02}@0", name=f"Guest {n}", type="person", description="Guest."
            ),
        )
    ]
    mentions += [
        Mention(
            document="x",
            window="x@0",
            name="Lenny Rachitsky",
            type="person",
            description="Host of a podcast.",
        ),
        Mention(document="x", window="x@0", name="Guest 1", type="person", description="Guest."),
        Mention(document="y", window="y@0", name="LENNY", type="code", description="A code for a discount."),
    ]
    entity_of = resolve(mentions).entity_of
    assert {entity_of[m.window, m.name] for m in mentions if m.name.startswith("Lenny")} == {
        "lenny rachitsky"
    }
    assert entity_of["y@0", "LENNY"] != "lenny rachitsky"


def test_a_woman_and_a_man_of_one_noble_name_are_two():
    rows = [("a", "comtesse de Morval"), ("b", "comte de Morval")]
    mentions = [Mention(document=d, window=f"{d}@0", name=n, type="person") for d, n in rows]
    assert len(set(resolve(mentions).entity_of.values())) == 2


# --- namesakes without a model


def without_model(*names, **documents):
    """The entities of names that the extractor without a model gives, by name and document."""
    rows = [mention(name) for name in names]
    rows += [mention(name, f"{document}.md") for document, some in documents.items() for name in some]
    found = resolve(rows, by_model=False).entity_of
    return {(name, window.partition(".")[0]): entity for (window, name), entity in found.items()}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Captain Bly", "Mrs. Bly"),
        ("Capt. Bly", "Miss Bly"),
        ("Bürgermeister Hansen", "Frau Hansen"),
        ("Frau Köhler", "Fräulein Köhler"),
        ("Mlle Renaud", "Madame Renaud"),
    ],
)
def test_a_woman_and_an_officer_of_one_surname_are_two(first, second):
    for found in (without_model(first, second), without_model(a=[first, "Riga"], b=[second, "Riga"])):
        assert len({entity for (name, _), entity in found.items() if name != "Riga"}) == 2


def test_a_woman_who_has_an_office_is_one():
    assert len(set(without_model("Dr. Ash", "Frau Dr. Ash", "Frau Ash").values())) == 1
    assert len(set(without_model("Anna Ash", "Dr. Anna Ash", "Frau Ash").values())) == 1


def test_titles_of_a_surname_in_texts_without_a_common_name_are_two_people():
    found = without_model(a=["Mr. Ash", "Leopold Fane"], b=["Dr. Ash", "Riga"])
    assert found["Mr. Ash", "a"] != found["Dr. Ash", "b"]
    found = without_model(a=["Mr. Ash", "Riga"], b=["Dr. Ash", "Riga"])
    assert found["Mr. Ash", "a"] == found["Dr. Ash", "b"]


def test_the_officer_beside_a_miss_is_not_the_only_woman_of_the_surname():
    found = without_model("Clara Vane", "Miss Vane", "Councillor Vane")
    assert found["Miss Vane", "a"] == found["Clara Vane", "a"] != found["Councillor Vane", "a"]
    found = without_model("Robert Vane", "Miss Vane", "Councillor Vane")
    assert found["Miss Vane", "a"] != found["Robert Vane", "a"] == found["Councillor Vane", "a"]


@pytest.mark.parametrize("firm", ["Voss & Co", "Voss GmbH", "Voss Oy"])
def test_a_firm_is_not_the_person_of_its_name(firm):
    found = resolve(
        [
            mention("Mr. Voss"),
            mention(firm, type="organization"),
            mention("Professor Voss", "b.md"),
            mention(firm, "b.md", type=""),
        ],
        by_model=False,
    ).entity_of
    people = {entity for (_, name), entity in found.items() if name != firm}
    assert people.isdisjoint(entity for (_, name), entity in found.items() if name == firm)


def test_an_office_needs_something_in_common_with_the_only_person_of_the_surname():
    found = without_model(a=["Inspector Wray", "Riga"], b=["Julia Wray", "Tilda"])
    assert found["Inspector Wray", "a"] != found["Julia Wray", "b"]
    found = without_model(a=["Inspector Wray", "Riga"], b=["Julia Wray", "Riga"])
    assert found["Inspector Wray", "a"] == found["Julia Wray", "b"]


def test_a_title_means_somebody_whom_its_own_text_names():
    names = {
        "a": ["Thomas Halloway", "Robert Halloway", "Dr. Halloway", "Peter Lorne"],
        "b": ["John Halloway", "Peter Lorne"],
    }
    found = without_model(**names)
    assert found["Dr. Halloway", "a"] not in {
        entity for (name, _), entity in found.items() if name != "Dr. Halloway"
    }
    # Unless somebody else holds the office.
    found = without_model(**names, c=["Dr. James Halloway"])
    assert found["Dr. Halloway", "a"] == found["Dr. James Halloway", "c"]


def test_a_verb_behind_a_comma_is_not_about_the_name_before_it():
    def occupations(text):
        return extract_attributes(split_name("Robert Vane"), "Robert Vane", "person", text).occupations

    assert occupations("Thomas, the son of Robert Vane, became a pilot.") == frozenset()
    assert occupations("Robert Vane became a pilot.") == {"pilot"}
    assert occupations("They asked Robert Vane, who was a pilot.") == {"pilot"}
    assert occupations("They asked Robert Vane, the pilot.") == {"pilot"}
