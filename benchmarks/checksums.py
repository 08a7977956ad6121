"""What the checksums of `index.sqlite` cost in building, in a change of one document, and in asking.

    python benchmarks/checksums.py [--documents 300] [--rounds 7]

Each round builds, changes and asks with and without checksums, in turn, in this process and without any model. The
figures are CPU seconds and the medians of the ratios of a round. `first` is a question to an index that has changed
since it was last compared, `again` one to an index that has not; both include opening the index.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from polygraph.store import database
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

_PEOPLE = (
    "Mara Quill",
    "Old Tobin",
    "Tobias Wren",
    "Ada Marsh",
    "Elias Crane",
    "Ruth Fenn",
    "Ezra Pike",
    "Ida Vane",
)
_PLACES = ("the Skerry Light", "Sallow Bay", "the Grey Reef", "the Harbour Board", "the Halcyon")
QUESTION = "Who met Ada Marsh of Parish 17 at Sallow Bay?"


def write_documents(folder: Path, n: int) -> None:
    """Write documents of about 400 words in which people and places of many parishes meet."""
    folder.mkdir(parents=True)
    for i in range(n):
        lines = [
            f"{_PEOPLE[(i + j) % 8]} of Parish {(i * 7 + j) % 97} met {_PEOPLE[(i * 3 + 5 * j + 1) % 8]} of Parish "
            f"{(i + 11 * j) % 89} at {_PLACES[(i + j) % 5]} on day {i * 40 + j}."
            for j in range(24)
        ]
        (folder / f"{i:05}.txt").write_text(" ".join(lines), encoding="utf-8")


@contextmanager
def without_checksums() -> Iterator[None]:
    """Neither write nor compare checksums."""
    with (
        patch.object(database, "write_sums", lambda *_: None),
        patch.object(database, "is_intact", lambda *_: True),
    ):
        yield


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(base: Path, documents: int) -> dict[str, float]:
    """Return the CPU seconds of each piece of work on a new index."""
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

    found = {"build": seconds(add)}
    changed = folder / "00000.txt"
    changed.write_text(changed.read_text(encoding="utf-8") + " The log was kept.", encoding="utf-8")
    found["change"] = seconds(add)
    time.sleep(2.1)
    found["first"] = seconds(ask)
    found["again"] = seconds(ask)
    found["MB"] = (target / "index.sqlite").stat().st_size / 1e6
    return found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--documents", type=int, default=300)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    checked: list[dict[str, float]] = []
    plain: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place) / "warm", 5)
        for n in range(given.rounds):
            base = Path(place) / f"round{n}"

            def unchecked(base: Path = base) -> None:
                with without_checksums():
                    plain.append(measure(base, given.documents))

            def with_checks(base: Path = base) -> None:
                checked.append(measure(base, given.documents))

            for run in (unchecked, with_checks) if n % 2 else (with_checks, unchecked):
                run()
    print(f"{given.documents} documents, index.sqlite of {checked[0]['MB']:.1f} MB, {given.rounds} rounds")
    print("| work | with, s | without, s | ratio |\n|---|---|---|---|")
    for name in ("build", "change", "first", "again"):
        ratio = statistics.median(a[name] / b[name] for a, b in zip(checked, plain, strict=True))
        medians = [statistics.median(each[name] for each in runs) for runs in (checked, plain)]
        print(f"| {name} | {medians[0]:.3f} | {medians[1]:.3f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
