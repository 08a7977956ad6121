"""Breadth-first collection of descriptions around seed entities: FG-RAG's context-aware entity expansion.

Hong et al. (2025), FG-RAG, section 3.2, say "BFS" and leave depth and size open. Limits and order are those of the
published code; its random choices are seeded here.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polygraph.arrays import find_sorted
from polygraph.graph.namesakes import distinct_name
from polygraph.ids import document_of_chunk
from polygraph.records import Relation, digest
from polygraph.store.protocol import EntityOutline
from polygraph.store.shared_texts import text_key
from polygraph.store.snapshot import Snapshot
from polygraph.text.statements import statements

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionLimits:
    """Limits of the expansion."""

    first: int = 75
    """Descriptions after which the first pass ends (code: 75)."""
    total: int = 150
    """Descriptions after which the second pass ends, including those of the first (code: 150)."""
    per_entity: int = 0
    """Descriptions taken at one entity, up to half of them from its relations; 0 for no limit."""
    edges: bool = True
    """Read relations and follow them; otherwise only the seeds are visited."""
    share_visited: bool = False
    """The second pass skips entities, relations and texts of the first; repeated texts count once."""
    seed: int = 0
    """Seed of the random samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedDescription:
    """One description, and the path on which it was found."""

    kind: Literal["entity", "relation"]
    id: str
    name: str
    """Name of the entity, or what the relation states: its predicate, or both ends if it has several; the same as
    `text` if the relation is not described."""
    text: str
    chunk: str
    """Id of the passage it comes from."""
    pass_name: str
    path: tuple[str, ...]
    """Ids of the entities from the seed to the one at which it was taken, both included."""
    date: str = ""
    """Date of its document; empty if it is not known."""

    @property
    def dated_note(self) -> str:
        """The note with the date of its document behind it, unless it states that date itself."""
        return f"{self.note} ({self.date})" if self.date and self.date not in self.note else self.note

    @property
    def note(self) -> str:
        """The name followed by the description; the same text once only."""
        said = self.text.rstrip(" ;")  # a statement may be a part of a sentence up to a semicolon
        says_it = said.rstrip(".").casefold() == self.name.rstrip(".").casefold()
        return said if says_it else f"{self.name}: {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedEntity:
    """An entity that was visited, with the number of descriptions taken there."""

    pass_name: str
    entity: str
    hops: int
    """Distance from its seed."""
    own: int
    """Number of its own descriptions."""
    edges: int
    """Number of descriptions of its relations."""


MANY_RELATIONS = 500
"""Relations of an entity that an expansion chooses from."""
_READ_AHEAD = 8
"""Entities that are read at once with what is likely to be taken at them."""
_PREDICATES = 4
"""Predicates or keywords that are read of a relation without descriptions."""
_DESCRIPTIONS = 1 << 16
"""More than a relation has descriptions."""


class Edges(NamedTuple):
    """The edges of an entity: one for each description of a relation, by row of the relation, then description."""

    rows: NDArray[np.int64]
    """Row of the relation of each edge."""
    others: NDArray[np.int64]
    """Row of its other end."""
    numbers: NDArray[np.int64]
    """Number of its description among those of the relation."""

    keys: NDArray[np.int64]
    """A number for each edge, ascending."""

    @classmethod
    def of(cls, ns: NDArray[np.int64], others: NDArray[np.int64], counts: NDArray[np.int64]) -> "Edges":
        """Return the edges of relations with their other ends and numbers of descriptions, by row of the relation."""
        owner = np.repeat(np.arange(len(ns)), counts)
        numbers = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(ns[owner], others[owner], numbers, ns[owner] * _DESCRIPTIONS + numbers)

    def without(self, keys: Collection[int]) -> "Edges":
        """Return the edges but for those with some keys."""
        if not keys:
            return self
        wanted = np.fromiter(keys, dtype=np.int64)
        places, known = find_sorted(self.keys, wanted)
        kept = np.ones(len(self.keys), dtype=np.bool_)
        kept[places[known]] = False
        return Edges(*(column[kept] for column in self))


