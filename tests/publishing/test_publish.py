"""Publishing: what is written, what is kept, and what an interruption leaves."""

import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polygraph.errors import BadInput, IndexUnreadable, StorageFailed
from polygraph.publishing import new_patches, object_writer
from polygraph.publishing.blocks import sha256
from polygraph.publishing.cache import VersionCache
from polygraph.publishing.manifest import OBJECTS, POINTER, VERSIONS, Pointer, VersionManifest
from polygraph.publishing.object_store import ObjectStore, url_of
from polygraph.publishing.patches import can_patch
from polygraph.publishing.publish import publish, read_pointer
from polygraph.store.snapshot import Snapshot

TEXTS = {
    "a": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "b": "Tobias Wren refused to pay for the oil of the Skerry Light. The Harbour Board followed Tobias Wren.",
    "c": "The Halcyon struck the Grey Reef in the fog. Old Tobin brought the crew of the Halcyon ashore.",
}
CHANGED = {**TEXTS, "c": "The Constancy reached Sallow Bay in 1874. Old Tobin was her master."}
needs_patches = pytest.mark.skipif(
    not can_patch(), reason="needs backports.zstd: pip install polygraph-rag[publish]"
)


def texts_of(folder):
    """Return all texts of an index, after every layer has been opened and its files compared with their sums."""
    snapshot = Snapshot(folder)
    try:
        assert {"chunks", "lexical", "graph", "chunk_vectors", "reports"} <= snapshot.layers
        assert snapshot.search_words("Old Tobin", 3)
        assert (
            len(snapshot.chunk_scores(np.ones(snapshot.manifest.dimension, dtype=np.float32)))
            == snapshot.n_chunks
        )
        assert snapshot.reports()
        return sorted(chunk.text for chunk in snapshot.chunks(range(snapshot.n_chunks)))
    finally:
        snapshot.close()


@pytest.fixture
def small_objects(monkeypatch):
    """Objects of a few blocks, so that a small index has several."""
    monkeypatch.setattr(object_writer, "OBJECT_BYTES", 1 << 14)


def test_what_is_published_opens_elsewhere_and_is_equal(place, built, opened):
    original = built(TEXTS)
    found = publish(original, place)
    assert found.is_new
    assert found.url == place
    index = opened(place)
    copy = index.version().folder
    assert copy.name == found.version
    assert texts_of(copy) == texts_of(original)
    files = sorted(p.relative_to(copy) for p in copy.rglob("*") if p.is_file() and p.parent != copy)
    assert len([f for f in files if f.suffix != ".lock"]) >= 30
    for file in files:
        if file.parts[1] not in {"index.sums", "index.compared"} and file.suffix != ".lock":
            assert (copy / file).read_bytes() == (original / file).read_bytes(), file


def test_publishing_again_without_a_change_writes_nothing(place, built):
    original = built(TEXTS)
    first = publish(original, place)
    store = ObjectStore(place)
    pointer = store.get(POINTER, 1 << 20)
    again = publish(original, place)
    assert (again.is_new, again.version, again.written_objects) == (False, first.version, 0)
    assert store.get(POINTER, 1 << 20) == pointer


def test_a_change_writes_and_fetches_less_than_everything(place, built, opened, small_objects):
    many = {
        f"d{n}": f"Keeper {n} of the Skerry Light wrote letter {n} to Mara Quill. {n}" for n in range(240)
    }
    original = built({**TEXTS, **many})
    first = publish(original, place)
    index = opened(place)
    before = index.version()
    built({**CHANGED, **many})
    second = publish(original, place)
    assert second.written_bytes < 0.9 * first.written_bytes
    assert index.refresh()
    assert not index.refresh()
    after = index.version()
    assert (before.name, after.name) == (first.version, second.version)
    # Both can be read, and a file that is equal is on the disk once.
    assert texts_of(before.folder) != texts_of(after.folder) == texts_of(original)
    shared = [p for p in after.folder.rglob("*") if p.is_file() and p.stat().st_nlink > 1]
    assert shared


