"""Time, memory and disk of indexing a corpus offline with the public command.

    python benchmarks/index_speed.py CORPUS [--for METHOD,...] [--keep DIR]

Runs `polygraph index` in another process and prints wall and CPU seconds, peak memory of the process and its workers,
bytes on disk for each passage by file, layer and table, and seconds and peak memory of each layer. Layers are told
apart by their seconds, counted back from the end, so that the memory of a layer is rough where it takes a few seconds
or runs beside others (the vectors of passages). CORPUS is anything that `polygraph index` accepts, for example
DATA/2wiki/corpus.jsonl.gz.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--for", dest="methods", help="build only what these methods need")
    parser.add_argument("--keep", type=Path, help="keep the index in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        index = options.keep or Path(temporary) / "speed.index"
        command = [sys.executable, "-c", "from polygraph.cli import main; main()", "index", options.corpus]
        command += ["--index", str(index), "--offline", "--json"]
        command += ["--for", options.methods] if options.methods else []
        started = time.perf_counter()
        # A pipe that nobody reads meanwhile would stop a build whose report is long.
        report_file = Path(temporary) / "report.json"
        with report_file.open("w") as output, subprocess.Popen(command, stdout=output) as process:
            samples = watch(process)
        ended = time.perf_counter()
        wall = ended - started
        if process.returncode:
            sys.exit(process.returncode)
        report = json.loads(report_file.read_text(encoding="utf-8"))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        sizes = {
            place.name: sum(
                f.stat().st_size for f in (place.rglob("*") if place.is_dir() else [place]) if f.is_file()
            )
            for place in sorted(index.iterdir())
        }
        passages = report["counts"]["chunks"]
        print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"{wall:.0f} s wall, {used.ru_utime + used.ru_stime:.0f} s CPU")
        peak = max(size for _, size in samples)
        print(f"{peak / 1e6:.0f} MB at the peak, all processes together")
        print(f"{sum(sizes.values()) / passages:,.0f} bytes per passage on disk: {sizes}")
        print("by layer:", {n: round(size / passages) for n, size in folders(index / "derived").items()})
        print("by table, with indexes:", {n: round(size / passages) for n, size in tables(index).items()})
        print("counts:", report["counts"])
        print("seconds by layer:", {name: round(s, 1) for name, s in report["built"].items()})
        print("peak MB by layer:", by_layer(samples, report["built"], ended))
        print("model calls:", report["usage"]["calls"])


def folders(derived: Path) -> dict[str, int]:
    """Return the bytes of each layer of files, and of other files."""
    found: dict[str, int] = {}
    for file in sorted(derived.rglob("*")):
        if file.is_file():
            name = file.relative_to(derived).parts[0].rpartition("-")[0] or file.name
            found[name] = found.get(name, 0) + file.stat().st_size
    return found


def tables(index: Path) -> dict[str, int]:
    """Return the bytes of each table with its indexes, the largest first; nothing without SQLite's `dbstat`."""
    query = (
        "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema s ON s.name = dbstat.name "
        "GROUP BY tbl_name ORDER BY 2 DESC"
    )
    try:
        with closing(sqlite3.connect(f"{(index / 'index.sqlite').as_uri()}?mode=ro", uri=True)) as db:
            return dict(db.execute(query))
    except sqlite3.OperationalError:
        return {}


def by_layer(samples: list[tuple[float, int]], seconds: dict[str, float], ended: float) -> dict[str, int]:
    """Return the largest sample of each layer in megabytes."""
    found: dict[str, int] = {}
    end = ended
    for layer, taken in reversed(seconds.items()):
        # A sample takes some time itself.
        within = [size for at, size in samples if end - taken - 2.0 <= at <= end]
        if within:
            found[layer] = round(max(within) / 1e6)
        end -= taken
    return dict(reversed(found.items()))


def watch(process: subprocess.Popen[bytes]) -> list[tuple[float, int]]:
    """Return the proportional set sizes (PSS) of the process with its descendants, in bytes, by time."""
    samples = [(time.perf_counter(), 0)]
    while process.poll() is None:
        samples.append((time.perf_counter(), sum(pss(pid) for pid in tree(process.pid))))
        time.sleep(2.0)  # reading the memory of a large process is slow
    return samples


def tree(pid: int) -> list[int]:
    try:
        children = [
            int(c) for t in Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text().split()
        ]
    except OSError:
        return []
    return [pid, *(below for child in children for below in tree(child))]


def pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


if __name__ == "__main__":
    main()
