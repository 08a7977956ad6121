"""An undirected weighted graph as three arrays (compressed sparse rows)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.arrays import distinct, find_sorted, members

Offsets: TypeAlias = NDArray[np.int64]
Vertices: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float32]

_ALIGNMENT = 64  # bytes; arrays in a file begin at multiples of it, so that they can be mapped
_TYPES: tuple[np.dtype[Any], ...] = (np.dtype("<i8"), np.dtype("<i4"), np.dtype("<f4"))
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Vertices ``0 .. n-1`` and their weighted neighbours, symmetric, without loops and duplicates."""

    indptr: Offsets
    """Where the neighbours of each vertex begin, shape ``(n + 1,)``."""
    indices: Vertices
    """Neighbours, ascending within a vertex, shape ``(2 m,)`` for `m` edges."""
    weights: Weights
    """Weight of the edge to each neighbour, shape ``(2 m,)``."""

    @classmethod
    def from_edges(
        cls,
        n: int,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike,
        *,
        parallel: Literal["sum", "heaviest"] = "sum",
    ) -> "Graph":
        """Build from edges in any order and direction; loops are dropped, parallel edges become one.

        The sums do not depend on the order of the edges.

        Args:
            n: number of vertices.
            sources: one end of each edge, shape ``(m,)``, in ``[0, n)``.
            targets: the other end, shape ``(m,)``.
            weights: positive, finite, shape ``(m,)``.
            parallel: weight of parallel edges: their sum, or that of the heaviest.

        Raises:
            ValueError: if shapes differ, an end lies outside ``[0, n)``, or a weight is not positive.

        >>> graph = Graph.from_edges(3, [0, 2, 1, 1], [1, 1, 2, 1], [1.0, 2.0, 0.5, 9.0])
        >>> graph.neighbours(1).tolist(), graph.strengths.tolist()
        ([0, 2], [1.0, 3.5, 2.5])
        """
        # Arrays of 32 bits stay so, since there may be millions of edges.
        a, b = (
            np.asarray(
                ends, dtype=np.int32 if getattr(ends, "dtype", None) == np.int32 else np.int64
            ).reshape(-1)
            for ends in (sources, targets)
        )
        w = np.asarray(weights, dtype=np.float64).reshape(-1)
        if not len(a) == len(b) == len(w):
            raise ValueError(
                f"edges need equal shapes, not {len(a)} sources, {len(b)} targets, {len(w)} weights"
            )
        if not 0 <= n <= _LARGEST:
            raise ValueError(f"the number of vertices must lie in [0, {_LARGEST}], not {n}")
        if any(len(ends) and not 0 <= ends.min() <= ends.max() < n for ends in (a, b)):
            raise ValueError(f"an edge ends outside the {n} vertices of the graph")
        if len(w) and not (w.min() > 0 and np.isfinite(w.max())):  # NaN fails both
            raise ValueError("weights must be positive and finite")
        return cls(*_both_ways(n, *_distinct_edges(n, a, b, w, np.add if parallel == "sum" else np.maximum)))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def degrees(self) -> Offsets:
        """Number of neighbours of each vertex, shape ``(n,)``."""
        return np.diff(self.indptr)

    @property
    def strengths(self) -> NDArray[np.float64]:
        """Sum of the weights at each vertex, shape ``(n,)``."""
        return np.bincount(self.rows(), weights=self.weights, minlength=self.n).astype(np.float64)

    def degrees_of(self, vertices: ArrayLike) -> Offsets:
        """Return the number of neighbours of some vertices, in their order."""
        some = np.asarray(vertices, dtype=np.int64)
        return np.asarray(self.indptr[some + 1] - self.indptr[some])

    def edges_of(self, vertices: ArrayLike) -> tuple[Vertices, Vertices, Weights]:
        """Return the edges at some vertices as `edges` returns all, each once, whichever ends it has among them.

        >>> graph = Graph.from_edges(4, [0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
        >>> [part.tolist() for part in graph.edges_of([2, 1])]
        [[0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0]]
        """
        some = distinct(np.asarray(vertices, dtype=np.int64))
        places, owner = members(self.indptr, some)
        ends, others = some[owner], np.asarray(self.indices)[places].astype(np.int64)
        # An edge between two of the vertices is taken at its lower end.
        _, there = find_sorted(some, others)
        kept = ~there | (ends < others)
        ends, others, places = ends[kept], others[kept], places[kept]
        low, high = np.minimum(ends, others), np.maximum(ends, others)
        order = np.lexsort((high, low))
        weights = np.asarray(self.weights)[places[order]]
        return low[order].astype(np.int32), high[order].astype(np.int32), weights

    def neighbours(self, vertex: int) -> Vertices:
        """Return the neighbours of a vertex, ascending (a view, not a copy)."""
        return self.indices[self.indptr[vertex] : self.indptr[vertex + 1]]

    def weights_of(self, vertex: int) -> Weights:
        """Return the weights of the edges of a vertex, in the order of `neighbours` (a view, not a copy)."""
        return self.weights[self.indptr[vertex] : self.indptr[vertex + 1]]

    def rows(self) -> Vertices:
        """Return the vertex of each entry of `indices`, shape ``(2 m,)``."""
        return np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)

    def edges(self) -> tuple[Vertices, Vertices, Weights]:
        """Return each edge once, as ``(source, target, weight)`` with ``source < target``, in ascending order."""
        rows = self.rows()
        upper = rows < self.indices
        return rows[upper], self.indices[upper], self.weights[upper]

    def components(self) -> Vertices:
        """Return the connected component of each vertex, shape ``(n,)``, numbered by their lowest vertex.

        FastSV (Zhang, Azad and Buluç 2020, arXiv:1910.05971): every vertex points to a lower one of its
        component, pointers are hooked and shortened together; about log n rounds, each linear in the edges.
        """
        # SciPy would be a third of an installation for this one function.
        pointer, rows = np.arange(self.n, dtype=np.int32), self.rows()
        while True:
            before = pointer.copy()
            grand = before[before]
            lower = grand[self.indices]
            np.minimum.at(pointer, before[rows], lower)
            np.minimum.at(pointer, rows, lower)
            np.minimum(pointer, grand, out=pointer)
            if np.array_equal(pointer, before):
                break
        _, labels = np.unique(pointer, return_inverse=True)
        return labels.astype(np.int32)

    def save(self, path: Path) -> None:
        """Write one file under a temporary name and rename it, so that no reader sees a part of it.

        The file holds the three arrays in the format of numpy, one after the other.
        """
        arrays: tuple[NDArray[Any], ...] = (self.indptr, self.indices, self.weights)
        temporary = path.with_name(f"{path.name}.tmp")
        try:
            with temporary.open("wb") as file:
                for array, dtype in zip(arrays, _TYPES, strict=True):
                    file.write(b"\0" * (-file.tell() % _ALIGNMENT))
                    header = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype=dtype))
                    np.lib.format.write_array_header_1_0(file, {**header, "shape": array.shape})
                    file.write(np.ascontiguousarray(array, dtype=dtype).data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: Path, *, mmap: bool = True) -> "Graph":
        """Read what `save` wrote.

        Args:
            path: the file.
            mmap: map the arrays instead of reading them; they are then read-only and shared by processes.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is not a graph or is damaged.
        """
        with path.open("rb") as file:
            try:
                indptr, indices, weights = (_read(file, dtype, mmap=mmap) for dtype in _TYPES)
            except (ValueError, OSError, EOFError) as error:
                raise ValueError(f"{path.name} is not a graph or is damaged: {error}") from error
        graph = cls(indptr, indices, weights)
        graph._check(path.name)
        return graph

    def _check(self, name: str) -> None:
        sound = (
            len(self.indptr) > 0
            and self.indptr[0] == 0
            and self.indptr[-1] == len(self.indices) == len(self.weights)
            and bool(np.all(np.diff(self.indptr) >= 0))
            and (not len(self.indices) or 0 <= self.indices.min() <= self.indices.max() < self.n)
        )
        if not sound:
            raise ValueError(f"{name} is damaged: its arrays do not fit each other")


