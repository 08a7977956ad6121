"""All tables of an index, in whatever database they are.

Documents, chunks, windows and extraction rows are stored as they were produced. Entities, relations, communities and
reports are views computed from them, each rewritten in one transaction.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from polygraph.errors import IndexUnreadable, other_format
from polygraph.store import graph_tables, report_tables
from polygraph.store.documents import DocumentTables
from polygraph.store.extractions import ExtractionTables
from polygraph.store.graph_tables import GraphTables
from polygraph.store.manifest import Manifest
from polygraph.store.portable import COLUMNS, PortableRow, PortableTable, columns_of
from polygraph.store.protocol import Countable
from polygraph.store.report_tables import ReportTables
from polygraph.store.serialization import dump, load
from polygraph.store.shared_texts import SharedTexts
from polygraph.store.sql import SqlConnection
from polygraph.store.vectors import VectorSearch

FORMAT = 2
"""Format of the tables and of the files of layers. Raised with every change of what is written: no other is read."""

FORMAT_KEY = "format"
"""Key of the format, which is written when the tables are created."""

ROWS = "rows"
"""Key of the note which kept rows belong to the tables of the graph (see `row_cache`)."""

UNFINISHED = "unfinished"
"""Key of the record of a writer that is at work or was stopped (see `generations`)."""

READING = "reading"
"""Key of the list of paths whose documents are not read to the end (see `generations`)."""

_TABLES = {
    "graph": graph_tables.TABLES,
    "descriptions": graph_tables.SUMMARY_TABLES,
    **report_tables.TABLES,
}
"""Tables that a layer consists of."""


class IndexTables:
    """The part of `store.protocol.Store` that is the same in every SQL database."""

    place: str
    """What messages call the index."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection
        self.texts = SharedTexts(connection)
        self.documents = DocumentTables(connection)
        self.extractions = ExtractionTables(connection)
        self.graph = GraphTables(connection)
        self.reports = ReportTables(connection)

    def transaction(self) -> AbstractContextManager[None]:
        """Apply all changes made inside, or none if an exception leaves the block."""
        return self._db.transaction()

    def count(self, table: Countable | PortableTable) -> int:
        """Return the number of rows of a table."""
        return int(self._db.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    def _require_format(self) -> None:
        """Raise `IndexUnreadable` if the tables have another format than `FORMAT`."""
        found = load(self.meta(FORMAT_KEY) or "0")
        if found != FORMAT:
            fix = "Build it again with: polygraph index PATH --index NEW_FOLDER"
            raise IndexUnreadable(other_format(f"the index at {self.place}", found, FORMAT, fix))

    # --- metadata -----------------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        """Return the value stored under a key, if there is one."""
        found = self._db.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Store a value under a key; None deletes it."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            self._db.insert("meta", [(key, value)])

    def manifest(self) -> Manifest | None:
        """Return the settings that the index was built with; None before the first build."""
        found = self.meta("manifest")
        return Manifest.loads(found) if found is not None else None

    def set_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        self.set_meta("manifest", manifest.dumps())

    def notes(self) -> list[str]:
        """Return the notes on all layers, each once, sorted."""
        return sorted({note for notes in self._notes_by_layer().values() for note in notes})

    def set_notes(self, layer: str, notes: Iterable[str]) -> None:
        """Replace the notes on a layer: what is weaker in it than it could be."""
        found = {**self._notes_by_layer(), layer: sorted(set(notes))}
        self.set_meta("notes", dump({name: found[name] for name in sorted(found) if found[name]}))

    def _notes_by_layer(self) -> dict[str, list[str]]:
        text = self.meta("notes")
        return load(text) if text is not None else {}

    # --- layers -------------------------------------------------------------------------------------

    def layers(self) -> dict[str, tuple[str, int, float]]:
        """Return version, number of rows and seconds of every finished layer by name."""
        found = self._db.rows("SELECT name, version, n_rows, seconds FROM layers")
        return {name: (version, n_rows, seconds) for name, version, n_rows, seconds in found}

    def put_layer(self, name: str, version: str, n_rows: int, seconds: float) -> None:
        """Record that a layer is finished."""
        self._db.execute("DELETE FROM layers WHERE name = ?", (name,))
        self._db.insert("layers", [(name, version, n_rows, seconds)])

    def put_vectors(self, name: str, version: str, least: int) -> str:  # noqa: ARG002  of other databases
        """Do nothing: vectors are searched in the files of their layer."""
        return ""

    def open_vectors(self, folder: Path, from_files: Callable[[], VectorSearch]) -> VectorSearch:  # noqa: ARG002
        """Open the files of a layer."""
        return from_files()

    def forget_layers(self, names: Iterable[str]) -> None:
        """Record that some layers are not finished, so that they are built again; their tables stay."""
        for name in names:
            self._db.execute("DELETE FROM layers WHERE name = ?", (name,))

    def drop_layers(self, names: Iterable[str]) -> None:
        """Empty the tables of some layers, and forget the layers and the notes on them."""
        for name in names:
            self.forget_layers([name])
            if name in self._notes_by_layer():
                self.set_notes(name, ())
            if name == "graph":
                self.set_meta(ROWS, None)
                # All documents are read then; without this, the id of a removed one would stay.
                self.extractions.clear_changed()
            for table in _TABLES.get(name, ()):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608

    # --- moving to another store --------------------------------------------------------------------

    def dump(self, table: PortableTable) -> Iterator[PortableRow]:
        """Yield every row of a table, see `store.portable`."""
        columns = ", ".join(f'"{name}"' for name in columns_of(table))
        key = ", ".join(f'"{name}"' for name in COLUMNS[table][0].split())
        rows = self._db.iterate(f"SELECT {columns} FROM {table} ORDER BY {key}")  # noqa: S608
        yield from self.texts.written_out(columns_of(table), rows)

    def load(self, table: PortableTable, rows: Iterable[PortableRow]) -> None:
        """Replace all rows of a table by those of another store."""
        columns = columns_of(table)
        self._db.execute(f"DELETE FROM {table}")  # noqa: S608
        names = ", ".join(f'"{name}"' for name in columns)
        self._db.insert(f"{table} ({names})", self.texts.taken_in(columns, rows))
