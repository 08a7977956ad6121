"""The records of entity resolution: what goes in, what comes out, and what its steps work on."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from polygraph.columnar import Array
from polygraph.extract.resolution.attributes import Evidence

if TYPE_CHECKING:
    from polygraph.extract.resolution.mention_table import Names

Rule: TypeAlias = Literal["same name", "alias in document", "spelling", "embedding", "user"]
RULES: tuple[Rule, ...] = ("same name", "alias in document", "spelling", "embedding", "user")
"""The rules by number."""

_NONE = np.zeros(0, dtype=np.int32)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The same as arrays: which entity each row of the table ``names`` is."""

    ids: list[str]
    """Ids of the entities, ascending."""
    entity: Array
    """Position in `ids` for each row, shape ``(n_names,)``."""
    merges: tuple[Merge, ...]
    """Sorted by entity, name, document."""
    kept_apart: tuple[Apart, ...]
    """Sorted by name."""


class Cluster:
    """Names of windows that are one entity; `rows` of a table of `Names`, in the order in which they came in."""

    # There is one for each different name, so what most of them do not need is made when it is asked for.
    __slots__ = ("_around", "_company", "_kind", "_names", "_parts", "base", "n", "sides", "told")

    def __init__(
        self,
        base: str,
        names: "Names",
        rows: Array,
        told: Evidence,
        *,
        around: Array,
        sides: Set[Side] = frozenset(),
    ) -> None:
        """Make a cluster.

        Args:
            base: name under which its rows met.
            names: the table.
            rows: numbers of rows.
            told: what is known of the bearer; not changed.
            around: those of the rows, all of its base, whose windows tell its company.
            sides: of the user's decisions that it matches.
        """
        self._names = names
        self._parts: tuple[Array, ...] = (rows,)
        self._around: tuple[Array, ...] = (around,)
        self._company: Array = _NONE
        self._kind: str | None = None
        self.base, self.told, self.sides = base, told, frozenset(sides)
        self.n = len(rows)

    @property
    def rows(self) -> Array:
        """All rows."""
        if len(self._parts) > 1:
            self._parts = (np.concatenate(self._parts),)
        return self._parts[0]

    def join(self, other: "Cluster") -> None:
        """Take over another cluster whole."""
        self._parts += other._parts
        self._around += other._around
        self._company = np.union1d(self._company, other._company)
        self.told = replace(self.told)
        self.told.add(other.told)
        self.sides |= other.sides
        self.n += other.n
        self._kind = None

    def kind(self) -> str:
        """The commonest known type; ties in alphabetical order."""
        if self._kind is None:
            types = self._names.type_counts(self.rows)
            self._kind = min(types, key=lambda t: (t == "", -types[t], t)) if types else ""
        return self._kind

    def company(self) -> Array:
        """Names that stand around it, without its own, by number; ascending."""
        for rows in self._around:  # most clusters are never asked
            self._company = np.union1d(self._company, self._names.company_of(rows))
        self._around = ()
        return self._company

    def written_low(self) -> bool:
        """Say whether none of its names has a capital."""
        self._names.rest(self.n)
        return self._names.low(self.rows)
