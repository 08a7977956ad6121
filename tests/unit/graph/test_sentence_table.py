"""The sentence table: each sentence once, with its chunk and the entities it is about."""

import random
from itertools import pairwise

import numpy as np
import pytest

from polygraph.arrays import text_hash
from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports.members import Members
from polygraph.graph.reports.sentence_quality import LEGAL_SHARE, quality
from polygraph.graph.reports.sentence_table import SentenceTable
from polygraph.records import Description, Entity, Relation
from polygraph.store.database import SqliteStore

REEF = "The Halcyon struck the Grey Reef in March."
PILOT = "Old Tobin was a pilot of the Harbour Board."
BOTH = f"{REEF} {PILOT}"


def entity(id, *said, chunks=("a:0",), name=""):
    return Entity(
        id=id,
        name=name or id.title(),
        type="",
        aliases=(),
        descriptions=tuple(Description(text, chunk) for text, chunk in said),
        chunks=chunks,
    )


def relation(source, target, *said, weight=1.0):
    return Relation(
        id=f"{source} | {target}",
        source=source,
        target=target,
        predicates=(),
        keywords=(),
        descriptions=tuple(Description(text, chunk) for text, chunk in said),
        weight=weight,
        chunks=("a:0",),
    )


VIEW = GraphView(
    entities=(
        entity("board", (PILOT, "b:1"), chunks=("b:1",)),
        entity("halcyon", (BOTH, "a:10"), (REEF, "b:0"), chunks=("a:10", "b:0")),
        entity("tobin", name="old man"),
    ),
    relations=(
        relation("board", "tobin", (PILOT, "b:1")),
        relation("halcyon", "tobin", (REEF, "a:9"), weight=2.5),
    ),
)


def table_of(graph, qualities=None):
    edges = Members([], graph)
    return SentenceTable(graph, edges.sources, edges.targets, language="en", qualities=qualities)


def texts_of(table):
    return [table.text(i) for i in range(len(table))]


def lists(ends, values):
    return [values[a:b].tolist() for a, b in pairwise(ends)]


def test_a_sentence_is_one_however_many_descriptions_hold_it():
    table = table_of(VIEW)
    assert texts_of(table) == [PILOT, REEF]
    assert lists(table.entity_offsets, table.entity_sentences) == [[0], [1, 0, 1], []]
    assert lists(table.relation_offsets, table.relation_sentences) == [[0], [1]]
    assert table.quality.tolist() == [quality(PILOT), quality(REEF)]


def test_a_sentence_is_about_the_items_it_describes_and_stands_where_it_was_read_first():
    table = table_of(VIEW)
    assert table.chunks == ["a:0", "a:10", "b:0", "b:1"]
    assert [table.chunks[chunk] for chunk in table.chunk] == ["b:1", "a:10"]
    # The pilot: the board and the Halcyon by themselves, the board and Tobin as ends of a relation.
    assert lists(table.name_offsets, table.named) == [[0, 1, 2], [1, 2]]
    assert [[table.chunks[c] for c in table.chunks_of(i)] for i in range(3)] == [
        ["b:1"],
        ["a:10", "b:0"],
        ["a:0"],
    ]
    assert table.n_chunks.tolist() == [1, 2, 1]
    assert table.name_likeness.tolist() == [1.0, 1.0, 0.4]


def test_a_description_of_known_quality_is_taken_for_one_sentence():
    hashes = np.sort(np.array([text_hash(BOTH), 7]))
    known = np.where(hashes == 7, 0.5, 0.123)
    table = table_of(VIEW, (hashes, known))
    assert texts_of(table) == [PILOT, BOTH, REEF]
    assert table.quality.tolist() == [quality(PILOT), 0.123, quality(REEF)]
    nothing_known = table_of(VIEW, (hashes[:0], known[:0]))
    assert texts_of(nothing_known) == texts_of(table_of(VIEW))


