"""Answers of a study carry what they were made with, and a study never mixes them."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.judging.model_families import model_family
from polygraph.evaluate.judging.pairwise import JudgingDesign
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.answer_steps import AnswerOptions
from polygraph.evaluate.runs.made_with import differences
from polygraph.evaluate.runs.study_folder import FORMAT, is_study, open_study
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index
from tests.made_with import MADE_WITH

QUESTIONS = [Question(id=f"q{i}", question=f"Who kept the light in {1870 + i}?") for i in range(3)]
ONCE = JudgingDesign(repeats=1, trials=1)
MADE = replace(MADE_WITH, chat="gpt-4o")


def models(chat):
    return Models(
        chat=chat, embedder=HashEmbedder(), name_embedder=HashEmbedder(), reranker=None, calls=Calls(None)
    )


def renamed(name, chat=None):
    chat = chat or scripted_chat()
    return SimpleNamespace(name=name, chat=chat.chat, requests=chat.requests)


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "letter.txt").write_text(
        "Mara Quill kept the light in 1871. She wrote to Old Tobin about the light."
    )
    return folder


@pytest.fixture
def place(tmp_path, papers):
    with Index.open(tmp_path / "i", models=models(None)) as index:
        index.add(papers, methods=["bm25", "naive"])
    return tmp_path / "i"


def opened(place, chat=None):
    return Index.open(place, models=models(chat))


def started(index, folder, methods=("bm25",), options=None):
    study = index.experiment(folder)
    study.import_questions(QUESTIONS)
    study.answer(list(methods), options)
    return study


def test_answers_carry_models_settings_and_index_and_the_day_stands_beside_them(place, tmp_path):
    with opened(place, scripted_chat()) as index:
        study = started(index, tmp_path / "s")
        for answer in study.folder.answers():
            made = answer.made_with
            assert (made.chat, made.embedder, made.reranker) == (
                index.models.chat.name,
                index.models.embedder.name,
                "",
            )
            assert made.layers == {k: index.snapshot().versions[k] for k in ("chunks", "lexical")}
            assert made.settings
            assert made.version
            assert len(answer.date) == 10
    assert "date" not in json.loads((tmp_path / "s" / "answers.jsonl").read_text().splitlines()[0])


def test_a_method_of_another_model_is_refused_and_answered_again_on_request(place, tmp_path):
    with opened(place, renamed("gpt-4o")) as index:
        study = started(index, tmp_path / "s", ["bm25", "naive"])
        study.judge([index.models.chat], ONCE)
        assert study.folder.judgements()
    with opened(place, renamed("other")) as index:
        study = index.experiment(tmp_path / "s")
        before = study.folder.answers()
        with pytest.raises(BadInput, match=r"chat model: gpt-4o \(bm25, naive\), other \(bm25\).*--again"):
            study.answer(["bm25"])
        assert study.folder.answers() == before
        study.answer(["bm25"], AnswerOptions(again=True))
        assert {a.made_with.chat for a in study.folder.answers()} == {"other"}
        assert {a.method for a in study.folder.answers()} == {"bm25", "naive"}
        assert study.folder.judgements() == []
        assert study.folder.aligned() == []


def test_a_changed_index_is_refused_with_the_layers_that_changed(place, tmp_path, papers):
    with opened(place) as index:
        study = started(index, tmp_path / "s")
        (papers / "log.txt").write_text("Old Tobin kept the light in 1872.")
        index.add(papers, methods=["bm25", "naive"])
        with pytest.raises(BadInput, match="the layers chunks changed"):
            study.answer(["naive"])
        study.answer(["naive"], AnswerOptions(again=True))
        assert {a.made_with.layers["chunks"] for a in study.folder.answers()} == {
            index.snapshot().versions["chunks"]
        }


def test_answers_that_were_merged_by_hand_are_neither_judged_nor_reported(place, tmp_path):
    chat = scripted_chat()
    with opened(place, chat) as index:
        study = started(index, tmp_path / "s", ["bm25", "naive"])
        rows = list(study.folder.lines("answers"))
        for row in rows:
            if row["method"] == "naive":
                row["made_with"]["embedder"] = "another"
        study.folder.write("answers", rows)
        for step in (
            lambda: study.judge([chat], ONCE),
            study.report,
            lambda: study.sheet(tmp_path / "a.csv"),
        ):
            with pytest.raises(BadInput, match=r"embedder: .*\(bm25\), another \(naive\)"):
                step()


def test_judgements_without_reasons_of_an_earlier_version_are_not_continued(place, tmp_path):
    chat = scripted_chat()
    with opened(place, chat) as index:
        study = started(index, tmp_path / "s", ["bm25", "naive"])
        old = {"temperature": 0.7, "repeats": 1, "align": False, "regenerate": False}
        study.folder.fix_settings("judgements, unbiased", old)
        with pytest.raises(BadInput, match="prompt_revision was not recorded, is 3"):
            study.judge([chat], ONCE, align=False)


def test_another_model_than_the_answerer_does_not_rewrite_answers(place, tmp_path):
    with opened(place, renamed("gpt-4o")) as index:
        started(index, tmp_path / "s", ["bm25", "naive"])
    chat = renamed("other")
    with opened(place, chat) as index:
        study = index.experiment(tmp_path / "s")
        with pytest.raises(
            BadInput, match=r"were written by gpt-4o.*POLYGRAPH_CHAT_MODEL to gpt-4o.*--no-align"
        ):
            study.judge([chat], ONCE)
        assert not chat.requests
        assert study.judge([chat], ONCE, align=False)


def test_an_index_that_changes_while_questions_are_answered_stops_the_step(place, tmp_path, papers):
    with opened(place) as index:

        def ask(question, method):
            found = index.ask(question, method)
            if question == QUESTIONS[0].question:
                (papers / "more.txt").write_text("Old Tobin kept the light.")
                index.add(papers, methods=["bm25"])
            return found

        study = replace(index.experiment(tmp_path / "s"), ask=ask)
        study.import_questions(QUESTIONS)
        with pytest.raises(BadInput, match="changed while questions were answered"):
            study.answer(["bm25"])
        # Questions are answered in parallel: those before the change are kept.
        assert len(study.folder.answers()) < len(QUESTIONS)


def test_only_layers_that_answers_share_must_agree():
    other = replace(MADE, layers={"chunks": "c1", "graph": "g1"}, settings="t")
    assert differences([("bm25", MADE), ("hipporag", other)]) == []
    assert differences([("bm25", MADE), ("bm25#2", replace(MADE, settings="t"))]) == [
        "settings of bm25: s (bm25), t (bm25#2)"
    ]
    changed = replace(other, layers={"chunks": "c2"})
    assert differences([("bm25", MADE), ("hipporag", changed)]) == ["index: the layers chunks changed"]
    # Each document has an index of its own.
    assert differences([("bm25", MADE), ("hipporag", replace(changed, document="d"))]) == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4o-mini", "GPT"),
        ("o3-mini", "GPT"),
        ("us.anthropic.claude-3-5-sonnet", "Claude"),
        ("gguf:qwen2.5-coder-1.5b", "Qwen"),
        ("meta-llama/Llama-3.1-8B", "Llama"),
        ("/home/phi/models/weights.gguf", ""),
        ("groks", ""),
        ("scripted", ""),
        ("", ""),
    ],
)
def test_the_family_of_a_model_is_read_from_its_name_or_unknown(name, family):
    assert model_family(name) == family


# --- independent instances ------------------------------------------------------------------------------


def test_a_second_instance_is_answered_independently_and_compared_only_with_its_own_method(place, tmp_path):
    chat = scripted_chat()
    with opened(place, chat) as index:
        study = started(index, tmp_path / "s", ["bm25", "naive", "bm25#2"])
        assert [(r.sample, r.temperature) for r in chat.requests if r.sample] == [(1_000, 0.7)] * 3
        found = study.judge([chat], ONCE)
        assert {frozenset(j.methods) for j in found} == {
            frozenset({"bm25", "naive"}),
            frozenset({"bm25", "bm25#2"}),
        }


def test_each_trial_may_judge_answers_of_its_own(place, tmp_path):
    chat = scripted_chat()
    with opened(place, chat) as index:
        study = started(index, tmp_path / "s", ["bm25", "naive"])
        design = JudgingDesign(repeats=1, trials=3)
        with pytest.raises(BadInput, match="--new-answers --trials 3"):
            study.judge([chat], design, new_answers=True)
        with pytest.raises(BadInput, match="at temperature 0 a second answer is a copy"):
            study.answer(["bm25", "naive"], AnswerOptions(trials=3))
        study.answer(["bm25", "naive"], AnswerOptions(trials=3, temperature=0.5, again=True))
        assert len(study.folder.answers()) == 6
        assert len(study.folder.answers(all_trials=True)) == 18
        found = study.judge([chat], design, new_answers=True)
        assert len(found) == 3 * 3 * 2
        assert {p.trial for p in study.folder.aligned()} == {0, 1, 2}
        assert study.judge([chat], design, new_answers=True) == found
        (pair,) = study.report().findings.pairs
        assert pair.pooled.n == 9
        with pytest.raises(BadInput, match="new_answers was True, is False"):
            study.judge([chat], design)


def test_without_a_model_a_second_instance_repeats_the_first(place, tmp_path):
    with opened(place) as index:
        study = started(index, tmp_path / "s", ["bm25", "bm25#2"])
        texts = {a.key: a.text for a in study.folder.answers()}
        assert all(texts[q.id, "bm25"] == texts[q.id, "bm25#2"] for q in QUESTIONS)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"polygraph_study": FORMAT - 1},
            f"has format {FORMAT - 1}, and this .* reads format {FORMAT}. Start another",
        ),
        (
            {"polygraph_study": FORMAT + 1},
            f"has format {FORMAT + 1}, and this .* reads format {FORMAT}. Upgrade",
        ),
        ({"polygraph_study": "x" * 99}, r"has format x{20}, and this .* Start another"),
        ({}, "does not belong to a study"),
        ([], "does not belong to a study"),
    ],
)
def test_a_study_of_another_format_is_refused_with_what_to_do(tmp_path, settings, problem):
    (tmp_path / "study.json").write_text(json.dumps(settings))
    with pytest.raises(BadInput, match=problem):
        open_study(tmp_path)
    assert not is_study(tmp_path)
