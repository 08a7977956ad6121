"""Disambiguation: the mentions of one name are one entity unless attributes or constraints split them."""

from collections.abc import Set
from itertools import pairwise

import numpy as np

from polygraph.arrays import Array
from polygraph.extract.resolution.clusters.cluster import Cluster
from polygraph.extract.resolution.disambiguation.doubtful import clusters_by_document, split_doubtful
from polygraph.extract.resolution.disambiguation.splitting import split_group
from polygraph.extract.resolution.mentions.mention_table import MentionTable

__all__ = ["cluster_by_name"]

_SPLITTABLE_TYPES = frozenset(["person", "", "ship"])
"""Types whose attributes can split a name."""
_MAX_DOUBTED = 12
"""Names with more mentions are not split just to ask a model: one of their bearers is probably well known."""


def cluster_by_name(
    table: MentionTable, ambiguous: Set[str], *, asks: bool = False
) -> tuple[list[Cluster], dict[str, str], dict[str, str]]:
    """Group mentions by base name, and split the groups that cannot be one entity.

    Args:
        table: of all mentions.
        ambiguous: base names that may stand for several longer names; each document has clusters of its own for them.
        asks: whether a model is asked about namesakes whose occupations differ or who have nothing in common: they are
            clusters of their own.

    Returns:
        The clusters in order of base name; the reason of each base name that was split; and that of each which is split
        only because a model is asked.
    """
    splittable = np.array(
        [table.by_model or type_ in _SPLITTABLE_TYPES for type_ in table.types], dtype=np.bool_
    )
    is_linked = np.zeros(len(table), dtype=np.bool_)
    is_linked[list(table.apart_rows)] = True
    has_linked, has_splittable, has_known = (
        _any_of_each_name(table, rows)
        for rows in (is_linked, splittable[table.type], table.attribute_ids >= 0)
    )
    clusters: list[Cluster] = []
    reasons: dict[str, str] = {}
    doubts: dict[str, str] = {}
    for n, (base, (begin, end)) in enumerate(zip(table.bases, pairwise(table.ends.tolist()), strict=False)):
        group = table.rows[begin:end]
        # A single mention and a name of a thing cannot be split by attributes.
        compare = end - begin > 1 and has_splittable[n] and has_known[n]
        if base in ambiguous:
            clusters += clusters_by_document(base, group, table)
        elif not compare and not has_linked[n] and not table.constraints:
            clusters.append(Cluster(base, table, group, None, context_rows=group))
        else:
            found, reason = split_group(
                base, group, table, with_attributes=compare or table.by_model, is_linked=has_linked[n]
            )
            if reason:
                reasons[base] = reason
            elif asks and table.by_model and len(found) == 1 and end - begin <= _MAX_DOUBTED:
                found, doubt = split_doubtful(base, group, table) or (found, "")
                doubts |= {base: doubt} if doubt else {}
            clusters += found
    return clusters, reasons, doubts


def _any_of_each_name(table: MentionTable, rows: Array) -> list[bool]:
    """Return for each base name whether a condition holds for one of its rows."""
    counts = np.append(0, np.cumsum(rows))[table.ends]
    found: list[bool] = (np.diff(counts) > 0).tolist()
    return found
