"""Ask a model for an answer with citations, or for a question that stands on its own."""

from collections.abc import Callable, Sequence

from polygraph.errors import UnusableReply
from polygraph.models import Models
from polygraph.models.protocols import ChatModel, ChatRequest, Message
from polygraph.prompts import as_data, prompt

NO_ANSWER = "NO ANSWER:"
"""How a reply begins that says that the evidence does not suffice."""
_MAX_ANSWER_TOKENS = 1_500
_HISTORY_CHARACTERS = 4_000

Turn = tuple[str, str]
"""A question and its answer."""


def write_answer(
    question: str,
    context: str,
    models: Models,
    chat: ChatModel,
    *,
    method: str,
    history: Sequence[Turn] = (),
    on_text: Callable[[str], None] | None = None,
    on_finish: Callable[[str], None] | None = None,
) -> str:
    """Let the model answer from a packed context; one call.

    Returns:
        Its text; beginning with `NO_ANSWER` if it finds the evidence insufficient.
    """
    system, user = prompt("answer").fill(
        {"evidence": as_data(context, "evidence"), "history": _history(history), "question": question}
    )
    request = ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_output_tokens=_MAX_ANSWER_TOKENS
    )
    return models.calls.ask(
        chat, request, _text, stage="answer", method=method, on_text=on_text, on_finish=on_finish
    )


def condense_question(question: str, history: Sequence[Turn], models: Models, chat: ChatModel) -> str:
    """Rewrite the last question of a conversation so that it stands on its own; one call."""
    system, user = prompt("condense").fill({"history": _history(history), "question": question})
    request = ChatRequest(messages=(Message("system", system), Message("user", user)), max_output_tokens=200)
    return models.calls.ask(chat, request, _text, stage="condense")


def _history(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    text = "\n".join(f"Question: {asked}\nAnswer: {answered}" for asked, answered in history)
    return as_data(text[-_HISTORY_CHARACTERS:], "conversation") + "\n"


def _text(reply: str) -> str:
    if not reply.strip():
        raise UnusableReply("the reply was empty", reply)
    return reply.strip()
