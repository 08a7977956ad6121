"""The figures of a published table, measured on answers and judgements of our own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from polygraph.evaluate.judging.judgements import Judgement, outcomes
from polygraph.evaluate.judging.pairwise import in_both_orders
from polygraph.evaluate.metrics.answer_match import accuracy, fgrag_exact_match, token_prf
from polygraph.evaluate.metrics.rouge_bleu import bleu, rouge
from polygraph.evaluate.metrics.semantic_similarity import bert_score, semantic_similarity
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.reproduce.tables import Column, Table
from polygraph.evaluate.runs.study_folder import StudyAnswer
from polygraph.evaluate.runs.study_steps import plain
from polygraph.evaluate.statistics.bootstrap import Interval, bootstrap_differences, bootstrap_means
from polygraph.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a table, published and ours."""

    system: str
    method: str
    """Empty if it was not run."""
    column: str
    published: Mapping[str, float | None]
    """By model."""
    ours: Interval | None
    """With its interval over questions; None if it was not run, or no question has what it needs."""
    n: int
    """Questions behind ours."""


def figures(
    table: Table,
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    judgements: Sequence[Judgement],
    models: Models,
    *,
    seed: int = 0,
    bert: bool = False,
) -> list[Figure]:
    """Measure a table: every system in every column, published numbers beside ours.

    Args:
        table: what was run.
        questions: as asked.
        answers: of all systems.
        judgements: of a contest.
        models: whose embedder measures similarity.
        seed: of the intervals.
        bert: whether to measure BERTScore, where the table has it; without, ours is None.

    Raises:
        MissingExtra: without the extra `eval`.
        BadInput: for BERTScore, without its package or its model.
    """
    text = {a.key: a for a in answers}
    kinds = {q.id: q for q in questions}
    reference = table.contest.reference if table.contest else ""
    method_of = {s.name: s.method for s in table.systems}
    found = []
    for system in table.systems:
        if system.name == reference:
            continue
        scores = _bert_scores(table, system.method, questions, text) if bert and system.method else {}
        for i, column in enumerate(table.columns):
            values: list[float] = []
            if table.contest is not None and system.method:
                mine = [j for j in judgements if j.question not in kinds or _fits(kinds[j.question], column)]
                values = _verdicts(table, mine, method_of[reference], system.method, column)
            elif column.measure in _BERT:
                values = scores.get(column.measure, [])
            elif column.measure == "alone":
                values = _alone(
                    questions, system.method, [m for m in table.methods if m != system.method], text
                )
            elif system.method:
                asked = [q for q in questions if _fits(q, column) and (q.id, system.method) in text]
                values = _measured(column, asked, [text[q.id, system.method] for q in asked], models)
            found.append(
                Figure(
                    system=system.name,
                    method=system.method,
                    column=column.name,
                    published={
                        model: rows[system.name][i]
                        for model, rows in table.numbers.items()
                        if system.name in rows
                    },
                    ours=_interval(values, column, seed) if values else None,
                    n=len(values),
                )
            )
    return found


# --- parts --------------------------------------------------------------------------------------------


def _verdicts(
    table: Table, judgements: Sequence[Judgement], reference: str, other: str, column: Column
) -> list[float]:
    """By question: share of verdicts that the reference wins, or wins less losses, over orders and trials."""
    aspect = column.aspect
    assert table.contest is not None  # noqa: S101 - asked by the caller
    protocol = table.contest.protocol
    mine = [j for j in judgements if j.protocol == protocol]
    rows: dict[str, list[float]] = {}
    if table.contest.protocol == "unbiased":
        for outcome in outcomes(mine, reference, other, balanced=in_both_orders(protocol)):
            result = outcome.result(aspect or None)
            win, lose = float(result == "a"), float(result == "b")
            value = win if table.contest.value == "win" else win - lose
            rows.setdefault(outcome.question, []).append(value)
    else:
        # Every single verdict counts, as in the papers that pool both orders.
        for one in mine:
            in_place = not column.place or (one.methods[0] == reference) == (column.place == "front")
            if set(one.methods) == {reference, other} and aspect in one.scores and in_place:
                said = dict(zip(one.methods, one.scores[aspect], strict=True))
                rows.setdefault(one.question, []).append(float(said[reference] > said[other]))
    return [fmean(values) for values in rows.values()]


