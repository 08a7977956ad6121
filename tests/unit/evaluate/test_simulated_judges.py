"""Judges with known biases mislead the single-order protocol, but not the unbiased one."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.simulated_judges import (
    JudgeBias,
    SimulatedAnswer,
    SimulatedJudge,
    SimulatedStudy,
    lead_of_points,
    simulate_study,
    single_order_win_rate,
    unbiased_results,
)
from polygraph.evaluate.judging.pairwise import JudgingDesign

HOW = JudgingDesign(repeats=2, trials=1)
STUDIES = range(20)
NO_FAULTS = JudgeBias(position=0.0, length=0.0)


@pytest.mark.parametrize(("gap", "sigmas"), [(0.0, 0.0), (30.0, 0.38532), (50.0, 0.67449), (-95.0, -1.95996)])
def test_points_of_the_win_rate_become_standard_deviations(gap, sigmas):
    # A normal deviate lies within 0.67449 standard deviations in half of the cases (any table of the normal law).
    assert lead_of_points(gap) == pytest.approx(sigmas, abs=1e-5)


def shares(one, other, faults, n=3000):
    """Return how often the answer shown first wins and loses."""
    judge = SimulatedJudge({"x": one, "y": other}, faults)
    seen = Counter()
    for i in range(n):
        scores = judge(f"q{i}", "x", "y", 0).scores.values()
        gap = sum(a for a, _ in scores) - sum(b for _, b in scores)
        seen[int(np.sign(gap))] += 1
    return seen[1] / n, seen[-1] / n


@pytest.mark.parametrize(
    ("words", "faults", "expected"),
    [
        (200, JudgeBias(length=0.0), 30),
        (225, JudgeBias(position=0.0), 50),
        (200, NO_FAULTS, 0),
    ],
)
def test_a_simulated_judge_has_the_given_biases(words, faults, expected):
    equal = SimulatedAnswer("y", 0.0, 200)
    won, lost = shares(SimulatedAnswer("x", 0.0, words), equal, faults)
    # Rounding to whole points makes ties and hides a little: within 5 points, of which 3.6 are two standard errors.
    assert 100 * (won - lost) == pytest.approx(expected, abs=5)


def test_the_same_sample_gets_the_same_scores_and_another_does_not():
    answers = {name: SimulatedAnswer(name, 0.0, 200) for name in "xy"}
    judge = SimulatedJudge(answers, JudgeBias())
    assert judge("q", "x", "y", 0) == judge("q", "x", "y", 0)
    assert any(judge(f"q{i}", "x", "y", 0) != judge(f"q{i}", "x", "y", 1) for i in range(10))


def test_the_single_order_protocol_prefers_a_method_to_itself_and_the_unbiased_one_does_not():
    found = [simulate_study(SimulatedStudy(n=100), JudgeBias(), seed, HOW) for seed in STUDIES]
    assert all(one.single_order_win_rate > 0.5 for one in found)
    # With 5% false alarms, 4 or more of 20 studies occur in 1.6% of all sets of seeds.
    assert sum(one.differs for one in found) <= 3
    assert abs(np.mean([one.relative for one in found])) < 0.05


def test_studies_with_enough_power_find_a_true_gap_with_the_correct_sign():
    found = [simulate_study(SimulatedStudy(gap=25.0, n=100), JudgeBias(), seed, HOW) for seed in STUDIES]
    expected = np.mean([one.relative for one in found])
    able = [one for one in found if one.detectable <= expected]
    assert len(able) >= 15
    assert sum(one.differs and one.relative > 0 for one in able) >= len(able) - 1


def test_an_opposite_gap_changes_only_the_sign():
    forth, back = (
        np.mean(
            [
                simulate_study(SimulatedStudy(gap=g, n=100), JudgeBias(), seed, HOW).relative
                for seed in range(5)
            ]
        )
        for g in (40.0, -40.0)
    )
    assert forth > 0.2
    assert back == pytest.approx(-forth, abs=0.1)


def test_a_systematic_shortfall_in_length_is_mistaken_for_quality():
    # A limit of the procedure: the tolerance is harmless only if both methods miss the target at random.
    found = [simulate_study(SimulatedStudy(shortfall=8, n=100), JudgeBias(), seed, HOW) for seed in range(8)]
    assert np.mean([one.relative for one in found]) < -0.15
    assert sum(one.differs and one.relative < 0 for one in found) >= 3
    harmless = [
        simulate_study(SimulatedStudy(shortfall=8, n=100), JudgeBias(length=0.0), seed, HOW)
        for seed in range(5)
    ]
    assert abs(np.mean([one.relative for one in harmless])) < 0.1


def test_longer_answers_win_by_the_single_order_protocol_in_either_order():
    assert single_order_win_rate(SimulatedStudy(longer=50, n=200), JudgeBias(position=0.0), 1) > 0.75
    assert single_order_win_rate(SimulatedStudy(longer=-50, n=200), JudgeBias(position=0.0), 1) < 0.25


def test_a_study_without_noise_or_bias_is_all_ties():
    gaps = unbiased_results(
        SimulatedStudy(n=20, questions=0.0), JudgeBias(position=0.0, length=0.0, noise=1e-9), 0, HOW
    )
    # Only the random rounding of single aspects is left.
    assert len(gaps) == 20
    assert all(value in (-1.0, 0.0, 1.0) for values in gaps.values() for value in values)
