"""Merge extraction rows into entities and relations: a pure function of the rows, whatever their order."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import fsum
from typing import TypeAlias, TypeVar

from polygraph.graph.csr import Graph
from polygraph.records import Description, Entity, Extraction, Relation, Triple

T = TypeVar("T")
UNSAID = "related to"
"""Predicate of a triple whose row has a strength of at least 1 but neither predicate nor keywords."""
_BACKWARD = "<-"
_KEYWORDS = 3
"""Keywords that stand for a predicate where there is none."""
Place: TypeAlias = tuple[int, int]
"""Position of a chunk, and of a text within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """The graph as retrieval sees it."""

    entities: tuple[Entity, ...]
    """Sorted by id."""
    relations: tuple[Relation, ...]
    """Sorted by id."""
    triples: tuple[Triple, ...] = ()
    """Sorted by (source, target, predicate)."""
    dropped: int = 0
    """Relation rows left out because an end is no known entity, or no chunk is known for them."""
    unplaced: int = 0
    """Entity rows left out because nothing says in which chunk they stand."""
    loops: int = 0
    """Relation rows left out because both ends are the same entity."""

    def graph(self) -> Graph:
        """The relations as arrays; vertex `i` is ``entities[i]``."""
        vertex = {entity.id: i for i, entity in enumerate(self.entities)}
        return Graph.from_edges(
            len(vertex),
            [vertex[relation.source] for relation in self.relations],
            [vertex[relation.target] for relation in self.relations],
            [relation.weight for relation in self.relations],
        )


def merge(
    extractions: Iterable[Extraction],
    entity_of: Mapping[tuple[str, str], str],
    chunk_order: Mapping[str, int],
    *,
    max_descriptions: int = 50,
) -> GraphView:
    """Merge the rows of all windows.

    Nothing depends on the order of `extractions`: names, types, predicates and keywords are counted, and
    ties are broken by their text; texts stand in the order of the documents; weights are summed exactly.

    An entity row without spans rests on the chunks of its relations in the same window, else on every
    chunk that the window's rows name; if there are none it is left out and counted, as nothing could
    show where it comes from.

    Args:
        extractions: what came out of each window, in any order, each window once. They are read once and
            not kept.
        entity_of: the entity that a name means in a window, by ``(window id, name as written)``.
        chunk_order: position of every chunk: documents by id, then by ordinal.
        max_descriptions: most descriptions kept for one entity or relation, at least 1. Of more, a spread
            over the whole corpus is kept, the first and the last included.

    Raises:
        KeyError: if a row names a chunk that `chunk_order` lacks.
        ValueError: if `max_descriptions` is less than 1.
    """
    if max_descriptions < 1:
        raise ValueError(f"max_descriptions must be at least 1, not {max_descriptions}")
    merging = _Merging(entity_of, chunk_order)
    with no_collection():
        for extraction in extractions:
            merging.add(extraction)
        return merging.view(max_descriptions)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the search for reference cycles.

    For work that makes millions of small objects with no cycle among them: the search would take 40% of its time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


_EntityRow: TypeAlias = tuple[str, str, int, tuple[int, ...], Place, str]
"""Name, type, number of mentions, chunks, first place, description."""
_RelationRow: TypeAlias = tuple[str, tuple[str, ...], float, tuple[int, ...], str]
"""Predicate with its direction, keywords, strength, chunks, description."""


