"""Answer held-out questions with a plain and a tuned reader behind the same retrievals, and compare them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polygraph.errors import BadInput
from polygraph.evaluate.metrics.answer_scores import AnswerScores, score_answers
from polygraph.evaluate.metrics.separation import Separation, separation
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import TUNED_MARK, StudyAnswer
from polygraph.evaluate.reports.study_report import embed_answers
from polygraph.evaluate.runs.answer_steps import answer_questions, sort_answers
from polygraph.evaluate.runs.study_folder import StudyFolder
from polygraph.evaluate.statistics.intervals import Interval, mean_intervals, paired_means
from polygraph.evaluate.statistics.multiple_testing import holm, holm_levels
from polygraph.finetune.compare.reading import reading_measures
from polygraph.finetune.compare.systems import Contrast, contrasts_of, systems_of
from polygraph.indexing.progress import Progress
from polygraph.models import Models
from polygraph.models.protocols import Vectors
from polygraph.records import Answer
from polygraph.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A model that answers over an index."""

    ask: Callable[..., Answer]
    """Answers a question (its text) with a method (its name)."""
    models: Models


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTest:
    """Two systems compared by one measure on the questions to which it applies for both."""

    measure: str
    contrast: Contrast
    n: int
    difference: Interval
    """Mean of the first less that of the second; at the level that Holm's correction gives it."""
    p: float
    """After Holm's correction over all contrasts of the measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderComparison:
    """What a comparison found."""

    systems: tuple[str, ...]
    questions: tuple[Question, ...]
    answers: tuple[StudyAnswer, ...]
    means: Mapping[str, Mapping[str, tuple[Interval, int]]]
    """By measure and system, with the number of questions."""
    tests: tuple[MeasureTest, ...]
    scores: AnswerScores | None
    """Overlap with the gold answers: ROUGE, BLEU, similarity; None without gold."""
    separation: Separation
    vectors: Vectors
    """Embeddings of the answers, for the map."""


def compare_readers(
    study: StudyFolder,
    questions: Sequence[Question],
    methods: Sequence[str],
    plain: Reader,
    tuned: Reader,
    snapshot: Callable[[], Snapshot],
    progress: Progress,
    *,
    seed: int = 0,
) -> ReaderComparison:
    """Answer every question with every method and both readers, and measure what differs.

    Both readers get the same words: the prompt of the training rows. A comparison that was interrupted goes on.

    Args:
        study: gets the answers; `polygraph eval judge` and `report` read it.
        questions: held out from training, with gold.
        methods: that retrieve.
        plain: the reader before training.
        tuned: the reader after it.
        snapshot: opens the index.
        progress: called after each answer.
        seed: of the tests.

    Raises:
        BadInput: if no question has gold, or the study has answers of other models or settings.
        MissingExtra: without the extra `eval`.
    """
    if not any(q.answers or q.null for q in questions):
        raise BadInput(
            "no question has a gold answer, so that nothing can be measured. Give questions with the field `answers`"
        )
    listed = study.import_questions(questions)
    names = systems_of(methods)
    for reader, mark in ((plain, ""), (tuned, TUNED_MARK)):
        answer_questions(
            study, listed, [m + mark for m in methods], reader.ask, snapshot, reader.models, progress
        )
    sort_answers(study, listed)
    known = {a.key: a for a in study.answers()}
    answers = tuple(known[q.id, name] for q in listed for name in names)
    values = reading_measures(listed, answers)
    vectors = embed_answers(answers, plain.models.embedder)
    return ReaderComparison(
        systems=names,
        questions=tuple(listed),
        answers=answers,
        means={measure: _means(by_system) for measure, by_system in values.items()},
        tests=tuple(
            test
            for measure, by_system in values.items()
            for test in _tests(measure, by_system, contrasts_of(methods), seed)
        ),
        scores=score_answers([_with_references(q) for q in listed], answers, plain.models, seed=seed),
        separation=separation(vectors, [a.method for a in answers], [a.question for a in answers], seed=seed),
        vectors=vectors,
    )


def _with_references(question: Question) -> Question:
    """Take gold answers for reference texts where there are none."""
    return question if question.references else replace(question, references=question.answers)


def _means(by_system: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[Interval, int]]:
    return {
        system: (mean_intervals(np.asarray(list(values.values()))[:, None])[0], len(values))
        for system, values in by_system.items()
        if values
    }


def _tests(
    measure: str, by_system: Mapping[str, Mapping[str, float]], contrasts: Sequence[Contrast], seed: int
) -> list[MeasureTest]:
    found = []
    for contrast in contrasts:
        a, b = by_system.get(contrast.a, {}), by_system.get(contrast.b, {})
        common = [question for question in a if question in b]
        if not common:
            continue
        differences = np.asarray([[a[q] - b[q]] for q in common])
        [paired] = paired_means(differences, np.random.default_rng(seed))
        found.append((contrast, len(common), paired))
    p_values = [paired.p for _, _, paired in found]
    return [
        MeasureTest(measure=measure, contrast=contrast, n=n, difference=paired.interval(level), p=p)
        for (contrast, n, paired), p, level in zip(found, holm(p_values), holm_levels(p_values), strict=True)
    ]
