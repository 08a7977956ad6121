"""Search for triples by subject, predicate and object, any of which may be unknown: ROGRAG's `get_spo`.

Wang et al. (2025), arXiv:2503.06474; the three cases are those of the published code. Both ends known: triples on paths
of one or two hops. One end known: its triples, in both directions. Only a predicate known: the triples with the nearest
predicate. Triples whose predicate is far from the requested one are then dropped.

Ours: where a model reads what is found, and no path joins both ends or an end is a phrase that is no name in the graph
(`conflict of interest`), the triples nearest to the question count too. The code ends the step without a path, and
links a phrase to the entity with the nearest name, whatever that is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.paths import paths
from polygraph.models import Models
from polygraph.records import Triple
from polygraph.retrieve.question_names import other_names_in_question
from polygraph.retrieve.row_texts import names_as_asked, triple_line
from polygraph.retrieve.steps import embed_names
from polygraph.store.snapshot import Snapshot

_NAMESAKES = 3
"""Most entities of one name that a name is linked to."""
_CANDIDATES = 2_000
"""Most triples scored per step: of a hub, those nearest to the question, ties by row."""
_TYPE_MISMATCH = 0.3
"""Factor on the score of a triple whose unknown end has another type than requested (KAG)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingOptions:
    """How triples are matched; see the fields of the same names of `RogragLogic`."""

    link_threshold: float
    predicate_threshold: float
    max_hops: int
    facts: int
    min_facts: int
    whole_facts: bool
    rerank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedName:
    """A name, and the entities it was linked to."""

    text: str
    rows: tuple[int, ...]
    """Rows of the entities; empty if none is near enough."""
    score: float
    """Cosine with the name; 1 for an exact match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A triple that fits."""

    n: int
    """Row of the triple."""
    triple: Triple
    source: int
    """Row of the subject's entity."""
    target: int
    """Row of the object's entity."""
    score: float
    """Similarity with the predicate or the question, by which it was kept."""
    why: str


def link_name(name: str, index: Snapshot, models: Models, threshold: float) -> LinkedName:
    """Link a name to the entities with exactly this name, or else to the one with the nearest name.

    Args:
        name: any text.
        index: with `name_vectors`.
        models: in use.
        threshold: lowest cosine of the nearest name.
    """
    exact = index.entities_named([name]).get(name, [])
    exact = [n for n, e in zip(exact, index.entities(exact, most_chunks=1), strict=True) if e.chunks]
    exact = exact[:_NAMESAKES]
    if exact:
        return LinkedName(text=name, rows=tuple(exact), score=1.0)
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
    options: MatchingOptions,
    *,
    type_wanted: str = "",
    is_phrase: bool = False,
) -> list[Fact]:
    """Find the triples that fit a step, best first.

    Args:
        question: of the step; the reranker reads it.
        subjects: rows of the known subject, none if it is unknown.
        predicate: in words; empty for any.
        objects: rows of the known object, none if it is unknown.
        index: with `fact_vectors` and `predicate_vectors`.
        models: in use.
        options: thresholds and limits.
        type_wanted: entity type of the unknown end; empty for any.
        is_phrase: whether an end was linked to the entity with the nearest name.

    Returns:
        At most ``options.facts`` triples; ties by row. Triples of one path stay together.
    """
    scorer = _FactScorer(question, predicate, index, models, options)
    known = tuple(dict.fromkeys((*subjects, *objects)))
    may_widen = options.whole_facts and models.chat is not None
    if subjects and objects:
        found = _on_paths(subjects, objects, scorer)
        if found and may_widen and is_phrase:
            found = _with_others(found, _near_question(scorer))
        if found or not may_widen:
            return scorer.read(found[: options.facts])
    found = _stated_of(known, scorer) if known else _by_predicate(predicate, scorer)
    if may_widen and (is_phrase or (subjects and objects)):
        found = _with_others(found, _near_question(scorer))
    if not found and options.whole_facts:
        # The entity has no triples: fall back to those near the predicate or the question.
        found = _by_predicate(predicate, scorer)
    found = scorer.select(_weigh_types(found, set(known), type_wanted, index))
    most = max(options.facts, options.rerank if models.reranker is not None else 0)
    facts = scorer.read(found[:most])
    return _rerank(question, facts, index, models, options.rerank)[: options.facts]


