"""`polygraph finetune data` on the handbook of the documentation: what it prints, writes and refuses."""

import json
import shutil
from pathlib import Path

import pytest

from polygraph.evaluate.questions.file import read_questions

HANDBOOK = Path(__file__).parents[2] / "docs" / "handbook"
GOLD = [
    {
        "id": "fire",
        "question": "Which works had a fire?",
        "answer": "Orrin Steel",
        "quotes": [
            {
                "document": "incident.txt",
                "text": "On 3 May 2025 a fire stopped the furnaces of Orrin Steel for six weeks.",
            }
        ],
    },
    {
        "id": "days",
        "question": "How many days of holiday are there?",
        "answer": "30",
        "evidence": ["holidays.md"],
    },
    {"id": "mars", "question": "Who lives on Mars?", "null": True},
]


@pytest.fixture(scope="module")
def handbook(tmp_path_factory):
    """A folder with an index of the handbook, copied for each test that changes it."""
    from polygraph.config import Settings
    from polygraph.testing import hashed_models
    from polygraph.workspace.index import Index

    folder = tmp_path_factory.mktemp("handbook")
    shutil.copytree(HANDBOOK, folder / "docs")
    with Index.open(folder / "polygraph.index", settings=Settings(), models=hashed_models()) as index:
        index.add(folder / "docs")
    return folder


@pytest.fixture
def data(handbook, call, tmp_path):
    """Call `finetune data` in a folder with the index of the handbook."""
    shutil.copytree(handbook / "polygraph.index", tmp_path / "polygraph.index")

    def run(*args, **options):
        return call("finetune", "data", *args, **options)

    return run


def written(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_rows_of_the_handbook_are_written_with_everything_beside_them(data, tmp_path):
    done = data("--output", "rows", "--json")
    assert done.code == 0, done.err
    counts = json.loads(done.out)["counts"]
    folder = tmp_path / "rows"
    assert set(written(folder)) == {
        "train.jsonl", "held-out.jsonl", "questions.jsonl", "provenance.jsonl", "data.json", "axolotl.yml",
        "dataset_info.json", "README.md",
    }  # fmt: skip
    rows = lines(folder / "train.jsonl")
    assert counts["train"]["rows"] == len(rows) > 0
    for row in rows:
        assert list(row) == ["messages"]
        assert [list(m) for m in row["messages"]] == [["role", "content"]] * 3
        assert [m["role"] for m in row["messages"]] == ["system", "user", "assistant"]


def test_the_same_command_writes_the_same_bytes(data, tmp_path):
    for name in ("one", "two"):
        assert data("--output", name, "--seed", 3).code == 0
    assert written(tmp_path / "one") == written(tmp_path / "two")
    assert data("--output", "three", "--seed", 4).code == 0
    assert written(tmp_path / "one")["data.json"] != written(tmp_path / "three")["data.json"]


def test_questions_with_gold_become_rows_and_null_ones_refusals(data, tmp_path):
    file = write_lines(tmp_path / "gold.jsonl", GOLD)
    done = data("--output", "rows", "--questions", file, "--held-out", 0, "--oracle-share", 1)
    assert done.code == 0, done.err
    where = {line["question"]: line["row"] for line in lines(tmp_path / "rows" / "provenance.jsonl")}
    replies = [row["messages"][2]["content"] for row in lines(tmp_path / "rows" / "train.jsonl")]
    assert replies[where["mars"]] == "<ANSWER>: NO ANSWER: the evidence does not answer the question."
    assert "##begin_quote##On 3 May 2025 a fire stopped" in replies[where["fire"]]
    assert replies[where["fire"]].endswith("\n<ANSWER>: Orrin Steel")
    assert "##begin_quote##Every employee has 30 days of holiday.##end_quote##" in replies[where["days"]]


def test_held_out_questions_are_read_by_the_evaluation(data, tmp_path):
    file = write_lines(
        tmp_path / "gold.jsonl", [*GOLD, {**GOLD[2], "id": "venus", "question": "Who lives on Venus?"}]
    )
    done = data("--output", "rows", "--questions", file, "--held-out", 0.5)
    assert done.code == 0, done.err
    held_out = {q.id: q for q in read_questions(tmp_path / "rows" / "questions.jsonl")}
    asked = [
        line["question"]
        for line in lines(tmp_path / "rows" / "provenance.jsonl")
        if line["part"] == "held_out"
    ]
    assert sorted(asked) == sorted(held_out)
    assert any(q.null for q in held_out.values())


def test_rows_are_replaced_but_no_other_folder(data, tmp_path):
    assert data("--output", "rows").code == 0
    assert data("--output", "rows", "--preset", "graft").code == 0
    assert json.loads((tmp_path / "rows" / "data.json").read_text())["settings"]["preset"] == "graft"
    before = written(tmp_path / "rows")
    (tmp_path / "rows" / "adapter.gguf").write_text("precious")
    assert "holds adapter.gguf beside its training data" in data("--output", "rows").sentence
    assert written(tmp_path / "rows") == {**before, "adapter.gguf": b"precious"}
    assert "is not training data" in data("--output", "polygraph.index").sentence
    (tmp_path / "file").write_text("")
    assert "is a file. Name a folder" in data("--output", "file").sentence


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--oracle-share", "0"], "--oracle-share 0 leaves no row"),
        (["--distractors", "0"], "Give at least 1"),
        (["--distractors", "4-1"], "Give at least 1"),
        (["--distractors", "many"], "or a range: 1-4"),
        (["--copies", "0"], "Give at least 1"),
        (["--held-out", "1"], "is not a share of the questions"),
        (["-n", "0"], "asks for no questions"),
        (["--max-tokens", "1"], "no question to train on is left"),
        (["--questions", "missing.jsonl"], "there is no file of questions"),
        (["--questions", "model"], "none is configured"),
        (["--reasoning", "model"], "none is configured"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_writes_nothing(data, tmp_path, options, part):
    done = data("--output", "rows", *options)
    assert done.code == 2
    assert part in done.sentence
    assert not (tmp_path / "rows").exists()


def test_a_file_without_gold_says_what_its_lines_need(data, tmp_path):
    file = write_lines(tmp_path / "bare.jsonl", [{"question": "Who had a fire?"}])
    done = data("--output", "rows", "--questions", file)
    assert done.code == 2
    assert "has no gold to learn from" in done.sentence


def test_a_folder_that_cannot_be_written_is_one_sentence_and_leaves_nothing(data, tmp_path, monkeypatch):
    def full(self, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    done = data("--output", "rows")
    assert done.code == 2
    assert "No space left on device. Free some space" in done.sentence
    assert not list(tmp_path.glob("rows*"))


def test_a_collection_too_small_to_hold_rows_out_says_so(data):
    # Each held-out passage of the handbook stands alone, without another one to show beside it.
    done = data("--output", "rows", "--json")
    found = json.loads(done.out)
    empty = found["counts"]["held_out"]["rows"] == 0
    assert any(note.startswith("no row is held out") for note in found["notes"]) == empty
