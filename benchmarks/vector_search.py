"""Ways to search vectors, on those of a real index: CPU of a query, and how many of the nearest rows are found.

    python benchmarks/vector_search.py INDEX QUESTIONS.jsonl [--layer relation_vectors] [--n 150]

Exact search is one pass over the matrix, as Polygraph does it. `bits` compares the signs of the numbers and computes
the cosine of the best rows; `cells` computes the cosine in the cells of those of some sampled rows that are nearest to
the question; `eight bits` is exact search over bytes by usearch, `hnsw` its approximate search (extra `local`).
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph import Index
from polygraph.arrays import dot_rows
from polygraph.store.layer_folders import folder_of
from polygraph.store.vectors import MATRIX

K = 10
BLOCK = 16_384
Rows = NDArray[np.int64]
Search = Callable[[int], Rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--layer", default="relation_vectors")
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument(
        "--hnsw", action="store_true", help="also build the graph of usearch, which takes minutes"
    )
    options = parser.parse_args()
    with options.questions.open(encoding="utf-8") as file:
        texts = [str(json.loads(line)["question"]) for _, line in zip(range(options.n), file, strict=False)]
    with Index.open(options.index, offline=True) as index:
        snapshot = index.snapshot()
        folder = folder_of(snapshot.folder, options.layer, snapshot.versions[options.layer])
        embedder = index.models.embedder if options.layer == "chunk_vectors" else index.models.name_embedder
        questions = np.asarray(embedder.embed(texts, "query"), dtype=np.float32)
        matrix = np.array(np.load(folder / MATRIX))
    print(f"{options.layer}: {matrix.shape[0]:,} rows of {matrix.shape[1]}, {len(questions)} questions\n")
    print("| search | CPU ms | recall@10 | further bytes a row | built in s of CPU |\n|---|---|---|---|---|")
    exact = [np.argsort(-dot_rows(matrix, q), kind="stable")[:K] for q in questions]
    row("exact", lambda n: best(matrix, questions[n], np.arange(len(matrix))), exact, 0, 0.0)
    by_bits(matrix, questions, exact)
    by_cells(matrix, questions, exact)
    by_usearch(matrix, questions, exact, hnsw=options.hnsw)


def best(matrix: NDArray[np.float32], question: NDArray[np.float32], rows: Rows) -> Rows:
    """Return the nearest of some rows."""
    scores = dot_rows(matrix if len(rows) == len(matrix) else matrix[rows], question)
    return rows[np.argpartition(-scores, min(K, len(scores) - 1))[:K]]


def by_bits(matrix: NDArray[np.float32], questions: NDArray[np.float32], exact: list[Rows]) -> None:
    started = time.process_time()
    mean = matrix.mean(axis=0)
    bits = np.packbits(matrix > mean, axis=1).view(np.uint64)
    built = time.process_time() - started
    asked = np.packbits(questions > mean, axis=1).view(np.uint64)
    for kept in (1_000, 2_000, 4_000, 8_000):

        def search(n: int, kept: int = kept) -> Rows:
            distances = np.empty(len(bits), dtype=np.uint16)
            for at in range(0, len(bits), BLOCK):
                differ = np.bitwise_count(bits[at : at + BLOCK] ^ asked[n])
                distances[at : at + BLOCK] = differ.sum(axis=1, dtype=np.uint16)
            return best(matrix, questions[n], np.argpartition(distances, min(kept, len(bits) - 1))[:kept])

        row(f"bits, {kept:,} rows compared", search, exact, bits.shape[1] * 8, built)


def by_cells(matrix: NDArray[np.float32], questions: NDArray[np.float32], exact: list[Rows]) -> None:
    started = time.process_time()
    n_cells = 2 ** round(np.log2(2 * np.sqrt(len(matrix))))
    samples = matrix[np.sort(np.random.default_rng(0).choice(len(matrix), n_cells, replace=False))]
    cell = np.concatenate(
        [(matrix[at : at + BLOCK] @ samples.T).argmax(axis=1) for at in range(0, len(matrix), BLOCK)]
    )
    order = np.argsort(cell, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
    built = time.process_time() - started
    for probed in (n_cells // 32, n_cells // 8):

        def search(n: int, probed: int = probed) -> Rows:
            near = np.argsort(-dot_rows(samples, questions[n]))[:probed]
            return best(matrix, questions[n], np.concatenate([order[ends[c] : ends[c + 1]] for c in near]))

        row(f"{probed} of {n_cells:,} cells", search, exact, 4, built)


def by_usearch(
    matrix: NDArray[np.float32], questions: NDArray[np.float32], exact: list[Rows], *, hnsw: bool
) -> None:
    from usearch.compiled import MetricKind
    from usearch.index import Index as Hnsw
    from usearch.index import search

    def as_bytes(some: NDArray[np.float32]) -> NDArray[np.int8]:
        largest = np.abs(some).max(axis=1, keepdims=True)
        return np.asarray(np.round(some * (127 / np.where(largest > 0, largest, 1))), dtype=np.int8)

    rows, asked = as_bytes(matrix), as_bytes(questions)

    def by_bytes(n: int) -> Rows:
        found = search(rows, asked[n], 5 * K, MetricKind.Cos, exact=True, threads=1)
        return best(matrix, questions[n], np.asarray(found.keys, dtype=np.int64))

    row("eight bits", by_bytes, exact, matrix.shape[1], 0.0)
    if not hnsw:
        return
    started = time.process_time()
    graph: Any = Hnsw(ndim=matrix.shape[1], metric=MetricKind.Cos, dtype="f16")
    graph.add(np.arange(len(matrix)), matrix, threads=0)
    built = time.process_time() - started
    for width in (64, 256, 1024):
        graph.expansion_search = width

        def by_graph(n: int) -> Rows:
            found = graph.search(questions[n], 5 * K, threads=1)
            return best(matrix, questions[n], np.asarray(found.keys, dtype=np.int64))

        row(f"hnsw, width {width}", by_graph, exact, graph.serialized_length // len(matrix), built)


def row(name: str, search: Search, exact: list[Rows], n_bytes: int, built: float) -> None:
    started = time.process_time()
    found = [search(n) for n in range(len(exact))]
    ms = 1000 * (time.process_time() - started) / len(exact)
    recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, exact, strict=True)])
    print(f"| {name} | {ms:.1f} | {recall:.3f} | {n_bytes} | {built:.0f} |", flush=True)


if __name__ == "__main__":
    main()
