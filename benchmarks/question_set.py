"""What benchmarks share that ask a set of written questions about a folder of documents, without a model."""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polygraph import Answer, Index


def ask_all(folder: Path, description: str) -> tuple[list[tuple[dict[str, Any], Answer]], bool]:
    """Read the options of the command, index the documents, and ask the questions.

    Args:
        folder: with the documents in `files`, and `questions.jsonl`, whose objects have the question as `q`.
        description: of the command.

    Returns:
        The questions with their answers, in order; and whether these are to be printed.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, help="folder of the index, built if missing (default: temporary)"
    )
    parser.add_argument("--show", action="store_true", help="print the questions with their answers")
    options = parser.parse_args()
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with (
        tempfile.TemporaryDirectory() as temporary,
        Index.open(options.index or Path(temporary) / "questions.index", offline=True) as index,
    ):
        index.add(str(folder / "files"))
        asked = [(question, index.ask(question["q"])) for question in map(json.loads, lines)]
    return asked, options.show


def print_ratings(
    rated: Sequence[tuple[dict[str, Any], Answer, str]], ratings: Sequence[str], kind: str, *, show: bool
) -> None:
    """Print the number of questions with each rating, for each kind of question and for all.

    Args:
        rated: questions, with their answers and ratings.
        ratings: all there are, in the order of the columns.
        kind: key of the kind of a question, which heads the first column.
        show: whether to print the questions, with the beginning of their answers, before.
    """
    counts: dict[str, Counter[str]] = {}
    for question, answer, rating in rated:
        counts.setdefault(question[kind], Counter())[rating] += 1
        if show:
            print(f"{question['q']} [{question[kind]}: {rating}]\n    {' '.join(answer.text.split())[:500]}")
    counts["all"] = Counter(rating for *_, rating in rated)
    print(f"| {kind} | n | {' | '.join(ratings)} |\n|---|{'---|' * (len(ratings) + 1)}")
    for name, of_kind in counts.items():
        print(f"| {name} | {of_kind.total()} | {' | '.join(str(of_kind[r]) for r in ratings)} |")
