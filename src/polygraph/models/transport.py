"""How a model says that an attempt failed on the way, so that the caller knows whether to try again."""

from typing import Literal, TypeAlias

from polygraph.errors import ModelUnavailable

TransportKind: TypeAlias = Literal[
    "rate_limit", "timeout", "connection", "server", "malformed", "empty", "rejected"
]


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
    ) -> None:
        self.kind: TransportKind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        super().__init__(message)

    @property
    def unreported(self) -> bool:
        """True if the server may have worked, and may bill, without telling us the tokens."""
        return self.kind in {"timeout", "connection", "malformed"} and not self.prompt_tokens

    @property
    def endpoint_down(self) -> bool:
        """True if nothing came from the endpoint: many of these in a row mean that it is down."""
        return self.kind in {"timeout", "connection"}
