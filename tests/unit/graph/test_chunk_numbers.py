"""Ids of chunks as numbers: none is lost, and their order is that of the documents."""

import random

import numpy as np
import pytest

from polygraph.columnar import memmap as spill
from polygraph.columnar.memmap import Column
from polygraph.graph import chunk_numbers as chunk_ids
from polygraph.graph.chunk_numbers import ChunkIds, ChunkOrder, chunk_key

OURS = ["b:0", "a:10", "a:9", "a#2:10", "a:b:1", "a:5000", "ü:1", ":3", "a:0"]
OTHERS = ["strange", "x:¹", "a:09", "a:00", "a", "a:", "", "a:1234567890123", "b:-1", "b:0 "]


def ordered(ids, *lists):
    columns = []
    for chunks in lists:
        columns.append(Column("q"))
        columns[-1].extend(ids.codes(chunks))
    return columns, ChunkOrder(ids, columns)


@pytest.mark.parametrize("pool", [OURS, OTHERS, OURS + OTHERS])
@pytest.mark.parametrize("part", [2, 1000])
def test_chunks_are_numbered_in_the_order_of_documents_however_they_are_written(pool, part, monkeypatch):
    monkeypatch.setattr(spill, "_PART", part)
    monkeypatch.setattr(chunk_ids, "_BLOCK", part)
    for seed in range(20):
        chance = random.Random(seed)
        first, second = chance.choices(pool, k=30), chance.sample(pool, 3)
        (one, two), order = ordered(ChunkIds(), first, second)
        wanted = sorted({*first, *second}, key=lambda chunk: (chunk_key(chunk), chunk))
        assert list(order) == wanted
        places = np.concatenate(list(order.places(one)))
        assert order.named(places) == first
        assert [wanted[place] for place in places] == first
        assert order.named(np.concatenate(list(order.places(two)))) == second
        assert order[1:3] == wanted[1:3]


def test_the_same_id_has_the_same_code():
    ids = ChunkIds()
    codes = ids.codes(OURS + OTHERS)
    assert len(set(codes)) == len(OURS + OTHERS)
    assert ids.codes(OURS + OTHERS) == codes
    assert list(ids.ids(codes)) == OURS + OTHERS


def test_no_chunks_are_no_chunks():
    (column,), order = ordered(ChunkIds(), [])
    assert list(order) == list(order.places(column)) == order.named(np.zeros(0, dtype=np.int64)) == []
