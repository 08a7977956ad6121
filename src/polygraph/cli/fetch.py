"""The command that fetches pages from the web into a folder."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from polygraph.cli.options import JsonOption
from polygraph.errors import BadInput, WorkFailed

app: typer.Typer = typer.Typer()
_REASONS_SHOWN = 10


@app.command()
def fetch(
    addresses: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="URL|FILE", help="Addresses, and files with one address per line."),
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder for the pages.")] = Path("pages"),
    sitemap: Annotated[
        Optional[list[str]],
        typer.Option("--sitemap", metavar="URL", help="Sitemap, or a list of addresses; may be repeated."),
    ] = None,
    include: Annotated[
        Optional[list[str]],
        typer.Option("--include", metavar="PATTERN", help="Fetch only pages whose path matches."),
    ] = None,
    exclude: Annotated[
        Optional[list[str]],
        typer.Option("--exclude", metavar="PATTERN", help="Leave out pages whose path matches."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Maximum number of pages per run.")
    ] = 1_000,
    pause: Annotated[
        float, typer.Option("--pause", metavar="SECONDS", min=0.0, help="Between two requests to one site.")
    ] = 1.0,
    max_mb: Annotated[
        float, typer.Option("--max-mb", metavar="MB", min=0.001, help="Maximum size of a page.")
    ] = 20.0,
    prune: Annotated[bool, typer.Option("--prune", help="Delete the files of pages that are gone.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Also fetch from this machine and private networks.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fetch pages and sitemaps into a folder to index. A later run fetches only what has changed."""
    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.fetching import FetchLimits, fetch_pages
    from polygraph.ingest import select
    from polygraph.text.prose import count_noun

    if not addresses and not sitemap:
        raise BadInput("nothing to fetch. Name a page, a file of addresses, or a sitemap with --sitemap URL")
    limits = FetchLimits(max_pages=limit, pause_s=pause, max_page_bytes=int(max_mb * 1e6))
    with Bars(quiet=as_json) as bars:
        found = fetch_pages(
            addresses or [],
            to,
            sitemaps=sitemap or [],
            selection=select(include or (), exclude or ()),
            limits=limits,
            allow_private=allow_private,
            prune=prune,
            progress=lambda done, total: bars("fetching", done, total),
        )
    if as_json:
        show.as_json(found.as_dict())
    else:
        counts = ("new", "changed", "unchanged", "removed")
        told = ", ".join(f"{getattr(found, name):,} {name}" for name in counts if getattr(found, name))
        show.out.print(f"{told or 'no page'}: {to}", soft_wrap=True)
        for url, reason in found.failed[:_REASONS_SHOWN]:
            show.warn(f"not fetched: {url}: {reason}")
        if len(found.failed) > _REASONS_SHOWN:
            more = count_noun(len(found.failed) - _REASONS_SHOWN, "page")
            show.warn(f"and {more} more; --json lists all")
        if found.left_out:
            show.warn(
                f"{count_noun(found.left_out, 'page')} above the limit. Raise it with --limit",
            )
        if found.elsewhere:
            others = count_noun(found.elsewhere, "address")
            show.warn(f"{others} of other sites in sitemaps left out")
    if not found.new + found.changed + found.unchanged + found.removed:
        raise WorkFailed(f"none of {count_noun(len(found.failed), 'page')} could be fetched")
