"""Records of the graph that the layers of a build share: they say what the tables say, if there are few."""

import pytest

from polygraph.graph.merge.view import GraphView
from polygraph.indexing import graph_records
from polygraph.indexing.graph_records import GraphRecords
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.open_store import open_store
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the Skerry Light. Mara Quill wrote to Old Tobin about the oil.",
    "b.txt": "Mara Quill never forgave Tobias Wren. Old Tobin sailed the Halcyon to Sallow Bay.",
}


@pytest.fixture
def store(tmp_path, write_files):
    embedder = HashEmbedder()
    models = Models(
        chat=scripted_chat(), embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None)
    )
    with Index.open(tmp_path / "index", models=models, description_tokens=10) as index:
        index.add(write_files(tmp_path / "papers", TEXTS), methods=["lightrag-mix", "graphrag-local"])
    opened = open_store(tmp_path / "index", mode="read")
    yield opened
    opened.close()


def as_lists(found):
    return [list(map(list, some)) for some in found]


def test_records_say_what_the_tables_say(store):
    tables, records = store.graph, GraphRecords(store).source()
    assert isinstance(records, GraphView)
    assert list(records.entity_statements()) == list(tables.all_entities())
    assert list(records.relation_statements()) == list(tables.all_relations())
    assert any(entity.summary for entity in records.entities)
    for kind in ("entity", "relation"):
        assert records.long_descriptions(kind, 40) == tables.long_descriptions(kind, 40)
    assert as_lists(records.relation_descriptions()) == as_lists(tables.relation_descriptions())
    assert as_lists(records.relation_description_hashes()) == as_lists(tables.relation_description_hashes())
    assert records.entities_by_row([2, 0]) == tables.entities_by_row([2, 0])


def test_records_that_the_graph_layer_made_say_the_same_with_summaries(store):
    read = GraphRecords(store).source()
    made = GraphRecords(store)
    made.put(read.with_summaries([]))
    assert not any(record.summary for record in (*made.source().entities, *made.source().relations))
    made.put_summaries(
        [("entity", n, e.summary) for n, e in enumerate(read.entities) if e.summary]
        + [("relation", n, r.summary) for n, r in enumerate(read.relations) if r.summary]
    )
    assert made.source() == read


def test_a_large_graph_is_read_from_its_tables(store, monkeypatch):
    view = GraphRecords(store).source()
    monkeypatch.setattr(graph_records, "MOST_KEPT", len(view.entities) - 1)
    records = GraphRecords(store)
    records.put(view)
    assert records.source() is store.graph
