"""Kills, two processes at once, damage, and folders that cannot be written."""

import importlib.util
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

from polygraph.store.atomic_files import damage
from polygraph.store.connection import readable
from polygraph.store.database import SAVED_STATE, SqliteStore
from polygraph.store.documents import DocumentTables
from polygraph.store.generations import begin_write, finish_write, open_finished
from polygraph.store.graph_tables import GraphTables
from polygraph.store.layers import FILE_LAYERS
from polygraph.store.lock import writing
from polygraph.store.report_tables import ReportTables
from polygraph.store.shared_file import LockedConnection
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

QUESTION = "Who refused to pay for the lamp of the Skerry Light?"
ROOT = Path(__file__).parents[2]


def benchmark(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def opened(folder, **more):
    return Index.open(
        folder, models=hashed_models(scripted_chat()), chunk_tokens=32, window_tokens=64, **more
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory, papers_texts, write_files):
    """An index with every layer, not to be changed."""
    base = tmp_path_factory.mktemp("sound")
    with opened(base / "index") as index:
        index.add(write_files(base / "papers", papers_texts))
    return base / "index"


@pytest.fixture
def index(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "papers.index"))


def fails(ended, *parts, code=2):
    assert ended.code == code, (ended.code, ended.out, ended.err)
    for part in parts:
        assert str(part) in ended.sentence, ended.sentence
    assert len(ended.sentence) < 700


# --- kills ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize(
    "kills", [pytest.param(4, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.deep)]
)
def test_killed_at_random_moments_nothing_is_lost_nor_paid_twice(kills, tmp_path):
    found = benchmark("kills").run(tmp_path, kills, seed=kills, documents=12, per_round=4)
    for name, tally in found.items():
        assert tally.different == [], name
        assert tally.paid_twice == 0, name
        assert tally.calls == tally.least + tally.lost, name
        assert tally.most_lost <= 4, name
    assert found["index"].kills == kills
    assert found["remove"].calls == 0


STOPS = (
    (DocumentTables, "put"),
    (DocumentTables, "remove"),
    (ReportTables, "remove_written"),
    (GraphTables, "put"),
    (ReportTables, "put_communities"),
    (ReportTables, "put"),
    (SqliteStore, "put_layer"),
)


@dataclass(frozen=True)
class Change:
    """An index before a change, what makes the change, and the index after it."""

    before: Path
    make: Callable[[Index], object]
    after: Path
    answers: tuple[object, object]
    """Before and after."""


@pytest.fixture(scope="module", params=["add", "remove"])
def change(request, tmp_path_factory, papers_texts, write_files):
    base = tmp_path_factory.mktemp(request.param)
    folder = write_files(base / "papers", papers_texts)
    with opened(base / "before") as index:
        index.add(folder)
    write_files(folder, {"letter.txt": "Mara Quill sold the lamp of the Skerry Light to Ezra Pike."})

    def make(index):
        return index.add(folder) if request.param == "add" else index.remove("letter.txt")

    after = Path(shutil.copytree(base / "before", base / "after"))
    with opened(after) as index:
        make(index)
    return Change(base / "before", make, after, (answer(base / "before"), answer(after)))


@pytest.mark.parametrize(("tables", "stop"), STOPS)
def test_stopped_at_any_step_readers_see_the_former_state_and_the_command_goes_on(
    tables, stop, change, tmp_path, monkeypatch
):
    index = Path(shutil.copytree(change.before, tmp_path / "papers.index"))
    before, after = change.answers
    real = getattr(tables, stop)

    def stopped(self, *args, **kwargs):
        real(self, *args, **kwargs)
        raise KeyboardInterrupt

    with opened(index) as opened_index, monkeypatch.context() as patched:
        patched.setattr(tables, stop, stopped)
        reached = False
        try:
            change.make(opened_index)
        except KeyboardInterrupt:
            reached = True
    if not reached:
        pytest.skip(f"{change.before.parent.name} does not call {tables.__name__}.{stop}")
    assert answer(index) == before
    with opened(index) as opened_index:
        change.make(opened_index)
    assert answer(index) == after
    assert after != before
    assert not (index / SAVED_STATE).exists()
    kills = benchmark("kills")
    ours, theirs = kills.tables(index), kills.tables(change.after)
    for name in kills.TABLES:
        assert ours[name] == theirs[name], name


def answer(folder):
    with opened(folder) as opened_index:
        return [
            (method, found.text, [e.text for e in found.retrieval.evidence])
            for method in ("bm25", "naive", "graphrag-local", "graphrag-global")
            for found in [opened_index.ask(QUESTION, method)]
        ]


# --- two processes --------------------------------------------------------------------------------------

