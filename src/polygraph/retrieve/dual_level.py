"""Dual-level retrieval of LightRAG and ROGRAG: entities by low-level keywords, relations by high-level keywords.

Low-level keywords name the details of a question, high-level keywords its themes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Cut, Entity, EvidenceKind, Relation, Step
from polygraph.retrieve.evidence import scores_as_json
from polygraph.retrieve.linked_passages import assign_to_first
from polygraph.retrieve.pack import HEAD_TOKENS, fitting_counts
from polygraph.retrieve.row_texts import ROW_TOKENS, RowTexts
from polygraph.retrieve.steps import RANKED, rerank
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import Hit
from polygraph.text.tokens import count_many

R = TypeVar("R")
_HEADING_TOKENS = 8
_COUNTED = 10
"""Rows beyond the budget whose tokens are counted; those of further rows are reckoned from these."""
_AT_ONCE = 8
"""Least number of rows that are written at once: each time costs several reads of the index."""
_MOST_RELATIONS = 600
"""Relations of the matched entities that are ranked, best first: as many as a budget of 8,000 tokens holds if each row
takes 13 tokens."""


class RelationReader:
    """Relations of a question, each read once and only when it is asked for.

    Args:
        index: the snapshot; its filter hides what rests on other documents.
    """

    def __init__(self, index: Snapshot) -> None:
        self._index = index
        self._known: dict[int, Relation] = {}

    def visible(self, rows: Sequence[int]) -> Sequence[int]:
        """Return the rows of the relations within the filter; without one none is read."""
        if self._index.documents_allowed is None:
            return rows
        found = self._index.relations(rows)
        self._known |= found
        return [n for n in rows if n in found]

    def heads(self, rows: Sequence[int]) -> list[tuple[str, float]]:
        """Return id and weight of relations by rows that are `visible`, in the order asked for."""
        if self._index.documents_allowed is None:
            return self._index.relation_heads(rows)
        return [(r.id, r.weight) for r in self.read(rows)]

    def read(self, rows: Sequence[int]) -> list[Relation]:
        """Return relations by rows that are `visible`, in the order asked for."""
        missing = [n for n in dict.fromkeys(rows) if n not in self._known]
        if missing:
            self._known |= self._index.relations(missing)
        return [self._known[n] for n in rows]


def _no_reason(_row: int, _relation: Relation) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Level:
    """Entities and relations found on one level, best first."""

    entities: Sequence[Entity] = ()
    relations: Sequence[int] = ()
    """Rows of the relations, which are read when they are needed."""
    whys: Mapping[str, str] = field(default_factory=dict)
    """Reasons of the entities by id."""
    reason: Callable[[int, Relation], str] = field(default=_no_reason)
    """Returns the reason of a relation from its row and itself; none if it is not of this level."""
    steps: tuple[Step, ...] = ()
    """For the trace."""


def search_low_level(
    queries: Vectors,
    index: Snapshot,
    reader: RelationReader,
    *,
    k: int,
    threshold: float,
    seeds: Mapping[int, str] | None = None,
    most_chunks: int | None = None,
) -> Level:
    """Find entities by cosine with the keywords, then their relations by degree of both ends, then weight.

    Args:
        queries: embedded as names, shape ``(n, dimension)``: usually one, all keywords joined. With several, the best
            cosine counts.
        index: with `entity_vectors`.
        reader: reads relations of the index.
        k: most entities.
        threshold: lowest cosine of a hit.
        seeds: rows of entities that come first whatever their cosine, with the reason.
        most_chunks: chunks of an entity that are read, the first ones; None for all.

    Returns:
        Entities and relations; ties by row, and of relations by the rows of their ends.
    """
    found = [index.search_entities(vector, k) for vector in queries]
    cosines = {h.n: h.score for h in merge_best(found, k, threshold)}
    reasons = dict(seeds or {})
    for n, score in cosines.items():
        reasons.setdefault(n, f"cosine {score:.3f} with the details of the question")
    rows = list(reasons)
    found_entities = index.entities(rows, most_chunks=most_chunks)
    kept = [(n, e) for n, e in zip(rows, found_entities, strict=True) if e.chunks]
    entities = [e for _, e in kept]
    whys = {e.id: reasons[n] for n, e in kept}
    sources, targets, weights = index.graph.edges_of(rows)
    degrees = index.graph.degrees_of(sources) + index.graph.degrees_of(targets)
    # They ascend by their ends, and sorting is stable.
    best = np.lexsort((-weights, -degrees))[:_MOST_RELATIONS]
    ranked = index.arrays.relations_between(
        list(zip(sources[best].tolist(), targets[best].tolist(), strict=True))
    )
    ranks = dict(zip(ranked, degrees[best].tolist(), strict=True))
    ns = reader.visible(ranked)
    by_id = {e.id: e.name for e in entities}

    def reason(n: int, r: Relation) -> str:
        if n not in ranks:
            return ""
        seed = by_id.get(r.source) or by_id.get(r.target, "")
        return f"of {seed}; its ends have {ranks[n]} neighbours, weight {r.weight:.1f}"

    return Level(
        entities,
        ns,
        whys,
        reason,
        (
            Step(
                name="entities by details",
                value=scores_as_json((e.id, cosines[n]) for n, e in kept if n in cosines),
            ),
            Step(
                name="relations of these",
                value=[
                    [i, ranks[n], weight]
                    for n, (i, weight) in zip(ns[:RANKED], reader.heads(ns[:RANKED]), strict=True)
                ],
            ),
        ),
    )


def search_high_level(
    queries: Vectors,
    index: Snapshot,
    reader: RelationReader,
    *,
    k: int,
    threshold: float,
    most_chunks: int | None = None,
) -> Level:
    """Find relations by cosine with the keywords, then the entities at their ends in order of appearance.

    Arguments as for `search_low_level`; the index needs `relation_vectors`.
    """
    found = [index.search_relations(vector, k) for vector in queries]
    hits = merge_best(found, k, threshold)
    cosines = {h.n: h.score for h in hits}
    visible = reader.visible([h.n for h in hits])
    relations = dict(zip(visible, reader.read(visible), strict=True))
    whys: dict[str, str] = {}
    ends = dict.fromkeys(end for r in relations.values() for end in (r.source, r.target))
    numbers = index.entity_rows(list(ends))
    rows = [numbers[i] for i in ends if i in numbers]
    entities = [e for e in index.entities(rows, most_chunks=most_chunks) if e.chunks]
    for n, r in reversed(relations.items()):
        whys |= dict.fromkeys((r.source, r.target), f"end of {r.id}, cosine {cosines[n]:.3f} with the themes")

    def reason(n: int, _: Relation) -> str:
        return f"cosine {cosines[n]:.3f} with the themes of the question" if n in relations else ""

    return Level(
        entities,
        visible,
        whys,
        reason,
        (
            Step(
                name="relations by themes",
                value=scores_as_json((r.id, cosines[n]) for n, r in relations.items()),
            ),
            Step(name="entities of these", value=[e.id for e in entities]),
        ),
    )


def merge_best(found: Sequence[Sequence[Hit]], k: int, threshold: float) -> list[Hit]:
    """Merge the hits of several searches, each row with its best score; ties by row.

    >>> [h.n for h in merge_best([[Hit(1, 0.5), Hit(2, 0.3)], [Hit(2, 0.6), Hit(3, 0.1)]], 9, 0.2)]
    [2, 1]
    """
    best: dict[int, float] = {}
    for hits in found:
        for hit in hits:
            best[hit.n] = max(hit.score, best.get(hit.n, hit.score))
    kept = [Hit(n, score) for n, score in best.items() if score >= threshold]
    return sorted(kept, key=lambda h: (-h.score, h.n))[:k]


def passages_of_relations(relations: Sequence[Relation]) -> list[tuple[str, str]]:
    """Return the passages of ranked relations with the reason, each with the first relation that cites it."""
    assigned = assign_to_first([r.chunks for r in relations])
    return [(c, f"states {r.id}") for r, chunks in zip(relations, assigned, strict=True) for c in chunks]


def rerank_passages(
    question: str, chunks: Sequence[str], index: Snapshot, models: Models, top: int
) -> list[tuple[str, float]]:
    """Reorder the first `top` passages by the cross-encoder; return ids with its scores, 0 for the others."""
    rows = index.chunk_rows(chunks)
    ids = {n: i for i, n in rows.items()}
    hits = rerank(question, [Hit(rows[i], 0.0) for i in chunks if i in rows], index, models, top)
    return [(ids[h.n], h.score) for h in hits]


def fit_rows(
    rows: Sequence[R], write: Callable[[Sequence[R]], Sequence[str]], budget: int, kind: EvidenceKind
) -> tuple[Sequence[R], tuple[Cut, ...]]:
    """Return the rows that fit a fixed budget, and a record of what was truncated.

    The budget does not grow by what other blocks leave unused. The first row always stays, even if it has to be
    shortened, because passages are found through rows. Rows are written until the budget is full: first as many as fit
    if all are as long as a row can be, then as many as fit if they are like the rows so far. `_COUNTED` more are
    written to be counted; the tokens of the rows after these are reckoned from the mean of those counted.

    Args:
        rows: best first.
        write: returns the text of each of some rows.
        budget: tokens, heading included.
        kind: kind of the rows, for the record.
    """
    counts: list[int] = []
    n, room = 0, budget - _HEADING_TOKENS
    while n == len(counts) < len(rows):
        a_row = HEAD_TOKENS + (sum(counts) / n if n else ROW_TOKENS)
        more = max(_AT_ONCE, int(room / a_row) - n)
        counts += count_many(write(rows[n : n + more]))
        n = fitting_counts(counts, room)
    n = max(1, n)
    if n >= len(rows):
        return rows, ()
    counts += count_many(write(rows[len(counts) : n + _COUNTED]))
    beyond = counts[n:]
    n_tokens = sum(beyond) if len(counts) == len(rows) else round(sum(beyond) / len(beyond) * (len(rows) - n))
    return rows[:n], (Cut(kind=kind, n_items=len(rows) - n, n_tokens=n_tokens, budget=budget),)


def fit_tables(
    entities: Sequence[Entity],
    relations: Sequence[int],
    reader: RelationReader,
    texts: RowTexts,
    entity_tokens: int,
    relation_tokens: int,
) -> tuple[Sequence[Entity], Sequence[int], tuple[Cut, ...]]:
    """Return the entities, and the rows of relations, that fit their budgets as in `fit_rows`, with what was cut."""
    kept, entity_cuts = fit_rows(entities, texts.entities, entity_tokens, "entity")
    kept_rows, relation_cuts = fit_rows(
        relations, lambda rows: texts.relations(reader.read(rows)), relation_tokens, "relation"
    )
    return kept, kept_rows, (*entity_cuts, *relation_cuts)


def deduplicate(rows: Iterable[Entity]) -> list[Entity]:
    """Keep the first occurrence of each entity."""
    found: dict[str, Entity] = {}
    for row in rows:
        found.setdefault(row.id, row)
    return list(found.values())
