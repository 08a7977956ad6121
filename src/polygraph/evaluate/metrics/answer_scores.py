"""Scores of answers against gold answers and reference texts: means with intervals, paired tests, breakdowns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.metrics.answer_match import (
    accuracy,
    exact_match,
    mhrag_lenient,
    point_recall,
    sub_exact_match,
    token_prf,
)
from polygraph.evaluate.metrics.cross_table import CellMean, cross_table
from polygraph.evaluate.metrics.refusals import Refusals, count_refusals
from polygraph.evaluate.metrics.rouge_bleu import ROUGE_TYPES, bleu, rouge
from polygraph.evaluate.metrics.semantic_similarity import bert_score, semantic_similarity
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.statistics.intervals import (
    Interval,
    mean_intervals,
    paired_means,
    share_intervals,
)
from polygraph.evaluate.statistics.multiple_testing import holm, holm_levels
from polygraph.models import Models
from polygraph.models.retry import is_local

BertScoreMode: TypeAlias = Literal["no", "raw", "rescaled"]
"""Whether BERTScore is computed, and whether it is rescaled by its baseline, which papers do not always say."""

_TESTED = frozenset(
    {
        "accuracy",
        "EM",
        "F1",
        "point recall",
        "rouge1",
        "rouge2",
        "rougeL",
        "BLEU",
        "similarity",
        "BERTScore F1",
    }
)
"""Metrics that methods are compared by. Precision, recall and metrics of single papers are only reported."""
COMPARISON_ONLY = "only for comparison with published numbers: any shared word is enough"
POINTS_NOTE = (
    "mean share of the content words of the gold points; longer answers contain more of them by chance"
)

_Scores: TypeAlias = dict[str, tuple[dict[str, list[float]], str]]
"""By metric, the score of each question by method, and a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTest:
    """Two methods compared by one metric on the same questions."""

    a: str
    b: str
    difference: Interval
    """Mean of a less that of b; its interval has the level that Holm's correction gives the pair."""
    p: float
    """After Holm's correction over all pairs of this metric; from the same construction as the interval."""
    effect: float | None
    """Cohen's d; None if all questions differ by the same amount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScores:
    """One metric of all methods over the questions that all of them answered."""

    name: str
    n: int
    note: str
    """What the values depend on (signature, embedder, model, rescaling), or a warning."""
    means: Mapping[str, Interval]
    """By method."""
    tests: tuple[MetricTest, ...]
    """Empty for metrics that methods are not compared by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeAccuracy:
    """Accuracy on one type of question."""

    type: str
    n: int
    means: Mapping[str, Interval]
    """By method; a refusal is the correct answer to a null question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScores:
    """All scores of a study against gold."""

    metrics: tuple[MetricScores, ...]
    by_type: tuple[TypeAccuracy, ...]
    """Empty if all questions are of one type."""
    by_aspect: Mapping[str, Mapping[str, Mapping[str, CellMean]]]
    """By method, a table of accuracy with complexity by aspect, as in NovelQA; empty if questions have neither
    field."""
    refusals: Mapping[str, Refusals]
    """By method; empty without null questions."""

    def figures(self) -> dict[str, dict[str, float]]:
        """Return means by method and metric, with precision and recall of refusals."""
        found: dict[str, dict[str, float]] = {}
        for metric in self.metrics:
            for method, interval in metric.means.items():
                found.setdefault(method, {})[metric.name] = interval.mean
        for method, counts in self.refusals.items():
            for name, value in (("refusal precision", counts.precision), ("refusal recall", counts.recall)):
                if value is not None:
                    found.setdefault(method, {})[name] = value
        return found


def score_answers(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    models: Models,
    *,
    bert: BertScoreMode = "no",
    seed: int = 0,
) -> AnswerScores | None:
    """Score all answers to questions that have gold answers or reference texts.

    Args:
        questions: of the study.
        answers: by any methods. Only questions that all methods answered count, so that methods are compared on the
            same questions.
        models: provides the embedder for semantic similarity; if it is remote, the name embedder is used instead.
        bert: whether to compute BERTScore.
        seed: of the tests.

    Returns:
        None if no question has gold.

    Raises:
        MissingExtra: without the extra `eval`.
        BadInput: if BERTScore is requested and the package bert-score is not installed.
    """
    texts = {a.key: a.uncited_text for a in answers}
    methods = sorted({a.method for a in answers})
    common = [q for q in questions if all((q.id, m) in texts for m in methods)]
    with_answers = [q for q in common if q.answers and not q.null]
    with_references = [q for q in common if q.references]
    with_points = [q for q in common if q.points]
    has_null = any(q.null for q in common)
    if not methods or not (with_answers or with_references or with_points or has_null):
        return None
    scores: _Scores = {}
    if with_answers:
        scores |= _short_answer_scores(with_answers, methods, texts)
    if with_references:
        scores |= _reference_scores(with_references, methods, texts, models, bert)
    if with_points:
        recalls = {m: [point_recall(texts[q.id, m], q.points) for q in with_points] for m in methods}
        scores["point recall"] = (recalls, POINTS_NOTE)
    refused = {a.key: a.refused for a in answers}
    null = [q.null for q in common]
    return AnswerScores(
        metrics=tuple(_metric_scores(name, values, note, seed) for name, (values, note) in scores.items()),
        by_type=_by_type(common, answers, methods),
        by_aspect=_by_aspect(with_answers, methods, texts),
        refusals={m: count_refusals(null, [refused[q.id, m] for q in common]) for m in methods}
        if has_null
        else {},
    )


def correctness(questions: Sequence[Question], answers: Sequence[StudyAnswer]) -> dict[str, dict[str, float]]:
    """Return accuracy by method and question, for questions with gold answers and null questions.

    The correct answer to a null question is a refusal.
    """
    by_id = {q.id: q for q in questions}
    found: dict[str, dict[str, float]] = {}
    for a in answers:
        question = by_id.get(a.question)
        if question is None or not (question.answers or question.null):
            continue
        correct = float(a.refused) if question.null else accuracy(a.uncited_text, question.answers)
        found.setdefault(a.method, {})[a.question] = correct
    return {method: found[method] for method in sorted(found)}


# --- metrics ------------------------------------------------------------------------------------------


def _short_answer_scores(
    questions: Sequence[Question], methods: Sequence[str], texts: Mapping[tuple[str, str], str]
) -> _Scores:
    metrics: dict[str, tuple[Callable[[str, Sequence[str]], float], str]] = {
        "accuracy": (accuracy, ""),
        "EM": (exact_match, ""),
        "sub-EM": (sub_exact_match, ""),
        "precision": (lambda text, golds: token_prf(text, golds).precision, ""),
        "recall": (lambda text, golds: token_prf(text, golds).recall, ""),
        "F1": (lambda text, golds: token_prf(text, golds).f1, ""),
        "lenient accuracy (MultiHop-RAG)": (mhrag_lenient, COMPARISON_ONLY),
    }
    return {
        name: ({m: [score(texts[q.id, m], q.answers) for q in questions] for m in methods}, note)
        for name, (score, note) in metrics.items()
    }


def _reference_scores(
    questions: Sequence[Question],
    methods: Sequence[str],
    texts: Mapping[tuple[str, str], str],
    models: Models,
    bert: BertScoreMode,
) -> _Scores:
    references = [q.references for q in questions]
    predictions = {m: [texts[q.id, m] for q in questions] for m in methods}
    scores: _Scores = {}
    rouges = {
        m: [rouge(text, refs) for text, refs in zip(predictions[m], references, strict=True)] for m in methods
    }
    for kind in ROUGE_TYPES:
        scores[kind] = ({m: [each[kind].f1 for each in rouges[m]] for m in methods}, "F1, no stemmer")
    scores["rouge2 precision"] = ({m: [each["rouge2"].precision for each in rouges[m]] for m in methods}, "")
    scores["rouge2 recall"] = ({m: [each["rouge2"].recall for each in rouges[m]] for m in methods}, "")
    bleus = {m: bleu(predictions[m], references) for m in methods}
    corpus = ", ".join(f"{m} {bleus[m].corpus:.3f}" for m in methods)
    note = f"mean over sentences; corpus score: {corpus}; {bleus[methods[0]].signature}"
    scores["BLEU"] = ({m: list(bleus[m].sentences) for m in methods}, note)
    local = models if is_local(models.embedder) else replace(models, embedder=models.name_embedder)
    scores["similarity"] = (
        {m: semantic_similarity(predictions[m], references, local) for m in methods},
        f"cosine by {local.embedder.name}",
    )
    if bert != "no":
        berts = {m: bert_score(predictions[m], references, rescale=bert == "rescaled") for m in methods}
        note = f"{berts[methods[0]].signature}; {'rescaled by the baseline' if bert == 'rescaled' else 'not rescaled'}"
        for part in ("precision", "recall", "f1"):
            name = "BERTScore F1" if part == "f1" else f"BERTScore {part}"
            scores[name] = ({m: [getattr(s, part) for s in berts[m].scores] for m in methods}, note)
    return scores


def _metric_scores(name: str, values: Mapping[str, Sequence[float]], note: str, seed: int) -> MetricScores:
    methods = list(values)
    table = np.asarray([values[m] for m in methods], dtype=np.float64).T
    means = mean_intervals(table)
    tests: list[MetricTest] = []
    if name in _TESTED and len(methods) > 1:
        pairs = list(combinations(methods, 2))
        differences = np.stack(
            [np.subtract(values[a], values[b], dtype=np.float64) for a, b in pairs], axis=1
        )
        # Differences of rescaled values may exceed 1.
        bound = max(1.0, float(np.abs(differences).max(initial=0.0)))
        paired = paired_means(differences, np.random.default_rng(seed), bound=bound)
        p_values = [each.p for each in paired]
        tests = [
            MetricTest(
                a=a,
                b=b,
                difference=each.interval(level),
                p=p,
                effect=_cohens_d(column),
            )
            for (a, b), column, each, p, level in zip(
                pairs, differences.T, paired, holm(p_values), holm_levels(p_values), strict=True
            )
        ]
    return MetricScores(
        name=name, n=len(table), note=note, means=dict(zip(methods, means, strict=True)), tests=tuple(tests)
    )


def _cohens_d(differences: NDArray[np.float64]) -> float | None:
    """Return the mean in standard deviations; None if the deviation is zero or unknown."""
    differences = np.round(differences, 12)  # without the noise of subtraction
    if not differences.any():
        return 0.0
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return float(differences.mean()) / deviation if deviation > 1e-12 else None


# --- breakdowns ---------------------------------------------------------------------------------------


def _by_type(
    questions: Sequence[Question], answers: Sequence[StudyAnswer], methods: Sequence[str]
) -> tuple[TypeAccuracy, ...]:
    correct = correctness(questions, answers)
    scored = [q for q in questions if all(q.id in correct.get(m, {}) for m in methods)]
    types = sorted({q.type for q in scored})
    if len(types) < 2:
        return ()
    found = []
    for type_ in types:
        ids = [q.id for q in scored if q.type == type_]
        table = np.asarray([[correct[m][q] for m in methods] for q in ids])
        means = share_intervals(table)
        found.append(TypeAccuracy(type=type_, n=len(ids), means=dict(zip(methods, means, strict=True))))
    return tuple(found)


def _by_aspect(
    questions: Sequence[Question], methods: Sequence[str], texts: Mapping[tuple[str, str], str]
) -> dict[str, dict[str, dict[str, CellMean]]]:
    rows = [(q, _field(q, "complexity"), _field(q, "aspect")) for q in questions]
    rows = [row for row in rows if row[1] and row[2]]
    if not rows:
        return {}
    return {
        m: cross_table(
            [accuracy(texts[q.id, m], q.answers) for q, _, _ in rows],
            [complexity for _, complexity, _ in rows],
            [aspect for _, _, aspect in rows],
        )
        for m in methods
    }


def _field(question: Question, field: str) -> str:
    """Return a text field of a question, whatever the case of its name; empty if there is none."""
    for name, value in question.more.items():
        if name.lower() == field and isinstance(value, str):
            return value
    return ""
