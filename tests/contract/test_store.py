"""The SQLite store keeps the promises of the protocol, and a store that breaks one is found out."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from polygraph.records import Extraction
from polygraph.store.database import SqliteStore
from polygraph.store.documents import DocumentTables
from polygraph.store.extractions import ExtractionTables
from polygraph.store.generations import open_finished
from polygraph.store.graph_tables import GraphTables
from polygraph.store.report_tables import ReportTables
from tests.contract.check_store import check_store


def open_sqlite(folder: Path, mode):
    return SqliteStore(folder, mode=mode)


def test_the_sqlite_store_keeps_all_promises():
    check_store(open_sqlite, open_finished)


@contextmanager
def without_rollback(self):
    self.connection.execute("BEGIN")
    try:
        yield
    finally:
        self.connection.execute("COMMIT")


def keep_windows(self, document):
    for table in ("chunks", "documents"):
        self._db.execute(
            f"DELETE FROM {table} WHERE {'id' if table == 'documents' else 'document'} = ?", (document,)
        )


def number_by_arrival(self):
    self._db.execute("UPDATE chunks SET n = rowid - 1")
    return self._db.rows("SELECT count(*) FROM chunks")[0][0]


BROKEN = {
    "a transaction that fails changes nothing": (SqliteStore, "transaction", without_rollback),
    "removing a document removes its windows": (DocumentTables, "remove", keep_windows),
    "chunks are numbered by document id and ordinal": (DocumentTables, "number_chunks", number_by_arrival),
    "chunks by row come in the order asked for": (
        DocumentTables,
        "chunks_by_row",
        lambda self, rows: self.chunks_by_id([i for i, n in self.chunk_rows().items() if n in rows]),
    ),
    "windows are pending for another extractor": (
        ExtractionTables,
        "pending",
        lambda self, _: [w.id for w in self.window_states() if w.status in ("", "failed")],
    ),
    "entities are found by normalised names and aliases": (
        GraphTables,
        "entities_named",
        lambda self, names: {e.name: [n] for n, e in enumerate(self.all_entities()) if e.name in names},
    ),
    "texts that rest on a document are removed": (
        ReportTables,
        "remove_written",
        lambda _self, _documents: None,
    ),
    "dropped layers are empty": (SqliteStore, "drop_layers", SqliteStore.forget_layers),
    "while a write is in progress readers see": (SqliteStore, "save_state", lambda _self: None),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_store_that_breaks_a_promise_is_told_which(promise, monkeypatch):
    tables, method, broken = BROKEN[promise]
    monkeypatch.setattr(tables, method, broken)
    with pytest.raises(AssertionError, match=promise):
        check_store(open_sqlite, open_finished)


def test_a_reader_that_follows_the_writer_is_found_out():
    def open_following(folder, mode):
        store = SqliteStore(folder, mode=mode)
        if mode == "read":
            store.connection.execute("COMMIT")
        return store

    with pytest.raises(AssertionError, match="a reader sees one state"):
        check_store(open_following, open_finished)


def test_a_store_that_damages_text_is_found_out(monkeypatch):
    put = ExtractionTables.put

    def put_ascii(self, extraction: Extraction, extractor):
        put(self, extraction, extractor)
        self._db.execute("UPDATE windows SET raw = replace(raw, '\U0001f3ee', '?')")

    monkeypatch.setattr(ExtractionTables, "put", put_ascii)
    with pytest.raises(AssertionError, match="failures keep the raw reply"):
        check_store(open_sqlite, open_finished)
