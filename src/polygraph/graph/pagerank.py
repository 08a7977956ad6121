"""Random walks with restart over a graph: personalised PageRank by forward push.

A walk starts at a vertex drawn by the restart weights. At every step it moves with probability `damping` to a
neighbour, drawn by the weights of the edges, and otherwise restarts. From a vertex without edges it always restarts.
The score of a vertex is the share of steps at which the walk is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.arrays import look_up
from polygraph.graph.csr import Graph

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
_SORTED = 16
"""Sorting this many vertices costs about as much as one pass over an array of their number times this."""
_LARGEST = 1 << 19
"""Vertices and edges of the largest network of which edges and sums are kept ready for a walk: some 20 megabytes."""
_WHOLE = 4
"""Passing mass along all these edges costs about as much as picking the n-th part of them."""
_SMALL = 1 << 15
"""Passing mass along this number of edges costs about as much as the calls that pick a few."""
_FEW, _MANY = 8, 1 << 12
"""Of fewer than the n-th part of all vertices, the edges are picked before mass is passed along them, if the network
has at least so many vertices and edges: among fewer, picking costs more."""
_HUB = 1_000
"""Edges of a vertex whose sum of weights is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class EdgeKind:
    """Edges of one kind, and how much each counts."""

    graph: Graph
    """May have fewer vertices than the network: the others have no edges of this kind."""
    factor: float = 1.0
    """Positive factor of the weights."""
    weighted: bool = True
    """False: every edge weighs 1 times the factor."""


