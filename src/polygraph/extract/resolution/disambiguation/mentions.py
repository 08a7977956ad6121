"""The mentions of one name with their features, and the clusters that grow from them."""

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.constraints import ConstraintKey
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.names.name_parts import NameParts


@dataclass(slots=True)
class MentionFeatures:
    """One row of the table with its features."""

    row: int
    document: int
    name: NameParts
    attributes: Attributes
    has_namesake: bool
    context_names: frozenset[str]
    constraint_keys: frozenset[ConstraintKey]
    apart: Set[int]
    """Rows that a text keeps apart from it."""


@dataclass(slots=True)
class GrowingCluster:
    """A cluster while mentions are assigned to it."""

    mentions: list[MentionFeatures] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    attributes: Attributes = field(default_factory=Attributes)
    documents: set[int] = field(default_factory=set)
    context_names: set[str] = field(default_factory=set)
    constraint_keys: set[ConstraintKey] = field(default_factory=set)
    ignores_context: bool = False
    """True for mentions that fit several clusters: their context names describe no single entity."""

    def add(self, mention: MentionFeatures) -> None:
        """Add a mention and what is known of it."""
        self.mentions.append(mention)
        self.rows.add(mention.row)
        self.attributes.update(mention.attributes)
        self.documents.add(mention.document)
        self.constraint_keys |= mention.constraint_keys
        if not self.ignores_context:
            self.context_names |= mention.context_names

    def to_cluster(self, base: str, table: MentionTable) -> Cluster:
        """Return the finished cluster, with its rows in the order in which they were added."""
        rows = np.array([mention.row for mention in self.mentions], dtype=np.int64)
        context_rows = rows[:0] if self.ignores_context else rows
        return Cluster(
            base,
            table,
            rows,
            self.attributes,
            context_rows=context_rows,
            constraint_keys=self.constraint_keys,
        )


def mentions_of(base: str, group: Array, attribute_ids: Array, table: MentionTable) -> list[MentionFeatures]:
    """Return the mentions of some rows of the table, in the same order.

    Args:
        base: their name without titles, which is no context name.
        group: rows.
        attribute_ids: number of the attributes of each row, as `MentionTable.attributes` takes it.
        table: of all mentions.
    """
    return [
        MentionFeatures(
            row,
            document,
            table.name(row),
            table.attributes(number),
            has_namesake,
            context_names - {base},
            table.constraint_keys(row),
            table.apart_rows.get(row, frozenset()),
        )
        for row, document, number, has_namesake, context_names in zip(
            group.tolist(),
            table.document(group).tolist(),
            attribute_ids.tolist(),
            table.has_namesake[group].astype(np.bool_).tolist(),
            table.context_names(group),
            strict=True,
        )
    ]
