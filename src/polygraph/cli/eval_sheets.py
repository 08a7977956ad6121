"""Judging by people: `polygraph eval sheet` and `marks`."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from polygraph.cli.eval_study import (
    MethodsOption,
    OutputOption,
    SeedOption,
    ToleranceOption,
    study_there,
    tell,
)
from polygraph.cli.options import (
    CostOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    SpendOption,
    caps,
    split_names,
)
from polygraph.errors import BadInput

app: typer.Typer = typer.Typer()

SheetOption = Annotated[Path, typer.Option("--sheet", metavar="FILE.csv", help="The sheet.")]


@app.command()
def sheet(
    output: OutputOption,
    file: SheetOption,
    index: IndexOption = None,
    methods: MethodsOption = "",
    limit: Annotated[
        Optional[int],
        typer.Option("-n", metavar="N", help="Rows at most, drawn with the seed; default: all."),
    ] = None,
    seed: SeedOption = 0,
    align: Annotated[
        bool,
        typer.Option("--align/--no-align", help="Bring answers to equal length first, by the chat model."),
    ] = True,
    tolerance: ToleranceOption = 10,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a sheet on which people judge the answers of a study, two by two and without the names of the methods."""
    if limit is not None and limit < 1:
        raise BadInput(f"-n {limit} asks for no row. Give at least 1")
    flags = caps(max_cost, max_spend_tokens, None, offline)
    with study_there(index, output, as_json, **flags) as (_, study):
        rows = study.sheet(
            file, methods=split_names(methods), align=align, tolerance=tolerance, seed=seed, limit=limit
        )
    tell(as_json, {"rows": rows, "sheet": str(file), "fill_in": "the column better, with 1, 2 or tie"})


@app.command()
def marks(
    output: OutputOption,
    file: SheetOption,
    judge: Annotated[str, typer.Option("--judge", metavar="NAME", help="Who filled the sheet in.")],
    as_json: JsonOption = False,
) -> None:
    """Read the marks of a sheet as judgements of a person; see them with `eval report --protocol people`."""
    from polygraph.evaluate.runs.human_sheets import read_marks
    from polygraph.evaluate.runs.study_folder import existing
    from polygraph.evaluate.runs.study_steps import add_marks

    study = existing(output)
    found = read_marks(study, file, judge)
    add_marks(study, found.judgements)
    tell(
        as_json,
        {"marks": len(found.judgements), "blank": found.blank, "judge": judge.strip(), "study": str(output)},
    )
