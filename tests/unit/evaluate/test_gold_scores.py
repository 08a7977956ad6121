"""Scores against gold: intervals, tests, breakdowns and notes."""

import json

import numpy as np
import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_scores import COMPARISON_ONLY, correctness, score_answers
from polygraph.evaluate.questions.file import Question, question_line, read_questions
from polygraph.evaluate.records import StudyAnswer
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from tests.made_with import MADE_WITH

N = 40


def models():
    one = HashEmbedder()
    return Models(chat=None, embedder=one, name_embedder=one, reranker=None, calls=Calls(None))


def said(question, method, text, *, refused=False):
    return StudyAnswer(
        question=question, method=method, text=text, refused=refused, extractive=True, made_with=MADE_WITH
    )


def asked(i):
    more = {"Aspect": "plot" if i % 2 else "times", "Complexity": "mh" if i % 4 < 2 else "sh"}
    return Question(
        id=f"q{i}",
        question="Who?",
        type="inference" if i % 2 else "temporal",
        answers=("Mara Quill",),
        more=more,
    )


@pytest.fixture(scope="module")
def made():
    questions = [asked(i) for i in range(N)] + [Question(id="n", question="What?", type="null", null=True)]
    answers = []
    for i in range(N):
        answers.append(said(f"q{i}", "good", "Mara Quill [1]." if i % 4 else "Tobin."))
        answers.append(said(f"q{i}", "poor", "Mara Quill." if i % 4 == 1 else "Tobin."))
    answers += [said("n", "good", "Nothing.", refused=True), said("n", "poor", "Mara.")]
    return score_answers(questions, answers, models())


def test_means_have_intervals_and_differences_are_tested_over_the_same_questions(made):
    accuracy = next(m for m in made.metrics if m.name == "accuracy")
    assert accuracy.n == N
    assert accuracy.means["good"].mean == 0.75
    assert accuracy.means["poor"].mean == 0.25
    assert accuracy.means["good"].low < 0.75 < accuracy.means["good"].high
    (test,) = accuracy.tests
    assert (test.a, test.b) == ("good", "poor")
    assert (test.p < 0.05) == (test.difference.low > 0)
    assert test.difference.mean == 0.5
    # 20 questions differ, all in favour of the first: no sign pattern of the 10,000 drawn is as extreme.
    assert test.p == pytest.approx(1 / 10_001)
    # 20 differences of 1 and 20 of 0: their mean in standard deviations, with n - 1.
    assert test.effect == pytest.approx(0.5 / (10 / 39) ** 0.5)


def test_methods_are_never_compared_by_the_lenient_accuracy(made):
    lenient = next(m for m in made.metrics if "MultiHop-RAG" in m.name)
    assert made.metrics[0].name == "accuracy"
    assert lenient.tests == ()
    assert lenient.note == COMPARISON_ONLY


def test_a_refusal_is_correct_for_a_null_question(made):
    parts = {p.type: p for p in made.by_type}
    assert list(parts) == ["inference", "null", "temporal"]
    assert (parts["null"].means["good"].mean, parts["null"].means["poor"].mean) == (1.0, 0.0)
    assert parts["inference"].means["good"].mean == 1.0
    assert parts["temporal"].means["good"].mean == 0.5
    assert made.refusals["good"].recall == 1.0


def test_novelqa_has_a_table_of_complexity_by_aspect(made):
    table = made.by_aspect["good"]
    assert list(table) == ["mh", "sh", "avg"]
    assert list(table["mh"]) == ["plot", "times", "avg"]
    # i % 4: 0 wrong (times, mh), 1 and 3 right (plot), 2 right (times, sh)
    assert table["mh"]["times"].mean == 0.0
    assert table["sh"]["times"].mean == 1.0
    assert table["avg"]["avg"].mean == 0.75


def test_reference_texts_are_scored_by_rouge_bleu_and_similarity():
    questions = [
        Question(id=f"s{i}", question="Sum up.", references=("The lamp went out at dawn. Nobody came.",))
        for i in range(12)
    ]
    answers = [said(q.id, "same", q.references[0]) for q in questions]
    answers += [said(q.id, "other", "Fish are sold on Friday.") for q in questions]
    made = score_answers(questions, answers, models())
    found = {m.name: m for m in made.metrics}
    assert found["rouge2"].means["same"].mean == 1.0
    assert found["BLEU"].means["same"].mean == pytest.approx(1.0)
    assert "tok:13a" in found["BLEU"].note
    assert "smooth:exp" in found["BLEU"].note
    assert "same 1.000" in found["BLEU"].note
    assert found["similarity"].means["same"].mean == pytest.approx(1.0, abs=1e-5)
    assert found["similarity"].means["other"].mean < 0.8
    assert "cosine by" in found["similarity"].note
    assert made.by_type == ()
    assert not np.isnan([t.p for m in made.metrics for t in m.tests]).any()


def test_answers_about_the_whole_corpus_are_scored_by_the_points_they_mention(tmp_path):
    file = tmp_path / "questions.jsonl"
    points = ["harbour dues and the mole", "the smoke of the oil works"]
    rows = [
        {"id": f"c{i}", "question": "Which disputes?", "answer": "Dues, smoke and oil.", "points": points}
        for i in range(3)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = read_questions(file)
    answers = [said(q.id, "half", "They quarrel over harbour dues and over the mole.") for q in questions]
    answers += [said(q.id, "none", "Fish are sold on Friday.") for q in questions]
    made = score_answers(questions, answers, models())
    found = {m.name: m for m in made.metrics}
    assert found["point recall"].means["half"].mean == pytest.approx(0.5)
    assert found["point recall"].means["none"].mean == 0.0
    # The gold answer is a summary: no answer contains it, so it says nothing about being right.
    assert "accuracy" not in found
    assert found["rouge1"].means["half"].mean > 0
    assert correctness(questions, answers) == {}
    file.write_text("".join(json.dumps(question_line(q)) + "\n" for q in questions))
    assert read_questions(file) == questions


def test_without_gold_there_are_no_scores_and_bertscore_names_its_package():
    question = Question(id="q", question="Who?")
    assert score_answers([question], [said("q", "a", "x")], models()) is None
    pytest.importorskip("sacrebleu")
    try:
        import bert_score  # noqa: F401
    except ImportError:
        with pytest.raises(BadInput, match="pip install bert-score"):
            score_answers(
                [Question(id="q", question="Who?", references=("x y z",))],
                [said("q", "a", "x")],
                models(),
                bert="raw",
            )
