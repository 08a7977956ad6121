"""Readers that follow new versions by patches, and come to the same files where a patch is of no use."""

import shutil

import pytest

from polygraph.errors import StorageFailed
from polygraph.publishing import fetch as fetching
from polygraph.publishing.cache import MANIFEST, VersionCache
from polygraph.publishing.manifest import OBJECTS, VERSIONS, VersionManifest
from polygraph.publishing.object_store import ObjectStore
from polygraph.publishing.patches import can_patch
from polygraph.publishing.publish import publish
from polygraph.store.snapshot import Snapshot

pytestmark = pytest.mark.skipif(
    not can_patch(), reason="needs backports.zstd: pip install polygraph-rag[publish]"
)

N_VERSIONS = 4


def texts(version):
    """Many texts, of which one belongs to a version."""
    many = {f"d{n:03}": f"Keeper {n} of the Skerry Light wrote letter {n} to Mara Quill." for n in range(120)}
    added = f"Old Tobin and keeper Aaro {version} brought the crew of the Halcyon ashore."
    return {**many, "d050": f"{many['d050']} {added}"}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """The folder of each version of an index."""
    from polygraph.config import Settings
    from polygraph.testing import hashed_models
    from polygraph.workspace.index import Index

    folder = tmp_path_factory.mktemp("originals")
    for version in range(N_VERSIONS):
        sources = folder / "sources"
        sources.mkdir(exist_ok=True)
        for name, text in texts(version).items():
            (sources / f"{name}.txt").write_text(text, encoding="utf-8")
        settings = Settings(chunk_tokens=32, window_tokens=64, community_size=3, follow_s=0.0)
        with Index.open(folder / "index", settings=settings, models=hashed_models()) as index:
            index.add(sources)
        shutil.copytree(folder / "index", folder / f"{version}")
    return [folder / f"{version}" for version in range(N_VERSIONS)]


@pytest.fixture
def put(originals, tmp_path):
    """Return a function that publishes a version with patches."""

    def put_(version, url, **options):
        cache = VersionCache(tmp_path / "publisher", url, 1 << 30)
        return publish(originals[version], url, cache=cache, **options)

    return put_


@pytest.fixture
def read(monkeypatch):
    """What is read of objects, as pairs of a name and a number of bytes."""
    found, part = [], ObjectStore.part

    def noted(self, name, start, end):
        content = part(self, name, start, end)
        found.append((name, len(content)))
        return content

    monkeypatch.setattr(ObjectStore, "part", noted)
    return found


def n_bytes(read):
    """Return the bytes of objects that were read since the last call."""
    found = sum(size for name, size in read if name.startswith(OBJECTS))
    read.clear()
    return found


def content(folder):
    """Return the files of a version, after it has been opened."""
    state = Snapshot(folder)
    assert state.search_words("Old Tobin", 3)
    state.close()
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix not in {".lock", ".compared"}]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files if p.name != MANIFEST}


def fetched_anew(opened, url, cache="anew"):
    return content(opened(url, cache=cache).version().folder)


def patches_of(url, name):
    return VersionManifest.loads(name, ObjectStore(url).get(f"{VERSIONS}/{name}", 1 << 28)).patches


def test_a_follower_fetches_patches_and_gets_the_same_files(place, put, opened, read, monkeypatch):
    put(0, place)
    index, other = opened(place), opened(place, cache="other")
    put(1, place)
    n_bytes(read)
    index.refresh()
    by_patches = n_bytes(read)
    assert content(index.version().folder) == fetched_anew(opened, place)
    n_bytes(read)
    monkeypatch.setattr(fetching, "can_patch", lambda: False)
    other.refresh()
    assert by_patches < 0.5 * n_bytes(read)
    assert content(other.version().folder) == content(index.version().folder)


def test_a_follower_that_is_several_versions_behind_comes_through_them(place, put, opened, read, tmp_path):
    put(0, place)
    index = opened(place)
    for version in range(1, N_VERSIONS):
        last = put(version, place)
    n_bytes(read)
    index.refresh()
    found = n_bytes(read)
    assert index.version().name == last.version
    assert content(index.version().folder) == fetched_anew(opened, place)
    assert found < 0.8 * n_bytes(read)
    # The versions between are not kept.
    versions = [p.name for p in tmp_path.glob("cache/*/versions/*")]
    assert len(versions) == 2
    assert last.version in versions


