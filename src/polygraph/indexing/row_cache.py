"""What is computed from the extraction rows of each document, kept so that only changed documents are read again.

`derived/rows.sqlite` holds the features of the names and the rows of each document, compressed, and the text of each
description once. `index.sqlite` notes the version of the graph that this file was last brought up to date for, and the
documents whose rows changed since. If the versions differ, or the file is missing or damaged, it is written again from
all rows.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from polygraph.arrays import Array, Table, TableBuilder
from polygraph.errors import IndexUnreadable
from polygraph.extract.resolution.constraints import Constraints
from polygraph.extract.resolution.mentions import document_features
from polygraph.extract.resolution.records import Mention, NameRelation
from polygraph.graph.merge.rows import RowKind, Rows, RowsBuilder, read_rows
from polygraph.graph.reports.sentence_quality import quality, split_sentences
from polygraph.graph.reports.sentence_table import Qualities
from polygraph.memory import trim_heap
from polygraph.records import Extraction, digest
from polygraph.store.connection import Connection
from polygraph.store.protocol import Store, StoreReader
from polygraph.store.serialization import dump
from polygraph.store.sql import Row
from polygraph.store.tables import ROWS

REVISION = "6"
"""Raised whenever the same rows may give other features or columns."""
FILE = Path("derived") / "rows.sqlite"
"""Where the cache lies in the folder of an index."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
  id TEXT PRIMARY KEY, features BLOB NOT NULL, mentions BLOB NOT NULL, links BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS texts (hash INTEGER PRIMARY KEY, text TEXT NOT NULL, quality REAL);
