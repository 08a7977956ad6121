"""Agreement of judges: with themselves when the order of the answers is swapped, and with each other."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from polygraph.evaluate.extra import import_optional

Verdict: TypeAlias = Literal["a", "b", "tie"]
"""Winner among methods a and b, in whatever order their answers were shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderConsistency:
    """Verdicts on the same pairs of answers in both orders."""

    n: int
    same: int
    """Pairs with the same verdict in both orders."""
    first_won_both: int
    """Pairs in which the answer shown first won both times: the judge preferred the position."""
    second_won_both: int
    """Pairs in which the answer shown second won both times."""

    @property
    def rate(self) -> float | None:
        """Share of pairs with the same verdict in both orders; None without pairs."""
        return self.same / self.n if self.n else None

    @property
    def position_bias(self) -> float | None:
        """Pairs won both times by the first position less those won by the second, per pair; in [-1, 1]."""
        return (self.first_won_both - self.second_won_both) / self.n if self.n else None


def order_consistency(a_first: Sequence[Verdict], b_first: Sequence[Verdict]) -> OrderConsistency:
    """Compare verdicts with answer A shown first to those with answer B shown first, pair by pair.

    >>> order_consistency(["a", "a", "tie"], ["a", "b", "tie"])
    OrderConsistency(n=3, same=2, first_won_both=1, second_won_both=0)
    """
    pairs = list(zip(a_first, b_first, strict=True))
    return OrderConsistency(
        n=len(pairs),
        same=sum(x == y for x, y in pairs),
        first_won_both=pairs.count(("a", "b")),
        second_won_both=pairs.count(("b", "a")),
    )


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> float:
    """Return Cohen's kappa of two judges (Cohen, 1960), by statsmodels; NaN if every verdict is the same.

    Raises:
        ValueError: if there is nothing to compare.
        MissingExtra: without the extra `eval`.
    """
    pairs = Counter(zip(a, b, strict=True))
    names = sorted({*a, *b})
    if not names:
        raise ValueError("no verdicts to compare")
    if len(names) == 1:
        return float("nan")
    table = np.array([[pairs[x, y] for y in names] for x in names])
    return float(import_optional("statsmodels.stats.inter_rater").cohens_kappa(table, return_results=False))


def krippendorff_alpha(values: Sequence[Sequence[Hashable | None]]) -> float:
    """Return Krippendorff's alpha (2011) of any number of judges for nominal values; NaN if nothing varies.

    Neither scipy nor statsmodels has it. Computed from the coincidence matrix: each pair of values of an item counts
    ``1 / (number of values of the item - 1)``; alpha is 1 minus observed over expected disagreement.

    Args:
        values: for each item one value per judge, None if missing.

    Raises:
        ValueError: if no item has two values.
    """
    items = [Counter(v for v in item if v is not None) for item in values]
    items = [item for item in items if item.total() > 1]
    if not items:
        raise ValueError("no item has the values of two judges")
    totals = Counter(v for item in items for v in item.elements())
    observed = sum(_unequal_pairs(item) / (item.total() - 1) for item in items)
    expected = _unequal_pairs(totals) / (totals.total() - 1)
    return 1 - observed / expected if expected else float("nan")


def _unequal_pairs(counts: Counter[Hashable]) -> int:
    """Return the ordered pairs of different values."""
    return counts.total() ** 2 - sum(n**2 for n in counts.values())