def test_a_version_between_that_is_gone_is_not_needed(place, put, opened):
    put(0, place)
    index = opened(place)
    between = put(1, place)
    last = put(2, place)
    store = ObjectStore(place)
    store.delete(VERSIONS, [between.version])
    index.refresh()
    assert index.version().name == last.version
    assert content(index.version().folder) == fetched_anew(opened, place)


def test_a_version_between_whose_objects_are_damaged_is_not_needed(put, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    put(0, url)
    index = opened(url)
    between = put(1, url)
    last = put(2, url)
    store = ObjectStore(url)
    needed = VersionManifest.loads(last.version, store.get(f"{VERSIONS}/{last.version}", 1 << 28)).objects()
    only = VersionManifest.loads(
        between.version, store.get(f"{VERSIONS}/{between.version}", 1 << 28)
    ).objects()
    for name in only - needed:
        (tmp_path / "published" / OBJECTS / name).write_bytes(b"damaged")
    index.refresh()
    assert content(index.version().folder) == fetched_anew(opened, url)


@pytest.mark.parametrize("harm", ["changed", "cut", "deleted", "another"])
def test_where_patches_are_of_no_use_blocks_are_fetched(harm, put, opened, read, tmp_path):
    url = f"file://{tmp_path}/published"
    put(0, url)
    index = opened(url)
    patches = patches_of(url, put(1, url).version)
    for name in {patch.object for some in patches.of.values() for patch in some}:
        file = tmp_path / "published" / OBJECTS / name
        data = bytearray(file.read_bytes())
        if harm == "changed":
            for at in range(0, len(data), 50):
                data[at] ^= 0x55
            file.write_bytes(data)
        elif harm == "cut":
            file.write_bytes(data[: len(data) // 2])
        elif harm == "another":  # each patch is a sound one, of other bytes
            file.write_bytes(data[100:] + data[:100])
        else:
            file.unlink()
    index.refresh()
    assert content(index.version().folder) == fetched_anew(opened, url)


def test_a_copy_of_the_version_before_that_is_damaged_or_incomplete_is_noticed(put, opened, tmp_path):
    url = f"file://{tmp_path}/published"
    put(0, url)
    index = opened(url)
    put(1, url)
    folder = index.version().folder
    tables = folder / "index.sqlite"
    tables.chmod(0o644)
    tables.write_bytes(tables.read_bytes()[:50_000] + bytes(60_000))
    next(folder.glob("derived/graph-*/adjacency.csr")).unlink()
    index.refresh()
    assert content(index.version().folder) == fetched_anew(opened, url)


def test_a_reader_without_the_version_before_fetches_no_patches(place, put, opened, read):
    put(0, place)
    second = put(1, place)
    patched = {p.object for some in patches_of(place, second.version).of.values() for p in some}
    read.clear()
    fetched_anew(opened, place)
    assert not patched & {name.rpartition("/")[2] for name, _ in read}


def test_following_that_was_stopped_is_continued(put, opened, read, monkeypatch, tmp_path):
    url = f"file://{tmp_path}/published"
    put(0, url)
    index = opened(url)
    put(1, url)
    part, n_parts = ObjectStore.part, 0

    def stop(self, name, start, end):
        nonlocal n_parts
        n_parts += name.startswith(OBJECTS)
        if n_parts > 2:
            raise KeyboardInterrupt
        return part(self, name, start, end)

    monkeypatch.setattr(fetching, "THREADS", 1)
    monkeypatch.setattr(fetching, "_REQUEST", 1 << 10)
    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "part", stop)
        with pytest.raises(KeyboardInterrupt):
            index.refresh()
    index.refresh()
    assert content(index.version().folder) == fetched_anew(opened, url)


def test_an_unreachable_store_is_an_error_and_not_a_patch_of_no_use(put, opened, monkeypatch, tmp_path):
    url = f"file://{tmp_path}/published"
    put(0, url)
    index = opened(url)
    put(1, url)
    part = ObjectStore.part

    def unreachable(self, name, start, end):
        if name.startswith(OBJECTS):
            raise StorageFailed("no route to host")
        return part(self, name, start, end)

    monkeypatch.setattr(ObjectStore, "part", unreachable)
    before = index.version().name
    with pytest.raises(StorageFailed, match="no route"):
        index.refresh()
    assert index.version().name == before
