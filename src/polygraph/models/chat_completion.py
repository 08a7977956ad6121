"""Chat completions of the OpenAI protocol as JSON, whole or streamed. Nothing in them is trusted."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeGuard

from pydantic_core import from_json

from polygraph.models.protocols import ChatReply, ChatRequest, Likelihood
from polygraph.models.transport import TransportError
from polygraph.text.tokens import count_tokens

MAX_REPLY_CHARS = 4_000_000
"""Characters after which a reply that does not end is truncated."""
MAX_REASONING_TOKENS = 200_000
"""Most output tokens that are believed without a limit in the request: a reasoning model bills more than it shows."""
_SLACK_TOKENS = 1000
"""Tokens that an endpoint may add to our count whatever its size: templates, tools."""
_FEW_TOKENS = 16
"""Tokens of our count that it may lack, whatever its size."""
_ROUNDING = 1e-3
"""How far above 0 a log-probability may be."""
_LEAST = 1e6
"""A log-probability further below 0 is not believed."""
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too (long|large|many tokens)"
    r"|content.?(filter|policy)|content management policy|safety system|string_above_max_length",
    re.IGNORECASE,
)


def prompt_tokens(request: ChatRequest) -> int:
    """Count the tokens of a request's messages."""
    return sum(
        _count_cached(message.content)
        if message.role == "system"
        else count_tokens(well_formed(message.content))
        for message in request.messages
    )


@lru_cache(maxsize=64)
def _count_cached(text: str) -> int:
    """Count the tokens of instructions, which many requests share."""
    return count_tokens(well_formed(text))


def parse_json(data: bytes) -> Any:
    """Parse the JSON of a reply.

    Raises:
        TransportError: if it is not JSON, is nested too deeply, or holds an integer of thousands of digits.
    """
    try:
        # A third of the time of `json`, which a stream spends on every event. It reads less: halves of surrogate pairs,
        # which may be completed by the next event, and encodings other than UTF-8 are left to `json`.
        return from_json(data)
    except ValueError:
        pass
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise TransportError(f"the reply is not JSON ({problem})", kind="malformed") from None


def well_formed(text: str) -> str:
    r"""Join surrogate pairs and replace lone surrogates, which can be neither stored nor printed.

    >>> well_formed("a\ud800b") == "a\N{REPLACEMENT CHARACTER}b", well_formed("\ud83c\udf0a") == "\N{WATER WAVE}"
    (True, True)
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def describe_error(error: object) -> str:
    """Return the ``error`` of a reply as text: its code, the parameter and the message."""
    try:
        if isinstance(error, dict):
            parts = [str(error[name])[:2000] for name in ("code", "param", "message") if error.get(name)]
            text = ": ".join(parts) or str(error)[:2000]
        else:
            text = str(error)[:2000] if error else ""
    except RecursionError:
        text = "an error that is nested too deeply"
    return " ".join(well_formed(text).split())


# --- usage ----------------------------------------------------------------------------------------------


def plausible_prompt_tokens(reported: object, counted: int) -> int | None:
    """Return the reported tokens of a request, or None if they cannot be true.

    A count between a quarter of ours and ten times ours and 1,000 more is believed.

    >>> plausible_prompt_tokens(12, 10), plausible_prompt_tokens(-(10**9), 10), plausible_prompt_tokens("12", 10)
    (12, None, None)
    """
    return _between(reported, counted, 10 * counted + _SLACK_TOKENS)


def plausible_completion_tokens(reported: object, counted: int, limit: int | None) -> int | None:
    """Return the reported tokens of a reply, or None if they cannot be true.

    Args:
        reported: by the endpoint. Tokens of reasoning are billed and not shown, so it may be far above ours.
        counted: tokens of the text.
        limit: on the output tokens of the request, or None.
    """
    return _between(reported, counted, max(10 * counted + _SLACK_TOKENS, limit or MAX_REASONING_TOKENS))


def _between(reported: object, counted: int, most: int) -> int | None:
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return None
    # `int` would fail for NaN and infinities, which fail the comparison as well.
    if not max(0, counted // 4 - _FEW_TOKENS) <= reported <= most or reported != int(reported):
        return None
    return int(reported) if reported or not counted else None


def is_plausible_by_length(reported: object, n_bytes: int, most: int = 0) -> TypeGuard[int]:
    """Tell from the length of a text whether reported tokens are plausible, as nearly all are, without counting.

    A token has some four bytes: a count from an eighth of the bytes, but at least 1, to all of them is believed.

    Args:
        reported: by the endpoint.
        n_bytes: of the text in UTF-8.
        most: tokens that are believed of a text of any length.

    >>> is_plausible_by_length(25, 100), is_plausible_by_length(3, 100), is_plausible_by_length(250, 100)
    (True, False, False)
    """
    return type(reported) is int and n_bytes > 0 and max(1, n_bytes // 8) <= reported <= max(n_bytes, most)


def n_bytes(text: str) -> int:
    """Return the number of bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def n_bytes_of(texts: Iterable[str]) -> int:
    """Return the number of bytes of some texts in UTF-8."""
    return sum(map(n_bytes, texts))


