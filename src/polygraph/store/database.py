"""`index.sqlite`, the source of truth of an index.

Documents, chunks, windows and extraction rows are stored as they were produced. Entities, relations, communities and
reports are views computed from them, each rewritten in one transaction. Other processes read the last committed state.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Literal

from polygraph.errors import IndexUnreadable
from polygraph.store import documents, extractions, graph_tables, report_tables, shared_texts
from polygraph.store.atomic_files import sync
from polygraph.store.connection import FILE_NAME, Connection, explain_storage, unreadable
from polygraph.store.documents import DocumentTables
from polygraph.store.extractions import ExtractionTables
from polygraph.store.graph_tables import GraphTables
from polygraph.store.manifest import Manifest
from polygraph.store.page_sums import (
    SumsDamaged,
    drop_sums,
    is_intact,
    read_sums,
    schema_sum,
    sums_file,
    write_sums,
)
from polygraph.store.protocol import Countable
from polygraph.store.report_tables import ReportTables
from polygraph.store.serialization import dump, load
from polygraph.store.shared_texts import SharedTexts

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{shared_texts.SCHEMA} {documents.SCHEMA} {extractions.SCHEMA} {graph_tables.SCHEMA} {report_tables.SCHEMA}
CREATE TABLE IF NOT EXISTS layers (
  name TEXT PRIMARY KEY, version TEXT NOT NULL, n_rows INTEGER NOT NULL, seconds REAL NOT NULL);
"""

SAVED_STATE = "derived/before.sqlite"
"""The last finished state, which readers see while a writer changes the tables."""

ROWS = "rows"
"""Key of the note which kept rows belong to the tables of the graph (see `row_cache`)."""

_SCHEMA_SUM = schema_sum(_SCHEMA)

_TABLES = {
    "graph": graph_tables.TABLES,
    "descriptions": graph_tables.SUMMARY_TABLES,
    **report_tables.TABLES,
}
"""Tables that a layer consists of."""


