"""Studies under kills, biased judges, unusable replies and odd answers."""

import json
import os
import shutil
import sqlite3
import time
from collections import Counter
from dataclasses import replace

import pytest

from polygraph.evaluate.judging.judgements import outcomes
from polygraph.evaluate.judging.pairwise import LIGHTRAG, JudgingDesign
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.study_report import html_report
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.records import Usage
from polygraph.tasks.evaluation.judge import ASPECTS
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index
from tests.made_with import MADE_WITH

CONCURRENCY = 4
FILES = ("questions", "answers", "aligned", "judgements")
RUN = ("eval", "run", "-m", "bm25,graphrag-local", "-n", 2, "--trials", 2, "--repeats", 1, "--json")
FIRST = '{"comprehensiveness": [5, 1], "relevance": [5, 1], "empowerment": [5, 1], "directness": [5, 1]}'
JUDGED = "Task: judge_scores"


def environment(server):
    return {
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-test",
        "POLYGRAPH_CHAT_MODEL": "scripted",
        "POLYGRAPH_CONCURRENCY": str(CONCURRENCY),
    }


@pytest.fixture(scope="module")
def sound(tmp_path_factory, papers_texts, write_files):
    """Return an index that tests must not change."""
    base = tmp_path_factory.mktemp("sound")
    with opened(base / "index", chat=None) as index:
        index.add(write_files(base / "papers", papers_texts), methods=["bm25", "graphrag-local"])
    return base / "index"


def opened(folder, chat):
    return Index.open(folder, models=hashed_models(chat))


# --- kills ----------------------------------------------------------------------------------------------


def stored(index):
    """Return the number of replies on disk."""
    if not (index / "calls.sqlite").is_file():
        return 0
    db = sqlite3.connect(index / "calls.sqlite")
    try:
        return db.execute("SELECT count(*) FROM reply").fetchone()[0]
    except sqlite3.OperationalError:
        return 0  # killed before the tables existed
    finally:
        db.close()


def settled(server, since):
    """Return the number of calls that the server answered, once those in flight have ended."""
    until = time.monotonic() + 3
    while time.monotonic() < until and any(entry.status == 0 for entry in server.log):
        time.sleep(0.01)
    return len(server.log) - since


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize(
    "n_kills", [pytest.param(1, marks=pytest.mark.deep), pytest.param(4, marks=pytest.mark.slow)]
)
def test_a_killed_study_resumes_without_paying_twice_and_ends_with_the_same_files(
    n_kills, sound, tmp_path, call, start
):
    with ScriptedServer(chat=scripted_chat(), latency_s=0.03) as server:
        env = environment(server)
        whole = shutil.copytree(sound, tmp_path / "whole.index")
        before = stored(whole)
        ended = call(*RUN, "--index", whole, "--output", tmp_path / "whole", env=env)
        assert ended.code == 0, ended.err
        wanted = server.calls
        assert stored(whole) - before == wanted
        tasks = [entry.task for entry in server.log]
        # During answers, during judgements; during questions and at the end.
        moments = [tasks.index("answer") + 2, tasks.index("judge_scores") + 3]
        moments = moments[1:] if n_kills == 1 else [2, *moments, wanted - 4]

        index = shutil.copytree(sound, tmp_path / "killed.index")
        output = tmp_path / "killed"
        paid = lost = 0
        for moment in moments:
            since, kept = len(server.log), stored(index)
            process = start(*RUN, "--index", index, "--output", output, env=env)
            while paid - lost + len(server.log) - since < moment and process.poll() is None:
                time.sleep(0.002)
            assert process.poll() is None, process.communicate()
            process.kill()
            process.communicate()
            arrived = settled(server, since)
            gone = arrived - (stored(index) - kept)
            assert 0 <= gone <= CONCURRENCY
            paid, lost = paid + arrived, lost + gone
        since = len(server.log)
        ended = call(*RUN, "--index", index, "--output", output, env=env)
        assert ended.code == 0, ended.err
        paid += len(server.log) - since
        # Only calls in flight at a kill, whose reply was lost, are made again.
        assert paid == wanted + lost
        for name in FILES:
            one, other = ((tmp_path / s / f"{name}.jsonl").read_bytes() for s in ("whole", "killed"))
            assert one == other, name
        n = len(server.log)
        assert call(*RUN, "--index", index, "--output", output, env=env).code == 0
        assert len(server.log) == n


