"""The parts of Polygraph that hold a whole corpus at once, alone, at sizes that are too large to be indexed here.

    python benchmarks/scale_parts.py [--passages 300000 1000000 3000000 10000000] [--parts search communities]
    python benchmarks/scale_parts.py --passages 300000 1000000 --text DATA/2wiki/corpus.jsonl.gz \
        --questions DATA/2wiki/questions.jsonl

A check of what `scale.py --fit` reckons from whole indexes. Each part gets data by the laws of the synthetic text of
`scale.py`, made as arrays without text, and runs in a process of its own with one thread:

- `search`: approximate search over one vector a passage, 256 numbers in 16 bits, in topics whose size follows the law
  of Zipf, each with noise as long as the topic; a question is a passage with as much noise again. So a tenth of all
  rows are about equally near, which is harder than texts are. Shown: seconds to write the codes, milliseconds of a
  search, and how many of the ten nearest rows it finds, over 20 questions.
- `communities`: the graph of the names of all passages, three sentences each, divided into communities. Shown:
  vertices, edges, seconds and peak memory, which contains the arrays of the graph.
- `names`, if a text is given: approximate search over so many names of it, each with the sentence where it stands
  first, as hashed spelling; the text is repeated with other names as by `scale.py`. Asked are the first 60 questions of
  a file. Names and questions share few words, so that most rows are about equally far, which codes find hardest.

All times are CPU.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from overhead import row
from scale import _NAMES, _SENTENCE_END, _SENTENCES, _WORDS, repeated

_DIMENSION, _QUESTIONS, _HITS, _BLOCK = 256, 20, 10, 65_536
_EMBEDDED = 4_096
"""Texts whose vectors are computed at once."""
_ROUNDING = 1e-6
_PARTS = ("search", "communities")


def topics(chance: np.random.Generator, n: int) -> np.ndarray:
    """Return unit vectors of topics, one for a thousand passages."""
    return _unit(chance.standard_normal((max(20, n // 1_000), _DIMENSION), dtype=np.float32))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def search(n: int) -> dict[str, Any]:
    """Write the codes of `n` vectors, and compare what they find with exact search."""
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
    return _compared(kept, questions)


def _compared(kept: np.ndarray, questions: np.ndarray) -> dict[str, Any]:
    """Write the codes of some vectors, and compare what they find for questions with exact search, ties included."""
    from polygraph.store.approximate import Codes, n_candidates, write_codes

    n = len(kept)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        if not write_codes(Path(folder), n, lambda rows: kept[rows].astype(np.float32)):
            raise SystemExit("no codes were written: install the extra `ann`")
        written = time.process_time() - began
        codes = Codes.open(Path(folder), n)
        assert codes is not None
        codes.nearest(questions[0], _HITS)  # maps the file
        found = []
        began = time.process_time()
        for question in questions:
            rows = codes.nearest(question, n_candidates(_HITS, n))
            found.append(np.sort(kept[rows].astype(np.float32) @ question)[-_HITS:])
        by_codes = time.process_time() - began
    shares = []
    for question, scores in zip(questions, found, strict=True):
        exact = np.concatenate(
            [kept[at : at + _BLOCK].astype(np.float32) @ question for at in range(0, n, _BLOCK)]
        )
        least = np.partition(exact, n - _HITS)[n - _HITS]
        shares.append(float(np.mean(scores >= least - _ROUNDING)))
    return {
        "codes, s": written,
        "search, ms": 1000 * by_codes / len(questions),
        "recall@10": statistics.mean(shares),
    }


def names(n: int, text: Path, asked: Path) -> dict[str, Any]:
    """Search for questions in `n` names of a text."""
    from polygraph.models.providers.static import HashEmbedder

    said: dict[str, str] = {}
    for passage in repeated(text, sys.maxsize):
        whole = passage["text"]
        for start, end in pairwise([0, *(m.end() for m in _SENTENCE_END.finditer(whole)), len(whole)]):
            for name in _NAMES.finditer(whole, start, end):
                said.setdefault(name.group(), whole[start:end].strip())
        if len(said) >= n:
            break
    texts = [f"{name}: {said[name]}" for name in sorted(said)[:n]]
    embedder = HashEmbedder()
    kept = np.empty((n, embedder.dimension), dtype=np.float16)
    for at in range(0, n, _EMBEDDED):
        kept[at : at + _EMBEDDED] = embedder.embed(texts[at : at + _EMBEDDED], "document")
    with asked.open(encoding="utf-8") as file:
        questions = [json.loads(line)["question"] for line in islice(file, 60)]
    return _compared(kept, embedder.embed(questions, "query"))


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
    parser.add_argument(
        "--text", type=Path, help="JSON lines with title and text, also gzipped: measures `names`"
    )
    parser.add_argument("--questions", type=Path, help="JSON lines with the questions for `names`")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if bool(given.text) != bool(given.questions):
        parser.error("--text and --questions belong together")
    if given.child:
        part, n = given.child[0], int(given.child[1])
        parts = {"search": search, "communities": communities}
        print(json.dumps(names(n, given.text, given.questions) if part == "names" else parts[part](n)))
        return
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    of_text = ["--text", given.text, "--questions", given.questions] if given.text else []
    for part in ["names"] if of_text else given.parts:
        for n in given.passages:
            done = subprocess.run(
                [sys.executable, __file__, "--child", part, str(n), *of_text],
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
