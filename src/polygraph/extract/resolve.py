"""Entity resolution (signatures settled, rules on their way)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polygraph.models.protocols import Vectors
from polygraph.names import normalise

Rule: TypeAlias = Literal["same name", "alias in document", "spelling", "embedding", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One entity row, as resolution sees it."""

    document: str
    window: str
    name: str
    type: str = ""
    description: str = ""
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One name that was taken for another name's entity."""

    entity: str
    """Id of the entity."""
    name: str
    """The name that was merged."""
    document: str
    """Where; empty for everywhere."""
    rule: Rule
    score: float
    other: str
    """The name that it was merged with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Entities of one name that were kept apart."""

    name: str
    entities: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Which entity each name of each window is."""

    entity_of: Mapping[tuple[str, str], str]
    """``(window id, name as written) -> entity id``."""
    merges: tuple[Merge, ...]
    kept_apart: tuple[Apart, ...]


def resolve(
    mentions: Sequence[Mention],
    *,
    similar: Callable[[Sequence[str]], Vectors] | None = None,
    apart: frozenset[tuple[str, str]] = frozenset(),
    together: frozenset[tuple[str, str]] = frozenset(),
) -> Resolution:
    """Decide which names are one entity."""
    return Resolution(
        entity_of={(m.window, m.name): normalise(m.name) for m in mentions}, merges=(), kept_apart=()
    )
