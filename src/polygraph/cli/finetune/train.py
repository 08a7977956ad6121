"""The command `polygraph finetune train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from polygraph.cli.options import JsonOption, split_names
from polygraph.errors import quoted

if TYPE_CHECKING:
    from polygraph.finetune.training.checkpoint import Measurement
    from polygraph.finetune.training.estimate import TrainingEstimate
    from polygraph.finetune.training.loop import Progress
    from polygraph.finetune.training.train import Trained

app: typer.Typer = typer.Typer()


@app.command()
def train(
    data: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of rows, as `polygraph finetune data` writes it.")
    ],
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder of the adapter; required unless --dry-run."
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="paper, qwen, llama, smollm or cpu.")
    ] = "cpu",
    model: Annotated[
        Optional[str],
        typer.Option(
            "--model",
            metavar="NAME|PATH",
            help="Another model than the recipe's: a name, a folder or a GGUF file.",
        ),
    ] = None,
    epochs: Annotated[
        Optional[float], typer.Option("--epochs", metavar="N", help="Passes over the rows.")
    ] = None,
    steps: Annotated[
        Optional[int], typer.Option("--steps", metavar="N", help="Updates, instead of --epochs.")
    ] = None,
    rate: Annotated[
        Optional[float], typer.Option("--rate", metavar="R", help="Maximum learning rate.")
    ] = None,
    rank: Annotated[Optional[int], typer.Option("--rank", metavar="R", help="Rank of the matrices.")] = None,
    targets: Annotated[
        Optional[str],
        typer.Option(
            "--targets", metavar="MODULE,...", help="Linear modules that are trained, such as q_proj."
        ),
    ] = None,
    learned: Annotated[
        Optional[Literal["reply", "answer"]],
        typer.Option(
            "--learned", help="What the loss is computed on: the reply, or the answer without its quotes."
        ),
    ] = None,
    order: Annotated[
        Optional[Literal["random", "length"]],
        typer.Option("--order", help="Order of the rows in the first pass: random, or shortest first."),
    ] = None,
    max_tokens: Annotated[
        Optional[int], typer.Option("--max-tokens", metavar="N", help="Longer rows are left out.")
    ] = None,
    evaluate_every: Annotated[
        Optional[int],
        typer.Option(
            "--evaluate-every", metavar="N", help="Steps between measurements of the held-out loss."
        ),
    ] = None,
    patience: Annotated[
        Optional[int],
        typer.Option(
            "--patience",
            metavar="N",
            help="Measurements without a lower loss after which training ends; 0: never.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        Optional[int], typer.Option("--checkpoint-every", metavar="N", help="Steps between checkpoints.")
    ] = None,
    seed: Annotated[
        Optional[int], typer.Option("--seed", metavar="N", help="Seed of row order, matrices and dropout.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Also write merged weights, for vLLM and Ollama.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print rows, tokens, steps, memory and time.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a small reader on rows. Gives a LoRA adapter for llama.cpp, PEFT, vLLM and Ollama."""
    from polygraph.errors import BadInput
    from polygraph.finetune.training.estimate import estimate_training
    from polygraph.finetune.training.recipes import recipe_with
    from polygraph.finetune.training.train import train as run

    chosen = recipe_with(
        recipe,
        model=model,
        epochs=epochs,
        steps=steps,
        learning_rate=rate,
        rank=rank,
        targets=tuple(split_names(targets)) if targets is not None else None,
        learned=learned,
        order=order,
        max_tokens=max_tokens,
        evaluate_every=evaluate_every,
        patience=patience,
        checkpoint_every=checkpoint_every,
        seed=seed,
    )
    if dry_run:
        _show_estimate(estimate_training(data, chosen), as_json)
        return
    if output is None:
        raise BadInput("--output is missing. Give the folder of the adapter, such as --output reader")
    found = run(
        data,
        output,
        chosen,
        merge=merge,
        on_progress=_nothing if as_json else _show_progress,
        on_note=_nothing if as_json else _show_note,
    )
    _show_trained(found, as_json)


def _nothing(_: object) -> None:
    """Report nothing."""


def _show_progress(progress: "Progress") -> None:
    from polygraph.cli.render.answer import err
    from polygraph.finetune.training.estimate import duration

    parts = [f"step {progress.step:,} of {progress.steps:,}"]
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.3f}")
    if progress.held_out is not None:
        parts += _measured(progress.held_out)
    if progress.seconds_left is not None:
        parts.append(f"about {duration(progress.seconds_left)} left")
    err.print("; ".join(parts))


def _measured(found: "Measurement") -> list[str]:
    form = [] if found.form is None else [f"form {found.form:.0%}"]
    return [f"held-out loss {found.loss:.3f}", *form, f"answer {found.answer:.0%}"]


def _show_note(note: str) -> None:
    from polygraph.cli.render.answer import warn

    warn(f"note: {note}")


def _show_estimate(found: "TrainingEstimate", as_json: bool) -> None:
    from polygraph.cli.render import answer as show

    if as_json:
        show.as_json(found.as_json())
        return
    for name, value in found.lines():
        show.out.print(f"{name:<18} {value}", soft_wrap=True)
    for note in found.notes:
        _show_note(note)


def _show_trained(found: "Trained", as_json: bool) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.finetune.training.estimate import duration

    report: dict[str, Any] = dict(found.report)
    if as_json:
        show.as_json({"output": str(found.folder), **report})
        return
    if found.earlier:
        show.out.print("trained already; nothing was trained")
    losses = report["held_out_losses"]
    best = next((each["loss"] for each in losses if each["step"] == report["best_step"]), None)
    if best is not None:
        show.out.print(
            f"held-out loss {losses[0]['loss']:.3f} before training, {best:.3f} after step {report['best_step']:,}",
        )
    show.out.print(
        f"{report['steps']:,} steps, {report['tokens']:,} tokens, {duration(report['seconds'])}",
    )
    show.out.print(f"written to {found.folder}", soft_wrap=True)
    if found.gguf is not None:
        show.out.print(
            f"use it with a gguf: model: polygraph ask --adapter {quoted(found.folder)} ...",
            soft_wrap=True,
        )
