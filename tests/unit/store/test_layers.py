"""What is finished, what is stale, and what a filter lets be seen."""

import shutil
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from polygraph.errors import BadInput, IndexMismatch, IndexUnreadable
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.database import SqliteStore
from polygraph.store.document_filter import DocumentFilter
from polygraph.store.documents import DocumentTables
from polygraph.store.graph_tables import GraphTables
from polygraph.store.layers import (
    DEPENDENCIES,
    FILE_LAYERS,
    NAME_VECTOR_LAYERS,
    dependents,
    folder_of,
    up_to_date,
    versions,
    with_dependencies,
)
from polygraph.store.snapshot import Snapshot
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

OPEN = '{"id": "open", "text": "Mara Quill lit the lamp. Old Tobin slept.", "year": 1871, "tags": ["log", "sea"]}\n'
SEALED = '{"id": "sealed", "text": "Mara Quill hid the Garnet. Old Tobin knew Ezra Pike.", "year": 1872}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("layers")
    papers = write_files(base / "papers", {"papers.jsonl": OPEN + SEALED})
    embedder = HashEmbedder()
    models = Models(
        chat=scripted_chat(), embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None)
    )
    with Index.open(base / "index", models=models) as index:
        index.add(papers)
    return base / "index"


@pytest.fixture
def snapshot(folder):
    opened = Snapshot(folder)
    yield opened
    opened.close()


@pytest.fixture
def only_open(snapshot):
    return snapshot.where({"year": "1871"})


def test_layers_are_built_from_below():
    seen = set()
    for layer, below in DEPENDENCIES.items():
        assert set(below) <= seen, layer
        seen.add(layer)
    assert with_dependencies(["reports", "lexical"]) == (
        "chunks",
        "lexical",
        "graph",
        "communities",
        "reports",
    )
    assert with_dependencies([]) == ()


def test_every_layer_is_ready_after_a_build(snapshot):
    assert snapshot.layers == set(DEPENDENCIES)
    for layer in FILE_LAYERS:
        assert folder_of(snapshot.folder, layer, snapshot.versions[layer]).is_dir()


def test_a_layer_without_its_files_is_not_ready_nor_is_what_rests_on_it(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for place in (copy / "derived").glob("graph-*"):
        shutil.rmtree(place)
    opened = Snapshot(copy)
    assert opened.layers == {"chunks", "lexical", "chunk_vectors", "names"}
    opened.close()


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ({"embedder": "other"}, {"chunks", *DEPENDENCIES}),
        ({"name_embedder": "other"}, NAME_VECTOR_LAYERS | {"synonyms"}),
        ({"extractor": "nlp:other"}, {"graph", *dependents("graph")}),
        ({"community_size": 99}, {"communities", "reports", "report_vectors"}),
        ({"reports": "other"}, {"reports", "report_vectors"}),
        ({"chunk_tokens": 17}, set(DEPENDENCIES)),
    ],
)
def test_a_changed_setting_makes_stale_what_depends_on_it_and_nothing_else(change, stale, folder):
    store = SqliteStore(folder, mode="read")
    manifest = replace(store.manifest(), **change)
    assert set(DEPENDENCIES) - up_to_date(store, manifest).keys() == stale
    store.close()


def test_versions_do_not_depend_on_time_or_place(folder, tmp_path):
    store = SqliteStore(folder, mode="read")
    wanted = versions(store, store.manifest())
    store.close()
    shutil.copytree(folder, tmp_path / "elsewhere")
    copy = SqliteStore(tmp_path / "elsewhere", mode="read")
    assert versions(copy, copy.manifest()) == wanted
    copy.close()


def test_a_finished_index_is_opened_without_reading_its_documents(folder, monkeypatch):
    def read(self):
        raise AssertionError("all documents are read")

    monkeypatch.setattr(DocumentTables, "content_hashes", read)
    with closing(Snapshot(folder)) as opened:
        assert opened.layers == set(DEPENDENCIES)


