"""Agreement of judges: with themselves when the order of the answers is swapped, and with each other."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from polygraph.evaluate.extra import import_optional

Verdict: TypeAlias = Literal["a", "b", "tie"]
"""Winner among methods a and b, in whatever order their answers were shown."""
Scale: TypeAlias = Literal["nominal", "interval"]


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

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Wilson's interval of the rate.

        Raises:
            MissingExtra: without the extra `eval`.
        """
        found = import_optional("statsmodels.stats.proportion").proportion_confint(
            self.same, self.n, alpha=1 - confidence, method="wilson"
        )
        return float(found[0]), float(found[1])


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


def fleiss_kappa(verdicts: Sequence[Sequence[str]]) -> float:
    """Return Fleiss' kappa of several judges (Fleiss, 1971), by statsmodels; NaN if every verdict is the same.

    Args:
        verdicts: for each item the verdicts of all judges: the same number for every item, at least two.

    Raises:
        ValueError: if the number of verdicts differs.
        MissingExtra: without the extra `eval`.
    """
    sizes = {len(item) for item in verdicts}
    if len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(
            "every item needs the same number of verdicts; if some are missing use krippendorff_alpha"
        )
    names = sorted({v for item in verdicts for v in item})
    if len(names) == 1:
        return float("nan")
    table = np.array([[list(item).count(name) for name in names] for item in verdicts])
    return float(import_optional("statsmodels.stats.inter_rater").fleiss_kappa(table))


def krippendorff_alpha(values: Sequence[Sequence[float | None]], *, scale: Scale = "nominal") -> float:
    """Return Krippendorff's alpha (2011) of any number of judges; values may be missing. NaN if nothing varies.

    Neither scipy nor statsmodels has it. Computed from the coincidence matrix: each pair of values of an item counts
    ``1 / (number of values of the item - 1)``; alpha is 1 minus observed over expected disagreement.

    Args:
        values: for each item one value per judge, None if missing; verdicts are coded as numbers.
        scale: ``nominal`` (equal or not) or ``interval`` (squared difference), for scores.

    Raises:
        ValueError: if no item has two values.
    """
    distance: Callable[[float, float], float]
    distance = (lambda x, y: float(x != y)) if scale == "nominal" else (lambda x, y: (x - y) ** 2)
    items = [[v for v in item if v is not None] for item in values]
    items = [item for item in items if len(item) > 1]
    if not items:
        raise ValueError("no item has the values of two judges")
    totals = Counter(v for item in items for v in item)
    n = sum(totals.values())
    observed = 0.0
    for item in items:
        counts = Counter(item)
        inside = sum(counts[x] * counts[y] * distance(x, y) for x in counts for y in counts)
        observed += inside / (len(item) - 1)
    expected = sum(totals[x] * totals[y] * distance(x, y) for x in totals for y in totals) / (n - 1)
    return 1 - observed / expected if expected else float("nan")
