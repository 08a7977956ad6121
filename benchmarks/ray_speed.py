"""Builds on Ray beside a local one: time by number of workers, and what killed workers cost.

    python benchmarks/ray_speed.py [--tokens 120000] [--workers 2 4 8] [--latency 0.2] [--kills 10] [--parts NAME ...]

Needs the extra `ray`. Each build runs in a process of its own and starts a cluster on this machine, which ends with it.

- *calls*: a scripted endpoint with `--latency` seconds for each call replies and embeds; 8 calls at once for each
  worker. Calls wait, so more workers than cores pay off. The local build has the calls of two workers.
- *parser*: no model; the parser extracts. It computes, so that the cores of the machine are the limit.
- *kills*: as *calls* with 2 workers, of which one is killed again and again, `--kills` times.

*Work* is the time of `Index.add` less that for one sentence on a cluster of the same size, which is mostly its start.
*Speed-up* and *efficiency* (speed-up for each worker) compare it with the first number of workers. Each index is
exported, and each export must equal that of the local build byte for byte; the same holds after kills, when the calls
beyond those of the local build are counted.
"""

import argparse
import json
import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from overhead import row, serve, settings, usage_s, write_text

PARTS = ("calls", "parser", "kills")
CALLS_PER_WORKER = 8
KILL_EVERY_S = 2.0
MARK = "RAY_SPEED_RUN"
"""Variable in the environment of a build, which its workers inherit."""


def build(folder: Path, texts: Path, url: str, on: str, workers: int) -> dict[str, Any]:
    """Index the texts with every layer, in this process, and export them."""
    from polygraph import Index

    given = settings(url, CALLS_PER_WORKER * (workers or 2)) if url else {"offline": True, "embedder": "hash"}
    with Index.open(folder, **given, processes=workers) as index:
        started = time.perf_counter()
        index.add(texts, extractor="llm" if url else "nlp", on=on)
        seconds = time.perf_counter() - started
        index.export(f"{folder}.export")
    return {"add_s": seconds, "cpu_s": usage_s()}


def timed(folder: Path, texts: Path, url: str, on: str, workers: int) -> dict[str, Any]:
    """Build, and subtract the time of building one sentence the same way: the start of a cluster and of models."""
    one = folder.with_name(f"{folder.name}-start")
    one.mkdir()
    (one / "one.txt").write_text("Mara Quill met Old Tobin near the harbour.", encoding="utf-8")
    start = run(one.with_name(f"{one.name}.index"), one, url, on, workers)
    found = run(folder, texts, url, on, workers)
    return {**found, "work_s": found["add_s"] - start["add_s"]}


def run(folder: Path, texts: Path, url: str, on: str, workers: int, kills: int = 0) -> dict[str, Any]:
    """Build in a fresh process, killing workers meanwhile, and return times and the number of kills."""
    mark = secrets.token_hex(8)
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("POLYGRAPH_", "OPENAI_"))}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, __file__, "--part", str(folder), str(texts), url, on, str(workers)],
        env={**kept, MARK: mark, "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    done = threading.Event()
    killed: list[int] = []
    killer = threading.Thread(target=kill_workers, args=(mark, kills, killed, done))
    killer.start()
    printed, _ = process.communicate()
    done.set()
    killer.join()
    if process.returncode:
        raise SystemExit(f"the build in {folder} failed")
    return {
        "wall_s": time.perf_counter() - started,
        "kills": len(killed),
        **json.loads(printed.splitlines()[-1]),
    }


def kill_workers(mark: str, kills: int, killed: list[int], done: threading.Event) -> None:
    """Kill a worker of a build every few seconds, the ones with the lowest process ids first."""
    while len(killed) < kills and not done.wait(KILL_EVERY_S):
        alive = sorted(set(workers_of(mark)) - set(killed))
        if alive:
            os.kill(alive[0], signal.SIGKILL)
            killed.append(alive[0])


def workers_of(mark: str) -> Iterator[int]:
    """Yield the process ids of the workers of a build."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::_Worker") and (
                f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
            ):
                yield int(folder.name)
        except OSError:
            continue


def exported(folder: Path) -> dict[str, bytes]:
    """Return the files of the export of an index by name."""
    files = Path(f"{folder}.export")
    return {
        str(path.relative_to(files)): path.read_bytes() for path in sorted(files.rglob("*")) if path.is_file()
    }


def measure(given: argparse.Namespace, pipe: Connection, url: str, work: Path) -> Iterator[str]:
    """Run the parts and yield the lines of the tables."""

    def calls_since() -> int:
        pipe.send(given.latency)
        return sum(pipe.recv().values())

    texts = work / "texts"
    write_text(texts, given.tokens)
    for kind in [part for part in given.parts if part != "kills"]:
        endpoint = url if kind == "calls" else ""
        calls_since()
        local = timed(work / f"{kind}-local", texts, endpoint, "local", 0)
        n_calls = calls_since()
        expected = exported(work / f"{kind}-local")
        yield row(kind, "local", f"{local['wall_s']:.1f}", f"{local['work_s']:.1f}", "", "", n_calls, "")
        first = None
        for workers in given.workers:
            folder = work / f"{kind}-{workers}"
            found = timed(folder, texts, endpoint, "ray", workers)
            first = first or (workers, found["work_s"])
            speed_up = first[1] / found["work_s"]
            cells = [f"{found['wall_s']:.1f}", f"{found['work_s']:.1f}", f"{speed_up:.2f}"]
            cells += [f"{speed_up * first[0] / workers:.2f}"]
            yield row(kind, f"{workers} workers", *cells, calls_since(), same(exported(folder), expected))
    if "kills" in given.parts:
        calls_since()
        run(work / "kills-local", texts, url, "local", 0)
        n_calls = calls_since()
        found = run(work / "kills-ray", texts, url, "ray", 2, given.kills)
        cells = [
            f"{found['wall_s']:.1f}",
            "",
            "",
            "",
            f"{n_calls} + {calls_since() - n_calls}",
        ]
        equal = same(exported(work / "kills-ray"), exported(work / "kills-local"))
        yield row("kills", f"2 workers, {found['kills']} killed", *cells, equal)


def same(one: dict[str, bytes], other: dict[str, bytes]) -> str:
    """Say whether two exports are equal, and which files differ."""
    differ = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return f"no: {', '.join(differ)}" if differ else "yes"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=120_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a call")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--part", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        folder, texts, url, on, workers = given.part
        print(json.dumps(build(Path(folder), Path(texts), url, on, int(workers))))
        return
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    endpoint = spawn.Process(target=serve, args=(theirs,), daemon=True)
    endpoint.start()
    with tempfile.TemporaryDirectory() as temporary:
        print(row("part", "build", "wall s", "work s", "speed-up", "efficiency", "calls", "equal"))
        print(row(*["---"] * 8))
        for line in measure(given, ours, ours.recv(), Path(temporary)):
            print(line, flush=True)
    endpoint.kill()


if __name__ == "__main__":
    main()
