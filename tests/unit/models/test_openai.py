"""The OpenAI protocol, against the scripted server on loopback."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from polygraph.errors import BadInput, ModelRefused
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers.endpoint import parse_retry_after
from polygraph.models.providers.openai import (
    OpenAIChat,
    OpenAIEmbedder,
    is_strict_schema,
    served_models,
)
from polygraph.models.providers.reply_times import ReplyTimes
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.models.transport import TransportError
from polygraph.text.tokens import count_tokens

SCHEMA = {
    "title": "keeper of the light",
    "type": "object",
    "properties": {"keeper": {"type": "string"}},
    "required": ["keeper"],
    "additionalProperties": False,
}
REQUEST = ChatRequest(messages=(Message("system", "Task: answer"), Message("user", "Who keeps the light?")))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(chat=ScriptedChat([("light", '{"keeper": "Ada"}')])) as running:
        yield running


def chat(server: ScriptedServer, **options: object) -> OpenAIChat:
    return OpenAIChat("small", base_url=server.base_url, **({"timeout_s": 5.0} | options))


def test_a_request_arrives_as_it_was_made_and_the_usage_is_the_servers(server: ScriptedServer) -> None:
    reply = chat(server).chat(replace(REQUEST, max_output_tokens=50, temperature=0.3, schema=SCHEMA))
    assert reply.text == '{"keeper": "Ada"}'
    assert reply.finish == "stop"
    assert (reply.prompt_tokens, reply.completion_tokens) == (server.prompt_tokens, server.completion_tokens)
    body = server.log[0].body
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0.3, 50, True)
    wanted = body["response_format"]["json_schema"]
    assert wanted == {"name": "keeper_of_the_light", "schema": SCHEMA, "strict": True}
    assert server.log[0].task == "answer"


def test_text_of_any_kind_passes_a_stream_unharmed(server: ScriptedServer) -> None:
    text = 'a\u2028line\u2029 separator,\x85 next,\x0b tab, \r\n灯台 \U0001f30a\x00 and "quotes"'
    server.chat = ScriptedChat([("light", text)])
    assert chat(server).chat(REQUEST).text == text


def test_a_reply_at_the_limit_says_so(server: ScriptedServer) -> None:
    assert chat(server).chat(replace(REQUEST, max_output_tokens=2)).finish == "length"


@pytest.mark.parametrize(
    ("refused", "form"),
    [
        (("json_schema",), "json_object"),
        (("json_schema", "json_object"), "plain"),
    ],
)
def test_what_the_endpoint_cannot_do_is_found_once_and_remembered(
    server: ScriptedServer, refused: tuple[str, ...], form: str
) -> None:
    server.refuses = refused
    model = chat(server)
    for _ in range(2):
        assert model.chat(replace(REQUEST, schema=SCHEMA)).text == '{"keeper": "Ada"}'
    assert len(server.log) == len(refused) + 2
    last = server.log[-1].body.get("response_format", {}).get("type", "plain")
    assert last == form


@pytest.mark.parametrize(
    ("refused", "gone"),
    [("stream_options", "stream_options"), ("stream", "stream"), ("temperature", "temperature")],
)
def test_streaming_and_temperature_are_given_up_where_they_are_refused(
    server: ScriptedServer, refused: str, gone: str
) -> None:
    server.refuses = (refused,)
    model = chat(server)
    pieces: list[str] = []
    reply = model.chat(REQUEST, pieces.append)
    assert reply.text == "".join(pieces) == '{"keeper": "Ada"}'
    assert reply.completion_tokens == count_tokens(reply.text)
    n = len(server.log)
    model.chat(replace(REQUEST, sample=1))
    assert len(server.log) == n + 1
    assert gone not in server.log[-1].body


def test_newer_models_get_the_newer_name_of_the_limit(server: ScriptedServer) -> None:
    with _Bare(400, b'{"error": {"message": "Use \'max_completion_tokens\' instead."}}') as bare:
        model = OpenAIChat("small", base_url=bare.url, timeout_s=5)
        with pytest.raises(ModelRefused):
            model.chat(replace(REQUEST, max_output_tokens=5))
        assert b'"max_tokens"' in bare.bodies[0]
        assert b'"max_completion_tokens"' in bare.bodies[1]


def test_a_request_that_is_too_long_fails_alone_and_is_not_tried_in_other_forms() -> None:
    text = b'{"error": {"message": "This model\'s maximum context length is 8192 tokens", "code": "x"}}'
    with _Bare(400, text) as bare:
        model = OpenAIChat("small", base_url=bare.url, timeout_s=5)
        with pytest.raises(TransportError) as caught:
            model.chat(replace(REQUEST, schema=SCHEMA))
        assert (caught.value.kind, caught.value.retryable) == ("rejected", False)
        assert len(bare.bodies) == 1


def test_a_refusal_of_one_request_does_not_change_how_the_next_is_asked(server: ScriptedServer) -> None:
    model = chat(server)
    model.chat(replace(REQUEST, schema=SCHEMA))
    server.refuses = ("messages",)
    with pytest.raises(ModelRefused, match="messages is not supported"):
        model.chat(replace(REQUEST, schema=SCHEMA))
    server.refuses = ()
    model.chat(replace(REQUEST, schema=SCHEMA))
    assert server.log[-1].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("stream_refused", [(), ("stream",)])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limit"),
        ("500", "server"),
        ("drop", "connection"),
        ("cut_http", "connection"),
        ("empty", "empty"),
        ("silence", "timeout"),
        ("stall", "timeout"),
    ],
)
def test_each_fault_has_its_name(
    server: ScriptedServer, fault: str, kind: str, stream_refused: tuple[str, ...]
) -> None:
    model = chat(server, timeout_s=1)
    server.refuses = stream_refused
    model.chat(REQUEST)
    server.faults = lambda n: fault
    with pytest.raises(TransportError) as caught:
        model.chat(REQUEST)
    assert caught.value.kind == kind
    assert caught.value.retryable
    assert caught.value.retry_after_s == (1.0 if fault == "429" else None)
    assert (caught.value.prompt_tokens > 0) == (fault == "empty")


def test_a_slow_model_that_writes_is_not_cut_off(server: ScriptedServer) -> None:
    server.chat = ScriptedChat([("light", "one two three four five six")])
    server.piece_s = 0.25
    started = time.monotonic()
    assert chat(server, timeout_s=1).chat(REQUEST).text == "one two three four five six"
    assert time.monotonic() - started > 1.2


def test_missing_usage_is_counted_here(server: ScriptedServer) -> None:
    server.reports_usage = False
    reply = chat(server).chat(REQUEST)
    assert reply.prompt_tokens == sum(count_tokens(message.content) for message in REQUEST.messages)
    assert reply.completion_tokens == count_tokens(reply.text)


def test_a_wrong_key_model_or_address_says_what_to_mend(server: ScriptedServer) -> None:
    server.api_key = "right-key"
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY") as caught:
        chat(server, api_key="wrong-key").chat(REQUEST)
    assert "wrong-key" not in str(caught.value)
    server.api_key, server.models = None, ("large",)
    with pytest.raises(ModelRefused, match="the model 'small' exists"):
        chat(server).chat(REQUEST)
    with pytest.raises(ModelRefused, match="ends in /v1"):
        OpenAIChat("small", base_url=server.base_url.removesuffix("/v1")).chat(REQUEST)
    for url in ("localhost:11434/v1", "ftp://models"):
        with pytest.raises(BadInput, match="http://"):
            OpenAIChat("small", base_url=url)
    with pytest.raises(BadInput, match="timeout_s"):
        OpenAIChat("small", timeout_s=0)


def test_a_page_that_is_not_an_endpoint_is_recognised() -> None:
    with (
        _Bare(200, b"<html>Welcome</html>", kind="text/html") as bare,
        pytest.raises(ModelRefused, match="/v1"),
    ):
        OpenAIChat("small", base_url=bare.url, timeout_s=5).chat(REQUEST)


def test_an_endpoint_that_ignores_the_wish_to_stream_is_read_as_it_answers() -> None:
    answer = b'{"choices": [{"message": {"content": "Ada."}, "finish_reason": "stop"}]}'
    with _Bare(200, answer) as bare:
        model = OpenAIChat("small", base_url=bare.url, timeout_s=5)
        assert model.chat(REQUEST).text == "Ada."
        assert model.chat(REQUEST).text == "Ada."
        assert len(bare.bodies) == 3


def test_an_account_without_credit_is_not_tried_again() -> None:
    text = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    with _Bare(429, text) as bare, pytest.raises(ModelRefused, match="no credit"):
        OpenAIChat("small", base_url=bare.url, timeout_s=5).chat(REQUEST)


def test_a_reply_of_thought_alone_is_not_tried_again() -> None:
    answer = (
        b'{"choices": [{"message": {"content": null}, "finish_reason": "length"}],'
        b' "usage": {"prompt_tokens": 5, "completion_tokens": 9}}'
    )
    with _Bare(200, answer) as bare, pytest.raises(TransportError, match="all 9 output tokens") as caught:
        OpenAIChat("small", base_url=bare.url, timeout_s=5).chat(REQUEST)
    assert not caught.value.retryable
    assert (caught.value.prompt_tokens, caught.value.completion_tokens) == (5, 9)


def test_the_time_to_wait_is_read_in_all_its_forms() -> None:
    assert parse_retry_after({"retry-after": "2.5"}) == 2.5
    assert parse_retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert parse_retry_after({"retry-after": "soon"}) is None
    assert parse_retry_after({}) is None


def test_only_closed_schemas_are_called_strict() -> None:
    assert is_strict_schema(SCHEMA)
    assert not is_strict_schema(SCHEMA | {"required": []})
    assert not is_strict_schema({"type": "array", "items": {"type": "object", "properties": {}}})


# --- embeddings -----------------------------------------------------------------------------------


def test_vectors_come_back_in_order_and_the_dimension_is_found(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("vectors", base_url=server.base_url)
    assert embedder.name == "endpoint:vectors"
    assert embedder.dimension == 64
    texts = ["the light", " ", "the harbour"]
    vectors, n_tokens = embedder.embed_counted(texts, "document")
    assert vectors.shape == (3, 64)
    assert np.allclose(vectors, ScriptedEmbedder().embed(texts, "document"), atol=1e-6)
    assert not vectors[1].any()
    assert n_tokens == count_tokens("the light") + count_tokens("the harbour")
    assert OpenAIEmbedder("text-embedding-3-small").dimension == 1536
    assert OpenAIEmbedder("x", dimensions=256).name == "endpoint:x@256"


def test_calls_for_vectors_are_bounded_in_texts_and_tokens(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("vectors", base_url=server.base_url)
    assert [len(batch) for batch in embedder.batches(["light"] * 300)] == [128, 128, 44]
    long = "light " * 8_000
    assert [len(batch) for batch in embedder.batches([long] * 26)] == [12, 12, 2]
    assert [len(batch) for batch in embedder.batches(["a" * 1_600] * 200)] == [125, 75]
    assert embedder.batches([]) == []


def test_tokens_of_embedded_texts_are_those_reported_unless_they_cannot_be_true() -> None:
    text = "The lamp of the harbour was lit at dusk."  # 10 tokens in 40 bytes
    for reported, expected in (("7", 7), ("1", 1), ("1000000000", 10), ("-5", 10), ('"7"', 10), ("null", 10)):
        usage = f'"usage": {{"prompt_tokens": {reported}}}'
        with _Bare(200, f'{{"data": [{{"index": 0, "embedding": [3.0, 4.0]}}], {usage}}}'.encode()) as bare:
            vectors, n_tokens = OpenAIEmbedder("small", base_url=bare.url).embed_counted([text], "document")
        assert n_tokens == expected
        assert vectors.tolist() == pytest.approx(np.array([[0.6, 0.8]], dtype=np.float32))


def test_a_text_that_is_too_long_for_the_embedder_is_cut(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("vectors", base_url=server.base_url, max_tokens=100)
    embedder.embed(["light " * 500], "document")
    assert count_tokens(server.log[0].body["input"][0]) == 90


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("429", "rate_limit"), ("drop", "connection"), ("cut_http", "connection"), ("empty", "malformed")],
)
def test_faults_of_the_embedder_have_the_same_names(server: ScriptedServer, fault: str, kind: str) -> None:
    server.faults = [fault]
    embedder = OpenAIEmbedder("vectors", base_url=server.base_url, timeout_s=2)
    with pytest.raises(TransportError) as caught:
        embedder.embed(["light"], "document")
    assert caught.value.kind == kind
    assert embedder.embed(["light"], "document").any()


def test_the_models_of_an_endpoint_are_listed(server: ScriptedServer) -> None:
    server.models = ("zeta", "alpha")
    assert served_models(base_url=server.base_url) == ["alpha", "zeta"]
    with pytest.raises(ModelRefused):
        served_models(base_url=server.base_url.removesuffix("/v1"))


class _Bare:
    """A server that says one thing to everybody, for replies that the scripted one never gives."""

    def __init__(self, status: int, answer: bytes, kind: str = "application/json") -> None:
        bodies: list[bytes] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None:
                pass

        self.bodies = bodies
        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> "_Bare":
        return self

    def __exit__(self, *args: object) -> None:
        self._http.shutdown()
        self._http.server_close()


# --- streaming only where it is needed ----------------------------------------------------------


def test_an_endpoint_that_proves_quick_is_asked_for_whole_replies_except_where_somebody_watches(
    server: ScriptedServer,
) -> None:
    model, seen = chat(server, timeout_s=120.0), []
    for _ in range(4):
        assert model.chat(REQUEST).text == '{"keeper": "Ada"}'
    assert model.chat(REQUEST, seen.append).text == "".join(seen)
    assert [bool(entry.body.get("stream")) for entry in server.log] == [True] * 3 + [False, True]


def test_after_a_slow_reply_or_failure_replies_are_streamed_again() -> None:
    times = ReplyTimes(timeout_s=8.0)
    for _ in range(3):
        times.add(0.5, complete=True)
    times.add(0.1, complete=False)
    assert times.are_quick
    times.add(1.1, complete=True)
    assert not times.are_quick
    for _ in range(3):
        times.add(1.0, complete=True)
    times.add(3.0, complete=False)
    assert not times.are_quick
