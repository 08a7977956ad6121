"""The commands of a study: `polygraph eval questions`, `answers`, `judge`, `run` and `report`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polygraph.cli.eval_retrieval import PerDocumentOption
from polygraph.cli.open_index import open_index
from polygraph.cli.options import (
    BatchOption,
    CostOption,
    FormOption,
    IndexOption,
    JsonOption,
    MarginOption,
    OfflineOption,
    SpendOption,
    TokensOption,
    caps,
    split_names,
)
from polygraph.cli.study_options import (
    AgainOption,
    AlignOption,
    AnswerTemperatureOption,
    JudgeOption,
    KindOption,
    MethodsOption,
    NewAnswersOption,
    NumberOption,
    OutputOption,
    OwnOption,
    ProtocolOption,
    RepeatsOption,
    SeedOption,
    TemperatureOption,
    ToleranceOption,
    TrialsOption,
    instances_of,
    split_instances,
)
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.judging.pairwise import JudgingDesign
    from polygraph.evaluate.records import StudyAnswer
    from polygraph.evaluate.runs.answer_steps import AnswerOptions
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.models import ChatModel
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()


@app.command()
def questions(
    output: OutputOption,
    index: IndexOption = None,
    kind: KindOption = "grounded",
    n: NumberOption = 50,
    seed: SeedOption = 0,
    own: OwnOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Generate the questions of a study from the index. Your own need no index."""
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.evaluate.runs.study_folder import StudyFolder

    if own is not None:
        found = StudyFolder(output).import_questions(read_questions(own))
    else:
        flags = caps(max_cost, max_spend_tokens, batch, offline)
        with open_experiment(index, output, as_json, **flags) as (_, study):
            _questions(study, kind, n, seed, None)
            found = study.questions()
    show_result(as_json, {"questions": len(found), "types": _types(found), "study": str(output)})


