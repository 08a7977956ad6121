"""Train SmolLM2-135M on rows of the sample collection and of Natural Questions, and compare readers.

    python benchmarks/finetune.py FOLDER [--nq DIR] [--only RUN,...]

Needs the extras `finetune`, `gguf`, `local` and `eval`. Each run makes rows, trains, and compares on held-out
questions, by the public commands; it continues where it was stopped. 76 steps take about 40 minutes on one core. `--nq`
is a folder with `corpus.jsonl` and `questions.jsonl` as `polygraph eval convert` writes them; without it only the
sample collection is used.

The last table has the alternatives to training on the same questions: the plain reader with the prompt of `ask`, and
the answer without a model.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from polygraph.evaluate.metrics.answer_match import accuracy
from polygraph.evaluate.questions.file import Question, read_questions
from polygraph.workspace.index import Index

MODEL = "gguf:smollm2-135m"
CHUNK_TOKENS = {"sample": 96, "nq": 128}
"""Small passages, since time grows with the tokens of a row."""
N_QUESTIONS = 380
"""Of Natural Questions, chosen by seed."""
LONG = ("--steps", "76", "--evaluate-every", "19")
SHORT = ("--steps", "30", "--evaluate-every", "10")


@dataclass(frozen=True)
class Run:
    """Rows, a training and a comparison."""

    name: str
    collection: str
    data: tuple[str, ...]
    train: tuple[str, ...]
    compare: tuple[str, ...] = ()


TWO = ("--distractors", "1-2")
ONE_METHOD = ("-m", "naive:graft")
RUNS = (
    Run("sample-raft", "sample", ("--distractors", "2", "--copies", "2"), LONG),
    Run("sample-graft", "sample", ("--preset", "graft", "--max-tokens", "520", "--copies", "2"), LONG),
    Run("nq-raft", "nq", ("--distractors", "2"), LONG, ("--limit", "50")),
    Run("nq-graft", "nq", ("--preset", "graft", "--max-tokens", "520"), LONG, ("--limit", "50")),
    Run("fewer-rows", "sample", TWO, SHORT, ONE_METHOD),
    Run("no-refusals", "sample", (*TWO, "--oracle-share", "1"), SHORT, ONE_METHOD),
    Run("answer-only", "sample", TWO, (*SHORT, "--learned", "answer"), ONE_METHOD),
    Run("curriculum", "sample", TWO, (*SHORT, "--order", "length"), ONE_METHOD),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and compare readers.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nq", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = options.only.split(",") if options.only else [run.name for run in RUNS]
    for run in RUNS:
        if run.name in chosen and (run.collection == "sample" or options.nq):
            carry_out(run, options.folder, options.nq)
    alternatives(options.folder)


def carry_out(run: Run, folder: Path, nq: Path | None) -> None:
    index, rows = folder / f"{run.collection}.index", folder / f"rows-{run.name}"
    reader = folder / f"reader-{run.name}"
    asked: tuple[str, ...] = ()
    if run.collection == "nq" and nq is not None:
        few = folder / "nq-questions.jsonl"
        lines = (nq / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        random.Random(0).shuffle(lines)
        few.write_text("".join(lines[:N_QUESTIONS]), encoding="utf-8")
        asked = ("--questions", str(few))
    if not index.exists():
        source = nq / "corpus.jsonl" if nq is not None and run.collection == "nq" else sample()
        polygraph("index", source, "--index", index, "--offline", chunk_tokens=CHUNK_TOKENS[run.collection])
    if not rows.exists():
        polygraph("finetune", "data", "--index", index, "--output", rows, *asked, *run.data)
    if not reader.exists():
        polygraph("finetune", "train", rows, "--output", reader, "--patience", "0", *run.train)
    study = folder / f"comparison-{run.name}"
    polygraph(
        "finetune", "compare", rows, "--index", index, "--adapter", reader, "--output", study, *run.compare
    )
    print((study / "compare.md").read_text(encoding="utf-8"))


def polygraph(*arguments: object, chunk_tokens: int = 0) -> None:
    environment = {**os.environ, "POLYGRAPH_CHAT_MODEL": MODEL}
    if chunk_tokens:
        environment["POLYGRAPH_CHUNK_TOKENS"] = str(chunk_tokens)
    command = [sys.executable, "-m", "polygraph", *map(str, arguments)]
    print("$", *command[2:], flush=True)
    subprocess.run(command, env=environment, check=True)


def sample() -> Path:
    return Path(str(files("polygraph.sample") / "papers"))


def alternatives(folder: Path) -> None:
    """Print right answers of readers that need no training, behind the same retrieval."""
    print("| questions of | plain reader, prompt of `ask` | without a model |\n| --- | --- | --- |")
    for run in RUNS:
        held_out = folder / f"rows-{run.name}" / "questions.jsonl"
        if not run.name.endswith("-raft") or not held_out.exists():
            continue
        study = json.loads((folder / f"comparison-{run.name}" / "compare.json").read_text(encoding="utf-8"))
        listed = read_questions(folder / f"comparison-{run.name}" / "questions.jsonl")[: study["questions"]]
        index = folder / f"{run.collection}.index"
        with Index.open(index, chat_model=MODEL) as plain:
            first = n_right(plain, listed)
        with Index.open(index, offline=True) as bare:
            second = n_right(bare, listed)
        print(f"| {run.name} | {first} of {len(listed)} | {second} of {len(listed)} |", flush=True)


def n_right(index: Index, questions: list[Question]) -> int:
    found = [(q, index.ask(q.question, "naive:graft", form="short")) for q in questions]
    return sum(bool(accuracy(answer.text, q.answers)) for q, answer in found if not answer.refused)


if __name__ == "__main__":
    main()
