"""Names that join passages: titles of documents where other texts say them, and other names that texts share."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.columnar.memmap import Room
from polygraph.columnar.memory import let_go
from polygraph.graph.csr import Graph

_KEYS = "keys.npy"
_BLOCK = 1 << 16
"""Pairs that are worked on at once."""


@dataclass(frozen=True, slots=True, eq=False)
class NameGraph:
    """Passages and names, joined in three ways.

    Passages are vertices ``0 .. n_chunks - 1`` of every graph, by row; the name number `i` is vertex ``n_chunks + i``.
    """

    n_chunks: int
    """Number of passages."""
    keys: NDArray[np.uint64]
    """Hash of each name, ascending, shape ``(n_names,)``."""
    titles: Graph
    """A name, and the passages of the documents that bear it. The edges of one name weigh 1 in all."""
    links: Graph
    """A name, and the passages of other documents whose text has it; the name is a title. Weights are 1."""
    shared: Graph
    """A name that is no title, and the passages whose text has it, two at least. Weights are 1."""

    @classmethod
    def of(
        cls,
        n_chunks: int,
        keys: NDArray[np.uint64],
        titles: NDArray[np.int32],
        links: NDArray[np.int32],
        shared: NDArray[np.int32],
        *,
        room: Room = np.empty,
    ) -> "NameGraph":
        """Join names and passages by pairs ``(name, passage)``, each of shape ``(m, 2)`` and with no pair twice.

        It takes less memory if they ascend by passage, then name, and less still if they and the room for the graphs
        (see `Graph.from_edges`) are in files.
        """

        def graph(pairs: NDArray[np.int32], weight: NDArray[np.float64] | None = None) -> Graph:
            names = room(len(pairs), np.int32)
            weights = np.broadcast_to(1.0, len(pairs)) if weight is None else room(len(pairs), np.float32)
            for block, some in _blocks(pairs[:, 0]):
                names[block] = some + np.int32(n_chunks)
                if weight is not None:
                    weights[block] = weight[some]
                let_go(names, weights)
            return Graph.from_edges(n_chunks + len(keys), pairs[:, 1], names, weights, room=room)

        # A long document has many passages, and all together it is one thing that the name means.
        n_titled = np.zeros(len(keys), dtype=np.int64)
        for _, some in _blocks(titles[:, 0]):
            n_titled += np.bincount(some, minlength=len(keys))
        return cls(n_chunks, keys, graph(titles, 1.0 / np.maximum(n_titled, 1)), graph(links), graph(shared))

    def numbers(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Numbers of the names with some hashes; -1 for a name that no passage bears or has."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = (self.keys[places] == keys) & (self.n_passages(places) > 0)
        return np.where(known, places, -1).astype(np.int64)

    def n_passages(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many passages bear or have each of some names."""
        found = np.zeros(len(names), dtype=np.int64)
        for graph in (self.titles, self.links, self.shared):
            indptr = np.asarray(graph.indptr)
            vertices = np.asarray(names) + self.n_chunks
            found += indptr[vertices + 1] - indptr[vertices]
        return found

    def within(self, allowed: NDArray[np.bool_]) -> "NameGraph":
        """What is left when only some passages may be seen; a name that joins nothing any more is cut off.

        Args:
            allowed: of each passage whether it may be seen, shape ``(n_chunks,)``.
        """
        titles, links, shared = (
            _pairs(graph, self.n_chunks) for graph in (self.titles, self.links, self.shared)
        )
        titles, links, shared = (pairs[allowed[pairs[:, 1]]] for pairs in (titles, links, shared))
        # A title of hidden documents alone is a name like others.
        is_title = np.isin(links[:, 0], titles[:, 0])
        shared = np.concatenate([shared, links[~is_title]])
        n_shared = np.bincount(shared[:, 0], minlength=len(self.keys))
        return NameGraph.of(
            self.n_chunks, self.keys, titles, links[is_title], shared[n_shared[shared[:, 0]] > 1]
        )

    def save(self, folder: Path) -> None:
        """Write the files of the layer."""
        np.save(folder / _KEYS, self.keys)
        for name in ("titles", "links", "shared"):
            getattr(self, name).save(folder / f"{name}.csr")

    @classmethod
    def load(cls, folder: Path, n_chunks: int) -> "NameGraph":
        """Map what `save` wrote into memory."""
        keys = np.load(folder / _KEYS, mmap_mode="r")
        graphs = (Graph.load(folder / f"{name}.csr") for name in ("titles", "links", "shared"))
        return cls(n_chunks, keys, *graphs)


def _blocks(values: NDArray[np.int32]) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    """Some rows at a time, and where they stand; what was read of them is let go."""
    for at in range(0, len(values), _BLOCK):
        yield slice(at, at + _BLOCK), values[at : at + _BLOCK]
        let_go(values)


def _pairs(graph: Graph, n_chunks: int) -> NDArray[np.int32]:
    """Edges as pairs of name and passage."""
    chunks, names, _ = graph.edges()
    return np.stack([names - np.int32(n_chunks), chunks], axis=1)
