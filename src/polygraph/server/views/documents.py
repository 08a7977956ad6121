"""What the API shows of documents: the list with sizes, windows of a text, its passages and pages."""

import base64
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from polygraph.ids import document_name
from polygraph.records import Document, Metadata
from polygraph.server.problems import Problem, unknown
from polygraph.server.uploads.folder import UploadFolder
from polygraph.store.snapshot import Snapshot
from polygraph.text.passage import HIDDEN_FIELDS

MAX_WINDOW = 200_000
"""Most characters of a text in one response."""
_AROUND = 20_000
"""Characters before a marked span, at least, if the text does not fit into one response."""
_MAX_VALUE = 300
_MAX_UNREAD = 500


def find_documents(
    snapshot: Snapshot, q: str, after: str, limit: int
) -> tuple[list[tuple[str, str, Metadata]], bool]:
    """Return id, title and metadata of documents whose id or title contains `q`, by id, and whether there are more.

    Args:
        snapshot: of the index.
        q: compared without case.
        after: an id; only documents behind it are returned.
        limit: most documents.
    """
    wanted = q.casefold()
    found: Iterator[tuple[str, str, Metadata]] = (
        (id, title, metadata)
        for id, title, metadata in snapshot.store.documents.headers()
        if id > after and (wanted in id.casefold() or wanted in title.casefold())
    )
    first = list(islice(found, limit + 1))
    return first[:limit], len(first) > limit


def document_list(snapshot: Snapshot, q: str, cursor: str, limit: int) -> dict[str, Any]:
    """Return documents whose id or title contains `q`, in the order of their ids.

    Args:
        snapshot: of the index.
        q: compared without case.
        cursor: from an earlier result; empty: from the first.
        limit: most documents.
    """
    after = decode_cursor(cursor)
    found, more = find_documents(snapshot, q, after, limit)
    n_entities = _entity_counts(snapshot, [id for id, _, _ in found])
    return {
        "documents": [
            {
                "id": id,
                "title": title,
                "path": document_name(str(metadata.get("path", id))),
                "size_bytes": _size(snapshot, id),
                "chunks": len(snapshot.chunks_of(id)),
                "entities": n_entities.get(id),
                "fields": _fields(metadata),
            }
            for id, title, metadata in found
        ],
        "unread": [] if after else unread_files(snapshot),
        "next": encode_cursor(found[-1][0]) if more else None,
    }


def unread_files(snapshot: Snapshot) -> list[dict[str, str]]:
    """Return the files that could not be read, each with the reason, and at the end how many are not listed."""
    found = snapshot.store.documents.unread()
    listed = [{"path": path, "reason": reason} for path, reason in found[:_MAX_UNREAD]]
    if len(found) > _MAX_UNREAD:
        listed.append({"path": "", "reason": f"and {len(found) - _MAX_UNREAD:,} more"})
    return listed


def document_text(
    snapshot: Snapshot, id: str, span: tuple[int, int] | None, start: int | None, end: int | None
) -> dict[str, Any]:
    """Return a document, or the part of a long one around a span.

    Args:
        snapshot: of the index.
        id: of the document.
        span: characters to be marked; cut to the text.
        start: first character to return; default: so that the span is inside.
        end: behind the last character to return; at most `MAX_WINDOW` are returned.

    Raises:
        Problem: 404 if there is no such document.
    """
    document = snapshot.store.documents.get(id)
    if document is None:
        raise unknown("document", id, "/api/v1/indexes/INDEX/documents")
    length = len(document.text)
    marked = None if span is None else (min(max(span[0], 0), length), min(max(span[1], span[0], 0), length))
    first = _first(length, marked, start)
    last = min(length, first + MAX_WINDOW, length if end is None else max(first, end))
    found: dict[str, Any] = {
        "id": document.id,
        "title": document.title,
        "text": document.text[first:last],
        "start": first,
        "end": last,
        "length": length,
        "fields": _fields(document.metadata),
        "passages": [
            {"id": c.id, "start": c.start, "end": c.end}
            for c in snapshot.chunks_of(id)
            if c.end > first and c.start < last
        ],
        "span": marked,
    }
    pages = [page for page in _pages(document) if page["end"] > first and page["start"] < last]
    return found | ({"pages": pages} if pages else {})


