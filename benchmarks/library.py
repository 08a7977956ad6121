"""Fifty questions about frequently asked questions, glossaries, headed paragraphs and corrections, without a model.

    python benchmarks/library.py [--index DIR] [--show]

The folder has twelve documents of a library with a workshop (`benchmarks/library/files`): three lists of frequently
asked questions in different forms and an interview, three glossaries in different forms, guides with bold words at the
beginning of paragraphs, rules, minutes and a newsletter with corrections. It is indexed offline with the default
settings and asked with the default method. Documents, questions and gold were written by an author who had not read the
code. A third of the questions about lists are in the documents' words, a third in others, a third about a detail.

- answered: one of the gold wordings stands in the first 80 words of the answer, as in `messy.py`.
- answered otherwise: any other answer.
- refused although answerable, refused rightly: eight questions have no answer.
"""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from messy import plain, stands_in

from polygraph import Answer, Index

HERE = Path(__file__).parent / "library"
RATINGS = ("answered", "answered otherwise", "refused although answerable", "refused rightly")
MAX_WORDS = 80


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, help="folder of the index, built if missing (default: temporary)"
    )
    parser.add_argument("--show", action="store_true", help="print the questions with their answers")
    options = parser.parse_args()
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    counts: dict[str, Counter[str]] = {}
    with (
        tempfile.TemporaryDirectory() as temporary,
        Index.open(options.index or Path(temporary) / "library.index", offline=True) as index,
    ):
        index.add(str(HERE / "files"))
        for question in questions:
            answer = index.ask(question["q"])
            rating = rate(question, answer)
            counts.setdefault(question["kind"], Counter())[rating] += 1
            if options.show:
                print(
                    f"{question['q']} [{question['kind']}: {rating}]\n    {' '.join(answer.text.split())[:500]}"
                )
    print(f"| kind | n | {' | '.join(RATINGS)} |\n|---|{'---|' * (len(RATINGS) + 1)}")
    for name, of_kind in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"| {name} | {of_kind.total()} | {' | '.join(str(of_kind[r]) for r in RATINGS)} |")


def rate(question: dict[str, Any], answer: Answer) -> str:
    """Return the rating of an answer by the rules above."""
    if answer.refused:
        return "refused although answerable" if question["gold"] else "refused rightly"
    beginning = " ".join(plain(answer.text).split()[:MAX_WORDS])
    is_right = any(stands_in(wording, beginning) for wording in question["gold"])
    return "answered" if is_right else "answered otherwise"


if __name__ == "__main__":
    main()
