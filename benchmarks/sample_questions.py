"""The 40 gold questions about the sample collection: right answers, supporting citations and refusals by method.

    python benchmarks/sample_questions.py [--index DIR] [--methods NAME,...] [--show]

Right: the answer contains the gold answer or an alias (for questions about the whole collection: at least a third of
the content words of at least half of the gold points). Supported: a cited document is gold evidence. All evidence
found: every gold document is in the packed context. Refused: of the six questions that the papers do not answer.
Wrongly refused: of the other 34.
"""

import argparse
import json
import re
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from polygraph.records import Answer
from polygraph.text.words import content_stems
from polygraph.workspace.index import Index

COLUMNS = (
    "right of 34",
    "supported of 34",
    "all evidence found of 34",
    "refused of 6",
    "wrongly refused of 34",
    "median s",
)
METHODS = "naive,bm25,hybrid,hybrid:reranked,graphrag-local,graphrag-global"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, help="folder of the index, built if missing (default: a temporary folder)"
    )
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--show", action="store_true", help="print every answer that is not right")
    options = parser.parse_args()
    with as_file(files("polygraph") / "sample") as sample, tempfile.TemporaryDirectory() as temporary:
        questions = [json.loads(line) for line in (sample / "questions.jsonl").open(encoding="utf-8")]
        with Index.open(options.index or Path(temporary) / "sample.index", offline=True) as index:
            index.add(str(sample / "papers"))
            print(f"| method | {' | '.join(COLUMNS)} |")
            print(f"|---|{'---|' * len(COLUMNS)}")
            for method in options.methods.split(","):
                rows = [(q, index.ask(q["question"], method)) for q in questions]
                print(f"| {method} | {' | '.join(str(value) for value in figures(rows))} |", flush=True)
                if options.show:
                    show(rows)


def figures(rows: list[tuple[dict[str, Any], Answer]]) -> tuple[int, int, int, int, int, float]:
    open_rows = [(q, a) for q, a in rows if q["type"] != "unanswerable"]
    closed = [a for q, a in rows if q["type"] == "unanswerable"]
    seconds = sorted(a.usage.seconds for _, a in rows)
    return (
        sum(is_right(q, a) for q, a in open_rows),
        sum(bool({c.document for c in a.citations} & set(q["evidence"])) for q, a in open_rows),
        sum(found_all(q, a) for q, a in open_rows),
        sum(a.refused for a in closed),
        sum(a.refused for _, a in open_rows),
        round(seconds[len(seconds) // 2], 2),
    )


def is_right(question: dict[str, Any], answer: Answer) -> bool:
    if answer.refused:
        return False
    if question["type"] == "corpus_wide":
        in_answer = set(content_stems(answer.text))
        held = [
            len(in_answer & set(content_stems(p))) / max(1, len(set(content_stems(p)))) >= 1 / 3
            for p in question["points"]
        ]
        return 2 * sum(held) >= len(held)
    text = plain(answer.text)
    return any(plain(form) in text for form in [question["answer"], *question["aliases"]])


def found_all(question: dict[str, Any], answer: Answer) -> bool:
    documents = {span.document for e in answer.retrieval.evidence for span in e.spans}
    return set(question["evidence"]) <= documents


def plain(text: str) -> str:
    return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])


def show(rows: list[tuple[dict[str, Any], Answer]]) -> None:
    for q, a in rows:
        good = a.refused if q["type"] == "unanswerable" else is_right(q, a)
        if not good:
            print(
                f"\n{q['id']} ({q['type']}) {q['question']}\n  gold: {q['answer']}\n  got:  {a.text}\n"
                f"  found all: {found_all(q, a)}  cited: {sorted({c.document for c in a.citations})}\n"
                f"  gold documents: {q['evidence']}"
            )


if __name__ == "__main__":
    main()
