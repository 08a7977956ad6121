"""The passages below a refusal."""

import pytest

from polygraph.records import Evidence
from polygraph.retrieve.nearest_passages import nearest_passages
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

FILES = {
    "ferry.md": "# The ferry\n\nIt is from Wick. A bicycle travels at half the fare of its rider. Dogs may come.",
    "pier.md": "# The pier\n\nThe pier has four lamps.",
    "inn.md": "# The inn\n\nThe inn has nine rooms.",
    "mill.md": "# The mill\n\nThe mill grinds oats.",
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("nearest")
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(write_files(base / "papers", FILES))
        yield opened.snapshot()


def evidence(snapshot, *chunks):
    spans = snapshot.spans(list(dict.fromkeys(chunks)))
    return [Evidence(kind="chunk", id=c, text=c, score=1.0, spans=(spans[c],)) for c in chunks]


def test_each_shows_the_sentence_that_shares_most_words_with_the_question(snapshot):
    found = nearest_passages("What is the fare for a bicycle?", evidence(snapshot, "ferry.md:0"), snapshot)
    assert [(c.title, c.quote) for c in found] == [
        ("The ferry", "A bicycle travels at half the fare of its rider.")
    ]


def test_a_passage_without_words_of_the_question_shows_its_beginning(snapshot):
    found = nearest_passages("Who sank the moon?", evidence(snapshot, "mill.md:0"), snapshot)
    assert [c.quote for c in found] == ["The mill grinds oats."]


def test_the_first_three_passages_are_shown_each_once(snapshot):
    some = evidence(snapshot, "pier.md:0", "pier.md:0", "inn.md:0", "ferry.md:0", "mill.md:0")
    found = nearest_passages("Who owns the pier?", some, snapshot)
    assert [c.document for c in found] == ["pier.md", "inn.md", "ferry.md"]
    assert nearest_passages("Who owns the pier?", [], snapshot) == ()
