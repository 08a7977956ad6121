"""Chat completions of the OpenAI protocol as JSON, as endpoints and batch files hold them."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from polygraph.models.protocols import ChatReply, ChatRequest
from polygraph.models.transport import TransportError
from polygraph.text.tokens import count_tokens

MAX_REPLY_CHARS = 4_000_000
"""Characters after which a reply that does not end is truncated."""
_MAX_TOKENS = 1_000_000_000
"""A larger number is not a token count."""
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too (long|large|many tokens)"
    r"|content.?(filter|policy)|content management policy|safety system|string_above_max_length",
    re.IGNORECASE,
)


def prompt_tokens(request: ChatRequest) -> int:
    """Count the tokens of a request's messages."""
    return sum(
        _count_cached(message.content) if message.role == "system" else count_tokens(message.content)
        for message in request.messages
    )


@lru_cache(maxsize=64)
def _count_cached(text: str) -> int:
    """Count the tokens of instructions, which many requests share."""
    return count_tokens(text)


def read_completion(body: Mapping[str, Any], n_prompt_tokens: int) -> ChatReply:
    """Read a reply from the JSON of a chat completion, which may be malformed in any way.

    Args:
        body: as written by an endpoint or by hand.
        n_prompt_tokens: tokens of the request, used if the body does not report them.

    Raises:
        TransportError: if it holds no text.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    finish, told = choice.get("finish_reason"), body.get("usage")
    usage = {
        name: n
        for name, n in (told.items() if isinstance(told, dict) else ())
        if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _MAX_TOKENS
    }
    if isinstance(text, str) and len(text) > MAX_REPLY_CHARS:
        text, finish = text[:MAX_REPLY_CHARS], "length"
    return checked_reply(
        text if isinstance(text, str) else "",
        finish if isinstance(finish, str) else None,
        usage,
        lambda: n_prompt_tokens,
    )


def checked_reply(
    text: str, finish: str | None, usage: Mapping[str, Any], n_prompt_tokens: Callable[[], int]
) -> ChatReply:
    """Return a reply, with tokens counted here if the endpoint did not report them.

    Raises:
        TransportError: if the text is empty.
    """
    reads, writes = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if reads is None:
        reads = n_prompt_tokens()
    if writes is None:
        writes = count_tokens(text)
    if not text.strip():
        problem = "no text in the reply"
        if finish == "length":
            problem = f"all {writes} output tokens were used before any text was written"
        elif finish == "content_filter":
            problem = "the endpoint's content filter withheld the reply"
        raise TransportError(
            problem,
            kind="empty",
            retryable=finish not in {"length", "content_filter"},
            prompt_tokens=int(reads),
            completion_tokens=int(writes),
        )
    known: Literal["stop", "length", "other"] = "other"
    if finish == "stop" or finish is None:
        known = "stop"
    elif finish == "length":
        known = "length"
    return ChatReply(text=text, prompt_tokens=int(reads), completion_tokens=int(writes), finish=known)


def is_rejected(status: int, text: str) -> bool:
    """Tell whether an error rejects this request in any form, for instance because it is too long."""
    return status == 413 or (status in {400, 422} and bool(_TOO_LONG.search(text)))
