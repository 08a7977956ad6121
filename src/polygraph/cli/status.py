"""The commands that show or export an index, its settings and its methods."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Optional

import typer

from polygraph.cli.open_index import local_folder, open_without_models
from polygraph.cli.options import CostOption, IndexOption, JsonOption, OfflineOption, SpendOption, caps
from polygraph.errors import BadInput
from polygraph.ids import document_name

app: typer.Typer = typer.Typer()


@app.command()
def methods(
    name: Annotated[
        Optional[str], typer.Argument(metavar="NAME", help="Describe this method in full.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Describe every method in full.")] = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods with their requirements, costs and strengths."""
    from polygraph.cli.render import answer as show
    from polygraph.cli.render import methods as catalogue
    from polygraph.config import load_settings
    from polygraph.publishing.object_store import url_of
    from polygraph.store.connection import no_index
    from polygraph.store.open_store import calls_of
    from polygraph.workspace.json_views import methods_json

    names = catalogue.selected(name)
    settings = load_settings({})
    place = local_folder(index or settings.index, settings)
    url = url_of(place)
    if url is None and index is not None and not place.is_dir():
        raise no_index(index)
    if url is None:
        usage = catalogue.usage_by_method(calls_of(place))
    else:
        with open_without_models(index) as opened:
            usage = catalogue.usage_by_method(opened.calls_place)
    if as_json:
        show.as_json(methods_json(names, usage))
    elif name is None and not full:
        catalogue.show_list(usage)
    else:
        catalogue.show_full(names, usage)


