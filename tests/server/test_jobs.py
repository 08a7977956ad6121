"""Documents over HTTP: uploads, jobs that survive crashes, removal, reading, and what may not happen."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from urllib.parse import quote

import pytest

from polygraph.config import Settings
from polygraph.errors import BadInput
from polygraph.server.jobs.queue import JobQueue
from polygraph.server.jobs.worker import COMMAND, run_job
from polygraph.server.served_indexes import ServedIndexes
from polygraph.server.settings import ServerSettings
from polygraph.server.state import ServerState
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index
from tests.server.conftest import READ, TOKENS, WRITE, build, serving

DOCUMENTS = "/api/v1/indexes/papers/documents"
MILL = "Tobias Wren opened the Cork Mill in 1911 beside the Skerry Light."
FAST = "tests.server.scripted_worker:open_index"
SLOW = "tests.server.scripted_worker:open_slowly"


def finished(client, job, seconds=120):
    """Return a job when it has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = client.get(f"/api/v1/jobs/{job}").json()
        if found["state"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def running(client, job, seconds=120):
    """Wait until a job is in the middle of its work, with some of it done."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = client.get(f"/api/v1/jobs/{job}").json()
        if found["state"] == "running" and found["stage"] not in ("", "opening"):
            return found
        assert found["state"] in ("queued", "running"), found
        time.sleep(0.02)
    raise AssertionError(found)


def ids(client):
    return [each["id"] for each in client.get(DOCUMENTS).json()["documents"]]


def upload(client, *files, **data):
    return client.post(DOCUMENTS, files=[("files[]", file) for file in files], data=data)


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """A server whose documents change; tests add what they remove."""
    index = build(tmp_path_factory.mktemp("changing") / "papers")
    with serving(
        {"papers": index}, open_index=FAST, max_file_bytes=200_000, max_upload_bytes=500_000
    ) as server:
        yield server


@pytest.fixture
def writer(changing):
    with changing.client(WRITE) as client:
        yield client


def test_an_uploaded_file_is_answered_from_and_removed_with_its_file(changing, writer):
    response = upload(writer, ("mill.txt", MILL.encode()))
    assert response.status_code == 202
    job = finished(writer, response.json()["job"])
    assert (job["state"], job["report"]["added"]) == ("done", 1)
    (added,) = [id for id in ids(writer) if id.endswith("/mill.txt")]
    body = {"question": "Who opened the Cork Mill?", "method": "bm25"}
    found = writer.post("/api/v1/indexes/papers/ask", json=body).json()
    assert added in {each["document"] for each in found["evidence"]}
    again = upload(writer, ("other name.txt", MILL.encode())).json()
    assert again["files"][0]["new"] is False
    assert finished(writer, again["job"])["report"]["added"] == 0
    removal = writer.delete(f"{DOCUMENTS}/{added}?forget=true")
    assert removal.status_code == 202
    assert finished(writer, removal.json()["job"])["state"] == "done"
    assert added not in ids(writer)
    uploads = changing.app._state.indexes["papers"].folder / "uploads"
    assert not [file for file in uploads.rglob("*") if file.is_file()]


def test_a_pasted_text_is_a_document_with_its_title(writer):
    response = writer.post(DOCUMENTS, json={"text": MILL + " It burnt in 1913.", "title": "The mill"})
    assert finished(writer, response.json()["job"])["state"] == "done"
    (added,) = [id for id in ids(writer) if id.endswith("/The mill.txt")]
    assert finished(writer, writer.delete(f"{DOCUMENTS}/{added}").json()["job"])["state"] == "done"


@pytest.mark.slow
def test_the_name_of_an_upload_is_never_a_path(changing, writer):
    names = [
        "../../evil.txt",
        "/etc/evil.txt",
        "C:\\evil.txt",
        "a\x00evil.txt",
        "x" * 300 + ".txt",
        "..",
        ".evil",
    ]
    parts = [
        f'--b\r\ncontent-disposition: form-data; name="f"; filename="{name}"\r\n\r\n{MILL} {n}.\r\n'
        for n, name in enumerate(names)
    ]
    body = "".join([*parts, "--b--\r\n"]).encode()
    kind = {"content-type": "multipart/form-data; boundary=b"}
    response = writer.post(DOCUMENTS, content=body, headers=kind)
    assert response.status_code == 202, response.text
    files = response.json()["files"]
    assert len(files) == len(names)
    assert finished(writer, response.json()["job"])["state"] == "done"
    folder = changing.app._state.indexes["papers"].folder
    written = {
        p for p in folder.parent.rglob("*") if p.is_file() and p.read_bytes().startswith(MILL.encode())
    }
    assert written == {folder / "uploads" / file["hash"] / file["name"] for file in files}
    assert {file["name"] for file in files} == {
        "evil.txt",
        "a evil.txt",
        "x" * 156 + ".txt",
        "document",
        "evil",
    }
    added = [id for id in ids(writer) if "/" in id]
    assert len(added) == 5, "those of a format that is read"
    for id in added:
        job = writer.delete(f"{DOCUMENTS}/{id}").json()["job"]
    assert finished(writer, job)["state"] == "done"


def test_uploads_that_are_too_large_are_stopped_while_they_come(changing, writer):
    spool = changing.app._state.indexes["papers"].folder / "uploads" / ".spool"
    assert upload(writer, ("large.txt", b"x" * 300_000)).status_code == 413, "one file"
    piece = b"--b\r\ncontent-disposition: form-data; name=f; filename=a.txt\r\n\r\n" + b"x" * 65_000
    chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    with socket.create_connection(("127.0.0.1", changing.port), timeout=10) as raw:
        head = (
            f"POST {DOCUMENTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {WRITE}\r\n"
            "Transfer-Encoding: chunked\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n"
        )
        raw.sendall(head.encode())
        sent = 0
        with suppress(OSError):
            while sent < 50_000_000:
                raw.sendall(chunk)
                sent += len(chunk)
        assert sent < 50_000_000, "the server stops reading"
    assert not spool.is_dir() or not list(spool.iterdir())


def test_bad_uploads_say_what_is_wrong(writer):
    assert upload(writer).status_code in (400, 422)
    kind = {"content-type": "multipart/form-data; boundary=b"}
    half = b'--b\r\ncontent-disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhalf'
    assert writer.post(DOCUMENTS, content=half, headers=kind).status_code == 400
    assert (
        writer.post(DOCUMENTS, content=b"{", headers={"content-type": "application/json"}).status_code == 400
    )
    assert writer.post(DOCUMENTS, json={"text": "a", "path": "/etc/passwd"}).status_code == 422
    assert writer.post(DOCUMENTS, json={"text": "a", "methods": ["nothing"]}).status_code == 400
    assert writer.get(f"{DOCUMENTS}/none.txt").status_code == 404
    assert writer.delete(f"{DOCUMENTS}/none.txt").status_code == 404
    assert writer.get(f"{DOCUMENTS}?cursor=%%%").status_code == 400
    assert writer.get("/api/v1/jobs/none").status_code == 404


def test_a_form_of_many_fields_is_stopped_while_it_comes(writer):
    kind = {"content-type": "multipart/form-data; boundary=b"}
    field = b'--b\r\ncontent-disposition: form-data; name="%d"\r\n\r\n\r\n'
    assert (
        writer.post(
            DOCUMENTS, content=b"".join(field % n for n in range(1_000)) + b"--b--\r\n", headers=kind
        ).status_code
        == 413
    )


def test_readers_cannot_write(changing):
    with changing.client(READ) as reader:
        assert upload(reader, ("mill.txt", b"x")).status_code == 403
        assert reader.delete(f"{DOCUMENTS}/light.txt").status_code == 403
        assert reader.delete("/api/v1/jobs/none").status_code == 403
        assert reader.get("/api/v1/jobs").status_code == 200


def test_a_full_disk_is_a_clear_problem(writer, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polygraph.server.uploads.folder.os.fsync", full)
    response = upload(writer, ("mill.txt", b"x"))
    assert response.status_code == 507
    assert "disk of the server is full" in response.json()["detail"]


def test_a_text_is_returned_as_data_with_passages_and_span(writer):
    found = writer.get(f"{DOCUMENTS}/page.txt?span=0-10")
    assert found.headers["content-type"] == "application/json"
    values = found.json()
    assert "<script>alert('x')</script>" in values["text"]
    assert values["span"] == [0, 10]
    assert (values["start"], values["end"], values["length"]) == (0, len(values["text"]), len(values["text"]))
    assert all(0 <= p["start"] < p["end"] <= values["length"] for p in values["passages"])
    window = writer.get(f"{DOCUMENTS}/page.txt?start=5&end=9").json()
    assert window["text"] == values["text"][5:9]


def test_documents_are_listed_in_pages(writer):
    whole = writer.get(DOCUMENTS).json()
    assert [each["id"] for each in whole["documents"]] == ["light.txt", "page.txt", "ship.txt"]
    assert all(each["entities"] > 0 and each["chunks"] == 1 for each in whole["documents"])
    first = writer.get(f"{DOCUMENTS}?limit=2").json()
    second = writer.get(f"{DOCUMENTS}?limit=2&cursor={first['next']}").json()
    assert [d["id"] for d in first["documents"] + second["documents"]] == [
        "light.txt",
        "page.txt",
        "ship.txt",
    ]
    assert second["next"] is None
    assert [d["id"] for d in writer.get(f"{DOCUMENTS}?q=SHIP").json()["documents"]] == ["ship.txt"]


def test_what_cannot_be_read_is_listed_with_its_reason(changing, writer):
    response = upload(writer, ("mill.txt", MILL.encode()), ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(50)))
    finished(writer, response.json()["job"])
    (unread,) = [
        each for each in writer.get(DOCUMENTS).json()["unread"] if each["path"].endswith("/picture.png")
    ]
    assert unread["reason"]
    job = writer.delete(f"{DOCUMENTS}/{unread['path']}").json()["job"]
    assert finished(writer, job)["state"] == "done"
    assert unread not in writer.get(DOCUMENTS).json()["unread"]
    (added,) = [id for id in ids(writer) if id.endswith("/mill.txt")]
    finished(writer, writer.delete(f"{DOCUMENTS}/{added}").json()["job"])


def test_a_file_of_several_documents_is_removed_as_a_whole(writer):
    table = b"title,text\nfirst,Mara Quill met Old Tobin.\nsecond,Old Tobin left the Skerry Light.\n"
    response = upload(writer, ("notes.csv", table))
    assert finished(writer, response.json()["job"])["report"]["added"] == 2
    record = next(id for id in ids(writer) if "/notes.csv" in id)
    where = f"{DOCUMENTS}/{quote(record)}"
    refused = writer.delete(where)
    assert (refused.status_code, "whole_file=true" in refused.json()["detail"]) == (409, True)
    assert finished(writer, writer.delete(f"{where}?whole_file=true").json()["job"])["state"] == "done"
    assert not [id for id in ids(writer) if "/notes.csv" in id]


def test_an_estimate_comes_before_anything_is_indexed(changing, writer):
    before = ids(writer)
    file = {"files[]": ("mill.txt", io.BytesIO(MILL.encode()))}
    response = writer.post("/api/v1/indexes/papers/estimate", files=file)
    assert response.status_code == 200, response.text
    assert "total" in response.json()
    assert (
        writer.post("/api/v1/indexes/papers/estimate", json={"text": MILL, "title": "a"}).status_code == 200
    )
    assert ids(writer) == before
    uploads = changing.app._state.indexes["papers"].folder / "uploads"
    assert not list((uploads / ".held").iterdir())


def test_a_job_tells_its_progress_as_events(changing, writer):
    job = upload(writer, ("mill.txt", MILL.encode())).json()["job"]
    with writer.stream("GET", f"/api/v1/jobs/{job}", headers={"accept": "text/event-stream"}) as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert events[-1]["state"] == "done"
    assert {each["id"] for each in events} == {job}
    assert writer.get("/api/v1/jobs").json()["jobs"][0]["id"] == job
    (added,) = [id for id in ids(writer) if id.endswith("/mill.txt")]
    finished(writer, writer.delete(f"{DOCUMENTS}/{added}").json()["job"])


def test_a_server_that_only_reads_has_no_jobs(tmp_path):
    with (
        serving({"papers": build(tmp_path / "papers")}, write=False) as server,
        server.client(WRITE) as client,
    ):
        assert client.get("/api/v1/jobs").json() == {"jobs": []}
        assert upload(client, ("mill.txt", b"x")).status_code == 403
        assert not (tmp_path / "papers" / "jobs.sqlite").exists()


@pytest.mark.parametrize(("asked", "cap"), [(None, 0.5), (0.2, 0.2), (9.0, 0.5), (float("inf"), 0.5)])
def test_a_job_cannot_raise_the_cap_of_the_server(tmp_path, asked, cap):
    found = []

    def opener(folder, settings):
        found.append(settings.max_cost)
        raise BadInput("not opened")

    queue = JobQueue(tmp_path / "jobs.sqlite")
    queue.add("index", "papers", "ada", {"max_cost": asked})
    run_job(queue, queue.claim(), {"papers": {"folder": "", "settings": {"max_cost": 0.5}}}, opener)
    assert found == [cap]


@pytest.mark.slow
def test_a_worker_without_work_ends_in_order(tmp_path):
    JobQueue(tmp_path / "jobs.sqlite")
    given = {
        "path": sys.path,
        "queue": str(tmp_path / "jobs.sqlite"),
        "open": FAST,
        "indexes": {},
        "idle_s": 0.1,
    }
    pipe = subprocess.PIPE
    worker = subprocess.Popen([sys.executable, "-c", COMMAND], stdin=pipe, stderr=pipe, text=True)
    worker.stdin.write(json.dumps(given) + "\n")
    worker.stdin.flush()  # and not closed: the server lives
    assert (worker.wait(60), worker.stderr.read()) == (0, "")


def test_mcp_over_stdio_holds_no_queue_of_jobs(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}):
        state = ServerState(ServerSettings(write=True), TOKENS, ServedIndexes({"papers": index}))
        assert state.jobs is None


@pytest.mark.slow
def test_an_index_that_does_not_exist_is_made_by_the_first_upload(tmp_path):
    index = Index.open(tmp_path / "papers", settings=Settings(), models=hashed_models())
    with serving({"papers": index}, open_index=FAST) as server, server.client(WRITE) as client:
        assert client.get(DOCUMENTS).json()["documents"] == []
        assert finished(client, upload(client, ("mill.txt", MILL.encode())).json()["job"])["state"] == "done"
        assert [id.partition("/")[2] for id in ids(client)] == ["mill.txt"]


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_job_ends_well(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}, open_index=SLOW) as server, server.client(WRITE) as client:
        job = upload(client, ("mill.txt", MILL.encode())).json()["job"]
        running(client, job)
        first = server.app._state.jobs.worker_id
        os.kill(first, signal.SIGKILL)
        assert ids(client) == ["light.txt", "page.txt", "ship.txt"], "readers see the finished state"
        assert finished(client, job)["state"] == "done"
        assert server.app._state.jobs.worker_id != first
        assert len(ids(client)) == 4


@pytest.mark.slow
def test_a_job_goes_on_when_the_server_starts_again(tmp_path):
    with (
        serving({"papers": build(tmp_path / "papers")}, open_index=SLOW) as server,
        server.client(WRITE) as client,
    ):
        job = upload(client, ("mill.txt", MILL.encode())).json()["job"]
        running(client, job)
    index = Index.open(tmp_path / "papers", settings=Settings(), models=hashed_models())
    with serving({"papers": index}, open_index=FAST) as server, server.client(WRITE) as client:
        assert finished(client, job)["state"] == "done"
        assert len(ids(client)) == 4


@pytest.mark.slow
def test_a_cancelled_upload_leaves_nothing(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}, open_index=SLOW) as server, server.client(WRITE) as client:
        job = upload(client, ("mill.txt", MILL.encode())).json()["job"]
        waiting = upload(client, ("second.txt", b"Ada Fenn sold the Cork Mill.")).json()["job"]
        running(client, job)
        assert client.delete(f"/api/v1/jobs/{waiting}").json()["state"] == "cancelled"
        client.delete(f"/api/v1/jobs/{job}")
        assert finished(client, job)["state"] == "cancelled"
        until = time.monotonic() + 120
        while (revert := client.get("/api/v1/jobs").json()["jobs"][0])["kind"] != "revert":
            assert time.monotonic() < until
            time.sleep(0.05)
        assert finished(client, revert["id"])["state"] == "done"
        assert ids(client) == ["light.txt", "page.txt", "ship.txt"]
        assert not [file for file in (index.folder / "uploads").rglob("*") if file.is_file()]
        assert client.get("/api/v1/indexes/papers").json()["stale"] is False


@pytest.mark.slow
def test_an_upload_is_taken_back_once_when_its_job_had_to_be_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("polygraph.server.jobs.supervisor._CANCEL_S", 0.0)
    index = build(tmp_path / "papers")
    with serving({"papers": index}, open_index=SLOW) as server, server.client(WRITE) as client:
        job = upload(client, ("mill.txt", MILL.encode())).json()["job"]
        running(client, job)
        client.delete(f"/api/v1/jobs/{job}")
        assert finished(client, job)["state"] == "cancelled"
        refreshed = client.post("/api/v1/indexes/papers/refresh").json()["job"]
        assert finished(client, refreshed)["state"] == "done"
        kinds = [each["kind"] for each in client.get("/api/v1/jobs").json()["jobs"]]
        assert kinds == ["refresh", "revert", "index"]


@pytest.mark.slow
def test_readers_never_see_half_a_state_while_jobs_run(tmp_path):
    index = build(tmp_path / "papers")
    seen, stop = set(), threading.Event()

    def read(server):
        with server.client(READ) as client:
            while not stop.is_set():
                listed = client.get(DOCUMENTS).json()["documents"]
                seen.add((len(listed), sum(each["entities"] == 0 for each in listed)))
                time.sleep(0.02)

    with serving({"papers": index}, open_index=FAST, burst=100_000) as server, server.client(WRITE) as client:
        readers = [threading.Thread(target=read, args=(server,)) for _ in range(2)]
        for each in readers:
            each.start()
        job = upload(
            client, ("a.txt", MILL.encode()), ("b.txt", b"Ada Fenn sold the Cork Mill in 1912.")
        ).json()["job"]
        finished(client, job)
        stop.set()
        for each in readers:
            each.join()
    assert seen <= {(3, 0), (5, 0)}, "both documents appear at once, with their entities"


def test_jobs_go_on_when_the_folder_of_the_index_is_replaced_by_a_copy(tmp_path):
    """As a backup is put back while the server runs: the copy has neither the queue nor the uploaded files."""
    index = build(tmp_path / "papers")
    with serving({"papers": index}, open_index=FAST) as server, server.client(WRITE) as client:
        first = upload(client, ("mill.txt", MILL.encode()), ("picture.png", b"\x89PNG" + bytes(50)))
        assert finished(client, first.json()["job"])["state"] == "done"
        before, unread = ids(client), client.get(DOCUMENTS).json()["unread"]
        index.copy_to(tmp_path / "backup")
        index.folder.rename(tmp_path / "former")
        (tmp_path / "backup").rename(index.folder)
        assert client.get("/api/v1/jobs").json()["jobs"] == []
        job = finished(client, upload(client, ("second.txt", b"Ada Fenn sold the mill.")).json()["job"])
        assert (job["state"], job["report"]["added"], job["report"]["removed"]) == ("done", 1, 0)
        assert len(ids(client)) == len(before) + 1
        job = finished(client, client.post("/api/v1/indexes/papers/reread").json()["job"])
        assert (job["state"], job["report"]["removed"]) == ("done", 0)
        assert set(before) < set(ids(client)), "an uploaded document stays until it is removed"
        assert client.get(DOCUMENTS).json()["unread"] == unread
        mill = next(id for id in ids(client) if id.endswith("/mill.txt"))
        assert finished(client, client.delete(f"{DOCUMENTS}/{mill}").json()["job"])["state"] == "done"
        assert mill not in ids(client)


def test_an_upload_reads_no_other_uploaded_file(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}, open_index=FAST) as server, server.client(WRITE) as client:
        finished(client, upload(client, ("mill.txt", MILL.encode())).json()["job"])
        job = finished(client, upload(client, ("second.txt", b"Ada Fenn sold the mill.")).json()["job"])
        assert (job["report"]["added"], job["report"]["unchanged"]) == (1, 0)
