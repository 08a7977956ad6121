"""Edges between entities and the passages that mention them."""

import pytest

from polygraph.indexing.edge_layers import mention_rows
from polygraph.records import Chunk, Document, Entity
from polygraph.store import serialization
from polygraph.store.database import SqliteStore


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path, mode="write")
    yield store
    store.close()


def put(store, mentioned):
    with store.transaction():
        for document in ("log", "diary"):
            chunks = [
                Chunk(
                    id=f"{document}:{n}", document=document, ordinal=n, start=0, end=1, text="x", n_tokens=1
                )
                for n in range(2)
            ]
            store.documents.put(Document(id=document, title="", text="x"), "", chunks, [])
        store.documents.number_chunks()
        entities = [
            Entity(id=name, name=name, type="", aliases=(), descriptions=(), chunks=chunks, degree=0)
            for name, chunks in sorted(mentioned.items())
        ]
        store.graph.put(entities, [], [], [])


def listed(store):
    entities, chunks = mention_rows(store)
    return list(zip(entities.tolist(), chunks.tolist(), strict=True))


# The diary comes before the log.
MENTIONED = {"Halcyon": ("diary:1", "log:0", "log:1"), "Mara": (), "Tobin": ("diary:0",)}
ROWS = [(0, 1), (0, 2), (0, 3), (2, 0)]


@pytest.mark.parametrize("batch", [1, 1 << 16])
def test_mentions_are_pairs_of_rows_by_entity(store, batch, monkeypatch):
    monkeypatch.setattr(serialization, "PART", batch)
    put(store, MENTIONED)
    assert listed(store) == ROWS


def test_a_passage_that_is_not_there_is_named(store):
    put(store, {"Halcyon": ("letter:0",)})
    with pytest.raises(KeyError, match="letter:0"):
        mention_rows(store)


def test_without_entities_there_are_no_mentions(store):
    assert listed(store) == []
