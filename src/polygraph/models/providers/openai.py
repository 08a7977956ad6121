"""Any endpoint that speaks the OpenAI protocol: OpenAI, Azure, vLLM, Ollama, llama.cpp, LM Studio and others.

The features of an endpoint are found by trying: a request starts with everything useful (a JSON schema, streaming,
usage at the end of the stream) and drops what the endpoint refuses, which is then remembered. Such refusals come at
once and are not billed, so they are not in the ledger.
"""

import binascii
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pybase64

from polygraph.models.chat_completion import (
    CompletionReader,
    describe_error,
    is_plausible_by_length,
    n_bytes,
    n_bytes_of,
    parse_json,
    plausible_prompt_tokens,
    prompt_tokens,
    well_formed,
)
from polygraph.models.protocols import ChatReply, ChatRequest, TextKind, Vectors
from polygraph.models.providers.endpoint import DEADLINE_S, Endpoint, FormRefused, Progress
from polygraph.models.providers.reply_times import ReplyTimes
from polygraph.models.transport import TransportError
from polygraph.models.unit_rows import unit_rows
from polygraph.text.tokens import count_many, truncate

_CHAT = "/chat/completions"
BATCH_TEXTS = 128
BATCH_TOKENS = 100_000
"""Largest batch of an embedder, where a token is taken for two bytes: it has at least one, so that a batch is at most
twice as large. OpenAI accepts 300,000 tokens."""
_BYTES_PER_TOKEN = 2
_PARSING = threading.Lock()

_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


@dataclass(frozen=True, slots=True)
class _Form:
    """Features of the protocol that a request uses."""

    structured: Literal["json_schema", "json_object", "plain"]
    stream: bool = True
    stream_usage: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    likelihood: bool = True
    """Log-probabilities, for requests that want them."""

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
            (request.likelihood and self.likelihood, "log_?prob", replace(self, likelihood=False)),
            (self.temperature, "temperature", replace(self, temperature=False)),
            (structured, "response_format|schema|json|structured|grammar|guided", self._less_structured()),
            (self.stream, "stream", replace(self, stream=False)),
        ]
        for possible, words, form in steps:
            if possible and re.search(words, refusal):
                return form
        # The message names no feature: drop one that the endpoint has never accepted.
        if request.likelihood and self.likelihood and (proven is None or not proven.likelihood):
            return replace(self, likelihood=False)
        if structured and (proven is None or proven.structured != self.structured):
            return self._less_structured()
        if self.stream and proven is None:
            return self._no_usage() if self.stream_usage else replace(self, stream=False)
        return None

    def _no_usage(self) -> "_Form":
        return replace(self, stream_usage=False)

    def _less_structured(self) -> "_Form":
        return replace(self, structured="json_object" if self.structured == "json_schema" else "plain")