def test_versions_follow_the_documents(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with closing(SqliteStore(copy, mode="write")) as store:
        manifest = store.manifest()
        assert manifest is not None
        before = versions(store, manifest)
        document = store.documents.get("papers.jsonl#open")
        assert document is not None
        with store.transaction():
            store.documents.put(replace(document, text="Another text."), "root", (), ())
        changed = versions(store, manifest)
        with store.transaction():
            store.documents.remove(document.id)
        removed = versions(store, manifest)
    assert len({before["chunks"], changed["chunks"], removed["chunks"]}) == 3


def test_an_index_before_its_first_build_says_so(tmp_path):
    SqliteStore(tmp_path, mode="write").close()
    with pytest.raises(IndexUnreadable, match="polygraph index PATH"):
        Snapshot(tmp_path)


def test_another_embedder_is_refused_with_both_names(snapshot):
    snapshot.check_embedder(snapshot.manifest.embedder, snapshot.manifest.dimension)
    snapshot.check_name_embedder(snapshot.manifest.name_embedder)
    with pytest.raises(IndexMismatch, match="bge"):
        snapshot.check_embedder("bge", 384)
    with pytest.raises(IndexMismatch):
        snapshot.check_embedder(snapshot.manifest.embedder, 3)
    with pytest.raises(IndexMismatch, match="name_embedder"):
        snapshot.check_name_embedder("other")


# --- filters ------------------------------------------------------------------------------------------


def documents(snapshot, **scope):
    return {d.partition("#")[2] for d in snapshot.where(scope).documents_allowed}


def test_filters_match_values_patterns_lists_and_several_fields(snapshot):
    assert documents(snapshot, year="1871") == {"open"}
    assert documents(snapshot, year="187*") == {"open", "sealed"}
    assert documents(snapshot, tags="SEA") == {"open"}
    assert documents(snapshot, tags="lo*", year="1872") == set()
    assert documents(snapshot, id="*sealed") == {"sealed"}
    assert snapshot.documents_allowed is None


def test_a_field_that_no_document_has_is_named_with_those_there_are(snapshot):
    with pytest.raises(BadInput, match=r"'yaer'.*year"):
        snapshot.where({"yaer": "1871"})


def test_a_filter_that_excludes_everything_is_widened_to_parts_of_values_within_the_other_conditions(
    snapshot,
):
    assert snapshot.where({"year": "187"}).wider_scope == {"year": "*187*"}
    assert snapshot.where({"year": "1869"}).wider_scope == {}
    assert snapshot.where({"tags": "lo", "year": "1872"}).wider_scope == {}


def test_a_bracket_in_a_filter_is_a_bracket():
    headers = [("notes [draft].md", "Notes", {"year": "1871"}), ("notes d.md", "Notes", {"year": "1871"})]
    read = []

    def rows():
        read.append(1)
        return iter(headers)

    store = SimpleNamespace(documents=SimpleNamespace(headers=rows))
    assert DocumentFilter(store, {"id": "notes [draft].md"}).documents == {"notes [draft].md"}
    part = DocumentFilter(store, {"year": "1871", "title": "notes", "id": "[draft]"})
    read.clear()
    assert part.wider == {"year": "1871", "title": "notes", "id": "*[draft]*"}
    assert len(read) == 1  # whatever the number of conditions


def test_filters_add_up(snapshot):
    assert snapshot.where({"year": "187*"}).where({"tags": "log"}).documents_allowed == frozenset(
        {"papers.jsonl#open"}
    )


def test_chunks_outside_the_filter_are_never_found(snapshot, only_open):
    vector = HashEmbedder().embed(["Who hid the Garnet?"], "query")[0]
    assert {c.document for c in snapshot.chunks([h.n for h in snapshot.search_chunks(vector, 9)])} == {
        "papers.jsonl#open", "papers.jsonl#sealed",
    }  # fmt: skip
    for hits in (only_open.search_chunks(vector, 9), only_open.search_words("Who hid the Garnet lamp?", 9)):
        assert {c.document for c in only_open.chunks([h.n for h in hits])} == {"papers.jsonl#open"}
    assert only_open.search_words("Garnet", 9) == []


def test_entities_show_only_what_the_filter_permits(snapshot, only_open):
    rows = [rows[0] for rows in snapshot.entities_named(["Mara Quill", "Garnet"]).values()]
    mara, garnet = snapshot.entities(rows)
    assert len(mara.chunks) == 2
    assert garnet.chunks
    mara, garnet = only_open.entities(rows)
    assert {c.partition("#")[2] for c in mara.chunks} == {"open:0"}
    assert "Garnet" not in mara.description
    assert garnet.chunks == garnet.descriptions == ()
    vector = HashEmbedder().embed(["Garnet"], "query")[0]
    assert rows[1] in [h.n for h in snapshot.search_entities(vector, 99)]
    assert rows[1] not in [h.n for h in only_open.search_entities(vector, 99)]


def test_relations_and_reports_outside_the_filter_are_left_out(snapshot, only_open):
    everything = list(range(snapshot.store.count("relations")))
    whole = snapshot.relations(everything)
    found = only_open.relations(everything)
    assert set(found) < set(whole)
    for relation in found.values():
        assert only_open.permits(relation.chunks)
        assert only_open.permits([d.chunk for d in relation.descriptions])
    assert len(only_open.reports()) < len(snapshot.reports())
    for report in only_open.reports():
        assert "Garnet" not in report.text


def test_numbers_of_neighbours_are_those_of_the_relations(snapshot):
    (row,) = snapshot.entities_named(["Mara Quill"])["Mara Quill"]
    neighbours = snapshot.relations_at([row])
    assert neighbours
    assert all(row in (n.source, n.target) for n in neighbours)
    found = snapshot.relations([n.n for n in neighbours])
    assert all("mara quill" in (r.source, r.target) for r in found.values())
    assert snapshot.graph.degrees[row] == snapshot.entities([row])[0].degree


def test_relations_of_arrays_are_those_of_the_tables(snapshot):
    rows = [0, 3, 2]
    at = snapshot.relations_at(rows)
    sources, targets, weights = snapshot.graph.edges_of(rows)
    ends = list(zip(sources.tolist(), targets.tolist(), strict=True))
    assert sorted(ends) == ends == sorted((n.source, n.target) for n in at)
    assert snapshot.arrays.relations_between(ends) == [
        next(n.n for n in at if (n.source, n.target) == pair) for pair in ends
    ]
    by_ends = {(n.source, n.target): n.weight for n in at}
    assert weights.tolist() == pytest.approx([by_ends[pair] for pair in ends])


def test_of_more_relations_than_asked_for_the_strongest_are_returned(snapshot):
    rows = list(range(snapshot.n_entities))
    everything = snapshot.relations_at(rows)
    found = snapshot.relations_at(rows, most=3)
    strongest = sorted(everything, key=lambda n: (-n.weight, n.source, n.target))[:3]
    assert found == sorted(strongest, key=lambda n: n.n)


def test_mentions_are_those_of_the_entities_with_and_without_their_layer(snapshot, monkeypatch):
    rows = list(range(snapshot.n_chunks))
    ids = [chunk.id for chunk in snapshot.chunks(rows)]
    for n, entity in enumerate(snapshot.entities(list(range(snapshot.n_entities)))):
        wanted = [chunk in entity.chunks for chunk in ids]
        assert snapshot.mentioned_in(n, rows) == wanted
        with monkeypatch.context() as patch:
            patch.setattr(type(snapshot), "layers", frozenset())
            assert snapshot.mentioned_in(n, rows) == wanted


def test_scores_of_some_triples_are_those_of_all(snapshot, only_open):
    vector = HashEmbedder().embed(["Who hid the Garnet?"], "query")[0]
    for view in (snapshot, only_open):
        rows = list(range(view.store.count("triples")))[::-1]
        assert view.fact_similarities(vector, rows).tolist() == view.fact_scores(vector)[rows].tolist()


def test_cosines_of_some_chunks_are_those_of_all(snapshot):
    rows = list(range(snapshot.n_chunks))[::-1]
    # Of many vectors, since a rounded cosine seldom depends on the last bits.
    for vector in np.random.default_rng(0).normal(size=(200, snapshot.manifest.dimension)).astype(np.float32):
        assert (
            snapshot.chunk_similarities(vector, rows).tolist() == snapshot.chunk_scores(vector)[rows].tolist()
        )


def test_entities_are_read_with_as_many_chunks_as_asked_for(snapshot, only_open):
    rows = list(range(snapshot.n_entities))
    whole, some = snapshot.entities(rows), snapshot.entities(rows, most_chunks=1)
    assert [e.chunks for e in some] == [e.chunks[:1] for e in whole]
    assert only_open.entities(rows, most_chunks=1) == only_open.entities(rows)


def test_arrays_of_a_built_index_say_what_its_tables_say(snapshot):
    entities = snapshot.store.graph.entity_ids()
    relations = list(snapshot.store.graph.all_relations())
    pairs = [(entities.index(r.source), entities.index(r.target)) for r in relations]
    assert snapshot.arrays.relations_between(pairs) == list(range(len(relations)))
    counts = snapshot.description_counts(np.arange(len(relations)))
    assert counts.tolist() == [len(r.descriptions) for r in relations]
    triples = list(snapshot.store.graph.all_triples())
    ends = [(entities.index(t.source), entities.index(t.target)) for t in triples]
    assert snapshot.arrays.triple_ends(range(len(triples))) == [(n, *two) for n, two in enumerate(ends)]
    for row in range(len(entities)):
        at = [n for n, two in enumerate(ends) if row in two]
        assert snapshot.arrays.triples_at([row]).tolist() == at
        best = sorted(at, key=lambda n: (-triples[n].weight, n))[:1]
        assert snapshot.arrays.strongest_triples(np.array(at, dtype=np.int64), 1).tolist() == best
        few = snapshot.arrays.with_strongest_triples(np.array(at, dtype=np.int64), 1)
        assert set(best) <= set(few.tolist()) <= set(at)
        neighbours = {n: b if a == row else a for n, (a, b) in enumerate(pairs) if row in (a, b)}
        found, others = snapshot.arrays.strongest_relations(row, 99)
        assert dict(zip(found.tolist(), others.tolist(), strict=True)) == neighbours
    for a, b in set(ends):
        wanted = [n for n, two in enumerate(ends) if set(two) == {a, b}]
        assert snapshot.arrays.triples_between([(a, b)]).tolist() == wanted
    vector = HashEmbedder().embed(["hid"], "query")[0]
    of_predicate = dict(snapshot.search_predicates(vector, 99))
    found = snapshot.predicate_similarities(vector, np.arange(len(triples)))
    assert found == pytest.approx([of_predicate[t.predicate] for t in triples])


def test_the_first_chunks_of_a_hub_are_read_without_the_others(folder, monkeypatch):
    with closing(Snapshot(folder)) as snapshot:
        rows = list(range(snapshot.n_entities))
        whole = snapshot.entities(rows, most_chunks=1)
    monkeypatch.setattr("polygraph.store.snapshot._HUB_DEGREE", 1)
    monkeypatch.setattr(GraphTables, "entities_by_row", lambda _self, rows, **_: [None for _ in rows])
    with closing(Snapshot(folder)) as again:
        found = again.entities(rows, most_chunks=1)
    hubs = [n for n in rows if whole[n].degree]
    assert hubs
    assert [found[n] for n in hubs] == [whole[n] for n in hubs]