class SqliteStore:
    """The tables of one index in SQLite; implements `store.protocol.Store`.

    Args:
        folder: of the index; created when `mode` is ``write``.
        mode: ``write`` for the one writer (hold the lock first), ``read`` for any number of readers. A reader
            sees one state for as long as it is open.
        durability: ``full`` also survives a loss of power.
        file: for reading, `SAVED_STATE` instead of the tables themselves.

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
        self._path, self._is_writer, self._has_sums = path, mode == "write", False
        if self._is_writer:
            self._check_before_writing()
        self.connection = Connection(folder, path, _SCHEMA if mode == "write" else None, durability)
        self.connection.before_change = self._before_change
        if mode == "read":
            try:
                # The first query fixes the state that this reader sees, and fails if there are no tables.
                self.connection.rows("SELECT count(*) FROM layers")
                self._require_intact()
            except BaseException:
                self.connection.close()
                raise
        self.documents = DocumentTables(self.connection)
        self.extractions = ExtractionTables(self.connection)
        self.graph = GraphTables(self.connection)
        self.reports = ReportTables(self.connection)

    def close(self) -> None:
        """Release the file; a writer first records what it wrote, see `store.page_sums`."""
        self.connection.close()
        if self._is_writer and not self._has_sums:
            self._is_writer = False
            # Without checksums the index can be used; the next writer makes them.
            with suppress(OSError):
                write_sums(self._path, _SCHEMA_SUM)

    def _require_intact(self) -> None:
        """Raise `IndexUnreadable` if the file is not as it was written."""
        try:
            if is_intact(self._path):
                return
        except SumsDamaged:
            raise IndexUnreadable(
                f"the checksums of the index, {sums_file(self._path)}, are damaged. Delete this file; it is written "
                f"again by: polygraph index --index {self.folder}"
            ) from None
        except OSError as error:
            raise explain_storage(error, self.folder) from error
        raise unreadable(self.folder, "is damaged: it is not as it was written")

    def _check_before_writing(self) -> None:
        if not self._path.is_file():
            return
        self._require_intact()
        sums = read_sums(self._path)
        self._has_sums = sums is not None
        if sums is not None and sums.schema != _SCHEMA_SUM:  # tables of this version are about to be added
            self._before_change()

    def _before_change(self) -> None:
        """Delete the checksums, which the state that is about to be written does not have."""
        if self._has_sums:
            drop_sums(self._path)
            self._has_sums = False

    def transaction(self) -> AbstractContextManager[None]:
        """Apply all changes made inside, or none if an exception leaves the block."""
        return self.connection.transaction()

    def count(self, table: Countable) -> int:
        """Return the number of rows of a table."""
        return int(self.connection.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    # --- metadata -----------------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        """Return the value stored under a key, if there is one."""
        found = self.connection.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Store a value under a key; None deletes it."""
        self.connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            self.connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

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
        found = load(text) if text is not None else {}
        # Indexes of earlier versions have one list for all layers.
        return found if isinstance(found, dict) else {"graph": list(found)}

    # --- layers -------------------------------------------------------------------------------------

    def layers(self) -> dict[str, tuple[str, int, float]]:
        """Return version, number of rows and seconds of every finished layer by name."""
        found = self.connection.rows("SELECT name, version, n_rows, seconds FROM layers")
        return {name: (version, n_rows, seconds) for name, version, n_rows, seconds in found}

    def put_layer(self, name: str, version: str, n_rows: int, seconds: float) -> None:
        """Record that a layer is finished."""
        self.connection.execute(
            "INSERT OR REPLACE INTO layers VALUES (?, ?, ?, ?)", (name, version, n_rows, seconds)
        )

    def forget_layers(self, names: Iterable[str]) -> None:
        """Record that some layers are not finished, so that they are built again; their tables stay."""
        for name in names:
            self.connection.execute("DELETE FROM layers WHERE name = ?", (name,))

    def drop_layers(self, names: Iterable[str]) -> None:
        """Empty the tables of some layers, and forget the layers and the notes on them."""
        for name in names:
            self.forget_layers([name])
            if name in self._notes_by_layer():
                self.set_notes(name, ())
            if name == "graph":
                self.set_meta(ROWS, None)
            for table in _TABLES.get(name, ()):
                self.connection.execute(f"DELETE FROM {table}")  # noqa: S608

    # --- the file -----------------------------------------------------------------------------------

    def save_state(self) -> None:
        """Copy all tables, as they are now, to `SAVED_STATE`."""
        path = self.folder / SAVED_STATE
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")
        self._copy(temporary)
        sync(temporary)
        drop_sums(path)
        temporary.replace(path)
        write_sums(path, _SCHEMA_SUM)

    def copy_to(self, path: Path) -> None:
        """Copy all tables to a new file, as this store sees them, with checksums; pages stay where they are.

        Raises:
            StorageFailed: if the disk is full.
        """
        self._copy(path)
        write_sums(path, _SCHEMA_SUM)

    def _copy(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        try:
            copy = sqlite3.connect(path, isolation_level=None)
            try:
                self.connection.raw.backup(copy)
                # Without a log beside it the file can be opened without a lock, and replaced by a rename.
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()
        except sqlite3.Error as error:
            path.unlink(missing_ok=True)
            raise explain_storage(error, self.folder) from error

    def drop_saved_state(self) -> None:
        """Delete what `save_state` saved."""
        with suppress(OSError):  # Windows keeps a file that a reader has open; nobody looks for it any more
            (self.folder / SAVED_STATE).unlink(missing_ok=True)
            drop_sums(self.folder / SAVED_STATE)

    def compact(self) -> bool:
        """Rewrite the file without unused pages, and truncate its log: what was deleted leaves the disk.

        Returns:
            False if a reader still holds an earlier state, which keeps the log.
        """
        with self.transaction():
            SharedTexts(self.connection).delete_unused()
        try:
            self._before_change()
            self.connection.raw.execute("VACUUM")
            busy = self.connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise explain_storage(error, self.folder) from error
        return not busy
