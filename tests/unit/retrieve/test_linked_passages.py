"""Passages of entities: which of those of a hub are considered."""

from types import SimpleNamespace

import numpy as np

from polygraph.records import Description, Entity
from polygraph.retrieve import linked_passages
from polygraph.retrieve.linked_passages import (
    PassageCosines,
    best_passages,
    consider_passages,
    rank_by_statements,
)
from polygraph.store.vectors import Nearest
from polygraph.text.words import StemCounts, content_stems


def entity(name, chunks, described=()):
    return Entity(
        id=name,
        name=name,
        type="",
        aliases=(),
        descriptions=tuple(Description(f"about {name}", chunk) for chunk in described),
        chunks=tuple(chunks),
        degree=1,
    )


class Tiny:
    """Ten passages, d:0 to d:9; the last is the nearest to every question."""

    def __init__(self, **mentions):
        self.mentions = mentions

    def entity_rows(self, ids):
        return {i: list(self.mentions).index(i) for i in ids}

    def chunk_rows(self, ids):
        return {i: int(i.partition(":")[2]) for i in ids}

    def nearest_chunks(self, vector, k):
        rows = np.arange(9, -1, -1)[:k]
        return Nearest(rows, rows.astype(float))

    def chunk_ids(self, rows):
        return [f"d:{n}" for n in rows]

    def mentioned_in(self, row, rows):
        return [f"d:{n}" in list(self.mentions.values())[row] for n in rows]


def test_of_a_hub_only_described_and_near_passages_are_considered(monkeypatch):
    monkeypatch.setattr(linked_passages, "MANY_PASSAGES", 3)
    monkeypatch.setattr(linked_passages, "NEAREST", 4)
    hub, other = [f"d:{n}" for n in (0, 1, 2, 4, 7, 9)], ["d:3", "d:5", "d:6"]
    cosines = PassageCosines(np.ones(2), Tiny(hub=hub, other=other))
    found = consider_passages([entity("hub", hub, ["d:2"]), entity("other", other)], cosines)
    # The nearest four are 6, 7, 8 and 9; the hub is in two of them, and described in 2.
    assert [list(chunks) for chunks in found] == [["d:2", "d:7", "d:9"], other]


def test_an_entity_in_few_passages_keeps_all_of_them_without_a_search():
    assert consider_passages([entity("a", ["d:1", "d:2"])], PassageCosines(np.ones(2), None)) == [
        ("d:1", "d:2")
    ]


def test_the_best_passages_are_ranked_by_score_then_row():
    scores = {"d:7": 0.5, "d:1": 0.5, "d:3": 0.9, "d:2": 0.1}
    assert best_passages(scores, Tiny(), 3) == [("d:3", 0.9), ("d:1", 0.5), ("d:7", 0.5)]
    assert best_passages(scores, Tiny(), 2) == [("d:3", 0.9), ("d:1", 0.5)]
    assert best_passages({}, Tiny(), 2) == []


def rank(index, ada, most=None, scores=None):
    texts = SimpleNamespace(asked=StemCounts(content_stems("Is it about Ada?")), names=lambda ids: {})
    cosines = PassageCosines(np.ones(2), index, scores=scores)
    return rank_by_statements(ada.chunks, [ada], cosines, texts, most)


def test_passages_with_fewer_words_than_the_last_one_returned_are_not_read():
    class Read(Tiny):
        asked: tuple[str, ...] | list[str] = ()

        def chunk_rows(self, ids):
            self.asked = [*self.asked, *ids]
            return super().chunk_rows(ids)

        def chunk_similarities(self, vector, rows):
            return np.array([row / 10 for row in rows], dtype=np.float32)

    ada = entity("Ada", [f"d:{n}" for n in range(10)], ["d:2", "d:4", "d:6"])
    every = rank(Read(), ada)
    index = Read()
    found = rank(index, ada, most=2)
    assert [p.chunk for p in every] == ["d:6", "d:4", "d:2", *(f"d:{n}" for n in (9, 8, 7, 5, 3, 1, 0))]
    assert found == every[:2]
    assert index.asked == ["d:2", "d:4", "d:6"]
    # Where fewer passages have words of the question than are asked for, all are read.
    assert rank(index, ada, most=5) == every[:5]
    assert len(index.asked) == 13


def test_cosines_that_are_known_are_not_read_again():
    class Read:
        def chunk_rows(self, chunks):
            return {chunk: int(chunk[2:]) for chunk in chunks}

    ada = entity("Ada", ["d:0", "d:1", "d:2", "d:3"], ["d:1"])
    scores = np.array([0.2, 0.1, 0.4, 0.3, 0.9], dtype=np.float32)
    found = rank(Read(), ada, scores=scores)
    assert [(p.chunk, p.cosine) for p in found] == [("d:1", 0.1), ("d:2", 0.4), ("d:3", 0.3), ("d:0", 0.2)]
