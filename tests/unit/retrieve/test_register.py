"""A method of one's own gets a name."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

from polygraph import Index
from polygraph.config import Settings
from polygraph.errors import BadInput, UnknownMethod
from polygraph.evaluate.questions.file import Question
from polygraph.retrieve import METHODS, method, offered, register
from polygraph.retrieve.methods.lexical import BM25
from polygraph.testing import check_method

SETTINGS = Settings(embedder="hash", name_embedder="hash", reranker="none", chunk_tokens=50)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr("polygraph.retrieve._REGISTERED", {})
    yield
    offered.cache_clear()


@pytest.fixture
def index(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    rows = [
        {"id": f"d{n}", "text": f"The {word} was sold in May."} for n, word in enumerate(("boat", "lamp"))
    ]
    corpus.write_text("\n".join(map(json.dumps, rows)))
    with Index.open(tmp_path / "x.index", settings=SETTINGS) as opened:
        opened.add(corpus, methods=["bm25"])
        yield opened


def test_a_registered_method_is_used_by_its_name_and_a_later_one_takes_its_place():
    register("mine", BM25(k=3))
    register("mine:few", BM25(k=1))
    assert method("mine:few") == BM25(k=1)
    register("mine", BM25(k=4))
    assert method("mine") == BM25(k=4)
    assert "mine" not in METHODS
    with pytest.raises(UnknownMethod, match="mine"):
        method("other")


def test_what_lacks_a_part_of_a_method_is_refused_with_the_part():
    class Undeclared:
        needs = frozenset({"chunks"})

        def __call__(self, question, index, models):
            raise NotImplementedError

    class Plain(Undeclared):
        calls = "1"
        max_tokens = 100

    for candidate, reason in (
        (Undeclared(), "it lacks calls, max_tokens"),
        (Plain(), "no dataclass"),
        (BM25, r"Pass an instance: BM25\(\)"),
    ):
        with pytest.raises(BadInput, match=reason):
            register("mine", candidate)
        with pytest.raises(AssertionError, match=reason):
            check_method(candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """Returns what it is given."""

    needs: ClassVar[frozenset[str]] = frozenset({"chunks"})
    calls: ClassVar[str] = "1"
    max_tokens: int = 100
    result: object = None

    def __call__(self, question, index, models):
        return self.result


def test_a_method_that_returns_no_retrieval_is_told_what_to_return(index):
    register("mine", Unfinished())
    for ask in (index.ask, index.retrieve):
        with pytest.raises(BadInput, match=r"the method mine returned None. It must return a Retrieval"):
            ask("What was sold?", "mine")
        with pytest.raises(
            BadInput, match=r"the method Unfinished returned an object of type list\. It must"
        ):
            ask("What was sold?", Unfinished(result=["d0:0"]))
    with pytest.raises(AssertionError, match=r"returned None. It must return a Retrieval"):
        check_method(Unfinished())


@pytest.mark.parametrize("given", [BM25, 5, lambda question, index, models: None])
def test_what_is_asked_with_and_is_no_method_is_refused_with_the_reason(index, given):
    with pytest.raises(BadInput, match="is not a method: it "):
        index.ask("What was sold?", given)


@pytest.fixture
def package(tmp_path):
    """A package that offers a class, an instance, what is no method, and what cannot be loaded."""
    folder = tmp_path / "site"
    (folder / "own-1.0.dist-info").mkdir(parents=True)
    (folder / "own-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (folder / "own-1.0.dist-info" / "entry_points.txt").write_text(
        "[polygraph.methods]\nown = own:Own\nown:few = own:FEW\nnone = own:NONE\ngone = own.gone:Own\n"
    )
    (folder / "own.py").write_text(
        "from polygraph.retrieve.methods.lexical import BM25 as Own\nFEW = Own(k=1)\nNONE = 1\n"
    )
    return folder


def test_a_method_of_an_installed_package_is_found_or_the_reason_said(package, monkeypatch):
    monkeypatch.syspath_prepend(package)
    offered.cache_clear()
    assert method("own:few") == BM25(k=1)
    assert method("own") == BM25()
    for name, error, reason in (
        ("none", BadInput, "own:NONE is not a method"),
        ("gone", BadInput, "cannot be loaded from own.gone:Own: ModuleNotFoundError"),
        ("other", UnknownMethod, "there is no method 'other'"),
    ):
        with pytest.raises(error, match=reason):
            method(name)


def test_the_command_line_knows_a_method_of_an_installed_package(index, package, call, monkeypatch):
    question = ("ask", "Who sold the boat?", "--index", str(index.folder), "-m")
    path = os.pathsep.join([str(package), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "polygraph", *question, "own:few"],
        env=os.environ | {"PYTHONPATH": path, "POLYGRAPH_EMBEDDER": "hash", "POLYGRAPH_RERANKER": "none",
                          "POLYGRAPH_NAME_EMBEDDER": "hash", "POLYGRAPH_OFFLINE": "true"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "own:few ·" in done.stdout
    monkeypatch.syspath_prepend(package)
    offered.cache_clear()
    ended = call(*question, "none")
    assert ended.code == 2
    assert "own:NONE is not a method" in ended.sentence
    listed = call("methods", "--index", index.folder).out
    assert "of installed packages: own, own:few, none, gone" in listed
    shown = call("methods", "own", "--index", index.folder).out
    assert "own:Own" in shown
    assert f"at most {BM25().max_tokens:,}" in shown
    (described,) = json.loads(call("methods", "own:few", "--index", index.folder, "--json").out)
    assert described["needs"] == sorted(BM25.needs)
    assert call("methods", "none", "--index", index.folder).code == 2


@pytest.mark.parametrize("name", ["bm25", "hipporag:2", "", "a#2", "a+tuned", "a,b", "a b", "a:b:c"])
def test_a_name_that_is_taken_or_means_something_else_is_refused(name):
    with pytest.raises(BadInput, match=r"under another name|Use letters"):
        register(name, BM25())


def test_a_registered_method_is_compared_measured_and_studied_beside_the_others(index, tmp_path):
    register("mine", BM25(k=1))
    answers = index.compare("Who sold the boat?", ["bm25", "mine"])
    assert [a.method for a in answers] == ["bm25", "mine"]
    asked = [Question(id="q", question="Who sold the boat?", evidence=("d0",))]
    report = index.evaluate_retrieval(asked, ["bm25", "mine"])
    assert [m.name for m in report.methods] == ["bm25", "mine"]
    study = index.experiment(tmp_path / "study")
    study.import_questions(asked)
    found = study.answer(["bm25", "mine"])
    assert [a.method for a in found] == ["bm25", "mine"]
    assert found[0].made_with.settings != found[1].made_with.settings
    register("mine", BM25(k=2))
    with pytest.raises(BadInput, match="settings of mine"):
        index.experiment(tmp_path / "study").answer(["bm25", "mine"])
