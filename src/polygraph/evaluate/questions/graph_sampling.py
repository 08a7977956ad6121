"""Random samples of the graph to ask about: a node, an edge, a subgraph by random walk.

Zeng et al. (arXiv:2506.06331), section 3.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph
from polygraph.store.snapshot import Snapshot

HOPS = 50
"""Distinct entities that a walk must reach (section 3: 50 non-repeating hops)."""
_RETRIES = 100
_STEPS_PER_HOP = 40
"""Steps per hop after which a walk is given up as stuck."""


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


def random_walk(graph: Graph, rng: np.random.Generator, *, hops: int = HOPS) -> tuple[int, ...]:
    """Walk from a random vertex, with equal probability for each neighbour, until enough distinct vertices are reached.

    A walk that gets stuck restarts elsewhere. If no component is large enough, the walk covers as much as it can of the
    largest one.

    Returns:
        Rows of the distinct entities in the order reached: `hops` + 1 if possible, none if the graph has no edge.
    """
    degrees = graph.degrees
    if not degrees.any():
        return ()
    labels = graph.components()
    sizes = np.bincount(labels)
    wanted = min(hops, int(sizes.max()) - 1)
    starts: NDArray[np.int64] = np.flatnonzero(sizes[labels] > wanted)
    best: tuple[int, ...] = ()
    for _ in range(_RETRIES):
        best = max(best, _walk(graph, int(rng.choice(starts)), wanted, rng), key=len)
        if len(best) > wanted:
            break
    return best


def _walk(graph: Graph, start: int, hops: int, rng: np.random.Generator) -> tuple[int, ...]:
    seen = {start: None}
    current = start
    for _ in range(_STEPS_PER_HOP * max(hops, 1)):
        if len(seen) > hops:
            break
        neighbours = graph.neighbours(current)
        current = int(neighbours[int(rng.integers(len(neighbours)))])
        seen[current] = None
    return tuple(seen)
