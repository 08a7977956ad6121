"""Breadth-first collection of descriptions around seed entities: FG-RAG's context-aware entity expansion.

Hong et al. (2025), FG-RAG, section 3.2, say "BFS" and leave depth and size open. Limits and order are those of the
published code; its random choices are seeded here.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from polygraph.records import Entity, Relation, digest
from polygraph.store.snapshot import Snapshot
from polygraph.text.statements import statements

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionLimits:
    """Limits of the expansion."""

    first: int = 75
    """Descriptions after which the first pass ends (code: 75)."""
    total: int = 150
    """Descriptions after which the second pass ends, including those of the first (code: 150)."""
    per_entity: int = 0
    """Descriptions taken at one entity, up to half of them from its relations; 0 for no limit."""
    edges: bool = True
    """Read relations and follow them; otherwise only the seeds are visited."""
    share_visited: bool = False
    """The second pass skips entities, relations and texts of the first; repeated texts count once."""
    seed: int = 0
    """Seed of the random samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedDescription:
    """One description, and the path on which it was found."""

    kind: Literal["entity", "relation"]
    id: str
    name: str
    """Name of the entity, or what the relation states."""
    text: str
    chunk: str
    """Id of the passage it comes from."""
    pass_name: str
    path: tuple[str, ...]
    """Ids of the entities from the seed to the one at which it was taken, both included."""

    @property
    def note(self) -> str:
        """The name followed by the description."""
        return f"{self.name}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedEntity:
    """An entity that was visited, with the number of descriptions taken there."""

    pass_name: str
    entity: str
    hops: int
    """Distance from its seed."""
    own: int
    """Number of its own descriptions."""
    edges: int
    """Number of descriptions of its relations."""


MANY_RELATIONS = 500
"""Relations of an entity that an expansion chooses from."""


class EntityReader:
    """Entities and relations of an index, each read once; the filter hides descriptions of other documents."""

    def __init__(self, index: Snapshot) -> None:
        self._index = index
        self._entities: dict[int, Entity] = {}
        self._names: dict[int, str] = {}
        self._edges: dict[int, list[tuple[int, int, int]]] = {}
        self._relations: dict[int, Relation] = {}

    def entity(self, row: int) -> Entity:
        """Return an entity by row."""
        self.read([row])
        return self._entities[row]

    def read(self, rows: Iterable[int]) -> None:
        """Read entities by row, those that are not known yet, so that each is not read alone."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._entities]
        if unread:
            found = self._index.entities(unread, most_chunks=1)
            self._entities.update(zip(unread, found, strict=True))

    def names(self, rows: Sequence[int]) -> Mapping[int, str]:
        """Return names of entities by row; what is said of them is not read before they are visited."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._names]
        if unread:
            self._names |= self._index.names_by_row(unread)
        return self._names

    def edges(self, row: int) -> list[tuple[int, int, int]]:
        """Return the edges of an entity: row, other end and number of the description, in that order.

        A relation counts as one edge per description, because the paper's graph keeps parallel edges. Of an entity with
        more than `MANY_RELATIONS` relations the strongest count.
        """
        if row not in self._edges:
            at = self._index.relations_at([row], most=MANY_RELATIONS)
            ends = {e.n: e.target if e.source == row else e.source for e in at}
            counts = self._index.description_counts(sorted(ends))
            # What is not described, or not by every document, has to be read.
            unread = [n for n in sorted(ends) if counts is None or not counts[n]]
            self._relations |= self._index.relations(unread)
            self._edges[row] = [
                (n, ends[n], i) for n in sorted(ends) for i in range(self._n_descriptions(n, counts))
            ]
        return self._edges[row]

    def _n_descriptions(self, n: int, counts: Mapping[int, int] | None) -> int:
        if counts is not None and counts[n]:
            return counts[n]
        return len(relation_descriptions(self._relations[n])) if n in self._relations else 0

    def relations(self, ns: Sequence[int]) -> dict[int, Relation]:
        """Return relations by row."""
        self._relations |= self._index.relations([n for n in dict.fromkeys(ns) if n not in self._relations])
        return {n: self._relations[n] for n in ns}


def relation_descriptions(relation: Relation) -> list[tuple[str, str]]:
    """Return the descriptions of a relation with their chunks, or else its predicates or keywords."""
    if relation.descriptions:
        return [(d.text, d.chunk) for d in relation.descriptions]
    words = ", ".join(relation.predicates[:4] or relation.keywords[:4])
    return [(words, relation.chunks[0])] if words and relation.chunks else []


