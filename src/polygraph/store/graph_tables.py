"""Entities, relations and triples: views that are computed from the extraction rows."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal

from polygraph.arrays import text_hash
from polygraph.ids import document_of_chunk
from polygraph.records import Description, Entity, Relation, Triple
from polygraph.store.protocol import (
    EntityOrder,
    EntityOutline,
    EntityOverview,
    LostRelation,
    Merge,
    NamePair,
    SummaryKind,
    WrittenSummary,
)
from polygraph.store.serialization import (
    dump,
    entity_of,
    first_strings,
    load,
    load_strings,
    relation_of,
    triple_of,
    whole_strings,
)
from polygraph.store.shared_texts import SharedTexts
from polygraph.store.sql import Row, SqlConnection, in_batches
from polygraph.text.normalize import normalize_name, typed_forms

SCHEMA = """
CREATE TABLE IF NOT EXISTS merges (
  entity TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL, rule TEXT NOT NULL, score REAL NOT NULL,
  other TEXT NOT NULL, evidence TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS name_pairs (
  entity TEXT NOT NULL, other TEXT NOT NULL, name TEXT NOT NULL, other_name TEXT NOT NULL, decision TEXT NOT NULL,
  rule TEXT NOT NULL, score REAL NOT NULL, evidence TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lost_relations (
  window TEXT NOT NULL, seq INTEGER NOT NULL, reason TEXT NOT NULL, entity TEXT NOT NULL,
  PRIMARY KEY (window, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entities (
  n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, type TEXT NOT NULL,
  aliases TEXT NOT NULL, descriptions TEXT NOT NULL, chunks TEXT NOT NULL, degree INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS names (
  name TEXT NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (name, entity)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS relations (
  n INTEGER PRIMARY KEY, source INTEGER NOT NULL, target INTEGER NOT NULL, predicates TEXT NOT NULL,
  keywords TEXT NOT NULL, descriptions TEXT NOT NULL, weight REAL NOT NULL, chunks TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS relations_by_source ON relations (source);
CREATE INDEX IF NOT EXISTS relations_by_target ON relations (target);
CREATE TABLE IF NOT EXISTS triples (
  n INTEGER PRIMARY KEY, source INTEGER NOT NULL, target INTEGER NOT NULL, predicate TEXT NOT NULL,
  weight REAL NOT NULL, chunks TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS summaries (
  kind TEXT NOT NULL, n INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (kind, n)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written_summaries (
  key TEXT PRIMARY KEY, text TEXT NOT NULL, written_by TEXT NOT NULL, chunks TEXT NOT NULL) WITHOUT ROWID;
"""
TABLES = ("entities", "names", "relations", "triples", "merges", "name_pairs", "lost_relations")
"""Tables that the layer `graph` consists of."""
SUMMARY_TABLES = ("summaries", "written_summaries")
"""Tables that the layer `descriptions` consists of."""

_FEW = 2
"""Strings of a short list."""
_ENDS = "JOIN entities s ON s.n = r.source JOIN entities t ON t.n = r.target"
_ENTITY_SUMMARY = "(SELECT text FROM summaries WHERE kind = 'entity' AND n = e.n)"
_RELATION_SUMMARY = "(SELECT text FROM summaries WHERE kind = 'relation' AND n = r.n)"
_UNLESS_SUMMED_UP = "CASE WHEN coalesce({summary}, '') = '' THEN {row}.descriptions ELSE '[]' END"
_ENTITIES = f"SELECT e.*, {_ENTITY_SUMMARY} FROM entities e"  # noqa: S608
_RELATIONS = f"SELECT r.*, {_RELATION_SUMMARY}, s.id, t.id FROM relations r {_ENDS}"  # noqa: S608
_ENTITY_STATEMENTS = (
    "SELECT e.n, e.id, e.name, e.type, '[]', "  # noqa: S608
    f"{_UNLESS_SUMMED_UP.format(summary=_ENTITY_SUMMARY, row='e')}, '[]', e.degree, {_ENTITY_SUMMARY} "
    "FROM entities e ORDER BY e.n"
)
_RELATION_STATEMENTS = (
    "SELECT r.n, r.source, r.target, r.predicates, r.keywords, "  # noqa: S608
    f"{_UNLESS_SUMMED_UP.format(summary=_RELATION_SUMMARY, row='r')}, r.weight, '[]', {_RELATION_SUMMARY}, s.id, t.id "
    f"FROM relations r {_ENDS} ORDER BY r.n"
)
_TABLE_OF: Mapping[SummaryKind, str] = {"entity": "entities", "relation": "relations"}
_TRIPLES = f"SELECT r.*, s.{{column}}, t.{{column}} FROM triples r {_ENDS}"  # noqa: S608


class GraphTables:
    """`store.protocol.GraphStore` in SQL tables."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection
        self._texts = SharedTexts(connection)

    def put(
        self,
        entities: Iterable[Entity],
        relations: Iterable[Relation],
        triples: Iterable[Triple],
        merges: Iterable[Merge],
        pairs: Iterable[NamePair] = (),
        lost: Iterable[tuple[str, int, str, str]] = (),
    ) -> None:
        """Replace the graph; row numbers are positions in the order of ids.

        Args:
            entities: all, ascending by id.
            relations: the same, by id.
            triples: the same, by subject, object, predicate.
            merges: all.
            pairs: all pairs of names that were compared and not merged.
            lost: relation rows in no relation, as ``(window, position in it, reason, entity)``.
        """
        numbers: dict[str, int] = {}
        for table in (*TABLES, "summaries"):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608
        self._put_entities(entities, numbers)
        for at, some in in_batches(relations):
            self._db.insert(
                "relations",
                (
                    (
                        n,
                        numbers[r.source],
                        numbers[r.target],
                        _dump_strings(r.predicates),
                        _dump_strings(r.keywords),
                        descriptions,
                        r.weight,
                        _dump_strings(r.chunks),
                    )
                    for n, (r, descriptions) in enumerate(zip(some, self._described(some), strict=True), at)
                ),
            )
        self._db.insert(
            "triples",
            (
                (n, numbers[t.source], numbers[t.target], t.predicate, t.weight, _dump_strings(t.chunks))
                for n, t in enumerate(triples)
            ),
        )
        self._db.insert("merges", merges)
        self._db.insert("name_pairs", pairs)
        self._db.insert("lost_relations", lost)
        self._texts.delete_unused()

    def _described(self, rows: Sequence[Entity | Relation]) -> list[str]:
        """Store the texts of descriptions; return the column of each row, as JSON."""
        pairs = [[(d.text, d.chunk) for d in row.descriptions] for row in rows]
        keys = iter(self._texts.store([text for some in pairs for text, _ in some]))
        return [dump([(next(keys), chunk) for _, chunk in some]) for some in pairs]

    def _with_descriptions(self, rows: Iterable[Row], column: int) -> Iterator[Row]:
        """Yield rows with the column of descriptions as pairs of a text and the id of its chunk."""
        for _, batch in in_batches(rows):
            pairs = [load(row[column]) for row in batch]
            texts = self._texts.find([key for some in pairs for key, _ in some])
            for row, some in zip(batch, pairs, strict=True):
                yield (*row[:column], [(texts[key], chunk) for key, chunk in some], *row[column + 1 :])

    @staticmethod
    def _with_hashes(rows: Iterable[Row], column: int) -> Iterator[Row]:
        """Yield rows with the column of descriptions as pairs of the hash of a text and the id of its chunk."""
        for row in rows:
            pairs = [
                (key if isinstance(key, int) else text_hash(key), chunk) for key, chunk in load(row[column])
            ]
            yield (*row[:column], pairs, *row[column + 1 :])

    def _put_entities(self, entities: Iterable[Entity], numbers: dict[str, int]) -> None:
        """Write entities with their names, and add their row numbers to `numbers`."""
        names: list[tuple[str, int]] = []
        for at, some in in_batches(entities):
            rows = []
            for n, (e, descriptions) in enumerate(zip(some, self._described(some), strict=True), at):
                numbers[e.id] = n
                names.extend((normalize_name(name), n) for name in (e.name, *e.aliases))
                rows.append(
                    (
                        n,
                        e.id,
                        e.name,
                        e.type,
                        _dump_strings(e.aliases),
                        descriptions,
                        _dump_strings(e.chunks),
                        e.degree,
                    )
                )
            self._db.insert("entities", rows)
        names.sort()
        self._db.insert("names", (name for name, _ in groupby(names)))

    # --- entities -----------------------------------------------------------------------------------

    def entities_by_row(self, rows: Sequence[int], *, most_chunks: int | None = None) -> list[Entity]:
        """Return entities by row number, in the order asked for, each with at most `most_chunks` of its chunks."""
        found = self._db.by_key(f"{_ENTITIES} WHERE e.n IN", rows)
        return [entity_of(row, most_chunks) for row in self._with_descriptions(found, 5)]

    def entity_heads(self, rows: Sequence[int], *, most_chunks: int) -> list[Entity]:
        """Return entities by row, in the order asked for, with the first of their chunks, and 0 as their degree.

        Of an entity with many thousands of chunks much less is read than by `entities_by_row`: columns behind a long
        one can only be reached through it.
        """
        columns = "e.n, e.id, e.name, e.type, e.aliases, e.descriptions, '[]', 0"
        found = self._db.by_key(f"{_ENTITIES.replace('e.*', columns)} WHERE e.n IN", rows)
        return [
            replace(entity_of(row), chunks=self._first_chunks(row[1], most_chunks))
            for row in self._with_descriptions(found, 5)
        ]

    def entity_outlines(self, rows: Sequence[int]) -> list[EntityOutline]:
        """Return what says which texts describe some entities, by row, in the order asked for."""
        query = "SELECT n, id, name, descriptions FROM entities WHERE n IN"
        return [
            EntityOutline(i, name, [(key, chunk) for key, chunk in load(described)])
            for _, i, name, described in self._db.by_key(query, rows)
        ]

    def texts(self, keys: Sequence[int | str]) -> dict[int | str, str]:
        """Return the texts of some keys of `entity_outlines`."""
        return self._texts.find(keys)

    def _first_chunks(self, entity: str, most: int) -> tuple[str, ...]:
        read = b""
        for piece in self._db.pieces("entities", "chunks", entity):
            read += piece
            found = first_strings(f"{whole_strings(read.decode('utf-8', 'ignore'))}]", most)
            if len(found) == most:
                return found
        return first_strings(read.decode("utf-8"), most)

    def all_entities(self) -> Iterator[Entity]:
        """Yield every entity, by row."""
        rows = self._db.iterate(f"{_ENTITIES} ORDER BY e.n")
        yield from map(entity_of, self._with_descriptions(rows, 5))

    def entity_statements(self) -> Iterator[Entity]:
        """Yield every entity, by row, without aliases and chunks; descriptions only if there is no summary."""
        rows = self._db.iterate(_ENTITY_STATEMENTS)
        yield from map(entity_of, self._with_descriptions(rows, 5))

    def entity_ids(self) -> list[str]:
        """Return the ids of all entities, by row."""
        return [i for (i,) in self._db.rows("SELECT id FROM entities ORDER BY n")]

    def entity_names(self) -> Iterator[tuple[str, str]]:
        """Yield id and name of every entity, by row."""
        yield from self._db.iterate("SELECT id, name FROM entities ORDER BY n")

    def names_by_id(self, ids: Sequence[str]) -> dict[str, str]:
        """Return names by entity id; unknown ids are left out."""
        return dict(self._db.by_key("SELECT id, name FROM entities WHERE id IN", ids))

    def names_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return names by entity row; unknown rows are left out."""
        return dict(self._db.by_key("SELECT n, name FROM entities WHERE n IN", rows))

    def ids_by_row(self, rows: Sequence[int]) -> dict[int, str]:
        """Return ids by entity row; unknown rows are left out."""
        return dict(self._db.by_key("SELECT n, id FROM entities WHERE n IN", rows))

    def entity_rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return row numbers by entity id; unknown ids are left out."""
        return dict(self._db.by_key("SELECT id, n FROM entities WHERE id IN", ids))

    def entities_named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the rows of the entities that have some names or aliases, by name as given; namesakes by row."""
        keys = {name: normalize_name(name) for name in names}
        found: dict[str, list[int]] = {}
        query = "SELECT name, entity FROM names WHERE name IN"
        for name, row in self._db.where_in(query, sorted(set(keys.values()))):
            found.setdefault(name, []).append(row)
        return {name: sorted(found[key]) for name, key in keys.items() if key in found}

    def entity_overview(
        self, *, order: EntityOrder, kind: str | None = None, rows: Sequence[int] | None = None, limit: int
    ) -> list[EntityOverview]:
        """Return the first entities in an order, see `store.protocol.GraphReader`."""
        columns = f"n, id, name, type, {self._db.dialect.list_length('chunks')}, degree"
        where, values = "", list[Any]()
        if kind is not None:
            where, values = "AND type = ?", [kind]
        if rows is not None:
            condition, keys = self._db.dialect.one_of("n", rows)
            where, values = f"{where} AND {condition}", [*values, keys]
        by = "5 DESC, id" if order == "mentions" else "name, id"
        query = f"SELECT {columns} FROM entities WHERE 1 = 1 {where} ORDER BY {by} LIMIT ?"  # noqa: S608
        values.append(limit)
        return [EntityOverview(*row) for row in self._db.rows(query, values)]

    def entities_containing(self, text: str, *, whole: bool = False) -> list[int]:
        """Return the rows of the entities with a name or alias that contains a text, see `store.protocol`."""
        wanted = typed_forms(text)
        condition = "name = ?" if whole else self._db.dialect.contains("name")
        any_form = " OR ".join([condition] * len(wanted))
        query = f"SELECT DISTINCT entity FROM names WHERE {any_form}"  # noqa: S608
        found = {row for (row,) in self._db.rows(query, wanted)}
        # A name in ASCII has one form, which is in the table.
        is_ascii = f"{self._db.dialect.n_bytes('name')} = length(name)"
        for name, row in self._db.iterate(f"SELECT name, entity FROM names WHERE NOT {is_ascii}"):  # noqa: S608
            forms = typed_forms(name)
            if any(form in forms if whole else any(form in one for one in forms) for form in wanted):
                found.add(row)
        return sorted(found)

    def mentions(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the row of every entity with the ids of its chunks, by row; many chunks come in several parts."""
        for row, chunks in self._db.iterate("SELECT n, chunks FROM entities ORDER BY n"):
            for some in load_strings(chunks):
                yield row, some

    def entity_descriptions(self) -> Iterator[tuple[str, list[str], list[tuple[str, str]]]]:
        """Yield name, chunk ids and descriptions (text and chunk id) of every entity, by row."""
        rows = self._db.iterate("SELECT name, chunks, descriptions FROM entities ORDER BY n")
        for name, chunks, descriptions in self._with_descriptions(rows, 2):
            yield name, load(chunks), descriptions

    def entity_description_hashes(self) -> Iterator[tuple[str, list[str], list[tuple[int, str]]]]:
        """Yield the same as `entity_descriptions`, with the `text_hash` of each text in its place."""
        rows = self._db.iterate("SELECT name, chunks, descriptions FROM entities ORDER BY n")
        for name, chunks, descriptions in self._with_hashes(rows, 2):
            yield name, load(chunks), descriptions

    def merges(self, entity: str | None = None) -> list[Merge]:
        """Return every merge, or those of an entity, sorted; see `store.protocol.Merge`."""
        query = "SELECT entity, name, document, rule, score, other, evidence FROM merges"
        order = "ORDER BY entity, name, document, rule, other"
        if entity is None:
            found = self._db.rows(f"{query} {order}")
        else:
            found = self._db.rows(f"{query} WHERE entity = ? {order}", (entity,))
        return [(*names, score, other, why) for *names, score, other, why in found]

    def name_pairs(self, entity: str | None = None) -> list[NamePair]:
        """Return every pair of names that was compared and not merged, or those of an entity, sorted."""
        order = "ORDER BY entity, other, name, other_name"
        if entity is None:
            found = self._db.rows(f"SELECT * FROM name_pairs {order}")  # noqa: S608
        else:
            found = self._db.rows(
                f"SELECT * FROM name_pairs WHERE ? IN (entity, other) {order}",  # noqa: S608
                (entity,),
            )
        return [(*names, rule, score, why) for *names, rule, score, why in found]

    def n_lost_relations(self, reason: str = "") -> int:
        """Return the number of relation rows that are in no relation, or of those for a reason."""
        query = "SELECT count(*) FROM lost_relations"
        found = self._db.rows(f"{query} WHERE reason = ?", (reason,)) if reason else self._db.rows(query)
        return int(found[0][0])

    def lost_relations(self) -> Iterator[LostRelation]:
        """Yield the relation rows that are in no relation, in the order of (document, window, position)."""
        text = self._texts.column("r.description")
        query = (
            f'SELECT w.document, l."window", r.chunks, r.source, r.predicate, r.target, {text}, l.reason, '  # noqa: S608
            'l.entity FROM lost_relations l JOIN relation_rows r ON r."window" = l."window" AND r.seq = l.seq '
            'JOIN windows w ON w.id = l."window" ORDER BY w.document, w.ordinal, l.seq'
        )
        for document, window, chunks, *rest in self._db.iterate(query):
            yield LostRelation(document, window, tuple(load(chunks)), *rest)

    # --- relations ----------------------------------------------------------------------------------

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Return relations by row number, in the order asked for."""
        found = self._db.by_key(f"{_RELATIONS} WHERE r.n IN", rows)
        return [relation_of(row) for row in self._with_descriptions(found, 5)]

    def all_relations(self) -> Iterator[Relation]:
        """Yield every relation, by row."""
        rows = self._db.iterate(f"{_RELATIONS} ORDER BY r.n")
        yield from map(relation_of, self._with_descriptions(rows, 5))

    def relation_statements(self) -> Iterator[Relation]:
        """Yield every relation, by row, without chunks; descriptions only if there is no summary."""
        rows = self._db.iterate(_RELATION_STATEMENTS)
        yield from map(relation_of, self._with_descriptions(rows, 5))

    def relation_descriptions(self) -> Iterator[list[tuple[str, str]]]:
        """Yield the descriptions (text and chunk id) of every relation, by row."""
        rows = self._db.iterate("SELECT descriptions FROM relations ORDER BY n")
        for (descriptions,) in self._with_descriptions(rows, 0):
            yield descriptions

    def relation_description_hashes(self) -> Iterator[list[tuple[int, str]]]:
        """Yield the same as `relation_descriptions`, with the `text_hash` of each text in its place."""
        rows = self._db.iterate("SELECT descriptions FROM relations ORDER BY n")
        for (descriptions,) in self._with_hashes(rows, 0):
            yield descriptions

    def relations_at(self, entities: Sequence[int]) -> list[tuple[int, int, int, float]]:
        """Return the relations of some entities as ``(row, source row, target row, weight)``, by row."""
        found: dict[int, tuple[int, int, int, float]] = {}
        for end in ("source", "target"):
            query = f"SELECT n, source, target, weight FROM relations WHERE {end} IN"  # noqa: S608
            for n, source, target, weight in self._db.where_in(query, entities):
                found[n] = (n, source, target, weight)
        return [found[n] for n in sorted(found)]

    def relation_heads(self, rows: Sequence[int]) -> list[tuple[str, float]]:
        """Return id and weight of some relations by row, in the order asked for; nothing else of them is read."""
        query = f"SELECT r.n, s.id, t.id, r.weight FROM relations r {_ENDS} WHERE r.n IN"  # noqa: S608
        found = self._db.by_key(query, rows)
        return [(f"{source} | {target}", weight) for _, source, target, weight in found]

    def single_descriptions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Relation]:
        """Return relations with one of their descriptions each, see `store.protocol.GraphReader`."""
        columns = "r.n, s.id, t.id, r.predicates, r.descriptions, r.weight"
        query = f"SELECT {columns} FROM relations r {_ENDS} WHERE r.n IN"  # noqa: S608
        rows = {row[0]: row for row in self._db.where_in(query, list(dict.fromkeys(n for n, _ in keys)))}
        described = {n: load(row[4]) for n, row in rows.items()}
        there = [(n, i) for n, i in keys if n in rows and i < len(described[n])]
        texts = self._texts.find([described[n][i][0] for n, i in there])
        found = {}
        for n, i in there:
            _, source, target, predicates, _, weight = rows[n]
            text, chunk = described[n][i]
            found[n, i] = Relation(
                id=f"{source} | {target}",
                source=source,
                target=target,
                predicates=tuple(load(predicates)),
                keywords=(),
                descriptions=(Description(texts[text], chunk),),
                weight=weight,
                chunks=(),
            )
        return found

    def relation_columns(self) -> Iterator[tuple[int, int, int]]:
        """Yield every relation as ``(source row, target row, number of descriptions)``, by row."""
        length = self._db.dialect.list_length("descriptions")
        yield from self._db.iterate(f"SELECT source, target, {length} FROM relations ORDER BY n")  # noqa: S608

    def triple_columns(self) -> Iterator[tuple[int, int, str, float]]:
        """Yield every triple as ``(subject row, object row, predicate, weight)``, by row."""
        yield from self._db.iterate("SELECT source, target, predicate, weight FROM triples ORDER BY n")

    def relations_per_chunk(self, rows: Sequence[int]) -> dict[str, int]:
        """Count the relations among some rows that each chunk states, without reading their texts."""
        counts: Counter[str] = Counter()
        for (chunks,) in self._db.where_in("SELECT chunks FROM relations WHERE n IN", rows):
            counts.update(load(chunks))
        return counts

    def edges(self, table: Literal["relations", "triples"] = "relations") -> Iterator[tuple[int, int, float]]:
        """Yield every relation or triple as ``(source row, target row, weight)``, by row."""
        yield from self._db.iterate(f"SELECT source, target, weight FROM {table} ORDER BY n")  # noqa: S608

    def edges_with_chunks(
        self, table: Literal["relations", "triples"]
    ) -> Iterator[tuple[int, int, float, list[str]]]:
        """Yield every relation or triple as ``(source row, target row, weight, chunk ids)``, by row."""
        query = f"SELECT source, target, weight, chunks FROM {table} ORDER BY n"  # noqa: S608
        for source, target, weight, chunks in self._db.iterate(query):
            yield source, target, weight, load(chunks)

    # --- summaries of descriptions --------------------------------------------------------------------

    def long_descriptions(self, kind: SummaryKind, n_bytes: int) -> list[int]:
        """Return the rows whose descriptions may have more than `n_bytes` bytes together, ascending."""
        length = self._texts.n_bytes(self._db.dialect.n_bytes("descriptions"))
        query = f"SELECT n FROM {_TABLE_OF[kind]} WHERE {length} > ? ORDER BY n"  # noqa: S608
        return [n for (n,) in self._db.rows(query, (n_bytes,))]

    def put_summaries(self, summaries: Iterable[tuple[SummaryKind, int, str]]) -> None:
        """Replace the summaries: of each the kind, the row of its entity or relation, and the text."""
        self._db.execute("DELETE FROM summaries")
        self._db.insert("summaries", summaries)

    def all_written_summaries(self) -> Iterator[tuple[str, WrittenSummary]]:
        """Yield every summary that a model wrote with the hash of its input, by hash."""
        for key, *rest in self._db.iterate("SELECT * FROM written_summaries ORDER BY key"):
            yield key, _written(*rest)

    def written_summary(self, key: str) -> WrittenSummary | None:
        """Return the summary that a model wrote for the input with this hash, if there is one."""
        query = "SELECT text, written_by, chunks FROM written_summaries WHERE key = ?"
        found = self._db.rows(query, (key,))
        return _written(*found[0]) if found else None

    def put_written_summary(self, key: str, summary: WrittenSummary) -> None:
        """Store a summary that a model wrote under the hash of its input."""
        self._db.execute(
            "INSERT INTO written_summaries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
            "text = excluded.text, written_by = excluded.written_by, chunks = excluded.chunks",
            (key, summary.text, summary.written_by, dump(summary.chunks)),
        )

    def keep_written_summaries(self, keys: Collection[str]) -> None:
        """Delete the written summaries under all other keys."""
        self._forget_summaries(key for key, _ in self.all_written_summaries() if key not in keys)

    def remove_written_summaries(self, documents: Collection[str]) -> None:
        """Delete every written summary that rests on one of some documents."""
        self._forget_summaries(
            key
            for key, summary in self.all_written_summaries()
            if any(document_of_chunk(chunk) in documents for chunk in summary.chunks)
        )

    def _forget_summaries(self, keys: Iterable[str]) -> None:
        obsolete = [(key,) for key in keys]
        self._db.execute_many("DELETE FROM written_summaries WHERE key = ?", obsolete)

    # --- triples ------------------------------------------------------------------------------------

    def triples_by_row(self, rows: Sequence[int]) -> list[Triple]:
        """Return triples by row number, in the order asked for."""
        found = self._db.by_key(f"{_TRIPLES.format(column='id')} WHERE r.n IN", rows)
        return [triple_of(row) for row in found]

    def all_triples(self, *, by_name: bool = False) -> Iterator[Triple]:
        """Yield every triple, by row; `by_name`: subject and object are names of entities instead of ids."""
        query = _TRIPLES.format(column="name" if by_name else "id")
        yield from map(triple_of, self._db.iterate(f"{query} ORDER BY r.n"))

    def predicates(self) -> list[str]:
        """Return the distinct predicates of the triples, sorted; their positions are rows of `predicate_vectors`."""
        return [p for (p,) in self._db.rows("SELECT DISTINCT predicate FROM triples ORDER BY predicate")]

    def triples_with(self, predicates: Sequence[str]) -> list[int]:
        """Return the rows of the triples that have one of some predicates, sorted."""
        return sorted(n for (n,) in self._db.where_in("SELECT n FROM triples WHERE predicate IN", predicates))


def _dump_strings(strings: tuple[str, ...]) -> str:
    """Return strings as JSON."""
    return _dump_few(strings) if len(strings) <= _FEW else dump(strings)


# Many relations and triples rest on one chunk, and have the same predicate.
@lru_cache(maxsize=4_096)
def _dump_few(strings: tuple[str, ...]) -> str:
    return dump(strings)


def _written(text: str, written_by: str, chunks: str) -> WrittenSummary:
    return WrittenSummary(text, written_by, tuple(load(chunks)))
