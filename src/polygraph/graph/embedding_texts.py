"""What is embedded of the graph: one text for each row of a layer of vectors.

Raise `revisions.EMBEDDING_TEXTS` whenever a text changes, so that vectors of former texts are made again.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from polygraph.records import Entity, Relation, Report, Triple

_CHARACTERS = 600
"""Of a text so much is embedded: about what an embedder of names reads."""
_REPORT_CHARACTERS = 2_000
"""Of a report; the static embedder reads it as fast as a name."""


def entity_text(entity: Entity) -> str:
    """Name, type, then what is said of it (as in GraphRAG, LightRAG and FastGraphRAG)."""
    kind = f" ({entity.type})" if entity.type else ""
    return f"{entity.name}{kind}: {entity.description}"[:_CHARACTERS]


def description_text(entity: Entity) -> str:
    """What is said of an entity, without its name (as in FG-RAG); the name if nothing is said."""
    return (entity.description or entity.name)[:_CHARACTERS]


def relation_text(relation: Relation) -> str:
    """Keywords or predicates, both ends, then what is said (as in LightRAG)."""
    said = ", ".join(relation.keywords or [p.removeprefix("<-") for p in relation.predicates])
    return f"{said} {relation.source} {relation.target} {relation.description}".strip()[:_CHARACTERS]


def triple_text(triple: Triple) -> str:
    """Subject, predicate and object as a sentence (as in HippoRAG 2)."""
    return f"{triple.source} {triple.predicate} {triple.target}"[:_CHARACTERS]


def report_text(report: Report) -> str:
    """Title, summary and the first findings."""
    return report.text[:_REPORT_CHARACTERS]


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
"""For each layer of vectors by the embedder of names: the rows that it follows, and the text of one."""
