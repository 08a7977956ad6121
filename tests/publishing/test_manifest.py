"""What a store may not make a reader do."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import IndexUnreadable
from polygraph.publishing.blocks import sha256
from polygraph.publishing.manifest import Block, Pointer, PublishedFile, VersionManifest

A, B = "a" * 64, "b" * 64
GOOD = {
    "format": 1,
    "objects": [A],
    "blocks": [[B, 10, 0, 5, 7]],
    "files": [{"path": "index.sqlite", "size": 20, "blocks": [0, 0]}],
}


def load(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return VersionManifest.loads(sha256(text), zlib.compress(text))


def test_a_manifest_is_read_as_it_was_written():
    block = Block(B, 10, A, 5, 7)
    manifest = VersionManifest((PublishedFile("index.sqlite", (block, block)),))
    name, content = manifest.dumps()
    assert VersionManifest.loads(name, content) == manifest == load(GOOD)
    assert manifest.size == 20


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../index.sqlite",
        "/etc/passwd",
        "derived/../../x",
        "derived/graph-0123456789ab/../../x",
        "derived/graph-0123456789ab/..",
        "derived/graph-0123456789ab/a/b",
        "derived\\graph-0123456789ab\\x",
        "derived/graph-0123456789ab/x\n",
        "derived/graph-0123456789ab/x\0",
        "C:index.sqlite",
        "derived/graph-0123456789ab/C:x",
        "calls.sqlite",
        "manifest",
        "INDEX.SQLITE",
        None,
        7,
    ],
)
def test_a_path_that_no_index_has_is_refused(path):
    with pytest.raises(IndexUnreadable, match="cannot be used"):
        load({**GOOD, "files": [*GOOD["files"], {"path": path, "size": 10, "blocks": [0]}]})


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"files": []},
        {"files": GOOD["files"] * 2},
        {"files": [{"path": "index.sqlite", "size": 21, "blocks": [0, 0]}]},
        {"files": [{"path": "index.sqlite", "size": 20, "blocks": [0, 1]}]},
        {"files": [{"path": "index.sqlite", "size": 20, "blocks": [0, -1]}]},
        {"files": [{"path": "index.sqlite", "size": 20, "blocks": "00"}]},
        {"objects": ["../../x"]},
        {"objects": [A.upper()]},
        {"blocks": [["x", 10, 0, 5, 7]]},
        {"blocks": [[B, -10, 0, 5, 7]]},
        {"blocks": [[B, 1 << 40, 0, 5, 7]]},
        {"blocks": [[B, True, 0, 5, 7]]},
        {"blocks": [[B, 10, 1, 5, 7]]},
        {"blocks": [[B, 10, 0, -5, 7]]},
        {"blocks": [[B, 10, 0, 5, 1 << 40]]},
        {"blocks": {}},
    ],
)
def test_a_manifest_that_none_writes_is_refused(change):
    with pytest.raises(IndexUnreadable, match=r"cannot be used.*Publish the index again"):
        load({**GOOD, **change})


def test_a_manifest_under_another_name_is_refused():
    text = json.dumps(GOOD).encode()
    with pytest.raises(IndexUnreadable, match="not what its name says"):
        VersionManifest.loads(A, zlib.compress(text))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "versions"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "versions"]), json_values), st.booleans())
def test_any_value_is_refused_with_one_error(value, known):
    value = {**value, **({"format": 1} if known else {})}
    with pytest.raises(IndexUnreadable):
        load(value)
    with pytest.raises(IndexUnreadable):
        Pointer.loads(json.dumps(value).encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_one_error(content):
    with pytest.raises(IndexUnreadable):
        VersionManifest.loads(A, content)
    with pytest.raises(IndexUnreadable):
        Pointer.loads(content)


def test_a_pointer_is_read_as_it_was_written():
    pointer = Pointer(((A, 1.5), (B, 0.5)))
    assert Pointer.loads(pointer.dumps()) == pointer
    assert pointer.current == A
