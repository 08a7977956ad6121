"""`index.sqlite`: what the SQLite store promises beyond `check_store`, and what it says when something is wrong."""

import gc
import random
import sqlite3
import threading
import weakref
from contextlib import closing

import pytest

from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.store import connection, serialization
from polygraph.store.connection import explain_storage, is_begun
from polygraph.store.database import SqliteStore
from polygraph.store.portable import PORTABLE_TABLES, columns_of
from polygraph.store.serialization import dump, load_strings, report_from_json, report_to_json
from polygraph.store.tables import FORMAT, FORMAT_KEY
from tests import store_records as records


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(tmp_path / "index", mode="write")
    yield opened
    opened.close()


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_chunks_of_a_community_are_counted_in_pieces_of_any_size(size, store, monkeypatch):
    with store.transaction():
        store.reports.put_communities(records.COMMUNITIES)
    monkeypatch.setattr(connection, "PIECE_BYTES", size)
    counted = [(c.id, c.n_chunks) for c in store.reports.counted_communities()]
    assert counted == [(c.id, len(c.chunks)) for c in records.COMMUNITIES]


def test_rows_that_nobody_reads_on_can_be_dropped_after_the_store_is_closed(store):
    with store.transaction():
        store.reports.put_communities(records.COMMUNITIES)
    rows = store.connection.iterate("SELECT id FROM communities")
    next(rows)
    store.close()
    rows.close()


def test_threads_change_the_tables_in_turn(store):
    inside, other_is_done = threading.Event(), []

    def change():
        inside.wait(10)
        with store.transaction():
            store.reports.put_communities(records.COMMUNITIES)
        other_is_done.append(True)

    other = threading.Thread(target=change)
    other.start()
    with store.transaction():
        inside.set()
        other.join(0.1)
        assert not other_is_done
        store.reports.put_communities([])
    other.join()
    assert store.reports.community_ids() == sorted(c.id for c in records.COMMUNITIES)


def test_a_report_comes_back_from_json_as_it_was():
    report = records.report("0-a", 0, "d:0", records.TRICKY)
    assert report_from_json(report_to_json(report)) == report


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize(
    ("found", "fix"),
    [
        (None, "format 0, and this .* Build it again with: polygraph index PATH --index NEW_FOLDER"),
        (FORMAT - 1, f"format {FORMAT - 1}, and this .* reads format {FORMAT}. Build it again"),
        (FORMAT + 1, f"format {FORMAT + 1}, and this .* reads format {FORMAT}. Upgrade with: pip install -U"),
    ],
)
def test_an_index_of_another_format_is_refused_and_stays_as_it_is(tmp_path, mode, found, fix):
    with closing(SqliteStore(tmp_path, mode="write")) as store, store.transaction():
        store.set_meta(FORMAT_KEY, None if found is None else str(found))
    before = (tmp_path / "index.sqlite").read_bytes()
    with pytest.raises(IndexUnreadable, match=fix):
        SqliteStore(tmp_path, mode=mode)
    assert (tmp_path / "index.sqlite").read_bytes() == before


def test_a_reader_cannot_write_by_any_statement(store, tmp_path):
    reader = SqliteStore(tmp_path / "index", mode="read")
    with pytest.raises(sqlite3.Error):
        reader.connection.execute("DELETE FROM documents")
    reader.close()


# --- what is wrong ------------------------------------------------------------------------------------


def test_no_index_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(IndexUnreadable, match="polygraph index PATH"):
        SqliteStore(tmp_path, mode="read")
    assert not is_begun(tmp_path)


def test_an_index_whose_making_was_cut_short_is_made_again(tmp_path):
    sqlite3.connect(tmp_path / "index.sqlite").close()
    assert not is_begun(tmp_path)
    with pytest.raises(IndexUnreadable):
        SqliteStore(tmp_path, mode="read")
    SqliteStore(tmp_path, mode="write").close()
    assert is_begun(tmp_path)
    SqliteStore(tmp_path, mode="read").close()


def test_a_damaged_file_says_how_to_keep_what_was_paid_for(tmp_path):
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    for look in (
        is_begun,
        lambda folder: SqliteStore(folder, mode="read"),
        lambda folder: SqliteStore(folder, mode="write"),
    ):
        with pytest.raises(IndexUnreadable, match=r"calls\.sqlite"):
            look(tmp_path)


