"""The endpoints of an OpenAI-compatible server: an index with a method is a model.

The model `polygraph/INDEX/METHOD` answers the last message of the user from the index; earlier messages are history.
Messages of the system and sampling parameters have no effect: the prompts are those of the method.
"""

import base64
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from polygraph.ids import document_name
from polygraph.models.protocols import TextKind
from polygraph.retrieve import METHODS
from polygraph.retrieve import method as find_method
from polygraph.server import answering
from polygraph.server.events import HEARTBEAT, EventLog, event_response, to_json
from polygraph.server.problems import Problem, as_openai_error
from polygraph.server.routes.indexes import summary
from polygraph.server.served_indexes import ServedIndex
from polygraph.server.state import Reader, ServerState, State
from polygraph.text.prose import shorten
from polygraph.text.tokens import count_tokens

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_PREFIX = "polygraph"
_MAX_TEXTS = 256
_MAX_TEXT = 20_000
_READ = {"text", "answer", "error"}
"""Events that become chunks."""
_MARK = re.compile(r"\[(\d{1,4}(?:, ?\d{1,4})*)\]")
_QUOTE = 240
"""Characters of a nearest passage in a message."""


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str = Field("", max_length=100_000)


class Message(BaseModel):
    """A message of the conversation."""

    role: str = Field(max_length=30)
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of the message, without images and the like."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text")


