"""Models that follow a script, for tests, documentation and your own tests.

`ScriptedChat` and `ScriptedEmbedder` stand in for models in Python; `ScriptedServer` puts them behind a real
HTTP server on this machine, which can also misbehave in the ways that real ones do.
"""

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

import numpy as np

from polygraph.models.protocols import ChatModel, ChatReply, ChatRequest, Embedder, Message, TextKind, Vectors
from polygraph.models.providers.static import HashEmbedder
from polygraph.models.quota import Quota
from polygraph.records import digest
from polygraph.text.tokens import count_tokens, truncate

Handler: TypeAlias = Callable[[ChatRequest], str]
Matcher: TypeAlias = str | re.Pattern[str] | Callable[[ChatRequest], bool]
Rule: TypeAlias = tuple[Matcher, str | Handler]

HANDLERS: dict[str, Handler] = {}
"""What `ScriptedChat` says to each of our tasks when nothing else is given, by the task's name."""

_TASK = re.compile(r"^[ \t]*task:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]")


def task_of(request: ChatRequest) -> str:
    """Return the name of the task in a request: the word after ``Task:`` in the system part, else empty.

    >>> task_of(ChatRequest(messages=(Message("system", "Task: extract"),)))
    'extract'
    """
    for message in request.messages:
        if message.role == "system" and (found := _TASK.search(message.content)):
            return found.group(1).lower()
    return ""


# --- language model -------------------------------------------------------------------------------------


class ScriptedChat:
    """A language model that says what it is told to say.

    The first rule that matches decides; else the handler of the task; else, if there is a schema, the
    smallest value that follows it; else the first two sentences of the last turn.

    Args:
        rules: pairs of a matcher (text that stands in some turn, a pattern, or a function of the request) and
            a reply (text, or a function of the request).
        replies: handlers by name of task; they go before those of `HANDLERS`.
        name: what the model calls itself.

    >>> model = ScriptedChat([("capital", "Ulaanbaatar.")])
    >>> model.chat(ChatRequest(messages=(Message("user", "What is the capital of Mongolia?"),))).text
    'Ulaanbaatar.'
    """

    local = True

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        replies: Mapping[str, Handler] | None = None,
        name: str = "scripted",
    ) -> None:
        self.rules = tuple(rules)
        self.replies = dict(replies or {})
        self._name = name
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []
        """What it was asked, in the order of arrival."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply by the script; tokens are counted as `polygraph.text.tokens` does."""
        with self._lock:
            self.requests.append(request)
        reply = counted(request, self._say(request))
        if on_text is not None:
            for piece in pieces_of(reply.text):
                on_text(piece)
        return reply

    def _say(self, request: ChatRequest) -> str:
        for matcher, answer in self.rules:
            if _matches(matcher, request):
                return answer if isinstance(answer, str) else answer(request)
        task = task_of(request)
        handler = self.replies.get(task) or HANDLERS.get(task)
        if handler is not None:
            return handler(request)
        echo = first_sentences(request)
        if request.schema is not None:
            return json.dumps(fill(request.schema, echo), ensure_ascii=False)
        return echo


def _matches(matcher: Matcher, request: ChatRequest) -> bool:
    if isinstance(matcher, str):
        return any(matcher in message.content for message in request.messages)
    if isinstance(matcher, re.Pattern):
        return any(matcher.search(message.content) for message in request.messages)
    return matcher(request)


def counted(request: ChatRequest, text: str) -> ChatReply:
    """Make a reply of a text, cut at the request's limit."""
    finish = "stop"
    writes = count_tokens(text)
    if request.max_output_tokens is not None and writes > request.max_output_tokens:
        text = truncate(text, request.max_output_tokens)
        finish, writes = "length", request.max_output_tokens
    reads = sum(count_tokens(message.content) for message in request.messages)
    reply = ChatReply(text=text, prompt_tokens=reads, completion_tokens=writes)
    return replace(reply, finish="length") if finish == "length" else reply


