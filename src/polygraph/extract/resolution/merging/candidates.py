"""Choosing among clusters that a rule proposes as one entity."""

from collections.abc import Mapping, Sequence

from polygraph.extract.resolution.clusters.merger import Merger
from polygraph.extract.resolution.vocabulary.kinds import kind_of_type

ENOUGH = 1.0
"""Evidence that makes one of a form that leaves doubt; see `Merger.evidence`."""
SURE = 1.5
"""Evidence with which a model is not asked."""


def kind_of_each_name(merger: Merger) -> dict[str, str]:
    """Return the kind of each base name: that of its first cluster."""
    return {base: _kind(merger, numbers[0]) for base, numbers in merger.numbers.items()}


def kinds_of_each_name(merger: Merger) -> dict[str, frozenset[str]]:
    """Return the kinds of the clusters of each base name."""
    return {base: frozenset(_kind(merger, n) for n in numbers) for base, numbers in merger.numbers.items()}


def _kind(merger: Merger, n: int) -> str:
    return kind_of_type(merger.clusters[merger.root(n)].majority_type())


def merge_with_one(
    merger: Merger,
    n: int,
    candidates: Sequence[int],
    *,
    certain: bool,
    near: Mapping[int, str] | None = None,
    least: float = ENOUGH,
) -> None:
    """Merge a short name with the only candidate, or with the one that has most evidence; else leave it undecided.

    Args:
        merger: of the clusters.
        n: the cluster of the short name.
        candidates: other clusters.
        certain: whether the only candidate needs no evidence.
        near: candidates that the text itself points to, with the reason.
        least: evidence that is needed otherwise.
    """
    n, near = merger.root(n), near or {}
    possible = [
        m
        for m in candidates
        if merger.root(m) != n
        and not merger.conflict(n, m, unrelated=not merger.shared_context(n, m))[0]
        and not merger.given_names_conflict(n, m)
    ]
    if not possible:
        return
    pointed = [m for m in possible if m in near]
    ranked = sorted(((merger.evidence(n, m), m) for m in possible), key=lambda pair: (-pair[0][0], pair[1]))
    (best, text), first = ranked[0]
    alone = merger.are_presumed_one([m for _, m in ranked])
    # Where a model is asked, a name that fits several is merged only if one of them is clearly nearer.
    margin = SURE if merger.asks else 0.0
    enough = best >= least and (alone or best > ranked[1][0][0] + margin)
    if len(pointed) == 1 and (alone or not enough):
        merger.merge(n, pointed[0], "short name", 0.8, near[pointed[0]])
    elif (alone and certain) or enough:
        merge = merger.merge if best >= SURE or certain else merger.presume
        merge(n, first, "short name", 0.9 if enough else 0.8, text or "the only name that fits")
    else:
        for _, m in ranked[:3]:
            merger.leave_undecided(n, m, "short name", text or "nothing in common")
