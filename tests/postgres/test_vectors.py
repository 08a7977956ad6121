"""Vectors that the database searches itself, by pgvector."""

import gc
import uuid
import weakref
from contextlib import closing

import numpy as np
import pytest

from polygraph.indexing.copying import copy_index
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.postgresql import connect, parse_url
from polygraph.store.generations import begin_write, finish_write, open_finished
from polygraph.store.layer_folders import folder_of
from polygraph.store.matrix_rows import one_by_one, write_matrix
from polygraph.store.open_store import open_to_write
from polygraph.store.postgres.folder import folder_for
from polygraph.store.postgres.store import PostgresStore
from polygraph.store.postgres.vector_search import DatabaseVectors
from polygraph.store.postgres.vector_tables import LAYERS, VectorTables
from polygraph.store.vectors import VectorIndex
from polygraph.workspace.index import Index

DIMENSION = 24
TEXTS = {
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay. Old Tobin was her master. The Halcyon struck the Grey Reef.",
}
NEW = {"sale.txt": "Mara Quill sold the lamp of the Skerry Light to Ezra Pike."}
QUESTIONS = ("Who refused to pay for the lamp?", "Which reef did the Halcyon strike?")
METHODS = ("naive", "graphrag-local", "lightrag-mix", "walk")


def unit(n, seed=0):
    found = np.random.default_rng(seed).normal(size=(n, DIMENSION)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def put_layer(store, version, vectors):
    """Write vectors as the layer of passages, with its files."""
    folder = folder_of(store.folder, "chunk_vectors", version)
    texts = [str(n) for n in range(len(vectors))]
    write_matrix(
        folder,
        texts,
        one_by_one(lambda some: vectors[[int(n) for n in some]]),
        shape=vectors.shape,
        embedder="test",
    )
    with store.transaction():
        store.put_layer("chunk_vectors", version, len(vectors), 0.5)
        assert store.put_vectors("chunk_vectors", version, 1) == ""


def no_files():
    raise AssertionError("the files of the layer were opened")


def opened_vectors(store, version):
    return store.open_vectors(folder_of(store.folder, "chunk_vectors", version), no_files)


def rows_in_database(url, table="vectors_chunk_24"):
    with connect(url) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def opened(place, **more):
    embedder = HashEmbedder()
    models = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    return Index.open(
        place, models=models, **{"chunk_tokens": 32, "window_tokens": 64, "pgvector_rows": 1, **more}
    )


def written(folder, texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def answers(place, **more):
    with opened(place, **more) as index:
        return [
            [(e.document, e.text, e.score, e.why) for e in index.retrieve(question, method).evidence]
            for question in QUESTIONS
            for method in METHODS
        ]


# --- search ---------------------------------------------------------------------------------------------


@pytest.fixture
def both(folder):
    """Six hundred vectors, some of them twice: in the database, and from the files."""
    vectors = np.concatenate([unit(580), unit(580)[:20]])
    with open_to_write(folder) as store:
        put_layer(store, "v", vectors)
        finish_write(store)
    with closing(open_finished(folder)) as reader:
        yield opened_vectors(reader, "v"), VectorIndex.open(folder_of(folder, "chunk_vectors", "v"))


def test_the_database_finds_the_rows_and_scores_of_the_files(both):
    found, exact = both
    assert isinstance(found, DatabaseVectors)
    assert len(found) == len(exact) == 600
    for question in unit(40, seed=1):
        for k in (0, 1, 10, 60, 599, 1000):
            assert found.search(question, k) == exact.search(question, k)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.3, 0.9])
def test_with_a_filter_nothing_that_it_permits_is_missed(both, share):
    found, exact = both
    allowed = np.random.default_rng(2).random(600) < share
    for question in unit(20, seed=3):
        for k in (1, 10, 200):
            assert found.search(question, k, allowed) == exact.search(question, k, allowed)
    near = exact.scores(unit(1, seed=4)[0]) > 0  # all on one side of the question
    assert found.search(-unit(1, seed=4)[0], 10, near) == exact.search(-unit(1, seed=4)[0], 10, near)


