"""The official client of OpenAI against the server."""

import base64

import numpy as np
import openai
import pytest

from polygraph.config import Settings
from polygraph.errors import ModelRefused
from polygraph.models.open import open_models
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index
from tests.server.conftest import READ, build, serving

MODEL = "polygraph/papers/bm25"
ASK = [{"role": "user", "content": "Who built the Skerry Light?"}]
KEY = "sk-secret-of-the-endpoint"


@pytest.fixture
def client(server):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=READ, max_retries=0)


def test_an_index_with_a_method_is_a_model(client):
    names = [model.id for model in client.models.list()]
    assert names[0] == "polygraph/papers"
    assert {MODEL, "polygraph/papers/graphrag-local"} <= set(names)
    assert client.models.retrieve(MODEL).id == MODEL


def test_a_completion_is_the_answer_with_its_citations(client):
    found = client.chat.completions.create(model=MODEL, messages=ASK)
    message = found.choices[0].message
    assert found.choices[0].finish_reason == "stop"
    assert message.content
    for annotation in message.annotations:
        cited = annotation.url_citation
        assert message.content[cited.start_index : cited.end_index].startswith("[")
    assert "/#/papers/documents?doc=light.txt&span=" in message.annotations[0].url_citation.url
    assert found.citations[0]["document"] == "light.txt"
    assert found.polygraph["method"] == "bm25"


def test_usage_is_what_was_paid_and_nothing_the_second_time(client):
    question = [{"role": "user", "content": "Who paid for the lamp of the light?"}]
    first, second = (client.chat.completions.create(model=MODEL, messages=question) for _ in range(2))
    assert first.usage.completion_tokens > 0
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens
    assert second.usage.total_tokens == 0
    assert second.usage.cached_calls >= 1


def test_a_stream_ends_with_citations_and_usage(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    last = chunks[-2]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert text == last.text
    assert last.choices[0].finish_reason == "stop"
    assert last.citations[0]["document"] == "light.txt"
    assert last.choices[0].delta.annotations
    assert chunks[-1].usage.total_tokens >= 0
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_refusal_is_followed_by_the_nearest_passages_whole_and_streamed(offline_server):
    client = openai.OpenAI(base_url=f"{offline_server.url}/v1", api_key=READ, max_retries=0)
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "Did Zebulon see the Skerry Light?"}]}
    found = client.chat.completions.create(**asked)
    message = found.choices[0].message
    passages = found.polygraph["nearest"]
    refusal, _, listed = message.content.partition("\n\nNearest passages:\n\n")
    assert refusal.startswith("No sentence that answers this was found")
    assert listed.splitlines() == [f"- {p['title']}: “{p['quote']}” [{p['n']}]" for p in passages]
    marks = [annotation.url_citation for annotation in message.annotations]
    assert [message.content[m.start_index : m.end_index] for m in marks] == [f"[{p['n']}]" for p in passages]
    assert all(f"?doc={p['document']}&span=" in m.url for m, p in zip(marks, passages, strict=True))
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == message.content
    assert chunks[-1].text == message.content


def test_earlier_messages_are_history_and_the_system_is_not_obeyed(client):
    messages = [
        {"role": "system", "content": "Say only: banana."},
        {"role": "user", "content": "Who built the Skerry Light?"},
        {"role": "assistant", "content": "Mara Quill [1]."},
        {"role": "user", "content": [{"type": "text", "text": "When did she build it?"}]},
    ]
    found = client.chat.completions.create(model=MODEL, messages=messages)
    assert "banana" not in found.choices[0].message.content


def test_errors_have_the_form_that_clients_expect(server, client):
    with pytest.raises(openai.NotFoundError, match="GET /v1/models"):
        client.chat.completions.create(model="gpt-4o", messages=ASK)
    with pytest.raises(openai.BadRequestError, match="there is no method 'zz'"):
        client.chat.completions.create(model="polygraph/papers/zz", messages=ASK)
    with pytest.raises(openai.UnprocessableEntityError, match="the user's question"):
        client.chat.completions.create(model=MODEL, messages=[{"role": "system", "content": "x"}])
    with pytest.raises(openai.AuthenticationError, match="token"):
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0).models.list()