READER = r"""
import re, sys
from pathlib import Path
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.workspace import Index
embedder = HashEmbedder()
n = 0
seen = set()
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    models = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    with Index.open(sys.argv[1], models=models) as index:
        for _ in range(3):
            texts = []
            for method in ("bm25", "naive", "graphrag-local", "graphrag-global"):
                found = index.retrieve("Which number is Mara Quill telling?", method)
                marks = {mark for e in found.evidence for mark in re.findall(r"State\d+", e.text)}
                assert len(marks) == 1, (method, marks, found.empty_because)
                texts += marks
            seen |= set(texts)
            n += 1
print(n, *sorted(seen), flush=True)
"""


def state(n):
    return {
        f"{name}.txt": f"Mara Quill told {name.title()} Tobin that the number is State{n}. {name.title()} Tobin "
        f"wrote to Mara Quill of State{n} and of the Skerry Light."
        for name in ("ada", "ben", "cid")
    }


@pytest.mark.slow
def test_readers_during_builds_see_finished_states_and_never_an_error(tmp_path, write_files):
    folder = tmp_path / "papers"
    index, stop = tmp_path / "index", tmp_path / "stop"
    with opened(index) as writer:
        writer.add(write_files(folder, state(0)))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(index), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert reader.stdout.readline().strip() == "ready"
        for n in range(1, 6):
            with opened(index) as writer:
                writer.add(write_files(folder, state(n)))
            assert reader.poll() is None, reader.stderr.read()
            time.sleep(0.1)
    finally:
        stop.write_text("", encoding="utf-8")
        out, err = reader.communicate(timeout=60)
    assert reader.returncode == 0, err
    n, *seen = out.split()
    assert int(n) > 3
    assert len(seen) > 1, seen


def test_a_reader_in_the_midst_of_a_change_sees_the_state_before(index):
    store = SqliteStore(index, mode="write")
    begin_write(store)
    with store.transaction():
        for document in list(store.documents.hashes()):
            store.documents.remove(document)
    with Index.open(index, models=hashed_models(scripted_chat())) as reader:
        assert reader.ask(QUESTION, "hybrid").citations
    (index / SAVED_STATE).write_bytes(b"damaged")
    state = open_finished(index)
    assert state.count("documents") == 0
    state.close()
    finish_write(store)
    store.close()


def test_an_open_index_follows_what_another_process_finishes(index):
    with opened(index) as reader, opened(index) as writer:
        assert "refused" in reader.ask(QUESTION, "bm25").text
        writer.remove("letter.txt")
        found = reader.ask(QUESTION, "bm25")
        assert "letter.txt" not in {e.document for e in found.retrieval.evidence}


