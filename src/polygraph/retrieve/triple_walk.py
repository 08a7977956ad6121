"""Statements reached from some entities by following statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Reached:
    """A triple that a walk came upon."""

    n: int
    """Row of the triple."""
    hop: int
    """Hops from the seed, from 1."""
    seed: int
    """Row of the entity from which the walk set out."""
    path: tuple[int, ...]
    """Rows of the entities passed, the seed first, the one at which the triple was met last."""


def walk_triples(
    seeds: Sequence[int],
    index: Snapshot,
    scores: NDArray[np.float32],
    *,
    depth: int,
    per_node: int,
    direction: Literal["both", "out"],
    best_first: bool,
) -> list[Reached]:
    """Follow triples from entity to entity, breadth first; every entity is left once and every triple met once.

    Args:
        seeds: rows of entities; an earlier one takes what several reach in as many hops.
        index: with the layer `graph`.
        scores: one for each triple, shape ``(n_triples,)``; those with ``-inf`` are never followed.
        depth: most hops, at least 1.
        per_node: most triples that are followed from one entity.
        direction: `out` follows from subject to object only.
        best_first: from an entity, follow the triples with the best scores; otherwise the first by row.

    Returns:
        Triples by hop, then by the order in which the entities were met, then best or first.
    """
    ends = ("source",) if direction == "out" else ("source", "target")
    paths: dict[int, tuple[int, ...]] = {n: (n,) for n in seeds}
    frontier = list(paths)
    met: set[int] = set()
    found: list[Reached] = []
    for hop in range(1, depth + 1):
        at: dict[int, list[tuple[int, int]]] = {n: [] for n in frontier}
        for row, source, target in index.triples_at(frontier, ends=ends):
            if not np.isfinite(scores[row]):
                continue
            if source in at:
                at[source].append((row, target))
            if direction == "both" and target in at and target != source:
                at[target].append((row, source))
        reached: list[int] = []
        for node in frontier:
            steps = [step for step in at[node] if step[0] not in met]
            if best_first:
                steps.sort(key=lambda step: (-float(scores[step[0]]), step[0]))
            for row, other in steps[:per_node]:
                met.add(row)
                found.append(Reached(row, hop, paths[node][0], paths[node]))
                if other not in paths:
                    paths[other] = (*paths[node], other)
                    reached.append(other)
        frontier = reached
    return found
