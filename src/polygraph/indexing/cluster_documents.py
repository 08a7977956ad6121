"""Reading and cutting documents in the workers of a cluster.

A task is a batch of files that its worker reads itself, or of documents that were read here. A worker reads a file only
if it sees one of the same size and age under the same path; the others are read here, and so are large files of many
records, since a task hands back everything at once. What is returned comes in the order of the files, and is that of a
local build.
"""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

from polygraph.execution.protocol import Executor
from polygraph.indexing.documents import Parts, cut_document
from polygraph.ingest import DocumentStream, ReadText, SourceFile, SourceFiles, Unread, read_source
from polygraph.ingest.formats import ARCHIVE, MAIL_ARCHIVE, TABULAR, format_of
from polygraph.models.remote import ModelSource
from polygraph.records import Document
from polygraph.store.manifest import Manifest
from polygraph.text.prose import count_noun

BATCH_BYTES = 400_000
"""Bytes of files, or characters of documents, of one task: about a hundred windows of text."""
BATCH_FILES = 200
"""Files, or documents, of one task."""
MANY_RECORDS_BYTES = 4_000_000
"""Size of a file of records, or of an archive, above which its texts are read here one by one."""
MAX_BLIND = 3
"""Tasks in a row of which the worker could read no file, after which the other files are read here."""

_OfFile: TypeAlias = tuple[SourceFile, int, int]
"""A file, with its size in bytes and the second in which it was changed."""
_Text: TypeAlias = tuple[int, ReadText, Parts | None]
"""A text, the number of texts of its file that may follow, and its chunks and windows if it was cut."""


@dataclass(frozen=True, slots=True)
class Cutter:
    """How a worker cuts documents."""

    source: ModelSource
    """Opens the embedder, whose tokenizer counts."""
    manifest: Manifest

    def cut(self, document: Document) -> Parts:
        """Cut a document, in a worker."""
        return cut_document(document, self.manifest, self.source.open("embedder"))


@dataclass(frozen=True, slots=True)
class _FileBatch:
    """Files that a worker reads and cuts."""

    cutter: Cutter
    files: tuple[_OfFile, ...]
    known: frozenset[str]
    """Hashes of documents that need not be cut."""


@dataclass(frozen=True, slots=True)
class _DocumentBatch:
    """Documents that a worker cuts."""

    cutter: Cutter
    documents: tuple[Document, ...]


def _work(item: _FileBatch | _DocumentBatch) -> list[Any]:
    """Do a task in a worker: return the texts of each file, or the parts of each document."""
    if isinstance(item, _FileBatch):
        return [_read_and_cut(each, item.cutter, item.known) for each in item.files]
    return [item.cutter.cut(document) for document in item.documents]


def _read_and_cut(each: _OfFile, cutter: Cutter, known: frozenset[str]) -> list[_Text] | None:
    """Return the texts of a file; None if this worker does not see the file, or cannot read it."""
    file, *expected = each
    try:
        with file.path.open("rb") as opened:
            if [*_size_and_second(os.fstat(opened.fileno()))] != expected:
                return None
    except OSError:
        return None
    found: list[_Text] = []
    for left, text in read_source(file):
        if text.here_only:
            return None
        document = text.document
        wanted = document is not None and not (known and document.hash in known)
        found.append((left, text, cutter.cut(document) if document is not None and wanted else None))
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """What the result of a task is about."""

    item: _FileBatch | _DocumentBatch
    files: tuple[tuple[int, SourceFile], ...] = ()
    """Files of a batch: each with the number of files after it."""
    texts: tuple[tuple[int, ReadText], ...] = ()
    """Texts of a batch of documents: those that were read here, also those that are not cut."""


