"""An undirected weighted graph as three arrays (compressed sparse rows)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polygraph.columnar.memmap import Room
from polygraph.columnar.memory import let_go

Offsets: TypeAlias = NDArray[np.int64]
Vertices: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float32]

_ALIGNMENT = 64  # bytes; arrays in a file begin at multiples of it, so that they can be mapped
_TYPES: tuple[np.dtype[Any], ...] = (np.dtype("<i8"), np.dtype("<i4"), np.dtype("<f4"))
_LARGEST = np.iinfo(np.int32).max
_ENTRIES = 1 << 14
"""Entries of `Graph.indices` that are gone through together."""
_BLOCK = 1 << 16
"""Edges that are worked on at once."""
_STRETCH = 1 << 19
"""Entries of a graph that are put in their places before what was written is let go."""
_SORTED = 64
"""Edges are divided into no more parts to be sorted, so that the time for it grows as their number does."""
_PLACED = 16
"""The same to be put in their places, where a part takes more time."""


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
        room: Room = np.empty,
    ) -> "Graph":
        """Build from edges in any order and direction; loops are dropped, parallel edges made one.

        The sums do not depend on the order of the edges. Beside the arguments and the graph itself, 13 bytes an edge
        are in memory; none if the edges come as `edges` gives them. Vertices and weights of 32 bits are taken as they
        are. With arguments and room in files, four bytes a vertex and some megabytes are in memory at once, and one
        byte an edge if they have to be sorted.

        Args:
            n: number of vertices.
            sources: one end of each edge, shape ``(m,)``, in ``[0, n)``.
            targets: the other end, shape ``(m,)``.
            weights: positive, finite, shape ``(m,)``.
            parallel: what parallel edges weigh as one: their sum, or as much as the heaviest.
            room: where the arrays of the graph lie, and what edges need to be sorted.

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
        for ends in (a, b):
            lowest, highest = _extent(ends)
            if len(ends) and not 0 <= lowest <= highest < n:
                raise ValueError(f"an edge ends outside the {n} vertices of the graph")
        least, most = _extent(w)
        if len(w) and not (least > 0 and np.isfinite(most)):  # not a number is neither
            raise ValueError("weights must be positive and finite")
        return cls(*_both_ways(n, *_once(n, a, b, w, parallel, alike=least == most, room=room), room))

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
                    header = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype=dtype))
                    np.lib.format.write_array_header_1_0(file, {**header, "shape": array.shape})
                    for block in _blocks(len(array), array):
                        file.write(np.ascontiguousarray(array[block], dtype=dtype).data)
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
        lowest, highest = _extent(self.indices)
        sound = (
            len(self.indptr) > 0
            and self.indptr[0] == 0
            and self.indptr[-1] == len(self.indices) == len(self.weights)
            and bool(np.all(np.diff(self.indptr) >= 0))
            and (not len(self.indices) or 0 <= lowest <= highest < self.n)
        )
        if not sound:
            raise ValueError(f"{name} is damaged: its arrays do not fit each other")


def _as(values: ArrayLike, usual: type, narrow: str) -> NDArray[Any]:
    """One dimension of numbers of the usual type, or of the narrow one if that is what they are."""
    found = np.asarray(values).reshape(-1)
    return found if found.dtype == np.dtype(narrow) else found.astype(usual, copy=False)


def _extent(values: NDArray[Any]) -> tuple[Any, Any]:
    """The least and the largest of some numbers; not a number if one is none."""
    found = [(values[block].min(), values[block].max()) for block in _blocks(len(values), values)]
    return (np.min([low for low, _ in found]), np.max([high for _, high in found])) if found else (0, 0)


def _once(
    n: int,
    a: NDArray[Any],
    b: NDArray[Any],
    w: NDArray[Any],
    parallel: str,
    *,
    alike: bool,
    room: Room,
) -> tuple[Vertices, Vertices, NDArray[Any]]:
    """Each edge that is no loop once, its lower end first, ascending."""
    if _ascending(a, b):
        return a.astype(np.int32, copy=False), b.astype(np.int32, copy=False), w
    low, high = room(len(a), np.int32), room(len(a), np.int32)
    weights, at = room(len(a), np.float32), 0
    for rows in _parts(n, a, b):
        one, other = a[rows].astype(np.int64), b[rows].astype(np.int64)
        proper = one != other
        one, other, some = one[proper], other[proper], w[rows][proper].astype(np.float64)
        pair = np.minimum(one, other) * n + np.maximum(one, other)
        # Weights are the second key, because a sum of floats depends on the order of its terms. Where all are
        # alike, it does not.
        order = np.argsort(pair, kind="stable") if alike else np.lexsort((some, pair))
        pair, some = pair[order], some[order]
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        end = at + len(first)
        if len(first):
            merged = np.add if parallel == "sum" else np.maximum
            weights[at:end] = merged.reduceat(some, first)
            low[at:end], high[at:end] = np.divmod(pair[first], n)
        at = end
        let_go(a, b, w, low, high, weights)
    return low[:at], high[:at], weights[:at]


