"""Input and output records of entity resolution."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polygraph.arrays import Array

Rule: TypeAlias = Literal["same name", "alias in document", "spelling", "embedding", "user"]
RULES: tuple[Rule, ...] = ("same name", "alias in document", "spelling", "embedding", "user")
"""The rules by number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One entity row: a name in one extraction window."""

    document: str
    window: str
    name: str
    """As written."""
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One name that was merged into an entity with a different name."""

    entity: str
    """Id of the entity."""
    name: str
    """The merged name, as written."""
    document: str
    """The document where the merge holds; empty if it holds in all documents."""
    rule: Rule
    score: float
    """Confidence in (0, 1]; 1 is certain."""
    other: str
    """The normalised name that it was merged with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitEntity:
    """Several entities that share one name."""

    name: str
    """The normalised name that they share."""
    entities: tuple[str, ...]
    """Their ids, sorted."""
    reason: str
    """The first conflict that was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The entity of each mention."""

    entity_of: Mapping[tuple[str, str], str]
    """``(window id, name as written) -> entity id`` for every mention, sorted."""
    merges: tuple[Merge, ...]
    """Sorted by entity, name, document."""
    splits: tuple[SplitEntity, ...]
    """Sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRows:
    """The entity of each row of the features, as arrays."""

    ids: list[str]
    """Ids of the entities, ascending."""
    entity: Array
    """Position in `ids` for each row, shape ``(n_rows,)``."""
    merges: tuple[Merge, ...]
    """Sorted by entity, name, document."""
    splits: tuple[SplitEntity, ...]
    """Sorted by name."""
