"""Statistics of judgements against scipy, statsmodels, matplotlib and other formulations, on random data."""

from itertools import combinations, permutations

import numpy as np
import pytest

from polygraph.evaluate.statistics.agreement import cohen_kappa, krippendorff_alpha
from polygraph.evaluate.statistics.bradley_terry import Duel, bradley_terry
from polygraph.evaluate.statistics.length_bias import length_effect
from polygraph.evaluate.statistics.multiple_testing import holm, holm_levels
from polygraph.evaluate.statistics.power import detectable_difference, power_analysis, questions_needed
from polygraph.evaluate.statistics.win_rates import box_statistics, win_rates


def test_cohens_kappa_is_chance_corrected_agreement():
    rng = np.random.default_rng(3)
    for _ in range(50):
        table = rng.choice(["a", "b", "tie"], size=(40, 3))
        one, other = table[:, 0], table[:, 1]
        chance = sum((one == v).mean() * (other == v).mean() for v in ("a", "b", "tie"))
        expected = ((one == other).mean() - chance) / (1 - chance)
        assert cohen_kappa(list(one), list(other)) == pytest.approx(expected)


def test_krippendorffs_alpha_is_one_minus_the_ratio_of_disagreements_of_all_pairs():
    rng = np.random.default_rng(4)
    for _ in range(30):
        values = [
            [None if rng.random() < 0.2 else float(rng.integers(0, 4)) for _ in range(3)] for _ in range(15)
        ]
        items = [[v for v in row if v is not None] for row in values]
        items = [row for row in items if len(row) > 1]
        pooled = [v for row in items for v in row]
        # Every ordered pair of values within an item, weighted so that each value counts once.
        observed = sum((x != y) / (len(row) - 1) for row in items for x, y in permutations(row, 2)) / len(
            pooled
        )
        expected = np.mean([x != y for x, y in permutations(pooled, 2)])
        assert krippendorff_alpha(values) == pytest.approx(1 - observed / expected)


def test_strengths_maximise_the_likelihood_of_bradley_and_terry(optimize):
    rng = np.random.default_rng(5)
    names = ("a", "b", "c")
    pairs = list(combinations(range(3), 2))
    for _ in range(5):
        scores = {(q, pair): rng.choice([0.0, 0.5, 1.0]) for q in range(40) for pair in pairs}
        duels = [Duel(str(q), names[i], names[j], s) for (q, (i, j)), s in scores.items()]
        # Half a win is added to each side of every pair.
        wins = {pair: 0.5 + sum(s for (_, p), s in scores.items() if p == pair) for pair in pairs}

        def loss(free, wins=wins):
            strengths = np.append(free, -free.sum())
            return -sum(
                w * -np.log1p(np.exp(strengths[j] - strengths[i]))
                + (41 - w) * -np.log1p(np.exp(strengths[i] - strengths[j]))
                for (i, j), w in wins.items()
            )

        best = optimize.minimize(loss, np.zeros(2), tol=1e-10).x
        expected = dict(zip(names, np.append(best, -best.sum()), strict=True))
        found = {s.method: s.strength for s in bradley_terry(duels, rng, draws=10)}
        assert found == pytest.approx(expected, abs=1e-4)


def test_the_effect_of_length_is_that_of_least_squares_with_robust_variances(stats, statsmodels):
    rng = np.random.default_rng(6)
    for n in (10, 30, 130):
        x = np.round(rng.normal(5, 10, size=n))
        y = rng.choice([-1.0, 0.0, 1.0], size=n)
        found = length_effect(y, x)
        fitted = statsmodels.OLS(y, statsmodels.add_constant(x)).fit(cov_type="HC3", use_t=True)
        (low, low_slope), (high, high_slope) = fitted.conf_int().T
        level, slope = found.at_equal_length, found.per_25_words
        assert (level.mean, level.low, level.high) == pytest.approx((fitted.params[0], low, high))
        assert (slope.mean, slope.low, slope.high) == pytest.approx(
            (25 * fitted.params[1], 25 * low_slope, 25 * high_slope)
        )
        expected = stats.ttest_1samp(x, 0.0).confidence_interval()
        assert (found.words.low, found.words.high) == pytest.approx((expected.low, expected.high))


def test_boxes_are_those_of_matplotlib(cbook):
    rng = np.random.default_rng(7)
    for _ in range(50):
        values = rng.exponential(size=int(rng.integers(1, 40)))
        (theirs,) = cbook.boxplot_stats(values)
        ours = box_statistics(values.tolist())
        assert (ours.q1, ours.median, ours.q3) == pytest.approx((theirs["q1"], theirs["med"], theirs["q3"]))
        assert (ours.low, ours.high) == pytest.approx((theirs["whislo"], theirs["whishi"]))
        assert sorted(ours.outliers) == pytest.approx(sorted(theirs["fliers"]))


def test_win_rates_are_those_of_the_papers_formula():
    rng = np.random.default_rng(8)
    verdicts = rng.choice(["a", "b", "tie"], size=200).tolist()
    a, b, tie = (verdicts.count(v) for v in ("a", "b", "tie"))
    assert win_rates(verdicts).relative == pytest.approx((a - b) / (a + b + tie))


def test_power_is_that_of_the_normal_and_the_t_test(stats, power):
    rng = np.random.default_rng(9)
    for deviation, n in zip(rng.uniform(0.1, 1, size=20), rng.integers(10, 500, size=20), strict=True):
        gap = detectable_difference(float(deviation), int(n))
        assert power.NormalIndPower().power(gap / deviation, n, 0.05, ratio=0) == pytest.approx(0.8, abs=1e-3)
        assert abs(questions_needed(float(deviation), gap) - n) <= 1
        # The power of the t-test by the noncentral t distribution.
        effect = power_analysis(float(deviation), int(n)).detectable / deviation
        critical = stats.t.isf(0.025, n - 1)
        shift = effect * np.sqrt(n)
        reached = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
        assert reached == pytest.approx(0.8, abs=1e-4)


def test_an_interval_at_the_level_of_holm_rejects_what_his_procedure_rejects():
    rng = np.random.default_rng(10)
    for _ in range(100):
        p_values = (rng.random(size=int(rng.integers(1, 12))) ** 3).tolist()
        rejected = [p < level for p, level in zip(p_values, holm_levels(p_values), strict=True)]
        assert rejected == [p < 0.05 for p in holm(p_values)]