class OpenAIChat:
    """A language model behind the OpenAI protocol.

    Args:
        model: name at the endpoint.
        base_url: of the endpoint, usually ending in ``/v1``; None for OpenAI.
        api_key: the key, or None if the endpoint needs none.
        timeout_s: longest time without data. Replies are streamed unless the endpoint is quick (see `ReplyTimes`), so
            a slow model that keeps writing is not cut off.
        deadline_s: longest time of one attempt, however steadily its data arrives.

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
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._endpoint = Endpoint(model, base_url, api_key, timeout_s, deadline_s)
        self._form = _Form("json_schema")
        self._proven: _Form | None = None
        self._times = ReplyTimes(timeout_s)

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
            except FormRefused as refusal:
                weaker = form.weaker(str(refusal).lower(), request, self._proven)
                if weaker is None:
                    raise self._endpoint.refused(str(refusal)) from refusal
                form = weaker
            else:
                # A form that worked is kept. A request without a schema says nothing about schemas.
                before = self._proven
                tried = request.likelihood and form.likelihood
                proven = replace(form, likelihood=tried or (before is not None and before.likelihood))
                if request.schema:
                    self._form, self._proven = form, proven
                else:
                    self._form = replace(form, structured=self._form.structured)
                    self._proven = replace(
                        before or replace(form, structured="plain"), likelihood=proven.likelihood
                    )
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
        streams = form.stream and (on_text is not None or not self._times.are_quick)
        started, completion = time.monotonic(), None
        try:
            with self._endpoint.attempt():
                completion = (self._streamed if streams else self._whole)(arguments, form, on_text)
        finally:
            self._times.add(time.monotonic() - started, complete=completion is not None)
        reply = completion.reply(
            lambda: prompt_tokens(request),
            request.max_output_tokens,
            n_bytes_of(message.content for message in request.messages),
        )
        return replace(reply, text=self._endpoint.without_key(reply.text))

    def _arguments(self, request: ChatRequest, form: _Form) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": well_formed(m.content)} for m in request.messages],
        }
        if form.temperature:
            arguments["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            arguments[form.limit] = request.max_output_tokens
        if request.likelihood and form.likelihood:
            arguments["logprobs"] = True
        if request.schema is not None and form.structured != "plain":
            arguments["response_format"] = _response_format(request.schema, form.structured)
        return arguments

    def _streamed(
        self, arguments: dict[str, Any], form: _Form, on_text: Callable[[str], None] | None
    ) -> CompletionReader:
        if form.stream_usage:
            arguments = arguments | {"stream_options": {"include_usage": True}}
        with self._endpoint.send(_CHAT, {**arguments, "stream": True}) as response:
            return self._events(response, on_text)

    def _whole(
        self,
        arguments: dict[str, Any],
        form: _Form,  # noqa: ARG002  the same parameters as `_streamed`
        on_text: Callable[[str], None] | None,
    ) -> CompletionReader:
        with self._endpoint.send(_CHAT, arguments) as response:
            # Some servers stream whatever they are asked for.
            if "event-stream" in str(response.headers.get("content-type", "")):
                return self._events(response, on_text)
            body = self._endpoint.json(response)
        if isinstance(body, dict) and body.get("error"):
            problem = self._endpoint.clean(describe_error(body["error"]))
            raise TransportError(f"the server reported: {problem}", kind="server")
        completion = CompletionReader()
        text, _ = completion.add([body], "message")
        if text and on_text is not None:
            on_text(text)
        return completion

    def _events(self, response: Any, on_text: Callable[[str], None] | None) -> CompletionReader:
        """Read a reply that comes as events."""
        endpoint, completion, n_events = self._endpoint, CompletionReader(), 0
        progress = Progress(endpoint.timeout_s)
        for events in endpoint.events(response, progress, watched=on_text is not None):
            n_events += len(events)
            text, moved = completion.add(events, "delta")
            if moved:
                progress.made()
            if text and on_text is not None:
                on_text(text)
            if completion.full:
                break
        kind = str(response.headers.get("content-type", ""))
        if not n_events and "event-stream" not in kind:
            if "json" in kind:
                raise FormRefused("the endpoint does not stream")
            kind = endpoint.clean(kind)
            raise endpoint.refused(f"it answers with {kind or 'an unknown content type'}", 404)
        if completion.finish is None and not completion.usage and not completion.full:
            raise TransportError("the reply ended early", kind="connection")
        return completion


class OpenAIEmbedder:
    """An embedder behind the OpenAI protocol.

    Args:
        model: name at the endpoint.
        base_url: of the endpoint, usually ending in ``/v1``; None for OpenAI.
        api_key: the key, or None if the endpoint needs none.
        timeout_s: longest time without data.
        deadline_s: longest time of one attempt, however steadily its data arrives.
        dimensions: of shortened vectors, if the model supports them.
        max_tokens: longest text that the model reads; longer texts are truncated.
    """

    texts_per_call = BATCH_TEXTS

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        deadline_s: float = DEADLINE_S,
        dimensions: int | None = None,
        max_tokens: int = 8191,
    ) -> None:
        self._endpoint = Endpoint(model, base_url, api_key, timeout_s, deadline_s)
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
        for i, text in enumerate(texts):
            used = min(n_bytes(text) // _BYTES_PER_TOKEN, self._max_tokens)
            if i > begin and (i - begin == self.texts_per_call or n_tokens + used > BATCH_TOKENS):
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
        """Return unit vectors, shape ``(len(texts), dimension)``, and the tokens that the endpoint reports.

        Raises:
            TransportError: if the endpoint returns vectors of several lengths, or as its calls do.
        """
        # Endpoints refuse blank texts.
        filled = [i for i, text in enumerate(texts) if text.strip()]
        sent = [self._truncated(texts[i]) for i in filled]
        parts: list[Vectors] = []
        n_tokens = 0
        for batch in self.batches(sent):
            vectors, n = self._call([sent[i] for i in batch])
            parts.append(vectors)
            n_tokens += n
        if len({part.shape[1] for part in parts}) > 1:
            raise TransportError("the vectors differ in length", kind="malformed")
        if parts:
            self._dimension = parts[0].shape[1]
        if len(parts) == 1 and len(filled) == len(texts):
            return parts[0], n_tokens
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if parts:
            result[filled] = np.concatenate(parts)
        return result, n_tokens

    def _truncated(self, text: str) -> str:
        # A token is at least one byte, so most texts need no counting. The endpoint may count more tokens than we do,
        # hence the margin.
        if n_bytes(text) <= self._max_tokens:
            return well_formed(text)
        return truncate(well_formed(text), self._max_tokens * 9 // 10)

    def _call(self, texts: list[str]) -> tuple[Vectors, int]:
        extra = {"dimensions": self._dimensions} if self._dimensions else {}
        endpoint = self._endpoint
        # In base64, vectors take a third of the bytes.
        sent = {"model": endpoint.model, "input": texts, "encoding_format": "base64", **extra}
        try:
            with endpoint.attempt(), endpoint.send("/embeddings", sent) as response:
                data = endpoint.body(response)
        except FormRefused as refusal:
            raise endpoint.refused(str(refusal)) from refusal
        # One after the other: a parsed reply takes several times its size, and threads would not parse faster.
        with _PARSING:
            body = parse_json(data)
            vectors = read_vectors(body, len(texts))
        reported = body.get("usage")
        usage = reported if isinstance(reported, dict) else {}
        n_tokens = self._reported_tokens(usage.get("prompt_tokens") or usage.get("total_tokens"), texts)
        return unit_rows(vectors), n_tokens

    def _reported_tokens(self, reported: object, texts: Sequence[str]) -> int:
        """Return the reported tokens of a request, or ours if they cannot be true."""
        if is_plausible_by_length(reported, n_bytes_of(texts)):
            return reported
        counted = sum(self.count(texts))
        believed = plausible_prompt_tokens(reported, counted)
        return counted if believed is None else believed


def read_vectors(body: Any, n_texts: int) -> Vectors:
    """Read vectors from the JSON of an embeddings reply, which may be malformed in any way.

    Args:
        body: with a list of rows, each a list of numbers or the base64 of 32-bit floats.
        n_texts: number of vectors that were requested.

    Returns:
        The vectors as they came, not normalised, in the order of the texts, shape ``(n_texts, dimension)``.

    Raises:
        TransportError: if it does not hold `n_texts` finite vectors of one length.
    """
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TransportError("the reply holds no vectors", kind="malformed")
    if len(rows) != n_texts:
        raise TransportError(f"{len(rows)} vectors came for {n_texts} texts", kind="malformed")
    places = [row.get("index") for row in rows]
    if all(type(place) is int for place in places):
        if sorted(places) != list(range(n_texts)):
            raise TransportError("the vectors are numbered wrongly", kind="malformed")
        rows = sorted(rows, key=lambda row: int(row["index"]))
    parsed = [_vector(row.get("embedding")) for row in rows]
    if len(set(map(len, parsed))) != 1 or not parsed[0]:
        raise TransportError("the vectors differ in length or are empty", kind="malformed")
    vectors = np.frombuffer(b"".join(parsed), dtype="<f4").reshape(n_texts, -1)
    if not np.isfinite(vectors).all():
        raise TransportError("a vector holds a value that is not a number", kind="malformed")
    return vectors


def _vector(given: object) -> bytes:
    """Return a vector as 32-bit floats, the lowest byte first."""
    try:
        if isinstance(given, str):
            data = pybase64.b64decode(given, validate=True)
            if len(data) % 4 == 0:
                return data
        if isinstance(given, list) and all(type(value) in {int, float} for value in given):
            with np.errstate(over="ignore"):
                return np.asarray(given, dtype=np.float64).astype("<f4").tobytes()
    except (ValueError, OverflowError, binascii.Error):
        pass
    raise TransportError("a vector is not a list of numbers", kind="malformed")


def served_models(
    *, base_url: str | None = None, api_key: str | None = None, timeout_s: float = 30.0
) -> list[str]:
    """Return the names of the models that an endpoint serves, sorted.

    Raises:
        BadInput: if the base URL is not valid.
        ModelRefused: if the endpoint rejects the key, or has no such list.
        TransportError: if it does not answer.
    """
    endpoint = Endpoint("the list of models", base_url, api_key, timeout_s)
    try:
        with endpoint.attempt(), endpoint.send("/models") as response:
            body = endpoint.json(response)
    except FormRefused as refusal:
        raise endpoint.refused(f"it does not list its models: {refusal}", 404) from refusal
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        raise endpoint.refused("it does not list its models", 404)
    return sorted(
        well_formed(row["id"]) for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)
    )


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
