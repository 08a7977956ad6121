"""What `polygraph reproduce` would cost: index, answers, judges."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.questions.file import Question
    from polygraph.evaluate.reproduce.tables import Table
    from polygraph.models import ChatModel
    from polygraph.models.prices import Price
    from polygraph.workspace.index import Index

_COSTS = ("calls", "prompt_tokens", "completion_tokens", "cost")


def estimate_table(
    table: "Table",
    corpus: Path,
    questions: "list[Question]",
    folder: Path,
    settings: Any,
    trials: int,
    limit: int,
    judge: str | None,
    as_json: bool,
) -> None:
    """Print what running a table would cost, stage by stage."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.reproduce.run import n_questions
    from polygraph.models.open import open_chat
    from polygraph.text.prose import count_noun

    n = n_questions(table, questions, limit)
    with _unopened(folder / "index", settings) as index:
        chat = index.models.chat
        judging = open_chat(settings, judge) if judge and chat is not None else chat
        rows = [
            *_index_and_answer_rows(index, table, corpus, questions, n),
            *_judging_rows(
                table, questions, _price(judging, settings), _price(chat, settings), trials, limit
            ),
        ]
        has_model = chat is not None
    complete = has_model and not any(row[name] is None for row in rows for name in _COSTS)
    total = {name: _sum_known([row[name] for row in rows]) for name in _COSTS}
    if as_json:
        head = {"paper": table.paper, "table": table.name, "questions": n}
        show.as_json({**head, "stages": rows, "total": total, "total_is_whole": complete})
        return
    show.out.print(
        f"{table.paper}, {table.place}: {count_noun(n, 'question')}, {count_noun(len(table.methods), 'method')}",
        style="bold",
    )
    columns = ("stage", "calls", "tokens in", "tokens out", "cost")
    listed = [
        (r["stage"], *(_amount(r[name], name) for name in _COSTS))
        for r in [*rows, {"stage": "total" if complete else "total, at least", **total}]
    ]
    show.show_table(columns, listed, right=columns[1:])
    if has_model and total["cost"] is None:
        show.warn(
            f"note: the price of {settings.chat_model or 'the model'} is not known. Name it in the setting prices, or "
            "in POLYGRAPH_PRICES, to include costs",
        )
    show.out.print("no model was called; docs/study.md explains the formulas", style="dim")
    if not has_model:
        show.warn(
            "note: no chat model is configured, so index and answers are estimated without one, but the run needs one. "
            "Set OPENAI_API_KEY or OPENAI_BASE_URL to include their calls",
        )


def _index_and_answer_rows(
    index: "Index", table: "Table", corpus: Path, questions: "list[Question]", n: int
) -> "Iterator[dict[str, Any]]":
    """Yield the estimated cost of indexing, and of all answers by method."""
    from polygraph.evaluate.records import method_of

    estimate = index.estimate(corpus, methods=list(table.presets))
    answers = estimate.questions
    if table.scope == "single":
        with _typical_document(corpus, questions) as document:
            answers = index.estimate(document, methods=list(table.presets)).questions
    for line in (*estimate.lines, *answers):
        runs = sum(method_of(name) == line.method for name in table.methods)
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


def _price(model: "ChatModel | None", settings: Any) -> "Price | None":
    """Return the price of a model; of none, that of the model that the settings name."""
    from polygraph.models.open import prices_of
    from polygraph.models.prices import price_of
    from polygraph.models.retry import price_for

    prices = prices_of(settings)
    return price_for(model, prices) if model is not None else price_of(settings.chat_model, prices)


def _judging_rows(
    table: "Table",
    questions: "list[Question]",
    judge_price: "Price | None",
    price: "Price | None",
    trials: int,
    limit: int,
) -> "Iterator[dict[str, Any]]":
    """Yield the estimated cost of questions, alignment and judges; all but the judges use the model that answers."""
    from polygraph.evaluate.reproduce.run import judging_stages

    for stage in judging_stages(table, questions, trials, limit):
        paid = judge_price if stage.stage == "judge" else price
        yield {
            "stage": stage.stage,
            "calls": stage.calls,
            "prompt_tokens": stage.prompt_tokens,
            "completion_tokens": stage.completion_tokens,
            "cost": paid.cost(stage.prompt_tokens, stage.completion_tokens) if paid else None,
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
