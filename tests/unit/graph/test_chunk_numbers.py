"""Numbers of chunk ids: none is lost, and their order is that of the documents."""

import random

import pytest

from polygraph.graph.chunk_numbers import ChunkNumbers
from polygraph.ids import chunk_key

OURS = ["b:0", "a:10", "a:9", "a#2:10", "a:b:1", "a:5000", "ü:1", ":3", "a:0"]
OTHERS = ["strange", "x:¹", "a:09", "a:00", "a", "a:", "", "a:1234567890123", "b:-1", "b:0 "]


@pytest.mark.parametrize("pool", [OURS, OTHERS, OURS + OTHERS])
def test_chunks_are_ordered_by_document_and_position_however_their_ids_are_written(pool):
    for seed in range(20):
        chunks = random.Random(seed).choices(pool, k=30)
        numbers = ChunkNumbers()
        found = [numbers[chunk] for chunk in chunks]
        ids, positions = numbers.in_order()
        assert ids == sorted(set(chunks), key=lambda chunk: (chunk_key(chunk), chunk))
        assert [ids[positions[number]] for number in found] == chunks


def test_no_chunks_have_no_order():
    ids, positions = ChunkNumbers().in_order()
    assert ids == positions.tolist() == []
