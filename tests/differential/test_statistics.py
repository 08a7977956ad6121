"""Statistics of the evaluation against scipy and statsmodels, on random data."""

import numpy as np
import pytest

from polygraph.evaluate.statistics.intervals import paired_means, share_intervals
from polygraph.evaluate.statistics.multiple_testing import holm
from polygraph.evaluate.statistics.randomisation import randomisation_test
from polygraph.evaluate.statistics.score_interval import score, score_interval


def test_the_interval_of_a_share_is_that_of_wilson_or_of_clopper_and_pearson(proportion):
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(2, 200))
        count = int(rng.integers(0, n + 1))
        values = np.zeros((n, 1))
        values[:count] = 1.0
        method = "beta" if count in (0, n) else "wilson"
        low, high = proportion.proportion_confint(count, n, alpha=0.05, method=method)
        (found,) = share_intervals(values)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_unanimous_outcomes_have_the_interval_and_p_of_the_exact_sign_test(stats, proportion):
    for n in range(2, 13):
        (found,) = paired_means(np.ones((n, 1)), np.random.default_rng(0))
        low, _ = proportion.proportion_confint(n, n, alpha=0.05, method="beta")
        assert found.p == pytest.approx(stats.binomtest(n, n).pvalue)
        # Wins less losses are twice the share of wins less 1.
        low = min(2 * low - 1, 0.0) if found.p >= 0.05 else 2 * low - 1
        assert found.interval().low == pytest.approx(low)


def test_the_score_has_the_standard_error_under_the_most_likely_shares(optimize):
    rng = np.random.default_rng(7)
    for _ in range(40):
        n = int(rng.integers(4, 60))
        wins, losses, ties = rng.multinomial(n, rng.dirichlet([1, 1, 1])).tolist()
        difference = float(rng.uniform(-0.9, 0.9))

        def unlikelihood(losing, counts=(wins, losses, ties), difference=difference):
            shares = np.clip([losing + difference, losing, 1 - 2 * losing - difference], 1e-15, 1)
            return -float(np.array(counts) @ np.log(shares))

        bounds = (max(0.0, -difference), (1 - difference) / 2)
        losing = optimize.minimize_scalar(unlikelihood, bounds=bounds, options={"xatol": 1e-12}).x
        error = np.sqrt(n * (2 * losing + difference - difference**2))
        expected = (wins - losses - n * difference) / error
        assert score(difference, wins, losses, n) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_ends_of_the_score_interval_are_where_the_score_reaches_the_quantile():
    rng = np.random.default_rng(8)
    for _ in range(100):
        n = int(rng.integers(2, 300))
        wins, losses, _ = rng.multinomial(n, rng.dirichlet([1, 1, 1])).tolist()
        low, high = score_interval(wins, losses, n, 0.05)
        assert -1 <= low <= (wins - losses) / n <= high <= 1
        assert low == -1 or score(low, wins, losses, n) == pytest.approx(1.959964, abs=1e-4)
        assert high == 1 or score(high, wins, losses, n) == pytest.approx(-1.959964, abs=1e-4)


def test_no_p_value_is_below_that_of_the_exact_sign_test_of_wins_and_losses(stats):
    rng = np.random.default_rng(2)
    d = rng.choice([-1.0, 0.0, 1.0], p=[0.15, 0.3, 0.55], size=(12, 300))
    for column, found in zip(d.T, paired_means(d, rng), strict=True):
        wins, losses = int((column > 0).sum()), int((column < 0).sum())
        exact = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert found.p >= exact - 1e-9


def test_with_many_questions_interval_and_p_are_those_of_the_t_test(stats):
    rng = np.random.default_rng(3)
    d = np.clip(rng.normal(0.02, 0.2, size=(2000, 20)), -1, 1)
    for column, found in zip(d.T, paired_means(d, rng), strict=True):
        theirs = stats.ttest_1samp(column, 0.0)
        interval, expected = found.interval(), theirs.confidence_interval()
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=0.0006)
        assert found.p == pytest.approx(theirs.pvalue, abs=0.02)


def test_the_randomisation_test_is_that_of_scipy(stats):
    rng = np.random.default_rng(4)
    for _ in range(10):
        d = np.round(rng.normal(0.2, 1.0, size=(11, 1)), 1)
        theirs = stats.permutation_test(
            (d[:, 0],),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert randomisation_test(d, rng)[0] == pytest.approx(theirs.pvalue, abs=1e-9)


def test_holm_is_that_of_statsmodels(multitest, monkeypatch):
    # statsmodels collects garbage in each call: a second each, among all that the tests have imported.
    monkeypatch.setattr("gc.collect", lambda: 0)
    rng = np.random.default_rng(5)
    for m in range(1, 40):
        p_values = (rng.random(m) ** 3).tolist()
        assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))
