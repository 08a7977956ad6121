"""A build on Ray equals a local one whatever happens to the workers, and keeps to limits and caps."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polygraph.errors import BadInput, BudgetReached, MissingExtra, WorkerLost, WorkFailed
from polygraph.execution.ray_cluster import RayExecutor, require_same_versions
from polygraph.indexing import maintain
from polygraph.indexing.maintain import open_writer
from polygraph.indexing.progress import no_progress
from polygraph.ingest import find_sources
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.remote import ModelSource, on_cluster
from polygraph.store.layers import DEPENDENCIES
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

N_DOCUMENTS = 12


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    names = ("Mara Quill", "Old Tobin", "Tobias Wren", "Ada Marsh", "Elias Crane")
    for n in range(N_DOCUMENTS):
        a, b = names[n % 5], names[(n * 3 + 1) % 5]
        (folder / f"{n:02}.txt").write_text(
            f"Day {n}. {a} met {b} at the Skerry Light with Captain Number{n}."
        )
    return folder


def open_index(folder, **flags):
    return Index.open(
        folder,
        embedder="hash",
        name_embedder="hash",
        reranker="none",
        retries=6,
        **{"concurrency": 4, **flags},
    )


def with_model(server, **flags):
    return {"base_url": server.base_url, "api_key": "sk-test-of-ray", "chat_model": "scripted", **flags}


def add_on(executor, index, papers):
    """Build on a cluster that other tests use too."""
    models = on_cluster(index.models, index.settings, executor)
    with open_writer(index.folder, index.settings, models, executor=executor) as writer:
        return writer.add(find_sources([papers]), [str(papers)], list(DEPENDENCIES), None)


def content(folder):
    """Return all rows and arrays of an index, without times."""
    found = {}
    db = sqlite3.connect(folder / "index.sqlite")
    for (table,) in db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    ).fetchall():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        kept = [c for c in columns if c not in ("seconds", "root", "source", "built", "added")]
        found[table] = sorted(db.execute(f"SELECT {', '.join(kept)} FROM {table}").fetchall(), key=repr)
    db.close()
    for path in sorted((folder / "derived").rglob("*.npy")) + sorted((folder / "derived").rglob("*.csr")):
        found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def different(a, b):
    one, other = content(a), content(b)
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def test_extraction_without_a_model_gives_the_same_index(cluster, papers, tmp_path):
    with open_index(tmp_path / "local", offline=True) as index:
        index.add(papers)
    with open_index(tmp_path / "ray", offline=True) as index:
        add_on(cluster, index, papers)
    assert different(tmp_path / "local", tmp_path / "ray") == []


def test_workers_read_the_files_and_cut_the_documents(cluster, tmp_path, monkeypatch):
    folder = tmp_path / "texts"
    folder.mkdir()
    for n in range(60):
        (folder / f"{n:02}.txt").write_text(
            "\n\n".join(f"Line {k} of day {n}. It rained." for k in range(800))
        )
    (folder / "empty.txt").write_text("")
    (folder / "log.jsonl").write_text("".join(f'{{"id": "{n % 3}", "text": "Row {n}."}}\n' for n in range(5)))
    reports = []
    for name, executor in (("local", None), ("ray", cluster)):
        with (
            open_index(tmp_path / name, offline=True) as index,
            open_writer(index.folder, index.settings, index.models, executor=executor) as writer,
        ):
            reports.append(writer.add(find_sources([folder]), [str(folder)], [], None))

        def refuse(document, *_):
            raise AssertionError(f"{document.id} was cut by the command")

        monkeypatch.setattr(maintain, "cut_document", refuse)
    local, found = reports
    assert (found.added, found.unread, found.notes) == (local.added, local.unread, [])
    assert found.added == 63
    assert {path for path, _ in found.unread} == {"empty.txt", "log.jsonl:4", "log.jsonl:5"}
    assert different(tmp_path / "local", tmp_path / "ray") == []


def test_a_worker_that_ends_while_it_reads_costs_its_tasks_only(cluster, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}.txt").write_text(
            "\n\n".join(f"Line {k} of day {n}. It rained." for k in range(3000))
        )
    killed = []

    def kill_one(stage, done, total):
        if done == 3 and not killed:
            killed.append(cluster.pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    for name, executor, progress in (("local", None, no_progress), ("ray", cluster, kill_one)):
        with (
            open_index(tmp_path / name, offline=True) as index,
            open_writer(index.folder, index.settings, index.models, progress, executor=executor) as writer,
        ):
            writer.add(find_sources([folder]), [str(folder)], [], None)
    assert killed
    assert different(tmp_path / "local", tmp_path / "ray") == []


def test_killed_workers_cost_only_the_calls_in_flight(cluster, papers, tmp_path):
    with ScriptedServer(chat=scripted_chat(), latency_s=0.3) as server:
        with open_index(tmp_path / "local", **with_model(server)) as index:
            index.add(papers)
        least = len(server.log)
        done = threading.Event()
        kills = []

        def kill():
            while len(kills) < 3 and not done.wait(1.0):
                before = len(server.log)
                os.kill(cluster.pids()[len(kills) % 2], signal.SIGKILL)
                kills.append(before)

        killer = threading.Thread(target=kill)
        with open_index(tmp_path / "ray", **with_model(server)) as index:
            killer.start()
            add_on(cluster, index, papers)
            done.set()
            killer.join()
        assert kills
        assert least <= len(server.log) - least <= least + 4 * len(kills)
    assert different(tmp_path / "local", tmp_path / "ray") == []


def test_the_cap_on_tokens_holds_for_all_workers_together(cluster, papers, tmp_path):
    with ScriptedServer(chat=scripted_chat()) as server:
        with (
            open_index(tmp_path / "ray", **with_model(server), max_spend_tokens=4_000) as index,
            pytest.raises(BudgetReached),
        ):
            add_on(cluster, index, papers)
        assert 0 < sum(call.prompt_tokens + call.completion_tokens for call in server.log) <= 4_000


def test_a_lost_worker_is_replaced_and_its_call_reported(cluster):
    with pytest.raises(WorkerLost):
        cluster.call(os._exit, 1)
    assert list(cluster.map(abs, [-1, -2, -3, -4])) == [1, 2, 3, 4]


def test_an_item_that_ends_every_worker_stops_the_work_with_the_fix(cluster):
    with pytest.raises(WorkFailed, match="fewer workers"):
        list(cluster.map(os._exit, [1]))


def test_the_key_is_not_in_what_is_printed_of_an_item(tmp_path):
    with (
        ScriptedServer(chat=scripted_chat()) as server,
        open_index(tmp_path / "index", **with_model(server)) as index,
    ):
        source = ModelSource.of(index.models, index.settings)
        assert "sk-test-of-ray" in source.values
        assert "sk-test-of-ray" not in repr(source)


def test_other_versions_of_the_workers_are_refused_with_the_fix():
    with pytest.raises(BadInput, match=r"Install Python 3\.11"):
        require_same_versions(("3.12", "1.0"), ("3.11", "1.0"))


def test_an_address_that_is_not_one_is_refused():
    with pytest.raises(BadInput, match="--on ray://HOST:PORT"):
        RayExecutor("spark")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match="polygraph-rag\\[ray\\]"):
        RayExecutor("ray")


def test_an_interrupt_ends_the_command_and_its_cluster(papers, tmp_path):
    with ScriptedServer(chat=scripted_chat(), latency_s=0.5) as server:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("POLYGRAPH_", "OPENAI_"))} | {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-test",
            "POLYGRAPH_CHAT_MODEL": "scripted",
            "POLYGRAPH_EMBEDDER": "hash",
            "POLYGRAPH_NAME_EMBEDDER": "hash",
            "POLYGRAPH_CONCURRENCY": "1",
            "POLYGRAPH_PROCESSES": "1",
        }
        command = [
            sys.executable,
            "-m",
            "polygraph",
            "index",
            str(papers),
            "--index",
            str(tmp_path / "i"),
            "--on",
            "ray",
        ]
        process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, start_new_session=True, text=True
        )
        deadline = time.monotonic() + 120
        while not server.log and time.monotonic() < deadline:
            time.sleep(0.1)
        assert server.log, "no call was made"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "sk-test" not in errors
        until = time.monotonic() + 60
        while started := processes_with(environment["OPENAI_BASE_URL"]):
            assert time.monotonic() < until, started
            time.sleep(0.2)


def processes_with(value):
    """Return the processes that inherited a value in their environment, as all of a cluster started here do."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if value.encode() in (folder / "environ").read_bytes():
                found.append((folder.name, (folder / "comm").read_text().strip()))
    return found
