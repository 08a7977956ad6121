"""The command `polygraph finetune data`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from polygraph.cli.open_index import open_index
from polygraph.cli.options import (
    BatchOption,
    CostOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    SpendOption,
    WhereOption,
    caps,
    metadata_of,
)
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.finetune.data.build import QuestionSource
    from polygraph.models import Models
    from polygraph.records import Json

app: typer.Typer = typer.Typer()


@app.command()
def data(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder of the rows; earlier rows in it are replaced."
        ),
    ],
    index: IndexOption = None,
    questions: Annotated[
        str,
        typer.Option(
            "--questions",
            metavar="rules|model|FILE.jsonl",
            help="Where questions come from: rules, the chat model, or your own file with gold.",
        ),
    ] = "rules",
    n: Annotated[
        int, typer.Option("-n", metavar="N", help="Maximum number of questions by rules or model.")
    ] = 1_000,
    preset: Annotated[
        Literal["raft", "graft"], typer.Option("--preset", help="Composition of rows as in a paper.")
    ] = "raft",
    oracle_share: Annotated[
        Optional[float],
        typer.Option(
            "--oracle-share",
            metavar="P",
            help="Share of rows with the passages that answer (raft: 0.8, graft: 1).",
        ),
    ] = None,
    distractors: Annotated[
        Optional[str],
        typer.Option(
            "--distractors",
            metavar="N|N-M",
            help="Passages without the answer in each row (raft: 4, graft: 3-4); each row draws from a range.",
        ),
    ] = None,
    max_tokens: Annotated[
        Optional[int],
        typer.Option(
            "--max-tokens", metavar="N", help="Maximum tokens per row (raft: no limit, graft: 2,048)."
        ),
    ] = None,
    without_oracle: Annotated[
        Literal["refuse", "answer"],
        typer.Option("--without-oracle", help="What a row without the answer teaches."),
    ] = "refuse",
    reasoning: Annotated[
        Literal["quotes", "model"],
        typer.Option(
            "--reasoning", help="What precedes the answer: the quotes alone, or reasoning by the chat model."
        ),
    ] = "quotes",
    copies: Annotated[
        int,
        typer.Option(
            "--copies", metavar="N", help="Training rows per question, each with other distractors."
        ),
    ] = 1,
    held_out: Annotated[
        float,
        typer.Option("--held-out", metavar="SHARE", help="Share of the questions to hold out by document."),
    ] = 0.2,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of every choice.")] = 0,
    where: WhereOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make training rows for a small reader from an index. Rows hold questions, passages, and answers with quotes."""
    from polygraph.cli.progress import Bars
    from polygraph.finetune.data.build import DataOptions, make_rows
    from polygraph.finetune.data.export import check_output, write_rows
    from polygraph.finetune.data.presets import preset_with

    composition = preset_with(
        preset,
        oracle_share=oracle_share,
        distractors=_range(distractors) if distractors is not None else None,
        max_tokens=max_tokens,
        without_oracle=without_oracle,
    )
    options = DataOptions(
        preset=composition,
        questions=_source(questions),
        n=n,
        reasoning=reasoning,
        copies=copies,
        held_out=held_out,
        seed=seed,
    )
    check_output(output)
    with open_index(index, **caps(max_cost, max_spend_tokens, batch, offline)) as opened:
        _check_models(opened.models, options.questions, reasoning)
        with Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars:
            snapshot = opened.snapshot(metadata_of(where))
            rows = make_rows(snapshot, opened.models, options, bars)
            settings: dict[str, Json] = {"preset": preset, **options.as_json(), "where": {**snapshot.scope}}
            manifest = write_rows(output, rows, settings, snapshot)
    _show(manifest, output, as_json)


def _source(text: str) -> "QuestionSource":
    named: dict[str, QuestionSource] = {"rules": "rules", "model": "model"}
    return named.get(text, Path(text))


def _range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise BadInput(
            f"--distractors {text!r} is no number of passages. Give one, such as 4, or a range: 1-4"
        ) from None


def _check_models(models: "Models", source: "QuestionSource", reasoning: str) -> None:
    """Check that there is a chat model where one is needed, before any work."""
    from polygraph.evaluate.questions.generate import require_generator

    if source == "model" or reasoning == "model":
        require_generator(models)


def _show(manifest: dict[str, Any], output: Path, as_json: bool) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.text.prose import count_noun

    counts = manifest["counts"]
    train, held_out = counts["train"], counts["held_out"]
    if as_json:
        show.as_json({"output": str(output), "counts": counts, "notes": manifest["notes"]})
        return
    for note in manifest["notes"]:
        show.warn(f"note: {note}")
    for name, part in (("train", train), ("held out", held_out)):
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in part["kinds"].items())
        refusals = count_noun(part["refusals"], "refusal")
        show.out.print(
            f"{name}: {count_noun(part['rows'], 'row')} ({kinds or 'none'}), {refusals}",
            soft_wrap=True,
        )
    if dropped := sum(counts["dropped"].values()):
        show.out.print(f"{count_noun(dropped, 'question')} dropped; reasons in the report")
    show.out.print(f"written to {output}", soft_wrap=True)
