"""The commands that ask an index a question."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polygraph.cli.open_index import open_index
from polygraph.cli.options import (
    AdapterOption,
    BatchOption,
    CitationCheckOption,
    CostOption,
    FormOption,
    IndexOption,
    JsonOption,
    MethodOption,
    OfflineOption,
    SpendOption,
    TokensOption,
    WhereOption,
    caps,
    metadata_of,
    methods_of,
    reader,
)
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.records import Answer
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Any text.")],
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    form: FormOption = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the answer while it is written.")] = False,
    paths: Annotated[
        bool, typer.Option("--paths", help="Show the chain of facts that leads to each citation.")
    ] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    adapter: AdapterOption = None,
    check_citations: CitationCheckOption = False,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question with citations, or refuse."""
    from polygraph.cli.render import answer as show
    from polygraph.workspace import json_views

    with open_index(
        index, **caps(max_cost, max_spend_tokens, batch, offline), **reader(adapter, check_citations)
    ) as opened:
        _needs_model(opened, check_citations)
        options: dict[str, Any] = {"where": metadata_of(where), "max_tokens": max_tokens, "form": form}
        if stream and not as_json:
            found = _stream(opened, question, method, options)
        else:
            found = opened.ask(question, method, **options)
        chains = opened.paths(found, where=options["where"]) if paths else None
    if as_json:
        show.as_json(json_views.answer_json(found, chains))
    else:
        show.show_answer(found, chains or (), streamed=stream)


def _needs_model(index: "Index", check_citations: bool) -> None:
    """Say what to do if a model is to check citations and there is none."""
    if check_citations and index.models.chat is None:
        raise BadInput(
            "--check-citations has the chat model check, and there is none. Set chat_model, or go without the option"
        )


@app.command()
def chat(
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    adapter: AdapterOption = None,
    check_citations: CitationCheckOption = False,
    offline: OfflineOption = False,
) -> None:
    """Ask questions that may refer to earlier ones. An empty line ends the chat."""
    from polygraph.cli.render import answer as show
    from polygraph.retrieve import method as find_method

    history: list[tuple[str, str]] = []
    with open_index(
        index, **caps(max_cost, max_spend_tokens, None, offline), **reader(adapter, check_citations)
    ) as opened:
        _needs_model(opened, check_citations)
        # Errors in index, method or filter are reported before the first question.
        scope = metadata_of(where)
        find_method(method or opened.settings.method)
        opened.snapshot(scope)
        while True:
            try:
                question = input("> " if sys.stdin.isatty() else "").strip()
            except EOFError:
                return
            if not question:
                return
            options: dict[str, Any] = {
                "where": scope,
                "max_tokens": max_tokens,
                "history": tuple(history),
            }
            found = _stream(opened, question, method, options)
            show.show_answer(found, streamed=True)
            history.append((question, found.text))


@app.command()
def compare(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Any text.")],
    index: IndexOption = None,
    methods: Annotated[
        str,
        typer.Option(
            "-m",
            "--methods",
            metavar="METHOD,...",
            help="Methods to compare; all: every method without presets.",
        ),
    ] = "naive,bm25,hybrid,graphrag-local,graphrag-global",
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    form: FormOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    adapter: AdapterOption = None,
    check_citations: CitationCheckOption = False,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer one question with several methods, side by side."""
    from polygraph.cli.render import answer as show
    from polygraph.cli.render import comparison as side_by_side
    from polygraph.workspace.json_views import compared_json

    names = methods_of(methods)
    with open_index(
        index, **caps(max_cost, max_spend_tokens, batch, offline), **reader(adapter, check_citations)
    ) as opened:
        _needs_model(opened, check_citations)
        found = opened.compare(question, names, where=metadata_of(where), max_tokens=max_tokens, form=form)
    if as_json:
        show.as_json(compared_json(found))
    else:
        side_by_side.show_compared(found)


@app.command()
def explain(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Any text.")],
    index: IndexOption = None,
    method: MethodOption = None,
    where: WhereOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
    only_context: Annotated[
        bool, typer.Option("--context", help="Print only the context that a model would answer from.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a method finds, and why. Prints seeds, scores, and what was truncated to fit the token budget."""
    from polygraph.cli.render import answer as show
    from polygraph.cli.render import explanation as explained
    from polygraph.workspace.json_views import retrieval_json

    with open_index(index, **caps(max_cost, max_spend_tokens, None, offline)) as opened:
        found = opened.retrieve(question, method, where=metadata_of(where), max_tokens=max_tokens)
    if as_json:
        show.as_json(retrieval_json(found))
    elif only_context:
        explained.show_context(found)
    else:
        explained.show_retrieval(found)


def _stream(opened: "Index", question: str, method: str | None, options: dict[str, Any]) -> "Answer":
    from polygraph.cli.terminal import printable

    found: Answer | None = None
    for event in opened.stream(question, method, **options):
        if event.kind == "text":
            print(printable(event.text), end="", flush=True)
        elif event.kind == "answer":
            found = event.answer
    print()
    assert found is not None  # noqa: S101 - the last event of a stream
    return found
