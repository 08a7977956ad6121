"""Kill `polygraph index` and `polygraph remove` at random moments: what is lost, and what is paid for twice.

    python benchmarks/kills.py [--kills N] [--seed N] [--documents N]

Each kill is a SIGKILL of a process that uses an HTTP server on this machine. The same command is started again until it
ends. Then the index is compared, row by row, with one that was never interrupted, and the log of the server shows what
was requested twice.
"""

import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers.scripted_server import ScriptedServer, ServedCall
from polygraph.models.reply_cache import request_key
from polygraph.testing import scripted_chat

CONCURRENCY = 4
LATENCY_S = 0.2
TABLES = {
    "documents": "id, title, text, metadata, hash",
    "unread": "*",
    "chunks": "*",
    "passage_lengths": "*",
    "windows": "*",
    "entity_rows": "*",
    "relation_rows": "*",
    "entities": "*",
    "names": "*",
    "relations": "*",
    "triples": "*",
    "reread": "*",
    "merges": "*",
    "communities": "*",
    "members": "*",
    "reports": "*",
    "written": "*",
    "layers": "name, version, n_rows",
    "meta": "*",
}
NAMES = (
    "Mara Quill",
    "Old Tobin",
    "Tobias Wren",
    "Ada Marsh",
    "Elias Crane",
    "Ruth Fenn",
    "Ezra Pike",
    "Ida Vane",
)
PLACES = ("the Skerry Light", "Sallow Bay", "the Grey Reef", "the Harbour Board", "the Halcyon")


@dataclass(slots=True)
class Tally:
    """Counts for one command."""

    kills: int = 0
    resumes: int = 0
    """Runs after a kill."""
    rounds: int = 0
    """Finished indexes that were compared."""
    lost: int = 0
    """Calls in flight at a kill, whose replies were lost: only these may be repeated."""
    most_lost: int = 0
    """The most lost calls at one kill."""
    calls: int = 0
    """Calls that the server answered."""
    least: int = 0
    """Calls of a run that is not killed."""
    paid_twice: int = 0
    """Requests whose reply was already stored."""
    different: list[str] = field(default_factory=list)
    """Tables that differ."""

    @property
    def sound(self) -> bool:
        """Whether nothing was lost or paid for twice."""
        return (
            not self.different
            and not self.paid_twice
            and self.calls == self.least + self.lost
            and self.most_lost <= CONCURRENCY
        )


def corpus(folder: Path, n: int) -> Path:
    """Write `n` documents in which names recur."""
    folder.mkdir()
    for i in range(n):
        a, b, c = (NAMES[(i * step + step) % len(NAMES)] for step in (1, 3, 5))
        place = PLACES[i % len(PLACES)]
        (folder / f"{i:03}.txt").write_text(
            f"Day {i}. {a} met {b} at {place}. Then {c} wrote to {a} about the oil, entry number {i} of the book. "
            f"{b} sailed past {PLACES[(i + 2) % len(PLACES)]} with Captain Number{i}.",
            encoding="utf-8",
        )
    return folder


def environment(url: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("POLYGRAPH_", "OPENAI_"))}
    return clean | {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "sk-test",
        "POLYGRAPH_CHAT_MODEL": "scripted",
        "POLYGRAPH_EMBEDDER": "hash",
        "POLYGRAPH_NAME_EMBEDDER": "hash",
        "POLYGRAPH_RERANKER": "none",
        "POLYGRAPH_CONCURRENCY": str(CONCURRENCY),
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }


