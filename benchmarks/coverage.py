"""Measure how often intervals with a stated confidence of 95% contain the true mean.

    python benchmarks/coverage.py [--samples 4000] [--regressions]

For distributions of two or three values all results of 6, 9, 30 and 130 questions are enumerated, so that the figures
are exact; for others, samples are drawn. In brackets, for distributions with mean 0: the least coverage of any interval
that contains 0 unless the exact randomisation test rejects 0. `--regressions` measures the effect of length, and
strengths by the model of Bradley and Terry, instead; the former needs ten questions. About a minute.
"""

import argparse
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.statistics.bradley_terry import Duel, bradley_terry
from polygraph.evaluate.statistics.intervals import paired_means, share_intervals
from polygraph.evaluate.statistics.length_bias import STEP, length_effect
from polygraph.evaluate.statistics.randomisation import randomisation_test

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
    "gaps, two clusters": (
        *_quarters(np.exp(-0.5 * ((QUARTERS - 1) / 0.3) ** 2) + np.exp(-0.5 * ((QUARTERS + 1) / 0.3) ** 2)),
        5.0,
    ),
    "gaps, heavy tails": (*_quarters((1 + (QUARTERS / 0.5) ** 2) ** -1.5), 5.0),
    "gaps, near the best score": (*_quarters(np.where(QUARTERS <= 0, np.exp(QUARTERS / 0.4), 0.0)), 5.0),
    "means of three trials, rare": (np.arange(-3, 4) / 3, np.array([1, 1, 1, 14, 1, 1, 2]) / 21, 1.0),
}
"""Values, their probabilities, and the bound of the values."""
SHARES: dict[str, tuple[Array, Array]] = {
    "share of 50%": (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
    "share of 80%": (np.array([0.0, 1.0]), np.array([0.2, 0.8])),
    "share of 95%": (np.array([0.0, 1.0]), np.array([0.05, 0.95])),
    "recall: 0, half or all": (np.arange(3) / 2, np.array([0.2, 0.3, 0.5])),
}


def samples_of(
    values: Array, probabilities: Array, n: int, samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return samples of `n` values as columns, and the weight of each; all results if the values are few."""
    values, probabilities = values[probabilities > 0], probabilities[probabilities > 0]
    if len(values) > 3:
        return rng.choice(values, p=probabilities, size=(n, samples)), np.full(samples, 1 / samples)
    counts: list[tuple[int, ...]] = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    if len(values) == 2:
        counts = [(a, n - a) for a in range(n + 1)]
    columns = np.column_stack([np.repeat(values, each) for each in counts])
    logs = [
        lgamma(n + 1)
        + sum(k * float(np.log(p)) - lgamma(k + 1) for k, p in zip(each, probabilities, strict=True))
        for each in counts
    ]
    return columns, np.exp(logs)


def coverage_of_differences(name: str, n: int, samples: int, rng: np.random.Generator) -> str:
    """Return the chance that the interval of `n` differences contains the true mean, and the least possible chance."""
    values, probabilities, bound = DIFFERENCES[name]
    true = float(values @ probabilities)
    drawn, weights = samples_of(values, probabilities, n, samples, rng)
    found = (each.interval() for each in paired_means(drawn, rng, bound=bound, flips=2_000))
    held = weights @ [each.low - 1e-9 <= true <= each.high + 1e-9 for each in found]
    least = ""
    if abs(true) < 1e-9:
        least = f" ({weights @ (randomisation_test(drawn, rng, flips=2_000) >= 0.05):.3f})"
    return f"{held:.3f}{least}"


def coverage_of_shares(name: str, n: int, samples: int, rng: np.random.Generator) -> str:
    """Return the chance that the interval of `n` scores contains the true mean."""
    values, probabilities = SHARES[name]
    true = float(values @ probabilities)
    drawn, weights = samples_of(values, probabilities, n, samples, rng)
    held = weights @ [each.low - 1e-9 <= true <= each.high + 1e-9 for each in share_intervals(drawn)]
    return f"{held:.3f}"


def coverage_of_length_effect(n: int, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return how often the intervals of slope and intercept contain the true ones.

    A fifth of the questions are ties; each further word of the longer answer adds 0.004 to the expected result.
    """
    slopes = intercepts = 0
    for _ in range(samples):
        words = np.clip(rng.normal(10, 40, size=n), -90, 90)
        chance = rng.random(n)
        result = np.where(
            chance < 0.4 + 0.002 * words, 1.0, np.where(chance < 0.6 + 0.002 * words, 0.0, -1.0)
        )
        found = length_effect(result.tolist(), words.tolist())
        if found is None or found.per_25_words is None or found.at_equal_length is None:
            raise ValueError("lengths do not vary")
        slopes += found.per_25_words.low <= 0.004 * STEP <= found.per_25_words.high
        intercepts += found.at_equal_length.low <= 0 <= found.at_equal_length.high
    return slopes / samples, intercepts / samples


def coverage_of_strengths(n: int, samples: int, rng: np.random.Generator) -> float:
    """Return how often the interval of a strength contains the true one; three methods meet on each question."""
    true = {"a": 0.5, "b": 0.0, "c": -0.5}
    hits = 0
    for _ in range(samples):
        duels = [
            Duel(str(q), a, b, float(rng.random() < 1 / (1 + np.exp(true[b] - true[a]))))
            for q in range(n)
            for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
        ]
        hits += sum(s.low <= true[s.method] <= s.high for s in bradley_terry(duels, rng, draws=10))
    return hits / (3 * samples)


def print_regressions(samples: int, rng: np.random.Generator) -> None:
    """Print the table of `--regressions`."""
    print("| interval | n = 10 | n = 30 | n = 130 |\n|---|---|---|---|")
    pairs = [coverage_of_length_effect(n, samples, rng) for n in (10, 30, 130)]
    for name, column in (("effect of 25 words", 0), ("result at equal length", 1)):
        print(f"| {name} | {' | '.join(f'{pair[column]:.3f}' for pair in pairs)} |")
    few = max(1, samples // 20)
    cells = (f"{coverage_of_strengths(n, few, rng):.3f}" for n in (10, 30, 130))
    print(f"| strength, {few} samples | {' | '.join(cells)} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4_000)
    parser.add_argument("--regressions", action="store_true", help="effect of length and strengths instead")
    options = parser.parse_args()
    samples, rng = options.samples, np.random.default_rng(0)
    if options.regressions:
        print_regressions(samples, rng)
        return
    print(f"| values | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for names, measure in ((DIFFERENCES, coverage_of_differences), (SHARES, coverage_of_shares)):
        for name in names:
            cells = (measure(name, n, samples, rng) for n in SIZES)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
