"""Where a walk over names sets out from: titles in the question, and the passages that match it best."""

import math
from collections.abc import Sequence

import numpy as np

from polygraph.extract.titles.find_titles import Named, names_in
from polygraph.graph.pagerank import EdgeKind, Network
from polygraph.graph.title_graph import NameGraph
from polygraph.models.protocols import Vectors
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit

DIGITS = 9
"""Of scores, so that sums in another order give the same ranking."""


def titled(question: str, graph: NameGraph) -> list[tuple[Named, int, int]]:
    """Titles in the question, each with its vertex and how many passages bear or have it.

    A name that is nobody's title says which passages have it, and their words and vectors have said so already.
    """
    names = names_in(question, lambda keys: graph.numbers(keys) >= 0)
    numbers = graph.numbers(np.array([name.key for name in names], dtype=np.uint64))
    counts, vertices = graph.n_passages(numbers).tolist(), numbers + graph.n_chunks
    borne = Network((EdgeKind(graph.titles),)).degrees(vertices) > 0
    found = zip(names, vertices.tolist(), counts, strict=True)
    return [name for name, is_title in zip(found, borne.tolist(), strict=True) if is_title]


def by_rarity(named: Sequence[tuple[Named, int, int]], total: float) -> list[tuple[int, float]]:
    """Divide a weight among names, to each by one over the number of passages that have it."""
    shares = [1.0 / n for _, _, n in named]
    return [(vertex, total * s / sum(shares)) for (_, vertex, _), s in zip(named, shares, strict=True)]


def matched(
    words: Sequence[Hit], dense: Sequence[Hit], vector: Vectors, index: Snapshot, word_weight: float
) -> list[Hit]:
    """Passages by their cosine with the question plus a weight for each point of BM25; 0 points if not among `words`.

    The sum takes from each what it is sure of. BM25's points add up over words, so they tell much of a long question
    and little of a short one; a fusion by ranks loses that.
    """
    points = {hit.n: hit.score for hit in words}
    ns = sorted(points.keys() | {hit.n for hit in dense})
    cosines = index.chunk_similarities(vector, ns).tolist()
    hits = [
        Hit(n, round(c + word_weight * points.get(n, 0.0), DIGITS)) for n, c in zip(ns, cosines, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.n))


def by_match(hits: Sequence[Hit], sharpness: float) -> list[tuple[int, float]]:
    """Divide a weight of 1 among passages, the best first.

    Each weighs as ``exp(sharpness * how far its score is above the lowest) - 1``.
    """
    if not hits:
        return []
    # All divided by that of the best, so that nothing grows too large.
    raised = [math.exp(sharpness * (hit.score - hits[0].score)) for hit in hits]
    above = [value - raised[-1] for value in raised]
    whole = math.fsum(above)
    return [(h.n, a / whole if whole > 0 else 1.0 / len(hits)) for h, a in zip(hits, above, strict=True)]


def normalised(weights: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Those that weigh something, summing to 1, in the order given.

    >>> normalised([(7, 1.0), (2, 0.0), (3, 3.0)])
    {7: 0.25, 3: 0.75}
    """
    whole = math.fsum(weight for _, weight in weights)
    return {vertex: weight / whole for vertex, weight in weights if weight > 0}
