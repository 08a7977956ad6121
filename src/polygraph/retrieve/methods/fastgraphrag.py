"""FastGraphRAG: entities by personalized PageRank from those of the question, then their relations and passages.

circlemind-ai/fast-graphrag, as published (there is no paper); the best system in arXiv:2506.06331. Similarities are
``(1 + cosine) / 2``, as in the code, so that its thresholds apply. The recommended variant differs in two ways: an
entity that the question names is a seed whatever its vector (`seed_names`), and a pair with several relations is one
edge (`multi_edges`).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from polygraph.arrays import look_up
from polygraph.graph.edges import overwrite, strongest, with_counts
from polygraph.graph.pagerank import EdgeKind, Network, Walk, inflow, walk
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Evidence, Relation, Retrieval, Step
from polygraph.retrieve.base import require
from polygraph.retrieve.evidence import (
    nothing_found,
    row_evidence,
    scores_as_json,
    spans_of_rows,
)
from polygraph.retrieve.linked_passages import best_passages
from polygraph.retrieve.pack import Block, pack
from polygraph.retrieve.row_texts import RowTexts
from polygraph.retrieve.steps import RANKED, chunk_evidence, embed_at_once, retrieved
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.keywords import question_entities

T = TypeVar("T")
Policy: TypeAlias = Literal["threshold", "top_k", "elbow"]
_FETCHED = 256
"""Relations read per batch, until enough of them pass the filter."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A text of the question, and the entities it matches."""

    text: str
    rows: tuple[tuple[int, float], ...]
    """Rows of the entities with their similarities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastGraphRAG:
    """Seed the entities of the question, walk, and keep what scores highest."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks", "graph", "entity_vectors", "facts", "synonyms"})
    calls: ClassVar[str] = "2"

    seed_names: bool = True
    """A name in the question that is an entity's name seeds that entity, whatever its vector (ours; code: vectors
    only)."""
    named_similarity: float = 0.7
    """Lowest similarity at which a named entity seeds its nearest entity (code: 0.7, a cosine of 0.4)."""
    generic_k: int = 20
    """Nearest entities that each other term, and the question as a whole, seeds (code: 20)."""
    generic_similarity: float = 0.5
    """Lowest similarity of these (code: 0.5, a cosine of 0)."""
    damping: float = 0.85
    """Chance of following an edge rather than restarting, in [0, 1) (code: 0.85)."""
    multi_edges: Literal["collapse", "keep"] = "collapse"
    """A pair with several relations is one edge (ours), or one edge per extracted row (code; inflates the pair)."""
    identities: int = 3
    """Identity edges of an entity, to entities of nearly the same name: a cosine of at least 0.8 (code: 3, similarity
    0.9)."""
    entity_policy: Policy = "threshold"
    """How entities are selected by score (code: `threshold`)."""
    threshold: float = 0.005
    """Lowest score for a policy of `threshold` (code: 0.005)."""
    max_entities: int = 128
    """Most entities (code: 128)."""
    relation_policy: Policy = "top_k"
    """How relations are selected, by the sum of the scores of their ends (code: `top_k`)."""
    max_relations: int = 64
    """Most relations (code: 64)."""
    chunk_policy: Policy = "top_k"
    """How passages are selected, by the sum of the scores of their relations (code: `top_k`)."""
    max_chunks: int = 8
    """Most passages (code: 8)."""
    entities_share: float = 0.25
    """Share of the budget for entities (code: 4,000 of 16,000)."""
    relations_share: float = 0.1875
    """Share for relations (code: 3,000 of 16,000); the rest is for passages."""
    tolerance: float = 1e-6
    """Mass per edge that the walk may leave behind, see `graph.pagerank.walk` (ours; code: exact, on the whole
    graph)."""
    max_tokens: int = 16_000
    """Budget of the context (code: 4,000 + 3,000 + 9,000, of 4 characters)."""

    def __call__(self, question: str, index: Snapshot, models: Models) -> Retrieval:
        """Retrieve for the question; every ranking breaks ties by row."""
        require(index, "fast-graphrag", self.needs, models)
        # 1. Entities of the question, and the entities of the graph they match.
        matches = self._matches(question, index, models)
        trace = [
            Step(name="matches", value=[[m.text, scores_as_json(_ids(dict(m.rows), index))] for m in matches])
        ]
        # 2. Restart weights of the walk.
        reset = _restart_weights(matches)
        if not reset:
            # The published code fails here, because the walk has nowhere to start.
            return nothing_found(
                question, "fast-graphrag", "no entity of the graph matches the question", index, tuple(trace)
            )
        # 3. Walk, then select entities, relations and passages.
        network = self.network(index)
        rows = sorted(reset)
        walked = walk(network, rows, [reset[n] for n in rows], damping=self.damping, tolerance=self.tolerance)
        ranked = select_top(
            walked.top(self.max_entities + 1),  # one more, because `elbow` may find its gap below the last
            self.entity_policy,
            limit=self.max_entities,
            threshold=self.threshold,
        )
        scores = dict(ranked)
        entities = dict(zip(scores, index.entities(list(scores), most_chunks=1), strict=True))
        relations = self._relations(scores, index)
        chunks = self._chunks(scores, relations, index)
        kept = select_top(chunks, self.chunk_policy, limit=self.max_chunks, threshold=self.threshold)
        trace += [
            Step(name="reset", value=scores_as_json(_ids(reset, index))),
            Step(name="entities", value=scores_as_json((entities[n].id, s) for n, s in ranked)),
            Step(name="relations", value=scores_as_json((r.id, s) for r, s in relations)),
            Step(name="chunks", value=scores_as_json(chunks[:RANKED])),
        ]
        texts = RowTexts(index, question)
        texts.entities(list(entities.values()))
        shown = texts.without_repeats([r for r, _ in relations])
        sums = {r.id: s for r, s in relations}
        spans = spans_of_rows([*entities.values(), *shown], index)
        whys = self._whys(ranked, matches, network, walked, index)
        entity_rows = tuple(
            row_evidence(entities[n], round(s, 6), why, index, texts, spans)
            for (n, s), why in zip(ranked, whys, strict=True)
        )
        relation_rows = tuple(
            row_evidence(
                r, round(sums[r.id], 6), f"its ends score {sums[r.id]:.4f} together", index, texts, spans
            )
            for r in shown
        )
        rest = 1 - self.entities_share - self.relations_share
        packed = pack(
            [
                Block(heading="## Entities", items=entity_rows, share=self.entities_share),
                Block(heading="## Relations", items=relation_rows, share=self.relations_share),
                Block(
                    heading="## Sources",
                    items=_sources(kept, relations, index),
                    share=rest,
                    counts=index.passage_tokens([chunk for chunk, _ in kept]),
                ),
            ],
            max_tokens=self.max_tokens,
        )
        return retrieved(
            question,
            "fast-graphrag",
            packed,
            ranking=[chunk for chunk, _ in chunks],
            trace=trace,
            empty_because=_why_nothing(len(ranked), self),
            max_tokens=self.max_tokens,
        )

    def _matches(self, question: str, index: Snapshot, models: Models) -> list[_Match]:
        """Match the texts of the question with entities; texts that match nothing are left out."""
        asked = question_entities(question, models, method="fast-graphrag")
        by_name = index.entities_named(asked.named) if self.seed_names else {}
        texts = [*asked.named, *asked.generic]
        vectors, whole = embed_at_once([texts, [question]], models)
        found: dict[int, _Match] = {}
        for i, text in enumerate(asked.named):
            # Outside a filter an entity has no passages.
            exact = [e for e in by_name.get(text, []) if index.entities([e], most_chunks=1)[0].chunks]
            if exact:
                found[i] = _Match(text, tuple((n, 1.0) for n in exact))
        texts.append("the whole question")
        found |= self._similar(texts, np.concatenate([vectors, whole]), len(asked.named), list(found), index)
        return [found[i] for i in range(len(texts)) if i in found and found[i].rows]

    def _similar(
        self, texts: Sequence[str], vectors: Vectors, n_named: int, but: Collection[int], index: Snapshot
    ) -> dict[int, _Match]:
        """Match texts, of which the first are names, with the entities nearest to them; by position."""
        # A text without any known word has a zero vector, whose similarity with everything would be 0.5.
        some = [i for i in range(len(texts)) if i not in but and vectors[i].any()]
        ks = [1 if i < n_named else self.generic_k for i in some]
        found: dict[int, _Match] = {}
        for i, hits in zip(some, index.search_each("entity_vectors", vectors[some], ks), strict=True):
            least = self.named_similarity if i < n_named else self.generic_similarity
            similar = ((hit.n, (1 + hit.score) / 2) for hit in hits)
            found[i] = _Match(texts[i], tuple((n, round(s, 6)) for n, s in similar if s >= least))
        return found

    def network(self, index: Snapshot) -> Network:
        """Build the network of the walk: relations and identities as edges of equal weight."""
        relations = index.edges("graph")
        name = f"identities {self.identities}"
        identities = index.derived(name, lambda: strongest(index.edges("synonyms"), self.identities))
        if self.multi_edges == "keep":
            counted = index.derived("parallel", lambda: with_counts(relations, index.edges("facts")))
            return index.network((EdgeKind(counted), EdgeKind(identities, weighted=False)))
        pairs = index.derived(f"relations and {name}", lambda: overwrite(relations, identities))
        return index.network((EdgeKind(pairs, weighted=False),))

    def _relations(self, scores: Mapping[int, float], index: Snapshot) -> list[tuple[Relation, float]]:
        """Select relations with an end among the selected entities, by the sum of the scores of their ends.

        Ties by the rows of the ends.
        """
        sources, targets, _ = index.graph.edges_of(list(scores))
        rows = np.array(sorted(scores), dtype=np.int64)
        of_row = np.array([scores[n] for n in rows.tolist()])
        sums = look_up(rows, of_row, sources, missing=0.0) + look_up(rows, of_row, targets, missing=0.0)
        # They ascend by their ends, and sorting is stable.
        order = np.argsort(-np.round(sums, 12), kind="stable")
        found: list[tuple[Relation, float]] = []
        # `elbow` looks for its gap beyond what it keeps.
        size = _FETCHED if self.relation_policy == "elbow" else self.max_relations
        for at in range(0, len(order), size):
            some = order[at : at + size]
            ns = index.arrays.relations_between(
                list(zip(sources[some].tolist(), targets[some].tolist(), strict=True))
            )
            part = list(zip(ns, sums[some].tolist(), strict=True))
            texts = index.relations([n for n, _ in part])
            found += [(texts[n], score) for n, score in part if n in texts]
            if len(found) >= self.max_relations:
                break
        return select_top(found, self.relation_policy, limit=self.max_relations, threshold=self.threshold)

    def _chunks(
        self,
        scores: Mapping[int, float],
        relations: Sequence[tuple[Relation, float]],
        index: Snapshot,
    ) -> list[tuple[str, float]]:
        """Rank passages by the sum of the scores of their relations; if there are no relations, of their entities."""
        holders: list[tuple[Sequence[str], float]] = [(r.chunks, s) for r, s in relations]
        if not relations:
            entities = index.entities(list(scores))
            holders = [(e.chunks, s) for e, s in zip(entities, scores.values(), strict=True)]
        sums: dict[str, float] = {}
        for chunks, score in holders:
            for chunk in chunks:
                sums[chunk] = sums.get(chunk, 0.0) + score
        # `elbow` looks for its gap among all.
        most = len(sums) if self.chunk_policy == "elbow" else max(RANKED, self.max_chunks)
        least = 0.0
        if len(sums) > most:
            # What is among the first after rounding is at most one last digit below.
            least = sorted(sums.values(), reverse=True)[most - 1] - 2e-9
        return best_passages({c: round(s, 9) for c, s in sums.items() if s >= least}, index, most)

    def _whys(
        self,
        ranked: Sequence[tuple[int, float]],
        matches: Sequence[_Match],
        network: Network,
        walked: Walk,
        index: Snapshot,
    ) -> list[str]:
        """Tell for each of the selected entities what seeded it, or where its score came from."""
        rows = [n for n, _ in ranked]
        came = inflow(network, walked, rows, damping=self.damping)
        # The entity from which a score came need not be selected itself.
        names = index.names_by_row(sorted({int(n) for n in came.strongest if n >= 0}))
        seeded: dict[int, str] = {}
        for match in matches:
            for n, similarity in match.rows:
                seeded.setdefault(n, f"seeded by {match.text!r} (similarity {similarity:.2f})")
        found = []
        by_others = came.contribution > came.restart
        for i, (n, score) in enumerate(ranked):
            why = [f"walk {score:.4f}", *([seeded[n]] if n in seeded else [])]
            if by_others[i]:
                why.append(f"most of it came by {names[int(came.strongest[i])]}")
            found.append("; ".join(why))
        return found


