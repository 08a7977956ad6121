"""Several indexes, and an index that changes while it is asked."""

import threading
import time

import pytest

from polygraph.config import Settings
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index
from tests.server.conftest import build, serving
from tests.server.test_limits import Slow

ASK = "/api/v1/indexes/papers/ask"
NOTE = "Tobias Wren opened the Cork Mill in 1911 beside the Skerry Light."


def another(index):
    """The same index, as another process would open it to write."""
    return Index.open(index.folder, settings=Settings(), models=hashed_models(scripted_chat()))


def documents(client, index="papers"):
    return client.get(f"/api/v1/indexes/{index}").json()["documents"]


def test_each_index_answers_from_its_own_documents(tmp_path):
    one, two = build(tmp_path / "one"), build(tmp_path / "two", {"mill.txt": NOTE})
    with serving({"one": one, "two": two}) as running, running.client() as client:
        names = [each["name"] for each in client.get("/api/v1/indexes").json()["indexes"]]
        assert names == ["one", "two"]
        body = {"question": "Who opened the Cork Mill?", "method": "bm25"}
        found = client.post("/api/v1/indexes/two/ask", json=body).json()
        assert {each["document"] for each in found["evidence"]} == {"mill.txt"}
        found = client.post("/api/v1/indexes/one/ask", json=body).json()
        assert "mill.txt" not in {each["document"] for each in found["evidence"]}
        id = found["id"]
        assert client.get(f"/api/v1/indexes/two/explain/{id}").status_code == 404


def test_an_index_that_does_not_exist_yet_is_empty_and_asking_says_so(tmp_path):
    index = Index.open(tmp_path / "new", settings=Settings(), models=hashed_models())
    with serving({"new": index}) as running, running.client() as client:
        (found,) = client.get("/api/v1/indexes").json()["indexes"]
        assert (found["documents"], found["methods"]) == (0, [])
        assert "note" not in found, "nothing is wrong with it"
        assert client.get("/readyz").status_code == 503
        refused = client.post("/api/v1/indexes/new/ask", json={"question": "Who?"})
        assert (refused.status_code, refused.json()["title"]) == (409, "No documents")
        assert "retry-after" not in refused.headers
        build_there = another(index)
        (tmp_path / "mill.txt").write_text(NOTE)
        build_there.add(tmp_path / "mill.txt")
        assert documents(client, "new") == 1
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("options", [(), ("--read-only",)])
def test_a_name_without_an_index_is_noted_at_the_start(options, call, papers, tmp_path, monkeypatch):
    monkeypatch.setattr("polygraph.server.run.serve", lambda app, settings, on_start: on_start(8321))
    assert call("index", papers, "--index", "old.index", "--for", "bm25").code == 0
    ended = call("serve", "--index", "old.index", "--index", "new=my new.index", *options)
    assert ended.code == 0
    (note,) = (line for line in ended.err.splitlines() if line.startswith("note: "))
    assert note.startswith("note: there is no index at my new.index. ")
    assert "polygraph index PATH --index 'my new.index'" in note
    assert ("document that is added" in note) is not bool(options)


def test_an_empty_file_is_no_index_yet_and_takes_documents(tmp_path, call):
    index = Index.open(tmp_path / "new", settings=Settings(), models=hashed_models())
    (tmp_path / "new").mkdir(exist_ok=True)
    (tmp_path / "new" / "index.sqlite").touch()
    with serving({"new": index}) as running, running.client() as client:
        refused = client.post("/api/v1/indexes/new/ask", json={"question": "Who?"})
        assert (refused.status_code, refused.json()["title"]) == (409, "No documents")
        assert "there is no index at new. Make one" in call("ask", "Who?", "--index", "new").sentence
        (tmp_path / "mill.txt").write_text(NOTE)
        another(index).add(tmp_path / "mill.txt")
        assert documents(client, "new") == 1


def test_what_another_process_wrote_is_seen_by_the_next_request(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}) as running, running.client() as client:
        assert documents(client) == 3
        (tmp_path / "mill.txt").write_text(NOTE)
        with another(index) as writer:
            writer.add(tmp_path / "mill.txt")
            assert documents(client) == 4
            writer.remove("mill.txt")
        assert documents(client) == 3


def test_a_request_reads_one_state_from_its_first_to_its_last_step(tmp_path):
    model = Slow()
    model.may_reply.set()
    index = build(tmp_path / "papers", chat=model)
    model.may_reply.clear()
    model.asked = threading.Semaphore(0)
    found = []
    body = {"question": "Who built the Skerry Light?", "method": "bm25"}
    with serving({"papers": index}) as running, running.client() as client, running.client() as other:
        asking = threading.Thread(target=lambda: found.append(client.post(ASK, json=body).json()))
        asking.start()
        assert model.asked.acquire(timeout=60), "retrieved, and the model is writing"
        with another(index) as writer:
            writer.remove("light.txt")
        assert documents(other) == 2
        model.may_reply.set()
        asking.join(30)
        assert found[0]["citations"][0]["document"] == "light.txt"
        assert "light.txt" not in str(other.post(ASK, json=body).json()["evidence"])


def test_an_outdated_snapshot_is_closed_when_nobody_reads_it(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}) as running, running.client() as client:
        assert documents(client) == 3
        served = running.app._state.indexes["papers"]
        with another(index) as writer:
            writer.remove("ship.txt")
        deadline = time.monotonic() + 60
        while served._current is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert served._current is None


def test_requests_share_one_open_snapshot(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}) as running, running.client() as client:
        documents(client)
        served = running.app._state.indexes["papers"]
        first = served._current.snapshot
        client.post(ASK, json={"question": "Who built the Skerry Light?"})
        assert served._current.snapshot is first


def test_an_answer_does_not_outlive_documents_that_are_removed_or_replaced(tmp_path):
    index = build(tmp_path / "papers")
    question = {"question": "Who built the Skerry Light?", "method": "bm25"}
    with serving({"papers": index}) as running, running.client() as client, another(index) as writer:

        def explained(id):
            return client.get(f"/api/v1/indexes/papers/explain/{id}").status_code

        id = client.post(ASK, json=question).json()["id"]
        (tmp_path / "mill.txt").write_text(NOTE)
        writer.add(tmp_path / "mill.txt")
        assert explained(id) == 200
        writer.remove("light.txt")
        assert explained(id) == 404
        resumed = {"accept": "text/event-stream", "last-event-id": f"{id}:0"}
        assert client.post(ASK, json=question, headers=resumed).status_code == 404
        id = client.post(ASK, json={**question, "question": "Who opened the Cork Mill?"}).json()["id"]
        assert explained(id) == 200
        (tmp_path / "mill.txt").write_text(NOTE.replace("Tobias Wren", "Nobody"))
        writer.add(tmp_path / "mill.txt")
        assert explained(id) == 404
