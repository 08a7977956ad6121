"""The command `polygraph`. Heavy modules are imported inside the commands, so that `--help` is quick."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from polygraph.errors import BadInput, IndexUnreadable, PolygraphError

if TYPE_CHECKING:
    from polygraph.records import Answer
    from polygraph.workspace import Index

_SLOWEST = 3
"""Layers named with their time after a build."""

app = typer.Typer(
    name="polygraph",
    help="Every GraphRAG method over one index, and an honest test of which one to trust on your documents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

IndexOption = Annotated[
    Optional[Path],
    typer.Option("--index", help="Folder of the index (default ./polygraph.index, or POLYGRAPH_INDEX)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
WhereOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--where", metavar="KEY=VALUE", help="Only documents with this metadata; * matches anything."
    ),
]
MethodOption = Annotated[
    Optional[str],
    typer.Option("-m", "--method", help="Method (see: polygraph methods)."),
]
TokensOption = Annotated[
    Optional[int],
    typer.Option("--max-tokens", help="Budget of the context, in tokens."),
]
CostOption = Annotated[
    Optional[float],
    typer.Option("--max-cost", help="Hard cap on money for this command, in US dollars."),
]
SpendOption = Annotated[
    Optional[int],
    typer.Option("--max-spend-tokens", help="Hard cap on model tokens for this command, in and out."),
]
BatchOption = Annotated[
    Optional[Path],
    typer.Option(
        "--batch",
        metavar="DIR",
        help="Write calls of the model there as batch files; replies beside them go on.",
    ),
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Use no endpoint even if one is configured.")]
ExtractorOption = Annotated[
    Optional[str],
    typer.Option(
        "--extractor",
        metavar="nlp|fast|llm",
        help="Extract the graph with a parser, as noun phrases, or with a model.",
    ),
]
WaitOption = Annotated[
    float,
    typer.Option("--wait", metavar="SECONDS", min=0.0, help="Wait so long while another process is writing."),
]
_debug = False


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    global _debug  # noqa: PLW0603 - read once, by `main`
    _debug = debug


def main() -> None:
    """Run a command; errors become one sentence and an exit code."""
    try:
        app()
    except PolygraphError as error:
        if _debug:
            raise
        print(f"polygraph: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print(
            "polygraph: stopped. What was finished is kept; the same command goes on from there.",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        if _debug:
            raise
        # Not one of ours, so there is no fix to name; the traceback would not help who only wants an answer.
        print(
            f"polygraph: an error that should not happen: {type(error).__name__}: {error}. "
            "Run `polygraph --debug ...` for the details, and please report them",
            file=sys.stderr,
        )
        sys.exit(1)


@app.command()
def index(
    paths: Annotated[
        Optional[list[str]], typer.Argument(metavar="PATH...", help="Folders, files or globs.")
    ] = None,
    index: IndexOption = None,
    for_methods: Annotated[
        Optional[str],
        typer.Option("--for", metavar="METHOD,...", help="Build only what these methods need."),
    ] = None,
    extractor: ExtractorOption = None,
    max_cost: CostOption = None,
    max_tokens: Annotated[
        Optional[int],
        typer.Option(
            "--max-tokens",
            "--max-spend-tokens",
            help="Hard cap on model tokens for this command, in and out.",
        ),
    ] = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Index documents; again: take in what changed and repeat nothing."""
    from polygraph.cli.progress import Bars
    from polygraph.load import find

    chosen = _extractor(extractor)
    if paths:
        find(paths)  # a path that is not there is reported before a folder is made for the index
    with _open(index, new=bool(paths), **_caps(max_cost, max_tokens, batch, offline)) as opened:
        with Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars:
            report = opened.add(
                *(paths or []),
                methods=_names(for_methods or ""),
                extractor=chosen,
                progress=bars,
                wait_s=wait,
            )
        _show_build(opened, report, as_json)


