"""What an operator sees: the log of requests that fail, figures and readiness."""

import logging

import pytest

from polygraph.errors import ModelUnavailable
from polygraph.models.providers.scripted import ScriptedChat
from tests.server.conftest import build, events_of, serving

BASE = "/api/v1/indexes/papers"
QUESTION = {"question": "Who built the Skerry Light?", "method": "bm25"}
KEY = "sk-0123456789"


class Down(ScriptedChat):
    """A model whose endpoint is down."""

    def chat(self, request, on_text=None):
        raise ModelUnavailable(f"the endpoint does not answer ({KEY})")


def fail(*_, **__):
    raise KeyError("a part of a document")


@pytest.fixture
def client(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "polygraph.server")
    index = build(tmp_path / "papers", chat=Down(), api_key=KEY)
    with serving({"papers": index}) as running, running.client() as client:
        yield client


def test_the_queue_stays_in_the_index_that_is_given_first_when_another_is_served(tmp_path):
    papers, also = build(tmp_path / "papers"), build(tmp_path / "also")
    with serving({"papers": papers, "also": also}):
        assert (tmp_path / "papers" / "jobs.sqlite").is_file()
        assert not (tmp_path / "also" / "jobs.sqlite").exists()


@pytest.mark.parametrize("path", ["retrieve", "ask"])
def test_an_unexpected_error_is_in_the_log_under_the_id_of_the_response(path, client, caplog, monkeypatch):
    monkeypatch.setattr("polygraph.server.served_indexes.PinnedIndex.snapshot", fail)
    response = client.post(f"{BASE}/{path}", json=QUESTION)
    assert response.status_code == 500
    assert response.json()["type"] == "urn:polygraph:unexpected-error"
    assert "KeyError" in response.json()["detail"]
    assert "document" not in response.text
    assert [record.getMessage() for record in caplog.records] == [
        f"request {response.headers['x-request-id']} failed"
    ]
    assert caplog.records[0].exc_info[0] is KeyError
    assert client.get("/healthz").status_code == 200, "on the same connection"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_model_that_is_down_is_a_line_without_keys_and_questions(accept, client, caplog):
    response = client.post(f"{BASE}/ask", json=QUESTION, headers={"accept": accept})
    problem = response.json() if accept == "application/json" else events_of(response.text)[-1][2]
    assert problem["status"] == 503
    (record,) = caplog.records
    assert record.getMessage() == (
        f"request {response.headers['x-request-id']}: 503 the endpoint does not answer (***)"
    )
    assert record.exc_info is None
    assert KEY not in response.text


def test_errors_of_a_client_are_not_in_the_log(client, caplog):
    assert client.post(f"{BASE}/ask", json=QUESTION | {"method": "guess"}).status_code == 400
    assert client.post(f"{BASE}/ask", content=b"{").status_code == 422
    assert client.get("/api/v1/indexes/none").status_code == 404
    assert caplog.records == []


def test_what_a_comparison_costs_is_counted(tmp_path):
    with serving({"papers": build(tmp_path / "papers")}) as running, running.client() as client:
        assert (
            client.post(
                f"{BASE}/compare",
                json={"question": "Who built the Skerry Light?", "methods": ["bm25", "naive"]},
            ).status_code
            == 200
        )
        figures = client.get("/metrics").text
    for method in ("bm25", "naive"):
        assert f'polygraph_answers_total{{method="{method}",outcome="answered"}} 1\n' in figures
    assert "polygraph_model_calls_total 2\n" in figures


def test_methods_that_a_client_invents_are_one_series(client):
    for n in range(3):
        client.request(f"METHOD{n}", "/healthz")
    assert "METHOD" not in (figures := client.get("/metrics").text)
    assert 'method="(other)"' in figures


def test_a_server_whose_only_index_is_damaged_is_not_ready_and_says_where_to_look(tmp_path):
    index = build(tmp_path / "papers")
    (tmp_path / "papers" / "index.sqlite").write_bytes(b"no tables" * 1000)
    with serving({"papers": index}) as running, running.client() as client:
        response = client.get("/readyz")
        assert (response.status_code, response.json()["type"]) == (503, "urn:polygraph:unreadable")
        assert "index.sqlite" in client.get("/api/v1/indexes").json()["indexes"][0]["note"]
        assert client.get("/metrics").status_code == 200