def encode_cursor(id: str) -> str:
    """Return the place behind an id as an opaque text."""
    return base64.urlsafe_b64encode(id.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Return the id that a cursor stands for.

    Raises:
        Problem: 400 for a text that is no cursor.

    >>> decode_cursor(encode_cursor("a/b.txt"))
    'a/b.txt'
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
    except ValueError as error:
        raise Problem(400, "bad-cursor", "this is not a valid cursor. Start without one") from error


def _first(length: int, marked: tuple[int, int] | None, start: int | None) -> int:
    if start is not None:
        return min(max(start, 0), length)
    if marked is None or length <= MAX_WINDOW:
        return 0
    return max(0, min(marked[0] - _AROUND, length - MAX_WINDOW))


def _pages(document: Document) -> Iterator[dict[str, int]]:
    """Yield number and extent of each page, if the pages are known."""
    starts = document.metadata.get("pages")
    if not isinstance(starts, list):
        return
    bounds = [at for at in starts if isinstance(at, int)]
    for n, at in enumerate(bounds):
        end = bounds[n + 1] if n + 1 < len(bounds) else len(document.text)
        yield {"page": n + 1, "start": at, "end": end}


def _size(snapshot: Snapshot, id: str) -> int:
    document = snapshot.store.documents.get(id)
    return len(document.text.encode("utf-8", "replace")) if document else 0


def _fields(metadata: Metadata) -> dict[str, str]:
    """Return the fields of the source that people read; long and nested ones do not count."""
    return {
        str(name): str(value)[:_MAX_VALUE]
        for name, value in sorted(metadata.items())
        if name not in HIDDEN_FIELDS and isinstance(value, str | int | float | bool)
    }


def _entity_counts(snapshot: Snapshot, documents: Sequence[str]) -> dict[str, int]:
    """Return how many entities some documents mention; empty if the index has no mentions."""
    if "mentions" not in snapshot.layers:
        return {}
    edges, first = snapshot.edges("mentions"), snapshot.n_entities
    found = {}
    for document in documents:
        rows = snapshot.chunk_rows([chunk.id for chunk in snapshot.chunks_of(document)]).values()
        around = [edges.neighbours(first + row) for row in rows]
        found[document] = len(np.unique(np.concatenate(around))) if around else 0
    return found


def to_remove(
    snapshot: Snapshot, document: str, uploads: UploadFolder, *, whole_file: bool
) -> tuple[list[str], list[str]]:
    """Return the documents to be removed, and the uploaded files to be deleted with them.

    Raises:
        Problem: 404 for an unknown document, 409 for one of several records of an uploaded file, which would come back
            when the file is read again.
    """
    found = snapshot.store.documents.get(document)
    if found is None:
        file = uploads.hash_of(str(uploads.folder.resolve() / document))
        if (
            document in {path for path, _ in snapshot.store.documents.unread()}
            and (uploads.folder / file).is_dir()
        ):
            return [], [file]  # an uploaded file that could not be read
        raise unknown("document", document, "/api/v1/indexes/INDEX/documents")
    file = uploads.hash_of(found.source)
    if not file:
        return [document], []
    prefix = f"{file}/"
    siblings = [id for id in snapshot.store.documents.hashes() if id.startswith(prefix) and id != document]
    if siblings and not whole_file:
        raise Problem(
            409,
            "part-of-a-file",
            f"this document is one of {len(siblings) + 1:,} records of an uploaded file and would come back with it. "
            "Remove the whole file with whole_file=true",
        )
    return [document, *siblings], [file]
