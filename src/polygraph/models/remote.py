"""Models whose work runs on a cluster: the driver decides when a call starts, and a worker makes it.

Limits, caps, retries, the ledger and the store of replies stay with `Calls` in the driver, so they hold for all workers
together, and a reply is stored before it counts. A worker opens its models from the settings. These, with the key, are
part of each item and stay in the memory of the worker.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np

from polygraph.config import Settings
from polygraph.errors import WorkerLost
from polygraph.execution.protocol import Executor
from polygraph.models import Models
from polygraph.models.embedding_cache import block_size
from polygraph.models.open import open_models
from polygraph.models.protocols import ChatModel, ChatReply, ChatRequest, Embedder, TextKind, Vectors
from polygraph.models.reply_work import current_reply_work
from polygraph.models.retry import is_local
from polygraph.models.transport import Headers, TransportError, header_listener, report_headers

TEXTS = 256
"""Texts of one item for a local embedder."""

_Role: TypeAlias = Literal["chat", "embedder", "name_embedder"]
_opened: dict[str, Models] = {}
_opening = Lock()


def on_cluster(models: Models, settings: Settings, executor: Executor) -> Models:
    """Return models that work on a cluster; the object for calls and models that answer at once stay as they are.

    Args:
        models: opened from the settings.
        settings: from which each worker opens the same models.
        executor: runs the calls.
    """
    source = ModelSource.of(models, settings)

    def embedder(model: Embedder, role: _Role) -> Embedder:
        if getattr(model, "instant", False):
            return model
        kind = _LocalEmbedder if is_local(model) else _EndpointEmbedder
        return kind(model, source, role, executor)

    chunks = embedder(models.embedder, "embedder")
    same = models.name_embedder is models.embedder
    return replace(
        models,
        chat=_Chat(models.chat, source, executor) if models.chat is not None else None,
        embedder=chunks,
        name_embedder=chunks if same else embedder(models.name_embedder, "name_embedder"),
    )


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What a worker opens its models from."""

    values: str = field(repr=False)
    """The settings as JSON, with the key."""
    built_with: tuple[str, str]
    """Names of the embedders in use."""

    @classmethod
    def of(cls, models: Models, settings: Settings) -> "ModelSource":
        """Return the source of the models in use, so that no worker has to ask an endpoint for its model."""
        update: dict[str, Any] = {"batch": None, "reranker": "none"}
        if models.chat is not None and not settings.chat_model:
            update["chat_model"] = models.chat.name
        names = (models.embedder.name, models.name_embedder.name)
        return cls(settings.model_copy(update=update).model_dump_json(), names)

    def open(self, role: _Role) -> Any:
        """Return a model in a worker; each process opens its models once."""
        with _opening:
            if self.values not in _opened:
                settings = Settings.model_validate_json(self.values)
                _opened[self.values] = open_models(settings, None, self.built_with)
            return getattr(_opened[self.values], role)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of one attempt."""

    headers: tuple[Headers, ...]
    value: Any
    error: TransportError | None


@dataclass(frozen=True, slots=True)
class _ChatItem:
    source: ModelSource
    request: ChatRequest
    function: Callable[[str, Any], Any] | None = None
    """Applied to the text of the reply and to `work`."""
    work: Any = None


@dataclass(frozen=True, slots=True)
class _EmbedItem:
    source: ModelSource
    role: _Role
    texts: tuple[str, ...]
    kind: TextKind


def _chat(item: _ChatItem) -> _Attempt:
    """Make one call; the value is the reply, and what came of the work on it, None if that failed."""
    model: ChatModel = item.source.open("chat")

    def call() -> tuple[ChatReply, Any]:
        reply = model.chat(item.request)
        found = None
        if item.function is not None:
            # The caller does it again, and sees the error.
            with suppress(Exception):
                found = item.function(reply.text, item.work)
        return reply, found

    return _attempt(call)


def _embed(item: _EmbedItem) -> Vectors:
    model: Embedder = item.source.open(item.role)
    return model.embed(item.texts, item.kind)


def _embed_counted(item: _EmbedItem) -> _Attempt:
    model = item.source.open(item.role)
    return _attempt(lambda: model.embed_counted(item.texts, item.kind))


def _attempt(call: Callable[[], object]) -> _Attempt:
    headers: list[Headers] = []
    with header_listener(lambda received: headers.append(dict(received))):
        try:
            value = call()
        except TransportError as error:
            return _Attempt(tuple(headers), None, error)
        return _Attempt(tuple(headers), value, None)


def _call(executor: Executor, function: Callable[[Any], _Attempt], item: object, name: str) -> Any:
    """Make one attempt on a worker. A lost worker is a broken connection, so it is retried, paced and recorded."""
    try:
        done = executor.call(function, item)
    except WorkerLost as error:
        raise TransportError(f"{name}: {error}", kind="connection", retry_after_s=0.0) from error
    for headers in done.headers:
        report_headers(headers)
    if done.error is not None:
        raise done.error
    return done.value


class _Chat:
    """A chat model on a cluster."""

    def __init__(self, model: ChatModel, source: ModelSource, executor: Executor) -> None:
        self._model, self._source, self._executor = model, source, executor
        self.name = model.name
        self.base_url = getattr(model, "base_url", "")
        self.local = is_local(model)

    def chat(self, request: ChatRequest, on_text: Callable[[str], None] | None = None) -> ChatReply:
        """Reply once; the text arrives as one piece."""
        work = current_reply_work()
        parts = (work.function, work.item) if work is not None else ()
        reply: ChatReply
        reply, found = _call(self._executor, _chat, _ChatItem(self._source, request, *parts), self.name)
        if work is not None and found is not None:
            work.receive(reply.text, found)
        if on_text is not None:
            on_text(reply.text)
        return reply


class _RemoteEmbedder:
    """What both kinds of embedder on a cluster share; the driver counts tokens."""

    def __init__(self, model: Embedder, source: ModelSource, role: _Role, executor: Executor) -> None:
        self._model, self._source, self._role, self._executor = model, source, role, executor
        self.name = model.name
        self.base_url = getattr(model, "base_url", "")
        self.max_tokens = model.max_tokens

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; an endpoint may be asked for it."""
        return self._model.dimension

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return self._model.count(texts)

    def _item(self, texts: Sequence[str], kind: TextKind) -> _EmbedItem:
        return _EmbedItem(self._source, self._role, tuple(texts), kind)