def pieces_of(text: str) -> list[str]:
    """Cut a text into the pieces in which it is streamed: words with the space before them."""
    return re.findall(r"\s*\S+|\s+$", text)


def first_sentences(request: ChatRequest, n: int = 2) -> str:
    """Return the first sentences of the last turn."""
    last = request.messages[-1].content if request.messages else ""
    found = [
        match.group().strip() for match, _ in zip(_SENTENCE.finditer(last[:20_000]), range(n), strict=False)
    ]
    return " ".join(found) or last[:200].strip() or "Nothing was asked."


def fill(schema: Mapping[str, Any], text: str, depth: int = 0) -> Any:
    """Return a small value that follows a JSON schema, with `text` where text is wanted.

    >>> fill({"properties": {"title": {"type": "string"}, "rating": {"type": "number"}}}, "Tide")
    {'title': 'Tide', 'rating': 5}
    """
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return fill(schema[key][0], text, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in schema:
        items = schema.get("properties", {}).items()
        return {name: fill(part, text, depth + 1) for name, part in items} if depth < 8 else {}
    if kind == "array":
        items = schema.get("items", {})
        return [fill(items, text, depth + 1)] if schema.get("minItems") and depth < 8 else []
    if kind in {"number", "integer"}:
        value = max(5, schema.get("minimum", 5))
        return min(value, schema.get("maximum", value))
    if kind == "boolean":
        return True
    return None if kind == "null" else text[: schema.get("maxLength", len(text))]


# --- embedder -------------------------------------------------------------------------------------------


class ScriptedEmbedder:
    """An embedder by spelling, with any name and dimension up to 256."""

    local = True

    def __init__(self, *, name: str = "scripted-embedder", dimension: int = 64) -> None:
        self._hash = HashEmbedder()
        self._name = name
        self._dimension = dimension
        self.texts: list[str] = []
        """What it embedded, in the order of arrival."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    @property
    def dimension(self) -> int:
        """As given."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """As long as any text."""
        return self._hash.max_tokens

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``."""
        self.texts.extend(texts)
        whole = self._hash.embed(texts, kind)
        folded = np.zeros((len(texts), self._dimension))
        for begin in range(0, whole.shape[1], self._dimension):
            part = whole[:, begin : begin + self._dimension]
            folded[:, : part.shape[1]] += part
        # Row by row in float64: the same bytes whatever the neighbours.
        lengths = np.sqrt((folded * folded).sum(axis=1, keepdims=True))
        return (folded / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Words of each text."""
        return self._hash.count(texts)


# --- server ---------------------------------------------------------------------------------------------

FAULTS = ("ok", "429", "500", "drop", "cut", "cut_http", "prose", "empty", "silence", "stall", "pings")
FaultPlan: TypeAlias = Sequence[str] | Callable[[int], str]
"""What to do with the n-th call, counted from 0: one of `FAULTS`; a sequence that ends goes on with ``ok``.

- ``429``, ``500``: these statuses; 429 carries Retry-After.
- ``drop``: the connection is closed without a word.
- ``cut``: the text ends half-way, as at the limit of length, in a sound reply.
- ``cut_http``: the reply itself ends half-way.
- ``prose``: a polite sentence instead of what was asked for.
- ``empty``: no text.
- ``silence``: no answer until the server stops; ``stall``: the same after the first piece; ``pings``: in its place
  signs of life for ever.
"""

PROSE = "Certainly! I would be happy to help you with that. Here are some thoughts on what you sent me."
_MOST_BYTES = 64 << 20


def faults_at(rates: Mapping[str, float], *, seed: int = 0) -> Callable[[int], str]:
    """Make a plan in which each call meets a fault with a given chance.

    >>> plan = faults_at({"429": 0.5}, seed=1)
    >>> [plan(n) for n in range(6)]
    ['429', '429', 'ok', 'ok', 'ok', 'ok']
    """

    def plan(n: int) -> str:
        chance = int(digest("fault", str(seed), str(n))[:8], 16) / 2**32
        for fault, rate in rates.items():
            if chance < rate:
                return fault
            chance -= rate
        return "ok"

    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One call as the server saw it."""

    n: int
    """Order of arrival, from 0."""
    path: str
    task: str
    """Name of the task, or empty."""
    fault: str
    status: int
    """HTTP status; 0 if none was sent."""
    prompt_tokens: int = 0
    """As reported to the client: 0 if no whole reply was sent."""
    completion_tokens: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    """What was sent."""


class ScriptedServer:
    """An OpenAI-compatible server on this machine, with a plan of faults.

    It serves ``/v1/chat/completions`` (also streamed), ``/v1/embeddings`` and ``/v1/models``, and counts what
    it does. Use it in a ``with`` block.

    Args:
        chat: who answers.
        embedder: who embeds.
        faults: what goes wrong, by order of arrival.
        latency_s: how long a call takes before its first byte.
        piece_s: how long each streamed piece takes.
        retry_after_s: what 429 asks for.
        api_key: the key to insist on, or None.
        models: names of models to insist on, or empty.
        refuses: words in a request body that are answered with 400, such as ``json_schema``, ``json_object``,
            ``stream_options``, ``max_tokens``.
        reports_usage: False to leave the usage fields out.
        quota: limits of requests and tokens a minute; what passes them is answered with 429. None for no limit.
    """

    def __init__(
        self,
        *,
        chat: ChatModel | None = None,
        embedder: Embedder | None = None,
        faults: FaultPlan = (),
        latency_s: float = 0.0,
        piece_s: float = 0.0,
        retry_after_s: float = 1.0,
        api_key: str | None = None,
        models: Sequence[str] = (),
        refuses: Sequence[str] = (),
        reports_usage: bool = True,
        quota: Quota | None = None,
    ) -> None:
        self.chat = chat or ScriptedChat()
        self.embedder = embedder or ScriptedEmbedder()
        self.faults = faults
        self.latency_s = latency_s
        self.piece_s = piece_s
        self.retry_after_s = retry_after_s
        self.api_key = api_key
        self.models = tuple(models)
        self.refuses = tuple(refuses)
        self.reports_usage = reports_usage
        self.quota = quota
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._arrived = 0
        self._log: dict[int, Served] = {}
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.server = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        """Where it is, as a client wants to have it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def log(self) -> list[Served]:
        """Every call for a reply or for vectors, in the order of arrival."""
        with self._lock:
            return [self._log[n] for n in sorted(self._log)]

    @property
    def calls(self) -> int:
        """How many of these there were, faults included; refusals (400, 401, 404) are not counted."""
        return sum(entry.status not in {400, 401, 404} for entry in self.log)

    @property
    def prompt_tokens(self) -> int:
        """Tokens read, as reported to clients."""
        return sum(entry.prompt_tokens for entry in self.log)

    @property
    def completion_tokens(self) -> int:
        """Tokens written, as reported to clients."""
        return sum(entry.completion_tokens for entry in self.log)

    def arrive(self) -> tuple[int, str]:
        """Number a call and look up what goes wrong with it."""
        with self._lock:
            n = self._arrived
            self._arrived += 1
        if callable(self.faults):
            return n, self.faults(n)
        return n, self.faults[n] if n < len(self.faults) else "ok"

    def write(self, entry: Served) -> None:
        """Write what is known of a call into the log."""
        with self._lock:
            self._log[entry.n] = entry

    def close(self) -> None:
        """Stop: calls that are held in silence are let go."""
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    server: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are part of the script."""


class _Broken(Exception):
    """The script says that this connection ends now."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small packets at once: without this, each reply on a kept connection waits 40 ms.
    disable_nagle_algorithm = True
    wbufsize = -1
    limits: Mapping[str, str] = {}
    """Headers about the quota, for the answer to the present call."""

    @property
    def script(self) -> ScriptedServer:
        return cast(_Http, self.server).server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet; `ScriptedServer.log` has everything."""

    def do_GET(self) -> None:
        if self.path.rstrip("/") != "/v1/models":
            self._refuse(404, f"there is nothing at {self.path}")
            return
        names = self.script.models or (self.script.chat.name, self.script.embedder.name)
        self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        self.limits = {}
        n, fault = self.script.arrive()
        entry = Served(n=n, path=self.path, task="", fault=fault, status=0, body=body)
        # Written as soon as it is known what the client will see: a test may look before this thread is done.
        self.script.write(entry)
        try:
            self._serve(entry, body, fault)
            self.wfile.flush()
        except _Broken:
            self._hang_up()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _serve(self, entry: Served, body: Mapping[str, Any], fault: str) -> None:
        script = self.script
        if script.latency_s:
            script.stopping.wait(script.latency_s)
        if script.api_key is not None and self.headers.get("Authorization") != f"Bearer {script.api_key}":
            self._refuse(401, "the key is not valid", entry)
            return
        if script.models and body.get("model") not in script.models:
            self._refuse(404, f"the model {body.get('model')!r} does not exist", entry)
            return
        for word in script.refuses:
            if word in body or f'"{word}"' in json.dumps(body.get("response_format")):
                self._refuse(400, f"{word} is not supported", entry)
                return
        if script.quota is not None:
            seconds, self.limits = script.quota.take(_size(body))
            if seconds:
                self._refuse(429, "too many requests", entry, headers={"Retry-After": f"{seconds:.3f}"})
                return
        if fault in {"silence", "drop"}:
            if fault == "silence":
                script.stopping.wait()
            raise _Broken
        if fault == "429":
            wait = {"Retry-After": f"{script.retry_after_s:g}"}
            self._refuse(429, "too many requests", entry, headers=wait)
        elif fault == "500":
            self._refuse(500, "something broke", entry)
        elif self.path.rstrip("/") == "/v1/chat/completions":
            self._chat(entry, body, fault)
        elif self.path.rstrip("/") == "/v1/embeddings":
            self._embed(entry, body, fault)
        else:
            self._refuse(404, f"there is nothing at {self.path}", entry)

    # --- replies ------------------------------------------------------------------------------------------

    def _chat(self, entry: Served, body: Mapping[str, Any], fault: str) -> None:
        request = _request_of(body)
        entry = replace(entry, task=task_of(request), status=200)
        reply = self.script.chat.chat(request)
        if fault == "cut":
            half = reply.text[: len(reply.text) // 2]
            reply = replace(reply, text=half, completion_tokens=count_tokens(half), finish="length")
        elif fault in {"prose", "empty"}:
            text = PROSE if fault == "prose" else ""
            reply = replace(reply, text=text, completion_tokens=count_tokens(text), finish="stop")
        usage = _usage(reply.prompt_tokens, reply.completion_tokens)
        if self.script.quota is not None:
            self.script.quota.charge(reply.completion_tokens)
        self._note(entry, fault, reply.prompt_tokens, reply.completion_tokens)
        common = {"id": f"chatcmpl-{entry.n}", "created": 0, "model": body.get("model", "")}
        if body.get("stream"):
            events = list(_events(reply, common))
            if (body.get("stream_options") or {}).get("include_usage") and self.script.reports_usage:
                events.append({**common, "object": "chat.completion.chunk", "choices": [], "usage": usage})
            self._stream(events, fault)
            return
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": reply.finish,
        }
        answer = {**common, "object": "chat.completion", "choices": [choice]}
        self._send(200, answer | ({"usage": usage} if self.script.reports_usage else {}), fault)

    def _embed(self, entry: Served, body: Mapping[str, Any], fault: str) -> None:
        given = body.get("input", [])
        texts = [given] if isinstance(given, str) else [str(text) for text in given]
        vectors = self.script.embedder.embed(texts, "document").astype("<f4")
        if body.get("encoding_format") == "base64":
            rows: list[Any] = [base64.b64encode(row.tobytes()).decode() for row in vectors]
        else:
            rows = vectors.tolist()
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        answer: dict[str, Any] = {"object": "list", "model": body.get("model", ""), "data": data}
        reads = sum(count_tokens(text) for text in texts)
        if fault == "empty":
            answer["data"] = []
        if self.script.reports_usage:
            answer["usage"] = {"prompt_tokens": reads, "total_tokens": reads}
        self._note(replace(entry, status=200), fault, reads, 0)
        self._send(200, answer, fault)

    def _note(self, entry: Served, fault: str, reads: int, writes: int) -> None:
        """Write a reply into the log; tokens count if the client will come to see them."""
        reported = self.script.reports_usage and fault not in {"cut_http", "stall", "pings"}
        tokens = (reads, writes) if reported else (0, 0)
        self.script.write(replace(entry, prompt_tokens=tokens[0], completion_tokens=tokens[1]))

    def _refuse(
        self, status: int, message: str, entry: Served | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        if entry is not None:
            self.script.write(replace(entry, status=status))
        self._send(status, {"error": {"message": message, "code": str(status)}}, headers=headers)

    # --- bytes --------------------------------------------------------------------------------------------

    def _body(self) -> Mapping[str, Any] | None:
        """Read what was sent, within reason."""
        try:
            size = int(self.headers.get("Content-Length", "0"))
            if not 0 <= size <= _MOST_BYTES:
                raise ValueError("too large")
            body = json.loads(self.rfile.read(size))
            if not isinstance(body, dict):
                raise TypeError("not an object")
        except (TypeError, ValueError) as error:
            self.close_connection = True
            self._refuse(400, f"the body cannot be read: {error}")
            return None
        return body

    def _send(
        self,
        status: int,
        answer: Mapping[str, Any],
        fault: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in {**self.limits, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if fault in {"cut_http", "stall"}:
            self._break_off(data[: len(data) // 2], fault)
        self.wfile.write(data)

    def _stream(self, events: Sequence[Mapping[str, Any]], fault: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in self.limits.items():
            self.send_header(name, value)
        self.end_headers()
        for i, event in enumerate(events):
            if self.script.piece_s:
                self.wfile.flush()
                time.sleep(self.script.piece_s)
            data = _chunked(f"data: {json.dumps(event, ensure_ascii=False)}\n\n")
            if fault in {"cut_http", "stall", "pings"} and i >= min(len(events) // 2, 1):
                self._break_off(data[: len(data) // 2] if fault == "cut_http" else data, fault)
            self.wfile.write(data)
        self.wfile.write(_chunked("data: [DONE]\n\n") + b"0\r\n\r\n")

    def _break_off(self, data: bytes, fault: str) -> None:
        self.wfile.write(data)
        self.wfile.flush()
        if fault == "stall":
            self.script.stopping.wait()
        while fault == "pings" and not self.script.stopping.wait(0.02):
            self.wfile.write(_chunked(": still here\n\n"))
            self.wfile.flush()
        raise _Broken

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def _chunked(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _size(body: Mapping[str, Any]) -> int:
    """Tokens of a request, as `Quota` counts them."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else list(given or ())
    texts += [turn.get("content") or "" for turn in body.get("messages", [])]
    return sum(count_tokens(str(text)) for text in texts)


def _usage(reads: int, writes: int) -> dict[str, int]:
    return {"prompt_tokens": reads, "completion_tokens": writes, "total_tokens": reads + writes}


def _events(reply: ChatReply, common: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head = {**common, "object": "chat.completion.chunk"}
    for piece in pieces_of(reply.text):
        yield {**head, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}


def _request_of(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request back from what the client made of it."""
    messages = tuple(
        Message(turn.get("role", "user"), str(turn.get("content") or "")) for turn in body.get("messages", [])
    )
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    return ChatRequest(
        messages=messages,
        max_output_tokens=body.get("max_tokens") or body.get("max_completion_tokens"),
        temperature=float(body.get("temperature") or 0.0),
        schema=wanted.get("schema"),
    )
