"""Ways from one passage to another over the names that they share, and names written as texts have them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import distinct
from polygraph.extract.titles.find_titles import find_known_names
from polygraph.graph.pagerank import EdgeKind, Network
from polygraph.graph.title_graph import TitleGraph
from polygraph.store.snapshot import Snapshot

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def search_starts(chunks: Numbers, titles: Sequence[int], graph: TitleGraph, most: int) -> list[int]:
    """Choose passages from which to search on.

    A question that names two things by their titles asks for what both lead to. A search from one of them alone would
    put what it finds before what the other leads to.

    Args:
        chunks: rows of passages, best first, at least one.
        titles: vertices of the titles in the question.
        graph: which passages a title has.
        most: number of passages to choose at most, at least 1.

    Returns:
        Positions in `chunks`: the first passage, then for each title without a chosen passage its first one, in order
        of the ranking.
    """
    starts = [0]
    owners, rows, _ = Network((EdgeKind(graph.titles),)).edges_at(np.array(titles, dtype=np.int64))
    titled = [set(rows[owners == i].tolist()) for i in range(len(titles))]
    for position, row in enumerate(chunks.tolist()):
        titled = [passages for passages in titled if int(chunks[starts[-1]]) not in passages]
        if len(starts) >= most or not titled:
            break
        if any(row in passages for passages in titled):
            starts.append(position)
    return starts


def best_hops(
    chunks: Numbers, cosines: Floats, graph: TitleGraph, *, first: int = 20, common: int = 20
) -> tuple[Floats, Numbers]:
    """Find the best hop that ends at each passage; a hop scores the sum of the cosines of its two passages.

    Args:
        chunks: rows of passages, most likely first, shape ``(n,)``.
        cosines: their cosines with the question, shape ``(n,)``.
        graph: names that connect passages.
        first: number of passages at which a hop may start.
        common: a name in more passages than this leads only to the document it titles.

    Returns:
        The score of each passage's best hop, or the lowest score of all hops for a passage without one; and the
        position of the passage at which that hop starts, the first of equals, -1 for none.
    """
    best, previous = np.full(len(chunks), -np.inf), np.full(len(chunks), -1, dtype=np.int64)
    for p, others in _hops(chunks, graph, first, common):
        better = others[cosines[p] + cosines[others] > best[others]]
        best[better], previous[better] = cosines[p] + cosines[better], p
    linked = previous >= 0
    lowest = float(best[linked].min()) if linked.any() else 0.0
    return np.where(linked, best, lowest), previous


def _hops(chunks: Numbers, graph: TitleGraph, first: int, common: int) -> Iterator[tuple[int, Numbers]]:
    """Yield the position of each starting passage with the positions its names lead to."""
    titled = _names_at(chunks, Network((EdgeKind(graph.titles),)), graph)
    mentioned = _names_at(chunks, Network((EdgeKind(graph.links), EdgeKind(graph.shared))), graph)
    # Only the names of starting passages can lead anywhere.
    names = distinct(np.concatenate([some[owners < first] for owners, some in (titled, mentioned)]))
    lead_to_mentions = names[graph.n_passages(names) <= common]
    positions_of: dict[int, set[int]] = {}
    for (owners, some), leading in ((titled, names), (mentioned, lead_to_mentions)):
        kept = np.isin(some, leading)
        for position, name in zip(owners[kept].tolist(), some[kept].tolist(), strict=True):
            positions_of.setdefault(name, set()).add(position)
    reached: dict[int, set[int]] = {}
    for owners, some in (titled, mentioned):
        starts = owners < first
        for position, name in zip(owners[starts].tolist(), some[starts].tolist(), strict=True):
            reached.setdefault(position, set()).update(positions_of.get(name, ()))
    for p in sorted(reached):
        others = reached[p] - {p}
        if others:
            yield p, np.array(sorted(others), dtype=np.int64)


def _names_at(chunks: Numbers, network: Network, graph: TitleGraph) -> tuple[Numbers, Numbers]:
    """Return the names at some passages, as positions of the passages and numbers of the names."""
    owners, others, _ = network.edges_at(chunks)
    return owners, others - graph.n_chunks


def vertex_labels(routes: Sequence[Sequence[int]], asked: dict[int, str], index: Snapshot) -> dict[int, str]:
    """Label vertices: passages by id, names as written in the question, in a title or in a passage next to them."""
    graph = index.names
    vertices = sorted({v for route in routes for v in route})
    rows = [v for v in vertices if v < graph.n_chunks]
    chunks = dict(zip(rows, index.chunks(rows), strict=True))
    labels = {v: chunk.id for v, chunk in chunks.items()} | asked
    titles = index.titles([chunk.document for chunk in chunks.values()])
    for route in routes:
        for v, neighbour in [*pairwise(route), *pairwise(route[::-1])]:
            if v not in labels and (chunk := chunks.get(neighbour)) is not None:
                is_this_name = graph.keys[[v - graph.n_chunks]].__eq__
                # The title first: it is much shorter, and usually it is the name.
                for text in (titles.get(chunk.document, ""), chunk.text):
                    if v not in labels and (written := find_known_names(text, is_this_name)):
                        labels[v] = written[0].text
    return {v: labels.get(v, "a name") for v in vertices}
