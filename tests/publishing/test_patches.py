"""Patches: what they give, and what a damaged or malicious one cannot do."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.publishing import patches
from polygraph.publishing.patches import MOST_SOURCE, PatchUnusable, apply_patch, can_patch, make_patch
from polygraph.publishing.similar_parts import SimilarParts

pytestmark = pytest.mark.skipif(
    not can_patch(), reason="needs backports.zstd: pip install polygraph-rag[publish]"
)


def noise(seed, n):
    return np.random.default_rng(seed).bytes(n)


@given(st.binary(max_size=300), st.integers(0, 9), st.binary(min_size=8, max_size=300), st.booleans())
def test_a_patch_gives_the_new_bytes(new, at, source, differences):
    patch = make_patch(new, at, source, differences=differences)
    assert apply_patch(patch, at, len(new), source, differences=differences) == new


def test_similar_bytes_cost_little():
    source = noise(1, 200_000)
    new = source[:70_000] + b"a new row" + source[70_000:]
    assert len(make_patch(new, 0, source, differences=False)) < 100


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4097])
def test_numbers_that_all_move_cost_little(at):
    rng = np.random.default_rng(2)
    numbers = np.cumsum(rng.integers(0, 50_000, 20_000)).astype("<u4")
    moved = numbers + np.uint32(7)
    source = numbers.tobytes()
    # A part that begins within a number, as blocks do.
    new = moved.tobytes()[400 + at % 4 :]
    plain, differences = (make_patch(new, at, source, differences=way) for way in (False, True))
    assert len(differences) < 200 < 20_000 < len(plain)


def test_a_damaged_patch_is_unusable_or_gives_as_many_bytes():
    source, new = noise(1, 5000), noise(1, 5000)[:2500] + noise(2, 300)
    patch = make_patch(new, 0, source, differences=False)
    for at in range(len(patch)):
        damaged = bytearray(patch)
        damaged[at] ^= 0x55
        for content in (bytes(damaged), patch[:at]):
            try:
                assert len(apply_patch(content, 0, len(new), source, differences=False)) == len(new)
            except PatchUnusable:
                continue


@pytest.mark.parametrize("size", [0, 99, 101, 1 << 30])
def test_a_patch_of_another_size_is_unusable(size):
    patch = make_patch(bytes(100), 0, b"a source", differences=False)
    with pytest.raises(PatchUnusable):
        apply_patch(patch, 0, size, b"a source", differences=False)


def test_a_patch_that_gives_gigabytes_takes_no_memory():
    zstd = patches._zstd()
    bomb = zstd.compress(bytes(1 << 28))
    tracemalloc.start()
    with pytest.raises(PatchUnusable):
        apply_patch(bomb, 0, 1000, b"a source", differences=False)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_patch_that_needs_more_memory_than_is_permitted_is_unusable():
    zstd = patches._zstd()
    options = {zstd.CompressionParameter.window_log: 27}
    wide = zstd.ZstdCompressor(options=options)
    patch = wide.compress(noise(1, 1000)) + wide.flush()
    with pytest.raises(PatchUnusable):
        apply_patch(patch, 0, 1000, b"a source", differences=False)


def test_without_zstandard_there_are_no_patches(monkeypatch):
    patch = make_patch(b"new", 0, b"a source", differences=False)
    monkeypatch.setattr(patches, "_zstd", lambda: None)
    assert not can_patch()
    with pytest.raises(PatchUnusable):
        apply_patch(patch, 0, 3, b"a source", differences=False)


# --- similar parts --------------------------------------------------------------------------------------


def test_a_part_is_found_where_it_has_moved_to(tmp_path):
    data = noise(3, 3 * MOST_SOURCE)
    (tmp_path / "before").write_bytes(data)
    similar = SimilarParts(tmp_path / "before")
    for moved in (0, -4_000_000, 5_000_001):
        at = MOST_SOURCE
        part = data[at + moved : at + moved + 1_000_000]
        begin, end = similar.near(part, at)
        assert end - begin == MOST_SOURCE
        assert begin % 4 == 0
        assert begin <= at + moved < at + moved + len(part) <= end
        assert part in similar.read(begin, end)
    # What is not there is taken to have moved as the last part.
    begin, end = similar.near(noise(4, 1_000_000), MOST_SOURCE)
    assert begin <= MOST_SOURCE + 5_000_001 <= end


def test_rows_that_occur_elsewhere_too_do_not_mislead(tmp_path):
    common = noise(5, 100_000)
    data = common + noise(6, 2 * MOST_SOURCE) + common + noise(7, MOST_SOURCE)
    (tmp_path / "before").write_bytes(data)
    at = 100_000 + 2 * MOST_SOURCE
    part = data[at : at + 300_000]
    begin, end = SimilarParts(tmp_path / "before").near(part, 0)
    assert begin <= at < at + len(part) <= end


def test_a_small_file_is_taken_as_a_whole(tmp_path):
    (tmp_path / "before").write_bytes(b"small")
    assert SimilarParts(tmp_path / "before").near(noise(1, 1000), 77) == (0, 5)
    (tmp_path / "before").write_bytes(b"")
    assert SimilarParts(tmp_path / "before").near(noise(1, 1000), 77) == (0, 0)
