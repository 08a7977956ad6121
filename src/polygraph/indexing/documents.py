"""Documents of an index: comparing them with what was loaded, and cutting them into chunks and windows."""

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path, PurePath, PurePosixPath
from typing import TypeAlias

from polygraph.errors import quoted
from polygraph.indexing.progress import BuildReport, Progress
from polygraph.ingest import Documents, Unread
from polygraph.ingest.chunk import chunk, windows
from polygraph.models.protocols import Embedder
from polygraph.records import Chunk, Document, Window
from polygraph.store.generations import unread_paths
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store, StoreReader
from polygraph.text.prose import join_list

_SPECIAL_TOKENS = 2
"""Tokens that an embedder puts around a text."""

Parts: TypeAlias = tuple[Sequence[Chunk], Sequence[Window]]
"""The chunks of a document, and its windows."""


def update_documents(
    store: Store,
    loaded: Documents,
    roots: Sequence[str],
    cut: Callable[[Document], Parts],
    progress: Progress,
    on_change: Callable[[], object] = lambda: None,
    within: Sequence[str] | None = None,
) -> BuildReport:
    """Update the documents of the index to those that were loaded.

    New and changed documents (by content) are cut into chunks and stored. Documents that came from the same roots and
    are no longer there are removed. The others stay untouched. A document whose id belongs to a document of another
    root is not stored but listed as unread, so that nothing is overwritten. If that root is no longer there, as when a
    folder was moved, or if the document was imported, it belongs to the root where it is found from now on. A file that
    is in the index by another root, as one of a folder within a folder, keeps its id and that root.

    Args:
        store: open for writing.
        loaded: documents, which may be read while they are consumed.
        roots: the folders, files or globs that were given, absolute.
        cut: returns the parts of a document that is new or changed.
        progress: called before the first document and after each.
        on_change: called before the first change, if there is any.
        within: files and folders below the roots, absolute, if only these were read. Of the rest of the roots,
            documents stay, and so does the list of what could not be read.

    Returns:
        What was added, changed and removed, and what could not be read.
    """
    places = None if within is None else frozenset(map(Path, within))

    def was_read(path: Path) -> bool:
        return places is None or not places.isdisjoint((path, *path.parents))

    known = store.documents.hashes()
    report = BuildReport()
    unread: list[tuple[str, str]] = []
    moved: list[tuple[str, str, str]] = []
    obsolete: set[str] = set()
    present: set[str] = set()

    def before_change() -> None:
        if not (report.added or report.changed or report.removed):
            on_change()

    others = {root for root, _ in known.values()}.difference(roots)
    progress("documents", 0, loaded.total)
    for done, found in enumerate(loaded.documents, 1):
        document, elsewhere = _as_indexed(found, known, roots, others)
        present.add(document.id)
        before = known.get(document.id)
        if before is not None and (before[1] == document.hash or store.documents.has_imported_text(document)):
            report.unchanged += 1
            if before[0] not in roots and not (Path(before[0]).exists() or has_magic(before[0])):
                moved.append((document.id, _root_of(document, roots), document.source))
        elif before is not None and before[0] not in roots and not elsewhere and Path(before[0]).exists():
            reason = f"its id stands for a document of {before[0]}: index both together, or in two indexes"
            unread.append((document.id, reason))
        else:
            before_change()
            _put(store, document, elsewhere or _root_of(document, roots), cut(document))
            if before is None:
                report.added += 1
            else:
                report.changed += 1
                obsolete.add(document.id)
        progress("documents", done, loaded.total)
    progress("documents", len(present), loaded.total)  # the last files may have held nothing
    unread += [(u.path, u.reason) for u in loaded.unread]
    for document_id in missing_documents(store, known, roots, present, loaded.unread, was_read):
        before_change()
        with store.transaction():
            store.documents.remove(document_id)
        report.removed += 1
        obsolete.add(document_id)
    report.unread = tuple(sorted(unread))
    listed = store.documents.unread()
    with store.transaction():
        store.documents.set_roots(moved)
        if obsolete:
            store.reports.remove_written(obsolete)
            store.graph.remove_written_summaries(obsolete)
        _list_unread(store, roots, report.unread, was_read)
    if store.documents.unread() != listed:
        on_change()  # so that open readers notice
    return report


def _list_unread(
    store: Store, roots: Sequence[str], unread: Iterable[tuple[str, str]], was_read: Callable[[Path], bool]
) -> None:
    """Replace what is listed as unread of the files that were looked for; the new ones stand under the first root."""
    still = {
        root: [each for each in store.documents.unread(root) if not was_read(Path(root) / each[0])]
        for root in roots
    }
    first = roots[0] if roots else ""
    still[first] = [*still.get(first, ()), *unread]
    for root, listed in still.items():
        store.documents.set_unread(root, listed)


