"""Random samples of the graph to ask about: a node, an edge, a subgraph by random walk.

Zeng et al. (arXiv:2506.06331), section 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph
from polygraph.store.snapshot import Snapshot

HOPS = 50
"""Distinct entities that a walk must reach (section 3: 50 non-repeating hops)."""
_RETRIES = 100
_STEPS_PER_HOP = 40
"""Steps per hop after which a walk is given up as stuck."""


@dataclass(frozen=True, slots=True)
class RandomWalk:
    """Rows of the entities that a random walk reached, in the order reached."""

    entities: tuple[int, ...]

    @property
    def hops(self) -> int:
        """Distinct entities reached from the first."""
        return len(self.entities) - 1


def shuffled_entities(index: Snapshot, rng: np.random.Generator) -> Iterator[int]:
    """Yield rows of entities in random order, without those that no chunk within the filter mentions."""
    for n in rng.permutation(index.graph.n).tolist():
        if any(e.chunks for e in index.entities([n])):
            yield n


def shuffled_relations(index: Snapshot, rng: np.random.Generator) -> Iterator[int]:
    """Yield rows of relations in random order, without those that no chunk within the filter states."""
    for n in rng.permutation(index.store.count("relations")).tolist():
        if index.relations([n]):
            yield n


def random_walk(graph: Graph, rng: np.random.Generator, *, hops: int = HOPS) -> RandomWalk | None:
    """Walk from a random vertex, with equal probability for each neighbour, until enough distinct vertices are reached.

    A walk that gets stuck restarts elsewhere. If no component is large enough, the walk covers as much as it can of the
    largest one; `RandomWalk.hops` says how much.

    Returns:
        None if the graph has no edge.
    """
    degrees = graph.degrees
    if not degrees.any():
        return None
    labels = graph.components()
    sizes = np.bincount(labels)
    wanted = min(hops, int(sizes.max()) - 1)
    starts: NDArray[np.int64] = np.flatnonzero(sizes[labels] > wanted)
    best: RandomWalk | None = None
    for _ in range(_RETRIES):
        walk = _walk(graph, int(rng.choice(starts)), wanted, rng)
        if walk.hops >= wanted:
            return walk
        if best is None or walk.hops > best.hops:
            best = walk
    return best


def _walk(graph: Graph, start: int, hops: int, rng: np.random.Generator) -> RandomWalk:
    seen = {start: None}
    current = start
    for _ in range(_STEPS_PER_HOP * max(hops, 1)):
        if len(seen) > hops:
            break
        neighbours = graph.neighbours(current)
        current = int(neighbours[int(rng.integers(len(neighbours)))])
        seen[current] = None
    return RandomWalk(tuple(seen))
