"""Retrieval metrics of one question, from the ranks of its gold items.

A gold item (document, passage, fact) may be satisfied by several ids. Its rank is the position, counted from 1, of the
first ranked id that satisfies it, or None. All metrics are functions of these ranks, so only ranks are stored.
"""

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

Ranks: TypeAlias = Sequence[int | None]


def ranks_of(gold: Sequence[Collection[str]], ranking: Sequence[str]) -> list[int | None]:
    """Return the rank of each gold item.

    Args:
        gold: for each gold item the ids that satisfy it.
        ranking: ids, best first; of duplicates the first counts.

    Returns:
        One rank per gold item, in order.

    >>> ranks_of([{"a"}, {"b", "c"}, {"z"}], ["c", "x", "a"])
    [3, 1, None]
    """
    positions: dict[str, int] = {}
    for position, item in enumerate(ranking, 1):
        positions.setdefault(item, position)
    return [min((positions[i] for i in ids if i in positions), default=None) for ids in gold]


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of gold items in the first `k`.

    >>> recall([1, 7, None], 5)
    0.3333333333333333
    """
    return sum(_within(r, k) for r in ranks) / len(ranks)


def all_found(ranks: Ranks, k: int) -> float:
    """Return 1 if all gold items are in the first `k`, else 0 ("perfect retrieval")."""
    return float(all(_within(r, k) for r in ranks))


def hit(ranks: Ranks, k: int) -> float:
    """Return 1 if any gold item is in the first `k`, else 0."""
    return float(any(_within(r, k) for r in ranks))


def reciprocal_rank(ranks: Ranks) -> float:
    """Return 1 / rank of the first gold item found, or 0.

    >>> reciprocal_rank([None, 4])
    0.25
    """
    found = [r for r in ranks if r is not None]
    return 1 / min(found) if found else 0.0


def ndcg(ranks: Ranks, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` with binary gains.

    Jarvelin and Kekalainen (2002), with the discount log2(rank + 1) of trec_eval; the ideal ranking has the gold items
    first. Gold items with the same rank are satisfied by the same id, which counts once in both sums.

    >>> ndcg([1, 2], 10), ndcg([1, 1], 10)
    (1.0, 1.0)
    """
    found = {r for r in ranks if r is not None}
    n_ideal = len(found) + sum(r is None for r in ranks)
    gained = math.fsum(1 / math.log2(r + 1) for r in sorted(found) if r <= k)
    ideal = math.fsum(1 / math.log2(i + 1) for i in range(1, min(n_ideal, k) + 1))
    return gained / ideal


def mhrag_map(ranks: Ranks, k: int = 10) -> float:
    """Return the "MAP" of MultiHop-RAG's public script for one question, which is not average precision.

    Each fact adds 1 / rank of the first passage that contains it, and the sum is divided by the number of facts, at
    most `k`. Average precision would add n / rank for the n-th fact. For comparison with published numbers.

    >>> mhrag_map([1, 2])
    0.75
    """
    return math.fsum(1 / r for r in ranks if r is not None and r <= k) / min(len(ranks), k)


def _within(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k
