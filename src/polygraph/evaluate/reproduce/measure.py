"""Measure the numbers of a published table on our own answers and judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from polygraph.evaluate.judging.judgements import Judgement, outcomes
from polygraph.evaluate.judging.length_alignment import count_words
from polygraph.evaluate.judging.pairwise import judges_both_orders
from polygraph.evaluate.metrics.answer_match import accuracy, fgrag_exact_match, token_prf
from polygraph.evaluate.metrics.rouge_bleu import bleu, rouge
from polygraph.evaluate.metrics.semantic_similarity import bert_score, semantic_similarity
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reproduce.tables import Column, JudgedPair, Table
from polygraph.evaluate.statistics.intervals import Interval, mean_intervals, paired_means
from polygraph.models import Models

_REFERENCE_MEASURES = frozenset({"rouge1", "rougeL", "rouge2", "rouge2_p", "rouge2_r", "bleu", "similarity"})
_BERT_MEASURES: Mapping[str, str] = {"bert_p": "precision", "bert_r": "recall", "bert_f1": "f1"}
_USAGE_MEASURES: Mapping[str, tuple[str, ...]] = {
    "tokens": ("prompt_tokens", "completion_tokens"),
    "seconds": ("seconds",),
}
_WITHOUT_GOLD = frozenset({"verdict", *_USAGE_MEASURES})
"""Measures that need no gold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableValue:
    """One number of a table, published and ours."""

    system: str
    """Row of the table: a system, or a pair of systems."""
    method: str
    """What was run; empty if it was not."""
    column: str
    published: Mapping[str, float | None]
    """By model."""
    ours: Interval | None
    """With its interval over questions; None if it was not run, or no question has the gold it needs."""
    n: int
    """Questions that our number is the mean of."""


def measure_table(
    table: Table,
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    judgements: Sequence[Judgement],
    models: Models,
    *,
    seed: int = 0,
    bert: bool = False,
) -> list[TableValue]:
    """Measure every system in every column, with published numbers beside ours.

    Args:
        table: that was run.
        questions: that were asked.
        answers: of all systems.
        judgements: if the table has judges.
        models: provides the embedder for similarity.
        seed: of the intervals.
        bert: whether to measure BERTScore, if the table has it; otherwise ours is None.

    Raises:
        MissingExtra: without the extra `eval`.
        BadInput: if BERTScore is requested and its package or model is missing.
    """
    by_key = {a.key: a for a in answers}
    judged = {p.row: p for p in table.judged_pairs}
    system_of = {s.name: s for s in table.systems}
    found = []
    for row in table.row_names:
        method = judged[row].methods if judged else system_of[row].method
        scores = _bert_scores(table, method, questions, by_key) if bert and method and not judged else {}
        for i, column in enumerate(table.columns):
            if column.measure in _BERT_MEASURES:
                values = scores.get(column.measure, [])
            elif judged:
                values = _verdict_values(table, judged[row], column, questions, judgements, by_key)
            else:
                values = _answer_values(table, method, column, questions, by_key, models)
            found.append(
                TableValue(
                    system=row,
                    method=method,
                    column=column.name,
                    published={model: rows[row][i] for model, rows in table.numbers.items() if row in rows},
                    ours=_interval(values, table, column, seed) if values else None,
                    n=len(values),
                )
            )
    return found


# --- parts --------------------------------------------------------------------------------------------


def _applies(question: Question, column: Column) -> bool:
    """Return whether a question belongs to a column and has the gold that its measure needs."""
    fields: dict[str, object] = {**question.more, "type": question.type}
    if any(str(fields.get(name, "")) != value for name, value in column.where.items()):
        return False
    if column.measure in _WITHOUT_GOLD:
        return True
    if column.measure in _REFERENCE_MEASURES:
        return bool(question.references or question.answers)
    return bool(question.answers or question.null)


def _verdict_values(
    table: Table,
    pair: JudgedPair,
    column: Column,
    questions: Sequence[Question],
    judgements: Sequence[Judgement],
    answers: Mapping[tuple[str, str], StudyAnswer],
) -> list[float]:
    """Return, per question, the win rate or relative win rate of the first system over orders and trials."""
    assert table.judging is not None  # noqa: S101 - only such tables have pairs
    protocol, aspect = table.judging.protocol, column.aspect
    a, b = pair.first.method, pair.second.method
    by_id = {q.id: q for q in questions}
    used = [
        j
        for j in judgements
        if j.protocol == protocol
        and column.trial in (None, j.trial)
        and (j.question not in by_id or _applies(by_id[j.question], column))
    ]
    if not pair.methods:
        return []
    rows: dict[str, list[float]] = {}
    if protocol == "unbiased":
        for outcome in outcomes(used, a, b, balanced=judges_both_orders(protocol)):
            verdict = outcome.verdict(aspect or None)
            win, lose = float(verdict == "a"), float(verdict == "b")
            value = win if table.judging.value == "win" else win - lose
            if column.longer_by is not None:
                first, second = (count_words(answers[outcome.question, m].uncited_text) for m in (a, b))
                if not column.longer_by[0] <= abs(first - second) <= column.longer_by[1]:
                    continue
                value = win - lose if first > second else lose - win
            rows.setdefault(outcome.question, []).append(value)
    else:
        # Every verdict counts, as in the papers that pool both orders.
        for one in used:
            shown_first = one.methods[0] == a
            in_position = not column.position or shown_first == (column.position == "first")
            if set(one.methods) == {a, b} and aspect in one.scores and in_position:
                score = dict(zip(one.methods, one.scores[aspect], strict=True))
                rows.setdefault(one.question, []).append(float(score[a] > score[b]))
    return [fmean(values) for values in rows.values()]


