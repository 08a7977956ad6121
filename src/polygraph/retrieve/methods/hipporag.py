"""HippoRAG 2: passages by personalized PageRank from the facts that match the question.

Gutiérrez et al. (2025), arXiv:2502.14802, section 3, and the published code. A fact is a triple. The recommended
variant differs in four ways: facts are found in two steps (`rescored`), with the names that the graph has for things
beside those in the question; the second step reads what the passages say of a fact (`fact_texts`); and the weights of
a fact edge and a synonym edge between one pair add up instead of one replacing the other. Names keep the letters of
all scripts; the code drops everything but a to z.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import dot_rows, largest
from polygraph.graph.edges import overwrite
from polygraph.graph.embedding_texts import triple_text
from polygraph.graph.pagerank import EdgeKind, Network, Walk, strongest_paths, walk
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Retrieval, Step, Triple
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import scores_as_json
from polygraph.retrieve.question_names import in_names_of_graph, other_names_in_question
from polygraph.retrieve.row_texts import fact_statements, names_as_asked
from polygraph.retrieve.steps import RANKED, embed_at_once, embed_question, hits_as_json, pack_chunks
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit, top
from polygraph.tasks.evidence.filter_facts import relevant_facts

Floats = NDArray[np.float64]
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class _Phrase:
    """An entity that seeds the walk (the paper's phrase node)."""

    n: int
    id: str
    name: str
    weight: float
    n_chunks: int
    facts: tuple[Triple, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRAG:
    """Walk from the facts that match the question to the passages that state them."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"chunks", "chunk_vectors", "graph", "mentions", "facts", "synonyms", "fact_vectors"}
    )
    calls: ClassVar[str] = "2"

    facts: int = 5
    """Facts that match the question, before the filter (code: 5)."""
    rescored: int = 50
    """Facts, the nearest by the fast name embedder, that are compared again by the passage embedder; 0 to rely on the
    fast embedder (ours; the paper uses one large embedder for everything)."""
    fact_texts: Literal["statements", "triples"] = "statements"
    """What is compared again. `statements`: the fact with the names that documents write, and what its passages say of
    the two (ours); `triples`: subject, predicate and object (code)."""
    scale: Literal["near", "all"] = "near"
    """Facts whose range of scores is scaled to [0, 1]: the `rescored` nearest (ours), or all (code), whose lowest score
    is then sought among the `rescored` furthest by the fast name embedder."""
    filter: bool = True
    """Drop facts that do not help: by the model, or by shared words without one (paper: recognition memory)."""
    phrases: int = 5
    """Entities of the kept facts that seed the walk (code: 5)."""
    passage_weight: float = 0.05
    """Weight of a passage's own similarity among the seeds (paper, table 7: 0.05)."""
    seed_passages: int = 10_000
    """Passages that seed the walk, those nearest to the question; 0 for all (ours: with all, the cost grows with the
    index, and passages far from the question take the weight of its facts; paper and code: all)."""
    damping: float = 0.5
    """Chance of following an edge rather than restarting, in [0, 1) (paper and code: 0.5)."""
    combine: Literal["sum", "overwrite"] = "sum"
    """For a pair with a fact edge and a synonym edge: add the weights (ours), or let the synonym replace the fact
    (code)."""
    entity_edges: float = 1.0
    """Weight factor of edges between entities, against edges to passages (ours: 1; code: 2, since it adds both
    directions)."""
    tolerance: float = 1e-6
    """Mass per edge that the walk may leave behind, see `graph.pagerank.walk` (ours; code: exact, on the whole
    graph)."""
    k: int = 10
    """Passages that go into the context (ours, as for `naive`; paper: 5)."""
    max_tokens: int = 6_000
    """Budget of the context (ours; the code has none)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank passages for the question; ties by passage order."""
        require(index, "hipporag", self.needs, models)
        called = other_names_in_question(question, index) if self.rescored else {}
        in_names = in_names_of_graph(question, called, index)
        (asked,), (vector,) = embed_at_once([[in_names]], models, question=question)
        # 1. Facts that match the question, filtered by recognition memory.
        compared = vector if in_names == question else embed_question(in_names, models)
        matched = self._matched(asked, compared, index, models)
        kept = matched
        if self.filter:
            facts = [t for t, _ in matched]
            ends = dict.fromkeys(end for t in facts for end in (t.source, t.target))
            names = names_as_asked(list(ends), index, called) if models.chat is not None else {}
            chosen = relevant_facts(question, facts, models, method="hipporag", names=names)
            kept = [matched[i] for i in chosen]
        trace = [
            Step(name="facts", value=scores_as_json((t.id, s) for t, s in matched)),
            Step(name="kept", value=[t.id for t, _ in kept]),
        ]
        # 2. Entities of these facts: fact score over number of passages, averaged over their facts.
        phrases = self._phrases(kept, index)
        if not phrases:
            # Without facts, fall back to dense retrieval (paper, section 3.3).
            reason = "no fact matches the question" if not matched else "the filter kept no fact"
            return self._dense(question, vector, index, [*trace, Step(name="fallback", value=reason)])
        # 3. Every passage is a weak seed, by its own similarity.
        rows, priors = self._priors(vector, index)
        # 4. Walk; the ranking is that of the passage nodes.
        network = self.network(index)
        seeds = np.concatenate([[p.n for p in phrases], rows + index.n_entities]).astype(np.int64)
        weights = np.concatenate([[p.weight for p in phrases], priors])
        walked = walk(network, seeds, weights, damping=self.damping, tolerance=self.tolerance)
        found = walked.top(RANKED, first=index.n_entities)
        hits = [Hit(vertex - index.n_entities, round(score, _DIGITS)) for vertex, score in found]
        trace += [
            Step(
                name="phrases",
                value=[[p.id, round(p.weight, 6), p.n_chunks, len(p.facts)] for p in phrases],
            ),
            Step(
                name="passages",
                # Rows ascend, so that ties by position are ties by row.
                value=hits_as_json([Hit(int(rows[h.n]), h.score) for h in top(priors, self.k)], index),
            ),
            Step(name="walk", value=hits_as_json(hits[: self.k], index)),
            Step(name="missing", value=round(walked.missing, 6)),
        ]
        dense = index.chunk_similarities(vector, [hit.n for hit in hits[: self.k]])
        why = self._why(hits[: self.k], dense, phrases, network, walked, index)
        return pack_chunks(
            question,
            "hipporag",
            index,
            hits,
            why,
            k=self.k,
            max_tokens=self.max_tokens,
            trace=trace,
        )

    def _matched(
        self, asked: Vectors, vector: Vectors, index: Snapshot, models: Models
    ) -> list[tuple[Triple, float]]:
        """Return the facts nearest to the question, with scores scaled to [0, 1] among all that were compared.

        Args:
            asked: the question, embedded like the facts, shape ``(dimension,)``.
            vector: the same, embedded like the chunks.
            index: the snapshot.
            models: in use.
        """
        near = [hit.n for hit in index.search_facts(asked, self.rescored or self.facts)]
        triples = index.triples(near)
        near = [n for n in near if n in triples]
        if not near:
            return []
        if self.rescored:
            far = self._furthest(index.fact_scores(asked), set(near)) if self.scale == "all" else []
            triples |= index.triples(far)
            texts = self._texts([triples[n] for n in (*near, *far) if n in triples], index)
            vectors = models.calls.embed(models.embedder, texts, "document", stage="facts", method="hipporag")
            again = np.round(dot_rows(np.asarray(vectors), vector), 6)
            scaled = _min_max(again, again[: len(near)])
        else:
            scores = index.fact_scores(asked)
            finite = scores[np.isfinite(scores)]
            scaled = _min_max(finite, scores[near])
        order = np.lexsort((np.array(near), -scaled))[: self.facts]
        return [(triples[near[i]], float(scaled[i])) for i in order]

    def _texts(self, facts: Sequence[Triple], index: Snapshot) -> list[str]:
        if self.fact_texts == "triples":
            return [triple_text(fact) for fact in facts]
        return fact_statements(facts, index)

    def _furthest(self, scores: NDArray[np.float32], near: set[int]) -> list[int]:
        """Return the `rescored` facts with the lowest scores that are not among the nearest; ties by row."""
        rows = np.flatnonzero(np.isfinite(scores))
        order = rows[np.lexsort((rows, scores[rows]))]
        return [n for n in order[: self.rescored].tolist() if n not in near]

    def _phrases(self, facts: Sequence[tuple[Triple, float]], index: Snapshot) -> list[_Phrase]:
        """Rank the entities of facts by weight, then row."""
        ends: dict[str, list[tuple[Triple, float]]] = {}
        for triple, score in facts:
            for end in (triple.source, triple.target):
                ends.setdefault(end, []).append((triple, score))
        numbers = index.entity_rows(list(ends))
        rows = sorted(numbers.values())
        # An edge for each passage: a hub has more of them than are worth reading.
        n_passages = index.edges("mentions").degrees_of(rows)
        found = [
            _Phrase(
                n=n,
                id=entity.id,
                name=entity.name,
                weight=sum(s for _, s in ends[entity.id]) / len(ends[entity.id]) / max(1, passages),
                n_chunks=passages,
                facts=tuple(t for t, _ in ends[entity.id]),
            )
            for n, entity, passages in zip(
                rows, index.entities(rows, most_chunks=1), n_passages.tolist(), strict=True
            )
        ]
        # The fact with the lowest score has no weight, and a walk cannot start from nothing.
        found = [phrase for phrase in found if phrase.weight > 0]
        return sorted(found, key=lambda p: (-round(p.weight, _DIGITS), p.n))[: self.phrases]

    def _priors(self, vector: Vectors, index: Snapshot) -> tuple[NDArray[np.int64], Floats]:
        """Return the passages that seed the walk, by row, with their weights."""
        if 0 < self.seed_passages < index.n_chunks and index.approximates_chunks(self.seed_passages):
            nearest = index.nearest_chunks(vector, self.seed_passages)
            order = np.argsort(nearest.rows)
            rows, scores = nearest.rows[order], nearest.scores[order]
            # The furthest passage is the nearest to the opposite direction.
            low = [-hit.score for hit in index.search_chunks(-vector, 1)]
            priors = self.passage_weight * _min_max(np.array([*scores, *low]), scores)
            return rows, priors
        dense = index.chunk_scores(vector)
        rows = np.flatnonzero(np.isfinite(dense))
        priors = self.passage_weight * _min_max(dense[rows])
        if 0 < self.seed_passages < len(rows):
            best = largest(priors, self.seed_passages)
            rows, priors = rows[best], priors[best]
        return rows, priors

    def network(self, index: Snapshot) -> Network:
        """Build the network of the walk: facts and synonyms between entities, mentions to passages."""
        facts, synonyms = index.edges("facts"), index.edges("synonyms")
        if self.combine == "overwrite":
            between = [index.derived("hipporag overwrite", lambda: overwrite(facts, synonyms))]
        else:
            between = [facts, synonyms]
        kinds = [EdgeKind(graph, self.entity_edges) for graph in between]
        return index.network((*kinds, EdgeKind(index.edges("mentions"), weighted=False)))

    def _dense(self, question: str, vector: Vectors, index: Snapshot, trace: Sequence[Step]) -> Retrieval:
        """Rank passages by dense retrieval alone."""
        hits = index.search_chunks(vector, RANKED)
        reason = trace[-1].value
        return pack_chunks(
            question,
            "hipporag",
            index,
            hits,
            [f"cosine {hit.score:.3f} with the question; {reason}" for hit in hits],
            k=self.k,
            max_tokens=self.max_tokens,
            trace=trace,
        )

    def _why(
        self,
        hits: Sequence[Hit],
        dense: NDArray[np.float32],
        phrases: Sequence[_Phrase],
        network: Network,
        walked: Walk,
        index: Snapshot,
    ) -> list[str]:
        """Explain each passage: its own similarity, and the path by which most of its score came."""
        routes = strongest_paths(
            network, walked, [hit.n + index.n_entities for hit in hits], damping=self.damping
        )
        vertices = sorted({vertex for route in routes for vertex in route})
        rows = [v for v in vertices if v < index.n_entities]
        passages = [v for v in vertices if v >= index.n_entities]
        names = index.names_by_row(rows)
        chunks = index.chunks([v - index.n_entities for v in passages])
        names |= {v: chunk.id for v, chunk in zip(passages, chunks, strict=True)}
        seeded = {p.n: p.facts[0] for p in phrases}
        texts = []
        for hit, cosine, route in zip(hits, dense.tolist(), routes, strict=True):
            text = f"walk {hit.score:.6f}; cosine {cosine:.3f} with the question"
            if len(route) > 1:
                text += f"; most of it came by {' → '.join(names[v] for v in route)}"
            if route[0] in seeded:
                fact = seeded[route[0]]
                text += f", from the fact ({fact.source} → {fact.predicate} → {fact.target})"
            texts.append(text)
        return texts


def _min_max(values: NDArray[np.floating], some: NDArray[np.floating] | None = None) -> Floats:
    """Scale `some` of the values, default all, to [0, 1] by the range of all; all 1 if they are equal (as the code)."""
    low, high = float(values.min()), float(values.max())
    wanted = np.asarray(values if some is None else some, dtype=np.float64)
    return (wanted - low) / (high - low) if high > low else np.ones(len(wanted))
