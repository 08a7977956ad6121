"""A compared question becomes part of a study of its methods: judged once, comparable for ever."""

import json
import re
from dataclasses import replace

import pytest

from polygraph.errors import BadInput, WorkFailed
from polygraph.evaluate.judging.pairwise import UNBIASED
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.answer_steps import AnswerOptions
from polygraph.evaluate.runs.asked_question import judge_question, plan_judging, study_name
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.models.prices import Price
from polygraph.tasks.evaluation.judge import ASPECTS
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

METHODS = ["naive", "bm25"]
OPTIONS = AnswerOptions()
QUESTION, OTHER = "Who built the Skerry Light?", "What did the Halcyon strike?"
PAPERS = {
    "light.txt": "Mara Quill built the Skerry Light in 1869. She paid for the lamp with her own money.",
    "ship.txt": "The barque Halcyon struck Grey Reef in 1874. Captain Tobin saw the Skerry Light too late.",
}


def scores(first, second):
    """Return a judge that gives every answer shown first or second the same score."""
    reply = {aspect: {"reason": f"by {aspect}", "scores": [first, second]} for aspect in ASPECTS}
    return ("Task: judge_scores", json.dumps(reply))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("asked")
    (place / "papers").mkdir()
    for name, text in PAPERS.items():
        (place / "papers" / name).write_text(text)
    with Index.open(place / "index", models=hashed_models(scripted_chat())) as index:
        index.add(place / "papers")
    return place / "index"


def opened(folder, *rules, chat=True):
    return Index.open(folder, models=hashed_models(scripted_chat(rules) if chat else None))


def named(index, **options):
    return study_name("papers", index.snapshot(), index.models, METHODS, **options)


def judged(index, studies, question=QUESTION):
    return judge_question(index.experiment(studies / named(index)), question, METHODS, OPTIONS)


def test_questions_add_up_in_one_study_and_none_is_judged_twice(folder, tmp_path):
    with opened(folder) as index:
        first = judged(index, tmp_path)
        lines = (tmp_path / first.study / "judgements.jsonl").read_text()
        planned = plan_judging(tmp_path, first.study, OTHER, METHODS, index.models, {})
        second = judged(index, tmp_path, OTHER)
        again = judged(index, tmp_path)
        free = plan_judging(tmp_path, first.study, QUESTION, METHODS, index.models, {})
        index.experiment(tmp_path / first.study).judge([index.models.chat], replace(UNBIASED, trials=3))
    study = StudyFolder(tmp_path / first.study)
    assert (first.questions, second.questions, again.questions) == (1, 2, 2)
    assert again.pairs == first.pairs
    assert (planned.questions, planned.calls) == (2, 4)
    assert free.calls == 0
    assert [q.question for q in study.questions()] == [QUESTION, OTHER]
    assert len(study.judgements()) == 2 * 4 * 3
    assert lines.splitlines()[0] in (tmp_path / first.study / "judgements.jsonl").read_text()
    assert "on 2 questions" in (tmp_path / first.study / "report.md").read_text()


def test_a_judge_that_prefers_what_stands_first_finds_a_tie_and_is_told_of(folder, tmp_path):
    with opened(folder, scores(5, 1)) as index:
        (pair,) = judged(index, tmp_path).pairs
    assert (pair.a, pair.b, pair.better, pair.orders, pair.judgements) == ("bm25", "naive", "", "disagree", 4)
    assert pair.scores == dict.fromkeys(ASPECTS, (3.0, 3.0))
    assert pair.reasons == {aspect: f"by {aspect}" for aspect in ASPECTS}


def test_what_an_interrupted_run_left_is_counted_and_completed(folder, tmp_path):
    with opened(folder, ("Task: judge_scores", "no scores")) as index, pytest.raises(WorkFailed):
        judged(index, tmp_path)
    with opened(folder) as index:
        name = named(index)
        (tmp_path / name / "judgements.jsonl").unlink()
        plan = plan_judging(tmp_path, name, OTHER, METHODS, index.models, {})
        judged(index, tmp_path, OTHER)
    assert plan.calls == 2 * 4
    assert {j.question for j in StudyFolder(tmp_path / name).judgements()} == {"q1", "q2"}


def test_the_cost_is_that_of_the_prompts_and_replies_of_a_paid_judge(folder, tmp_path, monkeypatch):
    def cost(**prices):
        return plan_judging(tmp_path, "s", QUESTION, METHODS, index.models, prices).cost

    with opened(folder) as index:
        assert cost() == 0
        monkeypatch.setattr(index.models.chat, "local", False)
        assert cost() is None
        # 4 calls, each with the instructions and two answers of 400 tokens, and a reply of 250.
        assert 4 * 800 / 1e6 < cost(scripted=Price(1.0)) < 4 * 2_000 / 1e6
        assert cost(scripted=Price(0.0, 1.0)) == pytest.approx(4 * 250 / 1e6)


def test_without_a_model_the_answers_wait_for_a_judge(folder, tmp_path):
    with opened(folder, chat=False) as index:
        plan = plan_judging(tmp_path, named(index), QUESTION, METHODS, index.models, {})
        found = judged(index, tmp_path)
    assert (plan.judge, plan.calls) == ("", 0)
    assert (found.judge, found.pairs) == ("", ())
    assert "eval sheet" in found.notes[0]
    study = StudyFolder(tmp_path / found.study)
    assert {(a.question, a.method) for a in study.answers()} == {("q1", "bm25"), ("q1", "naive")}
    assert not study.judgements()


def test_the_name_holds_all_that_answers_depend_on(folder, tmp_path):
    with opened(folder) as index:
        snapshot, models = index.snapshot(), index.models
        name = named(index)
        assert name == study_name("papers", snapshot, models, METHODS[::-1])
        names = {name, named(index, max_tokens=500), named(index, form="short answer")}
        with opened(folder, chat=False) as other:
            names.add(named(other))
        assert len(names) == 4
        odd = study_name("../p\n#", snapshot, models, ["bm25:rograg", "bm25"])
        assert re.fullmatch(r"p- bm25 bm25-rograg [0-9a-f]{8}", odd)
        with pytest.raises(BadInput, match="two different methods"):
            study_name("papers", snapshot, models, ["bm25", "bm25"])


def test_a_study_with_questions_of_its_own_takes_none(tmp_path):
    study = StudyFolder(tmp_path / "s")
    study.import_questions([Question(id="a", question=OTHER)])
    with pytest.raises(BadInput, match="kind was 'own'"):
        study.add_question(QUESTION)