# --- replies --------------------------------------------------------------------------------------------


def read_completion(body: object, n_prompt_tokens: int) -> ChatReply:
    """Read a reply from the JSON of a chat completion, which may be malformed in any way.

    Args:
        body: as written by an endpoint or by hand.
        n_prompt_tokens: tokens of the request by our count.

    Raises:
        TransportError: if it holds no text.
    """
    reader = CompletionReader()
    reader.add([body], "message")
    return reader.reply(n_prompt_tokens, None)


class CompletionReader:
    """Reads a chat completion: a whole one, or one event of a stream after the other."""

    def __init__(self) -> None:
        self.n_chars = 0
        """Characters of text so far."""
        self.finish: str | None = None
        """Reason why the reply ended, or None."""
        self.usage: Mapping[str, Any] | None = None
        """Usage as reported, or None."""
        self._pieces: list[str] = []
        self._likelihood: Likelihood | None = None
        self._incomplete = False
        """Whether some log-probability was malformed."""
        self._half = ""
        """First half of a surrogate pair whose other half may come with the next event."""

    @property
    def full(self) -> bool:
        """True if the reply is longer than any that is read."""
        return self.n_chars > MAX_REPLY_CHARS

    def add(self, bodies: Iterable[object], part: Literal["message", "delta"]) -> tuple[str, bool]:
        """Read a completion, or some events.

        Returns:
            The new text, and True if the model made progress, which includes reasoning that is not shown.

        Raises:
            TransportError: if it does not follow the protocol.
        """
        pieces: list[str] = []
        moved = False
        for body in bodies:
            message = self._message(body, part)
            content = message.get("content")
            if content is not None:
                if not isinstance(content, str):
                    raise _malformed("content is not text")
                pieces.append(content)
            moved = moved or bool(content or message.get("reasoning_content") or message.get("reasoning"))
        return self._take("".join(pieces)), moved

    def _message(self, body: object, part: str) -> Mapping[str, Any]:
        """Note all of an event but its text, and return the part that holds the text."""
        if not isinstance(body, dict):
            raise _malformed("the reply is not an object")
        usage = body.get("usage")
        if usage and isinstance(usage, dict):
            self.usage = usage
        choices = body.get("choices")
        if not choices and isinstance(choices, list | None):
            return {}
        if not isinstance(choices, list):
            raise _malformed("choices is not a list")
        choice = choices[0]
        message = choice.get(part) if isinstance(choice, dict) else choice
        if not isinstance(choice, dict) or not isinstance(message, dict | None):
            raise _malformed(f"a choice holds no {part}")
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            self.finish = finish
        if (given := choice.get("logprobs")) is not None:
            self._add_probabilities(given)
        return message or {}

    def _add_probabilities(self, given: object) -> None:
        """Add the log-probabilities of the tokens of a choice; anything malformed makes all of them unusable."""
        content = given.get("content") if isinstance(given, dict) else None
        if content is None or self._incomplete:
            return
        logs = [_log_probability(token) for token in content] if isinstance(content, list) else [None]
        known = [value for value in logs if value is not None]
        self._incomplete = len(known) < len(logs)
        if known:
            added = Likelihood(len(known), math.fsum(known), math.fsum(map(math.exp, known)))
            self._likelihood = self._likelihood + added if self._likelihood else added

    def _take(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        piece = well_formed(piece)[: max(0, MAX_REPLY_CHARS + 1 - self.n_chars)]
        self._pieces.append(piece)
        self.n_chars += len(piece)
        return piece

    def reply(
        self,
        n_prompt_tokens: int | Callable[[], int],
        max_output_tokens: int | None,
        n_prompt_bytes: int = 0,
    ) -> ChatReply:
        """Return the reply, with tokens counted here where the endpoint reports none or impossible ones.

        Args:
            n_prompt_tokens: tokens of the request by our count; a function is called only if they are needed.
            max_output_tokens: limit of the request, or None.
            n_prompt_bytes: of the request; 0 if they are not known.

        Raises:
            TransportError: if the text is empty.
        """
        text = "".join(self._pieces) + well_formed(self._half)
        finish = self.finish
        if self.full:
            text, finish = text[:MAX_REPLY_CHARS], "length"
        usage = self.usage or {}
        said_read, said_written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        reads = said_read if is_plausible_by_length(said_read, n_prompt_bytes) else None
        counted = 0
        if reads is None:
            counted = n_prompt_tokens if isinstance(n_prompt_tokens, int) else n_prompt_tokens()
            reads = plausible_prompt_tokens(said_read, counted)
        most = max_output_tokens or MAX_REASONING_TOKENS
        writes = said_written if is_plausible_by_length(said_written, n_bytes_of([text]), most) else None
        written = 0
        if writes is None:
            written = count_tokens(text)
            writes = plausible_completion_tokens(said_written, written, max_output_tokens)
        # A zero is as good as no report: some servers leave out what they had cached.
        wrong = [
            f"{name} = {describe_error(usage[name])[:24]}"
            for name, n in (("prompt_tokens", reads), ("completion_tokens", writes))
            if n is None and usage.get(name)
        ]
        reads, writes = counted if reads is None else reads, written if writes is None else writes
        if not text.strip():
            raise _empty(finish, reads, writes)
        known: Literal["stop", "length", "other"] = "other"
        if finish == "stop" or finish is None:
            known = "stop"
        elif finish == "length":
            known = "length"
        return ChatReply(
            text=text,
            prompt_tokens=reads,
            completion_tokens=writes,
            finish=known,
            implausible_usage=", ".join(wrong),
            likelihood=None if self._incomplete else self._likelihood,
        )


def _log_probability(token: object) -> float | None:
    """Return the log-probability of a token, at most 0, or None if it holds none."""
    value = token.get("logprob") if isinstance(token, dict) else None
    # Rounding lets some endpoints report a little more than 0 for a certain token.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LEAST <= value <= _ROUNDING:
        return None
    return min(float(value), 0.0)


def _malformed(problem: str) -> TransportError:
    return TransportError(f"the reply does not follow the protocol ({problem})", kind="malformed")


def _empty(finish: str | None, reads: int, writes: int) -> TransportError:
    problem = "no text in the reply"
    if finish == "length":
        problem = f"all {writes} output tokens were used before any text was written"
    elif finish == "content_filter":
        problem = "the endpoint's content filter withheld the reply"
    return TransportError(
        problem,
        kind="empty",
        retryable=finish not in {"length", "content_filter"},
        prompt_tokens=reads,
        completion_tokens=writes,
    )


def is_rejected(status: int, text: str) -> bool:
    """Tell whether an error rejects this request in any form, for instance because it is too long."""
    return status == 413 or (status in {400, 422} and bool(_TOO_LONG.search(text)))
