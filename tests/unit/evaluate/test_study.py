"""A study runs once, resumes after interruptions, and gives the same files again."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from polygraph.errors import BadInput, WorkFailed
from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import align_lengths
from polygraph.evaluate.judging.pairwise import JudgingDesign
from polygraph.evaluate.questions.file import Question, read_questions
from polygraph.evaluate.questions.generate import describe_collection, grounded_questions
from polygraph.evaluate.questions.graph_sampling import random_walk
from polygraph.evaluate.records import without_citations
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.graph.csr import Graph
from polygraph.models import Calls, Models
from polygraph.models.providers.static import HashEmbedder
from polygraph.retrieve import register
from polygraph.retrieve.methods.lexical import BM25
from polygraph.testing import scripted_chat
from polygraph.workspace.index import Index

METHODS = ["bm25", "graphrag-local"]
FILES = ("questions", "answers", "aligned", "judgements")
TEXTS = {
    "letter.txt": "Mara Quill wrote to Old Tobin in 1871. She had built the Skerry Light with her own money. Tobias "
    "Wren of the Harbour Board refused to pay for the lamp. Mara Quill never forgave Tobias Wren.",
    "log.txt": "The Halcyon left Sallow Bay at dawn. Old Tobin was her master. The Halcyon struck the Grey Reef.",
    "news.txt": "The Skerry Light was built in 1871 with private money. The Harbour Board blames the keeper. Old Tobin "
    "says that Tobias Wren saved on oil.",
}  # fmt: skip


def models(chat=None):
    return Models(
        chat=chat, embedder=HashEmbedder(), name_embedder=HashEmbedder(), reranker=None, calls=Calls(None)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    papers = tmp_path_factory.mktemp("papers")
    for name, text in TEXTS.items():
        (papers / name).write_text(text)
    place = tmp_path_factory.mktemp("index") / "i"
    with Index.open(place, models=models()) as index:
        index.add(papers)
    return place


def opened(folder, chat=True):
    return Index.open(folder, models=models(scripted_chat() if chat else None))


def run(index, place, trials=2):
    study = index.experiment(place)
    study.generate_questions("grounded", n=2)
    study.answer(METHODS)
    study.judge([index.models.chat], JudgingDesign(repeats=1, trials=trials))
    return study


def test_a_study_from_questions_to_judgements_gives_the_same_bytes_again(folder, tmp_path):
    with opened(folder) as index:
        run(index, tmp_path / "a")
    with opened(folder) as index:
        study = run(index, tmp_path / "b")
        questions = study.questions()
    for name in FILES:
        one, other = ((tmp_path / s / f"{name}.jsonl").read_bytes() for s in "ab")
        assert one == other, name
    assert {q.type for q in questions} == {"node", "edge", "subgraph"}
    n = len(questions)
    assert len(study.folder.answers()) == 2 * n
    kept = sum(p.how != "discarded" for p in study.folder.aligned())
    assert len(study.folder.judgements()) == JudgingDesign(repeats=1, trials=2).n_calls(kept)


def test_a_finished_step_makes_no_calls(folder, tmp_path):
    with opened(folder) as index:
        run(index, tmp_path)
    with opened(folder) as index:
        with index.models.calls.meter() as meter:
            run(index, tmp_path)
        assert meter.usage.calls == meter.usage.cached_calls == 0


def test_more_trials_and_methods_may_be_added_later(folder, tmp_path):
    with opened(folder) as index:
        study = run(index, tmp_path, trials=1)
        before = len(study.folder.judgements())
        study.judge([index.models.chat], JudgingDesign(repeats=1, trials=2))
        assert len(study.folder.judgements()) == 2 * before
        study.answer(["naive"])
        study.judge([index.models.chat], JudgingDesign(repeats=1, trials=1))
        assert {j.methods for j in study.folder.judgements()} > {("bm25", "naive"), ("naive", "bm25")}


def test_methods_named_in_another_order_are_neither_aligned_nor_judged_again(folder, tmp_path):
    design = JudgingDesign(repeats=1, trials=1)
    one_order = JudgingDesign(protocol="lightrag", orders="first", repeats=1, trials=1)
    with opened(folder) as index:
        chat = index.models.chat
        study = run(index, tmp_path, trials=1)
        study.answer([*reversed(METHODS)])
        study.judge([chat], design, methods=[*reversed(METHODS)])
        study.judge([chat], one_order, methods=[*reversed(METHODS)])
        before = {name: (tmp_path / f"{name}.jsonl").read_bytes() for name in ("aligned", "judgements")}
        asked = len(chat.requests)
        # Neither the other order nor the order of the file is that of the first judgements by either protocol.
        for methods in ([], METHODS, [*reversed(METHODS)]):
            study.judge([chat], design, methods=methods)
            study.judge([chat], one_order, methods=methods)
        assert len(chat.requests) == asked
        for name, was in before.items():
            assert (tmp_path / f"{name}.jsonl").read_bytes() == was
    assert {(p.a, p.b) for p in study.folder.aligned()} == {("bm25", "graphrag-local")}
    shown = {j.methods for j in study.folder.judgements() if j.protocol == "lightrag"}
    assert shown == {("graphrag-local", "bm25")}


def test_a_sheet_of_aligned_answers_needs_no_model_whatever_the_order_of_the_methods(folder, tmp_path):
    with opened(folder) as index:
        study = index.experiment(tmp_path)
        study.generate_questions("sentences", n=3)
        study.answer(METHODS)
        study.judge([index.models.chat], JudgingDesign(repeats=1, trials=1), methods=[*reversed(METHODS)])
    with opened(folder, chat=False) as index:
        assert index.experiment(tmp_path).sheet(tmp_path / "sheet.csv")


def test_a_step_with_results_refuses_other_settings(folder, tmp_path):
    with opened(folder) as index:
        study = run(index, tmp_path)
        with pytest.raises(BadInput, match=r"temperature was 0\.7, is 0\.1"):
            study.judge([index.models.chat], JudgingDesign(repeats=1, trials=1), temperature=0.1)
        with pytest.raises(BadInput, match="n was 2, is 3"):
            study.generate_questions("grounded", n=3)


def test_a_method_that_fails_is_named_and_the_answers_of_the_others_are_kept(folder, tmp_path):
    with opened(folder) as index:
        study = index.experiment(tmp_path / "s")
        study.generate_questions("grounded", n=2)
        asked = []

        def ask(question, method, **options):
            if method == "naive":
                asked.append(question)
                return {}["seeds"]
            return index.ask(question, method, **options)

        with pytest.raises(
            WorkFailed, match=r"1 method failed: naive at '.*' with KeyError: 'seeds'"
        ) as failed:
            replace(study, ask=ask).answer(["naive", "bm25"])
        assert isinstance(failed.value.__cause__, KeyError)
        kept = StudyFolder(tmp_path / "s").answers()
        assert {a.method for a in kept} == {"bm25"}
        assert len(kept) == len(study.questions())
        assert len(asked) == 1, "a method that failed is asked nothing more"
        assert len(study.answer(["naive", "bm25"])) == 2 * len(kept)


def test_what_is_loaded_for_the_first_question_does_not_count_as_time_of_its_answer(
    folder, tmp_path, monkeypatch
):
    loaded = []

    @dataclass(frozen=True, kw_only=True)
    class Slow:
        needs: ClassVar[frozenset[str]] = frozenset({"chunks", "lexical"})
        calls: ClassVar[str] = "1"
        max_tokens: int = 2_000

        def __call__(self, question, index, models):
            if not loaded:
                loaded.append(models.chat)
                time.sleep(1)
            return BM25(max_tokens=self.max_tokens)(question, index, models)

    monkeypatch.setattr("polygraph.retrieve._REGISTERED", {})
    register("slow", Slow())
    with opened(folder) as index:
        study = index.experiment(tmp_path / "s")
        study.generate_questions("sentences", n=2)
        answers = study.answer(["slow"])
    assert loaded == [None], "no language model is called for it"
    assert max(a.usage.seconds for a in answers) < 1


def test_a_truncated_line_is_written_again(folder, tmp_path):
    with opened(folder) as index:
        run(index, tmp_path)
        for name in ("answers", "judgements"):
            path = tmp_path / f"{name}.jsonl"
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) - 40])
            run(index, tmp_path)
            assert path.read_bytes() == whole, name


def test_without_a_model_there_are_questions_and_answers_but_no_judgements(folder, tmp_path):
    with opened(folder, chat=False) as index:
        study = index.experiment(tmp_path)
        posed = study.generate_questions("sentences", n=5)
        assert all(q.answers and q.chunks for q in posed.questions)
        assert study.answer(METHODS)
        with pytest.raises(BadInput, match="POLYGRAPH_CHAT_MODEL"):
            study.judge([], JudgingDesign())
        with pytest.raises(BadInput, match="--kind"):
            index.experiment(tmp_path / "other").generate_questions("grounded")


def test_imported_questions_cannot_be_replaced_by_others(folder, tmp_path):
    own = [
        Question(
            id="mine",
            question="Who built the Skerry Light?",
            answers=("Mara Quill",),
            evidence=("letter.txt",),
        )
    ]
    with opened(folder) as index:
        study = index.experiment(tmp_path)
        study.import_questions(own)
        study.import_questions(own)
        assert read_questions(tmp_path / "questions.jsonl") == own
        with pytest.raises(BadInput, match="other questions"):
            study.import_questions([Question(id="mine", question="Another one?")])
        # The same question with better gold keeps the id that answers refer to.
        better = replace(own[0], id="new", answers=("Mara Quill", "Quill"), evidence_complete=False)
        study.import_questions([better])
        assert study.questions() == [replace(better, id="mine")]


def test_summary_questions_are_exactly_125(folder, tmp_path):
    with opened(folder) as index:
        posed = index.experiment(tmp_path).generate_questions("summary")
        assert len({q.question for q in posed.questions}) == 125
        assert all(q.more["user"] and q.more["task"] for q in posed.questions)


def test_each_user_is_asked_for_questions_and_an_equal_question_of_two_users_counts_once(folder, tmp_path):
    same = (
        '{"tasks": ['
        + ", ".join(
            f'{{"questions": [{", ".join(f"{chr(34)}Why was light {t}.{q} lit?{chr(34)}" for q in range(5))}]}}'
            for t in range(5)
        )
        + "]}"
    )
    chat = scripted_chat([("Task: user_questions", same)])
    with Index.open(folder, models=models(chat)) as index:
        posed = index.experiment(tmp_path).generate_questions("summary")
    assert len(chat.requests) == 6
    assert len(posed.questions) == 25
    assert {q.more["user"] for q in posed.questions} == {"user 1"}
    assert posed.notes == ("25 of 125 questions: several users ask the same",)


def test_the_description_of_a_long_document_contains_its_end(folder, tmp_path):
    papers = tmp_path / "p"
    papers.mkdir()
    (papers / "long.txt").write_text(
        "The beginning is here. " + "Filler words go on. " * 4_000 + "The end is here."
    )
    with Index.open(tmp_path / "i", models=models()) as index:
        index.add(papers, methods=["bm25"])
        told = describe_collection(index.snapshot())
    assert "The beginning is here." in told
    assert "The end is here." in told
    assert len(told) < 20_000


def test_a_folder_with_other_content_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="not a study"):
        StudyFolder(tmp_path)


def test_an_invalid_line_is_an_error_that_names_the_file(tmp_path):
    study = StudyFolder(tmp_path / "s")
    study.append("judgements", [{"methods": ["a"], "scores": {"x": [1, 2]}}])
    with pytest.raises(BadInput, match="judgements"):
        study.judgements()


def test_records_survive_a_round_trip_through_files(tmp_path):
    study = StudyFolder(tmp_path / "s")
    made = align_lengths("q", ("a", "b"), ("x", "y"), rewrite=lambda *_: "", append=lambda *_: "")
    study.append("aligned", [json.loads(json.dumps(asdict(made)))])
    assert study.aligned() == [made]
    judged = Judgement(protocol="p", question="q", methods=("a", "b"), judge="j", scores={"x": (1.0, 2.0)})
    study.append("judgements", [asdict(judged), asdict(judged)])
    assert study.judgements() == [judged]


def test_a_year_in_brackets_is_no_citation():
    assert without_citations("Built [1871] by two men [2019; 1].", 2) == "Built [1871] by two men [2019; 1]."


@pytest.mark.slow
def test_sources_of_a_question_are_only_those_that_the_model_saw(index_of, tmp_path):
    # 40 documents of about 650 tokens about two persons: more than the 12,000 tokens that a subgraph may have.
    texts = {
        f"d{n:02d}": f"Mara Quill wrote letter {n} to Old Tobin. "
        + f"Old Tobin kept page {n} in the log. " * 65
        for n in range(40)
    }
    chat = scripted_chat()
    sent: list[str] = []

    def listen(request, on_text=None):
        sent.append("\n".join(message.content for message in request.messages))
        return chat.chat(request, on_text)

    with index_of(tmp_path, texts, models()) as index:
        found = grounded_questions(
            index,
            models(SimpleNamespace(name=chat.name, chat=listen)),
            per_level=1,
            levels=["subgraph", "node"],
        )
        assert {q.type for q in found.questions} == {"subgraph", "node"}
        for question in found.questions:
            sources = question.more["sources"]
            assert sources
            for chunk in index.chunks_by_id(sources):
                assert any(chunk.text.strip() in prompt for prompt in sent)


def test_citations_are_stripped():
    assert without_citations("Built in 1871 [1][2], they say [3, 4].", 4) == "Built in 1871, they say."


def test_a_walk_reaches_as_many_vertices_as_asked_or_all_of_the_largest_component():
    import numpy as np

    ring = Graph.from_edges(60, range(60), [(i + 1) % 60 for i in range(60)], [1.0] * 60)
    walk = random_walk(ring, np.random.default_rng(0), hops=10)
    assert len(walk) == len(set(walk)) == 11
    small = Graph.from_edges(6, [0, 1, 3], [1, 2, 4], [1.0, 1.0, 1.0])
    walk = random_walk(small, np.random.default_rng(0), hops=50)
    assert sorted(walk) == [0, 1, 2]
    assert random_walk(Graph.from_edges(3, [], [], []), np.random.default_rng(0)) == ()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("run -m bm25,nope --output s", "there is no method 'nope'"),
        ("run -m bm25 --output s", "names one method"),
        ("run -m bm25,hybrid --trials 0 --output s", "--trials 0 asks for no judgements"),
        ("run -m bm25,hybrid --protocol benchmark-qed --trials 3 --output s", "--trials 3 is odd"),
        ("answers -m , --output s", "names no method"),
        ("answers -m nope,bm25 --output s", "there is no method 'nope'"),
        ("answers -m bm25#1 --output s", "bm25#1 is not an instance of a method"),
        ("answers -m bm25 --trials 2 --output s", "it needs --new-answers"),
        ("run -m bm25,naive --protocol listwise --new-answers --output s", "--new-answers is for protocols"),
        ("judge --repeats 0 --output s", "--repeats 0 asks for no judgements"),
        ("answers -m bm25 --output s", "there is no study at s"),
        ("judge --output s", "there is no study at s"),
        ("sheet --sheet a.csv --output s", "there is no study at s"),
        ("report --output s", "there is no study at s"),
    ],
)
def test_a_typing_mistake_is_reported_before_any_call(call, folder, tmp_path, typed, message):
    done = call("eval", *typed.split(), "--index", folder)
    assert (done.code, message in done.sentence) == (2, True), done.err
    assert not (tmp_path / "s").exists()


def test_a_missing_extra_is_reported_before_any_call(call, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("polygraph.evaluate.extra.EVAL_PACKAGES", ("scipy", "no_such_library"))
    done = call("eval", "run", "-m", "bm25,hybrid", "--output", "s", "--index", folder)
    assert (done.code, 'pip install "polygraph-rag[eval]"' in done.sentence) == (2, True), done.err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--offline", "none is configured"),
        ("--offline --kind sentences", "none is configured"),
        ("--offline --kind sentences --no-align --judge gpt-4o-mini", "cannot be used offline"),
        ("--kind sentences --judge gpt-4o-mini", "none is configured"),
    ],
)
def test_a_study_that_cannot_be_judged_ends_before_the_first_question(call, folder, tmp_path, typed, message):
    done = call("eval", "run", "-m", "bm25,hybrid", "--output", "s", "--index", folder, *typed.split())
    assert (done.code, message in done.sentence) == (2, True), done.err
    assert not (tmp_path / "s").exists()


def test_the_calls_of_judges_are_counted_without_a_model(call, folder):
    for words in ("questions --kind sentences -n 2", "answers -m bm25,naive"):
        assert call("eval", *words.split(), "--output", "s", "--index", folder).code == 0
    n = len(read_questions("s/questions.jsonl"))
    counted = ("eval", "judge", "--dry-run", "--json", "--output", "s", "--index", folder)
    done = call(*counted, "--trials", 3)
    assert done.code == 0, done.err
    # Both orders, twice each, in three trials.
    assert json.loads(done.out) == {"judge_calls": 12 * n, "judges": []}
    assert "no chat model is configured" in done.err
    assert "--batch DIR" in done.err
    assert json.loads(call(*counted, "--trials", 3, "--judge", "a,b").out)["judge_calls"] == 24 * n


def test_answers_keep_to_the_budget_of_the_context(call, folder):
    call("eval", "questions", "--kind", "sentences", "-n", 2, "--output", "s", "--index", folder)
    answers = ("eval", "answers", "-m", "bm25", "--index", folder)
    assert call(*answers, "--output", "s", "--max-tokens", 40).code == 0
    call("eval", "questions", "--questions", "s/questions.jsonl", "--output", "t")
    assert call(*answers, "--output", "t").code == 0
    small, whole = (sum(len(a.context) for a in StudyFolder(Path(study)).answers()) for study in ("s", "t"))
    assert 0 < small < whole
    done = call(*answers, "--output", "s")
    assert (done.code, "token budget: 40 (bm25), that of each method" in done.sentence) == (2, True), done.err


def test_answers_of_a_study_have_the_form_that_is_chosen_and_no_other(call, folder):
    call("eval", "questions", "--kind", "sentences", "-n", 1, "--output", "s", "--index", folder)
    answers = ("eval", "answers", "-m", "bm25", "--index", folder, "--output", "s")
    assert call(*answers, "--form", "overview").code == 0
    assert {a.made_with.form for a in StudyFolder(Path("s")).answers()} == {"overview"}
    done = call(*answers)
    assert (done.code, "form of answers: overview (bm25), that of each method" in done.sentence) == (2, True)


def test_a_method_named_twice_is_answered_as_a_second_instance(call, folder):
    call("eval", "questions", "--kind", "sentences", "-n", 2, "--output", "s", "--index", folder)
    assert call("eval", "answers", "-m", "bm25,naive,bm25", "--output", "s", "--index", folder).code == 0
    assert {a.method for a in StudyFolder(Path("s")).answers()} == {"bm25", "naive", "bm25#2"}
    report = call("eval", "report", "--output", "s", "--index", folder, "--json")
    assert [m["method"] for m in json.loads(report.out)["findings"]["methods"]] == ["bm25", "naive"]


def test_a_report_needs_no_index_unless_one_is_named(call, folder):
    call("eval", "questions", "--kind", "sentences", "-n", 2, "--output", "s", "--index", folder)
    assert call("eval", "answers", "-m", "bm25,naive", "--output", "s", "--index", folder).code == 0
    assert call("eval", "report", "--output", "s").code == 0
    assert not Path("polygraph.index").exists()
    done = call("eval", "report", "--output", "s", "--index", "other.index")
    assert (done.code, "there is no index at other.index" in done.sentence) == (2, True)
    done = call("eval", "report", "--output", "s", env={"POLYGRAPH_INDEX": "another.index"})
    assert "there is no index at another.index" in done.sentence


def test_a_method_that_was_interrupted_does_not_take_the_others_scores_away(folder, tmp_path):
    with opened(folder, chat=False) as index:
        study = index.experiment(tmp_path)
        study.generate_questions("sentences", n=4)
        n = len(study.questions())
        study.answer([*METHODS, "naive"])
        lines = (tmp_path / "answers.jsonl").read_text().splitlines(keepends=True)
        naive = [line for line in lines if json.loads(line)["method"] == "naive"]
        others = [line for line in lines if line not in naive]
        (tmp_path / "answers.jsonl").write_text("".join([*others, naive[0]]))
        report = study.report()
        assert set(report.gold.figures()) == set(METHODS)
        assert report.gold.metrics[0].n == n
        assert f"naive has answered 1 of {n} questions: it is left out" in " ".join(report.findings.notes)
        (tmp_path / "answers.jsonl").write_text("".join([*others, *naive[:-1]]))
        report = study.report()
        assert set(report.gold.figures()) == {*METHODS, "naive"}
        assert report.gold.metrics[0].n == n - 1
        assert "are over the questions that all methods have answered" in " ".join(report.findings.notes)
        # No question has answers of every method.
        (tmp_path / "answers.jsonl").write_text("".join([others[0], naive[1]]))
        assert study.report().gold is None


def test_a_report_needs_no_endpoint_whatever_embeds(call, folder):
    call("eval", "questions", "--kind", "sentences", "-n", 2, "--output", "s", "--index", folder)
    assert call("eval", "answers", "-m", "bm25,naive", "--output", "s", "--index", folder).code == 0
    remote = {"POLYGRAPH_EMBEDDER": "endpoint:vectors", "POLYGRAPH_NAME_EMBEDDER": "endpoint:vectors"}
    done = call("eval", "report", "--output", "s", "--index", folder, env=remote)
    assert (done.code, done.err) == (0, "")
