"""Reading files into documents.

`find` says which files a path means; `read` hands out their documents one by one, `load` all at once. A file or record
that cannot be read is listed with its reason, and the rest goes on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

from polygraph.errors import BadInput, UserError
from polygraph.ingest.content import Content, Draft
from polygraph.ingest.decode import clean, decode, read_bytes
from polygraph.ingest.discover import Found, Unread, suffix, survey
from polygraph.ingest.html import declared_charset, read_html
from polygraph.ingest.office import read_docx, read_epub, read_pdf, read_pptx, read_xlsx
from polygraph.ingest.plain_text import (
    file_title,
    first_line_title,
    read_markdown,
    read_plain,
    read_rst,
    short_title,
)
from polygraph.ingest.tables import read_csv, read_json, read_jsonl
from polygraph.records import Document, Json

__all__ = ["FORMATS", "Documents", "Found", "Loaded", "Reading", "Unread", "find", "load", "read"]

FORMATS: Mapping[str, str] = {
    ".txt": "txt", ".text": "txt", ".md": "md", ".markdown": "md", ".rst": "rst",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".pdf": "pdf", ".docx": "docx", ".pptx": "pptx", ".xlsx": "xlsx", ".epub": "epub",
}  # fmt: skip
"""Format by the ending of a file's name; each may be followed by ``.gz``."""

_TEXT_READERS: Mapping[str, Callable[[str], Content]] = {
    "txt": read_plain,
    "md": read_markdown,
    "rst": read_rst,
    "html": read_html,
    "csv": read_csv,
    "tsv": lambda text: read_csv(text, delimiter="\t"),
    "json": read_json,
    "jsonl": read_jsonl,
}
_OFFICE_READERS: Mapping[str, Callable[[bytes, int], Content]] = {
    "pdf": lambda data, _: read_pdf(data),
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
}
_TABULAR = frozenset({"csv", "tsv", "json", "jsonl", "xlsx"})
"""Read as one document, such a file begins with some field, not with a title."""
_OWN_FIELDS = ("path", "format", "encoding", "pages")
_REASONS_SHOWN = 3
_REASON_CHARS = 300
_MAX_BYTES = 200_000_000


class Documents(Protocol):
    """Documents that are there, or that are read as they are asked for."""

    @property
    def documents(self) -> Iterable[Document]:
        """Each once; to be gone through once."""

    @property
    def unread(self) -> Sequence[Unread]:
        """What could not be read, sorted by path; complete when all documents were taken."""

    @property
    def total(self) -> int:
        """How many documents there are, as far as that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was read."""

    documents: tuple[Document, ...]
    """Sorted by id; at least one."""
    unread: tuple[Unread, ...]
    """Sorted by path."""

    @property
    def total(self) -> int:
        """How many documents there are."""
        return len(self.documents)