def test_among_many_rows_the_index_of_the_database_finds_nearly_all_of_the_nearest(folder):
    # Groups of neighbours, as texts about one subject have them.
    vectors = np.repeat(unit(150), 40, axis=0) + 0.5 * unit(6_000, seed=1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with open_to_write(folder) as store:
        put_layer(store, "v", vectors)
        finish_write(store)
    with closing(open_finished(folder)) as reader:
        found, exact = opened_vectors(reader, "v"), VectorIndex.open(folder_of(folder, "chunk_vectors", "v"))
        # So few rows with so few numbers it would compare one by one.
        reader.connection.execute("SET enable_seqscan = off")
        plan = reader.connection.rows(
            "EXPLAIN SELECT id FROM papers.vectors_chunk_24 "
            "ORDER BY half OPERATOR(public.<#>) array_fill(0.1, ARRAY[24])::public.halfvec LIMIT 110"
        )
        assert "vectors_chunk_24_hnsw" in str(plan)
        allowed = np.random.default_rng(2).random(len(vectors)) < 0.5
        for permitted in (None, allowed):
            same = total = 0
            for question in unit(50, seed=3):
                wanted = {hit.n for hit in exact.search(question, 10, permitted)}
                same += len(wanted & {hit.n for hit in found.search(question, 10, permitted)})
                total += len(wanted)
            assert same >= 0.99 * total


def test_rows_and_their_scores_have_the_bits_of_the_files(both):
    found, exact = both
    question = unit(1, seed=5)[0]
    for ns in (np.array([3, 599, 0, 3, 581]), np.zeros(0, dtype=np.int64), np.arange(600)):
        assert (found.rows(ns) == exact.rows(ns)).all()
        assert (found.scores_of(question, ns) == exact.scores_of(question, ns)).all()


def test_what_takes_all_rows_is_computed_from_the_files(folder):
    with open_to_write(folder) as store:
        put_layer(store, "v", unit(1_500))
        finish_write(store)
    files = folder_of(folder, "chunk_vectors", "v")
    with closing(open_finished(folder)) as reader:
        found, exact = reader.open_vectors(files, lambda: VectorIndex.open(files)), VectorIndex.open(files)
        question = unit(1, seed=1)[0]
        assert (found.scores(question) == exact.scores(question)).all()
        assert found.search(question, 1_200) == exact.search(question, 1_200)
        assert found.is_approximate(1_000)
        assert not found.is_approximate(1_001)


# --- versions -------------------------------------------------------------------------------------------


def test_each_reader_searches_the_version_of_its_state_and_a_former_one_is_removed(url, folder):
    old, new = unit(300), np.concatenate([unit(20, seed=7), unit(300)[50:]])
    with open_to_write(folder) as store:
        put_layer(store, "old", old)
        finish_write(store)
        with closing(open_finished(folder)) as first, closing(open_finished(folder)) as late:
            before = opened_vectors(first, "old")
            begin_write(store)
            put_layer(store, "new", new)
            assert rows_in_database(url) == 320
            with closing(open_finished(folder)) as meanwhile:
                assert len(opened_vectors(meanwhile, "old")) == 300
            finish_write(store)
            # Only rows that no version has any more are deleted, and the others were never written again.
            assert rows_in_database(url) == 270
            for reader in (before, opened_vectors(late, "old")):
                assert [reader.search(v, 1)[0].n for v in old] == list(range(300))
        with closing(open_finished(folder)) as after:
            found = opened_vectors(after, "new")
            assert [found.search(v, 1)[0].n for v in new] == list(range(270))
            with pytest.raises(AssertionError, match="files of the layer"):
                opened_vectors(after, "old")


def test_a_version_that_is_written_again_has_its_last_vectors(url, folder):
    with open_to_write(folder) as store:
        put_layer(store, "v", unit(100))
        put_layer(store, "v", unit(100, seed=1))
        put_layer(store, "v", unit(100))
        finish_write(store)
        assert rows_in_database(url) == 100
        with closing(open_finished(folder)) as reader:
            found = opened_vectors(reader, "v")
            assert [found.search(v, 1)[0].n for v in unit(100)] == list(range(100))


def test_a_table_that_no_layer_uses_is_dropped_and_who_might_have_used_it_takes_the_files(url, folder):
    with open_to_write(folder) as store:
        put_layer(store, "v", unit(100))
        finish_write(store)
        with closing(open_finished(folder)) as early:
            early.layers()  # its state is that of this moment, but it has not searched
            begin_write(store)
            with store.transaction():
                assert store.put_vectors("chunk_vectors", "v", 101) == ""
            finish_write(store)
            assert VectorTables(store.connection, "papers").names() == []
            with pytest.raises(AssertionError, match="files of the layer"):
                opened_vectors(early, "v")
            assert early.layers()


def test_a_table_that_is_being_searched_is_dropped_by_a_later_writer(url, folder):
    with open_to_write(folder) as store:
        tables = VectorTables(store.connection, "papers")
        put_layer(store, "v", unit(100))
        finish_write(store)
        with closing(open_finished(folder)) as reader:
            found = opened_vectors(reader, "v")
            begin_write(store)
            with store.transaction():
                store.put_vectors("chunk_vectors", "v", 0)
            finish_write(store)
            assert tables.names() == ["vectors_chunk_24"]
            assert [found.search(v, 1)[0].n for v in unit(100)] == list(range(100))
        begin_write(store)
        finish_write(store)
        assert tables.names() == []
        put_layer(store, "v", unit(100))
        store.delete()
    with connect(url) as connection:
        left = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'vector%'").fetchall()
        assert left == []


def test_compacting_leaves_nothing_of_vectors_that_were_deleted(url, folder):
    with open_to_write(folder) as store:
        put_layer(store, "v", unit(300))
        finish_write(store)
        begin_write(store)
        put_layer(store, "w", unit(300)[:3])
        finish_write(store)
        before = store.connection.rows("SELECT pg_relation_size('vectors_chunk_24')")
        assert store.compact()
        after = store.connection.rows("SELECT pg_relation_size('vectors_chunk_24')")
        assert after[0][0] == 8_192 < before[0][0]
        with closing(open_finished(folder)) as reader:
            found = opened_vectors(reader, "w")
            assert [found.search(v, 1)[0].n for v in unit(300)[:3]] == [0, 1, 2]


# --- whole indexes --------------------------------------------------------------------------------------


def test_answers_are_those_of_the_files_and_no_file_of_vectors_is_fetched(url, tmp_path, no_parser):
    papers = written(tmp_path / "papers", TEXTS)
    for texts in ({}, NEW):
        written(papers, texts)
        with opened(tmp_path / "files") as files, opened(url, cache=tmp_path / "writer") as index:
            files.add(papers)
            assert index.add(papers).notes == files.add(papers).notes
        assert answers(url, cache=tmp_path / "reader") == answers(tmp_path / "files")
    fetched = {p.name.rpartition("-")[0] for p in (tmp_path / "reader").rglob("derived/*-*")}
    assert fetched
    assert not fetched & LAYERS


def test_a_state_that_nobody_reads_any_more_is_let_go_at_once(url, tmp_path, no_parser):
    with opened(url, cache=tmp_path / "cache") as index:
        index.add(written(tmp_path / "papers", TEXTS))
        gc.disable()
        try:
            snapshot = index.open_snapshot()
            assert snapshot.search_chunks(HashEmbedder().embed(["lamp"], "query")[0], 1)
            store = weakref.ref(snapshot.store)
            del snapshot
            assert store() is None
        finally:
            gc.enable()


def test_a_filter_finds_in_the_database_what_it_finds_in_files(url, tmp_path, no_parser):
    papers = written(tmp_path / "papers", TEXTS | NEW)
    with opened(tmp_path / "files") as files, opened(url, cache=tmp_path / "cache") as index:
        files.add(papers)
        index.add(papers)
        for where in ({"id": "log*"}, {"id": "*e*"}):
            for method in METHODS:
                one, two = (i.retrieve(QUESTIONS[0], method, where=where).evidence for i in (index, files))
                assert [(e.text, e.score) for e in one] == [(e.text, e.score) for e in two]


def test_a_copy_has_vectors_in_its_database_and_comes_back_without_a_change(url, tmp_path, no_parser):
    with opened(tmp_path / "files") as files:
        files.add(written(tmp_path / "papers", TEXTS))
    there = folder_for(parse_url(url), tmp_path / "cache")
    assert copy_index(tmp_path / "files", there, pgvector_rows=1).notes == ()
    with connect(url) as connection:
        layers = connection.execute("SELECT folder FROM vector_layers").fetchall()
        assert {name.rpartition("-")[0] for (name,) in layers} == LAYERS
    assert answers(url, cache=tmp_path / "reader") == answers(tmp_path / "files")
    copy_index(there, tmp_path / "back", pgvector_rows=1)
    for path in sorted((tmp_path / "files" / "derived").rglob("*.npy")):
        assert (tmp_path / "back" / path.relative_to(tmp_path / "files")).read_bytes() == path.read_bytes()


def test_a_layer_with_fewer_rows_than_the_setting_stays_in_files(url, tmp_path, no_parser):
    with opened(url, cache=tmp_path / "cache", pgvector_rows=10_000) as index:
        index.add(written(tmp_path / "papers", TEXTS))
    with connect(url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
        ).fetchone() == (0,)
    answers(url, cache=tmp_path / "reader")
    assert list((tmp_path / "reader").rglob("derived/chunk_vectors-*"))


# --- what is not allowed --------------------------------------------------------------------------------


@pytest.fixture
def role(url):
    name = f"r{uuid.uuid4().hex}"
    with connect(url) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN")
        yield name
        admin.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


def test_a_database_without_pgvector_is_told_once_and_the_index_stays_in_files(
    url, role, tmp_path, no_parser
):
    with connect(url) as admin:
        admin.execute(f"CREATE SCHEMA papers AUTHORIZATION {role}")
    theirs = url.replace("postgres@", f"{role}@")
    with opened(theirs, cache=tmp_path / "cache") as index:
        notes = index.add(written(tmp_path / "papers", TEXTS)).notes
        assert len([note for note in notes if "pgvector" in note]) == 1
        assert "vectors are searched in files, which every machine that asks fetches" in notes[-1]
    with opened(tmp_path / "files") as files:
        files.add(tmp_path / "papers")
    assert answers(theirs, cache=tmp_path / "reader") == answers(tmp_path / "files")
    copied = copy_index(
        tmp_path / "files", folder_for(parse_url(theirs), tmp_path / "c"), replace=True, pgvector_rows=1
    )
    assert len(copied.notes) == 1


def test_who_was_allowed_to_read_before_may_search_and_who_may_not_takes_the_files(url, role, folder):
    with open_to_write(folder) as store:
        with store.transaction():
            store.put_layer("chunks", "v", 3, 0.5)
        with connect(url) as admin:
            admin.execute(f"GRANT USAGE ON SCHEMA papers TO {role}")
            admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA papers TO {role}")
        put_layer(store, "v", unit(50))
        finish_write(store)
    theirs = parse_url(url.replace("postgres@", f"{role}@"))
    with closing(PostgresStore(folder, theirs, mode="read", state="finished")) as reader:
        assert opened_vectors(reader, "v").search(unit(50)[7], 1)[0].n == 7
    with connect(url) as admin:
        admin.execute(f"REVOKE SELECT ON papers.vectors_chunk_24 FROM {role}")
    with closing(PostgresStore(folder, theirs, mode="read", state="finished")) as reader:
        with pytest.raises(AssertionError, match="files of the layer"):
            opened_vectors(reader, "v")
        assert reader.layers()["chunk_vectors"][1] == 50
