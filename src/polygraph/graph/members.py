"""What each community holds: entities, the relations among them, and its parts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from polygraph.columns import Array
from polygraph.graph.groups import grouped, stretches
from polygraph.records import Community, Entity, Relation

Descriptions: TypeAlias = Iterable[Sequence[str]]
"""Each as text and chunk id."""


class GraphRows(Protocol):
    """Where the rows of a graph are read from: a few at a time, or one after the other."""

    def entity_ids(self) -> list[str]:
        """Ids of all entities, ascending; their places are the numbers of the rows."""

    def edges(self) -> Iterable[tuple[int, int, float]]:
        """Every relation as ``(source row, target row, weight)``, by id."""

    def entities_at(self, rows: Sequence[int]) -> list[Entity]:
        """Entities by number, in the order asked for."""

    def relations_at(self, rows: Sequence[int]) -> list[Relation]:
        """Relations by number, in the order asked for."""

    def told_of_entities(self) -> Iterator[tuple[str, Sequence[str], Descriptions]]:
        """Name, chunk ids and descriptions of every entity, by number."""

    def told_of_relations(self) -> Iterator[Descriptions]:
        """Descriptions of every relation, by number."""


@dataclass(frozen=True, slots=True)
class Within:
    """Relations inside some communities, by community, then number."""

    community: Array
    """Position of the community."""
    relation: Array
    source: Array
    """Place of the source among the members that were given."""
    target: Array
    """The same of the target."""


class Members:
    """The graph as seen from its communities, as arrays; records are read where they are asked for."""

    def __init__(self, communities: Sequence[Community], graph: GraphRows) -> None:
        self._graph = graph
        self.ids: list[str] = graph.entity_ids()
        """Of the entities, by number."""
        number = {entity: n for n, entity in enumerate(self.ids)}
        edges = np.fromiter(graph.edges(), dtype=[("source", "i4"), ("target", "i4"), ("weight", "f8")])
        self._targets = edges["target"]
        self.weights: Array = edges["weight"]
        """Of the relations, by number."""
        self._by_source = grouped(edges["source"], len(self.ids))
        # Both ends of a relation, then those of the next: each sum has its terms in the order of relations.
        ends = np.stack((edges["source"], edges["target"]), axis=1).reshape(-1)
        self.strength: Array = np.bincount(ends, weights=np.repeat(self.weights, 2), minlength=len(self.ids))
        """Sum of the weights of each entity's relations, by number."""
        self._rows: dict[str, Array] = {}
        self.parts: dict[str, list[Community]] = defaultdict(list)
        """Communities that one was divided in, by its id, sorted by their first entity."""
        for community in sorted(communities, key=lambda c: (c.level, c.entities)):
            if community.parent:
                self.parts[community.parent].append(community)
            known = [number[entity] for entity in community.entities if entity in number]
            self._rows[community.id] = np.array(known, dtype=np.int32)

    def rows(self, community: Community) -> Array:
        """Numbers of the members of a community, ascending."""
        return self._rows[community.id]

    def entities(self, community: Community) -> list[Entity]:
        """Members of a community, sorted by id."""
        return self._graph.entities_at(self.rows(community).tolist())

    def relations(self, community: Community) -> list[Relation]:
        """Every relation of which both ends are members, sorted by id."""
        rows = self.rows(community)
        found = self.within(np.zeros(len(rows), dtype=np.int64), rows)
        return self._graph.relations_at(found.relation.tolist())

    def within(self, community: Array, rows: Array) -> Within:
        """Find the relations inside of some communities.

        Args:
            community: position of the community of each member, ascending.
            rows: number of each member, ascending within a community.
        """
        width = max(len(self.ids), 1)
        keys = community * width + rows
        places, source = stretches(self._by_source.ends, rows)
        relation = self._by_source.order[places]
        wanted = community[source] * width + self._targets[relation]
        target = np.searchsorted(keys, wanted)
        inside = np.flatnonzero(keys[np.minimum(target, len(keys) - 1)] == wanted) if len(keys) else target
        relation, source, target = relation[inside], source[inside], target[inside]
        order = np.lexsort((relation, community[source]))
        return Within(community[source[order]], relation[order], source[order], target[order])

    def volume(self, community: Community) -> float:
        """Weighted degree of the members, and one for each of them."""
        rows = self.rows(community)
        # Summed one after the other, so that every machine finds the same.
        known: list[float] = (self.strength[rows] + 1.0).tolist()
        return sum(known) + len(community.entities) - len(rows)


def inner_strength(relations: Sequence[Relation]) -> dict[str, float]:
    """Sum of the weights of each entity's relations among the given ones."""
    strength: dict[str, float] = defaultdict(float)
    for relation in relations:
        strength[relation.source] += relation.weight
        strength[relation.target] += relation.weight
    return strength
