"""`walk` (ours): passages by a random walk over the names they share, with no language model.

A multi-hop question names one passage and asks about another, and a name connects the two: of a director, a county, a
ship. So passages that match the question pass weight to the passages whose title they mention. Each passage is then
rescored by its own similarity to the question and that of the passage that leads to it. A passage keeps a share of its
own match, so that names that lead nowhere do little harm. Where the second passage is not about the name itself but
mentions it, a second search finds it: by a name in the first passage and by what the question still asks. Personalized
PageRank as in `graph.pagerank`; the steps and defaults were chosen by the measurements of ``benchmarks/walk.py``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from polygraph.extract.titles.find_titles import TextMention
from polygraph.graph.pagerank import EdgeKind, Network, Walk, strongest_paths, walk
from polygraph.graph.title_graph import TitleGraph
from polygraph.models import Models
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.bridges import Bridge, bridges
from polygraph.retrieve.clauses import MIN_STEMS, cover_clauses, split_clauses
from polygraph.retrieve.name_hops import Floats, Numbers, best_hops, search_starts, vertex_labels
from polygraph.retrieve.steps import RANKED, embed_question, hits_as_json, pack_chunks, rerank
from polygraph.retrieve.walk_seeds import (
    DIGITS,
    Cosines,
    match_passages,
    match_weights,
    mostly_titled,
    normalize,
    rarity_weights,
    titles_in_question,
)
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Passages, best first; every array has one entry per passage."""

    chunks: Numbers
    scores: Floats
    mass: Floats
    """What their own match and the walk gave them."""
    cosines: Floats
    """With the question; NaN for passages that were not rescored."""
    previous: Numbers
    """Row of the passage from which the best hop comes; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameWalk:
    """Walk from passages that match the question, over names, to passages they lead to."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical", "chunk_vectors", "names"})
    calls: ClassVar[str] = "1"

    seeds: int = 20
    """Passages that seed the walk: those that match the question best."""
    depth: int = 200
    """Candidates for seeds, this many by words and this many by vectors."""
    word_weight: float = 0.01
    """Cosine that one point of BM25 is worth."""
    sharpness: float = 20.0
    """How much more a better seed weighs: a match higher by 1 / `sharpness` weighs about e times as much."""
    name_weight: float = 1.0
    """Weight of all titles in the question together, where all seed passages together weigh 1."""
    own_share: float = 0.5
    """Share of a passage's mass that comes from its weight as a seed, in [0, 1]; the rest comes from the walk."""
    title_edges: float = 8.0
    """Total weight of the edges between a name and the document it titles; an edge to another passage has 1."""
    shared_edges: float = 0.3
    """Weight of an edge between a passage and a name that is no document's title."""
    damping: float = 0.85
    """Chance of following an edge rather than restarting, in [0, 1)."""
    tolerance: float = 1e-4
    """Mass per edge that the walk may leave behind, see `graph.pagerank.walk`."""
    rescored: int = 100
    """Passages of the walk that are rescored by similarity, the first ones."""
    relevance: float = 2.0
    """Weight of similarity against mass when passages are rescored; 0 for none."""
    hop_starts: int = 20
    """Passages of the walk that may lead to others, the first ones."""
    max_name_passages: int = 20
    """A name that occurs in more passages leads only to the document it titles."""
    bridge_share: float = 0.3
    """Share of a passage's mass that goes to what the second search finds from it, in [0, 1); 0 for no search."""
    bridge_starts: int = 2
    """Passages from which the second search goes on: the first one, then the first of each further title in the
    question."""
    bridge_sentences: int = 2
    """Sentences of such a passage whose names are searched for."""
    bridge_names: int = 4
    """Names of these sentences that are searched for, besides the title."""
    bridge_depth: int = 10
    """Passages that each of these searches finds."""
    clause_stems: int = MIN_STEMS
    """Distinct content stems that a clause needs to retrieve on its own where passages have no titles; 0 for never."""
    clause_word_weight: float = 0.015
    """Cosine with the question that one point of BM25 with a clause is worth."""
    rerank: int = 0
    """Passages that the cross-encoder reorders, the first ones; 0 for none. It reads each passage alone, and loses the
    second passage of a hop (benchmarks/results/walk.md). Costs about 60 ms per passage on two cores."""
    k: int = 10
    """Passages that go into the context."""
    max_tokens: int = 6_000
    """Budget of the context."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank passages for the question; ties by passage order."""
        require(index, "walk", self.needs, models)
        graph, vector = index.names, embed_question(question, models)
        cosines = Cosines(vector, index)
        # 1. Seeds: titles in the question, and the passages that match it best by words and vectors together.
        named = titles_in_question(question, graph)
        words = index.search_words(question, self.depth)
        dense = index.search_chunks(vector, self.depth)
        seeds = match_passages(words, dense, cosines, self.word_weight)[: self.seeds + 1]
        start = normalize([*rarity_weights(named, self.name_weight), *match_weights(seeds, self.sharpness)])
        trace = [
            Step(name="names", value=[[name.text, n] for name, _, n in named]),
            Step(name="words", value=hits_as_json(words[: self.k], index)),
            Step(name="dense", value=hits_as_json(dense[: self.k], index)),
            Step(name="seeds", value=hits_as_json(seeds[: self.k], index)),
        ]
        clauses = split_clauses(question, min_stems=self.clause_stems) if self.clause_stems else []
        hits: list[Hit] = []
        why: list[str] = []
        if len(clauses) > 1 and not named and not mostly_titled([hit.n for hit in seeds], graph):
            # No title leads from one passage to the next, so each clause has to find its own.
            hits, why = self._by_clauses([*clauses, question], dense, cosines, index)
            trace.append(Step(name="clauses", value=list(clauses)))
            trace.append(Step(name="covered", value=hits_as_json(hits[: self.k], index)))
            if self.rerank:
                reasons = dict(zip((hit.n for hit in hits), why, strict=True))
                hits = rerank(question, hits, index, models, self.rerank)
                why = [reasons[hit.n] for hit in hits]
                trace.append(Step(name="reranked", value=hits_as_json(hits[: self.k], index)))
        elif start:
            # 2. Walk over titles and names.
            network = self.network(index)
            walked = walk(
                network,
                list(start),
                list(start.values()),
                damping=self.damping,
                tolerance=self.tolerance,
            )
            # 3. Mix in each passage's own match, then rescore by similarity to the question, alone and in pairs.
            mixed = mix_with_start(walked, start, self.own_share)
            ranked = self._rescore(mixed, cosines, graph)
            # 4. Search by what the first passage of each title leads to, and rank again. What is found is as certain as
            # the passage that led to it, so it gets a share of its mass.
            second: dict[int, tuple[float, Bridge]] = {}
            if self.bridge_share and len(ranked.chunks):
                starts = search_starts(ranked.chunks, [v for _, v, _ in named], graph, self.bridge_starts)
                second = self._second_search(question, ranked, starts, cosines, index)
                mixed = mix_in(mixed, {n: weight for n, (weight, _) in second.items()})
                trace.append(Step(name="first", value=hits_as_json([_hit(ranked, i) for i in starts], index)))
                ranked = self._rescore(mixed, cosines, graph)
            hits = [_hit(ranked, i) for i in range(len(ranked.chunks))]
            by_mass = [Hit(v, round(s, DIGITS)) for v, s in mixed.top(self.k, last=graph.n_chunks)]
            trace += [
                Step(
                    name="second",
                    value=[[b.name, b.rest] for b in dict.fromkeys(b for _, b in second.values())],
                ),
                Step(name="walk", value=hits_as_json(by_mass, index)),
                Step(name="missing", value=round(mixed.missing, 6)),
                Step(name="weighed", value=hits_as_json(hits[: self.k], index)),
            ]
            # 5. Let the cross-encoder reorder the first.
            if self.rerank:
                hits = rerank(question, hits, index, models, self.rerank)
                trace.append(Step(name="reranked", value=hits_as_json(hits[: self.k], index)))
            why = self._why(
                [hit.n for hit in hits[: self.k]], ranked, start, second, named, network, walked, index
            )
        return pack_chunks(
            question,
            "walk",
            index,
            hits[:RANKED],
            why,
            k=self.k,
            max_tokens=self.max_tokens,
            trace=trace,
        )

    def _by_clauses(
        self, clauses: Sequence[str], dense: Sequence[Hit], cosines: Cosines, index: Snapshot
    ) -> tuple[list[Hit], list[str]]:
        """Choose passages that cover the clauses, and explain each by its clause.

        A clause has points of BM25 of its own. Its cosine is that of the question as a whole: vectors of clauses find
        no more (benchmarks/results/walk.md), and each costs as much as all the rest.
        """
        matches = [
            match_passages(index.search_words(clause, self.depth), dense, cosines, self.clause_word_weight)
            for clause in clauses
        ]
        found = cover_clauses(matches, seeds=self.seeds, sharpness=self.sharpness, most=RANKED)
        ranks = [{hit.n: rank for rank, hit in enumerate(hits, 1)} for hits in matches]
        why = [f"rank {ranks[c][hit.n]} for the clause “{clauses[c]}”" for hit, c in found]
        return [hit for hit, _ in found], why

    def _second_search(
        self, question: str, ranked: _Ranked, starts: Sequence[int], cosines: Cosines, index: Snapshot
    ) -> dict[int, tuple[float, Bridge]]:
        """Search by each name of some passages and what the question still asks.

        Args:
            question: the question.
            ranked: the passages found so far.
            starts: positions in `ranked` of the passages whose names are searched for.
            cosines: with the question.
            index: where to search.

        Returns:
            Weights of the passages found, each with the name that found it. What is found from one passage weighs
            `bridge_share` of its mass; of a passage found from several the weights add up, and the first name stays.
        """
        rows = ranked.chunks[list(starts)].tolist()
        chunks = index.chunks(rows)
        titles = index.titles([chunk.document for chunk in chunks])
        second: dict[int, tuple[float, Bridge]] = {}
        for row, chunk, mass in zip(rows, chunks, ranked.mass[list(starts)].tolist(), strict=True):
            best: dict[int, tuple[float, Bridge]] = {}
            for bridge in bridges(
                question,
                titles.get(chunk.document, ""),
                chunk.text,
                sentences=self.bridge_sentences,
                names=self.bridge_names,
            ):
                words = index.search_words(f"{bridge.name} {bridge.rest}", self.bridge_depth)
                for hit in match_passages(words, (), cosines, self.word_weight):
                    # Of equals the first name.
                    if hit.n != row and (hit.n not in best or hit.score > best[hit.n][0]):
                        best[hit.n] = hit.score, bridge
            hits = sorted((Hit(n, score) for n, (score, _) in best.items()), key=lambda h: (-h.score, h.n))
            for n, weight in match_weights(hits[: self.seeds + 1], self.sharpness):
                if weight > 0:
                    before, bridge = second.get(n, (0.0, best[n][1]))
                    second[n] = before + self.bridge_share * mass * weight, bridge
        return second

    def network(self, index: Snapshot) -> Network:
        """Build the network of the walk: passages and names, with the edge weights of the parameters."""
        graph = index.names
        kinds = (
            EdgeKind(graph.titles, self.title_edges),
            EdgeKind(graph.links, weighted=False),
            EdgeKind(graph.shared, self.shared_edges, weighted=False),
        )
        return index.network(kind for kind in kinds if kind.factor)

    def _rescore(self, mixed: Walk, known: Cosines, graph: TitleGraph) -> _Ranked:
        """Rank passages by mass times ``exp(relevance * (cosine + best hop))``, the remaining ones by mass."""
        reached = mixed.top(max(RANKED, self.rescored), last=graph.n_chunks)
        chunks = np.array([v for v, _ in reached], dtype=np.int64)
        mass = np.array([s for _, s in reached])
        n = min(self.rescored, len(chunks)) if self.relevance else 0
        scores, cosines, previous = mass.copy(), np.full(len(chunks), np.nan), np.full(len(chunks), -1)
        order = np.arange(len(chunks))
        if n:
            cosines[:n] = known.of(chunks[:n].tolist())
            hops, positions = best_hops(
                chunks[:n], cosines[:n], graph, first=self.hop_starts, common=self.max_name_passages
            )
            similarity = cosines[:n] + hops
            # Relative to the best, so that no score exceeds its mass.
            scores[:n] *= np.exp(self.relevance * (similarity - similarity.max()))
            previous[:n] = np.where(positions >= 0, chunks[positions], -1)
            order[:n] = np.lexsort((chunks[:n], -np.round(scores[:n], DIGITS)))
            scores[n:] = np.minimum(scores[n:], scores[:n].min())
        return _Ranked(chunks[order], scores[order], mass[order], cosines[order], previous[order])

    def _why(
        self,
        chunks: Sequence[int],
        ranked: _Ranked,
        start: Mapping[int, float],
        second: Mapping[int, tuple[float, Bridge]],
        named: Sequence[tuple[TextMention, int, int]],
        network: Network,
        walked: Walk,
        index: Snapshot,
    ) -> list[str]:
        """Explain each passage: its own match, the path of the walk to it, and the passage before it."""
        positions = {int(c): i for i, c in enumerate(ranked.chunks)}
        routes = strongest_paths(network, walked, chunks, damping=self.damping)
        previous = [int(ranked.previous[positions[c]]) for c in chunks]
        own = self.own_share * (1.0 - math.fsum(weight for weight, _ in second.values()))
        asked = {vertex: name.text for name, vertex, _ in named}
        labels = vertex_labels([*routes, [c for c in previous if c >= 0]], asked, index)
        texts = []
        for c, route, before in zip(chunks, routes, previous, strict=True):
            i = positions[c]
            text = f"mass {ranked.mass[i]:.6f}"
            if c in start and ranked.mass[i] > 0:
                text += f", {own * start[c] / ranked.mass[i]:.0%} of it for its own match"
            if c in second:
                text += f"; found by the name {second[c][1].name}"
            if np.isfinite(ranked.cosines[i]):
                text += f"; cosine {ranked.cosines[i]:.3f} with the question"
            if len(route) > 1:
                text += f"; the walk came by {' → '.join(labels[v] for v in route)}"
            if route[0] in asked:
                text += ", a name in the question"
            if before >= 0:
                text += f"; read after {labels[before]}"
            texts.append(text)
        return texts


def mix_with_start(walked: Walk, start: Mapping[int, float], share: float) -> Walk:
    """Mix the scores of a walk with the weights of its start, where both sum to 1."""
    own = np.array([start.get(v, 0.0) for v in walked.vertices.tolist()])
    return Walk(walked.vertices, (1.0 - share) * walked.scores + share * own, (1.0 - share) * walked.missing)


def mix_in(walked: Walk, weights: Mapping[int, float]) -> Walk:
    """Add weights to a walk, also of vertices that it did not reach; its own scores shrink, so that the sum stays."""
    if not weights:
        return walked
    left = 1.0 - math.fsum(weights.values())
    vertices = np.union1d(walked.vertices, np.array(list(weights), dtype=np.int64))
    more = np.array([weights.get(v, 0.0) for v in vertices.tolist()])
    return Walk(vertices, left * walked.at(vertices) + more, left * walked.missing)


def _hit(ranked: _Ranked, i: int) -> Hit:
    return Hit(int(ranked.chunks[i]), round(float(ranked.scores[i]), DIGITS))
