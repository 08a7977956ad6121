"""Communities, reports, and report texts that a model wrote."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from polygraph.ids import document_of_chunk
from polygraph.records import Community, CountedCommunity, Report
from polygraph.store.serialization import (
    dump,
    load,
    n_strings,
    report_from_json,
    report_of,
    report_row,
)
from polygraph.store.sql import Row, SqlConnection

SCHEMA = """
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
"""
TABLES = {"communities": ("communities", "members"), "reports": ("reports", "written")}
"""Tables that a layer consists of."""


class ReportTables:
    """`store.protocol.ReportStore` in SQL tables."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection

    # --- communities --------------------------------------------------------------------------------

    def put_communities(self, communities: Iterable[Community]) -> None:
        """Replace all communities."""
        self._db.execute("DELETE FROM communities")
        self._db.execute("DELETE FROM members")
        members: list[tuple[str, str]] = []

        def rows() -> Iterator[Row]:
            for c in communities:
                members.extend((e, c.id) for e in c.entities)
                yield c.id, c.level, c.parent, dump(c.entities), dump(c.chunks)

        self._db.insert("communities", rows())
        # In the order of the primary key, so that rows are appended to the table.
        members.sort()
        self._db.insert("members", members)

    def communities(self, ids: Sequence[str] | None = None) -> list[Community]:
        """Return all communities by level, then id, or some in the order asked for."""
        if ids is None:
            found = self._db.rows("SELECT * FROM communities ORDER BY level, id")
        else:
            found = self._db.by_key("SELECT * FROM communities WHERE id IN", ids)
        # An id stands in many communities, but is kept in memory once.
        kept: dict[str, str] = {}
        return [
            Community(
                id=i,
                level=level,
                parent=parent,
                entities=tuple([kept.setdefault(e, e) for e in load(entities)]),
                chunks=tuple([kept.setdefault(c, c) for c in load(chunks)]),
            )
            for i, level, parent, entities, chunks in found
        ]

    def community_tree(self) -> list[tuple[str, int, str]]:
        """Return every community as ``(id, level, id of its parent)``, by level, then id."""
        return self._db.rows("SELECT id, level, parent FROM communities ORDER BY level, id")

    def community_parents(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the ids of the parents of some communities, empty for those without; unknown ids are left out."""
        return dict(self._db.by_key("SELECT id, parent FROM communities WHERE id IN", ids))

    def community_ids(self) -> list[str]:
        """Return the ids of all communities, sorted."""
        return [i for (i,) in self._db.rows("SELECT id FROM communities ORDER BY id")]

    def counted_communities(self) -> Iterator[CountedCommunity]:
        """Yield every community with the number of its chunks instead of their ids, by level, then id."""
        for i, level, parent in self._db.rows("SELECT id, level, parent FROM communities ORDER BY level, id"):
            ((entities,),) = self._db.rows("SELECT entities FROM communities WHERE id = ?", (i,))
            n_chunks = n_strings(self._db.pieces("communities", "chunks", i))
            yield CountedCommunity(i, level, parent, load(entities), n_chunks)

    def communities_of(self, entities: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs ``(entity id, community id)`` of some entities, sorted."""
        query = "SELECT entity, community FROM members WHERE entity IN"
        return sorted((entity, community) for entity, community in self._db.where_in(query, entities))

    # --- reports ------------------------------------------------------------------------------------

    def put(self, reports: Iterable[Report]) -> None:
        """Replace all reports."""
        self._db.execute("DELETE FROM reports")
        self._db.insert("reports", map(report_row, reports))

    def get(self, communities: Sequence[str]) -> list[Report]:
        """Return the reports of some communities, in the order asked for; those without one are left out."""
        found = self._db.by_key("SELECT * FROM reports WHERE community IN", communities)
        return [report_of(row) for row in found]

    def all(self) -> Iterator[Report]:
        """Yield every report, by level, then community id: the rows of `report_vectors`."""
        for row in self._db.iterate("SELECT * FROM reports ORDER BY level, community"):
            yield report_of(row)

    def reported_communities(self) -> list[str]:
        """Return the ids of the communities that have a report, in the order of `all`."""
        query = "SELECT community FROM reports ORDER BY level, community"
        return [community for (community,) in self._db.rows(query)]

    # --- texts written by a model -------------------------------------------------------------------

    def all_written(self) -> Iterator[tuple[str, str]]:
        """Yield every text that a model wrote as ``(hash of its input, text)``, by hash."""
        yield from self._db.iterate("SELECT key, value FROM written ORDER BY key")

    def written(self, key: str) -> str | None:
        """Return the text that a model wrote for the input with this hash, if there is one."""
        found = self._db.rows("SELECT value FROM written WHERE key = ?", (key,))
        return found[0][0] if found else None

    def put_written(self, key: str, value: str) -> None:
        """Store a text that a model wrote under the hash of its input."""
        self._db.execute(
            "INSERT INTO written VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def keep_written(self, keys: Collection[str]) -> None:
        """Delete the written texts under all other keys: their inputs no longer exist."""
        obsolete = [
            (key,) for (key,) in self._db.rows("SELECT key FROM written ORDER BY key") if key not in keys
        ]
        self._db.execute_many("DELETE FROM written WHERE key = ?", obsolete)

    def remove_written(self, documents: Collection[str]) -> None:
        """Delete every written text that rests on one of some documents."""
        obsolete = [
            (key,)
            for key, value in self.all_written()
            if any(document_of_chunk(chunk) in documents for chunk in report_from_json(value).chunks)
        ]
        self._db.execute_many("DELETE FROM written WHERE key = ?", obsolete)
