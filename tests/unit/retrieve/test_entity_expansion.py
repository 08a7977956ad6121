"""The walk of FG-RAG, by hand on small graphs, from the rules of the paper and its code."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from polygraph.records import Description, Entity, Relation
from polygraph.retrieve.entity_expansion import EntityReader, ExpansionLimits, expand_entities, sample
from polygraph.store.protocol import EntityOutline
from polygraph.text.normalize import normalize_name


class Tiny:
    """An index of which only entities and relations are asked. Rows are in the order given."""

    dated: Mapping[str, str] = MappingProxyType({})
    """Dates by document."""

    def __init__(self, entities, relations):
        names = list(entities)
        self.all_entities = [
            Entity(
                id=normalize_name(name),
                name=name,
                type="",
                aliases=(),
                descriptions=tuple(Description(text, f"{name}:0") for text in texts),
                chunks=(f"{name}:0",),
            )
            for name, texts in entities.items()
        ]
        self.ends = [tuple(sorted((names.index(a), names.index(b)))) for a, b, _ in relations]
        self.all_relations = [
            Relation(
                id=f"{a}|{b}",
                source=a.lower(),
                target=b.lower(),
                predicates=(),
                keywords=(),
                descriptions=tuple(Description(text, f"{a}-{b}:0") for text in texts),
                weight=1.0,
                chunks=(f"{a}-{b}:0",),
            )
            for a, b, texts in relations
        ]

    def entity_outlines(self, rows):
        entities = [self.all_entities[row] for row in rows]
        return [
            EntityOutline(e.id, e.name, [(d.text, d.chunk) for d in e.descriptions], bool(e.chunks))
            for e in entities
        ]

    def texts(self, keys):
        return {key: key for key in keys}

    def dates(self, documents):
        return {document: self.dated.get(document, "") for document in documents}

    def names_by_row(self, rows):
        return {row: self.all_entities[row].name for row in rows}

    def description_counts(self, rows):
        return np.array([len(self.all_relations[n].descriptions) for n in rows], dtype=np.int64)

    @property
    def arrays(self):
        return SimpleNamespace(strongest_relations=self.edges_at)

    def edges_at(self, row, most):
        found = [(n, b if a == row else a) for n, (a, b) in enumerate(self.ends) if row in (a, b)][:most]
        return tuple(np.array(found, dtype=np.int64).reshape(-1, 2).T)

    def single_descriptions(self, keys):
        return {
            (n, i): replace(self.all_relations[n], descriptions=self.all_relations[n].descriptions[i : i + 1])
            for n, i in keys
            if i < len(self.all_relations[n].descriptions)
        }

    def relations(self, rows):
        return {n: self.all_relations[n] for n in rows}


FIVE = Tiny(
    {"A": ["a1", "a2"], "B": ["b1"], "C": ["c1"], "D": ["d1"], "E": ["e1"]},
    [("A", "B", ["ab1", "ab2"]), ("A", "C", ["ac"]), ("B", "D", ["bd"]), ("C", "E", ["ce"])],
)
A, B, C, D, E = range(5)


def walked(index, weak, strong, **limits):
    found, visits = expand_entities(
        {"weak": weak, "strong": strong}, EntityReader(index), ExpansionLimits(**limits)
    )
    return [c.text for c in found], [(v.pass_name[0], v.entity, v.hops, v.own, v.edges) for v in visits]


def test_own_descriptions_come_first_then_those_of_the_edges_whose_ends_join_the_queue():
    # A gives a1 a2, then its edges ab1 ab2 ac; B, which was queued first, has room for one more of 6.
    texts, visits = walked(FIVE, [A], [], first=6, total=6)
    assert texts == ["a1", "a2", "ab1", "ab2", "ac", "b1"]
    assert visits == [("w", "a", 0, 2, 3), ("w", "b", 1, 1, 0)]


def test_the_queue_is_first_in_first_out_and_begins_with_the_seeds():
    # C is a seed, so it is visited before B, which A put in the queue behind it.
    texts, visits = walked(FIVE, [A, C], [], first=50, total=50)
    assert [v[1] for v in visits] == ["a", "c", "b", "e", "d"]
    assert texts == ["a1", "a2", "ab1", "ab2", "ac", "c1", "ce", "b1", "bd", "e1", "d1"]


def test_each_edge_is_crossed_once_and_each_entity_visited_once():
    texts, visits = walked(FIVE, [A, A, B], [], first=50, total=50)
    assert len(texts) == len(set(texts)) == 11
    assert [v[1] for v in visits] == ["a", "b", "c", "d", "e"]


def test_the_papers_second_pass_collects_again_and_duplicates_are_removed_at_the_end():
    # 6 from A as above. The second pass starts anew at D: d1, bd, then B has room for one of 9: b1 once more.
    texts, visits = walked(FIVE, [A], [D], first=6, total=9)
    assert visits[2:] == [("s", "d", 0, 1, 1), ("s", "b", 1, 1, 0)]
    assert texts == ["a1", "a2", "ab1", "ab2", "ac", "b1", "d1", "bd"]


def test_our_second_pass_skips_what_the_first_has_visited():
    again, _ = walked(FIVE, [A], [A, D], first=6, total=9)
    assert len(again) == 6  # a1, a2 and one of three edges a second time
    shared, visits = walked(FIVE, [A], [A, D], first=6, total=9, share_visited=True)
    assert shared == ["a1", "a2", "ab1", "ab2", "ac", "b1", "d1", "bd"]
    assert ("s", "d", 0, 1, 1) in visits


def hub(n_own, n_edges):
    spokes = {f"S{i:02}": [f"s{i}"] for i in range(n_edges)}
    return Tiny(
        {"Hub": [f"own {i}" for i in range(n_own)], "Other": ["other"], **spokes},
        [("Hub", name, [f"edge {i}"]) for i, name in enumerate(spokes)],
    )


def test_without_a_limit_a_hub_fills_the_expansion_and_with_one_every_seed_contributes():
    index = hub(10, 20)
    texts, visits = walked(index, [0, 1], [], first=15, total=15)
    assert "other" not in texts
    assert visits == [("w", "hub", 0, 10, 5)]
    texts, visits = walked(index, [0, 1], [], first=15, total=15, per_entity=8)
    assert "other" in texts
    assert visits[:2] == [("w", "hub", 0, 4, 4), ("w", "other", 0, 1, 0)]


def test_up_to_half_of_the_limit_is_for_relations():
    assert walked(hub(10, 20), [0], [], per_entity=8)[1][0] == ("w", "hub", 0, 4, 4)
    assert walked(hub(2, 20), [0], [], per_entity=8)[1][0] == ("w", "hub", 0, 2, 6)
    assert walked(hub(10, 1), [0], [], per_entity=8)[1][0] == ("w", "hub", 0, 7, 1)
    assert walked(hub(10, 0), [0], [], per_entity=8)[1][0] == ("w", "hub", 0, 8, 0)


def test_samples_are_seeded_and_keep_their_order():
    first, _ = walked(hub(30, 0), [0], [], first=5, total=5)
    assert first == walked(hub(30, 0), [0], [], first=5, total=5)[0]
    assert first == sorted(first, key=lambda text: int(text.split()[1]))
    assert first != walked(hub(30, 0), [0], [], first=5, total=5, seed=1)[0]
    assert sorted(sample(range(9), 4, 0, "x")) == sample(range(9), 4, 0, "x")
    assert sample(range(3), 0, 0) == sample([], 3, 0) == []


def test_without_edges_only_the_seeds_are_read():
    texts, visits = walked(FIVE, [A, D], [], edges=False)
    assert texts == ["a1", "a2", "d1"]
    assert visits == [("w", "a", 0, 2, 0), ("w", "d", 0, 1, 0)]


def test_a_repeated_text_is_still_followed():
    # Without a model the description of an entity and of its relation are the same sentence.
    index = Tiny({"A": ["s"], "B": ["t"], "C": ["u"]}, [("A", "B", ["s"]), ("B", "C", ["t"])])
    texts, visits = walked(index, [0], [], share_visited=True)
    assert texts == ["s", "t", "u"]
    assert visits == [("w", "a", 0, 1, 0), ("w", "b", 1, 1, 0), ("w", "c", 2, 1, 0)]


def test_an_expansion_without_new_texts_ends():
    names = [f"N{i:03}" for i in range(300)]
    chain = Tiny({name: ["same"] for name in names}, [(a, b, ["same"]) for a, b in pairwise(names)])
    texts, visits = walked(chain, [0], [], first=20, total=20, share_visited=True)
    assert texts == ["same"]
    assert len(visits) == 21


def test_each_description_has_its_path_and_pass():
    found, _ = expand_entities(
        {"weak": [A], "strong": []}, EntityReader(FIVE), ExpansionLimits(first=50, total=50)
    )
    by_text = {c.text: c for c in found}
    assert by_text["d1"].path == ("a", "b", "d")
    assert (by_text["bd"].kind, by_text["bd"].id, by_text["bd"].chunk) == ("relation", "B|D", "B-D:0")
    assert by_text["bd"].path == ("a", "b")
    assert by_text["a1"].note == "A: a1"


def undescribed(a, b, predicates=(), keywords=()):
    return Relation(
        id=f"{a}|{b}", source=a.lower(), target=b.lower(), predicates=predicates, keywords=keywords, descriptions=(),
        weight=1.0, chunks=(f"{a}-{b}:0", "y:0"),
    )  # fmt: skip


def test_relations_without_description_are_statements_and_empty_ones_are_not_followed():
    index = Tiny({"A": [], "B": ["b"], "C": ["c"]}, [("A", "B", []), ("A", "C", [])])
    index.all_relations[0] = undescribed("A", "B", predicates=("built", "<-paid"))
    found, visits = expand_entities({"weak": [0]}, EntityReader(index), ExpansionLimits())
    assert [(c.note, c.chunk) for c in found] == [("A built B. B paid A", "A-B:0"), ("b", "B:0")]
    assert [v.entity for v in visits] == ["a", "b"]


@pytest.mark.parametrize("share_visited", [False, True])
def test_relations_without_description_that_share_a_predicate_are_different_statements(share_visited):
    index = Tiny({"A": [], "B": [], "C": [], "D": []}, [("A", "B", []), ("A", "C", []), ("A", "D", [])])
    index.all_relations[0] = undescribed("A", "B", predicates=("located in",))
    index.all_relations[1] = undescribed("A", "C", predicates=("located in",))
    index.all_relations[2] = undescribed("A", "D", keywords=("trade",))
    limits = ExpansionLimits(share_visited=share_visited)
    found, _ = expand_entities({"weak": [0]}, EntityReader(index), limits)
    assert [c.note for c in found] == ["A located in B", "A located in C", "A and D: trade"]


@pytest.mark.parametrize(
    ("predicates", "said", "note"),
    [
        (("founded",), "A began B in 1911.", "A founded B: A began B in 1911."),
        (("founded",), "A founded B.", "A founded B."),
        (("founded",), "A began B;", "A founded B: A began B"),
        # Which of the two the description is about is not known.
        (("may have deceived", "<-ejected"), "B ejected A in 1911.", "A and B: B ejected A in 1911."),
    ],
)
def test_a_note_on_a_relation_states_nothing_that_its_description_does_not_say(predicates, said, note):
    index = Tiny({"A": [], "B": []}, [("A", "B", [said])])
    index.all_relations[0] = replace(index.all_relations[0], predicates=predicates)
    found, _ = expand_entities({"weak": [0]}, EntityReader(index), ExpansionLimits())
    assert [c.note for c in found] == [note]


def test_a_note_on_an_entity_of_which_only_its_name_is_said_is_the_name():
    index = Tiny({"Fish Row": ["Fish Row."]}, [])
    found, _ = expand_entities({"weak": [0]}, EntityReader(index), ExpansionLimits())
    assert [c.note for c in found] == ["Fish Row."]


def test_a_dated_note_ends_with_the_date_of_its_document_unless_it_states_it():
    index = Tiny(
        {"A": ["Eleven were saved."], "B": ["Saved on 1881-11-26."]}, [("A", "B", ["Nine were saved."])]
    )
    index.dated = {"A": "1881-11-19", "B": "1881-11-26"}
    found, _ = expand_entities({"weak": [0]}, EntityReader(index), ExpansionLimits())
    assert [c.dated_note for c in found] == [
        "A: Eleven were saved. (1881-11-19)", "A and B: Nine were saved.", "B: Saved on 1881-11-26.",
    ]  # fmt: skip


def test_entities_outside_the_filter_are_not_visited():
    index = Tiny({"A": [], "B": ["b"]}, [("A", "B", ["ab"])])
    index.all_entities[0] = Entity(id="a", name="A", type="", aliases=(), descriptions=(), chunks=())
    assert walked(index, [0], []) == ([], [])
