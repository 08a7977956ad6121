"""Endpoints that misbehave: whatever they send, a call ends in a reply or in an error of ours."""

import gzip
import itertools
import json
import socketserver
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest

from polygraph.errors import BudgetReached, ModelRefused, ModelUnavailable, UnusableReply
from polygraph.models import chat_completion
from polygraph.models.calls import Calls
from polygraph.models.chat_completion import MAX_REASONING_TOKENS
from polygraph.models.pacing import Pacer
from polygraph.models.protocols import ChatReply, ChatRequest, Message
from polygraph.models.providers.endpoint import MAX_ERROR_BYTES, MAX_REPLY_BYTES
from polygraph.models.providers.openai import OpenAIChat, OpenAIEmbedder
from polygraph.models.retry import ImplausibleUsage
from polygraph.models.transport import TransportError
from polygraph.text.tokens import count_tokens

KEY = "sk-secret-key-of-mine"
REQUEST = ChatRequest(messages=(Message("user", "Who keeps the light?"),))
TEXT = "Ada keeps the light."
STREAM = "text/event-stream"


def stream(*events: object) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"


def delta(content: object = TEXT, finish: object = "stop") -> dict[str, Any]:
    return {"choices": [{"delta": {"content": content}, "finish_reason": finish}]}


def whole(content: object = TEXT, **usage: object) -> bytes:
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def chat(server: "RawServer", **options: Any) -> OpenAIChat:
    return OpenAIChat("small", base_url=server.url, api_key=KEY, **({"timeout_s": 5.0} | options))


# --- odd replies ----------------------------------------------------------------------------------------

DEEP = b"[" * 100_000
DIGITS = b"9" * 5_000


@pytest.mark.parametrize(
    "body",
    [
        stream({"choices": "text"}),
        stream({"choices": {"0": 1}}),
        stream({"choices": ["text"]}),
        stream({"choices": [{"delta": "text"}]}),
        stream({"choices": [{"delta": ["text"]}]}),
        stream(delta(17)),
        stream(delta(["text"])),
        stream(delta({"text": "x"})),
        stream("text"),
        stream([delta()]),
        stream(None),
        b"data: " + DEEP + b"\n\n",
        b'data: {"choices": ' + DEEP + b"\n\n",
        b'data: {"usage": {"prompt_tokens": ' + DIGITS + b"}}\n\n",
        b"data: \xff\xfe{}\n\n",
    ],
)
def test_a_stream_of_odd_types_is_a_malformed_reply(body: bytes) -> None:
    with RawServer(body, kind=STREAM) as server, pytest.raises(TransportError) as caught:
        chat(server).chat(REQUEST)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    "body", [DEEP, b'{"choices": ' + DIGITS + b"}", b'{"choices": [{"message": 4}]}', b"[]"]
)
def test_a_whole_reply_of_odd_types_is_a_malformed_reply(body: bytes) -> None:
    # The first request asks for a stream, to which the answer is plain JSON; the second reads it.
    with RawServer(body) as server, pytest.raises(TransportError) as caught:
        chat(server).chat(REQUEST)
    assert caught.value.kind == "malformed"


ROW = {"index": 0, "embedding": [0.1, 0.2]}


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b'"text"',
        DEEP,
        b'{"data": [{"embedding": [' + DIGITS + b"]}]}",
        json.dumps({"data": None}).encode(),
        json.dumps({"data": ["text"]}).encode(),
        json.dumps({"data": [{"embedding": None}]}).encode(),
        json.dumps({"data": [{"embedding": ["1", "2"]}]}).encode(),
        json.dumps({"data": [{"embedding": [True, False]}]}).encode(),
        json.dumps({"data": [{"embedding": [float("nan"), 1]}]}).encode(),
        json.dumps({"data": [{"embedding": [1e300, 1]}]}).encode(),
        json.dumps({"data": [{"embedding": [10**400, 1]}]}).encode(),
        json.dumps({"data": [{"embedding": []}]}).encode(),
        json.dumps({"data": [{"embedding": "no base64!"}]}).encode(),
        json.dumps({"data": [{"embedding": "AAAA"}]}).encode(),
        json.dumps({"data": [ROW, ROW]}).encode(),
        json.dumps({"data": [{**ROW, "index": 7}]}).encode(),
    ],
)
def test_vectors_of_odd_types_are_a_malformed_reply(body: bytes) -> None:
    with RawServer(body) as server, pytest.raises(TransportError) as caught:
        OpenAIEmbedder("vectors", base_url=server.url, timeout_s=5).embed(["light"], "document")
    assert caught.value.kind == "malformed"


