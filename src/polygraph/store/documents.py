"""Documents, their chunks and windows, and the files that could not be read."""

import json
from collections.abc import Iterable, Iterator, Sequence

from polygraph.records import Chunk, Document, Json, Span, Table, Window
from polygraph.store.serialization import chunk_of, dump, load
from polygraph.store.sql import SqlConnection
from polygraph.text.passage import Heading, date_of, with_heading
from polygraph.text.tokens import count_many

SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
  id TEXT PRIMARY KEY, root TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
  metadata TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS documents_headings ON documents (id, title, metadata);
CREATE TABLE IF NOT EXISTS unread (path TEXT PRIMARY KEY, root TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
  id TEXT PRIMARY KEY, n INTEGER, document TEXT NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL,
  end INTEGER NOT NULL, text TEXT NOT NULL, n_tokens INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_by_document ON chunks (document, ordinal);
CREATE INDEX IF NOT EXISTS chunks_by_n ON chunks (n);
CREATE TABLE IF NOT EXISTS tables (
  document TEXT NOT NULL, ordinal INTEGER NOT NULL, title TEXT NOT NULL, columns TEXT NOT NULL, rows TEXT NOT NULL,
  spans TEXT NOT NULL, PRIMARY KEY (document, ordinal)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passage_lengths (chunk TEXT PRIMARY KEY, n_tokens INTEGER NOT NULL) WITHOUT ROWID;
"""
CHUNKS_VERSION = "chunks_version"
"""Key of what was computed from all documents; deleted when one of them changes."""


class DocumentTables:
    """`store.protocol.DocumentStore` in SQL tables."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection
        # A row of the table itself holds the text, which takes several pages.
        self._headings = f"documents {connection.dialect.indexed_by('documents_headings')}"

    # --- documents ----------------------------------------------------------------------------------

    def get(self, document: str) -> Document | None:
        """Return one document with its text; None if there is none of this id."""
        found = self._db.rows(
            "SELECT id, title, text, metadata, source FROM documents WHERE id = ?", (document,)
        )
        if not found:
            return None
        i, title, text, metadata, source = found[0]
        tables = self.tables_of([i]).get(i, ())
        return Document(id=i, title=title, text=text, metadata=load(metadata), source=source, tables=tables)

    def tables_of(self, documents: Sequence[str]) -> dict[str, tuple[Table, ...]]:
        """Return the tables of some documents by document id; documents without any are left out."""
        found: dict[str, list[Table]] = {}
        for document in dict.fromkeys(documents):
            query = "SELECT title, columns, rows, spans FROM tables WHERE document = ? ORDER BY ordinal"
            for title, columns, rows, spans in self._db.rows(query, (document,)):
                table = Table(
                    title=title,
                    columns=tuple(load(columns)),
                    rows=tuple(tuple(row) for row in load(rows)),
                    spans=tuple((start, end) for start, end in load(spans)),
                )
                found.setdefault(document, []).append(table)
        return {document: tuple(tables) for document, tables in found.items()}

    def headers(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        """Yield id, title and metadata of every document, by id."""
        for i, title, metadata in self._db.iterate("SELECT id, title, metadata FROM documents ORDER BY id"):
            yield i, title, load(metadata)

    def titles(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the titles of some documents by id; unknown ids are left out."""
        return dict(self._db.by_key("SELECT id, title FROM documents WHERE id IN", documents))

    def headings(self, documents: Sequence[str]) -> dict[str, Heading]:
        """Return title and short fields of some documents by id; unknown ids are left out."""
        query = f"SELECT id, title, metadata FROM {self._headings} WHERE id IN"  # noqa: S608
        found = self._db.by_key(query, documents)
        return {i: Heading.of(title, load(metadata)) for i, title, metadata in found}

    def metadata_of(self, documents: Sequence[str]) -> dict[str, dict[str, Json]]:
        """Return the metadata of some documents by id, without reading their texts; unknown ids are left out."""
        query = f"SELECT id, metadata FROM {self._headings} WHERE id IN"  # noqa: S608
        return {i: load(metadata) for i, metadata in self._db.by_key(query, documents)}

    def dates(self, documents: Sequence[str]) -> dict[str, str]:
        """Return the dates of some documents by id, as their headings have them; unknown ids are left out."""
        query = f"SELECT id, metadata FROM {self._headings} WHERE id IN"  # noqa: S608
        found = self._db.by_key(query, documents)
        # Most documents have no field of that name.
        return {i: date_of(load(metadata)) if "date" in metadata.casefold() else "" for i, metadata in found}

    def has_dates(self) -> bool:
        """Tell whether some document may have a date: False only if `dates` has none for any document."""
        query = f"SELECT 1 FROM {self._headings} WHERE lower(metadata) LIKE '%date%' LIMIT 1"  # noqa: S608
        return bool(self._db.rows(query))

    def hashes(self) -> dict[str, tuple[str, str]]:
        """Return root and content hash of every document by id."""
        # Many documents have the same root, which is kept in memory once.
        roots: dict[str, str] = {}
        found = self._db.iterate("SELECT id, root, hash FROM documents ORDER BY id")
        return {i: (roots.setdefault(root, root), content) for i, root, content in found}

    def content_hashes(self) -> Iterator[tuple[str, str]]:
        """Yield id and content hash of every document, by id."""
        yield from self._db.iterate("SELECT id, hash FROM documents ORDER BY id")

    def chunked(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, content hash and title of every document that has chunks, by id."""
        yield from self._db.iterate(
            "SELECT id, hash, title FROM documents d "
            "WHERE EXISTS (SELECT 1 FROM chunks WHERE document = d.id) ORDER BY id"
        )

    def has_imported_text(self, document: Document) -> bool:
        """Tell whether an imported graph rests on a document of the same id and text.

        Replacing that document would lose the imported rows; title and metadata may differ.
        """
        found = self._db.rows(
            "SELECT text FROM documents WHERE id = ? AND EXISTS "
            "(SELECT 1 FROM windows WHERE document = documents.id AND extractor LIKE 'imported:%')",
            (document.id,),
        )
        return bool(found) and found[0][0] == document.text

    def put(self, document: Document, root: str, chunks: Sequence[Chunk], windows: Sequence[Window]) -> None:
        """Add a document, or replace the one of the same id and everything extracted from it."""
        self.remove(document.id)
        self._forget_version()
        metadata = json.dumps(document.metadata, ensure_ascii=False, sort_keys=True, default=str)
        d = document
        self._db.insert("documents", [(d.id, root, d.source, d.title, d.text, metadata, d.hash)])
        self._db.insert(
            "chunks",
            [
                (
                    c.id,
                    None,
                    c.document,
                    c.ordinal,
                    c.start,
                    c.end,
                    c.text,
                    c.n_tokens,
                    dump(dict(c.metadata)),
                )
                for c in chunks
            ],
        )
        self._db.insert(
            "tables",
            [
                (document.id, n, t.title, dump(list(t.columns)), dump(list(t.rows)), dump(list(t.spans)))
                for n, t in enumerate(document.tables)
            ],
        )
        # Opening the tokenizer takes longer than most questions, so that counts are made once, here.
        heading = Heading.of(document.title, document.metadata)
        counts = count_many([with_heading(heading, chunk.text, chunk.metadata) for chunk in chunks])
        self._db.insert("passage_lengths", [(chunk.id, n) for chunk, n in zip(chunks, counts, strict=True)])
        self._db.insert(
            "windows (id, document, ordinal, first, last)",
            [(w.id, w.document, w.ordinal, w.chunks[0].ordinal, w.chunks[-1].ordinal) for w in windows],
        )

    def set_roots(self, found: Iterable[tuple[str, str, str]]) -> None:
        """Record where documents are found now, as ``(document, root, source)``."""
        self._db.execute_many(
            "UPDATE documents SET root = ?, source = ? WHERE id = ?",
            ((root, source, document) for document, root, source in found),
        )

    def remove(self, document: str) -> None:
        """Delete a document, its chunks and windows, and every row that was extracted from it."""
        if not self._db.rows("SELECT 1 FROM documents WHERE id = ?", (document,)):
            return  # new, or already gone, as when an interrupted removal continues
        # The graph knows nothing of a document that was never read.
        self._db.execute(
            "INSERT INTO reread SELECT DISTINCT document FROM windows WHERE document = ? AND status != '' "
            "ON CONFLICT DO NOTHING",
            (document,),
        )
        for table in ("entity_rows", "relation_rows"):
            self._db.execute(
                f'DELETE FROM {table} WHERE "window" IN (SELECT id FROM windows WHERE document = ?)',  # noqa: S608
                (document,),
            )
        self._db.execute(
            "DELETE FROM passage_lengths WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)",
            (document,),
        )
        for table in ("windows", "chunks", "tables"):
            self._db.execute(f"DELETE FROM {table} WHERE document = ?", (document,))  # noqa: S608
        self._db.execute("DELETE FROM documents WHERE id = ?", (document,))
        self._forget_version()

    def _forget_version(self) -> None:
        self._db.execute("DELETE FROM meta WHERE key = ?", (CHUNKS_VERSION,))

    def unread(self, root: str | None = None) -> list[tuple[str, str]]:
        """Return the files (of one root) that could not be read, as ``(path, reason)``, by path."""
        if root is None:
            rows = self._db.rows("SELECT path, reason FROM unread ORDER BY path")
        else:
            rows = self._db.rows("SELECT path, reason FROM unread WHERE root = ? ORDER BY path", (root,))
        return [(path, reason) for path, reason in rows]

    def set_unread(self, root: str, unread: Iterable[tuple[str, str]]) -> None:
        """Replace the list of files under a root that could not be read, as ``(path, reason)``."""
        self._db.execute("DELETE FROM unread WHERE root = ?", (root,))
        self._db.execute_many(
            "INSERT INTO unread VALUES (?, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET root = excluded.root, reason = excluded.reason",
            [(path, root, reason) for path, reason in unread],
        )

    # --- chunks -------------------------------------------------------------------------------------

    def number_chunks(self) -> int:
        """Number all chunks in the order of (document id, ordinal); return how many there are."""
        self._db.execute(
            "UPDATE chunks SET n = r.n FROM "
            "(SELECT id, row_number() OVER (ORDER BY document, ordinal) - 1 AS n FROM chunks) AS r "
            "WHERE chunks.id = r.id AND (chunks.n IS NULL OR chunks.n != r.n)"
        )
        return int(self._db.rows("SELECT count(*) FROM chunks")[0][0])

    def chunks_by_row(self, rows: Sequence[int]) -> list[Chunk]:
        """Return chunks by row number, in the order asked for."""
        return [chunk_of(row[1:]) for row in self._db.by_key("SELECT n, * FROM chunks WHERE n IN", rows)]

    def chunk_ids_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return ids of chunks by row number, in the order asked for; their texts are not read."""
        return dict(self._db.by_key("SELECT n, id FROM chunks WHERE n IN", rows))

    def chunks_by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order asked for; unknown ids are left out."""
        return [chunk_of(row[1:]) for row in self._db.by_key("SELECT id, * FROM chunks WHERE id IN", ids)]

    def chunks_of(self, document: str) -> list[Chunk]:
        """Return the chunks of one document, in order."""
        rows = self._db.rows("SELECT * FROM chunks WHERE document = ? ORDER BY ordinal", (document,))
        return [chunk_of(row) for row in rows]

    def chunk_texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield every chunk as ``(row, title of its document, text)``, by row."""
        yield from self._db.iterate(
            "SELECT c.n, d.title, c.text FROM chunks c JOIN documents d ON d.id = c.document ORDER BY c.n"
        )

    def passage_tokens(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the tokens of some chunks with title and fields above them, by chunk id; unknown ids are left out."""
        query = "SELECT chunk, n_tokens FROM passage_lengths WHERE chunk IN"
        return dict(self._db.by_key(query, ids))

    def texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of some chunks by id; unknown ids are left out."""
        return dict(self._db.by_key("SELECT id, text FROM chunks WHERE id IN", ids))

    def spans_of(self, ids: Sequence[str]) -> dict[str, Span]:
        """Return the spans of some whole chunks by id; unknown ids are left out."""
        query = 'SELECT id, document, start, "end" FROM chunks WHERE id IN'
        found = self._db.by_key(query, ids)
        return {i: Span(document, i, start, end) for i, document, start, end in found}

    def chunk_rows(self, ids: Sequence[str] | None = None) -> dict[str, int]:
        """Return row numbers by chunk id: of all chunks by row, or of some in the order asked for."""
        if ids is None:
            return dict(self._db.iterate("SELECT id, n FROM chunks ORDER BY n"))
        return dict(self._db.by_key("SELECT id, n FROM chunks WHERE id IN", ids))

    def chunk_documents(self) -> Iterator[str]:
        """Yield the document id of every chunk, by row."""
        for (document,) in self._db.iterate("SELECT document FROM chunks ORDER BY n"):
            yield document

    def chunk_counts(self) -> list[tuple[str, int]]:
        """Return the number of chunks of every document that has some, by document id."""
        query = "SELECT document, count(*) FROM chunks GROUP BY document ORDER BY document"
        return [(document, n) for document, n in self._db.rows(query)]

    def chunk_ordinals(self, document: str) -> dict[str, int]:
        """Return the ordinal of every chunk of a document by chunk id."""
        return dict(self._db.rows("SELECT id, ordinal FROM chunks WHERE document = ?", (document,)))

    def n_chunks_of(self, document: str) -> int:
        """Return how many chunks a document has; none of them is read."""
        return int(self._db.rows("SELECT count(*) FROM chunks WHERE document = ?", (document,))[0][0])
