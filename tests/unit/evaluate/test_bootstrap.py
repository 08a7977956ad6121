import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.evaluate.statistics.bootstrap import bootstrap_differences, bootstrap_means
from polygraph.evaluate.statistics.multiple_testing import holm
from polygraph.evaluate.statistics.paired_tests import randomisation_test
from polygraph.evaluate.statistics.power import detectable_difference, questions_needed


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_interval_of_a_share_is_near_the_normal_one():
    values = np.array([[1.0]] * 60 + [[0.0]] * 140)
    (found,) = bootstrap_means(values, rng())
    half = 1.96 * (0.3 * 0.7 / 200) ** 0.5
    assert found.mean == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - half, abs=0.01)
    assert found.high == pytest.approx(0.3 + half, abs=0.01)


def test_intervals_contain_the_true_mean_about_as_often_as_stated():
    source = rng(1)
    held = 0
    for _ in range(200):
        values = source.beta(2, 3, size=(60, 1))
        (found,) = bootstrap_means(values, source, resamples=400)
        held += found.low <= 0.4 <= found.high
    assert 180 <= held <= 199


def test_all_successes_do_not_give_certainty():
    ones, zeros, single = (
        bootstrap_means(np.full((n, 1), value), rng())[0] for n, value in ((40, 1.0), (40, 0.0), (1, 1.0))
    )
    # Clopper and Pearson for 40 of 40: the 40th root of 0.025.
    assert (ones.mean, ones.high) == (1.0, 1.0)
    assert ones.low == pytest.approx(0.9119, abs=1e-4)
    assert (zeros.low, zeros.high) == (0.0, pytest.approx(0.0881, abs=1e-4))
    assert (single.low, single.high) == (0.0, 1.0)


def test_the_same_seed_gives_the_same_interval_and_many_rows_are_drawn_in_blocks():
    values = rng(3).random((5000, 2))
    one, other = bootstrap_means(values, rng(7)), bootstrap_means(values, rng(7))
    assert one == other
    assert one[0].low < one[0].mean < one[0].high


def test_a_paired_difference_has_a_narrower_interval_than_two_means():
    source = rng(2)
    base = source.random(100)
    (found,) = bootstrap_differences((base + 0.05 - base)[:, None], source)
    assert found.low == pytest.approx(0.05)
    assert found.high == pytest.approx(0.05)


def test_the_randomisation_test_is_exact_for_few_questions():
    # Of 2^4 patterns of signs of (1, 1, 1, -1) the sum is at least 2 away from 0 in 10.
    found = randomisation_test(np.array([[1.0], [1.0], [1.0], [-1.0]]), rng())
    assert found[0] == pytest.approx(10 / 16)


def test_the_randomisation_test_agrees_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    d = rng(5).normal(0.2, 1.0, size=(80, 1)) + 0.15
    theirs = stats.permutation_test(
        (d[:, 0],),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        rng=rng(6),
    )
    assert randomisation_test(d, rng())[0] == pytest.approx(theirs.pvalue, abs=0.02)


def test_without_a_difference_false_alarms_have_the_nominal_rate():
    source = rng(9)
    d = source.choice([-1.0, 0.0, 1.0], size=(40, 400))
    assert (randomisation_test(d, source, flips=1000) < 0.05).mean() < 0.09


def test_a_method_against_itself_has_p_of_1():
    assert randomisation_test(np.zeros((30, 1)), rng())[0] == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_stepping_down_rejects(p_values):
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.5):
        rejected, m = 0, len(p_values)
        for i, p in enumerate(sorted(p_values)):
            if p * (m - i) >= alpha:
                break
            rejected += 1
        assert sum(p < alpha for p in adjusted) == rejected


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p_values in ([0.01, 0.04, 0.03], [0.5], [0.2, 0.001, 0.001, 0.9, 0.02]):
        assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))


def test_the_detectable_gap_is_near_that_of_the_t_test():
    power = pytest.importorskip("statsmodels.stats.power")
    exact = power.TTestPower().solve_power(nobs=150, alpha=0.05, power=0.8) * 0.4
    assert detectable_difference(0.4, 150) == pytest.approx(exact, rel=0.02)
    assert questions_needed(0.4, detectable_difference(0.4, 150)) == 150
