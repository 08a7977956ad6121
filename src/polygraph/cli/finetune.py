"""The group `polygraph finetune`: training rows for a reader, and its training."""

import typer

app: typer.Typer = typer.Typer(
    name="finetune",
    help="Tune a small reader on passages of the index.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
