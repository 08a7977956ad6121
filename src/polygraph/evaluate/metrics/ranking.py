"""Retrieval metrics of one question, from the ranks at which its gold items were found.

A question needs one or more things (documents, passages, facts). Each need has a rank: the place, counted from 1, of
the first ranked item that meets it, or None. Every metric below is a function of these ranks alone, so that ranks are
what is stored.
"""

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

Ranks: TypeAlias = Sequence[int | None]


def ranks_of(needs: Sequence[Collection[str]], ranking: Sequence[str]) -> list[int | None]:
    """Rank at which each need is met first.

    Args:
        needs: for each need the ids that meet it.
        ranking: ids, best first; of an id that stands there twice the first place counts.

    Returns:
        One rank per need, in order.

    >>> ranks_of([{"a"}, {"b", "c"}, {"z"}], ["c", "x", "a"])
    [3, 1, None]
    """
    places: dict[str, int] = {}
    for place, item in enumerate(ranking, 1):
        places.setdefault(item, place)
    return [min((places[i] for i in need if i in places), default=None) for need in needs]


def first_appearances(items: Sequence[str]) -> list[str]:
    """Each item once, at its first place: how a ranking of chunks is read as one of documents.

    >>> first_appearances(["d1", "d2", "d1"])
    ['d1', 'd2']
    """
    return list(dict.fromkeys(items))


def recall(ranks: Ranks, k: int) -> float:
    """Share of the needs that are met in the first `k`.

    >>> recall([1, 7, None], 5)
    0.3333333333333333
    """
    return sum(_within(r, k) for r in ranks) / len(ranks)


def all_found(ranks: Ranks, k: int) -> float:
    """1 if every need is met in the first `k`, else 0 ("perfect retrieval")."""
    return float(all(_within(r, k) for r in ranks))


def hit(ranks: Ranks, k: int) -> float:
    """1 if any need is met in the first `k`, else 0."""
    return float(any(_within(r, k) for r in ranks))


def reciprocal_rank(ranks: Ranks) -> float:
    """1 divided by the rank of the first need that is met, 0 if none is.

    >>> reciprocal_rank([None, 4])
    0.25
    """
    found = [r for r in ranks if r is not None]
    return 1 / min(found) if found else 0.0


def ndcg(ranks: Ranks, k: int) -> float:
    """Normalised discounted cumulative gain of the first `k` with gains of 0 and 1.

    Jarvelin and Kekalainen (2002), with the logarithm to base 2 of rank + 1 as in trec_eval; the ideal ranking has
    the needs in its first places.

    >>> ndcg([1, 2], 10)
    1.0
    """
    gained = math.fsum(1 / math.log2(r + 1) for r in ranks if r is not None and r <= k)
    ideal = math.fsum(1 / math.log2(i + 1) for i in range(1, min(len(ranks), k) + 1))
    return gained / ideal


def mhrag_map(ranks: Ranks, k: int = 10) -> float:
    """MAP of one question as the public script of MultiHop-RAG has it; not average precision.

    Each fact adds 1 / its rank (that of the passage which shows it first), and the sum is divided by the number of
    facts, at most `k`. Average precision would add for the n-th fact n / rank. Kept to compare with published numbers.

    >>> mhrag_map([1, 2])
    0.75
    """
    return math.fsum(1 / r for r in ranks if r is not None and r <= k) / min(len(ranks), k)


def _within(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k
