import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.evaluate.statistics.compare import compare_methods
from polygraph.evaluate.statistics.decide import further_questions
from polygraph.evaluate.statistics.intervals import (
    Interval,
    mean_intervals,
    paired_means,
    share_intervals,
)
from polygraph.evaluate.statistics.multiple_testing import holm, holm_levels
from polygraph.evaluate.statistics.power import detectable_difference, questions_needed
from polygraph.evaluate.statistics.randomisation import randomisation_test


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_interval_of_a_share_is_near_the_normal_one():
    values = np.array([[1.0]] * 60 + [[0.0]] * 140)
    (found,) = share_intervals(values)
    half = 1.96 * (0.3 * 0.7 / 200) ** 0.5
    assert found.mean == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - half, abs=0.01)
    assert found.high == pytest.approx(0.3 + half, abs=0.01)


@pytest.mark.parametrize("n", [6, 9, 30, 130])
def test_intervals_of_graded_scores_contain_the_true_mean_about_as_often_as_stated(n):
    source = rng(1)
    found = share_intervals(source.beta(2, 3, size=(n, 2000)))
    # Two standard errors of a share of 2,000 are 0.01; with few questions the intervals are wider than necessary.
    covered = np.mean([each.low <= 0.4 <= each.high for each in found])
    assert 0.94 <= covered <= (0.97 if n >= 30 else 1)


def test_all_successes_do_not_give_certainty():
    ones, zeros, single = (
        share_intervals(np.full((n, 1), value))[0] for n, value in ((40, 1.0), (40, 0.0), (1, 1.0))
    )
    # Clopper and Pearson for 40 of 40: the 40th root of 0.025.
    assert (ones.mean, ones.high) == (1.0, 1.0)
    assert ones.low == pytest.approx(0.9119, abs=1e-4)
    assert (zeros.low, zeros.high) == (0.0, pytest.approx(0.0881, abs=1e-4))
    assert (single.low, single.high) == (0.0, 1.0)


def test_values_that_are_not_shares_have_an_interval_by_another_construction():
    with pytest.raises(ValueError, match="not within 0 and 1"):
        share_intervals(np.array([[0.2], [1.2]]))
    shares, signed = mean_intervals(np.array([[0.0, -0.5], [1.0, 1.5], [1.0, 0.2]]))
    assert shares == share_intervals(np.array([[0.0], [1.0], [1.0]]))[0]
    assert -1.5 <= signed.low < 0 < signed.mean < signed.high <= 1.5


def test_six_wins_of_six_and_nine_ties_do_not_give_certainty():
    six = paired_means(np.ones((6, 1)), rng())[0]
    nine = paired_means(np.zeros((9, 1)), rng())[0]
    # The sign test of six wins has p = 2 / 2^6; the sixth root of 0.025 is 0.541.
    assert six.p == pytest.approx(2 / 64)
    assert six.interval() == Interval(1.0, pytest.approx(2 * 0.5407 - 1, abs=1e-4), 1.0)
    assert nine.p == 1.0
    assert nine.interval().low == pytest.approx(-0.3363, abs=1e-4)
    assert nine.interval().high == pytest.approx(0.3363, abs=1e-4)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=40),
    st.sampled_from([0.2, 0.05, 0.01, 0.05 / 45]),
)
def test_an_interval_excludes_zero_if_and_only_if_its_p_is_below_its_level(differences, alpha):
    (found,) = paired_means(np.array(differences)[:, None], rng(), flips=500)
    interval = found.interval(alpha)
    assert (interval.low > 0 or interval.high < 0) == (found.p < alpha)
    assert interval.low <= found.mean <= interval.high
    assert interval.low < interval.high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_level_of_an_interval_rejects_what_the_adjusted_p_rejects(p_values):
    for p, adjusted, level in zip(p_values, holm(p_values), holm_levels(p_values), strict=True):
        if abs(p / level - 1) > 1e-9:
            assert (p < level) == (adjusted < 0.05)


def test_few_questions_do_not_make_a_false_alarm_more_likely_than_one_in_twenty():
    source = rng(3)
    for n in (6, 9, 30):
        d = source.choice([-1.0, 0.0, 1.0], p=[0.3, 0.4, 0.3], size=(n, 3000))
        alarms = np.mean([each.p < 0.05 for each in paired_means(d, source, flips=1000)])
        assert alarms <= 0.058, n


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


def test_a_wider_margin_makes_undecided_methods_equivalent():
    values = {"a": {f"q{i}": float(i % 10 == 0) for i in range(60)}, "b": {f"q{i}": 0.0 for i in range(60)}}
    (narrow,) = compare_methods(values, rng(), margin=0.05)
    (wide,) = compare_methods(values, rng(), margin=0.25)
    assert (narrow.decision, wide.decision) != ("undecided", "undecided")
    flat = {"a": dict.fromkeys(values["a"], 0.5), "b": dict.fromkeys(values["a"], 0.5)}
    (few,) = compare_methods(flat, rng(), margin=0.05)
    (enough,) = compare_methods(flat, rng(), margin=0.1)
    # 72 ties give an interval within 5 points: 0.025^(1 / 72) is 0.95.
    assert (few.decision, few.further, enough.decision, enough.further) == (
        "undecided",
        12,
        "equivalent",
        None,
    )


@pytest.mark.parametrize("d", [[-1.0] * 3 + [0.0], [1.0] * 4, [0.25, 0.5, 0.5, 0.0, 0.75]])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_as_many_further_questions_as_would_decide_are_significant_if_they_all_agree(d, alpha):
    (paired,) = paired_means(np.array(d)[:, None], rng())
    further = further_questions(paired, 0.05, alpha=alpha)
    # 2 / 2^6 is the first p below 0.05, 2 / 2^8 the first below 0.05 / 6; ties do not count.
    needed = {0.05: 6, 0.05 / 6: 8}[alpha]
    share = np.count_nonzero(d) / len(d)
    assert (len(d) + further) * share >= needed
    more = np.resize(np.array(d), (len(d) + further, 1))
    (later,) = paired_means(more, rng())
    assert later.interval(alpha).low > 0 or later.interval(alpha).high < 0


@pytest.mark.parametrize("n", [6, 9, 30, 130])
@pytest.mark.parametrize(
    "probabilities", [(0.1, 0.8, 0.1), (0.3, 0.6, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.6, 0.2, 0.2)]
)
def test_intervals_of_wins_less_losses_contain_the_true_rate_about_as_often_as_stated(n, probabilities):
    source = rng(4)
    d = source.choice([1.0, 0.0, -1.0], p=probabilities, size=(n, 1000))
    true = probabilities[0] - probabilities[2]
    held = np.mean(
        [i.low <= true <= i.high for i in (m.interval() for m in paired_means(d, source, flips=500))]
    )
    # Three standard errors of a share of 1,000 are 0.02. With few questions, discreteness makes intervals wider.
    assert held >= 0.93
    assert n < 30 or held <= 0.99
