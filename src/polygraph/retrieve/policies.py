"""How many of the ranked things are kept (FastGraphRAG)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias, TypeVar

T = TypeVar("T")
Policy: TypeAlias = Literal["threshold", "top_k", "elbow"]


def keep(
    ranked: Sequence[tuple[T, float]], policy: Policy, *, most: int, threshold: float = 0.0
) -> list[tuple[T, float]]:
    """Keep the head of a ranking.

    Args:
        ranked: things with scores, best first.
        policy: `threshold` keeps scores of at least `threshold`; `top_k` the first `most`; `elbow` what lies above the
            largest gap between neighbours (the first such gap; of a single thing, that thing).
        most: upper bound for each policy.
        threshold: least score, for `threshold`.

    >>> ranked = [("a", 0.5), ("b", 0.4), ("c", 0.1), ("d", 0.09)]
    >>> [[thing for thing, _ in keep(ranked, p, most=3, threshold=0.3)] for p in ("threshold", "top_k", "elbow")]
    [['a', 'b'], ['a', 'b', 'c'], ['a', 'b']]
    """
    if policy == "threshold":
        return [item for item in ranked if item[1] >= threshold][:most]
    if policy == "elbow" and len(ranked) > 1:
        gaps = [a[1] - b[1] for a, b in pairwise(ranked)]
        return list(ranked[: min(gaps.index(max(gaps)) + 1, most)])
    return list(ranked[:most])