def test_lone_surrogates_become_replacement_characters_and_pairs_become_one_character(tmp_path: Path) -> None:
    body = stream(delta("a\ud83c", None), delta("\udf0a b\ud800", None), delta("c\udc00"))
    pieces: list[str] = []
    with RawServer(body, kind=STREAM) as server, Calls(tmp_path / "calls.sqlite") as calls:
        text = calls.ask(chat(server), REQUEST, str, stage="answer", on_text=pieces.append)
        assert text == "a\N{WATER WAVE} b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"
        assert "".join(pieces) == text
        assert calls.ask(chat(server), REQUEST, str, stage="answer") == text
        assert server.n_requests == 1


def test_a_request_with_half_a_surrogate_pair_is_sent() -> None:
    with RawServer(stream(delta()), kind=STREAM) as server:
        assert chat(server).chat(ChatRequest(messages=(Message("user", "a\ud800"),))).text == TEXT


def test_an_odd_reply_is_counted_and_quarantined_when_others_are_answered(tmp_path: Path) -> None:
    with RawServer(stream(delta("")), kind=STREAM) as server, Calls(None, sleep=lambda _: None) as calls:
        with pytest.raises(UnusableReply, match="no text"):
            calls.ask(chat(server), REQUEST, str, stage="extract")
        assert calls.ledger()[0].failed == server.n_requests == 3
        assert len(calls.quarantined()) == 1


# --- usage ----------------------------------------------------------------------------------------------

ODD_COUNTS = [
    -(10**9),
    10**9,
    10**300,
    float("nan"),
    float("inf"),
    -float("inf"),
    1e308,
    "12",
    [12],
    {},
    True,
    2.5,
    None,
]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("n", ODD_COUNTS, ids=str)
def test_impossible_usage_is_replaced_by_our_count(n: object, streamed: bool) -> None:
    usage = {"prompt_tokens": n, "completion_tokens": n}
    body = stream(delta(), {"choices": [], "usage": usage}) if streamed else whole(**usage)
    with RawServer(body, kind=STREAM if streamed else "application/json") as server:
        reply = chat(server).chat(REQUEST)
    assert reply.prompt_tokens == count_tokens(REQUEST.messages[0].content)
    assert reply.completion_tokens == count_tokens(TEXT)
    assert bool(reply.implausible_usage) == (n not in ({}, None))


def test_usage_is_believed_within_its_bounds() -> None:
    def read(reads: int, writes: int, limit: int | None = None) -> tuple[int, int]:
        reader = chat_completion.CompletionReader()
        reader.add(
            [json.loads(whole("word " * 400, prompt_tokens=reads, completion_tokens=writes))], "message"
        )
        reply = reader.reply(400, limit)
        return reply.prompt_tokens, reply.completion_tokens

    written = count_tokens("word " * 400)
    assert read(100, 300) == (100, 300)
    assert read(5_000, MAX_REASONING_TOKENS) == (5_000, MAX_REASONING_TOKENS)
    assert read(83, 1) == (400, written)
    assert read(5_001, MAX_REASONING_TOKENS + 1) == (400, written)
    assert read(400, 300_000, 400_000) == (400, 300_000)


