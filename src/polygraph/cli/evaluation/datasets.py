"""Public data sets: `polygraph eval datasets` and `convert`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polygraph.cli.evaluation.options import METHODS
from polygraph.cli.options import JsonOption
from polygraph.errors import quoted

if TYPE_CHECKING:
    from polygraph.evaluate.datasets.catalogue import ConversionResult

app: typer.Typer = typer.Typer()


@app.command()
def datasets(as_json: JsonOption = False) -> None:
    """List public data sets with files and licence. Nothing is downloaded."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.datasets.catalogue import DATA_SETS

    columns = ("name", "title", "form", "revision", "licence", "citation", "gold", "scope")
    rows = [{c: getattr(d, c) for c in columns} for d in DATA_SETS]
    if as_json:
        show.as_json(rows)
        return
    for row in rows:
        show.out.print(f"{row['name']}: {row['title']} ({row['citation']}; {row['revision']})", style="bold")
        show.out.print(f"  {row['gold']}; {row['licence']}")
        show.out.print(f"  {row['form']}", style="dim")


@app.command()
def convert(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Data set, as listed by `eval datasets`.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Your copy, as published.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for corpus.jsonl and questions.jsonl."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Convert your copy of a public data set. Gives a corpus and a file of questions."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.datasets.catalogue import convert as convert_files
    from polygraph.text.prose import count_noun

    found = convert_files(name, files, output)
    if as_json:
        show.as_json(
            {
                "documents": found.documents,
                "questions": found.questions,
                "null": found.null,
                "per_document": found.per_document,
                "measurable": found.measurable,
                "output": str(found.folder),
            }
        )
        return
    null = f", {found.null:,} of them null" if found.null else ""
    show.out.print(
        f"{count_noun(found.documents, 'document')}, {count_noun(found.questions, 'question')}{null}, written to "
        f"{found.folder}",
    )
    for command in _next_commands(found):
        show.out.print(command, soft_wrap=True)


def _next_commands(found: "ConversionResult") -> list[str]:
    """Return the commands to index the corpus and measure methods: retrieval, or answers if it has no gold."""
    if not found.documents:
        return []
    corpus, asked, index, study = (
        quoted(found.folder / name) for name in ("corpus.jsonl", "questions.jsonl", "index", "study")
    )
    per_document = f" --per-document {corpus}" if found.per_document else ""
    commands = [] if found.per_document else [f"polygraph index {corpus} --for {METHODS} --index {index}"]
    if found.measurable:
        return [
            *commands,
            f"polygraph eval retrieval --questions {asked} -m {METHODS}{per_document} --index {index}",
        ]
    return [
        *commands,
        f"polygraph eval questions --questions {asked} --output {study}",
        f"polygraph eval answers -m {METHODS}{per_document} --index {index} --output {study}",
        f"polygraph eval report --index {index} --output {study}",
    ]
