"""Two-hop reading: which passage leads to which by a name, and how well both answer a question together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.pagerank import EdgeKind, Network
from polygraph.graph.title_graph import NameGraph

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def weigh_hops(
    chunks: Numbers, cosines: Floats, graph: NameGraph, *, first: int = 20, common: int = 20
) -> tuple[Floats, Numbers]:
    """Weigh passages by the best hop that ends at each, which is worth the sum of the cosines of its two passages.

    Args:
        chunks: rows of passages, the likeliest first, shape ``(n,)``.
        cosines: theirs with the question.
        graph: names that lead from one to another.
        first: so many passages may be the first of a hop.
        common: a name that more passages have leads only to the document that bears it.

    Returns:
        For each passage what its best hop is worth, of one without a hop the least of all hops; and the place of the
        passage with which that hop begins, the first of equals, -1 for none.
    """
    best, after = np.full(len(chunks), -np.inf), np.full(len(chunks), -1, dtype=np.int64)
    for p, others in _led_to(chunks, graph, first, common):
        better = others[cosines[p] + cosines[others] > best[others]]
        best[better], after[better] = cosines[p] + cosines[better], p
    linked = after >= 0
    least = float(best[linked].min()) if linked.any() else 0.0
    return np.where(linked, best, least), after


def _led_to(chunks: Numbers, graph: NameGraph, first: int, common: int) -> Iterator[tuple[int, Numbers]]:
    """For each of the first passages the places of those to which one of its names leads."""
    titled = _names_at(chunks, Network((EdgeKind(graph.titles),)), graph)
    named = _names_at(chunks, Network((EdgeKind(graph.links), EdgeKind(graph.shared))), graph)
    bearers, havers = _by_name(titled), _by_name(named)
    counts = dict(zip(havers, graph.n_passages(np.array(list(havers), dtype=np.int64)).tolist(), strict=True))
    names_of: dict[int, list[int]] = {}
    for place, name in [*titled, *named]:
        names_of.setdefault(place, []).append(name)
    for p in range(min(first, len(chunks))):
        reached = {c for name in names_of.get(p, ()) for c in bearers.get(name, ())}
        reached |= {
            c for name in names_of.get(p, ()) if counts.get(name, 0) <= common for c in havers.get(name, ())
        }
        reached.discard(p)
        if reached:
            yield p, np.array(sorted(reached), dtype=np.int64)


def _names_at(chunks: Numbers, network: Network, graph: NameGraph) -> list[tuple[int, int]]:
    """Pairs of the place of a passage and the number of a name at it."""
    owners, others, _ = network.edges_at(chunks)
    return list(zip(owners.tolist(), (others - graph.n_chunks).tolist(), strict=True))


def _by_name(pairs: list[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place, name in pairs:
        found.setdefault(name, []).append(place)
    return found
