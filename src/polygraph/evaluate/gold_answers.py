"""Which answers of a study are right, and what that says of pairs of methods and of choosing between them."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from polygraph.evaluate.metrics.answer_match import accuracy
from polygraph.evaluate.metrics.oracle import confusion, oracle
from polygraph.evaluate.questions.file import Question
from polygraph.evaluate.runs.study_folder import StudyAnswer
from polygraph.evaluate.runs.study_steps import plain


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
