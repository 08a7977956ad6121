"""Merge resolved extraction rows into entities, relations and triples."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from json import loads
from math import fsum

import numpy as np

from polygraph.arrays import (
    Array,
    Table,
    batches,
    distinct,
    group_order,
    members,
    offsets,
    rows_of_groups,
)
from polygraph.graph.csr import Graph
from polygraph.graph.merge.description_selection import DescriptionSelection, ReadTexts
from polygraph.graph.merge.entity_names import shown_spelling, with_other_name, without_bare_names
from polygraph.graph.merge.rows import RowKind, Rows
from polygraph.memory import trim_heap
from polygraph.records import Description, Entity, Relation, Triple
from polygraph.text.statements import RELATED_TO

MAX_DESCRIPTIONS = 50
"""Most descriptions kept for one entity or relation."""
SEPARATOR = " | "
"""Stands between the parts of an id."""
_BATCH = 1 << 14
"""Rows of which records are made together."""
_BACKWARD = "<-"
_STRONG = 1
"""Strength below which two names only stand together."""
SELF_LOOP = "both names are one entity"
LOST_REASONS = (SELF_LOOP, "a name is no entity", "no chunk is known")
"""Why an extraction row is in no relation."""
_KEYWORD_LISTS = 4_096
"""Lists of keywords that are kept: some recur in many relations."""
_KEYWORDS = 3
"""Keywords that stand for a predicate where there is none."""


class MergedGraph:
    """The graph as arrays: which rows belong to each entity, relation and triple. Records are made when asked for.

    Args:
        load: gives the extraction rows of a kind; called once for each.
        slots: the names of the windows, with a column `written` of strings.
        entity: entity of each slot, as a position in `ids`, -1 for none.
        ids: of the entities, ascending.
        chunk_ids: id of every chunk, by position.
        first_chunk: position of the first chunk of each document.
        read_texts: gives descriptions by their hashes.
        max_descriptions: see `view.merge`.
        by_model: see `view.merge`.
        names: names that users gave to entities, by id; the most frequent spelling is then an alias.
    """

    def __init__(
        self,
        load: Callable[[RowKind], Rows],
        slots: Table,
        entity: Array,
        ids: Sequence[str],
        chunk_ids: Sequence[str],
        *,
        first_chunk: Array,
        read_texts: ReadTexts,
        max_descriptions: int = MAX_DESCRIPTIONS,
        by_model: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> None:
        if max_descriptions < 1:
            raise ValueError(f"max_descriptions must be at least 1, not {max_descriptions}")
        self._chunk_ids, self._names, self._by_model = chunk_ids, names or {}, by_model
        self._descriptions = DescriptionSelection(max_descriptions, read_texts, chunk_ids)
        entity = np.append(entity, np.int32(-1))  # the last one for a name without a slot
        # There are millions of rows: columns are loaded one kind at a time, and only those of records are kept.
        rows = load("mentions")
        number = self._merge_mentions(rows.table, slots, entity, ids)
        self._mention_chunks = _Chunks(rows, first_chunk)
        self._mentions = rows.table.only("type", "n", "start", "text")
        del rows
        trim_heap()
        # Nothing else holds the rows, so that columns can be freed as they are used up.
        self._merge_links(load("links"), first_chunk, slots, entity, number)

    def _merge_mentions(self, mentions: Table, slots: Table, entity: Array, ids: Sequence[str]) -> Array:
        """Group mentions by entity; return the number of each position in `ids`, -1 for one without mentions."""
        slot = mentions.shifted("slot", slots.offsets[:-1])
        self._spelling, self._spellings = slots["written"][slot], slots.strings["written"]
        item = entity[slot]
        del slot
        placed = (item >= 0) & (mentions["n_chunks"] > 0)
        present = np.flatnonzero(np.bincount(item[placed], minlength=len(ids)))
        self.ids: list[str] = [ids[i] for i in present.tolist()]
        """Ids of the entities, ascending."""
        number = np.full(len(ids) + 1, -1, dtype=np.int32)
        number[present] = np.arange(len(present))
        item = np.where(placed, number[item], np.int32(len(present)))
        ends, rows = group_order(item, len(present) + 1)
        self._entity_ends, self._entity_rows = ends[:-1], rows
        self.unplaced = int(ends[-1] - ends[-2])
        """Entity rows without a chunk or an entity."""
        return number

    def _merge_links(
        self, loaded: Rows, first_chunk: Array, slots: Table, entity: Array, number: Array
    ) -> None:
        """Group links by relation and by triple."""
        source, target = (
            entity[loaded.table.shifted(end, slots.offsets[:-1])] for end in ("source", "target")
        )
        self._link_chunks = _Chunks(loaded, first_chunk)
        has_chunk = loaded.table["n_chunks"] > 0
        links = loaded.table.only("predicate", "keywords", "strength", "text")
        self._links = links.only("predicate", "keywords", "text")
        del loaded
        trim_heap()
        placed = (source >= 0) & (target >= 0) & has_chunk
        loops = placed & (source == target)
        self.loops = int(loops.sum())
        """Relation rows whose ends are one entity."""
        placed &= source != target
        # One after the other, so that only one of them is held twice.
        source = number[source]
        target = number[target]
        placed &= (source >= 0) & (target >= 0)
        self._lost_rows = np.flatnonzero(~placed)
        lost = self._lost_rows
        self._lost_reasons = np.where(loops[lost], 0, np.where(has_chunk[lost], 1, 2))
        self._lost_entities = source[lost]
        self._documents = links.offsets
        self._put_loops(links, np.flatnonzero(loops & self._by_model), source)
        self._forward = source < target
        rows = np.flatnonzero(placed).astype(np.int32)
        self.dropped = len(source) - self.loops - len(rows)
        """Relation rows without a chunk, or with an end that is no entity."""
        del placed, loops, has_chunk
        source = source[rows]
        target = target[rows]
        trim_heap()
        self._merge_relations(links, rows, source, target)
        is_strong = links["strength"] >= _STRONG
        links = links.only("predicate", "keywords")
        trim_heap()
        self._merge_triples(links, is_strong, rows, source, target)

    def _put_loops(self, links: Table, rows: Array, entity: Array) -> None:
        """Keep rows of links, each with both ends one entity, in the order of these."""
        rows = rows[(entity[rows] >= 0) & (links["text"][rows] != 0)]
        order = np.argsort(entity[rows], kind="stable")
        self._loop_rows, self._loop_entities = rows[order], entity[rows][order]

    def _merge_relations(self, links: Table, rows: Array, source: Array, target: Array) -> None:
        n = len(self.ids)
        # An id of a relation begins with that of its lower entity, after which the separator comes.
        lower = np.array(sorted(range(n), key=[i + SEPARATOR for i in self.ids].__getitem__), dtype=np.int64)
        rank = np.empty(n, dtype=np.int32)
        rank[lower] = np.arange(n)
        lowest = np.minimum(source, target)
        for at in range(0, len(lowest), _BATCH):
            lowest[at : at + _BATCH] = rank[lowest[at : at + _BATCH]]
        self._relation_rows = np.empty_like(rows)
        ends, keys, weights, at = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)], 0
        # Keys and order of all rows at once would be as large as the rows.
        for part in rows_of_groups(lowest, n):
            key = lowest[part].astype(np.int64)
            key *= n
            key += np.maximum(source[part], target[part])
            order = np.argsort(key, kind="stable")
            key, ordered = key[order], rows[part[order]]
            first = np.flatnonzero(np.diff(key, prepend=-1))
            self._relation_rows[at : at + len(part)] = ordered
            ends.append(first + at)
            keys.append(key[first])
            weights.append(_exact_sums(np.append(first, len(key)), links["strength"][ordered]))
            at += len(part)
        key = np.concatenate(keys)
        self._relation_ends = np.append(np.concatenate(ends), at)
        self.sources, self.targets = lower[key // max(n, 1)], key % max(n, 1)
        """Numbers of both entities of each relation; relations are in the order of their ids."""
        self.weights = np.concatenate(weights)
        """Sum of the strengths of each relation."""
        if any(SEPARATOR in i for i in self.ids):
            self._order_relations()
        self.degrees: Array = np.bincount(self.sources, minlength=n) + np.bincount(self.targets, minlength=n)
        """Number of neighbours of each entity."""

    def _order_relations(self) -> None:
        """Put relations in the order of their ids where an id of an entity has a separator of its own."""
        ends = zip(self.sources.tolist(), self.targets.tolist(), strict=True)
        names = [f"{self.ids[a]}{SEPARATOR}{self.ids[b]}" for a, b in ends]
        order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
        self.sources, self.targets = self.sources[order], self.targets[order]
        self.weights = self.weights[order]
        self._relation_rows = self._relation_rows[members(self._relation_ends, order)[0]]
        self._relation_ends = offsets(np.diff(self._relation_ends)[order])

    def _merge_triples(
        self, links: Table, is_strong: Array, rows: Array, source: Array, target: Array
    ) -> None:
        """Group links by triple; changes `source` and `target`."""
        predicate = self._stated_predicates(links, is_strong, rows)
        # Without a predicate nothing says which end is the subject.
        swapped = np.flatnonzero((source > target) & (links["predicate"][rows] < 0))
        source[swapped], target[swapped] = target[swapped], source[swapped]
        triples, ends, at = [np.zeros((0, 3), np.int32)], [np.zeros(0, np.int64)], 0
        self._triple_rows = np.empty(int((predicate >= 0).sum()), dtype=np.int32)
        for group in rows_of_groups(source, len(self.ids)):
            part = group[predicate[group] >= 0]
            order = np.lexsort((predicate[part], target[part], source[part]))
            part = part[order]
            keys = np.stack((source[part], target[part], predicate[part]), axis=1)
            first = np.flatnonzero(np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1))[: len(keys)])
            triples.append(keys[first])
            ends.append(first + at)
            self._triple_rows[at : at + len(part)] = rows[part]
            at += len(part)
        self._triples = np.concatenate(triples)
        """Numbers of subject and object of each triple, in this order, and of its predicate."""
        self._triple_ends = np.append(np.concatenate(ends), at)

    def _stated_predicates(self, links: Table, is_strong: Array, rows: Array) -> Array:
        """Return what each row states, as a position in `_predicates`; -1 if nothing."""
        phrases = links.strings["predicate"]
        from_keywords = [", ".join(loads(some)[:_KEYWORDS]) for some in links.strings["keywords"]]
        self._predicates = sorted({*phrases, *from_keywords, RELATED_TO} - {""})
        number = {text: n for n, text in enumerate(self._predicates)}
        # The last one for none.
        of_predicate = np.array([*(number[text] for text in phrases), -1])
        of_keywords = np.array([*(number.get(text, -1) for text in from_keywords), -1])
        stated = np.empty(len(rows), dtype=np.int32)
        for at in range(0, len(rows), _BATCH):
            some = rows[at : at + _BATCH]
            predicate, keywords = links["predicate"][some], links["keywords"][some]
            found = np.where(predicate >= 0, of_predicate[predicate], of_keywords[keywords])
            related = (found < 0) & is_strong[some]
            stated[at : at + _BATCH] = np.where(related, number[RELATED_TO], found)
        return stated

    def lost_links(self) -> Iterator[tuple[int, int, str, str, str]]:
        """Yield the relation rows in no relation, as ``(document, row, reason, entity, predicate)``, in this order.

        Documents are numbered in the order of their ids, and the rows of a document as they were extracted. The reason
        is one of `LOST_REASONS`; the entity is the one that both names are, or empty.
        """
        predicates, phrases = self._links["predicate"][self._lost_rows], self._links.strings["predicate"]
        documents = np.searchsorted(self._documents, self._lost_rows, side="right") - 1
        rows = self._lost_rows - self._documents[documents]
        for document, row, reason, entity, predicate in zip(
            documents.tolist(),
            rows.tolist(),
            self._lost_reasons.tolist(),
            self._lost_entities.tolist(),
            predicates.tolist(),
            strict=True,
        ):
            loop = reason == 0 and entity >= 0
            stated = phrases[predicate] if predicate >= 0 else ""
            yield document, row, LOST_REASONS[reason], self.ids[entity] if loop else "", stated

    def entities(self) -> Iterator[Entity]:
        """Yield all entities, by id."""
        mentions, degrees = self._mentions, self.degrees.tolist()
        types = mentions.strings["type"]
        last_words = Counter(i.rpartition(" ")[2] for i in self.ids)
        for first, n, rows, owner in _batches(self._entity_ends, self._entity_rows):
            kind, spans = mentions["type"][rows], mentions["n"][rows]
            typed = kind >= 0
            parts = zip(
                self.ids[first : first + n],
                degrees[first : first + n],
                _counts(owner, self._spelling[rows], n, spans),
                _counts(owner[typed], kind[typed], n, spans[typed]),
                self._mention_chunks.ids(rows, owner, n, self._chunk_ids),
                self._said_of(first, n, rows, owner),
                strict=True,
            )
            for i, degree, spellings, kinds, chunks, said in parts:
                spelt = [(-count, self._spellings[s]) for s, count in spellings]
                type_ = min([(-count, types[t]) for t, count in kinds], default=(0, ""))[1]
                is_person = type_ == "person"
                name = self._names.get(i) or shown_spelling(
                    spelt, i, is_person=is_person, of_several=last_words[i.rpartition(" ")[2]] > 1
                )
                descriptions = [
                    with_other_name(d, self._spellings[s], name, is_person=is_person)
                    if s >= 0 and self._by_model
                    else d
                    for d, s in without_bare_names(said, [text for _, text in spelt], by_model=self._by_model)
                ]
                yield Entity(
                    id=i,
                    name=name,
                    type=type_,
                    aliases=tuple(sorted([spelling for _, spelling in spelt if spelling != name])),
                    descriptions=tuple(descriptions),
                    chunks=chunks,
                    degree=degree,
                )

    def _said_of(
        self, first: int, n: int, rows: Array, owner: Array
    ) -> Iterator[list[tuple[Description, int]]]:
        """Yield what is said of each of `n` entities, each with the number of the spelling that it is said of, or -1.

        What a model says of two names of one entity, such as when it was renamed, is said of the entity.
        """
        some = slice(*np.searchsorted(self._loop_entities, [first, first + n]).tolist())
        loops, mentions = self._loop_rows[some], self._mentions
        n_loops = len(loops)
        # After the mentions of the same chunk.
        last = np.full(n_loops, np.iinfo(np.int32).max, dtype=np.int64)
        chosen = self._descriptions.choose_rows(
            np.concatenate((owner, self._loop_entities[some] - first)),
            np.concatenate((self._mention_chunks.first(rows), self._link_chunks.first(loops))),
            np.concatenate((mentions["start"][rows], last)),
            np.concatenate((mentions["text"][rows], self._links["text"][loops])),
            n,
        )
        spelling = np.concatenate((self._spelling[rows], np.full(n_loops, -1, dtype=np.int64))).tolist()
        for found in chosen:
            yield [(description, spelling[row]) for description, row in found]

    def relations(self) -> Iterator[Relation]:
        """Yield all relations, by id."""
        links = self._links
        phrases, keywords_of = links.strings["predicate"], lru_cache(_KEYWORD_LISTS)(loads)
        keyword_lists = links.strings["keywords"]
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
                    for keyword in keywords_of(keyword_lists[some]):
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

    def text_keys(self) -> Array:
        """Return the hashes of the descriptions of all rows, ascending; 0 if one has none."""
        return distinct(np.concatenate([distinct(rows["text"]) for rows in (self._mentions, self._links)]))

    def graph(self) -> Graph:
        """Return the relations as arrays; vertex `i` is ``ids[i]``."""
        return Graph.from_edges(len(self.ids), self.sources, self.targets, self.weights)


class _Chunks:
    """The chunks of each row of a table, by position."""

    def __init__(self, rows: Rows, first_chunk: Array) -> None:
        self._ends = offsets(rows.table["n_chunks"]).astype(np.int32)
        self._chunk = rows.chunks.shifted("chunks", first_chunk)

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
    if len(counts) < 2:  # as of most relations
        return tuple(counts)
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))