# --- judges ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_judges_are_pooled_as_repeats(sound, tmp_path, call):
    index = shutil.copytree(sound, tmp_path / "i")
    with ScriptedServer(chat=scripted_chat()) as server:
        env = environment(server)
        args = (*RUN, "--judge", "strict,kind", "--index", index, "--output", tmp_path / "s")
        ended = call(*args, env=env)
        assert ended.code == 0, ended.err
        rows = [json.loads(line) for line in (tmp_path / "s" / "judgements.jsonl").read_text().splitlines()]
        by_judge = Counter(row["judge"] for row in rows)
        assert set(by_judge) == {"strict", "kind"}
        assert by_judge["strict"] == by_judge["kind"]
        models = Counter(entry.body["model"] for entry in server.log if entry.task == "judge_scores")
        assert set(models) == {"strict", "kind"}
        found = json.loads(call("eval", "report", "--index", index, "--output", tmp_path / "s", "--json").out)
        (pair,) = found["findings"]["pairs"]
        assert pair["n"] == by_judge["strict"] / 4  # two orders, two trials


def study_of(index, folder, texts, *, refused=(), n=12):
    """Create a study with given answers: by method a text, or a function of the number of the question."""
    study = index.experiment(folder)
    asked = [Question(id=f"q{i}", question=f"Who kept the Skerry Light in {1870 + i}?") for i in range(n)]
    study.import_questions(asked)
    for i, question in enumerate(asked):
        for method, text in texts.items():
            study.folder.add_answer(
                StudyAnswer(
                    question=question.id,
                    method=method,
                    text=text if isinstance(text, str) else text(i),
                    refused=(method, i) in refused,
                    extractive=False,
                    made_with=replace(MADE_WITH, chat="scripted"),
                    context="[1] Mara Quill kept the Skerry Light.",
                    usage=Usage(calls=1, prompt_tokens=100, completion_tokens=20, cost=0.001),
                )
            )
    return study


def one_pair(study, protocol="unbiased"):
    (pair,) = study.report(protocol=protocol).findings.pairs
    return pair


def test_a_judge_that_always_prefers_the_first_position_finds_no_difference(sound, tmp_path):
    judge = scripted_chat([(JUDGED, FIRST)])
    with opened(sound, judge) as index:
        texts = {"A": lambda i: f"Mara Quill, entry {i}.", "B": lambda i: f"Old Tobin, entry {i}."}
        study = study_of(index, tmp_path / "s", texts)
        study.judge([judge], JudgingDesign(repeats=2, trials=2))
        material = study.report()
    (pair,) = material.findings.pairs
    assert pair.pooled.ties == pair.pooled.n == 24
    assert not pair.differs
    assert pair.consistency.position_bias == 1.0
    assert pair.sentence.startswith("Undecided between A and B")
    assert any("prefers the answer shown first in 1 of 1" in note for note in material.findings.notes)


def test_the_same_judge_declares_a_winner_by_the_single_order_protocol(sound, tmp_path):
    winner = '{"comprehensiveness": 1, "diversity": 1, "empowerment": 1, "overall": 1}'
    judge = scripted_chat([("Task: judge_winner", winner)])
    with opened(sound, judge) as index:
        texts = {"A": lambda i: f"Mara Quill, entry {i}.", "B": lambda i: f"Old Tobin, entry {i}."}
        study = study_of(index, tmp_path / "s", texts)
        found = study.judge([judge], LIGHTRAG)
    assert {o.verdict() for o in outcomes(found, "A", "B", balanced=False)} == {"a"}


def test_unusable_replies_are_left_out_with_their_counterparts_and_not_paid_again(sound, tmp_path):
    def grumpy(request):
        return request.messages[1].content.count("entry 3") > 0 and JUDGED in request.messages[0].content

    judge = scripted_chat([(grumpy, "I would rather not say.")])
    with opened(sound, judge) as index:
        texts = {"A": lambda i: f"Mara Quill, entry {i}.", "B": lambda i: f"Old Tobin, entry {i}."}
        study = study_of(index, tmp_path / "s", texts)
        found = study.judge([judge], JudgingDesign(repeats=2, trials=1))
        assert sum(bool(j.problem) for j in found) == 4
        assert {j.question for j in found if j.problem} == {"q3"}
        material = study.report()
        (pair,) = material.findings.pairs
        assert (pair.n, pair.unusable) == (11, 4)
        assert any(note.startswith("4 of 48 judgements were unusable") for note in material.findings.notes)
        n = len(judge.requests)
        study.judge([judge], JudgingDesign(repeats=2, trials=1))
        assert len(judge.requests) == n


