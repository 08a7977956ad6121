"""How far the answers of several systems lie apart in the space of an embedder, with a permutation test."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 999
"""The smallest p is ``1 / (PERMUTATIONS + 1)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Share of the variance of vectors that their groups explain."""

    share: float
    """Within 0 and 1, after the mean of each block is taken away."""
    expected: float
    """Mean of the share over permutations: what groups of this size explain by chance."""
    p: float
    """One-sided p-value of a permutation test within blocks."""

    @property
    def sentence(self) -> str:
        """Say it in words."""
        return (
            f"Methods explain {self.share:.1%} of the variance within questions, {self.expected:.1%} by chance alone "
            f"(p = {self.p:.3f}, permutation test)."
        )


def separation(
    vectors: NDArray[np.floating[Any]],
    groups: Sequence[Hashable],
    blocks: Sequence[Hashable],
    *,
    seed: int = 0,
) -> Separation:
    """Measure how much of the variance of vectors their groups explain (PERMANOVA, Anderson 2001).

    Answers to one question resemble each other whatever the system, so that the mean of each block (question) is taken
    away first, and groups (systems) are permuted within blocks only.

    Args:
        vectors: shape ``(n, dimension)``.
        groups: of each vector.
        blocks: of each vector.
        seed: of the permutations.

    Returns:
        A share of 0 and a p of 1 if all vectors of a block are equal.
    """
    numbers = {name: i for i, name in enumerate(dict.fromkeys(groups))}
    group = np.asarray([numbers[each] for each in groups])
    rows_of: dict[Hashable, list[int]] = {}
    for i, block in enumerate(blocks):
        rows_of.setdefault(block, []).append(i)
    members = [np.asarray(rows) for rows in rows_of.values()]
    centred = np.asarray(vectors, dtype=np.float64).copy()
    for rows in members:
        centred[rows] -= centred[rows].mean(axis=0)
    total = float((centred**2).sum())
    if total <= 1e-12:
        return Separation(share=0.0, expected=0.0, p=1.0)

    def share(labels: NDArray[np.int_]) -> float:
        between = 0.0
        for i in range(len(numbers)):
            mine = labels == i
            if mine.any():
                between += float((centred[mine].sum(axis=0) ** 2).sum()) / int(mine.sum())
        return between / total

    observed = share(group)
    rng = np.random.default_rng(seed)
    by_chance = []
    for _ in range(PERMUTATIONS):
        labels = group.copy()
        for rows in members:
            labels[rows] = rng.permutation(labels[rows])
        by_chance.append(share(labels))
    # Sums in another order differ in their last digits.
    as_far = sum(each >= observed - 1e-12 for each in by_chance)
    return Separation(
        share=round(observed, 6),
        expected=round(float(np.mean(by_chance)), 6),
        p=(as_far + 1) / (PERMUTATIONS + 1),
    )
