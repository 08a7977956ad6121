"""Ablation of `walk`: seeds, kinds of edges, damping, relevance, cross-encoder.

    python benchmarks/walk.py DATA --indexes DIR [--sets NAME,...] [--variants NAME,...] [--limit N]
    python benchmarks/walk.py DATA --indexes DIR --left-out --limit 150
    python benchmarks/walk.py --synthetic 10000,100000,1000000

Prints one table for each data set over its dev questions with gold passages: recall@5, the share of questions with all
evidence among the first ten documents, both with 95% intervals over questions, the paired difference in recall@5 from
`walk`, and the median CPU milliseconds for a question whose vector is cached (those of its clauses are not). All
variants are offline and see the same passages. The last row is an oracle that chooses the best of the retrievers for
each question.

DIR holds one index for each set; missing ones are built. `--left-out` chooses the settings of `walk` for each set on
the other sets, among 24, and measures them on the set left out. `--synthetic` times the walk alone, on random graphs
with the degrees of 2wiki and the given numbers of passages.
"""

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polygraph.evaluate.statistics.intervals import Interval, paired_means, share_intervals
from polygraph.graph.csr import Graph
from polygraph.graph.pagerank import EdgeKind, Network, walk
from polygraph.retrieve import METHODS
from polygraph.retrieve.base import Method
from polygraph.retrieve.methods.walk import NameWalk
from polygraph.store.snapshot import Snapshot
from polygraph.workspace.index import Index

