"""Hierarchical communities: Leiden over every component of the graph.

Level 0 is the coarsest and contains every entity exactly once. A community of level `l + 1` is a part of one
community of level `l`, its parent; the parts of a parent cover it. A community that is not divided further
exists at its own level only and is not repeated below. So the communities of an entity form a path from level 0
to its last one, and "level L" of the hierarchy is, for each entity, the deepest community of its path whose level
is at most L.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import BATCH, Array, distinct
from polygraph.graph.chunk_numbers import ChunkNumbers
from polygraph.graph.csr import Graph
from polygraph.ids import chunk_key
from polygraph.memory import trim_heap
from polygraph.records import Community, digest

_NO_PARENT = -1


def communities(
    graph: Graph,
    entity_ids: Sequence[str],
    entity_chunks: Iterable[Iterable[str]],
    *,
    max_size: int = 10,
    seed: int = 42,
) -> Iterator[Community]:
    """Divide the entities of a graph into communities.

    Traag, Waltman and van Eck (2019), https://arxiv.org/abs/1810.08473, by the library `graspologic-native`;
    communities of `max_size` entities or more are divided again as long as that is possible. It is a soft limit: a
    star, for example, has no better division than itself.

    Three things differ from Microsoft GraphRAG, so that global questions reach every entity:

    - every component is divided, not only the largest;
    - a component smaller than `max_size` is one community. Leiden nearly always finds the same, and so a change
      elsewhere in the graph does not affect it;
    - entities without relations are grouped by the document that mentions them first, in groups of at most
      `max_size` along the text. A report on each would be as long as its source, a report on all would have no topic.

    Args:
        graph: vertex `i` is ``entity_ids[i]``.
        entity_ids: ascending, so that the result does not depend on the order of the documents.
        entity_chunks: ids of the chunks that mention each entity, in order; iterated once.
        max_size: size from which on a community is divided, at least 2.
        seed: of the random choices of the algorithm.

    Returns:
        Communities by level, then by their first entity; ids depend on level and members only. They come one
        by one, since the chunks of all of them are several times those of the entities.

    Raises:
        ValueError: if the lengths differ, ids are not ascending, or `max_size` is less than 2.
    """
    if graph.n != len(entity_ids):
        raise ValueError(f"{graph.n} vertices and {len(entity_ids)} ids")
    if any(a >= b for a, b in pairwise(entity_ids)):
        raise ValueError("entity ids must be ascending, without duplicates")
    if max_size < 2:
        raise ValueError(f"max_size must be at least 2, not {max_size}")
    component = graph.components()
    sizes = np.bincount(component, minlength=1)
    parts = _leiden(graph, sizes[component] >= max_size, max_size, seed)
    mentions = _Mentions(entity_chunks)
    if mentions.n != graph.n:
        raise ValueError(f"{graph.n} vertices and {mentions.n} lists of chunks")
    small = np.flatnonzero((sizes[component] > 1) & (sizes[component] < max_size))
    lone = np.flatnonzero(sizes[component] == 1).tolist()
    for group in (*_by_label(small, component), *_by_document(lone, mentions, max_size)):
        parts.add(0, _NO_PARENT, group)
    return _records(parts, entity_ids, mentions)


class _Parts:
    """The parts of the division as numbers: there would be one object for each vertex and level."""

    def __init__(self) -> None:
        self.level, self.parent = array("i"), array("i")
        """Number of the parent of each part, or `_NO_PARENT`."""
        self._vertices, self._ends = array("i"), array("q", [0])

    def add(self, level: int, parent: int, vertices: Iterable[int]) -> None:
        """Add a part with its vertices, ascending."""
        self.level.append(level)
        self.parent.append(parent)
        self._vertices.extend(vertices)
        self._ends.append(len(self._vertices))

    def vertices(self, part: int) -> "array[int]":
        """Return the vertices of a part, ascending."""
        return self._vertices[self._ends[part] : self._ends[part + 1]]

    def in_order(self) -> list[int]:
        """Return all parts by level, then by their first vertex; parts of one level are disjoint."""
        return sorted(range(len(self.level)), key=lambda i: (self.level[i], self._vertices[self._ends[i]]))


class _Edges(Sequence[tuple[str, str, float]]):
    """The edges of some vertices, each once and ascending, as the library asks for them.

    It goes through them once and copies each, so a tuple is made only when its turn comes.
    """

    def __init__(self, graph: Graph, wanted: NDArray[np.bool_]) -> None:
        source, target, weight = graph.edges()
        self._names = [str(vertex) for vertex in range(graph.n)]
        self._columns = [column[wanted[source]] for column in (source, target, weight)]

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        for at in range(0, len(self), BATCH):
            for a, b, weight in zip(*(c[at : at + BATCH].tolist() for c in self._columns), strict=True):
                yield self._names[a], self._names[b], weight

    @overload
    def __getitem__(self, place: int) -> tuple[str, str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[str, str, float]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return list(self)[place]


def _leiden(graph: Graph, wanted: NDArray[np.bool_], max_size: int, seed: int) -> _Parts:
    """Divide some vertices, which are whole components."""
    # The library numbers vertices in the order of the edges, which ascend, so the result depends on nothing else.
    parts, edges = _Parts(), _Edges(graph, wanted)
    if not edges:
        return parts
    from graspologic_native import hierarchical_leiden

    trim_heap()
    entries = hierarchical_leiden(
        edges, resolution=1.0, randomness=0.001, iterations=1, max_cluster_size=max_size, seed=seed
    )
    trim_heap()
    number: dict[int, int] = {}
    levels: list[tuple[int, int | None]] = []
    part_of, vertices = np.empty(len(entries), dtype=np.int32), np.empty(len(entries), dtype=np.int32)
    for i, entry in enumerate(entries):
        part = number.setdefault(entry.cluster, len(levels))
        if part == len(levels):
            levels.append((entry.level, entry.parent_cluster))
        part_of[i], vertices[i] = part, int(entry.node)
    order = np.lexsort((vertices, part_of))
    ends = np.cumsum(np.bincount(part_of))
    for (level, parent), some in zip(levels, np.split(vertices[order], ends[:-1]), strict=True):
        parts.add(level, _NO_PARENT if parent is None else number[parent], some.tolist())
    return parts


def _by_label(vertices: NDArray[np.int64], label: NDArray[np.int32]) -> list[list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for vertex in vertices.tolist():
        groups[int(label[vertex])].append(vertex)
    return list(groups.values())


class _Mentions:
    """The chunks of each entity, as positions in the order of documents."""

    def __init__(self, entity_chunks: Iterable[Iterable[str]]) -> None:
        numbers, found, ends = ChunkNumbers(), array("i"), array("q", [0])
        for chunks in entity_chunks:
            found.extend([numbers[chunk] for chunk in chunks])
            ends.append(len(found))
        self.chunks, position = numbers.in_order()
        """Ids of all chunks, in the order of documents."""
        self._positions, self._ends = position[np.asarray(found)], ends

    @property
    def n(self) -> int:
        """Number of entities."""
        return len(self._ends) - 1

    def of(self, vertex: int) -> Array:
        """Return the chunks of one entity, in the order given."""
        return np.asarray(self._positions[self._ends[vertex] : self._ends[vertex + 1]])

    def distinct(self, vertices: Iterable[int]) -> list[str]:
        """Return the ids of the chunks of some entities, each once, in the order of documents."""
        found = distinct(np.concatenate([self.of(vertex) for vertex in vertices]))
        return [self.chunks[position] for position in found.tolist()]


def _by_document(vertices: list[int], mentions: _Mentions, max_size: int) -> list[list[int]]:
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for vertex in vertices:
        chunks = mentions.of(vertex)
        document, ordinal = chunk_key(mentions.chunks[chunks[0]]) if len(chunks) else ("", 0)
        groups[document].append((ordinal, vertex))
    found = []
    for group in groups.values():
        along = [vertex for _, vertex in sorted(group)]
        # Groups of nearly equal size instead of full ones and a small remainder.
        n_groups = -(-len(along) // max_size)
        cuts = [len(along) * i // n_groups for i in range(n_groups + 1)]
        found += [sorted(along[a:b]) for a, b in pairwise(cuts)]
    return found


def _records(parts: _Parts, entity_ids: Sequence[str], mentions: _Mentions) -> Iterator[Community]:
    ids: dict[int, str] = {_NO_PARENT: ""}
    for i in parts.in_order():
        vertices, level = parts.vertices(i), parts.level[i]
        names = tuple([entity_ids[vertex] for vertex in vertices])
        ids[i] = f"{level}-{digest(*names)[:16]}"
        yield Community(
            id=ids[i],
            level=level,
            parent=ids[parts.parent[i]],  # from the level above, which comes first
            entities=names,
            chunks=tuple(mentions.distinct(vertices)),
        )