def expand_entities(
    passes: Mapping[str, Sequence[int]], reader: EntityReader, limits: ExpansionLimits
) -> tuple[list[CollectedDescription], list[VisitedEntity]]:
    """Collect descriptions in two passes of a breadth-first search, one from each set of seeds.

    The queue starts with the seeds, best first. Each entity visited contributes its own descriptions in their order,
    then its edges in the order of relations: an edge contributes its description, and its other end joins the queue.
    If not all of them fit, a seeded sample without replacement is taken, in the same order.

    Args:
        passes: rows of the seeds by name of the pass; the first pass ends at `limits.first` descriptions, the last
            at `limits.total`.
        reader: reads entities and relations.
        limits: how far to go.

    Returns:
        Descriptions in the order in which they were found, each text once; and the entities visited.
    """
    expansion = _Expansion(reader, limits)
    names = list(passes)
    for name, seeds in passes.items():
        if not limits.share_visited:
            expansion.forget()
        expansion.run(name, seeds, limits.total if name == names[-1] else limits.first)
    once: dict[str, CollectedDescription] = {}
    for found in expansion.collected:
        once.setdefault(found.text, found)
    return list(once.values()), expansion.visits


class _Expansion:
    """The state of an expansion: what has been collected and visited so far."""

    def __init__(self, reader: EntityReader, limits: ExpansionLimits) -> None:
        self.collected: list[CollectedDescription] = []
        self.visits: list[VisitedEntity] = []
        self._reader = reader
        self._limits = limits
        self.forget()

    def forget(self) -> None:
        """Forget what has been visited, so that the next pass starts afresh."""
        self._visited: set[int] = set()
        self._crossed: set[tuple[int, int]] = set()
        self._texts: set[str] = set()

    def run(self, name: str, seeds: Sequence[int], most: int) -> None:
        """Search until there are `most` descriptions in all, or the queue is empty."""
        queue: deque[tuple[int, tuple[int, ...]]] = deque((row, ()) for row in seeds)
        self._reader.read(seeds)
        # A bound for texts that repeat: without it, the search could pass through the whole graph.
        steps = len(seeds) + most
        while queue and len(self.collected) < most and steps > 0:
            row, before = queue.popleft()
            if row in self._visited:
                continue
            self._visited.add(row)
            steps -= 1
            path = (*before, row)
            queue.extend((other, path) for other in self._visit(name, path, most - len(self.collected)))

    def _visit(self, name: str, path: tuple[int, ...], room: int) -> list[int]:
        """Take what fits at one entity; return the other ends of the edges that were followed."""
        reader, limits, row = self._reader, self._limits, path[-1]
        entity = reader.entity(row)
        if not entity.chunks:  # all of it lies outside the filter
            return []
        ids = tuple(reader.entity(r).id for r in path)
        own = [d for d in entity.descriptions if not self._known(d.text)]
        edges = [e for e in reader.edges(row) if (e[0], e[2]) not in self._crossed] if limits.edges else []
        most_own = room
        if limits.per_entity:
            room = min(room, limits.per_entity)
            most_own = room - min(len(edges), room // 2)
        sampled = sample(own, most_own, limits.seed, name, entity.id, "own")
        step = CollectedDescription(
            kind="entity", id=entity.id, name=entity.name, text="", chunk="", pass_name=name, path=ids
        )
        for description in sampled:
            self._take(replace(step, text=description.text, chunk=description.chunk))
        crossed = sample(edges, room - len(sampled), limits.seed, name, entity.id, "edges")
        n_new = 0
        read = reader.relations([n for n, _, _ in crossed])
        names = reader.names([other for _, other, _ in crossed])
        for n, other, i in crossed:
            self._crossed.add((n, i))
            relation = read[n]
            text, chunk = relation_descriptions(relation)[i]
            if not self._known(text):
                n_new += 1
                source, target = (
                    entity.name if end == entity.id else names[other]
                    for end in (relation.source, relation.target)
                )
                stated = statements(relation.predicates[:1], source, target).removesuffix(".")
                label = stated or f"{source} and {target}"
                self._take(replace(step, kind="relation", id=relation.id, name=label, text=text, chunk=chunk))
        self.visits.append(
            VisitedEntity(pass_name=name, entity=entity.id, hops=len(path) - 1, own=len(sampled), edges=n_new)
        )
        return [other for _, other, _ in crossed]

    def _known(self, text: str) -> bool:
        return self._limits.share_visited and text in self._texts

    def _take(self, found: CollectedDescription) -> None:
        self._texts.add(found.text)
        self.collected.append(found)


def sample(items: Sequence[T], most: int, seed: int, *names: str) -> list[T]:
    """Sample items without replacement, in their order; independent of all other samples.

    Args:
        items: to sample from; all are returned if they are no more than `most`.
        most: size of the sample.
        seed: seed of all samples.
        names: identify the sample: other names give another sample.

    >>> sample("abcdef", 6, 0), len(sample("abcdef", 2, 0, "mara"))
    (['a', 'b', 'c', 'd', 'e', 'f'], 2)
    """
    if len(items) <= most:
        return list(items)
    if most <= 0:
        return []
    random = np.random.default_rng(int(digest(str(seed), *names)[:16], 16))
    return [items[i] for i in sorted(random.choice(len(items), size=most, replace=False).tolist())]
