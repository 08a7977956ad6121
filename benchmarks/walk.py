"""How much each part of `walk` brings: every seed, every kind of edge, damping, weighing, cross-encoder.

    python benchmarks/walk.py DATA --indexes DIR [--sets NAME,...] [--variants NAME,...] [--limit N]
    python benchmarks/walk.py --synthetic 10000,100000,1000000

For each data set one table over its dev questions with gold passages: recall of the evidence among the first five
documents and all of it among the first ten, with 95% intervals by bootstrap over questions, the paired difference in
recall@5 from `walk`, and the median of milliseconds of CPU for a question whose vector is known. All variants are
offline and see the same passages. DIR holds the indexes by set; those that are not there are made. `--synthetic` times
the walk alone, over random graphs of so many passages with the degrees of 2wiki.
"""

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polygraph.evaluate.bootstrap import Interval, bootstrap_differences, bootstrap_means
from polygraph.graph.csr import Graph
from polygraph.graph.walks import EdgeKind, Network, walk
from polygraph.retrieve import METHODS
from polygraph.retrieve.base import Method
from polygraph.retrieve.walk import NameWalk
from polygraph.store.layers import Snapshot
from polygraph.workspace import Index

SETS: Mapping[str, Sequence[tuple[str, int | None]]] = {
    "2wiki": (("corpus.jsonl.gz", None),),
    "musique": (("corpus.jsonl.gz", None),),
    "multihop-rag": (("passages.jsonl.gz", None),),
    "hotpotqa": (("corpus.jsonl.gz", None),),
    "nq": (("corpus.jsonl.gz", None), ("distractors.jsonl.gz", 2_500)),
    "popqa": (("corpus.jsonl.gz", None), ("distractors.jsonl.gz", None)),
    "musique-openie": (("corpus.jsonl", None),),
}
"""Files that make the pool of passages, and how many lines of each."""
OURS = NameWalk()
VARIANTS: Mapping[str, Method] = {
    **{name: METHODS[name] for name in ("bm25", "naive", "hybrid", "walk")},
    "no titles in the question": replace(OURS, name_weight=0.0),
    "no words": replace(OURS, word_weight=0.0),
    "words half as strong": replace(OURS, word_weight=0.005),
    "words twice as strong": replace(OURS, word_weight=0.02),
    "seeds less sharp": replace(OURS, sharpness=10.0),
    "seeds sharper": replace(OURS, sharpness=40.0),
    "nothing kept for the own match": replace(OURS, own_share=0.0),
    "no title edges": replace(OURS, title_edges=0.0),
    "no other names": replace(OURS, shared_edges=0.0),
    "other names as strong as titles": replace(OURS, shared_edges=1.0),
    "damping 0.5": replace(OURS, damping=0.5),
    "damping 0.7": replace(OURS, damping=0.7),
    "mass alone": replace(OURS, relevance=0.0),
    "similarity without hops": replace(OURS, hops=0),
    "walk ended later": replace(OURS, tolerance=1e-6),
    "walk:reranked": replace(OURS, rerank=20),
    "hybrid:reranked": METHODS["hybrid:reranked"],
    "hipporag": METHODS["hipporag"],
    "fast-graphrag": METHODS["fast-graphrag"],
}
QUICK = [name for name in VARIANTS if name.split(":")[-1] not in ("reranked", "hipporag", "fast-graphrag")]
"""The variants that need neither a cross-encoder nor a graph of entities."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--indexes", type=Path, help="where the indexes lie or are made")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--variants", default=",".join(QUICK))
    parser.add_argument("--limit", type=int, default=300, help="questions of each set, drawn with seed 0")
    parser.add_argument("--synthetic", help="numbers of passages")
    options = parser.parse_args()
    if options.synthetic:
        for n in options.synthetic.split(","):
            print(synthetic(int(n)), flush=True)
        return
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.sets.split(","):
            folder = (options.indexes or Path(temporary)) / f"{name}.index"
            methods = {variant: VARIANTS[variant] for variant in options.variants.split(",")}
            print("\n".join(table(options.data / name, folder, methods, options.limit)), flush=True)


def table(source: Path, folder: Path, methods: Mapping[str, Method], limit: int) -> list[str]:
    """One row for each variant, in their order."""
    questions = asked(source, limit)
    with Index.open(folder, offline=True) as index:
        if not folder.exists():
            with tempfile.TemporaryDirectory() as temporary:
                pool = Path(temporary) / "pool.jsonl"
                pool.write_text("".join(lines_of(source)), encoding="utf-8")
                index.add(pool, methods=[name for name in methods if name in METHODS])
        snapshot = Snapshot(folder)
        names = [name for name, m in methods.items() if m.needs <= snapshot.layers]
        found = {
            name: [measure(q, methods[name], snapshot, index.models) for q in questions] for name in names
        }
        n_chunks, n_documents = snapshot.n_chunks, snapshot.store.count("documents")
        snapshot.close()
    recall = np.array([[row[0] for row in found[name]] for name in names]).T
    whole = np.array([[row[1] for row in found[name]] for name in names]).T
    rng = np.random.default_rng(0)
    means, alls = bootstrap_means(recall, rng), bootstrap_means(whole, rng)
    gaps = bootstrap_differences(recall - recall[:, [names.index("walk")]], rng)
    rows = [
        f"\n### {source.name}: {len(questions)} questions, {n_documents:,} documents, {n_chunks:,} passages\n",
        "| variant | recall@5 | all@10 | recall@5, less walk | all@8 | CPU ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, mean, every, gap in zip(names, means, alls, gaps, strict=True):
        eight = float(np.mean([row[2] for row in found[name]]))
        ms = float(np.median([row[3] for row in found[name]]))
        less = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]" if name != "walk" else ""
        rows.append(f"| {name} | {shown(mean)} | {shown(every)} | {less} | {eight:.3f} | {ms:.0f} |")
    recorded = source / "peer_retrieval.jsonl"
    if recorded.exists():
        known = {json.loads(line)["question"] for line in recorded.open(encoding="utf-8")}
        some = [i for i, q in enumerate(questions) if q["question"] in known]
        rows += [f"\nOf {len(some)} questions with peers' records, all evidence in the top 8: "]
        rows += [f"{name} {np.mean([found[name][i][2] for i in some]):.3f}; " for name in names]
    return rows


def measure(question: dict[str, Any], method: Method, index: Snapshot, models: Any) -> tuple[float, ...]:
    """Recall@5, all@10, all@8 by document, and milliseconds of CPU."""
    models.calls.embed(models.embedder, [question["question"]], "query", stage="question")
    started = time.process_time()
    found = method(question["question"], index, models)
    ms = 1_000 * (time.process_time() - started)
    documents = list(dict.fromkeys(chunk.rpartition(":")[0] for chunk in found.ranking))
    gold = set(question["evidence"])
    return (
        len(gold & set(documents[:5])) / len(gold),
        float(gold <= set(documents[:10])),
        float(gold <= set(documents[:8])),
        ms,
    )


def asked(source: Path, limit: int) -> list[dict[str, Any]]:
    """Questions whose evidence is known and whole; a seeded sample in the order of the file."""
    questions = [json.loads(line) for line in (source / "questions.jsonl").open(encoding="utf-8")]
    if source.name == "multihop-rag":
        questions = [q | {"evidence": q["evidence_passages"]} for q in questions if q["passages_complete"]]
    questions = [q for q in questions if q["evidence"]]
    if limit < len(questions):
        taken = np.random.default_rng(0).permutation(len(questions))[:limit]
        questions = [questions[i] for i in sorted(taken.tolist())]
    return questions


def lines_of(source: Path) -> list[str]:
    lines: list[str] = []
    for name, most in SETS[source.name]:
        path = source / name
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
            lines += list(file)[:most]
    return lines


def shown(value: Interval) -> str:
    return f"{value.mean:.3f} [{value.low:.2f}, {value.high:.2f}]"


def synthetic(n: int) -> str:
    """Time walks over a graph in which half of the passages link to a title and all have six names, some common."""
    rng = np.random.default_rng(0)
    n_names = 2 * n
    # Names are as unlike in how often they occur as words are.
    common = np.minimum(rng.zipf(1.6, 6 * n) - 1, n - 1)
    kinds = [
        (np.arange(n), np.arange(n), OURS.title_edges),
        (rng.permutation(n)[: n // 2], rng.integers(0, n, n // 2), 1.0),
        (np.repeat(np.arange(n), 6), n + common, OURS.shared_edges),
    ]
    network = Network(
        tuple(
            EdgeKind(Graph.from_edges(n + n_names, chunks, names + n, np.ones(len(chunks))), factor)
            for chunks, names, factor in kinds
        )
    )
    ms = []
    for _ in range(30):
        starts = rng.choice(n, 2 * OURS.seeds, replace=False)
        started = time.process_time()
        found = walk(network, starts, np.ones(len(starts)), damping=OURS.damping, tolerance=OURS.tolerance)
        found.top(OURS.weighed, last=n)
        ms.append(1_000 * (time.process_time() - started))
    return f"{n:>10,} passages: median {np.median(ms):.1f} ms of CPU a walk, slowest {max(ms):.1f}"


if __name__ == "__main__":
    main()
