"""Statements that fit a subject, a predicate and an object, of which any may be unknown: ROGRAG's `get_spo`.

Wang et al. (2025), arXiv:2503.06474; the three cases are those of the published code. Both ends known: paths of one
or two hops. One end known: what is stated of it, in both directions. Only a predicate known: the statements with the
predicate nearest to it. Then statements whose predicate is far from the one asked for are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from polygraph.graph.paths import paths
from polygraph.models import Models
from polygraph.records import Triple
from polygraph.retrieve.evidence import triple_line
from polygraph.retrieve.steps import embed_names
from polygraph.store.snapshot import Snapshot

_NAMESAKES = 3
"""Entities of one name that are taken together."""
_CANDIDATES = 2_000
"""Statements that are looked at for one step: of a hub those nearest to the question, ties by row."""
_TYPE_MISMATCH = 0.3
"""Factor on the score of a statement whose unknown end has another type than asked for (KAG)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingOptions:
    """How statements are matched; see the fields of the same names of `RogragLogic`."""

    link_threshold: float
    predicate_threshold: float
    max_hops: int
    facts: int
    min_facts: int
    whole_facts: bool
    rerank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedName:
    """A name, and the entities that it was linked to."""

    text: str
    rows: tuple[int, ...]
    """Empty if nothing is near enough."""
    score: float
    """Cosine with the name; 1 for one that is spelt as some entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement that fits."""

    n: int
    """Row of the triple."""
    triple: Triple
    source: int
    """Row of the subject's entity."""
    target: int
    score: float
    """Similarity with what is asked, by which it was kept."""
    why: str


def link_name(name: str, index: Snapshot, models: Models, threshold: float) -> LinkedName:
    """Link a name to an entity: one that is spelt so (with its namesakes), else the nearest by name alone.

    Args:
        name: any text.
        index: with `name_vectors`.
        models: in use.
        threshold: cosine that the nearest must reach.
    """
    spelt = index.entities_named([name]).get(name, [])
    spelt = [n for n, e in zip(spelt, index.entities(spelt), strict=True) if e.chunks][:_NAMESAKES]
    if spelt:
        return LinkedName(text=name, rows=tuple(spelt), score=1.0)
    hits = index.search_names(embed_names([name], models)[0], 1)
    near = [hit for hit in hits if hit.score >= threshold]
    return LinkedName(text=name, rows=tuple(h.n for h in near), score=near[0].score if near else 0.0)


def search_facts(
    question: str,
    subjects: Sequence[int],
    predicate: str,
    objects: Sequence[int],
    index: Snapshot,
    models: Models,
    how: MatchingOptions,
    *,
    type_wanted: str = "",
) -> list[Fact]:
    """Find the statements that fit a step, best first.

    Args:
        question: of the step; the reranker reads it.
        subjects: rows of the known subject, none if it is unknown.
        predicate: in words; empty for any.
        objects: rows of the known object, none if it is unknown.
        index: with `fact_vectors` and `predicate_vectors`.
        models: in use.
        how: thresholds and limits.
        type_wanted: of the unknown end.

    Returns:
        At most ``how.facts`` statements; ties by row. On paths, statements of one path stand together.
    """
    similar = _FactScorer(question, predicate, index, models, how)
    if subjects and objects:
        found = _on_paths(subjects, objects, similar)
        return found[: how.facts]
    if subjects or objects:
        known = tuple(subjects or objects)
        at = {n: (s, t) for n, s, t in index.triples_at(known)}
        found = similar.facts(at, f"stated of {_named(known, index)}")
    else:
        found = _by_predicate(predicate, similar)
    if not found and how.whole_facts:
        # An entity of which nothing is stated: what is stated near the question may still tell.
        found = _by_predicate(predicate, similar)
    found = similar.kept(_typed(found, set(subjects or objects), type_wanted, index))
    return _reranked(question, found, index, models, how.rerank)[: how.facts]


class _FactScorer:
    """Similarity of statements with a predicate, and with the whole question."""

    def __init__(
        self, question: str, predicate: str, index: Snapshot, models: Models, how: MatchingOptions
    ) -> None:
        self.index = index
        self.how = how
        self.predicate = predicate
        wanted, asked = embed_names([predicate or question, question], models)
        self.vector = wanted
        self.whole = index.fact_scores(asked)
        """Cosine of every statement with the question; ``-inf`` outside the filter."""

    def facts(self, at: dict[int, tuple[int, int]], why: str) -> list[Fact]:
        """Statements (row: rows of its ends) with their similarity, best first."""
        rows = [n for n in at if np.isfinite(self.whole[n])]
        if len(rows) > _CANDIDATES:
            rows = sorted(rows, key=lambda n: (-self.whole[n], n))[:_CANDIDATES]
        triples = self.index.triples(sorted(rows))
        by_predicate = self.index.predicate_similarities(
            self.vector, sorted({t.predicate for t in triples.values()})
        )
        found = []
        for n, triple in triples.items():
            score, how = by_predicate.get(triple.predicate, 0.0), "predicate"
            if not self.predicate or (self.how.whole_facts and float(self.whole[n]) > score):
                score, how = float(self.whole[n]), "statement"
            score = round(score, 6)
            found.append(
                Fact(
                    n=n,
                    triple=triple,
                    source=at[n][0],
                    target=at[n][1],
                    score=score,
                    why=f"{why}; {how} {score:.3f}",
                )
            )
        return sorted(found, key=lambda f: (-f.score, f.n))

    def kept(self, facts: list[Fact]) -> list[Fact]:
        """Those that reach the threshold, but at least as many as are always kept."""
        n = sum(f.score >= self.how.predicate_threshold for f in facts)
        return sorted(facts, key=lambda f: (-f.score, f.n))[: max(n, self.how.min_facts)]


