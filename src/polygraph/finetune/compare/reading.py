"""How a reader reads: its form, its quotes, its refusals, and whether its answers stand in what it was shown."""

from collections.abc import Mapping, Sequence

from polygraph.evaluate.metrics.answer_match import (
    accuracy,
    contains_answer,
    exact_match,
    normalise_answer,
    normalise_passage,
    token_prf,
)
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.records import StudyAnswer
from polygraph.retrieve.tuned_reader import NOT_VERBATIM, OUT_OF_FORM

Values = Mapping[str, float]
"""By question; without those to which a measure does not apply."""

NOTES: Mapping[str, str] = {
    "right": "a gold answer is given; for null questions a refusal is right",
    "right where shown": "of the questions whose context holds a gold answer",
    "in form": "the reply has the form that the reader was tuned for",
    "verbatim quotes": "of all quotes of a reply, those that are in the evidence word for word",
    "false refusals": "of the questions whose context holds a gold answer",
    "right refusals": "of the questions whose context holds no gold answer",
    "stands in the context": "of the answers that are no refusals: the answer is in the context word for word",
}
"""What each measure means."""


def reading_measures(
    questions: Sequence[Question], answers: Sequence[StudyAnswer]
) -> dict[str, dict[str, Values]]:
    """Measure how systems read.

    Args:
        questions: of the study, with gold answers or null.
        answers: of all systems.

    Returns:
        By measure, then system, the value of each question.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    by_id = {q.id: q for q in questions}
    for answer in answers:
        question = by_id.get(answer.question)
        if question is None:
            continue
        for measure, value in _measure(question, answer).items():
            found.setdefault(measure, {}).setdefault(answer.method, {})[question.id] = value
    return {measure: dict(by_system) for measure, by_system in found.items()}


def _measure(question: Question, answer: StudyAnswer) -> dict[str, float]:
    text = answer.uncited_text
    has_gold = bool(question.answers) and not question.null
    shown = has_gold and _contains(answer.context, question.answers)
    found: dict[str, float] = {"in form": float(OUT_OF_FORM not in answer.notes)}
    if question.null:
        found["right"] = float(answer.refused)
    if has_gold:
        right = 0.0 if answer.refused else accuracy(text, question.answers)
        found["right"] = right
        found["exact match"] = 0.0 if answer.refused else exact_match(text, question.answers)
        found["F1"] = 0.0 if answer.refused else token_prf(text, question.answers).f1
        if shown:
            found["right where shown"] = right
            found["false refusals"] = float(answer.refused)
        else:
            found["right refusals"] = float(answer.refused)
    missing = sum(note.startswith(NOT_VERBATIM) for note in answer.notes)
    quotes = len(answer.citations) + missing
    if quotes:
        found["verbatim quotes"] = len(answer.citations) / quotes
    if not answer.refused and text:
        found["stands in the context"] = float(_contains(answer.context, [text]))
    return found


def _contains(context: str, answers: Sequence[str]) -> bool:
    text = normalise_passage(context)
    return any(contains_answer(text, normalise_answer(answer)) for answer in answers)
