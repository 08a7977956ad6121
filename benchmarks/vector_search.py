"""Ways to search vectors, on those of a real index: CPU of a query, and how many of the nearest rows are found.

    python benchmarks/vector_search.py INDEX QUESTIONS.jsonl [--layer relation_vectors] [--n 150]

`exact` is one pass over a matrix in single precision; `rows as stored` and `codes` are what Polygraph does without and
with codes, with ranking and, for codes, with a filter that permits a part of the rows. `bits` compares the signs of the
numbers and computes the cosine of the best rows; `cells` computes the cosine in the cells of those of some sampled rows
that are nearest to the question; `faiss` are indexes of that library whose best 2,000 rows are compared exactly (extra
`ann`); `eight bits` is exact search over bytes by usearch, `hnsw` its approximate search (extra `local`).
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygraph import Index
from polygraph.arrays import dot_rows
from polygraph.store.approximate import CODES
from polygraph.store.layer_folders import folder_of
from polygraph.store.vectors import VectorIndex, add_codes

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
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary) / "layer"
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(CODES))
            VectorIndex.open(copy).copy_to(Path(temporary) / "matrix.npy")
            matrix = np.load(Path(temporary) / "matrix.npy")
            compare(options, copy, matrix, questions)


def compare(
    options: argparse.Namespace, layer: Path, matrix: NDArray[np.float32], questions: NDArray[np.float32]
) -> None:
    print(f"{options.layer}: {matrix.shape[0]:,} rows of {matrix.shape[1]}, {len(questions)} questions\n")
    print("| search | CPU ms | recall@10 | further bytes a row | built in s of CPU |\n|---|---|---|---|---|")
    exact = [np.argsort(-dot_rows(matrix, q), kind="stable")[:K] for q in questions]
    row("exact", lambda n: best(matrix, questions[n], np.arange(len(matrix))), exact, 0, 0.0)
    as_stored(layer, questions, exact)
    by_bits(matrix, questions, exact)
    by_faiss(matrix, questions, exact)
    by_cells(matrix, questions, exact)
    by_usearch(matrix, questions, exact, hnsw=options.hnsw)


def best(matrix: NDArray[np.float32], question: NDArray[np.float32], rows: Rows) -> Rows:
    """Return the nearest of some rows."""
    scores = dot_rows(matrix if len(rows) == len(matrix) else matrix[rows], question)
    return rows[np.argpartition(-scores, min(K, len(scores) - 1))[:K]]


def as_stored(layer: Path, questions: NDArray[np.float32], exact: list[Rows]) -> None:
    n_bytes = sum(file.stat().st_size for file in layer.iterdir())
    whole = VectorIndex.open(layer)

    def rows_found(index: VectorIndex, n: int, allowed: NDArray[np.bool_] | None = None) -> Rows:
        return np.array([hit.n for hit in index.search(questions[n], K, allowed)], dtype=np.int64)

    row("rows as stored", lambda n: rows_found(whole, n), exact, n_bytes // len(whole), 0.0)
    started = time.process_time()
    if not add_codes(layer, 1):
        return
    built = time.process_time() - started
    codes = VectorIndex.open(layer)
    n_bytes = (layer / CODES).stat().st_size // len(whole)
    row("codes", lambda n: rows_found(codes, n), exact, n_bytes, built)
    for share in (0.5, 0.1, 0.01):
        allowed = np.random.default_rng(0).random(len(whole)) < share
        expected = [rows_found(whole, n, allowed) for n in range(len(questions))]
        search = partial(rows_found, codes, allowed=allowed)
        row(f"codes, filter permits {share:.0%}", search, expected, n_bytes, built)


def by_faiss(matrix: NDArray[np.float32], questions: NDArray[np.float32], exact: list[Rows]) -> None:
    import faiss as library

    faiss: Any = library
    faiss.omp_set_num_threads(1)
    for name, probed in (
        ("PQ32x4fs", 0),
        ("RaBitQfs", 0),
        ("IVF512,PQ64x4fs", 32),
        ("IVF512,PQ64x4fs", 128),
    ):
        started = time.process_time()
        index = faiss.index_factory(matrix.shape[1], name, faiss.METRIC_INNER_PRODUCT)
        index.train(matrix[np.linspace(0, len(matrix) - 1, min(50_000, len(matrix))).astype(np.int64)])
        index.add(matrix)
        built = time.process_time() - started
        parameters = faiss.SearchParametersIVF(nprobe=probed) if probed else None

        def search(n: int, index: Any = index, parameters: Any = parameters) -> Rows:
            _, found = index.search(questions[n][None], 2_000, params=parameters)
            return best(matrix, questions[n], found[0][found[0] >= 0])

        n_bytes = len(faiss.serialize_index(index)) // len(matrix)
        row(f"faiss {name}{f', {probed} cells' if probed else ''}", search, exact, n_bytes, built)


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
