"""Any endpoint that speaks the OpenAI protocol: OpenAI, Azure, vLLM, Ollama, llama.cpp, LM Studio and others.

The features of an endpoint are found by trying: a request starts with everything useful (a JSON schema, streaming,
usage at the end of the stream) and drops what the endpoint refuses, which is then remembered. Such refusals come at
once and are not billed, so they are not in the ledger.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeAlias

import numpy as np

from polygraph.errors import BadInput, ModelRefused
from polygraph.models.chat_completion import MAX_REPLY_CHARS, checked_reply, is_rejected, prompt_tokens
from polygraph.models.protocols import ChatReply, ChatRequest, TextKind, Vectors
from polygraph.models.rate_limit import limit_in_message
from polygraph.models.transport import TransportError, report_headers
from polygraph.text.tokens import count_many, truncate

Structured: TypeAlias = Literal["auto", "json_schema", "json_object", "plain"]

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_S = 15.0
"""Timeout of a connection; `timeout_s` applies to answers."""
MAX_IDLE_TIMEOUTS = 10
"""A stream of keep-alive messages without any text ends after this many times `timeout_s`."""
BATCH_TEXTS = 128
BATCH_TOKENS = 100_000
"""Largest batch of an embedder; OpenAI accepts 300,000 tokens."""

_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class _FormRefused(Exception):
    """The endpoint does not accept a request of this form (400 or 422, or it does not stream)."""


@dataclass(frozen=True, slots=True)
class _Form:
    """Features of the protocol that a request uses."""

    structured: Literal["json_schema", "json_object", "plain"]
    stream: bool = True
    stream_usage: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def weaker(self, refusal: str, request: ChatRequest, proven: "_Form | None") -> "_Form | None":
        """Return the form to try after a refusal, or None.

        Args:
            refusal: message of the endpoint, in lower case.
            request: the request that was refused.
            proven: a form that this endpoint has accepted, whose features are not the reason.
        """
        structured = bool(request.schema) and self.structured != "plain"
        steps: list[tuple[bool, str, _Form | None]] = [
            (self.stream and self.stream_usage, "stream_options|include_usage", self._no_usage()),
            (
                request.max_output_tokens is not None and self.limit == "max_tokens",
                "max_completion_tokens",
                replace(self, limit="max_completion_tokens"),
            ),
            (self.temperature, "temperature", replace(self, temperature=False)),
            (structured, "response_format|schema|json|structured|grammar|guided", self._less_structured()),
            (self.stream, "stream", replace(self, stream=False)),
        ]
        for possible, words, form in steps:
            if possible and re.search(words, refusal):
                return form
        # The message names no feature: drop one that the endpoint has never accepted.
        if structured and (proven is None or proven.structured != self.structured):
            return self._less_structured()
        if self.stream and proven is None:
            return self._no_usage() if self.stream_usage else replace(self, stream=False)
        return None

    def _no_usage(self) -> "_Form":
        return replace(self, stream_usage=False)

    def _less_structured(self) -> "_Form":
        return replace(self, structured="json_object" if self.structured == "json_schema" else "plain")


class _Endpoint:
    """The connection of a chat model or embedder, and the meaning of its errors."""

    def __init__(self, model: str, base_url: str | None, api_key: str | None, timeout_s: float) -> None:
        base_url = base_url or OPENAI_URL
        if not base_url.startswith(("http://", "https://")):
            raise BadInput(
                f"the base URL {base_url!r} does not begin with http:// or https://. It looks like "
                "http://localhost:11434/v1"
            )
        if not timeout_s > 0:
            raise BadInput(f"timeout_s is {timeout_s}; it must be more than 0")
        self.model = model
        self.base_url = base_url
        self.timeout_s = timeout_s
        self._api_key = api_key
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The client of the SDK, created at the first call because importing the SDK is slow."""
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    # Local servers need none, but the SDK requires one.
                    api_key=self._api_key or "none",
                    base_url=self.base_url,
                    timeout=openai.Timeout(self.timeout_s, connect=min(CONNECT_S, self.timeout_s)),
                    max_retries=0,
                    http_client=openai.DefaultHttpxClient(
                        event_hooks={"response": [lambda response: report_headers(response.headers)]}
                    ),
                )
            return self._client

    def explain(self, error: Exception) -> Exception:
        """Convert an error of the SDK, or of a library below it, into one of ours."""
        import openai

        text = self._clean(str(error))
        if isinstance(error, openai.APITimeoutError) or "timeout" in type(error).__name__.lower():
            return TransportError(f"no data for {self.timeout_s:g} s", kind="timeout")
        if isinstance(error, openai.APIConnectionError):
            cause = self._clean(str(error.__cause__ or error))
            return TransportError(f"the connection failed ({cause})", kind="connection")
        if isinstance(error, openai.APIStatusError):
            return self._explain_status(error, text)
        if isinstance(error, openai.APIResponseValidationError | json.JSONDecodeError | UnicodeDecodeError):
            return TransportError(f"the reply does not follow the protocol ({text})", kind="malformed")
        if isinstance(error, openai.APIError):
            return TransportError(f"the server reported: {text}", kind="server")
        if type(error).__module__.partition(".")[0] in {"httpx", "httpx2", "httpcore", "httpcore2"}:
            return TransportError(f"the connection was interrupted ({text})", kind="connection")
        return error

    def _explain_status(self, error: Any, text: str) -> Exception:
        status = int(error.status_code)
        code = str(getattr(error, "code", "") or "")
        if status == 429 and "insufficient_quota" not in f"{code} {text}":
            wait = parse_retry_after(error.response.headers)
            named = limit_in_message(text)
            return TransportError(f"429: {text}", kind="rate_limit", retry_after_s=wait, limit_kind=named)
        if status in {408, 409, 425} or (status >= 500 and status != 501):
            wait = parse_retry_after(error.response.headers)
            return TransportError(f"{status}: {text}", kind="server", retry_after_s=wait)
        if is_rejected(status, f"{code} {text}"):
            message = f"the endpoint rejects this request ({status}: {text})"
            return TransportError(message, kind="rejected", retryable=False)
        if status in {400, 422}:
            return _FormRefused(f"{status}: {text}")
        return self.refused(f"{status}: {text}", status)

    def refused(self, text: str, status: int = 400) -> ModelRefused:
        """Return an error that says what the user can do."""
        if status in {401, 403}:
            fix = "Check the key in OPENAI_API_KEY, and that it belongs to this base URL (OPENAI_BASE_URL)"
        elif status == 404:
            fix = (
                f"Check that the model {self.model!r} exists there, and the base URL (OPENAI_BASE_URL), "
                "which usually ends in /v1"
            )
        elif status in {402, 429}:
            fix = "The account has no credit left: add some, or use another endpoint (OPENAI_BASE_URL)"
        else:
            fix = "Check the model's name and the base URL (OPENAI_BASE_URL)"
        return ModelRefused(
            f"{self.base_url} refuses {self.model!r} ({text}). {fix}. To test it: polygraph doctor"
        )

    def _clean(self, text: str) -> str:
        """Shorten a message and mask the key in it."""
        if self._api_key:
            text = text.replace(self._api_key, "***")
        text = " ".join(text[:2000].split())
        return text if len(text) <= 300 else f"{text[:300]}..."


