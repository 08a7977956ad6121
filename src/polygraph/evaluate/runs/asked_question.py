"""One question that somebody compared methods on, put into a study: answered, judged, and added to its report.

One question decides nothing about methods in general. The questions asked of the same methods, under the same
conditions, are kept in one study, whose report tests the differences over all of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polygraph.errors import BadInput, MissingExtra
from polygraph.evaluate.judging.judgements import Judgement, Outcome, outcomes, verdicts_by_order
from polygraph.evaluate.judging.pairwise import UNBIASED
from polygraph.evaluate.records import study_pairs
from polygraph.evaluate.runs.answer_steps import AnswerOptions
from polygraph.evaluate.runs.experiment import Experiment, n_judge_calls
from polygraph.evaluate.runs.made_with import describe_answerer
from polygraph.evaluate.runs.study_folder import MANIFEST, StudyFolder
from polygraph.models import Models
from polygraph.models.prices import Price
from polygraph.models.retry import price_for
from polygraph.prompts import prompt
from polygraph.records import AnswerForm
from polygraph.store.snapshot import Snapshot
from polygraph.text.tokens import count_tokens

DESIGN = replace(UNBIASED, trials=1)
"""Both orders, each twice, at equal length. More trials of the same study: `polygraph eval judge --output DIR`."""
ANSWER_TOKENS = 400
"""Length of an answer for which the cost of judging is estimated."""
_REPLY_TOKENS = 250
"""Length of a judgement with its reasons, for the same purpose."""
_MAX_NAME = 80
Orders: TypeAlias = Literal["agree", "disagree", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingPlan:
    """What judging a question would take."""

    study: str
    """Name of the study's folder."""
    questions: int
    """In the study, with this one."""
    judge: str
    """Name of the model; empty: there is none, and the answers wait for one or for people."""
    calls: int
    """To the judge; those that bring the answers to equal length are not counted."""
    cost: float | None
    """Estimate in US dollars, for answers of `ANSWER_TOKENS`; None if the price is not known."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of the API."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """How a judge found two answers to one question."""

    a: str
    b: str
    better: str
    """Name of the method; empty for a tie."""
    scores: Mapping[str, tuple[float, float]]
    """For each aspect the mean scores of a and b, from 0 to 5."""
    orders: Orders
    """Whether the judge came to the same verdict whichever answer stood first."""
    judgements: int
    reasons: Mapping[str, str]
    """For each aspect the judge's first reason, in which "first" is a and "second" is b."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVerdict:
    """The result of judging a question."""

    study: str
    questions: int
    """In the study, with this one."""
    judge: str
    """Empty if nobody has judged it yet."""
    pairs: tuple[PairVerdict, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of the API."""
        return asdict(self)


def study_name(
    index: str,
    snapshot: Snapshot,
    models: Models,
    methods: Sequence[str],
    *,
    max_tokens: int | None = None,
    form: AnswerForm | None = None,
) -> str:
    """Return the name of the study for questions to some methods under the present conditions.

    The end of the name is a digest of all that answers depend on besides the question, so that answers of one study
    can always be compared: a changed index or another model begins another study.

    Args:
        index: name of the index.
        snapshot: of the index.
        models: that answer.
        methods: in any order.
        max_tokens: budget of the context; None: each method's own.
        form: of the answers; None: each method's own.

    Raises:
        BadInput: for fewer than two methods.
        UnknownMethod: if there is no such method.
    """
    named = sorted(set(methods))
    if len(named) < 2:
        raise BadInput("judging needs two different methods. Name them in: methods")
    made = [
        asdict(describe_answerer(name, snapshot, models, max_tokens=max_tokens, form=form)) for name in named
    ]
    digest = blake2b(repr(list(zip(named, made, strict=True))).encode(), digest_size=4).hexdigest()
    plain = " ".join(re.sub(r"[^\w.-]+", "-", each) for each in (index, *named))
    return f"{plain.strip('-. ')[:_MAX_NAME]} {digest}"


def plan_judging(
    folder: Path,
    name: str,
    question: str,
    methods: Sequence[str],
    models: Models,
    prices: Mapping[str, Price],
) -> JudgingPlan:
    """Tell what `judge_question` would take; nothing is written and no model is called.

    Args:
        folder: of all studies.
        name: of the study, from `study_name`.
        question: to be judged.
        methods: that answer it.
        models: in use; the chat model is the judge.
        prices: by name of model.
    """
    study = StudyFolder(folder / name) if (folder / name / MANIFEST).is_file() else None
    known = {q.question: q.id for q in study.questions()} if study and study.has_questions else {}
    ids = {*known.values(), known.get(question, "")}
    chat = models.chat
    if chat is None:
        return JudgingPlan(study=name, questions=len(ids), judge="", calls=0, cost=0.0)
    judged = {j.question for j in study.judgements() if j.judge == chat.name} if study else set()
    n_methods = len(set(methods))
    calls = n_judge_calls(len(ids - judged), n_methods, 1, DESIGN)
    system, user = prompt("judge_scores").fill({"question": question, "first": "", "second": ""})
    reads = count_tokens(system) + count_tokens(user) + 2 * ANSWER_TOKENS
    price = price_for(chat, prices)
    return JudgingPlan(
        study=name,
        questions=len(ids),
        judge=chat.name,
        calls=calls,
        cost=None if price is None else price.cost(calls * reads, calls * _REPLY_TOKENS),
    )


def judge_question(
    experiment: Experiment, question: str, methods: Sequence[str], options: AnswerOptions
) -> QuestionVerdict:
    """Put a question into a study: answer it with some methods, judge the answers pair by pair, write the report.

    Without a chat model the answers are kept for a judge or for people (`polygraph eval sheet`). What an interrupted
    run left is completed. Calls made before are not paid again: the answers are those that the comparison showed.

    Args:
        experiment: of the study that `study_name` names.
        question: its text.
        methods: at least two.
        options: of the answers.

    Raises:
        BadInput: if the study has other questions, or answers that cannot be compared.
        WorkFailed: if no reply of the judge was usable.
    """
    named = sorted(set(methods))
    asked = experiment.folder.add_question(question)
    experiment.answer(named, options)
    chat, notes = experiment.models.chat, []
    judged: list[Judgement] = []
    if chat is None:
        notes.append(
            "There is no chat model to judge. Configure one and judge again, or let people judge: polygraph eval "
            "sheet --no-align"
        )
    else:
        experiment.judge([chat], DESIGN, methods=named)
        judged = [
            j for j in experiment.folder.judgements() if j.question == asked.id and j.judge == chat.name
        ]
    try:
        experiment.report()
    except MissingExtra as error:
        notes.append(str(error))
    return QuestionVerdict(
        study=experiment.folder.path.name,
        questions=len(experiment.questions()),
        judge=chat.name if judged and chat is not None else "",
        pairs=tuple(verdict for a, b in study_pairs(named) for verdict in _verdict(judged, a, b)),
        notes=tuple(notes),
    )


def _verdict(judged: Sequence[Judgement], a: str, b: str) -> list[PairVerdict]:
    """Return the verdict on two methods over all trials; nothing if no judgement of them was usable."""
    found = outcomes(judged, a, b)
    if not found:
        return []
    n = sum(outcome.n_judgements for outcome in found)
    total = _sum(found)
    a_sum, b_sum = (sum(scores[side] for scores in total.values()) for side in (0, 1))
    first, second = verdicts_by_order(judged, a, b)
    same = {x == y for x, y in zip(first, second, strict=True)}
    reasons = next((j.reasons for j in judged if j.methods == (a, b) and j.reasons), {})
    return [
        PairVerdict(
            a=a,
            b=b,
            better=a if a_sum > b_sum else b if b_sum > a_sum else "",
            scores={aspect: (x / n, y / n) for aspect, (x, y) in total.items()},
            orders="unknown" if not same else "agree" if same == {True} else "disagree",
            judgements=n,
            reasons=dict(reasons),
        )
    ]


def _sum(found: Sequence[Outcome]) -> dict[str, tuple[float, float]]:
    """Return the scores of both methods for each aspect, summed over trials."""
    total: dict[str, tuple[float, float]] = {}
    for outcome in found:
        for aspect, (a, b) in outcome.totals.items():
            before = total.get(aspect, (0.0, 0.0))
            total[aspect] = (before[0] + a, before[1] + b)
    return total
