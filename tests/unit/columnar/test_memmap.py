"""What is put aside comes back as it was, and leaves nothing behind."""

import gc
import os

import numpy as np
import pytest

from polygraph.columnar import memmap as spill
from polygraph.columnar.memmap import Column, Spill, room
from polygraph.columnar.memory import let_go


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


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_an_array_in_a_file_keeps_what_was_written_when_it_is_let_go(n, tmp_path):
    numbers = room(n, np.int64, tmp_path)
    assert numbers.tolist() == [0] * n
    numbers[:] = np.arange(n)
    let_go(numbers, numbers[n // 2 :], np.arange(3))
    assert numbers.tolist() == list(range(n))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.isfile("/proc/self/status"), reason="needs Linux's account of memory")
def test_what_is_let_go_no_longer_counts_as_memory_in_use(tmp_path):
    def in_use() -> int:
        with open("/proc/self/status", encoding="ascii") as status:
            return sum(int(line.split()[1]) for line in status if line.startswith(("RssFile", "RssShmem")))

    column = Column("q", tmp_path)
    column.put(np.arange(1 << 21))
    read, written = column.mapped(), room(1 << 21, np.int64, tmp_path)
    before = in_use()
    written[:] = read
    assert in_use() > before + 30_000
    let_go(read, written)
    assert in_use() < before + 1000
    assert int(written[-1]) == (1 << 21) - 1


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is not made beforehand here")
def test_a_full_disk_is_told_when_room_is_made(monkeypatch):
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spill, "_FALLOCATE", full)
    with pytest.raises(OSError, match="No space"):
        room(10_000, np.int32)
