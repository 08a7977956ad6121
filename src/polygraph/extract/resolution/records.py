"""Input and output records of entity resolution."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from polygraph.arrays import Array

Rule: TypeAlias = Literal[
    "same name",
    "alias in document",
    "spelling",
    "embedding",
    "user",
    "equated by text",
    "acronym",
    "short name",
    "transliteration",
    "model",
]
RULES: tuple[Rule, ...] = get_args(Rule)
"""The rules by number."""

Decision: TypeAlias = Literal["apart", "undecided", "presumed"]


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
class NameRelation:
    """One relation row: what a text says about two names of one window."""

    window: str
    source: str
    """As written, like `Mention.name`."""
    target: str
    predicate: str = ""
    """So that "source predicate target" is a statement."""


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
    """The normalised name that it was merged with: the main name of the entity, or one that was merged in turn."""
    evidence: str = ""
    """What the decision rests on, for readers: shared names, a predicate, the full name; empty if the rule says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision:
    """Two entities with equal or similar names that were compared and not merged."""

    entities: tuple[str, str]
    """Their ids, ascending."""
    names: tuple[str, str]
    """The normalised names that were compared, in the order of the ids."""
    decision: Decision
    """`undecided` if there is no evidence either way: a user or a model may decide. `presumed`, only where a model is
    asked, if a rule would merge them on little evidence: they are one unless the model objects."""
    rule: str
    """Why they are apart (``a man and a woman``), or the rule that suggested a merge."""
    score: float
    """Confidence in (0, 1] that they are different; 0.5 if undecided."""
    evidence: str = ""
    """The attributes or the statement that were compared."""


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
    pairs: tuple[PairDecision, ...] = ()
    """Pairs that were compared and not merged, sorted by their ids."""


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
    pairs: tuple[PairDecision, ...] = ()
    """Pairs that were compared and not merged, sorted by their ids."""
