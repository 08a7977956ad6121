"""The commands of `polygraph eval`: retrieval, studies with judges, human raters, data sets."""

import typer

from polygraph.cli.evaluation import datasets, retrieval, sheets, study

app: typer.Typer = typer.Typer(
    name="eval",
    help="Measure methods on questions, with intervals and cost.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for part in (retrieval, study, sheets, datasets):
    app.add_typer(part.app)
