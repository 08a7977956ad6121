"""Pacing of calls to an endpoint, learned from its responses and shared by all threads."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Condition

from polygraph.models.rate_limit import ModelLimits, Ticket, parse_headers
from polygraph.models.transport import TransportError

_POLL_S = 1.0
"""Longest time that a waiting thread sleeps before it checks again."""
_MAX_LIMIT_WAIT_S = 60.0
"""Longest wait for an assumed limit; then the endpoint is called and shows whether the limit holds."""

MAX_PAUSE_S = 900.0
"""Longest pause requested by a server that all threads keep, unless another is given."""


class Pacer:
    """Limits concurrent calls at one endpoint, and the request and token rates of each of its models.

    Concurrency follows additive increase and multiplicative decrease (Chiu and Jain 1989): each answer raises the limit
    by one call per round of answers, up to `concurrency`; a rate limit halves it, once per round, unless the limit of
    requests or tokens that was reached is known, since then waiting is enough. When the server asks for a pause, every
    thread pauses, not only the one that received the response. For request and token rates see `rate_limit`. Calls to
    one model start in the order of their arrival, so that small calls do not starve a large one.
    """

    def __init__(
        self,
        concurrency: int,
        sleep: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
        max_pause_s: float = MAX_PAUSE_S,
    ) -> None:
        self._max_concurrency = concurrency
        self._concurrency = float(concurrency)
        self._sleep = sleep
        self._clock = clock
        self._max_pause_s = max_pause_s
        self._changed = Condition()
        self._queues: dict[str, deque[Ticket]] = {}
        self._limits: dict[str, ModelLimits] = {}
        self._in_flight = 0
        self._resume_at = 0.0
        self._halved_at = 0.0
        self._failures = 0
        self._answers = 0

    @property
    def concurrency(self) -> int:
        """Calls that may be in flight now."""
        return int(self._concurrency)

    def limits(self, model: str = "") -> ModelLimits:
        """Return what is known of a model's limits."""
        with self._changed:
            return self._limits.setdefault(model, ModelLimits())

    def acquire(self, waited_until: float, model: str = "", size: Callable[[], int] | None = None) -> Ticket:
        """Wait until a call may start: for a free slot, for the rate limits, and for a pause that the server asked for.

        Args:
            waited_until: end of the last such pause that this thread has already waited for, or 0.
            model: whose limits apply.
            size: returns the estimated tokens of the call; called only if the model has a token limit.

        Returns:
            The ticket of the call, to be given back with `release`.
        """
        limits = self.limits(model)
        needs_size = size is not None and limits.tokens.per_s is not None
        ticket = Ticket(float(size()) if size is not None and needs_size else limits.mean_tokens)
        with self._changed:
            self._wait_for_start(ticket, limits, self._queues.setdefault(model, deque()))
            self._in_flight += 1
            resume_at = self._resume_at
        try:
            wait = resume_at - self._clock()
            if resume_at > waited_until and wait > 0:
                self._sleep(wait)
        except BaseException:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()
            raise
        return ticket

    def _wait_for_start(self, ticket: Ticket, limits: ModelLimits, queue: "deque[Ticket]") -> None:
        queue.append(ticket)
        try:
            first_at = self._clock()
            while True:
                pause = _POLL_S
                if queue[0] is ticket and self._in_flight < max(1, int(self._concurrency)):
                    now = self._clock()
                    wait = limits.wait(ticket, now)
                    if wait <= 0 or now - first_at >= _MAX_LIMIT_WAIT_S:
                        limits.start(ticket, now)
                        return
                    pause = min(pause, wait)
                else:
                    first_at = self._clock()
                self._changed.wait(pause)
        finally:
            queue.remove(ticket)
            self._changed.notify_all()

    def on_response(self, ticket: Ticket, headers: Mapping[str, str], model: str = "") -> None:
        """Read the headers of the response to a call."""
        parsed = parse_headers(headers)
        if parsed:
            with self._changed:
                self._limits[model].read(ticket, parsed, self._clock())
                self._changed.notify_all()

    def release(
        self, ticket: Ticket, error: BaseException | None, *, model: str = "", tokens: int = 0
    ) -> float:
        """Free the slot of a call and learn from its outcome.

        Returns:
            The end of the pause that the server asked for, for the next `acquire`.
        """
        with self._changed:
            self._in_flight -= 1
            limits, now = self._limits[model], self._clock()
            if isinstance(error, TransportError):
                self._failures = self._failures + 1 if error.endpoint_down else 0
                if error.kind == "rate_limit":
                    self._on_rate_limit(ticket, error, limits, now)
            elif error is None:
                self._failures = 0
                self._answers += 1
                raised = self._concurrency + 1.0 / self._concurrency
                self._concurrency = min(float(self._max_concurrency), raised)
                limits.complete(ticket, tokens)
            self._changed.notify_all()
            return self._resume_at

    def _on_rate_limit(self, ticket: Ticket, error: TransportError, limits: ModelLimits, now: float) -> None:
        known = limits.refuse(ticket, error.limit_kind, now, error.retry_after_s)
        # Calls that started before the last cut say nothing about the new limit.
        if not known and ticket.started >= self._halved_at:
            self._concurrency = max(1.0, self._concurrency / 2)
            self._halved_at = now
        pause = error.retry_after_s or 0.0
        # A longer pause ends the call that met it; the others need not wait to learn the same.
        if pause <= self._max_pause_s:
            self._resume_at = max(self._resume_at, now + pause)

    @property
    def failures(self) -> int:
        """Consecutive attempts, over all threads, in which nothing came from the endpoint."""
        return self._failures

    @property
    def answers(self) -> int:
        """Calls answered so far."""
        return self._answers