def test_a_second_writer_waits_as_long_as_it_is_told(index, call, start):
    code = (
        "import sys\nfrom pathlib import Path\nfrom polygraph.store.lock import writing\n"
        f"with writing(Path({str(index)!r})):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as first:
        assert first.stdout.readline().strip() == "held"
        fails(call("remove", "log.md", "--index", index), f"process {first.pid}")
        fails(call("remove", "log.md", "--index", index, "--wait", "0.2"), f"process {first.pid}")
        Timer(0.3, first.stdin.close).start()
        ended = call("remove", "log.md", "--index", index, "--wait", "30", "--json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["removed"] == 1


# --- damage ---------------------------------------------------------------------------------------------


def damaged_files(index):
    for layer in sorted(FILE_LAYERS):
        for path in sorted((index / "derived").glob(f"{layer}-*/*")):
            if path.suffix != ".lock":
                yield path


@pytest.mark.parametrize(
    "how",
    [
        *(pytest.param(how, marks=pytest.mark.slow) for how in ("flipped", "removed", "cut")),
        *(pytest.param(how, marks=pytest.mark.deep) for how in ("emptied", "longer")),
    ],
)
def test_damaged_files_give_a_sentence_and_no_wrong_answer_and_are_made_anew(how, index, call):
    before = {
        m: call("ask", QUESTION, "--index", index, "-m", m, "--json").out
        for m in ("hybrid", "graphrag-local")
    }
    chance = random.Random(how)
    n_noticed = 0
    for path in damaged_files(index):
        sound = path.read_bytes()
        if how == "flipped":
            if not sound:
                continue
            at = chance.randrange(len(sound))
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        elif how == "removed":
            path.unlink()
        else:
            path.write_bytes({"cut": sound[: len(sound) // 2], "emptied": b"", "longer": sound + b"x"}[how])
        for method, wanted in before.items():
            ended = call("ask", QUESTION, "--index", index, "-m", method, "--json")
            if ended.code == 0:
                ours, theirs = json.loads(ended.out), json.loads(wanted)
                assert ours["evidence"] == theirs["evidence"], path
            else:
                n_noticed += 1
                fails(ended, "polygraph index --index")
        path.write_bytes(sound)
    assert n_noticed > 4


@pytest.mark.parametrize("how", ["flipped", "cut", "seal"])
def test_the_next_index_rebuilds_damaged_files_and_only_those(how, index):
    with opened(index) as whole:
        wanted = answer(index)
        for layer in ("chunk_vectors", "graph"):
            (folder,) = (index / "derived").glob(f"{layer}-*")
            arrays = [p for p in folder.iterdir() if p.suffix in (".npy", ".csr")]
            path = max(arrays, key=lambda p: p.stat().st_size)
            data = path.read_bytes()
            if how == "flipped":
                path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            elif how == "cut":
                path.write_bytes(data[:-1])
            else:
                (folder / "seal.json").write_text("{", encoding="utf-8")
        report = whole.add()
        assert set(report.built) == {"chunk_vectors", "graph"}
        assert report.usage.calls == 0
    assert answer(index) == wanted
    for layer in FILE_LAYERS:
        (folder,) = (index / "derived").glob(f"{layer}-*")
        assert damage(folder, thorough=True) == ""


def test_a_deleted_derived_folder_is_made_anew_with_the_same_answers(index):
    wanted = answer(index)
    shutil.rmtree(index / "derived")
    with opened(index) as whole:
        assert set(whole.add().built) == FILE_LAYERS
    assert answer(index) == wanted


def test_a_damaged_index_tells_what_can_still_be_read_and_how_to_go_on(tmp_path, write_files, call):
    texts = {f"{n:03}.txt": f"Mara Quill met Old Tobin on day {n}. " * 40 for n in range(60)}
    folder = write_files(tmp_path / "papers", texts)
    index = tmp_path / "index"
    with opened(index) as whole:
        whole.add(folder)
    file = index / "index.sqlite"
    assert readable(index)[0] == 60
    data = bytearray(file.read_bytes())
    db = sqlite3.connect(file)
    page_size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    middle = len(data) // page_size // 3 * page_size
    data[middle : middle + 4 * page_size] = b"\xff" * (4 * page_size)
    file.write_bytes(bytes(data))
    noticed = [
        call("ask", "Who met Old Tobin?", "--index", index, "-m", "bm25"),
        call("status", "--index", index, "--documents"),
        call("explain", "Who met Old Tobin?", "--index", index, "-m", "graphrag-local"),
        call("remove", "001.txt", "--index", index),
    ]
    told = [ended for ended in noticed if ended.code]
    assert told
    for ended in told:
        fails(
            ended,
            "extraction rows of it can still be read",
            "polygraph index PATH --index NEW_FOLDER",
            "calls.sqlite",
        )
    documents, rows = readable(index)
    assert documents + rows > 0


# --- places that cannot be written ----------------------------------------------------------------------


@contextmanager
def read_only(index, place):
    """A copy of an index that nobody can write: by its permissions, or for root, on a file system without writing."""
    if os.geteuid():
        shutil.copytree(index, place)
        for path in [*place.rglob("*"), place]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            yield place
        finally:
            for path in [place, *place.rglob("*")]:
                path.chmod(0o755 if path.is_dir() else 0o644)
        return
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=False, capture_output=True).returncode:
        pytest.skip("root may write anywhere, and no file system can be mounted here")
    try:
        shutil.copytree(index, place / "index")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True, capture_output=True)
        yield place / "index"
    finally:
        subprocess.run(["umount", "-l", place], check=False)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_a_read_only_index_can_be_asked_and_nothing_is_written(index, tmp_path, call):
    with read_only(index, tmp_path / "fixed") as place:
        before = {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in place.rglob("*")}
        for method in ("hybrid", "graphrag-local", "graphrag-global"):
            ended = call("ask", QUESTION, "--index", place, "-m", method)
            assert ended.code == 0, ended.err
        assert call("status", "--index", place).code == 0
        for command in (["remove", "log.md"], ["index"]):
            fails(call(*command, "--index", place), place)
        assert {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in place.rglob("*")} == before


@pytest.mark.parametrize(("durability", "level"), [("normal", 1), ("full", 2)])
def test_durability_decides_how_commits_reach_the_disk(durability, level, tmp_path):
    store = SqliteStore(tmp_path, mode="write", durability=durability)
    assert store.connection.rows("PRAGMA synchronous") == [(level,)]
    store.close()


def test_the_setting_durability_reaches_both_files(tmp_path, papers, monkeypatch):
    asked = []
    real = sqlite3.connect

    def execute(self, query, *args):
        if "synchronous" in query:
            asked.append(query.split()[-1])
        return sqlite3.Connection.execute(self, query, *args)

    class Watched(sqlite3.Connection):
        pass

    Watched.execute = execute
    monkeypatch.setattr(LockedConnection, "execute", execute, raising=False)
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "factory": Watched}))
    flags = {"embedder": "hash", "name_embedder": "hash", "reranker": "none", "durability": "full"}
    with Index.open(tmp_path / "index", **flags) as whole:
        whole.add(papers, methods=["bm25"])
    assert asked == ["FULL", "FULL"]
    with writing(tmp_path / "index"):
        pass
    Snapshot(tmp_path / "index").close()
