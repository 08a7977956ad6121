"""Search of large layers by bits first, beside comparing all rows: CPU, rows compared and hits.

    python benchmarks/overhead.py --tokens 600000 --latency 0 --questions 1 --methods hybrid --work DIR
    python benchmarks/bit_search.py DIR/now-600000-0 [--layers relation_vectors fact_vectors] [--questions 100]

The index is one of `overhead.py`, and so are the questions and their vectors (1,536 numbers). Both ways search every
question in turn, in one process, for the 20 nearest rows. What comparing all rows finds must be found by bits.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from overhead import WordHashes, questions

from polygraph.store.bit_codes import BitCodes
from polygraph.store.layer_folders import folder_of
from polygraph.store.snapshot import Snapshot
from polygraph.store.vectors import VectorIndex, top

K = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", type=Path)
    parser.add_argument("--layers", nargs="+", default=["relation_vectors", "fact_vectors"])
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    vectors = WordHashes().embed(questions(600_000, given.questions, "bits"), "query")
    print(
        "| layer | rows | all, ms | bits, ms | compared: median | nine of ten | same hits | made in | size |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    snapshot = Snapshot(given.index)
    for layer in given.layers:
        print(row(layer, VectorIndex.open(folder_of(given.index, layer, snapshot.versions[layer])), vectors))
    snapshot.close()


def row(layer: str, index: VectorIndex, vectors: NDArray[np.float32]) -> str:
    """Search each vector in both ways and return a row of the table."""
    started = time.process_time()
    bits = BitCodes(len(index), index.rows)
    made = time.process_time() - started
    size = sum(value.nbytes for value in vars(bits).values() if isinstance(value, np.ndarray))
    seconds: dict[str, list[float]] = {"all": [], "bits": []}
    shares, n_same = [], 0
    for vector in vectors:
        started = time.process_time()
        nearest = [hit.n for hit in top(index.scores(vector), K)]
        seconds["all"].append(time.process_time() - started)
        started = time.process_time()
        some = bits.candidates(vector, K, partial(index.scores_of, vector))
        if some is None:
            found = [hit.n for hit in top(index.scores(vector), K)]
        else:
            found = some[[hit.n for hit in top(index.scores_of(vector, some), K)]].tolist()
        seconds["bits"].append(time.process_time() - started)
        shares.append(1.0 if some is None else len(some) / len(index))
        n_same += found == nearest
    ms = {way: f"{1000 * np.median(each):.1f}" for way, each in seconds.items()}
    return (
        f"| `{layer}` | {len(index):,} | {ms['all']} | {ms['bits']} | {np.median(shares):.1%} | "
        f"{np.quantile(shares, 0.9):.1%} | {n_same} of {len(vectors)} | {made:.2f} s | {size / 1e6:.1f} MB |"
    )


if __name__ == "__main__":
    main()
