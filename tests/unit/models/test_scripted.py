"""The scripted models and server."""

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest

from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder, task_of
from polygraph.models.providers.scripted_server import PROSE, ScriptedServer, faults_at
from polygraph.text.tokens import count_tokens


def ask(system: str, user: str, **fields: Any) -> ChatRequest:
    return ChatRequest(messages=(Message("system", system), Message("user", user)), **fields)


def test_the_task_is_read_from_the_system_part_only() -> None:
    assert task_of(ask("Task: Extract\nRead.", "Task: judge")) == "extract"
    assert task_of(ask("Read.\n  task: map", "x")) == "map"
    assert task_of(ask("Read the task: it is short", "Task: judge")) == ""


def test_rules_go_first_then_the_task_then_the_text() -> None:
    rules = [
        ("harbour", "by text"),
        (re.compile(r"\b\d{4}\b"), "by pattern"),
        (lambda request: request.sample == 3, lambda request: f"by function, {request.sample}"),
    ]
    model = ScriptedChat(rules, replies={"extract": lambda request: "given"})
    assert model.chat(ask("Task: extract", "the harbour in 1851")).text == "by text"
    assert model.chat(ask("Task: extract", "in 1851")).text == "by pattern"
    assert model.chat(ask("Task: extract", "x", sample=3)).text == "by function, 3"
    assert model.chat(ask("Task: extract", "x")).text == "given"
    assert model.chat(ask("Task: other", "One. Two! Three.")).text == "One. Two!"
    assert len(model.requests) == 5


def test_a_schema_without_a_handler_is_filled() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 4},
            "kind": {"enum": ["place", "person"]},
            "rating": {"type": "integer", "minimum": 7},
            "items": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {}}},
            "none": {"type": "array", "items": {"type": "string"}},
            "sure": {"type": "boolean"},
        },
    }
    text = ScriptedChat().chat(ask("x", "The tide turns.", schema=schema)).text
    assert json.loads(text) == {
        "title": "The ",
        "kind": "place",
        "rating": 7,
        "items": [{}],
        "none": [],
        "sure": True,
    }


def test_the_limit_of_output_is_kept_and_told() -> None:
    reply = ScriptedChat([("x", "one two three four five")]).chat(ask("", "x", max_output_tokens=2))
    assert (reply.text, reply.finish, reply.completion_tokens) == ("one two", "length", 2)


def test_pieces_join_to_the_text() -> None:
    text = "Line one\n\n  line two \n"
    pieces: list[str] = []
    ScriptedChat([("x", text)]).chat(ask("", "x"), pieces.append)
    assert "".join(pieces) == text
    assert len(pieces) > 3


def test_the_scripted_embedder_is_deterministic_and_has_the_dimension_asked_for() -> None:
    one, other = ScriptedEmbedder(dimension=32), ScriptedEmbedder(dimension=32)
    texts = ["the light", "the harbour"]
    assert one.embed(texts, "document").shape == (2, 32)
    assert one.embed(texts, "document").tobytes() == other.embed(texts, "document").tobytes()
    assert other.texts == texts


def post(server: ScriptedServer, path: str, body: dict[str, Any], **headers: str) -> tuple[int, Any]:
    data = json.dumps(body).encode()
    request = urllib.request.Request(
        f"{server.base_url}{path}", data, {"Content-Type": "application/json"} | headers
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            text = response.read().decode()
            return response.status, text if body.get("stream") else json.loads(text)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


CHAT = {"model": "m", "messages": [{"role": "user", "content": "One. Two. Three."}]}


def test_the_server_speaks_the_protocol_to_any_client() -> None:
    with ScriptedServer() as server:
        status, answer = post(server, "/chat/completions", CHAT)
        assert (status, answer["choices"][0]["message"]["content"]) == (200, "One. Two.")
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["usage"]["prompt_tokens"] == server.prompt_tokens == count_tokens("One. Two. Three.")
        streamed = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
        _, text = post(server, "/chat/completions", streamed)
        events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert events[-1] == "[DONE]"
        assert json.loads(events[-2])["usage"] == answer["usage"]
        _, vectors = post(server, "/embeddings", {"model": "m", "input": ["a", "b"]})
        assert [len(row["embedding"]) for row in vectors["data"]] == [64, 64]
        with urllib.request.urlopen(f"{server.base_url}/models", timeout=5) as response:
            assert [m["id"] for m in json.loads(response.read())["data"]] == ["scripted", "scripted-embedder"]
        assert server.calls == 3
        assert [entry.path for entry in server.log] == ["/v1/chat/completions"] * 2 + ["/v1/embeddings"]


def test_faults_follow_the_plan_and_are_logged() -> None:
    with ScriptedServer(faults=["429", "500", "prose", "cut", "ok"], retry_after_s=3) as server:
        answers = [post(server, "/chat/completions", CHAT) for _ in range(6)]
        assert [status for status, _ in answers] == [429, 500, 200, 200, 200, 200]
        texts = [answer["choices"][0]["message"]["content"] for _, answer in answers[2:]]
        assert texts == [PROSE, "One.", "One. Two.", "One. Two."]
        assert answers[3][1]["choices"][0]["finish_reason"] == "length"
        assert [entry.fault for entry in server.log] == ["429", "500", "prose", "cut", "ok", "ok"]
        assert server.calls == 6


def test_refusals_are_not_calls() -> None:
    with ScriptedServer(api_key="k", models=["m"], refuses=["tools"]) as server:
        key = {"Authorization": "Bearer k"}
        assert post(server, "/chat/completions", CHAT)[0] == 401
        assert post(server, "/chat/completions", CHAT | {"model": "x"}, **key)[0] == 404
        assert post(server, "/chat/completions", CHAT | {"tools": []}, **key)[0] == 400
        assert post(server, "/nothing", CHAT, **key)[0] == 404
        assert post(server, "/chat/completions", CHAT, **key)[0] == 200
        assert server.calls == 1


def test_the_rates_of_a_plan_are_met_and_depend_on_the_seed() -> None:
    plan = faults_at({"429": 0.2, "500": 0.1}, seed=3)
    drawn = [plan(n) for n in range(5000)]
    assert abs(drawn.count("429") / 5000 - 0.2) < 0.02
    assert abs(drawn.count("500") / 5000 - 0.1) < 0.02
    assert drawn == [faults_at({"429": 0.2, "500": 0.1}, seed=3)(n) for n in range(5000)]
    assert drawn != [faults_at({"429": 0.2, "500": 0.1}, seed=4)(n) for n in range(5000)]


def test_closing_lets_silent_calls_go() -> None:
    with ScriptedServer(faults=["silence"]) as server, pytest.raises(TimeoutError):
        urllib.request.urlopen(f"{server.base_url}/chat/completions", json.dumps(CHAT).encode(), timeout=0.2)
    assert server.log[0].status == 0