class OpenAIChat:
    """A language model behind the OpenAI protocol.

    Args:
        model: name at the endpoint.
        base_url: of the endpoint, usually ending in ``/v1``; None for OpenAI.
        api_key: the key, or None if the endpoint needs none.
        timeout_s: longest time without data. Replies are streamed, so a slow model that keeps writing is not cut off.
        structured: how to ask for JSON; `auto` tries what the endpoint supports.

    Raises:
        BadInput: if the base URL or the timeout is not valid.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        structured: Structured = "auto",
    ) -> None:
        self._endpoint = _Endpoint(model, base_url, api_key, timeout_s)
        self._form = _Form("json_schema" if structured == "auto" else structured)
        self._proven: _Form | None = None

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._endpoint.model

    @property
    def base_url(self) -> str:
        """Base URL of the endpoint."""
        return self._endpoint.base_url

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply once.

        Raises:
            TransportError: if the attempt failed.
            ModelRefused: if the endpoint rejects the key, the model's name or the form of the request.
        """
        form = self._form
        while True:
            try:
                reply = self._attempt(request, form, on_text)
            except _FormRefused as refusal:
                weaker = form.weaker(str(refusal).lower(), request, self._proven)
                if weaker is None:
                    raise self._endpoint.refused(str(refusal)) from refusal
                form = weaker
            else:
                # A form that worked is kept. A request without a schema says nothing about schemas.
                if request.schema:
                    self._form = self._proven = form
                else:
                    self._form = replace(form, structured=self._form.structured)
                    self._proven = self._proven or replace(form, structured="plain")
                return reply

    def batch_body(self, request: ChatRequest, refusals: Sequence[str] = ()) -> dict[str, Any]:
        """Return the body of a request in a batch file: what `chat` sends, without streaming.

        Args:
            request: to be sent.
            refusals: messages of the endpoint about earlier batches; the features that they name are left out.
        """
        form = replace(self._form, stream=False)
        for refusal in refusals:
            # Only features that are named: a refusal of one unusual request says nothing about the others.
            form = form.weaker(refusal.lower(), request, form) or form
        return self._arguments(request, form)

    def _attempt(self, request: ChatRequest, form: _Form, on_text: Callable[[str], None] | None) -> ChatReply:
        arguments = self._arguments(request, form)
        try:
            if form.stream:
                return self._streamed(request, arguments, form, on_text)
            return self._whole(request, arguments, on_text)
        except (TransportError, _FormRefused):
            raise
        except Exception as error:
            explained = self._endpoint.explain(error)
            if explained is error:
                raise
            raise explained from error

    def _arguments(self, request: ChatRequest, form: _Form) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if form.temperature:
            arguments["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            arguments[form.limit] = request.max_output_tokens
        if request.schema is not None and form.structured != "plain":
            arguments["response_format"] = _response_format(request.schema, form.structured)
        return arguments

    def _streamed(
        self,
        request: ChatRequest,
        arguments: dict[str, Any],
        form: _Form,
        on_text: Callable[[str], None] | None,
    ) -> ChatReply:
        if form.stream_usage:
            arguments = arguments | {"stream_options": {"include_usage": True}}
        pieces: list[str] = []
        length = n_events = 0
        finish: str | None = None
        usage: Mapping[str, Any] = {}
        # Events are read as plain JSON: building the SDK's objects takes ten times as long.
        create = self._endpoint.client.chat.completions.with_streaming_response.create
        with create(**arguments, stream=True) as response:
            progress = _Progress(self._endpoint.timeout_s)
            for event in _events(progress.watch(response.iter_bytes())):
                n_events += 1
                if "error" in event:
                    raise TransportError(f"the server reported: {str(event['error'])[:300]}", kind="server")
                usage = event.get("usage") or usage
                for choice in (event.get("choices") or [])[:1]:
                    delta = choice.get("delta") or {}
                    piece = delta.get("content")
                    if any(delta.get(part) for part in ("content", "reasoning_content", "reasoning")):
                        progress.made()
                    if piece:
                        pieces.append(piece)
                        length += len(piece)
                        if on_text is not None:
                            on_text(piece)
                    finish = choice.get("finish_reason") or finish
                if length > MAX_REPLY_CHARS:
                    finish = "length"
                    break
            kind = str(response.headers.get("content-type", ""))
        if not n_events and "event-stream" not in kind:
            if "json" in kind:
                raise _FormRefused("the endpoint does not stream")
            raise self._endpoint.refused(f"it answers with {kind or 'an unknown content type'}", 404)
        if finish is None and not usage:
            raise TransportError("the reply ended early", kind="connection")
        return checked_reply("".join(pieces), finish, usage, lambda: prompt_tokens(request))

    def _whole(
        self, request: ChatRequest, arguments: dict[str, Any], on_text: Callable[[str], None] | None
    ) -> ChatReply:
        completion = self._endpoint.client.chat.completions.create(**arguments)
        if isinstance(completion, str):
            raise self._endpoint.refused("it answers with something that is not JSON", 404)
        choice = next(iter(getattr(completion, "choices", None) or []), None)
        text = getattr(getattr(choice, "message", None), "content", None) or ""
        if on_text is not None and text:
            on_text(text)
        reported = getattr(completion, "usage", None)
        usage = {name: getattr(reported, name, None) for name in ("prompt_tokens", "completion_tokens")}
        return checked_reply(
            text, getattr(choice, "finish_reason", None), usage, lambda: prompt_tokens(request)
        )


class _Progress:
    """Ends a stream that is kept alive but makes no progress."""

    def __init__(self, timeout_s: float) -> None:
        self._max_idle_s = MAX_IDLE_TIMEOUTS * timeout_s
        self._at = time.monotonic()

    def made(self) -> None:
        """Record progress."""
        self._at = time.monotonic()

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the data while there is progress."""
        for chunk in chunks:
            if time.monotonic() - self._at > self._max_idle_s:
                raise TransportError(f"only keep-alive messages for {self._max_idle_s:g} s", kind="timeout")
            yield chunk


def _events(chunks: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """Read server-sent events, each a JSON object on one line."""
    for line in _lines(chunks):
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        if data and line.startswith(b"data:"):
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split bytes at line feeds only: text would also be split at U+2028, which JSON strings may contain."""
    held: list[bytes] = []
    n_held = 0
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        held.append(first)
        n_held += len(first)
        if n_held > 8 * MAX_REPLY_CHARS:
            raise TransportError("a line of the reply is too long", kind="malformed")
        if rest:
            yield b"".join(held)
            yield from rest[:-1]
            held, n_held = [rest[-1]], len(rest[-1])
    yield b"".join(held)


class OpenAIEmbedder:
    """An embedder behind the OpenAI protocol.

    Args:
        model: name at the endpoint.
        base_url: of the endpoint, usually ending in ``/v1``; None for OpenAI.
        api_key: the key, or None if the endpoint needs none.
        timeout_s: longest time without data.
        dimensions: of shortened vectors, if the model supports them.
        max_tokens: longest text that the model reads; longer texts are truncated.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        dimensions: int | None = None,
        max_tokens: int = 8191,
    ) -> None:
        self._endpoint = _Endpoint(model, base_url, api_key, timeout_s)
        self._dimensions = dimensions
        self._dimension = dimensions or _DIMENSIONS.get(model)
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """``endpoint:`` and the model's name, followed by ``@`` and the number of dimensions if it was set."""
        chosen = f"@{self._dimensions}" if self._dimensions else ""
        return f"endpoint:{self._endpoint.model}{chosen}"

    @property
    def base_url(self) -> str:
        """Base URL of the endpoint."""
        return self._endpoint.base_url

    @property
    def dimension(self) -> int:
        """Length of a vector, taken from the first reply; embeds a word if there was none yet."""
        if self._dimension is None:
            self.embed(["dimension"], "document")
        assert self._dimension is not None  # noqa: S101  set by the call
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Longest text that is read whole."""
        return self._max_tokens

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count tokens; approximate, since the tokenizer of the endpoint is not known."""
        return count_many(texts)

    def batches(self, texts: Sequence[str]) -> list[range]:
        """Group texts into calls of bounded size."""
        batches: list[range] = []
        begin = n_tokens = 0
        for i, n in enumerate(self.count(texts)):
            used = min(n, self._max_tokens)
            if i > begin and (i - begin == BATCH_TEXTS or n_tokens + used > BATCH_TOKENS):
                batches.append(range(begin, i))
                begin, n_tokens = i, 0
            n_tokens += used
        if texts:
            batches.append(range(begin, len(texts)))
        return batches

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``; a blank text is all zeros."""
        return self.embed_counted(texts, kind)[0]

    def embed_counted(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, int]:  # noqa: ARG002
        """Return unit vectors and the tokens that the endpoint reports."""
        # Endpoints refuse blank texts.
        filled = [i for i, text in enumerate(texts) if text.strip()]
        sent = [self._truncated(texts[i]) for i in filled]
        parts: list[Vectors] = []
        n_tokens = 0
        for batch in self.batches(sent):
            vectors, n = self._call([sent[i] for i in batch])
            parts.append(vectors)
            n_tokens += n
        if parts:
            self._dimension = parts[0].shape[1]
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if parts:
            result[filled] = np.concatenate(parts)
        return result, n_tokens

    def _truncated(self, text: str) -> str:
        # A token is at least one byte, so most texts need no counting. The endpoint may count more tokens than we do,
        # hence the margin.
        if len(text.encode("utf-8", "replace")) <= self._max_tokens:
            return text
        return truncate(text, self._max_tokens * 9 // 10)

    def _call(self, texts: list[str]) -> tuple[Vectors, int]:
        extra = {"dimensions": self._dimensions} if self._dimensions else {}
        try:
            reply = self._endpoint.client.embeddings.create(model=self._endpoint.model, input=texts, **extra)
        except Exception as error:
            explained = self._endpoint.explain(error)
            if isinstance(explained, _FormRefused):
                raise self._endpoint.refused(str(explained)) from error
            if explained is error and not isinstance(error, ValueError):
                raise
            # The SDK reports missing data with a plain ValueError.
            if explained is error:
                explained = TransportError(f"the reply holds no vectors ({error})", kind="malformed")
            raise explained from error
        if isinstance(reply, str):
            raise self._endpoint.refused("it answers with something that is not JSON", 404)
        rows = sorted(reply.data or [], key=lambda row: int(getattr(row, "index", 0) or 0))
        if len(rows) != len(texts) or len({len(row.embedding) for row in rows}) != 1:
            raise TransportError(f"{len(rows)} vectors came for {len(texts)} texts", kind="malformed")
        vectors = np.asarray([row.embedding for row in rows], dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise TransportError("a vector holds a value that is not a number", kind="malformed")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        used = getattr(reply.usage, "prompt_tokens", None) or getattr(reply.usage, "total_tokens", None)
        n_tokens = sum(self.count(texts)) if used is None else int(used)
        unit = vectors / np.where(lengths > 0, lengths, 1)
        return unit.astype(np.float32), n_tokens


def served_models(
    *, base_url: str | None = None, api_key: str | None = None, timeout_s: float = 30.0
) -> list[str]:
    """Return the names of the models that an endpoint serves, sorted.

    Raises:
        BadInput: if the base URL is not valid.
        ModelRefused: if the endpoint rejects the key, or has no such list.
        TransportError: if it does not answer.
    """
    endpoint = _Endpoint("the list of models", base_url, api_key, timeout_s)
    try:
        listed = endpoint.client.models.list()
        return sorted(str(model.id) for model in listed.data or [])
    except Exception as error:
        explained = endpoint.explain(error)
        if isinstance(explained, _FormRefused) or explained is error:
            explained = endpoint.refused(f"it does not list its models: {error}", 404)
        raise explained from error


def _response_format(schema: Mapping[str, Any], structured: str) -> dict[str, Any]:
    if structured == "json_object":
        return {"type": "json_object"}
    title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "reply")))[:64] or "reply"
    described: dict[str, Any] = {"name": title, "schema": dict(schema)}
    if is_strict_schema(schema):
        described["strict"] = True
    return {"type": "json_schema", "json_schema": described}


def is_strict_schema(schema: object) -> bool:
    """Tell whether OpenAI accepts a schema in strict mode: closed objects whose properties are all required."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            names = set(schema.get("properties", {}))
            if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
                return False
        return all(is_strict_schema(value) for value in schema.values())
    if isinstance(schema, list | tuple):
        return all(is_strict_schema(value) for value in schema)
    return True


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, given as milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time()) if value else None
    except ValueError:
        return None
