"""The error of a failed attempt, which tells the caller whether to retry, and the headers of responses."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

from polygraph.errors import ModelUnavailable
from polygraph.models.rate_limit import LimitKind

TransportKind: TypeAlias = Literal[
    "rate_limit", "timeout", "connection", "server", "malformed", "empty", "rejected"
]

Headers: TypeAlias = Mapping[str, str]
_LISTENER: ContextVar[Callable[[Headers], None] | None] = ContextVar("listener", default=None)


@contextmanager
def header_listener(on_response: Callable[[Headers], None]) -> Iterator[None]:
    """Call a function with the headers of every response received inside the ``with`` block.

    It is called as soon as the headers arrive: long before the end of a streamed answer, and for refusals too.
    """
    token = _LISTENER.set(on_response)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def report_headers(headers: Headers) -> None:
    """Pass the headers of a response to the listener of this thread, if there is one."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(headers)


class TransportError(ModelUnavailable):
    """One attempt failed. `Calls` decides whether to retry; a model used without `Calls` simply fails.

    Attributes:
        kind: `rate_limit` (429), `timeout` (no data), `connection` (refused or broken), `server` (5xx),
            `malformed` (not the protocol), `empty` (no text in the reply), `rejected` (this request only, for
            instance because it is too long).
        retryable: True if the same request may succeed later.
        retry_after_s: seconds that the server asks to wait, or None.
        prompt_tokens: tokens read that the server reported for the failed attempt.
        completion_tokens: tokens written that it reported.
        limit_kind: the limit that a 429 names, or None.
        connected: False if no connection could be opened: it was refused, the host's name is not known, or the
            certificate is not valid.
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
        limit_kind: LimitKind | None = None,
        connected: bool = True,
    ) -> None:
        self.kind: TransportKind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.limit_kind = limit_kind
        self.connected = connected
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the attributes when the error comes from another process."""
        return _restored, (str(self), self.__dict__)

    @property
    def unreported(self) -> bool:
        """True if the server may have worked, and may bill, without reporting tokens."""
        return (
            self.connected and self.kind in {"timeout", "connection", "malformed"} and not self.prompt_tokens
        )

    @property
    def endpoint_down(self) -> bool:
        """True if nothing came from the endpoint: many such errors in a row mean that it is down."""
        return self.kind in {"timeout", "connection"}


def _restored(message: str, attributes: dict[str, Any]) -> TransportError:
    return TransportError(message, **attributes)
