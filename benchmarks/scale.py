"""How cost grows with the corpus: CPU, memory and disk of each layer, opening, and CPU of a question by every method.

    python benchmarks/scale.py --work DIR [--passages 3000 10000 30000] [--methods NAME ...]
    python benchmarks/scale.py --work DIR --text DATA/2wiki/corpus.jsonl.gz
    python benchmarks/scale.py --work DIR --text DATA/2wiki/corpus.jsonl.gz --recall DATA/2wiki/questions.jsonl
    python benchmarks/scale.py --work DIR --fit

No model runs: vectors are hashed spelling (256 numbers), entities are names by their capitals, and the words between
two names of a sentence are a relation, all in one process with one thread of BLAS, so that what is measured is
Polygraph's own work. The synthetic text is that of `overhead.py`: names by
the law of Zipf over a vocabulary that grows with the text (Heaps, 0.6), ten passages of about 70 words a document,
whose title is one of these names. `--text` takes real passages instead and repeats them until there are enough;
in each repetition half of the names are other names.

Each index stays in DIR and is used again; an index that was interrupted is continued. `build.jsonl` beside it has a
line for each layer. A layer that was interrupted shows what its last run took. `--fit` fits a power law to CPU, memory
and disk of each layer at all sizes in DIR, by least squares over logarithms, and a fixed part with one in proportion to
the passages to the CPU of questions, says by how much the fit without the largest size misses it, and reckons on to 100
million passages.

`--recall` searches the layers of DIR that have codes for the first 60 questions of a file: how many of the nearest rows
approximate search finds, ties included, and its CPU.

Retrieval is what a question costs here (`Index.retrieve`): no answer is written. It is the median of `--questions`
questions after the first, in a process of its own for each method. `private` memory is what the process does not share
with the file system; `resident` includes the mapped parts of files.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from overhead import pick_name, row, sentence

METHODS = (
    "bm25", "naive", "hybrid", "walk", "hipporag", "fast-graphrag", "graphrag-local", "lightrag-local",
    "lightrag-global", "lightrag-mix", "kg-triplets", "kg-text", "fg-rag", "rograg", "rograg-dual", "rograg-logic",
    "graft", "graph-cot", "rq-rag", "graphrag-drift", "graphrag-global",
)  # fmt: skip
"""All of `polygraph methods` but those that only combine others."""
_SIZES = (3_000, 10_000, 30_000)
_PER_DOCUMENT = 10
_SENTENCES = 3
_WORDS = 68
"""Of a passage, about."""
_DOCUMENTS_PER_FILE = 2_000
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")
"""A word with a capital inside of a sentence."""
_NAMES = re.compile(r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_SENTENCE_END = re.compile(r"[.!?]\s+|\n\n")


# --- corpora ------------------------------------------------------------------------------------------


def synthetic(n_passages: int) -> Iterator[dict[str, str]]:
    """Yield documents of ten passages."""
    n_words = n_passages * _WORDS
    for number in range(math.ceil(n_passages / _PER_DOCUMENT)):
        chance = random.Random(number)
        passages = [
            " ".join(sentence(chance, n_words) for _ in range(_SENTENCES))
            for _ in range(min(_PER_DOCUMENT, n_passages - number * _PER_DOCUMENT))
        ]
        yield {"id": f"d{number:07}", "title": pick_name(chance, n_words), "text": "\n\n".join(passages)}


def repeated(path: Path, n_passages: int) -> Iterator[dict[str, str]]:
    """Yield real passages, each a document; from the second repetition on half of the names are others."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8") as file:
        passages = [json.loads(line) for line in file]
    for number in range(n_passages):
        again, place = divmod(number, len(passages))
        passage = passages[place]
        title, text = (_renamed(passage.get(field) or "", again) for field in ("title", "text"))
        yield {"id": f"d{number:07}", "title": title, "text": text}


def _renamed(text: str, again: int) -> str:
    def other(match: re.Match[str]) -> str:
        digest = hashlib.blake2b(f"{again} {match.group()}".encode(), digest_size=8).digest()
        return (
            match.group() + "aeiou"[digest[1] % 5] + "nrlst"[digest[2] % 5]
            if digest[0] % 2
            else match.group()
        )

    return _NAME.sub(other, text) if again else text


