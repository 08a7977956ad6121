"""The entities of a question, and the aspects of each that an answer needs (FG-RAG).

Hong et al. (2025), FG-RAG, section 3.3, equations 8 and 10. The aspects of an entity are asked for in the same
conversation as the entities; the aspects of the whole question are asked for by themselves. Both tasks return lists of
texts. A reply without the list raises `UnusableReply` after the repair round.
"""

import json
from collections.abc import Sequence

from polygraph.models import ChatModel, Models
from polygraph.models.protocols import ChatRequest, Message, opening
from polygraph.prompts import prompt, without_chat_markers
from polygraph.tasks.parsing.text_lists import parse_text_lists, text_lists_schema
from polygraph.text.words import phrases

_MAX_PARTS = 50
_MAX_CHARACTERS = 200
"""Most characters of one phrase."""
_MAX_REPLY_TOKENS = 600


def question_parts(question: str, models: Models, *, method: str) -> tuple[str, ...]:
    """List the phrases of a question that may name entities (equation 8): one call with a model.

    Without a model: the runs of content words.

    Returns:
        Phrases in the order of the question, distinct apart from case; possibly none.
    """
    if models.chat is None:
        found = {text.casefold(): text[:_MAX_CHARACTERS] for text, _ in reversed(phrases(question))}
        return tuple(reversed(found.values()))[:_MAX_PARTS]
    (parts,) = models.calls.ask(
        models.chat,
        ChatRequest(
            messages=_opening(question),
            max_output_tokens=_MAX_REPLY_TOKENS,
            schema=text_lists_schema(["entities"]),
        ),
        lambda text: parse_text_lists(text, ["entities"], most=_MAX_PARTS),
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
    """List the questions about one part of a question that an answer must cover (equation 10); one call.

    Args:
        question: as asked.
        subject: one of `parts`, or the question itself, which is asked about outside the conversation.
        parts: result of `question_parts`, the preceding turn of the conversation.
        models: in use.
        chat: the model to ask.
        most: maximum number (code: 10).
        method: for the ledger.
    """
    system, user = prompt("aspects").fill({"subject": subject, "question": question, "most": most})
    messages: tuple[Message, ...] = opening(system, user)
    if subject in parts:
        reply = json.dumps({"entities": list(parts)}, ensure_ascii=False)
        messages = (
            *_opening(question),
            Message("assistant", without_chat_markers(reply)),
            Message("user", f"{system}\n\n{user}"),
        )
    (found,) = models.calls.ask(
        chat,
        ChatRequest(
            messages=messages, max_output_tokens=_MAX_REPLY_TOKENS, schema=text_lists_schema(["questions"])
        ),
        lambda text: parse_text_lists(text, ["questions"], most=most),
        stage="aspects",
        method=method,
    )
    return found


def _opening(question: str) -> tuple[Message, Message]:
    system, user = prompt("question_parts").fill({"question": question})
    return opening(system, user)
