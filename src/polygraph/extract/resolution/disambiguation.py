"""Disambiguation: the mentions of one name are one entity unless attributes or constraints split them."""

from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.resolution.attributes import Attributes
from polygraph.extract.resolution.cluster import Cluster
from polygraph.extract.resolution.constraints import ConstraintKey
from polygraph.extract.resolution.mention_table import MentionTable
from polygraph.extract.resolution.name_parts import NameParts

_MAX_ENTITIES_PER_NAME = 50
_MAX_PAIRWISE = 40
"""Above this many distinct attribute sets, mentions are assigned greedily without comparing all pairs first."""
_SPLITTABLE_TYPES = frozenset(["person", "", "ship"])
"""Types whose attributes can split a name."""
_NO_ATTRIBUTES = Attributes()
_CONSTRAINT = "constraint of the user"


@dataclass(slots=True)
class _Mention:
    """One row of the table with its features."""

    row: int
    document: int
    name: NameParts
    attributes: Attributes
    has_namesake: bool
    context_names: frozenset[str]
    constraint_keys: frozenset[ConstraintKey]


@dataclass(slots=True)
class _PartialCluster:
    """A cluster while mentions are assigned to it."""

    mentions: list[_Mention] = field(default_factory=list)
    attributes: Attributes = field(default_factory=Attributes)
    documents: set[int] = field(default_factory=set)
    context_names: set[str] = field(default_factory=set)
    constraint_keys: set[ConstraintKey] = field(default_factory=set)
    ignores_context: bool = False
    """True for mentions that fit several clusters: their context names describe no single entity."""

    def add(self, mention: _Mention) -> None:
        self.mentions.append(mention)
        self.attributes.update(mention.attributes)
        self.documents.add(mention.document)
        self.constraint_keys |= mention.constraint_keys
        if not self.ignores_context:
            self.context_names |= mention.context_names

    def to_cluster(self, base: str, table: MentionTable) -> Cluster:
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


def cluster_by_name(table: MentionTable) -> tuple[list[Cluster], dict[str, str]]:
    """Group mentions by base name, and split the groups that cannot be one entity.

    Returns:
        The clusters in order of base name; and the reason of each base name that was split.
    """
    splittable = np.array([type_ in _SPLITTABLE_TYPES for type_ in table.types], dtype=np.bool_)
    clusters: list[Cluster] = []
    reasons: dict[str, str] = {}
    for base, (begin, end) in zip(table.bases, pairwise(table.ends.tolist()), strict=False):
        group = table.rows[begin:end]
        # A single mention and a name of a thing cannot be split by attributes.
        compare = (
            end - begin > 1
            and splittable[table.type[begin:end]].any()
            and (table.attribute_ids[begin:end] >= 0).any()
        )
        if not compare and not table.constraints:
            clusters.append(Cluster(base, table, group, _NO_ATTRIBUTES, context_rows=group))
        else:
            found, reason = _split_group(base, group, table, with_attributes=bool(compare))
            clusters += found
            if reason:
                reasons[base] = reason
    return clusters, reasons


def _split_group(
    base: str, group: Array, table: MentionTable, *, with_attributes: bool
) -> tuple[list[Cluster], str]:
    """Return the clusters of one base name and the reason why there are several, if there are."""
    attribute_ids = table.attribute_ids[group] if with_attributes else np.full(len(group), -1)
    if not table.constraints and (attributes := _merged_attributes(attribute_ids, table)) is not None:
        # Mentions with attributes come first, as in `_assign`.
        group[:] = np.concatenate((group[attribute_ids >= 0], group[attribute_ids < 0]))
        return [Cluster(base, table, group, attributes, context_rows=group)], ""
    mentions = [
        _Mention(
            row,
            document,
            table.name(row),
            table.attributes(number),
            bool(table.has_namesake[row]),
            table.context_names(row) - {base},
            table.constraint_keys(row),
        )
        for row, document, number in zip(
            group.tolist(), table.document(group).tolist(), attribute_ids.tolist(), strict=True
        )
    ]
    clusters, reason = _assign(base, mentions, table)
    return [cluster.to_cluster(base, table) for cluster in clusters], reason


