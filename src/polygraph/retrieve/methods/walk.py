"""Our own: passages by a random walk over the names that they share, with no language model.

A question that needs several passages names one of them and asks about another, and between the two stands a name: of a
director, a county, a ship. So passages that match the question lend weight to those whose title they say, and what is
found so is weighed by how well it answers the question together with the passage that led there. What a passage gets by
its own match stays with it, so that names that lead nowhere do no harm. Personalised PageRank as in `graph.walks`;
steps and settings were chosen by the measurements of ``benchmarks/walk.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.titles.find_titles import Named, names_in
from polygraph.graph.pagerank import EdgeKind, Network, Walk, paths, walk
from polygraph.graph.title_graph import NameGraph
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Json, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.hops import weigh_hops
from polygraph.retrieve.seeds import DIGITS, by_match, by_rarity, matched, normalised, titled
from polygraph.retrieve.steps import RANKED, embed_question, hits_as_json, pack_chunks, rerank
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Passages, best first; all arrays have one entry for each."""

    chunks: Numbers
    scores: Floats
    mass: Floats
    """What their match and the walk gave them."""
    cosines: Floats
    """With the question; NaN for those that were not weighed."""
    after: Numbers
    """Row of the passage after which it is read; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameWalk:
    """Walk from passages that match the question, over names, to passages that they lead to."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "chunk_vectors", "names"})
    calls: ClassVar[str] = "1"

    seeds: int = 20
    """Passages from which the walk sets out: those that match the question best."""
    depth: int = 200
    """They are looked for among so many by words and so many by vectors."""
    word_weight: float = 0.01
    """Cosine that a point of BM25 counts; what each says of a passage adds up."""
    sharpness: float = 20.0
    """How much more a better match weighs among the seeds: a cosine higher by one over this, about e times as much."""
    name_weight: float = 1.0
    """What the titles in the question weigh together among the seeds, where the passages weigh 1."""
    own_share: float = 0.5
    """Share of its weight as a seed in the mass of a passage, in [0, 1]; the rest is of the walk."""
    title_edges: float = 8.0
    """Weight of the edges between a name and the document that bears it, together; one to another passage has 1."""
    shared_edges: float = 0.3
    """Weight of an edge between a passage and a name that is no document's title."""
    damping: float = 0.85
    """Chance of following an edge rather than beginning anew, in [0, 1)."""
    tolerance: float = 1e-4
    """Mass per edge that the walk may leave behind, see `graph.walks.walk`."""
    weighed: int = 100
    """First so many passages of the walk are weighed by what they say."""
    relevance: float = 2.0
    """How much that counts beside their mass; 0: not at all."""
    hops: int = 20
    """First so many passages of the walk may lead to others."""
    common: int = 20
    """A name that more passages have leads only to the document that bears it."""
    rerank: int = 0
    """First so many are ordered anew by the cross-encoder; 0 for none. It reads each passage alone, and loses the
    second passages of a hop (benchmarks/README.md). Costs about 60 ms each on two cores."""
    k: int = 10
    """Passages that go into the context."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank passages for the question; ties by passage order."""
        require(index, "walk", self.needs, models)
        graph, vector = index.names, embed_question(question, models)
        # 1. Seeds: titles in the question, and the passages that match it best by words and vectors together.
        named = titled(question, graph)
        words = index.search_words(question, self.depth)
        dense = index.search_chunks(vector, self.depth)
        seeds = matched(words, dense, vector, index, self.word_weight)[: self.seeds + 1]
        start = normalised([*by_rarity(named, self.name_weight), *by_match(seeds, self.sharpness)])
        trace = [
            Step(name="names", value=[[name.text, n] for name, _, n in named]),
            Step(name="words", value=_with_ids(words[: self.k], index)),
            Step(name="dense", value=_with_ids(dense[: self.k], index)),
            Step(name="seeds", value=_with_ids(seeds[: self.k], index)),
        ]
        hits: list[Hit] = []
        why: list[str] = []
        if start:
            # 2. Walk over titles and names.
            network = self._network(graph)
            walked = walk(
                network,
                list(start),
                list(start.values()),
                damping=self.damping,
                tolerance=self.tolerance,
            )
            # 3. A passage keeps a share for its own match. Weigh those on the way by the question, alone and in twos.
            massed = _with_own(walked, start, self.own_share)
            ranked = self._ranked(massed, vector, index)
            hits = [
                Hit(int(n), round(float(s), DIGITS))
                for n, s in zip(ranked.chunks, ranked.scores, strict=True)
            ]
            reached = massed.top(self.k, last=graph.n_chunks)
            trace += [
                Step(name="walk", value=_with_ids([Hit(v, round(s, DIGITS)) for v, s in reached], index)),
                Step(name="missing", value=round(massed.missing, 6)),
                Step(name="weighed", value=_with_ids(hits[: self.k], index)),
            ]
            # 4. Let the cross-encoder read the first of them.
            if self.rerank:
                hits = rerank(question, hits, index, models, self.rerank)
                trace.append(Step(name="reranked", value=_with_ids(hits[: self.k], index)))
            why = self._why([hit.n for hit in hits[: self.k]], ranked, start, named, network, walked, index)
        return pack_chunks(
            question,
            "walk",
            index,
            hits[:RANKED],
            why,
            k=self.k,
            max_tokens=self.max_tokens,
            trace=trace,
            empty_because="the index holds no passages",
        )

    def _network(self, graph: NameGraph) -> Network:
        kinds = [(graph.titles, self.title_edges), (graph.links, 1.0), (graph.shared, self.shared_edges)]
        return Network(tuple(EdgeKind(edges, factor) for edges, factor in kinds if factor))

    def _ranked(self, massed: Walk, vector: Vectors, index: Snapshot) -> _Ranked:
        """Passages by mass times ``exp(relevance * (cosine + best hop))``, then the others by mass."""
        reached = massed.top(max(RANKED, self.weighed), last=index.names.n_chunks)
        chunks = np.array([v for v, _ in reached], dtype=np.int64)
        mass = np.array([s for _, s in reached])
        n = min(self.weighed, len(chunks)) if self.relevance else 0
        scores, cosines, after = mass.copy(), np.full(len(chunks), np.nan), np.full(len(chunks), -1)
        order = np.arange(len(chunks))
        if n:
            cosines[:n] = index.chunk_similarities(vector, chunks[:n].tolist())
            hops, before = weigh_hops(
                chunks[:n], cosines[:n], index.names, first=self.hops, common=self.common
            )
            worth = cosines[:n] + hops
            # Against the best, so that no score is above its mass.
            scores[:n] *= np.exp(self.relevance * (worth - worth.max()))
            after[:n] = np.where(before >= 0, chunks[before], -1)
            order[:n] = np.lexsort((chunks[:n], -np.round(scores[:n], DIGITS)))
            scores[n:] = np.minimum(scores[n:], scores[:n].min())
        return _Ranked(chunks[order], scores[order], mass[order], cosines[order], after[order])

    def _why(
        self,
        chunks: Sequence[int],
        ranked: _Ranked,
        start: Mapping[int, float],
        named: Sequence[tuple[Named, int, int]],
        network: Network,
        walked: Walk,
        index: Snapshot,
    ) -> list[str]:
        """For each passage how much it has by its own match, the way of the walk to it, what it is read after."""
        place = {int(c): i for i, c in enumerate(ranked.chunks)}
        ways = paths(network, walked, chunks, damping=self.damping)
        before = [int(ranked.after[place[c]]) for c in chunks]
        asked = {vertex: name.text for name, vertex, _ in named}
        labels = _labels([*ways, [c for c in before if c >= 0]], asked, index)
        texts = []
        for c, way, first in zip(chunks, ways, before, strict=True):
            i = place[c]
            said = f"mass {ranked.mass[i]:.6f}"
            if c in start and ranked.mass[i] > 0:
                said += f", {self.own_share * start[c] / ranked.mass[i]:.0%} of it for its own match"
            if np.isfinite(ranked.cosines[i]):
                said += f"; cosine {ranked.cosines[i]:.3f} with the question"
            if len(way) > 1:
                said += f"; the walk came by {' → '.join(labels[v] for v in way)}"
            if way[0] in asked:
                said += ", a name in the question"
            if first >= 0:
                said += f"; read after {labels[first]}"
            texts.append(said)
        return texts


