"""Copying an index from one folder to another: everything or nothing."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from polygraph.config import Settings
from polygraph.errors import BadInput, IndexLocked, IndexUnreadable
from polygraph.indexing import copying
from polygraph.indexing.copying import copy_index
from polygraph.models import Calls, Models
from polygraph.models.call_store import open_call_store
from polygraph.models.providers.static import HashEmbedder
from polygraph.store.generations import begin_write
from polygraph.store.layers import FILE_LAYERS, up_to_date
from polygraph.store.lock import writing
from polygraph.store.open_store import open_store
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

SOURCE = Path(__file__).parents[3] / "src"
TEXTS = {
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay. Old Tobin was her master. The Halcyon struck the Grey Reef.",
    "odd.txt": "Tobias Wren\x10 met \u202e Mara Quill at the Skerry Light. 灯台 🏮",
}


def opened(folder, chat=None):
    embedder = HashEmbedder()
    calls = Calls(folder / "calls.sqlite")
    models = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=calls)
    return Index.open(
        folder, settings=Settings(chunk_tokens=32, window_tokens=64, community_size=3), models=models
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of an index that a model wrote, with decisions, questions, and a file that could not be read."""
    base = tmp_path_factory.mktemp("copying")
    (base / "papers").mkdir()
    for name, text in TEXTS.items():
        (base / "papers" / name).write_text(text, encoding="utf-8")
    (base / "papers" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    with opened(base / "index", scripted_chat()) as index:
        index.add(base / "papers")
        index.entities.merge("Old Tobin", "Tobias Wren")
        index.ask("Who built the Skerry Light?", "graphrag-local")
    return base / "index"


def exported(folder, target):
    with opened(folder) as index:
        index.export(target)
    return {path.name: path.read_bytes() for path in target.iterdir()}


def ledger(folder):
    with closing(open_call_store(folder / "calls.sqlite")) as calls:
        return calls.ledger(), calls.questions(), calls.n_rows()


def contents(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_has_the_same_export_ledger_and_layers(built, tmp_path):
    report = copy_index(built, tmp_path / "copy")
    assert exported(tmp_path / "copy", tmp_path / "b") == exported(built, tmp_path / "a")
    assert ledger(tmp_path / "copy") == ledger(built)
    with (
        closing(open_store(built, mode="read")) as one,
        closing(open_store(tmp_path / "copy", mode="read")) as two,
    ):
        assert up_to_date(two, two.manifest()) == up_to_date(one, one.manifest())
        assert two.layers() == one.layers()
        assert two.documents.unread() == one.documents.unread() != []
        assert two.extractions.decision_log() == one.extractions.decision_log() != []
        assert set(report.layers) == FILE_LAYERS & set(one.layers())
    assert report.documents == 3
    assert contents(tmp_path) == ["a", "b", "copy"]


def test_a_copy_needs_no_model_to_be_brought_up_to_date_and_answers_from_its_replies(built, tmp_path):
    copy_index(built, tmp_path / "copy")
    chat = scripted_chat()
    with opened(tmp_path / "copy", chat) as index:
        assert index.add().built == {}
        answer = index.ask("Who built the Skerry Light?", "graphrag-local")
    assert chat.requests == []
    assert answer.usage.cached_calls


def test_a_copy_of_a_copy_is_the_same(built, tmp_path):
    copy_index(built, tmp_path / "one")
    copy_index(tmp_path / "one", tmp_path / "two")
    assert exported(tmp_path / "two", tmp_path / "b") == exported(built, tmp_path / "a")


def test_progress_ends_at_the_number_of_rows(built, tmp_path):
    seen = []
    report = copy_index(built, tmp_path / "copy", progress=lambda *args: seen.append(args))
    assert seen[-1] == ("copying", report.rows, report.rows)
    assert {stage for stage, _, _ in seen} == {"copying"}
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_a_folder_that_holds_something_is_left_alone(built, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "diary.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"is not empty\. Name a new or an empty folder$"):
        copy_index(built, tmp_path / "copy")
    with pytest.raises(BadInput, match=r"holds diary\.txt, which is not part of an index"):
        copy_index(built, tmp_path / "copy", replace=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match="is a file"):
        copy_index(built, tmp_path / "file", replace=True)
    assert (tmp_path / "copy" / "diary.txt").read_text() == "mine"
    assert contents(tmp_path) == ["copy", "file"]


def test_an_empty_folder_is_filled(built, tmp_path):
    (tmp_path / "copy").mkdir()
    copy_index(built, tmp_path / "copy")
    assert exported(tmp_path / "copy", tmp_path / "b") == exported(built, tmp_path / "a")


def test_an_index_is_replaced_only_when_that_is_asked_for(built, tmp_path):
    (tmp_path / "other.txt").write_text("Ada Marsh saw the Grey Reef.")
    with opened(tmp_path / "copy") as index:
        index.add(tmp_path / "other.txt")
    with pytest.raises(BadInput, match="--replace"):
        copy_index(built, tmp_path / "copy")
    copy_index(built, tmp_path / "copy", replace=True)
    assert exported(tmp_path / "copy", tmp_path / "b") == exported(built, tmp_path / "a")
    assert ledger(tmp_path / "copy") == ledger(built)
    assert [name for name in contents(tmp_path) if name.startswith(".")] == []


def test_an_index_is_not_copied_to_itself(built):
    with pytest.raises(BadInput, match="to itself"):
        copy_index(built, built.parent / "." / built.name, replace=True)


def test_what_is_no_index_or_not_finished_is_not_copied(built, tmp_path):
    with pytest.raises(IndexUnreadable, match="there is no index"):
        copy_index(tmp_path / "nothing", tmp_path / "copy")
    copy_index(built, tmp_path / "begun")
    with closing(open_store(tmp_path / "begun", mode="write")) as store:
        begin_write(store)
        store.drop_saved_state()
    with pytest.raises(IndexUnreadable, match="is not finished"):
        copy_index(tmp_path / "begun", tmp_path / "copy")
    assert contents(tmp_path) == ["begun"]


def test_an_index_that_is_being_written_is_not_replaced(built, tmp_path):
    copy_index(built, tmp_path / "copy")
    with writing(tmp_path / "copy"), pytest.raises(IndexLocked):
        copy_index(built, tmp_path / "copy", replace=True)
    assert contents(tmp_path) == ["copy"]


def test_files_beside_the_index_are_named_and_not_copied(built, tmp_path):
    copy_index(built, tmp_path / "one")
    (tmp_path / "one" / "studies").mkdir()
    (tmp_path / "one" / "estimate.json").write_text("{}")
    assert copy_index(tmp_path / "one", tmp_path / "two").left == ("studies",)
    assert (tmp_path / "two" / "estimate.json").read_text() == "{}"


def test_damaged_files_of_a_layer_are_not_copied(built, tmp_path):
    copy_index(built, tmp_path / "one")
    lexical = next((tmp_path / "one" / "derived").glob("lexical-*"))
    victim = max((path for path in lexical.iterdir() if path.is_file()), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    report = copy_index(tmp_path / "one", tmp_path / "two")
    assert "lexical" not in report.layers
    with opened(tmp_path / "two", scripted_chat()) as index:
        assert set(index.add().built) == {"lexical"}


def test_replies_in_a_folder_that_cannot_be_written_are_copied(built, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    copy_index(built, tmp_path / "copy")
    monkeypatch.undo()
    assert ledger(tmp_path / "copy") == ledger(built)


def test_an_error_leaves_what_was_there(built, tmp_path, monkeypatch):
    copy_index(built, tmp_path / "copy")
    before = exported(tmp_path / "copy", tmp_path / "a")

    def fail(*arguments):
        raise InterruptedError

    monkeypatch.setattr(copying, "finish_write", fail)
    for target, replace in (("copy", True), ("new", False)):
        with pytest.raises(Exception, match=r"InterruptedError|cannot be written"):
            copy_index(built, tmp_path / target, replace=replace)
    monkeypatch.undo()
    assert contents(tmp_path) == ["a", "copy"]
    assert exported(tmp_path / "copy", tmp_path / "b") == before


@pytest.mark.slow
def test_a_copy_that_is_killed_anywhere_leaves_the_old_index_or_the_new_one(built, tmp_path):
    (tmp_path / "other.txt").write_text("Ada Marsh saw the Grey Reef.")
    with opened(tmp_path / "old") as index:
        index.add(tmp_path / "other.txt")
    old, new = exported(tmp_path / "old", tmp_path / "a"), exported(built, tmp_path / "b")
    program = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from polygraph.indexing.copying import copy_index
        source, target, at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
        seen = 0
        def count(event, arguments):
            global seen
            if event in ("sqlite3.connect", "os.rename", "os.remove", "os.rmdir", "os.mkdir"):
                seen += 1
                if seen == at:
                    os._exit(9)
        sys.addaudithook(count)
        copy_index(source, target, replace=True)
        print(seen)
        """
    )

    def run(target, at):
        return subprocess.run(
            [sys.executable, "-c", program, built, target, str(at)],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            check=False,
            capture_output=True,
            text=True,
        )

    copy_index(tmp_path / "old", tmp_path / "whole")
    n_events = int(run(tmp_path / "whole", 0).stdout)
    assert n_events > 20
    seen = set()
    for at in [*range(1, n_events, max(1, n_events // 8)), n_events - 2, n_events - 1]:
        target = tmp_path / f"t{at}"
        copy_index(tmp_path / "old", target)
        assert run(target, at).returncode == 9
        if target.exists():
            now = exported(target, tmp_path / f"e{at}")
            assert now in (old, new)
            seen.add("old" if now == old else "new")
        # The same command again ends what was begun, also between the two renames.
        copy_index(built, target, replace=True)
        assert exported(target, tmp_path / f"f{at}") == new
        assert not [name for name in contents(tmp_path) if name.startswith(".")]
    assert seen == {"old", "new"}


def test_the_replies_of_a_file_that_a_reader_has_open_are_copied_as_one_state(built, tmp_path):
    copy_index(built, tmp_path / "one")
    held = sqlite3.connect(tmp_path / "one" / "calls.sqlite", isolation_level=None)
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM reply").fetchone()
    copy_index(tmp_path / "one", tmp_path / "two")
    held.close()
    assert ledger(tmp_path / "two") == ledger(built)


def test_the_command_copies_and_says_what(built, tmp_path, call):
    done = call("copy", built, tmp_path / "copy")
    assert done.code == 0
    assert done.out.startswith("copied 3 documents (")
    assert f"to {tmp_path / 'copy'}" in done.out
    again = call("copy", built, tmp_path / "copy")
    assert again.code == 2
    assert "--replace" in again.sentence
    assert call("copy", built, tmp_path / "copy", "--replace", "--json").code == 0
    refused = call("copy", built, "s3://bucket/index")
    assert refused.code == 2
    assert "polygraph publish s3://bucket/index" in refused.sentence


def test_an_index_is_copied_from_python(built, tmp_path):
    with opened(built) as index:
        assert index.copy_to(tmp_path / "copy").documents == 3
    assert exported(tmp_path / "copy", tmp_path / "b") == exported(built, tmp_path / "a")
