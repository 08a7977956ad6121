"""An OpenAI-compatible server on this machine that follows a script: replies, faults and rate limits, for tests."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, cast

from polygraph.models.protocols import ChatModel, ChatReply, ChatRequest, Embedder, Message
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder, stream_pieces, task_of
from polygraph.models.rate_limit import LimitKind
from polygraph.records import digest
from polygraph.text.tokens import count_tokens

Period: TypeAlias = Literal["bucket", "window"]

FAULTS = ("ok", "429", "500", "drop", "cut", "cut_http", "prose", "empty", "silence", "stall", "pings")
FaultPlan: TypeAlias = Sequence[str] | Callable[[int], str]
"""The fault of the n-th call, counted from 0: one of `FAULTS`. After the end of a sequence every call is ``ok``.

- ``429``, ``500``: these statuses; 429 comes with Retry-After.
- ``drop``: the connection is closed without a response.
- ``cut``: the text is truncated, as at the output limit, in a well-formed reply.
- ``cut_http``: the HTTP response is truncated.
- ``prose``: a polite sentence instead of the requested format.
- ``empty``: no text.
- ``silence``: no response until the server stops; ``stall``: no more data after the first piece; ``pings``: endless
  keep-alive comments after the first piece.
"""

PROSE = "Certainly! I would be happy to help you with that. Here are some thoughts on what you sent me."
_MAX_BODY_BYTES = 64 << 20


def faults_at(rates: Mapping[str, float], *, seed: int = 0) -> Callable[[int], str]:
    """Return a plan in which each fault occurs with a given probability.

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
class ServedCall:
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
    """As reported to the client; 0 if no complete reply was sent."""
    completion_tokens: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    """The request."""


class Quota:
    """Rate limits of the server.

    Args:
        requests: calls per minute, or None for no limit.
        tokens: tokens per minute, read and written, or None.
        minute_s: length of a minute in seconds, so that tests need not wait.
        period: `bucket` refills steadily; `window` refills all at once, a minute after the first call.
        sends_headers: True to send the ``x-ratelimit-*`` headers, False to send only Retry-After.
    """

    def __init__(
        self,
        *,
        requests: float | None = None,
        tokens: float | None = None,
        minute_s: float = 60.0,
        period: Period = "bucket",
        sends_headers: bool = True,
    ) -> None:
        limits: dict[LimitKind, float | None] = {"requests": requests, "tokens": tokens}
        self.limits: dict[LimitKind, float] = {kind: limit for kind, limit in limits.items() if limit}
        self.minute_s = minute_s
        self.period = period
        self.sends_headers = sends_headers
        self._lock = threading.Lock()
        self._left = dict(self.limits)
        self._at = self._began = time.monotonic()

    def admit(self, tokens: int) -> tuple[float, dict[str, str]]:
        """Accept or refuse a call.

        Args:
            tokens: of the request; one above the limit is accepted when the quota is unused.

        Returns:
            Seconds to wait, 0 if the call is accepted, and the headers to send.
        """
        with self._lock:
            now = time.monotonic()
            self._refill(now)
            needs: dict[LimitKind, float] = {"requests": 1.0, "tokens": float(tokens)}
            lacks = {kind: min(needs[kind], limit) - self._left[kind] for kind, limit in self.limits.items()}
            wait = max(
                (self._until(kind, lack, now) for kind, lack in lacks.items() if lack > 1e-9), default=0.0
            )
            if not wait:
                for kind in self.limits:
                    self._left[kind] -= needs[kind]
            return wait, self._headers(now) if self.sends_headers else {}

    def charge(self, tokens: int) -> None:
        """Charge the tokens of a reply."""
        with self._lock:
            if "tokens" in self._left:
                self._left["tokens"] -= tokens

    def _refill(self, now: float) -> None:
        if self.period == "window":
            if now >= self._began + self.minute_s:
                self._began, self._left = now, dict(self.limits)
            return
        for kind, limit in self.limits.items():
            back = (now - self._at) * limit / self.minute_s
            self._left[kind] = min(limit, self._left[kind] + back)
        self._at = now

    def _until(self, kind: LimitKind, lack: float, now: float) -> float:
        if self.period == "window":
            return self._began + self.minute_s - now
        return lack * self.minute_s / self.limits[kind]

    def _headers(self, now: float) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, limit in self.limits.items():
            left = max(0.0, self._left[kind])
            reset = self._until(kind, limit - left, now)
            found[f"x-ratelimit-limit-{kind}"] = f"{limit:.0f}"
            found[f"x-ratelimit-remaining-{kind}"] = f"{int(left)}"
            found[f"x-ratelimit-reset-{kind}"] = f"{1000 * reset:.0f}ms"
        return found


