"""Publishing an index and reading it: seconds and bytes, for a change of 1%, and under readers while versions change.

Run:
    python benchmarks/publish.py CORPUS.jsonl --work FOLDER [--url URL]

CORPUS.jsonl has a document a line. Two indexes are built in FOLDER with all layers and local models, the second after a
sentence was added to 1% of the documents; those that are there are used again. URL is an empty place of your own;
without one, a real S3 server starts on loopback, which needs moto and s3fs (`make test-publish` installs them).
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polygraph.config import load_settings
from polygraph.publishing import fetch
from polygraph.publishing.cache import VersionCache
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.publish import Published, publish
from polygraph.publishing.published_index import PublishedIndex
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

VERSIONS = 10
READERS = 16
SHARE = 0.01


def main() -> None:
    """Print a table of seconds and bytes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--url")
    given = parser.parse_args()
    before, after = indexes(given.corpus, given.work)
    # A reader that was closed may still be fetching a version.
    with place(given.url) as url, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        counted = Counted()
        measure(before, after, f"{url}/{uuid.uuid4().hex}", Path(scratch), counted)
        follow(f"{url}/{uuid.uuid4().hex}", Path(scratch))


class Counted:
    """Bytes and requests of everything that is read from a store."""

    def __init__(self) -> None:
        self.bytes = self.requests = 0
        lock, part = threading.Lock(), ObjectStore.part

        def counted(store: ObjectStore, name: str, start: int, end: int) -> bytes:
            found = part(store, name, start, end)
            with lock:
                self.bytes += len(found)
                self.requests += 1
            return found

        ObjectStore.part = counted  # type: ignore[method-assign, assignment]

    def take(self) -> str:
        """Return what was counted since the last call."""
        text = f"{self.bytes / 1e6:8.1f} MB in {self.requests} requests"
        self.bytes = self.requests = 0
        return text


def indexes(corpus: Path, work: Path) -> tuple[Path, Path]:
    """Build the two indexes, unless they are there."""
    work.mkdir(parents=True, exist_ok=True)
    before, after, file = work / "before.index", work / "after.index", work / "corpus.jsonl"
    build = [sys.executable, "-m", "polygraph", "index", str(file), "--offline", "--index"]
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    if not after.exists():
        write(file, rows)
        subprocess.run([*build, str(before)], check=True)
        changed = random.Random(1).sample(range(len(rows)), round(SHARE * len(rows)))
        for n in changed:
            rows[n]["text"] += f" The Halcyon was built in Rotterdam in {1800 + n % 200}."
        write(file, rows)
        shutil.copytree(before, work / "after.part")
        subprocess.run([*build, str(work / "after.part")], check=True)
        (work / "after.part").rename(after)
    return before, after


def write(file: Path, rows: list[dict[str, str]]) -> None:
    """Write a document a line."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@contextmanager
def place(url: str | None) -> Iterator[str]:
    """Yield the URL, or that of a bucket of a server on loopback."""
    if url is not None:
        yield url.rstrip("/")
        return
    with subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", "5591"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:5591"
            os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "test"
            os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
            import boto3

            time.sleep(5)
            boto3.client("s3").create_bucket(Bucket="indexes")
            yield "s3://indexes"
        finally:
            server.terminate()


def measure(before: Path, after: Path, url: str, scratch: Path, counted: Counted) -> None:
    """Publish the two indexes and open them."""
    cache, own = scratch / "cache", VersionCache(scratch / "publisher", url, 1 << 40)

    def timed(what: str, started: float, found: Published | None = None) -> None:
        read = counted.take()
        wrote = (
            f"; wrote {found.written_bytes / 1e6:.1f} MB in {found.written_objects} objects, "
            f"of {found.bytes / 1e6:.1f} MB; {found.patch_bytes / 1e6:.1f} MB of patches"
            if found
            else ""
        )
        print(f"{what:34} {time.perf_counter() - started:7.2f} s; read {read}{wrote}", flush=True)

    started = time.perf_counter()
    timed("publish", started, publish(before, url, cache=own))
    for what in ("open and search, cold", "open and search, warm"):
        started = time.perf_counter()
        index = PublishedIndex(url, cache, 1 << 40)
        search(index)
        timed(what, started)
    other = PublishedIndex(url, scratch / "other", 1 << 40)
    counted.take()
    started = time.perf_counter()
    timed("publish again, nothing changed", started, publish(before, url, cache=own))
    started = time.perf_counter()
    timed("publish a change of 1%", started, publish(after, url, cache=own))
    started = time.perf_counter()
    index.refresh()
    search(index)
    timed("follow a change of 1%", started)
    fetch.can_patch = lambda: False  # type: ignore[attr-defined]
    started = time.perf_counter()
    other.refresh()
    search(other)
    timed("the same without patches", started)


def search(index: PublishedIndex) -> None:
    """Open a version and search its words."""
    snapshot = Snapshot(index.version().folder)
    assert snapshot.search_words("Who was built in Rotterdam?", 5)
    snapshot.close()


def follow(url: str, scratch: Path) -> None:
    """Publish versions under readers, each of which names its version in every passage."""
    original, sources = scratch / "index", scratch / "texts"
    sources.mkdir()

    def build(version: int) -> None:
        for n in range(40):
            text = f"Keeper {n} of the Skerry Light wrote to Mara Quill. Edition {version}."
            (sources / f"{n}.txt").write_text(text, encoding="utf-8")
        with Index.open(original, settings=load_settings({}), models=hashed_models()) as index:
            index.add(sources)

    build(0)
    publish(original, url)
    settings = load_settings({"cache": scratch / "followers", "follow_s": 0.1})
    index = Index.open(url, settings=settings, models=hashed_models())
    reads, mixed, errors, seen, done = [0] * READERS, [0] * READERS, [], set(), threading.Event()

    def read(reader: int) -> None:
        try:
            while not done.is_set():
                found = index.retrieve("What did the keeper of the Skerry Light write?", "hybrid")
                editions = {each.text.rpartition("Edition ")[2] for each in found.evidence}
                reads[reader] += 1
                mixed[reader] += len(editions) != 1
                seen.update(editions)
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read, args=(n,)) for n in range(READERS)]
    for reader in readers:
        reader.start()
    lags = []
    for version in range(1, VERSIONS + 1):
        build(version)
        name = publish(original, url).version
        published = time.perf_counter()
        while index.stamp() != name and not errors:
            time.sleep(0.005)
        lags.append(time.perf_counter() - published)
    time.sleep(1)
    done.set()
    for reader in readers:
        reader.join()
    index.close()
    print(
        f"{READERS} readers, {VERSIONS} versions: {sum(reads)} answers of {len(seen)} versions, {sum(mixed)} of more "
        f"than one version, {len(errors)} errors; a version is read {sum(lags) / len(lags):.2f} s after it was "
        f"published (at most {max(lags):.2f})"
    )
    if errors:
        raise errors[0]


if __name__ == "__main__":
    main()
