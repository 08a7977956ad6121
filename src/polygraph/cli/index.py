"""The commands that change an index, and the estimate of their cost."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polygraph.cli.open_index import open_for_import, open_index, open_to_estimate
from polygraph.cli.options import (
    BatchOption,
    CostOption,
    ExcludeOption,
    ExtractorOption,
    IncludeOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    PathsArgument,
    ProfileOption,
    SpendOption,
    WaitOption,
    caps,
    split_names,
)
from polygraph.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from polygraph.indexing.progress import BuildReport
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()


@app.command()
def index(
    paths: PathsArgument = None,
    index: IndexOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    for_methods: Annotated[
        Optional[str],
        typer.Option(
            "--for", metavar="METHOD,...", help="Build only what these methods need; default: everything."
        ),
    ] = None,
    extractor: ExtractorOption = None,
    profile: ProfileOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="local|ray|ray://HOST:PORT",
            help="Compute on this machine, on a Ray cluster started here, or on a running one.",
        ),
    ] = "local",
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Index documents. Run it again to update what has changed; nothing is repeated."""
    from polygraph.ingest import find_files, select

    if paths:
        # A missing path is reported before the folder of the index is created.
        find_files(paths, select(include or [], exclude or []))
    opened = open_index(
        index,
        new=bool(paths),
        change=True,
        documents=paths or (),
        profile=profile,
        **caps(max_cost, max_spend_tokens, batch, offline),
    )
    methods = split_names(for_methods or "")
    add = partial(
        opened.add,
        *(paths or []),
        methods=methods,
        extractor=extractor,
        include=include or [],
        exclude=exclude or [],
        wait_s=wait,
        on=on,
    )
    _change(opened, add, as_json)
    if not paths and not as_json:
        from polygraph.cli.render import answer as show

        command = f"polygraph index PATH --index {quoted(opened.place)}"
        show.out.print(
            f"no folder was named, so no file was read; to update documents: {command}", style="dim"
        )


@app.command()
def estimate(
    paths: PathsArgument = None,
    index: IndexOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    for_methods: Annotated[
        Optional[str],
        typer.Option(
            "--for", metavar="METHOD,...", help="Only what these methods need, and one question to each."
        ),
    ] = None,
    extractor: ExtractorOption = None,
    profile: ProfileOption = None,
    pilot: Annotated[
        int,
        typer.Option(
            "--pilot", metavar="N", help="Calibrate with at most N real calls, whose replies are kept."
        ),
    ] = 0,
    like: Annotated[
        Optional[Path],
        typer.Option(
            "--like", metavar="DIR", help="Calibrate with another index that the same model has read."
        ),
    ] = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate the cost of indexing and of a question beforehand."""
    from polygraph.cli.render import answer as show
    from polygraph.cli.render.build import show_estimate
    from polygraph.ingest import find_files, select
    from polygraph.workspace.json_views import estimate_json

    if paths:
        find_files(paths, select(include or [], exclude or []))
    flags = {**caps(max_cost, max_spend_tokens, None, offline), "profile": profile}
    methods = split_names(for_methods or "")
    with open_to_estimate(index, bool(paths), keep=pilot > 0, **flags) as opened:
        found = opened.estimate(
            *(paths or []),
            methods=methods,
            extractor=extractor,
            include=include or [],
            exclude=exclude or [],
            pilot=pilot,
            like=like,
        )
    if as_json:
        show.as_json(estimate_json(found))
    else:
        options = [("--for", for_methods), ("--extractor", extractor), ("--profile", profile)]
        options += [("--include", each) for each in include or []]
        options += [("--exclude", each) for each in exclude or []]
        same = [part for name, value in options if value for part in (name, value)]
        show_estimate(found, ["polygraph", "index", *(paths or []), "--index", opened.place, *same])


@app.command()
def remove(
    documents: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="DOCUMENT", help="Ids, as listed by `status --documents`."),
    ] = None,
    index: IndexOption = None,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Leave no trace on disk: also delete stored replies and vectors."),
    ] = False,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Remove documents and everything extracted from them. No model is called."""
    # Not offline: parts of the graph may have to be embedded again, perhaps by an endpoint.
    opened = open_index(index, change=True)
    _change(opened, partial(opened.remove, *(documents or []), forget=forget, wait_s=wait), as_json)


@app.command()
def refresh(
    index: IndexOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Have the model rewrite what removals have withdrawn. Only changed inputs are paid for."""
    opened = open_index(index, change=True, **caps(max_cost, max_spend_tokens, batch))
    _change(opened, partial(opened.refresh, wait_s=wait), as_json)


@app.command()
def retry(
    index: IndexOption = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also what an earlier retry did not complete; it is paid for again."),
    ] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Retry what the model failed to read, or read only in part. See `status --failed`."""
    opened = open_index(index, change=True, **caps(max_cost, max_spend_tokens, batch))
    _change(opened, partial(opened.retry, again=again, wait_s=wait), as_json)


@app.command(name="import")
def import_(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Written by `export --format jsonl` or by another program."),
    ],
    index: IndexOption = None,
    format: Annotated[
        Optional[str],
        typer.Option(
            "--format",
            metavar="jsonl|msgraphrag|lightrag|openie|csv",
            help="Format of the folder; default: detected from its files.",
        ),
    ] = None,
    offline: OfflineOption = False,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Create an index from an export or another program's graph. No chat model is called."""
    from polygraph.indexing.exchange.importers.detect import detect_format

    if detect_format(folder, format) == "jsonl":
        opened = open_for_import(folder, index, offline=offline or None)
    else:
        opened = open_index(index, new=True, offline=offline or None)
    _change(opened, partial(opened.import_, folder, format=format, wait_s=wait), as_json)


def _change(opened: "Index", change: "Callable[..., BuildReport]", as_json: bool) -> None:
    """Change an index with progress bars, close it, and print the report."""
    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.cli.render.build import show_build
    from polygraph.workspace.json_views import build_report_json

    with opened:
        with Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars:
            report = change(progress=bars)
        if as_json:
            show.as_json(build_report_json(report, opened.place))
        else:
            show_build(report, opened.place)
