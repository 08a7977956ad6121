"""What a collection holds, counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from polygraph.retrieve.collection_profile import describe_collection
from polygraph.store.protocol import EntityOverview

FILES = {
    f"letters/{year}-05-01-quill.txt": f"Mara Quill wrote about the lamp. Tobias Wren paid {n} pounds for the lamp."
    for n, year in enumerate(range(1871, 1877), 3)
} | {
    "minutes/1880-02-02-board.txt": "The Harbour Board met Mara Quill.",
    "minutes/1881-02-02-board.txt": "The Harbour Board sold the barque Halcyon.",
    "undated.txt": "Nobody signed this note.",
}


@pytest.fixture(scope="module")
def collection(index_offline):
    opened = index_offline(FILES)
    yield opened
    opened.close()


def test_documents_are_counted_with_their_years_and_folders(collection):
    documents, *_ = describe_collection(collection.snapshot())
    assert documents == "9 documents, 8 of them dated 1871 to 1881: 6 in letters, 2 in minutes and 1 other."


def test_what_most_passages_name_comes_first(collection):
    _, names, subjects = describe_collection(collection.snapshot())
    assert names == "Names in the most passages: Mara Quill (7), Tobias Wren (6) and Harbour Board (2)."
    assert subjects == "Subjects in the most passages: lamp (6)."


def test_only_what_a_filter_permits_is_counted(collection):
    lines = describe_collection(collection.snapshot({"path": "minutes/*"}))
    assert lines == [
        "2 documents: 1880-02-02-board and 1881-02-02-board.",
        "Names in the most passages: Harbour Board (2).",
    ]


def test_without_folders_the_kinds_of_files_are_counted(index_offline):
    files = {f"{n}.md": f"Note {n} is about rope." for n in range(4)} | {"list.csv": "item,price\nrope,3\n"}
    with index_offline(files) as opened:
        assert describe_collection(opened.snapshot())[0] == "5 documents: 4 md and 1 csv."
        answer = opened.ask("What are these documents about?", method="bm25")
    assert not answer.refused
    assert answer.text.startswith("5 documents: 4 md and 1 csv.")


def test_a_name_without_words_hides_no_other():
    found = [EntityOverview(n, name, name, "", 5 - n, 1) for n, name in enumerate(["***", "Mara Quill"])]
    graph = SimpleNamespace(entity_overview=lambda **_: found)
    store = SimpleNamespace(graph=graph, count=lambda _: 30_000)
    index = SimpleNamespace(
        layers={"graph"}, documents_allowed=None, graph=SimpleNamespace(degrees=np.ones(2)), store=store
    )
    assert describe_collection(index) == ["30,000 documents.", "Names in the most passages: Mara Quill (4)."]