@pytest.mark.parametrize(
    ("error", "kind", "part"),
    [
        (sqlite3.OperationalError("database or disk is full"), StorageFailed, "Free some space"),
        (OSError(28, "No space left on device"), StorageFailed, "Free some space"),
        (sqlite3.DatabaseError("database disk image is malformed"), IndexUnreadable, "NEW_FOLDER"),
        (sqlite3.OperationalError("attempt to write a readonly database"), StorageFailed, "--index"),
        (PermissionError(13, "Permission denied"), StorageFailed, "--index"),
        (sqlite3.OperationalError("database is locked"), StorageFailed, "try again"),
    ],
)
def test_errors_of_the_storage_say_what_to_do(error, kind, part, tmp_path):
    explained = explain_storage(error, tmp_path)
    assert isinstance(explained, kind)
    assert part in str(explained)
    assert str(tmp_path) in str(explained)


@pytest.mark.parametrize("part", [1, 4, 11, 1 << 16])
def test_a_list_of_strings_is_read_in_parts_whatever_they_hold(part, monkeypatch):
    monkeypatch.setattr(serialization, "PART", part)
    chance, n_parts = random.Random(1), 0
    for _ in range(500):
        strings = [
            "".join(chance.choices('",\\[]aü\n', k=chance.randint(0, 4))) for _ in range(chance.randint(0, 9))
        ]
        found = list(load_strings(dump(strings)))
        assert [string for some in found for string in some] == strings
        n_parts = max(n_parts, len(found))
    assert (n_parts > 1) == (part < 1 << 16)


@pytest.mark.parametrize("text", ['["a","b"', '["a","b"]]', '["a""b","c"]', None])
def test_a_damaged_list_of_strings_is_an_error_that_says_so(text, monkeypatch):
    monkeypatch.setattr(serialization, "PART", 2)
    with pytest.raises(IndexUnreadable, match="damaged"):
        list(load_strings(text))


def test_every_table_and_column_of_the_file_is_portable(store):
    found = {
        table: {name for (name,) in store.connection.rows("SELECT name FROM pragma_table_info(?)", (table,))}
        for (table,) in store.connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('layers', 'sqlite_sequence')"
        )
    }
    # Rows that name a shared text are moved with the text itself.
    del found["texts"]
    assert found == {table: set(columns_of(table)) for table in PORTABLE_TABLES}


def test_a_reader_that_nobody_holds_lets_go_of_its_state_at_once(tmp_path):
    with closing(SqliteStore(tmp_path, mode="write")) as writer:
        reader = SqliteStore(tmp_path, mode="read")
        held = weakref.ref(reader)
        gc.disable()
        try:
            del reader
            assert held() is None
            assert writer.compact()
        finally:
            gc.enable()


def test_headings_and_dates_are_read_from_an_index_without_the_texts(tmp_path):
    store = SqliteStore(tmp_path / "index", mode="write")
    plan = store.connection.rows(
        f"EXPLAIN QUERY PLAN SELECT id, metadata FROM {store.documents._headings} WHERE id IN ('d')"
    )
    assert "COVERING INDEX documents_headings" in plan[0][-1]
    store.close()


def test_a_copy_is_the_same_whatever_was_written_before_and_keeps_nothing_that_was_deleted(tmp_path):
    from polygraph.store.page_sums import is_intact, sums_file

    copies = []
    for name, order in (("one", range(200)), ("other", reversed(range(200)))):
        store = SqliteStore(tmp_path / name, mode="write")
        for n in order:
            with store.transaction():
                store.set_meta(f"key {n:03}", f"value {n} " * 50)
                store.set_meta("secret", f"of {name} " * 500)
        with store.transaction():
            store.set_meta("secret", None)
        (tmp_path / f"copy of {name}" / "derived").mkdir(parents=True)
        copy = tmp_path / f"copy of {name}" / "index.sqlite"
        store.copy_to(copy)
        store.close()
        assert is_intact(copy)
        assert sums_file(copy).is_file()
        assert [file.name for file in copy.parent.iterdir() if file.is_file()] == ["index.sqlite"]
        copies.append(copy.read_bytes())
    assert b"of other" not in copies[1]
    # But for the counters in the head of the file.
    assert copies[0][100:] == copies[1][100:]
