"""Precision of `estimate`: compared with what indexing then takes, against the scripted server over HTTP.

    python benchmarks/estimate.py SHARED_DATA [--pilot 16] [--only NAME] [--reader capitals|phrases] [--slices]

Each corpus is estimated without a pilot, with the profile of the same model in an index of another corpus (the sample
papers; for those, dulce), and with a pilot; then it is indexed, and the figures are compared with what the server
counted. The pilot's own calls are left out on both sides, except those that the build reuses. The error is that of the
middle figure; a star marks an actual figure outside the range. `--reader phrases` answers extraction with the rows of
the parser of English instead of capitalized words: up to 40 entities and 20 relations, most of them common nouns. That
shows how much the estimate depends on a reader like its own.

`--slices` takes the first documents of seven other corpora instead, with a pilot only.
"""

import argparse
import gzip
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from polygraph.extract.nlp import extractor as nlp
from polygraph.indexing.estimate.ranges import Estimate, Range
from polygraph.models.protocols import ChatRequest
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.records import Chunk, Window
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

STAGES = ("extract", "glean", "reports", "chunk_vectors", "resolution", "entity_vectors")
FIGURES = ("calls", "prompt_tokens", "completion_tokens")


def corpora(data: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    yield "dulce", data / "graph-operation-dulce" / "corpus.jsonl", {"window_tokens": 300}
    yield "sample papers", Path(str(files("polygraph") / "sample" / "papers")), {}
    yield "carol", data / "graph-christmas-carol" / "corpus.jsonl", {}
    yield "multihop", data / "multihop-rag" / "corpus.jsonl", {}
    yield "carol, gleaning", data / "graph-christmas-carol" / "corpus.jsonl", {"gleaning": "base"}


SLICES = {
    "lihua": ("lihua-world/corpus.jsonl.gz", slice(60)),
    "novel": ("graphrag-bench-novel/corpus.jsonl.gz", slice(1, 2)),  # the shortest book
    "story": ("odsum-story/corpus.jsonl.gz", slice(50)),
    "multihop": ("multihop-rag/corpus.jsonl", slice(26)),
    "hotpotqa": ("hotpotqa/corpus.jsonl.gz", slice(100)),
    "qmsum": ("qmsum/corpus.jsonl.gz", slice(3)),
    "scifact": ("scifact/corpus.jsonl.gz", slice(60)),
}


def slices(data: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the documents of each slice to a file of its own."""
    for name, (place, some) in SLICES.items():
        path = data / place
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            chosen = list(islice(lines, some.start or 0, some.stop))
        written = folder / f"{name}.jsonl"
        written.write_text("".join(chosen), encoding="utf-8")
        yield name, written


def phrases(request: ChatRequest) -> str:
    """An extractor that writes what the parser of English finds."""
    if not request.messages[-1].content.rstrip().endswith("</document>"):
        return "NONE\nEND"
    text = request.messages[-1].content.rpartition("<document>\n")[2].rpartition("\n</document>")[0]
    whole = Chunk(id="d:0", document="d", ordinal=0, start=0, end=len(text), text=text, n_tokens=1)
    window = Window(id="d@0", document="d", ordinal=0, title="", chunks=(whole,), text=text)
    [found] = nlp.extract([window], processes=1)

    def plain(value: str) -> str:
        return " ".join(value.replace("|", " ").split())

    names = {row.name for row in found.entities[:40]}
    lines = [
        f"entity | {plain(row.name)} | {row.type or 'concept'} | "
        f"{plain(row.name)}, of which it is said: {plain(row.description)[:90]}"
        for row in found.entities[:40]
    ]
    pairs = [r for r in found.relations if r.source in names and r.target in names][:20]
    lines += [
        f"relation | {plain(r.source)} | {plain(r.target)} | {plain(r.predicate) or 'with'} | text | 5 | "
        f"{plain(r.source)} and {plain(r.target)}: {plain(r.description)[:90]}"
        for r in pairs
    ]
    return "\n".join([*lines, "END"])


@contextmanager
def opened(folder: Path, server: ScriptedServer, options: dict[str, Any]) -> Iterator[Index]:
    flags = {"base_url": server.base_url, "api_key": "sk-test", "chat_model": "scripted", "reranker": "none"}
    flags |= {"embedder": "endpoint:scripted-embedder", "name_embedder": "endpoint:scripted-embedder"}
    with Index.open(folder, **flags | options) as index:
        yield index


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--pilot", type=int, default=16)
    parser.add_argument("--only")
    parser.add_argument("--reader", choices=("capitals", "phrases"), default="capitals")
    parser.add_argument("--slices", action="store_true", help="other corpora, with a pilot only")
    options = parser.parse_args()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as temporary:
        if options.slices:
            for name, path in slices(options.data, Path(temporary)):
                if not options.only or options.only == name:
                    place = Path(temporary) / f"{name}.index"
                    run(name, path, {}, options.pilot, place, options.reader, None)
            return
        for name, path, settings in corpora(options.data):
            if not options.only or options.only == name:
                for pilot, known in ((0, False), (0, True), (options.pilot, False)):
                    like = other_index(options, name, Path(temporary)) if known else None
                    place = Path(temporary) / f"{name}-{pilot}-{known}.index"
                    run(name, path, settings, pilot, place, options.reader, like)


def model_of(reader: str) -> ScriptedChat:
    chat = scripted_chat()
    if reader == "phrases":
        chat.replies["extract"] = phrases
    return chat


def other_index(options: argparse.Namespace, name: str, temporary: Path) -> Path:
    """An index of another corpus that the same model has read."""
    other = "dulce" if name == "sample papers" else "sample papers"
    folder = temporary / f"read {other}.index"
    if not folder.exists():
        [(path, settings)] = [(p, s) for n, p, s in corpora(options.data) if n == other]
        with (
            ScriptedServer(chat=model_of(options.reader)) as server,
            opened(folder, server, settings) as index,
        ):
            index.add(path)
    return folder


def run(
    name: str, path: Path, settings: dict[str, Any], pilot: int, folder: Path, reader: str, like: Path | None
) -> None:
    chat = model_of(reader)
    with ScriptedServer(chat=chat) as server, opened(folder, server, settings) as index:
        started = time.perf_counter()
        found = index.estimate(path, pilot=pilot, like=like)
        seconds = time.perf_counter() - started
        before = (server.calls, server.prompt_tokens, server.completion_tokens)
        index.add(path)
        actual = (server.calls, server.prompt_tokens, server.completion_tokens)
        compare = index.status()["estimate"]
        print(
            f"\n## {name}, pilot {pilot} ({before[0]} calls), like {like and like.stem}; "
            f"{found.windows} windows, {found.documents} documents; "
            f"estimated in {seconds:.1f} s"
        )
        show(found, compare, [b - a for a, b in zip(before, actual, strict=True)], index)


def show(found: Estimate, compare: list[dict[str, Any]], whole: list[int], index: Index) -> None:
    counts = index.status()["counts"]
    print(
        f"entities {cell(found.entities, counts['entities'])}, "
        f"communities {cell(found.communities, counts['communities'])}"
    )
    print("| stage | calls | tokens in | tokens out |\n|---|---|---|---|")
    for row in compare:
        if row["calls"] is not None:
            cells = [cell(Range(**row[f]), row["actual"][f]) for f in FIGURES]
            print(f"| {row['stage']} | {' | '.join(cells)} |")
    total = found.total
    cells = [
        cell(r, n)
        for r, n in zip((total.calls, total.prompt_tokens, total.completion_tokens), whole, strict=True)
        if r
    ]
    print(f"| all, as the server counted | {' | '.join(cells)} |", flush=True)
    model = [r for r in compare if r["stage"] in ("extract", "glean", "more_left", "reports") and r["calls"]]
    cells = [
        cell(sum((Range(**r[f]) for r in model), Range(0, 0, 0)), sum(r["actual"][f] for r in model))
        for f in FIGURES
    ]
    print(f"| the language model alone | {' | '.join(cells)} |", flush=True)
    for note in found.notes:
        print("note:", note)


def cell(guess: Range, actual: float) -> str:
    error = f"{100 * (guess.mid - actual) / actual:+.0f}%" if actual else "–"
    mark = "" if guess.low <= actual <= guess.high else " *"
    return f"{guess.mid:,.0f} ({guess.low:,.0f} to {guess.high:,.0f}) / {actual:,.0f}: {error}{mark}"


if __name__ == "__main__":
    main()
