"""The windows of the index as it will be, and what is known of them already."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from polygraph.ingest import Documents
from polygraph.ingest.chunk import chunk, windows
from polygraph.models.protocols import Embedder
from polygraph.records import Document, Extraction, Window
from polygraph.store.database import Store
from polygraph.store.manifest import Manifest

_MARGIN = 2
"""Special tokens that an embedder puts around a text."""
_BATCH = 512


@dataclass(slots=True, kw_only=True)
class Corpus:
    """All windows, those that were read before with their rows."""

    n_documents: int = 0
    n_changed: int = 0
    """Documents that are new, or whose content changed."""
    n_gone: int = 0
    windows: list[Window] = field(default_factory=list)
    """In the order of (document id, ordinal)."""
    read: dict[str, Extraction] = field(default_factory=dict)
    """Rows of the windows that this extractor has read and stored."""


def gather(
    store: Store | None,
    loaded: Documents | None,
    roots: Sequence[str],
    manifest: Manifest,
    embedder: Embedder,
) -> Corpus:
    """Cut what is new or changed, take the rest from the index; nothing is written.

    Args:
        store: of the index if there is one, open for reading.
        loaded: what is read from the paths; None: only what the index holds.
        roots: the paths, absolute.
        manifest: what the index will be built with.
        embedder: whose tokenizer counts.
    """
    before = store.manifest() if store is not None else None
    known = store.document_hashes() if store is not None else {}
    fresh: dict[str, Document] = {}
    here: set[str] = set()
    for document in loaded.documents if loaded is not None else ():
        here.add(document.id)
        old = known.get(document.id)
        if (
            old is not None
            and store is not None
            and (old[1] == document.hash or store.imported_alike(document))
        ):
            continue
        if old is not None and old[0] not in roots and Path(old[0]).exists():
            continue  # as `index` does: the id stands for a document of another folder
        fresh[document.id] = document
    unread = {u.path.rpartition(":")[0] or u.path for u in loaded.unread} if loaded is not None else set()
    gone = {i for i, (root, _) in known.items() if root in roots and i not in here and i not in unread}
    kept = [i for i in known if i not in fresh and i not in gone]

    corpus = Corpus(n_documents=len(kept) + len(fresh), n_changed=len(fresh), n_gone=len(gone))
    cut_again = before is not None and before.chunker != manifest.chunker
    if store is not None and cut_again:
        fresh |= {i: stored for i in kept if (stored := store.document(i)) is not None}
        kept = []
    for document in fresh.values():
        chunks = chunk(
            document,
            embedder.count,
            max_tokens=manifest.chunk_tokens,
            limit=embedder.max_tokens - _MARGIN,
            language=manifest.language,
        )
        cut = windows(document, chunks, max_tokens=manifest.window_tokens)
        corpus.windows += [replace(window, text=_as_stored(window)) for window in cut]
    if store is not None and kept:
        wanted = set(kept)
        ids = [i for i, document in store.rows("SELECT id, document FROM windows") if document in wanted]
        for at in range(0, len(ids), _BATCH):
            corpus.windows += store.windows(ids[at : at + _BATCH])
        pending = set(store.pending_windows(manifest.reader))
        mine = set(ids) - pending
        if mine:
            corpus.read = {e.window: e for _, e in store.extractions() if e.window in mine}
    corpus.windows.sort(key=lambda w: (w.document, w.ordinal))
    return corpus


def _as_stored(window: Window) -> str:
    """The text as the store gives it back to the build: requests must be the same to the letter."""
    text, at = "", window.start
    for each in window.chunks:
        gap = each.start - at
        text += (" " if gap == 1 else "\n" * gap) + each.text
        at = each.end
    return text
