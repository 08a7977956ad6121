"""The command `polygraph finetune compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from polygraph.cli.options import CostOption, IndexOption, JsonOption, SpendOption, caps, split_names
from polygraph.errors import BadInput, quoted

if TYPE_CHECKING:
    from polygraph.evaluate.questions.file import Question
    from polygraph.finetune.compare.run import ReaderComparison
    from polygraph.records import ReaderForm

app: typer.Typer = typer.Typer()


@app.command()
def compare(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `finetune data`.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the study and the report.")
    ],
    adapter: Annotated[
        Optional[Path], typer.Option("--adapter", metavar="DIR", help="Folder of `finetune train`.")
    ] = None,
    tuned_model: Annotated[
        Optional[str],
        typer.Option(
            "--tuned-model", metavar="MODEL", help="Tuned model at the endpoint, instead of --adapter."
        ),
    ] = None,
    index: IndexOption = None,
    methods: Annotated[
        str, typer.Option("--methods", "-m", metavar="METHOD,METHOD", help="What retrieves.")
    ] = "naive:graft,graft:paper",
    questions: Annotated[
        Optional[Path],
        typer.Option(
            "--questions",
            metavar="FILE.jsonl",
            help="Other questions, with gold; default: the held-out questions of DIR.",
        ),
    ] = None,
    form: Annotated[
        Optional[Literal["raft", "graft"]],
        typer.Option("--form", help="Form that the reader was tuned for; default: that of DIR."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="N", min=0, help="Maximum number of questions, sampled at random; 0: all."
        ),
    ] = 0,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the sample and the tests.", min=0)
    ] = 0,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the reader before and after training. Both read the same retrievals, for held-out questions."""
    from polygraph.cli.progress import Bars
    from polygraph.cli.render import answer as show
    from polygraph.config import load_settings
    from polygraph.evaluate.extra import require_eval_extra
    from polygraph.evaluate.questions.file import read_questions, sample_questions
    from polygraph.finetune.compare.report import conclusions, report_json
    from polygraph.models.providers.gguf import training_report

    if (adapter is None) == (tuned_model is None):
        raise BadInput(
            "name the tuned reader: either --adapter DIR, as `polygraph finetune train` writes it, or --tuned-model "
            "MODEL, which the endpoint serves"
        )
    require_eval_extra()
    asked = read_questions(questions or data / "questions.jsonl")
    asked = sample_questions(asked, limit or len(asked), seed)
    settings = load_settings({"index": index, **caps(max_cost, max_spend_tokens, None, False)})
    settings = settings.model_copy(update={"adapter": None, "reader_form": form or _form_of(data)})
    change: dict[str, Any] = {"adapter": adapter} if adapter is not None else {"chat_model": tuned_model}
    training = training_report(adapter) if adapter is not None else {}
    with Bars(quiet=as_json) as bars:
        found = _compare(output, asked, split_names(methods), settings, change, seed, bars)
    _write(output, found, training)
    if as_json:
        show.as_json(report_json(found, training))
        return
    for sentence in conclusions(found):
        show.out.print(sentence, soft_wrap=True)
    show.out.print(f"{found.separation.sentence}", soft_wrap=True)
    show.out.print(f"written to {output / 'compare.md'}", soft_wrap=True)


def _compare(
    output: Path,
    questions: "list[Question]",
    methods: list[str],
    settings: Any,
    change: dict[str, Any],
    seed: int,
    bars: Any,
) -> "ReaderComparison":
    from polygraph.evaluate.runs.study_folder import StudyFolder
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.finetune.compare.run import Reader, compare_readers
    from polygraph.workspace.index import Index

    with (
        Index.open(settings.index, settings=settings) as plain,
        Index.open(settings.index, settings=settings.model_copy(update=change)) as tuned,
    ):
        for each in (plain, tuned):
            require_chat(each.models)
        return compare_readers(
            StudyFolder(output),
            questions,
            methods,
            Reader(ask=plain.ask, models=plain.models),
            Reader(ask=tuned.ask, models=tuned.models),
            plain.snapshot,
            bars,
            seed=seed,
        )


def _form_of(data: Path) -> "ReaderForm":
    """Return the form of the rows of a folder.

    Raises:
        BadInput: if the folder is not one of `polygraph finetune data`.
    """
    import json

    try:
        form = json.loads((data / "data.json").read_text(encoding="utf-8"))["settings"]["form"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        form = ""
    if form == "raft":
        return "raft"
    if form == "graft":
        return "graft"
    raise BadInput(
        f"{data} does not say which form its rows have. Make rows with: polygraph finetune data "
        f"--output {quoted(data)}; or name the form with --form raft"
    )


def _write(output: Path, found: "ReaderComparison", training: dict[str, Any]) -> None:
    from polygraph.errors import StorageFailed
    from polygraph.finetune.compare.report import as_text, pictures_of, report_json, report_page

    pictures = pictures_of(found, training)
    texts = {
        **pictures,
        "compare.json": as_text(report_json(found, training)),
        "compare.md": report_page(found, training, list(pictures)),
    }
    try:
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageFailed(
            f"{output} cannot be written: {error.strerror or error}. Free some space and run the command again; "
            "answers are kept"
        ) from error
