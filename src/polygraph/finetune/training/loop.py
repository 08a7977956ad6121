"""The training loop."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygraph.errors import BadInput, WorkFailed
from polygraph.finetune.training.base_model import Device
from polygraph.finetune.training.checkpoint import Checkpoints, Measurement, Position
from polygraph.finetune.training.lora import make_optimizer, rate_at, trained_parameters
from polygraph.finetune.training.recipes import Recipe
from polygraph.finetune.training.tokens import TokenRow

_HALF_SCALE = 1024.0
"""Factor of the loss with 16-bit floats, in which small gradients would round to zero."""
_MOST_SKIPPED = 20
"""Skipped updates after which training is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is reported after each step."""

    step: int
    steps: int
    loss: float | None
    """Loss of this step; None before the first."""
    held_out: Measurement | None
    """On held-out rows, if it was measured now."""
    seconds_left: float | None
    """If it does not end early; None before the first step."""


def n_steps(recipe: Recipe, n_rows: int) -> int:
    """Return the number of updates.

    >>> from polygraph.finetune.training.recipes import Recipe
    >>> recipe = Recipe(name="r", model="m", rows_per_step=8)
    >>> n_steps(recipe, 20)
    3
    """
    return recipe.steps or max(1, math.ceil(recipe.epochs * n_rows / recipe.rows_per_step))


def rows_of_step(recipe: Recipe, lengths: Sequence[int], step: int) -> list[int]:
    """Return the numbers of the rows of a step, from 0; each pass has an order of its own, from the seed.

    With `Recipe.order` ``length`` the first pass takes the shortest rows first; ties by number.

    Args:
        recipe: with the seed and the order.
        lengths: tokens of each row.
        step: from 0.

    >>> from polygraph.finetune.training.recipes import Recipe
    >>> recipe = Recipe(name="r", model="m", rows_per_step=2, order="length")
    >>> rows_of_step(recipe, [30, 10, 20], 0)
    [1, 2]
    """
    numbers: list[int] = []
    n_rows = len(lengths)
    first = step * recipe.rows_per_step
    for place in range(first, first + recipe.rows_per_step):
        epoch, within = divmod(place, n_rows)
        if recipe.order == "length" and epoch == 0:
            numbers.append(int(np.argsort(lengths, kind="stable")[within]))
        else:
            numbers.append(int(np.random.default_rng((recipe.seed, epoch)).permutation(n_rows)[within]))
    return numbers


class Trainer:
    """Training of one model; `run` trains to the end, from the newest checkpoint if there is one.

    Args:
        model: with LoRA matrices.
        recipe: settings.
        train: rows that are learned.
        held_out: rows on which the loss is measured; may be empty.
        checkpoints: of this training.
        device: of the model.
    """

    def __init__(
        self,
        model: Any,
        recipe: Recipe,
        train: Sequence[TokenRow],
        held_out: Sequence[TokenRow],
        checkpoints: Checkpoints,
        device: Device,
    ) -> None:
        import torch

        self.position = Position()
        self._model, self._recipe, self._device = model, recipe, device
        self._train, self._held_out = train, held_out[: recipe.held_out_rows]
        self._lengths = [len(row.ids) for row in train]
        self._checkpoints = checkpoints
        self._optimizer = make_optimizer(model, recipe)
        self._best = _copy(lora_state(model))
        self._steps = n_steps(recipe, len(train))
        self._scale = _HALF_SCALE if model.dtype == torch.float16 else 1.0

    def run(self, on_progress: Callable[[Progress], None] = lambda _: None) -> Position:
        """Train to the end; afterwards the model has the matrices with the lowest held-out loss.

        Without held-out rows it has the last ones.

        Raises:
            BadInput: if a checkpoint was made with other settings, or the memory does not suffice.
            StorageFailed: if a checkpoint cannot be written.
            WorkFailed: if the loss is not a finite number.
        """
        import torch

        torch.manual_seed(self._recipe.seed)
        self._resume()
        position = self.position
        try:
            if position.step == 0:
                self._measure(on_progress, None)
            while position.step < self._steps and not self._stops_early():
                began = time.monotonic()
                loss = self._update(position.step)
                position.step += 1
                position.losses.append(loss)
                position.seconds += time.monotonic() - began
                due = position.step % self._recipe.evaluate_every == 0 or position.step == self._steps
                if due and self._held_out:
                    self._measure(on_progress, loss)
                else:
                    self._report(on_progress, loss, None)
                if position.step % self._recipe.checkpoint_every == 0 or position.step == self._steps:
                    self._save()
        except (MemoryError, RuntimeError) as error:
            if _is_memory(error):
                raise BadInput(
                    "there is not enough memory for this training. Make shorter rows, give a smaller --max-tokens "
                    "or a smaller --model, or choose a recipe with 4-bit weights; checkpoints are kept"
                ) from error
            raise
        if self._held_out:
            load_lora_state(self._model, self._best)
        return position

    def _stops_early(self) -> bool:
        return 0 < self._recipe.patience <= self.position.since_best

    def _update(self, step: int) -> float:
        """Do one update, and return the mean loss of the learned tokens before it."""
        import torch

        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(self._recipe, step, self._steps)
        rows = [self._train[n] for n in rows_of_step(self._recipe, self._lengths, step)]
        # Divided by all tokens of the step, so that each token counts the same in long and short rows.
        learned = sum(row.n_learned for row in rows)
        total = 0.0
        self._model.train()
        for row in rows:
            loss = completion_loss(self._model, row, self._device) / learned
            (loss * self._scale).backward()
            total += float(loss.detach())
            self.position.tokens += len(row.ids)
        if not math.isfinite(total):
            raise WorkFailed(
                f"the loss of step {step + 1} is not a finite number. Repeat with a lower --rate than "
                f"{self._recipe.learning_rate:g} and another --output"
            )
        parameters = trained_parameters(self._model)
        if self._scale != 1.0:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad /= self._scale
        norm = torch.nn.utils.clip_grad_norm_(parameters, self._recipe.max_grad_norm)
        if torch.isfinite(norm):
            self._optimizer.step()
        else:
            self.position.skipped += 1
            if self.position.skipped > _MOST_SKIPPED:
                raise WorkFailed(
                    f"the gradients of {self.position.skipped} steps were not finite numbers. Repeat with a lower "
                    f"--rate than {self._recipe.learning_rate:g} and another --output"
                )
        self._optimizer.zero_grad(set_to_none=True)
        return total

    def _measure(self, on_progress: Callable[[Progress], None], loss: float | None) -> None:
        position = self.position
        if not self._held_out:
            return
        began = time.monotonic()
        found = measure(self._model, self._held_out, self._device, position.step)
        position.measuring_seconds += time.monotonic() - began
        best = position.best_loss
        position.held_out.append(found)
        if best is None or found.loss < best:
            position.best_step = position.step
            self._best = _copy(lora_state(self._model))
        self._report(on_progress, loss, found)

    def _report(
        self, on_progress: Callable[[Progress], None], loss: float | None, held_out: Measurement | None
    ) -> None:
        on_progress(
            Progress(
                step=self.position.step,
                steps=self._steps,
                loss=loss,
                held_out=held_out,
                seconds_left=self._seconds_left(),
            )
        )

    def _seconds_left(self) -> float | None:
        position = self.position
        if not position.step:
            return None
        left = position.seconds / position.step * (self._steps - position.step)
        if position.held_out:
            every = self._recipe.evaluate_every
            measurements = math.ceil(self._steps / every) - math.ceil(position.step / every)
            left += position.measuring_seconds / len(position.held_out) * measurements
        return left

    def _save(self) -> None:
        import torch

        states: dict[str, dict[str, Any]] = {
            "model": lora_state(self._model),
            "best": self._best,
            "optimizer": self._optimizer.state_dict(),
            "random": {"cpu": torch.get_rng_state()},
        }
        if self._device == "cuda":
            states["random"]["cuda"] = torch.cuda.get_rng_state()
        self._checkpoints.save(self.position, states)

    def _resume(self) -> None:
        import torch

        found = self._checkpoints.load()
        if found is None:
            return
        self.position, states = found
        load_lora_state(self._model, states["model"])
        self._best = states["best"]
        self._optimizer.load_state_dict(states["optimizer"])
        torch.set_rng_state(states["random"]["cpu"])
        if "cuda" in states["random"] and self._device == "cuda":
            torch.cuda.set_rng_state(states["random"]["cuda"])


def completion_loss(model: Any, row: TokenRow, device: Device) -> Any:
    """Return the summed cross-entropy of the completion's tokens, in nats."""
    import torch

    return torch.nn.functional.cross_entropy(*_learned(model, row, device), reduction="sum")


