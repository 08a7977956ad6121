"""Groups of rows, and tables of documents, against lists of Python."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polygraph.arrays import TableBuilder, batches, distinct, group_order, members, offsets, text_hash

GROUPS = st.lists(st.integers(0, 5), max_size=30)


@given(GROUPS)
def test_rows_of_a_group_stay_in_their_order(groups):
    ends, order = group_order(np.array(groups, dtype=np.int64), 6)
    for group, (begin, end) in enumerate(pairwise(ends.tolist())):
        assert order[begin:end].tolist() == [i for i, g in enumerate(groups) if g == group]


@given(st.lists(st.integers(0, 4), max_size=8), st.data())
def test_members_of_any_groups_come_group_by_group(sizes, data):
    ends = offsets(sizes)
    wanted = data.draw(st.lists(st.sampled_from(range(len(sizes))), max_size=6)) if sizes else []
    rows, owner = members(ends, np.array(wanted, dtype=np.int64))
    assert rows.tolist() == [row for group in wanted for row in range(ends[group], ends[group + 1])]
    assert owner.tolist() == [i for i, group in enumerate(wanted) for _ in range(sizes[group])]


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12))
def test_batches_cover_all_groups_and_only_a_single_group_is_larger(sizes, size):
    found = list(batches(offsets(sizes), size))
    assert [i for begin, end in found for i in range(begin, end)] == list(range(len(sizes)))
    assert all(end - begin == 1 or sum(sizes[begin:end]) <= size for begin, end in found)


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_ascend(values):
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


def test_columns_that_count_within_a_document_are_counted_through_all_documents():
    builder = TableBuilder({"row": "i"})
    for rows in ([0, 1, -1], [], [0, -1]):
        builder.add({"row": rows})
    assert builder.table().shifted("row", np.array([0, 3, 10])).tolist() == [0, 1, -1, 10, -1]


def test_a_column_of_one_value_takes_no_memory_and_others_keep_every_row():
    builder = TableBuilder({"name": "s", "n": "i", "weight": "d"})
    names = [None, "Orme", None]
    for n in range(3):
        builder.add({"name": [None] * 40_000, "n": [n] * 40_000, "weight": [1.0] * 40_000})
    builder.add({"name": names, "n": [7, 7, 8], "weight": [1.0] * 3})
    table = builder.table()
    assert table["weight"].strides == (0,)
    assert table["weight"].tolist() == [1.0] * 120_003
    assert table["n"].tolist() == [0] * 40_000 + [1] * 40_000 + [2] * 40_000 + [7, 7, 8]
    assert table["name"][-3:].tolist() == [-1, 0, -1]


def test_a_table_without_documents_has_no_rows():
    table = TableBuilder({"name": "s", "n": "i"}).table()
    assert len(table) == 0
    assert table["n"].tolist() == table["name"].tolist() == table.strings["name"] == []


def test_hashes_of_texts_fit_an_integer_of_sqlite():
    found = [text_hash(text) for text in ("", "Fog.", "Rain.", "\ud800")]
    assert found[0] == 0
    assert len(set(found)) == 4
    assert all(-(1 << 63) <= number < 1 << 63 for number in found)
