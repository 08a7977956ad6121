"""The command that copies an index to another place."""

from pathlib import Path
from typing import Annotated

import typer

from polygraph.cli.options import JsonOption

app: typer.Typer = typer.Typer()


@app.command()
def copy(
    source: Annotated[
        str,
        typer.Argument(metavar="FROM", help="Folder of an index, or its URL: postgresql://... or s3://..."),
    ],
    target: Annotated[
        str,
        typer.Argument(metavar="TO", help="New or empty folder, or postgresql://.../DATABASE?schema=NAME."),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the index that is at TO.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy an index to another folder or database. Stored replies and the ledger are copied too."""
    from dataclasses import asdict

    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.config import load_settings
    from polygraph.indexing.copying import copy_index
    from polygraph.text.prose import count_noun
    from polygraph.workspace.places import database_folder, folder_to_fill, open_published

    settings = load_settings({})
    folder = folder_to_fill(target, settings)
    with Bars(quiet=as_json) as bars:
        database = database_folder(source, settings)
        published = (
            None if database else open_published(source, settings, lambda n, of: bars("fetching", n, of))
        )
        place = database or (published.version().folder if published else Path(source))
        try:
            url = published.url if published else None
            found = copy_index(
                place,
                folder,
                published_at=url,
                replace=replace,
                pgvector_rows=settings.pgvector_rows,
                progress=bars,
            )
        finally:
            if published is not None:
                published.close()
    if as_json:
        show.as_json(asdict(found))
        return
    lines = [
        f"copied {count_noun(found.documents, 'document')} ({count_noun(found.rows, 'row')}, files of "
        f"{count_noun(len(found.layers), 'layer')}) from {found.source} to {found.target}"
    ]
    if found.left:
        lines.append(f"note: not copied, since they are not part of the index: {', '.join(found.left)}")
    lines += [f"note: {note}" for note in found.notes]
    for line in lines:
        show.out.print(line, soft_wrap=True)
