"""Test the evaluation with simulated judges of known bias, 200 studies per case.

    python benchmarks/judges.py [--studies 200] [--figure docs/images/judges.svg] [--part cases|equal]

The judge prefers the answer shown first by 30 points, an answer that is 25 words longer by 50 points, and is noisy. The
single-order protocol (A first, one judgement per question, no ties) is interpreted as in papers: a win rate above one
half is better. The unbiased protocol is interpreted by the rule of `polygraph eval report`: the interval of the
relative win rate excludes 0. A second table counts the false alarms of that rule for judges with other preferences.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from simulated_judges import JudgeBias, SimulatedStudy, simulate_study

from polygraph.evaluate.judging.pairwise import JudgingDesign

CASES = {
    "a method against itself": SimulatedStudy(),
    "itself, 25 words longer": SimulatedStudy(longer=25),
    "10 points better, 130 questions": SimulatedStudy(gap=10),
    "10 points better, 500 questions": SimulatedStudy(gap=10, n=500),
    "itself, aligned but always 2 words shorter": SimulatedStudy(shortfall=2),
    "itself, aligned but always 8 words shorter": SimulatedStudy(shortfall=8),
}
EQUAL = {
    "the front": JudgeBias(position=30, length=0),
    "length": JudgeBias(position=0, length=50),
    "Markdown": JudgeBias(position=0, length=0, markdown=50),
    "its own family": JudgeBias(position=0, length=0, family=50),
    "all of these": JudgeBias(position=30, length=50, markdown=50, family=50),
}
"""Judges of two equal methods, by what they prefer."""
SIZES = (9, 30, 130)
DESIGN = JudgingDesign(repeats=2, trials=2)


def main() -> None:
    """Print the table and draw the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--part", choices=("cases", "equal"))
    options = parser.parse_args()
    if options.part != "equal":
        compare_protocols(options.studies, options.figure)
    if options.part != "cases":
        count_false_alarms(options.studies)


def count_false_alarms(studies: int) -> None:
    """Print how often the report declares one of two equal methods better, by judge and number of questions."""
    print(
        "| judge prefers | questions | A better | B better | undecided or equivalent | single order: A better |"
    )
    print("|---|---|---|---|---|---|")
    for name, bias in EQUAL.items():
        for n in SIZES:
            found = [simulate_study(SimulatedStudy(n=n), bias, seed, DESIGN) for seed in range(studies)]
            a, b = (sum(s.differs and sign * s.relative > 0 for s in found) for sign in (1, -1))
            single = np.mean([s.single_order_win_rate > 0.5 for s in found])
            cells = f"{a / studies:.1%} | {b / studies:.1%} | {1 - (a + b) / studies:.1%} | {single:.1%}"
            print(f"| {name} | {n} | {cells} |", flush=True)


def compare_protocols(studies: int, figure: Path | None) -> None:
    """Print what both protocols conclude for methods with a known difference, and draw the figure."""
    started = time.perf_counter()
    found = {
        name: [simulate_study(truth, JudgeBias(), seed, DESIGN) for seed in range(studies)]
        for name, truth in CASES.items()
    }
    print("| case | usual: mean win rate | usual: A declared better | ours: mean relative win rate |", end="")
    print(" ours: tie | ours: A better | ours: B better | of studies with 95% power |")
    print("|---|---|---|---|---|---|---|---|")
    for name, rows in found.items():
        expected = float(np.mean([s.relative for s in rows]))
        able = [s for s in rows if s.detectable <= expected]
        correct = sum(s.differs and s.relative > 0 for s in able)
        cells = [
            f"{np.mean([s.single_order_win_rate for s in rows]):.1%}",
            f"{np.mean([s.single_order_win_rate > 0.5 for s in rows]):.1%}",
            f"{100 * expected:+.1f} points",
            f"{np.mean([not s.differs for s in rows]):.1%}",
            f"{np.mean([s.differs and s.relative > 0 for s in rows]):.1%}",
            f"{np.mean([s.differs and s.relative < 0 for s in rows]):.1%}",
            f"{correct} of {len(able)} correct" if CASES[name].gap and able else "–",
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n{studies} studies each, {time.perf_counter() - started:.0f} s")
    if figure:
        draw(
            {name: [(s.single_order_win_rate, s.relative) for s in rows] for name, rows in found.items()},
            figure,
        )


def draw(found: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Draw relative win rates of A by both protocols, one box per case."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "judges"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.2), sharex=True, sharey=True, layout="constrained")
    for axis, column, title in zip(axes, (0, 1), ("single-order protocol", "unbiased protocol"), strict=True):
        values = [[2 * s[0] - 1 if column == 0 else s[1] for s in rows] for rows in found.values()]
        axis.boxplot(
            values,
            tick_labels=list(found),
            orientation="horizontal",
            whis=(2.5, 97.5),
            flierprops={"markersize": 3},
        )
        axis.axvline(0.0, color="gray", linewidth=0.8)
        axis.set_title(title)
        axis.set_xlabel("relative win rate of A")
        axis.tick_params(axis="y", labelsize=8)
    axes[0].invert_yaxis()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
