"""Three short documents and evidence from them, for the tests of answers; and indexes that answer without a model."""

from dataclasses import replace

import pytest

from polygraph.records import Evidence, Span
from polygraph.retrieve import relevance
from polygraph.retrieve.methods import lightrag
from polygraph.retrieve.methods.lexical import BM25
from polygraph.retrieve.methods.rograg import dual, rograg
from polygraph.store.snapshot import Snapshot
from polygraph.tasks.questions.keywords import Keywords, question_keywords
from polygraph.testing import hashed_models
from polygraph.testing.check_retrieval import faults_of_answer
from polygraph.text.words import phrases
from polygraph.workspace.index import Index

TEXTS = {
    "a.txt": "Mara Quill built the light in 1871. The granite came from Sallow Bay by barge.",
    "b.txt": "The fog horn was bought by Tobias Wren. Nobody could hear it in a westerly gale.",
    "c.txt": "Old Tobin kept bees behind the chapel. Their honey was sold to the crew of the Halcyon.",
}
QUESTION = "Who built the light, and who bought the fog horn?"


@pytest.fixture(scope="module")
def index(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("answer")
    with Index.open(base / "index", models=hashed_models()) as opened:
        opened.add(write_files(base / "papers", TEXTS), methods=["bm25"])
    snapshot = Snapshot(base / "index")
    yield snapshot
    snapshot.close()


@pytest.fixture
def retrieval(index):
    """Evidence 1, 2 and 3 are a.txt, b.txt and c.txt."""
    found = BM25()(QUESTION, index, hashed_models())
    chunks = index.chunks_by_id(["a.txt:0", "b.txt:0", "c.txt:0"])
    evidence = tuple(
        Evidence(
            kind="chunk", id=c.id, text=c.text, score=1.0, spans=(Span(c.document, c.id, c.start, c.end),)
        )
        for c in chunks
    )
    context = "\n\n".join(f"[{n}] {e.text}" for n, e in enumerate(evidence, 1))
    return replace(found, evidence=evidence, context=context)


@pytest.fixture(scope="session")
def index_offline(tmp_path_factory, write_files):
    """Return a function that makes an index of some files without a model."""

    def make(files):
        base = tmp_path_factory.mktemp("offline")
        made = Index.open(base / "index", offline=True)
        made.add(write_files(base / "papers", files))
        return made

    return make


@pytest.fixture
def ask(index):
    """Return a function that answers a question from the passages with its words, and checks the answer."""

    def answer(question):
        found = index.ask(question, method="bm25")
        assert list(faults_of_answer(found, index.snapshot())) == []
        return found

    return answer


@pytest.fixture(scope="session")
def within():
    """Restrict a snapshot to the documents with some ids: a filter has one pattern for a field."""

    def restrict(snapshot, *documents):
        scoped = snapshot.where({"id": "*"})
        assert set(documents) <= scoped.documents_allowed
        scoped._filter.documents = frozenset(documents)
        return scoped

    return restrict


@pytest.fixture
def listed_keywords(monkeypatch):
    """Without a chat model, keywords as a good one lists them: names are details, and other phrases are themes."""

    def listed(question, models, *, method):
        if models.chat is not None:
            return question_keywords(question, models, method=method)
        found = phrases(question)
        return Keywords(
            high=tuple(text for text, is_name in found if not is_name),
            low=tuple(text for text, is_name in found if is_name),
        )

    for module in (lightrag, dual, rograg, relevance):
        monkeypatch.setattr(module, "question_keywords", listed)
