"""Recorded verdicts of a real judge: counts by hand from the file, and their statistics."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data" / "ultradomain-mix"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded verdicts are not here")


def benchmark():
    spec = importlib.util.spec_from_file_location("ultradomain", ROOT / "benchmarks" / "ultradomain.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["ultradomain"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return benchmark()


def test_published_win_rates_follow_from_the_recorded_verdicts_of_both_orders(script):
    for comparison, pair in script.COMPARISONS.items():
        if pair in script.PUBLISHED:
            recorded = script.read(DATA, comparison)
            n = len(recorded.forth) + len(recorded.back)
            assert round(100 * recorded.wins / n, 1) == pytest.approx(script.PUBLISHED[pair], abs=0.05)


def test_position_decides_most_questions_between_similar_systems(script):
    # Counted by hand (grep): the system wins 121 of 130 shown first, 49 of 128 shown second; two lines missing.
    recorded = script.read(DATA, "hi_lightrag")
    assert (sum(recorded.forth), len(recorded.back) - sum(recorded.back), recorded.missing) == (121, 49, 2)
    # If no line is missing, lines are matched to questions with certainty.
    whole = script.read(DATA, "hi_kag")
    assert list(script.missing_line_sets(whole)) == [()]
    assert Counter(script.match_lines(whole, ())) == {(True, True): 126, (False, False): 2, (True, False): 2}


def test_our_statistics_find_no_difference_where_the_pooled_rate_is_over_one_half(script):
    found = script.conclude(DATA)
    pairs = {frozenset((p.a, p.b)): p for p in found.pairs}
    near = pairs[frozenset(("hi", "hi_naiveR"))]
    recorded = script.read(DATA, "hi_naiveR_hi")
    assert recorded.wins == 111 + 11  # of 258: 47.3%, so the other system has 52.7%
    assert not near.differs
    assert sum(p.differs for p in found.pairs) == 5
    assert near.consistency.position_bias > 0.7
    assert found.ranking[0].method == "hi"


def test_files_with_the_same_judgements_agree_only_if_lines_are_aligned(script):
    alike, shifted = script.repeated(DATA)
    assert alike > 0.9
    assert abs(shifted) < 0.2


def test_every_recorded_verdict_is_counted(script):
    rows = [json.loads(line) for line in (DATA / "verdicts.jsonl").open()]
    assert len(rows) == 2331
    assert len(script.answers(DATA)) == 910
