"""`walk` (ours): passages by a random walk over the names they share, with no language model.

A multi-hop question names one passage and asks about another, and a name connects the two: of a director, a county, a
ship. So passages that match the question pass weight to the passages whose title they mention. Each passage is then
rescored by its own similarity to the question and that of the passage that leads to it. A passage keeps a share of its
own match, so that names that lead nowhere do little harm. Where the second passage is not about the name itself but
mentions it, a second search finds it: by a name in the first passage and by what the question still asks. Personalized
PageRank as in `graph.pagerank`; the steps and defaults were chosen by the measurements of ``benchmarks/walk.py``.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import distinct
from polygraph.extract.titles.find_titles import TextMention, find_known_names
from polygraph.graph.pagerank import EdgeKind, Network, Walk, strongest_paths, walk
from polygraph.graph.title_graph import TitleGraph
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.bridges import Bridge, bridges
from polygraph.retrieve.clauses import MIN_STEMS, cover_clauses, split_clauses
from polygraph.retrieve.steps import RANKED, embed_question, hits_as_json, pack_chunks, rerank
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
_DIGITS = 9
"""Scores are rounded to this many digits, so that sums in another order give the same ranking."""


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
        start = _normalize([*_rarity_weights(named, self.name_weight), *match_weights(seeds, self.sharpness)])
        trace = [
            Step(name="names", value=[[name.text, n] for name, _, n in named]),
            Step(name="words", value=hits_as_json(words[: self.k], index)),
            Step(name="dense", value=hits_as_json(dense[: self.k], index)),
            Step(name="seeds", value=hits_as_json(seeds[: self.k], index)),
        ]
        clauses = split_clauses(question, min_stems=self.clause_stems) if self.clause_stems else []
        hits: list[Hit] = []
        why: list[str] = []
        if len(clauses) > 1 and not named and not _mostly_titled([hit.n for hit in seeds], graph):
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
            by_mass = [Hit(v, round(s, _DIGITS)) for v, s in mixed.top(self.k, last=graph.n_chunks)]
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
            order[:n] = np.lexsort((chunks[:n], -np.round(scores[:n], _DIGITS)))
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
        labels = _labels([*routes, [c for c in previous if c >= 0]], asked, index)
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


# --- seeds ----------------------------------------------------------------------------------------------


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


def search_starts(chunks: Numbers, titles: Sequence[int], graph: TitleGraph, most: int) -> list[int]:
    """Choose passages from which to search on.

    A question that names two things by their titles asks for what both lead to. A search from one of them alone would
    put what it finds before what the other leads to.

    Args:
        chunks: rows of passages, best first, at least one.
        titles: vertices of the titles in the question.
        graph: which passages a title has.
        most: number of passages to choose at most, at least 1.

    Returns:
        Positions in `chunks`: the first passage, then for each title without a chosen passage its first one, in order
        of the ranking.
    """
    starts = [0]
    owners, rows, _ = Network((EdgeKind(graph.titles),)).edges_at(np.array(titles, dtype=np.int64))
    titled = [set(rows[owners == i].tolist()) for i in range(len(titles))]
    for position, row in enumerate(chunks.tolist()):
        titled = [passages for passages in titled if int(chunks[starts[-1]]) not in passages]
        if len(starts) >= most or not titled:
            break
        if any(row in passages for passages in titled):
            starts.append(position)
    return starts


def _mostly_titled(chunks: Sequence[int], graph: TitleGraph) -> bool:
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
        Hit(n, round(c + word_weight * points.get(n, 0.0), _DIGITS))
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


def _rarity_weights(named: Sequence[tuple[TextMention, int, int]], total: float) -> list[tuple[int, float]]:
    """Divide a weight among names in inverse proportion to the number of their passages."""
    shares = [1.0 / n for _, _, n in named]
    return [(vertex, total * s / sum(shares)) for (_, vertex, _), s in zip(named, shares, strict=True)]


def _normalize(weights: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Scale weights to a sum of 1 and drop those of zero, in the order given."""
    total = math.fsum(weight for _, weight in weights)
    return {vertex: weight / total for vertex, weight in weights if weight > 0}


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
    return Hit(int(ranked.chunks[i]), round(float(ranked.scores[i]), _DIGITS))


