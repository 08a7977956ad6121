"""Readers of a published index: local copies, new versions, and stores that fail or lie."""

import re
import shutil
import threading
import time
import warnings
from pathlib import Path

import pytest

from polygraph.config import Settings
from polygraph.errors import BadInput, IndexUnreadable, StorageFailed
from polygraph.publishing.cache import VersionCache
from polygraph.publishing.manifest import OBJECTS, POINTER, VERSIONS, Pointer
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.publish import publish
from polygraph.publishing.published_index import PublishedIndex, StoreUnreachable
from polygraph.store.snapshot import Snapshot
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

TEXTS = {
    "a": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "b": "Tobias Wren refused to pay for the oil of the Skerry Light. The Harbour Board followed Tobias Wren.",
}


def open_index(url, tmp_path, **settings):
    chosen = Settings(cache=tmp_path / "cache", **{"follow_s": 0.0, **settings})
    return Index.open(url, settings=chosen, models=hashed_models())


def numbered(version):
    """Two texts that name a version."""
    return {"a": f"{TEXTS['a']} Edition {version}.", "b": f"{TEXTS['b']} Edition {version}."}


def editions(snapshot):
    """Return the versions that the passages of a state and its full-text search name."""
    texts = [c.text for c in snapshot.chunks(range(snapshot.n_chunks))]
    found = [
        c.text for c in snapshot.chunks([hit.n for hit in snapshot.search_words("Skerry Light Edition", 5)])
    ]
    return {text.rpartition("Edition ")[2].rstrip(".") for text in (*texts, *found) if "Edition" in text}


def test_questions_get_the_answers_of_the_original(place, built, tmp_path):
    original = built(TEXTS)
    publish(original, place)
    with (
        Index.open(original, settings=Settings(), models=hashed_models()) as here,
        open_index(place, tmp_path) as there,
    ):
        for method in ("bm25", "hybrid", "walk", "graphrag-local", "hipporag"):
            question = "Who built the Skerry Light?"
            one, other = here.retrieve(question, method), there.retrieve(question, method)
            assert (one.ranking, one.context) == (other.ranking, other.context)
            assert one.evidence
        assert there.ask("Who built the Skerry Light?").text == here.ask("Who built the Skerry Light?").text
        assert there.url == place
        assert there.status()["index"] == place
        assert there.status()["documents"] == 2


def test_what_would_change_a_published_index_is_refused(place, built, tmp_path):
    original = built(TEXTS)
    publish(original, place)
    with open_index(place, tmp_path) as index:
        for change in (index.add, index.refresh, index.retry, lambda: index.remove("a")):
            with pytest.raises(BadInput, match=r"is only read.*polygraph publish"):
                change()
        with pytest.raises(BadInput, match="is only read"):
            index.entities.merge("Mara Quill", "Tobias Wren")


def test_an_index_follows_new_versions_and_an_answer_belongs_to_one(place, built, tmp_path):
    original = built(numbered(0))
    publish(original, place)
    index = open_index(place, tmp_path, follow_s=0.02)
    seen, errors, done = set(), [], threading.Event()

    def read():
        try:
            while not done.is_set():
                state = index.snapshot()
                found = editions(state)
                assert len(found) == 1, found
                seen.update(found)
                # Readers without a pause leave the writer almost no processor: a version then takes over six seconds.
                done.wait(0.005)
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for version in range(1, 6):
        built(numbered(version))
        published = publish(original, place, keep=2, grace_s=0).version
        deadline = time.monotonic() + 60
        while index.stamp() != published and not errors and time.monotonic() < deadline:
            time.sleep(0.01)
        assert index.stamp() == published
    deadline = time.monotonic() + 30
    while "5" not in seen and not errors and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for reader in readers:
        reader.join()
    index.close()
    assert not errors
    assert {"0", "5"} <= seen
    assert len(seen) >= 4


def test_a_version_that_is_deleted_while_it_is_fetched_gives_way_to_the_newest(
    place, built, opened, monkeypatch
):
    original = built(numbered(0))
    publish(original, place)
    part = ObjectStore.part

    def publish_meanwhile(self, name, start, end):
        if name.startswith(VERSIONS):
            monkeypatch.setattr(ObjectStore, "part", part)
            built(numbered(1))
            publish(original, place, keep=1, grace_s=0)
        return part(self, name, start, end)

    monkeypatch.setattr(ObjectStore, "part", publish_meanwhile)
    state = Snapshot(opened(place).version().folder)
    assert editions(state) == {"1"}
    state.close()


# --- stores that fail or lie ----------------------------------------------------------------------------


