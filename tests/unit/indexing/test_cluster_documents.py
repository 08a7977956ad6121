"""What workers read and cut is what a local build reads and cuts, whether they see the files or not."""

import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from polygraph.errors import BadInput
from polygraph.extract.nlp.workers import LocalExecutor
from polygraph.indexing import cluster_documents
from polygraph.indexing.maintain import open_writer
from polygraph.ingest import find_sources, read_sources
from polygraph.workspace.index import Index

TABLES = ("documents", "chunks", "windows", "tables", "unread")


class Workers(LocalExecutor):
    """Runs tasks in this process, as a worker that sees the files below some folders only."""

    def __init__(self, blind_to=()):
        self.blind_to = tuple(map(str, blind_to))
        self.tasks = []

    def map(self, function, items, *, processes=0):
        def as_seen_there(item):
            self.tasks.append(item)
            if not hasattr(item, "files"):
                return item
            return replace(item, files=tuple(self._seen(*each) for each in item.files))

        return super().map(function, (as_seen_there(item) for item in items), processes=processes)

    def _seen(self, file, size, second):
        hidden = str(file.path).startswith(self.blind_to) if self.blind_to else False
        return (replace(file, path=Path("/nowhere") / file.path.name) if hidden else file), size, second


@pytest.fixture
def texts(tmp_path):
    """Files of several kinds, and of all that can be wrong with them."""
    folder = tmp_path / "texts"
    (folder / "notes").mkdir(parents=True)
    for n in range(12):
        paragraphs = [f"Keeper {n} wrote line {k}. The lamp of Skerry burned." for k in range(60)]
        (folder / "notes" / f"{n:02}.txt").write_text("\n\n".join(paragraphs))
    (folder / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "r{n % 7}", "title": "T{n}", "text": "Row {n} of the log."}}\n' for n in range(9))
        + "no record\n"
    )
    (folder / "empty.txt").write_text("")
    (folder / "blank.md").write_text("---\ntitle: Nothing\n---\n")
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 not a zip")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    (folder / "table.csv").write_text("name,place\nMara,Skerry\nTobin,Corve\n")
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("a.txt", "An old letter of Mara.")
        archive.writestr("b.exe", "no")
    return folder


def add(folder, texts, executor=None, **flags):
    """Read and cut the texts, build nothing, and return the report and the tables of documents."""
    with (
        Index.open(folder, offline=True, embedder="hash", reranker="none", **flags) as index,
        open_writer(folder, index.settings, index.models, executor=executor) as writer,
    ):
        report = writer.add(find_sources([texts]), [str(texts)], [], None)
    with closing(sqlite3.connect(folder / "index.sqlite")) as db:
        tables = [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES]
    return report, tables


def counted(report):
    return report.added, report.changed, report.unchanged, report.removed, report.unread


@pytest.mark.parametrize("batch_bytes", [1, 20_000, 400_000])
@pytest.mark.parametrize("blind_to", [(), ("",), ("notes",), ("notes/03", "corpus")])
@pytest.mark.parametrize("many_records", [10, 4_000_000])
def test_documents_are_those_of_a_local_build(
    tmp_path, texts, monkeypatch, batch_bytes, blind_to, many_records
):
    monkeypatch.setattr(cluster_documents, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(cluster_documents, "MANY_RECORDS_BYTES", many_records)
    local, expected = add(tmp_path / "local.index", texts)
    workers = Workers([texts / name for name in blind_to])
    report, found = add(tmp_path / "cluster.index", texts, workers)
    assert counted(report) == counted(local)
    assert len(report.unread) >= 6
    assert found == expected
    assert len(report.notes) == bool(blind_to)


def test_a_file_that_changed_on_its_way_is_read_here(tmp_path, texts):
    workers = Workers()
    workers._seen = lambda file, size, second: (file, size + 1, second)
    report, found = add(tmp_path / "cluster.index", texts, workers)
    _, expected = add(tmp_path / "local.index", texts)
    assert found == expected
    assert "were read by this command" in report.notes[0]


def test_workers_that_see_no_file_of_a_batch_are_not_asked_again(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(cluster_documents, "BATCH_BYTES", 1)
    workers = Workers([texts])
    report, _ = add(tmp_path / "cluster.index", texts, workers)
    assert report.notes[0].startswith("19 files of 19 were read by this command")
    assert sum(hasattr(task, "files") for task in workers.tasks) == cluster_documents.MAX_BLIND
    assert sum(hasattr(task, "documents") for task in workers.tasks) > 5


def test_unchanged_documents_are_not_cut_again(tmp_path, texts, monkeypatch):
    add(tmp_path / "cluster.index", texts, Workers())
    (texts / "notes" / "05.txt").write_text("The lamp went out.")
    cut = []
    real = cluster_documents.cut_document
    monkeypatch.setattr(
        cluster_documents,
        "cut_document",
        lambda document, *rest: cut.append(document.id) or real(document, *rest),
    )
    report, _ = add(tmp_path / "cluster.index", texts, Workers())
    assert (report.changed, report.added) == (1, 0)
    # The ids of records do not tell their file, so that these are cut in any case.
    assert {id_ for id_ in cut if not id_.startswith("r")} == {"notes/05.txt"}


def test_other_settings_of_the_chunker_cut_stored_documents_again(tmp_path, texts):
    for name, executor in (("local", None), ("cluster", Workers())):
        add(tmp_path / f"{name}.index", texts, executor)
    _, expected = add(tmp_path / "local.index", texts, chunk_tokens=60)
    workers = Workers()
    _, found = add(tmp_path / "cluster.index", texts, workers, chunk_tokens=60)
    assert found == expected
    assert any(getattr(task, "documents", ()) for task in workers.tasks)


def test_nothing_that_can_be_read_is_refused_before_a_cluster_is_asked(tmp_path):
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    with pytest.raises(BadInput, match="nothing could be read"):
        read_sources(find_sources([tmp_path]))
