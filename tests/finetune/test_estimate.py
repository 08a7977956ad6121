"""Dry runs: model and optimiser of every recipe are built without weights."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polygraph.errors import BadInput
from polygraph.finetune.training.estimate import estimate_training
from polygraph.finetune.training.recipes import RECIPES, recipe_with
from polygraph.finetune.training.train import train


def test_the_recipe_of_the_paper_is_built_without_weights(rows: Path) -> None:
    found = estimate_training(rows, recipe_with("paper"))
    assert found.parameters == 2_779_683_840  # the model card: 2.7 billion
    # Four modules of 2,560 x 2,560 in each of 32 layers, rank 32.
    assert found.trained_parameters == 32 * 4 * 32 * (2_560 + 2_560)
    assert found.optimizer == "PagedAdamW8bit"
    assert found.rows == 24
    assert found.steps == 3
    assert not found.exact
    # 32 layers of four squares and two matrices of 2,560 x 10,240 in a little more than 4 bits, embeddings in 32.
    assert 1.2e9 + 1e9 < found.memory_bytes < 6e9


@pytest.mark.parametrize("name", sorted(set(RECIPES) - {"paper"}))
def test_every_other_recipe_names_modules_that_its_model_has(rows: Path, name: str) -> None:
    found = estimate_training(rows, recipe_with(name))
    assert found.trained_parameters > 1_000_000
    assert found.seconds > 0


def test_a_wrong_target_is_found_before_weights_are_loaded(rows: Path) -> None:
    with pytest.raises(BadInput, match=r"named out_proj.*Choose .*dense"):
        estimate_training(rows, recipe_with("paper", targets=("q_proj", "out_proj")))


def test_the_estimate_counts_what_training_then_does(rows: Path, small_model: Path, tmp_path: Path) -> None:
    recipe = recipe_with("cpu", model=str(small_model), epochs=1.0)
    estimate = estimate_training(rows, recipe)
    report = train(rows, tmp_path / "reader", recipe).report
    assert estimate.exact
    assert (estimate.rows, estimate.steps) == (report["rows"]["train"], report["steps"])
    assert (estimate.tokens, estimate.learned_tokens) == (
        report["rows"]["tokens"],
        report["rows"]["learned_tokens"],
    )


def test_a_model_without_a_shape_must_be_there(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be loaded"):
        estimate_training(rows, recipe_with("cpu", model="no/such-model"))


def test_the_command_prints_the_estimate_and_writes_nothing(rows: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "polygraph",
        "finetune",
        "train",
        str(rows),
        "--recipe",
        "paper",
        "--dry-run",
    ]
    done = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, timeout=300, cwd=tmp_path, check=True
    )
    assert json.loads(done.stdout)["trained_parameters"] == 20_971_520
    assert list(tmp_path.iterdir()) == []


def test_the_help_of_the_command_loads_no_library_of_training() -> None:
    code = (
        "import sys; sys.argv = ['polygraph', 'finetune', 'train', '--help']\n"
        "from polygraph.cli import main\n"
        "try:\n    main()\nfinally:\n    print('LOADED', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.rpartition("LOADED")[2].split()}
    assert "--dry-run" in done.stdout
    assert not loaded & {"torch", "transformers", "peft", "bitsandbytes", "gguf", "safetensors"}
