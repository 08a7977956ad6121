"""Rows sorted in parts come out as if they had been sorted at once."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygraph.columnar import blocks, by_group, whole_groups
from polygraph.columnar import group_sort as order


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 9))
def test_rows_of_one_item_stay_in_the_order_in_which_they_are_given(items, size):
    item = np.array(items, dtype=np.int64)

    def given_in_parts():
        for at in range(0, len(item), size):
            yield item[at : at + size], np.arange(at, min(at + size, len(item))) + 100

    ends, rows = by_group(given_in_parts, 7, np.int64)
    assert rows.tolist() == (np.argsort(item, kind="stable") + 100).tolist()
    assert np.diff(ends).tolist() == np.bincount(item, minlength=7).tolist()


def test_items_without_rows_and_no_items_at_all():
    ends, rows = by_group(lambda: iter([(np.zeros(0, dtype=np.int64), [])]), 2, np.int32)
    assert (ends.tolist(), rows.tolist()) == ([0, 0, 0], [])
    assert by_group(lambda: iter(()), 0, np.int32)[0].tolist() == [0]


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_parts_hold_every_row_and_every_group_once(size, monkeypatch):
    monkeypatch.setattr(order, "BLOCK", size)
    assert [row for part in blocks(17) for row in part.tolist()] == list(range(17))
    assert max(len(part) for part in blocks(17)) <= size
    chance = random.Random(size)
    ends = np.cumsum([0, *(chance.randrange(5) for _ in range(30))])
    parts = list(whole_groups(ends))
    assert [group for first, last in parts for group in range(first, last)] == list(range(30))
    for first, last in parts:
        assert last == first + 1 or ends[last] - ends[first] <= size