def test_usage_that_fits_the_length_of_the_texts_is_believed_without_counting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_completion, "count_tokens", None)
    reader = chat_completion.CompletionReader()
    reader.add([json.loads(whole("word " * 400, prompt_tokens=300, completion_tokens=500))], "message")
    for n_bytes in (300, 1_200, 2_407):
        assert reader.reply(lambda: 1 // 0, 3_000, n_bytes).prompt_tokens == 300
    for n_bytes in (0, 299, 2_408):
        with pytest.raises(ZeroDivisionError):
            reader.reply(lambda: 1 // 0, 3_000, n_bytes)


def test_tokens_of_a_word_are_believed_without_counting() -> None:
    assert [chat_completion.is_plausible_by_length(n, 5) for n in (0, 1, 5, 6)] == [False, True, True, False]
    assert not chat_completion.is_plausible_by_length(1, 0)


def test_a_server_that_reports_negative_tokens_gets_past_no_cap_and_is_noted_once(tmp_path: Path) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": -(10**9), "completion_tokens": -(10**9)}}
    path = tmp_path / "calls.sqlite"
    with (
        RawServer(stream(delta(), usage), kind=STREAM) as server,
        Calls(path, max_tokens=600) as calls,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        model = chat(server)

        def ask_often() -> None:
            for n in range(1_000):
                calls.ask(model, ChatRequest(messages=REQUEST.messages, sample=n), str, stage="answer")

        with pytest.raises(BudgetReached):
            ask_often()
        assert 0 < calls.spent.prompt_tokens + calls.spent.completion_tokens <= 600
        assert sum(w.category is ImplausibleUsage for w in warned) == 1
        row = calls.ledger()[0]
        assert row.unreported == row.ok == server.n_requests
    problem = sqlite3.connect(path).execute("SELECT problem FROM attempt").fetchone()[0]
    assert "-1000000000" in problem


def test_a_model_of_the_users_own_lowers_no_cap_either() -> None:
    class Odd:
        name = "odd"

        def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
            return ChatReply(text="yes", prompt_tokens=-(10**9), completion_tokens=700)

    with Calls(None, max_tokens=1_000) as calls:
        calls.ask(Odd(), REQUEST, str, stage="answer")
        assert calls.spent.prompt_tokens == 0
        with pytest.raises(BudgetReached):
            calls.ask(Odd(), ChatRequest(messages=REQUEST.messages, sample=1), str, stage="answer")


# --- bounds, redirects and the key ----------------------------------------------------------------------


def test_the_body_of_an_error_is_read_only_to_its_bound() -> None:
    with RawServer(itertools.repeat(b"x" * 65_536, 2_000), status="500 Oh") as server:
        with pytest.raises(TransportError) as caught:
            chat(server).chat(REQUEST)
        assert caught.value.kind == "server"
        assert len(str(caught.value)) < 400
        # What the sockets hold is sent as well.
        assert server.n_sent < MAX_ERROR_BYTES + 16_000_000


@pytest.mark.parametrize(
    ("kind", "headers"),
    [("application/json", ""), ("application/json", "content-length: 200000012\r\n"), (STREAM, "")],
    ids=["whole", "sized", "stream"],
)
def test_a_reply_without_end_is_read_only_to_its_bound(kind: str, headers: str) -> None:
    pieces = itertools.chain(
        [b'{"choices": "' if kind != STREAM else b"data: "], itertools.repeat(b"x" * 1_000_000, 200)
    )
    with RawServer(pieces, kind=kind, headers=headers) as server:
        model = chat(server)
        call: Callable[[], object] = lambda: model.chat(REQUEST)  # noqa: E731
        if kind != STREAM:
            embedder = OpenAIEmbedder("vectors", base_url=server.url, timeout_s=5)
            call = lambda: embedder.embed(["light"], "document")  # noqa: E731
        with pytest.raises(TransportError, match=r"larger than|too long"):
            call()
        # Of 200 MB, what the sockets hold is sent as well: under load tens of megabytes.
        assert server.n_sent < 2 * MAX_REPLY_BYTES


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_not_followed_and_names_its_target(status: str) -> None:
    with RawServer(stream(delta()), kind=STREAM) as stranger:
        location = f"location: {stranger.url}/chat/completions\r\n"
        with RawServer(b"", status=status, headers=location + "content-length: 0\r\n") as server:
            with pytest.raises(ModelRefused, match="redirects to") as caught:
                chat(server).chat(REQUEST)
            assert f"127.0.0.1:{stranger.server_address[1]}" in str(caught.value)
            assert "OPENAI_BASE_URL" in str(caught.value)
            with pytest.raises(ModelRefused, match="redirects to"):
                OpenAIEmbedder("vectors", base_url=server.url).embed(["light"], "document")
        assert stranger.n_requests == 0


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (stream({"error": {"message": f"bad key {KEY}"}}), "200 OK", STREAM),
        (stream({"error": f"bad key {KEY}"}), "200 OK", STREAM),
        (f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode(), "500 Oh", "application/json"),
        (f"x{KEY}".encode() * 300, "503 Oh", "text/plain"),
        (stream(delta(f"The key is {KEY}.")), "200 OK", STREAM),
        (f"data: {KEY}\n\n".encode(), "200 OK", STREAM),
    ],
)
def test_an_echoed_key_is_neither_stored_nor_printed(
    body: bytes, status: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "calls.sqlite"
    said = ""
    with (
        RawServer(body, status=status, kind=kind) as server,
        Calls(path, retries=1, sleep=lambda _: None) as calls,
    ):
        try:
            said = calls.ask(chat(server), REQUEST, str, stage="answer")
        except (ModelUnavailable, UnusableReply) as error:
            chained: BaseException | None = error
            while chained is not None:
                said += repr(chained)
                chained = chained.__cause__
    assert said
    assert KEY not in said
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_placeholder_for_a_key_and_a_repeated_status_do_not_garble_an_error() -> None:
    body = b'{"error": {"message": "too many requests", "code": "429"}}'
    with RawServer(body, status="429 Too Many Requests", kind="application/json") as server:
        model = OpenAIChat("small", base_url=server.url, api_key="any")
        with pytest.raises(TransportError, match=r"^429: too many requests$"):
            model.chat(REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": [1, -0, 1e400, 0.1234567890123456789, 123456789012345678901234567890, NaN, -Infinity]}',
        b'{"a": 1, "b": 2, "a": 3}',
        rb'["\ud83c", "\udf0a", "\ud83c\udf0a", "\u0000", "\/"]',
        '["\ud83c"]'.encode("utf-8", "surrogatepass"),
        '{"é": "🌊"}'.encode(),
        '{"é": 1}'.encode("utf-16"),
        b"[" * 300 + b"]" * 300,
        b" 7 ",
    ],
)
def test_what_is_read_is_what_the_standard_library_reads(body: bytes) -> None:
    assert repr(chat_completion.parse_json(body)) == repr(json.loads(body))


# --- time -----------------------------------------------------------------------------------------------

DRIP = 0.05
SOUND_HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: {STREAM}\r\nconnection: close\r\n\r\n".encode()
CHUNKED_HEAD = SOUND_HEAD.replace(b"connection: close", b"transfer-encoding: chunked")


def drip(piece: bytes) -> Iterable[bytes]:
    return itertools.repeat(piece, 400)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (itertools.chain([b"HTTP/1.1 200 OK\r\nx-long: "], drip(b"a")), b""),
        ([SOUND_HEAD], drip(b" ")),
        ([SOUND_HEAD], drip(b": alive\n\n")),
        ([SOUND_HEAD], drip(stream(delta("word ", None)).removesuffix(b"data: [DONE]\n\n"))),
        ([CHUNKED_HEAD], drip(chunk(b": alive\n\n"))),
        ([CHUNKED_HEAD], itertools.chain([b"ffff\r\n"], drip(b" "))),
        ([CHUNKED_HEAD], itertools.chain([b"9;long="], drip(b"a"))),
        ([SOUND_HEAD.replace(STREAM.encode(), b"application/json")], drip(b" ")),
        ([SOUND_HEAD.replace(b"200 OK", b"500 Oh")], drip(b" ")),
    ],
    ids=["headers", "blanks", "keep-alive", "words", "chunks", "chunk", "chunk-size", "whole", "error"],
)
def test_a_drip_of_bytes_does_not_outlive_the_deadline(head: Iterable[bytes], body: Iterable[bytes]) -> None:
    with RawServer(body, head=head, pause_s=DRIP) as server:
        began = time.monotonic()
        with pytest.raises(TransportError) as caught:
            chat(server, deadline_s=0.6).chat(REQUEST)
        assert time.monotonic() - began < 15
        assert caught.value.kind in {"timeout", "server"}
        assert caught.value.retryable


