"""Test the evaluation with simulated judges of known bias, 200 studies per case.

    python benchmarks/judges.py [--studies 200] [--figure docs/images/judges.svg]

The judge prefers the answer shown first by 30 points, an answer that is 25 words longer by 50 points, and is noisy. The
single-order protocol (A first, one judgement per question, no ties) is interpreted as in papers: a win rate above one
half is better. The unbiased protocol is interpreted as in `polygraph eval report`. About 9 minutes.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from polygraph.evaluate.judging.pairwise import JudgingDesign
from polygraph.evaluate.judging.simulated_judges import JudgeBias, SimulatedStudy, simulate_study

CASES = {
    "a method against itself": SimulatedStudy(),
    "itself, 25 words longer": SimulatedStudy(longer=25),
    "10 points better, 150 questions": SimulatedStudy(gap=10),
    "10 points better, 500 questions": SimulatedStudy(gap=10, n=500),
    "itself, aligned but always 2 words shorter": SimulatedStudy(shortfall=2),
    "itself, aligned but always 8 words shorter": SimulatedStudy(shortfall=8),
}
DESIGN = JudgingDesign(repeats=2, trials=2)


def main() -> None:
    """Print the table and draw the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    found = {
        name: [simulate_study(truth, JudgeBias(), seed, DESIGN) for seed in range(options.studies)]
        for name, truth in CASES.items()
    }
    print("| case | usual: mean win rate | usual: A declared better | ours: mean relative win rate |", end="")
    print(" ours: tie | ours: A better | ours: B better | of studies with 95% power |")
    print("|---|---|---|---|---|---|---|---|")
    for name, studies in found.items():
        expected = float(np.mean([s.relative for s in studies]))
        able = [s for s in studies if s.detectable <= expected]
        correct = sum(s.differs and s.relative > 0 for s in able)
        cells = [
            f"{np.mean([s.single_order_win_rate for s in studies]):.1%}",
            f"{np.mean([s.single_order_win_rate > 0.5 for s in studies]):.1%}",
            f"{100 * expected:+.1f} points",
            f"{np.mean([not s.differs for s in studies]):.1%}",
            f"{np.mean([s.differs and s.relative > 0 for s in studies]):.1%}",
            f"{np.mean([s.differs and s.relative < 0 for s in studies]):.1%}",
            f"{correct} of {len(able)} correct" if CASES[name].gap and able else "–",
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n{options.studies} studies each, {time.perf_counter() - started:.0f} s")
    if options.figure:
        draw(
            {
                name: [(s.single_order_win_rate, s.relative) for s in studies]
                for name, studies in found.items()
            },
            options.figure,
        )


def draw(found: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Draw relative win rates of A by both protocols, one box per case."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "judges"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.2), sharex=True, sharey=True, layout="constrained")
    for axis, column, title in zip(axes, (0, 1), ("single-order protocol", "unbiased protocol"), strict=True):
        values = [[2 * s[0] - 1 if column == 0 else s[1] for s in studies] for studies in found.values()]
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
