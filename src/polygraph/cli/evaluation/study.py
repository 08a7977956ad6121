"""The commands of a study: `polygraph eval questions`, `answers`, `judge`, `run` and `report`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polygraph.cli.evaluation.judging import (
    Judging,
    check_new_answers,
    count_judge_calls,
    design_of,
    judge_study,
    judges_of,
)
from polygraph.cli.evaluation.open_study import open_existing, open_experiment, show_result
from polygraph.cli.evaluation.options import (
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
    PerDocumentOption,
    Protocol,
    ProtocolOption,
    RepeatsOption,
    SeedOption,
    TemperatureOption,
    ToleranceOption,
    TrialsOption,
    instances_of,
    split_instances,
)
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
)
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.records import StudyAnswer
    from polygraph.evaluate.runs.answer_steps import AnswerOptions
    from polygraph.evaluate.runs.experiment import Experiment
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
    """Generate the questions of a study from the index. Your own questions need no index."""
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.evaluate.runs.study_folder import StudyFolder

    if own is not None:
        found = StudyFolder(output).import_questions(read_questions(own))
    else:
        flags = caps(max_cost, max_spend_tokens, batch, offline)
        with open_experiment(index, output, as_json, **flags) as (_, study):
            _questions(study, kind, n, seed, None)
            found = study.questions()
    types = Counter(q.type or "no type" for q in found)
    shown = {"types": types} if as_json or types.keys() != {"no type"} else {}
    show_result(as_json, {"questions": len(found), **shown, "study": str(output)})


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
    """Answer the questions of a study with several methods. More can be added later."""
    from polygraph.evaluate.runs.answer_steps import AnswerOptions

    flags = caps(max_cost, max_spend_tokens, batch, offline)
    names = instances_of(methods)
    n_sets = design_of("unbiased", trials, None).trials if new_answers else 1
    if trials is not None and not new_answers:
        raise BadInput("--trials says how many sets of answers to make; it needs --new-answers")
    options = AnswerOptions(
        temperature=temperature, max_tokens=max_tokens, form=form, trials=n_sets, again=again
    )
    with open_existing(index, output, as_json, new=per_document is not None, **flags) as (opened, study):
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
    judging = Judging(
        judges=judges,
        design=design_of(protocol, trials, repeats),
        temperature=temperature,
        align=align,
        tolerance=tolerance,
        new_answers=new_answers,
    )
    with open_existing(index, output, as_json, **flags) as (opened, study):
        names = split_instances(methods)
        if dry_run:
            count_judge_calls(opened, study, names, judging, as_json)
            return
        judge_study(opened, study, names, judging, as_json)


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
    names = instances_of(methods)
    judging = Judging(
        judges=judges,
        design=design_of(protocol, trials, repeats),
        temperature=temperature,
        align=align,
        tolerance=tolerance,
        new_answers=new_answers,
    )
    if len(names) < 2:
        raise BadInput(
            f"-m {methods} names one method, and judging needs at least two. List them with: polygraph methods"
        )
    require_eval_extra()
    check_new_answers(judging)
    options = AnswerOptions(
        temperature=answer_temperature,
        max_tokens=max_tokens,
        form=form,
        trials=judging.design.trials if new_answers else 1,
        again=again,
    )

    def check(opened: "Index") -> None:
        from polygraph.evaluate.questions.generate import require_generator
        from polygraph.evaluate.runs.study_steps import require_chat

        if align or (align is None and protocol == "unbiased"):
            require_chat(opened.models)
        judges_of(opened, judges)
        if own is None and kind != "sentences":
            require_generator(opened.models)

    new = per_document is not None
    with open_experiment(index, output, as_json, new=new, check=check, **flags) as (opened, study):
        _questions(study, kind, n, seed, own)
        _answer(opened, study, names, per_document, options)
        judge_study(opened, study, names, judging, as_json)


@app.command()
def report(
    output: OutputOption,
    index: IndexOption = None,
    protocol: Annotated[
        Literal[Protocol, "people"],
        typer.Option("--protocol", help="Use judgements by this protocol; people: ratings from sheets."),
    ] = "unbiased",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Title of the page.")
    ] = "Which method to trust",
    bert: Annotated[
        Literal["no", "raw", "rescaled"],
        typer.Option("--bertscore", help="Also compute BERTScore; needs the package bert-score."),
    ] = "no",
    margin: MarginOption = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Summarise a study. Writes conclusions, charts, tables and all answers as HTML, Markdown and JSON."""
    from polygraph.cli.render import answer as show
    from polygraph.config import load_settings
    from polygraph.evaluate.reports.study_report import json_report
    from polygraph.models.open import local_embedders

    settings = load_settings({})
    # A study may be read where its index is not.
    unnamed = index is None and "index" not in settings.model_fields_set and not settings.index.exists()
    # Answers are compared without an endpoint, whatever made the vectors of the index.
    flags = {"offline": True, **local_embedders()}
    with open_existing(index, output, as_json, new=unnamed, **flags) as (_, study):
        found = study.report(protocol=protocol, title=title, bert=bert, margin=margin / 100)
    if as_json:
        show.as_json(json_report(found))
        return
    for sentence in found.conclusions:
        show.out.print(f"- {sentence}", soft_wrap=True)
    for note in found.findings.notes:
        show.warn(f"note: {note}")
    show.out.print(f"report: {study.report_file(protocol)}", soft_wrap=True)


# --- parts --------------------------------------------------------------------------------------------


def _questions(study: "Experiment", kind: Any, n: int, seed: int, own: Path | None) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.questions.file import read_questions

    if own is not None:
        study.import_questions(read_questions(own))
        return
    if n < 1:
        raise BadInput(f"-n {n} asks for no questions. Give at least 1")
    for note in study.generate_questions(kind, n=n, seed=seed).notes:
        show.warn(f"note: {note}")


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