class _ScoredTriple(NamedTuple):
    """A triple that is not read yet; see `Fact`."""

    n: int
    source: int
    target: int
    score: float
    similarity: str
    """With what it was compared, and the cosine."""
    why: str


class _FactScorer:
    """Scores triples by similarity with a predicate and with the whole question."""

    def __init__(
        self, question: str, predicate: str, index: Snapshot, models: Models, options: MatchingOptions
    ) -> None:
        self.index = index
        self.options = options
        self.predicate = predicate
        self.predicate_vector, self.question_vector = embed_names([predicate or question, question], models)

    def score(self, rows: Sequence[int] | NDArray[np.int64], why: str) -> list[_ScoredTriple]:
        """Rank triples, given by row, by similarity."""
        some, whole = self._nearest(rows)
        by_predicate = self.index.predicate_similarities(self.predicate_vector, some)
        ends = self.index.arrays.triple_ends(some)
        found = []
        for (n, source, target), of_all, of_predicate in zip(ends, whole.tolist(), by_predicate, strict=True):
            score, compared = of_predicate, "predicate"
            if not self.predicate or (self.options.whole_facts and of_all > score):
                score, compared = of_all, "statement"
            score = round(score, 6)
            similarity = f"{compared} {score:.3f}"
            found.append(_ScoredTriple(n, source, target, score, similarity, f"{why}; {similarity}"))
        return sorted(found, key=lambda f: (-f.score, f.n))

    def _nearest(
        self, rows: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the triples that are scored with their cosine with the question, by row; none outside the filter."""
        some = np.asarray(rows, dtype=np.int64)
        scores = self.index.fact_similarities(self.question_vector, some)
        some, scores = some[np.isfinite(scores)], scores[np.isfinite(scores)]
        best = np.lexsort((some, -scores))[:_CANDIDATES]
        best = best[np.argsort(some[best])]
        return some[best], scores[best]

    def read(self, found: Sequence[_ScoredTriple]) -> list[Fact]:
        """Read triples that were chosen, in the order given."""
        triples = self.index.triples([f.n for f in found])
        return [
            Fact(n=f.n, triple=triples[f.n], source=f.source, target=f.target, score=f.score, why=f.why)
            for f in found
            if f.n in triples
        ]

    def select(self, facts: list[_ScoredTriple]) -> list[_ScoredTriple]:
        """Keep the triples that reach the threshold, but at least `min_facts`."""
        n = sum(f.score >= self.options.predicate_threshold for f in facts)
        return sorted(facts, key=lambda f: (-f.score, f.n))[: max(n, self.options.min_facts)]


def _on_paths(subjects: Sequence[int], objects: Sequence[int], scorer: _FactScorer) -> list[_ScoredTriple]:
    """Rank the triples on paths, path by path: by the mean of the best similarity per hop, then by length."""
    index, options = scorer.index, scorer.options
    routes = [
        path
        for a in subjects
        for b in objects
        if a != b
        for path in paths(index.graph, a, b, options.max_hops)
    ]
    if not routes:
        return []
    # On paths of two hops, every triple has a known end, which stands first.
    known = {*subjects, *objects}
    hops = {hop if hop[0] in known else hop[::-1] for path in routes for hop in pairwise(path)}
    facts = scorer.score(index.arrays.triples_between(sorted(hops)), "on a path")
    by_hop: dict[frozenset[int], list[_ScoredTriple]] = {}
    for fact in facts:
        by_hop.setdefault(frozenset((fact.source, fact.target)), []).append(fact)
    scored = []
    for path in routes:
        steps = [by_hop.get(frozenset(hop), []) for hop in pairwise(path)]
        if all(steps):  # the filter may hide all triples of a hop
            best = [step[0].score for step in steps]
            scored.append((sum(best) / len(best), max(best), path, steps))
    scored.sort(key=lambda s: (-round(s[0], 6), len(s[2]), s[2]))
    kept = [s for s in scored if s[1] >= options.predicate_threshold] or scored[: options.min_facts]
    found: dict[int, _ScoredTriple] = {}
    name_of = index.names_by_row(sorted({v for _, _, path, _ in kept for v in path}))
    for _, _, path, steps in kept:
        names = " – ".join(name_of[v] for v in path)
        for step in steps:
            for fact in step:
                found.setdefault(fact.n, fact._replace(why=f"on the path {names}; {fact.similarity}"))
    return list(found.values())


def _stated_of(known: Sequence[int], scorer: _FactScorer) -> list[_ScoredTriple]:
    """Rank the triples of some entities."""
    names = scorer.index.names_by_row(known)
    return scorer.score(
        scorer.index.arrays.triples_at(known), f"stated of {', '.join(names[n] for n in known)}"
    )


def _near_question(scorer: _FactScorer) -> list[_ScoredTriple]:
    """Rank the triples that are nearest to the question."""
    hits = scorer.index.search_facts(scorer.question_vector, scorer.options.facts)
    return scorer.score(sorted(hit.n for hit in hits), "near the question")


def _with_others(found: Sequence[_ScoredTriple], others: Sequence[_ScoredTriple]) -> list[_ScoredTriple]:
    """Return triples followed by others, each once."""
    kept = {f.n for f in found}
    return [*found, *(f for f in others if f.n not in kept)]


def _by_predicate(predicate: str, scorer: _FactScorer) -> list[_ScoredTriple]:
    """Rank the triples with the nearest predicate, and with `whole_facts` those nearest to the question."""
    index, options = scorer.index, scorer.options
    rows: list[int] = []
    nearest = ""
    if predicate:
        hits = index.search_predicates(scorer.predicate_vector, 1)
        predicates = [p for p, score in hits if score >= options.predicate_threshold]
        rows = index.triples_with(predicates)
        nearest = predicates[0] if predicates else ""
    if options.whole_facts:
        rows += [hit.n for hit in index.search_facts(scorer.question_vector, options.facts)]
    return scorer.score(
        sorted(set(rows)), f"nearest predicate “{nearest}”" if nearest else "near the question"
    )


def _weigh_types(
    facts: list[_ScoredTriple], known: set[int], wanted: str, index: Snapshot
) -> list[_ScoredTriple]:
    """Lower the score of triples whose unknown end has another type."""
    if not wanted or not facts:
        return facts
    ends = {f.n: f.target if f.source in known or not known else f.source for f in facts}
    rows = sorted(set(ends.values()))
    types = {n: e.type.casefold() for n, e in zip(rows, index.entities(rows, most_chunks=1), strict=True)}
    return [
        f
        if wanted.casefold() in types[ends[f.n]] or types[ends[f.n]] in {"", wanted.casefold()}
        else f._replace(score=round(f.score * _TYPE_MISMATCH, 6), why=f"{f.why}; not of type {wanted}")
        for f in facts
    ]


def _rerank(question: str, facts: list[Fact], index: Snapshot, models: Models, top: int) -> list[Fact]:
    """Reorder the first triples by the cross-encoder, if there is one."""
    if models.reranker is None or not top or not facts:
        return facts
    names = entity_names(facts[:top], index, question)
    texts = [triple_line(f.triple, names) for f in facts[:top]]
    scores = models.calls.score(models.reranker, question, texts, stage="rerank")
    order = sorted(range(len(texts)), key=lambda i: (-round(float(scores[i]), 5), i))
    head = [replace(facts[i], why=f"{facts[i].why}; reranked, {float(scores[i]):.3f}") for i in order]
    return head + facts[top:]


def entity_names(facts: Sequence[Fact], index: Snapshot, question: str = "") -> dict[str, str]:
    """Return the names of the ends of triples by entity id, those of namesakes with what tells them apart.

    What a question calls an entity stands behind another name of it.
    """
    ends = sorted({end for f in facts for end in (f.triple.source, f.triple.target)})
    return names_as_asked(ends, index, other_names_in_question(question, index) if question else {})
