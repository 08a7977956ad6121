"""Texts that many rows share, each stored once under its hash.

A sentence describes every entity and relation that it states, in the extraction rows and again in the graph, so that
copies would take half of the file. A row holds the hash (64 bits of BLAKE2b) instead; short texts stay in their rows.
"""

from collections.abc import Sequence

from polygraph.arrays import text_hash
from polygraph.store.connection import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (hash INTEGER PRIMARY KEY, text TEXT NOT NULL);
"""
SHORT = 24
"""Characters of the longest text that stays in its rows: a hash takes 8 bytes there, and 20 in JSON."""

_IN_ROWS = "SELECT description FROM {table} WHERE typeof(description) = 'integer'"
_IN_VIEWS = (
    "SELECT json_extract(d.value, '$[0]') FROM {table}, json_each({table}.descriptions) AS d "
    "WHERE json_type(d.value, '$[0]') = 'integer'"
)


class SharedTexts:
    """The texts of one set of tables; without a table for them, every text stays in its rows."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    @property
    def exist(self) -> bool:
        """Whether there is a table for them; an index of an earlier version has none until it is written."""
        return bool(self._db.columns("texts"))

    def stand_in(self, table: str) -> bool:
        """Tell whether hashes may stand in the column `description` of a table; in an earlier version it holds text."""
        query = "SELECT type FROM pragma_table_info(?) WHERE name = 'description'"
        return self.exist and self._db.rows(query, (table,)) == [("",)]

    def column(self, column: str) -> str:
        """Return the SQL for the text that a column of rows holds or stands for."""
        if not self.exist:
            return column
        return f"coalesce((SELECT text FROM texts WHERE hash = {column}), {column})"  # noqa: S608

    def store(self, texts: Sequence[str]) -> list[int | str]:
        """Store some texts, and return what stands for each in a row."""
        if not self.exist:
            return list(texts)
        keys: list[int | str] = [text if len(text) <= SHORT else text_hash(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if isinstance(key, int)}
        self._db.execute_many("INSERT OR IGNORE INTO texts VALUES (?, ?)", new.items())
        return keys

    def find(self, keys: Sequence[int | str]) -> dict[int | str, str]:
        """Return the text that each of some keys stands for."""
        found: dict[int | str, str] = {key: key for key in keys if isinstance(key, str)}
        hashes = list({key for key in keys if isinstance(key, int)})
        if hashes:
            found.update(self._db.where_in("SELECT hash, text FROM texts WHERE hash IN", hashes))
        return found

    def delete_unused(self) -> None:
        """Delete the texts that no row has any more."""
        if not self.exist:
            return
        used = [_IN_ROWS.format(table=table) for table in ("entity_rows", "relation_rows")]
        used += [_IN_VIEWS.format(table=table) for table in ("entities", "relations")]
        self._db.execute(f"DELETE FROM texts WHERE hash NOT IN ({' UNION ALL '.join(used)})")  # noqa: S608