def test_without_the_store_the_last_version_is_read_with_a_warning(place, built, tmp_path, monkeypatch):
    original = built(TEXTS)
    publish(original, place)
    open_index(place, tmp_path).close()

    def unreachable(*_args, **_options):
        raise ConnectionError("no route to host")

    index = open_index(place, tmp_path)
    # fsspec gives every store of this place the same object.
    monkeypatch.setattr(index._published._store._fs, "cat_file", unreachable)
    with pytest.raises(StorageFailed, match="no route to host"):
        index._published.refresh()
    index.close()
    with pytest.warns(StoreUnreachable, match="Reading the version that was fetched last"):
        again = open_index(place, tmp_path)
    assert again.retrieve("Who built the Skerry Light?", "bm25").evidence
    again.close()
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(StorageFailed, match=r"no route to host.*Check the address"):
        open_index(place, tmp_path)


def test_where_nothing_is_published_the_error_says_how_to_publish(place, tmp_path):
    with pytest.raises(IndexUnreadable, match=r"nothing is published at .*polygraph publish"):
        open_index(place, tmp_path)


def test_a_folder_that_does_not_exist_is_named(built, opened, tmp_path):
    share = tmp_path / "share"
    url = f"file://{share}/indexes/handbook"
    for use in (opened, lambda url: publish(built(TEXTS), url)):
        with pytest.raises(
            StorageFailed, match=re.escape(f"the folder {share} does not exist. Check the address")
        ):
            use(url)
    (share / "indexes").mkdir(parents=True)
    with pytest.raises(
        IndexUnreadable, match=re.escape(f"the folder {share}/indexes/handbook does not exist. Pub")
    ):
        opened(url)


def test_a_share_that_is_not_connected_leaves_the_version_that_was_fetched_last(built, opened, tmp_path):
    share = tmp_path / "share"
    share.mkdir()
    publish(built(TEXTS), f"file://{share}/handbook")
    opened(f"file://{share}/handbook").close()
    share.rename(tmp_path / "elsewhere")
    with pytest.warns(StoreUnreachable, match="does not exist.*Reading the version that was fetched last"):
        opened(f"file://{share}/handbook").close()


