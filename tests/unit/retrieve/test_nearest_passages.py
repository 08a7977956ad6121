"""The passages below a refusal."""

from dataclasses import replace

import numpy as np
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
    found = nearest_passages(
        "What is the fare for a bicycle?", evidence(snapshot, "ferry.md:0"), snapshot, hashed_models()
    )
    assert [(c.title, c.quote) for c in found] == [
        ("The ferry", "A bicycle travels at half the fare of its rider.")
    ]


def test_a_passage_without_words_of_the_question_shows_its_beginning(snapshot):
    found = nearest_passages("Who sank the moon?", evidence(snapshot, "mill.md:0"), snapshot, hashed_models())
    assert [c.quote for c in found] == ["The mill grinds oats."]


def test_the_first_three_passages_are_shown_each_once(snapshot):
    some = evidence(snapshot, "pier.md:0", "pier.md:0", "inn.md:0", "ferry.md:0", "mill.md:0")
    found = nearest_passages("Who owns the pier?", some, snapshot, hashed_models())
    assert [c.document for c in found] == ["pier.md", "inn.md", "ferry.md"]
    assert nearest_passages("Who owns the pier?", [], snapshot, hashed_models()) == ()


class Doubtful:
    """A reranker that refuses everything, bicycles the least."""

    name = "doubtful"
    local = True

    def score(self, question, texts):
        return np.array([-1.0 if "bicycle" in text else -9.0 for text in texts])


def test_the_sentence_that_would_be_the_answer_comes_first(snapshot):
    some = evidence(snapshot, "pier.md:0", "inn.md:0", "ferry.md:0", "mill.md:0")
    given = replace(hashed_models(), reranker=Doubtful())
    found = nearest_passages("What does it cost to take my bike across?", some, snapshot, given)
    assert [(c.n, c.document) for c in found] == [(3, "ferry.md"), (1, "pier.md"), (2, "inn.md")]
    assert found[0].quote == "A bicycle travels at half the fare of its rider."
