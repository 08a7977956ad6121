"""The command that draws the graph of an index."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from polygraph.cli.open_index import local_folder
from polygraph.cli.options import IndexOption
from polygraph.errors import BadInput, StorageFailed

app: typer.Typer = typer.Typer()


@app.command()
def graph(
    index: IndexOption = None,
    png: Annotated[Optional[Path], typer.Option("--png", metavar="FILE", help="Draw a PNG picture.")] = None,
    svg: Annotated[Optional[Path], typer.Option("--svg", metavar="FILE", help="Draw an SVG picture.")] = None,
    html: Annotated[
        Optional[Path],
        typer.Option("--html", metavar="FILE", help="Write a page: drag to move, wheel to zoom."),
    ] = None,
    level: Annotated[
        Optional[int],
        typer.Option(
            "--level", metavar="N", min=0, help="Level of the communities that determine the colours."
        ),
    ] = None,
    max_entities: Annotated[
        int,
        typer.Option(
            "--max-entities", metavar="N", min=1, help="Draw at most this many, the best connected."
        ),
    ] = 20_000,
    title: Annotated[
        Optional[str], typer.Option("--title", metavar="TEXT", help="Title of the picture.")
    ] = None,
) -> None:
    """Draw the graph. Entities are dots, communities are colours, and a legend has their titles."""
    from contextlib import closing

    from polygraph.config import load_settings
    from polygraph.publishing.object_store import url_of
    from polygraph.store.snapshot import Snapshot
    from polygraph.workspace import graph_picture
    from polygraph.workspace.graph_map import GraphMap
    from polygraph.workspace.places import open_published

    if not (png or svg or html):
        raise BadInput("name the picture, as in: polygraph graph --svg graph.svg")
    settings = load_settings({})
    given = index or settings.index
    place = local_folder(given, settings)
    published = open_published(place, settings)
    folder = published.version().folder if published else place
    with closing(Snapshot(folder, keeps=published, place=url_of(place))) as snapshot:
        name = title or given.resolve().name.removesuffix(".index")
        drawn = graph_picture.make_picture(GraphMap(snapshot), name, level=level, max_entities=max_entities)
    try:
        if svg:
            svg.write_text(graph_picture.svg(drawn), encoding="utf-8")
        if html:
            html.write_text(graph_picture.page(drawn), encoding="utf-8")
        if png:
            graph_picture.write_png(drawn, png)
    except OSError as error:
        raise StorageFailed(
            f"{error.filename} cannot be written: {error.strerror}. Name another file"
        ) from error
    for file in (svg, html, png):
        if file:
            print(f"wrote {file}: {drawn.facts}")
