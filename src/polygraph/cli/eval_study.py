"""The commands of a study: `polygraph eval questions`, `answers`, `judge` and `run`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from polygraph.cli.eval_retrieval import PerDocumentOption
from polygraph.cli.open_index import open_index
from polygraph.cli.options import (
    BatchOption,
    CostOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    SpendOption,
    caps,
    methods_of,
    split_names,
)
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.judging.pairwise import Design
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.evaluate.runs.study_folder import StudyAnswer
    from polygraph.workspace.index import Index

app: typer.Typer = typer.Typer()

OutputOption = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Folder of the study; a later run goes on from it."),
]
KindOption = Annotated[
    Literal["grounded", "summary", "sentences"],
    typer.Option(
        "--kind", help="grounded or summary: posed by a model; sentences: without one, with gold passages."
    ),
]
NumberOption = Annotated[int, typer.Option("-n", metavar="N", help="Questions for each level or kind.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Of everything random.")]
OwnOption = Annotated[
    Optional[Path],
    typer.Option("--questions", metavar="FILE.jsonl", help="Questions of your own instead of new ones."),
]
MethodsOption = Annotated[
    str, typer.Option("-m", "--methods", metavar="METHOD,...", help="Methods to compare.")
]
JudgeOption = Annotated[
    Optional[str],
    typer.Option("--judge", metavar="MODEL,...", help="Models that judge; default: the one that answers."),
]
ProtocolOption = Annotated[
    Literal["unbiased", "lightrag", "fg-rag", "rag-vs-graphrag", "benchmark-qed", "differential", "listwise"],
    typer.Option("--protocol", help="How answers are judged; those of the papers are for comparison."),
]
TrialsOption = Annotated[
    Optional[int], typer.Option("--trials", metavar="M", help="Rounds over all questions (unbiased: 25).")
]
RepeatsOption = Annotated[
    Optional[int],
    typer.Option("--repeats", metavar="N", help="Judgements of each order in a round (unbiased: 2)."),
]
TemperatureOption = Annotated[float, typer.Option("--temperature", help="Of the judges.")]
AlignOption = Annotated[
    Optional[bool],
    typer.Option(
        "--align/--no-align", help="Bring answers to equal length before they are judged (unbiased: yes)."
    ),
]
ToleranceOption = Annotated[
    int, typer.Option("--tolerance", metavar="WORDS", help="By how much the lengths of a pair may differ.")
]


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
    """Make the questions of a study from the index, or take your own, which needs no index."""
    from polygraph.evaluate.questions.file import read_questions
    from polygraph.evaluate.runs.study_folder import Study
    from polygraph.evaluate.study_questions import take

    if own is not None:
        found = take(Study(output), read_questions(own))
    else:
        flags = caps(max_cost, max_spend_tokens, batch, offline)
        with open_study(index, output, as_json, **flags) as (_, study):
            _questions(study, kind, n, seed, None)
            found = study.questions()
    tell(as_json, {"questions": len(found), "types": _types(found), "study": str(output)})


@app.command()
def answers(
    output: OutputOption,
    methods: MethodsOption,
    index: IndexOption = None,
    per_document: PerDocumentOption = None,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer the questions of a study with some methods; more methods may be added later."""
    flags = caps(max_cost, max_spend_tokens, batch, offline)
    names = methods_of(methods)
    with open_study(index, output, as_json, new=per_document is not None, **flags) as (opened, study):
        found = _answer(opened, study, names, per_document)
    tell(as_json, {"answers": len(found), "refused": sum(a.refused for a in found), "study": str(output)})


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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many calls it takes.")] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge the answers of a study pair by pair: equal lengths, both orders, repeats, ties, trials."""
    flags = caps(max_cost, max_spend_tokens, batch, offline)
    design = _design(protocol, trials, repeats)
    with study_there(index, output, as_json, **flags) as (opened, study):
        _judge(
            opened,
            study,
            split_names(methods),
            judges,
            design,
            temperature,
            align,
            tolerance,
            dry_run,
            as_json,
        )


