"""Readers asking at once over HTTP, while documents are added and removed.

    python benchmarks/serve.py [--seconds 60] [--readers 32] [--pause 2] [--method hybrid] [--no-writer]

The index is the sample collection, with hashed vectors and without a reranker, so that only Polygraph's own work is
measured; the model is a scripted endpoint that answers after 200 ms. Server, endpoint, readers and writer are processes
of their own, and each question is new, so that no answer comes from the cache. First one reader asks alone: its median
is the model's 200 ms plus our own time. Then all ask, each its next question `--pause` seconds after an answer; 0 shows
what the server can take at most. Every answer must have evidence.
"""

import argparse
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import as_file, files
from pathlib import Path

import httpx

from polygraph.config import Settings
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

LATENCY_S = 0.2
_TOKEN = "benchmark-" + "x" * 24
_SETTINGS = {"embedder": "hash", "name_embedder": "hash", "reranker": "none", "extractor": "fast"}
_ASKED = (
    "How did the Constancy get her name?",
    "Who was Silas Threave?",
    "What did Honora Vane write in her diary?",
    "When did the ship strike the reef?",
    "Who paid for the observatory?",
    "What did the Board decide?",
)


def endpoint(latency_s: float, ready: "multiprocessing.Queue[str]") -> None:
    """Serve the scripted model until killed."""
    with ScriptedServer(chat=scripted_chat(), latency_s=latency_s) as server:
        ready.put(server.base_url)
        threading.Event().wait()


def write(
    folder: Path, source: Path, stop: "multiprocessing.synchronize.Event", done: "multiprocessing.Queue[int]"
) -> None:
    """Add and remove a document until stopped."""
    os.nice(5)
    rounds = 0
    extra = source / "extra.txt"
    index = Index.open(folder, settings=Settings(**_SETTINGS, offline=True))  # type: ignore[arg-type]
    while not stop.is_set():
        extra.write_text(
            f"Note {rounds}: Silas Threave met Honora Vane on the quay of Sallowmouth.", encoding="utf-8"
        )
        index.add(source)
        index.remove("extra.txt")
        extra.unlink()
        rounds += 1
        stop.wait(2)
    index.close()
    done.put(rounds)


class Reader:
    """One client that asks question after question on a connection of its own."""

    def __init__(self, url: str, method: str, n: int) -> None:
        self.client = httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {_TOKEN}"}, timeout=60, trust_env=False
        )
        self.method, self.n, self.asked = method, n, 0
        self.seconds: list[float] = []
        self.own: list[float] = []
        self.errors: list[str] = []

    def ask(self) -> None:
        """Ask a question that nobody has asked before."""
        self.asked += 1
        question = f"{_ASKED[self.asked % len(_ASKED)]} ({self.n}.{self.asked})"
        started = time.perf_counter()
        try:
            found = self.client.post(
                "/api/v1/indexes/sample/ask", json={"question": question, "method": self.method}
            )
            if found.status_code != 200:
                self.errors.append(f"{found.status_code}: {found.text[:200]}")
                return
            if not found.json()["evidence"]:
                self.errors.append("no evidence")
        except httpx.HTTPError as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            return
        self.seconds.append(time.perf_counter() - started)

    def ask_until(self, end: float, pause_s: float) -> None:
        """Ask until a moment, at an even pace."""
        time.sleep(pause_s * (self.n % 32) / 32)
        while time.perf_counter() < end:
            self.ask()
            time.sleep(pause_s)


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process that is its own (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=32)
    parser.add_argument("--pause", type=float, default=2.0)
    parser.add_argument("--method", default="hybrid")
    parser.add_argument("--latency", type=float, default=LATENCY_S)
    parser.add_argument("--no-writer", action="store_true")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as temporary,
        as_file(files("polygraph") / "sample" / "papers") as sample,
    ):
        run(given, Path(temporary), sample)


