"""Two-hop reading: which passage leads to which by a name, and how well both answer a question together."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.names import NameGraph
from polygraph.graph.walks import EdgeKind, Network
from polygraph.models.protocols import Vectors

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
_DECIMALS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """How well passages answer a question, alone and after another; one entry for each passage."""

    cosines: Floats
    """With the question."""
    hops: Floats
    """The best sum of both passages of a hop that ends here; of a passage without one, the least of all hops."""
    after: Numbers
    """Place of the passage with which that hop begins; -1 for none."""


def weigh_hops(
    chunks: Numbers,
    question: Vectors,
    vectors: Vectors,
    graph: NameGraph,
    *,
    first: int = 20,
    open_share: float = 0.3,
    common: int = 20,
) -> Weighed:
    """Weigh passages by the question, and by what the passage before them leaves open of it.

    A hop from `p` to `c` is worth ``cos(question, p) + cos(open, c)``, where `open` is the question less `open_share`
    of its part along `p`: the second passage need not say again what the first one said.

    Args:
        chunks: rows of passages, the likeliest first, shape ``(n,)``.
        question: its unit vector, shape ``(dimension,)``.
        vectors: of the passages, unit vectors, shape ``(n, dimension)``.
        graph: names that lead from one to another.
        first: so many passages may be the first of a hop.
        open_share: of the question's part along `p` so much is taken out, in ``[0, 1]``.
        common: a name that more passages have leads only to the document that bears it.
    """
    asked, said = np.asarray(question, dtype=np.float64), np.asarray(vectors, dtype=np.float64)
    cosines = np.round(said @ asked, _DECIMALS)
    best, after = np.full(len(chunks), -np.inf), np.full(len(chunks), -1, dtype=np.int64)
    for p, others in _led_to(chunks, graph, first, common):
        left = asked - open_share * cosines[p] * said[p]
        length = float(np.linalg.norm(left))
        hop = np.round(cosines[p] + said[others] @ left / (length or 1.0), _DECIMALS)
        better = hop > best[others]
        best[others[better]], after[others[better]] = hop[better], p
    linked = after >= 0
    least = float(best[linked].min()) if linked.any() else 0.0
    return Weighed(cosines, np.where(linked, best, least), after)


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
