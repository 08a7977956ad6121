"""The cost of adding 1% of documents to an index, and of removing them, layer by layer.

    python benchmarks/change.py [--chunks N] [--parser] [--embedders]

The corpus is synthetic, with names that recur as in real text (Zipf). By default vectors are hashed and names are
extracted by their capitals, so that only Polygraph's own work is measured, not that of a model. With both flags the
parser and the embedders are those of the extra `local`, which is what users get by default. Seconds are CPU seconds.
Memory is the peak resident size of the process during a layer, mapped files included, where the system can reset the
peak (Linux); elsewhere the peak so far. The parser runs in one process of its own, whose peak stands below the table.
"""

import argparse
import os
import random
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from polygraph.extract.nlp import dependency_trees, extractor
from polygraph.indexing import build
from polygraph.models import Calls, Models
from polygraph.models.protocols import Embedder
from polygraph.models.providers.onnx import OnnxEmbedder
from polygraph.models.providers.static import HashEmbedder, WordLlamaEmbedder
from polygraph.workspace.index import Index

_CHUNKS = 10
"""Per document."""
_SYLLABLES = (
    "mar",
    "tob",
    "ska",
    "wren",
    "hal",
    "cy",
    "or",
    "lin",
    "dun",
    "ve",
    "qui",
    "pen",
    "gar",
    "ness",
    "ash",
    "by",
)


def name(rank: int) -> str:
    parts = [_SYLLABLES[(rank * k + k * k) % len(_SYLLABLES)] for k in (1, 3, 7)]
    return f"{''.join(parts[:2]).title()} {parts[2].title()}{rank:x}"


def document(n: int) -> str:
    chance = random.Random(n)
    pieces = []
    for _ in range(_CHUNKS):
        for _ in range(8):
            a, b = (name(int(20_000 ** chance.random())) for _ in range(2))
            word = chance.choice(("met", "paid", "wrote to", "blamed", "followed"))
            pieces.append(
                f"In the {chance.choice(('spring', 'autumn'))} {a} {word} {b} about the oil of the lamp."
            )
        pieces.append("\n\n")
    return " ".join(pieces)


def peak_mb() -> float:
    """Return the peak memory since the last call."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its workers that have ended."""
    return sum(os.times()[:4])


class Clock:
    """Replaces the clock that a build reads when a layer begins and when it ends."""

    def __init__(self) -> None:
        self.peaks: list[float] = []

    def perf_counter(self) -> float:
        """Return CPU seconds, and note the peak memory."""
        self.peaks.append(peak_mb())
        return cpu_seconds()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--parser", action="store_true", help="extract with the parser, as by default")
    parser.add_argument("--embedders", action="store_true", help="embed with local models, as by default")
    options = parser.parse_args()
    if not options.parser:
        # In this process, since a worker would find the parser.
        dependency_trees.installed = lambda: False
        extractor.PARALLEL_CHARS = sys.maxsize
    clock = build.time = Clock()  # type: ignore[attr-defined,assignment]
    n = options.chunks // _CHUNKS
    with tempfile.TemporaryDirectory() as temporary:
        papers = Path(temporary) / "papers"
        papers.mkdir()
        for i in range(n):
            (papers / f"{i:05}.txt").write_text(document(i), encoding="utf-8")
        embedder: Embedder = OnnxEmbedder() if options.embedders else HashEmbedder()
        calls = Calls(Path(temporary) / "index" / "calls.sqlite")
        models = Models(
            chat=None,
            embedder=embedder,
            name_embedder=WordLlamaEmbedder() if options.embedders else embedder,
            reranker=None,
            calls=calls,
        )
        # Ten chunks a document, by the tokens of the embedder.
        size = 220 if options.embedders else 130
        index = Index.open(
            Path(temporary) / "index", models=models, chunk_tokens=size, window_tokens=4 * size, processes=1
        )
        with index:
            seconds, counts, peaks = {}, {}, {}
            added = [f"{n + i:05}.txt" for i in range(max(1, n // 100))]
            for step in ("first", "add 1%", "nothing new", "remove 1%"):
                if step == "add 1%":
                    for file in added:
                        (papers / file).write_text(document(int(file[:5])), encoding="utf-8")
                clock.peaks.clear()
                peak_mb()
                began = cpu_seconds()
                report = index.remove(*added) if step == "remove 1%" else index.add(papers)
                whole = cpu_seconds() - began
                peaks[step] = dict(zip(report.built, clock.peaks[1::2], strict=False))
                peaks[step]["documents and copy"] = max(*clock.peaks[::2], peak_mb(), 0.0)
                peaks[step]["all"] = max(peaks[step].values())
                seconds[step] = {
                    **report.built,
                    "documents and copy": whole - sum(report.built.values()),
                    "all": whole,
                }
                counts[step] = report.counts
            print(counts["first"])
            heads = [
                *(f"{step}, s" for step in seconds),
                "add 1% / first",
                "first, peak MB",
                "add 1%, peak MB",
            ]
            print(f"| layer | {' | '.join(heads)} |")
            print("|---" * (len(heads) + 1) + "|")
            for layer in seconds["first"]:
                cells = [f"{seconds[step].get(layer, 0.0):.1f}" for step in seconds]
                first, added_s = seconds["first"][layer], seconds["add 1%"].get(layer, 0.0)
                share = f"{added_s / first:.0%}" if first else "–"
                memory = [f"{peaks[step].get(layer, 0.0):.0f}" for step in ("first", "add 1%")]
                print(f"| {layer} | {' | '.join([*cells, share, *memory])} |")
            worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"worker that parses: at most {worker:.0f} MB")


if __name__ == "__main__":
    main()