def _ascending(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether each edge has its lower end first, and comes after the one before."""
    for block in _blocks(len(a), a, b):
        one, other = a[block.start : block.stop + 1], b[block.start : block.stop + 1]
        after = (one[1:] > one[:-1]) | ((one[1:] == one[:-1]) & (other[1:] > other[:-1]))
        if not (after.all() and (one < other).all()):
            return False
    return True


def _parts(n: int, a: NDArray[Any], b: NDArray[Any]) -> Iterator[Any]:
    """Divide edges by their lower end: the rows of each part, those with the lowest ends first."""
    n_parts = min(_SORTED, -(-len(a) // _BLOCK))
    if n_parts <= 1:
        yield slice(None)
        return
    counts = np.zeros(n, dtype=np.int32)
    for block in _blocks(len(a), a, b):
        _count(counts, np.minimum(a[block], b[block]))
    last = np.searchsorted(np.cumsum(counts), np.arange(1, n_parts) * (len(a) / n_parts))
    part = np.empty(len(a), dtype=np.uint8)
    for block in _blocks(len(a), a, b):
        part[block] = np.searchsorted(last, np.minimum(a[block], b[block]))
    for i in range(n_parts):
        yield np.flatnonzero(part == i)


def _both_ways(
    n: int, low: Vertices, high: Vertices, weights: NDArray[Any], room: Room
) -> tuple[Offsets, Vertices, Weights]:
    """Edges, each once and ascending, as the neighbours of either end."""
    degrees, m = np.zeros(n, dtype=np.int32), len(low)
    for block in _blocks(m, low, high):
        _count(degrees, low[block])
        _count(degrees, high[block])
    indptr = room(n + 1, np.int64)
    indptr[0], indptr[1:] = 0, degrees
    del degrees
    np.cumsum(indptr, out=indptr)
    indices, both = room(2 * m, np.int32), room(2 * m, np.float32)
    # Entries of a vertex lie anywhere, as far as the order of the edges goes. So that not all of them are in memory,
    # the edges are gone through several times, each time for some of the vertices.
    n_parts = max(1, min(_PLACED, -(-2 * m // _STRETCH)))
    ends = np.searchsorted(indptr, np.arange(1, n_parts) * (2 * m / n_parts)).clip(0, n)
    for first, last in pairwise([0, *ends.tolist(), n]):
        filled = np.array(indptr[first:last])
        # The lower neighbours of a vertex come first; either kind is in ascending order among the edges already.
        for vertices, others in ((high, low), (low, high)):
            for block in _blocks(m, low, high, weights):
                own = np.flatnonzero((vertices[block] >= first) & (vertices[block] < last))
                vertex = vertices[block][own] - first
                order = np.argsort(vertex, kind="stable")
                vertex, own = vertex[order], own[order]
                begin, sizes = _runs(vertex)
                places = filled[vertex] + np.arange(len(vertex)) - np.repeat(begin, sizes)
                indices[places], both[places] = others[block][own], weights[block][own]
                filled[vertex[begin]] += sizes
        let_go(indptr, indices, both)
    return indptr, indices, both


def _count(counts: NDArray[np.int32], vertices: NDArray[Any]) -> None:
    """Add how often each vertex stands among some."""
    ordered = np.sort(vertices)
    begin, sizes = _runs(ordered)
    counts[ordered[begin]] += sizes.astype(np.int32)


def _runs(ordered: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each of the distinct ones of some numbers that ascend begins, and how often it stands there."""
    begin = np.flatnonzero(np.diff(ordered, prepend=-1))
    return begin, np.diff(begin, append=len(ordered))


def _blocks(m: int, *read: NDArray[Any]) -> Iterator[slice]:
    """Some of `m` items at a time; what was read for them of some arrays is let go."""
    for at in range(0, m, _BLOCK):
        yield slice(at, at + _BLOCK)
        let_go(*read)


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