@app.command()
def run(
    output: OutputOption,
    methods: MethodsOption,
    index: IndexOption = None,
    per_document: PerDocumentOption = None,
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
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    batch: BatchOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
) -> None:
    """Questions, answers and judgements in one go; stopped anywhere, it goes on without paying again."""
    from polygraph.evaluate.statistics.paired_tests import require_extra

    flags = caps(max_cost, max_spend_tokens, batch, offline)
    # All that can be wrong is found out before anything is paid.
    names, design = methods_of(methods), _design(protocol, trials, repeats)
    if len(names) < 2:
        raise BadInput(
            f"-m {methods} names one method, and judging takes two or more. List them with: polygraph methods"
        )
    require_extra()
    with open_study(index, output, as_json, new=per_document is not None, **flags) as (opened, study):
        _questions(study, kind, n, seed, own)
        _answer(opened, study, names, per_document)
        _judge(
            opened,
            study,
            names,
            judges,
            design,
            temperature,
            align,
            tolerance,
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
        typer.Option("--protocol", help="Whose judgements count; people: the marks of sheets."),
    ] = "unbiased",
    title: Annotated[str, typer.Option("--title", help="Of the page.")] = "Which method to trust",
    bert: Annotated[
        Literal["no", "raw", "rescaled"],
        typer.Option("--bertscore", help="Also compute BERTScore; it needs the package bert-score."),
    ] = "no",
    as_json: JsonOption = False,
) -> None:
    """Sum a study up: conclusions in sentences, figures, tables and every answer, as HTML, Markdown and JSON."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.reports.study_report import json_report

    with study_there(index, output, as_json, offline=True) as (_, study):
        material = study.report(protocol=protocol, title=title, bert=bert)
    if as_json:
        show.as_json(json_report(material))
        return
    for sentence in (*material.findings.conclusions, *material.also):
        show.out.print(f"- {sentence}", markup=False, soft_wrap=True)
    for note in material.findings.notes:
        show.err.print(f"note: {show.plain(note)}", style="yellow", markup=False, soft_wrap=True)
    show.out.print(f"report: {study.report_file(protocol)}", markup=False, soft_wrap=True)


# --- parts --------------------------------------------------------------------------------------------


@contextmanager
def open_study(
    index: Path | None, output: Path, quiet: bool, *, new: bool = False, **flags: Any
) -> "Iterator[tuple[Index, Experiment]]":
    """An index, a study over it, and bars that show how far it is."""
    from polygraph.cli.progress import Bars
    from polygraph.config import load_settings
    from polygraph.workspace.per_document import FOLDER

    # A folder of small indexes need not hold one of its own.
    small = new or ((index or load_settings({}).index) / FOLDER).is_dir()
    with (
        open_index(index, new=small, **flags) as opened,
        Bars(quiet=quiet, spent=lambda: opened.models.calls.spent) as bars,
    ):
        yield opened, opened.experiment(output, progress=bars)


def study_there(
    index: Path | None, output: Path, quiet: bool, **flags: Any
) -> "AbstractContextManager[tuple[Index, Experiment]]":
    """The same for a study that must be there; a name that was mistyped leaves no folder behind."""
    from polygraph.evaluate.runs.study_folder import existing

    return open_study(index, existing(output).folder, quiet, **flags)


def _questions(study: "Experiment", kind: Any, n: int, seed: int, own: Path | None) -> None:
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.questions.file import read_questions

    if own is not None:
        study.take(read_questions(own))
        return
    if n < 1:
        raise BadInput(f"-n {n} asks for no question. Give at least 1")
    for note in study.pose(kind, n=n, seed=seed).notes:
        show.err.print(f"note: {show.plain(note)}", style="yellow", markup=False, soft_wrap=True)


def _answer(
    opened: "Index", study: "Experiment", names: list[str], per_document: Path | None
) -> "list[StudyAnswer]":
    """Answers from the index, or each question's from an index of its own document."""
    study.study.settle("answers", {"per_document": per_document is not None})
    if per_document is None:
        return study.answer(names)
    from polygraph.workspace.per_document import PerDocument

    small = PerDocument(opened, per_document)
    return small.answer(study.study, study.questions(), names, study.told)


def _design(protocol: str, trials: int | None, repeats: int | None) -> "Design":
    """The protocol as asked for; `listwise` has trials only."""
    from dataclasses import replace

    from polygraph.evaluate.judging.pairwise import DESIGNS, Design

    design = DESIGNS.get(protocol) or Design(protocol=protocol, repeats=1, trials=1)
    for name, n in (("trials", trials), ("repeats", repeats)):
        if n is not None and n < 1:
            raise BadInput(f"--{name} {n} asks for no judgement. Give at least 1")
    design = replace(design, trials=trials or design.trials, repeats=repeats or design.repeats)
    if design.orders == "alternate" and design.trials % 2:
        raise BadInput(
            f"--trials {design.trials} is odd, and {protocol} turns the order round in every other trial. Give an even "
            "number"
        )
    return design


def _judge(
    opened: "Index",
    study: "Experiment",
    names: list[str],
    judges: str | None,
    design: "Design",
    temperature: float,
    align: bool | None,
    tolerance: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    from polygraph.evaluate.runs.experiment import n_judge_calls
    from polygraph.evaluate.runs.study_steps import needed
    from polygraph.models.open import open_chat

    listed = [open_chat(opened.settings, name) for name in split_names(judges or "")] or [
        needed(opened.models)
    ]
    if dry_run:
        n_methods = len(names) or len({a.method for a in study.study.answers()})
        calls = n_judge_calls(len(study.questions()), n_methods, len(listed), design)
        tell(as_json, {"judge_calls": calls, "judges": [chat.name for chat in listed]})
        return
    if design.protocol == "listwise":
        found = study.judge_lists(listed, methods=names, trials=design.trials, temperature=temperature)
    else:
        found = study.judge(
            listed, design, methods=names, temperature=temperature, align=align, tolerance=tolerance
        )
    tell(
        as_json,
        {
            "judgements": len(found),
            "unusable": sum(bool(j.problem) for j in found),
            "pairs_discarded": sum(p.how == "discarded" for p in study.study.aligned()),
            "judges": [chat.name for chat in listed],
            "study": str(study.study.folder),
        },
    )


def _types(questions: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for question in questions:
        found[question.type or "no type"] = found.get(question.type or "no type", 0) + 1
    return found


def tell(as_json: bool, values: dict[str, Any]) -> None:
    """Print what a command did, as JSON or in one line."""
    from polygraph.cli.render import answer as show

    if as_json:
        show.as_json(values)
        return
    for key, value in values.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        shown = ", ".join(shown) if isinstance(shown, list) else shown
        show.out.print(f"{key.replace('_', ' ')}: {shown}", markup=False, soft_wrap=True)
