"""What readers and writers of an index in PostgreSQL see of each other, also when one is stopped."""

import shutil
import threading
import uuid
from contextlib import closing

import pytest

from polygraph.errors import BadInput, IndexLocked, IndexUnreadable, StorageFailed
from polygraph.postgresql import connect, parse_url
from polygraph.records import Document
from polygraph.store.database import SqliteStore
from polygraph.store.documents import DocumentTables
from polygraph.store.generations import begin_write, finish_write
from polygraph.store.graph_tables import GraphTables
from polygraph.store.layers import FILE_LAYERS
from polygraph.store.open_store import finished_stamp, open_store, open_to_write
from polygraph.store.postgres.connection import PostgresConnection
from polygraph.store.postgres.layer_files import LayerFiles
from polygraph.store.postgres.schema import MIGRATIONS
from polygraph.store.postgres.store import PostgresStore
from polygraph.store.report_tables import ReportTables
from polygraph.store.tables import FORMAT, FORMAT_KEY
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index
from tests.store_records import TRICKY, put_document

TEXTS = {
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay. Old Tobin was her master. The Halcyon struck the Grey Reef.",
}
QUESTION = "Who refused to pay for the lamp?"
NEW = {"sale.txt": "Mara Quill sold the lamp of the Skerry Light to Ezra Pike."}


def opened(place, **more):
    # Vectors are searched in the database where there is one, and in files where there is none.
    return Index.open(
        place,
        models=hashed_models(scripted_chat()),
        chunk_tokens=32,
        window_tokens=64,
        **{"pgvector_rows": 1, **more},
    )


def written(folder, texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def answer(place, **more):
    with opened(place, **more) as index:
        return [
            (
                method,
                [
                    (e.document, e.text)
                    for e in index.retrieve("Who refused to pay for the lamp?", method).evidence
                ],
            )
            for method in ("bm25", "naive", "graphrag-local")
        ]


def exported(index, place):
    index.export(place)
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def documents(store):
    with closing(store):
        return list(store.documents.hashes())


# --- lost connections -----------------------------------------------------------------------------------


def end_connections(url):
    """End all connections to the database, as a restart of the server does."""
    with connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid != pg_backend_pid() AND datname = current_database()"
        )


def test_readers_too_refuse_an_index_of_a_newer_version(url, folder):
    with open_to_write(folder) as store, store.transaction():
        put_document(store, "d")
    with connect(url) as connection:
        connection.execute("INSERT INTO polygraph_migrations VALUES ('index', 99)")
    with pytest.raises(IndexUnreadable, match=r"newer version of Polygraph: version 99 .* Upgrade Polygraph"):
        open_store(folder, mode="read")


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize(
    ("found", "fix"),
    [
        (None, "Build it again"),
        (FORMAT - 1, "Build it again"),
        (FORMAT + 1, "Upgrade with: pip"),
    ],
)
@pytest.mark.parametrize("version", [len(MIGRATIONS), len(MIGRATIONS) + 2])
def test_an_index_of_another_format_is_refused(url, folder, mode, found, fix, version):
    with open_to_write(folder) as store, store.transaction():
        store.set_meta(FORMAT_KEY, None if found is None else str(found))
    with connect(url) as connection:
        connection.execute("UPDATE polygraph_migrations SET version = %s", (version,))
    with pytest.raises(IndexUnreadable, match=rf"has format {found or 0}, .* reads format {FORMAT}\. {fix}"):
        open_store(folder, mode=mode)
    with pytest.raises(IndexUnreadable, match=fix):
        Index.open(folder)


def test_an_index_of_an_earlier_version_is_read_once_a_writer_has_migrated_it(url, tmp_path, monkeypatch):
    with opened(url, cache=tmp_path / "cache") as index:
        index.add(written(tmp_path / "papers", TEXTS))
    monkeypatch.setattr(
        "polygraph.store.postgres.store.MIGRATIONS", (*MIGRATIONS, "ALTER TABLE unread ADD COLUMN note text")
    )
    with opened(url, cache=tmp_path / "cache") as index:
        with pytest.raises(
            IndexUnreadable,
            match=r"have version 1, .* reads version 2\. Bring them .*: polygraph index --index",
        ):
            index.retrieve(QUESTION, "bm25")
        index.add()
        assert index.retrieve(QUESTION, "bm25").evidence


