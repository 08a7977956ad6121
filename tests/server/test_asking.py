"""Questions over HTTP: as JSON, as events, resumed, and explained."""

import pytest

from tests.server.conftest import READ, events_of

ASK = "/api/v1/indexes/papers/ask"
QUESTION = {"question": "Who built the Skerry Light?", "method": "bm25"}
EVENTS = {"accept": "text/event-stream"}


def test_an_answer_is_what_the_command_prints(client):
    found = client.post(ASK, json=QUESTION).json()
    assert {
        "text",
        "refused",
        "citations",
        "nearest",
        "evidence",
        "method",
        "usage",
        "extractive",
        "notes",
        "id",
    } == set(found)
    assert found["method"] == "bm25"
    assert not found["refused"]
    assert found["citations"][0]["document"] == "light.txt"


def test_a_refusal_without_a_model_has_the_nearest_passages(offline_server):
    with offline_server.client() as client:
        found = client.post(ASK, json={**QUESTION, "question": "Did Zebulon see the Skerry Light?"}).json()
    assert found["refused"]
    assert {passage["document"] for passage in found["nearest"]} >= {"light.txt", "ship.txt"}


def test_events_come_in_the_order_of_the_work(client):
    response = client.post(ASK, json=QUESTION, headers=EVENTS)
    found = events_of(response.text)
    kinds = [kind for _, kind, _ in found]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert list(dict.fromkeys(kinds)) == ["retrieval", "text", "citation", "usage", "answer"]
    answer = found[-1][2]
    assert "".join(data["text"] for _, kind, data in found if kind == "text").strip()
    assert [id for id, _, _ in found] == [f"{answer['id']}:{n}" for n in range(len(found))]


def test_a_stream_resumes_after_the_last_event_that_was_read(client):
    whole = events_of(client.post(ASK, json=QUESTION, headers=EVENTS).text)
    rest = client.post(ASK, json=QUESTION, headers={**EVENTS, "last-event-id": whole[1][0]})
    assert events_of(rest.text) == whole[2:]


def test_an_answer_can_be_explained_by_its_id_but_only_to_who_asked(server, client):
    id = client.post(ASK, json=QUESTION).json()["id"]
    found = client.get(f"/api/v1/indexes/papers/explain/{id}").json()
    assert {"evidence", "trace", "cuts"} <= set(found)
    with server.client("d" * 32) as other:
        assert other.get(f"/api/v1/indexes/papers/explain/{id}").status_code == 404


def test_paths_lead_from_the_question_to_the_citations(client):
    assert "paths" in client.post(ASK, json={**QUESTION, "paths": True}).json()


def test_a_follow_up_stands_on_its_own(client):
    body = {**QUESTION, "question": "When?", "history": [["Who built the Skerry Light?", "Mara Quill [1]."]]}
    assert client.post(ASK, json=body).status_code == 200


def test_a_filter_leaves_only_its_documents(client):
    found = client.post(ASK, json={**QUESTION, "where": {"id": "ship*"}}).json()
    assert {each["document"] for each in found["evidence"]} <= {"ship.txt"}


def test_methods_are_compared_with_what_they_share(client):
    body = {"question": QUESTION["question"], "methods": ["bm25", "naive"]}
    found = client.post("/api/v1/indexes/papers/compare", json=body).json()
    assert [each["method"] for each in found["answers"]] == ["bm25", "naive"]
    assert all(methods == ["bm25", "naive"] for methods in found["shared"].values())


def test_a_comparison_names_each_method_once(client):
    body = {"question": QUESTION["question"], "methods": ["bm25", "naive", "bm25"]}
    refused = client.post("/api/v1/indexes/papers/compare", json=body)
    assert (refused.status_code, refused.json()["detail"]) == (400, "methods: name each method once")


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (
            b'{"question": "Who?"}',
            "application/x-www-form-urlencoded",
            "Add the header content-type: application/json",
        ),
        (b"\xff\xfe{", "application/json", "is not JSON in UTF-8"),
        (b"[]", "application/json", "the body: it must be a JSON object"),
        (b"{}", "application/json", "question: this field is required"),
    ],
)
def test_a_body_that_cannot_be_used_says_what_it_should_be(client, body, kind, words):
    refused = client.post(ASK, content=body, headers={"content-type": kind})
    assert refused.status_code in {400, 422}
    assert words in refused.json()["detail"]


def test_a_body_that_is_not_json_is_told_where(client):
    refused = client.post(ASK, content=b'{"question": who}', headers={"content-type": "application/json"})
    assert refused.status_code == 422
    assert "the body is not JSON: Expecting value at character 13" in refused.json()["detail"]


def test_a_method_of_http_is_not_one_of_retrieval(client):
    refused = client.put(ASK, json=QUESTION)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert refused.json()["type"] == "urn:polygraph:method-not-allowed"


def test_evidence_comes_without_an_answer(client):
    found = client.post("/api/v1/indexes/papers/retrieve", json=QUESTION).json()
    assert found["evidence"][0]["id"].startswith("light.txt")


def test_errors_are_problems_with_the_sentence_of_the_command(client):
    for body, status, words in (
        ({**QUESTION, "method": "zz"}, 400, "there is no method 'zz'. Choose one of"),
        ({"question": " "}, 400, "the question is empty"),
        ({**QUESTION, "where": {"colour": "red"}}, 400, "colour"),
        ({"method": "bm25"}, 422, "question"),
        ({**QUESTION, "extra": 1}, 422, "extra"),
    ):
        response = client.post(ASK, json=body)
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"
        assert words in response.json()["detail"]
        assert "Traceback" not in response.text


def test_an_error_while_streaming_is_an_event(client):
    response = client.post(ASK, json={**QUESTION, "where": {"colour": "red"}}, headers=EVENTS)
    assert [(kind, data["status"]) for _, kind, data in events_of(response.text)] == [("error", 400)]


def test_markup_in_documents_stays_data(client):
    found = client.post(ASK, json={"question": "What did Ines Corve write on a slate?", "method": "bm25"})
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "<script>" in found.json()["evidence"][0]["text"]


def test_unknown_names_say_where_to_look(client):
    found = client.post("/api/v1/indexes/none/ask", json=QUESTION)
    assert found.status_code == 404
    assert "GET /api/v1/indexes" in found.json()["detail"]
    assert client.post("/api/v1/indexes/..%2F..%2Fetc/ask", json=QUESTION).status_code == 404


def test_indexes_are_listed_with_what_they_are_ready_for(client):
    (found,) = client.get("/api/v1/indexes").json()["indexes"]
    assert found["name"] == "papers"
    assert found["documents"] == 3
    assert not found["writable"], "a token to read"
    assert {"name", "ready", "need", "summary"} == set(found["methods"][0])
    assert all(method["ready"] for method in found["methods"])
    one = client.get("/api/v1/indexes/papers").json()
    assert one["status"]["documents"] == 3
    assert READ not in str(one)


def test_the_catalogue_names_every_method(client):
    from polygraph.retrieve import METHODS

    assert [each["name"] for each in client.get("/api/v1/methods").json()["methods"]] == list(METHODS)