SETS: Mapping[str, Sequence[tuple[str, int | None]]] = {
    "2wiki": (("corpus.jsonl.gz", None),),
    "musique": (("corpus.jsonl.gz", None),),
    "multihop-rag": (("passages.jsonl.gz", None),),
    "hotpotqa": (("corpus.jsonl.gz", None),),
    "nq": (("corpus.jsonl.gz", None), ("distractors.jsonl.gz", 2_500)),
    "popqa": (("corpus.jsonl.gz", None), ("distractors.jsonl.gz", None)),
    "musique-openie": (("corpus.jsonl", None),),
}
"""Files of the pool of passages, and the number of lines taken from each (None: all)."""
OURS = NameWalk()
RETRIEVERS = ("bm25", "naive", "hybrid", "walk")
ORACLE = "the best of these for each question, by an oracle"
VARIANTS: Mapping[str, Method] = {
    **{name: METHODS[name] for name in RETRIEVERS},
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
    "similarity without hops": replace(OURS, hop_starts=0),
    "no second search": replace(OURS, bridge_share=0.0),
    "second search weighs twice as much": replace(OURS, bridge_share=0.2),
    "no clauses": replace(OURS, clause_stems=0),
    "clauses of six stems": replace(OURS, clause_stems=6),
    "walk ended later": replace(OURS, tolerance=1e-6),
    "walk:reranked": replace(OURS, rerank=20),
    "hybrid:reranked": METHODS["hybrid:reranked"],
    "hipporag": METHODS["hipporag"],
    "fast-graphrag": METHODS["fast-graphrag"],
}
QUICK = [name for name in VARIANTS if name.split(":")[-1] not in ("reranked", "hipporag", "fast-graphrag")]
"""The variants that need neither a cross-encoder nor an entity graph."""
GRID: Mapping[str, Sequence[float]] = {
    "word_weight": (0.006, 0.01),
    "sharpness": (15.0, 20.0, 25.0),
    "relevance": (2.0, 3.0),
    "own_share": (1 / 3, 1 / 2),
}
"""Settings that `--left-out` chooses from, including those of `walk`."""
Results = Mapping[str, Sequence[tuple[float, ...]]]
"""The result of `measure` for each question, by variant."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--indexes", type=Path, help="folder of the indexes; missing ones are built here")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--variants", default=",".join(QUICK))
    parser.add_argument("--limit", type=int, default=300, help="questions of each set, drawn with seed 0")
    parser.add_argument("--left-out", action="store_true", help="choose the settings on the other sets")
    parser.add_argument("--synthetic", help="numbers of passages")
    options = parser.parse_args()
    if options.synthetic:
        for n in options.synthetic.split(","):
            print(synthetic(int(n)), flush=True)
        return
    variants = options.variants.split(",")
    if unknown := set(variants) - VARIANTS.keys():
        parser.error(f"unknown variant {min(unknown)!r}; choose from: {', '.join(VARIANTS)}")
    if "walk" not in variants:
        variants.insert(0, "walk")  # the baseline of the differences
    methods = grid() if options.left_out else {name: VARIANTS[name] for name in variants}
    with tempfile.TemporaryDirectory() as temporary:
        found: dict[str, Results] = {}
        for name in options.sets.split(","):
            folder = (options.indexes or Path(temporary)) / f"{name}.index"
            source = options.data / name
            questions = sampled_questions(source, options.limit)
            size, found[name] = measure_set(source, folder, methods, questions)
            if not options.left_out:
                print("\n".join(table(source, size, questions, with_oracle(found[name]))), flush=True)
    if options.left_out:
        print("\n".join(left_out(found)))


def grid() -> dict[str, Method]:
    """Return `walk` with every combination of the settings of `GRID`."""
    chosen = (dict(zip(GRID, values, strict=True)) for values in product(*GRID.values()))
    return {
        ", ".join(f"{name} {value:.3g}" for name, value in some.items()): replace(OURS, **some)  # type: ignore[arg-type]
        for some in chosen
    }


def left_out(found: Mapping[str, Results]) -> list[str]:
    """Tabulate for each set the settings with the best mean recall@5 on the other sets, and their recall on it."""
    recall = {
        name: {v: float(np.mean([row[0] for row in rows])) for v, rows in found[name].items()}
        for name in found
    }
    ours = next(name for name, method in grid().items() if method == OURS)
    rows = [
        "| set left out | questions | chosen by the others | recall@5 on it | `walk` | lowest of all | highest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, mine in recall.items():
        others = [recall[other] for other in recall if other != name]
        # Of equals the first.
        chosen = max(mine, key=lambda v: round(sum(each[v] for each in others), 9))
        n = len(found[name][ours])
        figures = " | ".join(
            f"{x:.3f}" for x in (mine[chosen], mine[ours], min(mine.values()), max(mine.values()))
        )
        rows.append(f"| {name} | {n} | {chosen} | {figures} |")
    return rows


def with_oracle(found: Results) -> Results:
    """Add the best of the retrievers for each question and metric, with the time of all of them."""
    if not set(RETRIEVERS) <= found.keys():
        return found
    best = []
    for rows in zip(*(found[name] for name in RETRIEVERS), strict=True):
        *figures, ms = zip(*rows, strict=True)
        best.append((*map(max, figures), sum(ms)))
    return {**found, ORACLE: best}


def measure_set(
    source: Path, folder: Path, methods: Mapping[str, Method], questions: Sequence[dict[str, Any]]
) -> tuple[tuple[int, int], Results]:
    """Return the numbers of documents and passages of the index, built if missing, and the results of the variants."""
    is_missing = not folder.exists()
    with Index.open(folder, offline=True) as index:
        if is_missing:
            with tempfile.TemporaryDirectory() as temporary:
                pool = Path(temporary) / "pool.jsonl"
                pool.write_text("".join(lines_of(source)), encoding="utf-8")
                index.add(pool, methods=[name for name in (*methods, "walk") if name in METHODS])
        snapshot = Snapshot(folder)
        found = {
            name: [measure(q, method, snapshot, index.models) for q in questions]
            for name, method in methods.items()
            if method.needs <= snapshot.layers
        }
        size = (snapshot.store.count("documents"), snapshot.n_chunks)
        snapshot.close()
    return size, found


def table(
    source: Path, size: tuple[int, int], questions: Sequence[dict[str, Any]], found: Results
) -> list[str]:
    """Tabulate one row for each variant, in order."""
    names = list(found)
    recall = np.array([[row[0] for row in found[name]] for name in names]).T
    whole = np.array([[row[1] for row in found[name]] for name in names]).T
    means, alls = share_intervals(recall), share_intervals(whole)
    differences = recall - recall[:, [names.index("walk")]]
    gaps = [each.interval() for each in paired_means(differences, np.random.default_rng(0))]
    rows = [
        f"\n### {source.name}: {len(questions)} questions, {size[0]:,} documents, {size[1]:,} passages\n",
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
    """Return recall@5, all@10, all@8 by document, and CPU milliseconds."""
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


def sampled_questions(source: Path, limit: int) -> list[dict[str, Any]]:
    """Return a seeded sample of the questions with complete evidence, in the order of the file."""
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
    """Time walks on a graph in which half of the passages link to a title and each has six names, some common."""
    rng = np.random.default_rng(0)
    n_names = 2 * n
    # The frequency of names follows a power law, like that of words.
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
        found.top(OURS.rescored, last=n)
        ms.append(1_000 * (time.process_time() - started))
    return f"{n:>10,} passages: median {np.median(ms):.1f} ms of CPU a walk, slowest {max(ms):.1f}"


if __name__ == "__main__":
    main()
