"""The records of entity resolution: what goes in, what comes out, and what its steps work on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from polygraph.extract.evidence import Evidence, Name

Rule: TypeAlias = Literal["same name", "alias in document", "spelling", "embedding", "user"]


Side: TypeAlias = tuple[str, str]
"""One side of a user's decision: normalised name, and document or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One entity row, as resolution sees it."""

    document: str
    window: str
    name: str
    """As written."""
    type: str = ""
    description: str = ""
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One name that was taken for another name's entity."""

    entity: str
    """Id of the entity."""
    name: str
    """The name that was merged, as written."""
    document: str
    """Where; empty for everywhere."""
    rule: Rule
    score: float
    """In (0, 1]; 1 is certain."""
    other: str
    """The normalised name that it was merged with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Entities of one name that were kept apart."""

    name: str
    """The normalised name that they share."""
    entities: tuple[str, ...]
    """Their ids, sorted."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Which entity each name of each window is."""

    entity_of: Mapping[tuple[str, str], str]
    """``(window id, name as written) -> entity id``, for every mention, sorted."""
    merges: tuple[Merge, ...]
    """Sorted by entity, name, document."""
    kept_apart: tuple[Apart, ...]
    """Sorted by name."""


NOTHING = Evidence()
"""What a mention tells when it tells nothing; shared, since most do not."""


@dataclass(slots=True)
class Item:
    """A mention with what was read off it."""

    mention: Mention
    name: Name
    base: str
    """Under which it meets others, after aliases."""
    rule: Rule = "same name"
    score: float = 1.0
    told: Evidence = field(default_factory=lambda: NOTHING)
    """Replaced, never changed."""
    sides: frozenset[Side] = frozenset()
    """Sides of the user's decisions that it matches."""


@dataclass(slots=True)
class Cluster:
    """Mentions that are one entity."""

    base: str
    items: list[Item] = field(default_factory=list)
    told: Evidence = field(default_factory=Evidence)
    documents: set[str] = field(default_factory=set)
    company: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)
    sides: set[Side] = field(default_factory=set)

    def take(self, item: Item, company: frozenset[str]) -> None:
        """Add a mention, and the names that stand around it."""
        self.items.append(item)
        self.told.add(item.told)
        self.documents.add(item.mention.document)
        self.company |= company
        self.types[item.mention.type] += 1
        self.sides |= item.sides

    def join(self, other: "Cluster") -> None:
        """Take over another cluster whole."""
        self.items += other.items
        self.told.add(other.told)
        self.documents |= other.documents
        self.company |= other.company
        self.types += other.types
        self.sides |= other.sides

    def kind(self) -> str:
        """The commonest known type; ties in alphabetical order."""
        return min(self.types, key=lambda t: (t == "", -self.types[t], t)) if self.types else ""
