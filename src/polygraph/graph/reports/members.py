"""What each community holds: entities, the relations among them, and its parts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from polygraph.columnar import Array
from polygraph.columnar.gather import listed, taken
from polygraph.columnar.group_sort import by_group
from polygraph.columnar.memmap import Column
from polygraph.columnar.memory import let_go
from polygraph.records import Community, CountedCommunity, Entity, Relation

Descriptions: TypeAlias = Iterable[Sequence[str]]
"""Each as text and chunk id."""


class GraphRows(Protocol):
    """Where the rows of a graph are read from: a few at a time, or one after the other."""

    def entity_ids(self) -> list[str]:
        """Ids of all entities, ascending; their places are the numbers of the rows."""

    def edges(self) -> Iterable[tuple[int, int, float]]:
        """Every relation as ``(source row, target row, weight)``, by id."""

    def entities_by_row(self, rows: Sequence[int]) -> list[Entity]:
        """Entities by number, in the order asked for."""

    def relations_by_row(self, rows: Sequence[int]) -> list[Relation]:
        """Relations by number, in the order asked for."""

    def entity_descriptions(self) -> Iterator[tuple[str, Sequence[str], Descriptions]]:
        """Name, chunk ids and descriptions of every entity, by number."""

    def relation_descriptions(self) -> Iterator[Descriptions]:
        """Descriptions of every relation, by number."""


_BLOCK = 1 << 16
"""Relations that are gone through together."""
_NONE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Outline:
    """A community without its lists, which for all communities together are longer than what they are lists of."""

    id: str
    level: int
    parent: str
    n_entities: int
    n_chunks: int


@dataclass(frozen=True, slots=True)
class Within:
    """Relations inside some communities, by community, then number; all int32."""

    community: Array
    """Position of the community."""
    relation: Array
    source: Array
    """Place of the source among the members that were given."""
    target: Array
    """The same of the target."""


class Members:
    """The graph as seen from its communities, as arrays; records are read where they are asked for.

    Of relations all lies in files.
    """

    def __init__(
        self, communities: Iterable[Community | CountedCommunity], graph: GraphRows, *, folder: Path | None = None
    ) -> None:
        """Read the communities, then the relations, each once; `folder`: for files, as in `Spill`."""
        self._graph = graph
        self.ids: list[str] = graph.entity_ids()
        """Of the entities, by number."""
        number = {entity: n for n, entity in enumerate(self.ids)}
        self.outlines: dict[str, Outline] = {}
        """Of the communities, by id, in the order given."""
        self._rows: dict[str, Array] = {}
        self._parts: dict[str, list[str]] = defaultdict(list)
        for community in communities:
            known = [number[entity] for entity in community.entities if entity in number]
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
        del number
        self.edges = self._sources, self._targets, self.weights = edges_of(graph, folder)
        """Sources, targets and weights of all relations."""
        n = len(self.ids)
        self._by_source = by_group(self._each_source, n, np.int32, folder)
        """Where the relations of each source begin, and the last ones end; and the relations."""
        self.strength: Array = np.zeros(n)
        """Sum of the weights of each entity's relations, by number."""
        for begin in range(0, len(self.weights), _BLOCK):
            some = slice(begin, begin + _BLOCK)
            # Both ends of a relation, then those of the next: each sum has its terms in the order of relations.
            ends = np.stack((self._sources[some], self._targets[some]), axis=1).reshape(-1)
            np.add.at(self.strength, ends, np.repeat(self.weights[some], 2))
            let_go(self._sources, self._targets, self.weights)

    def _each_source(self) -> Iterator[tuple[Array, Array]]:
        """Sources of relations, some at a time, and the relations."""
        for begin in range(0, len(self._sources), _BLOCK):
            some = self._sources[begin : begin + _BLOCK]
            yield some, np.arange(begin, begin + len(some))
            let_go(self._sources)

    def rows(self, community: Community | Outline) -> Array:
        """Numbers of the members of a community, ascending."""
        return self._rows[community.id]

    def entities(self, community: Community | Outline) -> list[Entity]:
        """Members of a community, sorted by id."""
        return self._graph.entities_by_row(self.rows(community).tolist())

    def relations(self, community: Community | Outline) -> list[Relation]:
        """Every relation of which both ends are members, sorted by id."""
        rows = self.rows(community)
        found = self.within(np.zeros(len(rows), dtype=np.int64), rows)
        return self._graph.relations_by_row(found.relation.tolist())

    def owners(self, community: Community | Outline) -> dict[str, str]:
        """The part of a community that each member belongs to, by the ids of both; empty if it was not divided."""
        return {self.ids[row]: part for part in self._parts.get(community.id, ()) for row in self._rows[part]}

    def within(self, community: Array, rows: Array) -> Within:
        """Find the relations inside of some communities.

        Args:
            community: position of the community of each member, ascending.
            rows: number of each member, ascending within a community.
        """
        width = max(len(self.ids), 1)
        keys = community * width + rows
        found: list[tuple[Array, ...]] = [(_NONE, _NONE, _NONE, _NONE)]
        for some in self._stretches(rows):
            relation, source = listed(*self._by_source, rows[some])
            source += some.start
            wanted = community[source] * width + taken(self._targets, relation)
            target = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            inside = np.flatnonzero(keys[target] == wanted)
            source = source[inside]
            parts = (community[source], relation[inside], source, target[inside])
            found.append(tuple([part.astype(np.int32) for part in parts]))
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        of, relation = columns[:2]
        # As a rule they are in order already, for relations are so by their sources.
        if not ((of[1:] > of[:-1]) | (relation[1:] > relation[:-1])).all():
            order = np.lexsort((relation, of))
            columns = [column[order] for column in columns]
        return Within(*columns)

    def n_relations(self) -> Array:
        """How many relations begin at each entity, by number."""
        return np.diff(self._by_source[0])

    def _stretches(self, rows: Array) -> Iterator[slice]:
        """Divide some entities, so that not too many relations begin at those of each part."""
        which = np.cumsum(self.n_relations()[rows]) // _BLOCK
        cuts = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(rows)]
        return (slice(begin, end) for begin, end in pairwise(cuts) if begin < end)

    def volume(self, community: Community | Outline) -> float:
        """Weighted degree of the members, and one for each of them."""
        rows = self.rows(community)
        # Summed one after the other, so that every machine finds the same.
        known: list[float] = (self.strength[rows] + 1.0).tolist()
        return sum(known) + self.outlines[community.id].n_entities - len(rows)


def edges_of(graph: GraphRows, folder: Path | None = None) -> tuple[Array, Array, Array]:
    """Sources, targets (int32) and weights of all relations, in files; see `Spill` for `folder`."""
    sources, targets, weights = Column("i", folder), Column("i", folder), Column("d", folder)
    for n, (source, target, weight) in enumerate(graph.edges(), 1):
        sources.append(source)
        targets.append(target)
        weights.append(weight)
        if n % _BLOCK == 0:
            for column in (sources, targets, weights):
                column.settle()
    return sources.mapped(), targets.mapped(), weights.mapped()


def inner_strength(relations: Sequence[Relation]) -> dict[str, float]:
    """Sum of the weights of each entity's relations among the given ones."""
    strength: dict[str, float] = defaultdict(float)
    for relation in relations:
        strength[relation.source] += relation.weight
        strength[relation.target] += relation.weight
    return strength
