"""Time, memory and disk of indexing a corpus offline with the public command.

    python benchmarks/index_speed.py CORPUS [--for METHOD,...] [--keep DIR]

Runs `polygraph index` in another process and prints wall and CPU seconds, peak memory of the process and its workers,
bytes on disk for each passage, and the seconds of each layer. CORPUS is anything that `polygraph index` accepts, for
example DATA/2wiki/corpus.jsonl.gz.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
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
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            peak = watch(process)
            output = process.stdout.read() if process.stdout else ""
        wall = time.perf_counter() - started
        if process.returncode:
            sys.exit(process.returncode)
        report = json.loads(output)
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
        print(f"{peak / 1e6:.0f} MB at the peak, all processes together")
        print(f"{sum(sizes.values()) / passages:,.0f} bytes per passage on disk: {sizes}")
        print("counts:", report["counts"])
        print("seconds by layer:", {name: round(s, 1) for name, s in report["built"].items()})
        print("model calls:", report["usage"]["calls"])


def watch(process: subprocess.Popen[str]) -> int:
    """Return the peak proportional set size (PSS) of the process and its descendants, in bytes."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(pss(pid) for pid in tree(process.pid)))
        time.sleep(2.0)  # reading the memory of a large process is slow
    return peak


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
