"""What every model must keep to, whatever it is made of."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from polygraph.errors import MissingExtra
from polygraph.models import ChatModel, ChatRequest, Embedder, Message, Reranker
from polygraph.models.providers.onnx import OnnxEmbedder, OnnxReranker
from polygraph.models.providers.openai import OpenAIChat, OpenAIEmbedder
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.providers.static import HashEmbedder, WordLlamaEmbedder

TEXTS = ["The light burns all night.", "The harbour freezes in winter.", "灯台", "The light burns all night."]
REQUEST = ChatRequest(messages=(Message("user", "The tide turns. It is late. Go home."),))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def _made(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["bge", "wordllama", "hash", "scripted", "openai"])
def embedder(request: pytest.FixtureRequest, server: ScriptedServer) -> Embedder:
    makers: dict[str, Callable[[], Embedder]] = {
        "bge": OnnxEmbedder,
        "wordllama": WordLlamaEmbedder,
        "hash": HashEmbedder,
        "scripted": ScriptedEmbedder,
        "openai": lambda: OpenAIEmbedder("vectors", base_url=server.base_url),
    }
    return _made(makers[request.param])


@pytest.fixture(scope="module", params=["scripted", "openai"])
def chat(request: pytest.FixtureRequest, server: ScriptedServer) -> ChatModel:
    return ScriptedChat() if request.param == "scripted" else OpenAIChat("small", base_url=server.base_url)


def test_embedders_are_embedders(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.name
    assert embedder.max_tokens >= 256


@pytest.mark.parametrize("kind", ["query", "document", "name"])
def test_vectors_have_length_one_and_the_shape_promised(embedder: Embedder, kind: Any) -> None:
    vectors = embedder.embed(TEXTS, kind)
    assert vectors.shape == (4, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert embedder.embed([], kind).shape == (0, embedder.dimension)


def test_vectors_are_the_same_each_time_and_independent_of_their_neighbours(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS, "document")
    assert vectors[0].tobytes() == vectors[3].tobytes()
    for i, text in enumerate(TEXTS):
        assert embedder.embed([text], "document")[0].tobytes() == vectors[i].tobytes()


def test_a_text_of_any_length_is_embedded(embedder: Embedder) -> None:
    vectors = embedder.embed(["tide " * 30_000, ""], "document")
    assert np.isfinite(vectors).all()
    assert vectors[0].any()


def test_tokens_are_counted_text_by_text(embedder: Embedder) -> None:
    counts = embedder.count(["", "tide", "tide " * 50])
    assert counts[0] == 0 < counts[1] < counts[2]
    assert counts == [embedder.count([text])[0] for text in ("", "tide", "tide " * 50)]


def test_a_text_within_the_limit_is_read_to_its_end(embedder: Embedder) -> None:
    n = min(embedder.max_tokens, 2_000) - 60
    base = "tide " * n
    if embedder.count([base])[0] + 10 > embedder.max_tokens:
        base = "tide " * (n // 3)
    one, other = embedder.embed([base, base + "harbour freezes"], "document")
    assert one.tobytes() != other.tobytes()


def test_chat_models_reply_and_count(chat: ChatModel) -> None:
    assert isinstance(chat, ChatModel)
    reply = chat.chat(REQUEST)
    assert reply.text == "The tide turns. It is late."
    assert reply.prompt_tokens > reply.completion_tokens > 0
    assert reply.finish == "stop"


def test_streamed_pieces_join_to_the_reply(chat: ChatModel) -> None:
    pieces: list[str] = []
    reply = chat.chat(REQUEST, pieces.append)
    assert "".join(pieces) == reply.text
    assert len(pieces) > 1


def test_a_schema_is_followed(chat: ChatModel) -> None:
    properties = {"title": {"type": "string"}, "points": {"type": "array", "items": {"type": "string"}}}
    schema = {"type": "object", "properties": properties, "required": ["title", "points"]}
    reply = chat.chat(ChatRequest(messages=REQUEST.messages, schema=schema))
    assert set(json.loads(reply.text)) == {"title", "points"}


def test_rerankers_score_each_text_alone() -> None:
    reranker = _made(OnnxReranker)
    assert isinstance(reranker, Reranker)
    scores = reranker.score("When does the harbour freeze?", TEXTS)
    assert scores.shape == (4,)
    assert int(np.argmax(scores)) == 1
    assert scores[0] == scores[3] == reranker.score("When does the harbour freeze?", TEXTS[:1])[0]
    assert reranker.score("?", []).shape == (0,)