def documents_of(snapshot):
    return dict(snapshot.store.documents.hashes())


def fail_a_statement(snapshot):
    """Run a statement that the server ends, as after its `statement_timeout` or a conflict on a standby server."""
    with pytest.raises(StorageFailed):
        snapshot.store.connection.execute("SELECT 1 / 0")


@pytest.mark.parametrize("restart", [True, False])
def test_a_process_that_goes_on_reading_connects_again(restart, url, tmp_path):
    with opened(url, cache=tmp_path / "one") as index:
        index.add(written(tmp_path / "papers", TEXTS))
        before = documents_of(index.snapshot())
        end_connections(url) if restart else fail_a_statement(index.snapshot())
        assert documents_of(index.snapshot()) == before


@pytest.mark.parametrize("restart", [True, False])
def test_a_server_connects_again(restart, url, tmp_path):
    pytest.importorskip("fastapi", reason="needs the extra `server`")
    from polygraph.server.served_indexes import ServedIndex

    index = opened(url, cache=tmp_path / "one")
    index.add(written(tmp_path / "papers", TEXTS))
    with closing(ServedIndex("papers", index)) as served:
        with served.reading() as reader:
            before = documents_of(reader.snapshot())
            end_connections(url) if restart else fail_a_statement(reader.snapshot())
        with served.reading() as reader:
            assert documents_of(reader.snapshot()) == before


# --- stopped writers ------------------------------------------------------------------------------------

STOPS = (
    (DocumentTables, "put"),
    (GraphTables, "put"),
    (ReportTables, "put_communities"),
    (PostgresStore, "put_layer"),
    (PostgresStore, "put_vectors"),
    (PostgresStore, "save_state"),
    (PostgresStore, "drop_saved_state"),
)


@pytest.mark.parametrize(("tables", "stop"), STOPS)
def test_stopped_at_any_step_readers_see_a_finished_state_and_another_machine_goes_on(
    tables, stop, url, tmp_path, monkeypatch
):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(url, cache=tmp_path / "one") as index:
        index.add(papers)
    before = answer(url, cache=tmp_path / "reader")
    written(papers, NEW)
    with opened(tmp_path / "whole") as whole:
        whole.add(papers)
        wanted = exported(whole, tmp_path / "wanted")
    real = getattr(tables, stop)

    def stopped(self, *args, **kwargs):
        real(self, *args, **kwargs)
        raise KeyboardInterrupt

    with opened(url, cache=tmp_path / "one") as index, monkeypatch.context() as patched:
        patched.setattr(tables, stop, stopped)
        with pytest.raises(KeyboardInterrupt):
            index.add(papers)
    now = answer(url, cache=tmp_path / "reader")
    assert now == (answer(tmp_path / "whole") if stop == "drop_saved_state" else before)
    with opened(url, cache=tmp_path / "two") as index:
        index.add(papers)
        assert exported(index, tmp_path / "found") == wanted
    assert answer(url, cache=tmp_path / "reader") == answer(tmp_path / "whole")
    with connect(url) as connection:
        left = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'papers$%'").fetchall()
    assert left == []


def test_a_writer_stopped_between_its_last_two_steps_is_finished_by_the_next_command(url, folder):
    with open_to_write(folder) as store:
        with store.transaction():
            put_document(store, "d")
            store.put_layer("chunks", "v", 3, 0.5)
        begin_write(store)
        with store.transaction():
            store.documents.remove("d")
            store.set_meta("unfinished", None)
    stamp = finished_stamp(folder)
    assert documents(PostgresStore(folder, parse_url(url), mode="read", state="finished")) == ["d"]
    with open_to_write(folder):
        pass
    assert documents(PostgresStore(folder, parse_url(url), mode="read", state="finished")) == []
    assert finished_stamp(folder) != stamp


# --- readers --------------------------------------------------------------------------------------------


def test_the_stamp_changes_when_readers_see_another_state_and_only_then(url, folder):
    assert finished_stamp(folder) is None
    with open_to_write(folder) as store:
        with store.transaction():
            put_document(store, "d")
            store.put_layer("chunks", "v", 3, 0.5)
        finish_write(store)
        stamp = finished_stamp(folder)
        begin_write(store)
        with store.transaction():
            store.documents.remove("d")
        assert finished_stamp(folder) == stamp
        finish_write(store)
        assert finished_stamp(folder) != stamp