def _on_paths(subjects: Sequence[int], objects: Sequence[int], similar: _FactScorer) -> list[Fact]:
    """Statements along paths, path by path: by the mean over its hops of the best similarity, then its length."""
    index, how = similar.index, similar.how
    routes = [
        path for a in subjects for b in objects if a != b for path in paths(index.graph, a, b, how.max_hops)
    ]
    if not routes:
        return []
    # Every hop of at most two has an end among the known entities; of longer paths all inner ones are asked for.
    inner = {v for path in routes for v in path[1:-1]} if how.max_hops > 2 else set()
    at = {n: (s, t) for n, s, t in index.triples_at(sorted({*subjects, *objects, *inner}))}
    hops = {frozenset(hop) for path in routes for hop in pairwise(path)}
    facts = similar.facts({n: ends for n, ends in at.items() if frozenset(ends) in hops}, "on a path")
    by_hop: dict[frozenset[int], list[Fact]] = {}
    for fact in facts:
        by_hop.setdefault(frozenset((fact.source, fact.target)), []).append(fact)
    scored = []
    for path in routes:
        steps = [by_hop.get(frozenset(hop), []) for hop in pairwise(path)]
        if all(steps):  # a hop whose statements the filter hides is no way through
            best = [step[0].score for step in steps]
            scored.append((sum(best) / len(best), max(best), path, steps))
    scored.sort(key=lambda s: (-round(s[0], 6), len(s[2]), s[2]))
    n_kept = sum(s[1] >= how.predicate_threshold for s in scored)
    kept = [s for s in scored if s[1] >= how.predicate_threshold] if n_kept else scored[: how.min_facts]
    found: dict[int, Fact] = {}
    for _, _, path, steps in kept:
        told = " – ".join(e.name for e in index.entities(path))
        for step in steps:
            for fact in step:
                found.setdefault(
                    fact.n, replace(fact, why=f"on the path {told}; {fact.why.partition('; ')[2]}")
                )
    return list(found.values())


def _by_predicate(predicate: str, similar: _FactScorer) -> list[Fact]:
    """Statements with the nearest predicate; and with `whole_facts` those nearest to the question."""
    index, how = similar.index, similar.how
    rows: list[int] = []
    named = ""
    if predicate:
        hits = [
            p for p, score in index.search_predicates(similar.vector, 1) if score >= how.predicate_threshold
        ]
        rows = index.triples_with(hits)
        named = hits[0] if hits else ""
    if how.whole_facts:
        order = np.lexsort((np.arange(len(similar.whole)), -similar.whole))[: how.facts]
        rows += order.tolist()
    triples = index.triples(sorted(set(rows)))
    numbers = index.entity_numbers(sorted({end for t in triples.values() for end in (t.source, t.target)}))
    at = {n: (numbers[t.source], numbers[t.target]) for n, t in triples.items()}
    return similar.facts(at, f"nearest predicate “{named}”" if named else "near the question")


def _typed(facts: list[Fact], known: set[int], wanted: str, index: Snapshot) -> list[Fact]:
    """Lower the score of statements whose unknown end is of another type."""
    if not wanted or not facts:
        return facts
    ends = {f.n: f.target if f.source in known or not known else f.source for f in facts}
    rows = sorted(set(ends.values()))
    types = {n: e.type.casefold() for n, e in zip(rows, index.entities(rows), strict=True)}
    return [
        f
        if wanted.casefold() in types[ends[f.n]] or types[ends[f.n]] in {"", wanted.casefold()}
        else replace(f, score=round(f.score * _TYPE_MISMATCH, 6), why=f"{f.why}; not of type {wanted}")
        for f in facts
    ]


def _reranked(question: str, facts: list[Fact], index: Snapshot, models: Models, top: int) -> list[Fact]:
    """Order the first statements anew by the cross-encoder, where there is one."""
    if models.reranker is None or not top or not facts:
        return facts
    names = entity_names(facts[:top], index)
    texts = [triple_line(f.triple, names) for f in facts[:top]]
    scores = models.calls.score(models.reranker, question, texts, stage="rerank")
    order = sorted(range(len(texts)), key=lambda i: (-round(float(scores[i]), 5), i))
    head = [replace(facts[i], why=f"{facts[i].why}; reranked, {float(scores[i]):.3f}") for i in order]
    return head + facts[top:]


def entity_names(facts: Sequence[Fact], index: Snapshot) -> dict[str, str]:
    """Names of the ends of some statements, by entity id."""
    rows = sorted({row for f in facts for row in (f.source, f.target)})
    return {e.id: e.name for e in index.entities(rows)}


def _named(rows: Sequence[int], index: Snapshot) -> str:
    return ", ".join(e.name for e in index.entities(rows))
