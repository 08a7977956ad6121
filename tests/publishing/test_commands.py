"""The command line and the server on published indexes."""

import json
import time

import pytest

from polygraph.config import Settings
from polygraph.publishing.patches import can_patch
from polygraph.publishing.publish import publish
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

TEXTS = {
    "a": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "b": "Tobias Wren refused to pay for the oil of the Skerry Light. The Harbour Board followed Tobias Wren.",
}


@pytest.fixture(scope="module")
def url(build, tmp_path_factory):
    """A published index that no test changes."""
    folder = tmp_path_factory.mktemp("commands")
    publish(build(TEXTS, folder / "original"), f"file://{folder}/published")
    return f"file://{folder}/published"


def test_publish_prints_what_it_wrote(call, built, tmp_path):
    original = built(TEXTS)
    place = f"file://{tmp_path}/published"
    assert call("publish", place, "--index", original).out.startswith("published version ")
    assert "nothing has changed since version" in call("publish", place, "--index", original).out
    found = json.loads(call("publish", place, "--index", original, "--json").out)
    assert found["url"] == place
    assert found["written_objects"] == 0


@pytest.mark.skipif(not can_patch(), reason="needs backports.zstd: pip install polygraph-rag[publish]")
def test_publish_writes_patches_unless_it_is_told_not_to(call, built, tmp_path):
    place, original = f"file://{tmp_path}/published", built(TEXTS)
    assert "of patches" not in call("publish", place, "--index", original).out
    built({"a": "Tobias Wren built the Skerry Light in 1871."})
    assert "MB of patches" in call("publish", place, "--index", original).out
    built({"a": "The Halcyon struck the Grey Reef in 1872."})
    found = json.loads(call("publish", place, "--index", original, "--no-patches", "--json").out)
    assert (found["is_new"], found["patch_bytes"]) == (True, 0)


def test_a_cache_that_cannot_be_written_does_not_stop_a_publisher(call, built, tmp_path):
    (tmp_path / "file").write_text("no folder")
    place, original = f"file://{tmp_path}/published", built(TEXTS)
    found = call("publish", place, "--index", original, env={"POLYGRAPH_CACHE": str(tmp_path / "file")})
    assert found.code == 0, found.err


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Who built the Skerry Light?"),
        ("explain", "Who built the Skerry Light?"),
        ("status",),
        ("methods",),
        ("doctor",),
        ("graph", "--svg", "graph.svg"),
        ("export", "--output", "exported"),
        ("entities", "list"),
    ],
)
def test_commands_that_read_take_a_url(call, url, words):
    found = call(*words, "--index", url)
    assert found.code == 0, found.err
    assert found.out


def test_the_setting_index_may_be_a_url(call, url, tmp_path):
    found = call("ask", "Who built the Skerry Light?", "--json", env={"POLYGRAPH_INDEX": url})
    assert "Mara Quill" in json.loads(found.out)["text"]


def test_the_cache_is_where_the_setting_says(call, url, tmp_path):
    assert call("status", "--index", url, env={"POLYGRAPH_CACHE": str(tmp_path / "mine")}).code == 0
    assert list((tmp_path / "mine").glob("*/versions/*"))
    assert not (tmp_path / "user cache").exists()
    small = call("status", "--index", url, env={"POLYGRAPH_CACHE": "small", "POLYGRAPH_CACHE_GB": "1e-6"})
    assert small.code == 2
    assert "cache_gb" in small.sentence


@pytest.mark.parametrize(
    "words",
    [
        ("index", "papers"),
        ("index",),
        ("remove", "a"),
        ("refresh",),
        ("retry",),
        ("demo", "papers"),
    ],
)
def test_commands_that_change_an_index_refuse_a_url(call, papers, url, tmp_path, words):
    found = call(*words, "--index", url)
    assert found.code == 2
    assert f"polygraph publish {url} --index DIR" in found.sentence
    assert "only read" in found.sentence


def test_a_place_that_is_none_is_one_sentence(call, built, tmp_path):
    original = built(TEXTS)
    assert "is not a URL" in call("publish", "somewhere", "--index", original).sentence
    assert "Name one as in" in call("publish", "ftp://host/x", "--index", original).sentence
    assert "is published already" in call("publish", "file:///x", "--index", "file:///y").sentence
    missing = call("ask", "Who?", "--index", f"file://{tmp_path}/nothing")
    assert "nothing is published at" in missing.sentence
    assert missing.code == 2


def test_a_server_follows_new_versions_without_stopping(built, tmp_path):
    pytest.importorskip("fastapi", reason="needs the extra `server`")
    from contextlib import closing

    from polygraph.server.served_indexes import ServedIndex

    url = f"file://{tmp_path}/published"
    original = built(TEXTS)
    publish(original, url)
    settings = Settings(cache=tmp_path / "cache", follow_s=0.02)
    with closing(ServedIndex("papers", Index.open(url, settings=settings, models=hashed_models()))) as served:
        with served.reading() as first:
            built({**TEXTS, "c": "The Halcyon struck the Grey Reef in the fog."})
            version = publish(original, url, keep=1, grace_s=0).version
            deadline = time.monotonic() + 60
            while served.index.stamp() != version and time.monotonic() < deadline:
                time.sleep(0.02)
            with served.reading() as second:
                # The request that began before reads its version to the end.
                assert first.snapshot().n_chunks == 2
                assert second.snapshot().n_chunks == 3
                assert second.retrieve("What struck the Grey Reef?", "bm25").evidence
                assert not first.retrieve("Halcyon", "bm25").evidence
        assert served.removals() == 0
        served.release_outdated()


def test_a_server_of_published_indexes_takes_no_documents(start, url, tmp_path):
    pytest.importorskip("fastapi", reason="needs the extra `server`")
    httpx = pytest.importorskip("httpx")
    process = start("serve", "--index", f"papers={url}", "--port", "0", "--no-page")
    address = process.stdout.readline().split()[-1]
    token = process.stdout.readline().split()[-1]
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        found = client.post("/api/v1/indexes/papers/ask", json={"question": "Who built the Skerry Light?"})
        assert "Mara Quill" in found.text
        refused = client.delete("/api/v1/indexes/papers/documents/a")
        assert refused.status_code in {403, 404, 405}


def test_a_server_of_both_kinds_must_be_read_only(call, url, built):
    pytest.importorskip("fastapi", reason="needs the extra `server`")
    found = call("serve", "--index", f"papers={url}", "--index", f"mine={built(TEXTS)}")
    assert found.code == 2
    assert "--read-only" in found.sentence
    assert "only read" in call("mcp", "--write", "--index", url).sentence


def test_an_error_about_a_published_index_names_its_url(call, built, tmp_path):
    url = f"file://{tmp_path}/published"
    publish(built({"a": TEXTS["a"]}, methods=["bm25"]), url)
    found = call("ask", "Who built the Skerry Light?", "-m", "hipporag", "--index", url)
    assert found.code == 2
    assert f"--index {url}" in found.sentence
    # What it advises says how to do it with a published index.
    assert "only read" in call("index", "--index", url, "--for", "hipporag").sentence


def test_a_published_index_is_copied_back_to_a_folder(call, built, url, tmp_path):
    done = call("copy", url, tmp_path / "copied")
    assert done.code == 0, done.err
    assert f"from {url} to" in done.out
    for folder, target in ((built(TEXTS), "a"), (tmp_path / "copied", "b")):
        assert call("export", "--index", folder, "--output", tmp_path / target).code == 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    for name in names:
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    assert call("copy", url, url).code == 2
