"""Ids of chunks and windows: a document's id and a position in it, in one string; names of documents for readers."""

import re

_UPLOAD = re.compile(r"[0-9a-f]{16}/")
"""What stands before the name of an uploaded file in the id of its document."""


def document_name(document: str) -> str:
    """Return the id of a document as people read it: of an uploaded file without the hash that makes it unique.

    >>> document_name("3b1f0c9a2d4e5f60/minutes.pdf"), document_name("2024/minutes.pdf")
    ('minutes.pdf', '2024/minutes.pdf')
    """
    found = _UPLOAD.match(document)
    return document[found.end() :] if found else document


def chunk_id(document: str, ordinal: int) -> str:
    """Return the id of a chunk.

    Args:
        document: id of its document, which may itself contain ``:``.
        ordinal: position among the chunks of the document, from 0.

    >>> chunk_id("notes.md", 3)
    'notes.md:3'
    """
    return f"{document}:{ordinal}"


def document_of_chunk(chunk: str) -> str:
    """Return the id of the document of a chunk; empty for an id of another form.

    >>> document_of_chunk("mail/2.eml:0:3")
    'mail/2.eml:0'
    """
    return chunk.rpartition(":")[0]


def chunk_key(chunk: str) -> tuple[str, int]:
    """Return the sort key of a chunk id: the id of its document, and its position there.

    An id of another form, as a caller's own records may have, is a document of its own.

    >>> sorted(["b.md:2", "b.md:10", "a:9"], key=chunk_key)
    ['a:9', 'b.md:2', 'b.md:10']
    """
    document, _, ordinal = chunk.rpartition(":")
    return (document, int(ordinal)) if ordinal.isascii() and ordinal.isdigit() else (chunk, 0)


def window_id(document: str, ordinal: int) -> str:
    """Return the id of a window, which is no id of a chunk.

    Args:
        document: id of its document.
        ordinal: position among the windows of the document, from 0.

    >>> window_id("notes.md", 3)
    'notes.md@3'
    """
    return f"{document}@{ordinal}"


def document_of_window(window: str) -> str:
    """Return the id of the document of a window.

    >>> document_of_window("notes.md@3")
    'notes.md'
    """
    return window.rpartition("@")[0]
