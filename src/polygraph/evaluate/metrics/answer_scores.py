"""How near answers come to what is known to be right: every metric with its interval, paired tests, and parts.

`gold_answers` has what is right question by question; here is what may be concluded from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.evaluate.gold_answers import right_answers
from polygraph.evaluate.metrics.answer_match import (
    accuracy,
    exact_match,
    mhrag_lenient,
    sub_exact_match,
    token_prf,
)
from polygraph.evaluate.metrics.oracle import Cell, Refusals, breakdown, refusals
from polygraph.evaluate.metrics.rouge_bleu import ROUGE_TYPES, bleu, rouge
from polygraph.evaluate.metrics.semantic_similarity import bert_score, semantic_similarity
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.study_folder import StudyAnswer
from polygraph.evaluate.runs.study_steps import plain
from polygraph.evaluate.statistics.bootstrap import Interval, bootstrap_differences, bootstrap_means
from polygraph.evaluate.statistics.paired_tests import paired_tests
from polygraph.models import Models
from polygraph.models.retry import is_local

Bert: TypeAlias = Literal["no", "raw", "rescaled"]
"""Whether BERTScore is computed, and whether it is rescaled by its baseline, which papers do not always say."""

Table: TypeAlias = NDArray[np.float64]
_TESTED = frozenset(
    {"accuracy", "EM", "F1", "rouge1", "rouge2", "rougeL", "BLEU", "similarity", "BERTScore F1"}
)
"""Metrics by which methods are compared; precision, recall and what serves comparison with papers are not."""
COMPARISON_ONLY = "only to compare with published numbers: any shared word is enough"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTest:
    """Two methods by one metric on the same questions."""

    a: str
    b: str
    difference: Interval
    """Mean of a less that of b."""
    test: str
    """Which one was fitting (`stats.paired_test`)."""
    p: float
    """After Holm's correction over all pairs of this metric."""
    effect: float | None
    """Cohen's d; None where all questions differ by the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMetric:
    """One metric of all methods over the questions that all have answered."""

    name: str
    n: int
    note: str
    """What its values depend on: signature, embedder, model and rescaling; or a warning."""
    means: Mapping[str, Interval]
    """By method."""
    tests: tuple[GoldTest, ...]
    """Empty for metrics that are not to be compared by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPart:
    """Accuracy on one type of question."""

    type: str
    n: int
    means: Mapping[str, Interval]
    """By method; a null question is right if it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldScores:
    """Everything that is known of answers with gold."""

    metrics: tuple[GoldMetric, ...]
    by_type: tuple[GoldPart, ...]
    """Empty with a single type."""
    by_aspect: Mapping[str, Mapping[str, Mapping[str, Cell]]]
    """By method a table of accuracy, complexity by aspect, as NovelQA has it; empty where questions have neither."""
    refusals: Mapping[str, Refusals]
    """By method; empty without null questions."""

    def figures(self) -> dict[str, dict[str, float]]:
        """Means by method and metric, precision and recall of refusals among them."""
        found: dict[str, dict[str, float]] = {}
        for metric in self.metrics:
            for method, interval in metric.means.items():
                found.setdefault(method, {})[metric.name] = interval.mean
        for method, told in self.refusals.items():
            for name, value in (("refusal precision", told.precision), ("refusal recall", told.recall)):
                if value is not None:
                    found.setdefault(method, {})[name] = value
        return found


def gold_scores(
    questions: Sequence[Question],
    answers: Sequence[StudyAnswer],
    models: Models,
    *,
    bert: Bert = "no",
    seed: int = 0,
) -> GoldScores | None:
    """Score every answer that has a gold answer or a reference text.

    Args:
        questions: of the study.
        answers: by any methods; only questions that all of them have answered count, so that methods are compared on
            the same ones.
        models: whose embedder tells likeness of meaning; for one that is not on this machine that of names is taken.
        bert: whether to compute BERTScore as well.
        seed: of the intervals.

    Returns:
        None if nothing is known of any question.

    Raises:
        MissingExtra: without the extra `eval`.
        BadInput: for BERTScore, if the package bert-score is not installed.
    """
    texts = {a.key: plain(a.text) for a in answers}
    methods = sorted({a.method for a in answers})
    common = [q for q in questions if all((q.id, m) in texts for m in methods)]
    short = [q for q in common if q.answers and not q.null]
    long = [q for q in common if q.references]
    null = any(q.null for q in common)
    if not methods or not (short or long or null):
        return None
    drafts: dict[str, tuple[dict[str, list[float]], str]] = {}
    if short:
        drafts |= _short(short, methods, texts)
    if long:
        drafts |= _long(long, methods, texts, models, bert)
    told = {a.key: a.refused for a in answers}
    return GoldScores(
        metrics=tuple(_metric(name, values, note, seed) for name, (values, note) in drafts.items()),
        by_type=_by_type(common, answers, methods, seed),
        by_aspect=_by_aspect(short, methods, texts),
        refusals={m: refusals([q.null for q in common], [told[q.id, m] for q in common]) for m in methods}
        if null
        else {},
    )


# --- metrics ------------------------------------------------------------------------------------------


Drafts: TypeAlias = dict[str, tuple[dict[str, list[float]], str]]
"""By metric the scores of each method by question, and a note."""


def _short(
    questions: Sequence[Question], methods: Sequence[str], texts: Mapping[tuple[str, str], str]
) -> Drafts:
    """Metrics of short answers (METHODS: SQuAD's normalisation, HotpotQA's rule for yes and no)."""
    kinds: dict[str, tuple[Callable[[str, Sequence[str]], float], str]] = {
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
        for name, (score, note) in kinds.items()
    }


def _long(
    questions: Sequence[Question],
    methods: Sequence[str],
    texts: Mapping[tuple[str, str], str],
    models: Models,
    bert: Bert,
) -> Drafts:
    """Metrics of texts against references."""
    references = [q.references for q in questions]
    said = {m: [texts[q.id, m] for q in questions] for m in methods}
    drafts: Drafts = {}
    scored = {m: [rouge(text, refs) for text, refs in zip(said[m], references, strict=True)] for m in methods}
    for kind in ROUGE_TYPES:
        drafts[kind] = ({m: [each[kind].f1 for each in scored[m]] for m in methods}, "F1, no stemmer")
    drafts["rouge2 precision"] = ({m: [each["rouge2"].precision for each in scored[m]] for m in methods}, "")
    drafts["rouge2 recall"] = ({m: [each["rouge2"].recall for each in scored[m]] for m in methods}, "")
    found = {m: bleu(said[m], references) for m in methods}
    whole = ", ".join(f"{m} {found[m].corpus:.3f}" for m in methods)
    note = f"mean over sentences; of the corpus: {whole}; {found[methods[0]].signature}"
    drafts["BLEU"] = ({m: list(found[m].sentences) for m in methods}, note)
    asked = models if is_local(models.embedder) else _by_names(models)
    drafts["similarity"] = (
        {m: semantic_similarity(said[m], references, asked) for m in methods},
        f"cosine by {asked.embedder.name}",
    )
    if bert != "no":
        scores = {m: bert_score(said[m], references, rescale=bert == "rescaled") for m in methods}
        note = f"{scores[methods[0]].signature}; {'rescaled by the baseline' if bert == 'rescaled' else 'not rescaled'}"
        for part in ("precision", "recall", "f1"):
            name = f"BERTScore {part.upper() if part == 'f1' else part}"
            drafts[name] = ({m: [getattr(each, part) for each in scores[m].scores] for m in methods}, note)
    return drafts


def _by_names(models: Models) -> Models:
    """Models whose embedder is that of names, which is on this machine."""
    return Models(
        chat=models.chat,
        embedder=models.name_embedder,
        name_embedder=models.name_embedder,
        reranker=models.reranker,
        calls=models.calls,
    )


def _metric(name: str, values: Mapping[str, Sequence[float]], note: str, seed: int) -> GoldMetric:
    methods = list(values)
    table = np.asarray([values[m] for m in methods], dtype=np.float64).T
    means = bootstrap_means(table, np.random.default_rng(seed))
    tests: list[GoldTest] = []
    if name in _TESTED and len(methods) > 1:
        found = paired_tests(values)
        place = {m: i for i, m in enumerate(methods)}
        differences = np.stack([table[:, place[a]] - table[:, place[b]] for a, b in found], axis=1)
        intervals = bootstrap_differences(differences, np.random.default_rng(seed))
        tests = [
            GoldTest(a=a, b=b, difference=interval, test=test.test, p=p, effect=test.effect)
            for ((a, b), (test, p)), interval in zip(found.items(), intervals, strict=True)
        ]
    return GoldMetric(
        name=name, n=len(table), note=note, means=dict(zip(methods, means, strict=True)), tests=tuple(tests)
    )


# --- parts --------------------------------------------------------------------------------------------


def _by_type(
    questions: Sequence[Question], answers: Sequence[StudyAnswer], methods: Sequence[str], seed: int
) -> tuple[GoldPart, ...]:
    right = right_answers(questions, answers)
    known = [q for q in questions if all(q.id in right.get(m, {}) for m in methods)]
    kinds = sorted({q.type for q in known})
    if len(kinds) < 2:
        return ()
    parts = []
    for kind in kinds:
        mine = [q.id for q in known if q.type == kind]
        table = np.asarray([[right[m][q] for m in methods] for q in mine])
        means = bootstrap_means(table, np.random.default_rng(seed))
        parts.append(GoldPart(type=kind, n=len(mine), means=dict(zip(methods, means, strict=True))))
    return tuple(parts)


def _by_aspect(
    questions: Sequence[Question], methods: Sequence[str], texts: Mapping[tuple[str, str], str]
) -> dict[str, dict[str, dict[str, Cell]]]:
    some = [(q, _named(q, "complexity"), _named(q, "aspect")) for q in questions]
    some = [each for each in some if each[1] and each[2]]
    if not some:
        return {}
    return {
        m: breakdown(
            [accuracy(texts[q.id, m], q.answers) for q, _, _ in some],
            [c for _, c, _ in some],
            [a for _, _, a in some],
        )
        for m in methods
    }


def _named(question: Question, field: str) -> str:
    """A property of a question, however its file spells the field."""
    for name, value in question.more.items():
        if name.lower() == field and isinstance(value, str):
            return value
    return ""
