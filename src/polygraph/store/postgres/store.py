"""The tables of one index in PostgreSQL; implements `store.protocol.Store`.

A reader is one transaction, which sees one state. While a writer changes the tables, new readers see a copy of the last
finished state in a schema of its own; `finished_state` names it. Nothing that a reader may have open is dropped or
truncated: a copy that is still being read stays until a later writer finds it unused.
Design: docs/design/postgresql.md.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from polygraph.errors import IndexLocked, IndexUnreadable, quoted
from polygraph.postgresql import (
    DatabaseUrl,
    database_errors_explained,
    driver,
    known_version,
    migrate,
    schema_version,
)
from polygraph.store.atomic_files import damage
from polygraph.store.connection import no_index
from polygraph.store.layer_folders import folder_of
from polygraph.store.portable import PortableRow, PortableTable
from polygraph.store.postgres.connection import PostgresConnection
from polygraph.store.postgres.layer_files import LayerFiles
from polygraph.store.postgres.schema import COMPONENT, MIGRATIONS, STATE_TABLES
from polygraph.store.postgres.vector_search import DatabaseVectors
from polygraph.store.postgres.vector_tables import LAYERS as VECTOR_LAYERS
from polygraph.store.postgres.vector_tables import VectorTables
from polygraph.store.tables import UNFINISHED, IndexTables
from polygraph.store.vectors import VectorIndex, VectorSearch

_DROP_TIMEOUT = "100ms"
"""How long dropping a copy of a state waits for readers of it."""
_COMPACT_TIMEOUT = "2s"
_ATTEMPTS = 20


class PostgresStore(IndexTables):
    """The tables of one index in PostgreSQL.

    Args:
        folder: the local folder of the index; files of layers are below ``derived/``.
        url: of the index.
        mode: ``write`` for a writer, which creates the tables if they are not there; ``read`` for any number of
            readers. A reader sees one state for as long as it is open.
        state: which state is read: the tables as they are, the last finished state, or the one that is kept for
            readers while a writer is at work.
        lock_s: for writing, hold the lock of the one writer, and wait for another so long; None: without the lock.

    Raises:
        IndexUnreadable: if there is no index, or the server does not let us in.
        IndexLocked: if another writer is still at work after `lock_s`.
        StorageFailed: if the tables cannot be created.
    """

    def __init__(
        self,
        folder: Path,
        url: DatabaseUrl,
        *,
        mode: Literal["read", "write"],
        state: Literal["tables", "finished", "saved"] = "tables",
        lock_s: float | None = None,
    ) -> None:
        self.folder, self.place, self._schema = folder, url.shown, url.schema
        self.connection = PostgresConnection(url, read_only=mode == "read")
        self._files = LayerFiles(self.connection, url.schema)
        self._vectors = VectorTables(self.connection, url.schema)
        super().__init__(self.connection)
        try:
            if mode == "read":
                self._open_to_read(state)
            else:
                self._open_to_write(lock_s)
        except BaseException:
            self.connection.close()
            raise

    def is_open(self) -> bool:
        """Tell whether the connection and its transaction, and with them the state that is read, still exist."""
        return self.connection.is_open()

    def close(self) -> None:
        """Release the lock of the writer, and close the connection; a second call does nothing."""
        database, psycopg = self.connection.raw, driver()
        # A busy server takes a while to notice the end of a connection, and the next writer may start at once.
        if not database.closed and database.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                database.execute("SELECT pg_advisory_unlock_all()")
        self.connection.close()

    # --- opening ------------------------------------------------------------------------------------

    def _open_to_read(self, state: Literal["tables", "finished", "saved"]) -> None:
        for _ in range(_ATTEMPTS):
            self._require_tables(state)
            ((saved,),) = self.connection.rows("SELECT saved FROM finished_state")
            if state == "saved" and saved is None:
                raise IndexUnreadable(f"no write is in progress at {self.place}")
            if state == "tables" or saved is None or self._read_saved(saved):
                return
            # A writer has finished, and dropped the copy, since this transaction began.
            self.connection.execute("ROLLBACK")
            self.connection.begin_reading()
        raise IndexLocked(f"writers of {self.place} finish faster than a reader can open it. Try again")

    def _require_tables(self, state: Literal["tables", "finished", "saved"]) -> None:
        """Raise `IndexUnreadable` unless there are tables of the format and version that are read here."""
        with database_errors_explained(self.place):
            version = schema_version(self.connection.raw, COMPONENT)
            if not version:
                raise no_index(self.place)
            if version < len(MIGRATIONS):
                if state == "tables":
                    return  # the command that brings them up to date reads the manifest before
                raise IndexUnreadable(
                    f"the tables of {self.place} have version {version}, and this version of Polygraph reads version "
                    f"{len(MIGRATIONS)}. Bring them up to date with: polygraph index --index {quoted(self.place)}"
                )
            self._require_format()
            known_version(self.connection.raw, COMPONENT, len(MIGRATIONS))

    def _read_saved(self, saved: str) -> bool:
        """Turn to a copy of a state and keep it from being dropped; False if it is gone."""
        psycopg = driver()
        self.connection.execute("SELECT set_config('search_path', ?, true)", (f'"{saved}"',))
        try:
            # The transaction keeps the lock of every table that it has read, and one is enough.
            self.connection.raw.execute(f'LOCK TABLE "{saved}".layers IN ACCESS SHARE MODE')
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            return False
        return True

    def _open_to_write(self, lock_s: float | None) -> None:
        if lock_s is not None:
            self._lock(lock_s)
        with database_errors_explained(self.place):
            if schema_version(self.connection.raw, COMPONENT) >= len(MIGRATIONS):
                self._require_format()
            migrate(self.connection.raw, COMPONENT, MIGRATIONS)
        if lock_s is not None:
            self._tidy()

    def _lock(self, wait_s: float) -> None:
        """Hold the lock of the one writer; the server also releases it when the connection ends."""
        key = f"polygraph write {self._schema}"
        ((held,),) = self.connection.rows("SELECT pg_try_advisory_lock(hashtextextended(?, 0))", (key,))
        # The server serves those who wait in the order in which they came.
        wait = f"SELECT pg_advisory_lock(hashtextextended('{key}', 0))"
        if not held and not (wait_s > 0 and self._within(f"{max(1, int(wait_s * 1000))}ms", wait)):
            raise IndexLocked(
                f"{self.place} is being written by {self._holder(key)}. Try again when it is done, or let "
                "the command wait with --wait SECONDS; reading goes on meanwhile"
            )

    def _holder(self, key: str) -> str:
        query = (
            "SELECT coalesce(host(a.client_addr), 'this host'), a.pid, "
            "to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS') "
            "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted "
            "AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(?, 0)"
        )
        for host, pid, since in self.connection.rows(query, (key,)):
            # Users do not see everything of each other's connections.
            return f"a process on {host} (backend {pid} of the server){f' since {since}' if since else ''}"
        return "another process"

    def _tidy(self) -> None:
        """Finish what a writer left that was stopped, and bring the files of layers here."""
        ((saved, unfinished),) = self.connection.rows(
            "SELECT saved, (SELECT count(*) FROM meta WHERE key = ?) FROM finished_state", (UNFINISHED,)
        )
        if saved is not None and not unfinished:
            self.drop_saved_state()
        for name in self._files.names():
            folder = self.folder / "derived" / name
            if damage(folder):
                self._files.fetch(folder)

    # --- files of layers ----------------------------------------------------------------------------

    def put_layer(self, name: str, version: str, n_rows: int, seconds: float) -> None:
        """Record that a layer is finished, and store its files."""
        super().put_layer(name, version, n_rows, seconds)
        folder = folder_of(self.folder, name, version)
        if folder.is_dir():
            self._files.store(folder)

    def has_files(self, folder: Path) -> bool:
        """Tell whether the files of a layer are here, as they were written, or can be fetched."""
        return not damage(folder) or self._files.has(folder)

    def fetch_files(self, folder: Path) -> None:
        """Bring the files of a layer here, unless they are."""
        if damage(folder) and self._files.has(folder):
            self._files.fetch(folder)

    # --- vectors ------------------------------------------------------------------------------------

    def put_vectors(self, name: str, version: str, least: int) -> str:
        """Store the vectors of a layer as rows too, if it has at least `least`; 0 for never."""
        folder = folder_of(self.folder, name, version)
        self._vectors.forget(folder.name)
        if name not in VECTOR_LAYERS or not 0 < least <= self.layers()[name][1]:
            return ""
        if problem := self._vectors.problem():
            return (
                f"vectors are searched in files, which every machine that asks fetches: {problem} (setting "
                "pgvector_rows; 0: never)"
            )
        self._vectors.put(name, folder.name, VectorIndex.open(folder), self._readers())
        return ""

    def open_vectors(self, folder: Path, from_files: Callable[[], VectorSearch]) -> VectorSearch:
        """Return the vectors of a layer as the database has them, else from its files."""
        found = DatabaseVectors.open(self.connection, self._schema, folder.name, from_files)
        return from_files() if found is None else found

    # --- moving to another store --------------------------------------------------------------------

    def load(self, table: PortableTable, rows: Iterable[PortableRow]) -> None:
        """Replace all rows of a table by those of another store."""
        super().load(table, rows)
        if table == "entity_decisions":
            # The next decision gets the next number.
            self.connection.execute(
                "SELECT setval(pg_get_serial_sequence('entity_decisions', 'n'), "
                "greatest(1, (SELECT max(n) FROM entity_decisions)), EXISTS (SELECT FROM entity_decisions))"
            )

    # --- states -------------------------------------------------------------------------------------

    def save_state(self) -> None:
        """Copy all tables, as they are now, to a schema that new readers turn to."""
        with self.transaction():
            ((generation,),) = self.connection.rows("SELECT generation FROM finished_state")
            saved = f"{self._schema}$saved{generation}"
            self.connection.execute(f'CREATE SCHEMA "{saved}"')
            for table in STATE_TABLES:
                self.connection.execute(
                    f'CREATE TABLE "{saved}".{table} (LIKE {self._schema}.{table} INCLUDING ALL)'
                )
                self.connection.execute(
                    f'INSERT INTO "{saved}".{table} SELECT * FROM {self._schema}.{table}'  # noqa: S608
                )
            for role in self._readers():
                self.connection.execute(f'GRANT USAGE ON SCHEMA "{saved}" TO {role}')
                self.connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{saved}" TO {role}')
            self.connection.execute("UPDATE finished_state SET saved = ?", (saved,))

    def _readers(self) -> list[str]:
        """Return the roles that were given the right to read the tables, quoted."""
        query = (
            "SELECT CASE WHEN a.grantee = 0 THEN 'public' ELSE a.grantee::regrole::text END FROM pg_class c "
            "CROSS JOIN aclexplode(c.relacl) a WHERE c.oid = to_regclass(?) AND a.privilege_type = 'SELECT' "
            "AND a.grantee != c.relowner ORDER BY 1"
        )
        return [role for (role,) in self.connection.rows(query, (f"{self._schema}.layers",))]

    def drop_saved_state(self) -> None:
        """Have new readers turn to the tables themselves, and open ones notice that there is a new state."""
        with self.transaction():
            self.connection.execute("UPDATE finished_state SET generation = generation + 1, saved = NULL")
            kept = [folder_of(self.folder, name, layer[0]).name for name, layer in self.layers().items()]
            self._files.delete_except(kept)
            self._vectors.keep_only(kept)
        self._drop_copies()
        for name in self._vectors.unused():
            self._within(_DROP_TIMEOUT, f"DROP TABLE {self._schema}.{name}")

    def _drop_copies(self) -> bool:
        """Drop the copies of states that no reader has open; tell whether none is left."""
        query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, ?) ORDER BY nspname"
        copies = [name for (name,) in self.connection.rows(query, (f"{self._schema}$saved",))]
        dropped = [self._within(_DROP_TIMEOUT, f'DROP SCHEMA "{name}" CASCADE') for name in copies]
        return all(dropped)

    def _within(self, timeout: str, statement: str) -> bool:
        """Run a statement that needs exclusive access; False if somebody is reading."""
        ((usual,),) = self.connection.rows("SELECT current_setting('lock_timeout')")
        self.connection.execute("SELECT set_config('lock_timeout', ?, false)", (timeout,))
        try:
            self.connection.execute(statement)
        except IndexLocked:
            return False
        finally:
            self.connection.execute("SELECT set_config('lock_timeout', ?, false)", (usual,))
        return True

    def delete(self) -> None:
        """Delete all tables, as if there had never been an index, and close the store."""
        with self.transaction():
            for table in (
                *STATE_TABLES,
                "finished_state",
                "layer_files",
                "vector_layers",
                *self._vectors.names(),
            ):
                self.connection.execute(f"DROP TABLE {table}")
            self.connection.execute("DELETE FROM polygraph_migrations WHERE component = ?", (COMPONENT,))
        self.close()

    def compact(self) -> bool:
        """Rewrite all tables without unused rows: what was deleted leaves the tables.

        Returns:
            False if a reader still holds an earlier state, which keeps it there.
        """
        ((now,),) = self.connection.rows("SELECT pg_current_xact_id()::text::bigint % (1::bigint << 32)")
        is_gone = self._drop_copies()
        for table in (*STATE_TABLES, "layer_files", "vector_layers"):
            is_gone &= self._within(_COMPACT_TIMEOUT, f"VACUUM (FULL) {self._schema}.{table}")
        is_gone &= self._vectors.compact(partial(self._within, _COMPACT_TIMEOUT))
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid() "
            "AND backend_xmin IS NOT NULL AND age(backend_xmin) > age(?::text::xid)"
        )
        ((n_earlier,),) = self.connection.rows(query, (str(now),))
        return is_gone and not n_earlier
