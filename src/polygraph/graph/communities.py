"""Communities of the graph at several levels: hierarchical Leiden over every component.

Levels: 0 is the coarsest and holds every entity exactly once. A community of level `l + 1` is a part of one
community of level `l`, its parent; the parts of a parent cover it. A community that is not divided further
exists at its own level only and is not repeated below. So an entity's communities form a path from level 0
down to its last one, and "level L" of the hierarchy is, for each entity, the deepest community of its path
whose level is at most L.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.csr import Graph
from polygraph.graph.groups import distinct, stretches
from polygraph.records import Community, digest

_BLOCK = 256
"""Communities whose chunks are gathered together."""


def communities(
    graph: Graph,
    entity_ids: Sequence[str],
    entity_chunks: Sequence[Sequence[str]],
    *,
    max_size: int = 10,
    seed: int = 42,
    resolution: float = 1.0,
    randomness: float = 0.001,
    iterations: int = 1,
    use_lcc: bool = False,
) -> list[Community]:
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
        entity_chunks: ids of the chunks that mention each entity, in order.
        max_size: see above; at least 2.
        seed: of the algorithm's random choices.
        resolution: of modularity; higher gives smaller communities at level 0.
        randomness: freedom in the refinement step.
        iterations: how often the whole algorithm runs, each time from the last result.
        use_lcc: leave out everything but the largest component, as Microsoft GraphRAG does.

    Returns:
        Communities by level, then by their first entity; ids depend on level and members alone.

    Raises:
        ValueError: if the lengths differ, ids are not ascending, or `max_size` is less than 2.
    """
    if not graph.n == len(entity_ids) == len(entity_chunks):
        raise ValueError(
            f"{graph.n} vertices, {len(entity_ids)} ids and {len(entity_chunks)} lists of chunks"
        )
    if any(a >= b for a, b in pairwise(entity_ids)):
        raise ValueError("entity ids must be ascending, without duplicates")
    if max_size < 2:
        raise ValueError(f"max_size must be at least 2, not {max_size}")
    if not graph.n:
        return []
    component = graph.components()
    sizes = np.bincount(component)
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
    if not use_lcc:
        small = np.flatnonzero((sizes[component] > 1) & (sizes[component] < max_size))
        parts += [_Part(0, None, group) for group in _by_label(small, component)]
        lone = np.flatnonzero(sizes[component] == 1).tolist()
        parts += [_Part(0, None, group) for group in _by_document(lone, entity_chunks, max_size)]
    return _records(parts, entity_ids, entity_chunks)


def chunk_key(chunk: str) -> tuple[str, int]:
    """Sort key of chunk ids: document, then position in it.

    >>> sorted(["b.md:2", "b.md:10", "a:9"], key=chunk_key)
    ['a:9', 'b.md:2', 'b.md:10']
    """
    document, _, ordinal = chunk.rpartition(":")
    # Ids that are not ours (an imported graph) still sort, by their text.
    return (document, int(ordinal)) if ordinal.isascii() and ordinal.isdigit() else (chunk, 0)


@dataclass(frozen=True, slots=True)
class _Part:
    level: int
    parent: int | None
    """Index of another part."""
    vertices: list[int]
    """Ascending."""


def _leiden(graph: Graph, wanted: NDArray[np.bool_], **options: Any) -> list[_Part]:
    """Divide the wanted vertices, which are whole components."""
    sources, targets, weights = graph.edges()
    inside = wanted[sources]
    if not inside.any():
        return []
    from graspologic_native import hierarchical_leiden

    # Edges are ascending, and the library numbers vertices as it meets them: the input is canonical.
    names = [str(vertex) for vertex in range(graph.n)]
    edges = [
        (names[source], names[target], weight)
        for source, target, weight in zip(
            sources[inside].tolist(), targets[inside].tolist(), weights[inside].tolist(), strict=True
        )
    ]
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


def _by_document(
    vertices: list[int], entity_chunks: Sequence[Sequence[str]], max_size: int
) -> list[list[int]]:
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for vertex in vertices:
        document, ordinal = chunk_key(entity_chunks[vertex][0]) if entity_chunks[vertex] else ("", 0)
        groups[document].append((ordinal, vertex))
    found = []
    for group in groups.values():
        along = [vertex for _, vertex in sorted(group)]
        # Groups of nearly equal size, rather than full ones and a small rest.
        n_groups = -(-len(along) // max_size)
        cuts = [len(along) * i // n_groups for i in range(n_groups + 1)]
        found += [sorted(along[a:b]) for a, b in pairwise(cuts)]
    return found


def _records(
    parts: list[_Part], entity_ids: Sequence[str], entity_chunks: Sequence[Sequence[str]]
) -> list[Community]:
    names = [tuple([entity_ids[vertex] for vertex in part.vertices]) for part in parts]
    ids = [f"{part.level}-{digest(*members)[:16]}" for part, members in zip(parts, names, strict=True)]
    records = [
        Community(
            id=community,
            level=part.level,
            parent="" if part.parent is None else ids[part.parent],
            entities=members,
            chunks=chunks,
        )
        for part, community, members, chunks in zip(
            parts, ids, names, _chunks_of(parts, entity_chunks), strict=True
        )
    ]
    return sorted(records, key=lambda record: (record.level, record.entities))


def _chunks_of(parts: list[_Part], entity_chunks: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Distinct chunks of the members of each part, in the order of documents."""
    ordered = sorted(
        {chunk for chunks in entity_chunks for chunk in chunks}, key=lambda chunk: (chunk_key(chunk), chunk)
    )
    number = {chunk: i for i, chunk in enumerate(ordered)}
    ends = np.cumsum([0, *map(len, entity_chunks)])
    flat = np.fromiter((number[chunk] for chunks in entity_chunks for chunk in chunks), dtype=np.int64)
    width = max(len(ordered), 1)
    for begin in range(0, len(parts), _BLOCK):
        block = parts[begin : begin + _BLOCK]
        vertices = np.array([vertex for part in block for vertex in part.vertices], dtype=np.int64)
        of = np.repeat(np.arange(len(block)), [len(part.vertices) for part in block])
        places, vertex = stretches(ends, vertices)
        keys = distinct(of[vertex] * width + flat[places])
        cuts = np.searchsorted(keys, np.arange(len(block) + 1) * width).tolist()
        chunks = (keys % width).tolist()
        for a, b in pairwise(cuts):
            yield tuple([ordered[chunk] for chunk in chunks[a:b]])
