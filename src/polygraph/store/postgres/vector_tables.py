"""The vectors of layers as rows of the database, for search by pgvector (github.com/pgvector/pgvector).

One table for each layer and dimension. A row is a vector: in half precision for the index (HNSW, Malkov and Yashunin
2018), and in sixteen bits with a scale, as in the files of the layer, for exact cosines. Its id is a hash of these.
`vector_layers` lists the ids of a version of a layer in the order of its rows. So the next version adds only vectors
that are new, and the index is never built again; a reader of an earlier version still sees what is deleted after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import PolygraphError, StorageFailed
from polygraph.store.postgres.connection import PostgresConnection
from polygraph.store.vectors import VectorIndex

LAYERS = frozenset(
    {
        "chunk_vectors",
        "entity_vectors",
        "name_vectors",
        "description_vectors",
        "relation_vectors",
        "report_vectors",
    }
)
"""Layers that the database can search; methods that use the others compare all of their rows."""
EXTENSION = (0, 8)
"""The first version of pgvector that searches on where a filter leaves too few rows."""
_LARGEST_DIMENSION = 4_000
"""Numbers of a vector that its index takes."""
_BLOCK = 1_024
"""Rows that are sent at once."""
_DELETED = 10_000
"""Rows that are deleted by one statement."""
_MEMORY = 1 << 30
"""Bytes that the server may use to build an index; with fewer than it needs it takes many times as long."""
_ROW_MEMORY = 800
"""Bytes of a row in an index that is being built, without the vector."""

Ids = NDArray[np.int64]


class VectorTables:
    """The tables of vectors of one index, for its writer.

    Args:
        connection: to the database of the index.
        schema: that holds the tables.
    """

    def __init__(self, connection: PostgresConnection, schema: str) -> None:
        self._db, self._schema, self._layers = connection, schema, f"{schema}.vector_layers"

    def problem(self) -> str:
        """Install pgvector in the database if needed; return why that is not possible, or an empty string."""
        found = extension(self._db)
        if found is None:
            try:
                with self._db.attempt():
                    # Not in the schema of this index: other indexes of the database use it too.
                    self._db.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
            except PolygraphError:
                return "the server has no pgvector, or its administrator must run: CREATE EXTENSION vector"
            found = extension(self._db)
        if found is None or found[1] < EXTENSION:
            return f"pgvector of the server is older than {'.'.join(map(str, EXTENSION))}"
        return ""

    def put(self, layer: str, folder: str, vectors: VectorIndex, readers: list[str]) -> bool:
        """Store the vectors of a layer, instead of those of a folder of the same name.

        Args:
            layer: its name.
            folder: name of the folder of its version.
            vectors: of its files.
            readers: roles that may read the tables, quoted.

        Returns:
            False if the layer has none that can be searched: no rows, or too many dimensions.
        """
        dimension = vectors.rows(np.zeros(0, dtype=np.int64)).shape[1]
        if not len(vectors) or dimension > _LARGEST_DIMENSION:
            return False
        name = f"vectors_{layer.removesuffix('_vectors')}_{dimension}"
        table = f"{self._schema}.{name}"
        is_new = name not in self.names()
        known = self._ids("rows_table = ?", name)
        if is_new:
            self._create(table, dimension)
            for role in readers:
                for each in (table, self._layers):
                    self._db.execute(f"GRANT SELECT ON {each} TO {role}")
        ids = np.concatenate([_ids_of(*some) for _, some in _blocks(vectors)])
        missing = np.zeros(len(ids), dtype=np.bool_)
        missing[np.unique(ids, return_index=True)[1]] = True
        missing &= ~np.isin(ids, known)
        self._db.insert_binary(table, _binary_rows(vectors, ids, missing))
        if is_new:
            self._build_index(name, dimension, len(ids))
        self.forget(folder)
        self._db.execute(
            f"INSERT INTO {self._layers} VALUES (?, ?, ?)",  # noqa: S608
            (folder, name, ids.astype("<i8").tobytes()),
        )
        return True

    def forget(self, folder: str) -> None:
        """Have nobody search the vectors of a folder any more; `keep_only` deletes them."""
        # Under another name, since every row of a table of vectors must be in a list.
        query = (
            f"UPDATE {self._layers} SET folder = folder || ' ' || gen_random_uuid()::text WHERE folder = ?"  # noqa: S608
        )
        self._db.execute(query, (folder,))

    def keep_only(self, folders: list[str]) -> None:
        """Delete the vectors that no layer of some folders has."""
        for name in self.names():
            kept = self._ids("rows_table = ? AND folder = ANY(?)", name, folders)
            gone = np.setdiff1d(self._ids("rows_table = ?", name), kept)
            table = f"{self._schema}.{name}"
            for at in range(0, len(gone), _DELETED):
                some = gone[at : at + _DELETED].tolist()
                self._db.execute(f"DELETE FROM {table} WHERE id = ANY(?)", (some,))  # noqa: S608
        self._db.execute(f"DELETE FROM {self._layers} WHERE folder != ALL(?)", (folders,))  # noqa: S608

    def names(self) -> list[str]:
        """Return the names of all tables of vectors, sorted."""
        query = (
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = ? AND c.relkind = 'r' AND starts_with(c.relname, 'vectors_') ORDER BY 1"
        )
        return [name for (name,) in self._db.rows(query, (self._schema,))]

    def compact(self, run: Callable[[str], bool]) -> bool:
        """Rewrite the tables, and build their indexes again.

        Args:
            run: runs a statement that nobody may be reading for; False if somebody is.

        Returns:
            False if one could not be rewritten.
        """
        self._db.rows("SELECT set_config('max_parallel_maintenance_workers', '0', false)")
        with self.room_to_build(_MEMORY):
            done = [run(f"VACUUM (FULL) {self._schema}.{name}") for name in self.names()]
        self._db.execute("RESET max_parallel_maintenance_workers")
        return all(done)

    def unused(self) -> list[str]:
        """Return the names of the tables that no layer uses, sorted."""
        used = {name for (name,) in self._db.rows(f"SELECT rows_table FROM {self._layers}")}  # noqa: S608
        return [name for name in self.names() if name not in used]

    def _ids(self, condition: str, *parameters: object) -> Ids:
        query = f"SELECT ids FROM {self._layers} WHERE {condition}"  # noqa: S608
        found = [ids_from(each) for (each,) in self._db.rows(query, parameters, binary=True)]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _create(self, table: str, dimension: int) -> None:
        self._db.execute(
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, half {self._type(dimension)} NOT NULL, "
            "scale real NOT NULL, numbers bytea NOT NULL)"
        )
        # Neither compresses, and the halves are read one after the other where all rows are compared.
        self._db.execute(
            f"ALTER TABLE {table} ALTER half SET STORAGE PLAIN, ALTER numbers SET STORAGE EXTERNAL"
        )

    def _build_index(self, name: str, dimension: int, n_rows: int) -> None:
        operators = f"{self._extension()}.halfvec_ip_ops"
        statement = f"CREATE INDEX {name}_hnsw ON {self._schema}.{name} USING hnsw (half {operators})"
        with self.room_to_build(n_rows * (2 * dimension + _ROW_MEMORY)):
            try:
                with self._db.attempt():
                    self._db.execute(statement)
            except StorageFailed:
                # Several processes of the server build it in shared memory, of which containers have little.
                self._db.rows("SELECT set_config('max_parallel_maintenance_workers', '0', true)")
                self._db.execute(statement)
        self._db.execute(f"ANALYZE {self._schema}.{name}")

    @contextmanager
    def room_to_build(self, n_bytes: int) -> Iterator[None]:
        """Let the server use so much memory to build an index inside the block, within bounds."""
        query = "SELECT setting::bigint * 1024 FROM pg_settings WHERE name = 'maintenance_work_mem'"
        ((usual,),) = self._db.rows(query)
        change = "SELECT set_config('maintenance_work_mem', ?, false)"
        self._db.rows(change, (f"{max(int(usual), min(_MEMORY, n_bytes)) >> 10}kB",))
        yield
        self._db.rows(change, (f"{int(usual) >> 10}kB",))

    def _type(self, dimension: int) -> str:
        return f"{self._extension()}.halfvec({dimension})"

    def _extension(self) -> str:
        found = extension(self._db)
        assert found is not None  # noqa: S101  `problem` has looked
        return found[0]


def extension(connection: PostgresConnection) -> tuple[str, tuple[int, ...]] | None:
    """Return the schema of pgvector, quoted, and its version; None if the database does not have it."""
    query = (
        "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e "
        "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    for schema, version in connection.rows(query):
        return schema, tuple(int(part) for part in version.split(".")[:2])
    return None


def ids_from(stored: bytes) -> Ids:
    """Return ids as `vector_layers` stores them."""
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)


def _blocks(vectors: VectorIndex) -> Iterator[tuple[int, tuple[NDArray[np.int16], NDArray[np.float32]]]]:
    """Yield the first row of each block, its integers and scales."""
    for at in range(0, len(vectors), _BLOCK):
        yield at, vectors.in_sixteen_bits(np.arange(at, min(at + _BLOCK, len(vectors))))


def _ids_of(numbers: NDArray[np.int16], scales: NDArray[np.float32]) -> Ids:
    """Return the ids of vectors: eight bytes of a hash, which a million vectors share with a chance of 3 in 10^8."""
    rows = zip(numbers.astype("<i2"), scales.astype("<f4"), strict=True)
    joined = b"".join(blake2b(n.tobytes() + s.tobytes(), digest_size=8).digest() for n, s in rows)
    return ids_from(joined)


def _binary_rows(vectors: VectorIndex, ids: Ids, wanted: NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield some rows as the binary format of `COPY` has them: before each value its number of bytes."""
    for at, (all_numbers, all_scales) in _blocks(vectors):
        some = wanted[at : at + len(all_numbers)]
        numbers, scales = all_numbers[some], all_scales[some]
        dimension = numbers.shape[1]
        rows = np.zeros(
            len(numbers),
            dtype=[
                ("n_columns", ">i2"),
                ("id_bytes", ">i4"),
                ("id", ">i8"),
                ("half_bytes", ">i4"),
                ("dimension", ">i2"),
                ("unused", ">i2"),
                ("half", ">f2", (dimension,)),
                ("scale_bytes", ">i4"),
                ("scale", ">f4"),
                ("numbers_bytes", ">i4"),
                ("numbers", "<i2", (dimension,)),
            ],
        )
        rows["n_columns"], rows["id_bytes"], rows["scale_bytes"] = 4, 8, 4
        rows["half_bytes"], rows["dimension"], rows["numbers_bytes"] = (
            4 + 2 * dimension,
            dimension,
            2 * dimension,
        )
        rows["id"], rows["scale"], rows["numbers"] = ids[at : at + len(some)][some], scales, numbers
        rows["half"] = numbers * scales[:, None]
        if len(rows):
            yield rows.tobytes()
