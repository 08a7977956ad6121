"""What is told of entities and relations: each sentence once, with where it stands and whom it names."""

import random
from itertools import pairwise

import numpy as np
import pytest

from polygraph.columnar import Qualities, text_hash
from polygraph.columnar import gather as aside
from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports import sentence_table as module
from polygraph.graph.reports.sentence_quality import LEGAL_SHARE, quality
from polygraph.graph.reports.sentence_table import Told
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


def lists(ends, values):
    return [values[a:b].tolist() for a, b in pairwise(ends)]


def test_a_sentence_is_one_however_often_it_is_told():
    told = Told(VIEW, "en")
    assert [told.text(i) for i in range(len(told.quality))] == [PILOT, REEF]
    assert lists(told.entity_ends, told.said_of_entities) == [[0], [1, 0, 1], []]
    assert lists(told.relation_ends, told.said_of_relations) == [[0], [1]]
    assert told.quality.tolist() == [quality(PILOT), quality(REEF)]


def test_a_sentence_names_whom_it_is_told_of_and_stands_where_it_was_read_first():
    told = Told(VIEW, "en")
    assert list(told.chunks) == ["a:0", "a:10", "b:0", "b:1"]
    assert [told.chunks[place] for place in told.chunk] == ["b:1", "a:10"]
    # The pilot: the board and the Halcyon by themselves, the board and Tobin as ends of a relation.
    assert lists(told.name_ends, told.named) == [[0, 1, 2], [1, 2]]
    assert [told.chunks.named(told.chunks_of(i)) for i in range(3)] == [["b:1"], ["a:10", "b:0"], ["a:0"]]
    assert told.n_chunks.tolist() == [1, 2, 1]
    assert told.namely.tolist() == [1.0, 1.0, 0.4]


def test_what_is_known_of_a_description_is_not_judged_again_and_that_it_is_one_sentence_is_believed():
    known = Qualities(np.array([text_hash(BOTH), 7], dtype=np.uint64), np.array([0.123, np.nan]))
    told = Told(VIEW, "en", known)
    assert [told.text(i) for i in range(len(told.quality))] == [PILOT, BOTH, REEF]
    assert told.quality.tolist() == [quality(PILOT), 0.123, quality(REEF)]
    assert np.isnan(known.of([7])).all()


def test_sentences_among_legal_notices_count_as_such():
    legal = ["All rights reserved under the licence.", "Terms of use apply to this ebook."]
    view = GraphView(
        entities=(entity("x", *((text, "a:0") for text in (*legal, REEF)), (PILOT, "a:1")),), relations=()
    )
    told = Told(view, "en")
    assert told.quality.tolist() == pytest.approx(
        [quality(legal[0]), quality(legal[1]), quality(REEF) * LEGAL_SHARE, quality(PILOT)]
    )
    one = GraphView(entities=(entity("x", (legal[0], "a:0"), (REEF, "a:0")),), relations=())
    assert Told(one, "en").quality.tolist() == [quality(legal[0]), quality(REEF)]


def test_an_empty_graph_tells_nothing():
    told = Told(GraphView(entities=(), relations=()), "en")
    assert len(told.quality) == len(told.named) == len(told.chunks) == 0


def test_what_is_told_does_not_depend_on_how_much_is_held_at_once(monkeypatch):
    """Many texts, of one sentence or two, that come again and again; against what dictionaries say."""
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
    whole = Told(view, "en")
    for name, size in (("_RECENT", 2), ("_GROWTH", 2), ("_DESCRIPTIONS", 3), ("_PAIRS", 5), ("_HELD", 3)):
        monkeypatch.setattr(module, name, size)
    for name, size in (("_WINDOW", 16), ("_BLOCK", 3)):
        monkeypatch.setattr(aside, name, size)
    parts = Told(view, "en")
    # Known of some sentences, most of which are read first as parts of a longer text.
    hashes = np.array([text_hash(text) for text in sentences[::2]], dtype=np.uint64)
    known = Told(view, "en", Qualities(hashes, np.array([quality(text) for text in sentences[::2]])))
    named = {}
    for item in (*entities, *relations):
        ends = {int(end[1:]) for end in item.id.split(" | ")}
        for sentence in (s for d in item.descriptions for s in sentences if s in d.text):
            named.setdefault(sentence, set()).update(ends)
    for told in (whole, parts, known):
        spoken = [told.text(i) for i in range(len(told.quality))]
        assert len(set(spoken)) == len(spoken)
        found = zip(spoken, lists(told.name_ends, told.named), strict=True)
        assert {text: tuple(own) for text, own in found} == {t: tuple(sorted(n)) for t, n in named.items()}
    for name, value in vars(whole).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(parts, name), value), name
            assert np.array_equal(getattr(known, name), value), name


def test_the_tables_tell_what_the_records_tell(tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    with store.transaction():
        store.graph.put(VIEW.entities, VIEW.relations, (), ())
    rows, told, wanted = store.graph, Told(store.graph, "en"), Told(VIEW, "en")
    for name, value in vars(wanted).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(told, name), value), name
    assert list(told.chunks) == list(wanted.chunks)
    assert told.names == wanted.names
    for i in range(3):
        assert told.chunks_of(i).tolist() == wanted.chunks_of(i).tolist()
    assert [told.text(i) for i in range(2)] == [wanted.text(i) for i in range(2)] == [PILOT, REEF]
    assert rows.entity_ids() == VIEW.entity_ids()
    assert list(rows.edges()) == list(VIEW.edges()) == [(0, 2, 1.0), (1, 2, 2.5)]
    assert rows.entities_by_row([2, 0]) == VIEW.entities_by_row([2, 0]) == [VIEW.entities[2], VIEW.entities[0]]
    assert rows.relations_by_row([1]) == VIEW.relations_by_row([1]) == [VIEW.relations[1]]
    store.close()