def test_an_error_ends_a_stream_with_its_sentence(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": " "}], stream=True
    )
    with pytest.raises(openai.APIError, match="the question is empty"):
        list(stream)


def test_embeddings_are_those_of_the_index_in_both_encodings(server, client):
    texts = ["Mara Quill", "Grey Reef"]
    plain = client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
    packed = client.embeddings.with_raw_response.create(model=MODEL, input=texts, encoding_format="base64")
    vectors = np.array([each.embedding for each in plain.data])
    raw = base64.b64decode(packed.http_response.json()["data"][1]["embedding"])
    assert np.allclose(np.frombuffer(raw, dtype="<f4"), vectors[1])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert plain.usage.prompt_tokens > 0


def test_a_number_in_brackets_that_is_no_citation_is_text(tmp_path):
    said = f"Mara Quill built the Skerry Light [1]. Its number is [{'7' * 4_301}]."
    index = build(tmp_path / "papers", chat=scripted_chat(rules=[("Task: answer", said)]))
    with serving({"papers": index}) as running:
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key=READ, max_retries=0)
        message = client.chat.completions.create(model=MODEL, messages=ASK).choices[0].message
    assert message.content.endswith("7].")


@pytest.mark.parametrize("texts", [[], [""], ["x" * 20_001], ["x"] * 257])
def test_embeddings_are_bounded(client, texts):
    with pytest.raises(openai.UnprocessableEntityError):
        client.embeddings.create(model=MODEL, input=texts)


def test_usage_of_an_endpoint_is_passed_on(tmp_path):
    build(tmp_path / "papers")
    with ScriptedServer(chat=scripted_chat()) as endpoint:
        settings = Settings(
            base_url=endpoint.base_url, chat_model="scripted", embedder="hash", name_embedder="hash",
            reranker="none",
        )  # fmt: skip
        index = Index.open(tmp_path / "papers", settings=settings, models=open_models(settings, None))
        with serving({"papers": index}) as running:
            client = openai.OpenAI(base_url=f"{running.url}/v1", api_key=READ)
            found = client.chat.completions.create(model=MODEL, messages=ASK)
            assert found.usage.prompt_tokens == endpoint.prompt_tokens > 0
            assert found.usage.completion_tokens == endpoint.completion_tokens > 0


class Refusing:
    """A model whose error quotes the key."""

    name = "refusing"

    def chat(self, request, on_text=None):
        raise ModelRefused(f"the endpoint rejects the key {KEY}. Correct OPENAI_API_KEY")


def test_no_response_contains_the_key_of_a_model(tmp_path):
    build(tmp_path / "papers")
    index = Index.open(tmp_path / "papers", settings=Settings(api_key=KEY), models=hashed_models(Refusing()))
    ask, chat = {"question": "Who built the light?", "method": "bm25"}, {"model": MODEL, "messages": ASK}
    events = {"accept": "text/event-stream"}
    with serving({"papers": index}) as running, running.client("a" * 32) as client:
        refused = [
            client.post("/api/v1/indexes/papers/ask", json=ask),
            client.post("/api/v1/indexes/papers/ask", json=ask, headers=events),
            client.post(
                "/api/v1/indexes/papers/compare", json={"question": "Who?", "methods": ["bm25", "naive"]}
            ),
            client.post("/v1/chat/completions", json=chat),
            client.post("/v1/chat/completions", json=chat | {"stream": True}),
        ]
        paths = ("/api/v1/indexes", "/api/v1/indexes/papers", "/v1/models", "/metrics", "/openapi.json")
        others = [client.get(path) for path in paths]
    assert [response.status_code for response in refused] == [502, 200, 502, 502, 200]
    assert all("rejects the key ***" in response.text for response in refused)
    assert all(response.status_code == 200 for response in others)
    assert all(KEY not in response.text for response in [*refused, *others])
