"""The comparison of a plain and a tuned reader: what is measured, what is concluded, and the files."""

import json
from dataclasses import replace

import numpy as np
import pytest

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.separation import separation
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.finetune.compare.report import as_text, conclusions, pictures_of, report_json, report_page
from polygraph.finetune.compare.run import Reader, compare_readers
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.scripted_server import ScriptedServer
from polygraph.tasks.answers.raft import REFUSAL, quoted
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index

KEEPERS = [
    ("Mara Quill", "Skerry Light"), ("Old Tobin", "Halcyon"), ("Ines Corve", "Sallow Bay school"),
    ("Ezra Pike", "Custom House"), ("Nadia Brandt", "Kessel Foundry"), ("Tom Ferris", "Orrin Steel"),
    ("Ada Vane", "Lanthorn Hill"), ("Silas Threave", "Grey Reef buoy"), ("Una Marsh", "Harbour Board"),
    ("Piers Holt", "Fish Market"), ("Rhoda Lynn", "Chapel Row"), ("Hugh Sedge", "Coal Wharf"),
]  # fmt: skip
QUESTIONS = [
    Question(id=f"q{i:02}", question=f"Who looked after the {place}?", type="node", answers=(name,))
    for i, (name, place) in enumerate(KEEPERS)
] + [Question(id="null", question="Who painted the Moon Gate?", type="null", null=True)]


def plain(request):
    """Chat about the evidence in no form, and never refuse."""
    return "According to the evidence somebody did."


def tuned(request):
    """Quote the sentence with the place of the question; else refuse."""
    last = request.messages[-1].content
    for name, place in KEEPERS:
        if f"the {place}?" in last.rpartition("Question:")[2] and f"{name} looked after" in last:
            return f"{quoted(f'{name} looked after the {place} for years.', 1)}\n<ANSWER>: {name}"
    return f"<ANSWER>: {REFUSAL}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_files):
    base = tmp_path_factory.mktemp("compare")
    texts = {
        f"{i}.txt": f"{name} looked after the {place} for years." for i, (name, place) in enumerate(KEEPERS)
    }
    with Index.open(base / "index", models=hashed_models()) as index:
        index.add(write_files(base / "papers", texts), methods=["naive", "bm25"])
    return base / "index"


@pytest.fixture
def readers(folder):
    opened = []

    def reader(name, reply):
        models = replace(hashed_models(ScriptedChat(replies={"raft": reply}, name=name)), reader_form="raft")
        index = Index.open(folder, models=models)
        opened.append(index)
        return Reader(ask=index.ask, models=models), index.snapshot

    yield reader
    for index in opened:
        index.close()


def compared(readers, path, **options):
    before, snapshot = readers("small", plain)
    after, _ = readers("small+adapter", tuned)
    return compare_readers(
        StudyFolder(path),
        QUESTIONS,
        ["bm25", "naive:graft"],
        before,
        after,
        snapshot,
        lambda *_: None,
        **options,
    )


def test_what_training_changed_is_measured_and_said(readers, tmp_path):
    found = compared(readers, tmp_path / "s")
    assert found.systems == ("bm25", "bm25+tuned", "naive:graft", "naive:graft+tuned")
    means = {m: {s: mean.mean for s, (mean, _) in by.items()} for m, by in found.means.items()}
    assert means["right"]["bm25"] == 0.0
    assert means["right"]["bm25+tuned"] == 1.0, "the null question is refused"
    assert means["in form"] == {"bm25": 0.0, "bm25+tuned": 1.0, "naive:graft": 0.0, "naive:graft+tuned": 1.0}
    assert means["verbatim quotes"]["bm25+tuned"] == 1.0
    assert "bm25" not in means["verbatim quotes"], "it quotes nothing"
    assert means["false refusals"]["bm25+tuned"] == 0.0
    assert means["stands in the context"]["bm25"] == 0.0
    [first] = [s for s in conclusions(found) if s.startswith("bm25, tuned") and "what it says" in s]
    assert "right +1.000" in first


def test_the_same_reader_twice_is_not_better_than_itself(readers, tmp_path):
    one, snapshot = readers("small", tuned)
    other, _ = readers("small+adapter", tuned)
    found = compare_readers(
        StudyFolder(tmp_path / "s"), QUESTIONS, ["bm25"], one, other, snapshot, lambda *_: None
    )
    assert all("no difference was shown" in s for s in conclusions(found))
    assert found.separation.p > 0.9


