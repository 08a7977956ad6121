"""Questions of a conversation, rewritten so that each can be understood on its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygraph.records import Usage

if TYPE_CHECKING:
    from polygraph.models import Models
    from polygraph.tasks.answers.answer import ChatTurn


def standalone_question(question: str, history: "Sequence[ChatTurn]", models: "Models") -> tuple[str, Usage]:
    """Rewrite a question so that it can be understood without the conversation before it.

    Args:
        question: as asked.
        history: earlier questions and answers, oldest first.
        models: the chat model rewrites the question; without one, the names of the previous question are appended to
            a question that names nothing.

    Returns:
        The question, and what rewriting it cost.
    """
    if not history:
        return question, Usage()
    from polygraph.tasks.answers.answer import condense_question
    from polygraph.text.words import question_names

    if models.chat is not None:
        with models.calls.meter() as meter:
            condensed = condense_question(question, history, models, models.chat)
        return condensed, meter.usage
    if question_names(question):
        return question, Usage()
    before = question_names(history[-1][0])
    return (f"{question} ({', '.join(before)})" if before else question), Usage()
