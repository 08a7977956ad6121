"""Merge resolved extraction rows into entities, relations and triples."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from json import loads
from math import fsum

import numpy as np

from polygraph.arrays import Array, Table, batches, group_order, members, offsets
from polygraph.graph.csr import Graph
from polygraph.graph.merge.description_selection import DescriptionSelection, ReadTexts
from polygraph.records import Entity, Relation, Triple

MAX_DESCRIPTIONS = 50
"""Most descriptions kept for one entity or relation."""
RELATED_TO = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
SEPARATOR = " | "
"""Stands between the parts of an id."""
_BATCH = 1 << 14
"""Rows of which records are made together."""
_BACKWARD = "<-"
_KEYWORDS = 3
"""Keywords that stand for a predicate where there is none."""


class MergedGraph:
    """The graph as arrays: which rows belong to each entity, relation and triple. Records are made when asked for.

    Args:
        tables: extraction rows, as `rows.RowTables` gives them.
        slots: the names of the windows, with a column `written` of strings.
        entity: entity of each slot, as a position in `ids`, -1 for none.
        ids: of the entities, ascending.
        chunk_ids: id of every chunk, by position.
        first_chunk: position of the first chunk of each document.
        read_texts: gives descriptions by their hashes.
        max_descriptions: see `view.merge`.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        slots: Table,
        entity: Array,
        ids: Sequence[str],
        chunk_ids: Sequence[str],
        *,
        first_chunk: Array,
        read_texts: ReadTexts,
        max_descriptions: int = MAX_DESCRIPTIONS,
    ) -> None:
        if max_descriptions < 1:
            raise ValueError(f"max_descriptions must be at least 1, not {max_descriptions}")
        self._chunk_ids = chunk_ids
        self._descriptions = DescriptionSelection(max_descriptions, read_texts, chunk_ids)
        entity = np.append(entity, np.int32(-1))  # the last one for a name without a slot
        number = self._merge_mentions(tables["mentions"], slots, entity, ids)
        self._merge_links(tables["links"], slots, entity, number)
        # Only the columns that records are made of stay in memory.
        self._mentions = tables["mentions"].only("type", "n", "start", "text")
        self._links = tables["links"].only("predicate", "keywords", "text")
        self._mention_chunks = _Chunks(tables["mentions"], tables["mention_chunks"], first_chunk)
        self._link_chunks = _Chunks(tables["links"], tables["link_chunks"], first_chunk)

    def _merge_mentions(self, mentions: Table, slots: Table, entity: Array, ids: Sequence[str]) -> Array:
        """Group mentions by entity; return the number of each position in `ids`, -1 for one without mentions."""
        slot = mentions.shifted("slot", slots.offsets[:-1])
        self._spelling, self._spellings = slots["written"][slot], slots.strings["written"]
        item = entity[slot]
        rows = np.flatnonzero((item >= 0) & (mentions["n_chunks"] > 0)).astype(np.int32)
        self.unplaced = len(item) - len(rows)
        """Entity rows without a chunk or an entity."""
        item = item[rows]
        present = np.flatnonzero(np.bincount(item, minlength=len(ids)))
        self.ids: list[str] = [ids[i] for i in present.tolist()]
        """Of the entities, ascending."""
        number = np.full(len(ids) + 1, -1, dtype=np.int32)
        number[present] = np.arange(len(present))
        self._entity_ends, order = group_order(number[item], len(present))
        self._entity_rows = rows[order]
        return number

    def _merge_links(self, links: Table, slots: Table, entity: Array, number: Array) -> None:
        """Group links by relation and by triple."""
        source, target = (entity[links.shifted(end, slots.offsets[:-1])] for end in ("source", "target"))
        placed = (source >= 0) & (target >= 0) & (links["n_chunks"] > 0)
        self.loops = int((placed & (source == target)).sum())
        """Relation rows whose ends are one entity."""
        placed &= source != target
        source, target = number[source], number[target]
        rows = np.flatnonzero(placed & (source >= 0) & (target >= 0)).astype(np.int32)
        self.dropped = len(source) - self.loops - len(rows)
        """Relation rows without a chunk, or with an end that is no entity."""
        self._forward = source < target
        self._merge_relations(links, rows, source[rows], target[rows])
        self._merge_triples(links, rows, source[rows], target[rows])

    def _merge_relations(self, links: Table, rows: Array, source: Array, target: Array) -> None:
        n = len(self.ids)
        # An id of a relation begins with that of its lower entity, after which the separator comes.
        lower = np.array(sorted(range(n), key=[i + SEPARATOR for i in self.ids].__getitem__), dtype=np.int64)
        rank = np.empty(n, dtype=np.int64)
        rank[lower] = np.arange(n)
        key = rank[np.minimum(source, target)] * n + np.maximum(source, target)
        pairs, relation = np.unique(key, return_inverse=True)
        sources, targets = lower[pairs // max(n, 1)], pairs % max(n, 1)
        if any(SEPARATOR in i for i in self.ids):
            names = [
                f"{self.ids[a]}{SEPARATOR}{self.ids[b]}"
                for a, b in zip(sources.tolist(), targets.tolist(), strict=True)
            ]
            order = np.array(sorted(range(len(pairs)), key=names.__getitem__), dtype=np.int64)
            place = np.empty(len(pairs), dtype=np.int64)
            place[order] = np.arange(len(pairs))
            sources, targets, relation = sources[order], targets[order], place[relation]
        self.sources, self.targets = sources, targets
        """Numbers of both entities of each relation; relations are in the order of their ids."""
        self._relation_ends, order = group_order(relation, len(pairs))
        self._relation_rows = rows[order]
        self.degrees: Array = np.bincount(sources, minlength=n) + np.bincount(targets, minlength=n)
        """Number of neighbours of each entity."""
        self.weights = _exact_sums(self._relation_ends, links["strength"][self._relation_rows])
        """Sum of the strengths of each relation."""

    def _merge_triples(self, links: Table, rows: Array, source: Array, target: Array) -> None:
        predicate = self._stated_predicates(links, rows)
        stated = np.flatnonzero(predicate >= 0)
        rows, source, target, predicate = rows[stated], source[stated], target[stated], predicate[stated]
        # Without a predicate nothing says which end is the subject.
        swapped = (links["predicate"][rows] < 0) & (source > target)
        source, target = np.where(swapped, target, source), np.where(swapped, source, target)
        order = np.lexsort((predicate, target, source))
        keys = np.stack((source[order], target[order], predicate[order]), axis=1)
        first = np.flatnonzero(np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1))[: len(keys)])
        self._triples = keys[first]
        """Numbers of subject and object of each triple, in this order, and of its predicate."""
        self._triple_ends, self._triple_rows = np.append(first, len(keys)), rows[order]

    def _stated_predicates(self, links: Table, rows: Array) -> Array:
        """Return what each row states, as a position in `_predicates`; -1 if nothing."""
        predicate, keywords = links["predicate"][rows], links["keywords"][rows]
        phrases = links.strings["predicate"]
        from_keywords = [", ".join(loads(some)[:_KEYWORDS]) for some in links.strings["keywords"]]
        self._predicates = sorted({*phrases, *from_keywords, RELATED_TO} - {""})
        number = {text: n for n, text in enumerate(self._predicates)}
        # The last one for none.
        of_predicate = np.array([*(number[text] for text in phrases), -1])
        of_keywords = np.array([*(number.get(text, -1) for text in from_keywords), -1])
        found = np.where(predicate >= 0, of_predicate[predicate], of_keywords[keywords])
        # Below this strength the two names only stand together.
        found = np.where((found < 0) & (links["strength"][rows] >= 1), number[RELATED_TO], found)
        return found.astype(np.int32)

    def entities(self) -> Iterator[Entity]:
        """Yield all entities, by id."""
        mentions, degrees = self._mentions, self.degrees.tolist()
        types = mentions.strings["type"]
        for first, n, rows, owner in _batches(self._entity_ends, self._entity_rows):
            kind, spans = mentions["type"][rows], mentions["n"][rows]
            typed = kind >= 0
            parts = zip(
                self.ids[first : first + n],
                degrees[first : first + n],
                _counts(owner, self._spelling[rows], n, spans),
                _counts(owner[typed], kind[typed], n, spans[typed]),
                self._mention_chunks.ids(rows, owner, n, self._chunk_ids),
                self._descriptions.choose(
                    owner,
                    self._mention_chunks.first(rows),
                    mentions["start"][rows],
                    mentions["text"][rows],
                    n,
                ),
                strict=True,
            )
            for i, degree, spellings, kinds, chunks, descriptions in parts:
                spelt = [(-count, self._spellings[s]) for s, count in spellings]
                name = min(spelt, key=lambda pair: (pair[0], -len(pair[1]), pair[1]))[1]
                yield Entity(
                    id=i,
                    name=name,
                    type=min([(-count, types[t]) for t, count in kinds], default=(0, ""))[1],
                    aliases=tuple(sorted([spelling for _, spelling in spelt if spelling != name])),
                    descriptions=descriptions,
                    chunks=chunks,
                    degree=degree,
                )

    def relations(self) -> Iterator[Relation]:
        """Yield all relations, by id."""
        links = self._links
        phrases, keyword_lists = links.strings["predicate"], links.strings["keywords"]
        for first, n, rows, owner in _batches(self._relation_ends, self._relation_rows):
            predicate, keywords = links["predicate"][rows], links["keywords"][rows]
            directed = 2 * predicate + ~self._forward[rows]
            parts = zip(
                self.sources[first : first + n].tolist(),
                self.targets[first : first + n].tolist(),
                self.weights[first : first + n].tolist(),
                _counts(owner[predicate >= 0], directed[predicate >= 0], n),
                _counts(owner[keywords >= 0], keywords[keywords >= 0], n),
                self._link_chunks.ids(rows, owner, n, self._chunk_ids),
                self._descriptions.choose(
                    owner, self._link_chunks.first(rows), np.zeros_like(rows), links["text"][rows], n
                ),
                strict=True,
            )
            for a, b, weight, predicates, lists, chunks, descriptions in parts:
                counts = Counter[str]()
                for some, count in lists:
                    for keyword in loads(keyword_lists[some]):
                        counts[keyword] += count
                yield Relation(
                    id=f"{self.ids[a]}{SEPARATOR}{self.ids[b]}",
                    source=self.ids[a],
                    target=self.ids[b],
                    predicates=_by_frequency(
                        {f"{_BACKWARD if p % 2 else ''}{phrases[p // 2]}": count for p, count in predicates}
                    ),
                    keywords=_by_frequency(counts),
                    descriptions=descriptions,
                    weight=weight,
                    chunks=chunks,
                )

    def triples(self) -> Iterator[Triple]:
        """Yield all triples, by (subject, object, predicate)."""
        for first, n, rows, owner in _batches(self._triple_ends, self._triple_rows):
            some = slice(first, first + n)
            parts = zip(
                self._triples[some].tolist(),
                np.diff(self._triple_ends)[some].tolist(),
                self._link_chunks.ids(rows, owner, n, self._chunk_ids),
                strict=True,
            )
            for (a, b, p), count, chunks in parts:
                source, target, predicate = self.ids[a], self.ids[b], self._predicates[p]
                yield Triple(
                    id=SEPARATOR.join((source, predicate, target)),
                    source=source,
                    target=target,
                    predicate=predicate,
                    weight=float(count),
                    chunks=chunks,
                )

    def graph(self) -> Graph:
        """Return the relations as arrays; vertex `i` is ``ids[i]``."""
        return Graph.from_edges(len(self.ids), self.sources, self.targets, self.weights)