def write_corpus(folder: Path, n_passages: int, text: Path | None) -> None:
    """Write a corpus as JSON lines, one document each, unless it is there."""
    if folder.is_dir():
        return
    parts = folder.with_name(f"{folder.name}.part")
    parts.mkdir(parents=True, exist_ok=True)
    documents = synthetic(n_passages) if text is None else repeated(text, n_passages)
    lines: list[str] = []
    number = 0
    for document in documents:
        lines.append(json.dumps(document, ensure_ascii=False) + "\n")
        if len(lines) == _DOCUMENTS_PER_FILE:
            (parts / f"{number:05}.jsonl").write_text("".join(lines), encoding="utf-8")
            lines, number = [], number + 1
    if lines:
        (parts / f"{number:05}.jsonl").write_text("".join(lines), encoding="utf-8")
    parts.rename(folder)


def asked(folder: Path, n: int) -> list[str]:
    """Return questions about names of a corpus: two names of one document each."""
    chance = random.Random(7)
    files = sorted(folder.glob("*.jsonl"))
    found: list[str] = []
    while len(found) < n:
        with chance.choice(files).open(encoding="utf-8") as file:
            lines = file.readlines()
        for line in chance.sample(lines, min(5, len(lines))):
            names = list(
                dict.fromkeys(re.findall(r"(?<=[a-z,;] )[A-Z]\w+(?: [A-Z]\w+)*", json.loads(line)["text"]))
            )
            if len(names) >= 2 and len(found) < n:
                a, b = chance.sample(names, 2)
                found.append(f"What did {a} do with {b} at the harbour?")
    return found


# --- measuring, in processes of their own -------------------------------------------------------------


