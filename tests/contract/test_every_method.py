"""Every method on real documents and on a graph that a real model made, without a model and over HTTP."""

import json
from contextlib import ExitStack
from dataclasses import replace
from importlib.resources import as_file, files

import pytest

from polygraph.config import Settings
from polygraph.models.providers.openai import OpenAIChat
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.retrieve import METHODS, describe
from polygraph.retrieve.answer import answer
from polygraph.retrieve.base import with_budget
from polygraph.testing import hashed_models, scripted_chat
from polygraph.testing.check_retrieval import expected_calls, faults_of_answer, faults_of_retrieval
from polygraph.workspace.index import Index

OURS = [name for name in METHODS if ":" not in name]
"""Presets are asked the same in benchmarks/every_method.py."""
QUESTIONS = {
    "sample": (
        "Who made the silvered glass mirror of the Tarrant telescope?",
        "Which disputes keep coming back in the papers of the town?",
        "Who won the marathon at the London Olympic Games of 1908?",
    ),
    "carol": (
        "Which illness had the son of Scrooge's clerk, Bob Cratchit?",
        "How many spirits visited Scrooge?",
        "Wer war der tote Geschäftspartner von Scrooge?",
    ),
}
QUESTIONS["imported"] = QUESTIONS["carol"][:2]
MOST_CALLS = {"rq-rag": 25, "graphrag-drift": 67, "fg-rag": 22, "graph-cot": 30}
"""Most calls per question, for methods whose number of calls depends on the question."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory, shared_data):
    """An index of each corpus, made without a model when it is first asked for."""
    base = tmp_path_factory.mktemp("every")

    def made(corpus):
        folder = base / corpus
        if folder.exists():
            return folder
        if corpus == "imported":
            # The form of nano-graphrag needs no library of its own.
            source = shared_data("graph-christmas-carol/nano-graphrag")
            with Index.open(folder, settings=Settings(), models=hashed_models()) as index:
                index.import_(source)
            return folder
        with as_file(files("polygraph") / "sample") as sample, ExitStack() as stack:
            source = str(sample / "papers")
            if corpus == "carol":
                text = json.loads((shared_data("graph-christmas-carol") / "corpus.jsonl").read_text())["text"]
                at = text.index("STAVE I:") if "STAVE I:" in text else 0
                part = base / "carol.txt"
                part.write_text(text[at : at + 60_000])
                source = str(part)
            index = stack.enter_context(
                Index.open(folder, settings=Settings(extractor="nlp"), models=hashed_models())
            )
            index.add(source)
        return folder

    return made


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(chat=scripted_chat(), models=["scripted"]) as served:
        yield served


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["sample", "carol", "imported"])
@pytest.mark.parametrize("model", ["none", "over HTTP"])
def test_every_method_answers_or_says_why_not_within_its_budget_and_for_the_calls_it_names(
    corpus, model, folders, server
):
    chat = OpenAIChat("scripted", base_url=server.base_url, api_key="any") if model == "over HTTP" else None
    faults, answered = [], set()
    with Index.open(folders(corpus), settings=Settings(), models=hashed_models(chat)) as index:
        snapshot = index.snapshot()
        for name in OURS:
            for question in QUESTIONS[corpus]:
                # A cache of its own for each question: what is counted is what a first user pays.
                index.models = hashed_models(chat)
                before = server.calls
                given = index.ask(question, name)
                found = given.retrieval
                if not given.refused:
                    answered.add(name)
                expected = expected_calls(METHODS[name], found) if chat else 0
                told = given.usage.calls + given.usage.cached_calls
                ledger = sum(
                    row.attempts + row.cached
                    for row in index.models.calls.ledger()
                    if chat and row.model == chat.name
                )
                served = server.calls - before
                problems = [
                    *faults_of_retrieval(found, snapshot, max_tokens=METHODS[name].max_tokens),
                    *faults_of_answer(given, snapshot),
                ]
                if told != expected or ledger != expected or served != given.usage.calls:
                    problems.append(
                        f"{told} calls told, {ledger} in the ledger, {served} served, not {expected}"
                    )
                if found.evidence and found.answer_form not in describe(name).form:
                    problems.append(f"the form {found.answer_form}, not that of the catalogue")
                if told > MOST_CALLS.get(name, told):
                    problems.append(f"{told} calls, more than {MOST_CALLS[name]}")
                faults += [f"{name}: {question}: {problem}" for problem in problems]
    assert not faults, "\n".join(faults)
    assert answered >= (set(OURS) if chat else {"naive", "bm25", "hybrid"}), set(OURS) - answered


@pytest.mark.slow
@pytest.mark.parametrize("budget", [60, 900])
def test_every_method_keeps_a_smaller_budget_on_real_documents(budget, folders):
    question = QUESTIONS["sample"][0]
    with Index.open(folders("sample"), settings=Settings(), models=hashed_models()) as index:
        snapshot = index.snapshot()
        for name in OURS:
            found = with_budget(METHODS[name], budget)(question, snapshot, index.models)
            assert not list(faults_of_retrieval(found, snapshot, max_tokens=budget)), name


@pytest.mark.slow
def test_a_broken_answer_is_reported_with_its_faults(folders):
    with Index.open(folders("sample"), settings=Settings(), models=hashed_models()) as index:
        snapshot = index.snapshot()
        given = index.ask(QUESTIONS["sample"][0], "bm25")
        found = given.retrieval
        assert not list(faults_of_retrieval(found, snapshot)) + list(faults_of_answer(given, snapshot))
        first, *rest = found.evidence
        assert any("gives no reason" in f for f in faults_of_retrieval(
            replace(found, evidence=(replace(first, why=""), *rest)), snapshot
        ))  # fmt: skip
        assert any("the budget was" in f for f in faults_of_retrieval(found, snapshot, max_tokens=10))
        wrong = replace(given.citations[0], quote="words that stand nowhere")
        assert any("does not quote its document" in f for f in faults_of_answer(
            replace(given, citations=(wrong,)), snapshot
        ))  # fmt: skip
        faults = list(faults_of_answer(replace(given, nearest=(wrong,)), snapshot))
        assert any("does not quote its document" in f for f in faults)
        assert "there are nearest passages below an answer" in faults
        assert "there is an answer without evidence" in list(
            faults_of_answer(replace(given, retrieval=replace(found, evidence=())), snapshot)
        )


@pytest.mark.slow
def test_points_about_the_whole_collection_are_listed_and_results_of_steps_are_not(folders):
    question = "Which disputes keep coming back in the papers of the town?"
    with Index.open(folders("sample"), settings=Settings(), models=hashed_models()) as index:
        found = index.retrieve(question, "graphrag-global")
        assert answer(question, found, index.snapshot(), index.models).text.startswith("- ")
        steps = replace(found, answer_form="cited")
        assert not answer(question, steps, index.snapshot(), index.models).text.startswith("- ")
