"""The two levels of LightRAG and ROGRAG: entities by the details of a question, relations by its themes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from polygraph.models import Models
from polygraph.records import Cut, Entity, EvidenceKind, Relation, Step
from polygraph.retrieve.evidence import as_json
from polygraph.retrieve.linked_passages import owned
from polygraph.retrieve.pack import fitting
from polygraph.retrieve.steps import RANKED, embed_names, rerank
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.text.tokens import count_many

R = TypeVar("R", Entity, Relation)
_HEADING_TOKENS = 8
_MOST_RELATIONS = 1_000
"""Relations of the matched entities that are looked at after ordering; no budget holds more rows."""


@dataclass(frozen=True, slots=True)
class Level:
    """What one level found: rows best first, and by id why."""

    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    whys: dict[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()


def by_details(
    texts: Sequence[str],
    index: Snapshot,
    models: Models,
    *,
    k: int,
    threshold: float,
    seeds: Mapping[int, str] | None = None,
) -> Level:
    """Find entities by cosine with the details; then their relations by neighbours of both ends, then weight.

    Args:
        texts: what is searched for: usually one, all keywords joined. Of several the best cosine counts.
        index: with `entity_vectors`.
        models: in use.
        k: entities, at most.
        threshold: cosine that a hit must reach.
        seeds: rows of entities that come first whatever their cosine, with the reason.

    Returns:
        Ties by row.
    """
    found = [index.search_entities(vector, k) for vector in embed_names(texts, models)]
    cosines = {h.n: h.score for h in best_of(found, k, threshold)}
    reasons = {n: f"cosine {score:.3f} with the details of the question" for n, score in cosines.items()}
    reasons = {**(seeds or {}), **{n: why for n, why in reasons.items() if n not in (seeds or {})}}
    rows = list(reasons)
    kept = [(n, e) for n, e in zip(rows, index.entities(rows), strict=True) if e.chunks]
    entities = [e for _, e in kept]
    whys = {e.id: reasons[n] for n, e in kept}
    degrees = index.graph.degrees
    edges = index.relations_at(rows)
    ranks = {e.n: int(degrees[e.source] + degrees[e.target]) for e in edges}
    edges.sort(key=lambda e: (-ranks[e.n], -e.weight, e.n))
    relations = index.relations([e.n for e in edges[:_MOST_RELATIONS]])
    by_id = {e.id: e.name for e in entities}
    for n, r in relations.items():
        seed = by_id.get(r.source) or by_id.get(r.target, "")
        whys[r.id] = f"of {seed}; its ends have {ranks[n]} neighbours, weight {r.weight:.1f}"
    return Level(
        entities,
        list(relations.values()),
        whys,
        (
            Step(
                name="entities by details", value=as_json((e.id, cosines[n]) for n, e in kept if n in cosines)
            ),
            Step(
                name="relations of these",
                value=[[r.id, ranks[n], r.weight] for n, r in list(relations.items())[:RANKED]],
            ),
        ),
    )


def by_themes(texts: Sequence[str], index: Snapshot, models: Models, *, k: int, threshold: float) -> Level:
    """Find relations by cosine with the themes; then the entities at their ends in the order in which they are met.

    Arguments as for `by_details`; the index with `relation_vectors`.
    """
    found = [index.search_relations(vector, k) for vector in embed_names(texts, models)]
    hits = best_of(found, k, threshold)
    by_row = index.relations([h.n for h in hits])
    cosines = {by_row[h.n].id: h.score for h in hits if h.n in by_row}
    relations = [by_row[h.n] for h in hits if h.n in by_row]
    whys = {r.id: f"cosine {cosines[r.id]:.3f} with the themes of the question" for r in relations}
    ends = dict.fromkeys(end for r in relations for end in (r.source, r.target))
    numbers = index.entity_numbers(list(ends))
    entities = [e for e in index.entities([numbers[i] for i in ends if i in numbers]) if e.chunks]
    for r in reversed(relations):
        whys |= dict.fromkeys(
            (r.source, r.target), f"end of {r.id}, cosine {cosines[r.id]:.3f} with the themes"
        )
    return Level(
        entities,
        relations,
        whys,
        (
            Step(name="relations by themes", value=as_json((r.id, cosines[r.id]) for r in relations)),
            Step(name="entities of these", value=[e.id for e in entities]),
        ),
    )


def best_of(found: Sequence[Sequence[Hit]], k: int, threshold: float) -> list[Hit]:
    """The best hits of several searches, each row by its best score; ties by row.

    >>> [h.n for h in best_of([[Hit(1, 0.5), Hit(2, 0.3)], [Hit(2, 0.6), Hit(3, 0.1)]], 9, 0.2)]
    [2, 1]
    """
    best: dict[int, float] = {}
    for hits in found:
        for hit in hits:
            best[hit.n] = max(hit.score, best.get(hit.n, hit.score))
    kept = [Hit(n, score) for n, score in best.items() if score >= threshold]
    return sorted(kept, key=lambda h: (-h.score, h.n))[:k]


def stated(relations: Sequence[Relation]) -> list[tuple[str, str]]:
    """Passages of ranked relations with the reason, each with the first relation that cites it."""
    mine = owned([r.chunks for r in relations])
    return [(c, f"states {r.id}") for r, chunks in zip(relations, mine, strict=True) for c in chunks]


def reranked(
    question: str, chunks: Sequence[str], index: Snapshot, models: Models, top: int
) -> list[tuple[str, float]]:
    """Passages (ids) with the first `top` ordered anew by the cross-encoder, and its score; 0 for the others."""
    rows = index.chunk_numbers(chunks)
    names = {n: i for i, n in rows.items()}
    hits = rerank(question, [Hit(rows[i], 0.0) for i in chunks if i in rows], index, models, top)
    return [(names[h.n], h.score) for h in hits]


def within(
    rows: Sequence[R], lines: Sequence[str], budget: int, kind: EvidenceKind
) -> tuple[Sequence[R], tuple[Cut, ...]]:
    """Rows that fit a budget of their own, which does not grow by what other blocks leave, and what was cut.

    One row stays even where it will be shortened, so that there is something to find passages by.

    Args:
        rows: best first.
        lines: text of each.
        budget: tokens, heading included.
        kind: of the rows, for the record of the cut.
    """
    n = max(1, fitting(lines, budget - _HEADING_TOKENS))
    if n >= len(rows):
        return rows, ()
    return rows[:n], (
        Cut(kind=kind, n_items=len(rows) - n, n_tokens=sum(count_many(lines[n:])), budget=budget),
    )


def first_seen(rows: Sequence[R]) -> list[R]:
    """Each row once, where it is first seen."""
    found: dict[str, R] = {}
    for row in rows:
        found.setdefault(row.id, row)
    return list(found.values())