def peak_mb() -> float:
    """Return the peak memory since the last call (Linux; elsewhere the peak so far)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak


def memory_mb() -> dict[str, float]:
    """Return the private and the resident memory of this process (Linux)."""
    found = {}
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        for name, field in (("private_mb", "RssAnon:"), ("resident_mb", "VmRSS:")):
            if line.startswith(field):
                found[name] = int(line.split()[1]) / 1024
    return found


def disk_mb(folder: Path) -> float:
    """Return the size of all files of a folder."""
    sizes = []
    for path in folder.rglob("*"):
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return sum(sizes) / 2**20


class Clock:
    """Replaces the clock that a build reads when a layer begins and when it ends; writes a line for each."""

    def __init__(self, folder: Path, lines: Path) -> None:
        self.folder, self.lines = folder, lines
        self.began: tuple[float, float, float] | None = None
        peak_mb()

    def perf_counter(self) -> float:
        """Return CPU seconds."""
        now = (time.process_time(), time.perf_counter(), disk_mb(self.folder))
        if self.began is None:
            self.began = now
        else:
            cpu, wall, disk = (b - a for a, b in zip(self.began, now, strict=True))
            line = {"cpu_s": cpu, "wall_s": wall, "disk_mb": disk, "peak_mb": peak_mb()}
            with self.lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: round(value, 3) for name, value in line.items()}) + "\n")
            self.began = None
        return now[0]


def models(folder: Path) -> Any:
    """Return hashed vectors, and no other model."""
    from polygraph.models import Calls, Models
    from polygraph.models.providers.static import HashEmbedder

    embedder = HashEmbedder()
    folder.mkdir(parents=True, exist_ok=True)
    calls = Calls(folder / "calls.sqlite")
    return Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=calls)


def extract(windows: Sequence[Any], **_: Any) -> Iterator[Any]:
    """Extract names, and as a relation of two that follow each other in a sentence the words between them."""
    from polygraph.extract.locate import ChunkMap
    from polygraph.records import EntityRow, Extraction, RelationRow
    from polygraph.text.words import STOP_WORDS

    for window in windows:
        places = ChunkMap(window)
        spans: dict[str, list[tuple[int, int]]] = {}
        said: dict[str, str] = {}
        relations: list[Any] = []
        begin = 0
        for sentence_end in [*(m.end() for m in _SENTENCE_END.finditer(window.text)), len(window.text)]:
            text = window.text[begin:sentence_end].strip()
            before = None
            for name in _NAMES.finditer(window.text, begin, sentence_end):
                if name.group().casefold() in STOP_WORDS:
                    continue
                spans.setdefault(name.group(), []).append(name.span())
                said.setdefault(name.group(), text)
                if before is not None and before.group() != name.group():
                    between = window.text[before.end() : name.start()].split()
                    predicate = " ".join(between) if 0 < len(between) <= 4 else ""
                    relations.append(
                        RelationRow(
                            source=before.group(),
                            target=name.group(),
                            predicate=predicate.lower().strip(" ,;"),
                            description=text,
                            strength=1.0 if predicate else 0.3,
                            chunks=tuple(places.chunks_at(name.start())),
                        )
                    )
                before = name
            begin = sentence_end
        entities = [
            EntityRow(name=name, description=said[name], spans=places.spans(found))
            for name, found in spans.items()
        ]
        yield Extraction(window=window.id, entities=tuple(entities), relations=tuple(relations))


def run_index(place: Path) -> dict[str, Any]:
    """Index a corpus with every layer."""
    from polygraph.indexing import build, extraction
    from polygraph.workspace.index import Index

    extraction._without_model = lambda _: extract  # type: ignore[assignment]
    # One layer after the other, so that each has its own figures.
    build._MANY = sys.maxsize
    folder, lines = place / "index", place / "build.jsonl"
    began, wall = time.process_time(), time.perf_counter()
    clock = build.time = Clock(folder, lines)  # type: ignore[attr-defined,assignment]
    clock.perf_counter()
    with Index.open(
        folder, models=models(folder), chunk_tokens=90, window_tokens=360, processes=1, extractor="nlp"
    ) as index:
        before = build.build

        def after_documents(*args: Any, **kwargs: Any) -> Any:
            clock.perf_counter()
            return before(*args, **kwargs)

        from polygraph.indexing import maintain

        maintain.build = after_documents  # type: ignore[attr-defined]
        report = index.add(place / "corpus")
    return {
        "cpu_s": time.process_time() - began,
        "wall_s": time.perf_counter() - wall,
        "disk_mb": disk_mb(folder),
        "counts": dict(report.counts),
        "layers": ["documents", *report.built],
    }


def run_open(place: Path) -> dict[str, Any]:
    """Open an index, as for the first question."""
    from polygraph.workspace.index import Index

    opened = models(place / "index")
    cpu, wall = time.process_time(), time.perf_counter()
    index = Index.open(place / "index", models=opened)
    layers = index.snapshot().layers
    found = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "layers": len(layers)}
    index.close()
    return {**found, **memory_mb()}


def run_questions(place: Path, method: str, n: int) -> dict[str, Any]:
    """Retrieve for questions by one method."""
    from polygraph.workspace.index import Index

    questions = asked(place / "corpus", n + 1)
    ms: list[float] = []
    digest = hashlib.blake2b(digest_size=8)
    with Index.open(place / "index", models=models(place / "index")) as index:
        for question in questions:
            cpu = time.process_time()
            found = index.retrieve(question, method)
            ms.append(1000 * (time.process_time() - cpu))
            digest.update(repr((found.ranking, found.context, found.trace)).encode("utf-8", "replace"))
        memory = memory_mb()
    return {
        "first_ms": ms[0],
        "cpu_ms": statistics.median(ms[1:]),
        "most_ms": max(ms[1:]),
        "found": digest.hexdigest(),
        **memory,
    }


# --- the whole ----------------------------------------------------------------------------------------


def child(*given: str) -> dict[str, Any]:
    """Run a part in a process of its own and return what it prints."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("POLYGRAPH_", "OPENAI_"))}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, __file__, "--part", *given],
        env={**kept, **threads},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def part(given: Sequence[str]) -> dict[str, Any]:
    """Run what `child` asks for."""
    kind, place, *rest = given
    if kind == "index":
        return run_index(Path(place))
    if kind == "open":
        return run_open(Path(place))
    return run_questions(Path(place), rest[0], int(rest[1]))


def place_of(given: argparse.Namespace, n: int) -> Path:
    kind = "synthetic" if given.text is None else given.text.parent.name or given.text.stem
    found: Path = given.work / f"{kind}-{n}"
    return found


