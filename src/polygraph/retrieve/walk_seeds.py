"""Where a walk over names begins: at titles in the question, and at passages that match it."""

import math
from collections.abc import Sequence

import numpy as np

from polygraph.extract.titles.find_titles import TextMention, find_known_names
from polygraph.graph.pagerank import EdgeKind, Network
from polygraph.graph.title_graph import TitleGraph
from polygraph.models.protocols import Vectors
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit

DIGITS = 9
"""Scores are rounded to this many digits, so that sums in another order give the same ranking."""


class Cosines:
    """Cosines of passages with a question; each passage is compared once, however often it is ranked.

    Args:
        vector: the question, embedded like the chunks, shape ``(dimension,)``.
        index: with `chunk_vectors`.
    """

    def __init__(self, vector: Vectors, index: Snapshot) -> None:
        self._vector, self._index = vector, index
        self._known: dict[int, float] = {}

    def of(self, chunks: Sequence[int]) -> list[float]:
        """Return the cosines of some passages, by row, in the order asked for."""
        missing = [n for n in chunks if n not in self._known]
        if missing:
            found = self._index.chunk_similarities(self._vector, missing)
            self._known.update(zip(missing, found.tolist(), strict=True))
        return [self._known[n] for n in chunks]


def titles_in_question(question: str, graph: TitleGraph) -> list[tuple[TextMention, int, int]]:
    """Find the document titles in a question, each with its vertex and its number of passages.

    Names that title no document are left out: the passages that mention them already match by words and vectors.
    """
    names = find_known_names(question, lambda keys: graph.numbers(keys) >= 0)
    numbers = graph.numbers(np.array([name.key for name in names], dtype=np.uint64))
    counts, vertices = graph.n_passages(numbers).tolist(), numbers + graph.n_chunks
    is_title = Network((EdgeKind(graph.titles),)).degrees(vertices) > 0
    found = zip(names, vertices.tolist(), counts, strict=True)
    return [name for name, titled in zip(found, is_title.tolist(), strict=True) if titled]


def mostly_titled(chunks: Sequence[int], graph: TitleGraph) -> bool:
    """Tell whether at least half of some passages are of documents with a title."""
    degrees = Network((EdgeKind(graph.titles),)).degrees(np.array(chunks, dtype=np.int64))
    return 2 * int((degrees > 0).sum()) >= len(chunks)


def match_passages(
    words: Sequence[Hit], dense: Sequence[Hit], cosines: Cosines, word_weight: float
) -> list[Hit]:
    """Rank passages by cosine plus `word_weight` per point of BM25; passages not in `words` have no points.

    A weighted sum rather than a fusion of ranks: points of BM25 add up over words, so they say much about a match with
    a long question and little with a short one, which ranks lose.
    """
    points = {hit.n: hit.score for hit in words}
    ns = sorted(points.keys() | {hit.n for hit in dense})
    hits = [
        Hit(n, round(c + word_weight * points.get(n, 0.0), DIGITS))
        for n, c in zip(ns, cosines.of(ns), strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.n))


def match_weights(hits: Sequence[Hit], sharpness: float) -> list[tuple[int, float]]:
    """Divide a weight of 1 among passages, best first.

    Each gets a share in proportion to ``exp(sharpness * (score - lowest score)) - 1``.
    """
    if not hits:
        return []
    # Relative to the best, so that no exponential overflows.
    raised = [math.exp(sharpness * (hit.score - hits[0].score)) for hit in hits]
    above = [value - raised[-1] for value in raised]
    total = math.fsum(above)
    return [(h.n, a / total if total > 0 else 1.0 / len(hits)) for h, a in zip(hits, above, strict=True)]


def rarity_weights(named: Sequence[tuple[TextMention, int, int]], total: float) -> list[tuple[int, float]]:
    """Divide a weight among names in inverse proportion to the number of their passages."""
    shares = [1.0 / n for _, _, n in named]
    return [(vertex, total * s / sum(shares)) for (_, vertex, _), s in zip(named, shares, strict=True)]


def normalize(weights: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Scale weights to a sum of 1 and drop those of zero, in the order given."""
    total = math.fsum(weight for _, weight in weights)
    return {vertex: weight / total for vertex, weight in weights if weight > 0}