@pytest.mark.parametrize("chunked", [True, False])
def test_a_watched_event_is_passed_on_before_the_next_is_sent(chunked: bool) -> None:
    frame: Callable[[bytes], bytes] = chunk if chunked else bytes
    seen, in_time = threading.Event(), []

    def pieces() -> Iterable[bytes]:
        yield frame(stream(delta("Ada ", None)).removesuffix(b"data: [DONE]\n\n"))
        in_time.append(seen.wait(10))
        yield frame(stream(delta("keeps it."))) + (b"0\r\n\r\n" if chunked else b"")

    with RawServer(pieces(), head=[CHUNKED_HEAD if chunked else SOUND_HEAD]) as server:
        reply = chat(server).chat(REQUEST, on_text=lambda _: seen.set())
    assert reply.text == "Ada keeps it."
    assert in_time == [True]


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_stream_that_nobody_watches_ends_with_its_last_event_though_the_server_holds_the_line(
    chunked: bool, fails: bool
) -> None:
    frame: Callable[[bytes], bytes] = chunk if chunked else bytes
    ended = threading.Event()
    last = b'data: {"error": {"message": "too busy"}}\n\n' if fails else b"data: [DONE]\n\n"

    def pieces() -> Iterable[bytes]:
        for word in ("Ada ", "keeps ", "it."):
            yield frame(stream(delta(word, None)).removesuffix(b"data: [DONE]\n\n"))
        yield frame(stream(delta("", "stop")).removesuffix(b"data: [DONE]\n\n"))
        # In two pieces, neither of which holds the mark of the end.
        yield frame(last[:9])
        yield frame(last[9:])
        ended.wait(20)

    began = time.monotonic()
    with RawServer(pieces(), head=[CHUNKED_HEAD if chunked else SOUND_HEAD]) as server:
        try:
            if fails:
                with pytest.raises(TransportError, match="too busy") as caught:
                    chat(server, timeout_s=10).chat(REQUEST)
                assert caught.value.kind == "server"
            else:
                assert chat(server, timeout_s=10).chat(REQUEST).text == "Ada keeps it."
            assert time.monotonic() - began < 8
        finally:
            ended.set()