def select_top(
    ranked: Sequence[tuple[T, float]], policy: Policy, *, limit: int, threshold: float = 0.0
) -> list[tuple[T, float]]:
    """Keep the head of a ranking by a policy.

    Args:
        ranked: items with scores, best first.
        policy: `threshold` keeps scores of at least `threshold`; `top_k` the first `limit`; `elbow` everything above
            the largest gap between neighbours (the first such gap; of a single item, that item).
        limit: upper bound for every policy.
        threshold: lowest score, for `threshold`.

    >>> ranked = [("a", 0.5), ("b", 0.4), ("c", 0.1), ("d", 0.09)]
    >>> [[i for i, _ in select_top(ranked, p, limit=3, threshold=0.3)] for p in ("threshold", "top_k", "elbow")]
    [['a', 'b'], ['a', 'b', 'c'], ['a', 'b']]
    """
    if policy == "threshold":
        return [item for item in ranked if item[1] >= threshold][:limit]
    if policy == "elbow" and len(ranked) > 1:
        gaps = [a[1] - b[1] for a, b in pairwise(ranked)]
        return list(ranked[: min(gaps.index(max(gaps)) + 1, limit)])
    return list(ranked[:limit])


def _restart_weights(matches: Sequence[_Match]) -> dict[int, float]:
    """Scale the similarities of each text to a sum of 1; of several weights of one entity, the largest counts."""
    reset: dict[int, float] = {}
    for match in matches:
        total = sum(similarity for _, similarity in match.rows)
        for n, similarity in match.rows:
            reset[n] = max(reset.get(n, 0.0), similarity / total)
    return reset


