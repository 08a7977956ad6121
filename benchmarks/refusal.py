"""The threshold below which an extractive answer is refused: logits of the best sentence with and without evidence.

    python benchmarks/refusal.py DATA [--n 150]

Each dev question of hotpotqa, nq and musique is answered twice from the ten best passages by BM25: once if they hold a
gold passage, and once without the gold passages, when the question should be refused. For each threshold the table
shows the share of answerable questions that are answered and of unanswerable ones that are refused (by the rule on
missing names or by the threshold). Questions are the first n of each file.
"""

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polygraph.config import load_settings
from polygraph.models.open import open_models
from polygraph.records import Chunk
from polygraph.store.lexical import LexicalIndex
from polygraph.tasks.offline.answer import answer_with_sentences
from polygraph.tasks.offline.sentences import Passage

SETS = ("hotpotqa", "nq", "musique")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--n", type=int, default=150)
    options = parser.parse_args()
    models = open_models(load_settings({"offline": True}), None)
    whole: dict[str, list[tuple[float, bool]]] = {}
    for name in SETS:
        with gzip.open(options.data / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            corpus = [json.loads(line) for line in lines]
        questions = [
            json.loads(line) for line in (options.data / name / "questions.jsonl").open(encoding="utf-8")
        ]
        usable = [q for q in questions if q["evidence"] and q["answer"]][: options.n]
        rows = list(judge(corpus, usable, models))
        whole[name] = rows
        report(name, rows)
    report("all", [row for rows in whole.values() for row in rows])


def judge(
    corpus: list[dict[str, Any]], questions: list[dict[str, Any]], models: Any
) -> Iterator[tuple[float, bool]]:
    with tempfile.TemporaryDirectory() as folder:
        LexicalIndex.save(
            Path(folder) / "lexical", [(n, d["title"], d["text"]) for n, d in enumerate(corpus)]
        )
        index = LexicalIndex.open(Path(folder) / "lexical")
        for q in questions:
            hits = [corpus[h.n] for h in index.search(q["question"], 20)]
            gold = set(q["evidence"])
            kept = hits[:10]
            if gold & {d["id"] for d in kept}:
                yield best(q["question"], kept, models), True
            yield best(q["question"], [d for d in hits if d["id"] not in gold][:10], models), False


def passages_of(documents: Sequence[Mapping[str, Any]]) -> list[Passage]:
    """Return documents as the passages of an answer, each in one piece."""
    return [
        Passage(
            chunk=Chunk(
                id=f"{d['id']}:0",
                document=d["id"],
                ordinal=0,
                start=0,
                end=len(d["text"]),
                text=d["text"],
                n_tokens=0,
            ),
            title=d["title"],
            evidence=n,
        )
        for n, d in enumerate(documents, 1)
    ]


def best(question: str, documents: list[dict[str, Any]], models: Any) -> float:
    found = answer_with_sentences(question, passages_of(documents), models)
    return found.logit if found.logit is not None else float("-inf")


def report(name: str, rows: list[tuple[float, bool]]) -> None:
    answerable = [s for s, a in rows if a]
    other = [s for s, a in rows if not a]
    print(f"\n{name}: {len(answerable)} questions with evidence, {len(other)} without")
    print("| threshold | answered, with evidence | refused, without | mean of both |\n|---|---|---|---|")
    for threshold in (-99.0, -8.0, -6.0, -4.0, -2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0):
        keep = sum(s >= threshold for s in answerable) / max(1, len(answerable))
        drop = sum(s < threshold for s in other) / max(1, len(other))
        print(f"| {threshold:.0f} | {keep:.2f} | {drop:.2f} | {(keep + drop) / 2:.2f} |")


if __name__ == "__main__":
    main()