def test_old_versions_and_what_only_they_name_are_deleted(place, built, opened, small_objects):
    original = built(TEXTS)
    store, names = ObjectStore(place), []
    for n in range(4):
        built({**TEXTS, "c": f"The Halcyon made voyage {n} to Sallow Bay. Old Tobin was her master."})
        names.append(publish(original, place, keep=2, grace_s=0).version)
        time.sleep(0.01)
    assert [name for name, _ in read_pointer(store).versions] == names[:1:-1]
    assert set(store.modified(VERSIONS)) == set(names[2:])
    needed = set()
    for name in names[2:]:
        manifest = VersionManifest.loads(name, store.get(f"{VERSIONS}/{name}", 1 << 28))
        needed |= {block.object for block in manifest.blocks().values()}
    assert set(store.modified(OBJECTS)) == needed
    assert texts_of(opened(place).version().folder) == texts_of(original)


def test_what_was_in_use_not_long_ago_is_not_deleted(place, built, small_objects):
    original = built(TEXTS)
    store = ObjectStore(place)
    first = publish(original, place, keep=1).version
    objects = set(store.modified(OBJECTS))
    built(CHANGED)
    found = publish(original, place, keep=1)
    assert found.deleted_objects == 0
    assert first in [name for name, _ in read_pointer(store).versions]
    assert objects <= set(store.modified(OBJECTS))


@needs_patches
def test_what_is_forgotten_leaves_the_copies_of_the_publisher_too(built, tmp_path):
    url, versions = f"file://{tmp_path}/published", []
    cache = VersionCache(tmp_path / "copies", url, 1 << 30)
    for text in ("a ship", "a boat", "a raft"):
        original = built({**TEXTS, "c": f"The Halcyon was {text}. Old Tobin was her master."})
        versions.append(publish(original, url, cache=cache).version)
    assert {each.name for each in cache.versions.iterdir()} == set(versions[:2])
    built(CHANGED)
    last = publish(original, url, cache=cache, keep=1, grace_s=0).version
    assert {each.name for each in cache.versions.iterdir()} <= {last}


def test_a_damaged_pointer_says_how_to_publish_again(place, built, opened):
    original = built(TEXTS)
    version, store = publish(original, place).version, ObjectStore(place)
    store.put(POINTER, b"{")
    with pytest.raises(IndexUnreadable, match=f"Delete the object {POINTER} there and publish"):
        publish(original, place)
    store._fs.rm(store._path(POINTER))
    assert publish(original, place).version == version
    assert opened(place).version().name == version


def test_a_version_that_returns_is_the_newest_again(place, built, opened):
    original = built(TEXTS)
    first = publish(original, place)
    built(CHANGED)
    publish(original, place)
    store = ObjectStore(place)
    newest, oldest = read_pointer(store).versions
    # As by a publisher of the original state.
    store.put(POINTER, Pointer((oldest, newest)).dumps())
    assert opened(place).version().name == first.version


def test_of_an_object_that_is_hardly_used_the_rest_is_written_again(built, opened, tmp_path, small_objects):
    url = f"file://{tmp_path}/published"
    original = built(TEXTS)
    for n in range(6):
        built({**TEXTS, "c": f"The Halcyon made voyage {n} to Sallow Bay. Old Tobin was her master."})
        name = publish(original, url, keep=1, grace_s=0).version
        time.sleep(0.01)
    store = ObjectStore(url)
    blocks = VersionManifest.loads(name, store.get(f"{VERSIONS}/{name}", 1 << 28)).blocks().values()
    stored = sum(len(store.get(f"{OBJECTS}/{o}", 1 << 28)) for o in store.modified(OBJECTS))
    assert stored <= 3.5 * sum(block.packed for block in blocks)


def test_an_interruption_at_any_write_leaves_the_old_version_and_the_next_publisher_ends_it(
    place, built, opened, small_objects, monkeypatch
):
    original = built(TEXTS)
    publish(original, place)
    before = texts_of(original)
    built(CHANGED)
    after = texts_of(original)
    put, n_puts = ObjectStore.put, 0
    for stop_at in range(100):
        n_puts = 0

        def put_or_stop(self, name, content, stop_at=stop_at):
            nonlocal n_puts
            n_puts += 1
            if n_puts > stop_at:
                raise KeyboardInterrupt
            put(self, name, content)

        monkeypatch.setattr(ObjectStore, "put", put_or_stop)
        try:
            publish(original, place, grace_s=0)  # so that what an earlier attempt wrote is written again
        except KeyboardInterrupt:
            monkeypatch.setattr(ObjectStore, "put", put)
            assert texts_of(opened(place, cache=f"cache {stop_at}").version().folder) == before
            continue
        break
    assert 3 < stop_at < 99  # blocks, manifest, pointer: each was interrupted once
    monkeypatch.setattr(ObjectStore, "put", put)
    assert texts_of(opened(place, cache="last").version().folder) == after


