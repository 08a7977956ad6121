"""What is put aside comes back as it was, and leaves nothing behind."""

import gc
import os

import numpy as np
import pytest

from polygraph.graph import spill
from polygraph.graph.spill import Column, Spill


def test_bytes_come_back_from_anywhere(tmp_path):
    aside = Spill(tmp_path)
    parts = [bytes([i % 251]) * (i % 40) for i in range(5000)]
    ends = [aside.add(part) for part in parts]
    assert ends[-1] == len(aside) == sum(map(len, parts))
    for i in (4999, 0, 1, 2500, 39, 4998):
        assert aside.read(ends[i] - len(parts[i]), ends[i]) == parts[i]


@pytest.mark.skipif(os.name != "posix", reason="a file without a name, as POSIX has it")
def test_the_file_has_no_name_and_is_closed_when_nobody_uses_it(tmp_path):
    gc.collect()
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else None
    aside = Spill(tmp_path)
    aside.add(b"lamp")
    assert list(tmp_path.iterdir()) == []
    del aside
    gc.collect()
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize(("block", "part"), [(3, 2), (1, 7), (1000, 1000)])
def test_numbers_come_back_in_their_order_however_they_came(block, part, monkeypatch):
    monkeypatch.setattr(spill, "_BLOCK", block)
    monkeypatch.setattr(spill, "_PART", part)
    column = Column("i")
    for number in range(5):
        column.append(number)
    column.extend(range(5, 12))
    column.put(np.arange(12, 16))
    column.append(16)
    assert len(column) == 17
    assert column.array().tolist() == list(range(17))
    assert [n for block in column.blocks() for n in block.tolist()] == list(range(17))
    assert column.part(4, 9).tolist() == [4, 5, 6, 7, 8]
    assert column.array().dtype == np.int32


def test_an_empty_column_is_an_empty_array():
    assert Column("d").array().tolist() == []
    assert Column("d").array().dtype == np.float64
