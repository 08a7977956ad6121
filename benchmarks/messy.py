"""Sixty questions about the folder of a small company: mail, spreadsheets, PDF tables, slides, four languages.

    python benchmarks/messy.py [--part open|blind|all] [--method NAME] [--index DIR] [--show]

The folder has 47 files in 13 formats (`benchmarks/messy/files`, and the binary files that `messy_files` writes). It is
indexed offline and asked through the public API. The answers are rated by rule against gold that was written before the
code for tables and comparisons. Cases marked `blind` are not looked at while the code is changed, so that `--show`
prints open ones only.

Ratings. A fact is stated if one of its wordings stands in the answer as whole words; numbers with and without
separators of thousands are equal.

- right: the answer states as many facts as needed, has at most 80 words, and states nothing listed under `not`. If a
  verdict is asked for, the answer begins with it. Of two things that are compared (`first`), the answer names the right
  one first.
- partly: it states some facts, or all of them beyond those limits, or without the verdict.
- wrong: it begins with the opposite verdict.
- useless: anything else that is no refusal.
- wrongly refused, rightly refused: a refusal, by whether the documents answer. A question with a false premise may be
  refused, or answered with the sentence that corrects it.
"""

import argparse
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from messy_files import write_binary_files

from polygraph import Answer, Index

HERE = Path(__file__).parent / "messy"
RATINGS = ("right", "partly", "useless", "wrong", "wrongly refused", "rightly refused")
MAX_WORDS = 80
_THOUSANDS = re.compile(r"(?<=\d)[,\u202f\u00a0](?=\d{3}(?!\d))")
_VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("open", "blind", "all"), default="all")
    parser.add_argument("--method", help="default: that of the project")
    parser.add_argument(
        "--index", type=Path, help="folder of the index, built if missing (default: temporary)"
    )
    parser.add_argument("--show", action="store_true", help="print the open questions with their answers")
    options = parser.parse_args()
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [q for q in map(json.loads, lines) if options.part in ("all", q["part"])]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "company"
        shutil.copytree(HERE / "files", folder)
        write_binary_files(folder)
        with Index.open(options.index or Path(temporary) / "messy.index", offline=True) as index:
            index.add(str(folder))
            answers, seconds = ask_all(index, questions, options.method)
    if options.show:
        for q, a in zip(questions, answers, strict=True):
            if q["part"] == "open":
                print(f"{q['id']} [{rate(q, a)}] {q['question']}\n    {' '.join(a.text.split())[:500]}")
    report(questions, answers, seconds)


def ask_all(
    index: Index, questions: Sequence[dict[str, Any]], method: str | None
) -> tuple[list[Answer], list[float]]:
    """Ask each question, with the CPU time that it takes; the first one is asked twice, since it opens the models."""
    answers, seconds = [], []
    for n, q in enumerate([questions[0], *questions]):
        started = time.process_time()
        answer = index.ask(q["question"], method) if method else index.ask(q["question"])
        if n:
            answers.append(answer)
            seconds.append(time.process_time() - started)
    return answers, seconds


def rate(question: dict[str, Any], answer: Answer) -> str:
    """Return the rating of an answer by the rules above."""
    answerable = question["kind"] not in ("unanswerable", "false premise")
    if answer.refused:
        return "wrongly refused" if answerable else "rightly refused"
    text = plain(answer.text)
    stated = sum(any(stands_in(w, text) for w in wordings) for wordings in question["facts"])
    if not question["facts"]:
        return "useless"
    complete = stated >= question["need"]
    within = len(text.split()) <= MAX_WORDS and not any(stands_in(w, text) for w in question.get("not", ()))
    if "first" in question:
        places = [text.find(plain(name)) for name in question["first"]]
        within = within and (places[1] < 0 or 0 <= places[0] < places[1])
    if wanted := question.get("verdict"):
        verdict = _VERDICT.match(text)
        if verdict and verdict[1].lower() != wanted:
            return "wrong"
        within = within and verdict is not None
    if complete and within:
        return "right"
    return "partly" if stated else "useless"


def report(questions: Sequence[dict[str, Any]], answers: Sequence[Answer], seconds: Sequence[float]) -> None:
    """Print the ratings by part and, for open questions, by kind."""
    rated = [(q, rate(q, a)) for q, a in zip(questions, answers, strict=True)]
    print(f"| questions | n | {' | '.join(RATINGS)} |\n|---|{'---|' * (len(RATINGS) + 1)}")
    parts = [part for part in ("open", "blind") if any(q["part"] == part for q in questions)]
    kinds = sorted({q["kind"] for q in questions if q["part"] == "open"})
    rows = [(part, [r for q, r in rated if q["part"] == part]) for part in parts]
    if len(parts) == 2:
        rows.append(("all", [r for _, r in rated]))
    if "open" in parts:
        rows += [
            (f"open: {kind}", [r for q, r in rated if (q["part"], q["kind"]) == ("open", kind)])
            for kind in kinds
        ]
    for name, ratings in rows:
        counts = Counter(ratings)
        print(f"| {name} | {len(ratings)} | {' | '.join(str(counts[r]) for r in RATINGS)} |")
    print(f"\nCPU a question: mean {sum(seconds) / len(seconds):.2f} s, largest {max(seconds):.2f} s")


def plain(text: str) -> str:
    """Return a text without citations, separators of thousands and capitals."""
    return _THOUSANDS.sub("", " ".join(re.sub(r"\[\d+\]", " ", text).split())).casefold()


def stands_in(wording: str, text: str) -> bool:
    """Return whether a wording stands, as whole words, in a text that `plain` returned."""
    return re.search(rf"(?<![\w.]){re.escape(plain(wording))}(?!\w|[.,]\d)", text) is not None


if __name__ == "__main__":
    main()
