"""Measure how often intervals with a stated confidence of 95% contain the true mean.

    python benchmarks/coverage.py [--samples 4000]

Samples of 6, 9, 30 and 130 questions are drawn from known distributions. About a minute.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.intervals import paired_means, share_intervals

Array = NDArray[np.float64]

SIZES = (6, 9, 30, 130)
QUARTERS: Array = np.arange(-20, 21) / 4
OUTCOMES: Array = np.array([1.0, 0.0, -1.0])


def _quarters(weights: Array) -> tuple[Array, Array]:
    return QUARTERS, weights / weights.sum()


DIFFERENCES: dict[str, tuple[Array, Array, float]] = {
    "correct or not, 10% against 10%": (OUTCOMES, np.array([0.1, 0.8, 0.1]), 1.0),
    "correct or not, 30% against 10%": (OUTCOMES, np.array([0.3, 0.6, 0.1]), 1.0),
    "win, tie, lose: 33, 33, 33": (OUTCOMES, np.array([1, 1, 1]) / 3, 1.0),
    "win, tie, lose: 60, 20, 20": (OUTCOMES, np.array([0.6, 0.2, 0.2]), 1.0),
    "win, tie, lose: 10, 85, 5": (OUTCOMES, np.array([0.1, 0.85, 0.05]), 1.0),
    "win, lose: 50, 50": (OUTCOMES, np.array([0.5, 0.0, 0.5]), 1.0),
    "win, lose: 90, 10": (OUTCOMES, np.array([0.9, 0.0, 0.1]), 1.0),
    "means of two trials": (np.arange(-2, 3) / 2, np.array([0.15, 0.15, 0.3, 0.2, 0.2]), 1.0),
    "gaps, normal": (*_quarters(np.exp(-0.5 * ((QUARTERS - 0.2) / 0.8) ** 2)), 5.0),
    "gaps, skewed (exponential)": (
        *_quarters(np.where(QUARTERS >= -0.5, np.exp(-(QUARTERS + 0.5) / 0.8), 0.0)),
        5.0,
    ),
    "gaps, half of them 0": (
        *_quarters(0.1 * np.exp(-0.5 * ((QUARTERS - 0.5) / 0.6) ** 2) + 0.6 * (QUARTERS == 0)),
        5.0,
    ),
}
"""Values, their probabilities, and the bound of the values."""
SHARES: dict[str, tuple[Array, Array]] = {
    "share of 50%": (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
    "share of 80%": (np.array([0.0, 1.0]), np.array([0.2, 0.8])),
    "share of 95%": (np.array([0.0, 1.0]), np.array([0.05, 0.95])),
    "recall: 0, half or all": (np.arange(3) / 2, np.array([0.2, 0.3, 0.5])),
}


def coverage_of_differences(name: str, n: int, samples: int, rng: np.random.Generator) -> float:
    """Return the share of samples of `n` differences whose interval contains the true mean."""
    values, probabilities, bound = DIFFERENCES[name]
    true = float(values @ probabilities)
    drawn = rng.choice(values, p=probabilities, size=(n, samples))
    found = (each.interval() for each in paired_means(drawn, rng, bound=bound, flips=2_000))
    return float(np.mean([each.low - 1e-9 <= true <= each.high + 1e-9 for each in found]))


def coverage_of_shares(name: str, n: int, samples: int, rng: np.random.Generator) -> float:
    """Return the share of samples of `n` scores whose interval contains the true mean."""
    values, probabilities = SHARES[name]
    true = float(values @ probabilities)
    found = share_intervals(rng.choice(values, p=probabilities, size=(n, samples)))
    return float(np.mean([each.low - 1e-9 <= true <= each.high + 1e-9 for each in found]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4_000)
    samples = parser.parse_args().samples
    rng = np.random.default_rng(0)
    print(f"| values | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for names, measure in ((DIFFERENCES, coverage_of_differences), (SHARES, coverage_of_shares)):
        for name in names:
            cells = (f"{measure(name, n, samples, rng):.3f}" for n in SIZES)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
