"""The command `polygraph reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polygraph.cli.options import AdapterOption, CostOption, JsonOption, SpendOption
from polygraph.cli.render.published_tables import list_tables, show_values
from polygraph.cli.reproduce_estimate import estimate_table
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.config import Settings
    from polygraph.evaluate.reproduce.tables import Table
    from polygraph.evaluate.runs.by_document import DocumentIndex, OpenDocument
    from polygraph.evaluate.runs.experiment import Experiment

app: typer.Typer = typer.Typer()


@app.command()
def reproduce(
    paper: Annotated[
        Optional[str], typer.Argument(metavar="PAPER", help="Paper; without one, the tables are listed.")
    ] = None,
    table: Annotated[Optional[str], typer.Argument(metavar="TABLE", help="Number of the table.")] = None,
    data: Annotated[
        Optional[Path],
        typer.Option(
            "--data",
            metavar="DIR",
            help="Your copy of the data: corpus.jsonl and questions.jsonl, also as .gz.",
        ),
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for index and study; default: reproduce-PAPER-TABLE.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            show_default=False,
            help="Maximum number of questions; default: as in the paper.",
        ),
    ] = 0,
    trials: Annotated[
        int,
        typer.Option(
            "--trials",
            metavar="M",
            show_default=False,
            help="Rounds of the judges; default: as in the paper.",
        ),
    ] = 0,
    judge: Annotated[
        Optional[str],
        typer.Option("--judge", metavar="MODEL", help="Model that judges; default: the model that answers."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of sampled and generated questions.")
    ] = 0,
    bertscore: Annotated[
        bool,
        typer.Option("--bertscore", help="Also measure BERTScore; needs the package bert-score."),
    ] = False,
    adapter: AdapterOption = None,
    tuned_model: Annotated[
        Optional[str],
        typer.Option(
            "--tuned-model", metavar="MODEL", help="Tuned model at the endpoint, instead of --adapter."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reproduce a published table on your copy of its data. Prints our numbers beside the published ones."""
    from polygraph.config import load_settings
    from polygraph.evaluate.extra import require_eval_extra
    from polygraph.evaluate.metrics.semantic_similarity import require_bert_score
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.evaluate.reproduce.run import data_files, find_table, run, select
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.models.open import open_chat

    if paper is None:
        list_tables(as_json)
        return
    if min(limit, trials) < 0:
        raise BadInput(f"--limit {limit} --trials {trials}: neither can be negative")
    found = find_table(paper, table or "")
    if data is None:
        raise BadInput(
            f"--data is missing. Table {found.name} of {paper} needs {found.data}; see: polygraph eval datasets"
        )
    if bertscore and not found.bert:
        raise BadInput(f"--bertscore: table {found.name} of {paper} has no BERTScore")
    if bertscore:
        require_bert_score()
    change = _tuned_settings(found, adapter, tuned_model)
    if not change:
        found = found.without_tuned()
    corpus, asked = data_files(data, found)
    questions = select(found, read_questions(asked), seed=seed, limit=limit) if asked else []
    settings = load_settings(
        {"max_cost": max_cost, "max_spend_tokens": max_spend_tokens, "profile": found.profile or None}
    )
    folder = output or Path(f"reproduce-{paper}-{found.name}")
    if dry_run:
        estimate_table(found, corpus, questions, folder, settings, trials, limit, judge, as_json)
        return
    require_eval_extra()
    with _experiments(found, corpus, folder, settings, change, as_json) as (experiment, open_document, tuned):
        figures = run(
            found,
            experiment,
            questions,
            open_document,
            open_chat(settings, judge) if judge else require_chat(experiment.models),
            seed=seed,
            trials=trials,
            limit=limit,
            bert=bertscore,
            tuned=tuned,
        )
    show_values(found, figures, settings.chat_model, bertscore, as_json)


def _tuned_settings(table: "Table", adapter: Path | None, tuned_model: str | None) -> dict[str, Any]:
    """Return what the settings of the tuned reader change; empty without one.

    Raises:
        BadInput: if two are named, or the table has none.
    """
    if adapter is None and tuned_model is None:
        return {}
    if adapter is not None and tuned_model is not None:
        raise BadInput("--adapter and --tuned-model name two tuned readers. Give one")
    if not table.has_tuned:
        raise BadInput(
            f"table {table.name} of {table.paper} has no tuned reader. Leave out the option that names one"
        )
    return {"adapter": adapter} if adapter is not None else {"chat_model": tuned_model}


@contextmanager
def _experiments(
    table: "Table", corpus: Path, folder: Path, settings: "Settings", change: dict[str, Any], quiet: bool
) -> "Iterator[tuple[Experiment, OpenDocument, Experiment | None]]":
    """Index the data of a table, and yield its experiment, what opens one document, and the tuned reader's experiment.

    Args:
        table: to be reproduced.
        corpus: its documents.
        folder: of index and study.
        settings: of the plain reader.
        change: of the settings for the tuned one; empty without one.
        quiet: whether no progress is shown.
    """
    from dataclasses import replace

    from polygraph.cli.progress import Bars
    from polygraph.evaluate.reproduce.run import ask_in_form
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.workspace.index import Index
    from polygraph.workspace.per_document import PerDocument

    def in_form(index: Index) -> "Experiment":
        study = index.experiment(folder / "study", progress=bars)
        return replace(study, ask=ask_in_form(index.retrieve, index.snapshot, index.models, table))

    @cache
    def documents() -> PerDocument:
        return PerDocument(index, corpus)  # the corpus is read only if each question is about one document

    @contextmanager
    def open_document(document: str) -> "Iterator[DocumentIndex]":
        with documents().opened(document, table.methods) as found:
            ask = ask_in_form(found.retrieve, lambda: found.index, index.models, table)
            yield replace(found, ask=ask)

    with (
        Bars(quiet=quiet) as bars,
        Index.open(folder / "index", settings=settings) as index,
        (
            Index.open(folder / "index", settings=settings.model_copy(update=change))
            if change
            else nullcontext()
        ) as with_tuned,
    ):
        require_chat(index.models)
        if table.scope != "single":
            index.add(corpus, methods=list(table.presets), progress=bars)
        yield in_form(index), open_document, in_form(with_tuned) if with_tuned is not None else None
