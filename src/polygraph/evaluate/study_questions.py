"""The questions of a study: the file that holds them, and how one's own get into it."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from polygraph.errors import BadInput
from polygraph.evaluate.questions.file import Question, read_questions
from polygraph.evaluate.runs.study_folder import Study
from polygraph.records import Json


def questions_of(study: Study) -> list[Question]:
    """The questions of a study.

    Raises:
        BadInput: if it has none yet.
    """
    path = study.path("questions")
    if not path.is_file():
        raise BadInput(
            f"the study at {study.folder} has no questions. Make some with: polygraph eval questions "
            f"--output {study.folder}, or take your own with --questions FILE.jsonl"
        )
    return read_questions(path)


def take(study: Study, questions: Sequence[Question]) -> list[Question]:
    """Take questions of the user's own as those of a study; no index is needed.

    The same questions may come again with other gold, which takes the place of the former: answers do not depend on it.
    They keep their ids, by which answers know them.

    Returns:
        The questions as the study has them.

    Raises:
        BadInput: if the study has other ones.
    """
    if study.path("questions").is_file():
        known = questions_of(study)
        if [q.question for q in known] != [q.question for q in questions]:
            raise BadInput(
                f"the study at {study.folder} has other questions. Name another folder with --output"
            )
        questions = [replace(q, id=old.id) for q, old in zip(questions, known, strict=True)]
    else:
        study.settle("questions", {"kind": "own", "n": len(questions)})
    put(study, questions)
    return list(questions)


def put(study: Study, questions: Sequence[Question]) -> None:
    """Write the questions of a study, all or none."""
    study.put_in_order("questions", [_as_line(q) for q in questions])


def _as_line(question: Question) -> dict[str, Json]:
    """A question as `read_questions` reads it."""
    row = asdict(question)
    line: dict[str, Json] = {"id": question.id, "question": question.question, "type": question.type}
    if question.answers:
        line["answers"] = list(question.answers)
    if question.references:
        line["references"] = list(question.references)
    if question.evidence:
        line |= {"evidence": list(question.evidence), "evidence_rule": question.evidence_rule}
    if not question.evidence_complete:
        line["evidence_complete"] = False
    if question.chunks:
        line["evidence_chunks"] = list(question.chunks)
    if question.passages:
        line["passages"] = row["passages"]
    if question.facts:
        line["facts"] = list(question.facts)
    if question.null:
        line["null"] = True
    return {**line, **{key: value for key, value in question.more.items() if key not in line}}
