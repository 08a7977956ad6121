"""Merging rows by arrays: entities, relations and triples, of which records are made only where they are wanted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import loads
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from polygraph.columns import Array, Columns, Table
from polygraph.graph.csr import Graph
from polygraph.graph.groups import Groups, distinct_pairs, grouped, ranks
from polygraph.graph.marks import mark_of, marks, string_marks
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
class _Said:
    """Texts chosen for each item of a kind."""

    groups: Groups
    """Rows of `text` and `chunk`."""
    text: Array
    chunk: Array


class Merged:
    """The graph, as arrays over the rows of all documents.

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
        self._columns, self._chunks, self._most = columns, chunks, max_descriptions
        self._ends = columns.text_ends()
        self._first_chunk = first_chunk
        self._merge_mentions(entity, ids)
        self._merge_links(entity)

    # --- entities -----------------------------------------------------------------------------------

    def _merge_mentions(self, entity: Array, ids: Sequence[str]) -> None:
        table, places = self._columns["mentions"], self._columns["places"]
        name = table.shifted("name", self._columns["names"])
        of = places.shifted("mention", table)
        n_places = np.bincount(of, minlength=len(table))
        found = np.where(name >= 0, entity[name] if len(entity) else -1, -1)
        placed = (found >= 0) & (n_places > 0)
        self.unplaced = int(len(table) - placed.sum())
        present = np.unique(found[placed])
        self.ids: list[str] = [ids[i] for i in present]
        """Of the entities, ascending."""
        self._number = np.full(len(ids) + 1, -1, dtype=np.int64)  # the last one for -1
        self._number[present] = np.arange(len(present))
        item = self._number[np.where(placed, found, -1)]
        rows = np.flatnonzero(placed)
        n = len(self.ids)
        chunk = self._position(places)
        written = self._columns["names"]["written"][name[rows]]
        self._names = distinct_pairs(
            item[rows], written, n, len(self._columns.pools["names"]), table["n"][rows]
        )
        typed = rows[table["type"][rows] >= 0]
        self._types = distinct_pairs(
            item[typed], table["type"][typed], n, len(self._columns.pools["types"]), table["n"][typed]
        )
        wanted = placed[of]
        self._entity_chunks = distinct_pairs(item[of[wanted]], chunk[wanted], n, len(self._chunks))
        first = chunk[_firsts(n_places)[rows]] if len(rows) else rows
        text = table.shifted("text", self._columns["texts"])[rows]
        self._entity_said = self._said(item[rows], first, table["start"][rows], text, n)

    def entities(self, rows: Sequence[int] | None = None) -> Iterator[Entity]:
        """Some entities or all, in the order of `rows`."""
        names, types = self._columns.pools["names"], self._columns.pools["types"]
        for n in range(len(self.ids)) if rows is None else rows:
            spelt = {names[i]: count for i, count in self._names.items(n)}
            best = min(spelt, key=lambda name: (-spelt[name], -len(name), name))
            kinds = {types[i]: count for i, count in self._types.items(n)}
            yield Entity(
                id=self.ids[n],
                name=best,
                type=min(kinds, key=lambda kind: (-kinds[kind], kind), default=""),
                aliases=tuple(sorted(name for name in spelt if name != best)),
                descriptions=self._descriptions(self._entity_said, n),
                chunks=self._ids_of(self._entity_chunks.values_of(n)),
                degree=int(self.degrees[n]),
            )

    @cached_property
    def entity_marks(self) -> Array:
        """A number for each entity that changes when its record changes, uint64."""
        n = len(self.ids)
        return (
            marks(self._names, self._pool_marks("names"), n, 1)
            + marks(self._types, self._pool_marks("types"), n, 2)
            + marks(self._entity_chunks, self._chunk_marks, n, 3)
            + self._said_marks(self._entity_said, n)
            + self.degrees.astype(np.uint64)
        )

    # --- relations ----------------------------------------------------------------------------------

    def _joined_rows(self, entity: Array, n_places: Array) -> tuple[Array, Array, Array]:
        """Rows that join two entities, with the numbers of their sources and targets; the others are counted."""
        table = self._columns["links"]
        ends = []
        for end in ("source", "target"):
            name = table.shifted(end, self._columns["names"])
            ends.append(np.where(name >= 0, entity[name] if len(entity) else -1, -1))
        source, target = ends
        known = (source >= 0) & (target >= 0) & (n_places > 0)
        loop = known & (source == target)
        source, target = self._number[source], self._number[target]
        joined = known & ~loop & (source >= 0) & (target >= 0)
        self.loops = int(loop.sum())
        self.dropped = int(len(table) - loop.sum() - joined.sum())
        rows = np.flatnonzero(joined)
        return rows, source[rows], target[rows]

    def _merge_links(self, entity: Array) -> None:
        columns = self._columns
        table, places = columns["links"], columns["link_places"]
        of = places.shifted("link", table)
        n_places = np.bincount(of, minlength=len(table))
        rows, source, target = self._joined_rows(entity, n_places)
        forward = source < target
        low, high = np.minimum(source, target), np.maximum(source, target)
        n_entities = max(len(self.ids), 1)
        keys, pair = np.unique(low * n_entities + high, return_inverse=True)
        order = self._by_id(keys // n_entities, keys % n_entities)
        self.sources, self.targets = keys[order] // n_entities, keys[order] % n_entities
        """Numbers of the two entities of each relation; relations are in the order of their ids."""
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys))
        item = place[pair]
        n = len(keys)
        self.degrees: Array = np.bincount(self.sources, minlength=len(self.ids)) + np.bincount(
            self.targets, minlength=len(self.ids)
        )
        """Number of neighbours of each entity."""
        of_row = np.full(len(table), -1, dtype=np.int64)
        of_row[rows] = item
        chunk = self._position(places)
        wanted = of_row[of] >= 0
        self._relation_chunks = distinct_pairs(of_row[of[wanted]], chunk[wanted], n, len(self._chunks))
        predicate = table["predicate"][rows].astype(np.int64)
        said = predicate >= 0
        # Twice the number of the phrase, one more if the row ran from target to source.
        directed = 2 * predicate[said] + ~forward[said]
        n_phrases = len(columns.pools["phrases"])
        self._predicates = distinct_pairs(item[said], directed, n, 2 * n_phrases)
        keyed = table["keywords"][rows] >= 0
        self._keywords = distinct_pairs(item[keyed], table["keywords"][rows[keyed]], n, n_phrases)
        self.weights: Array = _sums(grouped(item, n), table["strength"][rows])
        """Sum of the strengths of each relation."""
        first = chunk[_firsts(n_places)[rows]] if len(rows) else rows
        text = table.shifted("text", columns["texts"])[rows]
        self._relation_said = self._said(item, first, np.zeros(len(rows), dtype=np.int64), text, n)
        self._merge_triples(rows, source, target, forward, wanted, of, chunk)

    def relations(self, rows: Sequence[int] | None = None) -> Iterator[Relation]:
        """Some relations or all, in the order of `rows`."""
        phrases = self._columns.pools["phrases"]
        for n in range(len(self.sources)) if rows is None else rows:
            source, target = self.ids[self.sources[n]], self.ids[self.targets[n]]
            predicates = {
                f"{_BACKWARD if i % 2 else ''}{phrases[i // 2]}": count
                for i, count in self._predicates.items(n)
            }
            keywords: Counter[str] = Counter()
            for i, count in self._keywords.items(n):
                for keyword in loads(phrases[i]):
                    keywords[keyword] += count
            yield Relation(
                id=f"{source} | {target}",
                source=source,
                target=target,
                predicates=_by_frequency(predicates),
                keywords=_by_frequency(keywords),
                descriptions=self._descriptions(self._relation_said, n),
                weight=float(self.weights[n]),
                chunks=self._ids_of(self._relation_chunks.values_of(n)),
            )

    @cached_property
    def relation_marks(self) -> Array:
        """The same as `entity_marks` for relations."""
        n = len(self.sources)
        phrases = self._pool_marks("phrases")
        directed = np.repeat(phrases, 2)
        directed[1::2] = mark_of(directed[1::2], 4)
        return (
            marks(self._predicates, directed, n, 5)
            + marks(self._keywords, phrases, n, 6)
            + marks(self._relation_chunks, self._chunk_marks, n, 7)
            + self._said_marks(self._relation_said, n)
            + mark_of(np.ascontiguousarray(self.weights).view(np.uint64), 8)
        )

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

    def _merge_triples(
        self,
        rows: Array,
        source: Array,
        target: Array,
        forward: Array,
        wanted: Array,
        of: Array,
        chunk: Array,
    ) -> None:
        table = self._columns["links"]
        said, strings = self._predicates_of(rows)
        stated = said >= 0
        # Without a predicate nothing says which end is the subject.
        backward = (table["predicate"][rows] >= 0) & ~forward
        low, high = np.minimum(source, target), np.maximum(source, target)
        subject, object_ = np.where(backward, high, low)[stated], np.where(backward, low, high)[stated]
        n_entities = max(len(self.ids), 1)
        ends, pair = np.unique(subject * n_entities + object_, return_inverse=True)
        keys, item = np.unique(pair * max(len(strings), 1) + said[stated], return_inverse=True)
        ends = ends[keys // max(len(strings), 1)] if len(keys) else keys
        self.triple_sources, self.triple_targets = ends // n_entities, ends % n_entities
        """Numbers of subject and object of each triple; triples are by subject, object, predicate."""
        self.triple_predicates: list[str] = [strings[i] for i in (keys % max(len(strings), 1)).tolist()]
        """Predicate of each triple."""
        n = len(keys)
        self._triple_rows = np.bincount(item, minlength=n)
        of_row = np.full(len(table), -1, dtype=np.int64)
        of_row[rows[stated]] = item
        triple = of_row[of]
        kept = wanted & (triple >= 0)
        self._triple_chunks = distinct_pairs(triple[kept], chunk[kept], n, len(self._chunks))

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
        for n in range(len(self.triple_sources)) if rows is None else rows:
            source, target = self.ids[self.triple_sources[n]], self.ids[self.triple_targets[n]]
            predicate = self.triple_predicates[n]
            yield Triple(
                id=f"{source} | {predicate} | {target}",
                source=source,
                target=target,
                predicate=predicate,
                weight=float(self._triple_rows[n]),
                chunks=self._ids_of(self._triple_chunks.values_of(n)),
            )

    @cached_property
    def triple_marks(self) -> Array:
        """The same as `entity_marks` for triples."""
        n = len(self.triple_sources)
        return marks(self._triple_chunks, self._chunk_marks, n, 9) + mark_of(
            self._triple_rows.astype(np.uint64), 10
        )

    # --- parts --------------------------------------------------------------------------------------

    def _position(self, places: Table) -> Array:
        return np.asarray(places["chunk"] + np.repeat(self._first_chunk, np.diff(places.offsets)))

    def _by_id(self, low: Array, high: Array) -> Array:
        """The order of relations by their ids, which are two ids of entities with a bar between."""
        if any(" | " in entity for entity in self.ids):
            names = [
                f"{self.ids[a]} | {self.ids[b]}" for a, b in zip(low.tolist(), high.tolist(), strict=True)
            ]
            return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        return np.lexsort((high, ranks([f"{entity} | " for entity in self.ids])[low]))

    def _said(self, item: Array, chunk: Array, start: Array, text: Array, n: int) -> _Said:
        """Choose texts: distinct, in order of (chunk, start, text), a spread of them where they are too many."""
        rows = np.flatnonzero(text >= 0)
        item, chunk, start, text = item[rows], chunk[rows], start[rows], text[rows]
        hashes, same = np.unique(self._columns["texts"]["hash"][text], return_inverse=True)
        order = np.lexsort((self._rank_of_ties(item, chunk, start, text, same), start, chunk, item))
        keys = (item * max(len(hashes), 1) + same)[order]
        _, first = np.unique(keys, return_index=True)
        kept = order[np.sort(first)]
        counts = np.bincount(item[kept], minlength=n)
        begins = np.concatenate(([0], np.cumsum(counts)))
        sizes = np.minimum(counts, self._most)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        many = np.repeat(counts, sizes)
        i = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        i = np.where(many > self._most, i * (many - 1) // max(self._most - 1, 1), i)
        chosen = kept[np.repeat(begins[:-1], sizes) + i]
        return _Said(Groups(ends, np.arange(ends[-1])), text[chosen], chunk[chosen])

    def _rank_of_ties(self, item: Array, chunk: Array, start: Array, text: Array, same: Array) -> Array:
        """A rank by text for texts at the same place of the same item, 0 for all others."""
        rank = np.zeros(len(text), dtype=np.int64)
        order = np.lexsort((start, chunk, item))
        tied = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
        for values in (item, chunk, start):
            tied &= np.diff(values[order]) == 0
        tied &= np.diff(same[order]) != 0
        # The others at such a place are ranked as well.
        where = np.flatnonzero(tied)
        if not len(where):
            return rank
        place = np.zeros(len(order), dtype=np.int64)
        new = np.zeros(len(order), dtype=np.bool_)
        new[0] = True
        for values in (item, chunk, start):
            new[1:] |= np.diff(values[order]) != 0
        place[order] = np.cumsum(new)
        rows = np.flatnonzero(np.isin(place, place[order[where]]))
        rank[rows] = ranks(self._columns.texts(text[rows].tolist(), self._ends)) + 1
        return rank

    def _descriptions(self, said: _Said, n: int) -> tuple[Description, ...]:
        rows = said.groups.rows(n)
        texts = self._columns.texts(said.text[rows].tolist(), self._ends)
        return tuple(
            [Description(t, self._chunks[c]) for t, c in zip(texts, said.chunk[rows].tolist(), strict=True)]
        )

    def _said_marks(self, said: _Said, n: int) -> Array:
        hashes = self._columns["texts"]["hash"][said.text] if len(said.text) else np.zeros(0, dtype=np.uint64)
        at = np.arange(len(said.text)) - np.repeat(said.groups.ends[:-1], np.diff(said.groups.ends))
        each = mark_of(hashes ^ mark_of(self._chunk_marks[said.chunk], 11), 12) + at.astype(np.uint64)
        return said.groups.sums(mark_of(each, 13), n)

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


def _firsts(counts: Array) -> Array:
    return np.cumsum(counts) - counts


def _sums(groups: Groups, values: Array) -> Array:
    """The exact sum of each group, rounded once: it does not depend on the order."""
    sizes = np.diff(groups.ends)
    sorted_ = values[groups.order]
    begins = groups.ends[:-1]
    found = sorted_[begins].copy() if len(begins) else np.zeros(0)
    two = np.flatnonzero(sizes == 2)
    found[two] += sorted_[begins[two] + 1]
    for n in np.flatnonzero(sizes > 2).tolist():
        found[n] = fsum(sorted_[begins[n] : groups.ends[n + 1]].tolist())
    return np.asarray(found, dtype=np.float64)


def _by_frequency(counts: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))
