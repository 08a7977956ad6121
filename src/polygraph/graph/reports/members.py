"""Members and relations of each community, as arrays over the whole graph."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from polygraph.arrays import Array, batches, find_sorted, group_order, members, offsets
from polygraph.graph.edges import edge_arrays
from polygraph.memory import trim_heap
from polygraph.records import Community, CountedCommunity, Entity, Relation

Descriptions: TypeAlias = Iterable[Sequence[str]]
"""Each as text and chunk id."""
Hashes: TypeAlias = Iterable[tuple[int, str]]
"""Each as hash of the text and chunk id."""


class GraphRows(Protocol):
    """A graph whose records are read a few at a time, or one after the other."""

    def entity_ids(self) -> list[str]:
        """Return the ids of all entities, ascending; an entity's row is its position here."""

    def edges(self) -> Iterable[tuple[int, int, float]]:
        """Yield every relation as ``(source row, target row, weight)``, by id; its row is its position here."""

    def entities_by_row(self, rows: Sequence[int]) -> list[Entity]:
        """Return entities by row, in the order asked for."""

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Return relations by row, in the order asked for."""

    def entity_descriptions(self) -> Iterator[tuple[str, Sequence[str], Descriptions]]:
        """Yield name, chunk ids and descriptions of every entity, by row."""

    def relation_descriptions(self) -> Iterator[Descriptions]:
        """Yield the descriptions of every relation, by row."""

    def entity_description_hashes(self) -> Iterator[tuple[str, Sequence[str], Hashes]]:
        """Yield the same as `entity_descriptions`, with the `text_hash` of each text in its place."""

    def relation_description_hashes(self) -> Iterator[Hashes]:
        """Yield the same as `relation_descriptions`, with the `text_hash` of each text in its place."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A community without its lists, which for all communities together are longer than the graph."""

    id: str
    level: int
    parent: str
    n_entities: int
    n_chunks: int


@dataclass(frozen=True, slots=True)
class InnerRelations:
    """Relations with both ends in one community, by community, then row; arrays of equal length."""

    community: Array
    """Position of the community."""
    relation: Array
    """Row of the relation."""
    source: Array
    """Position of the source among the members given."""
    target: Array
    """Position of the target among the members given."""


class Members:
    """The graph as seen from its communities; records are read only when they are asked for."""

    def __init__(self, communities: Iterable[Community | CountedCommunity], graph: GraphRows) -> None:
        """Read the communities and the relations, each once."""
        self.graph = graph
        """The records."""
        self.ids: list[str] = graph.entity_ids()
        """Ids of the entities, by row."""
        row = {entity: n for n, entity in enumerate(self.ids)}
        self.outlines: dict[str, Outline] = {}
        """Outlines of the communities, by id, in the order given."""
        self._rows: dict[str, Array] = {}
        self._parts: dict[str, list[str]] = defaultdict(list)
        for community in communities:
            known = [row[entity] for entity in community.entities if entity in row]
            self._rows[community.id] = np.array(known, dtype=np.int32)
            self.outlines[community.id] = Outline(
                community.id,
                community.level,
                community.parent,
                len(community.entities),
                len(community.chunks) if isinstance(community, Community) else community.n_chunks,
            )
            if community.parent:
                self._parts[community.parent].append(community.id)
        self.sources, self.targets, self.weights = edge_arrays(graph.edges())
        """Source rows, target rows and weights of all relations, by row."""
        del row
        self._source_offsets, self._by_source = group_order(self.sources, len(self.ids))
        self._is_member = np.zeros(len(self.ids), dtype=np.bool_)
        self.strength: Array = np.zeros(len(self.ids))
        """Sum of the weights of each entity's relations, by row."""
        add_weights(self.strength, self.sources, self.targets, self.weights)
        trim_heap()

    def rows(self, community: Community | Outline) -> Array:
        """Return the rows of a community's members, ascending."""
        return self._rows[community.id]

    def entities(self, community: Community | Outline) -> list[Entity]:
        """Return the members of a community, sorted by id."""
        return self.graph.entities_by_row(self.rows(community).tolist())

    def relations(self, community: Community | Outline) -> list[Relation]:
        """Return the relations with both ends in a community, sorted by id."""
        return self.graph.relations_by_row(self.relation_rows(community).tolist())

    def relation_rows(self, community: Community | Outline) -> Array:
        """Return the rows of the relations with both ends in a community, ascending."""
        rows = self.rows(community)
        relations = self._by_source[members(self._source_offsets, rows)[0]]
        # Most communities are small, so that one look-up in an array over all entities is faster than a search.
        self._is_member[rows] = True
        inner = relations[self._is_member[self.targets[relations]]]
        self._is_member[rows] = False
        return np.sort(inner)

    def owners(self, community: Community | Outline) -> dict[str, str]:
        """Return the part of a community that each member belongs to, by the ids of both; empty if it has no parts."""
        return {self.ids[row]: part for part in self._parts.get(community.id, ()) for row in self._rows[part]}

    def inner_relations(self, community: Array, rows: Array) -> InnerRelations:
        """Find the relations inside some communities.

        Args:
            community: position of the community of each member, ascending.
            rows: row of each member, ascending within a community.
        """
        width = max(len(self.ids), 1)
        keys = community * width + rows
        found = [np.zeros((4, 0), dtype=np.int32)]
        for begin, end in batches(offsets(self.n_relations()[rows])):
            positions, source = members(self._source_offsets, rows[begin:end])
            source += begin
            relation = self._by_source[positions]
            wanted = community[source] * width + self.targets[relation]
            target, known = find_sorted(keys, wanted)
            inside = np.flatnonzero(known)
            source = source[inside]
            found.append(
                np.stack((community[source], relation[inside], source, target[inside])).astype(np.int32)
            )
        inner = np.concatenate(found, axis=1)
        return InnerRelations(*inner[:, np.lexsort((inner[1], inner[0]))])

    def n_relations(self) -> Array:
        """Return how many relations begin at each entity, by row."""
        return np.diff(self._source_offsets)

    def volume(self, community: Community | Outline) -> float:
        """Return the sum of the members' strengths and of one for each of them."""
        rows = self.rows(community)
        # Summed one after the other, so that every machine finds the same.
        known: list[float] = (self.strength[rows] + 1.0).tolist()
        return sum(known) + self.outlines[community.id].n_entities - len(rows)


def add_weights(strength: Array, sources: Array, targets: Array, weights: Array) -> None:
    """Add the weight of each relation to the strength of both its ends, in place."""
    # Both ends of a relation, then those of the next: each sum has its terms in the order of relations.
    ends = np.stack((sources, targets), axis=1).reshape(-1)
    np.add.at(strength, ends, np.repeat(weights, 2))
