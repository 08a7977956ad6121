"""The nearest passages of a question that was refused."""

from dataclasses import replace

import numpy as np
import pytest

from polygraph.models.providers.scripted import ScriptedChat
from polygraph.records import Evidence, Retrieval
from polygraph.retrieve.answer import answer
from polygraph.retrieve.nearest_passages import nearest_passages
from polygraph.testing import hashed_models
from polygraph.testing.check_retrieval import faults_of_answer
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


def found_in(snapshot, question, *chunks, models=None):
    some = evidence(snapshot, *chunks)
    retrieval = Retrieval(question=question, method="bm25", evidence=tuple(some), context="")
    found = answer(question, retrieval, snapshot, models or hashed_models())
    assert found.refused
    assert list(faults_of_answer(found, snapshot)) == []
    return found


def test_each_shows_the_sentence_that_shares_most_words_with_the_question(snapshot):
    found = nearest_passages(
        "What is the fare for a bicycle?", [], evidence(snapshot, "ferry.md:0"), snapshot
    )
    assert [(c.title, c.quote) for c in found] == [
        ("The ferry", "A bicycle travels at half the fare of its rider.")
    ]


def test_a_passage_without_words_of_the_question_shows_its_beginning(snapshot):
    found = found_in(snapshot, "Who sank the Moon?", "mill.md:0")
    assert [c.quote for c in found.nearest] == ["The mill grinds oats."]


def test_the_first_three_passages_are_shown_each_once(snapshot):
    found = found_in(
        snapshot, "Who is Ezra?", "pier.md:0", "pier.md:0", "inn.md:0", "ferry.md:0", "mill.md:0"
    )
    assert [c.document for c in found.nearest] == ["pier.md", "inn.md", "ferry.md"]
    assert found_in(snapshot, "Who is Ezra?").nearest == ()


class Doubtful:
    """A reranker that refuses everything, bicycles the least, and keeps what it has read."""

    name = "doubtful"
    local = True

    def __init__(self):
        self.read = []

    def score(self, question, texts):
        self.read += texts
        return np.array([-1.0 if "bicycle" in text else -9.0 for text in texts])


def test_the_sentence_that_would_be_the_answer_comes_first_and_none_is_read_twice(snapshot):
    reranker = Doubtful()
    found = found_in(
        snapshot,
        "What does it cost to take my bike across?",
        "pier.md:0",
        "inn.md:0",
        "ferry.md:0",
        "mill.md:0",
        models=replace(hashed_models(), reranker=reranker),
    )
    assert [(c.n, c.document) for c in found.nearest] == [(3, "ferry.md"), (1, "pier.md"), (2, "inn.md")]
    assert found.nearest[0].quote == "A bicycle travels at half the fare of its rider."
    assert len(set(reranker.read)) == len(reranker.read) > 0


def test_a_model_that_refuses_has_read_them(snapshot):
    chat = ScriptedChat(replies={"answer": lambda _: "NO ANSWER: it is not there"})
    assert found_in(snapshot, "Who is Ezra?", "inn.md:0", models=hashed_models(chat)).nearest == ()


def test_a_small_model_that_is_late_leaves_those_of_the_rules(snapshot):
    def late(_):
        raise TimeoutError("late")

    models = hashed_models(ScriptedChat(replies={"answer_confirm": late}))
    found = found_in(snapshot, "Who is Ezra?", "inn.md:0", models=replace(models, confirm_time_limit_s=9.0))
    assert [c.document for c in found.nearest] == ["inn.md"]