@dataclass(frozen=True, eq=False)
class Network:
    """Edges of several kinds over one numbering of vertices; between two vertices their weights add up.

    The kinds are not merged, so making a network costs nothing. A small one that is kept walks faster from its second
    walk on.
    """

    kinds: tuple[EdgeKind, ...]

    @property
    def n(self) -> int:
        """Number of vertices."""
        return max((kind.graph.n for kind in self.kinds), default=0)

    @property
    def size(self) -> int:
        """Number of vertices and of edges, each edge counted at both ends."""
        return self.n + sum(len(kind.graph.indices) for kind in self.kinds)

    @cached_property
    def edges_for_walks(self) -> "_AllEdges | None":
        """All edges, ready for a walk; None for a large network, of which a walk sees a small part."""
        return _AllEdges(self) if self.size <= _LARGEST else None

    def degrees(self, vertices: Numbers) -> Numbers:
        """Return the number of edges at some vertices; two kinds of edge to one neighbour count twice."""
        found = np.zeros(len(vertices), dtype=np.int64)
        for kind in self.kinds:
            inside = vertices < kind.graph.n
            some = vertices[inside]
            indptr = np.asarray(kind.graph.indptr)
            found[inside] += indptr[some + 1] - indptr[some]
        return found

    def edges_at(self, vertices: Numbers) -> tuple[Numbers, Numbers, Floats]:
        """Return the edges at some vertices, kind by kind, in the order of `vertices`, then of the neighbours.

        Returns:
            For each edge the position in `vertices` of its first end, its other end, its weight.
        """
        owners: list[Numbers] = []
        others: list[Numbers] = []
        weights: list[Floats] = []
        for kind in self.kinds:
            graph = kind.graph
            positions = np.flatnonzero(vertices < graph.n)
            some = vertices[positions]
            indptr = np.asarray(graph.indptr)  # without the overhead of a mapped file
            begins = indptr[some]
            counts = indptr[some + 1] - begins
            ends = np.cumsum(counts)
            if not len(ends) or not ends[-1]:
                continue
            places = np.arange(ends[-1]) + np.repeat(begins - (ends - counts), counts)
            owners.append(np.repeat(positions, counts))
            others.append(np.asarray(graph.indices).take(places).astype(np.int64))
            if kind.weighted:
                weights.append(np.asarray(graph.weights).take(places).astype(np.float64) * kind.factor)
            else:
                weights.append(np.full(len(places), kind.factor))
        if not owners:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        return np.concatenate(owners), np.concatenate(others), np.concatenate(weights)

    def strengths(self, vertices: Numbers) -> Floats:
        """Return the sum of the weights of the edges at some vertices.

        Edges of one weight are not read, and those of a vertex that has many are read once.
        """
        if self.size <= _LARGEST:
            return self._all_strengths[vertices]
        some, place = np.unique(vertices, return_inverse=True)
        is_hub = self.degrees(some) >= _HUB
        found = np.empty(len(some))
        found[~is_hub] = self._strengths_of(some[~is_hub])
        found[is_hub] = self._strengths_of_hubs(some[is_hub].tolist())
        return found[place]

    def _strengths_of_hubs(self, vertices: Sequence[int]) -> list[float]:
        known = self._known_strengths
        missing = [vertex for vertex in vertices if vertex not in known]
        if missing:
            known.update(zip(missing, self._strengths_of(np.array(missing)).tolist(), strict=True))
        return [known[vertex] for vertex in vertices]

    @cached_property
    def _known_strengths(self) -> dict[int, float]:
        # Few vertices have many edges, so this stays small.
        return {}

    @cached_property
    def _all_strengths(self) -> Floats:
        return self._strengths_of(np.arange(self.n))

    def _strengths_of(self, vertices: Numbers) -> Floats:
        found = np.zeros(len(vertices))
        for kind in self.kinds:
            if kind.weighted:
                owners, _, weights = Network((kind,)).edges_at(vertices)
                found += np.bincount(owners, weights=weights, minlength=len(vertices))
            else:
                found += kind.factor * Network((kind,)).degrees(vertices)
        return found

    def spread(self, vertices: Numbers, mass: Floats) -> tuple[Numbers, Floats]:
        """Divide mass at some vertices among their edges by weight.

        Returns:
            For each edge, in the order of `edges_at`, its other end and what arrives there.
        """
        (kind, *more) = self.kinds
        if not more and not kind.weighted and kind.factor == 1.0:
            indptr = np.asarray(kind.graph.indptr)
            begins = indptr[vertices]
            counts = indptr[vertices + 1] - begins
            ends = np.cumsum(counts)
            places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - counts), counts)
            others = np.asarray(kind.graph.indices).take(places).astype(np.int64)
            return others, np.repeat(mass / np.maximum(counts, 1), counts)
        owners, others, weight = self.edges_at(vertices)
        strengths = np.bincount(owners, weights=weight, minlength=len(vertices))
        return others, mass[owners] * weight / strengths[owners]


