"""Our own: passages by a random walk over the names that they share, with no language model.

A question that needs several passages names one of them and asks about another, and between the two stands a name: of a
director, a county, a ship. So passages that match the question lend their score to those whose title they say, and what
is found so is weighed by how well it answers what the passage before it left open. Personalised PageRank as in
`graph.walks`; which steps and settings, and what did not help, was decided by the measurements of `benchmarks/walk.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.naming import Named, names_in
from polygraph.graph.names import NameGraph
from polygraph.graph.walks import EdgeKind, Network, Walk, path, walk
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.steps import RANKED, embed_question, hits_as_json, pack_chunks, rerank
from polygraph.store.layers import Snapshot
from polygraph.store.vectors import Hit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
_DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Passages that the walk reached, best first by what is read off it; all arrays have one entry for each."""

    chunks: Numbers
    mass: Floats
    cosines: Floats
    """With the question."""
    after: Numbers
    """The passage after which it is read, by row; -1 for none."""
    scores: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Names_walk:
    """Walk from passages that match the question, over names, to passages that they lead to."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "chunk_vectors", "names"})
    source: ClassVar[str] = "ours; Andersen, Chung and Lang (2006) for the walk"
    calls: ClassVar[str] = "1"
    tokens: ClassVar[str] = "k x chunk tokens, at most 6,000"
    summary: ClassVar[str] = "passages that match the question, and those that they lead to by a name"
    good: ClassVar[str] = ""
    bad: ClassVar[str] = ""

    seeds: int = 20
    """Passages by words and by vectors, of each so many, from which the walk sets out."""
    names_weight: float = 1.0
    """Weight of the names in the question among the seeds."""
    dense_weight: float = 1.0
    """Weight of the nearest passages among the seeds."""
    words_weight: float = 0.3
    """Weight of the passages that share words among the seeds."""
    title_edges: float = 4.0
    """Weight of all edges between a name and the document that bears it, where one to another passage has 1."""
    shared_edges: float = 0.0
    """Weight of an edge between a passage and a name that is no document's title."""
    damping: float = 0.85
    """Chance of following an edge rather than restarting, in [0, 1)."""
    tolerance: float = 1e-5
    """Mass per edge that the walk may leave behind, see `graph.walks.walk`."""
    weighed: int = 100
    """First so many passages of the walk are weighed by what they say."""
    hops: int = 20
    """First so many passages may lead to others."""
    relevance: float = 2.0
    """How much the passages' likeness to the question counts beside the walk; 0: not at all."""
    open_share: float = 0.3
    """How much of what a passage says is taken out of the question that the next one has to answer, in [0, 1]."""
    common: int = 20
    """A name that more passages have leads from one to another only if it is the title of the other."""
    rerank: int = 0
    """First so many are ordered anew by the cross-encoder; 0 for none. Costs about 60 ms each on two cores."""
    k: int = 10
    """Passages that go into the context."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank passages for the question; ties by passage order."""
        require(index, "walk", self.needs, models)
        graph = index.names
        vector = embed_question(question, models)
        # 1. Seeds: names in the question, the rarer the better; passages by words, and by vectors.
        named = [(name, n) for name, n in _named(question, graph)]
        words = index.search_words(question, self.seeds)
        dense = index.search_chunks(vector, self.seeds)
        restart: dict[int, float] = {}
        for vertex, weight in [
            *((n + graph.n_chunks, w) for n, w in _by_rarity(named, graph, self.names_weight)),
            *_by_score(words, self.words_weight),
            *_by_score(dense, self.dense_weight),
        ]:
            restart[vertex] = restart.get(vertex, 0.0) + weight
        trace = [
            Step(
                name="names",
                value=[[name.text, int(graph.n_passages(np.array([n]))[0])] for name, n in named],
            ),
            Step(name="words", value=_ids(words[: self.k], index)),
            Step(name="dense", value=_ids(dense[: self.k], index)),
        ]
        reason = "the index holds no passages"
        if not any(restart.values()):
            return pack_chunks(question, "walk", index, [], [], k=self.k, max_tokens=self.max_tokens, trace=trace, empty_because=reason)
        # 2. Walk over titles and links.
        network = self._network(graph)
        vertices = sorted(restart)
        walked = walk(
            network,
            vertices,
            [restart[v] for v in vertices],
            damping=self.damping,
            tolerance=self.tolerance,
        )
        reached = walked.top(RANKED if not self.relevance else max(RANKED, self.weighed), last=graph.n_chunks)
        # 3. Weigh what was reached by the question, and by what the passage before it leaves open.
        found = self._weighed(reached, vector, graph, network, index)
        hits = [Hit(int(n), round(float(s), _DIGITS)) for n, s in zip(found.chunks, found.scores, strict=True)]
        trace += [
            Step(name="walk", value=_ids([Hit(v, round(s, _DIGITS)) for v, s in reached[: self.k]], index)),
            Step(name="missing", value=round(walked.missing, 6)),
            Step(name="weighed", value=_ids(hits[: self.k], index)),
        ]
        why = self._why(found, named, network, walked, graph, index)
        if self.rerank:
            before = {hit.n: reason for hit, reason in zip(hits, why, strict=False)}
            hits = rerank(question, hits, index, models, self.rerank)
            trace.append(Step(name="reranked", value=_ids(hits[: self.k], index)))
            why = [before.get(hit.n, "") for hit in hits[: self.k]]
        return pack_chunks(
            question,
            "walk",
            index,
            hits[:RANKED],
            why,
            k=self.k,
            max_tokens=self.max_tokens,
            trace=trace,
            empty_because=reason,
        )

    def _network(self, graph: NameGraph) -> Network:
        kinds = [EdgeKind(graph.titles, self.title_edges), EdgeKind(graph.links)]
        if self.shared_edges:
            kinds.append(EdgeKind(graph.shared, self.shared_edges))
        return Network(tuple(kinds))

    def _weighed(
        self,
        reached: Sequence[tuple[int, float]],
        vector: Vectors,
        graph: NameGraph,
        network: Network,
        index: Snapshot,
    ) -> _Found:
        """Order passages by mass times ``exp(relevance * (cosine + best hop))``; those not weighed come last.

        The best hop to a passage `c` is the greatest ``cos(question, p) + cos(open, c)`` over the passages `p` that
        share a name with it, where `open` is the question less `open_share` of its part along `p`. A passage to which
        no hop leads is given the least of all hops.
        """
        chunks = np.array([v for v, _ in reached], dtype=np.int64)
        mass = np.array([s for _, s in reached])
        n = min(self.weighed, len(chunks)) if self.relevance else 0
        vectors = np.asarray(index.chunk_vectors(chunks[:n]), dtype=np.float64)
        cosines = np.round(vectors @ np.asarray(vector, dtype=np.float64), 6) if n else np.zeros(0)
        best, after = np.full(n, -np.inf), np.full(n, -1)
        for p, others in _hops(chunks[:n], graph, network, self.hops, self.common):
            left = vector - self.open_share * cosines[p] * vectors[p]
            hop = np.round(cosines[p] + vectors[others] @ (left / max(float(np.linalg.norm(left)), 1e-9)), 6)
            better = hop > best[others]
            best[others[better]], after[others[better]] = hop[better], p
        linked = np.isfinite(best)
        relevant = cosines + np.where(linked, best, best[linked].min() if linked.any() else 0.0)
        scores = mass.copy()
        if n:
            # In relation to the most relevant, so that a score is never above its mass.
            scores[:n] *= np.exp(self.relevance * (relevant - relevant.max()))
        order = np.lexsort((chunks[:n], -np.round(scores[:n], _DIGITS + 3)))
        order = np.concatenate([order, np.arange(n, len(chunks))])
        if n:
            scores[n:] = np.minimum(scores[n:], scores[order[n - 1]])
        pad = len(chunks) - n
        return _Found(
            chunks=chunks[order],
            mass=mass[order],
            cosines=np.concatenate([cosines, np.full(pad, np.nan)])[order],
            after=np.concatenate([np.where(after >= 0, chunks[after], -1) if n else after, np.full(pad, -1)])[order],
            scores=scores[order],
        )

    def _why(
        self,
        found: _Found,
        named: Sequence[tuple[Named, int]],
        network: Network,
        walked: Walk,
        graph: NameGraph,
        index: Snapshot,
    ) -> list[str]:
        """For each passage that is packed the way by which most of its mass came, and what it is read after."""
        chunks = [int(c) for c in found.chunks[: self.k]]
        ways = [path(network, walked, c, damping=self.damping) for c in chunks]
        known = {n + graph.n_chunks: name.text for name, n in named}
        labels = _labels(sorted({v for way in ways for v in way} | {*chunks, *found.after[: self.k].tolist()}), known, graph, index)
        texts = []
        for i, way in enumerate(ways):
            said = f"walk {found.mass[i]:.6f}"
            if not np.isnan(found.cosines[i]):
                said += f"; cosine {found.cosines[i]:.3f} with the question"
            if len(way) > 1:
                said += f"; most of it came by {' → '.join(labels[v] for v in way)}"
            if way[0] in known:
                said += ", from the name in the question"
            if found.after[i] >= 0:
                said += f"; read after {labels[int(found.after[i])]}"
            texts.append(said)
        return texts


