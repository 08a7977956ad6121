"""A small local model with and without what rules found: right, wrong and refused answers, and seconds a question.

    python benchmarks/confirm.py --out FILE [--model gguf:NAME] [--limits offline,60,0] [--sets sample,messy] [--show]

Every second of the 40 gold questions about the sample collection (17 answerable, 3 not) and of the 60 about the messy
folder is asked with each time limit (`confirm_time_limit_s`; 0: the model answers by itself), and with `offline`: what
rules found, alone. Each limit has a new index, so that no reply is reused. Answers are rated as by
`sample_questions.py` and `messy.py`: right, refused (rightly, if the documents do not answer), or else wrong. Results
go to FILE, one line per question, so that a run can be resumed.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from messy import HERE, rate
from messy_files import write_binary_files
from sample_questions import is_right

from polygraph import Answer, Index

UNANSWERABLE = ("unanswerable", "false premise")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="gguf:qwen2.5-coder-1.5b")
    parser.add_argument(
        "--limits", default="offline,60,0", help="seconds; 0: the model alone; `offline`: rules alone"
    )
    parser.add_argument("--sets", default="sample,messy")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    rows = [json.loads(line) for line in lines]
    for name in options.sets.split(","):
        for limit in options.limits.split(","):
            done = {
                r["id"] for r in rows if (r["set"], r["model"], r["limit"]) == (name, options.model, limit)
            }
            for row in ask_all(name, limit, options.model, done):
                rows.append(row)
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    report(rows, show=options.show)


def ask_all(name: str, limit: str, model: str, done: set[str]) -> Iterator[dict[str, Any]]:
    """Ask the questions of a set that are not done."""
    with as_file(files("polygraph") / "sample") as sample, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "documents"
        if name == "sample":
            source = sample / "questions.jsonl"
            shutil.copytree(sample / "papers", folder)
        else:
            source = HERE / "questions.jsonl"
            shutil.copytree(HERE / "files", folder)
            write_binary_files(folder)
        questions = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()][::2]
        questions = [q for q in questions if q["id"] not in done]
        if not questions:
            return
        with Index.open(Path(temporary) / "index", offline=True) as index:
            index.add(str(folder))
        settings: dict[str, Any] = {"offline": True}
        if limit != "offline":
            settings = {"chat_model": model, "confirm_time_limit_s": float(limit)}
        with Index.open(Path(temporary) / "index", **settings) as index:
            index.retrieve(questions[0]["question"])  # opens the embedder
            for q in questions:
                started, cpu = time.perf_counter(), time.process_time()
                answer = index.ask(q["question"])
                yield {
                    "set": name,
                    "model": model,
                    "limit": limit,
                    "id": q["id"],
                    "kind": q.get("type") or q["kind"],
                    "rating": rating(name, q, answer),
                    "seconds": round(time.perf_counter() - started, 1),
                    "cpu": round(time.process_time() - cpu, 1),
                    "prompt tokens": answer.usage.prompt_tokens,
                    "notes": answer.notes,
                    "text": answer.text,
                }


def rating(name: str, question: dict[str, Any], answer: Answer) -> str:
    """Return `right`, `rightly refused`, `wrongly refused` or `wrong`."""
    if answer.refused:
        answerable = (question.get("type") or question["kind"]) not in UNANSWERABLE
        return "wrongly refused" if answerable else "rightly refused"
    if name == "messy":
        return "right" if rate(question, answer) == "right" else "wrong"
    answerable = question["type"] not in UNANSWERABLE
    return "right" if answerable and is_right(question, answer) else "wrong"


def report(rows: list[dict[str, Any]], *, show: bool) -> None:
    """Tabulate the ratings by set, model and limit, with the mean and the largest time of a question."""
    ratings = ("right", "rightly refused", "wrong", "wrongly refused")
    print(
        f"| set | model | limit | n | {' | '.join(ratings)} | words | cut off | mean s | largest s | CPU s |"
    )
    print(f"|---|---|---|{'---|' * (len(ratings) + 6)}")
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["set"], row["model"], row["limit"]), []).append(row)
    for key, some in groups.items():
        cells = [*key, len(some), *(sum(r["rating"] == each for r in some) for each in ratings)]
        cells.append(round(sum(len(r["text"].split()) for r in some) / len(some)))
        cells.append(sum("time limit" in " ".join(r["notes"]) for r in some))
        seconds = [r["seconds"] for r in some]
        cells += [round(sum(seconds) / len(some), 1), max(seconds)]
        cells.append(round(sum(r["cpu"] for r in some) / len(some), 1))
        print(f"| {' | '.join(map(str, cells))} |")
    if show:
        for row in sorted(rows, key=lambda r: (r["set"], r["id"])):
            print(
                f"\n{row['id']} {row['model']} {row['limit']} s: {row['rating']} ({row['seconds']} s)\n{row['text']}"
            )


if __name__ == "__main__":
    main()