@app.command()
def status(
    index: IndexOption = None,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="List the files and windows that could not be read, with the replies."),
    ] = False,
    documents: Annotated[bool, typer.Option("--documents", help="List the documents.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what the index holds, missing layers, failures and costs."""
    from polygraph.cli.render import answer as show
    from polygraph.cli.render.status import show_status

    with open_without_models(index) as opened:
        found = opened.status()
        listed = list(opened.snapshot().store.documents.headers()) if documents else []
    if as_json:
        show.as_json(found | ({"document_list": [d for d, _, _ in listed]} if documents else {}))
        return
    if failed:
        from polygraph.extract.llm.extractor import is_incomplete

        # Nothing is missing of a window that was put right in the repair round.
        failures = [f for f in found["failures"] if is_incomplete(f["status"], f["problem"])]
        for f in failures:
            show.out.print(f"{document_name(f['window'])}: {f['status']}: {f['problem']}")
            if f["raw"]:
                show.out.print(f["raw"])
        for u in found["unread"]:
            show.out.print(f"{document_name(u['path'])}: {u['reason']}")
        if not failures and not found["unread"]:
            show.out.print("nothing failed: every file and every window was read")
        return
    if documents:
        names = Counter(document_name(d) for d, _, _ in listed)
        # Of an uploaded file the name is enough, unless another one has it too.
        short = {d: document_name(d) if names[document_name(d)] == 1 else d for d, _, _ in listed}
        show.show_table(("document", "title"), [(short[d], title) for d, title, _ in listed])
        return
    show_status(found)


@app.command()
def batch(
    index: IndexOption = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Stop waiting: the next round writes requests without a reply again."),
    ] = False,
    file: Annotated[
        Optional[str],
        typer.Option("--file", metavar="FILE", help="With --again: only the requests of this listed file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the batch files that wait for replies. After a failed batch, have their requests written again."""
    from dataclasses import asdict

    from polygraph.cli.render import answer as show
    from polygraph.text.prose import count_noun

    with open_without_models(index) as opened:
        calls = opened.models.calls
        found = calls.waiting()
        chosen = [f.file for f in found if file in (None, f.file, Path(f.file).name)]
        if file is not None and not (again and chosen):
            listed = ", ".join(f.file for f in found) or "(no file waits)"
            raise BadInput(f"--file {file!r} requires --again and must be one of: {listed}")
        abandoned = sum(calls.abandon_batch_file(each) for each in chosen) if again else 0
        found = calls.waiting()
    if as_json:
        show.as_json({"files": [asdict(f) for f in found], "given_up": abandoned})
        return
    if again:
        show.out.print(
            f"{count_noun(abandoned, 'request')} will be written again by the commands that made them"
        )
    if found:
        columns = ("waiting", "failed")
        show.show_table(
            ("file", *columns), [(f.file, f"{f.waiting:,}", f"{f.failed:,}") for f in found], right=columns
        )
    elif not again:
        show.out.print("no requests wait in batch files")


@app.command()
def export(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="A new or empty folder, or one with an earlier export."
        ),
    ],
    index: IndexOption = None,
    format: Annotated[
        str,
        typer.Option("--format", metavar="jsonl|graphml|parquet|neo4j", help="jsonl can be imported again."),
    ] = "jsonl",
    as_json: JsonOption = False,
) -> None:
    """Write the index to files. With jsonl, equal indexes give equal bytes."""
    from polygraph.cli.render import answer as show

    with open_without_models(index) as opened:
        counts = opened.export(output, format)
    if as_json:
        show.as_json({"output": str(output), "format": format, "files": counts})
        return
    show.show_table(("file", "records"), [(n, f"{k:,}") for n, k in counts.items()], right=("records",))
    show.out.print(f"written to {output}", style="dim")


config_app = typer.Typer(invoke_without_command=True)
app.add_typer(config_app, name="config")


@config_app.callback()
def config(
    context: typer.Context,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the source and the meaning of each value.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the current settings."""
    if context.invoked_subcommand is not None:
        return
    from polygraph.cli.render import answer as show
    from polygraph.config import explain_settings, plain_value

    rows = explain_settings()
    if as_json:
        show.as_json([{"name": r.name, "value": plain_value(r.value), "from": r.source} for r in rows])
    elif explain:
        show.show_table(
            ("setting", "value", "from", "meaning"),
            [
                (
                    r.name,
                    show.setting(r.value),
                    f"{r.source} (ignored: {r.ignored}, not trusted)" if r.ignored else r.source,
                    r.help,
                )
                for r in rows
            ],
        )
    else:
        show.show_table(("setting", "value"), [(r.name, show.setting(r.value)) for r in rows])


@config_app.command()
def trust(
    file: Annotated[
        Optional[Path],
        typer.Argument(metavar="FILE", help="Default: the nearest polygraph.toml in this folder or above."),
    ] = None,
) -> None:
    """Trust a settings file of a folder. It may set endpoint, key, paths and caps until it changes."""
    import os

    from polygraph.cli.render import answer as show
    from polygraph.config.files import FILE_NAME, find_file
    from polygraph.config.files import trust as trust_file

    chosen = file or find_file(Path.cwd())
    if chosen is None:
        raise BadInput(f"there is no {FILE_NAME} in this folder or above. Name the file")
    more = trust_file(chosen, os.environ)
    names = ", ".join(sorted(more)) or "nothing that needs trust"
    show.out.print(f"{chosen} is trusted until it changes; it sets {names}")


@app.command()
def doctor(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Check models, endpoint and index. Show how to fix what is wrong."""
    from rich.text import Text

    from polygraph.cli.doctor import examine
    from polygraph.cli.render import answer as show

    checks = examine(index)
    if as_json:
        show.as_json([{"name": c.name, "ok": c.ok, "finding": c.finding, "fix": c.fix} for c in checks])
    else:
        for c in checks:
            mark, style = {True: ("ok  ", "green"), False: ("FAIL", "red"), None: ("note", "yellow")}[c.ok]
            fix = f" — {c.fix}" if c.fix else ""
            show.out.print(Text.assemble((mark, style), f" {c.name}: {c.finding}{fix}"))
    if any(c.ok is False for c in checks):
        raise typer.Exit(1)


@app.command()
def demo(
    path: Annotated[
        Optional[str],
        typer.Argument(
            metavar="PATH", help="Your own folder; default: the sample collection of the package."
        ),
    ] = None,
    index: Annotated[
        Optional[Path],
        typer.Option(
            "--index",
            metavar="DIR",
            help="Folder of the index; default: ./polygraph-demo.index for the sample, else ./polygraph.index, "
            "or POLYGRAPH_INDEX.",
        ),
    ] = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
) -> None:
    """Index a sample or your folder, and ask three questions. Suggest next commands."""
    from polygraph.cli.demo import run

    run(path, index, **caps(max_cost, max_spend_tokens, None, offline))