class ScriptedServer:
    """An OpenAI-compatible server on this machine, with a plan of faults.

    It serves ``/v1/chat/completions`` (also streamed), ``/v1/embeddings`` and ``/v1/models``, and logs every call. Use
    it in a ``with`` block.

    Args:
        chat: model that replies.
        embedder: model that embeds.
        faults: fault of each call, by order of arrival.
        latency_s: seconds from the arrival of a request to the first byte of its response, if preparing it takes less.
        piece_s: seconds before each streamed piece.
        retry_after_s: Retry-After of the fault ``429``.
        api_key: required key, or None.
        models: names of models that exist, or empty for any.
        refuses: parameters of a request that are answered with 400, such as ``json_schema``, ``json_object``,
            ``stream_options``, ``max_tokens``.
        reports_usage: False to leave the usage fields out.
        log_probability: of a piece of a reply to a request that asks for it; None leaves them out.
        quota: limits of requests and tokens per minute; calls above them are answered with 429. None for no limit.
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
        log_probability: Callable[[ChatRequest, str], float] | None = None,
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
        self.log_probability = log_probability
        self.quota = quota
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._arrived = 0
        self._log: dict[int, ServedCall] = {}
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.server = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        """Base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def log(self) -> list[ServedCall]:
        """All calls for replies and vectors, in the order of arrival."""
        with self._lock:
            return [self._log[n] for n in sorted(self._log)]

    @property
    def calls(self) -> int:
        """Number of these calls, faults included, without those answered with 400, 401 or 404."""
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
        """Number a call and return its fault."""
        with self._lock:
            n = self._arrived
            self._arrived += 1
        if callable(self.faults):
            return n, self.faults(n)
        return n, self.faults[n] if n < len(self.faults) else "ok"

    def write(self, entry: ServedCall) -> None:
        """Write a call to the log, or replace its entry."""
        with self._lock:
            self._log[entry.n] = entry

    def wait_for_clients(self, timeout_s: float) -> bool:
        """Wait until every client has disconnected and what they had sent is in the log.

        Returns:
            False if one is still connected after `timeout_s`.
        """
        # Connections are accepted in their order: when this one is answered, all that were made before it are counted.
        last = HTTPConnection("127.0.0.1", self._http.server_address[1], timeout=timeout_s)
        last.request("GET", "/v1/models")
        last.getresponse().read()
        last.close()
        with self._http.opened_or_closed:
            return self._http.opened_or_closed.wait_for(lambda: not self._http.n_open, timeout_s)

    def close(self) -> None:
        """Stop the server; calls that it keeps waiting end."""
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

    def __init__(self, *args: Any) -> None:
        self.n_open = 0
        self.opened_or_closed = threading.Condition()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.opened_or_closed:
            self.n_open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self.opened_or_closed:
            self.n_open -= 1
            self.opened_or_closed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients that disconnect are expected."""


class _ConnectionEnds(Exception):
    """The fault ends this connection now."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this, each reply on a keep-alive connection is delayed by 40 ms.
    disable_nagle_algorithm = True
    wbufsize = -1
    limits: Mapping[str, str] = {}
    """Rate-limit headers of the response to the current call."""
    due = 0.0
    """When the response to the current call may begin, by `time.monotonic`."""

    @property
    def script(self) -> ScriptedServer:
        return cast(_Http, self.server).server

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing; `ScriptedServer.log` has every call."""

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
        self.limits, self.due = {}, time.monotonic() + self.script.latency_s
        n, fault = self.script.arrive()
        entry = ServedCall(n=n, path=self.path, task="", fault=fault, status=0, body=body)
        # Written before the response: a test may read the log before this thread has finished.
        self.script.write(entry)
        try:
            self._serve(entry, body, fault)
            self.wfile.flush()
        except _ConnectionEnds:
            self._hang_up()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _serve(self, entry: ServedCall, body: Mapping[str, Any], fault: str) -> None:
        script = self.script
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
            seconds, self.limits = script.quota.admit(_request_tokens(body))
            if seconds:
                self._refuse(429, "too many requests", entry, headers={"Retry-After": f"{seconds:.3f}"})
                return
        if fault in {"silence", "drop"}:
            self._wait_until_due()
            if fault == "silence":
                script.stopping.wait()
            raise _ConnectionEnds
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

    def _chat(self, entry: ServedCall, body: Mapping[str, Any], fault: str) -> None:
        request = request_from_body(body)
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
        self._log_reply(entry, fault, reply.prompt_tokens, reply.completion_tokens)
        common = {"id": f"chatcmpl-{entry.n}", "created": 0, "model": body.get("model", "")}
        if body.get("stream"):
            events = list(_events(reply, common, self._probabilities(request, body)))
            if (body.get("stream_options") or {}).get("include_usage") and self.script.reports_usage:
                events.append({**common, "object": "chat.completion.chunk", "choices": [], "usage": usage})
            self._stream(events, fault)
            return
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": reply.finish,
            **self._probabilities(request, body)(stream_pieces(reply.text)),
        }
        answer = {**common, "object": "chat.completion", "choices": [choice]}
        self._send(200, answer | ({"usage": usage} if self.script.reports_usage else {}), fault)

    def _probabilities(
        self, request: ChatRequest, body: Mapping[str, Any]
    ) -> Callable[[Iterable[str]], dict[str, Any]]:
        """Return what writes the log-probabilities of pieces of a reply, if they were asked for."""
        given = self.script.log_probability if body.get("logprobs") else None

        def write(pieces: Iterable[str]) -> dict[str, Any]:
            if given is None:
                return {}
            return {"logprobs": {"content": [{"token": p, "logprob": given(request, p)} for p in pieces]}}

        return write

    def _embed(self, entry: ServedCall, body: Mapping[str, Any], fault: str) -> None:
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
        self._log_reply(replace(entry, status=200), fault, reads, 0)
        self._send(200, answer, fault)

    def _log_reply(self, entry: ServedCall, fault: str, reads: int, writes: int) -> None:
        """Write a reply to the log; its tokens count only if the client receives them."""
        reported = self.script.reports_usage and fault not in {"cut_http", "stall", "pings"}
        tokens = (reads, writes) if reported else (0, 0)
        self.script.write(replace(entry, prompt_tokens=tokens[0], completion_tokens=tokens[1]))

    def _refuse(
        self,
        status: int,
        message: str,
        entry: ServedCall | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if entry is not None:
            self.script.write(replace(entry, status=status))
        self._send(status, {"error": {"message": message, "code": str(status)}}, headers=headers)

    # --- HTTP ---------------------------------------------------------------------------------------------

    def _body(self) -> Mapping[str, Any] | None:
        """Read the JSON object of a request, up to a maximum size."""
        try:
            size = int(self.headers.get("Content-Length", "0"))
            if not 0 <= size <= _MAX_BODY_BYTES:
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
        self._wait_until_due()
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
        pieces = [_chunked(f"data: {json.dumps(event, ensure_ascii=False)}\n\n") for event in events]
        self._wait_until_due()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in self.limits.items():
            self.send_header(name, value)
        self.end_headers()
        for i, data in enumerate(pieces):
            if self.script.piece_s:
                self.wfile.flush()
                time.sleep(self.script.piece_s)
            if fault in {"cut_http", "stall", "pings"} and i >= min(len(pieces) // 2, 1):
                self._break_off(data[: len(data) // 2] if fault == "cut_http" else data, fault)
            self.wfile.write(data)
        self.wfile.write(_chunked("data: [DONE]\n\n") + b"0\r\n\r\n")

    def _wait_until_due(self) -> None:
        self.script.stopping.wait(max(0.0, self.due - time.monotonic()))

    def _break_off(self, data: bytes, fault: str) -> None:
        self.wfile.write(data)
        self.wfile.flush()
        if fault == "stall":
            self.script.stopping.wait()
        while fault == "pings" and not self.script.stopping.wait(0.02):
            self.wfile.write(_chunked(": still here\n\n"))
            self.wfile.flush()
        raise _ConnectionEnds

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


def _request_tokens(body: Mapping[str, Any]) -> int:
    """Count the tokens of a request for `Quota`."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else list(given or ())
    texts += [turn.get("content") or "" for turn in body.get("messages", [])]
    return sum(count_tokens(str(text)) for text in texts)


def _usage(reads: int, writes: int) -> dict[str, int]:
    return {"prompt_tokens": reads, "completion_tokens": writes, "total_tokens": reads + writes}


def _events(
    reply: ChatReply, common: Mapping[str, Any], probabilities: Callable[[Iterable[str]], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    head = {**common, "object": "chat.completion.chunk"}
    for piece in stream_pieces(reply.text):
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None, **probabilities([piece])}
        yield {**head, "choices": [choice]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}


def request_from_body(body: Mapping[str, Any]) -> ChatRequest:
    """Rebuild a request from the JSON that a client sent."""
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
