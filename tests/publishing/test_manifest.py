"""What a store may not make a reader do."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import IndexUnreadable
from polygraph.publishing.blocks import sha256
from polygraph.publishing.manifest import (
    POINTER_FORMAT,
    Block,
    Patch,
    Patches,
    Pointer,
    PublishedFile,
    VersionManifest,
)
from polygraph.store.tables import FORMAT

A, B = "a" * 64, "b" * 64
GOOD = {
    "format": FORMAT,
    "objects": [A],
    "blocks": [[B, 10, 0, 5, 7]],
    "files": [{"path": "index.sqlite", "size": 20, "blocks": [0, 0]}],
}


LAYER = "derived/graph-0123456789ab/edges.npy"
PATCHES = {
    "method": 1,
    "base": B,
    "objects": [A],
    "sources": [LAYER],
    "patches": [[0, 0, 2, 0, 4, 12, 1, 0, 3, 9]],
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
        {"format": None},
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


@pytest.mark.parametrize(
    ("format", "fix"), [(FORMAT - 1, "Publish the index again"), (FORMAT + 1, "Upgrade with: pip")]
)
def test_a_manifest_of_another_format_says_what_to_do(format, fix):
    with pytest.raises(
        IndexUnreadable,
        match=rf"manifest has format {format}, and this version .* reads format {FORMAT}\. {fix}",
    ):
        load({**GOOD, "format": format})


def test_a_manifest_under_another_name_is_refused():
    text = json.dumps(GOOD).encode()
    with pytest.raises(IndexUnreadable, match="not what its name says"):
        VersionManifest.loads(A, zlib.compress(text))


def test_patches_are_read_as_they_were_written():
    patch = Patch(0, 2, LAYER, 4, 12, True, A, 3, 9)
    plain = load(GOOD)
    manifest = VersionManifest(plain.files, Patches(B, {"index.sqlite": (patch,)}))
    name, content = manifest.dumps()
    assert VersionManifest.loads(name, content) == manifest == load({**GOOD, "patches": PATCHES})
    assert manifest.patches.packed == 9
    assert manifest.objects() == {A}


def test_a_manifest_without_patches_is_written_as_it_was_read():
    assert json.loads(zlib.decompress(load(GOOD).dumps()[1])) == GOOD


def test_patches_of_a_method_that_is_not_known_are_passed_over():
    assert load({**GOOD, "patches": {"method": 2, "anything": "else"}}) == load(GOOD)


@pytest.mark.parametrize(
    "change",
    [
        {"base": "../x"},
        {"objects": ["x"]},
        {"objects": []},
        {"sources": ["../../etc/passwd"]},
        {"sources": [None]},
        {"patches": [[1, 0, 2, 0, 4, 12, 1, 0, 3, 9]]},  # no such file
        {"patches": [[0, 1, 2, 0, 4, 12, 1, 0, 3, 9]]},  # more blocks than the file has
        {"patches": [[0, 0, 0, 0, 4, 12, 1, 0, 3, 9]]},
        {"patches": [[0, 0, 2, 1, 4, 12, 1, 0, 3, 9]]},  # no such source
        {"patches": [[0, 0, 2, 0, -4, 12, 1, 0, 3, 9]]},
        {"patches": [[0, 0, 2, 0, 5, 12, 1, 0, 3, 9]]},  # begins at no multiple of four
        {"patches": [[0, 0, 2, 0, 4, 4, 1, 0, 3, 9]]},
        {"patches": [[0, 0, 2, 0, 4, 1 << 30, 1, 0, 3, 9]]},  # more than is held in memory
        {"patches": [[0, 0, 2, 0, 4, 12, 1, 0, 3, 1 << 30]]},
        {"patches": [[0, 0, 2, 0, 4, 12, 2, 0, 3, 9]]},
        {"patches": [[0, 0, 2, 0, 4, 12, 1, 1, 3, 9]]},
        {"patches": [[0, 0, 2, 0, 4, 12, 1, 0, -3, 9]]},
        {"patches": [[0, 0, 2, 0, 4, 12, 1, 0, 3]]},
        {"patches": [[0, 0, 1, 0, 4, 12, 1, 0, 3, 9], [0, 0, 1, 0, 4, 12, 1, 0, 3, 9]]},  # a block twice
        {"patches": 7},
    ],
)
def test_patches_that_none_writes_are_refused(change):
    with pytest.raises(IndexUnreadable, match="cannot be used"):
        load({**GOOD, "patches": {**PATCHES, **change}})


def test_a_patch_of_more_blocks_than_are_held_in_memory_is_refused():
    n = 80
    blocks = [[f"{i:064x}", 1 << 16, 0, i, 7] for i in range(n)]
    file = {"path": "index.sqlite", "size": n << 16, "blocks": list(range(n))}
    patches = {**PATCHES, "patches": [[0, 0, n, 0, 4, 12, 1, 0, 3, 9]]}
    with pytest.raises(IndexUnreadable, match="too many blocks"):
        load({**GOOD, "blocks": blocks, "files": [file], "patches": patches})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "versions"]), inner),
    max_leaves=8,
)


@given(json_values)
def test_any_patches_are_refused_with_one_error_or_are_none(value):
    try:
        found = load({**GOOD, "patches": value})
    except IndexUnreadable:
        return
    assert found.patches is None


@given(
    st.dictionaries(st.sampled_from([*GOOD, "versions"]), json_values),
    st.sampled_from([{}, {"format": FORMAT}, {"format": POINTER_FORMAT}]),
)
def test_any_value_is_refused_with_one_error(value, known):
    value = {**value, **known}
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


def test_a_time_that_no_number_holds_is_refused():
    value = {"format": POINTER_FORMAT, "versions": [{"name": A, "published": 10**400}]}
    with pytest.raises(IndexUnreadable):
        Pointer.loads(json.dumps(value).encode())


def test_a_pointer_is_read_as_it_was_written():
    pointer = Pointer(((A, 1.5), (B, 0.5)))
    assert Pointer.loads(pointer.dumps()) == pointer
    assert pointer.current == A