KILLED = """
import os, signal, sys
from pathlib import Path
from polygraph.publishing import object_store, object_writer, publish

object_writer.OBJECT_BYTES, n = 1 << 14, 0
replace = os.replace

def replace_or_die(source, target):
    global n
    n += 1
    if n > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

object_store.os.replace = replace_or_die
publish.publish(Path(sys.argv[1]), sys.argv[2], grace_s=0)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
@pytest.mark.parametrize("writes", [0, 2, -2, -1])
def test_a_killed_publisher_leaves_the_old_version(writes, built, opened, tmp_path, small_objects):
    url = f"file://{tmp_path}/published"
    original = built(TEXTS)
    publish(original, url)
    before = texts_of(original)
    built(CHANGED)
    if writes < 0:  # from the end: before the manifest, before the pointer
        shutil.copytree(tmp_path / "published", tmp_path / "copy")
        writes += publish(original, f"file://{tmp_path}/copy", grace_s=0).written_objects + 2
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, original, url, str(writes)], check=False, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL
    assert texts_of(opened(url).version().folder) == before
    found = publish(original, url, grace_s=0)
    assert found.is_new
    assert texts_of(opened(url, cache="later").version().folder) == texts_of(original)
    assert not [name for name in ObjectStore(url).modified(OBJECTS) if name.endswith(".tmp")]


def test_of_two_publishers_the_last_pointer_wins_and_both_versions_are_whole(
    place, built, opened, small_objects, monkeypatch, tmp_path
):
    original = built(TEXTS)
    publish(original, place, keep=1)
    other = built(CHANGED, tmp_path / "other")
    third = built({"z": TEXTS["c"]}, tmp_path / "third")
    put, seen = ObjectStore.put, []

    def put_after_others(self, name, content):
        if name == POINTER and not seen:
            seen.append(name)
            # Two others publish and clean up, just before this one switches the pointer.
            for folder in (other, third):
                publish(folder, place, keep=1)
                seen.append(texts_of(opened(place).version().folder))
        put(self, name, content)

    built({**TEXTS, "d": "Ines Corve kept the log of the Halcyon."})
    monkeypatch.setattr(ObjectStore, "put", put_after_others)
    publish(original, place, keep=1)
    assert seen[1:] == [texts_of(other), texts_of(third)]
    assert texts_of(opened(place, cache="new").version().folder) == texts_of(original)


def test_publishing_that_takes_longer_than_objects_are_safe_is_refused(built, place):
    original = built(TEXTS)
    with pytest.raises(StorageFailed, match="larger --grace"):
        publish(original, place, grace_s=1e-6)
    assert read_pointer(ObjectStore(place)) is None


def test_a_build_in_progress_is_not_published(built, tmp_path):
    from polygraph.store.database import SqliteStore
    from polygraph.store.generations import begin_write

    original = built(TEXTS)
    before = texts_of(original)
    store = SqliteStore(original, mode="write")
    begin_write(store, layers=["graph"])
    with store.transaction():
        store.drop_layers(["graph"])
    url = f"file://{tmp_path}/published"
    publish(original, url)
    store.close()
    from polygraph.publishing.published_index import PublishedIndex

    assert texts_of(PublishedIndex(url, tmp_path / "cache", 1 << 30).version().folder) == before


def test_an_index_that_was_never_finished_is_refused(tmp_path):
    from polygraph.store.database import SqliteStore

    with pytest.raises(IndexUnreadable, match="there is no index"):
        publish(tmp_path / "none", f"file://{tmp_path}/published")
    SqliteStore(tmp_path / "empty", mode="write").close()
    with pytest.raises(IndexUnreadable, match="not finished"):
        publish(tmp_path / "empty", f"file://{tmp_path}/published")


def test_a_damaged_layer_is_not_published(built, tmp_path):
    original = built(TEXTS)
    file = next(original.glob("derived/chunk_vectors-*/matrix.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(IndexUnreadable, match="not as it was written"):
        publish(original, f"file://{tmp_path}/published")
    assert not (tmp_path / "published" / POINTER).exists()


@pytest.mark.parametrize("url", ["http://example.org/x", "s3://", "simplecache::s3://x/y", "memory://"])
def test_a_place_that_cannot_be_published_to_is_refused(url, tmp_path):
    with pytest.raises(BadInput, match=r"no index can be published at .*\. Name one as in"):
        ObjectStore(url)


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3:/bucket/a", "s3://bucket/a"),
        ("file:///tmp/x/", "file:///tmp/x"),
        ("file:/tmp/x", "file:///tmp/x"),
        ("S3://Bucket/X", "s3://Bucket/X"),
        ("polygraph.index", None),
        ("C:/x", None),
        ("C:\\x", None),
        ("/a/s3:/b", None),
        ("", None),
    ],
)
def test_a_url_is_told_from_a_folder(place, url):
    assert url_of(place) == url


# --- patches --------------------------------------------------------------------------------------------


@pytest.fixture
def copies(tmp_path):
    """Return the local copies of the machine that publishes to a URL."""
    return lambda url: VersionCache(tmp_path / "publisher", url, 1 << 30)


def manifest_of(store, name):
    return VersionManifest.loads(name, store.get(f"{VERSIONS}/{name}", 1 << 28))


@needs_patches
def test_patches_are_written_once_and_kept_as_long_as_their_version(place, built, copies, small_objects):
    original, cache, store = built(TEXTS), copies(place), ObjectStore(place)
    first = publish(original, place, cache=cache)
    assert first.patch_bytes == 0
    built(CHANGED)
    second = publish(original, place, cache=cache)
    patches = manifest_of(store, second.version).patches
    assert patches.base == first.version
    assert 0 < patches.packed == second.patch_bytes < second.written_bytes
    again = publish(original, place, cache=cache, keep=1, grace_s=0)
    assert (again.is_new, again.version, again.written_objects) == (False, second.version, 0)
    objects = manifest_of(store, second.version).objects()
    assert set(store.modified(OBJECTS)) == objects
    built(TEXTS)
    time.sleep(0.01)
    third = publish(original, place, cache=cache, keep=1, grace_s=0)
    assert set(store.modified(OBJECTS)) == manifest_of(store, third.version).objects()
    assert not {p.object for some in patches.of.values() for p in some} & set(store.modified(OBJECTS))


@needs_patches
def test_a_publisher_keeps_no_copy_of_a_version_that_is_gone(place, built, copies, tmp_path):
    original, cache = built(TEXTS), copies(place)
    first = publish(original, place, cache=cache)
    built(CHANGED)
    second = publish(original, place, cache=cache)
    assert [p.name for p in tmp_path.glob("publisher/*/versions/*")] == [first.version]
    built({**CHANGED, "a": "Nobody built the Skerry Light."})
    publish(original, place, cache=cache, keep=1, grace_s=0)
    assert second.version not in [p.name for p in tmp_path.glob("publisher/*/versions/*")]


@needs_patches
def test_without_a_copy_of_the_version_before_there_are_no_patches(
    place, built, copies, monkeypatch, tmp_path
):
    original, store = built(TEXTS), ObjectStore(place)
    publish(original, place)
    built(CHANGED)
    small = VersionCache(tmp_path / "small", place, 1000)
    found = publish(original, place, cache=small)
    assert found.is_new
    assert manifest_of(store, found.version).patches is None
    built(TEXTS)
    monkeypatch.setattr(new_patches, "can_patch", lambda: False)
    assert publish(original, place, cache=copies(place)).patch_bytes == 0


@needs_patches
def test_after_objects_were_lost_a_version_of_the_same_files_is_whole_again(built, copies, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    original, cache = built(TEXTS), copies(url)
    publish(original, url, cache=cache)
    built(CHANGED)
    second = publish(original, url, cache=cache)
    for file in (tmp_path / "published" / OBJECTS).iterdir():
        file.unlink()
    third = publish(original, url, cache=cache)
    assert third.is_new
    assert third.bytes == second.bytes
    assert texts_of(opened(url).version().folder) == texts_of(original)


def test_names_of_objects_are_their_content(built, tmp_path):
    publish(built(TEXTS), f"file://{tmp_path}/published")
    objects = list((tmp_path / "published" / OBJECTS).iterdir())
    assert objects
    assert all(sha256(each.read_bytes()) == each.name for each in objects)
