"""The pruned co-occurrence graph of noun phrases, as in Microsoft GraphRAG's fast indexing.

METHODS 5.2. Every two phrases of one chunk are joined with the weight ``p(x,y) log2(p(x,y) / (p(x) p(y)))``, their
pointwise mutual information (Church and Hanks, 1990) times the frequency of the pair. ``p`` is the share of all chunks
that contain a phrase, or both. Then these are pruned, in this order: phrases in too few chunks; phrases with too few
neighbours; the one phrase with the most neighbours, since everything is near it; edges of little weight.

Two things differ. An edge whose weight is not positive is always pruned: such phrases co-occur no more often than by
chance, and a graph needs positive weights. And a phrase that loses its last edge stays, so that it can be found.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polygraph.graph.merge.view import GraphView
from polygraph.records import Entity, Relation

_DIGITS = 9
"""Decimals of a weight in chunks; beyond them, logarithms may differ from machine to machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What is pruned; the defaults are those of METHODS 5.2, step 3."""

    min_frequency: int = 2
    """Least number of chunks of a phrase."""
    min_degree: int = 1
    """Least number of neighbours of a phrase, counted among those that are frequent enough."""
    drop_ego: bool = True
    """Whether the phrase with the most neighbours is pruned; of several, the first by id."""
    min_weight_percentile: float = 40.0
    """Edges below this percentile of the weights are pruned, in [0, 100]; interpolated linearly between two weights."""

    @property
    def identity(self) -> str:
        """The settings as part of the name of the extractor.

        >>> Pruning().identity
        'f2-d1-ego-p40'
        """
        ego = "-ego" if self.drop_ego else ""
        return f"f{self.min_frequency}-d{self.min_degree}{ego}-p{self.min_weight_percentile:g}"


def join_and_prune(view: GraphView, n_chunks: int, pruning: Pruning) -> GraphView:
    """Build the co-occurrence graph of phrases.

    Args:
        view: phrases with their chunks; its relations are ignored.
        n_chunks: number of chunks of the whole index, with phrases or without.
        pruning: what is pruned.

    Returns:
        The remaining phrases and their edges, without descriptions; the weights are not normalised.

    Raises:
        ValueError: if `n_chunks` is below 1 while there are phrases.
    """
    if n_chunks < 1 and view.entities:
        raise ValueError(f"n_chunks must be positive if there are phrases, not {n_chunks}")
    kept = [e for e in view.entities if len(e.chunks) >= pruning.min_frequency]
    chunks = list(dict.fromkeys(chunk for entity in kept for chunk in entity.chunks))
    edges = _pairs(kept, chunks)
    left = _degrees(edges, len(kept)) >= pruning.min_degree
    edges = edges.among(left)
    if pruning.drop_ego and len(edges.counts):
        # argmax returns the first of the largest, and rows are in the order of ids.
        left[int(np.argmax(_degrees(edges, len(kept))))] = False
        edges = edges.among(left)
    frequency = np.array([len(entity.chunks) for entity in kept], dtype=np.float64)
    weights = _weights(edges, frequency, n_chunks)
    if len(weights):
        heavy = weights >= np.percentile(weights, pruning.min_weight_percentile)
        edges, weights = edges.select(heavy & (weights > 0)), weights[heavy & (weights > 0)]
    degrees = _degrees(edges, len(kept)).tolist()
    return replace(
        view,
        entities=tuple(replace(entity, degree=degrees[i]) for i, entity in enumerate(kept) if left[i]),
        relations=tuple(_relations(kept, chunks, edges, weights / n_chunks)),
        triples=(),
    )


@dataclass(frozen=True, slots=True)
class _Edges:
    """Pairs of rows, ``a < b``, sorted; pair `i` co-occurs in ``chunks[starts[i] : starts[i] + counts[i]]``."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    chunks: NDArray[np.int64]

    def select(self, mask: NDArray[np.bool_]) -> "_Edges":
        return _Edges(self.a[mask], self.b[mask], self.starts[mask], self.counts[mask], self.chunks)

    def among(self, rows: NDArray[np.bool_]) -> "_Edges":
        """Return the pairs with both ends among some rows."""
        return self.select(rows[self.a] & rows[self.b])


def _pairs(entities: list[Entity], chunks: list[str]) -> _Edges:
    """Return every two phrases that share a chunk, with these chunks in the order of the documents."""
    n = len(entities)
    number = {chunk: i for i, chunk in enumerate(chunks)}
    members: list[list[int]] = [[] for _ in chunks]
    for place, entity in enumerate(entities):
        for chunk in entity.chunks:
            members[number[chunk]].append(place)
    codes: list[NDArray[np.int64]] = []
    places: list[NDArray[np.int64]] = []
    for i, rows in enumerate(members):
        if len(rows) > 1:
            row = np.array(rows, dtype=np.int64)
            first, second = np.triu_indices(len(rows), 1)
            codes.append(row[first] * n + row[second])
            places.append(np.full(len(first), i, dtype=np.int64))
    if not codes:
        none = np.empty(0, dtype=np.int64)
        return _Edges(none, none, none, none, none)
    code, where = np.concatenate(codes), np.concatenate(places)
    order = np.argsort(code, kind="stable")
    found, starts, counts = np.unique(code[order], return_index=True, return_counts=True)
    return _Edges(found // n, found % n, starts.astype(np.int64), counts.astype(np.int64), where[order])


def _degrees(edges: _Edges, n: int) -> NDArray[np.int64]:
    return np.bincount(edges.a, minlength=n) + np.bincount(edges.b, minlength=n)


def _weights(edges: _Edges, frequency: NDArray[np.float64], n_chunks: int) -> NDArray[np.float64]:
    """Return the weights times the number of chunks, so that they can be rounded whatever that is.

    With ``p(x) = f(x) / n`` it is ``f(x,y) log2(f(x,y) n / (f(x) f(y)))``.
    """
    together = edges.counts.astype(np.float64)
    apart = frequency[edges.a] * frequency[edges.b]
    return np.round(together * np.log2(together * n_chunks / apart), _DIGITS)


def _relations(
    entities: list[Entity], chunks: list[str], edges: _Edges, weights: NDArray[np.float64]
) -> list[Relation]:
    order = {chunk: position for position, chunk in enumerate(chunks)}
    found = []
    for a, b, start, count, weight in zip(
        edges.a.tolist(),
        edges.b.tolist(),
        edges.starts.tolist(),
        edges.counts.tolist(),
        weights.tolist(),
        strict=True,
    ):
        source, target = entities[a].id, entities[b].id
        places = set(edges.chunks[start : start + count].tolist())
        found.append(
            Relation(
                id=f"{source} | {target}",
                source=source,
                target=target,
                predicates=(),
                keywords=(),
                descriptions=(),
                weight=weight,
                # The chunks of an entity are in the order of the documents.
                chunks=tuple(chunk for chunk in entities[a].chunks if order[chunk] in places),
            )
        )
    return sorted(found, key=lambda relation: relation.id)
