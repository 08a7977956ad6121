"""Expected values are from the literature, from other calls of scipy, or from simulations."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import MissingExtra
from polygraph.evaluate.metrics import rouge_bleu as overlap
from polygraph.evaluate.statistics.agreement import (
    cohen_kappa,
    krippendorff_alpha,
    order_consistency,
)
from polygraph.evaluate.statistics.bradley_terry import Duel, bradley_terry
from polygraph.evaluate.statistics.power import power_analysis
from polygraph.evaluate.statistics.win_rates import box_statistics, win_rates

pytest.importorskip("statsmodels")
pytest.importorskip("sacrebleu")


def rng(seed=0):
    return np.random.default_rng(seed)


# --- power ---------------------------------------------------------------------------------------------


def test_the_power_statement_names_the_gap_and_the_questions_needed():
    found = power_analysis(0.26, 150, gap=0.03)
    assert found.detectable == pytest.approx(2.8 * 0.26 / 150**0.5, rel=0.02)
    assert found.needed == pytest.approx((2.8 * 0.26 / 0.03) ** 2, rel=0.02)
    assert found.sentence == (
        "with 150 questions, gaps below 6.0 points cannot be told from noise; detecting 3.0 points takes "
        f"{found.needed} questions"
    )
    again = power_analysis(0.26, found.needed)
    assert again.detectable == pytest.approx(0.03, rel=0.01)


# --- agreement ------------------------------------------------------------------------------------------


def test_cohens_kappa_is_that_of_its_worked_example():
    # 50 applications, two readers: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: (0.7 - 0.5) / (1 - 0.5).
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)
    assert np.isnan(cohen_kappa(["a", "a"], ["a", "a"]))


def test_krippendorffs_alpha_is_that_of_his_example_with_missing_values():
    # Krippendorff (2011), "Computing Krippendorff's alpha-reliability", four observers and twelve units.
    x = None
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
        [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x],
    ]
    items = list(zip(*observers, strict=True))
    assert krippendorff_alpha(items) == pytest.approx(0.743, abs=0.001)


def test_order_consistency_detects_a_judge_that_prefers_the_first_position():
    # Four pairs in both orders: twice the first position won both times.
    found = order_consistency(["a", "a", "b", "tie"], ["b", "b", "b", "tie"])
    assert (found.rate, found.position_bias) == (0.5, 0.5)
    assert order_consistency([], []).rate is None


# --- trials -----------------------------------------------------------------------------------------------

VERDICTS = st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1, max_size=40)


@given(VERDICTS)
def test_swapping_names_negates_the_relative_win_rate(verdicts):
    swapped = [{"a": "b", "b": "a", "tie": "tie"}[v] for v in verdicts]
    one, other = win_rates(verdicts), win_rates(swapped)
    assert one.relative == -other.relative
    assert -1 <= one.relative <= 1
    assert one.win + one.tie + one.lose == pytest.approx(1)


def test_a_box_has_tukeys_whiskers():
    found = box_statistics([1, 2, 3, 4, 5, 6, 7, 30, -20])
    # Quartiles of nine sorted values: the 3rd, 5th and 7th; whiskers within 1.5 * 4 of the box.
    assert (found.q1, found.median, found.q3) == (2, 4, 6)
    assert (found.low, found.high, found.outliers) == (1, 7, (-20.0, 30.0))
    with pytest.raises(ValueError, match="no values"):
        box_statistics([])


# --- ranking ----------------------------------------------------------------------------------------------


def simulated(strengths, n, seed):
    source, duels = rng(seed), []
    names = list(strengths)
    for q in range(n):
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                p = 1 / (1 + np.exp(strengths[b] - strengths[a]))
                duels.append(Duel(f"q{q}", a, b, float(source.random() < p)))
    return duels


def test_the_ranking_recovers_the_true_strengths():
    true = {"a": 1.0, "b": 0.0, "c": -1.0}
    found = bradley_terry(simulated(true, 400, 3), rng())
    assert [s.method for s in found] == ["a", "b", "c"]
    for s in found:
        assert s.strength == pytest.approx(true[s.method], abs=0.2)
        assert s.low - 0.05 < true[s.method] < s.high + 0.05
        assert s.rank_low == s.rank_high


def test_equal_methods_share_ranks_and_ties_are_half_a_win():
    duels = [Duel(f"q{n}", "a", "b", score) for n, score in enumerate([1.0, 0.0, 0.5] * 10)]
    one, other = bradley_terry(duels, rng())
    assert one.strength == pytest.approx(0, abs=1e-6)
    assert (one.rank_low, other.rank_high) == (1, 2)


def test_an_unbeaten_method_has_a_finite_strength_and_unconnected_methods_are_an_error():
    found = bradley_terry([Duel(f"q{n}", "a", "b", 1.0) for n in range(20)], rng())
    # 20.5 wins to 0.5 with the prior: half the logarithm of 41 to either side.
    assert found[0].strength == pytest.approx(np.log(41) / 2, rel=1e-4)
    # 20 wins of 20 are no certainty.
    assert found[0].low < found[0].strength - 0.5
    with pytest.raises(ValueError, match="no chain"):
        bradley_terry([Duel("q", "a", "b", 1.0), Duel("q", "c", "d", 1.0)], rng())


# --- without the extra --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("rouge_score.rouge_scorer", lambda: overlap.rouge("a", ["a"])),
        ("sacrebleu.metrics.bleu", lambda: overlap.bleu(["a"], [["a"]])),
        ("statsmodels.stats.power", lambda: power_analysis(0.3, 100)),
        ("statsmodels.stats.inter_rater", lambda: cohen_kappa(["a", "b"], ["b", "a"])),
    ],
)
def test_a_missing_library_is_reported_with_its_extra(monkeypatch, module, use):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r'pip install "polygraph-rag\[eval\]"'):
        use()


def test_measuring_retrieval_loads_nothing_of_the_extra():
    code = (
        "import sys, polygraph.workspace.index, polygraph.evaluate.runs.retrieval, "
        "polygraph.evaluate.metrics.rouge_bleu, "
        "polygraph.evaluate.statistics.bradley_terry; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'scipy', 'statsmodels', 'sacrebleu', 'rouge_score'}))"
    )
    source = str(Path(overlap.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.stdout.strip() == "[]"
