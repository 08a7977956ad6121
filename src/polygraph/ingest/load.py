"""Documents from files: one by one as they are asked for, or all at once."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from polygraph.errors import BadInput, MissingExtra, UserError
from polygraph.ingest.archives import read_members
from polygraph.ingest.content import FileContent, LoadedTable, LoadedText
from polygraph.ingest.decode import HoldsNothing, clean, read_bytes
from polygraph.ingest.discover import SourceFile, Unread, discover, path_text
from polygraph.ingest.formats import (
    ARCHIVE,
    BINARY,
    TABULAR,
    check_known,
    format_of,
    read_content,
    read_file,
)
from polygraph.ingest.ignore import EVERYTHING, Selection
from polygraph.ingest.readers.plain_text import file_title, first_line_title, short_title
from polygraph.ingest.source_fields import date_of
from polygraph.records import Document, Json, Table
from polygraph.text.headings import headings

_OWN_FIELDS = ("path", "format", "encoding", "pages")
_REASONS_SHOWN = 3
_REASON_CHARS = 300
MAX_BYTES = 200_000_000
"""Size of a file, packed or unpacked, above which it is not read."""


class Documents(Protocol):
    """Documents that are in memory, or that are read as they are asked for."""

    @property
    def documents(self) -> Iterable[Document]:
        """Each document once; can be iterated once."""

    @property
    def unread(self) -> Sequence[Unread]:
        """What could not be read, sorted by path; complete when all documents were taken."""

    @property
    def total(self) -> int:
        """How many documents there are, as far as that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Documents in memory."""

    documents: tuple[Document, ...]
    """Sorted by id; at least one."""
    unread: tuple[Unread, ...]
    """Sorted by path."""

    @property
    def total(self) -> int:
        """How many documents there are."""
        return len(self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files of some paths, before they are read."""

    paths: tuple[str, ...]
    """As they were given."""
    files: tuple[SourceFile, ...]
    """Sorted by id."""
    unread: tuple[Unread, ...]
    """What is not followed, sorted by path."""

    def within(self, places: Sequence[str | Path]) -> "SourceFiles":
        """Return those of the files that are, or are below, some files and folders."""
        resolved = {Path(place).resolve() for place in places}
        chosen = (f for f in self.files if not resolved.isdisjoint((f.path, *f.path.parents)))
        return SourceFiles(paths=self.paths, files=tuple(chosen), unread=self.unread)


class ReadText(NamedTuple):
    """What became of one text of a file: a document, or the reason why there is none."""

    file: str
    """Id of the file."""
    location: str
    """Id of the file, plus ``:`` and the line, row or position of a record, or ``#`` and the id of the record."""
    document: Document | None = None
    reason: str = ""
    here_only: bool = False
    """Whether the reason may be that of this machine: the file cannot be opened, or a library is missing."""
    holds_nothing: bool = False
    """Whether it was read, and there is no text in it."""