class _LocalEmbedder(_RemoteEmbedder):
    """An embedder that computes; all workers share a batch."""

    local = True

    def batches(self, texts: Sequence[str]) -> list[range]:
        """Return one batch: `embed` divides it among the workers."""
        return [range(len(texts))]

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``."""
        parts = (self._item(texts[at : at + TEXTS], kind) for at in range(0, len(texts), TEXTS))
        return np.concatenate([np.empty((0, self.dimension), np.float32), *self._executor.map(_embed, parts)])


class _EndpointEmbedder(_RemoteEmbedder):
    """An embedder behind an endpoint; `Calls` divides the texts into calls."""

    @property
    def texts_per_call(self) -> int:
        """Most texts of one call."""
        return block_size(self._model)

    def batches(self, texts: Sequence[str]) -> list[range]:
        """Group texts into calls of bounded size."""
        found: list[range] = self._model.batches(texts)  # type: ignore[attr-defined]
        return found

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return unit vectors, shape ``(len(texts), dimension)``."""
        return self.embed_counted(texts, kind)[0]

    def embed_counted(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, int]:
        """Return unit vectors and the tokens that the endpoint reports."""
        found: tuple[Vectors, int] = _call(self._executor, _embed_counted, self._item(texts, kind), self.name)
        return found
