"""What the checksums of `index.sqlite` cost in building, in a change of one document, and in asking.

    python benchmarks/checksums.py [--documents 300] [--rounds 7]

Each round builds, changes and asks in this process, without any model, and adds up the CPU time of the functions that
write, read and compare checksums. The figures are medians. `first` is a question to an index that has changed
since it was last compared, `again` one to an index that has not; both include opening the index, as if in a process of
its own: what this one has compared before does not count.

This work is the least there can be. The last two lines are what a user sees: the CPU time of `polygraph index` for a
change of one document, and of `polygraph ask -m bm25`, with checksums as measured above.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kills import NAMES, PLACES

from polygraph.store import database, page_sums
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

QUESTION = "Who met Ada Marsh of Parish 17 at Sallow Bay?"


def write_documents(folder: Path, n: int) -> None:
    """Write documents of about 400 words in which people and places of many parishes meet."""
    folder.mkdir(parents=True)
    for i in range(n):
        lines = [
            f"{NAMES[(i + j) % 8]} of Parish {(i * 7 + j) % 97} met {NAMES[(i * 3 + 5 * j + 1) % 8]} of Parish "
            f"{(i + 11 * j) % 89} at {PLACES[(i + j) % 5]} on day {i * 40 + j}."
            for j in range(24)
        ]
        (folder / f"{i:05}.txt").write_text(" ".join(lines), encoding="utf-8")


class Timed:
    """A function whose CPU time is added up."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.seconds = function, 0.0

    def __call__(self, *given: Any) -> Any:
        began = time.process_time()
        try:
            return self._function(*given)
        finally:
            self.seconds += time.process_time() - began


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds of some work, and how many of them checksums take."""
    page_sums._compared.clear()
    timed = {
        name: Timed(getattr(database, name)) for name in ("write_sums", "drop_sums", "read_sums", "is_intact")
    }
    with ExitStack() as stack:
        for name, function in timed.items():
            stack.enter_context(patch.object(database, name, function))
        began = time.process_time()
        work()
        total = time.process_time() - began
    return total, sum(function.seconds for function in timed.values())


def command_seconds(*call: str) -> float:
    """Return the CPU seconds of a command, with hashed vectors.

    Raises:
        CalledProcessError: if it fails.
    """
    hashed = {"POLYGRAPH_EMBEDDER": "hash", "POLYGRAPH_NAME_EMBEDDER": "hash"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "polygraph", *call], check=True, capture_output=True, env=os.environ | hashed
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(base: Path, documents: int) -> tuple[dict[str, tuple[float, float]], float]:
    """Return the CPU seconds of each piece of work on a new index, and the size of its tables in MB."""
    folder = base / "documents"
    if not folder.exists():
        write_documents(folder, documents)
    target = base / f"index{len(list(base.iterdir()))}"

    def add() -> None:
        with Index.open(target, models=hashed_models(), processes=1) as index:
            index.add(folder, extractor="fast")

    def ask() -> None:
        with Index.open(target, models=hashed_models()) as index:
            index.ask(QUESTION, "graphrag-local")

    def change() -> None:
        changed = folder / "00000.txt"
        changed.write_text(changed.read_text(encoding="utf-8") + " The log was kept.", encoding="utf-8")
        # Files that have just changed are not recorded as compared, since they could change again without a trace.
        time.sleep(page_sums.RESOLUTION_S + 0.1)

    found = {"build": seconds(add)}
    change()
    found["change"] = seconds(add)
    change()
    found["first"] = seconds(ask)
    found["again"] = seconds(ask)
    at = ("--index", str(target))
    indexing = command_seconds("index", str(folder), "--extractor", "fast", *at)
    found["polygraph index, a change"] = indexing, found["change"][1]
    found["polygraph ask -m bm25"] = command_seconds("ask", QUESTION, "-m", "bm25", *at), found["first"][1]
    return found, (target / "index.sqlite").stat().st_size / 1e6


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--documents", type=int, default=300)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    found: list[dict[str, tuple[float, float]]] = []
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place) / "warm", 5)
        for n in range(given.rounds):
            each, size = measure(Path(place) / f"round{n}", given.documents)
            found.append(each)
    print(f"{given.documents} documents, index.sqlite of {size:.1f} MB, {given.rounds} rounds")
    print("| work | CPU s | checksums, ms | share |\n|---|---|---|---|")
    for name in found[0]:
        total, sums = (statistics.median(each[name][i] for each in found) for i in (0, 1))
        share = statistics.median(each[name][1] / each[name][0] for each in found)
        print(f"| {name} | {total:.3f} | {1000 * sums:.2f} | {share:.2%} |")


if __name__ == "__main__":
    main()
