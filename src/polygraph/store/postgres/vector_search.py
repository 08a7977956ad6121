"""Search for the nearest vectors of a layer in the database, by pgvector; see `vector_tables`.

The database ranks rows in half precision, by its index or by comparing them all. The best are fetched in sixteen bits
and ranked by their cosine, which is to the last bit what `store.vectors` computes from the files of the layer.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows, members, offsets
from polygraph.errors import IndexUnreadable, StorageFailed
from polygraph.models.protocols import Vectors
from polygraph.store.postgres.connection import PostgresConnection
from polygraph.store.postgres.vector_tables import EXTENSION, Ids, extension, ids_from
from polygraph.store.vectors import Hit, Nearest, VectorSearch

_SPARE = 100
"""Rows that are fetched beyond those asked for, at least: half precision may rank them otherwise."""
_FEW = 16
"""Rows within a filter are looked up by id up to the n-th part of all rows; each costs about as much as comparing so
many one after the other."""
_WITHIN = 2_000
"""Most rows that are asked of the index, about: comparing all costs less than more of them."""
_MOST = 1_000
"""Most hits of a search in the database; for more the files cost less than fetching that many rows."""
_SETTINGS = (
    # Rows that a search of the index keeps in view: with fewer it misses more, and this is the largest number. Then
    # it goes on until it has found as many as were asked for, since deleted rows and those of others do not count.
    "SELECT set_config('hnsw.ef_search', '1000', false), set_config('hnsw.iterative_scan', 'relaxed_order', false)"
)
_COMPARED = 256
"""Rows that are compared at once."""

Numbers = NDArray[np.int64]


class DatabaseVectors(VectorSearch):
    """The vectors of a layer in the database.

    Args:
        connection: a reader.
        table: with its schema.
        dimension: of the vectors.
        operators: schema of pgvector, quoted.
        ids: id of each row.
        from_files: opens the files of the layer, for what takes all rows.
    """

    def __init__(
        self,
        connection: PostgresConnection,
        table: str,
        dimension: int,
        operators: str,
        ids: Ids,
        from_files: Callable[[], VectorSearch],
    ) -> None:
        self._db, self._table, self._ids, self._from_files = connection, table, ids, from_files
        self._dimension = dimension
        self._distance = f"half OPERATOR({operators}.<#>) ?::text::{operators}.halfvec"
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    @classmethod
    def open(
        cls, connection: PostgresConnection, schema: str, folder: str, from_files: Callable[[], VectorSearch]
    ) -> "DatabaseVectors | None":
        """Return the vectors of a version of a layer; None if the database does not have them for this reader."""
        found = extension(connection)
        if found is None or found[1] < EXTENSION:
            return None
        try:
            with connection.attempt():
                query = f"SELECT rows_table, ids FROM {schema}.vector_layers WHERE folder = ?"  # noqa: S608
                for name, ids in connection.rows(query, (folder,), binary=True):
                    # From here on the table cannot be dropped, since a transaction has read it.
                    connection.rows(f"SELECT 1 FROM {schema}.{name} LIMIT 1")  # noqa: S608
                    connection.rows(_SETTINGS)
                    dimension = int(name.rpartition("_")[2])
                    return cls(connection, f"{schema}.{name}", dimension, found[0], ids_from(ids), from_files)
        except (IndexUnreadable, StorageFailed):
            # A table that was dropped since, or no right to read it.
            return None
        return None

    def __len__(self) -> int:
        return len(self._ids)

    def scores(self, vector: Vectors) -> NDArray[np.float32]:
        """Cosine of every row with a unit vector, from the files of the layer; shape ``(n,)``."""
        return self._files.scores(vector)

    def scores_of(self, vector: Vectors, ns: Numbers) -> NDArray[np.float32]:
        """Cosine of some rows with a unit vector, in the order asked for."""
        vector = vector.astype(np.float32)
        found = np.empty(len(ns), dtype=np.float32)
        for at in range(0, len(ns), _COMPARED):
            numbers, scales = self._fetch(ns[at : at + _COMPARED])
            found[at : at + _COMPARED] = dot_rows(numbers.astype(np.float32), vector) * scales
        return found

    def rows(self, ns: Numbers) -> Vectors:
        """The vectors of some rows, shape ``(len(ns), dimension)``."""
        numbers, scales = self._fetch(ns)
        return np.asarray(numbers * scales[:, None], dtype=np.float32)

    def compares_all(self, k: int) -> bool:
        """See `VectorSearch`."""
        return not self.is_approximate(k)

    def is_approximate(self, k: int) -> bool:
        """Tell whether a search for `k` rows without a filter uses the index, rather than compare all rows."""
        return k <= _MOST

    def nearest(self, vector: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> Nearest:
        """Return what `search` does, as arrays of at most `k` rows and scores.

        A few of the nearest may be missing. With a filter, all allowed rows are compared where they are few, or where
        too few of the nearest rows are allowed.
        """
        if k > _MOST:
            return self._files.nearest(vector, k, allowed)
        permitted = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        wanted = min(k + max(k, _SPARE), len(permitted))
        if k <= 0 or not wanted:
            return Nearest(np.zeros(0, dtype=np.int64), np.zeros(0))
        best = self._nearest(vector, wanted, permitted, allowed)
        return Nearest.of(self.scores_of(vector, best), k, best)

    def search_each(
        self, vectors: Vectors, ks: Sequence[int], allowed: NDArray[np.bool_] | None = None
    ) -> list[list[Hit]]:
        """Return for each of some vectors, shape ``(m, dimension)``, its nearest rows, as `search` does for one."""
        return [self.search(vector, k, allowed) for vector, k in zip(vectors, ks, strict=True)]

    def _nearest(
        self, vector: Vectors, wanted: int, permitted: Numbers, allowed: NDArray[np.bool_] | None
    ) -> Numbers:
        """Return about the `wanted` nearest of the permitted rows, ascending."""
        asked = f"[{','.join(f'{number:.8g}' for number in vector.tolist())}]"
        if allowed is not None and len(permitted) * _FEW <= len(self):
            ids = np.unique(self._ids[permitted]).tolist()
            query = f"SELECT id, {self._distance} FROM {self._table} WHERE id = ANY(?)"  # noqa: S608
            return self._best(self._db.rows(query, (asked, ids), binary=True), wanted, allowed)
        # Half as many again, since chance may put fewer of the allowed rows among the nearest.
        within = wanted if allowed is None else ceil(1.5 * wanted * len(self) / len(permitted))
        if within <= _WITHIN:
            query = f"SELECT id, {self._distance} AS d FROM {self._table} ORDER BY {self._distance} LIMIT ?"  # noqa: S608
            found = self._best(self._db.rows(query, (asked, asked, within), binary=True), wanted, allowed)
            if len(found) == wanted:
                return found
        query = f"SELECT id, {self._distance} FROM {self._table}"  # noqa: S608
        return self._best(self._db.rows(query, (asked,), binary=True), wanted, allowed)

    def _best(
        self, found: list[tuple[int, float]], wanted: int, allowed: NDArray[np.bool_] | None
    ) -> Numbers:
        """Return the nearest of the vectors that the database found as rows of this layer, ascending."""
        ids = np.fromiter((each for each, _ in found), dtype=np.int64, count=len(found))
        distances = np.fromiter((each for _, each in found), dtype=np.float64, count=len(found))
        # Rows with the same vector share an id; vectors of other versions have none here.
        first = np.searchsorted(self._sorted, ids, side="left")
        counts = np.searchsorted(self._sorted, ids, side="right") - first
        of_each, owner = members(offsets(counts), np.arange(len(ids)))
        ns = self._order[of_each - offsets(counts)[owner] + first[owner]]
        distances = distances[owner]
        if allowed is not None:
            ns, distances = ns[allowed[ns]], distances[allowed[ns]]
        return np.sort(ns[np.lexsort((ns, distances))[:wanted]])

    def _fetch(self, ns: Numbers) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
        """Return the integers and scales of some rows, in the order asked for."""
        ids = self._ids[ns]
        distinct, places = np.unique(ids, return_inverse=True)
        query = f"SELECT id, scale, numbers FROM {self._table} WHERE id = ANY(?)"  # noqa: S608
        found = sorted(self._db.rows(query, (distinct.tolist(),), binary=True))
        joined = b"".join(numbers for _, _, numbers in found)
        numbers = np.frombuffer(joined, dtype="<i2").astype(np.int16)
        scales = np.array([scale for _, scale, _ in found], dtype=np.float32)
        return numbers.reshape(len(found), self._dimension)[places], scales[places]

    @cached_property
    def _files(self) -> VectorSearch:
        return self._from_files()