def test_a_judge_without_usable_replies_is_an_error(sound, tmp_path, call):
    index = shutil.copytree(sound, tmp_path / "i")
    judge = scripted_chat([("Task: judge_scores", "I would rather not say.")])
    with ScriptedServer(chat=judge) as server:
        ended = call(*RUN, "--index", index, "--output", tmp_path / "s", env=environment(server))
        assert ended.code == 1
        assert "scripted" in ended.sentence
        assert "judgements.jsonl" in ended.sentence
        shown = call("eval", "report", "--index", index, "--output", tmp_path / "s")
        assert shown.code == 0
        assert "None of 20 judgements was usable" in shown.out


# --- answers --------------------------------------------------------------------------------------------


def test_identical_answers_are_ties_even_for_an_inconsistent_judge(sound, tmp_path):
    said = iter(range(10_000))

    def fickle(request):
        a, b = (next(said) % 6, next(said) * 3 % 5)
        return json.dumps({aspect: [a, b] for aspect in ASPECTS})

    judge = scripted_chat([(JUDGED, fickle)])
    with opened(sound, judge) as index:
        same = "Mara Quill kept the Skerry Light."
        study = study_of(index, tmp_path / "s", {"A": same, "B": same})
        study.judge([judge], JudgingDesign(repeats=2, trials=2))
        pair = one_pair(study)
    assert pair.pooled.ties == pair.pooled.n
    assert pair.gap.mean == 0.0
    assert pair.gap.low < 0.0 < pair.gap.high  # twelve ties do not prove that there is no gap
    # Both orders are the same request.
    assert len(judge.requests) == 12 * 2 * 2


def test_a_refusal_is_judged_without_alignment_and_noted(sound, tmp_path):
    long = " ".join(["Mara Quill kept the Skerry Light and wrote to Old Tobin."] * 6)
    refusal = "The documents do not answer this: nothing was found."
    chat = scripted_chat()
    with opened(sound, chat) as index:
        refused = {("B", i) for i in range(5)}
        study = study_of(
            index,
            tmp_path / "s",
            {"A": long, "B": lambda i: refusal if i < 5 else long},
            refused=refused,
            n=20,
        )
        found = study.judge([chat], JudgingDesign(repeats=1, trials=1))
        aligned = {p.question: p for p in study.folder.aligned()}
        material = study.report()
    tasks = Counter(r.messages[0].content.partition("\n")[0].removeprefix("Task: ") for r in chat.requests)
    assert set(tasks) == {"judge_scores"}, "a refusal was written out or lengthened"
    assert [aligned[f"q{i}"].how for i in (0, 4, 5)] == ["refused", "refused", "free"]
    assert aligned["q0"].texts == (long, refusal)
    assert len(found) == 40
    (pair,) = material.findings.pairs
    assert (pair.refused, pair.n) == (5, 20)
    assert pair.pooled.wins == 5
    assert pair.where_answered is not None
    assert pair.where_answered.mean == 0.0
    # The verdict on a refusal is not attributed to its length.
    assert pair.length is None or pair.length.words.mean == 0.0
    assert any("5 of 20 pairs of answers contain a refusal" in note for note in material.findings.notes)


def test_a_refusal_to_lengthen_is_not_shown_to_the_judge(sound, tmp_path):
    long = " ".join(["Mara Quill kept the Skerry Light and wrote to Old Tobin."] * 6)
    chat = scripted_chat([("Write about", "NO ANSWER: the evidence says no more " + "than this " * 20)])
    with opened(sound, chat) as index:
        study = study_of(index, tmp_path / "s", {"A": long, "B": "Mara Quill kept it."}, n=2)
        study.judge([chat], JudgingDesign(repeats=1, trials=1))
        (one, _) = study.folder.aligned()
    assert one.how == "forced"
    assert "NO ANSWER" not in one.texts[1]
    assert one.texts[1].startswith("Mara Quill kept it.")


def test_answers_of_every_odd_kind_make_a_report(sound, tmp_path):
    odd = [
        "",
        " ",
        "<b>&amp;</b>",
        "谁建造了灯塔" * 300,
        "\x00\ud800",
        "word " * 8_000,
        "a\n" * 500,
        "[1][2]",
        "-",
    ]
    with opened(sound, None) as index:
        study = study_of(
            index, tmp_path / "s", {"A": lambda i: odd[i], "B": "Mara Quill."}, refused={("B", 1)}, n=len(odd)
        )
        material = study.report()
    page = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    assert "<b>&amp;" not in page
    assert html_report(replace(material, judgements=()))