def tables(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of an index, without times and folders."""
    db = sqlite3.connect(index / "index.sqlite")
    try:
        return {
            name: sorted(db.execute(f"SELECT {columns} FROM {name}").fetchall(), key=repr)
            for name, columns in TABLES.items()
        }
    finally:
        db.close()


def derived(index: Path) -> dict[str, bytes]:
    """Return the matrices and graphs of the current layers; the files of the lexical index have random names."""
    db = sqlite3.connect(index / "index.sqlite")
    layers = db.execute("SELECT name, version FROM layers").fetchall()
    db.close()
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name, version in layers
        for path in (index / "derived" / f"{name}-{version[:12]}").glob("*")
        if path.suffix in (".npy", ".csr")
    }


def stored(index: Path) -> set[str]:
    """Return the keys of the stored replies."""
    if not (index / "calls.sqlite").is_file():
        return set()
    db = sqlite3.connect(index / "calls.sqlite")
    try:
        return {key for (key,) in db.execute("SELECT key FROM reply")}
    except sqlite3.OperationalError:
        return set()  # killed before there were tables
    finally:
        db.close()


def key_of(entry: ServedCall) -> str:
    """Return the key of the reply to a request."""
    body = entry.body
    turns = tuple(Message(turn["role"], turn["content"]) for turn in body["messages"])
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    request = ChatRequest(messages=turns, max_output_tokens=limit, schema=wanted.get("schema"))
    return request_key(str(body["model"]), request)


class Killer:
    """Runs commands against one server and kills them at seeded moments."""

    def __init__(self, server: ScriptedServer, seed: int) -> None:
        self.server = server
        self.chance = random.Random(seed)
        self.tally = Tally()

    def run(self, *command: object, kill_after_s: float | None = None) -> bool:
        """Run a command; return whether it ended before the kill."""
        process = subprocess.Popen(
            [sys.executable, "-m", "polygraph", *map(str, command)],
            env=environment(self.server.base_url),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _, errors = process.communicate(timeout=kill_after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return False
        if "has no document" in errors:
            return True  # the previous run was killed after its work was done
        if process.returncode:
            raise RuntimeError(f"{command[0]} ended with code {process.returncode}: {errors}")
        return True

    def seconds(self, *command: object) -> float:
        """Return how long a command takes without a kill."""
        began = time.perf_counter()
        self.run(*command)
        return time.perf_counter() - began

    def kill_until_done(
        self, index: Path, start_s: float, whole_s: float, most: int, *command: object
    ) -> None:
        """Start a command and kill it, up to `most` times, until it ends.

        Args:
            index: folder that the command writes.
            start_s: seconds until the command begins to work.
            whole_s: seconds of a run without a kill.
            most: maximum number of kills.
            command: arguments of `polygraph`.
        """
        kept = stored(index)
        kills = 0
        while True:
            last = kills >= most
            # Early rather than late, because a resumed command has less and less to do.
            part = self.chance.random() ** 2
            after = None if last else start_s + part * max(0.2, whole_s - start_s)
            begun = len(self.server.log)
            done = self.run(*command, kill_after_s=after)
            # What the killed process had sent may not have been read by the server yet.
            if not self.server.wait_for_clients(60.0):
                raise RuntimeError("the killed process is still connected")
            log = self.server.log
            self.tally.paid_twice += sum(key_of(entry) in kept for entry in log[begun:])
            now = stored(index)
            kept = now
            # Calls of this run that reached the server but not the store.
            lost = sum(key_of(entry) not in now for entry in log[begun:])
            self.tally.lost += lost
            self.tally.most_lost = max(self.tally.most_lost, lost)
            if done:
                return
            kills += 1
            self.tally.kills += 1
            self.tally.resumes += 1


def compare(name: str, found: Path, wanted: Path, tally: Tally) -> None:
    """Record the tables that differ."""
    ours, theirs = tables(found), tables(wanted)
    tally.different += [f"{name}: {table}" for table in TABLES if ours[table] != theirs[table]]
    if derived(found) != derived(wanted):
        tally.different.append(f"{name}: files")
    tally.rounds += 1


def run(
    place: Path, kills: int, *, seed: int = 0, documents: int = 32, per_round: int = 8
) -> dict[str, Tally]:
    """Kill `index` and `remove` a number of times.

    Args:
        place: an empty folder.
        kills: of `index`; `remove` is killed a third as often.
        seed: of the moments.
        documents: size of the corpus.
        per_round: kills before a command may end and the index is compared.

    Returns:
        Counts by command.
    """
    papers = corpus(place / "papers", documents)
    gone = [f"{i:03}.txt" for i in range(0, documents, 6)]
    with ScriptedServer(chat=scripted_chat(), latency_s=LATENCY_S) as server:
        killer = Killer(server, seed)
        whole = place / "whole"
        whole_s = killer.seconds("index", papers, "--index", whole)
        least = len(server.log)
        # With nothing to do, most of the time is start-up.
        start_s = 0.8 * killer.seconds("index", papers, "--index", whole)
        removed = copy(whole, place / "removed")
        remove_s = killer.seconds("remove", *gone, "--index", removed)
        assert len(server.log) == least
        index_tally, remove_tally = killer.tally, Tally()
        n = 0
        while index_tally.kills < kills or remove_tally.kills < kills // 3:
            target = place / f"round{n}"
            if index_tally.kills < kills:
                killer.tally = index_tally
                before = len(server.log)
                left = kills - index_tally.kills
                killer.kill_until_done(
                    target, start_s, whole_s, min(per_round, left), "index", papers, "--index", target
                )
                index_tally.calls += len(server.log) - before
                index_tally.least += least
                compare("index", target, whole, index_tally)
            else:
                copy(whole, target)
            if remove_tally.kills < kills // 3:
                killer.tally = remove_tally
                before = len(server.log)
                left = kills // 3 - remove_tally.kills
                # `remove` takes little longer than its start, which varies with the load of the machine.
                begins_s = min(start_s, 0.5 * remove_s)
                killer.kill_until_done(
                    target, begins_s, remove_s, min(per_round, left), "remove", *gone, "--index", target
                )
                remove_tally.calls += len(server.log) - before
                compare("remove", target, removed, remove_tally)
            shutil.rmtree(target)
            n += 1
            print(
                f"{index_tally.kills} and {remove_tally.kills} kills in {n} rounds",
                file=sys.stderr,
                flush=True,
            )
    return {"index": index_tally, "remove": remove_tally}


def copy(index: Path, target: Path) -> Path:
    shutil.copytree(index, target)
    return target


def table(found: dict[str, Tally]) -> str:
    """Return the counts as a table."""
    columns = ("kills", "rounds", "calls", "least", "lost", "most_lost", "paid_twice")
    lines = ["| command | " + " | ".join(columns) + " | different |", "|---" * (len(columns) + 2) + "|"]
    for name, tally in found.items():
        cells = [str(getattr(tally, column)) for column in columns]
        different = ", ".join(f"{k} ({n})" for k, n in sorted(Counter(tally.different).items())) or "none"
        lines.append(f"| {name} | {' | '.join(cells)} | {different} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, default=32)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        found = run(Path(place), options.kills, seed=options.seed, documents=options.documents)
    print(table(found))
    print(f"{time.perf_counter() - began:.0f} s, at most {CONCURRENCY} calls in flight")
    if not all(tally.sound for tally in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