def _why_nothing(n_entities: int, method: FastGraphRAG) -> str:
    if not n_entities:
        return f"no entity reaches the score of {method.threshold}"
    return f"nothing fits the budget of {method.max_tokens} tokens"


def _ids(rows: Mapping[int, float], index: Snapshot) -> list[tuple[str, float]]:
    """Return ids of entities with scores, best first, for a trace."""
    best = sorted(rows.items(), key=lambda item: (-item[1], item[0]))[:RANKED]
    ids = index.ids_by_row([n for n, _ in best])
    return [(ids[n], s) for n, s in best]


def _sources(
    chunks: Sequence[tuple[str, float]], relations: Sequence[tuple[Relation, float]], index: Snapshot
) -> tuple[Evidence, ...]:
    """Make evidence of the selected passages, each with the best of the relations it states."""
    best: dict[str, Relation] = {}
    counts: Counter[str] = Counter()
    for relation, _ in relations:
        for chunk in relation.chunks:
            best.setdefault(chunk, relation)
            counts[chunk] += 1
    scores = dict(chunks)
    found = index.chunks_by_id(list(scores))
    why = [
        f"{counts[c.id]} of the relations, best {best[c.id].source} — {best[c.id].target}"
        if c.id in best
        else "mentions the entities, which have no relation"
        for c in found
    ]
    return chunk_evidence(
        found, [scores[c.id] for c in found], why, index.headings([c.document for c in found])
    )
