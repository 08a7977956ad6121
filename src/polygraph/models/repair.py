"""The repair round: ask for a reply once more when it could not be parsed."""

from dataclasses import replace

from polygraph.errors import UnusableReply
from polygraph.models.protocols import ChatReply, ChatRequest, Message
from polygraph.prompts import neutralize, without_chat_markers

MAX_QUOTED_CHARS = 12_000
"""Characters of an unusable reply that the repair round quotes to the model."""


def repair_request(request: ChatRequest, reply: ChatReply, error: UnusableReply) -> ChatRequest:
    """Return a request that asks for the reply once more and names its problem."""
    # Both may quote the reply, and the reply a document.
    problem = neutralize(f"{error.problem}: {error.instruction}" if error.instruction else error.problem)
    if reply.finish == "length":
        fault = f"Your reply was cut off at the limit of its length ({problem}). Be briefer this time."
    else:
        fault = f"Your reply cannot be used: {problem}."
    again = (
        f"{fault} Write the whole reply again, complete and in the format that was asked for, with nothing "
        "before or after it."
    )
    quoted = reply.text if len(reply.text) <= MAX_QUOTED_CHARS else f"{reply.text[:MAX_QUOTED_CHARS]} [...]"
    # Endpoints refuse empty turns.
    turns = (
        Message("assistant", without_chat_markers(quoted.strip()) or "(nothing)"),
        Message("user", again),
    )
    return replace(request, messages=(*request.messages, *turns))
