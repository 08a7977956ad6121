"""Breadth-first traversal of triples from some entities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from polygraph.store.snapshot import Snapshot

MANY_TRIPLES = 500
"""An entity with more neighbours is a hub: of its triples, only those nearest to the question are followed."""


@dataclass(frozen=True, slots=True)
class ReachedTriple:
    """A triple that the traversal reached."""

    n: int
    """Row of the triple."""
    hop: int
    """Hops from the seed, counted from 1."""
    seed: int
    """Row of the entity at which the traversal started."""
    path: tuple[int, ...]
    """Rows of the entities on the way: the seed first, the entity at which the triple was reached last."""


def traverse_triples(
    seeds: Sequence[int],
    index: Snapshot,
    score: Callable[[Sequence[int]], Sequence[float]],
    *,
    near: Sequence[int] = (),
    depth: int,
    per_node: int,
    direction: Literal["both", "out"],
    best_first: bool,
) -> list[ReachedTriple]:
    """Follow triples from entity to entity, breadth first; each entity is expanded once, each triple returned once.

    Args:
        seeds: rows of entities; a triple that several reach in as many hops belongs to the earliest.
        index: with the layer `graph`.
        score: returns the scores of triples by row; those with ``-inf`` are never followed.
        near: rows of the triples with the best scores of the whole index. With `best_first`, only these are followed
            from an entity with more than `MANY_TRIPLES` neighbours, and those that other entities share with it.
        depth: greatest number of hops, at least 1.
        per_node: most triples followed from one entity.
        direction: `out` follows triples from subject to object only.
        best_first: follow the triples with the best scores of an entity; otherwise the first by row.

    Returns:
        Triples by hop, then in the order in which their entities were reached, then by score or row.
    """
    ends = ("source",) if direction == "out" else ("source", "target")
    arrays = index.arrays
    paths: dict[int, tuple[int, ...]] = {n: (n,) for n in seeds}
    frontier = list(paths)
    met: set[int] = set()
    found: list[ReachedTriple] = []
    for hop in range(1, depth + 1):
        at: dict[int, list[tuple[int, int]]] = {n: [] for n in frontier}
        hubs = set[int]()
        if best_first and near and frontier:
            degrees = index.graph.degrees_of(frontier).tolist()
            hubs = {n for n, degree in zip(frontier, degrees, strict=True) if degree > MANY_TRIPLES}
        at_others = arrays.triples_at([n for n in frontier if n not in hubs], ends=ends)
        triples = set(arrays.triple_ends(at_others))
        if hubs:
            triples |= {
                t for t in arrays.triple_ends(near) if t[1] in hubs or (t[2] in hubs and "target" in ends)
            }
        ordered = sorted(triples)
        scores = dict(zip((row for row, _, _ in ordered), score([row for row, _, _ in ordered]), strict=True))
        for row, source, target in ordered:
            if not math.isfinite(scores[row]):
                continue
            if source in at:
                at[source].append((row, target))
            if direction == "both" and target in at and target != source:
                at[target].append((row, source))
        reached: list[int] = []
        for node in frontier:
            steps = [step for step in at[node] if step[0] not in met]
            if best_first:
                steps.sort(key=lambda step: (-scores[step[0]], step[0]))
            for row, other in steps[:per_node]:
                met.add(row)
                found.append(ReachedTriple(row, hop, paths[node][0], paths[node]))
                if other not in paths:
                    paths[other] = (*paths[node], other)
                    reached.append(other)
        frontier = reached
    return found