class EntityReader:
    """Entities and relations of an index, each read once; the filter hides descriptions of other documents."""

    def __init__(self, index: Snapshot) -> None:
        self._index = index
        self._entities: dict[int, EntityOutline] = {}
        self._texts: dict[int | str, str] = {}
        self._names: dict[int, str] = {}
        self._edges: dict[int, Edges] = {}
        self._relations: dict[int, Relation] = {}
        self._stated: dict[tuple[int, int], tuple[Relation, str, str]] = {}
        self._read_ahead: set[tuple[str, int]] = set()

    def entity(self, row: int) -> EntityOutline:
        """Return an entity by row."""
        self.read([row])
        return self._entities[row]

    def read(self, rows: Iterable[int]) -> None:
        """Read entities by row, those that are not known yet, so that each is not read alone."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._entities]
        if unread:
            found = self._index.entity_outlines(unread)
            self._entities.update(zip(unread, found, strict=True))

    def dates(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the dates of the documents of some chunks, by chunk, empty for those that have none."""
        documents = {chunk: document_of_chunk(chunk) for chunk in chunks}
        found = self._index.dates(list(dict.fromkeys(documents.values())))
        return {chunk: found.get(document, "") for chunk, document in documents.items()}

    def texts(self, keys: Iterable[int | str]) -> Mapping[int | str, str]:
        """Return texts of descriptions by key."""
        unread = [key for key in dict.fromkeys(keys) if key not in self._texts]
        if unread:
            self._texts |= self._index.texts(unread)
        return self._texts

    def names(self, rows: Sequence[int]) -> Mapping[int, str]:
        """Return names of entities by row; what is said of them is not read before they are visited."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._names]
        if unread:
            self._names |= self._index.names_by_row(unread)
        return self._names

    def edges(self, row: int) -> Edges:
        """Return the edges of an entity.

        A relation counts as one edge per description, because the paper's graph keeps parallel edges. Of an entity with
        more than `MANY_RELATIONS` relations the strongest count.
        """
        if row not in self._edges:
            ns, others = self._index.arrays.strongest_relations(row, MANY_RELATIONS)
            self._edges[row] = Edges.of(ns, others, self._n_descriptions(ns))
        return self._edges[row]

    def _n_descriptions(self, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        counts = self._index.description_counts(ns)
        if counts is None:
            counts = np.zeros(len(ns), dtype=np.int64)
        # What is not described, or not by every document, has to be read.
        unread = ns[counts == 0].tolist()
        if unread:
            self._relations |= self._index.relations(unread)
            described = [
                len(relation_descriptions(self._relations[n])) if n in self._relations else 0 for n in unread
            ]
            counts[counts == 0] = described
        return counts

    def is_read_ahead(self, name: str, row: int) -> bool:
        """Tell whether what a pass takes at an entity has been read ahead, and remember that it is."""
        known = (name, row) in self._read_ahead
        self._read_ahead.add((name, row))
        return known

    def stated(self, edges: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[Relation, str, str]]:
        """Return what edges state, given by row of the relation and number of the description.

        Returns:
            The relation, of which little else is read, the text and the id of its chunk.
        """
        unread = [key for key in dict.fromkeys(edges) if key not in self._stated]
        if unread:
            for key, relation in self._index.single_descriptions(unread).items():
                (description,) = relation.descriptions
                self._stated[key] = relation, description.text, description.chunk
            for n, i in unread:
                if (n, i) not in self._stated:
                    # Not described: its predicates or keywords were read when its edges were counted.
                    self._stated[n, i] = self._relations[n], *relation_descriptions(self._relations[n])[i]
        return {key: self._stated[key] for key in edges}


def relation_descriptions(relation: Relation) -> list[tuple[str, str]]:
    """Return the descriptions of a relation with their chunks, or else its predicates or keywords."""
    if relation.descriptions:
        return [(d.text, d.chunk) for d in relation.descriptions]
    words = ", ".join(relation.predicates[:_PREDICATES] or relation.keywords[:_PREDICATES])
    return [(words, relation.chunks[0])] if words and relation.chunks else []


def expand_entities(
    passes: Mapping[str, Sequence[int]], reader: EntityReader, limits: ExpansionLimits
) -> tuple[list[CollectedDescription], list[VisitedEntity]]:
    """Collect descriptions in two passes of a breadth-first search, one from each set of seeds.

    The queue starts with the seeds, best first. Each entity visited contributes its own descriptions in their order,
    then its edges in the order of relations: an edge contributes its description, and its other end joins the queue.
    If not all of them fit, a seeded sample without replacement is taken, in the same order.

    Args:
        passes: rows of the seeds by name of the pass; the first pass ends at `limits.first` descriptions, the last
            at `limits.total`.
        reader: reads entities and relations.
        limits: how far to go.

    Returns:
        Descriptions in the order in which they were found, each text once; and the entities visited.
    """
    expansion = _Expansion(reader, limits)
    names = list(passes)
    for name, seeds in passes.items():
        if not limits.share_visited:
            expansion.forget()
        expansion.run(name, seeds, limits.total if name == names[-1] else limits.first)
    once: dict[str, CollectedDescription] = {}
    for found in expansion.collected:
        once.setdefault(found.text, found)
    dates = reader.dates(found.chunk for found in once.values())
    return [replace(found, date=dates[found.chunk]) for found in once.values()], expansion.visits


_NO_EDGES = Edges.of(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


class _Expansion:
    """The state of an expansion: what has been collected and visited so far."""

    def __init__(self, reader: EntityReader, limits: ExpansionLimits) -> None:
        self.collected: list[CollectedDescription] = []
        self.visits: list[VisitedEntity] = []
        self._reader = reader
        self._limits = limits
        self.forget()

    def forget(self) -> None:
        """Forget what has been visited, so that the next pass starts afresh."""
        self._visited: set[int] = set()
        self._crossed: dict[int, set[int]] = {}
        """Keys of the edges that were followed, by the entities at their ends."""
        self._taken: set[int | str] = set()
        """Keys of the texts that were taken."""

    def run(self, name: str, seeds: Sequence[int], most: int) -> None:
        """Search until there are `most` descriptions in all, or the queue is empty."""
        queue: deque[tuple[int, tuple[int, ...]]] = deque((row, ()) for row in seeds)
        self._reader.read(seeds)
        # A bound for texts that repeat: without it, the search could pass through the whole graph.
        steps = len(seeds) + most
        while queue and len(self.collected) < most and steps > 0:
            row, before = queue.popleft()
            if row in self._visited:
                continue
            if not self._reader.is_read_ahead(name, row):
                self._read_at(name, [row, *self._next(name, queue)], most - len(self.collected))
            self._visited.add(row)
            steps -= 1
            path = (*before, row)
            queue.extend((other, path) for other in self._visit(name, path, most - len(self.collected)))

    def _next(self, name: str, queue: Iterable[tuple[int, tuple[int, ...]]]) -> list[int]:
        """Return the next entities of the queue that have to be read."""
        waiting = dict.fromkeys(row for row, _ in queue if row not in self._visited)
        unread = (row for row in waiting if not self._reader.is_read_ahead(name, row))
        return list(islice(unread, _READ_AHEAD - 1))

    def _read_at(self, name: str, rows: Sequence[int], room: int) -> None:
        """Read at once what would be taken at some entities as things stand; what is taken may change till then."""
        self._reader.read(rows)
        chosen = [self._chosen(name, row, room) for row in rows]
        self._reader.texts(key for own, _ in chosen for key, _ in own)
        taken = [edge for _, edges in chosen for edge in edges]
        self._reader.stated([(n, i) for n, _, i in taken])
        self._reader.names([other for _, other, _ in taken])

    def _chosen(
        self, name: str, row: int, room: int
    ) -> tuple[list[tuple[int | str, str]], list[tuple[int, int, int]]]:
        """Choose what is taken at an entity: its own descriptions, and edges as relation, other end, description."""
        limits, entity = self._limits, self._reader.entity(row)
        if not entity.is_visible:
            return [], []
        own = [each for each in entity.described if not self._known(each[0])]
        edges = self._reader.edges(row).without(self._crossed.get(row, ())) if limits.edges else _NO_EDGES
        n_edges = len(edges.rows)
        most_own = room
        if limits.per_entity:
            room = min(room, limits.per_entity)
            most_own = room - min(n_edges, room // 2)
        sampled = sample(own, most_own, limits.seed, name, entity.id, "own")
        places = list(sample_places(n_edges, room - len(sampled), limits.seed, name, entity.id, "edges"))
        return sampled, list(zip(*(column[places].tolist() for column in edges[:3]), strict=True))

    def _visit(self, name: str, path: tuple[int, ...], room: int) -> list[int]:
        """Take what fits at one entity; return the other ends of the edges that were followed."""
        reader, row = self._reader, path[-1]
        entity = reader.entity(row)
        if not entity.is_visible:
            return []
        ids = tuple(reader.entity(r).id for r in path)
        sampled, crossed = self._chosen(name, row, room)
        step = CollectedDescription(
            kind="entity",
            id=entity.id,
            name=distinct_name(entity.name, entity.id),
            text="",
            chunk="",
            pass_name=name,
            path=ids,
        )
        texts = reader.texts(key for key, _ in sampled)
        for key, chunk in sampled:
            self._take(key, replace(step, text=texts[key], chunk=chunk))
        n_new = 0
        read = reader.stated([(n, i) for n, _, i in crossed])
        names = reader.names([other for _, other, _ in crossed])
        for n, other, i in crossed:
            for end in (row, other):
                self._crossed.setdefault(end, set()).add(n * _DESCRIPTIONS + i)
            relation, text, chunk = read[n, i]
            source, target = (
                distinct_name(entity.name if end == entity.id else names[other], end)
                for end in (relation.source, relation.target)
            )
            label, text = _stated(relation, text, source, target)
            key = text_key(text)
            if not self._known(key):
                n_new += 1
                self._take(
                    key, replace(step, kind="relation", id=relation.id, name=label, text=text, chunk=chunk)
                )
        self.visits.append(
            VisitedEntity(pass_name=name, entity=entity.id, hops=len(path) - 1, own=len(sampled), edges=n_new)
        )
        return [other for _, other, _ in crossed]

    def _known(self, key: int | str) -> bool:
        # In a database that does not share texts, and within a filter, long texts stand for themselves.
        return self._limits.share_visited and (text_key(key) if isinstance(key, str) else key) in self._taken

    def _take(self, key: int | str, found: CollectedDescription) -> None:
        self._taken.add(text_key(key) if isinstance(key, str) else key)
        self.collected.append(found)


def _stated(relation: Relation, description: str, source: str, target: str) -> tuple[str, str]:
    """Return what a relation states, and its description with what is needed to understand it.

    Predicates and keywords alone say nothing, and many relations share them: without a description the statement of
    all predicates, or both ends with the keywords, stands for both.
    """
    if not relation.descriptions:
        stated = statements(relation.predicates[:_PREDICATES], source, target)
        stated = stated.removesuffix(".") or f"{source} and {target}: {description}"
        return stated, stated
    # Which of several predicates a description is about is not known, and a wrong one would be a statement.
    predicates = relation.predicates if len(relation.predicates) == 1 else ()
    return statements(predicates, source, target).removesuffix(".") or f"{source} and {target}", description


def sample(items: Sequence[T], most: int, seed: int, *names: str) -> list[T]:
    """Sample items without replacement, in their order; independent of all other samples.

    Args:
        items: to sample from; all are returned if they are no more than `most`.
        most: size of the sample.
        seed: seed of all samples.
        names: identify the sample: other names give another sample.

    >>> sample("abcdef", 6, 0), len(sample("abcdef", 2, 0, "mara"))
    (['a', 'b', 'c', 'd', 'e', 'f'], 2)
    """
    return [items[i] for i in sample_places(len(items), most, seed, *names)]


# What is read ahead is mostly chosen again.
@lru_cache(maxsize=4_096)
def sample_places(n: int, most: int, seed: int, *names: str) -> Sequence[int]:
    """Return the places of the items that `sample` returns of `n` items, ascending."""
    if n <= most:
        return range(n)
    if most <= 0:
        return ()
    random = np.random.default_rng(int(digest(str(seed), *names)[:16], 16))
    return tuple(sorted(random.choice(n, size=most, replace=False).tolist()))