def _fits(question: Question, column: Column) -> bool:
    known: dict[str, object] = {**question.more, "type": question.type}
    if any(str(known.get(name, "")) != value for name, value in column.where.items()):
        return False
    if column.measure in _ANY:
        return True
    if column.measure in _TEXTS:
        return bool(question.references or question.answers)
    return bool(question.answers or question.null)


def _measured(
    column: Column, questions: Sequence[Question], answers: Sequence[StudyAnswer], models: Models
) -> list[float]:
    if column.measure in _USAGES:
        used = [[a.usage.get(name) for name in _USAGES[column.measure]] for a in answers]
        # An answer whose cost is not known is left out; its number would not be 0.
        known = [[n for n in numbers if isinstance(n, int | float)] for numbers in used]
        return [
            float(sum(some)) for some, all_of in zip(known, used, strict=True) if len(some) == len(all_of)
        ]
    texts = [plain(a.text) for a in answers]
    golds = [q.references or q.answers for q in questions]
    if not texts:
        return []
    if column.measure == "similarity":
        return semantic_similarity(texts, golds, models)
    if column.measure == "bleu":
        return list(bleu(texts, golds).sentences)
    if column.measure in _TEXTS:
        kind, _, part = column.measure.partition("_")
        scores = [rouge(text, gold)[kind] for text, gold in zip(texts, golds, strict=True)]
        return [{"p": s.precision, "r": s.recall, "": s.f1}[part] for s in scores]
    return [_short(column, q, a, text) for q, a, text in zip(questions, answers, texts, strict=True)]


_TEXTS = frozenset({"rouge1", "rougeL", "rouge2", "rouge2_p", "rouge2_r", "bleu", "similarity"})
_BERT: Mapping[str, str] = {"bert_p": "precision", "bert_r": "recall", "bert_f1": "f1"}
_USAGES: Mapping[str, tuple[str, ...]] = {
    "tokens": ("prompt_tokens", "completion_tokens"),
    "seconds": ("seconds",),
}
_ANY = frozenset({"verdict", *_USAGES})
"""Measures that a question needs no gold for."""


def _bert_scores(
    table: Table, method: str, questions: Sequence[Question], text: Mapping[tuple[str, str], StudyAnswer]
) -> dict[str, list[float]]:
    """BERTScore of a method's answers to all questions with reference texts; nothing if the table has none."""
    asked = [q for q in questions if (q.references or q.answers) and (q.id, method) in text]
    if not table.bert or not asked:
        return {}
    said = [plain(text[q.id, method].text) for q in asked]
    golds = [q.references or q.answers for q in asked]
    found = bert_score(said, golds, rescale=table.bert == "rescaled").scores
    return {measure: [getattr(score, part) for score in found] for measure, part in _BERT.items()}


def _alone(
    questions: Sequence[Question],
    method: str,
    others: Sequence[str],
    text: Mapping[tuple[str, str], StudyAnswer],
) -> list[float]:
    """1 for each question that a method answers rightly and none of the others does."""
    column = Column(name="", measure="accuracy")
    found = []
    for q in questions:
        every = [text.get((q.id, m)) for m in (method, *others)]
        if _fits(q, column) and None not in every:
            mine, *theirs = (_short(column, q, a, plain(a.text)) for a in every if a is not None)
            found.append(float(mine == 1.0 and not any(theirs)))
    return found


def _short(column: Column, question: Question, answer: StudyAnswer, text: str) -> float:
    if question.null:
        return float(answer.refused)
    if column.measure == "em":
        return fgrag_exact_match(text, question.answers)
    if column.measure == "accuracy":
        return accuracy(text, question.answers)
    found = token_prf(text, question.answers)
    return {"precision": found.precision, "recall": found.recall, "f1": found.f1}[column.measure]


def _interval(values: Sequence[float], column: Column, seed: int) -> Interval:
    rng, table = np.random.default_rng(seed), np.asarray(values, dtype=np.float64)[:, None]
    # Of shares "never in three questions" is not "never"; what can be negative or has a unit is no share.
    share = column.measure not in _USAGES and table.min() >= 0.0 and table.max() <= 1.0
    found = (bootstrap_means if share else bootstrap_differences)(table, rng)[0]
    return Interval(*(column.factor * x for x in (found.mean, found.low, found.high)))