def _distinct_edges(
    n: int, a: NDArray[Any], b: NDArray[Any], w: NDArray[np.float64], merge: np.ufunc
) -> tuple[Vertices, Vertices, Weights]:
    """Return each edge that is no loop once, its lower end first, ascending."""
    pair = np.minimum(a, b).astype(np.int64)
    pair *= n
    pair += np.maximum(a, b)
    proper = a != b
    if not proper.all():
        pair, w = pair[proper], w[proper]
    # Weights are the second key, because a sum of floats depends on the order of its terms.
    order = np.lexsort((w, pair))
    pair, w = pair[order], w[order]
    del order, proper  # there are millions of edges, and memory should hold few arrays of them
    first = np.ones(len(pair), dtype=np.bool_)
    first[1:] = pair[1:] != pair[:-1]
    if not first.all():
        w = merge.reduceat(w, np.flatnonzero(first))
        pair = pair[first]
    high = (pair % max(n, 1)).astype(np.int32)
    pair //= max(n, 1)
    return pair.astype(np.int32), high, w.astype(np.float32)


def _both_ways(n: int, low: Vertices, high: Vertices, w: Weights) -> tuple[Offsets, Vertices, Weights]:
    """Return distinct edges, ascending, as the neighbours of both ends."""
    n_higher, n_lower = np.bincount(low, minlength=n), np.bincount(high, minlength=n)
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(n_higher + n_lower, out=indptr[1:])
    indices, weights = np.empty(2 * len(low), dtype=np.int32), np.empty(2 * len(low), dtype=np.float32)
    # The lower neighbours of a vertex come first; they ascend if edges are ordered by their higher end.
    begin = indptr[:-1] + n_lower - (np.cumsum(n_higher) - n_higher)
    place = begin[low] + np.arange(len(low))
    indices[place], weights[place] = high, w
    order = np.argsort(high, kind="stable")
    begin = indptr[:-1] - (np.cumsum(n_lower) - n_lower)
    place = begin[high[order]] + np.arange(len(low))
    indices[place], weights[place] = low[order], w[order]
    return indptr, indices, weights


def _read(file: IO[bytes], dtype: np.dtype[Any], *, mmap: bool) -> NDArray[Any]:
    file.seek(-file.tell() % _ALIGNMENT, os.SEEK_CUR)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"array of format {version}")
    shape, fortran, found = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 1 or fortran or found != dtype:
        raise ValueError(f"array of shape {shape} and type {found}")
    begin, size = file.tell(), shape[0] * dtype.itemsize
    if begin + size > os.fstat(file.fileno()).st_size:
        raise ValueError("it ends too early")
    array: NDArray[Any]
    if mmap and size:
        # A view as a plain array: a part of it takes a tenth of the time.
        array = np.asarray(np.memmap(file, dtype=dtype, mode="r", offset=begin, shape=shape))
    else:
        array = np.frombuffer(file.read(size), dtype=dtype).copy()
    file.seek(begin + size)
    return array
