"""Dates of documents: of an index without any, none is looked up for long."""

import pytest

from polygraph.store import snapshot as snapshot_module
from polygraph.store.documents import DocumentTables
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

TEXTS = {f"{n}.txt": f"Lamp {n} was lit." for n in range(6)}


@pytest.fixture
def reads(monkeypatch):
    monkeypatch.setattr(snapshot_module, "_UNDATED", 2)
    monkeypatch.setattr(snapshot_module, "_FEW_DOCUMENTS", 0)
    asked = []
    dates = DocumentTables.dates

    def counted(self, documents):
        asked.append(list(documents))
        return dates(self, documents)

    monkeypatch.setattr(DocumentTables, "dates", counted)
    return asked


def opened(folder, write_files, texts):
    with Index.open(folder / "index", models=hashed_models()) as index:
        index.add(write_files(folder / "papers", texts), methods=["bm25"])
    return Snapshot(folder / "index")


def test_an_index_without_dates_is_asked_for_few(tmp_path, write_files, reads):
    snapshot = opened(tmp_path, write_files, TEXTS)
    names = sorted(TEXTS)
    assert snapshot.dates(names[:2]) == dict.fromkeys(names[:2], "")
    assert snapshot.dates(names) == dict.fromkeys(names, "")
    assert snapshot.where({"id": "*.txt"}).dates(names) == dict.fromkeys(names, "")
    assert reads == [names[:2]]
    snapshot.close()


def test_one_date_behind_many_documents_without_is_found(tmp_path, write_files, reads):
    dated = {"z.md": "---\ndate: 1871-05-03\n---\nThe lamp was lit again."}
    snapshot = opened(tmp_path, write_files, {**TEXTS, **dated})
    assert not any(snapshot.dates(sorted(TEXTS)).values())
    assert snapshot.dates(["z.md"]) == {"z.md": "1871-05-03"}
    assert len(reads) == 2
    snapshot.close()


def test_few_documents_are_looked_through_before_any_is_asked_for(tmp_path, write_files, reads, monkeypatch):
    monkeypatch.setattr(snapshot_module, "_FEW_DOCUMENTS", len(TEXTS))
    snapshot = opened(tmp_path, write_files, TEXTS)
    assert not snapshot.may_have_dates()
    assert snapshot.dates(sorted(TEXTS)) == dict.fromkeys(sorted(TEXTS), "")
    assert reads == []
    snapshot.close()