def test_an_object_that_was_changed_is_refused_and_leaves_no_version(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    (sound,) = (tmp_path / "published" / OBJECTS).iterdir()
    content = sound.read_bytes()
    for at in range(0, len(content), len(content) // 15):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        sound.write_bytes(damaged)
        with pytest.raises(IndexUnreadable, match="not what its name says"):
            opened(url)
        assert not [p for p in tmp_path.glob("cache/*/versions/*") if p.suffix != ".partial"]
    sound.write_bytes(content[:-10])
    with pytest.raises(IndexUnreadable):
        opened(url)
    # What was fetched before is used, and the rest comes from the sound object.
    sound.write_bytes(content)
    assert Snapshot(opened(url).version().folder).n_chunks == 2


def test_a_missing_object_is_an_error_and_publishing_again_writes_it(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    original = built(TEXTS)
    publish(original, url)
    for file in (tmp_path / "published" / OBJECTS).iterdir():
        file.unlink()
    with pytest.raises(IndexUnreadable, match=r"is not there\. Publish"):
        opened(url)
    publish(original, url)
    assert Snapshot(opened(url).version().folder).n_chunks == 2


def test_a_pointer_to_a_manifest_of_another_content_is_refused(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    found = publish(built(TEXTS), url)
    store = ObjectStore(url)
    store.put(f"{VERSIONS}/{'a' * 64}", store.get(f"{VERSIONS}/{found.version}", 1 << 28))
    store.put(POINTER, Pointer((("a" * 64, 1.0),)).dumps())
    with pytest.raises(IndexUnreadable, match="not what its name says"):
        opened(url)
    store.put(POINTER, b"x" * ((1 << 20) + 1))
    with pytest.raises(StorageFailed, match="more than"):
        opened(url)


def test_fetching_that_was_stopped_is_continued(built, opened, tmp_path, monkeypatch):
    from polygraph.publishing import fetch

    monkeypatch.setattr(fetch, "_REQUEST", 1 << 11)
    monkeypatch.setattr(fetch, "THREADS", 1)
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    part, parts = ObjectStore.part, []

    def count(self, name, start, end, most=5):
        if name.startswith(OBJECTS):
            parts.append((start, end))
            if len(parts) > most:
                raise KeyboardInterrupt
        return part(self, name, start, end)

    monkeypatch.setattr(ObjectStore, "part", count)
    with pytest.raises(KeyboardInterrupt):
        opened(url)
    first = set(parts[:4])
    parts.clear()
    monkeypatch.setattr(ObjectStore, "part", lambda *given: count(*given, most=10_000))
    assert Snapshot(opened(url).version().folder).n_chunks == 2
    assert parts
    assert not first & set(parts)


# --- the cache ------------------------------------------------------------------------------------------


def folders(tmp_path):
    return {p.name for p in tmp_path.glob("cache/*/versions/*")}


def test_versions_that_nobody_reads_are_deleted_and_those_in_use_are_not(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    original = built(numbered(0))
    size = publish(original, url).bytes
    index = opened(url, most_bytes=size + 10_000)
    first = index.version()
    state = Snapshot(first.folder, keeps=first)
    built(numbered(1))
    publish(original, url)
    index.refresh()
    assert first.name in folders(tmp_path)  # a state of it is open
    del first
    built(numbered(2))
    publish(original, url)
    index.refresh()
    assert state.folder.name in folders(tmp_path)
    assert editions(state) == {"0"}
    within = state.where({"id": "*"})
    del state
    assert within.folder.name in folders(tmp_path)
    name = within.folder.name
    del within
    built(numbered(3))
    last = publish(original, url).version
    index.refresh()
    assert name not in folders(tmp_path)
    assert last in folders(tmp_path)


def test_a_version_that_another_process_reads_is_not_deleted(built, opened, tmp_path):
    import subprocess
    import sys

    url = f"file://{tmp_path}/published"
    original = built(numbered(0))
    publish(original, url)
    index = opened(url)
    name = index.version().name
    code = (
        "import sys; from pathlib import Path; from polygraph.publishing.cache import VersionCache\n"
        f"pinned = VersionCache(Path({str(tmp_path / 'cache')!r}), {url!r}, 1).pin({name!r})\n"
        "print(pinned.name, flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline().strip() == name
        index.close()
        del index
        cache = VersionCache(tmp_path / "cache", url, 1)
        cache.delete_unused(but="")
        assert folders(tmp_path) == {name}
        other.kill()  # the system releases its lock
        other.wait(30)
        cache.delete_unused(but="")
        assert folders(tmp_path) == set()
        assert not list(tmp_path.glob("cache/*/readers/*"))
    finally:
        other.kill()
        other.communicate()


def test_an_index_that_is_larger_than_the_cache_is_refused(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    with pytest.raises(StorageFailed, match="setting cache_gb"):
        opened(url, most_bytes=10_000)


def test_a_cache_that_cannot_be_written_is_named(built, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StorageFailed, match="setting cache"):
        opened(url)


def test_processes_share_one_copy_that_is_fetched_once(built, opened, tmp_path, monkeypatch):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    fetched, part = [], ObjectStore.part

    def count(self, name, start, end):
        fetched.append(name)
        return part(self, name, start, end)

    monkeypatch.setattr(ObjectStore, "part", count)
    found = []
    threads = [threading.Thread(target=lambda: found.append(opened(url))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.version().folder for each in found}) == 1
    assert len([name for name in fetched if name.startswith(OBJECTS)]) == 1


def test_files_of_a_copy_are_read_only_and_the_copy_gets_no_files_of_tables(built, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    with open_index(url, tmp_path) as index:
        index.ask("Who built the Skerry Light?")
        files = [p for p in Path(index.folder).rglob("*") if p.is_file()]
        assert not [p for p in files if p.name.startswith("index.sqlite-")]
        assert (index.folder / "index.sqlite").stat().st_mode & 0o222 == 0


def test_the_thread_that_follows_ends_with_the_index(built, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    before = threading.active_count()
    closed, forgotten = (open_index(url, tmp_path, follow_s=0.01) for _ in range(2))
    assert threading.active_count() == before + 2
    closed.close()
    del forgotten
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_store_that_fails_while_it_is_followed_is_told_once(built, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    (tmp_path / "published" / POINTER).rename(tmp_path / "pointer")
    (tmp_path / "published" / POINTER).write_text("no pointer")
    with pytest.raises(IndexUnreadable, match=f"{url}: what is published there cannot be used"):
        open_index(url, tmp_path)
    (tmp_path / "pointer").replace(tmp_path / "published" / POINTER)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        index = open_index(url, tmp_path, follow_s=0.01)
        (tmp_path / "published" / POINTER).write_text("no pointer")
        time.sleep(0.3)
        assert index.retrieve("Who built the Skerry Light?", "bm25").evidence
        index.close()
    assert len([w for w in told if w.category is StoreUnreachable]) == 1


def test_an_error_of_a_store_that_nobody_expected_does_not_end_the_following(built, tmp_path, monkeypatch):
    url = f"file://{tmp_path}/published"
    publish(built(TEXTS), url)
    failures, newest = [RuntimeError("a library fails")], PublishedIndex._newest

    def fails_once(self):
        if failures:
            raise failures.pop()
        return newest(self)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        index = open_index(url, tmp_path, follow_s=0.01)
        first = index.stamp()
        monkeypatch.setattr(PublishedIndex, "_newest", fails_once)
        publish(built(numbered(1)), url)
        deadline = time.monotonic() + 20
        while index.stamp() == first and time.monotonic() < deadline:
            time.sleep(0.01)
        assert editions(index.snapshot()) == {"1"}
        index.close()
    assert any("a library fails" in str(w.message) for w in told)