class _Chunks:
    """The chunks of each row of a table, by position."""

    def __init__(self, table: Table, chunks: Table, first_chunk: Array) -> None:
        self._ends = offsets(table["n_chunks"]).astype(np.int32)
        self._chunk = chunks.shifted("chunk", first_chunk)

    def first(self, rows: Array) -> Array:
        """Return the first chunk of some rows that have one."""
        return np.asarray(self._chunk[self._ends[rows]])

    def ids(self, rows: Array, owner: Array, n: int, chunk_ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the distinct chunk ids of each of `n` owners of rows, in the order of chunks."""
        at, of = members(self._ends, rows)
        for chunks in _counts(owner[of], self._chunk[at], n):
            yield tuple([chunk_ids[chunk] for chunk, _ in chunks])


def _batches(ends: Array, order: Array) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield the first of some groups, how many there are, their rows, and for each row its group counted from 0."""
    for first, last in batches(ends, _BATCH):
        rows = order[ends[first] : ends[last]]
        yield first, last - first, rows, np.repeat(np.arange(last - first), np.diff(ends[first : last + 1]))


def _counts(item: Array, value: Array, n: int, count: Array | None = None) -> Iterator[list[tuple[int, int]]]:
    """Yield the distinct values of each item, ascending, with the sum of their counts (1 each if not given)."""
    width = int(value.max(initial=0)) + 1
    keys, inverse = np.unique(item.astype(np.int64) * width + value, return_inverse=True)
    counts = np.bincount(inverse, weights=count, minlength=len(keys)).astype(np.int64)
    ends = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * width).tolist()
    pairs = list(zip((keys % width).tolist(), counts.tolist(), strict=True))
    for begin, end in pairwise(ends):
        yield pairs[begin:end]


def _exact_sums(ends: Array, values: Array) -> Array:
    """Return the exact sum of each group, rounded once, so that it does not depend on the order; no group is empty."""
    sizes, begins = np.diff(ends), ends[:-1]
    found = values[begins]
    two = np.flatnonzero(sizes == 2)
    found[two] += values[begins[two] + 1]
    for n in np.flatnonzero(sizes > 2).tolist():
        found[n] = fsum(values[begins[n] : ends[n + 1]].tolist())
    return np.asarray(found, dtype=np.float64)


def _by_frequency(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))
