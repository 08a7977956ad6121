"""Why a passage was cited, as a path: the shortest chain of facts from the question's entities to each citation.

GRAFT names the display of such paths as future work. A path begins at an entity that the question names, or else at the
entities nearest to the question by cosine, and follows relations of the graph. Its last fact is the one that the cited
passage states and that shares most words with the quote; if the passage states none, or none that a chain leads to,
the path ends at an entity that the passage mentions.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polygraph.graph.namesakes import distinct_name
from polygraph.models import Models
from polygraph.records import Citation, Entity, Relation
from polygraph.retrieve.base import require
from polygraph.retrieve.question_names import entities_in_question
from polygraph.retrieve.row_texts import RowTexts
from polygraph.retrieve.steps import embed_question
from polygraph.store.snapshot import Neighbour, Snapshot
from polygraph.text.statements import statements
from polygraph.text.words import content_stem_set

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
"""Relations of the entities of a passage among which the fact that it states is sought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One relation of a path."""

    relation: str
    """Id of the relation."""
    sentence: str
    to: str
    """Name of the entity to which it leads from the one before it."""
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
    """Name of the entity of the passage to which the chain leads; the last fact is about it."""
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
    """Find, for each citation, the shortest chain of facts from the question's entities to it.

    One breadth-first search serves all citations; it reaches at most `MAX_VISITED` entities. Among chains of equal
    length, the one from the entity named first in the question counts, then the one with the heaviest relation at each
    step, then the lowest row. Of facts of a passage with equally many words of the quote, one about an entity of the
    question counts, then one with a predicate, then the heaviest.

    Returns:
        One path for each citation, in their order.

    Raises:
        MissingLayer, IndexMismatch: as for a retrieval method.
    """
    require(index, "paths", NEEDS, models)
    if not citations:
        return ()
    named = list(dict.fromkeys(row for _, row in entities_in_question(question, index)))[:MAX_STARTS]
    starts = named or [
        hit.n for hit in index.search_entities(embed_question(question, models, names=True), _NEAREST)
    ]
    mentioned = _mentioned(list(dict.fromkeys(c.chunk for c in citations)), index)
    texts = RowTexts(index)
    stated = [_stated(mentioned[c.chunk], c, frozenset(starts), texts, index) for c in citations]
    targets = [
        mentioned[c.chunk] if fact is None else frozenset((fact.source, fact.target))
        for c, fact in zip(citations, stated, strict=True)
    ]
    passages = [mentioned[c.chunk] for c in citations]
    parents = _search(starts, [*targets, *passages], index)
    reached = [next((v for v in parents if v in rows), None) for rows in targets]
    for n, end in enumerate(reached):
        if end is None:
            # The fact hangs together with nothing of the question; the passage may still mention an entity of it.
            reached[n], stated[n] = next((v for v in parents if v in passages[n]), None), None
    paths = _Paths(index, texts, parents, {v for v in reached if v is not None})
    return tuple(
        paths.path(citation, end, fact, bool(named))
        for citation, end, fact in zip(citations, reached, stated, strict=True)
    )


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


def _stated(
    entities: frozenset[int],
    citation: Citation,
    starts: frozenset[int],
    texts: RowTexts,
    index: Snapshot,
) -> Neighbour | None:
    """Return the relation that the passage states and that shares most words with the quote, if there is one.

    A parser's relations from one sentence share all of its words: of them, one of an entity of the question comes
    first, then one with a predicate.
    """
    chunk = citation.chunk
    edges = index.relations_at(sorted(entities), most=_MAX_RELATIONS)
    relations = index.relations([edge.n for edge in edges])
    words = content_stem_set(citation.quote)
    stated: list[tuple[int, bool, bool, float, int, Neighbour]] = []
    for edge in edges:
        relation = relations.get(edge.n)
        if relation is not None and chunk in relation.chunks:
            of_passage = [d.text for d in relation.descriptions if d.chunk == chunk]
            fact = " ".join([_sentence(relation, texts), *of_passage])
            is_far = starts.isdisjoint((edge.source, edge.target))
            n_words = len(words & content_stem_set(fact))
            stated.append((-n_words, is_far, not relation.predicates, -edge.weight, edge.n, edge))
    return min(stated)[-1] if stated else None


def _search(starts: Sequence[int], targets: Collection[frozenset[int]], index: Snapshot) -> dict[int, int]:
    """Return the entities reached, nearest first, each with the one before it; starts have themselves."""
    graph = index.edges("graph")
    parents = {start: start for start in starts}
    missing = [rows for rows in targets if rows and rows.isdisjoint(parents)]
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
        missing = [rows for rows in missing if rows.isdisjoint(found)]
        level = found
    return parents


class _Paths:
    """The relations and names along the chains that lead to some entities."""

    def __init__(
        self, index: Snapshot, texts: RowTexts, parents: Mapping[int, int], ends: Iterable[int]
    ) -> None:
        self._index = index
        self._texts = texts
        self._chains = {end: _chain(end, parents) for end in sorted(ends)}
        rows = sorted({v for chain in self._chains.values() for v in chain})
        self._entities: dict[int, Entity] = dict(zip(rows, index.entities(rows), strict=True))

    def path(self, citation: Citation, end: int | None, stated: Neighbour | None, named: bool) -> FactPath:
        n, chunk = citation.n, citation.chunk
        if end is None:
            return FactPath(n=n, chunk=chunk, start="", named=False, end="", facts=())
        chain = self._chains[end]
        hops = [(a, self._between(a, b)) for a, b in pairwise(chain)]
        if stated is not None and stated.n not in {row for _, row in hops}:
            hops.append((end, stated.n))
        relations = self._index.relations([row for _, row in hops])
        name = {v: distinct_name((e := self._entities[v]).name, e.id) for v in (chain[0], end)}
        return FactPath(
            n=n,
            chunk=chunk,
            start=name[chain[0]],
            named=named,
            end=name[end],
            facts=tuple(self._as_fact(self._entities[v].id, relations[row], chunk) for v, row in hops),
        )

    def _between(self, a: int, b: int) -> int:
        ns = [e.n for e in self._index.relations_at([a]) if {e.source, e.target} == {a, b}]
        return next(iter(self._index.relations(ns)))

    def _as_fact(self, before: str, relation: Relation, chunk: str) -> Fact:
        to = relation.target if relation.source == before else relation.source
        return Fact(
            relation=relation.id,
            sentence=_sentence(relation, self._texts),
            to=self._texts.names([to])[to],
            chunk=chunk if chunk in relation.chunks else next(iter(relation.chunks), ""),
        )


def _sentence(relation: Relation, texts: RowTexts) -> str:
    """Write what a relation states, by its first predicate or description."""
    names = texts.names([relation.source, relation.target])
    source, target = names[relation.source], names[relation.target]
    if relation.predicates:
        return statements(relation.predicates[:1], source, target)
    if relation.descriptions:
        return f"{source} and {target}: {relation.descriptions[0].text}"
    return f"{source} and {target} are mentioned together."


def _chain(end: int, parents: Mapping[int, int]) -> list[int]:
    chain = [end]
    while parents[chain[-1]] != chain[-1]:
        chain.append(parents[chain[-1]])
    return chain[::-1]
