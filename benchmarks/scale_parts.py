"""The parts of Polygraph that hold a whole corpus at once, alone, at sizes that are too large to be indexed here.

    python benchmarks/scale_parts.py [--passages 300000 1000000 3000000 10000000] [--parts search communities]

A check of what `scale.py --fit` reckons from whole indexes. Each part gets data by the laws of the synthetic text of
`scale.py`, made as arrays without text, and runs in a process of its own with one thread:

- `search`: approximate search over one vector a passage, 256 numbers in 16 bits, in topics whose size follows the law
  of Zipf, each with noise as long as the topic; a question is a passage with as much noise again. So a tenth of all
  rows are about equally near, which is harder than texts are. Shown: seconds to write the codes, milliseconds of a
  search, and how many of the ten nearest rows it finds, over 20 questions.
- `communities`: the graph of the names of all passages, three sentences each, divided into communities. Shown:
  vertices, edges, seconds and peak memory, which contains the arrays of the graph.

All times are CPU.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from overhead import row
from scale import _SENTENCES, _WORDS

_DIMENSION, _QUESTIONS, _HITS, _BLOCK = 256, 20, 10, 65_536
_PARTS = ("search", "communities")


def topics(chance: np.random.Generator, n: int) -> np.ndarray:
    """Return unit vectors of topics, one for a thousand passages."""
    return _unit(chance.standard_normal((max(20, n // 1_000), _DIMENSION), dtype=np.float32))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def search(n: int) -> dict[str, Any]:
    """Write the codes of `n` vectors, and compare what they find with exact search."""
    from polygraph.store.approximate import Codes, n_candidates, write_codes

    chance = np.random.default_rng(7)
    centres = topics(chance, n)
    kept = np.empty((n, _DIMENSION), dtype=np.float16)
    for at in range(0, n, _BLOCK):
        size = min(_BLOCK, n - at)
        topic = (len(centres) ** chance.random(size)).astype(np.int64) - 1
        noise = chance.standard_normal((size, _DIMENSION), dtype=np.float32) / math.sqrt(_DIMENSION)
        kept[at : at + size] = _unit(centres[topic] + noise)
    chosen = chance.choice(n, _QUESTIONS, replace=False)
    noise = chance.standard_normal((_QUESTIONS, _DIMENSION), dtype=np.float32) / math.sqrt(_DIMENSION)
    questions = _unit(kept[chosen].astype(np.float32) + noise)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        if not write_codes(Path(folder), n, lambda rows: kept[rows].astype(np.float32)):
            raise SystemExit("no codes were written: install the extra `ann`")
        written = time.process_time() - began
        codes = Codes.open(Path(folder), n)
        assert codes is not None
        codes.nearest(questions[0], _HITS)  # maps the file
        found, exact = [], []
        began = time.process_time()
        for question in questions:
            rows = codes.nearest(question, n_candidates(_HITS, n))
            scores = kept[rows].astype(np.float32) @ question
            found.append(set(rows[np.argsort(-scores, kind="stable")[:_HITS]].tolist()))
        by_codes = time.process_time() - began
    for question in questions:
        scores = np.empty(n, dtype=np.float32)
        for at in range(0, n, _BLOCK):
            scores[at : at + _BLOCK] = kept[at : at + _BLOCK].astype(np.float32) @ question
        exact.append(set(np.argpartition(-scores, _HITS)[:_HITS].tolist()))
    return {
        "codes, s": written,
        "search, ms": 1000 * by_codes / _QUESTIONS,
        "recall@10": sum(len(a & b) for a, b in zip(found, exact, strict=True)) / (_HITS * _QUESTIONS),
    }


def communities(n: int) -> dict[str, Any]:
    """Divide the graph of the names of `n` passages."""
    from polygraph.graph.communities import communities as divide
    from polygraph.graph.csr import Graph

    chance = np.random.default_rng(7)
    names = max(20, int(2.5 * (n * _WORDS) ** 0.6))
    sentences = n * _SENTENCES

    def picked(size: int) -> np.ndarray:
        return np.asarray(names ** chance.random(size), dtype=np.int32)

    first, second = picked(sentences), picked(sentences)
    third = chance.random(sentences) < 0.3
    ends = np.concatenate([first, second[third]]), np.concatenate([second, picked(int(third.sum()))])
    graph = Graph.from_edges(names + 1, *ends, np.ones(len(ends[0]), dtype=np.float32))
    del first, second, third, ends
    ids = [f"{vertex:08}" for vertex in range(graph.n)]
    began = time.process_time()
    found = sum(1 for _ in divide(graph, ids, ((f"d{vertex // 9:07}:0",) for vertex in range(graph.n))))
    return {
        "vertices": graph.n,
        "edges": graph.n_edges,
        "communities": found,
        "divided, s": time.process_time() - began,
        "peak, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[300_000, 1_000_000, 3_000_000])
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        part, n = given.child
        print(json.dumps({"search": search, "communities": communities}[part](int(n))))
        return
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for part in given.parts:
        for n in given.passages:
            done = subprocess.run(
                [sys.executable, __file__, "--child", part, str(n)],
                env={**os.environ, **threads},
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            found = json.loads(done.stdout)
            if n == given.passages[0]:
                print(row(part, *found))
                print(row(*["---"] * (len(found) + 1)), flush=True)
            cells = (f"{v:,.3g}" if isinstance(v, float) else f"{v:,}" for v in found.values())
            print(row(f"{n:,}", *cells), flush=True)


if __name__ == "__main__":
    main()