def _with_own(walked: Walk, start: Mapping[int, float], share: float) -> Walk:
    """Mix the scores of a walk with the weights of its start, both summing to 1."""
    own = np.array([start.get(v, 0.0) for v in walked.vertices.tolist()])
    return Walk(walked.vertices, (1.0 - share) * walked.scores + share * own, (1.0 - share) * walked.missing)


def _labels(ways: Sequence[Sequence[int]], asked: dict[int, str], index: Snapshot) -> dict[int, str]:
    """Passages by id, names as they are written in the question, in a title or in a passage beside them on the way."""
    graph = index.names
    vertices = sorted({v for way in ways for v in way})
    rows = [v for v in vertices if v < graph.n_chunks]
    chunks = dict(zip(rows, index.chunks(rows), strict=True))
    labels = {v: chunk.id for v, chunk in chunks.items()} | asked
    titles = index.titles([chunk.document for chunk in chunks.values()])
    for way in ways:
        for v, beside in [*pairwise(way), *pairwise(way[::-1])]:
            if v not in labels and (chunk := chunks.get(beside)) is not None:
                is_it = graph.keys[[v - graph.n_chunks]].__eq__
                # The title is much shorter, and mostly it is the name.
                for text in (titles.get(chunk.document, ""), chunk.text):
                    if v not in labels and (written := names_in(text, is_it)):
                        labels[v] = written[0].text
    return {v: labels.get(v, "a name") for v in vertices}


def _with_ids(hits: Sequence[Hit], index: Snapshot) -> Json:
    """Passages with their scores, for a trace."""
    return hits_as_json(hits, [chunk.id for chunk in index.chunks([hit.n for hit in hits])])