@app.command()
def estimate(
    paths: Annotated[
        Optional[list[str]], typer.Argument(metavar="PATH...", help="Folders, files or globs.")
    ] = None,
    index: IndexOption = None,
    for_methods: Annotated[
        Optional[str],
        typer.Option("--for", metavar="METHOD,...", help="Only what these need, and a question to each."),
    ] = None,
    extractor: ExtractorOption = None,
    pilot: Annotated[
        int, typer.Option("--pilot", metavar="N", help="Learn from at most N real calls, kept for the build.")
    ] = 0,
    like: Annotated[
        Optional[Path],
        typer.Option("--like", metavar="DIR", help="Learn from another index that the same model has read."),
    ] = None,
    max_cost: CostOption = None,
    max_tokens: Annotated[
        Optional[int],
        typer.Option("--max-tokens", help="Hard cap on the tokens of a pilot, in and out."),
    ] = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what indexing will cost, and a question, before anything is paid."""
    from polygraph.cli import show
    from polygraph.load import find

    chosen = _extractor(extractor)
    if paths:
        find(paths)
    flags = {"max_cost": max_cost, "max_spend_tokens": max_tokens, "offline": offline or None}
    methods = _names(for_methods or "")
    with _open_to_estimate(index, bool(paths), keep=pilot > 0, **flags) as opened:
        found = opened.estimate(*(paths or []), methods=methods, extractor=chosen, pilot=pilot, like=like)
    if as_json:
        show.as_json(found.as_dict())
    else:
        _show_estimate(found, paths or [], opened.folder)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the answer as it is written.")] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question with citations, or refuse."""
    from polygraph.cli import show

    with _open(index, **_caps(max_cost, max_spend_tokens, batch, offline)) as opened:
        options: dict[str, Any] = {"where": _where(where), "max_tokens": max_tokens}
        if stream and not as_json:
            found = _stream(opened, question, method, options)
        else:
            found = opened.ask(question, method, **options)
    if as_json:
        show.as_json(show.answer_json(found))
    else:
        show.show_answer(found, streamed=stream)


@app.command()
def chat(
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    offline: OfflineOption = False,
) -> None:
    """Ask question after question; each may refer to those before. An empty line ends it."""
    from polygraph.cli import show

    history: list[tuple[str, str]] = []
    with _open(index, max_cost=max_cost, offline=offline or None) as opened:
        opened.snapshot()  # a missing index is reported before the first question
        while True:
            try:
                question = input("> " if sys.stdin.isatty() else "").strip()
            except EOFError:
                return
            if not question:
                return
            options: dict[str, Any] = {
                "where": _where(where),
                "max_tokens": max_tokens,
                "history": tuple(history),
            }
            found = _stream(opened, question, method, options)
            show.show_answer(found, streamed=True)
            history.append((question, found.text))


@app.command()
def compare(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    index: IndexOption = None,
    methods: Annotated[
        str, typer.Option("-m", "--methods", metavar="METHOD,...", help="Methods to set side by side.")
    ] = "naive,bm25,hybrid,graphrag-local,graphrag-global",
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer one question with several methods, side by side."""
    from polygraph.cli import show, side_by_side

    with _open(index, **_caps(max_cost, max_spend_tokens, batch, offline)) as opened:
        names = _names(methods)
        if not names:
            raise BadInput("-m names no method. List them with: polygraph methods")
        found = opened.compare(question, names, where=_where(where), max_tokens=max_tokens)
    if as_json:
        show.as_json(side_by_side.compared_json(found))
    else:
        side_by_side.show_compared(found)


@app.command()
def explain(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show why a method finds what it finds: seeds, scores, and what the budget cut."""
    from dataclasses import asdict

    from polygraph.cli import explained, show

    with _open(index, max_cost=max_cost, offline=offline or None) as opened:
        found = opened.retrieve(question, method, where=_where(where), max_tokens=max_tokens)
    if as_json:
        show.as_json(asdict(found))
    else:
        explained.show_retrieval(found)


@app.command()
def methods(
    name: Annotated[Optional[str], typer.Argument(metavar="[NAME]", help="Tell all about this one.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Tell all about every method.")] = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods: what each needs, costs, and is good for."""
    from polygraph.cli import catalogue, show
    from polygraph.config import load_settings
    from polygraph.workspace import CALLS_FILE

    names = catalogue.chosen(name)
    if index is not None and not index.is_dir():
        raise IndexUnreadable(
            f"there is no index at {index}. Make one with: polygraph index PATH --index {index}"
        )
    spent = catalogue.measured((index or load_settings({}).index) / CALLS_FILE)
    if as_json:
        show.as_json(catalogue.methods_json(names, spent))
    elif name is None and not full:
        catalogue.show_list(spent)
    else:
        catalogue.show_full(names, spent)


@app.command()
def status(
    index: IndexOption = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="List windows that could not be read, with replies.")
    ] = False,
    documents: Annotated[bool, typer.Option("--documents", help="List the documents.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what the index holds, what is missing, what failed and what it cost."""
    from polygraph.cli import show

    # Looking needs no model: none is loaded, and no endpoint has to be there.
    with _open(index, offline=True, embedder="hash", name_embedder="hash", reranker="none") as opened:
        found = opened.status()
        listed = list(opened.snapshot().store.documents()) if documents else []
    if as_json:
        show.as_json(found | ({"document_list": [d for d, _, _ in listed]} if documents else {}))
        return
    if failed:
        for f in found["failures"]:
            show.out.print(
                f"{show.plain(f['window'])}: {f['status']}: {show.plain(f['problem'])}", markup=False
            )
            if f["raw"]:
                show.out.print(show.plain(f["raw"]), markup=False)
        for u in found["unread"]:
            show.out.print(f"{show.plain(u['path'])}: {show.plain(u['reason'])}", markup=False)
        return
    if documents:
        show.show_table(("document", "title"), [(d, title) for d, title, _ in listed])
        return
    _show_status(found)


@app.command()
def batch(
    index: IndexOption = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="No longer wait: the next round writes again what has no reply."),
    ] = False,
    file: Annotated[
        Optional[str],
        typer.Option(
            "--file", metavar="FILE", help="With --again: only the requests of this file, as listed."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the batch files whose requests wait for replies; or have them written again, after a batch that failed."""
    from dataclasses import asdict

    from polygraph.cli import show

    with _open(index, offline=True, embedder="hash", name_embedder="hash", reranker="none") as opened:
        calls = opened.models.calls
        found = calls.waiting()
        chosen = [f.file for f in found if file in (None, f.file, Path(f.file).name)]
        if file is not None and not (again and chosen):
            listed = ", ".join(f.file for f in found) or "none that waits"
            raise BadInput(f"--file {file!r} goes with --again, and names one of: {listed}")
        given_up = sum(calls.give_up_waiting(each) for each in chosen) if again else 0
        found = calls.waiting()
    if as_json:
        show.as_json({"files": [asdict(f) for f in found], "given_up": given_up})
        return
    if again:
        show.out.print(f"{given_up:,} requests will be written again by the command that asked them")
    if found:
        columns = ("waiting", "failed")
        show.show_table(
            ("file", *columns), [(f.file, f"{f.waiting:,}", f"{f.failed:,}") for f in found], right=columns
        )
    elif not again:
        show.out.print("nothing waits in a batch")


@app.command()
def remove(
    documents: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="DOCUMENT...", help="Ids, as `status --documents` lists."),
    ] = None,
    index: IndexOption = None,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Leave no trace on the disk: purge stored replies and vectors, too."),
    ] = False,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Remove documents and everything that was read from them; no model is called."""
    from polygraph.cli.progress import Bars

    # Not offline: what is left of the graph may have to be embedded again, perhaps by an endpoint.
    with _open(index) as opened:
        with Bars(quiet=as_json) as bars:
            report = opened.remove(*(documents or []), forget=forget, progress=bars, wait_s=wait)
        _show_build(opened, report, as_json)


@app.command()
def refresh(
    index: IndexOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Have the model write again what removals withdrew; only inputs that changed are paid for."""
    from polygraph.cli.progress import Bars

    with _open(index, **_caps(max_cost, max_spend_tokens, batch)) as opened:
        with Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars:
            report = opened.refresh(progress=bars, wait_s=wait)
        _show_build(opened, report, as_json)


@app.command()
def retry(
    index: IndexOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Have the model read again what failed or was read in part; see `status --failed`."""
    from polygraph.cli.progress import Bars

    with _open(index, **_caps(max_cost, max_spend_tokens, batch)) as opened:
        with Bars(quiet=as_json, spent=lambda: opened.models.calls.spent) as bars:
            report = opened.retry(progress=bars, wait_s=wait)
        _show_build(opened, report, as_json)


@app.command()
def export(
    output: Annotated[
        Path,
        typer.Option("--output", metavar="DIR", help="New or empty folder, or one with an earlier export."),
    ],
    index: IndexOption = None,
    format: Annotated[
        str,
        typer.Option("--format", metavar="jsonl|graphml|parquet|neo4j", help="jsonl can be imported again."),
    ] = "jsonl",
    as_json: JsonOption = False,
) -> None:
    """Write the index as files; as jsonl, two equal indexes give equal bytes."""
    from polygraph.cli import show

    with _open(index, offline=True) as opened:
        counts = opened.export(output, format)
    if as_json:
        show.as_json({"output": str(output), "format": format, "files": counts})
        return
    show.show_table(("file", "records"), [(n, f"{k:,}") for n, k in counts.items()], right=("records",))
    show.out.print(f"written to {output}", style="dim", markup=False)


@app.command(name="import")
def import_(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="What `export --format jsonl` or another program wrote."),
    ],
    index: IndexOption = None,
    format: Annotated[
        Optional[str],
        typer.Option(
            "--format",
            metavar="jsonl|msgraphrag|lightrag|openie|csv",
            help="Form of the folder; default: told by what it holds.",
        ),
    ] = None,
    offline: OfflineOption = False,
    wait: WaitOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Make a new index from an export, or from a graph that another program made; no chat model is called."""
    from polygraph.cli.progress import Bars
    from polygraph.exchange.recognise import recognise

    if recognise(folder, format) == "jsonl":
        opened = _open_like(folder, index, offline=offline or None)
    else:
        opened = _open(index, new=True, offline=offline or None)
    with opened:
        with Bars(quiet=as_json) as bars:
            report = opened.import_(folder, format=format, progress=bars, wait_s=wait)
        _show_build(opened, report, as_json)


@app.command()
def config(
    explain: Annotated[bool, typer.Option("--explain", help="Tell where each value came from.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the settings in force."""
    from polygraph.cli import show
    from polygraph.config import explain_settings, plain_value

    rows = explain_settings()
    if as_json:
        show.as_json([{"name": r.name, "value": plain_value(r.value), "from": r.source} for r in rows])
    elif explain:
        show.show_table(
            ("setting", "value", "from", "meaning"),
            [(r.name, show.setting(r.value), r.source, r.help) for r in rows],
        )
    else:
        show.show_table(("setting", "value"), [(r.name, show.setting(r.value)) for r in rows])


@app.command()
def doctor(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Check models, endpoint and index, and say how to mend what is wrong."""
    from polygraph.cli import show
    from polygraph.cli.doctor import examine

    checks = examine(index)
    if as_json:
        show.as_json([{"name": c.name, "ok": c.ok, "finding": c.finding, "fix": c.fix} for c in checks])
    else:
        for c in checks:
            mark, style = {True: ("ok  ", "green"), False: ("FAIL", "red"), None: ("note", "yellow")}[c.ok]
            show.out.print(f"[{style}]{mark}[/{style}] {c.name}: ", end="")
            show.out.print(f"{c.finding}{f' — {c.fix}' if c.fix else ''}", markup=False)
    if any(c.ok is False for c in checks):
        raise typer.Exit(1)


@app.command()
def demo(
    path: Annotated[
        Optional[str], typer.Argument(help="Your own folder; default: the sample that comes along.")
    ] = None,
    index: IndexOption = None,
) -> None:
    """Index a folder, ask three questions with three methods, and say what to type next."""
    from polygraph.cli.demo import run

    run(path, index)


# --- parts --------------------------------------------------------------------------------------------


def _caps(
    max_cost: float | None, max_spend_tokens: int | None, batch: Path | None, offline: bool = False
) -> dict[str, Any]:
    """What bounds the calls of a command, as settings."""
    return {
        "max_cost": max_cost,
        "max_spend_tokens": max_spend_tokens,
        "batch": batch,
        "offline": offline or None,
    }


def _names(text: str) -> list[str]:
    """Names between commas, each once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _open(folder: Path | None, *, new: bool = False, **flags: Any) -> "Index":
    from polygraph.config import load_settings
    from polygraph.workspace import Index

    settings = load_settings(flags)
    place = folder or settings.index
    if not new and not place.is_file() and not (place / "index.sqlite").is_file():
        # Said before the models are opened, which would leave a folder behind.
        raise IndexUnreadable(
            f"there is no index at {place}. Make one with: polygraph index PATH --index {place}"
        )
    opened = Index.open(place, settings=settings)
    if opened.models.calls.batch is not None:
        taken = opened.models.calls.batch.take_in()
        if taken:
            print(f"batch: {taken}", file=sys.stderr)
    return opened


def _open_to_estimate(folder: Path | None, new: bool, *, keep: bool, **flags: Any) -> "Index":
    """Open an index, or one that is not there yet without leaving a folder behind."""
    from polygraph.config import load_settings
    from polygraph.models.open import open_models
    from polygraph.workspace import Index

    settings = load_settings(flags)
    place = folder or settings.index
    if keep or not new or place.exists():
        return _open(folder, new=new, **flags)
    return Index.open(place, settings=settings, models=open_models(settings, None))


def _open_like(export: Path, folder: Path | None, **flags: Any) -> "Index":
    """Open a new index with the embedders that an export was made with, unless the settings name others."""
    from polygraph.config import load_settings
    from polygraph.exchange.reading import describe
    from polygraph.models.open import open_models
    from polygraph.workspace import CALLS_FILE, Index

    manifest = describe(export).manifest
    settings = load_settings(flags)
    place = folder or settings.index
    models = open_models(settings, place / CALLS_FILE, (manifest.embedder, manifest.name_embedder))
    return Index.open(place, settings=settings, models=models)


def _extractor(name: str | None) -> Literal["nlp", "fast", "llm"] | None:
    extractors: dict[str | None, Literal["nlp", "fast", "llm"] | None]
    extractors = {None: None, "nlp": "nlp", "fast": "fast", "llm": "llm"}
    if name not in extractors:
        raise BadInput(f"--extractor {name!r} is not one of: nlp, fast, llm")
    return extractors[name]


def _where(pairs: list[str] | None) -> dict[str, str] | None:
    if not pairs:
        return None
    found = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise BadInput(f"--where {pair!r} is not of the form KEY=VALUE, such as: --where year=1871")
        found[key.strip()] = value.strip()
    return found


def _stream(opened: "Index", question: str, method: str | None, options: dict[str, Any]) -> "Answer":
    from polygraph.cli.show import plain

    found: Answer | None = None
    for event in opened.stream(question, method, **options):
        if event.kind == "text":
            print(plain(event.text), end="", flush=True)
        elif event.kind == "answer":
            found = event.answer
    print()
    assert found is not None  # noqa: S101 - the last event of a stream
    return found


def _show_build(opened: "Index", report: Any, as_json: bool) -> None:
    from dataclasses import asdict

    from polygraph.cli import show

    if as_json:
        show.as_json(asdict(report) | {"index": str(opened.folder)})
        return
    c = report.counts
    if report.source:
        held = ", ".join(f"{n:,} {what}" for what, n in report.source.items())
        show.out.print(f"imported: {held}", markup=False)
    show.out.print(
        f"{report.added} {'document' if report.added == 1 else 'documents'} added, {report.changed} changed, "
        f"{report.removed} removed, {report.unchanged} as before"
    )
    show.out.print(
        f"{opened.folder}: {c['documents']:,} documents, {c['chunks']:,} passages, {c['entities']:,} entities, "
        f"{c['relations']:,} relations, {c['reports']:,} reports",
        markup=False,
    )
    if report.built:
        slowest = sorted(report.built, key=lambda name: (-report.built[name], name))[:_SLOWEST]
        took = ", ".join(f"{name} {report.built[name]:.1f} s" for name in slowest)
        show.out.print(
            f"built: {len(report.built)} layers in {sum(report.built.values()):.1f} s ({took})", style="dim"
        )
    if report.usage.calls or report.usage.cached_calls:
        show.out.print(show.calls_line(report.usage), style="dim")
    for note in report.notes:
        show.err.print(f"note: {show.plain(note)}", style="yellow", markup=False)
    for path, reason in report.unread[:10]:
        show.err.print(f"not read: {show.plain(path)}: {show.plain(reason)}", style="yellow", markup=False)
    if len(report.unread) > 10:
        show.err.print(f"and {len(report.unread) - 10} more; see: polygraph status --failed", style="yellow")


def _show_estimate(found: Any, paths: list[str], folder: Path) -> None:
    import shlex

    from polygraph.cli import show

    show.out.print(
        f"{found.documents:,} documents, {found.windows:,} windows, of which {found.windows_to_read:,} are to be read",
        style="bold",
    )
    if found.communities.high:
        show.out.print(
            f"graph: about {show.span(found.entities)} entities, {show.span(found.communities)} communities",
            style="dim",
        )
    lines = [*found.lines, *([found.total] if len(found.lines) > 1 else []), *found.questions]
    if lines:
        columns = ("stage", "calls", "free", "tokens in", "tokens out", "cost")
        rows = [
            (
                f"one question, {each.method}" if each.method else each.stage,
                show.span(each.calls),
                f"{each.free:,}" if each.free else "",
                show.span(each.prompt_tokens),
                show.span(each.completion_tokens),
                show.span(each.cost, money=True),
            )
            for each in lines
        ]
        show.show_table(columns, rows, right=columns[1:])
    for each in (*found.lines, *found.questions):
        show.out.print(f"{each.method or each.stage}: {show.plain(each.basis)}", style="dim", markup=False)
    for note in found.notes:
        show.err.print(f"note: {show.plain(note)}", style="yellow", markup=False)
    total = found.total
    command = ["polygraph", "index", *paths, "--index", str(folder)]
    if total.cost is not None and total.cost.high > 0:
        cap = f"--max-cost {show.round_up(total.cost.high)}"
    elif total.cost is None and total.prompt_tokens is not None and total.completion_tokens is not None:
        cap = f"--max-tokens {int(total.prompt_tokens.high + total.completion_tokens.high):d}"
    else:
        show.out.print("nothing is to be paid for indexing", style="dim")
        return
    show.out.print(f"with a cap: {shlex.join(command)} {cap}", markup=False, soft_wrap=True)


def _show_status(found: dict[str, Any]) -> None:
    from polygraph.cli import show

    show.out.print(f"{found['index']}: {found['documents']:,} documents", style="bold", markup=False)
    show.show_table(
        ("layer", "state", "rows", "seconds"),
        [(n, v["state"], f"{v['rows']:,}", f"{v['seconds']:.1f}") for n, v in found["layers"].items()],
        right=("rows", "seconds"),
    )
    show.out.print(
        f"passages by {found['embedder']}; entities by {found['name_embedder']}; graph by {found['extractor']}",
        style="dim",
        markup=False,
    )
    # Local models cost nothing and would fill the table; `--json` has every row.
    paid = [r for r in found["ledger"] if r["prompt_tokens"] or r["completion_tokens"] or r["failed"]]
    if paid:
        show.show_table(
            ("stage", "method", "model", "calls", "cached", "failed", "tokens in", "tokens out", "cost"),
            [
                (
                    r["stage"],
                    r["method"],
                    r["model"],
                    r["ok"] + r["failed"] + r["repaired"],
                    r["cached"],
                    r["failed"],
                    f"{r['prompt_tokens']:,}",
                    f"{r['completion_tokens']:,}",
                    "unknown" if r["cost"] is None else f"${r['cost']:.4f}",
                )
                for r in paid
            ],
            right=("calls", "cached", "failed", "tokens in", "tokens out", "cost"),
        )
    if found["estimate"]:
        columns = ("estimate against actual", "calls", "tokens in", "tokens out", "cost")
        show.show_table(
            columns,
            [
                (
                    f"question, {r['method']}" if r["stage"] == "question" else r["stage"],
                    *(
                        show.against(r[name], r["actual"][name], r.get("questions"), money=name == "cost")
                        for name in ("calls", "prompt_tokens", "completion_tokens", "cost")
                    ),
                )
                for r in found["estimate"]
            ],
            right=columns[1:],
        )
    waiting = sum(f["waiting"] for f in found["batches"])
    if waiting:
        show.out.print(f"{waiting:,} requests wait in batch files; see: polygraph batch", style="yellow")
    for note in found["notes"]:
        show.out.print(f"note: {show.plain(note)}", style="yellow", markup=False)
    if found["unread"]:
        show.out.print(
            f"{len(found['unread'])} files were not read; see: polygraph status --failed", style="yellow"
        )


from polygraph.cli import by_hand, evaluating, reproducing, studying  # noqa: E402, F401 - their commands share the options above

app.add_typer(evaluating.app)
