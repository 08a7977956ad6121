"""Cutting files into blocks."""

import io
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.errors import IndexUnreadable
from polygraph.publishing.blocks import (
    LEAST,
    LEAST_TABLES,
    MOST,
    MOST_TABLES,
    blocks,
    cut,
    pack,
    sha256,
    unpack,
)


def noise(seed, n):
    return np.random.default_rng(seed).bytes(n)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3 * MOST), st.booleans()), max_size=5),
)
def test_blocks_of_a_file_are_the_file_and_within_their_sizes(parts):
    data = b"".join(bytes(n) if zeros else noise(seed, n) for seed, n, zeros in parts)
    found = list(cut(io.BytesIO(data)))
    assert b"".join(found) == data
    assert all(LEAST <= len(block) <= MOST for block in found[:-1])
    assert all(0 < len(block) <= MOST for block in found[-1:])


@pytest.mark.parametrize("at", [0, 1, 700_001, 5_999_999])
def test_inserting_a_row_changes_few_blocks(at):
    # Longer than one read, so that the cuts do not depend on where reads end.
    data = noise(7, 6_000_000)
    before = list(cut(io.BytesIO(data)))
    after = list(cut(io.BytesIO(data[:at] + noise(8, 1024) + data[at:])))
    assert len(before) > 300
    assert len(set(after) - set(before)) <= 4


def test_pages_of_sqlite_that_change_or_move_change_few_blocks(tmp_path):
    pages = [noise(n, 4096) for n in range(200)]
    file = tmp_path / "index.sqlite"

    def cut_pages(some):
        file.write_bytes(b"".join(some))
        return list(blocks(file))

    before = cut_pages([*pages, b"end"])
    assert b"".join(before) == b"".join([*pages, b"end"])
    assert all(LEAST_TABLES <= len(block) <= MOST_TABLES for block in before[:-1])
    assert all(len(block) % 4096 == 0 for block in before[:-1])
    assert len(before) > 12
    assert len(set(cut_pages([*pages[:99], noise(500, 4096), *pages[100:], b"end"])) - set(before)) <= 3
    assert len(set(cut_pages([*pages[:99], noise(500, 4096), *pages[99:], b"end"])) - set(before)) <= 3
    assert cut_pages([]) == []


@given(st.binary(min_size=1, max_size=3000))
def test_a_block_is_unpacked_as_it_was(block):
    assert unpack(pack(block), sha256(block), len(block)) == block


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zlib",
        pack(b"other bytes"),
        pack(b"some bytes")[:-7],
        zlib.compress(bytes(1 << 24)),
    ],
)
def test_what_is_not_the_block_is_refused(content):
    with pytest.raises(IndexUnreadable, match="not what its name says"):
        unpack(content, sha256(b"some bytes"), 10)
