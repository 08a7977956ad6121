"""Training of a small Llama: it learns, continues after a kill, and its adapter is what was trained."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM

from polygraph.finetune.training.export import merged_model
from polygraph.finetune.training.recipes import Recipe
from polygraph.finetune.training.train import Trained, train


@pytest.fixture(scope="session")
def recipe(small_model: Path) -> Recipe:
    return Recipe(
        name="test",
        model=str(small_model),
        rank=8,
        learning_rate=1e-2,
        rows_per_step=4,
        epochs=4,
        evaluate_every=8,
        checkpoint_every=5,
    )


@pytest.fixture(scope="session")
def nf4(recipe: Recipe) -> Recipe:
    return replace(recipe, nf4=True, optimizer="paged_adamw_8bit", gradient_checkpointing=True)


@pytest.fixture(scope="session")
def unbroken(rows: Path, recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(rows, tmp_path_factory.mktemp("out") / "reader", recipe, merge=True)


def weights(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "adapter_model.safetensors")


def assert_same(left: Path, right: Path) -> None:
    first, second = weights(left), weights(right)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert np.array_equal(values, second[name]), name


def test_lora_in_32_bits_lowers_the_held_out_loss(unbroken: Trained) -> None:
    losses = [each["loss"] for each in unbroken.report["held_out_losses"]]
    assert losses[-1] < 0.8 * losses[0]
    assert {each["form"] for each in unbroken.report["held_out_losses"]} == {None}
    assert unbroken.report["steps"] == len(unbroken.report["losses"]) == 24
    assert unbroken.report["tokens"] == 4 * unbroken.report["rows"]["tokens"]


def test_the_form_is_measured_beside_the_loss(rows: Path, recipe: Recipe, tmp_path: Path) -> None:
    for name in ("train", "held-out"):
        changed = []
        for line in (rows / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            said = row["messages"][-1]["content"]
            colour = said.split()[-1].rstrip(".")
            row["messages"][-1]["content"] = f"##begin_quote##{said}##end_quote## [1]\n<ANSWER>: {colour}"
            changed.append(json.dumps(row))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(changed), encoding="utf-8")
    found = train(tmp_path, tmp_path / "reader", recipe)
    first, *_, last = found.report["held_out_losses"]
    assert first["form"] == 0
    assert last["form"] > 0.5
    assert 0 <= first["answer"] <= last["answer"]


def test_qlora_with_nf4_lowers_the_held_out_loss_and_continues_exactly(
    rows: Path, nf4: Recipe, tmp_path: Path
) -> None:
    whole = train(rows, tmp_path / "whole", nf4)
    losses = [each["loss"] for each in whole.report["held_out_losses"]]
    assert losses[-1] < 0.8 * losses[0]
    stop_at(rows, tmp_path / "broken", nf4, 12)
    again = train(rows, tmp_path / "broken", nf4)
    assert again.report["losses"] == whole.report["losses"]
    assert_same(whole.folder, again.folder)


def stop_at(rows: Path, output: Path, recipe: Recipe, step: int) -> None:
    def stop(progress) -> None:
        if progress.step == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(rows, output, recipe, on_progress=stop)
    assert not output.exists()


def test_an_interrupted_training_continues_to_the_result_of_an_unbroken_one(
    rows: Path, recipe: Recipe, unbroken: Trained, tmp_path: Path
) -> None:
    stop_at(rows, tmp_path / "reader", recipe, 7)
    stop_at(rows, tmp_path / "reader", recipe, 16)
    steps = []
    again = train(rows, tmp_path / "reader", recipe, on_progress=lambda each: steps.append(each.step))
    assert steps == list(range(16, 25))
    assert again.report["losses"] == unbroken.report["losses"]
    assert again.report["held_out_losses"] == unbroken.report["held_out_losses"]
    assert_same(unbroken.folder, again.folder)
    assert not (tmp_path / "reader.checkpoints").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from polygraph.finetune.training.recipes import Recipe
from polygraph.finetune.training.train import train

def kill(progress):
    if progress.step == 13:
        os.kill(os.getpid(), signal.SIGKILL)

train(Path({rows!r}), Path({output!r}), {recipe!r}, on_progress=kill)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_process_continues_to_the_result_of_an_unbroken_one(
    rows: Path, recipe: Recipe, unbroken: Trained, tmp_path: Path
) -> None:
    plain = replace(recipe, shape={})
    code = KILLED.format(rows=str(rows), output=str(tmp_path / "reader"), recipe=plain)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert not (tmp_path / "reader").exists()
    steps = []
    again = train(rows, tmp_path / "reader", recipe, on_progress=lambda each: steps.append(each.step))
    assert steps[0] == 11
    assert again.report["losses"] == unbroken.report["losses"]
    assert_same(unbroken.folder, again.folder)


def test_training_ends_early_without_gain_and_keeps_the_best_matrices(
    rows: Path, recipe: Recipe, tmp_path: Path
) -> None:
    wild = replace(
        recipe, learning_rate=0.5, evaluate_every=1, patience=2, warmup_share=0.0, max_grad_norm=100.0
    )
    found = train(rows, tmp_path / "reader", wild)
    assert found.report["steps"] < 24
    losses = {each["step"]: each["loss"] for each in found.report["held_out_losses"]}
    assert losses[found.report["best_step"]] == min(losses.values())
    if found.report["best_step"] == 0:
        # Nothing was gained: the second matrices are still zero, so that the reader is the plain one.
        assert all(not values.any() for name, values in weights(found.folder).items() if "lora_B" in name)


def test_merged_weights_answer_as_the_adapter_does(unbroken: Trained, recipe: Recipe) -> None:
    from peft import PeftModel

    ids = torch.arange(5, 45)[None]
    base = AutoModelForCausalLM.from_pretrained(recipe.model)
    with torch.no_grad():
        plain = base(ids).logits
        adapted = PeftModel.from_pretrained(base, str(unbroken.folder))(ids).logits
        merged = AutoModelForCausalLM.from_pretrained(unbroken.folder / "merged")(ids).logits
    assert torch.allclose(adapted, merged, atol=1e-4)
    assert (adapted - plain).abs().max() > 0.1


def test_a_finished_training_is_not_repeated(rows: Path, recipe: Recipe, unbroken: Trained) -> None:
    before = (unbroken.folder / "training.json").read_bytes()
    again = train(rows, unbroken.folder, recipe)
    assert again.earlier
    assert (unbroken.folder / "training.json").read_bytes() == before


def test_the_report_names_settings_rows_and_time(unbroken: Trained, rows: Path) -> None:
    report = json.loads((unbroken.folder / "training.json").read_text())
    assert report["made_with"]["rank"] == 8
    assert len(report["made_with"]["rows"]) == 64
    assert report["rows"]["train"] == 24
    assert report["rows"]["held_out"] == 6
    assert report["seconds"] > 0
    assert sorted(path.name for path in unbroken.folder.iterdir()) == [
        "adapter.gguf",
        "adapter_config.json",
        "adapter_model.safetensors",
        "merged",
        "training.json",
    ]


def test_an_adapter_is_refused_by_another_model(unbroken: Trained, small_model: Path, tmp_path: Path) -> None:
    from polygraph.errors import BadInput

    other = AutoModelForCausalLM.from_pretrained(small_model)
    other.config.hidden_size = 32
    wrong = AutoModelForCausalLM.from_config(other.config)
    with pytest.raises(BadInput, match="does not fit the model"):
        merged_model(wrong, unbroken.folder)


def test_a_damaged_checkpoint_is_passed_over(
    rows: Path, recipe: Recipe, unbroken: Trained, tmp_path: Path
) -> None:
    stop_at(rows, tmp_path / "reader", recipe, 12)
    newest = tmp_path / "reader.checkpoints" / "step-0000010"
    (newest / "optimizer.pt").write_bytes(b"damaged")
    steps = []
    again = train(rows, tmp_path / "reader", recipe, on_progress=lambda each: steps.append(each.step))
    assert steps[0] == 6
    assert_same(unbroken.folder, again.folder)
    shutil.rmtree(tmp_path / "reader")


def test_merged_weights_of_a_gguf_file_answer_as_its_adapter_does(
    rows: Path, recipe: Recipe, small_gguf: Path, tmp_path: Path
) -> None:
    from peft import PeftModel
    from transformers import AutoTokenizer

    trained = train(rows, tmp_path / "reader", replace(recipe, model=str(small_gguf), steps=4), merge=True)
    ids = torch.arange(5, 45)[None]
    base = AutoModelForCausalLM.from_pretrained(small_gguf.parent, gguf_file=small_gguf.name)
    with torch.no_grad():
        adapted = PeftModel.from_pretrained(base, str(trained.folder))(ids).logits
        merged = AutoModelForCausalLM.from_pretrained(trained.folder / "merged")(ids).logits
    assert torch.allclose(adapted, merged, atol=1e-4)
    assert AutoTokenizer.from_pretrained(trained.folder / "merged").chat_template


def test_the_adapter_of_the_nf4_model_is_merged_with_weights_that_are_not_quantised(
    rows: Path, nf4: Recipe, tmp_path: Path
) -> None:
    quick = replace(nf4, steps=2)
    first = train(rows, tmp_path / "reader", quick)
    assert not (first.folder / "merged").exists()
    assert train(rows, tmp_path / "reader", quick, merge=True).earlier
    merged = AutoModelForCausalLM.from_pretrained(first.folder / "merged")
    assert merged.model.layers[0].mlp.up_proj.weight.dtype == torch.float32
    assert not getattr(merged, "is_loaded_in_4bit", False)
