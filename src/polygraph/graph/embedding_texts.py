"""The texts that are embedded of the graph: one for each row of a layer of vectors.

A text consists of parts, which a space separates. Rows share parts: a sentence describes many relations.
`store.token_rows` keeps each part once.

Raise `revisions.EMBEDDING_TEXTS` whenever a text changes, so that vectors of earlier texts are computed again.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from polygraph.records import Entity, Relation, Report, Triple

_CHARACTERS = 20_000
"""Characters of a text that are embedded, which bounds the work; most embedders cut a text far earlier."""


def entity_parts(entity: Entity) -> list[str]:
    """Return name with type, and the descriptions (as in GraphRAG, LightRAG and FastGraphRAG)."""
    kind = f" ({entity.type})" if entity.type else ""
    descriptions = _descriptions(entity)
    return _cut([f"{entity.name}{kind}:" if descriptions else f"{entity.name}{kind}: ", *descriptions])


def description_parts(entity: Entity) -> list[str]:
    """Return the descriptions without the name (as in FG-RAG); the name if there is none."""
    return _cut(_descriptions(entity) or [entity.name])


def relation_parts(relation: Relation) -> list[str]:
    """Return keywords or predicates, both ends, and the descriptions (as in LightRAG)."""
    topics = ", ".join(relation.keywords or [p.removeprefix("<-") for p in relation.predicates])
    parts = (topics, relation.source, relation.target, *_descriptions(relation))
    return _cut([part for part in parts if part])


def entity_text(entity: Entity) -> str:
    """Return the parts of an entity as one text."""
    return " ".join(entity_parts(entity))


def description_text(entity: Entity) -> str:
    """Return the descriptions of an entity as one text."""
    return " ".join(description_parts(entity))


def relation_text(relation: Relation) -> str:
    """Return the parts of a relation as one text."""
    return " ".join(relation_parts(relation))


def triple_text(triple: Triple) -> str:
    """Return subject, predicate and object as a sentence (as in HippoRAG 2)."""
    return f"{triple.source} {triple.predicate} {triple.target}"[:_CHARACTERS]


def report_text(report: Report) -> str:
    """Return title, summary and findings."""
    return report.text[:_CHARACTERS]


def _descriptions(row: Entity | Relation) -> list[str]:
    return [row.summary] if row.summary else [d.text for d in row.descriptions if d.text]


def _cut(parts: list[str]) -> list[str]:
    """Keep the parts that make up the first `_CHARACTERS` characters of the text; the last may be cut."""
    kept, room = [], _CHARACTERS
    for part in parts:
        if room <= 0:
            break
        kept.append(part[:room])
        room -= len(part) + 1
    return kept


Rows: TypeAlias = Literal["names", "entities", "relations", "triples", "predicates", "reports"]

RECIPES: Mapping[str, tuple[Rows, Callable[[Any], str]]] = {
    "entity_vectors": ("entities", entity_text),
    "name_vectors": ("names", lambda name: name[:_CHARACTERS]),
    "description_vectors": ("entities", description_text),
    "relation_vectors": ("relations", relation_text),
    "fact_vectors": ("triples", triple_text),
    "predicate_vectors": ("predicates", lambda predicate: predicate[:_CHARACTERS]),
    "report_vectors": ("reports", report_text),
}
"""Rows of each layer that the embedder of names computes, and the text of one row."""

PARTS: Mapping[str, Callable[[Any], list[str]]] = {
    "entity_vectors": entity_parts,
    "description_vectors": description_parts,
    "relation_vectors": relation_parts,
}
"""The parts of the text of one row; the text of a row of another layer is one part."""
