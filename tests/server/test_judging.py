"""Judging a compared question over HTTP: what it takes, the job, the study it becomes part of."""

import pytest

from tests.server.conftest import READ, WRITE, build, serving
from tests.server.test_jobs import FAST, finished

JUDGE = "/api/v1/indexes/papers/judge"
ASKED = {"question": "Who built the Skerry Light?", "methods": ["naive", "bm25"]}


@pytest.fixture(scope="module")
def judging(tmp_path_factory):
    with serving({"papers": build(tmp_path_factory.mktemp("judging") / "papers")}, open_index=FAST) as server:
        yield server


@pytest.fixture
def writer(judging):
    with judging.client(WRITE) as client:
        yield client


def studies(client):
    return client.get("/api/v1/studies").json()["studies"]


def test_a_compared_question_becomes_part_of_a_study(writer):
    compared = writer.post("/api/v1/indexes/papers/compare", json=ASKED).json()
    plan = writer.post(JUDGE, json=ASKED | {"dry_run": True}).json()
    assert plan["calls"] == 4
    assert not studies(writer)
    job = finished(writer, writer.post(JUDGE, json=ASKED).json()["job"])
    assert (job["state"], job["kind"]) == ("done", "judge")
    assert job["about"] == [ASKED["question"], "bm25", "naive"]
    verdict = job["report"]
    assert (verdict["study"], verdict["judge"], verdict["questions"]) == (plan["study"], plan["judge"], 1)
    (pair,) = verdict["pairs"]
    assert {pair["a"], pair["b"]} == {"bm25", "naive"}
    assert pair["judgements"] == 4
    (study,) = studies(writer)
    assert study["name"] == plan["study"]
    assert study["has_report"]
    assert study["answers"] == len(compared["answers"]) == 2
    assert ASKED["question"] in writer.get(f"/api/v1/studies/{study['name']}/report").text
    assert writer.post(JUDGE, json=ASKED | {"dry_run": True}).json()["calls"] == 0


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"methods": ["bm25", "bm25"]}, "two different methods"),
        ({"methods": ["bm25", "guess"]}, "there is no method 'guess'"),
        ({"methods": ["bm25"]}, "methods"),
        ({"question": "  "}, "no question"),
        ({"where": {"title": "x"}}, "where"),
    ],
)
def test_what_cannot_be_judged_is_refused_at_once(writer, change, detail):
    for dry in (True, False):
        found = writer.post(JUDGE, json=ASKED | change | {"dry_run": dry})
        assert 400 <= found.status_code < 500
        assert detail in found.json()["detail"]


def test_only_those_who_may_write_judge(judging):
    with judging.client(READ) as reader:
        assert reader.post(JUDGE, json=ASKED | {"dry_run": True}).status_code == 403