def _named(question: str, graph: NameGraph) -> list[tuple[Named, int]]:
    """Names in the question with their numbers."""
    names = names_in(question, lambda keys: graph.numbers(keys) >= 0)
    numbers = graph.numbers(np.array([name.key for name in names], dtype=np.uint64))
    return list(zip(names, numbers.tolist(), strict=True))


def _by_rarity(named: Sequence[tuple[Named, int]], graph: NameGraph, total: float) -> list[tuple[int, float]]:
    """Divide a weight among names: each by one over the number of passages that have it."""
    numbers = np.array([n for _, n in named], dtype=np.int64)
    shares = 1.0 / np.maximum(graph.n_passages(numbers), 1)
    return [(int(n), float(total * s / shares.sum())) for n, s in zip(numbers, shares, strict=True)]


def _by_score(hits: Sequence[Hit], total: float) -> list[tuple[int, float]]:
    """Divide a weight among passages: each by how far its score is above the lowest."""
    scores = np.array([hit.score for hit in hits])
    above = scores - scores.min() if len(hits) else scores
    if not above.sum() > 0:
        above = np.ones(len(hits))
    return [(hit.n, float(total * a / above.sum())) for hit, a in zip(hits, above, strict=True)]


def _ids(hits: Sequence[Hit], index: Snapshot) -> object:
    return hits_as_json(hits, [chunk.id for chunk in index.chunks([hit.n for hit in hits])])
