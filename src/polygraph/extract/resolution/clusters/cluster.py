"""A cluster of mentions: one entity while resolution runs."""

from collections.abc import Set
from dataclasses import replace

import numpy as np

from polygraph.arrays import Array, distinct, union
from polygraph.extract.resolution.constraints import ConstraintKey
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.mentions.mention_table import MentionTable

_NO_IDS = np.zeros(0, dtype=np.int32)


class Cluster:
    """Rows of a `MentionTable` that are one entity, in the order in which they were added."""

    # There is one for each distinct name, so values that few clusters need are computed on demand.
    __slots__ = (
        "_attributes",
        "_context_ids",
        "_context_rows",
        "_majority_type",
        "_parts",
        "_table",
        "base",
        "constraint_keys",
        "size",
    )

    def __init__(
        self,
        base: str,
        table: MentionTable,
        rows: Array,
        attributes: Attributes | None,
        *,
        context_rows: Array,
        constraint_keys: Set[ConstraintKey] = frozenset(),
    ) -> None:
        """Make a cluster.

        Args:
            base: the base name that its rows share.
            table: the table of the rows.
            rows: row numbers.
            attributes: of the entity, not changed; None to merge those of its rows on demand.
            context_rows: the rows, all of this base name, whose windows give the context names.
            constraint_keys: keys of the user's constraints that it matches.
        """
        self._table = table
        self._parts: tuple[Array, ...] = (rows,)
        self._context_rows: tuple[Array, ...] = (context_rows,)
        self._context_ids: Array = _NO_IDS
        self._majority_type: str | None = None
        self.base, self._attributes, self.constraint_keys = base, attributes, frozenset(constraint_keys)
        self.size = len(rows)

    @property
    def rows(self) -> Array:
        """All row numbers."""
        if len(self._parts) > 1:
            self._parts = (np.concatenate(self._parts),)
        return self._parts[0]

    @property
    def first_row(self) -> int:
        """A row that it had before it merged with others."""
        return int(self._parts[0][0])

    @property
    def attributes(self) -> Attributes:
        """What is known of the entity."""
        if self._attributes is None:
            self._attributes = Attributes()
            for number in distinct(self._table.attribute_ids[self.rows]).tolist():
                self._attributes.update(self._table.attributes(number))
        return self._attributes

    def merge(self, other: "Cluster") -> None:
        """Add all rows of another cluster."""
        attributes = replace(self.attributes)
        attributes.update(other.attributes)
        self._attributes = attributes
        self._parts += other._parts
        self._context_rows += other._context_rows
        self._context_ids = union(self._context_ids, other._context_ids)
        self.constraint_keys |= other.constraint_keys
        self.size += other.size
        self._majority_type = None

    def majority_type(self) -> str:
        """Return the most frequent type that is not empty; ties in alphabetical order."""
        if self._majority_type is None:
            types = self._table.type_counts(self.rows)
            self._majority_type = min(types, key=lambda t: (t == "", -types[t], t)) if types else ""
        return self._majority_type

    def context_ids(self) -> Array:
        """Return the numbers of the names that co-occur with it, without its own; ascending."""
        for rows in self._context_rows:
            found = self._table.context_ids(rows)
            self._context_ids = union(self._context_ids, found) if len(self._context_ids) else found
        self._context_rows = ()
        return self._context_ids

    def is_lower_case(self) -> bool:
        """Return whether none of its names has a capital."""
        return self._table.all_lower_case(self.rows)
