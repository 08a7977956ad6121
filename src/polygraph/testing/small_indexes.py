"""Small indexes with every layer, which `check_method` builds once for a process."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from polygraph.extract.llm import extractor as llm
from polygraph.indexing.build import build
from polygraph.indexing.documents import cut_document, update_documents
from polygraph.indexing.progress import BuildReport, no_progress
from polygraph.ingest import Loaded
from polygraph.models import Calls, ChatModel, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.records import Document
from polygraph.revisions import CHUNKS
from polygraph.store.database import SqliteStore
from polygraph.store.layers import DEPENDENCIES
from polygraph.store.manifest import Manifest
from polygraph.store.snapshot import Snapshot
from polygraph.testing.scripted_model import scripted_chat

HIDDEN = "zyxomant"
"""A word that only the sealed document contains: in its id, title, text and entities."""

OPEN_DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "letter.txt": (
        "Letter of Mara Quill",
        "Mara Quill wrote to Old Tobin in 1871. She had built the Skerry Light with her own money. Tobias Wren "
        "of the Harbour Board refused to pay for the lamp. Mara Quill never forgave Tobias Wren.",
    ),
    "log.txt": (
        "Log of the Halcyon",
        "The Halcyon left Sallow Bay at dawn. Old Tobin was her master. Near the Skerry Light the fog came "
        "down, and the Halcyon struck the Grey Reef. Old Tobin brought the crew ashore.",
    ),
    "minutes.txt": (
        "Minutes of the Harbour Board",
        "The Harbour Board met in March. Tobias Wren reported that the Skerry Light had been dark. Mara Quill "
        "answered that the oil had not been paid for. The Harbour Board resolved to pay Mara Quill.",
    ),
    "news.txt": (
        "The Sallow Courier",
        "The Halcyon is lost on the Grey Reef. The Harbour Board blames the keeper of the Skerry Light. Old "
        "Tobin says that Tobias Wren saved on oil. An inquiry will be held in Sallow Bay.",
    ),
}
_SEALED_DOCUMENTS = {
    f"{HIDDEN}.txt": (
        f"The {HIDDEN.title()} papers",
        f"Mara Quill hid the {HIDDEN.title()} under the Skerry Light. Old Tobin knew of the {HIDDEN.title()}. "
        f"Tobias Wren paid for the {HIDDEN} in secret. The Harbour Board never heard of the {HIDDEN.title()}.",
    ),
}
_ONE_CHUNK = {"note.txt": ("A note", "Mara Quill keeps the Skerry Light for Old Tobin.")}
_ONE_ENTITY = {
    "page.txt": ("A page", "Quill slept all day. In the evening rain fell on the roof of the house.")
}

_BUILT: dict[tuple[str, str], Mapping[str, Path]] = {}
"""Folders of the indexes, by the names of the embedders."""


def hashed_models(chat: ChatModel | None = None) -> Models:
    """Return models with hashed vectors, no reranker and a ledger of their own."""
    embedder = HashEmbedder()
    return Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


def small_indexes(models: Models) -> Mapping[str, Path]:
    """Return the folders of the small indexes, built once for each pair of embedders.

    The extractor is `scripted_chat`, whatever the chat model.

    Returns:
        ``all``: the open documents (metadata ``part=open``) and a sealed one (``part=sealed``) that contains `HIDDEN`;
        ``reversed``: the same, added in the opposite order; ``one chunk`` and ``one entity``: a single document.
    """
    key = (models.embedder.name, models.name_embedder.name)
    if key not in _BUILT:
        base = Path(_folder().name) / str(len(_BUILT))
        documents = {**OPEN_DOCUMENTS, **_SEALED_DOCUMENTS}
        texts: Mapping[str, Mapping[str, tuple[str, str]]] = {
            "all": documents,
            "reversed": dict(reversed(documents.items())),
            "one chunk": _ONE_CHUNK,
            "one entity": _ONE_ENTITY,
        }
        for name, some in texts.items():
            _build(base / name, some, models)
        _BUILT[key] = {name: base / name for name in texts}
    return _BUILT[key]


@contextmanager
def open_snapshot(folder: Path) -> Iterator[Snapshot]:
    """Open an index for reading, and close it at the end of the block."""
    snapshot = Snapshot(folder)
    try:
        yield snapshot
    finally:
        snapshot.close()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="polygraph-check-", ignore_cleanup_errors=True)


def _build(folder: Path, documents: Mapping[str, tuple[str, str]], given: Models) -> None:
    chat = scripted_chat()
    models = replace(given, chat=chat, calls=Calls(None))
    manifest = Manifest(
        chunks=CHUNKS,
        chunk_tokens=32,
        overlap_tokens=0,
        window_tokens=64,
        language="en",
        embedder=models.embedder.name,
        dimension=models.embedder.dimension,
        name_embedder=models.name_embedder.name,
        name_dimension=models.name_embedder.dimension,
        extractor=llm.identity(chat.name),
        extractor_settings={"entity_types": [], "gleaning": "none", "max_gleanings": 1},
        reports="extractive",
        community_size=3,
        community_weight="strength",
        profile="",
        descriptions="extractive",
        description_tokens=400,
        report_words=500,
        same="",
    )
    store = SqliteStore(folder, mode="write")
    try:
        for name, (title, text) in documents.items():
            part = "sealed" if name in _SEALED_DOCUMENTS else "open"
            document = Document(id=name, title=title, text=text, metadata={"part": part})
            loaded = Loaded(documents=(document,), unread=())
            cut = partial(cut_document, manifest=manifest, embedder=models.embedder)
            update_documents(store, loaded, [name], cut, no_progress)
        build(store, manifest, models, list(DEPENDENCIES), BuildReport(), no_progress)
    finally:
        store.close()