class _AllEdges:
    """All edges of a network, for rounds of a walk that push the mass of many vertices.

    Args:
        network: whose edges.
    """

    def __init__(self, network: Network) -> None:
        everywhere = np.arange(network.n)
        self._size = network.size
        self._degrees = network.degrees(everywhere)
        self._owners, self._others, weights = network.edges_at(everywhere)
        strengths = np.bincount(self._owners, weights=weights, minlength=network.n)
        self._strengths = np.where(strengths > 0, strengths, 1.0)
        # The share of an edge of weight 1 is the same at all such edges of a vertex.
        self._weighted = np.flatnonzero(weights != 1.0)
        self._weights = weights
        self._weighted_owners = self._owners[self._weighted]
        self._weighted_strengths = self._strengths[self._weighted_owners]

    def pays(self, n_edges: int) -> bool:
        """Tell whether mass at vertices with so many edges is better passed along all edges than along theirs."""
        return self._size <= _SMALL + _WHOLE * n_edges

    def push(self, waiting: Floats, settled: Floats, *, limit: float, damping: float) -> Numbers:
        """Push the mass of all vertices above the limit, round by round, as `walk` does, to the last bit.

        Args:
            waiting: residual mass of every vertex, shape ``(n,)``; changed.
            settled: what has become score, shape ``(n,)``; changed.
            limit: residual mass per edge that is not pushed.
            damping: as for `walk`.

        Returns:
            The vertices above the limit, ascending, once they have too few edges for this to be worth it; in the end
            none.
        """
        limits = limit * self._degrees
        above = waiting > limits
        # Arrays that are used again: on a small network, making them takes a fifth of the time.
        held, settling = np.empty_like(waiting), np.empty_like(waiting)
        while np.count_nonzero(above) and (self.pays(0) or self.pays(int(self._degrees[above].sum()))):
            np.multiply(waiting, above, out=held)
            np.subtract(waiting, held, out=waiting)
            np.multiply(held, 1.0 - damping, out=settling)
            np.add(settled, settling, out=settled)
            np.multiply(held, damping, out=held)
            np.add(waiting, self._spread(held, above), out=waiting)
            np.greater(waiting, limits, out=above)
        return np.flatnonzero(above)

    def _spread(self, mass: Floats, held: NDArray[np.bool_]) -> Floats:
        """Divide mass at all vertices among their edges by weight; return what arrives at each, shape ``(n,)``.

        Args:
            mass: at each vertex, shape ``(n,)``.
            held: the vertices that have some, shape ``(n,)``.
        """
        others = self._others
        if self._size >= _MANY and _FEW * np.count_nonzero(held) < len(mass):
            some = np.flatnonzero(held.take(self._owners))
            owners, others = self._owners.take(some), others.take(some)
            passed = mass.take(owners) * self._weights.take(some) / self._strengths.take(owners)
        else:
            # `take` needs two thirds of the time of an array as index.
            passed = (mass / self._strengths).take(self._owners)
            if len(self._weighted):
                passed[self._weighted] = (
                    mass.take(self._weighted_owners)
                    * self._weights.take(self._weighted)
                    / self._weighted_strengths
                )
        return np.asarray(np.bincount(others, weights=passed, minlength=len(mass)))


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The scores of a walk, as far as it was followed."""

    vertices: Numbers
    """The vertices that were reached, ascending."""
    scores: Floats
    """Their scores, positive, in the same order."""
    missing: float
    """1 minus the sum of the scores: an upper bound of the error of each."""

    def at(self, vertices: ArrayLike) -> Floats:
        """Return the scores of some vertices; 0 for those that were not reached."""
        return look_up(self.vertices, self.scores, np.asarray(vertices, dtype=np.int64), missing=0.0)

    def top(self, k: int, *, first: int = 0, last: int | None = None) -> list[tuple[int, float]]:
        """Return the best vertices in ``[first, last)`` with their scores, ties by vertex.

        Scores are rounded to 12 digits before they are compared, so that the last bits of sums do not matter.
        """
        begin = np.searchsorted(self.vertices, first)
        end = len(self.vertices) if last is None else np.searchsorted(self.vertices, last)
        vertices, scores = self.vertices[begin:end], np.round(self.scores[begin:end], 12)
        order = np.lexsort((vertices, -scores))[:k]
        return [(int(vertices[i]), float(scores[i])) for i in order]


def walk(
    network: Network,
    vertices: ArrayLike,
    weights: ArrayLike,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
) -> Walk:
    """Rank the vertices near some vertices by personalised PageRank, without looking at the others.

    Forward push (Andersen, Chung and Lang 2006, section 3), for whole fronts of vertices at once: each vertex has
    residual mass; while some vertex has more than `tolerance` for each of its edges, a share ``1 - damping`` of it
    becomes score and the rest is pushed to its neighbours.

    At most ``1 / (tolerance * (1 - damping))`` edges are followed, however large the graph is. If all edges weigh the
    same, the score of a vertex of degree `d` is too low by at most ``tolerance * d``, and never too high; in general
    by at most ``tolerance * s / w``, where `s` is the sum of the weights at the vertex and `w` the least mean weight
    of the edges at one vertex. In both cases all scores together lack `Walk.missing`.

    Args:
        network: what to walk on.
        vertices: where the walk restarts, distinct, shape ``(k,)``.
        weights: restart weight of each, not negative, not all zero, of any sum. Shape ``(k,)``.
        damping: probability of following an edge instead of restarting, in ``[0, 1)``.
        tolerance: residual mass per edge that is not pushed further, positive.

    Raises:
        ValueError: if no vertex is given, or an argument is out of range.

    >>> path = Network((EdgeKind(Graph.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])),))
    >>> [(v, round(score, 4)) for v, score in walk(path, [0], [1.0], damping=0.5, tolerance=1e-9).top(3)]
    [(0, 0.5833), (1, 0.3333), (2, 0.0833)]
    """
    start, mass = _restart(network, vertices, weights, damping)
    if tolerance <= 0:
        raise ValueError(f"tolerance must be positive, not {tolerance}")
    n = network.n
    # Of large arrays of zeros, only the pages that are touched take memory.
    settled, waiting = np.zeros(n), np.zeros(n)
    degrees = network.degrees(start)
    # Mass that vertices without edges send back to the start multiplies all scores by one factor (Langville and Meyer
    # 2004, section 8.4), so it is left out of the walk and restored by this factor.
    leak = 1.0 - damping * float(mass[degrees == 0].sum())
    limit = tolerance * leak
    waiting[start] = mass
    reached = [start]
    above = mass > limit * degrees
    front, n_edges = start[above], int(degrees[above].sum())
    everything = network.edges_for_walks
    while len(front):
        if everything is not None and everything.pays(n_edges):
            front = everything.push(waiting, settled, limit=limit, damping=damping)
            reached = [np.flatnonzero((settled > 0) | (waiting > 0))]
        held = waiting[front]
        waiting[front] = 0.0
        settled[front] += (1.0 - damping) * held
        others, passed = network.spread(front, damping * held)
        found, arrived = _gather(others, passed, n)
        waiting[found] += arrived
        reached.append(found)
        degrees = network.degrees(found)
        above = waiting[found] > limit * degrees
        front, n_edges = found[above], int(degrees[above].sum())
    everywhere, _ = _gather(np.concatenate(reached), np.ones(sum(map(len, reached))), n)
    # The share of the residual mass that would become score without another push.
    rest = waiting[everywhere]
    scores = (settled[everywhere] + (1.0 - damping) * rest) / leak
    kept = scores > 0
    return Walk(everywhere[kept], scores[kept], max(0.0, damping * float(rest.sum()) / leak))


@dataclass(frozen=True, slots=True, eq=False)
class Inflow:
    """Where the scores of some vertices come from; one entry for each vertex."""

    strongest: Numbers
    """The neighbour that contributes most, ties by vertex; -1 if none contributes anything."""
    contribution: Floats
    """What this neighbour contributes."""
    restart: Floats
    """What no neighbour contributes: the share of walks that restart at the vertex, and what the walk missed."""


def inflow(network: Network, walked: Walk, vertices: ArrayLike, *, damping: float) -> Inflow:
    """Split the scores of some vertices by the neighbours that contribute them.

    A neighbour with score `p` contributes `damping` times `p` times the share of its edges that lead here.

    Args:
        network: of the walk.
        walked: the walk.
        vertices: whose scores are explained.
        damping: of the walk.
    """
    wanted, asked = np.unique(np.asarray(vertices, dtype=np.int64), return_inverse=True)
    owners, others, weights = network.edges_at(wanted)
    scores = walked.at(others)
    # Of a hub, most neighbours may not have been reached.
    reached = np.flatnonzero(scores)
    owners, others, weights, scores = owners[reached], others[reached], weights[reached], scores[reached]
    if len(network.kinds) > 1:
        # Edges of several kinds to one neighbour count together.
        pairs, first, place = np.unique(
            owners * max(network.n, 1) + others, return_index=True, return_inverse=True
        )
        weights = np.bincount(place, weights=weights, minlength=len(pairs)).astype(np.float64)
        owners, others, scores = owners[first], others[first], scores[first]
    amounts = np.round(damping * scores * weights / network.strengths(others), 12)
    most, brought = np.full(len(wanted), -1, dtype=np.int64), np.zeros(len(wanted))
    if len(owners):
        # Edges ascend by owner, then by neighbour: of the greatest amounts of an owner, the first counts.
        begins = np.flatnonzero(np.diff(owners, prepend=-1))
        greatest = np.maximum.reduceat(amounts, begins)
        peaks = np.flatnonzero(amounts == np.repeat(greatest, np.diff(begins, append=len(owners))))
        first = peaks[np.flatnonzero(np.diff(owners[peaks], prepend=-1))]
        first = first[amounts[first] > 0]
        most[owners[first]], brought[owners[first]] = others[first], amounts[first]
    arrived = np.bincount(owners, weights=amounts, minlength=len(wanted))
    restart = np.maximum(walked.at(wanted) - arrived, 0.0)
    return Inflow(most[asked], brought[asked], restart[asked])


def strongest_paths(
    network: Network, walked: Walk, vertices: Sequence[int], *, damping: float, most: int = 6
) -> list[list[int]]:
    """Return for each vertex the path by which most of its score arrived, from its start to the vertex.

    A path is followed backwards to the neighbour that contributes most, until restarts contribute more than any
    neighbour, a vertex repeats, or the path has `most` vertices. All paths are followed together, which costs little
    more than one.
    """
    found = [[int(vertex)] for vertex in vertices]
    going = found
    for _ in range(most - 1):
        if not going:
            break
        found_inflow = inflow(network, walked, [way[-1] for way in going], damping=damping)
        further: list[list[int]] = []
        for way, ahead, most_of_it in zip(
            going,
            found_inflow.strongest.tolist(),
            found_inflow.contribution > found_inflow.restart,
            strict=True,
        ):
            if ahead >= 0 and most_of_it and ahead not in way:
                way.append(ahead)
                further.append(way)
        going = further
    return [way[::-1] for way in found]


def _gather(vertices: Numbers, amounts: Floats, n: int) -> tuple[Numbers, Floats]:
    """Sum positive amounts by vertex: the vertices, ascending, and their sums.

    Many amounts are counted in an array of all vertices, few are sorted; the sums are the same either way.
    """
    if _SORTED * len(vertices) > n:
        sums = np.asarray(np.bincount(vertices, weights=amounts, minlength=n), dtype=np.float64)
        some = np.flatnonzero(sums).astype(np.int64)
        return some, sums[some]
    found, place = np.unique(vertices, return_inverse=True)
    return found, np.asarray(np.bincount(place, weights=amounts, minlength=len(found)), dtype=np.float64)


def _restart(
    network: Network, vertices: ArrayLike, weights: ArrayLike, damping: float
) -> tuple[Numbers, Floats]:
    """Return the restart vertices, ascending, and their weights, summing to 1; zero weights are left out."""
    start = np.asarray(vertices, dtype=np.int64).reshape(-1)
    mass = np.asarray(weights, dtype=np.float64).reshape(-1)
    if not 0 <= damping < 1:
        raise ValueError(f"damping must lie in [0, 1), not {damping}")
    if start.shape != mass.shape:
        raise ValueError(f"{len(start)} vertices need as many weights, not {len(mass)}")
    order = np.argsort(start)
    if (np.diff(start[order]) == 0).any():
        raise ValueError("a restart vertex is given twice")
    if len(start) and not 0 <= start.min() <= start.max() < network.n:
        raise ValueError(f"a start lies outside the {network.n} vertices of the network")
    if not np.isfinite(mass).all() or (mass < 0).any() or not mass.sum() > 0:
        raise ValueError("the weights of the start must be finite, not negative and not all zero")
    start, mass = start[order], mass[order]
    kept = mass > 0
    return start[kept], mass[kept] / mass[kept].sum()
