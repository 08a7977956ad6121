"""Texts that many rows share, each stored once under its hash.

A sentence describes every entity and relation that it states, in the extraction rows and again in the graph, so that
copies would take half of the file. A row holds the hash (64 bits of BLAKE2b) instead; short texts stay in their rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from polygraph.arrays import text_hash
from polygraph.store.serialization import dump, load
from polygraph.store.sql import Row, SqlConnection, in_batches

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


def text_key(text: str) -> int | str:
    """Return what stands for a text in a row: its hash, or a short text itself.

    >>> text_key("a clerk"), text_key("a clerk " * 9) == text_hash("a clerk " * 9)
    ('a clerk', True)
    """
    return text if len(text) <= SHORT else text_hash(text)


class SharedTexts:
    """The texts of one set of tables; in a database that does not share them, every text stays in its rows."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db, self._are_shared = connection, connection.dialect.shares_texts

    def column(self, column: str) -> str:
        """Return the SQL for the text that a column of rows holds or stands for."""
        if not self._are_shared:
            return column
        return f"coalesce((SELECT text FROM texts WHERE hash = {column}), {column})"  # noqa: S608

    def store(self, texts: Sequence[str]) -> list[int | str]:
        """Store some texts, and return what stands for each in a row."""
        if not self._are_shared:
            return list(texts)
        keys = {text: text_key(text) for text in dict.fromkeys(texts)}
        new = {key: text for text, key in keys.items() if isinstance(key, int)}
        self._db.execute_many("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", new.items())
        return [keys[text] for text in texts]

    def find(self, keys: Sequence[int | str]) -> dict[int | str, str]:
        """Return the text that each of some keys stands for."""
        found: dict[int | str, str] = {key: key for key in keys if isinstance(key, str)}
        hashes = list({key for key in keys if isinstance(key, int)})
        if hashes:
            found.update(self._db.where_in("SELECT hash, text FROM texts WHERE hash IN", hashes))
        return found

    def n_bytes(self, length: str) -> str:
        """Return the SQL for the bytes of the descriptions of a row of the graph, a little more than they have.

        Args:
            length: the SQL for the bytes of the column itself.
        """
        if not self._are_shared:
            return length
        text = self.column("json_extract(d.value, '$[0]')")
        return f"(SELECT sum(length(CAST({text} AS BLOB)) + 1) FROM json_each(descriptions) AS d)"  # noqa: S608

    def written_out(self, columns: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows of a table with texts in the place of hashes."""
        return self._replaced(columns, rows, self.find) if self._are_shared else iter(rows)

    def taken_in(self, columns: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows of a table with hashes in the place of texts, which are stored."""
        if not self._are_shared:
            return iter(rows)
        return self._replaced(
            columns, rows, lambda texts: dict(zip(texts, self.store([str(t) for t in texts]), strict=True))
        )

    @staticmethod
    def _replaced(
        columns: Sequence[str],
        rows: Iterable[Row],
        replace: Callable[[list[int | str]], Mapping[int | str, int | str]],
    ) -> Iterator[Row]:
        """Yield rows with what a function returns for each description."""
        at = next((n for n, name in enumerate(columns) if name in ("description", "descriptions")), None)
        if at is None:
            yield from rows
            return
        is_list = columns[at] == "descriptions"
        for _, batch in in_batches(rows):
            pairs = [load(row[at]) if is_list else [(row[at], "")] for row in batch]
            new = replace([text for some in pairs for text, _ in some])
            for row, some in zip(batch, pairs, strict=True):
                value = dump([(new[text], chunk) for text, chunk in some]) if is_list else new[some[0][0]]
                yield (*row[:at], value, *row[at + 1 :])

    def delete_unused(self) -> None:
        """Delete the texts that no row has any more."""
        if not self._are_shared:
            return
        used = [_IN_ROWS.format(table=table) for table in ("entity_rows", "relation_rows")]
        used += [_IN_VIEWS.format(table=table) for table in ("entities", "relations")]
        self._db.execute(f"DELETE FROM texts WHERE hash NOT IN ({' UNION ALL '.join(used)})")  # noqa: S608
