"""What a training would take: rows, tokens, steps, memory and time, without loading weights."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput
from polygraph.finetune.training.base_model import (
    Device,
    ModelSource,
    best_device,
    empty_model,
    find_model,
    load_tokenizer,
    model_shape,
)
from polygraph.finetune.training.libraries import require_finetune
from polygraph.finetune.training.loop import n_steps
from polygraph.finetune.training.lora import add_lora, make_optimizer, trained_parameters
from polygraph.finetune.training.recipes import Recipe
from polygraph.finetune.training.rows import ChatRow, read_rows
from polygraph.finetune.training.tokens import tokenize_rows
from polygraph.models.providers.gguf import GGUF_MODELS
from polygraph.text.tokens import count_tokens

_NF4_BYTES = 0.5 + 1 / 64 * (1 + 4 / 256)
"""Per weight: 4 bits, and for each 64 weights a scale of 8 bits, whose own scale serves 256 (QLoRA, section 3)."""
_SHARE_OF_PEAK = 0.5
"""Share of the speed of one matrix product that a whole model reaches: times are right within a factor of two."""
_LIBRARIES_BYTES = 450_000_000
"""Python with torch and transformers loaded."""
_FROM_MIDDLE = {"down_proj", "fc2"}
"""Modules that read the wide middle of a layer."""
_ALLOCATED = 1.2
"""Memory taken from the system for each byte of activations; measured with rows of 500 and 1,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEstimate:
    """What a training would take on this machine."""

    recipe: str
    model: str
    device: str
    rows: int
    held_out_rows: int
    left_out: int
    tokens: int
    """Tokens of the training rows, prompts and completions."""
    learned_tokens: int
    exact: bool
    """Whether tokens were counted with the tokenizer of the model."""
    steps: int
    optimizer: str
    parameters: int
    trained_parameters: int
    memory_bytes: int
    """Largest, of the device that trains."""
    seconds: float
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what is printed: a name and its value."""
        about = "" if self.exact else "about "
        left_out = f", {self.left_out:,} left out" if self.left_out else ""
        yield "recipe", f"{self.recipe}: {self.model} on {self.device}, {self.optimizer}"
        yield "rows", f"{self.rows:,} to train, {self.held_out_rows:,} held out{left_out}"
        yield "tokens", f"{about}{self.tokens:,}, of which {self.learned_tokens:,} are learned"
        yield "steps", f"{self.steps:,}"
        yield "parameters", f"{self.parameters:,}, of which {self.trained_parameters:,} are trained"
        yield "memory", f"about {self.memory_bytes / 1e9:.1f} GB"
        yield "time", f"about {duration(self.seconds)}, within a factor of two, if nothing else runs"


def estimate_training(data: Path, recipe: Recipe) -> TrainingEstimate:
    """Build model and optimiser without weights, and estimate memory and time on this machine.

    Raises:
        BadInput: for rows or settings that cannot be used, such as targets that the model does not have.
        MissingExtra: if the extra `finetune` is not installed.
    """
    require_finetune()
    rows = read_rows(data)
    device = best_device()
    source, notes = _source(recipe)
    counted = _count(rows.train, source, recipe)
    if not counted.rows:
        raise BadInput(
            f"no row has at most {recipe.max_tokens:,} tokens. Give a larger --max-tokens, or make shorter rows: "
            "polygraph finetune data --max-tokens"
        )
    shape = model_shape(source, recipe)
    plain = empty_model(shape, nf4=False)
    frozen = {name: p.numel() for name, p in plain.named_parameters()}
    model = add_lora(empty_model(shape, nf4=recipe.nf4), recipe, empty=True)
    optimizer = make_optimizer(model, recipe)
    trained = sum(p.numel() for p in trained_parameters(model))
    if device == "cpu" and recipe.nf4:
        notes.append(f"the recipe {recipe.name!r} is made for a GPU, and this machine has none")
    if not counted.exact:
        notes.append("the tokenizer of the model is not on this machine: tokens are counted with another one")
    steps = n_steps(recipe, counted.rows)
    seen = counted.tokens / counted.rows * recipe.rows_per_step * steps
    # Forward 2, backward 2 for activations alone, since frozen weights need no gradient; 2 more if it runs again.
    operations = seen * sum(frozen.values()) * (6 if recipe.gradient_checkpointing else 4)
    return TrainingEstimate(
        recipe=recipe.name,
        model=recipe.model,
        device=device,
        rows=counted.rows,
        held_out_rows=len(rows.held_out),
        left_out=counted.left_out,
        tokens=counted.tokens,
        learned_tokens=counted.learned,
        exact=counted.exact,
        steps=steps,
        optimizer=type(optimizer).__name__,
        parameters=sum(frozen.values()),
        trained_parameters=trained,
        memory_bytes=_memory(recipe, shape, frozen, trained, counted, device),
        seconds=operations / (_speed(shape.hidden_size, device) * _SHARE_OF_PEAK),
        notes=tuple(notes),
    )


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(42), duration(600), duration(7200)
    ('42 s', '10 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


@dataclass(frozen=True, slots=True)
class _Counted:
    rows: int
    left_out: int
    tokens: int
    learned: int
    longest: int
    longest_learned: int
    exact: bool


def _source(recipe: Recipe) -> tuple[ModelSource, list[str]]:
    """Return the source of the model; a named one need not be installed."""
    if recipe.model not in GGUF_MODELS or not recipe.shape:
        return find_model(recipe), []
    try:
        return find_model(recipe), []
    except BadInput as error:
        return ModelSource(name=recipe.model, place=recipe.model), [str(error)]


def _count(rows: tuple[ChatRow, ...], source: ModelSource, recipe: Recipe) -> _Counted:
    try:
        tokenizer = load_tokenizer(source, local=True)
    except BadInput:
        pairs = [
            (sum(count_tokens(t["content"]) for t in row.turns), count_tokens(row.turns[-1]["content"]))
            for row in rows
        ]
        exact = False
    else:
        kept = tokenize_rows(rows, tokenizer, recipe.max_tokens, recipe.learned)
        pairs = [(len(row.ids), row.n_learned) for row in kept.rows]
        exact = True
    fitting = [pair for pair in pairs if pair[0] <= recipe.max_tokens]
    return _Counted(
        rows=len(fitting),
        left_out=len(rows) - len(fitting),
        tokens=sum(tokens for tokens, _ in fitting),
        learned=sum(learned for _, learned in fitting),
        longest=max((tokens for tokens, _ in fitting), default=0),
        longest_learned=max((learned for _, learned in fitting), default=0),
        exact=exact,
    )


def _memory(
    recipe: Recipe, shape: Any, frozen: dict[str, int], trained: int, counted: _Counted, device: Device
) -> int:
    """Return the bytes at the peak of an update of the longest row."""
    per_value = 4 if device == "cpu" else 2
    weights = 0.0
    for name, count in frozen.items():
        quantised = recipe.nf4 and "layers." in name and "norm" not in name and not name.endswith("bias")
        weights += count * (_NF4_BYTES if quantised else per_value)
    # Matrices and gradients in 32 bits, and two moments.
    state = trained * (4 + 4 + (8 if recipe.optimizer == "adamw" else 2))
    tokens, layers, width = counted.longest, shape.num_hidden_layers, shape.hidden_size
    # Kept for the backward pass of one layer: inputs of its linear modules and of its norms, and the wide middle; for
    # each target its input after dropout, with the mask.
    middle = getattr(shape, "intermediate_size", 4 * width)
    inputs = sum(middle if target in _FROM_MIDDLE else width for target in recipe.targets)
    layer = tokens * (10 * width + 4 * middle + 2 * inputs) * per_value * _ALLOCATED
    activations = (
        layer + layers * tokens * width * per_value if recipe.gradient_checkpointing else layers * layer
    )
    logits = counted.longest_learned * shape.vocab_size * 4 * 3
    return int(weights + state + activations + logits + _LIBRARIES_BYTES)


def _speed(width: int, device: Device) -> float:
    """Return operations per second of a matrix product as wide as the model, the best of several.

    On a CPU this is the time of one core times their number, so that other processes do not count.
    """
    import torch

    from polygraph.finetune.training.base_model import working_type

    left = torch.ones(512, width, device=device, dtype=working_type(device))
    right = torch.ones(width, 4 * width, device=device, dtype=working_type(device))
    threads = torch.get_num_threads()
    clock = time.perf_counter
    if device == "cpu":
        torch.set_num_threads(1)
        clock = time.thread_time
    best = float("inf")
    try:
        for _ in range(8):
            began = clock()
            float((left @ right)[0, 0])  # reading a value waits for the device
            best = min(best, clock() - began)
    finally:
        torch.set_num_threads(threads)
    cores = threads if device == "cpu" else 1
    return 2.0 * 512 * width * 4 * width / max(best, 1e-4) * cores