class StreamOptions(BaseModel):
    """What a stream contains besides the text."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body of a chat completion; parameters that have no meaning here are accepted and ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(max_length=300)
    messages: list[Message] = Field(min_length=1, max_length=200)
    stream: bool = False
    stream_options: StreamOptions | None = None


class EmbeddingRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(max_length=300)
    input: str | list[str] = Field(max_length=_MAX_TEXTS * _MAX_TEXT)
    encoding_format: Literal["float", "base64"] = "float"
    input_type: Literal["query", "document"] = "document"
    """Ours: whether the texts are questions or passages; some embedders tell them apart."""


@router.get("/models")
async def list_models(state: State, _: Reader) -> dict[str, Any]:
    """List a model for each index with its default method, and one for each method that it is ready for."""
    found = await state.threads.run(lambda: [summary(state, each) for each in state.indexes.all()])
    names = [
        name
        for index in found
        for name in (
            f"{_PREFIX}/{index['name']}",
            *(f"{_PREFIX}/{index['name']}/{m['name']}" for m in index["methods"] if m["ready"]),
        )
    ]
    return {"object": "list", "data": [_model(name) for name in names]}


@router.get("/models/{model:path}")
async def show_model(model: str, state: State, _: Reader) -> dict[str, Any]:
    """Show one model."""
    _find(state, model)
    return _model(model)


@router.post("/chat/completions", response_model=None)
async def complete(body: ChatRequest, request: Request, state: State, principal: Reader) -> Response:
    """Answer the last message of the user with citations, in the form of a chat completion."""
    served, method = _find(state, body.model)
    question, history = _conversation(body.messages)
    asked = answering.Asked(question=question, method=method, history=history)
    log = answering.start(state, served, principal, asked, streams=body.stream)
    form = _Form(body.model, served, str(request.base_url), log, page=state.settings.page)
    if not body.stream:
        return state.json(form.whole(await answering.result(log, request)))
    wants_usage = body.stream_options is not None and body.stream_options.include_usage
    return event_response(form.chunks(state.settings.heartbeat_s, wants_usage))


@router.post("/embeddings")
async def embed(body: EmbeddingRequest, state: State, _: Reader) -> dict[str, Any]:
    """Embed texts with the embedder of an index."""
    served, _method = _find(state, body.model)
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not texts or len(texts) > _MAX_TEXTS or any(not text or len(text) > _MAX_TEXT for text in texts):
        raise Problem(
            422,
            "bad-request",
            f"input: give 1 to {_MAX_TEXTS} texts of 1 to {_MAX_TEXT:,} characters each",
        )
    kind: TextKind = body.input_type

    def work() -> tuple[list[Any], int]:
        models = served.index.models
        vectors = models.calls.embed(models.embedder, texts, kind, stage="embeddings")
        n_tokens = sum(map(count_tokens, texts))
        if body.encoding_format == "float":
            return [[float(x) for x in vector] for vector in vectors], n_tokens
        packed = (base64.b64encode(np.asarray(v, dtype="<f4").tobytes()) for v in vectors)
        return [each.decode("ascii") for each in packed], n_tokens

    vectors, n_tokens = await state.threads.run(work)
    return {
        "object": "list",
        "model": body.model,
        "data": [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)],
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }


class _Form:
    """An answer in the form of a chat completion."""

    def __init__(self, model: str, served: ServedIndex, base_url: str, log: EventLog, *, page: bool) -> None:
        self._served, self._base_url, self._log, self._page = served, base_url.rstrip("/"), log, page
        self._head = {"id": f"chatcmpl-{log.id}", "created": int(time.time()), "model": model}

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return a completion."""
        content, annotations = self._content(answer)
        message = {
            "role": "assistant",
            "content": content,
            "refusal": None,
            "annotations": annotations,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(answer["usage"]),
            **self._more(answer),
        }

    async def chunks(self, heartbeat_s: float, wants_usage: bool) -> AsyncIterator[bytes]:
        """Yield a completion piece by piece; the last piece of text has the citations."""
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})
        # A client of this form cannot resume: work that it leaves ends at once.
        async for event in self._log.follow(0, heartbeat_s, 0):
            if event is None:
                yield HEARTBEAT
                continue
            kind, data = event[0], json.loads(event[1]) if event[0] in _READ else {}
            if kind == "text":
                yield self._chunk({"content": data["text"]})
            elif kind == "error":
                yield _line(as_openai_error(data))
                return
            elif kind == "answer":
                content, annotations = self._content(data)
                if data["nearest"]:
                    yield self._chunk({"content": content.removeprefix(data["text"])})
                last = self._more(data) | {"text": content}
                yield self._chunk({"annotations": annotations}, finish="stop", more=last)
                if wants_usage:
                    yield self._chunk(None, more={"usage": _usage(data["usage"])})
        yield b"data: [DONE]\n\n"

    def _chunk(
        self, delta: dict[str, Any] | None, *, finish: str | None = None, more: dict[str, Any] | None = None
    ) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _line({**self._head, "object": "chat.completion.chunk", "choices": choices, **(more or {})})

    def _more(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return what only our completions have: the citations as everywhere else, and the rest of the answer."""
        kept = {key: answer[key] for key in ("id", "method", "refused", "extractive", "notes", "nearest")}
        return {"citations": answer["citations"], "polygraph": kept | {"index": self._served.name}}

    def _content(self, answer: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """Return the text, the nearest passages below it, and an annotation for each passage at each mark ``[n]``."""
        content: str = answer["text"]
        by_number: dict[int, list[dict[str, Any]]] = {}
        for citation in answer["citations"]:
            by_number.setdefault(citation["n"], []).append(citation)
        annotations = [
            self._annotation(citation, mark.start(), mark.end())
            for mark in _MARK.finditer(content)
            for n in mark[1].split(",")
            for citation in by_number.get(int(n), ())
        ]
        if answer["nearest"]:
            content += "\n\nNearest passages:\n"
        for passage in answer["nearest"]:
            quote = shorten(" ".join(passage["quote"].split()), _QUOTE)
            content += f"\n- {passage['title'] or passage['document']}: “{quote}” "
            start = len(content)
            content += f"[{passage['n']}]"
            annotations.append(self._annotation(passage, start, len(content)))
        return content, annotations

    def _annotation(self, citation: dict[str, Any], start: int, end: int) -> dict[str, Any]:
        """Return an annotation from `start` to `end` of a message."""
        place = {"start_index": start, "end_index": end}
        source = {
            "title": citation["title"] or document_name(citation["document"]),
            "url": self._address(citation),
        }
        return {"type": "url_citation", "url_citation": place | source}

    def _address(self, citation: dict[str, Any]) -> str:
        """Return where a reader finds the sentence: the page, or the text of the document where there is none."""
        index, document = (quote(each, safe="") for each in (self._served.name, citation["document"]))
        span = f"{citation['start']}-{citation['end']}"
        if self._page:
            return f"{self._base_url}/#/{index}/documents?doc={document}&span={span}"
        return f"{self._base_url}/api/v1/indexes/{index}/documents/{document}?span={span}"


def _find(state: ServerState, model: str) -> tuple[ServedIndex, str | None]:
    """Return the index and the method that a model's name stands for."""
    prefix, _, rest = model.partition("/")
    index, _, method = rest.partition("/")
    if prefix != _PREFIX or index not in state.indexes.names():
        raise Problem(
            404,
            "model_not_found",
            f"there is no model {model[:200]!r}. List them with: GET /v1/models",
        )
    if method and method not in METHODS:
        find_method(method)
    return state.indexes[index], method or None


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "polygraph"}


def _conversation(messages: list[Message]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the last message of the user, and the questions and answers before it."""
    spoken = [message for message in messages if message.role in {"user", "assistant"}]
    if not spoken or spoken[-1].role != "user":
        raise Problem(422, "bad-request", "messages: the last one must be the user's question")
    turns: list[tuple[str, str]] = []
    asked = ""
    for message in spoken[:-1]:
        if message.role == "user":
            asked = message.text
        elif asked:
            turns.append((asked, message.text))
            asked = ""
    return spoken[-1].text, tuple(turns)


def _usage(paid: dict[str, Any]) -> dict[str, Any]:
    """Return what the answer really cost: calls that were answered from the cache are not in the tokens."""
    return {
        "prompt_tokens": paid["prompt_tokens"],
        "completion_tokens": paid["completion_tokens"],
        "total_tokens": paid["prompt_tokens"] + paid["completion_tokens"],
        "cost": paid["cost"],
        "calls": paid["calls"],
        "cached_calls": paid["cached_calls"],
        "seconds": paid["seconds"],
    }


def _line(value: dict[str, Any]) -> bytes:
    return f"data: {to_json(value)}\n\n".encode("utf-8", "backslashreplace")