def built(place: Path) -> dict[str, Any]:
    """Index a corpus unless it is done, and return what each layer took."""
    result = place / "result.json"
    if not result.is_file():
        found = child("index", str(place))
        lines = [json.loads(line) for line in (place / "build.jsonl").read_text().splitlines()]
        if len(lines) == len(found["layers"]):
            found["stages"] = dict(zip(found["layers"], lines, strict=True))
        result.write_text(json.dumps(found), encoding="utf-8")
    read: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return read


def measure(given: argparse.Namespace) -> None:
    """Index and ask at each size, and print a table of both."""
    columns: dict[int, dict[str, Any]] = {}
    for n in given.passages:
        place = place_of(given, n)
        write_corpus(place / "corpus", n, given.text)
        found = built(place)
        print(
            n,
            json.dumps({name: found[name] for name in ("cpu_s", "wall_s", "disk_mb", "counts")}),
            flush=True,
        )
        # The first reader after a change compares all pages with their checksums.
        checked, opened = child("open", str(place)), child("open", str(place))
        opened["checked_s"] = checked["wall_s"]
        print(n, "open", json.dumps(opened), flush=True)
        (place / "open.json").write_text(json.dumps(opened), encoding="utf-8")
        kept = place / "questions.json"
        questions = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        for method in given.methods:
            questions[method] = child("ask", str(place), method, str(given.questions))
            print(n, method, json.dumps(questions[method]), flush=True)
            kept.write_text(json.dumps(questions), encoding="utf-8")
        columns[n] = {**found, "open": opened, "questions": questions}
    print_tables(columns, given.methods)


def print_tables(columns: dict[int, dict[str, Any]], methods: Sequence[str]) -> None:
    """Print what building and asking took, a column for each size."""
    sizes = list(columns)
    print(row("CPU s, peak MB, disk MB", *sizes))
    print(row(*["---"] * (len(sizes) + 1)))
    stages: dict[str, Any] = next((columns[n]["stages"] for n in sizes if "stages" in columns[n]), {})
    for stage in stages:
        cells = []
        for n in sizes:
            took = columns[n].get("stages", {}).get(stage)
            cells.append(f"{took['cpu_s']:.1f}, {took['peak_mb']:.0f}, {took['disk_mb']:.0f}" if took else "")
        print(row(stage, *cells))
    print(row("all", *(f"{columns[n]['cpu_s']:.0f}, , {columns[n]['disk_mb']:.0f}" for n in sizes)))
    print(row("opened, CPU ms", *(f"{1000 * columns[n]['open']['cpu_s']:.0f}" for n in sizes)))
    print()
    print(row("CPU ms a question (private MB)", *sizes))
    print(row(*["---"] * (len(sizes) + 1)))
    for method in methods:
        found = [columns[n]["questions"].get(method) for n in sizes]
        print(row(f"`{method}`", *(f"{q['cpu_ms']:.1f} ({q['private_mb']:.0f})" if q else "" for q in found)))


# --- the model of cost --------------------------------------------------------------------------------