def test_sentences_among_legal_notices_count_as_such():
    legal = ["All rights reserved under the licence.", "Terms of use apply to this ebook."]
    view = GraphView(
        entities=(entity("x", *((text, "a:0") for text in (*legal, REEF)), (PILOT, "a:1")),), relations=()
    )
    assert table_of(view).quality.tolist() == pytest.approx(
        [quality(legal[0]), quality(legal[1]), quality(REEF) * LEGAL_SHARE, quality(PILOT)]
    )
    one = GraphView(entities=(entity("x", (legal[0], "a:0"), (REEF, "a:0")),), relations=())
    assert table_of(one).quality.tolist() == [quality(legal[0]), quality(REEF)]


def test_an_empty_graph_has_no_sentences():
    table = table_of(GraphView(entities=(), relations=()))
    assert len(table) == len(table.named) == len(table.chunks) == 0


def test_many_descriptions_of_one_sentence_or_two_are_indexed_as_dictionaries_would():
    chance = random.Random(4)
    sentences = [f"Sentence number {i} tells of the harbour and its lamp." for i in range(60)]
    texts = [*sentences, *(f"{a} {b}" for a, b in zip(sentences[::2], sentences[3:], strict=False))]

    def said():
        return [
            (text, f"{chance.choice('ab')}:{chance.randint(0, 30)}") for text in chance.choices(texts, k=3)
        ]

    entities = tuple(entity(f"e{i:02}", *said()) for i in range(40))
    pairs = sorted({tuple(sorted(chance.sample(range(40), 2))) for _ in range(150)})
    relations = tuple(relation(f"e{a:02}", f"e{b:02}", *said()) for a, b in pairs)
    view = GraphView(entities=entities, relations=relations)
    table = table_of(view)
    named, first = {}, {}
    for item in (*entities, *relations):
        ends = {int(end[1:]) for end in item.id.split(" | ")}
        for description in item.descriptions:
            for sentence in (s for s in sentences if s in description.text):
                named.setdefault(sentence, set()).update(ends)
                first.setdefault(sentence, description.chunk)
    spoken = texts_of(table)
    assert len(set(spoken)) == len(spoken)
    found = zip(spoken, lists(table.name_offsets, table.named), strict=True)
    assert {text: tuple(own) for text, own in found} == {t: tuple(sorted(n)) for t, n in named.items()}
    assert {text: table.chunks[c] for text, c in zip(spoken, table.chunk, strict=True)} == first
    # Qualities of some sentences, most of which are read first as parts of a longer text.
    known = {text_hash(text): quality(text) for text in sentences[::2]}
    hashes = np.array(sorted(known))
    other = table_of(view, (hashes, np.array([known[key] for key in hashes.tolist()])))
    assert texts_of(other) == spoken
    for name, value in vars(table).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(other, name), value), name


def test_a_stored_graph_has_the_sentences_of_its_records(tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    with store.transaction():
        store.graph.put(VIEW.entities, VIEW.relations, (), ())
    rows, table, wanted = store.graph, table_of(store.graph), table_of(VIEW)
    for name, value in vars(wanted).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(table, name), value), name
    assert table.chunks == wanted.chunks
    assert table.names == wanted.names
    for i in range(3):
        assert table.chunks_of(i).tolist() == wanted.chunks_of(i).tolist()
    assert texts_of(table) == texts_of(wanted) == [PILOT, REEF]
    assert rows.entity_ids() == VIEW.entity_ids()
    assert list(rows.edges()) == list(VIEW.edges()) == [(0, 2, 1.0), (1, 2, 2.5)]
    assert (
        rows.entities_by_row([2, 0]) == VIEW.entities_by_row([2, 0]) == [VIEW.entities[2], VIEW.entities[0]]
    )
    assert rows.relations_by_row([1]) == VIEW.relations_by_row([1]) == [VIEW.relations[1]]
    store.close()