def _merged_attributes(attribute_ids: Array, table: MentionTable) -> Attributes | None:
    """Return the merged attributes of all mentions, or None if any two conflict by the strictest rules."""
    known, first = np.unique(attribute_ids[attribute_ids >= 0], return_index=True)
    if len(known) > _MAX_PAIRWISE:
        return None
    distinct = [table.attributes(int(number)) for number in known[np.argsort(first)]]
    for one, other in combinations(distinct, 2):
        if one.conflict(other, unrelated=True) or one.occupation_conflict(other, with_offices=True):
            return None
    merged = Attributes()
    for one in distinct:
        merged.update(one)
    return merged


def _assign(base: str, mentions: list[_Mention], table: MentionTable) -> tuple[list[_PartialCluster], str]:
    """Assign each mention to the best cluster without a conflict, or to a new one.

    Mentions with attributes come first, in their order; the others follow and go where their document and context
    names are.
    """
    described = [mention for mention in mentions if not mention.attributes.is_empty()]
    clusters: list[_PartialCluster] = []
    reason = ""
    # Where the text itself refers to namesakes, offices split as well.
    with_offices = any(mention.has_namesake for mention in described)
    # Attributes of a mention count for its whole document, unless the document contradicts itself.
    for mention in described:
        fitting: list[_PartialCluster] = []
        for cluster in clusters:
            conflict = _conflict(mention, cluster, table, with_offices=with_offices and len(clusters) == 1)
            if conflict:
                reason = reason or conflict
            else:
                fitting.append(cluster)
        if not fitting and len(clusters) < _MAX_ENTITIES_PER_NAME:
            clusters.append(_PartialCluster())
            fitting = clusters[-1:]
        _best(fitting or clusters, mention).add(mention)
    ambiguous: _PartialCluster | None = None
    for mention in mentions:
        if not mention.attributes.is_empty():
            continue
        fitting = [
            c for c in clusters if not table.constraints.forbid(mention.constraint_keys, c.constraint_keys)
        ]
        near = [c for c in fitting if mention.document in c.documents]
        if len(near) > 1 and len(mention.name.words) == 1 and mention.name.base == base:
            # ``Cratchit`` in a document with Mr. and Mrs. Cratchit may be either.
            ambiguous = ambiguous or _PartialCluster(ignores_context=True)
            ambiguous.add(mention)
            continue
        if not fitting:
            if clusters:
                reason = reason or _CONSTRAINT
            clusters.append(_PartialCluster())
            fitting = clusters[-1:]
        _best(near or fitting, mention).add(mention)
    if ambiguous is not None:
        clusters.append(ambiguous)
    return clusters, reason


def _conflict(mention: _Mention, cluster: _PartialCluster, table: MentionTable, *, with_offices: bool) -> str:
    """Return why a mention cannot be in a cluster, or an empty string."""
    unrelated = mention.document not in cluster.documents and not (
        mention.context_names & cluster.context_names
    )
    conflict = mention.attributes.conflict(cluster.attributes, unrelated=unrelated)
    if not conflict and with_offices and unrelated:
        conflict = mention.attributes.occupation_conflict(cluster.attributes, with_offices=True)
    if not conflict and table.constraints.forbid(mention.constraint_keys, cluster.constraint_keys):
        conflict = _CONSTRAINT
    return conflict


def _best(clusters: list[_PartialCluster], mention: _Mention) -> _PartialCluster:
    """Return the cluster that a mention fits best; the first of equals."""
    if len(clusters) == 1:
        return clusters[0]
    attributes = mention.attributes
    return max(
        clusters,
        key=lambda c: (
            mention.document in c.documents,
            len(attributes.occupations & c.attributes.occupations)
            + len(attributes.titles & c.attributes.titles),
            len(mention.context_names & c.context_names),
            len(c.mentions),
        ),
    )
