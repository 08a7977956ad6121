"""A seeded share of `benchmarks/fuzz.py`: malformed input is read or refused with a reason."""

import importlib.util
import sys
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[2] / "benchmarks" / "fuzz.py")
fuzz = importlib.util.module_from_spec(spec)
sys.modules["fuzz"] = fuzz
spec.loader.exec_module(fuzz)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "n", [pytest.param(1_000, marks=pytest.mark.slow), pytest.param(20_000, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_malformed_input_is_read_or_refused_with_a_reason(kind, n):
    outcome = fuzz.run(kind, 7, 0, n)
    assert outcome.faults == []
    assert outcome.n_read > n / 2
