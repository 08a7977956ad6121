"""What a former graph was, as far as the next one is compared with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from polygraph.columnar import Array, Column, blocks, room
from polygraph.columnar.memory import let_go
from polygraph.graph.merge.merge import BETWEEN, Merged


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
    still: Array
    """Which new rows are one of those."""

    @property
    def made(self) -> Array:
        """Numbers of the rows that must be made, ascending."""
        return np.flatnonzero(~self.still)


@dataclass(frozen=True, slots=True)
class GraphMoves:
    """The same for the tables of the graph."""

    ids: list[str]
    """Of the entities, by their new numbers."""
    entities: Moves
    relations: Moves
    triples: Moves


def moves(former: FormerGraph, merged: Merged, folder: Path | None = None) -> GraphMoves:
    """Compare two graphs, table by table; memory as for the different names.

    Args:
        former: what the tables show.
        merged: what they are to show.
        folder: for what is put aside, as for `spill.room`.
    """
    number = {entity: n for n, entity in enumerate(merged.ids)}
    entities = np.array([number.get(entity, -1) for entity in former.ids], dtype=np.int64)
    strings = {predicate: i for i, predicate in enumerate(merged.predicates)}
    said = np.array([strings.get(predicate, -1) for predicate in former.predicates], dtype=np.int64)
    ends, order = (merged.sources, merged.targets), None
    if any(BETWEEN in entity for entity in merged.ids):
        # Relations of one entity do not follow each other where ids hold what stands between two.
        order = np.lexsort(ends[::-1])
        ends = ends[0][order], ends[1][order]
    relations = _Places(ends, (entities, entities), folder, order)
    triples = _Places(
        (merged.triple_sources, merged.triple_targets, merged.triple_predicates),
        (entities, entities, said),
        folder,
    )
    return GraphMoves(
        merged.ids,
        _moves(lambda rows: entities[rows], former.entity_marks, merged.entity_marks, folder),
        _moves(
            relations.of((former.sources, former.targets)),
            former.relation_marks,
            merged.relation_marks,
            folder,
        ),
        _moves(
            triples.of((former.triple_sources, former.triple_targets, former.triple_predicates)),
            former.triple_marks,
            merged.triple_marks,
            folder,
        ),
    )


class _Places:
    """Where rows of several columns stand among the present rows.

    Args:
        columns: the present rows. Those with one value of the first column follow each other, ascending by the next
            columns: so a row is found from left to right, in what has the same values so far.
        numbers: of former values of each column the present ones, -1 for those that are gone.
        folder: as for `spill.room`.
        order: where each of these rows stands, if not as given.
    """

    def __init__(
        self,
        columns: Sequence[Array],
        numbers: Sequence[Array],
        folder: Path | None,
        order: Array | None = None,
    ) -> None:
        self._n, self._numbers, self._order = len(columns[0]), numbers, order
        self._run = np.full(_width(columns[0], numbers[0]), -1, dtype=np.int64)
        """Number of the stretch with a value of the first column."""
        self._steps: list[tuple[int, Array]] = []
        """Of each further column: how many values there may be, and the distinct keys so far, ascending."""
        run = room(self._n, np.int64, folder)
        self._count(run, lambda rows: columns[0][rows])
        for rows in blocks(self._n):
            self._run[columns[0][rows]] = run[rows]
        for column, given in zip(columns[1:], numbers[1:], strict=True):
            width = _width(column, given)
            keys = Column("q", folder)
            last = -1
            for rows in blocks(self._n):
                key = _joined(run, width, column, rows)
                keys.put(key[np.diff(key, prepend=last) != 0])
                last = int(key[-1])
            self._count(run, partial(_joined, run, width, column))
            let_go(run, column)
            self._steps.append((width, keys.mapped()))

    def _count(self, run: Array, values: Callable[[Array], Array]) -> None:
        """Number the stretches of equal values."""
        before, last = None, -1
        for rows in blocks(self._n):
            own = values(rows)
            begins = np.ones(len(own), dtype=np.bool_)
            begins[1:] = np.diff(own) != 0
            begins[0] = before is None or own[0] != before
            before = own[-1]
            run[rows] = np.cumsum(begins) + last
            last = int(run[rows[-1]])
            let_go(run)

    def of(self, columns: Sequence[Array]) -> Callable[[Array], Array]:
        """Tell where former rows stand, -1 for those that are gone; for columns without equal rows."""

        def places(rows: Array) -> Array:
            value = self._numbers[0][columns[0][rows]]
            found = np.where(value >= 0, self._run[value], -1)
            for (width, keys), column, number in zip(
                self._steps, columns[1:], self._numbers[1:], strict=True
            ):
                value = number[column[rows]]
                key = np.where((found >= 0) & (value >= 0), found * width + value, -1)
                at = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
                found = np.where(keys[at] == key, at, -1) if len(keys) else np.full(len(rows), -1)
                let_go(keys, column)
            if self._order is not None and self._n:
                return np.where(found >= 0, self._order[found], -1)
            return found

        return places


def _joined(run: Array, width: int, column: Array, rows: Array) -> Array:
    return np.asarray(run[rows] * width + column[rows])


def _width(*columns: Array) -> int:
    width = max(int(column.max(initial=0)) for column in columns) + 1
    let_go(*columns)
    return width


def _moves(new: Callable[[Array], Array], former_marks: Array, marks: Array, folder: Path | None) -> Moves:
    n = len(former_marks)
    found = Moves(room(n, np.int64, folder), room(n, np.bool_, folder), room(len(marks), np.bool_, folder))
    for rows in blocks(n):
        place = new(rows)
        same = place >= 0
        same[same] = former_marks[rows[same]] == marks[place[same]]
        found.new[rows], found.same[rows] = place, same
        found.still[place[same]] = True
        let_go(found.new, found.same, found.still, former_marks, marks)
    return found
