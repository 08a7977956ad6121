"""The graph and the studies over HTTP: maps, neighbourhoods, entities with their sentences, decisions, points."""

import json
import time
from urllib.parse import quote

import pytest

from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.runs.study_folder import StudyFolder
from tests.made_with import MADE_WITH
from tests.server.conftest import READ, WRITE, build, serving
from tests.server.test_jobs import FAST, finished

INDEX = "/api/v1/indexes/papers"


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    study = StudyFolder(folder / "studies" / "first")
    study.write_questions([Question(id="q1", question="Who built the Skerry Light?")])
    study.fix_settings("answers", {})
    for method, text in [("bm25", "Mara Quill."), ("naive", "Old Tobin."), ("hybrid", "<script>x</script>")]:
        study.add_answer(
            StudyAnswer(
                question="q1", method=method, text=text, refused=False, extractive=True, made_with=MADE_WITH
            )
        )
    (folder / "studies" / "first" / "report.html").write_text("<!doctype html><h1>Report</h1>")
    conclusions = {"title": "First", "findings": {"conclusions": ["Take bm25."]}}
    (folder / "studies" / "first" / "report.json").write_text(json.dumps(conclusions))
    (folder / "studies" / "notes").mkdir()
    index = build(folder / "papers")
    with serving({"papers": index}, studies=folder / "studies", open_index=FAST) as server:
        yield server


@pytest.fixture
def reader(mapped):
    with mapped.client(READ) as client:
        yield client


def entity(client, name):
    found = client.get(f"{INDEX}/entities", params={"q": name}).json()["entities"]
    assert found[0]["name"] == name
    return found[0]["id"]


def test_communities_are_a_map(reader):
    found = reader.get(f"{INDEX}/graph/communities").json()
    assert found["levels"] == sorted(found["levels"])
    first = [each for each in found["communities"] if each["level"] == found["levels"][0]]
    assert [each["rank"] for each in first] == list(range(1, len(first) + 1))
    assert all(each["size"] > 0 and each["title"] for each in first)
    assert all(abs(each["x"]) <= 1000 and abs(each["y"]) <= 1000 for each in first)
    level = reader.get(f"{INDEX}/graph/communities?level={found['levels'][0]}").json()
    assert level["communities"] == first
    known = {each["id"] for each in first}
    assert all(edge["source"] in known and edge["target"] in known for edge in found["edges"])


def test_entities_come_as_columns_of_one_length(reader):
    found = reader.get(f"{INDEX}/graph/entities").json()
    columns = [found[name] for name in ("ids", "names", "types", "x", "y", "degree", "community")]
    assert {len(each) for each in columns} == {found["total"]}
    assert found["degree"] == sorted(found["degree"], reverse=True)
    edges = found["edges"]
    assert len(edges["source"]) == len(edges["target"]) == len(edges["weight"]) > 0
    assert max(edges["source"] + edges["target"]) < found["total"]
    part = reader.get(f"{INDEX}/graph/entities?limit=2").json()
    assert (part["ids"], part["next"]) == (found["ids"][:2], 2)
    assert reader.get(f"{INDEX}/graph/entities?limit=2&cursor=2").json()["ids"] == found["ids"][2:4]


def test_a_neighbourhood_grows_around_an_entity(reader):
    mara = entity(reader, "Mara Quill")
    found = reader.get(f"{INDEX}/graph/neighbours", params={"entity": mara}).json()
    assert found["entities"][0]["id"] == mara
    assert "Skerry Light" in {each["name"] for each in found["entities"]}
    known = {each["id"] for each in found["entities"]}
    assert all({edge["source"], edge["target"]} <= known for edge in found["edges"])
    wider = reader.get(f"{INDEX}/graph/neighbours", params={"entity": mara, "hops": 2}).json()
    assert known < {each["id"] for each in wider["entities"]}
    few = reader.get(f"{INDEX}/graph/neighbours", params={"entity": mara, "limit": 1}).json()
    assert len(few["entities"]) == 2
    assert reader.get(f"{INDEX}/graph/neighbours", params={"entity": "nobody"}).status_code == 404