"""
MAX_PREPARED = 1_000
"""Documents that are read before all windows have been extracted."""
TEXTS_AT_ONCE = 1 << 14
"""Texts that are read by one statement."""


@dataclass(frozen=True, slots=True)
class _DocumentRows:
    """What is kept of one document."""

    document: str
    features: bytes
    mentions: bytes
    links: bytes
    texts: list[tuple[int, str, float | None]]
    """Hash, text and quality of each description."""


class RowCache:
    """The cache of one index; close it after use.

    Args:
        store: of the index.
        cannot_link: decisions of the user that features depend on.
        language: of the documents.
    """

    def __init__(self, store: Store, cannot_link: frozenset[tuple[str, str]], language: str) -> None:
        self._store, self._cannot_link, self._language = store, cannot_link, language
        self._prepared: dict[str, _DocumentRows] = {}
        self._settings = digest(REVISION, language, *(f"{a}\n{b}" for a, b in sorted(cannot_link)))
        try:
            self._db = self._open()
        except IndexUnreadable:
            delete_row_cache(store)
            self._db = self._open()

    def _open(self) -> Connection:
        path = self._store.folder / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        return Connection(self._store.folder, path, _SCHEMA)

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def is_current(self) -> bool:
        """Return whether the file belongs to this index, apart from documents that changed since."""
        with suppress(IndexUnreadable):
            about: dict[str, str | None] = dict(self._db.rows("SELECT key, value FROM about"))
            known = {"version": self._store.meta(ROWS), "settings": self._settings}
            return about == known and self._db.rows("PRAGMA quick_check(1)") == [("ok",)]
        return False

    def prepare(
        self, document: str, extractions: Sequence[Extraction] | None = None, *, by_model: bool
    ) -> None:
        """Read the rows of a document whose windows have all been extracted, while others wait for a model.

        What is read is used by the next `update`. Of many documents the rest is read then, which bounds memory.

        Args:
            document: its id.
            extractions: of all its windows, in their order, as they are stored; default: read from the store.
            by_model: whether a language model wrote the rows.
        """
        if len(self._prepared) < MAX_PREPARED:
            if extractions is None:
                extractions = [extraction for _, extraction in self._store.extractions.iterate([document])]
            self._prepared[document] = self._read(document, extractions, by_model=by_model)

    def update(self, version: str, *, by_model: bool, rebuild: bool = False) -> None:
        """Read the rows of the documents that changed, or of all.

        Args:
            version: of the graph that is computed next.
            by_model: whether a language model wrote the rows.
            rebuild: read all documents again.
        """
        changed = None
        if rebuild or not self.is_current():
            self._db.close()
            delete_row_cache(self._store)
            self._db = self._open()
        else:
            changed = self._store.extractions.changed_documents()
        with self._db.transaction():
            self._db.execute_many("DELETE FROM documents WHERE id = ?", ((i,) for i in changed or ()))
            self._db.execute("CREATE TEMP TABLE new_texts (hash INTEGER, text TEXT, quality REAL)")
            for rows in self._rows_of(changed, by_model=by_model):
                self._put(rows)
            # In the order of the key, which takes a third of the time.
            self._db.execute("INSERT OR IGNORE INTO texts SELECT * FROM new_texts ORDER BY hash")
            self._db.execute("DROP TABLE new_texts")
            about = [("version", version), ("settings", self._settings)]
            self._db.execute_many("INSERT OR REPLACE INTO about VALUES (?, ?)", about)
        with self._store.transaction():
            self._store.set_meta(ROWS, version)
            self._store.extractions.clear_changed()

    def _rows_of(self, changed: Sequence[str] | None, *, by_model: bool) -> Iterator[_DocumentRows]:
        """Yield the rows of the documents that changed, or of all, by document id."""
        prepared, self._prepared = self._prepared, {}
        if prepared and changed is None:
            changed = sorted({document for _, document in self._store.extractions.window_documents()})
        if changed is not None:
            wanted = set(changed)
            prepared = {document: rows for document, rows in sorted(prepared.items()) if document in wanted}
            changed = [document for document in changed if document not in prepared]
        extractions = self._store.extractions.iterate(changed)
        read = (
            self._read(document, [extraction for _, extraction in group], by_model=by_model)
            for document, group in groupby(extractions, key=itemgetter(0))
        )
        yield from merge(prepared.values(), read, key=attrgetter("document"))

    def _read(self, document: str, extractions: Sequence[Extraction], *, by_model: bool) -> _DocumentRows:
        slots, features = document_features.extract_features(
            document,
            list(_mentions(document, extractions)),
            Constraints(self._cannot_link),
            name_relations(extractions) if by_model else (),
            by_model=by_model,
        )
        numbers = {slot: i for i, slot in enumerate(slots)}
        rows, texts = read_rows(extractions, numbers, self._store.documents.chunk_ordinals(document))
        return _DocumentRows(
            document,
            _packed(features),
            _packed(rows["mentions"]),
            _packed(rows["links"]),
            [(key, text, self._quality(text)) for key, text in texts.items()],
        )

    def _put(self, rows: _DocumentRows) -> None:
        self._db.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?)",
            (rows.document, rows.features, rows.mentions, rows.links),
        )
        self._db.execute_many("INSERT INTO new_texts VALUES (?, ?, ?)", rows.texts)

    def _quality(self, text: str) -> float | None:
        """Return the quality of a text that is one tidy sentence; others are judged sentence by sentence."""
        return quality(text, self._language) if split_sentences(text, self._language) == [text] else None

    def features(self) -> tuple[list[str], Table]:
        """Return the ids of all documents, ascending, and the features of their names."""
        documents, builder = list[str](), TableBuilder(document_features.COLUMNS)
        for document, features in self._db.iterate("SELECT id, features FROM documents ORDER BY id"):
            documents.append(document)
            builder.add(_unpacked(features))
        trim_heap()  # columns that grow side by side leave holes
        return documents, builder.table()

    def rows(self, kind: RowKind) -> Rows:
        """Return the rows of all documents, by document id."""
        builder = RowsBuilder(kind)
        for (rows,) in self._db.iterate(f"SELECT {kind} FROM documents ORDER BY id"):  # noqa: S608
            builder.add(_unpacked(rows))
        trim_heap()
        return builder.rows()

    def delete_texts_except(self, used: Array) -> None:
        """Delete the texts that no row has any more, given the hashes of the others, ascending."""
        stored = np.fromiter((key for (key,) in self._db.iterate("SELECT hash FROM texts")), dtype=np.int64)
        unused = np.setdiff1d(stored, used, assume_unique=True).tolist()
        with self._db.transaction():
            self._db.execute_many("DELETE FROM texts WHERE hash = ?", ((key,) for key in unused))

    def texts(self, keys: Sequence[int]) -> dict[int, str]:
        """Return texts by their hashes."""
        found: dict[int, str] = {}
        for at in range(0, len(keys), TEXTS_AT_ONCE):
            query = "SELECT hash, text FROM texts WHERE hash IN (SELECT value FROM json_each(?))"
            found.update(self._db.rows(query, (json.dumps(keys[at : at + TEXTS_AT_ONCE]),)))
        return found

    def qualities(self) -> Iterator[Row]:
        """Yield hash and quality of each text whose quality is known, by hash."""
        return self._db.iterate("SELECT hash, quality FROM texts WHERE quality IS NOT NULL ORDER BY hash")


def delete_row_cache(store: StoreReader) -> None:
    """Delete the cache of an index; nothing happens if there is none."""
    path = store.folder / FILE
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def known_qualities(store: Store, cannot_link: frozenset[tuple[str, str]], language: str) -> Qualities | None:
    """Return the qualities of descriptions that are one sentence each, if the cache is current."""
    with closing(RowCache(store, cannot_link, language)) as cache:
        if not cache.is_current():
            return None
        found = np.fromiter(cache.qualities(), dtype=[("hash", np.int64), ("quality", np.float64)])
    return found["hash"], found["quality"]


def _mentions(document: str, extractions: Sequence[Extraction]) -> Iterator[Mention]:
    for extraction in extractions:
        for row in extraction.entities:
            yield Mention(
                document=document,
                window=extraction.window,
                name=row.name,
                type=row.type,
                description=row.description,
            )


def name_relations(extractions: Iterable[Extraction]) -> Iterator[NameRelation]:
    """Yield what relation rows say about the names of their windows."""
    for extraction in extractions:
        for row in extraction.relations:
            yield NameRelation(
                window=extraction.window, source=row.source, target=row.target, predicate=row.predicate
            )


def _packed(value: object) -> bytes:
    return zlib.compress(dump(value).encode(), 1)


def _unpacked(data: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise IndexUnreadable(
            f"{FILE} is damaged ({error}). Delete it and run the same command again."
        ) from error
