"""Ids of chunks and windows: what is composed is read back, whatever the id of the document."""

import pytest

from polygraph.ids import chunk_id, chunk_key, document_of_chunk, document_of_window, window_id


@pytest.mark.parametrize("document", ["a.md", "folder/a.csv#7", "mail:2", "a@b.org", "x:0@1", "ü", ""])
@pytest.mark.parametrize("ordinal", [0, 10, 1_234_567])
def test_the_document_and_position_are_read_back(document, ordinal):
    assert document_of_chunk(chunk_id(document, ordinal)) == document
    assert chunk_key(chunk_id(document, ordinal)) == (document, ordinal)
    assert document_of_window(window_id(document, ordinal)) == document


def test_ids_of_chunks_sort_by_document_and_place():
    chunks = ["b:0", "a#2:10", "a#2:9", "strange", "a:b:1", "x:¹"]
    assert sorted(chunks, key=chunk_key) == ["a#2:9", "a#2:10", "a:b:1", "b:0", "strange", "x:¹"]
