"""Parts of the graph to ask about: a node, an edge, a subgraph by random walk.

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
RETRIES = 100
_STEPS_PER_HOP = 40
"""A walk that needs more steps than this for each hop has lost itself in a corner."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Entities that a random walk reached, by row, in the order reached."""

    entities: tuple[int, ...]

    @property
    def hops(self) -> int:
        """Distinct entities reached from the first."""
        return len(self.entities) - 1


def shuffled_entities(index: Snapshot, rng: np.random.Generator) -> Iterator[int]:
    """Rows of entities in random order, those that no passage within the filter mentions left out."""
    for n in rng.permutation(index.graph.n).tolist():
        if any(e.chunks for e in index.entities([n])):
            yield n


def shuffled_relations(index: Snapshot, rng: np.random.Generator) -> Iterator[int]:
    """Rows of relations in random order, those that no passage within the filter states left out."""
    for n in rng.permutation(index.store.count("relations")).tolist():
        if index.relations([n]):
            yield n


def random_walk(
    graph: Graph, rng: np.random.Generator, *, hops: int = HOPS, retries: int = RETRIES
) -> Walk | None:
    """Walk from a random vertex, each neighbour equally likely, until enough distinct vertices are reached.

    A walk that cannot reach them starts anew elsewhere. Where no component is large enough, the walk covers what it
    can of the largest one; `Walk.hops` tells how far it got.

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
    best: Walk | None = None
    for _ in range(retries):
        walk = _walk(graph, int(rng.choice(starts)), wanted, rng)
        if walk.hops >= wanted:
            return walk
        if best is None or walk.hops > best.hops:
            best = walk
    return best


def _walk(graph: Graph, start: int, hops: int, rng: np.random.Generator) -> Walk:
    seen = {start: None}
    at = start
    for _ in range(_STEPS_PER_HOP * max(hops, 1)):
        if len(seen) > hops:
            break
        neighbours = graph.neighbours(at)
        at = int(neighbours[int(rng.integers(len(neighbours)))])
        seen[at] = None
    return Walk(tuple(seen))
