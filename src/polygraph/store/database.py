"""`index.sqlite`: the only truth of an index.

Documents, chunks, windows and extraction rows are stored as they came; entities, relations, communities and
reports are views, rewritten from them in one transaction. Other processes read the last committed state.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from polygraph.errors import IndexUnreadable
from polygraph.graph.merge.diff import GraphMoves, Moves
from polygraph.graph.reports.members import Counted
from polygraph.records import (
    Chunk,
    Community,
    Document,
    Entity,
    EntityRow,
    Extraction,
    Json,
    Relation,
    RelationRow,
    Report,
    Span,
    Triple,
    Window,
)
from polygraph.store.atomic_files import sync
from polygraph.store.connection import FILE_NAME, connect, connect_to_read, explain_storage
from polygraph.store.manifest import Manifest
from polygraph.store.renumber import move_graph
from polygraph.store.serialization import (
    chunk_of,
    dump,
    entity_of,
    load,
    load_strings,
    n_strings,
    relation_of,
    report_from_json,
    report_of,
    triple_of,
)
from polygraph.text.normalize import normalise

_BATCH = 500
_PIECE = 1 << 16
"""Bytes of a long value that are read at once."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
  id TEXT PRIMARY KEY, root TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
  metadata TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS unread (path TEXT PRIMARY KEY, root TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
  id TEXT PRIMARY KEY, n INTEGER, document TEXT NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL,
  end INTEGER NOT NULL, text TEXT NOT NULL, n_tokens INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_by_document ON chunks (document, ordinal);
CREATE INDEX IF NOT EXISTS chunks_by_n ON chunks (n);
CREATE TABLE IF NOT EXISTS windows (
  id TEXT PRIMARY KEY, document TEXT NOT NULL, ordinal INTEGER NOT NULL, first INTEGER NOT NULL,
  last INTEGER NOT NULL, extractor TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT '',
  problem TEXT NOT NULL DEFAULT '', raw TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS windows_by_document ON windows (document, ordinal);
CREATE TABLE IF NOT EXISTS entity_rows (
  window TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
  description TEXT NOT NULL, spans TEXT NOT NULL, PRIMARY KEY (window, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS relation_rows (
  window TEXT NOT NULL, seq INTEGER NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
  predicate TEXT NOT NULL, keywords TEXT NOT NULL, description TEXT NOT NULL, strength REAL NOT NULL,
  chunks TEXT NOT NULL, PRIMARY KEY (window, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reread (document TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decisions (
  kind TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (kind, a, b)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS merges (
  entity TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL, rule TEXT NOT NULL, score REAL NOT NULL,
  other TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entities (
  n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, type TEXT NOT NULL,
  aliases TEXT NOT NULL, descriptions TEXT NOT NULL, chunks TEXT NOT NULL, degree INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS names (
  name TEXT NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (name, entity)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS relations (
  n INTEGER PRIMARY KEY, source INTEGER NOT NULL, target INTEGER NOT NULL, predicates TEXT NOT NULL,
  keywords TEXT NOT NULL, descriptions TEXT NOT NULL, weight REAL NOT NULL, chunks TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS relations_by_source ON relations (source);
CREATE INDEX IF NOT EXISTS relations_by_target ON relations (target);
CREATE TABLE IF NOT EXISTS triples (
  n INTEGER PRIMARY KEY, source INTEGER NOT NULL, target INTEGER NOT NULL, predicate TEXT NOT NULL,
  weight REAL NOT NULL, chunks TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS triples_by_source ON triples (source);
CREATE INDEX IF NOT EXISTS triples_by_target ON triples (target);
CREATE TABLE IF NOT EXISTS communities (
  id TEXT PRIMARY KEY, level INTEGER NOT NULL, parent TEXT NOT NULL, entities TEXT NOT NULL,
  chunks TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS members (
  entity TEXT NOT NULL, community TEXT NOT NULL, PRIMARY KEY (entity, community)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
  community TEXT PRIMARY KEY, level INTEGER NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,
  findings TEXT NOT NULL, rating REAL NOT NULL, chunks TEXT NOT NULL, weight REAL NOT NULL,
  written_by TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS written (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS layers (
  name TEXT PRIMARY KEY, version TEXT NOT NULL, n_rows INTEGER NOT NULL, seconds REAL NOT NULL);
"""

ROWS = "rows"
"""Key of the note which kept rows belong to the tables of the graph (see `kept_rows`)."""

_VIEWS = {
    "graph": ("entities", "names", "relations", "triples", "merges"),
    "communities": ("communities", "members"),
    "reports": ("reports", "written"),
}
"""Tables that a layer consists of."""

T = TypeVar("T")


class Store:
    """The tables of one index.

    Args:
        folder: the index; created when `mode` is ``write``.
        mode: ``write`` for the one writer (hold the lock first), ``read`` for any number of readers. A reader
            sees one state for as long as it is open.
        durability: ``full`` also survives a loss of power.
        file: for reading, a copy of the tables (see `copy_to`) instead of the tables themselves.

    Raises:
        IndexUnreadable: if there is no index, or it is damaged.
        StorageFailed: if the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        mode: Literal["read", "write"],
        durability: Literal["normal", "full"] = "normal",
        file: str = FILE_NAME,
    ) -> None:
        self.folder = folder
        path = folder / file
        if mode == "read" and not path.is_file():
            raise IndexUnreadable(
                f"there is no index at {folder}. Make one with: polygraph index PATH --index {folder}"
            )
        try:
            if mode == "write":
                folder.mkdir(parents=True, exist_ok=True)
                self._db = connect(path)
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
                # All tables or none, so that an index whose making was cut short can be made again.
                self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            else:
                self._db = connect_to_read(path)
                self._db.execute("PRAGMA query_only = 1")
                self._db.execute("BEGIN")
                self._db.execute("SELECT count(*) FROM layers").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise explain_storage(error, folder) from error

    def close(self) -> None:
        """Release the files."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain_storage(error, self.folder) from error
            raise

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query; for the modules of `store` and `build` only."""
        try:
            return self._db.execute(query, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise explain_storage(error, self.folder) from error

    def _each(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Run a query row by row."""
        try:
            yield from self._db.execute(query)
        except sqlite3.DatabaseError as error:
            raise explain_storage(error, self.folder) from error

    def copy_to(self, path: Path) -> None:
        """Copy all tables, as they are now, to a file that can be opened for reading only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            copy = sqlite3.connect(temporary, isolation_level=None)
            try:
                self._db.backup(copy)
                # No log beside it, so that it can be opened without a lock and replaced by a rename.
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()
        except sqlite3.Error as error:
            temporary.unlink(missing_ok=True)
            raise explain_storage(error, self.folder) from error
        sync(temporary)
        temporary.replace(path)

    def scrub(self) -> bool:
        """Write the file anew without unused pages, and empty its log.

        Returns:
            False if a reader still holds the former state, which keeps the log.
        """
        try:
            self._db.execute("VACUUM")
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise explain_storage(error, self.folder) from error
        return not busy

    # --- settings -----------------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        """A value that was kept under a name."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Keep a value under a name; None forgets it."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            self._db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

    def manifest(self) -> Manifest | None:
        """What the index was built with; None before the first build."""
        found = self.rows("SELECT value FROM meta WHERE key = 'manifest'")
        return Manifest.loads(found[0][0]) if found else None

    def set_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('manifest', ?)", (manifest.dumps(),))

    def notes(self) -> list[str]:
        """What is weaker than it could be in the layers as they are, each once, in alphabetical order."""
        return sorted({note for notes in self._notes_by_layer().values() for note in notes})

    def set_notes(self, layer: str, notes: Iterable[str]) -> None:
        """Replace what there was to say about a layer."""
        found = {**self._notes_by_layer(), layer: sorted(set(notes))}
        held = {name: found[name] for name in sorted(found) if found[name]}
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('notes', ?)", (dump(held),))

    def _notes_by_layer(self) -> dict[str, list[str]]:
        found = self.rows("SELECT value FROM meta WHERE key = 'notes'")
        held = load(found[0][0]) if found else {}
        # Earlier indexes have one list for all layers.
        return held if isinstance(held, dict) else {"graph": list(held)}

    # --- documents, chunks, windows -----------------------------------------------------------------

    def document_hashes(self) -> dict[str, tuple[str, str]]:
        """Root and hash of every document by id."""
        # Many documents come from one root, which is in memory once.
        once: dict[str, str] = {}
        found = self._each("SELECT id, root, hash FROM documents ORDER BY id")
        return {i: (once.setdefault(root, root), h) for i, root, h in found}

    def document_contents(self) -> Iterator[tuple[str, str]]:
        """Id and hash of every document, by id."""
        yield from self._each("SELECT id, hash FROM documents ORDER BY id")

    def imported_alike(self, document: Document) -> bool:
        """Whether a graph was imported with this document's text, whatever its title and metadata are there.

        Its rows would be lost if the document took the place of its like.
        """
        found = self.rows(
            "SELECT text FROM documents WHERE id = ? AND EXISTS "
            "(SELECT 1 FROM windows WHERE document = documents.id AND extractor LIKE 'imported:%')",
            (document.id,),
        )
        return bool(found) and found[0][0] == document.text

    def put_document(
        self, document: Document, root: str, chunks: Sequence[Chunk], windows: Sequence[Window]
    ) -> None:
        """Add a document or replace the one of the same id, with all that was read from it."""
        self.remove_document(document.id)
        db = self._db
        db.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                document.id,
                root,
                document.source,
                document.title,
                document.text,
                json.dumps(document.metadata, ensure_ascii=False, sort_keys=True, default=str),
                document.hash,
            ),
        )
        db.executemany(
            "INSERT INTO chunks VALUES (?, NULL, ?, ?, ?, ?, ?, ?, ?)",
            [
                (c.id, c.document, c.ordinal, c.start, c.end, c.text, c.n_tokens, dump(dict(c.metadata)))
                for c in chunks
            ],
        )
        db.executemany(
            "INSERT INTO windows (id, document, ordinal, first, last) VALUES (?, ?, ?, ?, ?)",
            [(w.id, w.document, w.ordinal, w.chunks[0].ordinal, w.chunks[-1].ordinal) for w in windows],
        )

    def remove_document(self, document: str) -> None:
        """Delete a document and every row that was read from it."""
        db = self._db
        # Of one that is not there, as when a removal goes on, nothing is left to be read anew.
        db.execute("INSERT OR IGNORE INTO reread SELECT id FROM documents WHERE id = ?", (document,))
        for table in ("entity_rows", "relation_rows"):
            db.execute(
                f"DELETE FROM {table} WHERE window IN (SELECT id FROM windows WHERE document = ?)",  # noqa: S608
                (document,),
            )
        for table in ("windows", "chunks"):
            db.execute(f"DELETE FROM {table} WHERE document = ?", (document,))  # noqa: S608
        db.execute("DELETE FROM documents WHERE id = ?", (document,))

    def set_unread(self, root: str, unread: Iterable[tuple[str, str]]) -> None:
        """Replace the list of files under a root that could not be read, as ``(path, reason)``."""
        self._db.execute("DELETE FROM unread WHERE root = ?", (root,))
        self._db.executemany(
            "INSERT OR REPLACE INTO unread VALUES (?, ?, ?)", [(p, root, r) for p, r in unread]
        )

    def unread(self) -> list[tuple[str, str]]:
        """Files that could not be read, as ``(path, reason)``."""
        return [(p, r) for p, r in self.rows("SELECT path, reason FROM unread ORDER BY path")]

    def number_chunks(self) -> int:
        """Give every chunk its row number in the order of (document, ordinal); return how many there are."""
        self._db.execute(
            "UPDATE chunks SET n = r.n FROM "
            "(SELECT id, row_number() OVER (ORDER BY document, ordinal) - 1 AS n FROM chunks) AS r "
            "WHERE chunks.id = r.id AND chunks.n IS NOT r.n"
        )
        return int(self._db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def chunks(self, ns: Sequence[int]) -> list[Chunk]:
        """Chunks by row number, in the order asked for."""
        return self._by_key("SELECT n, * FROM chunks WHERE n IN", ns, lambda row: chunk_of(row[1:]))

    def chunks_by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """Chunks by id, in the order asked for; unknown ids are left out."""
        return self._by_key("SELECT id, * FROM chunks WHERE id IN", ids, lambda row: chunk_of(row[1:]))

    def chunks_of(self, document: str) -> list[Chunk]:
        """Chunks of one document, in order."""
        rows = self.rows("SELECT * FROM chunks WHERE document = ? ORDER BY ordinal", (document,))
        return [chunk_of(row) for row in rows]

    def chunk_numbers(self) -> dict[str, int]:
        """Row number of every chunk by id."""
        return dict(self.rows("SELECT id, n FROM chunks ORDER BY n"))

    def chunk_ids(self) -> Iterator[str]:
        """Id of every chunk, by row number."""
        for (i,) in self._each("SELECT id FROM chunks ORDER BY n"):
            yield i

    def chunk_counts(self) -> list[tuple[str, int]]:
        """Number of chunks of every document that has some, by its id."""
        query = "SELECT document, count(*) FROM chunks GROUP BY document ORDER BY document"
        return [(document, n) for document, n in self.rows(query)]

    def chunks_in(self, document: str) -> dict[str, int]:
        """Ordinal of every chunk of a document by id."""
        return dict(self.rows("SELECT id, ordinal FROM chunks WHERE document = ?", (document,)))

    def chunk_numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Row numbers of some chunks by id, in the order asked for; unknown ids are left out."""
        return dict(self._by_key("SELECT id, n FROM chunks WHERE id IN", ids, lambda row: row))

    def chunk_texts(self) -> Iterator[tuple[int, str, str]]:
        """Every chunk as ``(n, title of its document, text)``, in order."""
        yield from self._each(
            "SELECT c.n, d.title, c.text FROM chunks c JOIN documents d ON d.id = c.document ORDER BY c.n"
        )

    def chunk_texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        """Texts of some chunks by id."""
        return {c.id: c.text for c in self.chunks_by_id(ids)}

    def titles(self, documents: Sequence[str]) -> dict[str, str]:
        """Titles of some documents by id."""
        found = self._by_key("SELECT id, title FROM documents WHERE id IN", documents, lambda row: row)
        return dict(found)

    def document(self, document: str) -> Document | None:
        """One document whole."""
        found = self.rows("SELECT id, title, text, metadata, source FROM documents WHERE id = ?", (document,))
        if not found:
            return None
        i, title, text, metadata, source = found[0]
        return Document(id=i, title=title, text=text, metadata=load(metadata), source=source)

    def documents(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        """Id, title and metadata of every document, sorted by id."""
        for i, title, metadata in self._each("SELECT id, title, metadata FROM documents ORDER BY id"):
            yield i, title, load(metadata)

    def documents_cut(self) -> Iterator[tuple[str, str, str]]:
        """Id, hash and title of every document that has chunks, by id."""
        yield from self._each(
            "SELECT id, hash, title FROM documents d "
            "WHERE EXISTS (SELECT 1 FROM chunks WHERE document = d.id) ORDER BY id"
        )

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    # --- extraction ---------------------------------------------------------------------------------

    def pending_windows(self, extractor: str) -> list[str]:
        """Ids of the windows that this extractor has not read, in the order of (document, ordinal).

        What was imported is never read again: the text may be only a part of what its rows rest on.
        """
        found = self.rows(
            "SELECT id FROM windows WHERE (extractor != ? AND extractor NOT LIKE 'imported:%') "
            "OR status = 'failed' ORDER BY document, ordinal",
            (extractor,),
        )
        return [i for (i,) in found]

    def windows(self, ids: Sequence[str]) -> list[Window]:
        """Windows by id with their chunks, in the order asked for."""

        def build(row: tuple[Any, ...]) -> Window:
            _, i, document, ordinal, first, last, title = row
            found = self.rows(
                "SELECT * FROM chunks WHERE document = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
                (document, first, last),
            )
            chunks = tuple(chunk_of(chunk) for chunk in found)
            # Between two chunks lies white space only, so it can be restored without reading the document.
            text, at = "", chunks[0].start
            for chunk in chunks:
                gap = chunk.start - at
                text += (" " if gap == 1 else "\n" * gap) + chunk.text
                at = chunk.end
            return Window(id=i, document=document, ordinal=ordinal, title=title, chunks=chunks, text=text)

        return self._by_key(
            "SELECT w.id, w.id, w.document, w.ordinal, w.first, w.last, d.title FROM windows w "
            "JOIN documents d ON d.id = w.document WHERE w.id IN",
            ids,
            build,
        )

    def put_extraction(self, extraction: Extraction, extractor: str) -> None:
        """Store what came out of one window, replacing what stood there."""
        db, window = self._db, extraction.window
        db.execute("INSERT OR IGNORE INTO reread SELECT document FROM windows WHERE id = ?", (window,))
        db.execute("DELETE FROM entity_rows WHERE window = ?", (window,))
        db.execute("DELETE FROM relation_rows WHERE window = ?", (window,))
        db.executemany(
            "INSERT INTO entity_rows VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    window,
                    seq,
                    e.name,
                    e.type,
                    e.description,
                    dump([[s.chunk, s.start, s.end] for s in e.spans]),
                )
                for seq, e in enumerate(extraction.entities)
            ],
        )
        db.executemany(
            "INSERT INTO relation_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    window,
                    seq,
                    r.source,
                    r.target,
                    r.predicate,
                    dump(r.keywords),
                    r.description,
                    r.strength,
                    dump(r.chunks),
                )
                for seq, r in enumerate(extraction.relations)
            ],
        )
        db.execute(
            "UPDATE windows SET extractor = ?, status = ?, problem = ?, raw = ? WHERE id = ?",
            (extractor, extraction.status, extraction.problem, extraction.raw, window),
        )

    def extractions(self, documents: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Extractions of some documents or of all, with the ids of these, in the order of (document, ordinal)."""
        query = "SELECT id, document, status, problem FROM windows WHERE status != ''"
        if documents is None:
            found = self.rows(f"{query} ORDER BY document, ordinal")
        else:
            found = [
                row
                for document in sorted(documents)
                for row in self.rows(f"{query} AND document = ? ORDER BY ordinal", (document,))
            ]
        for window, document, status, problem in found:
            entities = self.rows(
                "SELECT name, type, description, spans FROM entity_rows WHERE window = ? ORDER BY seq",
                (window,),
            )
            relations = self.rows(
                "SELECT source, target, predicate, keywords, description, strength, chunks "
                "FROM relation_rows WHERE window = ? ORDER BY seq",
                (window,),
            )
            yield (
                document,
                Extraction(
                    window=window,
                    entities=tuple(
                        EntityRow(
                            name=name,
                            type=kind,
                            description=description,
                            spans=tuple(Span(document, c, a, b) for c, a, b in load(spans)),
                        )
                        for name, kind, description, spans in entities
                    ),
                    relations=tuple(
                        RelationRow(
                            source=source,
                            target=target,
                            predicate=predicate,
                            keywords=tuple(load(keywords)),
                            description=description,
                            strength=strength,
                            chunks=tuple(load(chunks)),
                        )
                        for source, target, predicate, keywords, description, strength, chunks in relations
                    ),
                    status=status,
                    problem=problem,
                ),
            )

    def reread(self) -> list[str]:
        """Documents whose extraction rows changed since the graph was last written."""
        return [document for (document,) in self.rows("SELECT document FROM reread ORDER BY document")]

    def forget_reread(self) -> None:
        """Note that the graph now follows all rows."""
        self._db.execute("DELETE FROM reread")

    def read_windows(self) -> list[str]:
        """Ids of the windows that an extractor has read, in the order of (document, ordinal)."""
        found = self.rows("SELECT id FROM windows WHERE status != '' ORDER BY document, ordinal")
        return [i for (i,) in found]

    def unread_windows(self, ids: Sequence[str]) -> None:
        """Forget what was read from some windows, so that they are read again."""
        self._db.executemany(
            "INSERT OR IGNORE INTO reread SELECT document FROM windows WHERE id = ?", [(i,) for i in ids]
        )
        for table in ("entity_rows", "relation_rows"):
            self._db.executemany(f"DELETE FROM {table} WHERE window = ?", [(i,) for i in ids])  # noqa: S608
        self._db.executemany(
            "UPDATE windows SET extractor = '', status = '', problem = '', raw = '' WHERE id = ?",
            [(i,) for i in ids],
        )

    def window_states(self) -> dict[str, int]:
        """Number of windows by status; not yet read ones under ``pending``."""
        found = self.rows("SELECT status, count(*) FROM windows GROUP BY status ORDER BY status")
        return {status or "pending": n for status, n in found}

    def failures(self) -> list[tuple[str, str, str, str]]:
        """Windows that are not simply ok, as ``(window, status, problem, raw)``."""
        return [
            (w, s, p, r)
            for w, s, p, r in self.rows(
                "SELECT id, status, problem, raw FROM windows WHERE status IN ('failed', 'repaired') "
                "ORDER BY document, ordinal"
            )
        ]

    def decisions(self, kind: Literal["apart", "together"]) -> frozenset[tuple[str, str]]:
        """What the user decided about pairs of names."""
        return frozenset((a, b) for a, b in self.rows("SELECT a, b FROM decisions WHERE kind = ?", (kind,)))

    def decide(self, kind: Literal["apart", "together"], a: str, b: str) -> None:
        """Record a decision; the opposite one about the same pair is withdrawn."""
        pair = tuple(sorted((a, b)))
        self._db.execute("DELETE FROM decisions WHERE a = ? AND b = ?", pair)
        self._db.execute("INSERT INTO decisions VALUES (?, ?, ?)", (kind, *pair))

    # --- views --------------------------------------------------------------------------------------

    def put_graph(
        self,
        entities: Iterable[Entity],
        relations: Iterable[Relation],
        triples: Iterable[Triple],
        merges: Iterable[tuple[str, str, str, str, float, str]],
        *,
        kept: GraphMoves | None = None,
    ) -> None:
        """Replace the views of the graph; row numbers are positions in the order of ids.

        Args:
            entities: all, ascending by id; with `kept` those that must be made.
            relations: the same, by id.
            triples: the same, by subject, object, predicate.
            merges: all.
            kept: what of the present tables stays, and the numbers of the others.
        """
        db = self._db
        spelt: list[tuple[str, int]] = []
        if kept is None:
            numbers: dict[str, int] = {}
            for table in _VIEWS["graph"]:
                db.execute(f"DELETE FROM {table}")  # noqa: S608
        else:
            numbers = {entity: n for n, entity in enumerate(kept.ids)}
            db.execute("DELETE FROM merges")
            move_graph(db, kept)

        def put(n: int, entity: Entity) -> int:
            numbers[entity.id] = n
            spelt.extend((normalise(spelling), n) for spelling in (entity.name, *entity.aliases))
            return n

        db.executemany(
            "INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    put(n, e),
                    e.id,
                    e.name,
                    e.type,
                    dump(e.aliases),
                    dump([[d.text, d.chunk] for d in e.descriptions]),
                    dump(e.chunks),
                    e.degree,
                )
                for n, e in _numbered(entities, kept.entities if kept else None)
            ),
        )
        db.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", sorted(spelt))
        db.executemany(
            "INSERT INTO relations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    n,
                    numbers[r.source],
                    numbers[r.target],
                    dump(r.predicates),
                    dump(r.keywords),
                    dump([[d.text, d.chunk] for d in r.descriptions]),
                    r.weight,
                    dump(r.chunks),
                )
                for n, r in _numbered(relations, kept.relations if kept else None)
            ),
        )
        db.executemany(
            "INSERT INTO triples VALUES (?, ?, ?, ?, ?, ?)",
            (
                (n, numbers[t.source], numbers[t.target], t.predicate, t.weight, dump(t.chunks))
                for n, t in _numbered(triples, kept.triples if kept else None)
            ),
        )
        db.executemany("INSERT INTO merges VALUES (?, ?, ?, ?, ?, ?)", merges)

    def entities(self, ns: Sequence[int]) -> list[Entity]:
        """Entities by row number, in the order asked for."""
        return self._by_key("SELECT * FROM entities WHERE n IN", ns, entity_of)

    def entities_named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Rows of the entities that bear some names, by name as given; namesakes by row."""
        keys = {name: normalise(name) for name in names}
        found: dict[str, list[int]] = {}
        for key, _, n in self._many(
            "SELECT name, name, entity FROM names WHERE name IN", sorted(set(keys.values()))
        ):
            found.setdefault(key, []).append(n)
        return {name: sorted(found[key]) for name, key in keys.items() if key in found}

    def all_entities(self) -> Iterator[Entity]:
        """Every entity, by row number."""
        for row in self._each("SELECT * FROM entities ORDER BY n"):
            yield entity_of(row)

    def entity_ids(self) -> list[str]:
        """Ids of all entities, by row."""
        return [i for (i,) in self.rows("SELECT id FROM entities ORDER BY n")]

    def entity_names(self) -> Iterator[tuple[str, str]]:
        """Id and name of every entity, by row."""
        yield from self._each("SELECT id, name FROM entities ORDER BY n")

    def entity_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Row numbers of some entities by id."""
        return dict(self._by_key("SELECT id, id, n FROM entities WHERE id IN", ids, lambda row: row[1:]))

    def all_relations(self) -> Iterator[Relation]:
        """Every relation, by row number."""
        names = self.entity_ids()
        for row in self._each("SELECT * FROM relations ORDER BY n"):
            yield relation_of(row, names[row[1]], names[row[2]])

    def edges(self, table: Literal["relations", "triples"] = "relations") -> Iterator[tuple[Any, ...]]:
        """Every relation or triple as ``(source row, target row, weight)``, in order."""
        yield from self._each(f"SELECT source, target, weight FROM {table} ORDER BY n")  # noqa: S608

    def weighted_edges(
        self, table: Literal["relations", "triples"]
    ) -> Iterator[tuple[int, int, float, list[str]]]:
        """Every relation or triple as ``(source row, target row, weight, chunk ids)``, in order."""
        query = f"SELECT source, target, weight, chunks FROM {table} ORDER BY n"  # noqa: S608
        for source, target, weight, chunks in self._each(query):
            yield source, target, weight, load(chunks)

    def mentions(self) -> Iterator[tuple[int, list[str]]]:
        """Chunk ids of every entity, by row; of one with many they come in several parts."""
        for n, chunks in self._each("SELECT n, chunks FROM entities ORDER BY n"):
            for some in load_strings(chunks):
                yield n, some

    def told_of_entities(self) -> Iterator[tuple[str, list[str], list[tuple[str, str]]]]:
        """Name, chunk ids and descriptions (text and chunk id) of every entity, by row."""
        for name, chunks, descriptions in self._each(
            "SELECT name, chunks, descriptions FROM entities ORDER BY n"
        ):
            yield name, load(chunks), load(descriptions)

    def told_of_relations(self) -> Iterator[list[tuple[str, str]]]:
        """Descriptions (text and chunk id) of every relation, by row."""
        for (descriptions,) in self._each("SELECT descriptions FROM relations ORDER BY n"):
            yield load(descriptions)

    def edges_at(self, ns: Sequence[int]) -> list[tuple[int, int, int, float]]:
        """Relations with an end among some entities, as ``(row, source, target, weight)``, by row."""
        found: dict[int, tuple[int, int, int, float]] = {}
        for end in ("source", "target"):
            query = f"SELECT n, n, source, target, weight FROM relations WHERE {end} IN"  # noqa: S608
            for row in self._many(query, ns):
                found[row[0]] = (row[1], row[2], row[3], row[4])
        return [found[n] for n in sorted(found)]

    def relations(self, ns: Sequence[int], ids: Sequence[str] | None = None) -> list[Relation]:
        """Relations by row number, in the order asked for; `ids`: of all entities, if they are at hand."""
        rows = self._by_key("SELECT * FROM relations WHERE n IN", ns, lambda row: row)
        if ids is not None:
            return [relation_of(row, ids[row[1]], ids[row[2]]) for row in rows]
        ends = sorted({end for row in rows for end in row[1:3]})
        names = dict(self._by_key("SELECT n, n, id FROM entities WHERE n IN", ends, lambda row: row[1:]))
        return [relation_of(row, names[row[1]], names[row[2]]) for row in rows]

    def all_triples(self, *, named: bool = False) -> Iterator[Triple]:
        """Every triple, by row number; `named`: with names of entities as written, instead of their ids."""
        column = "name" if named else "id"
        names = [i for (i,) in self.rows(f"SELECT {column} FROM entities ORDER BY n")]  # noqa: S608
        for row in self._each("SELECT * FROM triples ORDER BY n"):
            yield triple_of(row, names[row[1]], names[row[2]])

    def triples(self, ns: Sequence[int]) -> list[Triple]:
        """Triples by row number, in the order asked for."""
        rows = self._by_key("SELECT * FROM triples WHERE n IN", ns, lambda row: row)
        ends = sorted({end for row in rows for end in row[1:3]})
        names = dict(self._by_key("SELECT n, n, id FROM entities WHERE n IN", ends, lambda row: row[1:]))
        return [triple_of(row, names[row[1]], names[row[2]]) for row in rows]

    def triples_at(self, ns: Sequence[int], *, ends: Sequence[str]) -> list[tuple[int, int, int]]:
        """Triples with such an end (``source``, ``target``) among some entities: ``(row, source, target)``, by row."""
        found: dict[int, tuple[int, int, int]] = {}
        for end in ends:
            query = f"SELECT n, source, target FROM triples WHERE {end} IN"  # noqa: S608
            found |= {row[0]: (row[0], row[1], row[2]) for row in self._many(query, ns)}
        return [found[n] for n in sorted(found)]

    def predicates(self) -> list[str]:
        """Distinct predicates of the triples, sorted; their positions are the rows of `predicate_vectors`."""
        return [p for (p,) in self.rows("SELECT DISTINCT predicate FROM triples ORDER BY predicate")]

    def triples_with(self, predicates: Sequence[str]) -> list[int]:
        """Row numbers of the triples with one of some predicates, sorted."""
        return sorted(
            n for _, n in self._many("SELECT predicate, n FROM triples WHERE predicate IN", predicates)
        )

    def merges(self) -> list[tuple[str, str, str, str, float, str]]:
        """Every merge as ``(entity, name, document, rule, score, other)``."""
        return [
            (e, n, d, r, s, o)
            for e, n, d, r, s, o in self.rows(
                "SELECT * FROM merges ORDER BY entity, name, document, rule, other"
            )
        ]

    def put_communities(self, communities: Iterable[Community]) -> None:
        """Replace the communities."""
        db = self._db
        db.execute("DELETE FROM communities")
        db.execute("DELETE FROM members")
        members: list[tuple[str, str]] = []

        def rows() -> Iterator[tuple[Any, ...]]:
            for c in communities:
                members.extend((e, c.id) for e in c.entities)
                yield c.id, c.level, c.parent, dump(c.entities), dump(c.chunks)

        db.executemany("INSERT INTO communities VALUES (?, ?, ?, ?, ?)", rows())
        # In the order of the table, which is then filled from its beginning to its end.
        members.sort()
        db.executemany("INSERT INTO members VALUES (?, ?)", members)

    def communities(self) -> list[Community]:
        """Every community, by level, then id."""
        # An id stands in many communities, but once in memory.
        once: dict[str, str] = {}
        return [
            Community(
                id=i,
                level=level,
                parent=parent,
                entities=tuple([once.setdefault(e, e) for e in load(entities)]),
                chunks=tuple([once.setdefault(c, c) for c in load(chunks)]),
            )
            for i, level, parent, entities, chunks in self.rows(
                "SELECT * FROM communities ORDER BY level, id"
            )
        ]

    def each_counted(self) -> Iterator[Counted]:
        """Every community, by level, then id, read one by one; its chunks are only counted."""
        for row, i, level, parent in self.rows(
            "SELECT rowid, id, level, parent FROM communities ORDER BY level, id"
        ):
            ((entities,),) = self.rows("SELECT entities FROM communities WHERE id = ?", (i,))
            try:
                with self._db.blobopen("communities", "chunks", row, readonly=True) as chunks:
                    n_chunks = n_strings(iter(partial(chunks.read, _PIECE), b""))
            except sqlite3.DatabaseError as error:
                raise explain_storage(error, self.folder) from error
            yield Counted(i, level, parent, load(entities), n_chunks)

    def put_reports(self, reports: Iterable[Report]) -> None:
        """Replace the reports."""
        self._db.execute("DELETE FROM reports")
        self._db.executemany(
            "INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    r.community,
                    r.level,
                    r.title,
                    r.summary,
                    dump([[f.summary, f.explanation, f.chunks] for f in r.findings]),
                    r.rating,
                    dump(r.chunks),
                    r.weight,
                    r.written_by,
                )
                for r in reports
            ),
        )

    def reports(self, communities: Sequence[str] | None = None) -> list[Report]:
        """Reports of some communities in the order asked for, or all by level, then id."""
        if communities is None:
            return [report_of(row) for row in self.rows("SELECT * FROM reports ORDER BY level, community")]
        return self._by_key("SELECT * FROM reports WHERE community IN", communities, report_of)

    def reported(self) -> list[str]:
        """The communities that have a report, by level, then id."""
        return [
            community for (community,) in self.rows("SELECT community FROM reports ORDER BY level, community")
        ]

    def all_reports(self) -> Iterator[Report]:
        """Every report, by level, then id."""
        for row in self._each("SELECT * FROM reports ORDER BY level, community"):
            yield report_of(row)

    def communities_of(self, entities: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs ``(entity, community)`` for some entities, sorted."""
        query = "SELECT entity, entity, community FROM members WHERE entity IN"
        return sorted((e, c) for _, e, c in self._many(query, entities))

    def written(self, key: str) -> str | None:
        """A text that was written for an input with this hash."""
        found = self.rows("SELECT value FROM written WHERE key = ?", (key,))
        return found[0][0] if found else None

    def put_written(self, key: str, value: str) -> None:
        """Keep a text under the hash of its input."""
        self._db.execute("INSERT OR REPLACE INTO written VALUES (?, ?)", (key, value))

    def keep_written(self, keys: Collection[str]) -> None:
        """Drop the written texts under other keys than these: inputs that no longer exist."""
        gone = [(key,) for (key,) in self.rows("SELECT key FROM written ORDER BY key") if key not in keys]
        self._db.executemany("DELETE FROM written WHERE key = ?", gone)

    def withdraw(self, documents: Collection[str]) -> None:
        """Drop every written text that rests on one of some documents."""
        gone = [
            (key,)
            for key, value in self._each("SELECT key, value FROM written ORDER BY key")
            if any(c.rpartition(":")[0] in documents for c in report_from_json(value).chunks)
        ]
        self._db.executemany("DELETE FROM written WHERE key = ?", gone)

    def drop_layers(self, names: Iterable[str]) -> None:
        """Empty the views of some layers, and forget that these were ever finished."""
        for name in names:
            self._db.execute("DELETE FROM layers WHERE name = ?", (name,))
            if name in self._notes_by_layer():
                self.set_notes(name, ())
            if name == "graph":
                self.set_meta(ROWS, None)
            for table in _VIEWS.get(name, ()):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608

    # --- layers -------------------------------------------------------------------------------------

    def forget_layers(self, names: Iterable[str]) -> None:
        """Forget that some layers were finished, so that they are built again."""
        for name in names:
            self._db.execute("DELETE FROM layers WHERE name = ?", (name,))

    def layers(self) -> dict[str, tuple[str, int, float]]:
        """Version, rows and seconds of every finished layer by name."""
        return {n: (v, r, s) for n, v, r, s in self.rows("SELECT name, version, n_rows, seconds FROM layers")}

    def put_layer(self, name: str, version: str, n_rows: int, seconds: float) -> None:
        """Record that a layer is finished."""
        self._db.execute(
            "INSERT OR REPLACE INTO layers VALUES (?, ?, ?, ?)", (name, version, n_rows, seconds)
        )

    # --- reading by key -----------------------------------------------------------------------------

    def _many(self, query: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for at in range(0, len(keys), _BATCH):
            part = list(keys[at : at + _BATCH])
            yield from self.rows(f"{query} ({','.join('?' * len(part))})", part)

    def _by_key(self, query: str, keys: Sequence[Any], build: Callable[[tuple[Any, ...]], T]) -> list[T]:
        found = {row[0]: row for row in self._many(query, list(dict.fromkeys(keys)))}
        return [build(found[key]) for key in keys if key in found]


def _numbered(items: Iterable[T], moves: Moves | None) -> Iterator[tuple[int, T]]:
    """Rows with their numbers: all, or those that are made anew."""
    return enumerate(items) if moves is None else zip(moves.made.tolist(), items, strict=True)
