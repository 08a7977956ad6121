"""Windows, the rows that were extracted from them, and the user's decisions about names."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter

from polygraph.records import EntityRow, Extraction, RelationRow, Span, Window, WindowState
from polygraph.store.protocol import DecisionKind, LoggedDecision
from polygraph.store.serialization import chunk_of, dump, load
from polygraph.store.shared_texts import SharedTexts
from polygraph.store.sql import Row, SqlConnection
from polygraph.text.passage import joined_text, short_fields

SCHEMA = """
CREATE TABLE IF NOT EXISTS windows (
  id TEXT PRIMARY KEY, document TEXT NOT NULL, ordinal INTEGER NOT NULL, first INTEGER NOT NULL,
  last INTEGER NOT NULL, extractor TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT '',
  problem TEXT NOT NULL DEFAULT '', raw TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS windows_by_document ON windows (document, ordinal);
CREATE TABLE IF NOT EXISTS entity_rows (
  window TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
  description NOT NULL, spans TEXT NOT NULL, PRIMARY KEY (window, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS relation_rows (
  window TEXT NOT NULL, seq INTEGER NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
  predicate TEXT NOT NULL, keywords TEXT NOT NULL, description NOT NULL, strength REAL NOT NULL,
  chunks TEXT NOT NULL, PRIMARY KEY (window, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reread (document TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS same_answers (key TEXT PRIMARY KEY, same INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS name_lists (key TEXT PRIMARY KEY, "groups" TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entity_decisions (
  n INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL);
"""
# A description is a text or, without a type that SQLite would convert to, the hash of one in `shared_texts`.

_WINDOWS = 64
"""Windows whose rows are read together."""
_MARK_CHANGED = "INSERT INTO reread SELECT document FROM windows WHERE id = ? ON CONFLICT DO NOTHING"


class ExtractionTables:
    """`store.protocol.ExtractionStore` in SQL tables."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection
        self._texts = SharedTexts(connection)
        self._description = self._texts.column("description")

    # --- windows ------------------------------------------------------------------------------------

    def windows(self, ids: Sequence[str]) -> list[Window]:
        """Return windows by id with their chunks, in the order asked for."""
        query = (
            "SELECT w.id, w.document, w.ordinal, w.first, w.last, d.title, d.metadata FROM windows w "
            "JOIN documents d ON d.id = w.document WHERE w.id IN"
        )
        return [self._window(row) for row in self._db.by_key(query, ids)]

    def _window(self, row: Row) -> Window:
        i, document, ordinal, first, last, title, metadata = row
        found = self._db.rows(
            "SELECT * FROM chunks WHERE document = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
            (document, first, last),
        )
        chunks = tuple(chunk_of(chunk) for chunk in found)
        return Window(
            id=i,
            document=document,
            ordinal=ordinal,
            title=title,
            fields=short_fields(load(metadata)),
            chunks=chunks,
            text=joined_text(chunks),
        )

    def window_documents(self) -> list[tuple[str, str]]:
        """Return every window as ``(id, document id)``, in the order of (document, ordinal)."""
        query = "SELECT id, document FROM windows ORDER BY document, ordinal"
        return [(window, document) for window, document in self._db.rows(query)]

    def pending(self, extractor: str) -> list[str]:
        """Return the ids of the windows that this extractor has still to read, in the order of (document, ordinal).

        Imported windows are never pending: their rows may rest on more than their text.
        """
        found = self._db.rows(
            "SELECT id FROM windows WHERE (extractor != ? AND extractor NOT LIKE 'imported:%') "
            "OR status = 'failed' ORDER BY document, ordinal",
            (extractor,),
        )
        return [i for (i,) in found]

    def extracted_windows(self) -> list[str]:
        """Return the ids of the windows that an extractor has read, in the order of (document, ordinal)."""
        found = self._db.rows("SELECT id FROM windows WHERE status != '' ORDER BY document, ordinal")
        return [i for (i,) in found]

    def window_states(self) -> Iterator[WindowState]:
        """Yield every window with its state, in the order of (document, ordinal)."""
        for row in self._db.iterate(
            "SELECT id, document, ordinal, first, last, extractor, status, problem, raw FROM windows "
            "ORDER BY document, ordinal"
        ):
            yield WindowState(*row)

    def states(self) -> dict[str, int]:
        """Return the number of windows by status; those not yet read are ``pending``."""
        found = self._db.rows("SELECT status, count(*) FROM windows GROUP BY status ORDER BY status")
        return {status or "pending": n for status, n in found}

    def failures(self) -> list[tuple[str, str, str, str]]:
        """Return the windows that failed or were repaired, as ``(window, status, problem, raw)``, by document."""
        return [
            (window, status, problem, raw)
            for window, status, problem, raw in self._db.rows(
                "SELECT id, status, problem, raw FROM windows WHERE status IN ('failed', 'repaired') "
                "ORDER BY document, ordinal"
            )
        ]

    # --- extraction rows ----------------------------------------------------------------------------

    def put(self, extraction: Extraction, extractor: str) -> None:
        """Store what an extractor found in one window, replacing what was stored for it."""
        window = extraction.window
        self._db.execute(_MARK_CHANGED, (window,))
        self._db.execute('DELETE FROM entity_rows WHERE "window" = ?', (window,))
        self._db.execute('DELETE FROM relation_rows WHERE "window" = ?', (window,))
        texts = [row.description for row in extraction.entities]
        texts += [row.description for row in extraction.relations]
        # The first for entities, the others for relations.
        descriptions = iter(self._texts.store(texts))
        self._db.insert(
            "entity_rows",
            [
                (window, seq, e.name, e.type, text, dump([[s.chunk, s.start, s.end] for s in e.spans]))
                for seq, (e, text) in enumerate(zip(extraction.entities, descriptions, strict=False))
            ],
        )
        self._db.insert(
            "relation_rows",
            [
                (
                    window,
                    seq,
                    r.source,
                    r.target,
                    r.predicate,
                    dump(r.keywords),
                    text,
                    r.strength,
                    dump(r.chunks),
                )
                for seq, (r, text) in enumerate(zip(extraction.relations, descriptions, strict=True))
            ],
        )
        self._db.execute(
            "UPDATE windows SET extractor = ?, status = ?, problem = ?, raw = ? WHERE id = ?",
            (extractor, extraction.status, extraction.problem, extraction.raw, window),
        )

    def iterate(self, documents: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Yield document id and extraction of every window that was read, in the order of (document, ordinal).

        Args:
            documents: ids; None for all. The raw replies are left out, see `failures`.
        """
        query = "SELECT id, document, status, problem FROM windows WHERE status != ''"
        if documents is None:
            found = self._db.rows(f"{query} ORDER BY document, ordinal")
        else:
            found = [
                row
                for document in sorted(documents)
                for row in self._db.rows(f"{query} AND document = ? ORDER BY ordinal", (document,))
            ]
        for at in range(0, len(found), _WINDOWS):
            some = found[at : at + _WINDOWS]
            windows = [window for window, *_ in some]
            entities = self._rows_of("entity_rows", f"name, type, {self._description}, spans", windows)
            columns = f"source, target, predicate, keywords, {self._description}, strength, chunks"
            relations = self._rows_of("relation_rows", columns, windows)
            for window, document, status, problem in some:
                yield (
                    document,
                    Extraction(
                        window=window,
                        entities=tuple([_entity_row(document, row) for row in entities.get(window, ())]),
                        relations=tuple([_relation_row(row) for row in relations.get(window, ())]),
                        status=status,
                        problem=problem,
                    ),
                )

    def _rows_of(self, table: str, columns: str, windows: Sequence[str]) -> dict[str, list[Row]]:
        """Return the rows of some windows by window, in the order in which they were extracted."""
        query = f'SELECT "window", seq, {columns} FROM {table} WHERE "window" IN'  # noqa: S608
        found: dict[str, list[Row]] = {}
        for window, *row in sorted(self._db.where_in(query, windows), key=itemgetter(1)):
            found.setdefault(window, []).append(tuple(row[1:]))
        return found

    def descriptions(self, document: str) -> list[tuple[str, str, str]]:
        """Return window, name and description of each entity row of a document, in the order of `iterate`."""
        query = (
            f'SELECT w.id, name, {self._description} FROM windows w JOIN entity_rows ON "window" = w.id '  # noqa: S608
            "WHERE w.document = ? AND w.status != '' ORDER BY w.ordinal, seq"
        )
        return [(window, name, text) for window, name, text in self._db.rows(query, (document,))]

    def relation_keys(self, document: str) -> list[tuple[str, int]]:
        """Return window and position of each relation row of a document, in the order of `iterate`."""
        query = (
            'SELECT r."window", r.seq FROM windows w JOIN relation_rows r ON r."window" = w.id '
            "WHERE w.document = ? AND w.status != '' ORDER BY w.ordinal, r.seq"
        )
        return [(window, seq) for window, seq in self._db.rows(query, (document,))]

    def reset(self, windows: Sequence[str]) -> None:
        """Delete what was extracted from some windows, so that they are read again."""
        keys = [(window,) for window in windows]
        self._db.execute_many(_MARK_CHANGED, keys)
        for table in ("entity_rows", "relation_rows"):
            self._db.execute_many(f'DELETE FROM {table} WHERE "window" = ?', keys)  # noqa: S608
        self._db.execute_many(
            "UPDATE windows SET extractor = '', status = '', problem = '', raw = '' WHERE id = ?", keys
        )

    # --- what the graph must follow -------------------------------------------------------------------

    def changed_documents(self) -> list[str]:
        """Return the ids of the documents whose extraction rows changed since the graph was written, sorted."""
        return [document for (document,) in self._db.rows("SELECT document FROM reread ORDER BY document")]

    def clear_changed(self) -> None:
        """Record that the graph follows from all extraction rows as they are."""
        self._db.execute("DELETE FROM reread")

    def decisions(self, kind: DecisionKind) -> frozenset[tuple[str, str]]:
        """Return the decisions of a kind that are in force; see `store.protocol.ExtractionReader`."""
        pairs: dict[tuple[str, str], DecisionKind] = {}
        names: dict[str, str] = {}
        for _, made, a, b in self.decision_log():
            if made == "rename":
                names[a] = b
            else:
                pairs[min(a, b), max(a, b)] = made
        if kind == "rename":
            return frozenset(names.items())
        return frozenset(pair for pair, made in pairs.items() if made == kind)

    def same_answers(self) -> dict[str, bool | None]:
        """Return what a model answered about undecided pairs of names, by key; None if it could not tell."""
        found = self._db.rows("SELECT key, same FROM same_answers ORDER BY key")
        return {key: None if same is None else bool(same) for key, same in found}

    def put_same_answers(self, answers: Mapping[str, bool | None]) -> None:
        """Replace what a model answered about undecided pairs of names."""
        self._db.execute("DELETE FROM same_answers")
        rows = sorted((key, None if same is None else int(same)) for key, same in answers.items())
        self._db.insert("same_answers", rows)

    def name_lists(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return which names of a list a model took for one thing, by the key of the list: groups of keys of names."""
        found = self._db.rows('SELECT key, "groups" FROM name_lists ORDER BY key')
        return {key: tuple(map(tuple, load(groups))) for key, groups in found}

    def put_name_lists(self, lists: Mapping[str, Sequence[Sequence[str]]]) -> None:
        """Replace what a model found in lists of names."""
        self._db.execute("DELETE FROM name_lists")
        self._db.insert("name_lists", sorted((key, dump(groups)) for key, groups in lists.items()))

    def decision_log(self) -> list[LoggedDecision]:
        """Return every decision in the order in which they were made."""
        found = self._db.rows("SELECT n, kind, a, b FROM entity_decisions ORDER BY n")
        return [(n, kind, a, b) for n, kind, a, b in found]

    def decide(self, kind: DecisionKind, a: str, b: str) -> None:
        """Record a decision; it is in force instead of an earlier one about the same names."""
        self._db.execute("INSERT INTO entity_decisions (kind, a, b) VALUES (?, ?, ?)", (kind, a, b))

    def undo_decision(self, number: int) -> None:
        """Delete a decision; one that it replaced is in force again."""
        self._db.execute("DELETE FROM entity_decisions WHERE n = ?", (number,))


def _entity_row(document: str, row: Row) -> EntityRow:
    name, kind, description, spans = row
    return EntityRow(
        name=name,
        type=kind,
        description=description,
        spans=tuple(Span(document, chunk, start, end) for chunk, start, end in load(spans)),
    )


def _relation_row(row: Row) -> RelationRow:
    source, target, predicate, keywords, description, strength, chunks = row
    return RelationRow(
        source=source,
        target=target,
        predicate=predicate,
        keywords=tuple(load(keywords)),
        description=description,
        strength=strength,
        chunks=tuple(load(chunks)),
    )
