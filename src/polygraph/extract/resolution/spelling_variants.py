"""Entities whose names are spellings of one name."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from polygraph.extract.resolution.blocking import (
    contradict,
    near_spelling,
    same_spelling,
    sharing_words,
    similarity,
    skeleton,
)
from polygraph.extract.resolution.mention_table import Names
from polygraph.extract.resolution.records import Cluster, Rule
from polygraph.models.protocols import Vectors

MIN_COSINE = 0.92
"""Least cosine of two names for the rule `embedding`; small models put all names above 0.5."""


def join_variants(
    clusters: list[Cluster], similar: Callable[[Sequence[str]], Vectors] | None, names: Names
) -> list[Cluster]:
    """Join clusters whose names are spellings of one name; the larger cluster gives its name.

    Args:
        clusters: changed in place.
        similar: unit vectors for names, or None to go by letters alone.
        names: the table that they are rows of.
    """
    by_base: dict[str, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        by_base[cluster.base].append(cluster)
    # Names with several bearers are left alone: there is no telling which of them a variant means.
    single = {base: found[0] for base, found in by_base.items() if len(found) == 1}
    parent = {base: base for base in single}

    def root(base: str) -> str:
        while parent[base] != base:
            parent[base] = parent[parent[base]]
            base = parent[base]
        return base

    def meet(a: str, b: str, rule: Rule, score: float) -> None:
        x, y = root(a), root(b)
        left, right = single[x], single[y]
        if x == y or not _compatible(left, right) or names.decisions.forbid(left.sides, right.sides):
            return
        keep, go = (left, right) if (-left.n, x) < (-right.n, y) else (right, left)
        names.meet(go.rows, rule, round(score, 4), at_most=True)
        parent[go.base] = keep.base
        keep.join(go)

    phrases = {base: c.written_low() and not base[0].isdigit() for base, c in single.items()}
    for a, b in same_spelling(phrases):
        if not contradict(a, b):
            meet(a, b, "spelling", 1.0 if skeleton(a) == skeleton(b) else 0.95)
    named = [
        base for base, low in phrases.items() if not low and single[base].kind() not in ("date", "quantity")
    ]
    for a, b in near_spelling(named):
        plural = a + "s" == b or b + "s" == a  # a family is not its member
        if not plural and not contradict(a, b) and _meet(single[root(a)], single[root(b)]):
            meet(a, b, "spelling", similarity(a, b))
    if similar is not None:
        pairs = [p for p in sharing_words(single) if root(p[0]) != root(p[1]) and not contradict(*p)]
        bases = sorted({base for pair in pairs for base in pair})
        if bases:
            vectors, row = similar(bases), {base: i for i, base in enumerate(bases)}
            for a, b in pairs:
                cosine = float(vectors[row[a]] @ vectors[row[b]])
                if cosine >= MIN_COSINE:
                    meet(a, b, "embedding", min(1.0, cosine))
    return [c for c in clusters if c.base not in parent or parent[c.base] == c.base]


def _compatible(a: Cluster, b: Cluster) -> bool:
    """Whether types and evidence allow one entity."""
    left, right = a.kind(), b.kind()
    return (left == right or "" in (left, right)) and not a.told.conflict(b.told, strangers=False)


def _meet(a: Cluster, b: Cluster) -> bool:
    """Whether some name stands beside both."""
    return len(np.intersect1d(a.company(), b.company(), assume_unique=True)) > 0