def _learned(model: Any, row: TokenRow, device: Device) -> tuple[Any, Any]:
    """Return the logits of the learned tokens, shape ``(n_learned, vocabulary)``, and their ids.

    Logits are computed only where a learned token follows: with a large vocabulary they are most of the memory.
    """
    import torch

    ids = torch.tensor([row.ids], device=device)
    places = torch.arange(row.start - 1, len(row.ids) - 1, device=device)
    logits = model(input_ids=ids, logits_to_keep=places, use_cache=False).logits[0]
    return logits.float(), ids[0, row.start :]


def measure(model: Any, rows: Sequence[TokenRow], device: Device, step: int) -> Measurement:
    """Measure loss, form and answers on held-out rows, in one pass over them."""
    import bitsandbytes
    import torch

    model.eval()
    for module in model.modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            # Without training it would repack its weights for the CPU, with rounding that stays afterwards.
            module.train()
    total, n_form, n_answer = 0.0, 0, 0
    with torch.no_grad():
        for row in rows:
            logits, ids = _learned(model, row, device)
            total += float(torch.nn.functional.cross_entropy(logits, ids, reduction="sum"))
            likely = (logits.argmax(-1) == ids).tolist()
            n_form += all(likely[i - row.start] for i in row.marks)
            n_answer += all(likely[row.answer - row.start :])
    return Measurement(
        step=step,
        loss=total / sum(row.n_learned for row in rows),
        form=n_form / len(rows) if any(row.marks for row in rows) else None,
        answer=n_answer / len(rows),
    )


def lora_state(model: Any) -> dict[str, Any]:
    """Return the trained matrices by name."""
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def load_lora_state(model: Any, state: dict[str, Any]) -> None:
    """Copy matrices into the model."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(state[name])


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.clone().cpu() for name, tensor in state.items()}


def _is_memory(error: BaseException) -> bool:
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return any(
        words in str(error) for words in ("not enough memory", "can't allocate memory", "out of memory")
    )