def test_a_state_that_is_being_read_is_dropped_by_a_later_writer(url, folder):
    def copies():
        with connect(url) as connection:
            query = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'papers$%'"
            return connection.execute(query).fetchone()[0]

    with open_to_write(folder) as store:
        with store.transaction():
            put_document(store, "d")
            store.put_layer("chunks", "v", 3, 0.5)
        begin_write(store)
        reader = PostgresStore(folder, parse_url(url), mode="read", state="finished")
        with store.transaction():
            store.documents.remove("d")
        finish_write(store)
        assert copies() == 1
        assert store.compact() is False
        assert documents(reader) == ["d"]
        begin_write(store)
        finish_write(store)
        assert copies() == 0
        assert store.compact() is True


def test_a_user_who_may_only_read_also_reads_while_a_write_is_in_progress(url, folder, tmp_path):
    role = f"reader_{uuid.uuid4().hex}"
    with open_to_write(folder) as store, connect(url) as admin:
        with store.transaction():
            put_document(store, "d")
            store.put_layer("chunks", "v", 3, 0.5)
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            admin.execute(f"GRANT USAGE ON SCHEMA papers TO {role}")
            admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA papers TO {role}")
            begin_write(store)
            with store.transaction():
                store.documents.remove("d")
            theirs = parse_url(url.replace("postgres@", f"{role}@"))
            assert documents(PostgresStore(tmp_path, theirs, mode="read", state="finished")) == ["d"]
            with pytest.raises(StorageFailed, match="Grant the user of the URL"):
                PostgresStore(tmp_path, theirs, mode="write").set_meta("k", "v")
            finish_write(store)
            assert documents(PostgresStore(tmp_path, theirs, mode="read", state="finished")) == []
        finally:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


def test_reading_what_is_not_there_names_the_url_and_creates_nothing(url, tmp_path):
    with pytest.raises(IndexUnreadable, match=r"no index at postgresql://.*schema=papers"):
        answer(url, cache=tmp_path / "cache")
    with connect(url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname = 'papers'"
        ).fetchone() == (0,)


# --- writers --------------------------------------------------------------------------------------------


def test_the_lock_is_released_before_the_server_notices_the_end_of_the_connection(url, folder, monkeypatch):
    locks = (
        "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database()"
    )
    alive = []

    def stay_open(self):
        alive.append(self)

    monkeypatch.setattr(PostgresConnection, "close", stay_open)
    with connect(url) as watcher:
        with open_to_write(folder):
            assert watcher.execute(locks).fetchone() == (1,)
        assert watcher.execute(locks).fetchone() == (0,)


def test_a_second_writer_is_told_who_writes_and_waits_if_asked(folder):
    with (
        open_to_write(folder),
        pytest.raises(IndexLocked, match=r"is being written by a process on this host"),
    ):
        open_to_write(folder).__enter__()
    holding, release = threading.Event(), threading.Event()

    def hold():
        with open_to_write(folder):
            holding.set()
            release.wait(10)

    first = threading.Thread(target=hold)
    first.start()
    assert holding.wait(10)
    threading.Timer(0.3, release.set).start()
    with open_to_write(folder, wait_s=30) as store:
        assert store.count("documents") == 0
    first.join()


def test_transactions_of_several_writers_at_once_do_no_damage(folder):
    with open_to_write(folder):
        pass
    failed = []

    def write(name):
        try:
            with closing(open_store(folder, mode="write")) as store:
                for n in range(15):
                    with store.transaction():
                        put_document(store, f"{name}{n}")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=[name]) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with closing(open_store(folder, mode="write")) as store:
        assert list(store.documents.hashes()) == sorted(f"{name}{n}" for name in "abc" for n in range(15))
        with store.transaction():
            assert store.documents.number_chunks() == 135
        assert list(store.documents.chunk_rows().values()) == list(range(135))


def test_an_import_that_fails_leaves_no_index(url, tmp_path):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(tmp_path / "index") as index:
        index.add(papers)
        index.export(tmp_path / "export")
    lines = (tmp_path / "export" / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "export" / "chunks.jsonl").write_text("\n".join([*lines[:-1], "{"]), encoding="utf-8")
    with opened(url, cache=tmp_path / "cache") as index:
        with pytest.raises(BadInput):
            index.import_(tmp_path / "export")
        assert finished_stamp(index.folder) is None
        index.add(papers)
        assert index.status()["counts"]["documents"] == 2


