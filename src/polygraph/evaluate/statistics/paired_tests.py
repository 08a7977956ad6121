"""Tests of paired scores and what they could have found, by scipy and statsmodels (extra `eval`).

`bootstrap` has the intervals and the randomisation test, which need no library.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.errors import MissingExtra
from polygraph.evaluate.statistics.bootstrap import holm

Test: TypeAlias = Literal["t", "wilcoxon", "mcnemar", "sign", "none"]
_LARGEST_SHAPIRO = 5000
"""Values for which scipy vouches for Shapiro's p."""
_EXTRA = ("matplotlib", "rouge_score", "sacrebleu", "scipy", "statsmodels")
"""What the extra `eval` brings."""
_EXACT = 25
"""Questions on which two methods differ, up to which McNemar's test is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Two methods on the same questions."""

    test: Test
    """Which one was fitting; ``none`` where no question differs."""
    n: int
    p: float
    """Two-sided."""
    mean_difference: float
    effect: float | None
    """Cohen's d of the differences (mean / standard deviation): about 0.2 is small, 0.5 medium, 0.8 large. 0 where no
    question differs, None where all differ by the same."""
    rank_biserial: float
    """Matched-pairs rank correlation (Kerby, 2014), in [-1, 1]: how far signs agree, weighted by size."""


def paired_test(a: Sequence[float], b: Sequence[float], *, alpha: float = 0.05) -> PairedTest:
    """Compare two methods by the test that fits their scores.

    Where all scores are 0 or 1: McNemar (exact up to 25 differing questions). Else as benchmark-qed does it: the
    differences are checked by Shapiro and Wilk, then the paired t-test, or Wilcoxon's signed-rank test if they are not
    normal at `alpha`.

    Args:
        a: score of the first method by question, without NaN.
        b: of the second, in the same order.
        alpha: of the check for normality.

    Raises:
        ValueError: if lengths differ or there is no question.
        MissingExtra: without the extra `eval`.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or not first.size:
        raise ValueError(f"{first.size} and {second.size} scores are not pairs")
    d = first - second
    if not d.any():
        return PairedTest(test="none", n=d.size, p=1.0, mean_difference=0.0, effect=0.0, rank_biserial=0.0)
    test, p = _p_value(first, second, d, alpha)
    deviation = float(d.std(ddof=1)) if d.size > 1 else 0.0
    return PairedTest(
        test=test,
        n=d.size,
        p=p,
        mean_difference=float(d.mean()),
        effect=float(d.mean()) / deviation if deviation > 1e-12 else None,
        rank_biserial=_rank_biserial(d),
    )


def sign_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the number of questions on which the first is ahead; ties are left out, 1 if all are.

    Raises:
        MissingExtra: without the extra `eval`.
    """
    wins = sum(x > y for x, y in zip(a, b, strict=True))
    losses = sum(x < y for x, y in zip(a, b, strict=True))
    if not wins + losses:
        return 1.0
    return float(library("scipy.stats").binomtest(wins, wins + losses).pvalue)


def paired_tests(scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], tuple[PairedTest, float]]:
    """Test every pair of methods; the second value is p after Holm's correction over all pairs.

    Args:
        scores: by method, one score per question in the same order.
    """
    pairs = list(combinations(scores, 2))
    tests = [paired_test(scores[a], scores[b]) for a, b in pairs]
    adjusted = holm([t.p for t in tests])
    return {pair: (test, p) for pair, test, p in zip(pairs, tests, adjusted, strict=True)}


# --- power ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a comparison of so many questions can tell."""

    n: int
    detectable: float
    """Smallest true gap that is found with the stated power."""
    needed: int | None
    """Questions to find the gap asked for; None if none was asked for."""
    sentence: str


def power_of(
    deviation: float,
    n: int,
    *,
    gap: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    points: float = 100.0,
) -> Power:
    """Say which gap `n` questions can tell from noise, by the power of the paired t-test (Cohen, 1988).

    Args:
        deviation: standard deviation of the differences by question, greater than 0.
        n: number of questions, at least 2.
        gap: a true gap of interest, greater than 0, in the unit of the scores.
        power: chance of finding a true gap.
        alpha: chance of a false alarm.
        points: what one unit of the scores is called in points: 100 for scores in [0, 1].

    Raises:
        MissingExtra: without the extra `eval`.
    """
    if deviation <= 0 or n < 2 or (gap is not None and gap <= 0):
        raise ValueError(f"no power for a deviation of {deviation}, {n} questions and a gap of {gap}")
    solver = library("statsmodels.stats.power").TTestPower()
    effect = float(solver.solve_power(nobs=n, alpha=alpha, power=power, alternative="two-sided"))
    detectable = effect * deviation
    sentence = f"with {n} questions a gap under {points * detectable:.1f} points cannot be told from noise"
    needed = None
    if gap is not None:
        exact = solver.solve_power(
            effect_size=gap / deviation, alpha=alpha, power=power, alternative="two-sided"
        )
        needed = max(2, int(np.ceil(float(np.squeeze(exact)))))
        if needed > n:
            sentence += f": for {points * gap:.1f} points use {needed:,}"
    return Power(n=n, detectable=detectable, needed=needed, sentence=sentence)


# --- parts ------------------------------------------------------------------------------------------------


def require_extra() -> None:
    """Make sure, before anything is paid, that what was answered and judged can also be reported on.

    Raises:
        MissingExtra: if part of the extra `eval` is not installed.
    """
    if any(find_spec(name) is None for name in _EXTRA):
        raise MissingExtra("the report of a study", "eval")


def library(name: str) -> Any:
    """A module of scipy or statsmodels, imported when it is needed.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise MissingExtra("the report of a study", "eval") from problem


def _p_value(
    a: NDArray[np.float64], b: NDArray[np.float64], d: NDArray[np.float64], alpha: float
) -> tuple[Test, float]:
    stats = library("scipy.stats")
    if np.isin(np.concatenate([a, b]), (0.0, 1.0)).all():
        table = [[int(((a == x) & (b == y)).sum()) for y in (1.0, 0.0)] for x in (1.0, 0.0)]
        exact = table[0][1] + table[1][0] <= _EXACT
        found = library("statsmodels.stats.contingency_tables").mcnemar(table, exact=exact, correction=True)
        return "mcnemar", float(found.pvalue)
    if d.size < 3:
        # Too few to look at their distribution.
        wins, differing = int((d > 0).sum()), int((d != 0).sum())
        return "sign", float(stats.binomtest(wins, differing).pvalue)
    constant = bool(np.ptp(d) == 0)
    normal = not constant and d.size <= _LARGEST_SHAPIRO and float(stats.shapiro(d).pvalue) >= alpha
    if normal:
        return "t", float(stats.ttest_rel(a, b).pvalue)
    return "wilcoxon", float(stats.wilcoxon(d).pvalue)


def _rank_biserial(d: NDArray[np.float64]) -> float:
    some = d[d != 0]
    ranks = library("scipy.stats").rankdata(np.abs(some))
    return float((ranks * np.sign(some)).sum() / ranks.sum())
