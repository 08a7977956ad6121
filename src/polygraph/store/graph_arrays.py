"""Rows and ends of relations and triples as arrays, so that hubs with many thousands of them cost little.

They say of each relation and triple what the tables say, but for its texts and passages. Like the edges of the graph
they are files of the layer `graph`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import distinct, largest, members
from polygraph.graph.csr import Graph
from polygraph.store.protocol import GraphReader

_FILES = (
    "relation_rows",
    "description_counts",
    "triple_sources",
    "triple_targets",
    "triples_by_target",
    "triple_predicates",
    "triple_weights",
)
_RELATION = np.dtype([("source", np.int32), ("target", np.int32), ("n_descriptions", np.int64)])
_TRIPLE = np.dtype(
    [("source", np.int32), ("target", np.int32), ("predicate", np.int32), ("weight", np.float64)]
)
_MOST_COUNTED = np.iinfo(np.uint16).max


@dataclass(frozen=True, slots=True, eq=False)
class GraphArrays:
    """What is known of relations and triples without reading their rows."""

    graph: Graph
    """Entities joined by relations."""
    relation_rows: NDArray[np.int32]
    """Row of the relation of each entry of ``graph.indices``, shape ``(2 m,)``."""
    description_counts: NDArray[np.uint16]
    """Descriptions of each relation, by row, shape ``(m,)``."""
    triple_sources: NDArray[np.int32]
    """Subject of each triple, by row, ascending, shape ``(t,)``; of one subject, objects ascend."""
    triple_targets: NDArray[np.int32]
    """Object of each triple, by row."""
    triples_by_target: NDArray[np.int32]
    """Rows of the triples by object, then row."""
    triple_predicates: NDArray[np.int32]
    """Predicate of each triple, by row, as a row of `predicate_vectors`."""
    triple_weights: NDArray[np.float64]
    """Weight of each triple, by row."""

    @classmethod
    def of(cls, graph: Graph, tables: GraphReader) -> "GraphArrays":
        """Read the arrays from tables.

        Args:
            graph: entities joined by relations.
            tables: of the same graph.

        Raises:
            ValueError: if relations and edges are not the same, or triples do not ascend by subject, then object.
        """
        found = np.fromiter(tables.relation_columns(), dtype=_RELATION)
        sources, targets = found["source"], found["target"]
        counts = np.minimum(found["n_descriptions"], _MOST_COUNTED).astype(np.uint16)
        low, high, _ = graph.edges()
        keys = _pair(sources, targets, graph.n)
        order = np.argsort(keys, kind="stable")
        if not np.array_equal(keys[order], _pair(low, high, graph.n)):
            raise ValueError("the edges of the graph are not the relations of the tables")
        rows = graph.rows()
        place = _pair(np.minimum(rows, graph.indices), np.maximum(rows, graph.indices), graph.n)
        relation_rows = order[np.searchsorted(keys[order], place)]
        of_predicate = {predicate: n for n, predicate in enumerate(tables.predicates())}
        columns = (
            (source, target, of_predicate[predicate], weight)
            for source, target, predicate, weight in tables.triple_columns()
        )
        triples = np.fromiter(columns, dtype=_TRIPLE)
        sources, targets = triples["source"], triples["target"]
        if np.any(np.diff(_pair(sources, targets, graph.n)) < 0):
            raise ValueError("triples do not ascend by subject and object")
        return cls(
            graph,
            relation_rows.astype(np.int32),
            counts,
            sources.copy(),
            targets.copy(),
            np.argsort(targets, kind="stable").astype(np.int32),
            triples["predicate"].copy(),
            triples["weight"].copy(),
        )

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder, without the graph."""
        for name in _FILES:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Path, graph: Graph) -> "GraphArrays":
        """Map what `save` wrote into memory."""
        # Views of mapped files as plain arrays: a part of them takes a tenth of the time.
        return cls(graph, *(np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _FILES))

    # --- relations ----------------------------------------------------------------------------------

    def relations_between(self, ends: Sequence[tuple[int, int]]) -> list[int]:
        """Return the rows of relations by their ends, the lower one first, in the order asked for."""
        if not ends:
            return []
        pairs = np.array(ends, dtype=np.int64)
        low, high, indices = pairs[:, 0], pairs[:, 1], self.graph.indices
        begin, end = np.asarray(self.graph.indptr[low]), np.asarray(self.graph.indptr[low + 1])
        places = _lower_bound(lambda at: indices[at], begin, end, high)
        there = (places < end) & (low < high)
        there[there] = np.asarray(indices[places[there]]) == high[there]
        return [int(n) for n in self.relation_rows[places[there]]]

    def strongest_relations(self, entity: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of the relations of an entity and their other ends, by row.

        Args:
            entity: row.
            most: of more relations the strongest, ties by the rows of their ends.
        """
        begin, end = self.graph.indptr[entity : entity + 2].tolist()
        others = np.asarray(self.graph.indices[begin:end], dtype=np.int64)
        rows = np.asarray(self.relation_rows[begin:end], dtype=np.int64)
        if len(rows) > most:
            # The other ends ascend: of equals, the lower ones are sources, and come first.
            best = largest(np.asarray(self.graph.weights[begin:end]), most)
            rows, others = rows[best], others[best]
        order = np.argsort(rows)
        return rows[order], others[order]

    # --- triples ------------------------------------------------------------------------------------

    def triples_at(
        self, entities: Sequence[int], *, ends: Sequence[str] = ("source", "target")
    ) -> NDArray[np.int64]:
        """Return the rows of the triples that have some entities at some ends, ascending."""
        some = np.array(list(dict.fromkeys(entities)), dtype=np.int32)
        found: list[NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
        if "source" in ends:
            found += [np.arange(*bounds) for bounds in zip(*self._of_source(some), strict=True)]
        if "target" in ends:
            found += self._of_target(some)
        return distinct(np.concatenate(found))

    def _of_target(self, some: NDArray[np.int32]) -> list[NDArray[np.int32]]:
        """Return the rows of the triples of each object."""
        order, targets = self.triples_by_target, self.triple_targets
        none, every = np.zeros(len(some), dtype=np.int64), np.full(len(some), len(order), dtype=np.int64)
        begin = _lower_bound(lambda at: targets[order[at]], none, every, some)
        end = _lower_bound(lambda at: targets[order[at]], begin, every, some + 1)
        return [np.asarray(order[a:b]) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]

    def _of_source(self, entities: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first row of the triples of each subject, and the one behind the last."""
        # With keys of another type, numpy would convert all triples.
        first = np.searchsorted(self.triple_sources, entities)
        return first, np.searchsorted(self.triple_sources, entities, side="right")

    def triples_between(self, pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
        """Return the rows of the triples between the entities of some pairs, in both directions, ascending."""
        some = np.array([*pairs, *((b, a) for a, b in pairs)], dtype=np.int32).reshape(-1, 2)
        begin, end = self._of_source(some[:, 0])
        targets = self.triple_targets
        first = _lower_bound(lambda at: targets[at], begin, end, some[:, 1])
        last = _lower_bound(lambda at: targets[at], first, end, some[:, 1] + 1)
        # Every second group lies between two pairs.
        bounds = np.stack((first, last), axis=1).reshape(-1)
        return distinct(members(bounds, np.arange(0, len(bounds), 2))[0])

    def triple_ends(self, rows: Sequence[int] | NDArray[np.int64]) -> list[tuple[int, int, int]]:
        """Return triples by row as ``(row, subject row, object row)``, in the order asked for."""
        some = np.array(rows, dtype=np.int64)
        some = some[(some >= 0) & (some < len(self.triple_sources))]
        columns = (some, self.triple_sources[some], self.triple_targets[some])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def strongest_triples(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return the `most` strongest of some triples, given ascending, ties by row; ascending."""
        return np.asarray(rows[largest(np.asarray(self.triple_weights[rows]), most)])

    def with_strongest_triples(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return those of some triples that may be among the strongest `most`: these and all that equal the last.

        Rows are in the order given.
        """
        if len(rows) <= most:
            return rows
        weights = np.asarray(self.triple_weights[rows])
        return np.asarray(rows[weights >= np.partition(weights, len(rows) - most)[len(rows) - most]])


def _lower_bound(
    values: Callable[[NDArray[np.int64]], NDArray[Any]],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    wanted: NDArray[Any],
) -> NDArray[np.int64]:
    """Return in each of some ascending parts of an array the first place whose value is not less than one wanted.

    Args:
        values: returns the values of the array at some places.
        begin: where each part begins.
        end: where it ends.
        wanted: a value for each part.

    >>> ascending = np.array([1, 3, 5, 2, 4])
    >>> _lower_bound(lambda at: ascending[at], np.array([0, 3]), np.array([3, 5]), np.array([4, 9])).tolist()
    [2, 5]
    """
    low, high = begin.astype(np.int64), end.astype(np.int64)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        less = is_open & (np.asarray(values(np.where(is_open, middle, 0))) < wanted)
        low, high = np.where(less, middle + 1, low), np.where(is_open & ~less, middle, high)
    return low


def _pair(a: NDArray[Any], b: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return one number for each pair of vertices; pairs ascend as the numbers do."""
    return np.asarray(a, dtype=np.int64) * n + np.asarray(b, dtype=np.int64)