# --- values ---------------------------------------------------------------------------------------------


def test_long_names_and_any_character_come_back(folder, tmp_path):
    text = f"{TRICKY} \x10 \x10n \x10d " + "".join(map(chr, range(0x20)))
    document = Document(id=f"d{'é' * 600}", title=text, text=text, metadata={"k": text}, source=text)
    with open_to_write(folder) as ours, closing(SqliteStore(tmp_path, mode="write")) as theirs:
        for store in (ours, theirs):
            with store.transaction():
                store.documents.put(document, "/papers", [], [])
                store.set_meta("key", text)
            assert store.documents.get(document.id) == document
            assert store.meta("key") == text
        for table in ("documents", "meta"):
            assert list(ours.dump(table)) == list(theirs.dump(table))


# --- files of layers ------------------------------------------------------------------------------------


def test_a_machine_without_the_files_fetches_those_it_reads_and_no_damaged_ones(url, tmp_path):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(url, cache=tmp_path / "one", pgvector_rows=0) as index:
        index.add(papers)
    wanted = answer(url, cache=tmp_path / "one")
    with opened(url, cache=tmp_path / "two") as index:
        index.retrieve("Who refused to pay?", "bm25")
        fetched = {path.name.rpartition("-")[0] for path in (index.folder / "derived").iterdir()}
        assert fetched == {"lexical"}
        shutil.rmtree(index.folder / "derived")
    assert answer(url, cache=tmp_path / "two") == wanted
    with opened(url, cache=tmp_path / "three", pgvector_rows=0) as index:
        assert index.add(papers).built == {}
        found = {path.name.rpartition("-")[0] for path in (index.folder / "derived").glob("*-*")}
        assert found == FILE_LAYERS
    with connect(url) as connection:
        connection.execute(
            "UPDATE layer_files SET content = content || 'x' "
            "WHERE folder LIKE 'chunk_vectors-%' AND name = 'matrix.npy'"
        )
    with pytest.raises(IndexUnreadable, match=r"chunk_vectors.* are damaged"):
        answer(url, cache=tmp_path / "four")


def test_files_of_former_layers_leave_the_database_when_the_new_state_is_shown(url, tmp_path):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(url, cache=tmp_path / "one") as index:
        index.add(papers)
        index.add(written(papers, NEW))
        with closing(open_store(index.folder, mode="read")) as store:
            names = LayerFiles(store.connection, "papers").names()
            layers = {name: layer[0][:12] for name, layer in store.layers().items() if name in FILE_LAYERS}
            assert names == sorted(f"{name}-{version}" for name, version in layers.items())


def test_a_machine_that_only_reads_keeps_few_copies_of_files_and_an_old_state_can_still_be_read(
    url, tmp_path
):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(url, cache=tmp_path / "one") as writer, opened(url, cache=tmp_path / "two") as reader:
        writer.add(papers)
        old = reader.open_snapshot()
        for n in range(5):
            writer.add(written(papers, {"sale.txt": f"Mara Quill sold lamp {n} to Ezra Pike."}))
            assert f"lamp {n}" in reader.retrieve("Who sold a lamp to Ezra Pike?", "bm25").context
        copies = list((reader.folder / "derived").glob("lexical-*"))
        assert len(copies) == 3
        assert {hit.n for hit in old.search_words("Who refused to pay?", 5)} <= {0, 1, 2, 3}
        old.close()


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("folder", "../../elsewhere"),
        ("folder", "/elsewhere"),
        ("name", "../elsewhere"),
        ("name", "a/../../elsewhere"),
        ("name", ".."),
    ],
)
def test_names_of_files_from_the_database_never_lead_elsewhere(column, name, url, tmp_path):
    papers = written(tmp_path / "papers", TEXTS)
    with opened(url, cache=tmp_path / "one") as index:
        index.add(papers, methods=["bm25"])
    with connect(url) as connection:
        connection.execute(f"UPDATE layer_files SET {column} = %s WHERE name = 'seal.json'", (name,))
    with (
        opened(url, cache=tmp_path / "deep" / "two") as index,
        pytest.raises(IndexUnreadable, match="no layer"),
    ):
        index.add(papers)
    assert not list(tmp_path.rglob("elsewhere"))
