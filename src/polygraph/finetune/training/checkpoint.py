"""Checkpoints: everything from which training continues as if it had not stopped."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, StorageFailed
from polygraph.records import Json
from polygraph.store.atomic_files import damage, write_folder

_KEPT = 2
"""Newest checkpoints that are kept, in case the last one is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured on held-out rows; shares are of rows, each token given all that precede it in the row."""

    step: int
    loss: float
    """Mean cross-entropy per token of the completions, in nats."""
    form: float | None
    """Share of rows whose marks of quotes and answer are the most likely tokens; None if the form has no marks."""
    answer: float
    """Share of rows whose answer is the most likely one."""


@dataclass(slots=True, kw_only=True)
class Position:
    """How far training has come."""

    step: int = 0
    """Updates so far."""
    losses: list[float] = field(default_factory=list)
    """Mean loss of each step, per token of the completions."""
    held_out: list[Measurement] = field(default_factory=list)
    """Measurements in the order of their steps."""
    best_step: int = 0
    """Step with the lowest held-out loss, whose matrices are the result."""
    tokens: int = 0
    """Tokens that passed through the model in training."""
    skipped: int = 0
    """Updates that were skipped since a gradient was not finite."""
    seconds: float = 0.0
    """Time of the updates, in all runs."""
    measuring_seconds: float = 0.0
    """Time of the measurements of the held-out loss, in all runs."""

    @property
    def best_loss(self) -> float | None:
        """The lowest held-out loss, if one was measured."""
        return min((found.loss for found in self.held_out), default=None)

    @property
    def since_best(self) -> int:
        """Measurements since the lowest one."""
        return sum(1 for found in self.held_out if found.step > self.best_step)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a training.

    Args:
        folder: that holds them.
        made_with: what training depends on: recipe, data and model.
    """

    folder: Path
    made_with: Mapping[str, Json]

    def save(self, position: Position, tensors: Mapping[str, Mapping[str, Any]]) -> None:
        """Write a checkpoint and remove old ones.

        Args:
            position: of the training.
            tensors: states by name of the file.

        Raises:
            StorageFailed: if it cannot be written; earlier ones are kept.
        """
        import torch

        def fill(folder: Path) -> None:
            for name, state in tensors.items():
                torch.save(dict(state), folder / f"{name}.pt")
            text = json.dumps({"made_with": dict(self.made_with), "position": asdict(position)}, indent=1)
            (folder / "position.json").write_text(text, encoding="utf-8")

        target = self.folder / f"step-{position.step:07d}"
        try:
            write_folder(target, fill, sealed=True)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as a `RuntimeError`
            shutil.rmtree(target.with_name(f"{target.name}.tmp"), ignore_errors=True)
            raise StorageFailed(
                f"no checkpoint can be written to {self.folder} ({error}). Free some space; "
                "the same command continues from the checkpoint before"
            ) from error
        for old in self._all()[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def load(self) -> tuple[Position, dict[str, dict[str, Any]]] | None:
        """Return the newest intact checkpoint, or None.

        Raises:
            BadInput: if it was made with other settings, rows or weights.
        """
        import torch

        for folder in reversed(self._all()):
            if damage(folder, thorough=True):
                continue
            stored = json.loads((folder / "position.json").read_text(encoding="utf-8"))
            self._check(stored["made_with"])
            values = stored["position"]
            values["held_out"] = [Measurement(**found) for found in values["held_out"]]
            # `weights_only`: a file from elsewhere must not run code.
            tensors = {
                path.stem: torch.load(path, map_location="cpu", weights_only=True)
                for path in sorted(folder.glob("*.pt"))
            }
            return Position(**values), tensors
        return None

    def remove(self) -> None:
        """Remove all checkpoints."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check(self, made_with: Mapping[str, Json]) -> None:
        mine = json.loads(json.dumps(dict(self.made_with)))
        differing = sorted(key for key in {*mine, *made_with} if mine.get(key) != made_with.get(key))
        if differing:
            raise BadInput(
                f"the checkpoints in {self.folder} were made with another {', '.join(differing)}. "
                "Repeat the command with which they began, delete them, or choose another --output"
            )

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("step-*") if path.suffix != ".tmp")
