"""Answers of a study against gold answers, reference texts and questions that have no answer."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

from polygraph.evaluate.metrics import accuracy, exact_match, token_prf
from polygraph.evaluate.outcomes import confusion, oracle, refusals
from polygraph.evaluate.overlap import rouge
from polygraph.evaluate.questions_file import Question
from polygraph.evaluate.steps import plain
from polygraph.evaluate.study import StudyAnswer


def gold_figures(
    questions: Sequence[Question], answers: Sequence[StudyAnswer]
) -> dict[str, dict[str, float]]:
    """Means over questions by method.

    Accuracy, EM and F1 over questions with gold answers, ROUGE over those with references, precision and recall of
    refusals where some questions have no answer.

    Raises:
        MissingExtra: for references, without the extra `eval`.
    """
    asked = {q.id: q for q in questions}
    found: dict[str, dict[str, float]] = {}
    for method in sorted({a.method for a in answers}):
        mine = [(asked[a.question], a) for a in answers if a.method == method and a.question in asked]
        figures: dict[str, float] = {}
        short = [(q, plain(a.text)) for q, a in mine if q.answers and not q.null]
        if short:
            figures |= {
                "accuracy": fmean(accuracy(text, q.answers) for q, text in short),
                "EM": fmean(exact_match(text, q.answers) for q, text in short),
                "F1": fmean(token_prf(text, q.answers).f1 for q, text in short),
            }
        long = [(q, plain(a.text)) for q, a in mine if q.references]
        if long:
            scores = [rouge(text, q.references) for q, text in long]
            figures |= {name: fmean(s[name].f1 for s in scores) for name in scores[0]}
        if any(q.null for q, _ in mine):
            told = refusals([q.null for q, _ in mine], [a.refused for _, a in mine])
            figures |= {
                name: value
                for name, value in (("refusal precision", told.precision), ("refusal recall", told.recall))
                if value is not None
            }
        if figures:
            found[method] = figures
    return found


def right_answers(
    questions: Sequence[Question], answers: Sequence[StudyAnswer]
) -> dict[str, dict[str, float]]:
    """Accuracy by method and question, for questions with gold answers; a right refusal of a null question counts."""
    asked = {q.id: q for q in questions}
    found: dict[str, dict[str, float]] = {}
    for a in answers:
        question = asked.get(a.question)
        if question is None or not (question.answers or question.null):
            continue
        right = float(a.refused) if question.null else accuracy(plain(a.text), question.answers)
        found.setdefault(a.method, {})[a.question] = right
    return {method: found[method] for method in sorted(found)}


def confusions(right: Mapping[str, Mapping[str, float]]) -> tuple[tuple[str, int, int, int, int], ...]:
    """For each pair of methods: its name, questions both get right, only the first, only the second, neither."""
    found = []
    for a, b in combinations(right, 2):
        c = confusion(right[a], right[b])
        found.append((f"{a} – {b}", c.both, c.a_only, c.b_only, c.neither))
    return tuple(found)


def router_sentence(right: Mapping[str, Mapping[str, float]]) -> str:
    """What a perfect choice of the method for each question could gain; empty with fewer than two methods."""
    if len(right) < 2:
        return ""
    best = oracle(right)
    return (
        f"A router that always knew the best method would answer {100 * best.mean:.0f} % of {best.n} questions "
        f"rightly, {best.best} alone {100 * best.best_mean:.0f} %: no choice between these methods can gain more."
    )
