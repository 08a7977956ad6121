"""HippoRAG 2: passages by personalised PageRank from the facts that match the question.

Gutiérrez et al. (2025), arXiv:2502.14802, section 3, and the published code. Differences of the recommended variant:
facts are found in two steps (`rescored`), and weights of fact and synonym edges of one pair add up instead of one
replacing the other. Names keep the letters of all scripts, where the code drops all but a to z.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.edges import overwrite
from polygraph.graph.embedding_texts import triple_text
from polygraph.graph.pagerank import EdgeKind, Network, Walk, paths, walk
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Retrieval, Step, Triple
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import as_json
from polygraph.retrieve.steps import RANKED, embed_question, hits_as_json, pack_chunks
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit, top
from polygraph.tasks.filter_facts import relevant_facts

Floats = NDArray[np.float64]
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class _Phrase:
    """An entity from which the walk sets out."""

    n: int
    id: str
    name: str
    weight: float
    n_chunks: int
    facts: tuple[Triple, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRAG:
    """Walk from the facts that match the question to the passages that hold them."""

    needs: ClassVar[frozenset[str]] = frozenset(
        {"chunks", "chunk_vectors", "graph", "mentions", "facts", "synonyms", "fact_vectors"}
    )
    calls: ClassVar[str] = "2"

    facts: int = 5
    """Facts that match the question, before the filter (code: 5)."""
    rescored: int = 50
    """So many facts, the nearest by the quick embedder of names, are compared again by the embedder of passages; 0: the
    quick one decides (ours; the paper has one large embedder for everything)."""
    filter: bool = True
    """Drop facts that do not help, by the model, or by shared words without one (paper: recognition memory)."""
    phrases: int = 5
    """Entities of the kept facts that seed the walk (code: 5)."""
    passage_weight: float = 0.05
    """Weight of a passage's own similarity among the seeds (paper, table 7: 0.05)."""
    damping: float = 0.5
    """Chance of following an edge rather than restarting, in [0, 1) (paper and code: 0.5)."""
    combine: Literal["sum", "overwrite"] = "sum"
    """A pair with a fact and a synonym edge: weights add up (ours), or the synonym's replaces the fact's (code)."""
    entity_edges: float = 1.0
    """Factor of edges between entities against those to passages (ours: 1; code: 2, as it adds both directions)."""
    tolerance: float = 1e-6
    """Mass per edge that the walk may leave behind, see `graph.walks.walk` (ours; code: whole graph, to the end)."""
    k: int = 10
    """Passages that go into the context (ours, as for `naive`; paper: 5)."""
    max_tokens: int = 6_000
    """Budget of the context (ours; the code has none)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Rank passages for the question; ties by passage order."""
        require(index, "hipporag", self.needs, models)
        vector = embed_question(question, models)
        dense = index.chunk_scores(vector)
        # 1. Facts that match the question, and of these the ones that help.
        matched = self._matched(question, vector, index, models)
        kept = matched
        if self.filter:
            chosen = relevant_facts(question, [t for t, _ in matched], models, method="hipporag")
            kept = [matched[i] for i in chosen]
        trace = [
            Step(name="facts", value=as_json((t.id, s) for t, s in matched)),
            Step(name="kept", value=[t.id for t, _ in kept]),
        ]
        # 2. Entities of these facts, by fact score over number of passages, averaged over their facts.
        phrases = self._phrases(kept, index)
        if not phrases:
            # With no fact left the question is answered by similarity alone (paper, section 3.3).
            reason = "no fact matches the question" if not matched else "the filter kept no fact"
            return self._dense(question, dense, index, [*trace, Step(name="fallback", value=reason)])
        # 3. Every passage is a faint seed, by its own similarity.
        rows = np.flatnonzero(np.isfinite(dense))
        priors = self.passage_weight * _min_max(dense[rows])
        # 4. Walk; the ranking is read off the passages.
        network = self._network(index)
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
            Step(name="passages", value=hits_as_json(top(_spread(rows, priors, len(dense)), self.k), index)),
            Step(name="walk", value=hits_as_json(hits[: self.k], index)),
            Step(name="missing", value=round(walked.missing, 6)),
        ]
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
            empty_because="the index holds no passages",
        )

    def _matched(
        self, question: str, vector: Vectors, index: Snapshot, models: Models
    ) -> list[tuple[Triple, float]]:
        """Facts most like the question, with scores scaled to [0, 1] among all that were compared."""
        scores = index.fact_scores(embed_question(question, models, names=True))
        near = [hit.n for hit in top(scores, self.rescored or self.facts)]
        triples = index.triples(near)
        near = [n for n in near if n in triples]
        if not near:
            return []
        if self.rescored:
            texts = [triple_text(triples[n]) for n in near]
            vectors = models.calls.embed(models.embedder, texts, "document", stage="facts", method="hipporag")
            scaled = _min_max(np.round(np.asarray(vectors) @ vector, 6))
        else:
            finite = scores[np.isfinite(scores)]
            scaled = _min_max(finite, scores[near])
        order = np.lexsort((np.array(near), -scaled))[: self.facts]
        return [(triples[near[i]], float(scaled[i])) for i in order]

    def _phrases(self, facts: Sequence[tuple[Triple, float]], index: Snapshot) -> list[_Phrase]:
        """Entities of facts, by weight, then row."""
        ends: dict[str, list[tuple[Triple, float]]] = {}
        for triple, score in facts:
            for end in (triple.source, triple.target):
                ends.setdefault(end, []).append((triple, score))
        numbers = index.entity_numbers(list(ends))
        rows = sorted(numbers.values())
        found = [
            _Phrase(
                n=n,
                id=entity.id,
                name=entity.name,
                weight=sum(s for _, s in ends[entity.id]) / len(ends[entity.id]) / max(1, len(entity.chunks)),
                n_chunks=len(entity.chunks),
                facts=tuple(t for t, _ in ends[entity.id]),
            )
            for n, entity in zip(rows, index.entities(rows), strict=True)
        ]
        # A fact of the lowest score gives no weight, and a walk must begin somewhere.
        found = [phrase for phrase in found if phrase.weight > 0]
        return sorted(found, key=lambda p: (-round(p.weight, _DIGITS), p.n))[: self.phrases]

    def _network(self, index: Snapshot) -> Network:
        """Facts and synonyms between entities, and entities with the passages that mention them."""
        facts, synonyms = index.edges("facts"), index.edges("synonyms")
        if self.combine == "overwrite":
            between = [index.derived("hipporag overwrite", lambda: overwrite(facts, synonyms))]
        else:
            between = [facts, synonyms]
        kinds = [EdgeKind(graph, self.entity_edges) for graph in between]
        return Network((*kinds, EdgeKind(index.edges("mentions"))))

    def _dense(
        self, question: str, dense: NDArray[np.float32], index: Snapshot, trace: Sequence[Step]
    ) -> Retrieval:
        """Passages by their own similarity."""
        hits = top(dense, RANKED)
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
            empty_because="the index holds no passages",
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
        """For each passage the way by which most of its score came, and its own similarity."""
        ways = paths(network, walked, [hit.n + index.n_entities for hit in hits], damping=self.damping)
        vertices = sorted({vertex for way in ways for vertex in way})
        rows = [v for v in vertices if v < index.n_entities]
        places = [v for v in vertices if v >= index.n_entities]
        names = {v: entity.name for v, entity in zip(rows, index.entities(rows), strict=True)}
        names |= {
            v: chunk.id
            for v, chunk in zip(places, index.chunks([v - index.n_entities for v in places]), strict=True)
        }
        seeded = {p.n: p.facts[0] for p in phrases}
        texts = []
        for hit, way in zip(hits, ways, strict=True):
            said = f"walk {hit.score:.6f}; cosine {dense[hit.n]:.3f} with the question"
            if len(way) > 1:
                said += f"; most of it came by {' → '.join(names[v] for v in way)}"
            if way[0] in seeded:
                fact = seeded[way[0]]
                said += f", from the fact ({fact.source} → {fact.predicate} → {fact.target})"
            texts.append(said)
        return texts


def _min_max(values: NDArray[np.floating], some: NDArray[np.floating] | None = None) -> Floats:
    """Scale values so that the least of all is 0 and the greatest 1; all 1 if they are the same (as the code)."""
    low, high = float(values.min()), float(values.max())
    wanted = np.asarray(values if some is None else some, dtype=np.float64)
    return (wanted - low) / (high - low) if high > low else np.ones(len(wanted))


def _spread(rows: NDArray[np.int64], values: Floats, n: int) -> Floats:
    """Values at their rows, ``-inf`` elsewhere."""
    spread = np.full(n, -np.inf)
    spread[rows] = values
    return spread
