"""Extraction without a model: the parts of an index that are held in memory."""

from polygraph.indexing.extraction import whole_documents
from polygraph.records import Window


def window(document: str, ordinal: int, text: str) -> Window:
    return Window(
        id=f"{document}@{ordinal}", document=document, ordinal=ordinal, title="", chunks=(), text=text
    )


def test_a_part_ends_with_a_document_after_so_many_characters():
    windows = [
        window("a", 0, "x" * 60),
        window("a", 1, "x" * 60),
        window("b", 0, "x" * 90),
        window("c", 0, "x" * 10),
        window("d", 0, "x"),
    ]
    parts = whole_documents(iter(windows), 100)
    assert [[w.id for w in part] for part in parts] == [["a@0", "a@1"], ["b@0", "c@0"], ["d@0"]]


def test_parts_are_read_one_by_one():
    read = []
    windows = (read.append(name) or window(name, 0, "x" * 50) for name in "abcd")
    next(whole_documents(windows, 100))
    assert read == ["a", "b", "c"]
    assert list(whole_documents(iter([]), 100)) == []
