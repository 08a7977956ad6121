"""Reading of training rows and recipes, which need no libraries of training."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polygraph.errors import BadInput, MissingExtra
from polygraph.finetune.training.recipes import RECIPES, recipe_as_json, recipe_with
from polygraph.finetune.training.rows import form_of, read_rows

GOOD = {
    "messages": [
        {"role": "system", "content": "Answer."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Mara"},
    ]
}


def write(folder: Path, *lines: object) -> Path:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (folder / "train.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_rows_are_read_with_their_lines_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "", GOOD)
    (tmp_path / "held-out.jsonl").write_text(json.dumps(GOOD))
    found = read_rows(tmp_path)
    assert [row.line for row in found.train] == [1, 3]
    assert found.train[0].turns[-1] == {"role": "assistant", "content": "Mara"}
    assert len(found.held_out) == 1


def test_the_checksum_of_rows_changes_with_either_file(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    sums = {read_rows(tmp_path).sha256}
    (tmp_path / "held-out.jsonl").write_text(json.dumps(GOOD))
    sums.add(read_rows(tmp_path).sha256)
    write(tmp_path, GOOD, GOOD)
    (tmp_path / "held-out.jsonl").unlink()
    sums.add(read_rows(tmp_path).sha256)
    assert len(sums) == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is not JSON"),
        ([], "no `messages`"),
        ({"messages": GOOD["messages"][:1]}, "at least two turns"),
        ({"messages": [{"role": "tool", "content": "x"}, GOOD["messages"][2]]}, "system, user or assistant"),
        ({"messages": [{"role": "user", "content": 3}, GOOD["messages"][2]]}, "is not text"),
        ({"messages": GOOD["messages"][:2]}, "last turn is not the assistant's"),
        ({"messages": [*GOOD["messages"][:2], {"role": "assistant", "content": " "}]}, "turn is empty"),
        ({"messages": [{"role": "system", "content": "x"}, GOOD["messages"][2]]}, "no turn of the user"),
    ],
)
def test_a_line_that_is_no_row_is_named_with_its_number(tmp_path: Path, line: object, problem: str) -> None:
    with pytest.raises(BadInput, match=rf"train\.jsonl, line 2: .*{problem}"):
        read_rows(write(tmp_path, GOOD, line))


def test_a_folder_without_rows_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="polygraph finetune data"):
        read_rows(tmp_path)
    with pytest.raises(BadInput, match="has no rows"):
        read_rows(write(tmp_path))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "x"]), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@example(value={"messages": [{"role": []}, None]})
@given(value=json_values | st.fixed_dictionaries({"messages": json_values}))
def test_any_json_is_a_row_or_an_error_of_one_sentence(
    value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = write(tmp_path_factory.mktemp("any"), json.dumps(value))
    try:
        said = str(len(read_rows(folder).train))
    except BadInput as error:
        said = str(error)
    assert said == "1" or "line 1: " in said


def test_the_recipe_of_the_paper_has_its_settings() -> None:
    paper = RECIPES["paper"]
    assert (paper.model, paper.nf4, paper.rank, paper.alpha) == ("microsoft/phi-2", True, 32, 32)
    assert paper.targets == ("q_proj", "k_proj", "v_proj", "dense")
    assert (paper.dropout, paper.learning_rate, paper.rows_per_step, paper.epochs) == (0.05, 2e-4, 8, 1.0)
    assert paper.optimizer == "paged_adamw_8bit"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"learning_rate": 0.0}, "learning rate 0 is out of range"),
        ({"rank": 0}, "rank 0 is too small"),
        ({"steps": 0}, "steps 0 is too small"),
        ({"epochs": -1.0}, "epochs -1 is out of range"),
        ({"targets": ()}, "no module is named"),
        ({"steps": 3, "epochs": 2.0}, "Give one of them"),
    ],
)
def test_a_value_out_of_range_is_refused(values: dict[str, object], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        recipe_with("cpu", **values)


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match="paper, qwen, llama, smollm, cpu"):
        recipe_with("other")


def test_another_model_does_not_keep_the_shape_of_the_recipe() -> None:
    assert recipe_with("paper", model="other").shape == {}
    assert recipe_with("paper", model="microsoft/phi-2").shape["hidden_size"] == 2560
    assert json.dumps(recipe_as_json(recipe_with("cpu", rank=4)))


def test_without_its_libraries_training_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    from polygraph.finetune.training.train import train

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    with pytest.raises(MissingExtra, match=r"polygraph-rag\[finetune\]"):
        train(write(tmp_path, GOOD), tmp_path / "reader", recipe_with("cpu"))
    assert not (tmp_path / "reader").exists()


@pytest.mark.parametrize("form", ["raft", "graft"])
def test_the_form_of_rows_is_that_of_their_instruction(tmp_path: Path, form: str) -> None:
    from polygraph.tasks.answers.raft import reader_messages

    turns = [
        {"role": turn.role, "content": turn.content}
        for turn in reader_messages(form, "Who?", "[1] Mara built it.")
    ]
    row = {"messages": [*turns, GOOD["messages"][2]]}
    assert form_of(read_rows(write(tmp_path, row, row)).train) == form
    assert form_of(read_rows(write(tmp_path, row, GOOD)).train) is None
    no_system = {"messages": GOOD["messages"][1:]}
    assert form_of(read_rows(write(tmp_path, row, no_system)).train) is None
