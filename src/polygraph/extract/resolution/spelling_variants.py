"""Spelling variants: clusters whose names are spellings of one name."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from polygraph.extract.resolution.blocking import (
    names_conflict,
    one_edit_pairs,
    same_form_pairs,
    shared_word_pairs,
    similarity,
    skeleton,
)
from polygraph.extract.resolution.cluster import Cluster
from polygraph.extract.resolution.mention_table import MentionTable
from polygraph.extract.resolution.records import Rule
from polygraph.models.protocols import Vectors

MIN_COSINE = 0.92
"""Smallest cosine of two names for the rule `embedding`; small models put all names above 0.5."""


def merge_spelling_variants(
    clusters: list[Cluster], embed: Callable[[Sequence[str]], Vectors] | None, table: MentionTable
) -> list[Cluster]:
    """Merge clusters whose names are spellings of one name; the larger cluster keeps its base name.

    Args:
        clusters: changed in place.
        embed: unit vectors for names, or None to compare spellings only.
        table: the table of their rows.

    Returns:
        The clusters that remain, in order.
    """
    merger = _Merger(clusters, table)
    single = merger.clusters
    phrases = {base: c.is_lower_case() and not base[0].isdigit() for base, c in single.items()}
    for a, b in same_form_pairs(phrases):
        if not names_conflict(a, b):
            merger.merge(a, b, "spelling", 1.0 if skeleton(a) == skeleton(b) else 0.95)
    names = [
        base
        for base, is_phrase in phrases.items()
        if not is_phrase and single[base].majority_type() not in ("date", "quantity")
    ]
    for a, b in one_edit_pairs(names):
        is_plural = a + "s" == b or b + "s" == a  # a family is not one of its members
        if not is_plural and not names_conflict(a, b) and merger.share_context(a, b):
            merger.merge(a, b, "spelling", similarity(a, b))
    if embed is not None:
        pairs = [
            (a, b)
            for a, b in shared_word_pairs(single)
            if merger.root(a) != merger.root(b) and not names_conflict(a, b)
        ]
        bases = sorted({base for pair in pairs for base in pair})
        if bases:
            vectors, row = embed(bases), {base: i for i, base in enumerate(bases)}
            for a, b in pairs:
                cosine = float(vectors[row[a]] @ vectors[row[b]])
                if cosine >= MIN_COSINE:
                    merger.merge(a, b, "embedding", min(1.0, cosine))
    return merger.remaining(clusters)


class _Merger:
    """Union-find over the base names that have one cluster each.

    Names that several entities share are left out: it is unknown which of them a variant means.
    """

    def __init__(self, clusters: list[Cluster], table: MentionTable) -> None:
        by_base: dict[str, list[Cluster]] = defaultdict(list)
        for cluster in clusters:
            by_base[cluster.base].append(cluster)
        self.clusters = {base: found[0] for base, found in by_base.items() if len(found) == 1}
        self._parent = {base: base for base in self.clusters}
        self._table = table

    def root(self, base: str) -> str:
        parent = self._parent
        while parent[base] != base:
            parent[base] = parent[parent[base]]
            base = parent[base]
        return base

    def merge(self, a: str, b: str, rule: Rule, score: float) -> None:
        """Merge the clusters of two names unless types, attributes or constraints conflict."""
        x, y = self.root(a), self.root(b)
        left, right = self.clusters[x], self.clusters[y]
        if (
            x == y
            or not _compatible(left, right)
            or self._table.constraints.forbid(left.constraint_keys, right.constraint_keys)
        ):
            return
        larger, smaller = (left, right) if (-left.size, x) < (-right.size, y) else (right, left)
        self._table.record_merge(smaller.rows, rule, round(score, 4), at_most=True)
        self._parent[smaller.base] = larger.base
        larger.merge(smaller)

    def share_context(self, a: str, b: str) -> bool:
        """Return whether some name co-occurs with both."""
        left, right = self.clusters[self.root(a)], self.clusters[self.root(b)]
        return len(np.intersect1d(left.context_ids(), right.context_ids(), assume_unique=True)) > 0

    def remaining(self, clusters: list[Cluster]) -> list[Cluster]:
        """Return the clusters that were not merged into others, in order."""
        parent = self._parent
        return [c for c in clusters if c.base not in parent or parent[c.base] == c.base]


def _compatible(a: Cluster, b: Cluster) -> bool:
    """Return whether types and attributes allow one entity."""
    left, right = a.majority_type(), b.majority_type()
    same_type = left == right or "" in (left, right)
    return same_type and not a.attributes.conflict(b.attributes, unrelated=False)
