"""The single document that a question is about, for data sets with an index per document."""

from collections.abc import Sequence

from polygraph.errors import BadInput
from polygraph.evaluate.questions.file import Question


def document_of(question: Question) -> str:
    """Return the document that a question is about: its field `document`, or its only piece of evidence.

    Raises:
        BadInput: if it names none, or several.

    >>> document_of(Question(id="q", question="Who?", evidence=("novel-1",)))
    'novel-1'
    """
    document = question.more.get("document")
    if isinstance(document, str) and document:
        return document
    if not names_document(question):
        raise BadInput(
            f"the question {question.id!r} names {len(question.evidence)} documents; asking it of one document needs "
            "exactly one. Give it in the field `document`, or as its only `evidence`"
        )
    return question.evidence[0]


def names_document(question: Question) -> bool:
    """Return whether a question names the one document that it is about."""
    document = question.more.get("document")
    return len(question.evidence) == 1 or (isinstance(document, str) and bool(document))


def group_by_document(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Group questions by their document, in the order of first appearance."""
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(document_of(question), []).append(question)
    return found


def has_gold_within_document(question: Question) -> bool:
    """Return whether a question has gold that can be searched for within its document."""
    return bool(question.answers or question.passages or question.facts or question.chunks)
