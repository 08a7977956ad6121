"""Judging the answers of a study: what `polygraph eval judge` and `eval run` have in common."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygraph.cli.evaluation.open_study import show_result
from polygraph.cli.options import split_names
from polygraph.errors import BadInput

if TYPE_CHECKING:
    from polygraph.evaluate.judging.pairwise import JudgingDesign
    from polygraph.evaluate.runs.experiment import Experiment
    from polygraph.models import ChatModel
    from polygraph.workspace.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How the answers of a study are judged: the options of `eval judge` and `eval run`."""

    judges: str | None
    """Names of models, separated by commas; None: the model that answers."""
    design: "JudgingDesign"
    temperature: float
    """Of the judges."""
    align: bool | None
    """Align the lengths of answers first; None: only for the unbiased protocol."""
    tolerance: int
    """Largest difference in words between aligned answers."""
    new_answers: bool
    """Each trial judges answers of its own."""


def design_of(protocol: str, trials: int | None, repeats: int | None) -> "JudgingDesign":
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


def check_new_answers(judging: Judging) -> None:
    """Check that a protocol can judge answers of several sets."""
    if judging.new_answers and judging.design.protocol == "listwise":
        raise BadInput("--new-answers is for protocols that judge pairs of answers, and listwise does not")


def judges_of(opened: "Index", judges: str | None) -> "list[ChatModel]":
    """Return the models named by --judge, or the model that answers."""
    from polygraph.evaluate.runs.study_steps import require_chat
    from polygraph.models.open import open_chat

    named = [open_chat(opened.settings, name) for name in split_names(judges or "")]
    return named or [require_chat(opened.models)]


def judge_study(
    opened: "Index", study: "Experiment", names: list[str], judging: Judging, as_json: bool
) -> None:
    """Judge the answers of a study, and print how many judgements there are."""
    check_new_answers(judging)
    listed, design, temperature = judges_of(opened, judging.judges), judging.design, judging.temperature
    if design.protocol == "listwise":
        found = study.judge_lists(listed, methods=names, trials=design.trials, temperature=temperature)
    else:
        found = study.judge(
            listed,
            design,
            methods=names,
            temperature=temperature,
            align=judging.align,
            tolerance=judging.tolerance,
            new_answers=judging.new_answers,
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


def count_judge_calls(
    opened: "Index", study: "Experiment", names: list[str], judging: Judging, as_json: bool
) -> None:
    """Print the number of calls that judges would take; it needs no model."""
    from polygraph.cli.render import answer as show
    from polygraph.evaluate.records import study_pairs
    from polygraph.evaluate.runs.experiment import n_judge_calls

    chat = opened.models.chat
    named = split_names(judging.judges or "") or ([chat.name] if chat is not None else [])
    methods = names or list(dict.fromkeys(a.method for a in study.folder.answers()))
    n_pairs = len(study_pairs(methods))
    calls = n_judge_calls(
        len(study.questions()), len(methods), max(1, len(named)), judging.design, n_pairs=n_pairs
    )
    show_result(as_json, {"judge_calls": calls, "judges": named})
    notes = ["calls written to batch files usually cost half: --batch DIR"]
    if not named:
        notes.insert(0, "no chat model is configured; the calls are those of one judge")
    for note in notes:
        show.warn(f"note: {note}")
