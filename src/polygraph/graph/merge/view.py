"""The merged graph as records, without a store."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polygraph.arrays import TableBuilder, text_hash
from polygraph.graph.csr import Graph
from polygraph.graph.merge.merged_graph import MAX_DESCRIPTIONS, MergedGraph
from polygraph.graph.merge.rows import RowKind, Rows, RowsBuilder, read_rows
from polygraph.memory import collector_paused
from polygraph.records import Entity, Extraction, Relation, Triple


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
    """Entity rows left out because no chunk or entity is known for them."""
    loops: int = 0
    """Relation rows left out because both ends are the same entity."""
    lost: tuple[tuple[int, int, str, str, str], ...] = field(default=(), compare=False)
    """The relation rows left out, see `MergedGraph.lost_links`; their numbers follow the order of the windows."""

    def graph(self) -> Graph:
        """Return the relations as arrays; vertex `i` is ``entities[i]``."""
        vertex = {entity.id: i for i, entity in enumerate(self.entities)}
        return Graph.from_edges(
            len(vertex),
            [vertex[relation.source] for relation in self.relations],
            [vertex[relation.target] for relation in self.relations],
            [relation.weight for relation in self.relations],
        )

    # `graph.reports.members.GraphRows`

    def entity_ids(self) -> list[str]:
        """Return the ids of all entities, ascending."""
        return [entity.id for entity in self.entities]

    def edges(self) -> Iterator[tuple[int, int, float]]:
        """Yield every relation as ``(source row, target row, weight)``, in order."""
        vertex = {entity.id: i for i, entity in enumerate(self.entities)}
        for relation in self.relations:
            yield vertex[relation.source], vertex[relation.target], relation.weight

    def entities_by_row(self, rows: Sequence[int]) -> list[Entity]:
        """Return entities by row, in the order asked for."""
        return [self.entities[row] for row in rows]

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Return relations by row, in the order asked for."""
        return [self.relations[row] for row in rows]

    def entity_descriptions(self) -> Iterator[tuple[str, Sequence[str], Iterable[Sequence[str]]]]:
        """Yield name, chunk ids and descriptions (text and chunk id) of every entity, by row."""
        for entity in self.entities:
            yield entity.name, entity.chunks, [(d.text, d.chunk) for d in entity.descriptions]

    def relation_descriptions(self) -> Iterator[Iterable[Sequence[str]]]:
        """Yield the descriptions of every relation, by row."""
        for relation in self.relations:
            yield [(d.text, d.chunk) for d in relation.descriptions]

    def entity_description_hashes(self) -> Iterator[tuple[str, Sequence[str], Iterable[tuple[int, str]]]]:
        """Yield the same as `entity_descriptions`, with the `text_hash` of each text in its place."""
        for entity in self.entities:
            yield entity.name, entity.chunks, [(text_hash(d.text), d.chunk) for d in entity.descriptions]

    def relation_description_hashes(self) -> Iterator[Iterable[tuple[int, str]]]:
        """Yield the same as `relation_descriptions`, with the `text_hash` of each text in its place."""
        for relation in self.relations:
            yield [(text_hash(d.text), d.chunk) for d in relation.descriptions]


def merge(
    extractions: Iterable[Extraction],
    entity_of: Mapping[tuple[str, str], str],
    chunk_order: Mapping[str, int],
    *,
    max_descriptions: int = MAX_DESCRIPTIONS,
    by_model: bool = False,
) -> GraphView:
    """Merge the rows of all windows.

    Nothing depends on the order of `extractions`: names, types, predicates and keywords are counted, and
    ties are broken by their text; texts stand in the order of the documents; weights are summed exactly.

    An entity row without spans rests on the chunks of its relations in the same window, else on every
    chunk that the window's rows name; if there are none it is left out and counted, as nothing could
    show where it comes from.

    Args:
        extractions: what came out of each window, in any order, each window once.
        entity_of: the entity that a name means in a window, by ``(window id, name as written)``.
        chunk_order: position of every chunk: documents by id, then by ordinal.
        max_descriptions: most descriptions kept for one entity or relation, at least 1. Of more, a spread
            over the whole corpus is kept, the first and the last included.
        by_model: whether a language model wrote the rows. A description then tells the name that it was said of where
            the entity is shown by another one, and what is said of two names of one entity describes it. Sentences,
            which describe the rows of a parser, have the name already.

    Raises:
        KeyError: if a row names a chunk that `chunk_order` lacks.
        ValueError: if `max_descriptions` is less than 1.
    """
    ids = sorted(set(entity_of.values()))
    number = {entity: i for i, entity in enumerate(ids)}
    # All windows as if they were of one document, which has all chunks.
    slots = TableBuilder({"written": "s"})
    slots.add({"written": [name for _, name in entity_of]})
    rows, texts = read_rows(extractions, {slot: i for i, slot in enumerate(entity_of)}, chunk_order)

    def load(kind: RowKind) -> Rows:
        builder = RowsBuilder(kind)
        builder.add(rows[kind])
        return builder.rows()

    return view_of(
        MergedGraph(
            load,
            slots.table(),
            np.array([number[entity] for entity in entity_of.values()], dtype=np.int64),
            ids,
            sorted(chunk_order, key=chunk_order.__getitem__),
            first_chunk=np.zeros(1, dtype=np.int64),
            read_texts=lambda keys: {key: texts[key] for key in keys},
            max_descriptions=max_descriptions,
            by_model=by_model,
        )
    )


def view_of(merged: MergedGraph) -> GraphView:
    """Return the merged graph as records."""
    with collector_paused():
        return GraphView(
            entities=tuple(merged.entities()),
            relations=tuple(merged.relations()),
            triples=tuple(merged.triples()),
            dropped=merged.dropped,
            unplaced=merged.unplaced,
            loops=merged.loops,
            lost=tuple(merged.lost_links()),
        )
