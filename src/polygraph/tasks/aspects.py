"""What has to be known to answer a question, part by part: FG-RAG's entities of the question and their aspects.

Hong et al. (2025), FG-RAG, section 3.3, equations 8 and 10. The aspects of an entity are asked for in the same
conversation as the entities; those of the question as a whole without it.
"""

import json
from collections.abc import Sequence

from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message
from polygraph.prompts import prompt
from polygraph.tasks.question import lists_schema, text_lists
from polygraph.text.words import phrases

_MOST_PARTS = 50
"""Read from one reply."""
_CHARACTERS = 200
_MAX_REPLY_TOKENS = 600


def question_parts(question: str, models: Models, *, method: str) -> tuple[str, ...]:
    """List everything in a question that an entity could stand for; one call with a model (equation 8).

    Without a model: runs of words that carry content.

    Returns:
        Distinct phrases in the order of the question, letter case aside; possibly none.
    """
    if models.chat is None:
        found = {text.casefold(): text[:_CHARACTERS] for text, _ in reversed(phrases(question))}
        return tuple(reversed(found.values()))[:_MOST_PARTS]
    (parts,) = models.calls.ask(
        models.chat,
        ChatRequest(
            messages=_opening(question),
            max_output_tokens=_MAX_REPLY_TOKENS,
            schema=lists_schema(["entities"]),
        ),
        lambda text: text_lists(text, ["entities"], most=_MOST_PARTS),
        stage="question_parts",
        method=method,
    )
    return parts


def aspects(
    question: str,
    subject: str,
    parts: Sequence[str],
    models: Models,
    chat: ChatModel,
    *,
    most: int = 10,
    method: str,
) -> tuple[str, ...]:
    """List what has to be known about one part of a question; one call (equation 10).

    Args:
        question: as asked.
        subject: one of `parts`, or the question itself, which is asked about without the conversation.
        parts: what `question_parts` found: the turn of the conversation that this one follows.
        models: in use.
        chat: the model to ask.
        most: so many at most (code: 10).
        method: for the ledger.
    """
    system, user = prompt("aspects").fill({"subject": subject, "question": question, "most": most})
    messages: tuple[Message, ...] = (Message("system", system), Message("user", user))
    if subject in parts:
        said = json.dumps({"entities": list(parts)}, ensure_ascii=False)
        messages = (
            *_opening(question),
            Message("assistant", said),
            Message("user", f"{system}\n\n{user}"),
        )
    (found,) = models.calls.ask(
        chat,
        ChatRequest(
            messages=messages, max_output_tokens=_MAX_REPLY_TOKENS, schema=lists_schema(["questions"])
        ),
        lambda text: text_lists(text, ["questions"], most=most),
        stage="aspects",
        method=method,
    )
    return found


def _opening(question: str) -> tuple[Message, Message]:
    system, user = prompt("question_parts").fill({"question": question})
    return Message("system", system), Message("user", user)
