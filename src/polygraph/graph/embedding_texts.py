"""The texts that are embedded of the graph: one for each row of a layer of vectors.

Raise `revisions.EMBEDDING_TEXTS` whenever a text changes, so that vectors of earlier texts are computed again.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from polygraph.records import Entity, Relation, Report, Triple

_CHARACTERS = 20_000
"""Characters of a text that are embedded, which bounds the work; most embedders cut a text far earlier."""


def entity_text(entity: Entity) -> str:
    """Return name, type and description (as in GraphRAG, LightRAG and FastGraphRAG)."""
    kind = f" ({entity.type})" if entity.type else ""
    return f"{entity.name}{kind}: {entity.description}"[:_CHARACTERS]


def description_text(entity: Entity) -> str:
    """Return the description without the name (as in FG-RAG); the name if there is none."""
    return (entity.description or entity.name)[:_CHARACTERS]


def relation_text(relation: Relation) -> str:
    """Return keywords or predicates, both ends, and the description (as in LightRAG)."""
    topics = ", ".join(relation.keywords or [p.removeprefix("<-") for p in relation.predicates])
    return f"{topics} {relation.source} {relation.target} {relation.description}".strip()[:_CHARACTERS]


def triple_text(triple: Triple) -> str:
    """Return subject, predicate and object as a sentence (as in HippoRAG 2)."""
    return f"{triple.source} {triple.predicate} {triple.target}"[:_CHARACTERS]


def report_text(report: Report) -> str:
    """Return title, summary and findings."""
    return report.text[:_CHARACTERS]


Rows: TypeAlias = Literal["entities", "relations", "triples", "predicates", "reports"]

RECIPES: Mapping[str, tuple[Rows, Callable[[Any], str]]] = {
    "entity_vectors": ("entities", entity_text),
    "name_vectors": ("entities", lambda entity: entity.name[:_CHARACTERS]),
    "description_vectors": ("entities", description_text),
    "relation_vectors": ("relations", relation_text),
    "fact_vectors": ("triples", triple_text),
    "predicate_vectors": ("predicates", lambda predicate: predicate[:_CHARACTERS]),
    "report_vectors": ("reports", report_text),
}
"""Rows of each layer that the embedder of names computes, and the text of one row."""
