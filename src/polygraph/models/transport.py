"""How a model says that an attempt failed on the way, so that the caller knows whether to try again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

from polygraph.errors import ModelUnavailable
from polygraph.models.rate_limit import Counted

TransportKind: TypeAlias = Literal[
    "rate_limit", "timeout", "connection", "server", "malformed", "empty", "rejected"
]

Headers: TypeAlias = Mapping[str, str]
_LISTENER: ContextVar[Callable[[Headers], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[Headers], None]) -> Iterator[None]:
    """Hand over the headers of every answer, inside a ``with`` block, as soon as they come.

    They come long before the end of a streamed answer, and with refusals too.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def hear(headers: Headers) -> None:
    """Pass the headers of an answer on to whoever listens in this thread."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(headers)


class TransportError(ModelUnavailable):
    """One attempt failed; `Calls` decides what follows, and a model used without `Calls` simply fails.

    Attributes:
        kind: `rate_limit` (429), `timeout` (silence), `connection` (none, or broken off), `server` (5xx),
            `malformed` (not the protocol), `empty` (no text in the reply), `rejected` (this one request,
            for instance as too long).
        retryable: True if the same request may succeed at another time.
        retry_after_s: seconds that the server asks to wait, or None.
        prompt_tokens: tokens that the server reported for the failed attempt.
        completion_tokens: the same for what it wrote.
        limit_met: which limit a 429 spoke of, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: TransportKind,
        retryable: bool = True,
        retry_after_s: float | None = None,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        limit_met: Counted | None = None,
    ) -> None:
        self.kind: TransportKind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.limit_met = limit_met
        super().__init__(message)

    @property
    def unreported(self) -> bool:
        """True if the server may have worked, and may bill, without telling us the tokens."""
        return self.kind in {"timeout", "connection", "malformed"} and not self.prompt_tokens

    @property
    def endpoint_down(self) -> bool:
        """True if nothing came from the endpoint: many of these in a row mean that it is down."""
        return self.kind in {"timeout", "connection"}
