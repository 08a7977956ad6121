"""`index.sqlite`, the source of truth of an index.

Other processes read the last committed state.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

from polygraph.errors import IndexUnreadable, quoted
from polygraph.store import documents, extractions, graph_tables, report_tables, shared_texts
from polygraph.store.atomic_files import damage, sync
from polygraph.store.connection import (
    FILE_NAME,
    Connection,
    explain_storage,
    is_begun,
    no_index,
    unreadable,
)
from polygraph.store.page_sums import (
    SumsDamaged,
    drop_sums,
    is_intact,
    read_sums,
    schema_sum,
    sums_file,
    write_sums,
)
from polygraph.store.tables import FORMAT, FORMAT_KEY, IndexTables

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{shared_texts.SCHEMA} {documents.SCHEMA} {extractions.SCHEMA} {graph_tables.SCHEMA} {report_tables.SCHEMA}
CREATE TABLE IF NOT EXISTS layers (
  name TEXT PRIMARY KEY, version TEXT NOT NULL, n_rows INTEGER NOT NULL, seconds REAL NOT NULL);
INSERT INTO meta VALUES ('{FORMAT_KEY}', '{FORMAT}') ON CONFLICT DO NOTHING;
"""  # noqa: S608

SAVED_STATE = "derived/before.sqlite"
"""The last finished state, which readers see while a writer changes the tables."""
FINISHED = "derived/finished"
"""Replaced whenever readers see another state, so that open ones notice."""

_SCHEMA_SUM = schema_sum(_SCHEMA)


class SqliteStore(IndexTables):
    """The tables of one index in SQLite; implements `store.protocol.Store`.

    Args:
        folder: of the index; created when `mode` is ``write``.
        mode: ``write`` for the one writer (hold the lock first), ``read`` for any number of readers. A reader
            sees one state for as long as it is open.
        durability: ``full`` also survives a loss of power.
        file: for reading, `SAVED_STATE` instead of the tables themselves.

    Raises:
        IndexUnreadable: if there is no index, or it is damaged or of another format.
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
        self.folder, self.place = folder, str(folder)
        path = folder / file
        if mode == "read" and not path.is_file():
            raise no_index(folder)
        self._path, self._is_writer, self._has_sums = path, mode == "write", False
        if self._is_writer:
            self._check_before_writing()
        self.connection = Connection(folder, path, _SCHEMA if mode == "write" else None, durability)
        super().__init__(self.connection)
        if self._is_writer:
            # A reader in such a circle would hold its state until the garbage collector comes.
            self.connection.before_change = self._before_change
        if mode == "read":
            try:
                # The first query fixes the state that this reader sees. Without tables, nothing was lost.
                if not self.connection.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                    raise no_index(folder)
                self._require_format()
                self._require_intact()
            except BaseException:
                self.connection.close()
                raise

    def is_open(self) -> bool:
        """Return True: the file stays readable, also when it was replaced."""
        return True

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
                f"again by: polygraph index --index {quoted(self.folder)}"
            ) from None
        except OSError as error:
            raise explain_storage(error, self.folder) from error
        raise unreadable(self.folder, "is damaged: it is not as it was written")

    def _check_before_writing(self) -> None:
        if not is_begun(self.folder):
            return
        SqliteStore(self.folder, mode="read").close()  # whole, and of this format
        sums = read_sums(self._path)
        self._has_sums = sums is not None
        if sums is not None and sums.schema != _SCHEMA_SUM:  # tables or indexes are about to be added
            self._before_change()

    def _before_change(self) -> None:
        """Delete the checksums, which the state that is about to be written does not have."""
        if self._has_sums:
            drop_sums(self._path)
            self._has_sums = False

    # --- files of layers ----------------------------------------------------------------------------

    def has_files(self, folder: Path) -> bool:
        """Tell whether the files of a layer exist as they were written, by names and sizes."""
        return not damage(folder)

    def fetch_files(self, folder: Path) -> None:
        """Do nothing: the files of layers are in the folder of the index."""

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
        """Copy all tables to a new file, as this store sees them, with checksums.

        Pages are in the order of tables and keys, wherever earlier builds have put them, so that files of two states
        are alike. For a moment a second copy is beside the file.

        Raises:
            StorageFailed: if the disk is full.
        """
        copied = path.with_name(f"{path.name}.copied")
        self._copy(copied)
        try:
            path.unlink(missing_ok=True)
            with closing(sqlite3.connect(copied, isolation_level=None)) as copy:
                copy.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            path.unlink(missing_ok=True)
            raise explain_storage(error, self.folder) from error
        finally:
            copied.unlink(missing_ok=True)
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
        """Delete what `save_state` saved, and have open readers notice that there is a new state."""
        with suppress(OSError):  # Windows keeps a file that a reader has open; nobody looks for it any more
            (self.folder / SAVED_STATE).unlink(missing_ok=True)
            drop_sums(self.folder / SAVED_STATE)
        file = self.folder / FINISHED
        file.parent.mkdir(exist_ok=True)
        temporary = file.with_name(f"{file.name}.tmp")
        temporary.write_text("", encoding="utf-8")
        temporary.replace(file)

    def delete(self) -> None:
        """Delete all tables, as if there had never been an index, and close the store."""
        self.close()
        for path in (
            self._path,
            *(self._path.with_name(f"{self._path.name}{end}") for end in ("-wal", "-shm")),
        ):
            path.unlink(missing_ok=True)

    def compact(self) -> bool:
        """Rewrite the file without unused pages, and truncate its log: what was deleted leaves the disk.

        Returns:
            False if a reader still holds an earlier state, which keeps the log.
        """
        with self.transaction():
            self.texts.delete_unused()
        try:
            self._before_change()
            self.connection.raw.execute("VACUUM")
            busy = self.connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise explain_storage(error, self.folder) from error
        return not busy


def finished_stamp(folder: Path) -> tuple[int, int] | None:
    """Return a value that changes whenever a writer has finished; cheap to ask for."""
    try:
        found = os.stat(folder / FINISHED)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
