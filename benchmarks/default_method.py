"""Which method should answer by default without a model: ordinary documents, the messy folder, the sample collection.

    python benchmarks/default_method.py [--sets NAME,...] [--methods NAME,...] [--indexes DIR] [--show]
    python benchmarks/default_method.py --data DATA --sets hotpotqa,musique,... --n 30

`ordinary`: 30 questions (`ordinary_questions.jsonl`, written before any method was asked) over the messy folder of a
company (`messy_files`), the handbook of the tests and the documentation of this project. `messy`: the 60 questions of
`messy.py`. `sample`: the 40 of `sample_questions.py`. With `--data` also the public sets of `walk.py`, a seeded sample
of `n` questions each over the same pools; those without a gold answer are left out. Everything runs offline.

A question of the first two sets is right if `messy.py` rates its answer so; a refusal is right where the documents do
not answer. Recall@5: the share of a question's gold documents among the first five; each gold entry lists documents
any of which is enough. An answer to a public question is right if a gold answer is within its first 80 words, as in
`offline_sets.py`. Differences are paired with the first method, with 95% intervals over the questions of all sets.
"""

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import messy
import numpy as np
import offline_sets
import sample_questions
import walk
from messy_files import write_binary_files

from polygraph import Answer, Index
from polygraph.evaluate.statistics.intervals import paired_means

HERE = Path(__file__).parent
METHODS = "hybrid,walk"
RATINGS = ("right", "partly", "useless", "wrong", "wrongly refused", "rightly refused")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="ordinary,messy,sample")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument(
        "--indexes", type=Path, help="folder of the indexes; missing ones are built (default: temporary)"
    )
    parser.add_argument("--data", type=Path, help="folder of the public sets")
    parser.add_argument("--n", type=int, default=30, help="questions of each public set")
    parser.add_argument("--show", action="store_true", help="print the answers that are not right")
    options = parser.parse_args()
    methods = options.methods.split(",")
    right: list[list[float]] = []
    recall: list[list[float]] = []
    print("| set | method | " + " | ".join(RATINGS) + " | recall@5 |")
    print("|---|---|" + "---|" * (len(RATINGS) + 1))
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.sets.split(","):
            questions = questions_of(name, options.data, options.n)
            folder = (options.indexes or Path(temporary)) / f"{name}.index"
            is_missing = not folder.exists()
            with Index.open(folder, offline=True) as index:
                if is_missing:
                    add_documents(index, name, Path(temporary) / name, options.data)
                answers = {m: [index.ask(q["question"], m) for q in questions] for m in methods}
            rated = {
                m: [rate(name, q, a) for q, a in zip(questions, answers[m], strict=True)] for m in methods
            }
            found = {m: recalls(questions, answers[m]) for m in methods}
            for m in methods:
                counts = Counter(rated[m])
                row = [str(counts[r]) for r in RATINGS]
                print(f"| {name} | {m} | {' | '.join(row)} | {mean(found[m])} |", flush=True)
                if options.show:
                    show(questions, answers[m], rated[m])
            right += [
                [float(rated[m][i] in ("right", "rightly refused")) for m in methods]
                for i in range(len(questions))
            ]
            recall += [list(row) for row in zip(*found.values(), strict=True)]
    for label, rows in (("right or rightly refused", right), ("recall@5", recall)):
        values = np.array(rows)
        gaps = paired_means(values[:, 1:] - values[:, :1], np.random.default_rng(0))
        for m, gap in zip(methods[1:], gaps, strict=True):
            interval = gap.interval()
            print(
                f"\n{label}, {len(values)} questions, {m} less {methods[0]}: {interval.mean:+.3f} "
                f"[{interval.low:+.3f}, {interval.high:+.3f}]"
            )


def questions_of(name: str, data: Path | None, n: int) -> list[dict[str, Any]]:
    """Read the questions of a set; `evidence` becomes a list of alternatives for each gold document."""
    if data and name in walk.SETS:
        sampled = walk.sampled_questions(data / name, n)
        return [q | {"evidence": [[d] for d in q["evidence"]]} for q in sampled if q["answer"]]
    if name == "ordinary":
        lines = (HERE / "ordinary_questions.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
    if name == "messy":
        lines = (messy.HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
    text = (files("polygraph") / "sample" / "questions.jsonl").read_text(encoding="utf-8")
    return [q | {"evidence": [[d] for d in q["evidence"]]} for q in map(json.loads, text.splitlines())]


def add_documents(index: Index, name: str, folder: Path, data: Path | None) -> None:
    """Index the documents of a set."""
    if data and name in walk.SETS:
        folder.mkdir()
        pool = folder / "pool.jsonl"
        pool.write_text("".join(walk.lines_of(data / name)), encoding="utf-8")
        index.add(pool, methods=["walk"])
        return
    if name == "sample":
        with as_file(files("polygraph") / "sample") as sample:
            index.add(str(sample / "papers"), methods=["walk"])
        return
    company = folder / "company" if name == "ordinary" else folder
    shutil.copytree(messy.HERE / "files", company)
    write_binary_files(company)
    if name == "ordinary":
        shutil.copytree(HERE.parent / "tests" / "docs" / "handbook", folder / "handbook")
        shutil.copytree(
            HERE.parent / "docs", folder / "manual", ignore=shutil.ignore_patterns("images", "*.py")
        )
    index.add(str(folder), methods=["walk"])


def rate(name: str, question: dict[str, Any], answer: Answer) -> str:
    """Return one of `RATINGS`."""
    if name in walk.SETS:
        if answer.refused:
            return "wrongly refused"
        return "right" if offline_sets.is_hit(answer.text, question["answer"], 80) else "useless"
    if name != "sample":
        return messy.rate(question, answer)
    if answer.refused:
        return "rightly refused" if question["type"] == "unanswerable" else "wrongly refused"
    is_right = question["type"] != "unanswerable" and sample_questions.is_right(question, answer)
    return "right" if is_right else "useless"


def recalls(questions: Sequence[dict[str, Any]], answers: Sequence[Answer]) -> list[float]:
    """Return recall@5 of the questions that have gold documents."""
    values = []
    for q, answer in zip(questions, answers, strict=True):
        if q.get("evidence"):
            ranked = list(dict.fromkeys(chunk.rpartition(":")[0] for chunk in answer.retrieval.ranking))[:5]
            values.append(
                float(
                    np.mean(
                        [any(is_part(d, gold) for d in ranked for gold in some) for some in q["evidence"]]
                    )
                )
            )
    return values


def is_part(document: str, gold: str) -> bool:
    """Tell whether a document is a gold file or an entry of it."""
    return document == gold or document.startswith((f"{gold}:", f"{gold}#"))


def mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ({len(values)})" if values else ""


def show(questions: Sequence[dict[str, Any]], answers: Sequence[Answer], rated: Sequence[str]) -> None:
    for q, a, rating in zip(questions, answers, rated, strict=True):
        if rating not in ("right", "rightly refused") and q.get("part") != "blind":
            documents = list(dict.fromkeys(c.rpartition(":")[0] for c in a.retrieval.ranking))[:5]
            print(
                f"{q['id']} [{rating}] {q['question']}\n    {' '.join(a.text.split())[:300]}\n    {documents}"
            )


if __name__ == "__main__":
    main()