class Reading:
    """Documents in the order of their files' ids, those of one file in their order there.

    A file is read when its first document is asked for. In memory are the text of one file and the ids of all
    documents so far, by which the second of two with one id is told.

    Args:
        files: in order.
        unread: what is known not to be readable.
        on_file: told the id of each file before it is read.
        max_bytes: files that are larger are not read.
    """

    def __init__(
        self,
        files: Sequence[Found],
        unread: Iterable[Unread] = (),
        *,
        on_file: Callable[[str], None] | None = None,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        self._files, self._on_file, self._max_bytes = files, on_file, max_bytes
        self._unread = list(unread)
        self._places: dict[str, str] = {}
        self._left = len(files)
        documents = self._read()
        first = next(documents, None)
        self.documents: Iterator[Document] = chain([] if first is None else [first], documents)

    @property
    def empty(self) -> bool:
        """Whether nothing could be read."""
        return not self._places

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read so far, sorted by path."""
        return tuple(sorted(self._unread, key=lambda each: (each.path, each.reason)))

    @property
    def total(self) -> int:
        """Documents so far, and those that may follow: one for a file that was not read yet."""
        return len(self._places) + self._left

    def _read(self) -> Iterator[Document]:
        for n, file in enumerate(self._files, 1):
            left = self._left = len(self._files) - n
            if self._on_file:
                self._on_file(file.id)
            try:
                content, encoding = _read(file, self._max_bytes)
                n_drafts = len(content.drafts)
                for done, draft in enumerate(content.drafts, 1):
                    self._left = left + n_drafts - done
                    document = _document(file, draft, encoding)
                    if not document.text.strip():
                        self._unread.append(_unread(_place(file, draft), "holds no text"))
                    elif (where := self._places.get(document.id)) is not None:
                        reason = f"its id {document.id!r} is taken by a record of {where}; give each an id of its own"
                        self._unread.append(_unread(_place(file, draft), reason))
                    else:
                        self._places[document.id] = file.id
                        yield document
                self._unread += [_unread(f"{file.id}:{flaw.ordinal}", flaw.reason) for flaw in content.flaws]
                del content  # not held while the next file is read
            except UserError as problem:
                self._unread.append(_unread(file.id, str(problem)))
            except OSError as problem:
                self._unread.append(_unread(file.id, f"cannot be opened: {problem.strerror or problem}"))
            except Exception as problem:
                # Readers of foreign formats fail in many ways on damaged files; none may end the whole build.
                reason = f"cannot be read as {_format(file)}: {type(problem).__name__}: {problem}"
                self._unread.append(_unread(file.id, f"{reason}. It may be damaged; save it again"))
            self._left = left


def find(paths: Sequence[str | Path]) -> list[Found]:
    """Find the files that paths mean.

    A folder means all files below it, except hidden files and folders and indexes (``*.index``); a pattern
    such as ``docs/**/*.md`` the files that match; a file itself. Links are followed to files inside the
    folder only.

    A file's id is its path relative to the folder that was given, or to the part of a pattern before the
    first wildcard; the name alone for a file that was given. Where two files would have one id, each gets
    the name of the folder above in front, and so on until they differ. A file that is meant twice is found
    once.

    Returns:
        Files sorted by id.

    Raises:
        BadInput: if a path does not exist, a pattern matches no file, or a folder holds none.
    """
    return survey(paths)[0]


def read(
    paths: Sequence[str | Path],
    *,
    on_file: Callable[[str], None] | None = None,
    max_bytes: int = _MAX_BYTES,
) -> Reading:
    """Read the documents of folders, files and patterns (see `find`), each when it is asked for.

    A document's id is the id of its file. A record of a file with several (`csv`, `json`, `jsonl`) has the id
    ``<file id>#<record id>``, with the line, row or place (from 1) for a record that has no id; in a JSON or
    JSON Lines file that was itself given, and in any file whose name begins with ``corpus.``, a record's own
    id is the document's id as it stands. Of two documents with one id the second is listed as unread.

    Metadata are the record's other fields, or the front matter of Markdown, and `path` (the file's id),
    `format`, `encoding` (if not UTF-8) and `pages` (offsets where pages start). A field of the source with
    such a name gets an underscore behind it.

    Args:
        paths: folders, files, patterns.
        on_file: told the id of each file before it is read.
        max_bytes: files that are larger, packed or unpacked, are not read.

    Raises:
        BadInput: as `find`, and if nothing at all can be read.
    """
    paths = [paths] if isinstance(paths, str) else paths
    found = Reading(*survey(paths), on_file=on_file, max_bytes=max_bytes)
    if found.empty:
        unread = found.unread
        shown = "; ".join(f"{each.path} {each.reason}" for each in unread[:_REASONS_SHOWN])
        more = f"; and {len(unread) - _REASONS_SHOWN} more" if len(unread) > _REASONS_SHOWN else ""
        where = ", ".join(str(path) for path in paths[:_REASONS_SHOWN])
        raise BadInput(f"nothing could be read from {where}: {shown}{more}")
    return found


def load(
    paths: Sequence[str | Path],
    *,
    on_file: Callable[[str], None] | None = None,
    max_bytes: int = _MAX_BYTES,
) -> Loaded:
    """Read all documents at once, as `read` does, and sort them by id."""
    found = read(paths, on_file=on_file, max_bytes=max_bytes)
    documents = tuple(sorted(found.documents, key=lambda document: document.id))
    return Loaded(documents=documents, unread=found.unread)


def _format(file: Found) -> str:
    return FORMATS.get(suffix(file.path.name), "txt")


def _read(file: Found, max_bytes: int) -> tuple[Content, str]:
    ending = suffix(file.path.name)
    if ending not in FORMATS and not file.named:
        what = (
            f"has the ending {ending!r}, which is not read"
            if ending
            else "has no ending that tells its format"
        )
        raise BadInput(f"{what}; to read it as plain text, give the file itself as a path")
    kind = _format(file)
    data = read_bytes(file.path, max_bytes)
    if kind in _OFFICE_READERS:
        return _OFFICE_READERS[kind](data, max_bytes), ""
    text, encoding = decode(data, declared_charset(data) if kind == "html" else "")
    if not text or text.isspace():
        raise BadInput("is empty")
    if kind not in _TABULAR:  # there, what we take for a line end may stand inside a field
        text = clean(text)
    return _TEXT_READERS[kind](text), "" if encoding == "utf-8" else encoding


def _document(file: Found, draft: Draft, encoding: str) -> Document:
    own: dict[str, Json] = {"path": file.id, "format": _format(file)}
    if encoding:
        own["encoding"] = encoding
    metadata: dict[str, Json] = {}
    for name, value in draft.metadata.items():
        taken = name in _OWN_FIELDS and not (name == "pages" and own["format"] in _OFFICE_READERS)
        metadata[f"{name}_" if taken else name] = value
    text = clean(draft.text)
    title = short_title(clean(draft.title))
    if not title and (draft.ordinal or own["format"] not in _TABULAR):
        title = short_title(first_line_title(text))
    if not title:
        name = draft.key or str(draft.ordinal or "")
        title = name if file.bare and draft.key else f"{file_title(file.id)} {name}".strip()
    return Document(
        id=_document_id(file, draft), title=title, text=text, metadata=metadata | own, source=str(file.path)
    )


def _document_id(file: Found, draft: Draft) -> str:
    if draft.key:
        return draft.key if file.bare else f"{file.id}#{draft.key}"
    return f"{file.id}#{draft.ordinal}" if draft.ordinal else file.id


def _place(file: Found, draft: Draft) -> str:
    return f"{file.id}:{draft.ordinal}" if draft.ordinal else file.id


def _unread(path: str, reason: str) -> Unread:
    reason = " ".join(clean(reason).split())
    return Unread(
        path=path, reason=reason if len(reason) <= _REASON_CHARS else reason[: _REASON_CHARS - 1] + "…"
    )
