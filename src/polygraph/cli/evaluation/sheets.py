"""Human raters: `polygraph eval sheet` and `ratings`."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from polygraph.cli.evaluation.open_study import open_existing, show_result
from polygraph.cli.evaluation.options import (
    MethodsOption,
    OutputOption,
    SeedOption,
    ToleranceOption,
    split_instances,
)
from polygraph.cli.options import (
    CostOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    SpendOption,
    caps,
)
from polygraph.errors import BadInput

app: typer.Typer = typer.Typer()

SheetOption = Annotated[
    Path, typer.Option("--sheet", metavar="FILE.csv", help="The sheet, for any spreadsheet.")
]


@app.command()
def sheet(
    output: OutputOption,
    file: SheetOption,
    index: IndexOption = None,
    methods: MethodsOption = "",
    limit: Annotated[
        Optional[int],
        typer.Option("-n", metavar="N", help="Maximum number of rows, sampled at random; default: all."),
    ] = None,
    seed: SeedOption = 0,
    align: Annotated[
        bool,
        typer.Option("--align/--no-align", help="Align the lengths of answers first, by the chat model."),
    ] = True,
    tolerance: ToleranceOption = 10,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a blinded sheet of answer pairs for human raters. It does not name the methods."""
    if limit is not None and limit < 1:
        raise BadInput(f"-n {limit} asks for no rows. Give at least 1")
    flags = caps(max_cost, max_spend_tokens, None, offline)
    with open_existing(index, output, as_json, **flags) as (_, study):
        rows = study.sheet(
            file, methods=split_instances(methods), align=align, tolerance=tolerance, seed=seed, limit=limit
        )
    show_result(as_json, {"rows": rows, "sheet": str(file), "fill_in": "the column better, with 1, 2 or tie"})


@app.command()
def ratings(
    output: OutputOption,
    file: SheetOption,
    rater: Annotated[str, typer.Option("--judge", metavar="NAME", help="Name of the rater.")],
    as_json: JsonOption = False,
) -> None:
    """Read the ratings of a sheet as judgements of a person. Report them with `eval report --protocol people`."""
    from polygraph.evaluate.runs.human_sheets import read_ratings
    from polygraph.evaluate.runs.study_folder import open_study
    from polygraph.evaluate.runs.study_steps import add_ratings

    study = open_study(output)
    found = read_ratings(study, file, rater)
    add_ratings(study, found.judgements)
    counts = {"marks" if as_json else "ratings": len(found.judgements), "blank": found.blank}
    show_result(as_json, {**counts, "judge": rater.strip(), "study": str(output)})