class ClusterDocuments:
    """Documents of files that workers read and cut: as those of a `DocumentStream`, with their parts.

    Args:
        sources: the files.
        executor: runs the tasks.
        cutter: how documents are cut.
        known: hash of each document of the index by its id; a document that has it is not cut.
    """

    def __init__(
        self, sources: SourceFiles, executor: Executor, cutter: Cutter, known: Mapping[str, str]
    ) -> None:
        self._files, self._executor, self._cutter, self._known = sources.files, executor, cutter, known
        self._ids = sorted(known)
        self._n_unseen = 0
        self._n_blind = 0
        """Tasks in a row of which the worker could read no file."""
        self._last: tuple[Document, Parts] | None = None
        self._stream = DocumentStream(self._texts(), len(sources.files), sources.unread)

    @property
    def documents(self) -> Iterator[Document]:
        """Each document once; can be iterated once."""
        return self._stream.documents

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read so far, sorted by path."""
        return self._stream.unread

    @property
    def total(self) -> int:
        """Documents so far, and those that may follow."""
        return self._stream.total

    @property
    def notes(self) -> list[str]:
        """What the workers could not do so far."""
        if not self._n_unseen:
            return []
        were = "was" if self._n_unseen == 1 else "were"
        return [
            f"{count_noun(self._n_unseen, 'file')} of {len(self._files):,} {were} read by this command, because "
            "workers did not find the same file at its path, or lack a library that reads it. It is faster if all "
            "nodes see the files at one path and have the same extras"
        ]

    def parts(self, document: Document) -> Parts | None:
        """Return the chunks and windows of the document that was taken last; None if no worker has cut it."""
        last = self._last
        return last[1] if last is not None and last[0] is document else None

    def _texts(self) -> Iterator[tuple[int, ReadText]]:
        """Yield the texts of all files in order, and keep the parts of the last."""
        started: deque[_Task] = deque()
        for result in self._executor.map(_work, self._items(started)):
            task = started.popleft()
            texts: Iterator[_Text]
            if isinstance(task.item, _DocumentBatch):
                cut_here = dict(zip(map(id, task.item.documents), result, strict=True))
                texts = ((left, text, cut_here.get(id(text.document))) for left, text in task.texts)
            else:
                texts = self._of_files(task.files, result)
            for left, text, parts in texts:
                document = text.document
                self._last = (document, parts) if document is not None and parts is not None else None
                yield left, text

    def _of_files(
        self, files: Sequence[tuple[int, SourceFile]], result: Sequence[list[_Text] | None]
    ) -> Iterator[_Text]:
        """Yield the texts of a batch of files; those that the worker could not read are read here."""
        self._n_blind = self._n_blind + 1 if all(texts is None for texts in result) else 0
        for (n_after, file), texts in zip(files, result, strict=True):
            self._n_unseen += texts is None
            if texts is not None:
                yield from ((n_after + left, text, parts) for left, text, parts in texts)
            else:
                yield from ((n_after + left, text, None) for left, text in read_source(file))

    def _items(self, started: deque[_Task]) -> Iterator[_FileBatch | _DocumentBatch]:
        """Yield the items of all tasks, and append what their results are about."""
        for task in self._tasks():
            started.append(task)
            yield task.item

    def _tasks(self) -> Iterator[_Task]:
        batch: list[tuple[int, _OfFile]] = []
        n_bytes = 0
        for n_after, file in zip(range(len(self._files) - 1, -1, -1), self._files, strict=True):
            size, second = _size_and_second_of(file)
            blind = self._n_blind >= MAX_BLIND
            self._n_unseen += blind
            if blind or size < 0 or (_has_records(file) and size > MANY_RECORDS_BYTES):
                if batch:
                    yield self._file_task(batch)
                    batch, n_bytes = [], 0
                yield from self._document_tasks(n_after, file)
                continue
            batch.append((n_after, (file, size, second)))
            n_bytes += size
            if n_bytes >= BATCH_BYTES or len(batch) == BATCH_FILES:
                yield self._file_task(batch)
                batch, n_bytes = [], 0
        if batch:
            yield self._file_task(batch)

    def _file_task(self, batch: Sequence[tuple[int, _OfFile]]) -> _Task:
        files = tuple((n_after, each[0]) for n_after, each in batch)
        known = frozenset(chain.from_iterable(self._known_of(file) for _, file in files))
        return _Task(_FileBatch(self._cutter, tuple(each for _, each in batch), known), files=files)

    def _document_tasks(self, n_after: int, file: SourceFile) -> Iterator[_Task]:
        """Read a file here, and yield its texts in batches."""
        texts: list[tuple[int, ReadText]] = []
        n_chars = 0
        for left, text in read_source(file):
            texts.append((n_after + left, text))
            n_chars += len(text.document.text) if text.document is not None else 0
            if n_chars >= BATCH_BYTES or len(texts) == BATCH_FILES:
                yield self._document_task(texts)
                texts, n_chars = [], 0
        if texts:
            yield self._document_task(texts)

    def _document_task(self, texts: Sequence[tuple[int, ReadText]]) -> _Task:
        documents = (text.document for _, text in texts if text.document is not None)
        wanted = tuple(each for each in documents if self._known.get(each.id) != each.hash)
        return _Task(_DocumentBatch(self._cutter, wanted), texts=tuple(texts))

    def _known_of(self, file: SourceFile) -> Iterator[str]:
        """Yield the hashes of the documents of the index whose ids begin with that of a file."""
        for id_ in islice(self._ids, bisect_left(self._ids, file.id), None):
            if not id_.startswith(file.id):
                return
            yield self._known[id_]


def cut_on(
    executor: Executor, cutter: Cutter, documents: Iterable[Document]
) -> Iterator[tuple[Document, Parts]]:
    """Cut documents that are stored, in the workers of a cluster; yield each with its parts, in order."""
    started: deque[tuple[Document, ...]] = deque()

    def items() -> Iterator[_DocumentBatch]:
        batch: list[Document] = []
        n_chars = 0
        for document in documents:
            batch.append(document)
            n_chars += len(document.text)
            if n_chars >= BATCH_BYTES or len(batch) == BATCH_FILES:
                started.append(tuple(batch))
                yield _DocumentBatch(cutter, started[-1])
                batch, n_chars = [], 0
        if batch:
            started.append(tuple(batch))
            yield _DocumentBatch(cutter, started[-1])

    for result in executor.map(_work, items()):
        yield from zip(started.popleft(), result, strict=True)


def _has_records(file: SourceFile) -> bool:
    return format_of(file) in {*TABULAR, ARCHIVE, MAIL_ARCHIVE}


def _size_and_second(state: os.stat_result) -> tuple[int, int]:
    return state.st_size, int(state.st_mtime)


def _size_and_second_of(file: SourceFile) -> tuple[int, int]:
    """Return the size of a file and the second in which it was changed; -1 for one that cannot be looked at."""
    try:
        return _size_and_second(file.path.stat())
    except OSError:
        return -1, -1
