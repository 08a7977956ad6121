"""Answers of a tuned reader: its prompt, its quotes as citations, its refusals, and replies that break the form."""

from dataclasses import replace

import pytest

from polygraph.config import Settings
from polygraph.models.open import open_models
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.retrieve.tuned_reader import NOT_VERBATIM, OUT_OF_FORM
from polygraph.tasks.answers.raft import REFUSAL, quoted
from polygraph.testing import hashed_models
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the light\nin 1871. The granite came from Sallow Bay by barge.",
    "b.txt": "The fog horn was bought by Tobias Wren. Nobody could hear it in a westerly gale.",
}
QUESTION = "Who built the light?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("tuned")
    with Index.open(base / "index", models=hashed_models()) as index:
        index.add(write_files(base / "papers", TEXTS), methods=["bm25"])
    return base / "index"


def ask(folder, reply, form="raft", **options):
    chat = ScriptedChat(replies={"raft": lambda _: reply, "graft": lambda _: reply})
    models = replace(hashed_models(chat), reader_form=form)
    with Index.open(folder, models=models) as index:
        return index.ask(QUESTION, "bm25", **options)


def test_a_quote_becomes_a_citation_of_its_place_in_the_document(folder):
    found = ask(folder, f"{quoted('Mara Quill built the light in 1871.', 1)}\n<ANSWER>: Mara Quill")
    assert found.text == "Mara Quill [1]"
    [citation] = found.citations
    assert (citation.document, citation.start, citation.end) == ("a.txt", 0, 35)
    assert citation.quote == "Mara Quill built the light\nin 1871."
    assert not found.notes


def test_a_quote_with_the_number_of_another_passage_cites_the_one_that_holds_it(folder):
    found = ask(folder, f"{quoted('Mara Quill built the light in 1871.', 2)}\n<ANSWER>: Mara Quill")
    assert [c.document for c in found.citations] == ["a.txt"]


def test_a_quote_that_is_nowhere_is_noted_and_not_cited(folder):
    found = ask(folder, f"{quoted('Tobias Wren built the light.', 1)}\n<ANSWER>: Tobias Wren")
    assert found.text == "Tobias Wren"
    assert not found.citations
    assert found.notes == (f"{NOT_VERBATIM}: “Tobias Wren built the light.”",)


def test_a_refusal_is_shown_in_our_words(folder):
    found = ask(folder, f"<ANSWER>: {REFUSAL}")
    assert found.refused
    assert found.text == "The documents do not answer this: the evidence does not answer the question."
    assert ask(folder, REFUSAL, form="graft").refused


def test_a_reply_without_the_form_is_shown_without_its_marks_and_noted(folder):
    found = ask(folder, "##begin_quote##Mara Quill built the light")
    assert found.text == "Mara Quill built the light"
    assert found.notes == (OUT_OF_FORM,)


def test_the_form_graft_is_the_answer_alone(folder):
    found = ask(folder, "Mara\nQuill", form="graft")
    assert found.text == "Mara Quill"
    assert not found.notes


def test_the_form_is_that_of_the_setting_else_that_of_the_adapter(tmp_path):
    adapter = tmp_path / "adapter.gguf"
    (tmp_path / "training.json").write_text('{"form": "graft"}')
    plain = Settings(offline=False, reranker="none", embedder="hash", name_embedder="hash")

    def form(**more):
        return open_models(plain.model_copy(update=more), None).reader_form

    assert form() is None
    assert form(reader_form="raft") == "raft"
    gguf = {"chat_model": "gguf:smollm2-135m", "adapter": tmp_path}
    adapter.write_bytes(b"GGUF")
    pytest.importorskip("xllamacpp")
    assert form(**gguf) == "graft"
    assert form(**gguf, reader_form="raft") == "raft"
    (tmp_path / "training.json").write_text("[]")
    assert form(**gguf) is None


def test_a_number_beside_the_answer_cites_nothing(folder):
    found = ask(folder, f"{quoted('Mara Quill built the light in 1871.', 1)}\n<ANSWER>: Mara Quill [2]")
    assert found.text == "Mara Quill [1]"
    assert [c.n for c in found.citations] == [1]
    assert ask(folder, "Mara Quill [2]", form="graft").text == "Mara Quill"


def test_a_quote_that_is_repeated_counts_once(folder):
    twice = f"{quoted('Tobias Wren built the light.', 1)} {quoted('Tobias Wren built the light.', 2)}"
    assert len(ask(folder, f"{twice}\n<ANSWER>: Tobias Wren").notes) == 1