class DocumentStream:
    """Documents in the order of their files' ids, those of one file in their order there.

    A text is read when it is asked for. Memory holds the text of one file and the ids of all documents so far, so
    that the second of two with one id is found.

    Args:
        texts: of all files, in order, each with the number of texts and files that may follow it.
        n_files: that the texts are of.
        unread: what is known not to be readable.
    """

    def __init__(
        self, texts: Iterable[tuple[int, ReadText]], n_files: int, unread: Iterable[Unread] = ()
    ) -> None:
        self._unread = list(unread)
        self._file_of: dict[str, str] = {}
        """File by the id of each document so far."""
        self._left = n_files
        documents = self._distinct(texts)
        first = next(documents, None)
        self.documents: Iterator[Document] = chain([] if first is None else [first], documents)

    @property
    def empty(self) -> bool:
        """True if nothing could be read."""
        return not self._file_of

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read so far, sorted by path."""
        return tuple(sorted(self._unread, key=lambda each: (each.path, each.reason)))

    @property
    def total(self) -> int:
        """Documents so far, and those that may follow, counting one for each file that was not read yet."""
        return len(self._file_of) + self._left

    def _distinct(self, texts: Iterable[tuple[int, ReadText]]) -> Iterator[Document]:
        for self._left, text in texts:
            document, reason = text.document, text.reason
            if document is not None and (other := self._file_of.get(document.id)) is not None:
                reason = f"its id {document.id!r} is taken by a record of {other}; give each an id of its own"
                document = None
            if document is None:
                was_read = text.holds_nothing or text.document is not None
                self._unread.append(_unread(text.location, reason, was_read=was_read))
            else:
                self._file_of[document.id] = text.file
                yield document
        self._left = 0


def read_source(file: SourceFile, max_bytes: int = MAX_BYTES) -> Iterator[tuple[int, ReadText]]:
    """Read the texts of one file, each when it is asked for, with the number that may follow it.

    Nothing is raised: a file or record that cannot be read is a text with a reason.
    """
    try:
        if format_of(file) == ARCHIVE:
            yield from _read_archive(file, max_bytes)
        else:
            yield from _read_texts(file, *read_file(file, max_bytes))
    except Exception as problem:
        yield 0, _failed(file, problem)


def _read_archive(file: SourceFile, max_bytes: int) -> Iterator[tuple[int, ReadText]]:
    """Read the files of an archive as those of a folder of its name."""
    for member in read_members(read_bytes(file.path, max_bytes), max_bytes):
        inner = SourceFile(path=file.path / member.name, id=f"{file.id}/{member.name}")
        try:
            if member.reason:
                raise BadInput(member.reason)
            if format_of(inner) == ARCHIVE or inner.path.name.lower().endswith(".gz"):
                raise BadInput("is an archive inside an archive; unpack it to read it")
            check_known(inner)
            content = read_content(format_of(inner), member.data, max_bytes)
            yield from _read_texts(inner, *content)
        except Exception as problem:
            yield 0, _failed(inner, problem)


def _read_texts(file: SourceFile, content: FileContent, encoding: str) -> Iterator[tuple[int, ReadText]]:
    n_texts = len(content.texts)
    for done, text in enumerate(content.texts, 1):
        document = _document(file, text, encoding)
        location = _location(file, text)
        if document.text.strip():
            yield n_texts - done, ReadText(file=file.id, location=location, document=document)
        else:
            yield n_texts - done, ReadText(file.id, location, reason="holds no text", holds_nothing=True)
    for bad in content.bad_records:
        location = _record_id(file, bad.key) if bad.key else f"{file.id}:{bad.ordinal}"
        yield 0, ReadText(file.id, location, reason=bad.reason, holds_nothing=bad.holds_nothing)


def _failed(file: SourceFile, problem: Exception) -> ReadText:
    here_only = isinstance(problem, OSError | MissingExtra)
    return ReadText(
        file.id,
        file.id,
        reason=_reason(problem, file),
        here_only=here_only,
        holds_nothing=isinstance(problem, HoldsNothing),
    )


def find_files(paths: Sequence[str | Path], selection: Selection = EVERYTHING) -> list[SourceFile]:
    """Return the files that paths stand for, sorted by id; see `discover`."""
    return discover(paths, selection)[0]


def find_sources(paths: Sequence[str | Path], selection: Selection = EVERYTHING) -> SourceFiles:
    """Return the files that paths stand for, and what is not followed; see `discover`."""
    paths = [paths] if isinstance(paths, str) else paths
    files, unread = discover(paths, selection)
    return SourceFiles(paths=tuple(map(str, paths)), files=tuple(files), unread=tuple(unread))


def read_documents(
    paths: Sequence[str | Path], *, selection: Selection = EVERYTHING, max_bytes: int = MAX_BYTES
) -> DocumentStream:
    """Read the documents of folders, files and patterns (see `discover`), each when it is asked for.

    A document's id is the id of its file. A record of a file with several (`csv`, `json`, `jsonl`) has the id
    ``<file id>#<record id>``, with the line, row or position (from 1) for a record without an id; in a JSON or JSON
    Lines file that was itself given, and in any file whose name begins with ``corpus.``, a record's own id is the
    document's id. A message of an `mbox` is a record too (see `readers.mail_archive`). Of two documents with one id the
    second is listed as unread. A zip file is read as a folder of its name.

    Metadata are the record's other fields, or the front matter of Markdown, the header lines of a mail, the author and
    date that a page or the properties of a file state, the day that a text or its file's name begins with (`date`),
    and `path` (the file's id), `format`, `encoding` (if not UTF-8), `pages` (offsets where pages start) and `source`
    (the address, of a page that `polygraph fetch` wrote). A field of the source with one of these names
    gets an underscore behind it.

    Args:
        paths: folders, files, patterns.
        selection: which files of folders and patterns are read.
        max_bytes: files that are larger, packed or unpacked, are not read; of an `mbox`, messages that are larger.

    Raises:
        BadInput: as `discover`, and if nothing at all can be read.
    """
    return read_sources(find_sources(paths, selection), max_bytes=max_bytes)


def read_sources(
    sources: SourceFiles, *, max_bytes: int = MAX_BYTES, may_be_empty: bool = False
) -> DocumentStream:
    """Read the documents of files that were found, as `read_documents` does.

    Raises:
        BadInput: if nothing at all can be read, unless `may_be_empty`.
    """

    def texts() -> Iterator[tuple[int, ReadText]]:
        for n, file in enumerate(sources.files, 1):
            for left, text in read_source(file, max_bytes):
                yield len(sources.files) - n + left, text

    stream = DocumentStream(texts(), len(sources.files), sources.unread)
    if stream.empty and not may_be_empty:
        unread = stream.unread
        shown = "; ".join(f"{each.path} {each.reason}" for each in unread[:_REASONS_SHOWN])
        more = f"; and {len(unread) - _REASONS_SHOWN} more" if len(unread) > _REASONS_SHOWN else ""
        where = ", ".join(sources.paths[:_REASONS_SHOWN])
        raise BadInput(f"nothing could be read from {where}: {shown}{more}")
    return stream


def load_documents(paths: Sequence[str | Path], *, max_bytes: int = MAX_BYTES) -> Loaded:
    """Read all documents at once, as `read_documents` does, and sort them by id."""
    stream = read_documents(paths, max_bytes=max_bytes)
    documents = tuple(sorted(stream.documents, key=lambda document: document.id))
    return Loaded(documents=documents, unread=stream.unread)


def _document(file: SourceFile, loaded: LoadedText, encoding: str) -> Document:
    own: dict[str, Json] = {"path": file.id, "format": format_of(file)}
    if encoding:
        own["encoding"] = encoding
    metadata: dict[str, Json] = {}
    for name, value in loaded.metadata.items():
        taken = name in _OWN_FIELDS and not (name == "pages" and own["format"] in BINARY)
        metadata[f"{name}_" if taken else name] = value
    text = clean(loaded.text)
    whole_file = not loaded.ordinal and not loaded.key
    if whole_file and own["format"] not in TABULAR and not any(n.casefold() == "date" for n in metadata):
        # A table with one row may be the head of a memorandum.
        rows = {clean(line) for table in loaded.tables if len(table.rows) > 1 for line in table.lines}
        metadata |= date_of(text, file.id, rows)
    if file.url:
        metadata["source"] = file.url
    title = short_title(clean(loaded.title))
    if not title and (loaded.ordinal or own["format"] not in TABULAR):
        title = short_title(first_line_title(text))
    if own["format"] == "code":
        title = short_title(PurePosixPath(file.id).name)
    if not title:
        name = loaded.key or str(loaded.ordinal or "")
        own_name = file.has_document_ids and loaded.key
        title = name if own_name else f"{file_title(file.url.rstrip('/') or file.id)} {name}".strip()
    return Document(
        id=_document_id(file, loaded),
        title=title,
        text=text,
        metadata=metadata | own,
        source=path_text(file.path),
        tables=_located(loaded.tables, text),
    )


def _located(tables: Sequence[LoadedTable], text: str) -> tuple[Table, ...]:
    """Find the rows of tables in a text; a table of which a row is not found is left out."""
    if not tables:
        return ()
    sections = headings(text)
    starts = [start for start, _ in sections]
    found: list[Table] = []
    position = 0
    for table in tables:
        spans: list[tuple[int, int]] = []
        at = position
        for line in map(clean, table.lines):
            start = _line_start(text, line, at)
            if start < 0:
                break
            at = start + len(line)
            spans.append((start, at))
        if len(spans) < len(table.lines):
            continue
        position = at
        above = bisect_right(starts, spans[0][0])
        found.append(
            Table(
                title=table.title or (sections[above - 1][1] if above else ""),
                columns=tuple(map(clean, table.columns)),
                rows=tuple(tuple(map(clean, row)) for row in table.rows),
                spans=tuple(spans),
            )
        )
    return tuple(found)


def _line_start(text: str, line: str, position: int) -> int:
    """Return where a whole line stands in a text, at or after a position; -1 if it does not."""
    while (start := text.find(line, position)) >= 0:
        end = start + len(line)
        if (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] == "\n"):
            return start
        position = start + 1
    return -1


def _document_id(file: SourceFile, loaded: LoadedText) -> str:
    if loaded.key:
        return _record_id(file, loaded.key)
    return f"{file.id}#{loaded.ordinal}" if loaded.ordinal else file.id


def _record_id(file: SourceFile, key: str) -> str:
    return key if file.has_document_ids else f"{file.id}#{key}"


def _location(file: SourceFile, loaded: LoadedText) -> str:
    return f"{file.id}:{loaded.ordinal}" if loaded.ordinal else file.id


def _reason(problem: Exception, file: SourceFile) -> str:
    """Return why a file could not be read.

    Readers of foreign formats fail in many ways on damaged files; none may end the whole build.
    """
    if isinstance(problem, UserError):
        return str(problem)
    if isinstance(problem, OSError):
        return f"cannot be opened: {problem.strerror or problem}"
    reason = f"cannot be read as {format_of(file)}: {type(problem).__name__}: {problem}"
    return f"{reason}. It may be damaged; save it again"


def _unread(path: str, reason: str, *, was_read: bool) -> Unread:
    reason = " ".join(clean(reason).split())
    return Unread(
        path=path,
        reason=reason if len(reason) <= _REASON_CHARS else reason[: _REASON_CHARS - 1] + "…",
        was_read=was_read,
    )
