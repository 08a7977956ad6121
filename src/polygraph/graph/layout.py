"""Places for the entities of a graph on a plane: communities as discs within discs, members inside them.

The hierarchy gives the coarse order and the edges the fine one. Each level is placed at once for all its parents: every
item starts on a spiral inside the disc of its parent, the largest in the middle (Vogel 1979, "A better way to construct
the sunflower head"), then a fixed number of steps pulls items towards their neighbours and pushes those apart that
overlap. Overlaps are found with a tree per size class, so that time and memory grow almost linearly. Nothing is random:
the same graph has the same picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph

Places = NDArray[np.float64]
Rows = NDArray[np.int64]

RADIUS = 1000.0
"""Radius of the whole picture."""
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
_DENSITY = 0.55
"""Share of a disc that the discs inside it fill; the rest shows where one community ends."""
_STEPS = 48
_SETTLING = 16
"""Last steps, in which only overlaps are removed."""
_LEAST_SPREAD = 0.3
"""Mean square distance from the middle, compared with that at the start, that pulls leave."""
_GRAVITY = 0.04
"""Share of the way to the middle that an item without edges goes in each step."""
_ELSEWHERE = 0.25
"""Pull of an edge to another disc, compared with one inside the same."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of entities and communities within a disc of radius `RADIUS` around the origin."""

    entities: Places
    """Shape ``(n_entities, 2)``."""
    communities: tuple[Places, ...]
    """For each level, the centres of its communities, shape ``(n_communities, 2)``."""
    radii: tuple[NDArray[np.float64], ...]
    """For each level, the radii of its communities."""


def place(graph: Graph, levels: Sequence[Rows]) -> Layout:
    """Place the entities of a graph.

    Args:
        graph: over the entities.
        levels: for each level of the hierarchy, the coarsest first, the community of each entity, numbered from 0, or
            -1; shape ``(n_entities,)``. An entity of no community at a level stands for itself from there on.

    Returns:
        Places in the order of entities and communities; equal for equal arguments.

    >>> square = Graph.from_edges(4, [0, 2], [1, 3], [1.0, 1.0])
    >>> found = place(square, [np.array([0, 0, 1, 1])])
    >>> near, far = (float(np.hypot(*(found.entities[0] - found.entities[i]))) for i in (1, 2))
    >>> near < far
    True
    """
    n = graph.n
    sizes = [int(of.max(initial=-1)) + 1 for of in levels]
    parents, radii = _hierarchy(n, levels, sizes)
    centres = np.zeros((1, 2))
    outer = np.array([np.sqrt(float(np.sum(radii[0] ** 2)) / _DENSITY)]) if len(radii[0]) else np.ones(1)
    scale = RADIUS / max(float(outer[0]), 1e-9)
    placed: list[Places] = []
    # Items of a level are its communities, then the entities that are in none of them, which stay items below.
    members = [
        _items_of(n, of, size) for of, size in zip([*levels, np.full(n, -1)], [*sizes, 0], strict=True)
    ]
    for depth, (items, parent, radius) in enumerate(zip(members, parents, radii, strict=True)):
        a, b, weights = _edges_between(graph, items, len(radius))
        centres = _place_inside(centres, outer, parent, radius, (a, b, weights))
        outer = radius
        if depth < len(levels):
            placed.append(centres[: sizes[depth]] * scale)
    return Layout(
        entities=centres[members[-1]] * scale,
        communities=tuple(placed),
        radii=tuple(radius[:size] * scale for radius, size in zip(radii, sizes, strict=False)),
    )


def _items_of(n: int, community: Rows, n_communities: int) -> Rows:
    """Return the item of each entity at a level: its community, or itself behind the communities."""
    alone = community < 0
    items = community.astype(np.int64).copy()
    items[alone] = n_communities + np.arange(int(alone.sum()))
    return items if n else np.zeros(0, dtype=np.int64)


def _hierarchy(
    n: int, levels: Sequence[Rows], sizes: Sequence[int]
) -> tuple[list[Rows], list[NDArray[np.float64]]]:
    """Return, for each level and last for the entities, the item of the level above and the radius of each item."""
    items = [_items_of(n, of, size) for of, size in zip(levels, sizes, strict=True)]
    items.append(np.arange(n, dtype=np.int64))
    parents: list[Rows] = []
    for depth, own in enumerate(items):
        count = int(own.max(initial=-1)) + 1
        parent = np.zeros(count, dtype=np.int64)
        if depth:
            parent[own] = items[depth - 1]
        parents.append(parent)
    radii = [np.ones(n)]
    for depth in range(len(items) - 1, 0, -1):
        count = len(parents[depth - 1])
        area = np.bincount(parents[depth], weights=radii[0] ** 2, minlength=count)
        single = np.bincount(parents[depth], minlength=count) == 1
        radii.insert(0, np.sqrt(np.where(single, area, area / _DENSITY)))
    return parents, radii


