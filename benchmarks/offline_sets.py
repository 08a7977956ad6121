"""Extractive answers to dev questions of five public sets: hits at equal words shown, refusals, CPU time.

    python benchmarks/offline_sets.py DATA [--sets NAME,...] [--n 150] [--out FILE]
    python benchmarks/offline_sets.py --compare BEFORE AFTER

The first n questions by seed 0 of hotpotqa, nq, 2wiki, musique and popqa are each answered twice from ten passages:

- with evidence: the ten best by BM25, of which the last ones make room for gold passages that BM25 missed;
- without: the ten best by BM25 that are not gold. The answer should be refused.

A hit is a gold answer, as whole words, within the first 40 or 80 words of the answer; "yes" and "no" are hits only as
the verdict at its beginning. A refusal is no hit. Results go to FILE, one line per question, so that a run can be
resumed; `--compare` prints the paired differences between two such files, with 95% intervals over questions.
Run an older state of the code by setting PYTHONPATH to its `src`.
"""

import argparse
import gzip
import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from refusal import passages_of

from polygraph.config import load_settings
from polygraph.evaluate.statistics.intervals import paired_means, share_intervals
from polygraph.models.open import open_models
from polygraph.store.lexical import LexicalIndex
from polygraph.tasks.offline.answer import answer_with_sentences

SETS = ("hotpotqa", "nq", "2wiki", "musique", "popqa")
PASSAGES = 10
WORDS = (40, 80)
COLUMNS = ("hit@40", "hit@80", "refused with", "refused without", "words", "cpu ms")
_WORD = re.compile(r"\w+")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--n", type=int, default=150, help="questions of each set")
    parser.add_argument("--out", type=Path, help="file of the results; questions that it holds are not asked")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args()
    if options.compare:
        print("\n".join(compare(*map(read, options.compare))))
        return
    rows = read(options.out) if options.out and options.out.exists() else {}
    models = open_models(load_settings({"offline": True}), None)
    for name in options.sets.split(","):
        for row in ask_set(options.data / name, options.n, models, set(rows)):
            rows[row["set"], row["id"]] = row
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print("\n".join(table(rows)))


def read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["set"], row["id"]): row for row in rows}


def ask_set(source: Path, n: int, models: Any, done: set[tuple[str, str]]) -> Any:
    """Yield one row of results for each question of a set that is not done."""
    with gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        corpus = {d["id"]: d for d in map(json.loads, file)}
    ids = list(corpus)
    lines = (source / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [q for q in map(json.loads, lines) if q["evidence"] and q["answer"]]
    taken = np.random.default_rng(0).permutation(len(questions))[:n].tolist()
    with tempfile.TemporaryDirectory() as folder:
        texts = [(i, d["title"], d["text"]) for i, d in enumerate(corpus.values())]
        LexicalIndex.save(Path(folder) / "lexical", texts)
        index = LexicalIndex.open(Path(folder) / "lexical")
        for q in (questions[i] for i in taken):
            if (source.name, q["id"]) in done:
                continue
            gold = list(dict.fromkeys(q["evidence"]))
            found = [ids[hit.n] for hit in index.search(q["question"], PASSAGES + len(gold))]
            missing = [g for g in gold if g not in found[:PASSAGES] and g in corpus]
            room = [i for i in found[:PASSAGES] if i not in gold][: PASSAGES - len(gold)]
            kept = [i for i in found[:PASSAGES] if i in room or i in gold] + missing
            others = [i for i in found if i not in gold][:PASSAGES]
            started = time.process_time()
            answered = ask(q["question"], [corpus[i] for i in kept], models)
            cpu = time.process_time() - started
            without = ask(q["question"], [corpus[i] for i in others], models)
            text = " ".join(answered)
            yield {
                "set": source.name,
                "id": q["id"],
                "hit@40": is_hit(text, q["answer"], WORDS[0]),
                "hit@80": is_hit(text, q["answer"], WORDS[1]),
                "refused with": not answered,
                "refused without": not without,
                "words": len(_WORD.findall(text)),
                "cpu ms": round(1_000 * cpu, 1),
            }


def ask(question: str, documents: Sequence[Mapping[str, str]], models: Any) -> list[str]:
    """Return the verdict, if any, and the sentences of an answer; nothing for a refusal."""
    found = answer_with_sentences(question, passages_of(documents), models)
    return [part for part in (found.verdict, *(s.text for s in found.sentences)) if part]


def is_hit(text: str, answers: str | Sequence[str], most: int) -> bool:
    """Return whether a gold answer stands in the first words of a text."""
    shown = [w.casefold() for w in _WORD.findall(text)[:most]]
    held = f" {' '.join(shown)} "
    for answer in [answers] if isinstance(answers, str) else answers:
        wanted = " ".join(
            w.casefold() for w in _WORD.findall(answer) if w.casefold() not in ("a", "an", "the")
        )
        if wanted in ("yes", "no"):
            if shown[:1] == [wanted]:
                return True
        elif wanted and f" {wanted} " in held:
            return True
    return False


def table(rows: Mapping[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Tabulate each set and all of them: shares with 95% intervals, and means of words and CPU time."""
    lines = [f"| set | questions | {' | '.join(COLUMNS)} |", f"|---|---|{'---|' * len(COLUMNS)}"]
    for name, some in grouped(rows.values()).items():
        shares = np.array([[float(row[c]) for c in COLUMNS[:4]] for row in some])
        cells = [f"{s.mean:.3f} [{s.low:.2f}, {s.high:.2f}]" for s in share_intervals(shares)]
        cells += [f"{np.mean([row[c] for row in some]):.0f}" for c in COLUMNS[4:]]
        lines.append(f"| {name} | {len(some)} | {' | '.join(cells)} |")
    return lines


def compare(
    before: Mapping[tuple[str, str], dict[str, Any]], after: Mapping[tuple[str, str], dict[str, Any]]
) -> list[str]:
    """Tabulate the paired differences over the questions that both files hold; words and CPU time without interval."""
    both = [
        {"set": key[0]} | {c: float(after[key][c]) - float(before[key][c]) for c in COLUMNS}
        for key in before
        if key in after
    ]
    lines = [
        f"| set, after less before | questions | {' | '.join(COLUMNS)} |",
        f"|---|---|{'---|' * len(COLUMNS)}",
    ]
    for name, some in grouped(both).items():
        shares = np.array([[row[c] for c in COLUMNS[:4]] for row in some])
        gaps = [gap.interval() for gap in paired_means(shares, np.random.default_rng(0))]
        cells = [f"{gap.mean:+.3f} [{gap.low:+.2f}, {gap.high:+.2f}]" for gap in gaps]
        cells += [f"{np.mean([row[c] for row in some]):+.0f}" for c in COLUMNS[4:]]
        lines.append(f"| {name} | {len(some)} | {' | '.join(cells)} |")
    return lines


def grouped(rows: Any) -> dict[str, list[dict[str, Any]]]:
    """Group rows by set, in order, and all of them under "all"."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["set"], []).append(row)
    return {**groups, "all": [row for some in groups.values() for row in some]}


if __name__ == "__main__":
    main()