def missing_documents(
    store: StoreReader,
    known: Mapping[str, tuple[str, str]],
    roots: Sequence[str],
    present: Container[str],
    unread: Iterable[Unread],
    was_read: Callable[[Path], bool] = lambda _: True,
) -> list[str]:
    """Return the ids of the documents that are no longer below their root.

    A file that could not be read this time keeps what was read from it before.

    Args:
        store: of the index.
        known: root and content hash of its documents, by id.
        roots: the folders, files or globs that were given, absolute.
        present: ids of the documents that were found.
        unread: what could not be read.
        was_read: tells of the file of a document whether it was looked for.
    """
    paths = [each.path for each in unread if not each.was_read]
    kept = {*paths, *(path.rpartition(":")[0] for path in paths)}
    missing = []
    for document_id, (root, _) in known.items():
        if root not in roots or document_id in present:
            continue
        document = store.documents.get(document_id)
        if document is not None and not was_read(Path(document.source)):
            continue
        path = document.metadata.get("path", document_id) if document else document_id
        within = (str(above) for above in PurePosixPath(str(path)).parents)  # a file of an archive
        if path not in kept and document_id not in kept and kept.isdisjoint(within):
            missing.append(document_id)
    return missing


def _as_indexed(
    document: Document, known: Mapping[str, tuple[str, str]], roots: Sequence[str], others: Container[str]
) -> tuple[Document, str]:
    """Return a document as the index has its file by another root, and that root; else as it is, and an empty text.

    Args:
        document: as it was read by one of `roots`.
        known: root and content hash of the documents of the index, by id.
        roots: the folders, files or globs that were given, absolute.
        others: other roots of the index; of those that are still there, the outermost that has the file counts.
    """
    path, source = str(document.metadata.get("path", "")), PurePath(document.source)
    is_own = document.id in known and known[document.id][0] in roots
    if is_own or not document.id.startswith(path):
        return document, ""
    for place in (*reversed(source.parents), source):
        root = str(place)
        inner = source.name if place == source else source.relative_to(place).as_posix()
        id = f"{inner}{document.id.removeprefix(path)}"
        if root in others and known.get(id, ("",))[0] == root and Path(root).exists():
            return replace(document, id=id, metadata={**document.metadata, "path": inner}), root
    return document, ""


def _root_of(document: Document, roots: Sequence[str]) -> str:
    """Return the given folder or file that a document came from; a glob stands for itself."""
    under = [
        root for root in roots if document.source == root or document.source.startswith(f"{root}{os.sep}")
    ]
    return max(under, key=len, default=roots[0])


def reading_notes(store: StoreReader) -> list[str]:
    """Return a note with the fix if documents may be missing because their reading was stopped; else nothing."""
    unread = unread_paths(store)
    if not unread:
        return []
    return [
        f"the reading of {join_list(unread)} was stopped, so documents may be missing. Read the rest with: "
        f"polygraph index {' '.join(map(quoted, unread))} --index {quoted(store.place)}"
    ]


def rechunk_documents(
    store: Store,
    cut_each: Callable[[Iterable[Document]], Iterable[tuple[Document, Parts]]],
    progress: Progress,
) -> None:
    """Cut every stored document again, after the settings of the chunker changed.

    Args:
        store: open for writing.
        cut_each: returns each document with its parts, in order.
        progress: called after each document.
    """
    roots = {document_id: root for document_id, (root, _) in store.documents.hashes().items()}
    stored = (document for i in roots if (document := store.documents.get(i)) is not None)
    for done, (document, parts) in enumerate(cut_each(stored), 1):
        _put(store, document, roots[document.id], parts)
        progress("documents", done, len(roots))


def _put(store: Store, document: Document, root: str, parts: Parts) -> None:
    with store.transaction():
        store.documents.put(document, root, *parts)


def cut_document(document: Document, manifest: Manifest, embedder: Embedder) -> Parts:
    """Cut a document into chunks and windows as the manifest says."""
    chunks = chunk_document(document, manifest, embedder)
    return chunks, windows(document, chunks, max_tokens=manifest.window_tokens)


def chunk_document(document: Document, manifest: Manifest, embedder: Embedder) -> list[Chunk]:
    """Cut a document into chunks as the manifest says."""
    return chunk(
        document,
        embedder.count,
        max_tokens=manifest.chunk_tokens,
        limit=embedder.max_tokens - _SPECIAL_TOKENS,
        language=manifest.language,
        overlap_tokens=manifest.overlap_tokens,
    )
