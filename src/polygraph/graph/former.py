"""What a former graph was, as far as the next one is compared with it."""

from dataclasses import dataclass

import numpy as np

from polygraph.columns import Array
from polygraph.graph.merging import Merged


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerGraph:
    """What the tables show, as far as the next graph is compared with it."""

    ids: list[str]
    """Of the entities, by number."""
    entity_marks: Array
    sources: Array
    """Numbers of the ends of each relation."""
    targets: Array
    relation_marks: Array
    triple_sources: Array
    triple_targets: Array
    predicates: list[str]
    """Those of the triples, and maybe others, each once."""
    triple_predicates: Array
    """Positions in `predicates`."""
    triple_marks: Array

    @classmethod
    def of(cls, merged: Merged) -> "FormerGraph":
        """What the tables will show when a graph was written."""
        return cls(
            ids=merged.ids,
            entity_marks=merged.entity_marks,
            sources=merged.sources,
            targets=merged.targets,
            relation_marks=merged.relation_marks,
            triple_sources=merged.triple_sources,
            triple_targets=merged.triple_targets,
            predicates=merged.predicates,
            triple_predicates=merged.triple_predicates,
            triple_marks=merged.triple_marks,
        )


@dataclass(frozen=True, slots=True)
class Moves:
    """Where the rows of a table go."""

    new: Array
    """New number of each former row, -1 if it is gone."""
    same: Array
    """Which former rows are still as they were, number aside."""
    made: Array
    """Numbers of the rows that must be made, ascending."""


@dataclass(frozen=True, slots=True)
class GraphMoves:
    """The same for the tables of the graph."""

    ids: list[str]
    """Of the entities, by their new numbers."""
    entities: Moves
    relations: Moves
    triples: Moves


def moves(former: FormerGraph, merged: Merged) -> GraphMoves:
    """Compare two graphs, table by table."""
    number = {entity: n for n, entity in enumerate(merged.ids)}
    entities = np.array([number.get(entity, -1) for entity in former.ids], dtype=np.int64)
    width = max(len(merged.ids), 1)
    old = _key(entities, former.sources, former.targets, width)
    new = merged.sources * width + merged.targets
    relations = _moves(_places(old, new), former.relation_marks, merged.relation_marks)

    strings = {p: i for i, p in enumerate(sorted({*former.predicates, *merged.predicates}))}
    translated, said = (
        np.array([strings[p] for p in predicates], dtype=np.int64)
        for predicates in (former.predicates, merged.predicates)
    )
    old_pairs = _key(entities, former.triple_sources, former.triple_targets, width)
    new_pairs = merged.triple_sources * width + merged.triple_targets
    # Pairs by number, so that a pair and a predicate together still fit 64 bits.
    pairs = np.unique(np.concatenate((old_pairs, new_pairs)))
    old = np.searchsorted(pairs, old_pairs) * len(strings)
    if len(old):
        old = np.where(old_pairs < 0, -1, old + translated[former.triple_predicates])
    new = np.searchsorted(pairs, new_pairs) * len(strings) + said[merged.triple_predicates]
    return GraphMoves(
        merged.ids,
        _moves(entities, former.entity_marks, merged.entity_marks),
        relations,
        _moves(_places(old, new), former.triple_marks, merged.triple_marks),
    )


def _key(entities: Array, sources: Array, targets: Array, width: int) -> Array:
    source, target = entities[sources], entities[targets]
    return np.where((source < 0) | (target < 0), -1, source * width + target)


def _places(old: Array, new: Array) -> Array:
    """Position in `new` of each value of `old`, -1 if it is not there."""
    if not len(new):
        return np.full(len(old), -1, dtype=np.int64)
    order = np.argsort(new, kind="stable")
    at = np.minimum(np.searchsorted(new[order], old), len(new) - 1)
    return np.where(new[order][at] == old, order[at], -1)


def _moves(new: Array, former_marks: Array, marks: Array) -> Moves:
    there = np.flatnonzero(new >= 0)
    same = np.zeros(len(new), dtype=np.bool_)
    same[there] = former_marks[there] == marks[new[there]]
    made = np.ones(len(marks), dtype=np.bool_)
    made[new[same]] = False
    return Moves(new, same, np.flatnonzero(made))