def _edges_between(graph: Graph, items: Rows, count: int) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Return the edges between different items, each once, with the logarithm of their summed weight."""
    sources, targets, weights = graph.edges()
    a, b = items[sources], items[targets]
    kept = a != b
    if not kept.any():
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    joined = Graph.from_edges(count, a[kept], b[kept], weights[kept])
    first, second, total = joined.edges()
    return first.astype(np.int64), second.astype(np.int64), np.log1p(total.astype(np.float64))


def _place_inside(
    centres: Places,
    outer: NDArray[np.float64],
    parent: Rows,
    radius: NDArray[np.float64],
    edges: tuple[Rows, Rows, NDArray[np.float64]],
) -> Places:
    """Place discs inside the discs of their parents."""
    room = np.maximum(outer[parent] - radius, 0.0)
    middle = centres[parent]
    at = middle + _spiral(parent, radius, room)
    a, b, weights = edges
    pull = np.where(parent[a] == parent[b], weights, weights * _ELSEWHERE)
    ends, others = np.concatenate([a, b]), np.concatenate([b, a])
    pull = np.concatenate([pull, pull])
    total = np.bincount(ends, weights=pull, minlength=len(radius))
    joined = total > 0
    spread = _LEAST_SPREAD * _spread_of((at - middle)[joined], parent[joined])
    for step in range(_STEPS + _SETTLING):
        if step < _STEPS and joined.any():
            strength = 0.6 * (1 - step / _STEPS)
            for axis in (0, 1):
                wanted = np.bincount(ends, weights=pull * at[others, axis], minlength=len(radius))
                at[joined, axis] += strength * (wanted[joined] / total[joined] - at[joined, axis])
            at[joined] = _spread(at[joined], middle[joined], parent[joined], spread)
        # What nothing holds would stay at the rim, far from the rest.
        at[~joined] += _GRAVITY * (middle[~joined] - at[~joined])
        _push_apart(at, radius)
        _keep_inside(at, middle, room)
    return at


def _spiral(parent: Rows, radius: NDArray[np.float64], room: NDArray[np.float64]) -> Places:
    """Return offsets from the centre of the parent, the largest discs innermost; equal ones by number."""
    count = len(radius)
    order = np.lexsort((np.arange(count), -radius, parent))
    area = radius[order] ** 2
    groups, starts = np.unique(parent[order], return_index=True)
    before = np.cumsum(area) - area
    lengths = np.diff([*starts, count])
    inside = before - np.repeat(before[starts], lengths) + area / 2
    whole = np.repeat(np.add.reduceat(area, starts), lengths) if len(groups) else area
    rank = np.arange(count) - np.repeat(starts, lengths)
    reach = np.empty(count)
    reach[order] = np.sqrt(inside / np.maximum(whole, 1e-12))
    angle = np.empty(count)
    # Turned by the parent's number, so that neighbouring discs do not repeat one pattern.
    angle[order] = (rank + 0.618 * parent[order]) * _GOLDEN_ANGLE
    # An only child stands in the middle.
    alone = np.repeat(lengths == 1, lengths)
    reach[order] = np.where(alone, 0.0, reach[order])
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (reach * room)[:, None]


def _spread_of(away: Places, parent: Rows) -> NDArray[np.float64]:
    """Return the mean square distance of the items of each parent from its centre."""
    count = np.bincount(parent)
    spread: NDArray[np.float64] = np.bincount(parent, weights=(away**2).sum(axis=1)) / np.maximum(count, 1)
    return spread


def _spread(at: Places, middle: Places, parent: Rows, least: NDArray[np.float64]) -> Places:
    """Return places of which those of each parent have a least spread.

    Pulls alone would draw a dense graph into one point, where everything overlaps with everything.
    """
    away = at - middle
    factor = np.sqrt(np.clip(least / np.maximum(_spread_of(away, parent), 1e-12), 1.0, 16.0))
    return np.asarray(middle + away * factor[parent][:, None])


def _push_apart(at: Places, radius: NDArray[np.float64]) -> None:
    """Move overlapping discs apart, the smaller ones further."""
    from scipy.spatial import cKDTree

    size = np.floor(np.log2(np.maximum(radius, 1e-9))).astype(np.int64)
    shift = np.zeros_like(at)
    hits = np.zeros(len(at))
    for group in np.unique(size):
        own = np.flatnonzero(size == group)
        smaller = np.flatnonzero(size <= group)
        reach = 2 * float(radius[own].max())
        pairs = cKDTree(at[own]).sparse_distance_matrix(cKDTree(at[smaller]), reach, output_type="ndarray")
        i, j, distance = own[pairs["i"]], smaller[pairs["j"]], pairs["v"]
        # Pairs of one group come twice.
        kept = (distance < radius[i] + radius[j]) & ((size[j] < group) | (i < j))
        i, j, distance = i[kept], j[kept], distance[kept]
        if not len(i):
            continue
        between = at[i] - at[j]
        same = distance < 1e-9
        turned = _GOLDEN_ANGLE * (i[same] + 2 * j[same])
        between[same] = np.column_stack([np.cos(turned), np.sin(turned)])
        direction = between / np.where(same, 1.0, distance)[:, None]
        overlap = radius[i] + radius[j] - distance
        light = radius[j] ** 2 / (radius[i] ** 2 + radius[j] ** 2)
        for axis in (0, 1):
            push = direction[:, axis] * overlap
            shift[:, axis] += np.bincount(i, weights=push * light, minlength=len(at))
            shift[:, axis] -= np.bincount(j, weights=push * (1 - light), minlength=len(at))
        hits += np.bincount(i, minlength=len(at)) + np.bincount(j, minlength=len(at))
    # The mean of the pushes does not overshoot where a disc is hit from many sides.
    at += shift / np.maximum(hits / 2, 1.0)[:, None]


def _keep_inside(at: Places, middle: Places, room: NDArray[np.float64]) -> None:
    """Move discs that leave their parent back to its rim."""
    away = at - middle
    distance = np.hypot(away[:, 0], away[:, 1])
    out = distance > room
    factor = np.where(out, room / np.maximum(distance, 1e-12), 1.0)
    at[:] = middle + away * factor[:, None]