@app.command()
def answers(
    output: OutputOption,
    methods: MethodsOption,
    index: IndexOption = None,
    per_document: PerDocumentOption = None,
    max_tokens: TokensOption = None,
    form: FormOption = None,
    temperature: AnswerTemperatureOption = None,
    new_answers: NewAnswersOption = False,
    trials: TrialsOption = None,
    again: AgainOption = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer the questions of a study with some methods. More may be added later."""
    from polygraph.evaluate.runs.answer_steps import AnswerOptions

    flags = caps(max_cost, max_spend_tokens, batch, offline)
    names = instances_of(methods)
    n_sets = _design("unbiased", trials, None).trials if new_answers else 1
    if trials is not None and not new_answers:
        raise BadInput("--trials says how many sets of answers to make; it needs --new-answers")
    options = AnswerOptions(
        temperature=temperature, max_tokens=max_tokens, form=form, trials=n_sets, again=again
    )
    with open_experiment(index, output, as_json, new=per_document is not None, **flags) as (opened, study):
        found = _answer(opened, study, names, per_document, options)
    show_result(
        as_json, {"answers": len(found), "refused": sum(a.refused for a in found), "study": str(output)}
    )


@app.command()
def judge(
    output: OutputOption,
    index: IndexOption = None,
    methods: MethodsOption = "",
    judges: JudgeOption = None,
    protocol: ProtocolOption = "unbiased",
    trials: TrialsOption = None,
    repeats: RepeatsOption = None,
    temperature: TemperatureOption = 0.7,
    align: AlignOption = None,
    tolerance: ToleranceOption = 10,
    new_answers: NewAnswersOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the number of calls.")] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge the answers of a study pair by pair. Lengths are aligned, and both orders are judged repeatedly."""
    flags = caps(max_cost, max_spend_tokens, batch, offline)
    design = _design(protocol, trials, repeats)
    with open_existing(index, output, as_json, **flags) as (opened, study):
        _judge(
            opened,
            study,
            split_instances(methods),
            judges,
            design,
            temperature,
            align,
            tolerance,
            new_answers,
            dry_run,
            as_json,
        )


@app.command()
def run(
    output: OutputOption,
    methods: MethodsOption,
    index: IndexOption = None,
    per_document: PerDocumentOption = None,
    max_tokens: TokensOption = None,
    form: FormOption = None,
    answer_temperature: AnswerTemperatureOption = None,
    again: AgainOption = False,
    kind: KindOption = "grounded",
    n: NumberOption = 50,
    seed: SeedOption = 0,
    own: OwnOption = None,
    judges: JudgeOption = None,
    protocol: ProtocolOption = "unbiased",
    trials: TrialsOption = None,
    repeats: RepeatsOption = None,
    temperature: TemperatureOption = 0.7,
    align: AlignOption = None,
    tolerance: ToleranceOption = 10,
    new_answers: NewAnswersOption = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run questions, answers and judgements. If interrupted, a later run resumes without paying twice."""
    from polygraph.evaluate.extra import require_eval_extra
    from polygraph.evaluate.runs.answer_steps import AnswerOptions

    flags = caps(max_cost, max_spend_tokens, batch, offline)
    # Everything is checked before any model is paid.
    names, design = instances_of(methods), _design(protocol, trials, repeats)
    if len(names) < 2:
        raise BadInput(
            f"-m {methods} names one method, and judging needs at least two. List them with: polygraph methods"
        )
    require_eval_extra()
    _check_new_answers(design, new_answers)
    options = AnswerOptions(
        temperature=answer_temperature,
        max_tokens=max_tokens,
        form=form,
        trials=design.trials if new_answers else 1,
        again=again,
    )

    def check(opened: "Index") -> None:
        from polygraph.evaluate.questions.generate import require_generator
        from polygraph.evaluate.runs.study_steps import require_chat

        if align or (align is None and design.protocol == "unbiased"):
            require_chat(opened.models)
        _judges(opened, judges)
        if own is None and kind != "sentences":
            require_generator(opened.models)

    new = per_document is not None
    with open_experiment(index, output, as_json, new=new, check=check, **flags) as (opened, study):
        _questions(study, kind, n, seed, own)
        _answer(opened, study, names, per_document, options)
        _judge(
            opened,
            study,
            names,
            judges,
            design,
            temperature,
            align,
            tolerance,
            new_answers,
            False,
            as_json,
        )


@app.command()
def report(
    output: OutputOption,
    index: IndexOption = None,
    protocol: Annotated[
        Literal[
            "unbiased",
            "lightrag",
            "fg-rag",
            "rag-vs-graphrag",
            "benchmark-qed",
            "differential",
            "listwise",
            "people",
        ],
        typer.Option("--protocol", help="Use judgements by this protocol; people: ratings from sheets."),
    ] = "unbiased",
    title: Annotated[str, typer.Option("--title", help="Title of the page.")] = "Which method to trust",
    bert: Annotated[
        Literal["no", "raw", "rescaled"],
        typer.Option("--bertscore", help="Also compute BERTScore; needs the package bert-score."),
    ] = "no",
    margin: MarginOption = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Summarise a study. Writes conclusions, charts, tables and all answers as HTML, Markdown and JSON."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.reports.study_report import json_report

    with open_existing(index, output, as_json, offline=True) as (_, study):
        found = study.report(protocol=protocol, title=title, bert=bert, margin=margin / 100)
    if as_json:
        show.as_json(json_report(found))
        return
    for sentence in found.conclusions:
        show.out.print(f"- {sentence}", markup=False, soft_wrap=True)
    for note in found.findings.notes:
        show.err.print(f"note: {note}", style="yellow", markup=False, soft_wrap=True)
    show.out.print(f"report: {study.report_file(protocol)}", markup=False, soft_wrap=True)


# --- parts --------------------------------------------------------------------------------------------


@contextmanager
def open_experiment(
    index: Path | None,
    output: Path,
    quiet: bool,
    *,
    new: bool = False,
    check: "Callable[[Index], None]" = lambda _: None,
    **flags: Any,
) -> "Iterator[tuple[Index, Experiment]]":
    """Open an index and an experiment over it, with progress bars.

    Args:
        index: folder of the index; None: that of the settings.
        output: folder of the study; created after `check`.
        quiet: True without progress bars.
        new: True if the index need not exist yet.
        check: raises an error if the command cannot succeed with the models of the index.
        flags: settings by name.
    """
    from polygraph.cli.progress import Bars
    from polygraph.config import load_settings
    from polygraph.workspace.per_document import FOLDER

    # A folder with an index per document need not have an index of its own.
    per_document = new or ((index or load_settings({}).index) / FOLDER).is_dir()
    with (
        open_index(index, new=per_document, **flags) as opened,
        Bars(quiet=quiet, spent=lambda: opened.models.calls.spent) as bars,
    ):
        check(opened)
        yield opened, opened.experiment(output, progress=bars)


def open_existing(
    index: Path | None, output: Path, quiet: bool, **flags: Any
) -> "AbstractContextManager[tuple[Index, Experiment]]":
    """Open an experiment whose study must exist, so that a mistyped name creates no folder."""
    from polygraph.evaluate.runs.study_folder import open_study

    return open_experiment(index, open_study(output).path, quiet, **flags)


def _questions(study: "Experiment", kind: Any, n: int, seed: int, own: Path | None) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.questions.file import read_questions

    if own is not None:
        study.import_questions(read_questions(own))
        return
    if n < 1:
        raise BadInput(f"-n {n} asks for no questions. Give at least 1")
    for note in study.generate_questions(kind, n=n, seed=seed).notes:
        show.err.print(f"note: {note}", style="yellow", markup=False, soft_wrap=True)


def _answer(
    opened: "Index",
    study: "Experiment",
    names: list[str],
    per_document: Path | None,
    options: "AnswerOptions",
) -> "list[StudyAnswer]":
    """Answer from the index, or each question from the index of its own document."""
    study.folder.fix_settings("answers", {"per_document": per_document is not None})
    if per_document is None:
        return study.answer(names, options)
    from polygraph.workspace.per_document import PerDocument

    indexes = PerDocument(opened, per_document)
    return indexes.answer(study.folder, study.questions(), names, study.progress, options)


def _design(protocol: str, trials: int | None, repeats: int | None) -> "JudgingDesign":
    """Return the design of a protocol; `listwise` has only trials."""
    from dataclasses import replace

    from polygraph.evaluate.judging.pairwise import DESIGNS, JudgingDesign

    design = DESIGNS.get(protocol) or JudgingDesign(protocol=protocol, repeats=1, trials=1)
    for name, n in (("trials", trials), ("repeats", repeats)):
        if n is not None and n < 1:
            raise BadInput(f"--{name} {n} asks for no judgements. Give at least 1")
    design = replace(design, trials=trials or design.trials, repeats=repeats or design.repeats)
    if design.orders == "alternate" and design.trials % 2:
        raise BadInput(
            f"--trials {design.trials} is odd, and {protocol} swaps the order in every other trial. Give an even number"
        )
    return design


def _judge(
    opened: "Index",
    study: "Experiment",
    names: list[str],
    judges: str | None,
    design: "JudgingDesign",
    temperature: float,
    align: bool | None,
    tolerance: int,
    new_answers: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    if dry_run:
        _count_calls(opened, study, names, judges, design, as_json)
        return
    _check_new_answers(design, new_answers)
    listed = _judges(opened, judges)
    if design.protocol == "listwise":
        found = study.judge_lists(listed, methods=names, trials=design.trials, temperature=temperature)
    else:
        found = study.judge(
            listed,
            design,
            methods=names,
            temperature=temperature,
            align=align,
            tolerance=tolerance,
            new_answers=new_answers,
        )
    show_result(
        as_json,
        {
            "judgements": len(found),
            "unusable": sum(bool(j.problem) for j in found),
            "pairs_discarded": sum(p.how == "discarded" for p in study.folder.aligned()),
            "judges": [chat.name for chat in listed],
            "study": str(study.folder.path),
        },
    )


def _judges(opened: "Index", judges: str | None) -> "list[ChatModel]":
    """Return the models named by --judge, or the model that answers."""
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.models.open import open_chat

    named = [open_chat(opened.settings, name) for name in split_names(judges or "")]
    return named or [require_chat(opened.models)]


def _count_calls(
    opened: "Index",
    study: "Experiment",
    names: list[str],
    judges: str | None,
    design: "JudgingDesign",
    as_json: bool,
) -> None:
    """Print the number of calls that judges would take; it needs no model."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.records import study_pairs
    from polygraph.evaluate.runs.experiment import n_judge_calls

    chat = opened.models.chat
    named = split_names(judges or "") or ([chat.name] if chat is not None else [])
    methods = names or list(dict.fromkeys(a.method for a in study.folder.answers()))
    n_pairs = len(study_pairs(methods))
    calls = n_judge_calls(len(study.questions()), len(methods), max(1, len(named)), design, n_pairs=n_pairs)
    show_result(as_json, {"judge_calls": calls, "judges": named})
    notes = ["calls written to batch files usually cost half: --batch DIR"]
    if not named:
        notes.insert(0, "no chat model is configured; the calls are those of one judge")
    for note in notes:
        show.err.print(f"note: {note}", style="yellow", markup=False, soft_wrap=True)


def _check_new_answers(design: "JudgingDesign", new_answers: bool) -> None:
    if new_answers and design.protocol == "listwise":
        raise BadInput("--new-answers is for protocols that judge pairs of answers, and listwise does not")


def _types(questions: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for question in questions:
        found[question.type or "no type"] = found.get(question.type or "no type", 0) + 1
    return found


def show_result(as_json: bool, values: dict[str, Any]) -> None:
    """Print the result of a command as JSON, or one value per line."""
    from polygraph.cli.render import answer as show

    if as_json:
        show.as_json(values)
        return
    for key, value in values.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        shown = ", ".join(shown) if isinstance(shown, list) else shown
        show.out.print(f"{key.replace('_', ' ')}: {shown}", markup=False, soft_wrap=True)
