"""The graph of names that join passages: document titles that occur in other texts, and other shared names."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import find_sorted
from polygraph.graph.csr import Graph

_KEYS = "keys.npy"


@dataclass(frozen=True, slots=True, eq=False)
class TitleGraph:
    """Passages and names, joined in three ways.

    Passages are vertices ``0 .. n_chunks - 1`` of every graph, by row; the name number `i` is vertex ``n_chunks + i``.
    """

    n_chunks: int
    """Number of passages."""
    keys: NDArray[np.uint64]
    """Hash of each name, ascending, shape ``(n_names,)``."""
    titles: Graph
    """A name and the passages of the documents that have it as their title. The edges of one name sum to 1."""
    links: Graph
    """A name that is a title and the passages of other documents in which it occurs. Weights are 1."""
    shared: Graph
    """A name that is no title and the passages in which it occurs, at least two. Weights are 1."""

    @classmethod
    def of(
        cls,
        n_chunks: int,
        keys: NDArray[np.uint64],
        titles: NDArray[np.int32],
        links: NDArray[np.int32],
        shared: NDArray[np.int32],
    ) -> "TitleGraph":
        """Join names and passages by pairs ``(name, passage)``, each of shape ``(m, 2)`` and with no pair twice."""

        def graph(pairs: NDArray[np.int32], weights: NDArray[np.float64] | None = None) -> Graph:
            names, passages = pairs[:, 0] + np.int32(n_chunks), pairs[:, 1]
            if weights is None:
                weights = np.broadcast_to(1.0, len(pairs))
            return Graph.from_edges(n_chunks + len(keys), passages, names, weights)

        # The passages of a document share the weight 1, because the name means the document as a whole.
        n_titled = np.bincount(titles[:, 0], minlength=len(keys))
        return cls(n_chunks, keys, graph(titles, 1.0 / n_titled[titles[:, 0]]), graph(links), graph(shared))

    def numbers(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the numbers of names by their hashes; -1 for a name without passages."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        places, known = find_sorted(self.keys, keys)
        return np.where(known & (self.n_passages(places) > 0), places, -1).astype(np.int64)

    def n_passages(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of passages that each name titles or occurs in, shape ``(len(names),)``."""
        found = np.zeros(len(names), dtype=np.int64)
        for graph in (self.titles, self.links, self.shared):
            indptr = np.asarray(graph.indptr)
            vertices = np.asarray(names) + self.n_chunks
            found += indptr[vertices + 1] - indptr[vertices]
        return found

    def within(self, allowed: NDArray[np.bool_]) -> "TitleGraph":
        """Return the graph of the passages that may be seen; names that join nothing any more lose their edges.

        Args:
            allowed: whether each passage may be seen, shape ``(n_chunks,)``.
        """
        titles, links, shared = (
            _pairs(graph, self.n_chunks) for graph in (self.titles, self.links, self.shared)
        )
        titles, links, shared = (pairs[allowed[pairs[:, 1]]] for pairs in (titles, links, shared))
        # A title of hidden documents only is a name like any other.
        is_title = np.isin(links[:, 0], titles[:, 0])
        shared = np.concatenate([shared, links[~is_title]])
        n_shared = np.bincount(shared[:, 0], minlength=len(self.keys))
        return TitleGraph.of(
            self.n_chunks, self.keys, titles, links[is_title], shared[n_shared[shared[:, 0]] > 1]
        )

    def save(self, folder: Path) -> None:
        """Write the files of the layer."""
        np.save(folder / _KEYS, self.keys)
        for name in ("titles", "links", "shared"):
            getattr(self, name).save(folder / f"{name}.csr")

    @classmethod
    def load(cls, folder: Path, n_chunks: int) -> "TitleGraph":
        """Map what `save` wrote into memory."""
        keys = np.load(folder / _KEYS, mmap_mode="r")
        graphs = (Graph.load(folder / f"{name}.csr") for name in ("titles", "links", "shared"))
        return cls(n_chunks, keys, *graphs)


def _pairs(graph: Graph, n_chunks: int) -> NDArray[np.int32]:
    """Return the edges as pairs of name and passage."""
    chunks, names, _ = graph.edges()
    return np.stack([names - np.int32(n_chunks), chunks], axis=1)
