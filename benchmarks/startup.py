"""CPU, memory and modules of cold processes: `--help`, `from polygraph import Index`, and `ask -m bm25`.

    python benchmarks/startup.py [--runs N] [--other PYTHON] [--question TEXT]

Each interpreter indexes the papers that come with its own package, in a temporary folder, before anything is measured.
Runs of both interpreters alternate, so that a busy machine slows both. CPU is user and system time of the process;
`reranking` is the part of it that the cross-encoder spends in inference, and `rest` is everything else. `MB` is the
largest resident memory. All figures are medians over the runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

QUESTION = "How did the Constancy get her name?"

PROBE = """
import json, sys, time
case, report, *arguments = sys.argv[1:]
seconds = []
if case == "ask":
    try:
        import onnxruntime
    except ImportError:
        pass
    else:
        run = onnxruntime.InferenceSession.run
        def timed(*args, **kwargs):
            began = time.thread_time()
            try:
                return run(*args, **kwargs)
            finally:
                seconds.append(time.thread_time() - began)
        onnxruntime.InferenceSession.run = timed
try:
    if case == "import":
        from polygraph import Index
    else:
        sys.argv = ["polygraph", *arguments]
        from polygraph.cli import main
        main()
except SystemExit as end:
    if end.code:
        raise
finally:
    with open(report, "w") as file:
        json.dump({"reranking": sum(seconds), "modules": len(sys.modules)}, file)
"""
"""Runs one case and reports from inside. The cross-encoder runs each text in one thread, so thread time is its CPU."""


def build_index(python: str, folder: Path) -> None:
    """Index the papers that come with the package of an interpreter."""
    locate = "import importlib.resources as r; print(r.files('polygraph') / 'sample' / 'papers')"
    papers = subprocess.run([python, "-c", locate], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(
        [python, "-m", "polygraph", "index", papers, "--index", str(folder), "--for", "bm25", "--offline"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def measure(python: str, case: str, arguments: Sequence[str], report: Path) -> dict[str, float]:
    """Run one case in a cold process and return its figures."""
    process = subprocess.Popen(
        [python, "-c", PROBE, case, str(report), *arguments], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{python}: the case {case!r} ended with {process.returncode}")
    inside = json.loads(report.read_text())
    cpu = used.ru_utime + used.ru_stime
    # Linux counts kilobytes, macOS bytes.
    peak_mb = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1024)
    return {"cpu": cpu, "rest": cpu - inside["reranking"], "mb": peak_mb, **inside}


def print_table(found: Mapping[tuple[str, str], Sequence[Mapping[str, float]]]) -> None:
    """Print the medians, a row for each case and interpreter."""
    print("| case | python | CPU s | reranking s | rest s | MB | modules |")
    print("|---|---|---|---|---|---|---|")
    for (case, python), runs in found.items():
        value = {name: median(run[name] for run in runs) for name in runs[0]}
        print(
            f"| {case} | {python} | {value['cpu']:.2f} | {value['reranking']:.2f} | {value['rest']:.2f} "
            f"| {value['mb']:.0f} | {value['modules']:.0f} |"
        )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each case (default 5)")
    parser.add_argument(
        "--other", metavar="PYTHON", help="interpreter of another environment to compare with"
    )
    parser.add_argument("--question", default=QUESTION)
    options = parser.parse_args()
    pythons = [sys.executable] if options.other is None else [options.other, sys.executable]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        indexes = {python: folder / f"{n}.index" for n, python in enumerate(pythons)}
        for python, index in indexes.items():
            build_index(python, index)
        found: dict[tuple[str, str], list[dict[str, float]]] = {}
        for run in range(-1, options.runs):
            for case in ("help", "import", "ask"):
                for python, index in indexes.items():
                    arguments = {
                        "help": ["--help"],
                        "import": [],
                        "ask": ["ask", options.question, "-m", "bm25", "--index", str(index), "--offline"],
                    }[case]
                    figures = measure(python, case, arguments, folder / "report.json")
                    if run >= 0:  # the first one compiles modules and fills the cache of the file system
                        found.setdefault((case, python), []).append(figures)
    print_table(found)


if __name__ == "__main__":
    main()
