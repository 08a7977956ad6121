"""The commands of `polygraph finetune`: training rows for a reader, its training, and its comparison."""

import typer

from polygraph.cli.finetune import compare, data, train

app: typer.Typer = typer.Typer(
    name="finetune",
    help="Tune a small reader on passages of the index.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for part in (data, train, compare):
    app.add_typer(part.app)
