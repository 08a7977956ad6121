"""Communities of the graph at several levels: hierarchical Leiden over every component.

Levels: 0 is the coarsest and holds every entity exactly once. A community of level `l + 1` is a part of one
community of level `l`, its parent; the parts of a parent cover it. A community that is not divided further
exists at its own level only and is not repeated below. So an entity's communities form a path from level 0
down to its last one, and "level L" of the hierarchy is, for each entity, the deepest community of its path
whose level is at most L.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from polygraph.columns import Array
from polygraph.columns.spill import Column
from polygraph.graph.chunk_ids import ChunkIds, ChunkOrder, chunk_key
from polygraph.graph.csr import Graph
from polygraph.graph.groups import distinct
from polygraph.records import Community, digest


def communities(
    graph: Graph,
    entity_ids: Sequence[str],
    entity_chunks: Iterable[Sequence[str]],
    *,
    max_size: int = 10,
    seed: int = 42,
    resolution: float = 1.0,
    randomness: float = 0.001,
    iterations: int = 1,
    use_lcc: bool = False,
    folder: Path | None = None,
) -> Iterator[Community]:
    """Divide the entities of a graph.

    Traag, Waltman and van Eck (2019), https://arxiv.org/abs/1810.08473, by the library `graspologic-native`;
    communities of `max_size` entities or more are divided again for as long as that is possible. It is a
    soft limit: a star, for one, has no better division than itself.

    Three things differ from Microsoft GraphRAG, so that no entity is lost to global questions:

    - every component is divided, not the largest alone;
    - a component smaller than `max_size` is one community as it stands. It is that for Leiden too, nearly
      always, and so a change elsewhere in the graph does not touch it;
    - entities without any relation are grouped by the document that mentions them first, in groups of at most
      `max_size` along the text. One report for each of them would be as long as its source; one for all
      of them would have no topic, and a document is the nearest thing to one that they share.

    Args:
        graph: vertex `i` is ``entity_ids[i]``.
        entity_ids: ascending, so that the result does not depend on the order of the documents.
        entity_chunks: ids of the chunks that mention each entity, in order; gone through once.
        max_size: see above; at least 2.
        seed: of the algorithm's random choices.
        resolution: of modularity; higher gives smaller communities at level 0.
        randomness: freedom in the refinement step.
        iterations: how often the whole algorithm runs, each time from the last result.
        use_lcc: leave out everything but the largest component, as Microsoft GraphRAG does.
        folder: for what is put aside meanwhile, as for `Spill`.

    Returns:
        Communities by level, then by their first entity; ids depend on level and members alone. They come one
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
    divided = component == int(np.argmax(sizes)) if use_lcc else sizes[component] >= max_size
    parts = _leiden(
        graph,
        divided,
        resolution=resolution,
        randomness=randomness,
        iterations=iterations,
        max_cluster_size=max_size,
        seed=seed,
    )
    # Read when the library has given its memory back.
    mentions = _Mentions(entity_chunks, folder)
    if mentions.n != graph.n:
        raise ValueError(f"{graph.n} vertices and {mentions.n} lists of chunks")
    if not use_lcc:
        small = np.flatnonzero((sizes[component] > 1) & (sizes[component] < max_size))
        parts += [_Part(0, None, group) for group in _by_label(small, component)]
        lone = np.flatnonzero(sizes[component] == 1).tolist()
        parts += [_Part(0, None, group) for group in _by_document(lone, mentions, max_size)]
    return _records(parts, entity_ids, mentions)


@dataclass(frozen=True, slots=True)
class _Part:
    level: int
    parent: int | None
    """Index of another part."""
    vertices: list[int]
    """Ascending."""


