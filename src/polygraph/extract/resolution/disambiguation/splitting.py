"""The clusters of one name: one where nothing conflicts, else what greedy assignment makes of its mentions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from polygraph.arrays import Array, distinct
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.disambiguation.assignment import assign, n_distinguishing
from polygraph.extract.resolution.disambiguation.conflicts import any_contradict, contradict
from polygraph.extract.resolution.disambiguation.mentions import MentionFeatures, mentions_of
from polygraph.extract.resolution.evidence.attributes import Attributes
from polygraph.extract.resolution.mentions.mention_table import MentionTable

_MAX_PAIRWISE = 40
"""Above this many distinct attribute sets, mentions are assigned greedily without comparing all pairs first."""
_MANY = 3
"""Mentions of one kind against which a lone vote for another does not count."""


def split_group(
    base: str, group: Array, table: MentionTable, *, with_attributes: bool, is_linked: bool
) -> tuple[list[Cluster], str]:
    """Return the clusters of one base name and the reason why there are several, if there are."""
    attribute_ids = table.attribute_ids[group] if with_attributes else np.full(len(group), -1)
    has_common_noun = table.by_model and table.any_lower_case(group) and not table.all_lower_case(group)
    if not (table.constraints or is_linked or has_common_noun):
        attributes = _merged_attributes(attribute_ids, table, is_surname=" " not in base)
        if attributes is not None:
            # Mentions with attributes come first, as in `assign`.
            group[:] = np.concatenate((group[attribute_ids >= 0], group[attribute_ids < 0]))
            return [Cluster(base, table, group, attributes, context_rows=group)], ""
    if not (table.constraints or has_common_noun) and _agree(group, attribute_ids, table):
        return [_undivided(base, group, attribute_ids, table)], ""
    mentions = mentions_of(base, group, attribute_ids, table)
    if table.by_model:
        _drop_lone_kinds(mentions)
    clusters, reason = assign(base, mentions, table)
    return [cluster.to_cluster(base, table) for cluster in clusters], reason


def _merged_attributes(attribute_ids: Array, table: MentionTable, *, is_surname: bool) -> Attributes | None:
    """Return the merged attributes of all mentions, or None if any two conflict by the strictest rules."""
    known, first = np.unique(attribute_ids[attribute_ids >= 0], return_index=True)
    if len(known) > _MAX_PAIRWISE:
        return None
    several = [table.attributes(int(number)) for number in known[np.argsort(first)]]
    if any_contradict(several) or (
        is_surname
        and any(
            one.title_conflict(other) or one.courtesy_conflict(other)
            for one, other in combinations(several, 2)
        )
    ):
        return None
    merged = Attributes()
    for one in several:
        merged.update(one)
    return merged


def _agree(group: Array, attribute_ids: Array, table: MentionTable) -> bool:
    """Return whether nothing parts the mentions of one name: all say the same of it, or nothing."""
    rows = set(group.tolist())
    if any(not rows.isdisjoint(table.apart_rows.get(row, ())) for row in rows):
        return False
    known = [table.attributes(number) for number in distinct(attribute_ids).tolist()]
    stated = {one.parting(): one for one in known if not one.is_empty()}
    return len(stated) < 2 and not any(contradict(one, one) for one in stated.values())


def _undivided(base: str, group: Array, attribute_ids: Array, table: MentionTable) -> Cluster:
    """Return the one cluster that `assign` makes of mentions that agree, with its rows in the same order."""
    attributes = [table.attributes(number) for number in attribute_ids.tolist()]
    n_apart = [len(table.apart_rows.get(row, ())) for row in group.tolist()]
    described = [n for n, one in enumerate(attributes) if n_apart[n] or not one.is_empty()]
    others = [n for n, one in enumerate(attributes) if not n_apart[n] and one.is_empty()]
    if table.by_model:
        described.sort(key=lambda n: (-n_apart[n], -n_distinguishing(attributes[n])))
    merged = Attributes()
    for n in described + others:
        merged.update(attributes[n])
    rows = group[described + others].astype(np.int64)
    return Cluster(base, table, rows, merged, context_rows=rows)


def _drop_lone_kinds(mentions: Sequence[MentionFeatures]) -> None:
    """Delete a kind that one mention has against many and that its description does not support."""
    kinds = Counter(m.attributes.kind for m in mentions if m.attributes.kind)
    for mention in mentions:
        kind = mention.attributes.kind
        if (
            kind
            and kinds[kind] == 1
            and max(kinds.values()) >= _MANY
            and not mention.attributes.kind_is_stated
        ):
            mention.attributes = replace(mention.attributes, kind="", classes=frozenset())