def _answer_values(
    table: Table,
    method: str,
    column: Column,
    questions: Sequence[Question],
    answers: Mapping[tuple[str, str], StudyAnswer],
    models: Models,
) -> list[float]:
    """Return the values of a column that is measured on answers; empty if the system was not run."""
    if column.measure == "only_correct":
        return _only_correct(questions, method, [m for m in table.methods if m != method], answers)
    if not method:
        return []
    asked = [q for q in questions if _applies(q, column) and (q.id, method) in answers]
    given = [answers[q.id, method] for q in asked]
    if column.measure in _USAGE_MEASURES:
        # An answer with unknown usage is left out; counting it as 0 would be wrong.
        used = [a.usage for a in given if a.usage is not None]
        return [float(sum(getattr(u, name) for name in _USAGE_MEASURES[column.measure])) for u in used]
    texts = [a.uncited_text for a in given]
    golds = [q.references or q.answers for q in asked]
    if not texts:
        return []
    if column.measure == "similarity":
        return semantic_similarity(texts, golds, models)
    if column.measure == "bleu":
        return list(bleu(texts, golds).sentences)
    if column.measure in _REFERENCE_MEASURES:
        kind, _, part = column.measure.partition("_")
        scores = [rouge(text, gold)[kind] for text, gold in zip(texts, golds, strict=True)]
        return [{"p": s.precision, "r": s.recall, "": s.f1}[part] for s in scores]
    return [_gold_value(column.measure, q, a) for q, a in zip(asked, given, strict=True)]


def _bert_scores(
    table: Table,
    method: str,
    questions: Sequence[Question],
    answers: Mapping[tuple[str, str], StudyAnswer],
) -> dict[str, list[float]]:
    """Return the BERTScores of a method on all questions with reference texts; empty if the table has none."""
    asked = [q for q in questions if (q.references or q.answers) and (q.id, method) in answers]
    if not table.bert or not asked:
        return {}
    predictions = [answers[q.id, method].uncited_text for q in asked]
    golds = [q.references or q.answers for q in asked]
    scores = bert_score(predictions, golds, rescale=table.bert == "rescaled").scores
    return {measure: [getattr(s, part) for s in scores] for measure, part in _BERT_MEASURES.items()}


def _only_correct(
    questions: Sequence[Question],
    method: str,
    others: Sequence[str],
    answers: Mapping[tuple[str, str], StudyAnswer],
) -> list[float]:
    """Return 1 for each question that a method answers correctly and no other method does, else 0."""
    found = []
    for q in questions:
        given = [answers.get((q.id, m)) for m in (method, *others)]
        if (q.answers or q.null) and None not in given:
            own, *theirs = (_gold_value("accuracy", q, a) for a in given if a is not None)
            found.append(float(own == 1.0 and not any(theirs)))
    return found


def _gold_value(measure: str, question: Question, answer: StudyAnswer) -> float:
    if question.null:
        return float(answer.refused)
    text = answer.uncited_text
    if measure == "em":
        return fgrag_exact_match(text, question.answers)
    if measure == "accuracy":
        return accuracy(text, question.answers)
    prf = token_prf(text, question.answers)
    return {"precision": prf.precision, "recall": prf.recall, "f1": prf.f1}[measure]


def _interval(values: Sequence[float], table: Table, column: Column, seed: int) -> Interval:
    rows = np.asarray(values, dtype=np.float64)[:, None]
    relative = table.judging is not None and (
        table.judging.value == "relative" or column.longer_by is not None
    )
    if relative or column.measure in _USAGE_MEASURES:
        # Not shares, even if all of them happen to be within 0 and 1.
        bound = 1.0 if relative else float(rows.max()) or 1.0
        found = paired_means(rows, np.random.default_rng(seed), bound=bound)[0].interval()
    else:
        found = mean_intervals(rows)[0]
    return Interval(*(column.factor * x for x in (found.mean, found.low, found.high)))