def test_a_stream_is_read_alike_whether_or_not_somebody_watches() -> None:
    wave = "\N{WATER WAVE}"
    high, low = (f'"\\u{code:04x}"'.encode() for code in (0xD83C, 0xDF0A))
    events = b"".join(
        b'data: {"choices":[{"delta":{"content":%s}}]}\n\n' % content
        for content in (b'"Ada "', high, low, b'"\xe2\x80\xa8"', b'" keeps it."', b"null")
    )
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":6,"completion_tokens":9}}\n\n'
    body = b": hello\n\n" + events + b"data:\n\n" + usage + b"data: [DONE]\n\n" + stream(delta("more"))
    pieces: list[str] = []
    with RawServer(body, kind=STREAM) as server:
        unwatched = chat(server).chat(REQUEST)
        watched = chat(server).chat(REQUEST, on_text=pieces.append)
    assert unwatched == watched
    assert unwatched.text == "".join(pieces) == f"Ada {wave}\u2028 keeps it."
    assert (unwatched.prompt_tokens, unwatched.completion_tokens) == (6, 9)


@pytest.mark.parametrize("broken", [b"{", b"{}, {}", b'{"choices": [1', b"2]}"])
def test_events_that_are_only_together_json_are_malformed(broken: bytes) -> None:
    body = b"".join(b"data: %s\n\n" % part for part in (b"{}", broken, b'{"choices": []}'))
    with RawServer(body + stream(delta()), kind=STREAM) as server, pytest.raises(TransportError) as caught:
        chat(server).chat(REQUEST)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("end", [b"", b"40\r\ndata: {", b"zz\r\n"], ids=["between", "within", "size"])
def test_a_stream_that_breaks_off_between_or_within_chunks_is_tried_again(end: bytes) -> None:
    begun = chunk(stream(delta("Ada ", None)).removesuffix(b"data: [DONE]\n\n"))
    with RawServer(begun + end, head=[CHUNKED_HEAD]) as server, pytest.raises(TransportError) as caught:
        chat(server).chat(REQUEST)
    assert caught.value.kind == "connection"
    assert caught.value.retryable


