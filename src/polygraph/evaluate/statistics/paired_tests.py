"""Tests of two methods on the same questions, by scipy and statsmodels (extra `eval`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.extra import import_optional
from polygraph.evaluate.statistics.multiple_testing import ALPHA

Array: TypeAlias = NDArray[np.float64]
Test: TypeAlias = Literal["t", "wilcoxon", "mcnemar", "sign", "none"]

_MAX_SHAPIRO = 5000
"""Number of values up to which scipy's p of the Shapiro-Wilk test is accurate."""
_MAX_EXACT = 25
"""Number of discordant questions up to which McNemar's test is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Test result of two methods on the same questions."""

    test: Test
    """The test that suited the scores; ``none`` if no question differs."""
    n: int
    p: float
    """Two-sided."""
    mean_difference: float
    effect: float | None
    """Cohen's d of the differences (mean / standard deviation): about 0.2 is small, 0.5 medium, 0.8 large. 0 if no
    question differs, None if all differ by the same amount."""
    rank_biserial: float
    """Matched-pairs rank-biserial correlation (Kerby, 2014), in [-1, 1]."""


def paired_test(a: Sequence[float], b: Sequence[float]) -> PairedTest:
    """Compare two methods by the test that suits their scores.

    If all differences are -1, 0 or 1, as those of right and wrong answers are: McNemar's test (exact up to 25
    discordant questions). Otherwise as benchmark-qed does: the paired t-test, or Wilcoxon's signed-rank test if Shapiro
    and Wilk's test rejects normality at 5%. Only the differences choose the test, so that neither it nor p depends
    on which method is the first.

    Args:
        a: score of the first method per question, without NaN.
        b: of the second, in the same order.

    Raises:
        ValueError: if lengths differ or there are no questions.
        MissingExtra: without the extra `eval`.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or not first.size:
        raise ValueError(f"{first.size} and {second.size} scores are not pairs")
    # Rounded, since ranks of equal differences must be equal.
    d = np.round(first - second, 12)
    if not d.any():
        return PairedTest(test="none", n=d.size, p=1.0, mean_difference=0.0, effect=0.0, rank_biserial=0.0)
    test, p = _p_value(d)
    deviation = float(d.std(ddof=1)) if d.size > 1 else 0.0
    return PairedTest(
        test=test,
        n=d.size,
        p=p,
        mean_difference=float(d.mean()),
        effect=float(d.mean()) / deviation if deviation > 1e-12 else None,
        rank_biserial=_rank_biserial(d),
    )


def _p_value(d: Array) -> tuple[Test, float]:
    stats = import_optional("scipy.stats")
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    if np.isin(d, (-1.0, 0.0, 1.0)).all():
        mcnemar = import_optional("statsmodels.stats.contingency_tables").mcnemar
        # The test ignores the questions on which both are right or both are wrong.
        found = mcnemar([[0, wins], [losses, 0]], exact=wins + losses <= _MAX_EXACT, correction=True)
        return "mcnemar", float(found.pvalue)
    if d.size < 3:
        # Too few to test for normality.
        return "sign", float(stats.binomtest(wins, wins + losses).pvalue)
    constant = bool(np.ptp(d) == 0)
    normal = not constant and d.size <= _MAX_SHAPIRO and float(stats.shapiro(d).pvalue) >= ALPHA
    if normal:
        return "t", float(stats.ttest_1samp(d, 0.0).pvalue)
    return "wilcoxon", float(stats.wilcoxon(d).pvalue)


def _rank_biserial(d: Array) -> float:
    nonzero = d[d != 0]
    ranks = import_optional("scipy.stats").rankdata(np.abs(nonzero))
    return float((ranks * np.sign(nonzero)).sum() / ranks.sum())