def test_an_entity_shows_relations_with_the_sentences_they_rest_on(reader):
    found = reader.get(f"{INDEX}/entities/{quote(entity(reader, 'Mara Quill'))}").json()
    assert found["documents"][0]["id"] == "light.txt"
    assert found["relations"]
    for relation in found["relations"]:
        assert relation["sentence"]
        for place in relation["evidence"]:
            text = reader.get(f"{INDEX}/documents/{place['document']}").json()["text"]
            assert text[place["start"] : place["end"]] == place["quote"]
    assert all(
        reader.get(f"{INDEX}/reports/{report['id']}").json()["title"] == report["title"]
        for report in found["reports"]
    )


def test_unknown_things_of_the_graph_are_problems(reader):
    for path in ("entities/nobody", "reports/none", "graph/neighbours?entity=nobody"):
        assert reader.get(f"{INDEX}/{path}").status_code == 404
    assert reader.get(f"{INDEX}/graph/neighbours?entity=a&hops=9").status_code == 422


@pytest.mark.slow
def test_two_entities_are_merged_and_the_decision_is_undone(mapped, reader):
    with mapped.client(WRITE) as writer:
        decide = f"{INDEX}/entities/decisions"
        assert reader.post(decide, json={"action": "undo"}).status_code == 403
        assert writer.post(decide, json={"action": "merge", "a": "Mara Quill"}).status_code == 422
        body = {"action": "merge", "a": "Mara Quill", "b": "Ines Corve"}
        job = finished(writer, writer.post(decide, json=body).json()["job"])
        assert job["state"] == "done", job["message"]
        assert len(writer.get(decide).json()["decisions"]) == 1
        found = writer.get(f"{INDEX}/entities", params={"q": "Ines Corve"}).json()["entities"][0]
        assert writer.get(f"{INDEX}/entities/{quote(found['id'])}").json()["names"] != ["Ines Corve"]
        assert finished(writer, writer.post(decide, json={"action": "undo"}).json()["job"])["state"] == "done"
        assert writer.get(decide).json()["decisions"] == []


def test_studies_are_listed_with_what_they_recommend(reader):
    (study,) = reader.get("/api/v1/studies").json()["studies"]
    assert (study["name"], study["questions"], study["answers"]) == ("first", 1, 3)
    assert reader.get("/api/v1/studies/first").json()["recommendation"] == ["Take bm25."]
    for name in ("none", "..", "notes", "%2e%2e%2fpapers"):
        assert reader.get(f"/api/v1/studies/{name}").status_code == 404


def test_the_report_of_a_study_cannot_run_anything(reader):
    response = reader.get("/api/v1/studies/first/report")
    assert response.text.startswith("<!doctype html>")
    assert "sandbox" in response.headers["content-security-policy"]
    assert "script-src" not in response.headers["content-security-policy"]


def test_answers_are_points_by_method(reader):
    points = reader.get("/api/v1/studies/first/points").json()["points"]
    assert [each["method"] for each in points] == ["bm25", "naive", "hybrid"] or len(points) == 3
    assert len({(each["x"], each["y"]) for each in points}) == 3


def test_maps_are_made_when_the_page_is_opened_and_not_for_programs(tmp_path):
    index = build(tmp_path / "papers")
    with serving({"papers": index}) as running, running.client(READ) as client:
        assert (
            client.post(f"{INDEX}/ask", json={"question": "Who built the Skerry Light?"}).status_code == 200
        )
        assert not list((tmp_path / "papers" / "derived").glob("layout-*"))
        assert client.get("/").status_code == 200
        until = time.monotonic() + 30
        while not list((tmp_path / "papers" / "derived").glob("layout-*")):
            assert time.monotonic() < until
            time.sleep(0.05)