# --- hops -----------------------------------------------------------------------------------------------


def best_hops(
    chunks: Numbers, cosines: Floats, graph: TitleGraph, *, first: int = 20, common: int = 20
) -> tuple[Floats, Numbers]:
    """Find the best hop that ends at each passage; a hop scores the sum of the cosines of its two passages.

    Args:
        chunks: rows of passages, most likely first, shape ``(n,)``.
        cosines: their cosines with the question, shape ``(n,)``.
        graph: names that connect passages.
        first: number of passages at which a hop may start.
        common: a name in more passages than this leads only to the document it titles.

    Returns:
        The score of each passage's best hop, or the lowest score of all hops for a passage without one; and the
        position of the passage at which that hop starts, the first of equals, -1 for none.
    """
    best, previous = np.full(len(chunks), -np.inf), np.full(len(chunks), -1, dtype=np.int64)
    for p, others in _hops(chunks, graph, first, common):
        better = others[cosines[p] + cosines[others] > best[others]]
        best[better], previous[better] = cosines[p] + cosines[better], p
    linked = previous >= 0
    lowest = float(best[linked].min()) if linked.any() else 0.0
    return np.where(linked, best, lowest), previous


def _hops(chunks: Numbers, graph: TitleGraph, first: int, common: int) -> Iterator[tuple[int, Numbers]]:
    """Yield the position of each starting passage with the positions its names lead to."""
    titled = _names_at(chunks, Network((EdgeKind(graph.titles),)), graph)
    mentioned = _names_at(chunks, Network((EdgeKind(graph.links), EdgeKind(graph.shared))), graph)
    # Only the names of starting passages can lead anywhere.
    names = distinct(np.concatenate([some[owners < first] for owners, some in (titled, mentioned)]))
    lead_to_mentions = names[graph.n_passages(names) <= common]
    positions_of: dict[int, set[int]] = {}
    for (owners, some), leading in ((titled, names), (mentioned, lead_to_mentions)):
        kept = np.isin(some, leading)
        for position, name in zip(owners[kept].tolist(), some[kept].tolist(), strict=True):
            positions_of.setdefault(name, set()).add(position)
    reached: dict[int, set[int]] = {}
    for owners, some in (titled, mentioned):
        starts = owners < first
        for position, name in zip(owners[starts].tolist(), some[starts].tolist(), strict=True):
            reached.setdefault(position, set()).update(positions_of.get(name, ()))
    for p in sorted(reached):
        others = reached[p] - {p}
        if others:
            yield p, np.array(sorted(others), dtype=np.int64)


def _names_at(chunks: Numbers, network: Network, graph: TitleGraph) -> tuple[Numbers, Numbers]:
    """Return the names at some passages, as positions of the passages and numbers of the names."""
    owners, others, _ = network.edges_at(chunks)
    return owners, others - graph.n_chunks


# --- labels ---------------------------------------------------------------------------------------------


def _labels(routes: Sequence[Sequence[int]], asked: dict[int, str], index: Snapshot) -> dict[int, str]:
    """Label vertices: passages by id, names as written in the question, in a title or in a passage next to them."""
    graph = index.names
    vertices = sorted({v for route in routes for v in route})
    rows = [v for v in vertices if v < graph.n_chunks]
    chunks = dict(zip(rows, index.chunks(rows), strict=True))
    labels = {v: chunk.id for v, chunk in chunks.items()} | asked
    titles = index.titles([chunk.document for chunk in chunks.values()])
    for route in routes:
        for v, neighbour in [*pairwise(route), *pairwise(route[::-1])]:
            if v not in labels and (chunk := chunks.get(neighbour)) is not None:
                is_this_name = graph.keys[[v - graph.n_chunks]].__eq__
                # The title first: it is much shorter, and usually it is the name.
                for text in (titles.get(chunk.document, ""), chunk.text):
                    if v not in labels and (written := find_known_names(text, is_this_name)):
                        labels[v] = written[0].text
    return {v: labels.get(v, "a name") for v in vertices}