def run(given: argparse.Namespace, temporary: Path, sample: Path) -> None:
    source, folder = temporary / "papers", temporary / "sample"
    shutil.copytree(sample, source)
    with Index.open(folder, settings=Settings(**_SETTINGS, offline=True)) as index:  # type: ignore[arg-type]
        index.add(source)
    spawn = multiprocessing.get_context("spawn")
    ready: multiprocessing.Queue[str] = spawn.Queue()
    model = spawn.Process(target=endpoint, args=(given.latency, ready), daemon=True)
    model.start()
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("POLYGRAPH_", "OPENAI_"))}
    environment = {
        **kept,
        **{f"POLYGRAPH_{name.upper()}": value for name, value in _SETTINGS.items()},
        "POLYGRAPH_BASE_URL": ready.get(),
        "POLYGRAPH_CHAT_MODEL": "scripted",
        "POLYGRAPH_SERVER_TOKENS": f"benchmark admin {_TOKEN}",
    }
    command = [sys.executable, "-m", "polygraph", "serve", "--index", f"sample={folder}", "--port", "0"]
    command += ["--requests-per-minute", "1000000"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        aim = ask_alone(given, url, server.pid)
        assert model.pid is not None
        stop, rounds = spawn.Event(), spawn.Queue()
        writer = spawn.Process(target=write, args=(folder, source, stop, rounds), daemon=True)
        if not given.no_writer:
            writer.start()
        ask_together(given, url, (server.pid, model.pid, os.getpid()), aim)
        stop.set()
        if not given.no_writer:
            print(f"the index changed {2 * rounds.get(timeout=60)} times meanwhile")
    finally:
        server.send_signal(signal.SIGTERM)
        print(f"the server stopped with exit code {server.wait(60)}")
        model.kill()


def ask_alone(given: argparse.Namespace, url: str, server: int) -> float:
    """Print the time of a reader who asks alone, and return the p95 to aim for with many."""
    alone = Reader(url, given.method, 0)
    for _ in range(20):
        alone.ask()
    alone.seconds.clear()
    before, n = cpu_s(server), 40
    for _ in range(n):
        alone.ask()
    own_cpu = (cpu_s(server) - before) / n
    single: float = statistics.median(alone.seconds)
    p95 = percentile(alone.seconds, 0.95)
    aim = 1.3 * max(single, float(given.latency))
    print(
        f"alone: p50 {ms(single)}, p95 {ms(p95)}, of which {ms(single - given.latency)} are not the model's"
    )
    print(f"       {ms(own_cpu)} of CPU in the server; aim for many readers: p95 of {ms(aim)}")
    return aim


def ask_together(given: argparse.Namespace, url: str, processes: tuple[int, int, int], aim: float) -> None:
    """Print the times of many readers, and memory and CPU of the server meanwhile."""
    readers = [Reader(url, given.method, n + 1) for n in range(given.readers)]
    begin, warm = time.perf_counter(), min(10.0, given.seconds / 4)
    memory: list[float] = []
    server = processes[0]
    before = [cpu_s(each) for each in processes]
    with ThreadPoolExecutor(given.readers) as pool:
        end = begin + given.seconds
        work = [pool.submit(reader.ask_until, end, given.pause) for reader in readers]
        time.sleep(warm)
        memory.append(memory_mb(server))
        while time.perf_counter() < end:
            time.sleep(min(5.0, max(0.01, end - time.perf_counter())))
            memory.append(memory_mb(server))
        for each in work:
            each.result()
    took = time.perf_counter() - begin
    cpu, *others = (cpu_s(each) - earlier for each, earlier in zip(processes, before, strict=True))
    seconds = [each for reader in readers for each in reader.seconds]
    errors = [each for reader in readers for each in reader.errors]
    p50, p95, p99 = (percentile(seconds, share) for share in (0.5, 0.95, 0.99))
    print(
        f"{given.readers} readers, {given.pause:g} s between an answer and the next question, {took:.0f} s:"
    )
    print(f"       {len(seconds):,} answers, {len(seconds) / took:.0f} a second, {len(errors)} errors")
    print(
        f"       p50 {ms(p50)}, p95 {ms(p95)}, p99 {ms(p99)}; aim {ms(aim)}: {'met' if p95 <= aim else 'missed'}"
    )
    print(
        f"       server: {ms(cpu / len(seconds))} of CPU per answer, {cpu / took:.2f} cores; "
        f"endpoint {others[0] / took:.2f}, readers {others[1] / took:.2f}"
    )
    print(
        f"       memory of its own: {memory[0]:.0f} MB after {warm:.0f} s, {memory[-1]:.0f} MB at the end, "
        f"highest {max(memory):.0f} MB"
    )
    series = [memory[len(memory) * n // 6] for n in range(6)]
    print(f"       from sixth to sixth: {', '.join(f'{mb:.0f}' for mb in series)} MB")
    for error in sorted(set(errors))[:5]:
        print("      ", error)


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


if __name__ == "__main__":
    main()