def power_law(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Return constant and exponent of the power law through some values, by least squares over logarithms."""
    exponent, constant = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-6)), 1)
    return float(np.exp(constant)), float(exponent)


def series(given: argparse.Namespace) -> dict[str, dict[int, float]]:
    """Read what was measured at each size that is in the folder."""
    found: dict[str, dict[int, float]] = {}
    for place in sorted(given.work.glob(f"{place_of(given, 0).name.rpartition('-')[0]}-*")):
        n = int(place.name.rpartition("-")[2])
        if not (place / "result.json").is_file():
            continue
        result = json.loads((place / "result.json").read_text(encoding="utf-8"))
        found.setdefault("index: CPU s", {})[n] = result["cpu_s"]
        found.setdefault("index: disk MB", {})[n] = result["disk_mb"]
        stages = result.get("stages", {})
        if stages:
            found.setdefault("index: peak MB", {})[n] = max(stage["peak_mb"] for stage in stages.values())
        for name, stage in stages.items():
            if stage["cpu_s"] >= 1:
                found.setdefault(f"{name}: CPU s", {})[n] = stage["cpu_s"]
            if stage["disk_mb"] >= 1:
                found.setdefault(f"{name}: disk MB", {})[n] = stage["disk_mb"]
        for name in ("relations", "entities"):
            found.setdefault(name, {})[n] = result["counts"][name]
        kept = place / "questions.json"
        for method, took in (json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}).items():
            found.setdefault(f"`{method}`: CPU ms", {})[n] = took["cpu_ms"]
    return found


def line(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Return the fixed cost of a question and its cost for each passage, by least squares over relative errors."""
    wanted = np.array(values)
    weighted = np.stack([np.ones(len(sizes)), np.array(sizes, dtype=float)], axis=1) / wanted[:, None]
    fixed, each = np.linalg.lstsq(weighted, np.ones(len(sizes)), rcond=None)[0]
    return float(fixed), float(each)


def fit(given: argparse.Namespace) -> None:
    """Print the law of each series, its error at the largest size if that is left out, and what it reckons.

    Building follows a power law; a question has a fixed cost and one that is in proportion to the passages.
    """
    larger = (1_000_000, 10_000_000, 100_000_000)
    print(row("what", "measured", "law", "largest, left out", *larger))
    print(row(*["---"] * 7))
    for name, measured in series(given).items():
        sizes = sorted(n for n in measured if n >= given.fit_from)
        if len(sizes) < 3:
            continue
        values = [measured[n] for n in sizes]
        if name.endswith("ms"):
            fixed, each = line(sizes[:-1], values[:-1])
            missed = (fixed + each * sizes[-1]) / values[-1] - 1
            fixed, each = line(sizes, values)
            law, reckoned = f"{fixed:.0f} + {1e6 * each:.0f} a million", [fixed + each * n for n in larger]
        else:
            constant, exponent = power_law(sizes[:-1], values[:-1])
            missed = constant * sizes[-1] ** exponent / values[-1] - 1
            constant, exponent = power_law(sizes, values)
            law, reckoned = f"n^{exponent:.2f}", [constant * n**exponent for n in larger]
        cells = [", ".join(f"{v:,.0f}" for v in values), law, f"{missed:+.0%}"]
        print(row(name, *cells, *(f"{value:,.0f}" for value in reckoned)))


def print_recall(given: argparse.Namespace) -> None:
    """Print how many of the nearest rows approximate search finds, of each size and layer."""
    from polygraph.models.providers.static import HashEmbedder
    from polygraph.store.layer_folders import folder_of
    from polygraph.store.snapshot import Snapshot
    from polygraph.store.vectors import VectorIndex

    with given.recall.open(encoding="utf-8") as file:
        texts = [json.loads(line)["question"] for line in islice(file, 60)]
    questions = HashEmbedder().embed(texts, "query")
    print(row("passages", "layer", "rows", "recall@10", "recall@60", "CPU ms"))
    print(row(*["---"] * 6))
    for n in given.passages:
        snapshot = Snapshot(place_of(given, n) / "index")
        for layer in ("chunk_vectors", "entity_vectors", "relation_vectors"):
            vectors = VectorIndex.open(folder_of(snapshot.folder, layer, snapshot.versions[layer]))
            if not vectors.is_approximate(60):
                continue
            exact = VectorIndex(vectors._rows)
            least = [exact.nearest(question, 60).scores for question in questions]
            began = time.process_time()
            found = [vectors.nearest(question, 60).scores for question in questions]
            cpu_ms = 1000 * (time.process_time() - began) / len(found)
            shares = [
                statistics.mean(float(np.mean(a[:k] >= b[k - 1])) for a, b in zip(found, least, strict=True))
                for k in (10, 60)
            ]
            print(row(f"{n:,}", layer, f"{len(vectors):,}", *(f"{s:.3f}" for s in shares), f"{cpu_ms:.1f}"))
        snapshot.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, help="folder of the indexes, which are kept")
    parser.add_argument("--passages", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--text", type=Path, help="JSON lines with title and text, also gzipped")
    parser.add_argument("--questions", type=int, default=15)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--recall", type=Path, help="questions for approximate search, as JSON lines")
    parser.add_argument("--fit", action="store_true", help="fit a model of cost to what is in the folder")
    parser.add_argument(
        "--fit-from", type=int, default=3_000, help="passages of the smallest size that is used"
    )
    parser.add_argument("--part", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(part(given.part)))
        return
    if given.fit:
        fit(given)
    elif given.recall:
        print_recall(given)
    else:
        measure(given)


if __name__ == "__main__":
    main()
