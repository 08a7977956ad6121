"""Own cost of an index and of questions, with a scripted endpoint for replies and vectors.

    python benchmarks/overhead.py [--tokens 60000 600000] [--latency 0 0.2] [--other OTHER/src [--in-turn]]

No model runs, so what is measured is Polygraph's work: CPU seconds, peak memory and wall time of `Index.add` with
every layer, and CPU milliseconds of a question, the median of `--questions` after the first. A question is asked
through Python (`Index.ask`) and over HTTP: `polygraph serve` answers ``POST /v1/chat/completions``, and the CPU is that
of the server's process, all its threads included, read from the clock that Linux has for each process. The endpoint is
a process of its own on loopback. Each index and each method runs in a fresh process; its start counts for the index and
not for the questions. No question is asked twice, since replies and vectors are kept. `--other` names the `src` folder
of another state of the code, which is measured in turn with this one; `--in-turn` asks each question of servers of both
states, and prints the medians before and now and the median of the ratios. Indexes that are in the `--work` folder
already are only asked, which needs another `--seed`. Models write several claims, which are no sentences of the
evidence, so that the check of citations compares them: with `--claims 6` the endpoint does, too.

The text is generated from a seed: names follow the law of Zipf over a vocabulary that grows as in real text
(Heaps, 0.6), about one for twelve words. The chain of calls is what the wall time must be at least: calls of a
stage wait for those of the stages that they read, `--concurrency` at once, each `--latency` seconds, within which the
endpoint prepares its reply.
"""

import argparse
import compileall
import hashlib
import http.client
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPENING = 6
"""Questions in which a server opens the index, and makes what it keeps for others."""
METHODS = ("hybrid", "walk", "graphrag-local", "hipporag", "lightrag-mix", "fast-graphrag")
SOURCE = Path(__file__).resolve().parents[1] / "src"
_SYLLABLES = (
    "mar",
    "tob",
    "ska",
    "wren",
    "hal",
    "cy",
    "or",
    "lin",
    "dun",
    "ve",
    "qui",
    "pen",
    "gar",
    "ness",
    "ash",
    "by",
    "ro",
    "del",
    "fin",
    "mu",
    "sta",
    "tor",
)
_VERBS = (
    "met",
    "paid",
    "followed",
    "visited",
    "warned",
    "married",
    "taught",
    "served",
    "left",
    "found",
    "wrote",
    "carried",
    "helped",
    "sold",
)
_PLACES = (
    "harbour",
    "market",
    "valley",
    "court",
    "mill",
    "church",
    "garden",
    "road",
    "house",
    "bridge",
    "tower",
    "field",
    "library",
)
_TOKENS_PER_WORD = 1.35


