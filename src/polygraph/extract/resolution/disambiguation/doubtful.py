"""Mentions of one name that are kept apart, so that a model is asked or because the name may stand for several."""

from collections import defaultdict

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.disambiguation.assignment import assign
from polygraph.extract.resolution.disambiguation.mentions import GrowingCluster, mentions_of
from polygraph.extract.resolution.mentions.mention_table import MentionTable
from polygraph.extract.resolution.vocabulary.general_nouns import is_general_noun

_MAX_PEOPLE = 3
"""Clusters into which a doubtful name is split at most."""
_DOUBTED = frozenset(["person", "organization", "work", "ship", "software", "object", "game"])
"""Kinds of entities whose names are doubted."""
_MANY_WORDS = 6
"""Words of what two documents say of a name that are not equal by chance."""
_GENERAL = "a general name in two documents"


def split_doubtful(base: str, group: Array, table: MentionTable) -> tuple[list[Cluster], str] | None:
    """Return clusters of one name whose occupations differ, offices included, or that have nothing in common.

    None if there is one only, or so many that the name is a common one.
    """
    if is_general_noun(base):
        local = clusters_by_document(base, group, table)
        return (local, _GENERAL) if 1 < len(local) <= _MAX_PEOPLE else None
    mentions = mentions_of(base, group, table.attribute_ids[group], table)
    kinds = {m.attributes.kind for m in mentions}
    is_role = "person" in kinds and " " not in base and base.isascii()
    if is_role or kinds.isdisjoint(_DOUBTED) or table.any_lower_case(group):
        return None
    clusters, reason = assign(base, mentions, table, doubts=True)
    if not 1 < len(clusters) <= _MAX_PEOPLE:
        return None
    return [cluster.to_cluster(base, table) for cluster in clusters], reason


def clusters_by_document(base: str, group: Array, table: MentionTable) -> list[Cluster]:
    """Return a cluster for each name and document; one for documents that say the same of it at length.

    The rows of an imported graph have what is said of an entity in all its documents.
    """
    rows: dict[tuple[int, str], list[int]] = defaultdict(list)
    documents = table.document(group).tolist()
    first_with: dict[tuple[int, str], int] = {}
    for row, document in zip(group.tolist(), documents, strict=True):
        number, name = int(table.attribute_ids[row]), table.name(row).key
        if len(table.attributes(number).words) >= _MANY_WORDS:
            document = first_with.setdefault((number, name), document)  # noqa: PLW2901
        rows[document, name].append(row)
    found = []
    for key in sorted(rows):
        mentions = mentions_of(base, np.array(rows[key]), table.attribute_ids[rows[key]], table)
        cluster = GrowingCluster()
        for mention in mentions:
            cluster.add(mention)
        found.append(cluster.to_cluster(base, table))
    return found
