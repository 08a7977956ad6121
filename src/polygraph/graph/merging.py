"""Merging rows by arrays: entities, relations and triples, of which records are made only where they are wanted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from json import loads
from typing import TYPE_CHECKING

import numpy as np

from polygraph.columns import Array, Columns, Table, row_type
from polygraph.graph.csr import Graph
from polygraph.graph.groups import (
    Pairs,
    distinct,
    distinct_pairs,
    exact_sums,
    grouped,
    in_parts,
    ranks,
    stretches,
)
from polygraph.graph.marks import mark_of, marks, string_marks
from polygraph.graph.said import Said, Texts
from polygraph.records import Description, Entity, Relation, Triple

if TYPE_CHECKING:
    from polygraph.graph.former import GraphMoves

MAX_DESCRIPTIONS = 50
"""Most descriptions kept for one entity or relation."""
UNSAID = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
_BACKWARD = "<-"
_KEYWORDS = 3
"""Keywords that stand for a predicate where there is none."""


@dataclass(frozen=True, slots=True)
class _Entities:
    """What is known of some entities, which are counted from 0 here."""

    names: Pairs
    types: Pairs
    chunks: Pairs
    said: Said


@dataclass(frozen=True, slots=True)
class _Relations:
    """The same of some relations."""

    predicates: Pairs
    """Twice the number of the phrase, one more if the row ran from target to source."""
    keywords: Pairs
    chunks: Pairs
    said: Said


class Merged:
    """The graph, as arrays: which rows are of which entity, relation and triple.

    Everything else is gathered from the rows for some items at a time, so that what is in memory is a few numbers
    for each row and item.

    Args:
        columns: the rows.
        entity: position in `ids` of the entity that each row of ``names`` is, or -1.
        ids: ascending.
        chunks: id of every chunk, by position.
        first_chunk: position of the first chunk of each document.
        max_descriptions: see `view.merge`.
    """

    def __init__(
        self,
        columns: Columns,
        entity: Array,
        ids: Sequence[str],
        chunks: Sequence[str],
        *,
        first_chunk: Array,
        max_descriptions: int = MAX_DESCRIPTIONS,
    ) -> None:
        if max_descriptions < 1:
            raise ValueError(f"max_descriptions must be at least 1, not {max_descriptions}")
        self._columns, self._chunks, self._first_chunk = columns, chunks, first_chunk
        self._texts = Texts(columns, max_descriptions)
        self._place_ends = {
            name: _place_ends(columns[name].shifted(of, columns[table]), len(columns[table]))
            for name, of, table in (("places", "mention", "mentions"), ("link_places", "link", "links"))
        }
        """Where the places of each row begin, and the last ones end."""
        self._merge_mentions(entity, ids)
        self._merge_links(entity)

    # --- entities -----------------------------------------------------------------------------------

    def _merge_mentions(self, entity: Array, ids: Sequence[str]) -> None:
        table = self._columns["mentions"]
        item = self._entity_of("name", table, entity)
        item[np.diff(self._place_ends["places"]) == 0] = -1
        rows = np.flatnonzero(item >= 0).astype(row_type(len(table)))
        item = item[rows]
        present = distinct(item)
        self.unplaced = len(table) - len(rows)
        self.ids: list[str] = [ids[i] for i in present]
        """Of the entities, ascending."""
        self._number = np.full(len(ids) + 1, -1, dtype=np.int32)  # the last one for -1
        self._number[present] = np.arange(len(present))
        self._mentions = grouped(self._number[item], len(self.ids), rows)

    def _entities(self, items: Array) -> _Entities:
        columns, n = self._columns, len(items)
        table = columns["mentions"]
        at, of = stretches(self._mentions.ends, items)
        rows = self._mentions.order[at]
        names = columns["names"]["written"][table.shifted("name", columns["names"], rows)]
        kind, often = table["type"][rows], table["n"][rows]
        chunk, of_place, first = self._places_of("places", rows)
        text = table.shifted("text", columns["texts"], rows)
        return _Entities(
            names=distinct_pairs(of, names, n, len(columns.pools["names"]), often),
            types=distinct_pairs(
                of[kind >= 0], kind[kind >= 0], n, len(columns.pools["types"]), often[kind >= 0]
            ),
            chunks=distinct_pairs(of[of_place], chunk, n, len(self._chunks)),
            said=self._texts.chosen(of, chunk[first], table["start"][rows], text, n),
        )

    def entities(self, rows: Sequence[int] | None = None) -> Iterator[Entity]:
        """Some entities or all, in the order of `rows`."""
        names, types = self._columns.pools["names"], self._columns.pools["types"]
        wanted = np.arange(len(self.ids)) if rows is None else np.asarray(rows, dtype=np.int64)
        for items in in_parts(self._mentions.ends, wanted):
            some = self._entities(items)
            descriptions = self._descriptions(some.said)
            for i, n in enumerate(items.tolist()):
                spelt = {names[name]: count for name, count in some.names.items(i)}
                best = min(spelt, key=lambda name: (-spelt[name], -len(name), name))
                kinds = {types[kind]: count for kind, count in some.types.items(i)}
                yield Entity(
                    id=self.ids[n],
                    name=best,
                    type=min(kinds, key=lambda kind: (-kinds[kind], kind), default=""),
                    aliases=tuple(sorted(name for name in spelt if name != best)),
                    descriptions=next(descriptions),
                    chunks=self._ids_of(some.chunks.values_of(i)),
                    degree=int(self.degrees[n]),
                )

    @cached_property
    def entity_marks(self) -> Array:
        """A number for each entity that changes when its record changes, uint64."""
        names, types = self._pool_marks("names"), self._pool_marks("types")
        found = self.degrees.astype(np.uint64)
        for items in in_parts(self._mentions.ends, np.arange(len(self.ids))):
            some, n = self._entities(items), len(items)
            found[items] += (
                marks(some.names, names, n, 1)
                + marks(some.types, types, n, 2)
                + marks(some.chunks, self._chunk_marks, n, 3)
                + some.said.marks(self._texts.hashes, self._chunk_marks)
            )
        return found

    # --- relations ----------------------------------------------------------------------------------

    def _joined_rows(self, entity: Array) -> tuple[Array, Array, Array]:
        """Rows that join two entities, and the numbers of both."""
        table = self._columns["links"]
        source, target = (self._entity_of(end, table, entity) for end in ("source", "target"))
        known = (source >= 0) & (target >= 0) & (np.diff(self._place_ends["link_places"]) > 0)
        loop = known & (source == target)
        source, target = self._number[source], self._number[target]
        joined = known & ~loop & (source >= 0) & (target >= 0)
        self.loops = int(loop.sum())
        self.dropped = int(len(table) - loop.sum() - joined.sum())
        rows = np.flatnonzero(joined).astype(row_type(len(table)))
        return rows, source[rows], target[rows]

    def _merge_links(self, entity: Array) -> None:
        rows, source, target = self._joined_rows(entity)
        width = max(len(self.ids), 1)
        key = np.minimum(source, target).astype(np.int64) * width + np.maximum(source, target)
        keys = distinct(key)
        order = self._by_id(keys // width, keys % width)
        self.sources, self.targets = keys[order] // width, keys[order] % width
        """Numbers of the two entities of each relation; relations are in the order of their ids."""
        n = len(keys)
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(n)
        item = place[np.searchsorted(keys, key)]
        del key, keys, order, place
        self._links = grouped(item, n, rows)
        self._forward = np.zeros(len(self._columns["links"]), dtype=np.bool_)
        self._forward[rows[source < target]] = True
        self.degrees: Array = np.bincount(self.sources, minlength=len(self.ids)) + np.bincount(
            self.targets, minlength=len(self.ids)
        )
        """Number of neighbours of each entity."""
        self.weights: Array = exact_sums(
            self._links.ends, self._columns["links"]["strength"][self._links.order]
        )
        """Sum of the strengths of each relation."""
        self._merge_triples(rows, source, target)

    def _relations(self, items: Array) -> _Relations:
        columns, n = self._columns, len(items)
        table, n_phrases = columns["links"], len(columns.pools["phrases"])
        at, of = stretches(self._links.ends, items)
        rows = self._links.order[at]
        predicate, keywords = table["predicate"][rows].astype(np.int64), table["keywords"][rows]
        directed = 2 * predicate + ~self._forward[rows]
        chunk, of_place, first = self._places_of("link_places", rows)
        text = table.shifted("text", columns["texts"], rows)
        return _Relations(
            predicates=distinct_pairs(of[predicate >= 0], directed[predicate >= 0], n, 2 * n_phrases),
            keywords=distinct_pairs(of[keywords >= 0], keywords[keywords >= 0], n, n_phrases),
            chunks=distinct_pairs(of[of_place], chunk, n, len(self._chunks)),
            said=self._texts.chosen(of, chunk[first], np.zeros(len(rows), dtype=np.int32), text, n),
        )

    def relations(self, rows: Sequence[int] | None = None) -> Iterator[Relation]:
        """Some relations or all, in the order of `rows`."""
        phrases = self._columns.pools["phrases"]
        wanted = np.arange(len(self.sources)) if rows is None else np.asarray(rows, dtype=np.int64)
        for items in in_parts(self._links.ends, wanted):
            some = self._relations(items)
            descriptions = self._descriptions(some.said)
            for i, n in enumerate(items.tolist()):
                source, target = self.ids[self.sources[n]], self.ids[self.targets[n]]
                predicates = {
                    f"{_BACKWARD if p % 2 else ''}{phrases[p // 2]}": count
                    for p, count in some.predicates.items(i)
                }
                keywords: Counter[str] = Counter()
                for k, count in some.keywords.items(i):
                    for keyword in loads(phrases[k]):
                        keywords[keyword] += count
                yield Relation(
                    id=f"{source} | {target}",
                    source=source,
                    target=target,
                    predicates=_by_frequency(predicates),
                    keywords=_by_frequency(keywords),
                    descriptions=next(descriptions),
                    weight=float(self.weights[n]),
                    chunks=self._ids_of(some.chunks.values_of(i)),
                )

    @cached_property
    def relation_marks(self) -> Array:
        """The same as `entity_marks` for relations."""
        phrases = self._pool_marks("phrases")
        directed = np.repeat(phrases, 2)
        directed[1::2] = mark_of(directed[1::2], 4)
        found = mark_of(np.ascontiguousarray(self.weights).view(np.uint64), 8)
        for items in in_parts(self._links.ends, np.arange(len(self.sources))):
            some, n = self._relations(items), len(items)
            found[items] += (
                marks(some.predicates, directed, n, 5)
                + marks(some.keywords, phrases, n, 6)
                + marks(some.chunks, self._chunk_marks, n, 7)
                + some.said.marks(self._texts.hashes, self._chunk_marks)
            )
        return found

    def changed(self, kept: "GraphMoves | None") -> "Parts":
        """The records that must be made anew; all if nothing is kept."""
        if kept is None:
            return Parts(self.entities(), self.relations(), self.triples())
        return Parts(
            self.entities(kept.entities.made.tolist()),
            self.relations(kept.relations.made.tolist()),
            self.triples(kept.triples.made.tolist()),
        )

    def graph(self) -> Graph:
        """The relations as arrays; vertex `i` is ``ids[i]``."""
        return Graph.from_edges(len(self.ids), self.sources, self.targets, self.weights)

    # --- triples ------------------------------------------------------------------------------------

    def _merge_triples(self, rows: Array, source: Array, target: Array) -> None:
        said, strings = self._predicates_of(rows)
        # Without a predicate nothing says which end is the subject.
        backward = (self._columns["links"]["predicate"][rows] >= 0) & (source > target)
        low, high = np.minimum(source, target), np.maximum(source, target)
        stated = said >= 0
        subject, object_ = np.where(backward, high, low)[stated], np.where(backward, low, high)[stated]
        width, n_strings = max(len(self.ids), 1), max(len(strings), 1)
        pair = subject.astype(np.int64) * width + object_
        del low, high, backward, subject, object_
        ends = distinct(pair)
        # Pairs by number, so that a pair and a predicate together still fit 64 bits.
        key = np.searchsorted(ends, pair) * n_strings + said[stated]
        del pair
        keys = distinct(key)
        ends = ends[keys // n_strings] if len(keys) else keys
        self.triple_sources, self.triple_targets = ends // width, ends % width
        """Numbers of subject and object of each triple; triples are by subject, object, predicate."""
        self.triple_predicates: list[str] = [strings[i] for i in (keys % n_strings).tolist()]
        """Predicate of each triple."""
        item = np.searchsorted(keys, key).astype(np.int32)
        del key
        self._stated = grouped(item, len(keys), rows[stated])

    def _triple_chunks(self, items: Array) -> Pairs:
        at, of = stretches(self._stated.ends, items)
        chunk, of_place, _ = self._places_of("link_places", self._stated.order[at])
        return distinct_pairs(of[of_place], chunk, len(items), len(self._chunks))

    def _predicates_of(self, rows: Array) -> tuple[Array, list[str]]:
        """What each row states as a number (-1: nothing), and the strings, ascending."""
        table, phrases = self._columns["links"], self._columns.pools["phrases"]
        predicate, keywords = table["predicate"][rows], table["keywords"][rows]
        by_keywords = {
            i: ", ".join(loads(phrases[i])[:_KEYWORDS])
            for i in np.unique(keywords[(predicate < 0) & (keywords >= 0)]).tolist()
        }
        used = [phrases[i] for i in np.unique(predicate[predicate >= 0]).tolist()]
        strings = sorted({*used, *by_keywords.values(), UNSAID} - {""})
        number = {string: i for i, string in enumerate(strings)}
        of_predicate = np.full(len(phrases) + 1, -1, dtype=np.int64)
        of_keywords = of_predicate.copy()
        for i in np.unique(predicate[predicate >= 0]).tolist():
            of_predicate[i] = number[phrases[i]]
        for i, string in by_keywords.items():
            of_keywords[i] = number.get(string, -1)
        said = np.where(predicate >= 0, of_predicate[predicate], of_keywords[keywords])
        # Of what is weaker, the two names only stand together.
        unsaid = (said < 0) & (table["strength"][rows] >= 1)
        return np.where(unsaid, number[UNSAID], said), strings

    def triples(self, rows: Sequence[int] | None = None) -> Iterator[Triple]:
        """Some triples or all, in the order of `rows`."""
        wanted = np.arange(len(self.triple_sources)) if rows is None else np.asarray(rows, dtype=np.int64)
        for items in in_parts(self._stated.ends, wanted):
            chunks = self._triple_chunks(items)
            for i, n in enumerate(items.tolist()):
                source, target = self.ids[self.triple_sources[n]], self.ids[self.triple_targets[n]]
                predicate = self.triple_predicates[n]
                yield Triple(
                    id=f"{source} | {predicate} | {target}",
                    source=source,
                    target=target,
                    predicate=predicate,
                    weight=float(self._stated.ends[n + 1] - self._stated.ends[n]),
                    chunks=self._ids_of(chunks.values_of(i)),
                )

    @cached_property
    def triple_marks(self) -> Array:
        """The same as `entity_marks` for triples."""
        found = mark_of(np.diff(self._stated.ends).astype(np.uint64), 10)
        for items in in_parts(self._stated.ends, np.arange(len(self.triple_sources))):
            found[items] += marks(self._triple_chunks(items), self._chunk_marks, len(items), 9)
        return found

    # --- parts --------------------------------------------------------------------------------------

    def _entity_of(self, name: str, table: Table, entity: Array) -> Array:
        """Position in the given ids of what a column of names means, -1 if nothing."""
        row = table.shifted(name, self._columns["names"])
        found = entity[row] if len(entity) else np.full(len(row), -1, dtype=np.int32)
        found[row < 0] = -1
        return np.asarray(found)

    def _places_of(self, name: str, rows: Array) -> tuple[Array, Array, Array]:
        """Chunks of some rows that have places: by position; of which of the rows each is; where each row's begin."""
        ends, places = self._place_ends[name], self._columns[name]
        at, of = stretches(ends, rows)
        document = np.searchsorted(places.offsets, at, side="right") - 1
        counts = ends[rows + 1] - ends[rows]
        return places["chunk"][at] + self._first_chunk[document], of, np.cumsum(counts) - counts

    def _by_id(self, low: Array, high: Array) -> Array:
        """The order of relations by their ids, which are two ids of entities with a bar between."""
        if any(" | " in entity for entity in self.ids):
            names = [
                f"{self.ids[a]} | {self.ids[b]}" for a, b in zip(low.tolist(), high.tolist(), strict=True)
            ]
            return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        return np.lexsort((high, ranks([f"{entity} | " for entity in self.ids])[low]))

    def _descriptions(self, said: Said) -> Iterator[tuple[Description, ...]]:
        """Of one item after the other."""
        texts = self._texts.read(said.text)
        chunks = said.chunk.tolist()
        for begin, end in pairwise(said.ends.tolist()):
            yield tuple([Description(texts[i], self._chunks[chunks[i]]) for i in range(begin, end)])

    @cached_property
    def _chunk_marks(self) -> Array:
        return string_marks(self._chunks)

    def _pool_marks(self, pool: str) -> Array:
        return string_marks(self._columns.pools[pool])

    def _ids_of(self, chunks: Array) -> tuple[str, ...]:
        return tuple([self._chunks[chunk] for chunk in chunks.tolist()])


@dataclass(frozen=True, slots=True)
class Parts:
    """Some records of a merged graph; each sequence can be gone through once."""

    entities: Iterator[Entity]
    relations: Iterator[Relation]
    triples: Iterator[Triple]


def first_chunks(documents: Sequence[str], counts: Sequence[tuple[str, int]]) -> Array:
    """Position of the first chunk of some documents, of the number of chunks of all, by document.

    >>> first_chunks(["b"], [("a", 3), ("b", 2)]).tolist()
    [3]
    """
    at, first = 0, {}
    for document, n in counts:
        first[document] = at
        at += n
    return np.array([first.get(document, at) for document in documents], dtype=np.int64)


def _place_ends(owner: Array, n: int) -> Array:
    ends = np.zeros(n + 1, dtype=row_type(len(owner)))
    np.cumsum(np.bincount(owner, minlength=n), out=ends[1:])
    return ends


def _by_frequency(counts: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))