def name_of(rank: int) -> str:
    """Return the name of a rank: two words, distinct for each rank."""
    syllables, rest = [], rank + 500
    while rest:
        rest, digit = divmod(rest, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    first = _SYLLABLES[rank * 7 % len(_SYLLABLES)] + _SYLLABLES[rank * 5 % 19]
    return f"{first.title()} {''.join(syllables).title()}"


def pick_name(chance: random.Random, n_words: int) -> str:
    """Return a name by Zipf's law among those that a text of this length has."""
    n_names = max(20, int(2.5 * n_words**0.6))
    return name_of(int(n_names ** chance.random()))


def sentence(chance: random.Random, n_words: int) -> str:
    """Return a sentence of about twenty words with two names, at times three."""
    common = [f"{chance.choice(_PLACES)}{chance.choice(('', 's', 'side', 'less'))}" for _ in range(6)]
    first, second = pick_name(chance, n_words), pick_name(chance, n_words)
    text = f"In the {common[0]} of the old {common[1]} {first} {chance.choice(_VERBS)} {second}"
    text += f" near the {common[2]} and the {common[3]} for {chance.randrange(2, 900)} days"
    if chance.random() < 0.3:
        text += f" with the {common[4]} of {pick_name(chance, n_words)}"
    return text + "."


def write_text(folder: Path, n_tokens: int, *, seed: int = 0) -> None:
    """Write files of about 2,000 tokens each."""
    folder.mkdir(parents=True)
    n_words, written, number = int(n_tokens / _TOKENS_PER_WORD), 0, 0
    chance = random.Random(seed)
    while written < n_words:
        paragraphs, words = [], 0
        while words < min(1500, n_words - written):
            paragraph = " ".join(sentence(chance, n_words) for _ in range(5))
            paragraphs.append(paragraph)
            words += len(paragraph.split())
        (folder / f"{number:05}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
        written, number = written + words, number + 1


def questions(n_tokens: int, n: int, seed: str) -> list[str]:
    """Return questions about names of the text, other ones for each seed."""
    chance, n_words = random.Random(seed), int(n_tokens / _TOKENS_PER_WORD)
    return [
        f"What did {pick_name(chance, n_words)} do with {pick_name(chance, n_words)} at the {chance.choice(_PLACES)}?"
        for _ in range(n)
    ]


class WordHashes:
    """Vectors of 1,536 dimensions, as common endpoints have: each word adds 8 of them, chosen by its hash."""

    name, dimension, max_tokens, local = "hash", 1536, 8000, True

    def embed(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:  # noqa: ARG002  one way for all kinds
        """Return unit vectors."""
        places = [
            [p for word in re.findall(r"\w+", text.lower()) for p in _places(word)] or [0] for text in texts
        ]
        rows = np.stack([np.bincount(each, minlength=self.dimension) for each in places]).astype(np.float32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the words of each text."""
        return [text.count(" ") + 1 for text in texts]


@lru_cache(maxsize=200_000)
def _places(word: str) -> list[int]:
    digest = hashlib.sha256(word.encode()).digest()
    return [int.from_bytes(digest[n : n + 2], "little") % WordHashes.dimension for n in range(0, 16, 2)]


def serve(pipe: Connection, n_claims: int) -> None:
    """Run the endpoint; on ``latency`` set it, on ``calls`` return what was called since."""
    from polygraph.models.providers.scripted_server import ScriptedServer
    from polygraph.testing import scripted_chat

    chat = scripted_chat()
    if n_claims:
        chat.replies["answer"] = claims(n_claims)
    with ScriptedServer(chat=chat, embedder=WordHashes()) as server:
        pipe.send(server.base_url)
        seen = 0
        while True:
            latency = pipe.recv()
            server.latency_s = latency if latency is not None else server.latency_s
            log = server.log
            calls = Counter(call.task or "embedding" for call in log[seen:])
            seen = len(log)
            pipe.send(dict(calls))


def claims(n: int) -> Callable[[Any], str]:
    """Return a script that answers with `n` claims about the first piece of evidence, each of two of its sentences."""
    from polygraph.testing.scripts.prompt_reading import blocks, fenced, last_turn
    from polygraph.text.sentences import sentence_spans

    def reply(request: Any) -> str:
        number, text = next(iter(blocks(fenced(last_turn(request), "evidence"))))
        said = [" ".join(text[start:end].split()).rstrip(".") for start, end in sentence_spans(text)]
        pairs = itertools.islice(itertools.pairwise(itertools.cycle(said)), n)
        return " ".join(f"{first}; {second} [{number}]." for first, second in pairs)

    return reply


def usage_s() -> float:
    """Return the CPU seconds of this process and its children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def settings(url: str, concurrency: int) -> dict[str, Any]:
    """Return the settings of an index that has the endpoint for everything."""
    return {
        "base_url": url,
        "api_key": "none",
        "chat_model": "scripted",
        "concurrency": concurrency,
        "prices": {},
        "embedder": "endpoint:hash",
        "name_embedder": "endpoint:hash",
        "reranker": "none",
    }


def run_index(folder: Path, texts: Path, url: str, concurrency: int) -> dict[str, Any]:
    """Index the texts with every layer, in this process."""
    from polygraph import Index

    with Index.open(folder, **settings(url, concurrency)) as index:
        report = index.add(texts, extractor="llm")
    peak_kb = max(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "cpu_s": usage_s(),
        "peak_mb": peak_kb / 1024,
        "layers": {name: round(seconds, 2) for name, seconds in report.built.items()},
        "counts": dict(report.counts),
    }


def run_questions(folder: Path, method: str, url: str, asked: list[str]) -> dict[str, Any]:
    """Ask questions by one method, in this process; the first one, which opens the index, is shown by itself."""
    from polygraph import Index

    milliseconds, wall = [], []
    with Index.open(folder, **settings(url, 16)) as index:
        for question in asked:
            cpu, clock = time.process_time(), time.perf_counter()
            index.ask(question, method=method)
            milliseconds.append(1000 * (time.process_time() - cpu))
            wall.append(time.perf_counter() - clock)
    return {
        "first_ms": milliseconds[0],
        "cpu_ms": statistics.median(milliseconds[1:]),
        "wall_s": statistics.median(wall[1:]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def environment(source: Path) -> dict[str, str]:
    """Return the variables of a process with the code of a folder: without settings, keys and proxies."""
    unwanted = ("POLYGRAPH_", "OPENAI_", "PYTHONDONTWRITE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "PYTHONPATH": str(source), "NO_PROXY": "127.0.0.1"}


class Served:
    """An index that `polygraph serve` answers from, in a process of its own."""

    def __init__(self, folder: Path, url: str, source: Path | None = None) -> None:
        given = {"POLYGRAPH_SERVER_TOKENS": f"ask read {'0' * 32}"}
        given |= {f"POLYGRAPH_{name.upper()}": str(value) for name, value in settings(url, 16).items()}
        given |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        kept = environment(source) if source else os.environ
        command = [sys.executable, "-m", "polygraph", "serve", "--index", f"it={folder}", "--port", "0"]
        self._process = subprocess.Popen(command, env={**kept, **given}, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        address = self._process.stdout.readline().split(" at ")[1].strip()
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"))
        # clock_getcpuclockid(3): the clock of a process is its number, inverted, and 2 for all of its threads.
        self._clock = (~self._process.pid << 3) | 2

    def ask(self, question: str, method: str) -> tuple[float, float]:
        """Return the CPU milliseconds of the server and the seconds that pass."""
        headers = {"authorization": f"Bearer {'0' * 32}", "content-type": "application/json"}
        body = {"model": f"polygraph/it/{method}", "messages": [{"role": "user", "content": question}]}
        cpu, clock = time.clock_gettime(self._clock), time.perf_counter()
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        response = self._connection.getresponse()
        reply = json.loads(response.read())
        if response.status != 200:
            raise SystemExit(f"{method}: {reply}")
        return 1000 * (time.clock_gettime(self._clock) - cpu), time.perf_counter() - clock

    def peak_mb(self) -> float:
        """Return the peak of its memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024

    def close(self) -> None:
        """End the server."""
        self._connection.close()
        self._process.terminate()
        self._process.communicate()


def serve_questions(folder: Path, method: str, url: str, asked: list[str]) -> dict[str, Any]:
    """Ask questions by one method over HTTP, of a server in a process of its own."""
    server = Served(folder, url)
    found = [server.ask(question, method) for question in asked]
    peak_mb = server.peak_mb()
    server.close()
    return {
        "first_ms": found[0][0],
        "cpu_ms": statistics.median(milliseconds for milliseconds, _ in found[1:]),
        "wall_s": statistics.median(wall for _, wall in found[1:]),
        "peak_mb": peak_mb,
    }


def compare_questions(
    folders: dict[str, Path], states: dict[str, Path], method: str, url: str, asked: list[str]
) -> tuple[str, str, str]:
    """Ask each question of the servers of two states one after the other, and return cells of a table.

    What else the machine does falls on both alike, so that the median of the ratios is steadier than the medians.
    The first questions open the index and make what is kept: they do not count.
    """
    servers = [Served(folders[state], url, source) for state, source in states.items()]
    now, before = [], []
    for n, question in enumerate(asked):
        times = [0.0, 0.0]
        for i in (n % 2, 1 - n % 2):
            times[i] = servers[i].ask(question, method)[0]
        now.append(times[0])
        before.append(times[1])
    for server in servers:
        server.close()
    now, before = now[_OPENING:], before[_OPENING:]
    ratio = statistics.median(new / old for new, old in zip(now, before, strict=True))
    medians = f"{statistics.median(before):.1f} to {statistics.median(now):.1f} ms"
    return f"`{method}`, HTTP", medians, f"{ratio:.2f}"


def child(source: Path, *given: str) -> dict[str, Any]:
    """Run a part in a fresh process with the code of a folder, and return what it prints and its wall time."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--part", *given],
        env=environment(source),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return {"wall_s": time.perf_counter() - started, **json.loads(done.stdout.splitlines()[-1])}


def part(given: list[str]) -> None:
    """Run what `child` asks for and print the result as JSON."""
    kind, folder, *rest = given
    if kind == "index":
        result = run_index(Path(folder), Path(rest[0]), rest[1], int(rest[2]))
    else:
        ask = run_questions if kind == "ask-Python" else serve_questions
        result = ask(Path(folder), rest[0], rest[1], json.loads(rest[2]))
    print(json.dumps(result))


def chain_s(calls: dict[str, int], latency_s: float, concurrency: int) -> float:
    """Return the time that calls of an index must take: by stage, or by their number if that is more.

    Extraction comes first, and decides which names are compared; lists of names decide which pairs are asked about.
    Descriptions and reports read what extraction found, and the vectors of each come after it. All other vectors fit
    beside.
    """
    extract, lists, same, describe, report = (
        -(-calls.get(task, 0) // concurrency)
        for task in ("extract", "suggest_same", "same", "describe", "report")
    )
    rounds = extract + lists + same + max(describe, report) + 1
    return latency_s * max(rounds, math.ceil(sum(calls.values()) / concurrency))


def measure(given: argparse.Namespace, pipe: Connection, url: str, work: Path) -> Iterator[str]:
    """Measure each state of the code in turn and yield the lines of the tables."""
    states = {"now": SOURCE, **({"before": given.other} if given.other else {})}
    for source in states.values():
        # As an installation does.
        compileall.compile_dir(source, quiet=1)
    for n_tokens in given.tokens:
        texts = work / f"texts-{n_tokens}"
        if not texts.exists():
            write_text(texts, n_tokens)
        for state, source in states.items():
            folder = work / f"{state}-{n_tokens}"
            for latency in given.latency:
                target = folder.with_name(f"{folder.name}-{latency:g}")
                if target.exists():
                    continue
                pipe.send(latency)
                pipe.recv()
                found = child(source, "index", str(target), str(texts), url, str(given.concurrency))
                pipe.send(None)
                calls = pipe.recv()
                cells = [f"{found['cpu_s']:.2f} s", f"{found['peak_mb']:.0f}", f"{found['wall_s']:.1f} s"]
                cells += [f"{chain_s(calls, latency, given.concurrency):.1f} s", f"{sum(calls.values())}"]
                yield row(n_tokens, f"index, {1000 * latency:.0f} ms", state, *cells)
                if given.verbose:
                    print(json.dumps({**found, "calls": calls}), flush=True)
        pipe.send(given.question_latency)
        pipe.recv()
        if given.in_turn:
            folders = {state: work / f"{state}-{n_tokens}-{given.latency[0]:g}" for state in states}
            for method in given.methods:
                asked = questions(n_tokens, given.questions + _OPENING, f"{given.seed} {method} in turn")
                what, cpu, ratio = compare_questions(folders, states, method, url, asked)
                yield row(n_tokens, what, "before to now", f"{cpu}, ratio {ratio}", "", "", "", "")
            continue
        for method, way in itertools.product(given.methods, ("Python", "HTTP")):
            asked = questions(n_tokens, given.questions + 1, f"{given.seed} {method} {way}")
            for state, source in states.items():
                target = work / f"{state}-{n_tokens}-{given.latency[0]:g}"
                found = child(source, f"ask-{way}", str(target), method, url, json.dumps(asked))
                pipe.send(None)
                calls = pipe.recv()
                cells = [f"{found['cpu_ms']:.1f} ms, first {found['first_ms']:.0f}"]
                cells += [f"{found['peak_mb']:.0f}", f"{1000 * found['wall_s']:.0f} ms", ""]
                yield row(
                    n_tokens, f"`{method}`, {way}", state, *cells, f"{sum(calls.values()) / len(asked):.1f}"
                )


def row(*cells: object) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=[60_000, 600_000])
    parser.add_argument(
        "--latency", type=float, nargs="+", default=[0.0, 0.2], help="seconds of a call of an index"
    )
    parser.add_argument("--question-latency", type=float, default=0.0, help="seconds of a call of a question")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--questions", type=int, default=20, help="by each method; 0: only index")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument(
        "--claims", type=int, default=0, help="claims of an answer; by default it quotes two sentences"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the questions")
    parser.add_argument("--other", type=Path, help="src folder of another state of the code")
    parser.add_argument("--in-turn", action="store_true", help="ask each question of both states, over HTTP")
    parser.add_argument("--work", type=Path, help="a folder, which is kept")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--part", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        part(given.part)
        return
    if given.in_turn and not given.other:
        parser.error("--in-turn needs --other, with which this state is compared")
    if not given.questions:
        given.methods = []
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    endpoint = spawn.Process(target=serve, args=(theirs, given.claims), daemon=True)
    endpoint.start()
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        columns = ["tokens", "what", "state", "CPU", "peak MB", "wall", "chain of calls", "calls"]
        print(row(*columns))
        print(row(*["---"] * len(columns)))
        for line in measure(given, ours, ours.recv(), work):
            print(line, flush=True)
    endpoint.kill()


if __name__ == "__main__":
    main()
