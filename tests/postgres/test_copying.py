"""Copying an index between folders and databases, and back."""

import os
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from polygraph.config import Settings
from polygraph.errors import BadInput, IndexLocked
from polygraph.indexing.copying import copy_index
from polygraph.models import Calls, Models
from polygraph.models.call_store import open_call_store
from polygraph.models.providers.static import HashEmbedder
from polygraph.postgresql import parse_url
from polygraph.store.layers import FILE_LAYERS, up_to_date
from polygraph.store.open_store import calls_of, open_store, open_to_write
from polygraph.store.postgres.folder import folder_for
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

SOURCE = Path(__file__).parents[2] / "src"
TEXTS = {
    "letter.txt": "Mara Quill wrote to Old Tobin. She had built the Skerry Light. Tobias Wren refused to pay.",
    "log.txt": "The Halcyon left Sallow Bay. Old Tobin was her master. The Halcyon struck the Grey Reef.",
    "odd.txt": "Tobias Wren\x10n met \u202e Mara Quill at the Skerry Light. 灯台 🏮",
}
SETTINGS = Settings(chunk_tokens=32, window_tokens=64, community_size=3)


def opened(folder, chat=None):
    embedder = HashEmbedder()
    calls = Calls(calls_of(folder))
    models = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=calls)
    return Index.open(folder, settings=SETTINGS, models=models)


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


@pytest.fixture
def database(database_url, tmp_path):
    """Make the local folder of an index in a schema of the database, on a machine of its own."""

    def make(schema, machine="here"):
        return folder_for(parse_url(f"{database_url}&schema={schema}"), tmp_path / machine)

    return make


def exported(folder, target):
    with opened(folder) as index:
        index.export(target)
    return {path.name: path.read_bytes() for path in target.iterdir()}


def ledger(folder):
    with closing(open_call_store(calls_of(folder))) as calls:
        return calls.ledger(), calls.questions(), calls.n_rows()


def test_an_index_moves_to_a_database_and_back_without_a_change(built, database, tmp_path):
    there = database("papers")
    report = copy_index(built, there)
    assert report.target.endswith("schema=papers")
    assert copy_index(there, tmp_path / "back").rows == report.rows
    assert exported(there, tmp_path / "b") == exported(built, tmp_path / "a")
    assert exported(tmp_path / "back", tmp_path / "c") == exported(built, tmp_path / "d")
    assert ledger(there) == ledger(tmp_path / "back") == ledger(built)
    for folder in (there, tmp_path / "back"):
        with closing(open_store(built, mode="read")) as one, closing(open_store(folder, mode="read")) as two:
            assert up_to_date(two, two.manifest()) == up_to_date(one, one.manifest())
            assert two.layers() == one.layers()
            assert two.documents.unread() == one.documents.unread() != []
            assert two.extractions.decision_log() == one.extractions.decision_log() != []
            assert set(report.layers) == FILE_LAYERS & set(one.layers())


def test_another_machine_reads_the_copy_with_its_files_and_pays_for_nothing(built, database):
    copy_index(built, database("papers"))
    chat = scripted_chat()
    with opened(database("papers", "elsewhere"), chat) as index:
        answer = index.ask("Who built the Skerry Light?", "graphrag-local")
        assert index.add().built == {}
    assert chat.requests == []
    assert answer.usage.cached_calls


def test_an_index_moves_from_one_schema_to_another(built, database, tmp_path):
    copy_index(built, database("one"))
    copy_index(database("one", "elsewhere"), database("two"))
    assert exported(database("two"), tmp_path / "b") == exported(built, tmp_path / "a")
    assert ledger(database("two")) == ledger(built)


def test_a_decision_after_a_copy_gets_the_next_number(built, database):
    copy_index(built, database("papers"))
    with opened(database("papers"), scripted_chat()) as index:
        index.entities.rename("Mara Quill", "Mara Crane")
    with closing(open_store(database("papers"), mode="read")) as store:
        assert [kind for _, kind, _, _ in store.extractions.decision_log()] == ["merge", "rename"]


