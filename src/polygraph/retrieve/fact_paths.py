"""Why a passage was cited, as a path: the shortest chain of facts from the question's entities to each citation.

GRAFT names the display of such paths as future work. A path begins at an entity that the question names, or else at the
entities nearest to the question by cosine, follows relations of the graph, and ends at an entity that the cited passage
mentions; if the passage itself states a fact about that entity, this fact is the last one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygraph.graph.namesakes import distinct_name
from polygraph.models import Models
from polygraph.records import Citation, Entity, Relation
from polygraph.retrieve.base import require
from polygraph.retrieve.row_texts import RowTexts
from polygraph.retrieve.steps import embed_question, entities_in_question
from polygraph.store.snapshot import Snapshot
from polygraph.text.statements import statements

NEEDS = frozenset({"chunks", "graph", "entity_vectors", "mentions"})
"""Layers that `fact_paths` reads."""
MAX_HOPS = 4
"""Facts between the question's entities and those of a passage."""
MAX_VISITED = 20_000
"""Entities that a search reaches at most; beyond it, passages count as not reached."""
MAX_STARTS = 20
_NEAREST = 3
"""Entities to begin from if the question names none."""
_MAX_RELATIONS = 1_000
"""Relations of an entity among which a fact of the passage is sought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One relation of a path."""

    relation: str
    """Id of the relation."""
    sentence: str
    chunk: str
    """A passage that states it: the cited one if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPath:
    """The shortest chain of facts from the question to a cited passage."""

    n: int
    """Number of the citation in the answer."""
    chunk: str
    """The cited passage."""
    start: str
    """Name of the entity at which it begins; empty if no path was found."""
    named: bool
    """True if the question names this entity; False if it is only near the question by cosine."""
    end: str
    """Name of the entity of the passage at which it ends."""
    facts: tuple[Fact, ...]
    """In order; empty if the passage mentions an entity of the question and states no fact about it."""

    @property
    def text(self) -> str:
        """The path in words."""
        if not self.start:
            return f"no chain of at most {MAX_HOPS} facts leads from the question to this passage"
        if not self.facts:
            return f"the passage mentions {self.end}"
        return " ".join(fact.sentence for fact in self.facts)


def fact_paths(
    question: str, citations: Sequence[Citation], index: Snapshot, models: Models
) -> tuple[FactPath, ...]:
    """Find, for each cited passage, the shortest chain of facts from the question's entities to it.

    One breadth-first search serves all citations; it reaches at most `MAX_VISITED` entities. Among chains of equal
    length, the one from the entity named first in the question counts, then the one with the heaviest relation at each
    step, then the lowest row.

    Returns:
        One path for each number and passage cited, in the order of the citations.

    Raises:
        MissingLayer, IndexMismatch: as for a retrieval method.
    """
    require(index, "paths", NEEDS, models)
    cited = dict.fromkeys((c.n, c.chunk) for c in citations)
    if not cited:
        return ()
    named = list(dict.fromkeys(row for _, row in entities_in_question(question, index)))[:MAX_STARTS]
    starts = named or [
        hit.n for hit in index.search_entities(embed_question(question, models, names=True), _NEAREST)
    ]
    mentioned = _mentioned([chunk for _, chunk in cited], index)
    parents = _search(starts, mentioned, index)
    reached = {chunk: next((v for v in parents if v in rows), None) for chunk, rows in mentioned.items()}
    paths = _Paths(index, parents, {v for v in reached.values() if v is not None})
    return tuple(paths.path(n, chunk, reached[chunk], bool(named)) for n, chunk in cited)


def _mentioned(chunks: Sequence[str], index: Snapshot) -> dict[str, frozenset[int]]:
    """Return the rows of the entities that each passage mentions."""
    mentions = index.edges("mentions")
    rows = index.chunk_rows(chunks)
    return {
        chunk: frozenset(
            mentions.neighbours(index.n_entities + rows[chunk]).tolist() if chunk in rows else ()
        )
        for chunk in chunks
    }


def _search(
    starts: Sequence[int], mentioned: Mapping[str, frozenset[int]], index: Snapshot
) -> dict[int, int]:
    """Return the entities reached, nearest first, each with the one before it; starts have themselves."""
    graph = index.edges("graph")
    parents = {start: start for start in starts}
    missing = {chunk for chunk, rows in mentioned.items() if rows and rows.isdisjoint(parents)}
    level: Iterable[int] = starts
    for _ in range(MAX_HOPS):
        if not missing:
            break
        found: list[int] = []
        for vertex in level:
            near = zip((-graph.weights_of(vertex)).tolist(), graph.neighbours(vertex).tolist(), strict=True)
            for _, neighbour in sorted(near):
                if neighbour not in parents and len(parents) < MAX_VISITED:
                    parents[neighbour] = vertex
                    found.append(neighbour)
        missing = {chunk for chunk in missing if mentioned[chunk].isdisjoint(found)}
        level = found
    return parents


class _Paths:
    """The relations and names along the chains that lead to some entities."""

    def __init__(self, index: Snapshot, parents: Mapping[int, int], ends: Iterable[int]) -> None:
        self._index = index
        self._texts = RowTexts(index)
        self._chains = {end: _chain(end, parents) for end in sorted(ends)}
        rows = sorted({v for chain in self._chains.values() for v in chain})
        self._entities: dict[int, Entity] = dict(zip(rows, index.entities(rows), strict=True))

    def path(self, n: int, chunk: str, end: int | None, named: bool) -> FactPath:
        if end is None:
            return FactPath(n=n, chunk=chunk, start="", named=False, end="", facts=())
        chain = self._chains[end]
        facts = [self._fact(a, b, chunk) for a, b in pairwise(chain)]
        if not facts or facts[-1].chunk != chunk:
            facts += self._stated(end, chunk)
        name = {v: distinct_name((e := self._entities[v]).name, e.id) for v in (chain[0], end)}
        return FactPath(
            n=n, chunk=chunk, start=name[chain[0]], named=named, end=name[end], facts=tuple(facts)
        )

    def _fact(self, a: int, b: int, chunk: str) -> Fact:
        ns = [e.n for e in self._index.relations_at([a]) if {e.source, e.target} == {a, b}]
        return self._as_fact(next(iter(self._index.relations(ns).values())), chunk)

    def _stated(self, entity: int, chunk: str) -> list[Fact]:
        """Return the heaviest relation of an entity that a passage states, if there is one."""
        edges = sorted(self._index.relations_at([entity]), key=lambda e: (-e.weight, e.n))[:_MAX_RELATIONS]
        relations = self._index.relations([e.n for e in edges])
        return [self._as_fact(r, chunk) for r in relations.values() if chunk in r.chunks][:1]

    def _as_fact(self, relation: Relation, chunk: str) -> Fact:
        names = self._texts.names([relation.source, relation.target])
        source, target = names[relation.source], names[relation.target]
        if relation.predicates:
            sentence = statements(relation.predicates[:1], source, target)
        elif relation.descriptions:
            sentence = f"{source} and {target}: {relation.descriptions[0].text}"
        else:
            sentence = f"{source} and {target} are mentioned together."
        stated = chunk if chunk in relation.chunks else next(iter(relation.chunks), "")
        return Fact(relation=relation.id, sentence=sentence, chunk=stated)


def _chain(end: int, parents: Mapping[int, int]) -> list[int]:
    chain = [end]
    while parents[chain[-1]] != chain[-1]:
        chain.append(parents[chain[-1]])
    return chain[::-1]
