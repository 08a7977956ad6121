"""Places to publish to: a folder, memory, and a real S3 server on loopback where its packages are installed."""

import importlib.util
import shutil
import uuid

import pytest

from polygraph.config import Settings
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

if importlib.util.find_spec("fsspec") is None:
    collect_ignore_glob = ["test_*.py"]

SETTINGS = Settings(chunk_tokens=32, window_tokens=64, community_size=3, follow_s=0.0)
TEXTS = {
    "a": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "b": "Tobias Wren refused to pay for the oil of the Skerry Light. The Harbour Board followed Tobias Wren.",
    "c": "The Halcyon struck the Grey Reef in the fog. Old Tobin brought the crew of the Halcyon ashore.",
}


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user cache"))


@pytest.fixture(scope="session")
def s3():
    """A server of S3 on loopback with a bucket; the environment names it."""
    missing = [name for name in ("moto", "s3fs") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: make test-publish")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        import boto3

        boto3.client("s3").create_bucket(Bucket="indexes")
        yield server
    server.stop()


# Memory behaves as S3 does, with which `make test-publish` runs.
@pytest.fixture(params=["file", pytest.param("memory", marks=pytest.mark.deep), "s3"])
def place(request, tmp_path):
    """The URL of an empty place."""
    if request.param == "file":
        return f"file://{tmp_path}/published"
    if request.param == "memory":
        return f"memory://{uuid.uuid4().hex}/handbook"
    request.getfixturevalue("s3")
    return f"s3://indexes/{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Return a function that adds texts to those of an index and indexes them all.

    An index that begins with the texts of an earlier one is a copy of it. They remember the same folder of sources.
    """
    base = tmp_path_factory.mktemp("built")
    sources = base / "sources"
    texts_of, first = {}, {}

    def index_(folder, **options):
        with Index.open(folder, settings=SETTINGS, models=hashed_models()) as index:
            index.add(sources, **options)

    def build_(texts, folder, **options):
        texts_of[folder] = {**texts_of.get(folder, {}), **texts}
        shutil.rmtree(sources, ignore_errors=True)
        sources.mkdir()
        for name, text in texts_of[folder].items():
            (sources / f"{name}.txt").write_text(text, encoding="utf-8")
        if folder.exists():
            index_(folder, **options)
            return folder
        key = repr((sorted(texts.items()), options))
        if key not in first:
            first[key] = base / f"{len(first)}"
            index_(first[key], **options)
        return shutil.copytree(first[key], folder)

    return build_


@pytest.fixture
def built(build, tmp_path):
    """Return a function that adds texts to those of an index in the folder of the test and indexes them all."""

    def built_(texts, folder=tmp_path / "original", **options):
        return build(texts, folder, **options)

    return built_


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a published index through a cache of the test."""
    from polygraph.publishing.published_index import PublishedIndex

    def open_(url, cache="cache", most_bytes=1 << 30, **options):
        return PublishedIndex(url, tmp_path / cache, most_bytes, **options)

    return open_