@pytest.mark.parametrize("headers", ["", "content-length: 1000\r\n"], ids=["unsized", "sized"])
def test_vectors_have_the_same_deadline(headers: str) -> None:
    with RawServer(drip(b" "), headers=headers, pause_s=DRIP) as server:
        began = time.monotonic()
        with pytest.raises(TransportError, match="call_deadline_s"):
            OpenAIEmbedder("vectors", base_url=server.url, timeout_s=5, deadline_s=0.6).embed(
                ["a"], "document"
            )
        assert time.monotonic() - began < 15


def test_a_reply_of_known_size_that_breaks_off_is_tried_again() -> None:
    with RawServer(b'{"data": [', headers="content-length: 1000\r\n") as server:
        embedder = OpenAIEmbedder("vectors", base_url=server.url, timeout_s=5)
        with pytest.raises(TransportError) as caught:
            embedder.embed(["light"], "document")
    assert caught.value.kind == "connection"
    assert caught.value.retryable


def test_a_compressed_reply_of_known_size_is_read() -> None:
    body = gzip.compress(b'{"data": [{"index": 0, "embedding": [0.6, 0.8]}], "usage": {"prompt_tokens": 1}}')
    with RawServer(body, headers=f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n") as server:
        embedder = OpenAIEmbedder("vectors", base_url=server.url, timeout_s=5)
        assert embedder.embed(["light"], "document").tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


@pytest.mark.parametrize("wait", ["30", "1000000000", "9" * 400])
def test_endless_rate_limits_end_with_a_sentence(wait: str) -> None:
    slept: list[float] = []
    headers = f"retry-after: {wait}\r\ncontent-length: 2\r\n"
    with (
        RawServer(b"{}", status="429 Wait", headers=headers) as server,
        Calls(None, max_wait_s=100, retries=100, sleep=slept.append) as calls,
        pytest.raises(ModelUnavailable, match="max_wait_s"),
    ):
        calls.ask(chat(server), REQUEST, str, stage="answer")
    assert sum(slept) <= 200  # the pause of the endpoint is kept by the pacer as well
    assert server.n_requests <= 4


def test_one_call_that_may_not_wait_does_not_make_the_others_wait() -> None:
    slept: list[float] = []
    pacer = Pacer(2, slept.append, max_pause_s=10)
    ticket = pacer.acquire(0.0)
    pacer.release(ticket, TransportError("429", kind="rate_limit", retry_after_s=1e9))
    pacer.acquire(0.0)
    assert slept == []


# --- the server -----------------------------------------------------------------------------------------


class RawServer(socketserver.ThreadingTCPServer):
    """Answers every request with the same bytes and closes the connection; use it in a ``with`` block.

    Args:
        body: of the response, or pieces of it.
        kind: its content type.
        status: code and reason.
        headers: more header lines.
        pause_s: seconds before each piece.
        head: the whole head of the response, or pieces of it, instead of the one made of the other arguments.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(
        self,
        body: bytes | Iterable[bytes] = b"",
        *,
        kind: str = "application/json",
        status: str = "200 OK",
        headers: str = "",
        pause_s: float = 0.0,
        head: Iterable[bytes] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = [body] if isinstance(body, bytes) else body
        made = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{headers}\r\n"
        self.head = [made.encode()] if head is None else head
        self.pause_s = pause_s
        self.n_requests = 0
        self.n_sent = 0
        """Bytes sent."""

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients that hang up are expected."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(socketserver.StreamRequestHandler):
    server: RawServer

    def handle(self) -> None:
        size = 0
        while (line := self.rfile.readline()) not in {b"\r\n", b"\n", b""}:
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.rfile.read(size)
        self.server.n_requests += 1
        with suppress(OSError):
            for part in (self.server.head, self.server.body):
                for piece in part:
                    if self.server.pause_s:
                        time.sleep(self.server.pause_s)
                    self.wfile.write(piece)
                    self.server.n_sent += len(piece)
