"""Collecting descriptions by walking out of seeds: the walk of FG-RAG's context-aware entity expansion.

Hong et al. (2025), FG-RAG, section 3.2, says "BFS" and leaves depth and size open; caps and order are those of the
published code, with its random choices made by seed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from polygraph.records import Entity, Relation, digest
from polygraph.store.snapshot import Snapshot

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How far the walk goes."""

    first: int = 75
    """Descriptions after which the first pass ends (code: 75)."""
    total: int = 150
    """Descriptions after which the second pass ends, those of the first included (code: 150)."""
    per_entity: int = 0
    """Descriptions taken at one entity, half of them of its relations where it has so many; 0 for no cap."""
    edges: bool = True
    """Whether relations are read and crossed; else only the seeds are visited."""
    share_visited: bool = False
    """Entities, relations and texts met in the first pass are not met again in the second; each text counts once."""
    seed: int = 0
    """Of the samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One description, and how the walk came to it."""

    kind: Literal["entity", "relation"]
    id: str
    name: str
    """Of the entity, or the two ends of the relation."""
    text: str
    chunk: str
    """That it rests on."""
    found_in: str
    """Name of the pass."""
    path: tuple[str, ...]
    """Ids of the entities from the seed to the one at which it was taken, both included."""

    @property
    def note(self) -> str:
        """What it is of, and what it says."""
        return f"{self.name}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """An entity that the walk came to."""

    found_in: str
    entity: str
    hops: int
    """From its seed."""
    own: int
    """Of its own descriptions, so many were taken."""
    edges: int
    """Of the descriptions of its relations."""


class Surroundings:
    """Entities and relations of an index, each read once. Descriptions outside the filter are not there."""

    def __init__(self, index: Snapshot) -> None:
        self._index = index
        self._entities: dict[int, Entity] = {}
        self._edges: dict[int, list[tuple[int, int, Relation, int]]] = {}

    def entity(self, row: int) -> Entity:
        """An entity by row."""
        if row not in self._entities:
            (self._entities[row],) = self._index.entities([row])
        return self._entities[row]

    def edges(self, row: int) -> list[tuple[int, int, Relation, int]]:
        """What leads from an entity: row, other end, relation, number of the description; in that order.

        A relation with several descriptions counts as so many edges, since the paper's graph keeps parallel ones.
        """
        if row not in self._edges:
            ends = {e.n: e.target if e.source == row else e.source for e in self._index.relations_at([row])}
            found = self._index.relations(sorted(ends))
            self._edges[row] = [
                (n, ends[n], relation, i)
                for n, relation in sorted(found.items())
                for i, _ in enumerate(said_of(relation))
            ]
        return self._edges[row]


def said_of(relation: Relation) -> list[tuple[str, str]]:
    """Descriptions of a relation with their chunks; its predicates or keywords where it has none."""
    if relation.descriptions:
        return [(d.text, d.chunk) for d in relation.descriptions]
    words = ", ".join(relation.predicates[:4] or relation.keywords[:4])
    return [(words, relation.chunks[0])] if words and relation.chunks else []


def expand(
    passes: Mapping[str, Sequence[int]], around: Surroundings, caps: Caps
) -> tuple[list[Collected], list[Visit]]:
    """Collect descriptions in two passes of a breadth-first walk, one from each set of seeds.

    The queue begins with the seeds, best first. At each entity that it has not visited the walk takes its own
    descriptions in their order, then its edges in the order of relations: an edge adds its description, and its
    other end joins the queue. Where not all fit, a sample is taken, without replacement and by `seed`, and stands
    in the same order.

    Args:
        passes: rows of the seeds by the name of the pass; the first ends at `caps.first` descriptions, the last at
            `caps.total`.
        around: reads entities and relations.
        caps: how far to go.

    Returns:
        Descriptions in the order of the walk, each text once; and the entities visited.
    """
    walk = _Walk(around, caps)
    names = list(passes)
    for name, seeds in passes.items():
        if not caps.share_visited:
            walk.forget()
        walk.run(name, seeds, caps.total if name == names[-1] else caps.first)
    once: dict[str, Collected] = {}
    for found in walk.collected:
        once.setdefault(found.text, found)
    return list(once.values()), walk.visits


class _Walk:
    """What was collected and visited so far."""

    def __init__(self, around: Surroundings, caps: Caps) -> None:
        self.collected: list[Collected] = []
        self.visits: list[Visit] = []
        self._around = around
        self._caps = caps
        self.forget()

    def forget(self) -> None:
        """Visit everything anew."""
        self._visited: set[int] = set()
        self._crossed: set[tuple[int, int]] = set()
        self._texts: set[str] = set()

    def run(self, name: str, seeds: Sequence[int], most: int) -> None:
        """Walk until so many descriptions are there, or nothing is left in the queue."""
        queue: deque[tuple[int, tuple[int, ...]]] = deque((row, ()) for row in seeds)
        # Without repeated texts no walk is longer; with them it could pass through the whole graph.
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
        """Take what fits at one entity; return the ends of the edges that were crossed."""
        around, caps, row = self._around, self._caps, path[-1]
        entity = around.entity(row)
        if not entity.chunks:  # all of it lies outside the filter
            return []
        ids = tuple(around.entity(r).id for r in path)
        own = [d for d in entity.descriptions if not self._known(d.text)]
        edges = [e for e in around.edges(row) if (e[0], e[3]) not in self._crossed] if caps.edges else []
        most_own = room
        if caps.per_entity:
            room = min(room, caps.per_entity)
            most_own = room - min(len(edges), room // 2)
        sampled = sample(own, most_own, caps.seed, name, entity.id, "own")
        step = Collected(
            kind="entity", id=entity.id, name=entity.name, text="", chunk="", found_in=name, path=ids
        )
        for description in sampled:
            self._take(replace(step, text=description.text, chunk=description.chunk))
        crossed = sample(edges, room - len(sampled), caps.seed, name, entity.id, "edges")
        n_new = 0
        for n, _, relation, i in crossed:
            self._crossed.add((n, i))
            text, chunk = said_of(relation)[i]
            if not self._known(text):
                n_new += 1
                ends = f"{relation.source} — {relation.target}"
                self._take(replace(step, kind="relation", id=relation.id, name=ends, text=text, chunk=chunk))
        self.visits.append(
            Visit(found_in=name, entity=entity.id, hops=len(path) - 1, own=len(sampled), edges=n_new)
        )
        return [other for _, other, _, _ in crossed]

    def _known(self, text: str) -> bool:
        return self._caps.share_visited and text in self._texts

    def _take(self, found: Collected) -> None:
        self._texts.add(found.text)
        self.collected.append(found)


def sample(items: Sequence[T], most: int, seed: int, *names: str) -> list[T]:
    """All items, or a sample without replacement, in their order; what else is sampled has no influence on it.

    Args:
        items: to choose from.
        most: so many at most.
        seed: of the sample.
        names: what is sampled: another name, another sample.

    >>> sample("abcdef", 6, 0), len(sample("abcdef", 2, 0, "mara"))
    (['a', 'b', 'c', 'd', 'e', 'f'], 2)
    """
    if len(items) <= most:
        return list(items)
    if most <= 0:
        return []
    random = np.random.default_rng(int(digest(str(seed), *names)[:16], 16))
    return [items[i] for i in sorted(random.choice(len(items), size=most, replace=False).tolist())]
