"""The settings that an index is built with: from those given, the models in use, and the earlier manifest."""

from dataclasses import asdict, replace
from typing import Any, Literal, TypeAlias

from polygraph.config import Settings
from polygraph.errors import BadInput, IndexMismatch, quoted
from polygraph.extract.llm import extractor as llm
from polygraph.graph.cooccurrence import Pruning
from polygraph.models import ChatModel, Models
from polygraph.prompts import prompt
from polygraph.revisions import CHUNKS
from polygraph.store.manifest import Manifest
from polygraph.tasks.indexing import same

Extractor: TypeAlias = Literal["nlp", "fast", "llm"]
"""How a graph is extracted: with a parser, as co-occurring noun phrases, or by a chat model."""


def choose_manifest(
    place: str,
    before: Manifest | None,
    settings: Settings,
    models: Models,
    extractor: Extractor | None,
    *,
    adding: bool = False,
) -> Manifest:
    """Return the manifest to build with.

    A setting that was given explicitly has precedence over the one that the index was built with, and that one over
    the default.

    Args:
        place: what messages call the index.
        before: the earlier manifest; None for a new index.
        settings: explicit settings and defaults.
        models: in use.
        extractor: if one was named explicitly.
        adding: whether documents are read; an imported graph gets an extractor only for them.

    Raises:
        BadInput: if a chat model is needed and none is configured, or the extractor cannot read beside an
            imported graph.
        IndexMismatch: if the graph would be extracted differently than before without an explicit request.
    """

    def pick(name: str) -> Any:
        explicit = name in settings.model_fields_set
        return getattr(settings, name) if before is None or explicit else getattr(before, name)

    identity, values = _extractor(place, before, settings, models, extractor, adding)
    if before and before.imported:
        identity = f"{before.imported}+{identity}" if identity else before.imported
    return Manifest(
        # Cutting the documents of an imported graph again would lose it.
        chunks=before.chunks if before and before.imported else CHUNKS,
        chunk_tokens=min(pick("chunk_tokens"), models.embedder.max_tokens),
        overlap_tokens=pick("overlap_tokens"),
        window_tokens=pick("window_tokens"),
        language=pick("language"),
        embedder=models.embedder.name,
        dimension=models.embedder.dimension,
        name_embedder=models.name_embedder.name,
        name_dimension=models.name_embedder.dimension,
        extractor=identity,
        extractor_settings=values,
        reports=_writer(models.chat, "report") if models.chat else "extractive",
        community_size=pick("community_size"),
        community_weight=pick("community_weight"),
        profile=pick("profile"),
        descriptions=_writer(models.chat, "describe") if models.chat else "extractive",
        description_tokens=pick("description_tokens"),
        report_words=pick("report_words"),
        same=_same(before, settings, models.chat, by_model=identity.startswith("llm:")),
    )


def _same(before: Manifest | None, settings: Settings, chat: ChatModel | None, *, by_model: bool) -> str:
    """Return who decides about undecided names, for the manifest; without a model as before.

    A new index asks by default only if a model also extracts it: types and descriptions of the parser say too little.
    """
    if "same_pairs" not in settings.model_fields_set and (before is not None or not by_model):
        return before.same if before else ""
    if not settings.same_pairs:
        return ""
    if chat is None:
        return before.same if before else ""
    return same.identity(chat.name, settings.same_pairs)


def _extractor(
    place: str,
    before: Manifest | None,
    settings: Settings,
    models: Models,
    extractor: Extractor | None,
    adding: bool,
) -> tuple[str, dict[str, Any]]:
    """Return identity and settings of the extractor for the manifest; ("", {}) if nothing is extracted."""
    explicit = extractor or (settings.extractor if settings.extractor != "auto" else None)
    former = before.reader if before else ""
    if before and before.imported and not former and not adding:
        return "", {}
    kind = explicit or (former.split(":")[0] if former else "llm" if models.chat else "nlp")
    if kind == "llm":
        if models.chat is None:
            raise BadInput(
                "extraction with a model was asked for, and no chat model is configured. Set POLYGRAPH_CHAT_MODEL "
                "and OPENAI_BASE_URL or OPENAI_API_KEY, or extract without one: --extractor nlp"
            )
        # What is not set stays as the index was built, as with a profile that was named then.
        kept = before.extractor_settings if before is not None and former.startswith("llm:") else {}
        values = {
            name: getattr(settings, name)
            if name in settings.model_fields_set
            else kept.get(name, getattr(settings, name))
            for name in ("entity_types", "gleaning", "max_gleanings")
        }
        identity = llm.identity(
            models.chat.name,
            entity_types=tuple(values["entity_types"]),
            gleaning=values["gleaning"],
            max_gleanings=values["max_gleanings"],
        )
        if former.startswith("llm:") and former != identity and not explicit:
            raise IndexMismatch(
                f"the graph of {place} was extracted by {former}, and the settings now say "
                f"{identity}. Use the former, or read every document again with: --extractor llm"
            )
        return identity, values | {"entity_types": list(values["entity_types"])}
    if kind == "fast":
        if before and before.imported:
            raise BadInput(
                f"the graph of {place} was imported, and the extractor `fast`, which prunes the whole graph, "
                "cannot read documents beside it. Use: --extractor nlp, or llm"
            )
        from polygraph.extract.nlp import noun_phrases

        pruning = Pruning()
        return f"{noun_phrases.identity()}:{pruning.identity}", asdict(pruning)
    from polygraph.extract.nlp import extractor as nlp  # a build with a model does not load the rules

    return nlp.identity(), {}


def require_same_embedders(place: str, before: Manifest | None, models: Models) -> Manifest:
    """Return the manifest, after checking that the embedders in use are those that the index was built with.

    Raises:
        BadInput: if nothing was built yet.
        IndexMismatch: if other embedders are in use; their vectors cannot be mixed with those of the index.
    """
    if before is None:
        raise BadInput(
            f"the index at {place} is empty. Fill it with: polygraph index PATH --index {quoted(place)}"
        )
    used = (models.embedder.name, models.name_embedder.name)
    if used != (before.embedder, before.name_embedder):
        raise IndexMismatch(
            f"the index at {place} was built with the embedders {before.embedder} and "
            f"{before.name_embedder}, and those in use are {used[0]} and {used[1]}. Use the former (settings "
            "`embedder` and `name_embedder`)"
        )
    return before


def with_report_writer(place: str, before: Manifest, models: Models) -> Manifest:
    """Return the manifest with the chat model in use as the writer of reports, if a model writes them.

    Raises:
        BadInput: if a model is needed and none is configured.
    """
    by_model = before.reader.startswith("llm:") or not before.reports.startswith("extractive")
    if models.chat is None and by_model:
        raise BadInput(
            f"the index at {place} was made with a chat model, and none is configured. Set "
            "POLYGRAPH_CHAT_MODEL and OPENAI_BASE_URL or OPENAI_API_KEY"
        )
    if models.chat is None or before.reports.startswith("extractive"):
        return before
    return replace(
        before, reports=_writer(models.chat, "report"), descriptions=_writer(models.chat, "describe")
    )


def _writer(model: ChatModel, task: str) -> str:
    """Return what writes reports or descriptions, for the manifest."""
    return f"{model.name}:{prompt(task).hash[:8]}"
