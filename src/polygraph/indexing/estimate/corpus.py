"""The windows of the index after the build, with the rows that are stored already."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from polygraph.indexing.documents import cut_document, missing_documents
from polygraph.ingest import Documents
from polygraph.models.protocols import Embedder
from polygraph.records import Document, Extraction, Window
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store
from polygraph.text.passage import joined_text

T = TypeVar("T")

_SEED = 11
_BATCH = 512


@dataclass(slots=True, kw_only=True)
class Corpus:
    """All windows of the index after the build."""

    n_documents: int = 0
    n_changed: int = 0
    """Documents that are new, or whose content changed."""
    n_removed: int = 0
    windows: list[Window] = field(default_factory=list)
    """In the order of (document id, ordinal)."""
    extractions: dict[str, Extraction] = field(default_factory=dict)
    """By window: rows that the extractor in use has read and stored."""


def read_corpus(
    store: Store | None,
    loaded: Documents | None,
    roots: Sequence[str],
    manifest: Manifest,
    embedder: Embedder,
) -> Corpus:
    """Chunk what is new or changed, and take the rest from the index; nothing is written.

    Args:
        store: of the index if there is one, open for reading.
        loaded: documents of the paths; None for those of the index alone.
        roots: the paths, absolute.
        manifest: settings of the build.
        embedder: whose tokenizer counts.
    """
    before = store.manifest() if store is not None else None
    known = store.documents.hashes() if store is not None else {}
    changed, present = _changed(store, loaded, roots, known)
    removed = set[str]()
    if store is not None and loaded is not None:
        removed.update(missing_documents(store, known, roots, present, loaded.unread))
    kept = [i for i in known if i not in changed and i not in removed]

    corpus = Corpus(n_documents=len(kept) + len(changed), n_changed=len(changed), n_removed=len(removed))
    if store is not None and before is not None and before.chunker != manifest.chunker:
        changed |= {i: stored for i in kept if (stored := store.documents.get(i)) is not None}
        kept = []
    for document in changed.values():
        _, cut = cut_document(document, manifest, embedder)
        # As the store gives them to the build: equal requests must be equal to the letter.
        corpus.windows += [replace(window, text=joined_text(window.chunks)) for window in cut]
    if store is not None and kept:
        _add_stored(corpus, store, set(kept), manifest.reader)
    corpus.windows.sort(key=lambda w: (w.document, w.ordinal))
    return corpus


def _changed(
    store: Store | None,
    loaded: Documents | None,
    roots: Sequence[str],
    known: dict[str, tuple[str, str]],
) -> tuple[dict[str, Document], set[str]]:
    """Return new and changed documents by id, and the ids of all that were loaded."""
    changed: dict[str, Document] = {}
    present: set[str] = set()
    for document in loaded.documents if loaded is not None else ():
        present.add(document.id)
        old = known.get(document.id)
        if (
            old is not None
            and store is not None
            and (old[1] == document.hash or store.documents.has_imported_text(document))
        ):
            continue
        if old is not None and old[0] not in roots and Path(old[0]).exists():
            continue  # as `index` does: the id belongs to a document of another folder
        changed[document.id] = document
    return changed, present


def _add_stored(corpus: Corpus, store: Store, documents: set[str], reader: str) -> None:
    """Add the stored windows of some documents, with the rows of those that were read."""
    ids = [window.id for window in store.extractions.window_states() if window.document in documents]
    for at in range(0, len(ids), _BATCH):
        corpus.windows += store.extractions.windows(ids[at : at + _BATCH])
    read = set(ids) - set(store.extractions.pending(reader))
    if read:
        corpus.extractions = {e.window: e for _, e in store.extractions.iterate() if e.window in read}


def sample(items: Sequence[T], most: int) -> list[T]:
    """Return all items, or a seeded sample of `most` in their order."""
    if len(items) <= most:
        return list(items)
    chosen = np.random.default_rng(_SEED).choice(len(items), size=most, replace=False)
    return [items[i] for i in sorted(chosen.tolist())]
