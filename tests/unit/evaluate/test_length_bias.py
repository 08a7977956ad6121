"""Effect of length on the results: regression and warnings."""

import numpy as np
import pytest

from polygraph.evaluate.judging.judgements import Judgement
from polygraph.evaluate.judging.length_alignment import AlignedPair
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.evaluate.reports.summarise_study import summarise_study
from polygraph.evaluate.statistics.length_bias import length_effect
from tests.made_with import MADE_WITH


def rng():
    return np.random.default_rng(0)


def test_slope_and_intercept_match_numpys_polynomial_fit():
    source = rng()
    x = source.normal(40, 30, size=80)
    y = 0.2 + 0.01 * x + source.normal(0, 0.3, size=80)
    slope, level = np.polyfit(x, y, 1)
    found = length_effect(y, x)
    assert found.per_25_words.mean == pytest.approx(25 * slope)
    assert found.at_equal_length.mean == pytest.approx(level)
    assert found.per_25_words.low < 0.25 < found.per_25_words.high
    assert found.words.mean == pytest.approx(x.mean())


def test_few_questions_give_no_effect_and_a_constant_difference_has_no_slope():
    assert length_effect([1.0] * 9, list(range(9))) is None
    assert length_effect([1.0, 0.0] * 10, [0.0] * 20) is None
    same = length_effect([1.0, 0.0] * 10, [5.0] * 20)
    assert (same.words.mean, same.per_25_words, same.inside) == (5.0, None, False)
    with pytest.raises(ValueError, match="not pairs"):
        length_effect([1.0], [1.0, 2.0])


def test_equal_length_outside_the_measured_differences_is_flagged():
    x = np.linspace(100, 200, 30)
    assert not length_effect(x / 200, x).inside
    assert length_effect(x / 200, x - 150).inside


def note_for(differences):
    questions = [Question(id=f"q{i}", question="Why?") for i in range(len(differences))]
    answers = [
        StudyAnswer(
            question=q.id, method=m, text="word", refused=False, extractive=False, made_with=MADE_WITH
        )
        for q in questions
        for m in "AB"
    ]
    aligned = [
        AlignedPair(
            question=q.id, a="A", b="B", texts=("", ""), words=(100 + d, 100), attempts=1, how="regenerated"
        )
        for q, d in zip(questions, differences, strict=True)
    ]
    judged = [
        Judgement(
            protocol="unbiased",
            question=q.id,
            methods=methods,
            judge="j",
            scores={"x": scores if i % 2 else scores[::-1]},
        )
        for i, q in enumerate(questions)
        for methods, scores in ((("A", "B"), (1.0, 2.0)), (("B", "A"), (2.0, 1.0)))
    ]
    return " ".join(summarise_study(questions, answers, aligned, judged).notes)


def test_a_note_warns_of_answers_that_stay_shorter_after_alignment():
    assert "the judged answers of B are 8 words longer than those of A" in note_for([-8, -7, -9, -8] * 5)
    assert "cannot be separated" in note_for([-8, -7, -9, -8] * 5)
    assert "cannot be separated" in note_for([-8] * 20)
    assert "at equal length" in note_for([-9, -8, -8, -7, 2] * 8)


def test_misses_to_both_sides_cause_no_warning():
    assert "longer" not in note_for([-8, 8, -3, 3] * 5)
