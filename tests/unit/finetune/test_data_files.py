"""The files of training rows, read back as their readers read them."""

import json
from pathlib import Path

import pytest
import yaml

from polygraph.evaluate.questions.file import read_questions
from polygraph.finetune.data.build import DataOptions, make_rows
from polygraph.finetune.data.export import write_rows
from polygraph.finetune.data.presets import preset_with
from polygraph.testing import hashed_models


@pytest.fixture(scope="module")
def made(small_index, tmp_path_factory):
    """The folder of rows of the small index, and the rows."""
    options = DataOptions(preset=preset_with("raft", distractors=(2, 2)), held_out=0.5)
    data = make_rows(small_index, hashed_models(), options)
    folder = tmp_path_factory.mktemp("files") / "rows"
    write_rows(folder, data, options.as_json(), small_index)
    return folder, data


def lines(path: Path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_conversations_have_the_form_of_trl_and_of_the_fine_tuning_api(made):
    # https://huggingface.co/docs/trl/dataset_formats (conversational language modelling) and
    # https://platform.openai.com/docs/guides/supervised-fine-tuning: one object per line with nothing but "messages",
    # each with role and content, the last one by the assistant.
    folder, data = made
    for name, part in (("train.jsonl", "train"), ("held-out.jsonl", "held_out")):
        rows = lines(folder / name)
        assert rows
        assert [[(m["role"], m["content"]) for m in row["messages"]] for row in rows] == [
            [(m.role, m.content) for m in row.messages] for row in data.rows[part]
        ]
        assert all(list(row) == ["messages"] for row in rows)
        assert all(set(m) == {"role", "content"} and m["content"] for row in rows for m in row["messages"])


def test_the_entries_for_llama_factory_name_files_and_tags(made):
    # https://llamafactory.readthedocs.io: `sharegpt` with the tags of OpenAI's messages.
    folder, _ = made
    entries = json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))
    assert {entry["file_name"] for entry in entries.values()} == {"train.jsonl", "held-out.jsonl"}
    for entry in entries.values():
        assert entry["formatting"] == "sharegpt"
        column, tags = entry["columns"]["messages"], entry["tags"]
        for row in lines(folder / entry["file_name"]):
            roles = [message[tags["role_tag"]] for message in row[column]]
            assert roles == [tags["system_tag"], tags["user_tag"], tags["assistant_tag"]]
            assert all(message[tags["content_tag"]] for message in row[column])


def test_the_configuration_for_axolotl_names_files_and_roles(made):
    # https://docs.axolotl.ai/docs/dataset-formats/conversation.html: chat_template with the roles to train.
    folder, data = made
    config = yaml.safe_load((folder / "axolotl.yml").read_text(encoding="utf-8"))
    (train,), (test,) = config["datasets"], config["test_datasets"]
    assert (train["path"], test["path"], test["split"]) == ("train.jsonl", "held-out.jsonl", "train")
    for each in (train, test):
        assert (each["type"], each["field_messages"]) == ("chat_template", "messages")
        assert each["message_property_mappings"] == {"role": "role", "content": "content"}
        assert each["roles_to_train"] == ["assistant"]
        assert (folder / each["path"]).is_file()
    longest = max(row.n_tokens for rows in data.rows.values() for row in rows)
    assert config["sequence_len"] > longest


def test_without_held_out_rows_no_trainer_is_pointed_to_them(small_index, tmp_path):
    options = DataOptions(preset=preset_with("raft", distractors=(2, 2)), held_out=0.0)
    data = make_rows(small_index, hashed_models(), options)
    write_rows(tmp_path / "rows", data, options.as_json(), small_index)
    assert (tmp_path / "rows" / "held-out.jsonl").read_bytes() == b""
    assert "test_datasets" not in yaml.safe_load(
        (tmp_path / "rows" / "axolotl.yml").read_text(encoding="utf-8")
    )
    assert list(json.loads((tmp_path / "rows" / "dataset_info.json").read_text())) == ["polygraph_train"]


def test_provenance_has_a_line_for_each_row(made, small_index):
    folder, data = made
    found = lines(folder / "provenance.jsonl")
    assert [(line["part"], line["row"]) for line in found] == [
        (part, n) for part in ("train", "held_out") for n in range(len(data.rows[part]))
    ]
    for line in found:
        row = data.rows[line["part"]][line["row"]]
        assert line["has_oracle"] == bool(set(line["oracles"]) & set(line["passages"]))
        assert (line["refuses"], line["tokens"]) == ("NO ANSWER" in row.completion, row.n_tokens)
        for quote in line["quotes"]:
            text = small_index.store.documents.get(quote["document"]).text[quote["start"] : quote["end"]]
            assert line["refuses"] or " ".join(text.split()) in row.completion


def test_held_out_questions_have_their_gold(made):
    folder, data = made
    found = {question.id: question for question in read_questions(folder / "questions.jsonl")}
    assert sorted(found) == sorted(row.question.id for row in data.rows["held_out"])
    for row in data.rows["held_out"]:
        question = found[row.question.id]
        assert question.answers == row.question.answers
        assert question.evidence == row.question.documents
        assert [(p.start, p.end) for p in question.passages] == [
            (q.start, q.end) for q in row.question.quotes
        ]


def test_the_report_counts_what_the_files_hold(made):
    folder, data = made
    counts = json.loads((folder / "data.json").read_text(encoding="utf-8"))["counts"]
    page = (folder / "README.md").read_text(encoding="utf-8")
    for part, name in (("train", "train.jsonl"), ("held_out", "held-out.jsonl")):
        n = len(lines(folder / name))
        assert counts[part]["rows"] == sum(counts[part]["kinds"].values()) == n
        assert counts[part]["with_oracle"] + counts[part]["without_oracle"] + counts[part]["null"] == n
    assert f"{counts['train']['rows']} rows to train on, {counts['held_out']['rows']} rows held out" in page
    assert page.count("\n### Row ") == min(5, len(data.rows["train"]))


def test_markup_of_documents_stays_text_in_the_report(index_of, tmp_path):
    bad = "Mara Quill built <script>alert(1)</script> the Skerry Light | in 1869 with ```` her own money."
    gold = [
        {"id": "x|y", "question": "Who <b>built</b> the | light?", "answer": "Nobody", "evidence": ["a.txt"]}
    ]
    good = {"id": "ok", "question": "Who built it?", "answer": "Mara Quill", "evidence": ["a.txt"]}
    file = tmp_path / "gold.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in [*gold, good]), encoding="utf-8")
    with index_of(tmp_path, {"a": bad, "b": "Old Tobin left Sallow Bay at dawn."}, hashed_models()) as index:
        options = DataOptions(preset=preset_with("raft"), questions=file, held_out=0.0)
        data = make_rows(index, hashed_models(), options)
        write_rows(tmp_path / "rows", data, options.as_json(), index)
    page = (tmp_path / "rows" / "README.md").read_text(encoding="utf-8")
    before, _, after = page.partition("## Examples")
    assert "<b>" not in before
    assert r"x\|y: Who \<b\>built\</b\>" in before
    assert "`````text\n[user]" in after
