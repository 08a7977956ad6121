"""Merging rows by arrays: entities, relations and triples, of which records are made only where they are wanted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polygraph.columnar import (
    Array,
    Column,
    Columns,
    Table,
    blocks,
    by_group,
    cumulated,
    room,
    row_type,
    running,
    whole_groups,
)
from polygraph.columnar.groupby import PART, Groups, Pairs, distinct_pairs, exact_sums, in_parts, stretches
from polygraph.columnar.memory import let_go
from polygraph.graph.csr import Graph
from polygraph.graph.merge.descriptions import Said, Texts
from polygraph.graph.merge.fingerprints import mark_of, marks, string_marks
from polygraph.records import Description, Entity, Relation, Triple

if TYPE_CHECKING:
    from polygraph.graph.merge.diff import GraphMoves

MAX_DESCRIPTIONS = 50
"""Most descriptions kept for one entity or relation."""
UNSAID = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
BETWEEN = " | "
"""Stands between the parts of an id."""
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

    That lies in files. Everything else is gathered from the rows for some items at a time, so that in memory is what
    belongs to these, or to the one with the most rows, and some numbers for each entity.

    Args:
        columns: the rows.
        entity: position in `ids` of the entity that each row of ``names`` is, or -1.
        ids: ascending.
        chunks: id of every chunk, by position.
        first_chunk: position of the first chunk of each document.
        max_descriptions: see `view.merge`.
        folder: for these files, as for `spill.room`.
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
        folder: Path | None = None,
    ) -> None:
        if max_descriptions < 1:
            raise ValueError(f"max_descriptions must be at least 1, not {max_descriptions}")
        self._columns, self._chunks, self._first_chunk, self._folder = columns, chunks, first_chunk, folder
        self._texts = Texts(columns, max_descriptions, folder)
        self._place_ends = {
            name: self._ends_of_places(columns[name], of, columns[table])
            for name, of, table in (("places", "mention", "mentions"), ("link_places", "link", "links"))
        }
        """Where the places of each row begin, and the last ones end."""
        self._merge_mentions(entity, ids)
        self._merge_links(entity)

    # --- entities -----------------------------------------------------------------------------------

    def _merge_mentions(self, entity: Array, ids: Sequence[str]) -> None:
        table, there = self._columns["mentions"], np.zeros(len(ids), dtype=np.bool_)

        def placed() -> Iterator[tuple[Array, Array]]:
            for rows in blocks(len(table)):
                item = self._entity_of("name", table, entity, rows)
                known = (item >= 0) & self._have_places("places", rows)
                yield item[known], rows[known]
                let_go(entity, self._place_ends["places"])

        self.unplaced = len(table)
        for item, rows in placed():
            there[item] = True
            self.unplaced -= len(rows)
        present = np.flatnonzero(there)
        self.ids: list[str] = [ids[i] for i in present.tolist()]
        """Of the entities, ascending."""
        self._number = np.full(len(ids) + 1, -1, dtype=np.int32)  # the last one for -1
        self._number[present] = np.arange(len(present))
        self._mentions = Groups(
            *by_group(
                lambda: ((self._number[item], rows) for item, rows in placed()),
                len(self.ids),
                row_type(len(table)),
                self._folder,
            )
        )

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

    def entities(self, rows: Sequence[int] | Array | None = None) -> Iterator[Entity]:
        """Some entities or all, in the order of `rows`."""
        names, types = self._columns.pools["names"], self._columns.pools["types"]
        for items in self._some(self._mentions, rows):
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
        for items in self._some(self._mentions):
            some, n = self._entities(items), len(items)
            found[items] += (
                marks(some.names, names, n, 1)
                + marks(some.types, types, n, 2)
                + marks(some.chunks, self._chunk_marks, n, 3)
                + some.said.marks(self._texts.hashes, self._chunk_marks)
            )
        return found

    # --- relations ----------------------------------------------------------------------------------

    def _joined_rows(self, entity: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Rows that join two entities, and the numbers of both, some at a time."""
        table = self._columns["links"]
        self.loops = self.dropped = 0
        for rows in blocks(len(table)):
            source, target = (self._entity_of(end, table, entity, rows) for end in ("source", "target"))
            known = (source >= 0) & (target >= 0) & self._have_places("link_places", rows)
            loop = known & (source == target)
            source, target = self._number[source], self._number[target]
            joined = known & ~loop & (source >= 0) & (target >= 0)
            self.loops += int(loop.sum())
            self.dropped += int(len(rows) - loop.sum() - joined.sum())
            yield rows[joined], source[joined], target[joined]
            let_go(entity, self._place_ends["link_places"])

    def _merge_links(self, entity: Array) -> None:
        """Relations in the order of their ids: of the lower entity, as the id begins, then of the higher one."""
        n, links, folder = len(self.ids), self._columns["links"], self._folder
        lower = np.array(sorted(range(n), key=[i + BETWEEN for i in self.ids].__getitem__), dtype=np.int64)
        rank = np.empty(n, dtype=np.int32)
        rank[lower] = np.arange(n)
        self._forward = room(len(links), np.bool_, folder)
        other = room(len(links), np.int32, folder)

        def by_lower() -> Iterator[tuple[Array, Array]]:
            for rows, source, target in self._joined_rows(entity):
                self._forward[rows] = source < target
                other[rows] = np.maximum(source, target)
                yield rank[np.minimum(source, target)], rows
                let_go(self._forward, other)

        begins, order = by_group(by_lower, n, row_type(len(links)), folder)
        sources, targets, ends = (Column("q", folder) for _ in range(3))
        ends.append(0)
        for i, j in whole_groups(begins):
            part = slice(int(begins[i]), int(begins[j]))
            if part.start == part.stop:
                continue
            key = np.repeat(np.arange(i, j), np.diff(begins[i : j + 1])) * n + other[order[part]]
            by_key = np.argsort(key, kind="stable")
            order[part], key = order[part][by_key], key[by_key]
            first = np.flatnonzero(np.diff(key, prepend=-1))
            sources.put(lower[key[first] // n])
            targets.put(key[first] % n)
            ends.put(part.start + np.append(first[1:], len(key)))
            let_go(order, other)
        self.sources, self.targets = sources.mapped(), targets.mapped()
        """Numbers of the two entities of each relation; relations are in the order of their ids."""
        self._links = Groups(ends.mapped(), order)
        if any(BETWEEN in i for i in self.ids):
            self._order_links()
        self.degrees: Array = np.bincount(self.sources, minlength=n) + np.bincount(self.targets, minlength=n)
        """Number of neighbours of each entity."""
        self.weights: Array = room(len(self.sources), np.float64, folder)
        """Sum of the strengths of each relation."""
        for i, j in whole_groups(self._links.ends):
            own = self._links.ends[i : j + 1]
            strengths = links["strength"][self._links.order[own[0] : own[-1]]]
            self.weights[i:j] = exact_sums(own - own[0], strengths)
            self._rest()
        self._merge_triples(entity)

    def _order_links(self) -> None:
        """Put relations in the order of their ids where an entity's own may hold what stands between two."""
        ends = zip(self.sources.tolist(), self.targets.tolist(), strict=True)
        names = [BETWEEN.join((self.ids[a], self.ids[b])) for a, b in ends]
        order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        at, _ = stretches(self._links.ends, order)
        self.sources, self.targets = self.sources[order], self.targets[order]
        self._links = Groups(cumulated(np.diff(self._links.ends)[order]), self._links.order[at])

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

    def relations(self, rows: Sequence[int] | Array | None = None) -> Iterator[Relation]:
        """Some relations or all, in the order of `rows`."""
        phrases = self._columns.pools["phrases"]
        for items in self._some(self._links, rows):
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
                    id=BETWEEN.join((source, target)),
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
        found = room(len(self.sources), np.uint64, self._folder)
        for items in self._some(self._links):
            some, n = self._relations(items), len(items)
            found[items] = mark_of(self.weights[items].view(np.uint64), 8) + (
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
            self.entities(kept.entities.made),
            self.relations(kept.relations.made),
            self.triples(kept.triples.made),
        )

    def graph(self) -> Graph:
        """The relations as arrays; vertex `i` is ``ids[i]``."""
        return Graph.from_edges(len(self.ids), self.sources, self.targets, self.weights)

    # --- triples ------------------------------------------------------------------------------------

    def _merge_triples(self, entity: Array) -> None:
        n, links, folder = len(self.ids), self._columns["links"], self._folder
        stated = self._predicates(entity)
        other, said = room(len(links), np.int32, folder), room(len(links), np.int32, folder)

        def by_subject() -> Iterator[tuple[Array, Array]]:
            for rows, source, target in self._joined_rows(entity):
                predicate = stated(rows)
                # Without a predicate nothing says which end is the subject.
                backward = (links["predicate"][rows] >= 0) & (source > target)
                low, high = np.minimum(source, target), np.maximum(source, target)
                other[rows], said[rows] = np.where(backward, low, high), predicate
                yield np.where(backward, high, low)[predicate >= 0], rows[predicate >= 0]
                let_go(other, said)

        begins, order = by_group(by_subject, n, row_type(len(links)), folder)
        sources, targets, predicates, ends = (Column("q", folder) for _ in range(4))
        ends.append(0)
        for i, j in whole_groups(begins):
            part = slice(int(begins[i]), int(begins[j]))
            if part.start == part.stop:
                continue
            keys = (
                said[order[part]],
                other[order[part]],
                np.repeat(np.arange(i, j), np.diff(begins[i : j + 1])),
            )
            by_key = np.lexsort(keys)
            order[part] = order[part][by_key]
            predicate, target, source = (key[by_key] for key in keys)
            differs = np.ones(len(by_key), dtype=np.bool_)
            differs[1:] = (np.diff(predicate) != 0) | (np.diff(target) != 0) | (np.diff(source) != 0)
            first = np.flatnonzero(differs)
            for column, values in ((sources, source), (targets, target), (predicates, predicate)):
                column.put(values[first])
            ends.put(part.start + np.append(first[1:], len(by_key)))
            let_go(order, other, said)
        self.triple_sources, self.triple_targets = sources.mapped(), targets.mapped()
        """Numbers of subject and object of each triple; triples are by subject, object, predicate."""
        self.triple_predicates = predicates.mapped()
        """Predicate of each triple, as a place in `predicates`."""
        self._stated = Groups(ends.mapped(), order)

    def _triple_chunks(self, items: Array) -> Pairs:
        at, of = stretches(self._stated.ends, items)
        chunk, of_place, _ = self._places_of("link_places", self._stated.order[at])
        return distinct_pairs(of[of_place], chunk, len(items), len(self._chunks))

    def _predicates(self, entity: Array) -> Callable[[Array], Array]:
        """Find the predicates; give what tells for rows what each states, as a place among them (-1: nothing)."""
        table, phrases = self._columns["links"], self._columns.pools["phrases"]
        as_predicate = np.zeros(len(phrases) + 1, dtype=np.bool_)  # the last one for none
        as_keywords = as_predicate.copy()
        for rows, _, _ in self._joined_rows(entity):
            predicate, keywords = table["predicate"][rows], table["keywords"][rows]
            as_predicate[predicate] = True
            as_keywords[keywords[predicate < 0]] = True
        used = np.flatnonzero(as_predicate[:-1]).tolist()
        by_keywords = {
            i: ", ".join(loads(phrases[i])[:_KEYWORDS]) for i in np.flatnonzero(as_keywords[:-1]).tolist()
        }
        self.predicates = sorted({*(phrases[i] for i in used), *by_keywords.values(), UNSAID} - {""})
        """What triples state, and rows that state nothing of their own; ascending."""
        number = {string: i for i, string in enumerate(self.predicates)}
        of_predicate = np.full(len(phrases) + 1, -1, dtype=np.int32)
        of_keywords = of_predicate.copy()
        for i in used:
            of_predicate[i] = number[phrases[i]]
        for i, string in by_keywords.items():
            of_keywords[i] = number.get(string, -1)

        def stated(rows: Array) -> Array:
            predicate = table["predicate"][rows]
            said = np.where(predicate >= 0, of_predicate[predicate], of_keywords[table["keywords"][rows]])
            # Of what is weaker, the two names only stand together.
            unsaid = (said < 0) & (table["strength"][rows] >= 1)
            return np.where(unsaid, number[UNSAID], said)

        return stated

    def triples(self, rows: Sequence[int] | Array | None = None) -> Iterator[Triple]:
        """Some triples or all, in the order of `rows`."""
        for items in self._some(self._stated, rows):
            chunks = self._triple_chunks(items)
            for i, n in enumerate(items.tolist()):
                source, target = self.ids[self.triple_sources[n]], self.ids[self.triple_targets[n]]
                predicate = self.predicates[self.triple_predicates[n]]
                yield Triple(
                    id=BETWEEN.join((source, predicate, target)),
                    source=source,
                    target=target,
                    predicate=predicate,
                    weight=float(self._stated.ends[n + 1] - self._stated.ends[n]),
                    chunks=self._ids_of(chunks.values_of(i)),
                )

    @cached_property
    def triple_marks(self) -> Array:
        """The same as `entity_marks` for triples."""
        found = room(len(self.triple_sources), np.uint64, self._folder)
        for items in self._some(self._stated):
            often = (self._stated.ends[items + 1] - self._stated.ends[items]).astype(np.uint64)
            found[items] = mark_of(often, 10) + marks(
                self._triple_chunks(items), self._chunk_marks, len(items), 9
            )
        return found

    # --- parts --------------------------------------------------------------------------------------

    def _some(self, groups: Groups, items: Sequence[int] | Array | None = None) -> Iterator[Array]:
        """Some items or all, so many at once that their rows fit into memory."""
        if items is None:
            parts: Iterator[Array] = (np.arange(i, j) for i, j in whole_groups(groups.ends, PART))
        else:
            parts = in_parts(groups.ends, np.asarray(items, dtype=np.int64))
        for part in parts:
            yield part
            let_go(groups.ends, groups.order)
            self._rest()

    def _rest(self) -> None:
        """Let go of what was read of relations and places."""
        let_go(self._links.ends, self._links.order, self.sources, self.targets, self.weights, self._forward)
        let_go(*self._place_ends.values())

    def _entity_of(self, name: str, table: Table, entity: Array, rows: Array) -> Array:
        """Position in the given ids of what a column of names means, -1 if nothing."""
        row = table.shifted(name, self._columns["names"], rows)
        found = entity[row] if len(entity) else np.full(len(row), -1, dtype=np.int32)
        found[row < 0] = -1
        return np.asarray(found)

    def _have_places(self, name: str, rows: Array) -> Array:
        ends = self._place_ends[name]
        return np.asarray(ends[rows + 1] > ends[rows])

    def _ends_of_places(self, places: Table, of: str, owners: Table) -> Array:
        ends = room(len(owners) + 1, row_type(len(places)), self._folder)
        for rows in blocks(len(places)):
            found, often = np.unique(places.shifted(of, owners, rows), return_counts=True)
            ends[found + 1] += often.astype(ends.dtype)
        return running(ends, ends)

    def _places_of(self, name: str, rows: Array) -> tuple[Array, Array, Array]:
        """Chunks of some rows that have places: by position; of which of the rows each is; where each row's begin."""
        ends, places = self._place_ends[name], self._columns[name]
        at, of = stretches(ends, rows)
        counts = ends[rows + 1] - ends[rows]
        # Rows of some items lie all over the corpus: not more than one column at a time is held.
        let_go(ends)
        document = np.searchsorted(places.offsets, at, side="right") - 1
        return places["chunk"][at] + self._first_chunk[document], of, np.cumsum(counts) - counts

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


def _by_frequency(counts: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))
