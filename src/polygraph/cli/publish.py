"""The command that publishes an index to object storage."""

from typing import Annotated

import typer

from polygraph.cli.open_index import local_folder
from polygraph.cli.options import IndexOption, JsonOption
from polygraph.errors import BadInput

app: typer.Typer = typer.Typer()


@app.command()
def publish(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Such as s3://BUCKET/NAME, gs://, az:// or file:///FOLDER.")
    ],
    index: IndexOption = None,
    keep: Annotated[
        int, typer.Option("--keep", metavar="N", min=1, help="Versions that stay readable.")
    ] = 10,
    grace: Annotated[
        float,
        typer.Option(
            "--grace",
            metavar="HOURS",
            min=0.0,
            help="Delete what is no longer needed only after this time; 0: at once, if nobody else publishes there.",
        ),
    ] = 24.0,
    patches: Annotated[
        bool,
        typer.Option(
            help="Also write the differences from the previous version, so that its readers fetch less."
        ),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Publish the finished index to object storage. Readers open it by its URL."""
    from contextlib import suppress
    from dataclasses import asdict

    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.config import load_settings
    from polygraph.config.files import cache_folder
    from polygraph.publishing.cache import VersionCache
    from polygraph.publishing.object_store import url_of
    from polygraph.publishing.publish import publish as publish_index

    settings = load_settings({})
    folder = local_folder(index or settings.index, settings)
    if url_of(folder):
        raise BadInput(f"{url_of(folder)} is published already. Name the folder of an index with --index")
    place = url_of(url)
    if place is None:
        raise BadInput(f"{url!r} is not a URL. Name one as in s3://BUCKET/NAME or file:///FOLDER")
    cache = None
    with suppress(OSError):  # patches only save bytes
        cache = VersionCache(settings.cache or cache_folder(), place, int(settings.cache_gb * 1e9))
    with Bars(quiet=as_json) as bars:
        found = publish_index(
            folder,
            place,
            keep=keep,
            grace_s=3600 * grace,
            cache=cache if patches else None,
            progress=lambda n, of: bars("publishing", n, of),
        )
    if as_json:
        show.as_json(asdict(found))
        return
    what = "published" if found.is_new else "nothing has changed since"
    show.out.print(
        f"{what} version {found.version[:12]} at {found.url}: {found.files} files of {found.bytes / 1e6:,.1f} MB, "
        f"{found.written_bytes / 1e6:,.1f} MB written"
        + (f", of these {found.patch_bytes / 1e6:,.1f} MB of patches" if found.patch_bytes else ""),
        soft_wrap=True,
    )
