"""An undirected weighted graph as three arrays (compressed sparse rows)."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Offsets: TypeAlias = NDArray[np.int64]
Vertices: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float32]

_ALIGNMENT = 64  # bytes; arrays in a file begin at multiples of it, so that they can be mapped
_TYPES: tuple[np.dtype[Any], ...] = (np.dtype("<i8"), np.dtype("<i4"), np.dtype("<f4"))
_LARGEST = np.iinfo(np.int32).max
_ENTRIES = 1 << 16
"""Entries of `Graph.indices` that are gone through together."""
_BLOCK = 1 << 17
"""Edges that are worked on at once."""
_PARTS = 16
"""Edges are divided into no more parts to be sorted, so that the time for it grows as their number does."""


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
        """Build from edges in any order and direction; loops are dropped, parallel edges made one.

        The sums do not depend on the order of the edges. Beside the arguments and the graph itself, 13 bytes an edge
        are in memory; none if the edges come as `edges` gives them. Vertices and weights of 32 bits are taken as they
        are.

        Args:
            n: number of vertices.
            sources: one end of each edge, shape ``(m,)``, in ``[0, n)``.
            targets: the other end, shape ``(m,)``.
            weights: positive, finite, shape ``(m,)``.
            parallel: what parallel edges weigh as one: their sum, or as much as the heaviest.

        Raises:
            ValueError: if shapes differ, an end lies outside ``[0, n)``, or a weight is not positive.

        >>> graph = Graph.from_edges(3, [0, 2, 1, 1], [1, 1, 2, 1], [1.0, 2.0, 0.5, 9.0])
        >>> graph.neighbours(1).tolist(), graph.strengths.tolist()
        ([0, 2], [1.0, 3.5, 2.5])
        """
        a, b = _as(sources, np.int64, "i4"), _as(targets, np.int64, "i4")
        w = _as(weights, np.float64, "f4")
        if not len(a) == len(b) == len(w):
            raise ValueError(
                f"edges need equal shapes, not {len(a)} sources, {len(b)} targets, {len(w)} weights"
            )
        if not 0 <= n <= _LARGEST:
            raise ValueError(f"the number of vertices must lie in [0, {_LARGEST}], not {n}")
        if len(a) and (min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= n):
            raise ValueError(f"an edge ends outside the {n} vertices of the graph")
        if len(w) and not (w.min() > 0 and np.isfinite(w.max())):  # not a number is neither
            raise ValueError("weights must be positive and finite")
        return cls(*_both_ways(n, *_once(n, a, b, w, parallel)))

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

    def neighbours(self, vertex: int) -> Vertices:
        """Neighbours of a vertex, ascending (a view, not a copy)."""
        return self.indices[self.indptr[vertex] : self.indptr[vertex + 1]]

    def weights_of(self, vertex: int) -> Weights:
        """Weights of the edges of a vertex, in the order of `neighbours` (a view, not a copy)."""
        return self.weights[self.indptr[vertex] : self.indptr[vertex + 1]]

    def rows(self) -> Vertices:
        """The vertex that each entry of `indices` belongs to, shape ``(2 m,)``."""
        return np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)

    def edges(self) -> tuple[Vertices, Vertices, Weights]:
        """Each edge once, as ``(source, target, weight)`` with ``source < target``, in ascending order."""
        rows = self.rows()
        upper = rows < self.indices
        return rows[upper], self.indices[upper], self.weights[upper]

    def blocks(self) -> Iterator[tuple[Vertices, Vertices, Weights]]:
        """Some entries at a time, each edge in both directions, as ``(vertex, neighbour, weight)``, ascending."""
        for begin in range(0, len(self.indices), _ENTRIES):
            end = min(begin + _ENTRIES, len(self.indices))
            vertex = np.searchsorted(self.indptr, np.arange(begin, end), side="right") - 1
            yield vertex.astype(np.int32), self.indices[begin:end], self.weights[begin:end]

    def components(self) -> Vertices:
        """Connected component of each vertex, shape ``(n,)``, numbered by their lowest vertex.

        FastSV (Zhang, Azad and Buluç 2020, arXiv:1910.05971): every vertex points to a lower one of its
        component, pointers are hooked and shortened together; about log n rounds, each linear in the edges.
        """
        # Not by scipy, which would be a third of an installation for this one function.
        pointer = np.arange(self.n, dtype=np.int32)
        while True:
            before = pointer.copy()
            grand = before[before]
            for sources, targets, _ in self.blocks():
                lower = grand[targets]
                np.minimum.at(pointer, before[sources], lower)
                np.minimum.at(pointer, sources, lower)
            np.minimum(pointer, grand, out=pointer)
            if np.array_equal(pointer, before):
                break
        _, labels = np.unique(pointer, return_inverse=True)
        return labels.astype(np.int32)

    def save(self, path: Path) -> None:
        """Write one file, by a temporary name and a rename, so that no reader sees a part of it.

        The file holds the three arrays in numpy's own format, one after the other.
        """
        arrays: tuple[NDArray[Any], ...] = (self.indptr, self.indices, self.weights)
        temporary = path.with_name(f"{path.name}.tmp")
        try:
            with temporary.open("wb") as file:
                for array, dtype in zip(arrays, _TYPES, strict=True):
                    file.write(b"\0" * (-file.tell() % _ALIGNMENT))
                    np.lib.format.write_array(
                        file, np.ascontiguousarray(array, dtype=dtype), allow_pickle=False
                    )
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
            mmap: map the arrays instead of reading them; they are then read-only, and shared by processes.

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


def _as(values: ArrayLike, usual: type, narrow: str) -> NDArray[Any]:
    """One dimension of numbers of the usual type, or of the narrow one if that is what they are."""
    found = np.asarray(values).reshape(-1)
    return found if found.dtype == np.dtype(narrow) else found.astype(usual, copy=False)


def _once(
    n: int, a: NDArray[Any], b: NDArray[Any], w: NDArray[Any], parallel: str
) -> tuple[Vertices, Vertices, NDArray[Any]]:
    """Each edge that is no loop once, its lower end first, ascending."""
    if _ascending(a, b):
        return a.astype(np.int32, copy=False), b.astype(np.int32, copy=False), w
    low, high = np.empty(len(a), dtype=np.int32), np.empty(len(a), dtype=np.int32)
    weights, at = np.empty(len(a), dtype=np.float32), 0
    # Where weights are alike, their order is no matter.
    alike = bool(len(w)) and w.min() == w.max()
    for rows in _parts(n, a, b):
        one, other = a[rows].astype(np.int64), b[rows].astype(np.int64)
        proper = one != other
        one, other, some = one[proper], other[proper], w[rows][proper].astype(np.float64)
        pair = np.minimum(one, other) * n + np.maximum(one, other)
        # Weights are the second key, because a sum of floats depends on the order of its terms.
        order = np.argsort(pair, kind="stable") if alike else np.lexsort((some, pair))
        pair, some = pair[order], some[order]
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        end = at + len(first)
        if len(first):
            merged = np.add if parallel == "sum" else np.maximum
            weights[at:end] = merged.reduceat(some, first)
            low[at:end], high[at:end] = np.divmod(pair[first], n)
        at = end
    return low[:at], high[:at], weights[:at]


def _ascending(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether each edge has its lower end first, and comes after the one before."""
    for at in range(0, len(a), _BLOCK):
        one, other = a[at : at + _BLOCK + 1], b[at : at + _BLOCK + 1]
        after = (one[1:] > one[:-1]) | ((one[1:] == one[:-1]) & (other[1:] > other[:-1]))
        if not (after.all() and (one < other).all()):
            return False
    return True