class _Edges(Sequence[tuple[str, str, float]]):
    """The edges of some vertices, each once and ascending, as the library asks for them.

    It goes through them once and makes its own of each; so they are made as it asks, and not all held beside.
    """

    def __init__(self, graph: Graph, wanted: NDArray[np.bool_]) -> None:
        self._graph, self._wanted = graph, wanted
        self._n = sum(int(np.count_nonzero(own)) for own, *_ in self._blocks())

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        names = [str(vertex) for vertex in range(self._graph.n)]
        for own, source, target, weight in self._blocks():
            for a, b, w in zip(source[own].tolist(), target[own].tolist(), weight[own].tolist(), strict=True):
                yield names[a], names[b], w

    @overload
    def __getitem__(self, place: int) -> tuple[str, str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[str, str, float]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return list(self)[place]

    def _blocks(self) -> Iterator[tuple[Array, Array, Array, Array]]:
        for source, target, weight in self._graph.blocks():
            yield (source < target) & self._wanted[source], source, target, weight


def _leiden(graph: Graph, wanted: NDArray[np.bool_], **options: Any) -> list[_Part]:
    """Divide the wanted vertices, which are whole components."""
    # The library numbers vertices as it meets them; edges are ascending, so the input is canonical.
    edges = _Edges(graph, wanted)
    if not edges:
        return []
    from graspologic_native import hierarchical_leiden

    members: dict[int, list[int]] = defaultdict(list)
    place: dict[int, tuple[int, int | None]] = {}
    for entry in hierarchical_leiden(edges, **options):
        members[entry.cluster].append(int(entry.node))
        place[entry.cluster] = (entry.level, entry.parent_cluster)
    index = {cluster: i for i, cluster in enumerate(place)}
    return [
        _Part(level, None if parent is None else index[parent], sorted(members[cluster]))
        for cluster, (level, parent) in place.items()
    ]


def _by_label(vertices: NDArray[np.int64], label: NDArray[np.int32]) -> list[list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for vertex in vertices.tolist():
        groups[int(label[vertex])].append(vertex)
    return list(groups.values())


class _Mentions:
    """The chunks of each entity, as places in the order of documents."""

    def __init__(self, entity_chunks: Iterable[Sequence[str]], folder: Path | None) -> None:
        ids, codes, ends = ChunkIds(), Column("q", folder), array("q", [0])
        for chunks in entity_chunks:
            codes.extend(ids.codes(chunks))
            ends.append(len(codes))
        self.chunks = ChunkOrder(ids, [codes])
        """Ids of all chunks."""
        self._places: Array = np.concatenate([np.zeros(0, dtype=np.int32), *self.chunks.places(codes)])
        self._ends = ends

    @property
    def n(self) -> int:
        """Number of entities."""
        return len(self._ends) - 1

    def of(self, vertex: int) -> Array:
        """Chunks of one entity, in the order given."""
        return self._places[self._ends[vertex] : self._ends[vertex + 1]]


def _by_document(vertices: list[int], mentions: _Mentions, max_size: int) -> list[list[int]]:
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for vertex in vertices:
        chunks = mentions.of(vertex)
        document, ordinal = chunk_key(mentions.chunks[chunks[0]]) if len(chunks) else ("", 0)
        groups[document].append((ordinal, vertex))
    found = []
    for group in groups.values():
        along = [vertex for _, vertex in sorted(group)]
        # Groups of nearly equal size, rather than full ones and a small rest.
        n_groups = -(-len(along) // max_size)
        cuts = [len(along) * i // n_groups for i in range(n_groups + 1)]
        found += [sorted(along[a:b]) for a, b in pairwise(cuts)]
    return found


def _records(parts: list[_Part], entity_ids: Sequence[str], mentions: _Mentions) -> Iterator[Community]:
    names = [tuple([entity_ids[vertex] for vertex in part.vertices]) for part in parts]
    ids = [f"{part.level}-{digest(*members)[:16]}" for part, members in zip(parts, names, strict=True)]
    for i in sorted(range(len(parts)), key=lambda i: (parts[i].level, names[i])):
        part = parts[i]
        chunks = distinct(np.concatenate([mentions.of(vertex) for vertex in part.vertices]))
        yield Community(
            id=ids[i],
            level=part.level,
            parent="" if part.parent is None else ids[part.parent],
            entities=names[i],
            chunks=tuple(mentions.chunks.named(chunks)),
        )
