"""Builds on Ray beside a local one: time by number of workers, and what killed workers cost.

    python benchmarks/ray_speed.py [--tokens 240000] [--workers 1 2 4 8] [--latency 0.2] [--calls 16] [--kills 10]
                                   [--parts NAME ...]

Needs the extra `ray`. Each build runs in a process of its own and starts a cluster on this machine, which ends with it.

- *messages*: no build. Calls that wait `--latency` seconds and carry what a window and its reply weigh, `--calls` for
  each worker and then 128 for each of two: how many come back in a second, how many do if messages take no time, and
  CPU of the command and of the workers for each call.
- *calls*: a scripted endpoint replies and embeds, each call after `--latency` seconds. It has no limit of its own:
  `--calls` are in flight for each worker, so that twice the workers have twice the calls, and everything else is the
  same. Calls wait, so more workers than cores pay off. The local build has the calls of the first number of workers.
  The endpoint remembers its replies and is asked everything by a build that does not count, so that it takes little of
  the processor.
- *parser*: no model; the parser extracts. It computes, so that the cores of the machine are the limit.
- *kills*: as *calls* with 2 workers, of which one is killed every `--every` seconds, `--kills` times.

*Work* is the time of a build after the cluster has started and indexed a few sentences, so that every worker has opened
its models. *Command* is the CPU of the process that keeps the gate and the index, for the same work. *Speed-up* and
*efficiency* (speed-up for each worker) compare *work* with the first number of workers. Each index is exported, and the
export must equal that of the local build byte for byte. So must that after kills, when the calls beyond those of the
local build are counted.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from overhead import WordHashes, name_of, row, settings, write_text

PARTS = ("messages", "calls", "parser", "kills")
MANY_CALLS = 128
"""Calls in flight for each worker of the second part of *messages*."""
FIRST_SENTENCES = 32
"""Documents of the index that is built first, so that every worker has opened its models."""
MARK = "RAY_SPEED_RUN"
"""Variable in the environment of a build, which its workers inherit."""


class Remembering:
    """A chat model that computes each reply once."""

    local = True

    def __init__(self, model: Any) -> None:
        self._model = model
        self._replies: dict[str, Any] = {}
        self.name = model.name

    def chat(self, request: Any, on_text: Any = None) -> Any:  # noqa: ARG002  the endpoint cuts it in pieces
        key = str(request)
        if key not in self._replies:
            self._replies[key] = self._model.chat(request)
        return self._replies[key]


def serve(pipe: Connection) -> None:
    """Run the endpoint; for each latency that is received, set it and return the number of calls since."""
    from polygraph.models.providers.scripted_server import ScriptedServer
    from polygraph.testing import scripted_chat

    with ScriptedServer(chat=Remembering(scripted_chat()), embedder=WordHashes()) as server:
        pipe.send(server.base_url)
        seen = 0
        while True:
            server.latency_s = pipe.recv()
            n = len(server.log)
            pipe.send(n - seen)
            seen = n


def build(folder: Path, texts: Path, url: str, on: str, workers: int, calls: int) -> dict[str, Any]:
    """Index the texts with every layer, after a few sentences in an index of their own, and export them."""
    from polygraph import Index
    from polygraph.execution.ray_cluster import RayExecutor
    from polygraph.indexing.maintain import open_writer
    from polygraph.ingest import find_sources
    from polygraph.models.remote import on_cluster
    from polygraph.store.layers import DEPENDENCIES

    few = folder.with_name(f"{folder.name}-first")
    few.mkdir()
    for n in range(FIRST_SENTENCES):
        (few / f"{n}.txt").write_text(f"{name_of(n)} met Old Tobin near the harbour.", encoding="utf-8")
    given = settings(url, calls) if url else {"offline": True, "embedder": "hash"}
    with ExitStack() as stack:
        executor = stack.enter_context(RayExecutor(on, workers=workers, calls=calls)) if on == "ray" else None
        for where, what in ((few.with_suffix(".index"), few), (folder, texts)):
            with Index.open(where, **given, processes=workers) as index:
                models = (
                    index.models if executor is None else on_cluster(index.models, index.settings, executor)
                )
                started, cpu = time.perf_counter(), time.process_time()
                with open_writer(where, index.settings, models, executor=executor) as writer:
                    writer.add(find_sources([what]), [str(what)], list(DEPENDENCIES), "llm" if url else "nlp")
                seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
                if what is texts:
                    index.export(f"{folder}.export")
    return {"work_s": seconds, "command_s": cpu}


def run(
    folder: Path,
    texts: Path,
    url: str,
    on: str,
    workers: int,
    calls: int,
    kills: int = 0,
    every_s: float = 2.0,
) -> dict[str, Any]:
    """Build in a fresh process, killing workers meanwhile, and return times and the number of kills."""
    mark = secrets.token_hex(8)
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("POLYGRAPH_", "OPENAI_"))}
    process = subprocess.Popen(
        [sys.executable, __file__, "--part", str(folder), str(texts), url, on, str(workers), str(calls)],
        env={**kept, MARK: mark, "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    done = threading.Event()
    killed: list[int] = []
    killer = threading.Thread(target=kill_workers, args=(mark, kills, every_s, killed, done))
    killer.start()
    printed, _ = process.communicate()
    done.set()
    killer.join()
    if process.returncode:
        raise SystemExit(f"the build in {folder} failed")
    return {"kills": len(killed), **json.loads(printed.splitlines()[-1])}


def kill_workers(mark: str, kills: int, every_s: float, killed: list[int], done: threading.Event) -> None:
    """Kill a worker of a build every few seconds, the ones with the lowest process ids first."""
    while len(killed) < kills and not done.wait(every_s):
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


def wait_and_reply(item: tuple[str, float]) -> str:
    """Wait as for an endpoint, and return what weighs as much as a reply, in a worker."""
    time.sleep(item[1])
    return "y" * 11_000


def message_costs(latency_s: float, workers: int, calls: int) -> str:
    """Return the line of a table: what calls cost that a cluster makes."""
    # By the name of a module, workers get a reference; functions of a script would travel by value.
    from ray_speed import wait_and_reply as work

    from polygraph.execution.ray_cluster import RayExecutor

    n = 20 * calls
    with RayExecutor("ray", workers=workers, calls=calls) as executor, ThreadPoolExecutor(calls) as threads:

        def call(_: int) -> None:
            executor.call(work, ("x" * 7_000, latency_s))

        list(threads.map(call, range(2 * calls)))
        pids = executor.pids()
        theirs, ours, started = sum(map(cpu_of, pids)), time.process_time(), time.perf_counter()
        list(threads.map(call, range(n)))
        seconds, ours = time.perf_counter() - started, time.process_time() - ours
        theirs = sum(map(cpu_of, pids)) - theirs
    cells = [
        f"{n / seconds:.0f}",
        f"{calls / latency_s:.0f}",
        f"{1000 * ours / n:.2f}",
        f"{1000 * theirs / n:.2f}",
    ]
    return row(f"{workers} workers", calls, *cells)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(given: argparse.Namespace, pipe: Connection, url: str, work: Path) -> Iterator[str]:
    """Run the parts and yield the lines of the tables."""

    def calls_since(latency_s: float = given.latency) -> int:
        pipe.send(latency_s)
        n: int = pipe.recv()
        return n

    texts, first = work / "texts", given.workers[0]
    write_text(texts, given.tokens)
    if {"calls", "kills"} & set(given.parts):
        calls_since(0.0)
        run(work / "unmeasured", texts, url, "local", 0, given.calls)
    for kind in [part for part in given.parts if part in ("calls", "parser")]:
        endpoint = url if kind == "calls" else ""
        calls_since()
        local = run(work / f"{kind}-local", texts, endpoint, "local", 0, first * given.calls)
        n_calls = calls_since()
        expected = exported(work / f"{kind}-local")
        yield row(kind, "local", *seconds_of(local), "", "", n_calls, "")
        base = 0.0
        for workers in given.workers:
            folder = work / f"{kind}-{workers}"
            found = run(folder, texts, endpoint, "ray", workers, workers * given.calls)
            base = base or found["work_s"]
            speed_up = base / found["work_s"]
            cells = [*seconds_of(found), f"{speed_up:.2f}", f"{speed_up * first / workers:.2f}"]
            yield row(kind, f"{workers} workers", *cells, calls_since(), same(exported(folder), expected))
    if "kills" in given.parts:
        calls_since()
        run(work / "kills-local", texts, url, "local", 0, 2 * given.calls)
        n_calls = calls_since()
        found = run(work / "kills-ray", texts, url, "ray", 2, 2 * given.calls, given.kills, given.every)
        cells = [*seconds_of(found), "", "", f"{n_calls} + {calls_since() - n_calls}"]
        equal = same(exported(work / "kills-ray"), exported(work / "kills-local"))
        yield row("kills", f"2 workers, {found['kills']} killed", *cells, equal)


def seconds_of(found: dict[str, Any]) -> list[str]:
    """Return the cells of a build for its times."""
    return [f"{found['work_s']:.1f}", f"{found['command_s']:.1f}"]


def same(one: dict[str, bytes], other: dict[str, bytes]) -> str:
    """Say whether two exports are equal, and which files differ."""
    differ = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return f"no: {', '.join(differ)}" if differ else "yes"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=240_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a call")
    parser.add_argument("--calls", type=int, default=16, help="calls in flight for each worker")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument(
        "--every",
        type=float,
        default=2.0,
        help="seconds between kills; a worker must start within a part of it",
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--part", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        folder, texts, url, on, workers, calls = given.part
        print(json.dumps(build(Path(folder), Path(texts), url, on, int(workers), int(calls))))
        return
    if "messages" in given.parts:
        print(row("messages", "in flight", "calls/s", "at most", "command ms", "workers ms"))
        print(row(*["---"] * 6))
        for workers, calls in [*((n, n * given.calls) for n in given.workers), (2, 2 * MANY_CALLS)]:
            print(message_costs(given.latency, workers, calls), flush=True)
        print()
    if given.parts == ["messages"]:
        return
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    endpoint = spawn.Process(target=serve, args=(theirs,), daemon=True)
    endpoint.start()
    with tempfile.TemporaryDirectory() as temporary:
        print(row("part", "build", "work s", "command s", "speed-up", "efficiency", "calls", "equal"))
        print(row(*["---"] * 8))
        for line in measure(given, ours, ours.recv(), Path(temporary)):
            print(line, flush=True)
    endpoint.kill()


if __name__ == "__main__":
    main()