def test_a_schema_that_holds_an_index_is_replaced_only_when_that_is_asked_for(built, database, tmp_path):
    (tmp_path / "other.txt").write_text("Ada Marsh saw the Grey Reef.")
    with opened(database("papers")) as index:
        index.add(tmp_path / "other.txt")
    with pytest.raises(BadInput, match=r"is not empty.*--replace"):
        copy_index(built, database("papers"))
    with pytest.raises(BadInput, match="to itself"):
        copy_index(database("papers"), database("papers"), replace=True)
    copy_index(built, database("papers"), replace=True)
    assert exported(database("papers", "elsewhere"), tmp_path / "b") == exported(built, tmp_path / "a")
    assert ledger(database("papers")) == ledger(built)


def test_a_reader_sees_the_old_index_until_it_looks_again(built, database, tmp_path):
    (tmp_path / "other.txt").write_text("Ada Marsh saw the Grey Reef.")
    with opened(database("papers")) as index:
        index.add(tmp_path / "other.txt")
    with opened(database("papers", "elsewhere")) as reader:
        old = reader.snapshot()
        assert [i for i, _, _ in old.store.documents.headers()] == ["other.txt"]
        stamp = reader.stamp()
        copy_index(built, database("papers"), replace=True)
        assert [i for i, _, _ in old.store.documents.headers()] == ["other.txt"]
        assert reader.stamp() != stamp
        assert len(list(reader.snapshot().store.documents.headers())) == 3


def test_an_index_that_is_being_written_is_not_replaced(built, database):
    with open_to_write(database("papers")), pytest.raises(IndexLocked, match="is being written"):
        copy_index(built, database("papers"), replace=True)


def test_a_copy_that_is_killed_anywhere_leaves_the_old_index_or_the_new_one(
    built, database, database_url, tmp_path
):
    (tmp_path / "other.txt").write_text("Ada Marsh saw the Grey Reef.")
    with opened(database("old")) as index:
        index.add(tmp_path / "other.txt")
    old, new = exported(database("old"), tmp_path / "a"), exported(built, tmp_path / "b")
    program = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from psycopg import Connection, Cursor
        from polygraph.indexing.copying import copy_index
        from polygraph.postgresql import parse_url
        from polygraph.store.postgres.folder import folder_for
        source, url, cache, at = Path(sys.argv[1]), parse_url(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
        seen = 0
        def counted(function):
            def call(self, statement, *arguments, **more):
                global seen
                seen += 1
                if seen == at:
                    os._exit(9)
                return function(self, statement, *arguments, **more)
            return call
        Cursor.execute, Cursor.copy = counted(Cursor.execute), counted(Cursor.copy)
        copy_index(source, folder_for(url, cache), replace=True)
        print(seen)
        """
    )

    def run(schema, at):
        return subprocess.run(
            [
                sys.executable,
                "-c",
                program,
                built,
                f"{database_url}&schema={schema}",
                tmp_path / "m",
                str(at),
            ],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            check=False,
            capture_output=True,
            text=True,
        )

    copy_index(database("old"), database("whole"))
    n_statements = int(run("whole", 0).stdout)
    assert n_statements > 50
    seen = set()
    for at in sorted(
        {*range(1, n_statements, n_statements // 6), *range(n_statements - 12, n_statements, 3)}
    ):
        copy_index(database("old"), database(f"t{at}"))
        assert run(f"t{at}", at).returncode == 9
        now = exported(database(f"t{at}", "elsewhere"), tmp_path / f"e{at}")
        assert now in (old, new)
        assert ledger(database(f"t{at}")) == ledger(database("old") if now == old else built)
        seen.add("old" if now == old else "new")
        copy_index(built, database(f"t{at}"), replace=True)
        assert exported(database(f"t{at}"), tmp_path / f"f{at}") == new
    assert seen == {"old", "new"}


def test_the_command_copies_to_a_database_and_back(built, database_url, tmp_path, call, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = f"{database_url}&schema=papers"
    done = call("copy", built, url)
    assert done.code == 0, done.err
    assert done.out.startswith("copied 3 documents (")
    assert call("copy", url, tmp_path / "back").code == 0
    assert exported(tmp_path / "back", tmp_path / "b") == exported(built, tmp_path / "a")
    refused = call("copy", built, url)
    assert refused.code == 2
    assert "--replace" in refused.sentence
