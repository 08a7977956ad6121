"""Merging rows into entities and relations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph import arrays
from polygraph.graph.merge.view import GraphView, merge
from polygraph.records import Description, EntityRow, Extraction, RelationRow, Span

ORDER = {f"{d}:{i}": 3 * k + i for k, d in enumerate(["a", "b", "c"]) for i in range(3)}


def span(chunk, start=0):
    return Span(chunk.partition(":")[0], chunk, start, start + 1)


def names(*extractions, **same):
    """Every name is an entity of its own, lower case, but those in `same`."""
    return {
        (extraction.window, row.name): same.get(row.name, row.name.lower())
        for extraction in extractions
        for row in extraction.entities
    }


def entity(name, *chunks, **fields):
    return EntityRow(name=name, spans=tuple(span(chunk) for chunk in chunks), **fields)


def relation(source, target, *chunks, **fields):
    return RelationRow(source=source, target=target, chunks=chunks, **fields)


def test_an_entity_takes_its_most_frequent_name_and_type():
    rows = Extraction(
        window="a@0",
        entities=(
            entity("Orme", "a:0", "a:1", type="place"),
            entity("Miss Orme", "a:1", type="person"),
            entity("Patience Orme", "a:2", type="person"),
        ),
    )
    (found,) = merge(
        [rows], names(rows, **{"Orme": "o", "Miss Orme": "o", "Patience Orme": "o"}), ORDER
    ).entities
    # Two mentions of "Orme" win the name; two mentions each for both types, and "person" comes first.
    assert (found.id, found.name, found.type) == ("o", "Orme", "person")
    assert found.aliases == ("Miss Orme", "Patience Orme")
    assert found.chunks == ("a:0", "a:1", "a:2")


def test_of_equally_frequent_names_the_longest_wins_then_the_first():
    rows = Extraction(window="a@0", entities=(entity("BB", "a:0"), entity("AA", "a:0"), entity("C", "a:0")))
    (found,) = merge([rows], names(rows, AA="x", BB="x", C="x"), ORDER).entities
    assert found.name == "AA"


@pytest.mark.parametrize(
    ("id_", "frequent", "others", "shown"),
    [
        ("tobias quillan", "Late Director", ("Mr. Quillan", "Quill"), "Mr. Quillan"),
        ("car no 1", "Fox", ("sister car of Badger", "car no. 1"), "car no. 1"),
    ],
)
def test_a_spelling_without_a_word_of_the_id_is_not_the_name_but_the_one_with_most_of_them(
    id_, frequent, others, shown
):
    rows = Extraction(
        window="a@0", entities=(entity(frequent, "a:0", "a:1"), *(entity(name, "a:2") for name in others))
    )
    (found,) = merge([rows], names(rows, **dict.fromkeys((frequent, *others), id_)), ORDER).entities
    assert found.name == shown
    assert set(found.aliases) == {frequent, *others} - {shown}


@pytest.mark.parametrize(
    ("frequent", "full", "type_", "shown"),
    [
        ("Pia", "Pia Hofer", "person", "Pia Hofer"),
        ("K. Lind", "Karl Lind", "person", "Karl Lind"),
        ("Quillan", "Tobias Quillan", "person", "Quillan"),
        ("Mr. Quillan", "Tobias Quillan", "person", "Mr. Quillan"),
        ("Vesper", "Vesper Microsystems", "organization", "Vesper"),
    ],
)
def test_a_person_is_not_shown_by_the_given_name_or_initials_where_there_is_a_full_name(
    frequent, full, type_, shown
):
    rows = Extraction(
        window="a@0",
        entities=(entity(frequent, "a:0", "a:1", type=type_), entity(full, "a:2", type=type_)),
    )
    (found,) = merge([rows], names(rows, **{frequent: full.lower(), full: full.lower()}), ORDER).entities
    assert found.name == shown


@pytest.mark.parametrize(
    ("frequent", "other", "shown"),
    [("PIA HOFER", "Pia Hofer", "Pia Hofer"), ("PIA HOFER", "Pia", "PIA HOFER"), ("NATO", "Nato", "NATO")],
)
def test_words_in_capitals_are_not_the_name_beside_the_same_words_in_small_letters(frequent, other, shown):
    rows = Extraction(window="a@0", entities=(entity(frequent, "a:0", "a:1"), entity(other, "a:2")))
    id_ = frequent.lower()
    assert merge([rows], names(rows, **{frequent: id_, other: id_}), ORDER).entities[0].name == shown


@pytest.mark.parametrize(
    ("frequent", "other", "shown"),
    [
        ("Moe", "lars moe", "Anton Moe"),
        ("Dr. Moe", "lars moe", "Anton Moe"),
        ("Moe", "lars lie", "Moe"),
        ("Dr. Moe", "lars lie", "Dr. Moe"),
    ],
)
def test_a_person_is_not_shown_by_a_surname_that_others_have(frequent, other, shown):
    rows = Extraction(
        window="a@0",
        entities=(
            entity(frequent, "a:0", "a:1", type="person"),
            entity("Anton Moe", "a:2", type="person"),
            entity("Lars", "a:2", type="person"),
        ),
    )
    names_of = names(rows, **{frequent: "anton moe", "Anton Moe": "anton moe", "Lars": other})
    assert merge([rows], names_of, ORDER).entities[0].name == shown


@pytest.mark.parametrize(
    ("name", "type_", "description", "told"),
    [
        (
            "Brunn & Sons",
            "organization",
            "Name of the firm from 1889.",
            "Name of the firm from 1889 (Brunn & Sons).",
        ),
        ("Brunn & Sons", "organization", "Name until 1962", "Name until 1962 (Brunn & Sons)"),
        ("Brunn & Sons", "organization", "Brunn & sons built cars.", "Brunn & sons built cars."),
        ("the firm", "organization", "It built cars.", "It built cars."),
        ("Brunn", "organization", "It built cars.", "It built cars."),
        ("Miss A. Brunn", "person", "She drew it.", "She drew it."),
        ("Ada Okoro", "person", "She drew it.", "She drew it (Ada Okoro)."),
        ("Participant 03-011", "person", "She fell ill.", "She fell ill (Participant 03-011)."),
    ],
)
def test_a_description_of_a_model_tells_the_name_that_it_was_said_of(name, type_, description, told):
    shown = "Ada Brunn" if type_ == "person" else "Brunn Ropeways AG"
    rows = Extraction(
        window="a@0",
        entities=(
            entity(shown, "a:0", "a:1", type=type_, description="Built new cars."),
            entity(name, "a:2", type=type_, description=description),
        ),
    )
    ids = names(rows, **{shown: shown.lower(), name: shown.lower()})
    (found,) = merge([rows], ids, ORDER, by_model=True).entities
    assert [d.text for d in found.descriptions] == ["Built new cars.", told]
    (plain,) = merge([rows], ids, ORDER).entities
    assert [d.text for d in plain.descriptions] == ["Built new cars.", description]


def test_what_a_model_says_of_two_names_of_one_entity_describes_it():
    rows = Extraction(
        window="a@0",
        entities=(
            entity("Brunn AG", "a:0", description="Makes cars."),
            entity("Brunn & Sons", "a:1"),
            entity("Orrin", "a:1", description="A town."),
        ),
        relations=(
            relation("Brunn AG", "Brunn & Sons", "a:0", predicate="formerly", description="Renamed in 1962."),
            relation("Brunn AG", "Orrin", "a:1", predicate="lies in", description="Its works are there."),
        ),
    )
    ids = names(rows, **{"Brunn AG": "brunn ag", "Brunn & Sons": "brunn ag"})
    found = merge([rows], ids, ORDER, by_model=True)
    firm, town = found.entities
    assert [(d.text, d.chunk) for d in firm.descriptions] == [
        ("Makes cars (Brunn AG).", "a:0"),
        ("Renamed in 1962.", "a:0"),
    ]
    assert [d.text for d in town.descriptions] == ["A town."]
    assert [[d.text for d in r.descriptions] for r in found.relations] == [["Its works are there."]]
    assert [d.text for d in merge([rows], ids, ORDER).entities[0].descriptions] == ["Makes cars."]


@pytest.mark.parametrize(
    ("said", "is_shown"),
    [
        ("The firm is called Brunn & Sons.", False),
        ("Brunn & Sons stands for the Brunn AG.", False),
        ("The firm was called Brunn & Sons until 1962.", True),
        ("The firm is not called Brunn & Sons.", True),
    ],
)
def test_a_statement_that_only_repeats_two_names_of_one_entity_is_left_out(said, is_shown):
    rows = Extraction(
        window="a@0",
        entities=(
            entity("Brunn AG", "a:0", description="Firm that makes cars."),
            entity("Brunn & Sons", "a:0", description="Name of the firm in town."),
        ),
        relations=(relation("Brunn AG", "Brunn & Sons", "a:0", predicate="also called", description=said),),
    )
    ids = names(rows, **{"Brunn AG": "brunn ag", "Brunn & Sons": "brunn ag"})
    (firm,) = merge([rows], ids, ORDER, by_model=True).entities
    assert (said in [d.text for d in firm.descriptions]) == is_shown


@pytest.mark.parametrize(
    ("said", "is_shown"),
    [("Short name of the Brunn AG.", False), ("Short name of the Brunn AG until 1962.", True)],
)
def test_a_description_of_nothing_but_names_is_left_out(said, is_shown):
    rows = Extraction(
        window="a@0",
        entities=(
            entity("Brunn", "a:0", description=said),
            entity("Brunn AG", "a:0", description="Firm that makes cars."),
        ),
    )
    ids = names(rows, **{"Brunn AG": "brunn ag", "Brunn": "brunn ag"})
    (firm,) = merge([rows], ids, ORDER, by_model=True).entities
    assert (said in [d.text for d in firm.descriptions]) == is_shown


def test_descriptions_are_distinct_and_in_the_order_of_the_documents():
    late = Extraction(window="c@0", entities=(entity("X", "c:0", description="said twice"),))
    early = Extraction(
        window="a@0",
        entities=(
            EntityRow(name="X", spans=(span("a:1", 9),), description="second"),
            EntityRow(name="x", spans=(span("a:1", 2),), description=" first "),
            EntityRow(name="X", spans=(span("a:2"),), description="said twice"),
            EntityRow(name="X", spans=(span("a:2"),)),
        ),
    )
    (found,) = merge([late, early], names(late, early), ORDER).entities
    assert found.descriptions == (
        Description("first", "a:1"),
        Description("second", "a:1"),
        Description("said twice", "a:2"),
    )


def test_many_descriptions_are_thinned_evenly_from_the_first_to_the_last():
    rows = Extraction(
        window="a@0",
        entities=tuple(
            EntityRow(name="X", spans=(span("a:0", i),), description=f"{i:03}") for i in range(101)
        ),
    )
    (found,) = merge([rows], names(rows), ORDER, max_descriptions=5).entities
    assert [d.text for d in found.descriptions] == ["000", "025", "050", "075", "100"]
    (found,) = merge([rows], names(rows), ORDER, max_descriptions=1).entities
    assert [d.text for d in found.descriptions] == ["000"]
    with pytest.raises(ValueError, match="max_descriptions"):
        merge([rows], names(rows), ORDER, max_descriptions=0)


def test_rows_in_both_directions_make_one_relation():
    rows = Extraction(
        window="a@0",
        entities=(entity("Zeal", "a:0"), entity("Ames", "a:0")),
        relations=(
            relation("Zeal", "Ames", "a:1", predicate="built by", keywords=("ship", "yard"), strength=2.0),
            relation(
                "Ames",
                "Zeal",
                "a:0",
                predicate="owns",
                keywords=("ship",),
                strength=0.5,
                description="He owns.",
            ),
            relation("Zeal", "Ames", "a:1", predicate="built by"),
            relation("Ames", "Zeal", "b:0"),
        ),
    )
    view = merge([rows], names(rows), ORDER)
    (found,) = view.relations
    assert (found.id, found.source, found.target) == ("ames | zeal", "ames", "zeal")
    assert found.predicates == ("<-built by", "owns")
    assert found.keywords == ("ship", "yard")
    assert found.descriptions == (Description("He owns.", "a:0"),)
    assert found.weight == 4.5
    assert found.chunks == ("a:0", "a:1", "b:0")
    assert [e.degree for e in view.entities] == [1, 1]


def test_what_cannot_be_joined_is_counted_and_listed_with_the_reason():
    rows = Extraction(
        window="a@0",
        entities=(entity("A", "a:0"), entity("B", "a:0"), entity("Unresolved", "a:0")),
        relations=(
            relation("A", "B", "a:0"),
            relation("A", "Nobody", "a:0"),
            relation("Nobody", "B", "a:0"),
            relation("A", "A", "a:0"),
            relation("B", "Unresolved", "a:0"),
        ),
    )
    known = names(rows)
    del known["a@0", "Unresolved"]
    view = merge([rows], known, ORDER)
    assert [e.id for e in view.entities] == ["a", "b"]
    assert (len(view.relations), view.dropped, view.loops, view.unplaced) == (1, 3, 1, 1)
    assert [row[:4] for row in view.lost] == [
        (0, 1, "a name is no entity", ""),
        (0, 2, "a name is no entity", ""),
        (0, 3, "both names are one entity", "a"),
        (0, 4, "a name is no entity", ""),
    ]


def test_an_entity_whose_name_was_not_found_rests_on_its_relations_then_on_its_window():
    rows = Extraction(
        window="a@0",
        entities=(entity("A", "a:0"), entity("B", description="said"), entity("C")),
        relations=(relation("A", "B", "a:2"),),
    )
    view = merge([rows], names(rows), ORDER)
    assert {e.id: e.chunks for e in view.entities} == {"a": ("a:0",), "b": ("a:2",), "c": ("a:0", "a:2")}
    assert view.entities[1].descriptions == (Description("said", "a:2"),)


def test_an_entity_that_nothing_places_is_left_out_with_its_relations():
    lost = Extraction(window="a@0", entities=(entity("A"), entity("B")), relations=(relation("A", "B"),))
    view = merge([lost], names(lost), ORDER)
    assert (view.entities, view.relations, view.unplaced, view.dropped) == ((), (), 2, 1)
    assert [row[:4] for row in view.lost] == [(0, 0, "no chunk is known", "")]


def test_a_name_means_its_own_entity_in_each_window():
    one = Extraction(window="a@0", entities=(entity("Honora Vane", "a:0"),))
    two = Extraction(window="b@0", entities=(entity("Honora Vane", "b:0"),))
    of = {("a@0", "Honora Vane"): "honora vane (a)", ("b@0", "Honora Vane"): "honora vane (b)"}
    assert [e.id for e in merge([one, two], of, ORDER).entities] == ["honora vane (a)", "honora vane (b)"]


def test_relations_are_sorted_by_their_ids_and_make_the_graph():
    rows = Extraction(
        window="a@0",
        entities=tuple(entity(name, "a:0") for name in ("a", "a b", "c")),
        relations=(relation("a b", "c", "a:0"), relation("a", "c", "a:0", strength=3.0)),
    )
    view = merge([rows], names(rows), ORDER)
    ids = [r.id for r in view.relations]
    assert ids == sorted(ids)
    graph = view.graph()
    assert graph.neighbours(2).tolist() == [0, 1]
    assert graph.weights_of(2).tolist() == [3.0, 1.0]


def test_triples_keep_their_direction_and_count_the_rows_that_state_them():
    rows = Extraction(
        window="a@0",
        entities=tuple(entity(name, "a:0") for name in ("a", "b", "c")),
        relations=(
            relation("b", "a", "a:1", predicate="pays"),
            relation("b", "a", "a:0", predicate="pays"),
            relation("a", "b", "a:0", predicate="knows"),
            relation("a", "c", "a:0", predicate="", strength=0.3),
            relation("b", "c", "a:0", predicate="", strength=2.0),
        ),
    )
    found = [
        (t.source, t.predicate, t.target, t.weight, t.chunks)
        for t in merge([rows], names(rows), ORDER).triples
    ]
    assert found == [
        ("a", "knows", "b", 1.0, ("a:0",)),
        ("b", "pays", "a", 2.0, ("a:0", "a:1")),
        ("b", "related to", "c", 1.0, ("a:0",)),
    ]


def test_keywords_stand_for_a_predicate_that_is_not_there():
    row = RelationRow(source="a", target="b", keywords=("debt", "quarrel", "oil", "lamp"), chunks=("a:0",))
    rows = Extraction(
        window="a@0", entities=tuple(entity(name, "a:0") for name in ("a", "b")), relations=(row,)
    )
    assert [t.predicate for t in merge([rows], names(rows), ORDER).triples] == ["debt, quarrel, oil"]


def test_a_chunk_without_a_position_is_an_error():
    rows = Extraction(window="z@0", entities=(entity("A", "z:0"),))
    with pytest.raises(KeyError):
        merge([rows], names(rows), ORDER)


def test_nothing_in_nothing_out():
    assert merge([], {}, {}) == GraphView(entities=(), relations=())


NAME = st.sampled_from(["A", "a", "B", "C", "c ", "D"])
TEXT = st.sampled_from(["", "one", "two", "three"])
CHUNKS = st.lists(st.sampled_from(sorted(ORDER)), max_size=3, unique=True)


@st.composite
def extractions(draw):
    entities = tuple(
        EntityRow(
            name=draw(NAME),
            type=draw(st.sampled_from(["", "person", "place"])),
            description=draw(TEXT),
            spans=tuple(span(chunk, draw(st.integers(0, 3))) for chunk in draw(CHUNKS)),
        )
        for _ in range(draw(st.integers(0, 4)))
    )
    relations = tuple(
        RelationRow(
            source=draw(NAME),
            target=draw(NAME),
            predicate=draw(TEXT),
            keywords=tuple(draw(st.lists(TEXT, max_size=2))),
            description=draw(TEXT),
            strength=draw(st.floats(0.01, 10)),
            chunks=tuple(draw(CHUNKS)),
        )
        for _ in range(draw(st.integers(0, 4)))
    )
    return entities, relations


@given(st.lists(extractions(), max_size=6), st.randoms())
def test_the_order_of_the_windows_does_not_matter(made, random):
    rows = [Extraction(window=f"w@{i}", entities=e, relations=r) for i, (e, r) in enumerate(made)]
    of = {(x.window, row.name): row.name.strip().lower() for x in rows for row in x.entities}
    expected = merge(rows, of, ORDER)
    random.shuffle(rows)
    assert merge(rows, of, ORDER) == expected


@given(st.lists(extractions(), max_size=6))
def test_rows_are_merged_in_parts_as_they_are_at_once(made):
    rows = [Extraction(window=f"w@{i}", entities=e, relations=r) for i, (e, r) in enumerate(made)]
    of = {(x.window, row.name): row.name.strip().lower() for x in rows for row in x.entities}
    expected = merge(rows, of, ORDER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BATCH", 1)
        assert merge(rows, of, ORDER) == expected


@given(st.lists(extractions(), max_size=6))
def test_every_relation_row_is_merged_or_counted(made):
    rows = [Extraction(window=f"w@{i}", entities=e, relations=r) for i, (e, r) in enumerate(made)]
    of = {(x.window, row.name): row.name.strip().lower() for x in rows for row in x.entities}
    # With strength 1 each, weights count rows.
    unit = [
        Extraction(
            window=x.window,
            entities=x.entities,
            relations=tuple(
                RelationRow(source=r.source, target=r.target, chunks=r.chunks) for r in x.relations
            ),
        )
        for x in rows
    ]
    view = merge(unit, of, ORDER)
    n_rows = sum(len(x.relations) for x in rows)
    assert sum(r.weight for r in view.relations) + view.dropped + view.loops == n_rows
    assert len(view.lost) == view.dropped + view.loops
    ids = {e.id for e in view.entities}
    assert all(r.source in ids and r.target in ids and r.chunks for r in view.relations)
    assert all(e.chunks for e in view.entities)
