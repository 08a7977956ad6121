"""A whole study with a small local language model: no endpoint, key or network."""

import json
from collections import Counter

import pytest

from polygraph.errors import MissingExtra
from polygraph.evaluate.judging import length_alignment
from polygraph.evaluate.judging.pairwise import JudgingDesign
from polygraph.evaluate.questions.file import Question
from polygraph.models import Calls, Models
from polygraph.models.providers.gguf import GgufChat
from polygraph.models.providers.static import HashEmbedder
from polygraph.workspace.index import Index

METHODS = ["bm25", "naive", "graphrag-local"]
ASKED = (
    "Who was master of the Halcyon when she struck the Grey Reef?",
    "Why did Mara Quill and Tobias Wren fall out?",
)


@pytest.fixture
def chat():
    pytest.importorskip("xllamacpp", reason="the extra 'gguf' is not installed")
    pytest.importorskip("statsmodels", reason="the extra 'eval' is not installed")
    try:
        return GgufChat("qwen2.5-coder-1.5b", context_tokens=4096)
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_a_small_local_model_answers_and_judges_a_study_to_its_report(chat, tmp_path, papers, monkeypatch):
    embedder = HashEmbedder()
    models = Models(chat=None, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    with Index.open(tmp_path / "i", models=models) as index:
        index.add(papers, methods=METHODS)
    models = Models(chat=chat, embedder=embedder, name_embedder=embedder, reranker=None, calls=Calls(None))
    with Index.open(tmp_path / "i", models=models) as index:
        study = index.experiment(tmp_path / "s")
        study.import_questions(
            [
                Question(id=f"q{n}", question=text, answers=("Old Tobin",) if not n else ())
                for n, text in enumerate(ASKED)
            ]
        )
        answers = study.answer(METHODS)
        assert Counter(a.method for a in answers) == dict.fromkeys(METHODS, 2)
        assert any(not a.refused and a.text for a in answers)
        # The test checks that every step runs, not how well so small a model meets a length.
        monkeypatch.setattr(length_alignment, "ATTEMPTS", 1)
        judgements = study.judge([chat], JudgingDesign(repeats=1, trials=1))
        assert any(j.scores for j in judgements)
        study.report()
        spent = models.calls.spent
        study.judge([chat], JudgingDesign(repeats=1, trials=1))
        assert models.calls.spent == spent
    found = json.loads((tmp_path / "s" / "report.json").read_text(encoding="utf-8"))
    assert found["findings"]["conclusions"]
    assert found["gold"].keys() == set(METHODS)
    assert "<svg" in (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
