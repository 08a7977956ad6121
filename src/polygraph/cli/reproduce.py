"""The command `polygraph reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polygraph.cli.options import AdapterOption, CostOption, JsonOption, SpendOption
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.questions.file import Question
    from polygraph.evaluate.reproduce.measure import TableValue
    from polygraph.evaluate.reproduce.tables import Table
    from polygraph.evaluate.runs.by_document import DocumentIndex
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()


_COSTS = ("calls", "prompt_tokens", "completion_tokens", "cost")
_PICTURE = "picture"
"""Placeholder for a number that a paper gives only in a chart."""


@app.command()
def reproduce(
    paper: Annotated[Optional[str], typer.Argument(metavar="[PAPER", help="Paper.")] = None,
    table: Annotated[Optional[str], typer.Argument(metavar="TABLE]", help="Number of the table.")] = None,
    data: Annotated[
        Optional[Path],
        typer.Option(
            "--data", metavar="DIR", help="Your copy: corpus.jsonl and questions.jsonl, also as .gz."
        ),
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of index and study; default: reproduce-PAPER-TABLE.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", help="Maximum number of questions; default: as in the paper."),
    ] = 0,
    trials: Annotated[
        int, typer.Option("--trials", metavar="M", help="Rounds of the judges; default: as in the paper.")
    ] = 0,
    judge: Annotated[
        Optional[str],
        typer.Option("--judge", metavar="MODEL", help="Model that judges; default: the model that answers."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of sampled and generated questions.")] = 0,
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
    """Run a published table on your copy of its data. Prints our numbers beside the published ones."""
    from polygraph.config import load_settings
    from polygraph.evaluate.extra import require_eval_extra
    from polygraph.evaluate.metrics.semantic_similarity import require_bert_score
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.evaluate.reproduce.run import data_files, find_table, select

    if paper is None:
        _list(as_json)
        return
    if table is None:
        raise BadInput(f"no table of {paper} is named. List them with: polygraph reproduce")
    if min(limit, trials) < 0:
        raise BadInput(f"--limit {limit} --trials {trials}: neither can be negative")
    found = find_table(paper, table)
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
        _dry_run(found, corpus, questions, folder, settings, trials, limit, as_json)
        return
    require_eval_extra()
    figures = _run(
        found, corpus, questions, folder, settings, change, judge, seed, trials, limit, bertscore, as_json
    )
    _show(found, figures, settings.chat_model, bertscore, as_json)


# --- running ------------------------------------------------------------------------------------------


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


def _run(
    table: "Table",
    corpus: Path,
    questions: "list[Question]",
    folder: Path,
    settings: Any,
    change: dict[str, Any],
    judge: str | None,
    seed: int,
    trials: int,
    limit: int,
    bert: bool,
    quiet: bool,
) -> "list[TableValue]":
    from dataclasses import replace

    from polygraph.cli.progress import Bars
    from polygraph.evaluate.reproduce.run import ask_in_form, run
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.models.open import open_chat
    from polygraph.workspace.index import Index
    from polygraph.workspace.per_document import PerDocument

    with (
        Bars(quiet=quiet) as bars,
        Index.open(folder / "index", settings=settings) as index,
        (
            Index.open(folder / "index", settings=settings.model_copy(update=change))
            if change
            else nullcontext()
        ) as with_tuned,
    ):
        chat = require_chat(index.models)
        experiment = index.experiment(folder / "study", progress=bars)
        indexes = PerDocument(index, corpus) if table.scope == "single" else None
        if indexes is None:
            index.add(corpus, methods=list(table.presets), progress=bars)
            experiment = replace(
                experiment, ask=ask_in_form(index.retrieve, index.snapshot, index.models, table)
            )
        tuned = None
        if with_tuned is not None:
            tuned = replace(
                with_tuned.experiment(folder / "study", progress=bars),
                ask=ask_in_form(with_tuned.retrieve, with_tuned.snapshot, with_tuned.models, table),
            )

        @contextmanager
        def open_document(document: str) -> "Iterator[DocumentIndex]":
            assert indexes is not None  # noqa: S101 - called only if each question is about one document
            with indexes.opened(document, table.methods) as found:
                ask = ask_in_form(found.retrieve, lambda: found.index, index.models, table)
                yield replace(found, ask=ask)

        chosen = open_chat(settings, judge) if judge else chat
        return run(
            table,
            experiment,
            questions,
            open_document,
            chosen,
            seed=seed,
            trials=trials,
            limit=limit,
            bert=bert,
            tuned=tuned,
        )


# --- estimate -------------------------------------------------------------------------------------------


def _dry_run(
    table: "Table",
    corpus: Path,
    questions: "list[Question]",
    folder: Path,
    settings: Any,
    trials: int,
    limit: int,
    as_json: bool,
) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.reproduce.run import n_questions

    n = n_questions(table, questions, limit)
    with _unopened(folder / "index", settings) as index:
        rows = [
            *_index_and_answer_rows(index, table, corpus, questions, n),
            *_judging_rows(table, questions, settings, trials, limit),
        ]
        has_model = index.models.chat is not None
    complete = has_model and not any(row[name] is None for row in rows for name in _COSTS)
    total = {name: _sum_known([row[name] for row in rows]) for name in _COSTS}
    if as_json:
        head = {"paper": table.paper, "table": table.name, "questions": n}
        show.as_json({**head, "stages": rows, "total": total, "total_is_whole": complete})
        return
    show.out.print(
        f"{table.paper}, {table.place}: {n:,} questions, {len(table.methods)} methods", style="bold"
    )
    columns = ("stage", "calls", "tokens in", "tokens out", "cost")
    listed = [
        (r["stage"], *(_amount(r[name], name) for name in _COSTS))
        for r in [*rows, {"stage": "total" if complete else "total, at least", **total}]
    ]
    show.show_table(columns, listed, right=columns[1:])
    if has_model and total["cost"] is None:
        show.err.print(
            f"note: the price of {settings.chat_model or 'the model'} is not known. Name it in the setting prices, or "
            "in POLYGRAPH_PRICES, to include costs",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
    show.out.print("no model was called; docs/study.md explains the formulas", style="dim", markup=False)
    if not has_model:
        show.err.print(
            "note: no chat model is configured, so index and answers are estimated without one, but the run needs one. "
            "Set OPENAI_API_KEY or OPENAI_BASE_URL to include their calls",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )


def _index_and_answer_rows(
    index: "Index", table: "Table", corpus: Path, questions: "list[Question]", n: int
) -> "Iterator[dict[str, Any]]":
    """Yield the estimated cost of indexing, and of all answers by method."""
    estimate = index.estimate(corpus, methods=list(table.presets))
    answers = estimate.questions
    if table.scope == "single":
        with _typical_document(corpus, questions) as document:
            answers = index.estimate(document, methods=list(table.presets)).questions
    for line in (*estimate.lines, *answers):
        runs = sum(name.partition("#")[0] == line.method for name in table.methods)
        times = n * runs if line.stage == "question" else 1
        tokens_in, tokens_out = line.prompt_tokens, line.completion_tokens
        known = line.calls is not None and tokens_in is not None and tokens_out is not None
        yield {
            "stage": f"answers, {line.method}" if line.method else line.stage,
            "calls": round(times * line.calls.mid) if line.calls else None,
            "prompt_tokens": round(times * tokens_in.mid) if tokens_in else None,
            "completion_tokens": round(times * tokens_out.mid) if tokens_out else None,
            "cost": times * line.cost.mid if line.cost is not None and known else None,
        }


def _judging_rows(
    table: "Table", questions: "list[Question]", settings: Any, trials: int, limit: int
) -> "Iterator[dict[str, Any]]":
    """Yield the estimated cost of questions, alignment and judges."""
    from polygraph.evaluate.reproduce.run import judging_stages
    from polygraph.models.prices import PRICES, Price

    own = {name: Price(input=p.input, output=p.output) for name, p in settings.prices.items()}
    price = {**PRICES, **own}.get(settings.chat_model)
    for stage in judging_stages(table, questions, trials, limit):
        yield {
            "stage": stage.stage,
            "calls": stage.calls,
            "prompt_tokens": stage.prompt_tokens,
            "completion_tokens": stage.completion_tokens,
            "cost": price.cost(stage.prompt_tokens, stage.completion_tokens) if price else None,
        }


@contextmanager
def _typical_document(corpus: Path, questions: "list[Question]") -> "Iterator[Path]":
    """Yield a corpus of one document, of median length among those that questions are about.

    The cost of a question depends on the size of the index, and each document has its own index.
    """
    import json
    from tempfile import TemporaryDirectory

    from polygraph.evaluate.questions.document import document_of
    from polygraph.workspace.per_document import documents_of

    named = {document_of(q) for q in questions}
    lines = [line for name, line in documents_of(corpus).items() if name in named]
    if not lines:
        raise BadInput(
            f"{corpus} has none of the documents that the questions are about. Use corpus and questions of one data set"
        )
    lines.sort(key=lambda line: len(json.loads(line)["text"]))
    with TemporaryDirectory() as folder:
        place = Path(folder) / "corpus.jsonl"
        place.write_text(lines[len(lines) // 2], encoding="utf-8")
        yield place


def _unopened(folder: Path, settings: Any) -> "Index":
    """Open an index for an estimate, without creating it."""
    from polygraph.models.open import open_models
    from polygraph.workspace.index import Index

    if folder.exists():
        return Index.open(folder, settings=settings)
    return Index.open(folder, settings=settings, models=open_models(settings, None))


def _sum_known(values: "list[float | None]") -> float | None:
    """Return the sum of the values that are known; None if none is, or if those known are all 0."""
    known = [value for value in values if value is not None]
    # Steps that call no model cost nothing, which says nothing about the others.
    return sum(known) if any(known) or len(known) == len(values) else None


def _amount(value: float | None, name: str) -> str:
    if value is None:
        return "unknown"
    return f"${value:,.2f}" if name == "cost" else f"{value:,}"


# --- output ---------------------------------------------------------------------------------------------


def _list(as_json: bool) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.reproduce.tables import TABLES

    if as_json:
        show.as_json(
            [
                {
                    "paper": t.paper,
                    "table": t.name,
                    "place": t.place,
                    "title": t.title,
                    "data": t.data,
                    "methods": list(t.methods),
                    "models": list(t.numbers),
                    "questions": t.n or None,
                    "pictured": t.pictured,
                }
                for t in TABLES
            ]
        )
        return
    for t in TABLES:
        show.out.print(f"{t.paper} {t.name}: {t.title}", style="bold", markup=False, soft_wrap=True)
        known = any(v is not None for rows in t.numbers.values() for values in rows.values() for v in values)
        picture = f"; {'some ' if known else ''}numbers only in a chart" if t.pictured else ""
        show.out.print(f"  {t.place}{picture}; {t.data}", style="dim", markup=False, soft_wrap=True)
    show.out.print("polygraph reproduce PAPER TABLE --data DIR --dry-run", markup=False, soft_wrap=True)


def _show(table: "Table", figures: "list[TableValue]", chat: str, bert: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from polygraph.cli.render import answer as show

    if as_json:
        show.as_json(
            {
                "paper": table.paper,
                "table": table.name,
                "place": table.place,
                "model": chat,
                "pictured": table.pictured,
                "figures": [asdict(f) for f in figures],
                "differs": list(table.differs),
            }
        )
        return
    models = list(table.numbers)
    head = ("system", "method", "figure", *models, f"ours ({chat}) [95 %]", "questions")
    rows = []
    for f in figures:
        unknown = _PICTURE if table.pictured else "–"
        published = [_number(f.published.get(model), unknown) for model in models]
        ours = (
            "–"
            if f.ours is None
            else f"{_number(f.ours.mean)} [{_number(f.ours.low)}, {_number(f.ours.high)}]"
        )
        rows.append((f.system, f.method or "not run", f.column, *published, ours, str(f.n)))
    title = f"{table.paper}, {table.place}: {table.title}"
    if table.judging is not None:
        reference = table.judging.reference
        title += f" ({reference} against each)" if reference else " (every pair; rates of the first)"
    show.out.print(title, style="bold", markup=False, soft_wrap=True)
    show.show_table(head, rows, right=head[3:])
    for sentence in (*_remarks(table, bert), *table.differs):
        show.err.print(f"note: {sentence}", style="yellow", markup=False, soft_wrap=True)


def _remarks(table: "Table", bert: bool) -> "Iterator[str]":
    """Yield notes on numbers that are unknown or were not measured."""
    if table.pictured:
        yield (
            f"the paper gives the numbers marked {_PICTURE!r} only in a chart ({table.place}); they are not estimated "
            "from it"
        )
    if table.bert and not bert:
        yield "BERTScore was not measured. Add --bertscore, which needs the package bert-score and a model of 1.4 GB"


def _number(value: float | None, unknown: str = "–") -> str:
    if value is None:
        return unknown
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.3f}"
