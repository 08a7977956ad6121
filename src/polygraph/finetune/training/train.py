"""Training of a reader from a folder of rows to a folder with its adapter."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, StorageFailed
from polygraph.finetune.training.base_model import (
    best_device,
    find_model,
    fingerprint,
    load_model,
    load_tokenizer,
)
from polygraph.finetune.training.checkpoint import Checkpoints, Position
from polygraph.finetune.training.export import MERGED, write_adapter, write_merged
from polygraph.finetune.training.libraries import require_finetune
from polygraph.finetune.training.loop import Progress, Trainer
from polygraph.finetune.training.lora import add_lora
from polygraph.finetune.training.recipes import Recipe, recipe_as_json
from polygraph.finetune.training.rows import RowFiles, form_of, read_rows
from polygraph.finetune.training.tokens import TokenRows, tokenize_rows
from polygraph.models.providers.gguf import ADAPTER_FILE, TRAINING_FILE
from polygraph.records import Json
from polygraph.store.atomic_files import write_folder

_NOT_COMPARED = {"name", "model", "checkpoint_every"}
"""Fields of a recipe that do not change the result; the weights are compared instead of the name of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A finished training."""

    folder: Path
    report: Mapping[str, Any]
    """The content of `training.json`."""
    earlier: bool
    """Whether it was finished by an earlier command."""

    @property
    def gguf(self) -> Path | None:
        """The adapter for llama.cpp, if there is one."""
        path = self.folder / ADAPTER_FILE
        return path if path.is_file() else None


def train(
    data: Path,
    output: Path,
    recipe: Recipe,
    *,
    merge: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_note: Callable[[str], None] = lambda _: None,
) -> Trained:
    """Train a reader; a training that was interrupted continues from its last checkpoint.

    Args:
        data: folder with `train.jsonl` and `held-out.jsonl`.
        output: folder of the adapter, written when training has ended; checkpoints are beside it until then.
        recipe: settings.
        merge: whether to write merged weights as well.
        on_progress: called after each step.
        on_note: called with sentences about what is left out or done.

    Raises:
        BadInput: for rows, a model or settings that cannot be used.
        MissingExtra: if the extra `finetune` is not installed.
        StorageFailed: if the disk is full; checkpoints are kept.
        WorkFailed: if training diverges.
    """
    require_finetune()
    rows = read_rows(data)
    check_output(output)
    source = find_model(recipe)
    tokenizer = load_tokenizer(source)
    learned, held_out = tokenized(rows, tokenizer, recipe, on_note)
    device = best_device()
    base = load_model(source, device, nf4=recipe.nf4)
    made_with: dict[str, Json] = {
        **{k: v for k, v in recipe_as_json(recipe).items() if k not in _NOT_COMPARED},
        "rows": rows.sha256,
        "weights": fingerprint(source, base),
    }
    finished = _finished(output, made_with)
    if finished is None:
        _seed(recipe.seed)
        model = add_lora(base, recipe)
        checkpoints = Checkpoints(output.with_name(f"{output.name}.checkpoints"), made_with)
        trainer = Trainer(model, recipe, learned.rows, held_out.rows, checkpoints, device)
        position = trainer.run(on_progress)
        report = {"form": form_of(rows.train), **_report(made_with, recipe, learned, held_out, position)}
        _write(output, lambda folder: _fill(folder, model, report))
        checkpoints.remove()
        del model, trainer
    del base
    if merge:
        if (output / MERGED).is_dir():
            on_note(f"{output / MERGED} exists already")
        else:
            on_note("merging the adapter with the weights")
            _write(output / MERGED, lambda folder: write_merged(output, source, folder))
    report = json.loads((output / TRAINING_FILE).read_text(encoding="utf-8"))
    return Trained(folder=output, report=report, earlier=finished is not None)


def tokenized(
    rows: RowFiles, tokenizer: Any, recipe: Recipe, on_note: Callable[[str], None]
) -> tuple[TokenRows, TokenRows]:
    """Return the rows of both parts as tokens.

    Raises:
        BadInput: if no row is left to learn.
    """
    learned = tokenize_rows(rows.train, tokenizer, recipe.max_tokens, recipe.learned)
    held_out = tokenize_rows(rows.held_out, tokenizer, recipe.max_tokens)
    if not learned.rows:
        raise BadInput(
            f"no row can be used: {_listed(learned.left_out)}; the longest has {learned.longest:,} tokens of "
            f"{recipe.max_tokens:,}. Give a larger --max-tokens, or make shorter rows: polygraph finetune data "
            "--max-tokens"
        )
    for name, part in (("training", learned), ("held-out", held_out)):
        if part.left_out:
            on_note(
                f"left out of {len(part.rows) + part.left_out.total():,} {name} rows: {_listed(part.left_out)} "
                f"(longest: {part.longest:,} tokens, limit: {recipe.max_tokens:,})"
            )
    if not held_out.rows:
        on_note("there are no held-out rows: nothing shows when the reader begins to memorise its rows")
    return learned, held_out


def check_output(output: Path) -> None:
    """Check that the folder of the adapter is new or holds a training.

    Raises:
        BadInput: if it holds anything else.
    """
    if output.is_file() or (
        output.is_dir() and any(output.iterdir()) and not (output / TRAINING_FILE).is_file()
    ):
        raise BadInput(f"{output} exists and is not the folder of a training. Choose another --output")


def _listed(left_out: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()))


def _finished(output: Path, made_with: Mapping[str, Json]) -> Mapping[str, Any] | None:
    """Return the report of a finished training with these settings, or None if there is none.

    Raises:
        BadInput: if the folder holds another training.
    """
    path = output / TRAINING_FILE
    if not path.is_file():
        return None
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        theirs = dict(report["made_with"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} cannot be read. Choose another --output, or delete {output}") from error
    mine = json.loads(json.dumps(dict(made_with)))
    differing = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
    if differing:
        raise BadInput(
            f"{output} holds an adapter that was trained with another {', '.join(differing)}. "
            "Choose another --output, or delete it"
        )
    return dict(report)


def _seed(seed: int) -> None:
    import torch

    torch.manual_seed(seed)


def _report(
    made_with: Mapping[str, Json],
    recipe: Recipe,
    learned: TokenRows,
    held_out: TokenRows,
    position: Position,
) -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "recipe": recipe.name,
        "model": recipe.model,
        "made_with": dict(made_with),
        "rows": {
            "train": len(learned.rows),
            "held_out": len(held_out.rows),
            "held_out_measured": min(len(held_out.rows), recipe.held_out_rows),
            "left_out": {"train": dict(learned.left_out), "held_out": dict(held_out.left_out)},
            "tokens": learned.n_tokens,
            "learned_tokens": learned.n_learned,
        },
        "steps": position.step,
        "tokens": position.tokens,
        "losses": position.losses,
        "held_out_losses": [asdict(found) for found in position.held_out],
        "best_step": position.best_step if position.held_out else position.step,
        "skipped_updates": position.skipped,
        "seconds": round(position.seconds, 3),
        "measuring_seconds": round(position.measuring_seconds, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {name: version(name) for name in ("torch", "transformers", "peft", "bitsandbytes")},
    }


def _fill(folder: Path, model: Any, report: Mapping[str, Any]) -> None:
    written = write_adapter(model, folder)
    text = json.dumps({**report, "gguf": ADAPTER_FILE if written else None}, indent=1)
    (folder / TRAINING_FILE).write_text(text + "\n", encoding="utf-8")


def _write(folder: Path, fill: Callable[[Path], None]) -> None:
    try:
        write_folder(folder, fill)
    except (OSError, RuntimeError) as error:
        shutil.rmtree(folder.with_name(f"{folder.name}.tmp"), ignore_errors=True)
        raise StorageFailed(
            f"{folder} cannot be written ({error}). Free some space; the same command continues from the last "
            "checkpoint"
        ) from error