class _Merging:
    """Rows gathered by what they speak of: plain tuples, for they are many, settled at the end."""

    def __init__(self, entity_of: Mapping[tuple[str, str], str], chunk_order: Mapping[str, int]) -> None:
        self._entity_of = entity_of
        self._order = chunk_order
        self._entities: dict[str, list[_EntityRow]] = {}
        self._relations: dict[tuple[str, str], list[_RelationRow]] = {}
        self._texts: dict[str, str] = {}
        self._dropped = self._unplaced = self._loops = 0

    def add(self, extraction: Extraction) -> None:
        """Take in the rows of one window."""
        window, order = extraction.window, self._order
        by_name: dict[str, set[int]] = {}
        everywhere: set[int] = set()
        if any(not row.spans for row in extraction.entities):
            for relation in extraction.relations:
                for name in (relation.source, relation.target):
                    by_name.setdefault(name, set()).update(order[chunk] for chunk in relation.chunks)
        if by_name or any(not relation.chunks for relation in extraction.relations):
            everywhere.update(order[span.chunk] for row in extraction.entities for span in row.spans)
            everywhere.update(order[chunk] for relation in extraction.relations for chunk in relation.chunks)

        for row in extraction.entities:
            entity = self._entity_of.get((window, row.name))
            if row.spans:
                chunks = {order[span.chunk] for span in row.spans}
                first = min([(order[span.chunk], span.start) for span in row.spans])
            else:
                chunks = by_name.get(row.name) or everywhere
                first = (min(chunks, default=-1), 0)
            if entity is None or not chunks:
                self._unplaced += 1
                continue
            text = self._text(row.description)
            made = (row.name, row.type, len(row.spans) or 1, _sorted(chunks), first, text)
            self._entities.setdefault(entity, []).append(made)

        for relation in extraction.relations:
            source = self._entity_of.get((window, relation.source))
            target = self._entity_of.get((window, relation.target))
            chunks = {order[chunk] for chunk in relation.chunks} or everywhere
            if source is None or target is None or not chunks:
                self._dropped += 1
            elif source == target:
                self._loops += 1
            else:
                forward = source < target
                predicate = relation.predicate
                if predicate and not forward:
                    predicate = f"{_BACKWARD}{predicate}"
                text = self._text(relation.description)
                ends = (source, target) if forward else (target, source)
                self._relations.setdefault(ends, []).append(
                    (predicate, relation.keywords, relation.strength, _sorted(chunks), text)
                )

    def _text(self, text: str) -> str:
        # One sentence describes everything that it names: keep one copy of it.
        text = text.strip()
        return self._texts.setdefault(text, text)

    def view(self, max_descriptions: int) -> GraphView:
        """Finish: settle names, counts and orders."""
        chunk_at = {position: chunk for chunk, position in self._order.items()}
        degree = dict.fromkeys(self._entities, 0)
        relations = []
        for (source, target), rows in self._relations.items():
            if source not in degree or target not in degree:
                self._dropped += len(rows)
                continue
            degree[source] += 1
            degree[target] += 1
            relations.append(_relation(source, target, rows, chunk_at, max_descriptions))
        relations.sort(key=lambda relation: relation.id)
        triples = [t for ends in self._relations for t in self._triples(ends, degree, chunk_at)]
        triples.sort(key=lambda triple: (triple.source, triple.target, triple.predicate))
        entities = [
            _entity(entity, self._entities[entity], degree[entity], chunk_at, max_descriptions)
            for entity in sorted(self._entities)
        ]
        return GraphView(
            entities=tuple(entities),
            relations=tuple(relations),
            triples=tuple(triples),
            dropped=self._dropped,
            unplaced=self._unplaced,
            loops=self._loops,
        )

    def _triples(
        self, ends: tuple[str, str], known: Mapping[str, int], chunk_at: Mapping[int, str]
    ) -> Iterator[Triple]:
        """What the rows between two entities state, by subject, then predicate."""
        low, high = ends
        if low not in known or high not in known:
            return
        stated: dict[tuple[bool, str], list[tuple[int, ...]]] = {}
        for predicate, keywords, strength, chunks, _ in self._relations[ends]:
            backward = predicate.startswith(_BACKWARD)
            said = predicate.removeprefix(_BACKWARD) or ", ".join(keywords[:_KEYWORDS])
            if not said and strength < 1:
                continue  # the two names only stand together
            stated.setdefault((backward, said or UNSAID), []).append(chunks)
        for (backward, said), rows in sorted(stated.items()):
            source, target = (high, low) if backward else (low, high)
            yield Triple(
                id=f"{source} | {said} | {target}",
                source=source,
                target=target,
                predicate=said,
                weight=float(len(rows)),
                chunks=_chunks(rows, chunk_at),
            )


def _entity(
    entity: str, rows: list[_EntityRow], degree: int, chunk_at: Mapping[int, str], most: int
) -> Entity:
    names: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for name, type_, mentions, _, _, _ in rows:
        names[name] += mentions
        if type_:
            types[type_] += mentions
    best = min(names, key=lambda name: (-names[name], -len(name), name))
    return Entity(
        id=entity,
        name=best,
        type=min(types, key=lambda type_: (-types[type_], type_), default=""),
        aliases=tuple(sorted(name for name in names if name != best)),
        descriptions=_descriptions([(row[4], row[5]) for row in rows], chunk_at, most),
        chunks=_chunks([row[3] for row in rows], chunk_at),
        degree=degree,
    )


def _relation(
    source: str, target: str, rows: list[_RelationRow], chunk_at: Mapping[int, str], most: int
) -> Relation:
    return Relation(
        id=f"{source} | {target}",
        source=source,
        target=target,
        predicates=_by_frequency([row[0] for row in rows if row[0]]),
        keywords=_by_frequency([keyword for row in rows for keyword in row[1]]),
        descriptions=_descriptions([((row[3][0], 0), row[4]) for row in rows], chunk_at, most),
        weight=fsum([row[2] for row in rows]),
        chunks=_chunks([row[3] for row in rows], chunk_at),
    )


def _sorted(positions: set[int]) -> tuple[int, ...]:
    return tuple(positions) if len(positions) == 1 else tuple(sorted(positions))


def _chunks(rows: list[tuple[int, ...]], chunk_at: Mapping[int, str]) -> tuple[str, ...]:
    if len(rows) == 1:  # by far the most
        return tuple([chunk_at[position] for position in rows[0]])
    return tuple([chunk_at[position] for position in sorted({p for row in rows for p in row})])


def _by_frequency(texts: list[str]) -> tuple[str, ...]:
    if len(texts) < 2:
        return tuple(texts)
    counts = Counter(texts)
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))


def _descriptions(
    said: list[tuple[Place, str]], chunk_at: Mapping[int, str], most: int
) -> tuple[Description, ...]:
    if len(said) == 1:  # by far the most
        ((place, text),) = said
        return (Description(text, chunk_at[place[0]]),) if text else ()
    first: dict[str, Place] = {}
    for place, text in sorted(said):
        if text:
            first.setdefault(text, place)
    kept = spread(list(first.items()), most)
    return tuple([Description(text, chunk_at[place[0]]) for text, place in kept])


def spread(items: Sequence[T], most: int) -> list[T]:
    """Keep at most so many items, evenly over the sequence, its ends included.

    >>> spread("abcdefghi", 3)
    ['a', 'e', 'i']
    """
    n = len(items)
    if n <= most:
        return list(items)
    if most == 1:
        return [items[0]]
    return [items[i * (n - 1) // (most - 1)] for i in range(most)]
