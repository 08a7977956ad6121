"""What is done to arrays in files by parts is what would be done to them whole."""

import numpy as np
import pytest

from polygraph.columnar import Qualities
from polygraph.columnar import gather as aside
from polygraph.columnar import text_scores as qualities
from polygraph.columnar.gather import ByHash, listed, parts, taken
from polygraph.columnar.group_sort import by_group
from polygraph.columnar.memmap import room


@pytest.fixture(params=[16, 1000, 1 << 22])
def window(request, monkeypatch):
    monkeypatch.setattr(aside, "_WINDOW", request.param)


def in_file(values):
    found = room(len(values), values.dtype)
    found[:] = values
    return found


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("n", [1, 3, 4, 5, 700])
def test_numbers_are_taken_from_anywhere(n):
    chance = np.random.default_rng(n)
    values = chance.integers(0, 1 << 30, n).astype(np.int32)
    for places in (chance.integers(0, n, 50), np.arange(n), np.arange(n)[::-1], np.zeros(0, dtype=np.int64)):
        assert taken(in_file(values), places).tolist() == values[places].tolist()


@pytest.mark.usefixtures("window")
def test_groups_are_listed_in_any_order_and_repeated():
    chance = np.random.default_rng(2)
    lists = [chance.integers(0, 99, chance.integers(0, 6)).tolist() for _ in range(200)]
    ends = in_file(np.cumsum([0, *map(len, lists)]).astype(np.int32))
    items = in_file(np.array([item for one in lists for item in one], dtype=np.int32))
    groups = chance.integers(0, 200, 80)
    found, of = listed(ends, items, groups)
    assert found.tolist() == [item for group in groups for item in lists[group]]
    assert of.tolist() == [i for i, group in enumerate(groups) for _ in lists[group]]
    nothing = np.zeros(0, dtype=np.int64)
    assert [part.tolist() for part in listed(ends, items, nothing)] == [[], []]


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_items_of_a_group_keep_the_order_in_which_they_came(block):
    chance = np.random.default_rng(5)
    groups, items = chance.integers(0, 9, 300), chance.integers(0, 1000, 300)
    groups[groups == 4] = 3

    def blocks():
        for begin in range(0, 300, block):
            yield groups[begin : begin + block], items[begin : begin + block]

    ends, found = by_group(blocks, 9, np.int64)
    order = np.argsort(groups, kind="stable")
    assert found.tolist() == items[order].tolist()
    assert [len(part) for part in parts(ends, found)] == np.bincount(groups, minlength=9).tolist()


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("block", [1, 3, 1000])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 5), (5, 0), (60, 8), (8, 60), (60, 60)])
def test_merged_tables_know_what_both_knew(sizes, block, monkeypatch):
    monkeypatch.setattr(aside, "_BLOCK", block)
    chance = np.random.default_rng(sum(sizes))
    hashes = chance.choice(1 << 20, sum(sizes), replace=False).astype(np.uint64) << np.uint64(43)
    mine, its = np.sort(hashes[: sizes[0]]), np.sort(hashes[sizes[0] :])
    number = {int(hash_): n for n, hash_ in enumerate(np.sort(hashes))}
    tables = [ByHash(one, np.array([number[int(h)] for h in one], dtype=np.int64)) for one in (mine, its)]
    both = tables[0].merged(tables[1])
    assert len(both) == sum(sizes)
    assert both.numbers.tolist() == list(range(sum(sizes)))
    asked = np.concatenate([hashes, hashes + np.uint64(1)])[::-1].copy()
    assert both.of(asked, -1).tolist() == [number.get(int(hash_), -1) for hash_ in asked]


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("part", [1, 30, 1000])
def test_of_a_text_that_stands_twice_the_first_quality_counts(part, monkeypatch):
    monkeypatch.setattr(qualities, "_PART", part)
    chance = np.random.default_rng(3)
    hashes = chance.integers(0, 1 << 63, 100, dtype=np.uint64)[chance.integers(0, 100, 300)]
    values = np.where(chance.random(300) < 0.3, np.nan, chance.random(300))
    first = {}
    for hash_, value in zip(hashes.tolist(), values.tolist(), strict=True):
        if value == value:
            first.setdefault(hash_, value)
    known = Qualities(hashes, values)
    for hash_, value in zip(hashes.tolist(), known.of(hashes).tolist(), strict=True):
        assert value == first[hash_] if hash_ in first else value != value
    assert np.isnan(Qualities(hashes[:0], values[:0]).of(hashes[:3])).all()
