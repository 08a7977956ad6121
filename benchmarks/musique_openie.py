"""How much of the evidence every method finds over a graph that a language model made.

    python benchmarks/musique_openie.py DATA [--index DIR] [--methods NAME,...] [--results FILE.jsonl]

`DATA/musique-openie`: 1,886 paragraphs of MuSiQue with the triples that GPT-3.5-turbo read from them, and 44 questions
of its training set with their supporting paragraphs. The triples are imported, everything else is offline: questions
are read without a model, bge-small embeds passages. Prints one row for each method: recall of the paragraphs among the
first five and all of them among the first ten, with 95% intervals over questions, and the paired differences from
`naive`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polygraph.evaluate.reports.retrieval_report import RetrievalReport
from polygraph.evaluate.statistics.intervals import Interval
from polygraph.retrieve import METHODS
from polygraph.workspace.index import Index

METRICS = ("recall@5", "all@10")
BASELINE = "naive"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument(
        "--index", type=Path, help="where the index lies or is made (default: a temporary folder)"
    )
    parser.add_argument("--methods", default=",".join(METHODS), help="default: every method and preset")
    parser.add_argument("--results", type=Path, help="keeps single results, from which a later run goes on")
    options = parser.parse_args()
    source = options.data / "musique-openie"
    methods = list(dict.fromkeys([BASELINE, *options.methods.split(",")]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.index or Path(temporary) / "musique.index"
        is_new = not folder.exists()
        with Index.open(folder, offline=True) as index:
            if is_new:
                index.import_(source)
            results = options.results or Path(temporary) / "results.jsonl"
            reports = [
                index.evaluate_retrieval(source / "questions.jsonl", methods, metric=metric, output=results)
                for metric in METRICS
            ]
    print("\n".join(table(reports)))


def table(reports: Sequence[RetrievalReport]) -> list[str]:
    """One row for each method, by recall, then name."""
    gaps = [differences(report) for report in reports]
    first = reports[0]
    rows = [
        "| method | recall@5 | all@10 | mrr | recall@5 minus naive | all@10 minus naive | ms per question |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in sorted(first.methods, key=lambda m: (-m.scores.metrics[METRICS[0]].mean, m.name)):
        scores = each.scores.metrics
        cells = [
            *(f"{scores[m].mean:.3f} [{scores[m].low:.2f}, {scores[m].high:.2f}]" for m in METRICS),
            f"{scores['mrr'].mean:.3f}",
            *(signed(gap.get(each.name)) for gap in gaps),
            f"{each.ms_median:.0f}",
        ]
        rows.append(f"| `{each.name}` | {' | '.join(cells)} |")
    return rows


def differences(report: RetrievalReport) -> dict[str, Interval]:
    """Mean paired difference from the baseline by method, with its interval."""
    found = {}
    for pair in report.comparisons:
        gap = pair.difference
        if pair.worse == BASELINE:
            found[pair.better] = gap
        elif pair.better == BASELINE:
            found[pair.worse] = Interval(-gap.mean, -gap.high, -gap.low)
    return found


def signed(gap: Interval | None) -> str:
    # Added to minus zero, zero takes its sign away.
    return f"{gap.mean + 0.0:+.3f} [{gap.low + 0.0:+.2f}, {gap.high + 0.0:+.2f}]" if gap else ""


if __name__ == "__main__":
    main()