def _parts(n: int, a: NDArray[Any], b: NDArray[Any]) -> Iterator[Any]:
    """Divide edges by their lower end: the rows of each part, those with the lowest ends first."""
    n_parts = min(_PARTS, -(-len(a) // _BLOCK))
    if n_parts <= 1:
        yield slice(None)
        return
    ends = np.cumsum(_counts(n, len(a), lambda block: np.minimum(a[block], b[block])))
    last = np.searchsorted(ends, np.arange(1, n_parts) * (len(a) / n_parts))
    part = np.empty(len(a), dtype=np.uint8)
    for block in _blocks(len(a)):
        part[block] = np.searchsorted(last, np.minimum(a[block], b[block]))
    for i in range(n_parts):
        yield np.flatnonzero(part == i)


def _both_ways(
    n: int, low: Vertices, high: Vertices, weights: NDArray[Any]
) -> tuple[Offsets, Vertices, Weights]:
    """Edges, each once and ascending, as the neighbours of either end."""
    n_lower = _counts(n, len(low), lambda block: high[block])
    n_higher = _counts(n, len(low), lambda block: low[block])
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(n_lower + n_higher, out=indptr[1:])
    indices = np.empty(2 * len(low), dtype=np.int32)
    both = np.empty(2 * len(low), dtype=np.float32)
    # The lower neighbours of a vertex come first. Its higher ones follow each other in the edges already: they
    # only move, by as much as there are lower ones of this vertex and of those before it.
    moved, filled = np.cumsum(n_lower), indptr[:-1].copy()
    for block in _blocks(len(low)):
        a, b, w = low[block], high[block], weights[block]
        places = moved[a] + np.arange(block.start, block.start + len(a))
        indices[places], both[places] = b, w
        order = np.argsort(b, kind="stable")
        a, b, w = a[order], b[order], w[order]
        first = np.flatnonzero(np.diff(b, prepend=-1))
        sizes = np.diff(first, append=len(b))
        places = filled[b] + np.arange(len(b)) - np.repeat(first, sizes)
        indices[places], both[places] = a, w
        filled[b[first]] += sizes
    return indptr, indices, both


def _counts(n: int, m: int, vertices: Callable[[slice], NDArray[Any]]) -> NDArray[np.int64]:
    """How often each vertex stands among `m`, of which a block at a time is asked for."""
    counts = np.zeros(n, dtype=np.int64)
    for block in _blocks(m, max(_BLOCK, n)):
        counts += np.bincount(vertices(block), minlength=n)
    return counts


def _blocks(m: int, size: int = _BLOCK) -> Iterator[slice]:
    return (slice(at, at + size) for at in range(0, m, size))


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
        array = np.memmap(file, dtype=dtype, mode="r", offset=begin, shape=shape)
    else:
        array = np.frombuffer(file.read(size), dtype=dtype).copy()
    file.seek(begin + size)
    return array
