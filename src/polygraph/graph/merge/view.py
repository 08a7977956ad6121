"""Merge extraction rows into entities and relations: a pure function of the rows, whatever their order."""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from polygraph.columnar import Gathering
from polygraph.graph.csr import Graph
from polygraph.graph.merge.merge import MAX_DESCRIPTIONS, Merged
from polygraph.graph.merge.row_columns import read_rows
from polygraph.graph.reports.members import Descriptions
from polygraph.records import Entity, Extraction, Relation, Triple

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """The graph as retrieval sees it."""

    entities: tuple[Entity, ...]
    """Sorted by id."""
    relations: tuple[Relation, ...]
    """Sorted by id."""
    triples: tuple[Triple, ...] = ()
    """Sorted by (source, target, predicate)."""
    dropped: int = 0
    """Relation rows left out because an end is no known entity, or no chunk is known for them."""
    unplaced: int = 0
    """Entity rows left out because nothing says in which chunk they stand."""
    loops: int = 0
    """Relation rows left out because both ends are the same entity."""

    def graph(self) -> Graph:
        """The relations as arrays; vertex `i` is ``entities[i]``."""
        vertex = {entity.id: i for i, entity in enumerate(self.entities)}
        return Graph.from_edges(
            len(vertex),
            [vertex[relation.source] for relation in self.relations],
            [vertex[relation.target] for relation in self.relations],
            [relation.weight for relation in self.relations],
        )

    # What `graph.members.GraphRows` asks for.

    def entity_ids(self) -> list[str]:
        """Ids of all entities, ascending."""
        return [entity.id for entity in self.entities]

    def edges(self) -> Iterator[tuple[int, int, float]]:
        """Every relation as ``(source row, target row, weight)``, in order."""
        vertex = {entity.id: i for i, entity in enumerate(self.entities)}
        for relation in self.relations:
            yield vertex[relation.source], vertex[relation.target], relation.weight

    def entities_by_row(self, rows: Sequence[int]) -> list[Entity]:
        """Entities by row, in the order asked for."""
        return [self.entities[row] for row in rows]

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Relations by row, in the order asked for."""
        return [self.relations[row] for row in rows]

    def entity_descriptions(self) -> Iterator[tuple[str, Sequence[str], Descriptions]]:
        """Name, chunk ids and descriptions of every entity, by row."""
        for entity in self.entities:
            yield entity.name, entity.chunks, [(d.text, d.chunk) for d in entity.descriptions]

    def relation_descriptions(self) -> Iterator[Descriptions]:
        """Descriptions of every relation, by row."""
        for relation in self.relations:
            yield [(d.text, d.chunk) for d in relation.descriptions]


def merge(
    extractions: Iterable[Extraction],
    entity_of: Mapping[tuple[str, str], str],
    chunk_order: Mapping[str, int],
    *,
    max_descriptions: int = MAX_DESCRIPTIONS,
) -> GraphView:
    """Merge the rows of all windows.

    Nothing depends on the order of `extractions`: names, types, predicates and keywords are counted, and
    ties are broken by their text; texts stand in the order of the documents; weights are summed exactly.

    An entity row without spans rests on the chunks of its relations in the same window, else on every
    chunk that the window's rows name; if there are none it is left out and counted, as nothing could
    show where it comes from.

    Args:
        extractions: what came out of each window, in any order, each window once. They are read once and
            not kept.
        entity_of: the entity that a name means in a window, by ``(window id, name as written)``.
        chunk_order: position of every chunk: documents by id, then by ordinal.
        max_descriptions: most descriptions kept for one entity or relation, at least 1. Of more, a spread
            over the whole corpus is kept, the first and the last included.

    Raises:
        KeyError: if a row names a chunk that `chunk_order` lacks.
        ValueError: if `max_descriptions` is less than 1.
    """
    ids = sorted(set(entity_of.values()))
    number = {entity: i for i, entity in enumerate(ids)}
    slots = {slot: i for i, slot in enumerate(entity_of)}
    gathering = Gathering()
    # All windows as if they were of one document, whose chunks are all that there are.
    names = {"written": [name for _, name in entity_of]}
    for column in ("window", "rule", "score", "several", "near"):
        names[column] = [0] * len(slots)  # type: ignore[list-item]
    for column in ("type", "base", "told"):
        names[column] = [None] * len(slots)  # type: ignore[list-item]
    draft, texts = read_rows(extractions, slots, chunk_order)
    gathering.add("", {**draft, "names": names}, texts)
    chunks = [chunk for chunk, _ in sorted(chunk_order.items(), key=lambda item: item[1])]
    merged = Merged(
        gathering.columns(),
        np.array([number[entity] for entity in entity_of.values()], dtype=np.int64),
        ids,
        chunks,
        first_chunk=np.zeros(1, dtype=np.int64),
        max_descriptions=max_descriptions,
    )
    return view_of(merged)


def view_of(merged: Merged) -> GraphView:
    """Everything that was merged as records."""
    with no_collection():
        return GraphView(
            entities=tuple(merged.entities()),
            relations=tuple(merged.relations()),
            triples=tuple(merged.triples()),
            dropped=merged.dropped,
            unplaced=merged.unplaced,
            loops=merged.loops,
        )


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the search for reference cycles.

    For work that makes millions of small objects with no cycle among them: the search would take 40% of its time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def spread(items: Sequence[T], most: int) -> list[T]:
    """Keep at most so many items, evenly over the sequence, its ends included.

    >>> spread("abcdefghi", 3)
    ['a', 'e', 'i']
    """
    n = len(items)
    if n <= most:
        return list(items)
    if most == 1:
        return [items[0]]
    return [items[i * (n - 1) // (most - 1)] for i in range(most)]