def test_a_second_run_asks_no_model_and_gives_the_same_bytes(readers, tmp_path):
    first = compared(readers, tmp_path / "s")
    again = compared(readers, tmp_path / "s")
    training = {
        "losses": [1.5, 0.7, 0.5],
        "held_out_losses": [
            {"step": 0, "loss": 1.5, "form": 0.0, "answer": 0.1},
            {"step": 2, "loss": 0.6, "form": 1.0, "answer": 0.3},
            {"step": 3, "loss": 0.8, "form": 1.0, "answer": 0.2},
        ],
        "best_step": 2,
    }
    assert as_text(report_json(first, training)) == as_text(report_json(again, training))
    assert sum(a.usage.calls for a in first.answers) == sum(a.usage.calls for a in again.answers)
    pictures = pictures_of(first, training)
    assert [name for name in pictures if name != "answers-umap.svg"] == ["answers.svg", "training.svg"]
    assert pictures == pictures_of(again, training)
    assert "rows with the marks of the form" in pictures["training.svg"]
    page = report_page(first, training, list(pictures))
    assert "RAFT" in page
    assert "loss on held-out rows 1.500 before, 0.600 after step 2, which is kept" in page
    assert "only 13 questions were measured" in page


def test_the_study_is_one_that_the_evaluation_reads(readers, folder, tmp_path):
    compared(readers, tmp_path / "s")
    with Index.open(folder, models=hashed_models(scripted_chat())) as index:
        report = index.experiment(tmp_path / "s").report()
    assert "bm25+tuned" in {a.method for a in report.answers}
    assert (tmp_path / "s" / "report.html").is_file()


def test_questions_without_gold_are_refused(readers, tmp_path):
    reader, snapshot = readers("small", plain)
    bare = [Question(id="1", question="Who?")]
    with pytest.raises(BadInput, match="no question has a gold answer"):
        compare_readers(
            StudyFolder(tmp_path / "s"), bare, ["bm25"], reader, reader, snapshot, lambda *_: None
        )


def test_the_command_compares_two_models_of_an_endpoint(folder, tmp_path, call):
    rows = tmp_path / "rows"
    rows.mkdir()
    (rows / "data.json").write_text(json.dumps({"settings": {"form": "raft"}}))
    lines = [{"question": q.question, "answers": list(q.answers), "null": q.null} for q in QUESTIONS[-3:]]
    (rows / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ScriptedServer(chat=ScriptedChat(replies={"raft": tuned})) as server:
        environment = {
            "OPENAI_BASE_URL": server.base_url, "POLYGRAPH_CHAT_MODEL": "small", "POLYGRAPH_INDEX": str(folder),
            "POLYGRAPH_EMBEDDER": "hash", "POLYGRAPH_NAME_EMBEDDER": "hash", "POLYGRAPH_RERANKER": "none",
        }  # fmt: skip
        done = call(
            "finetune",
            "compare",
            rows,
            "--tuned-model",
            "tuned",
            "-m",
            "bm25",
            "-o",
            tmp_path / "out",
            env=environment,
        )
    assert done.code == 0, done.err
    assert "no difference was shown" in done.out
    assert {"compare.md", "compare.json", "answers.svg", "answers.jsonl"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        ((), "--adapter DIR"),
        (("--adapter", "a", "--tuned-model", "b"), "--adapter DIR"),
        (("--adapter", "none"), "polygraph finetune data"),
    ],
)
def test_bad_input_is_one_sentence_with_the_fix(arguments, fix, tmp_path, call):
    (tmp_path / "questions.jsonl").write_text('{"question": "Who?", "answers": ["Mara"]}\n')
    done = call("finetune", "compare", tmp_path, "-o", tmp_path / "out", *arguments)
    assert done.code == 2
    assert fix in done.sentence


# --- separation -----------------------------------------------------------------------------------------


def test_groups_that_lie_apart_are_told_from_groups_that_do_not():
    rng = np.random.default_rng(0)
    blocks = [f"q{i}" for i in range(20) for _ in range(2)]
    groups = ["a", "b"] * 20
    topics = np.repeat(rng.normal(size=(20, 8)) * 5, 2, axis=0)
    noise = rng.normal(size=(40, 8))
    same = separation(topics + noise, groups, blocks)
    assert same.p > 0.05
    shifted = topics + noise + np.where(np.asarray(groups) == "a", 2.0, 0.0)[:, None]
    apart = separation(shifted, groups, blocks)
    assert apart.p == 0.001
    assert apart.share > same.share
    assert separation(shifted, groups, blocks) == apart
    assert separation(np.ones((4, 3)), ["a", "b"] * 2, [1, 1, 2, 2]).p == 1.0


def test_the_share_is_that_of_a_known_case():
    vectors = np.asarray([[1.0], [-1.0], [1.0], [-1.0]])
    assert separation(vectors, ["a", "b", "a", "b"], [1, 1, 2, 2]).share == 1.0
    assert separation(vectors, ["a", "b", "b", "a"], [1, 1, 2, 2]).share == 0.0
