"""How fast an endpoint may be asked: found from its answers, shared by all threads."""

import time
from collections.abc import Callable
from threading import Condition

from polygraph.models.transport import TransportError


class Pace:
    """Limits the calls in flight at one endpoint.

    Additive increase, multiplicative decrease (Chiu and Jain 1989): each answer raises the limit by one
    call per round of answers, up to `concurrency`; a rate limit halves it, once per round. When the server
    names a time to wait, every thread waits, not only the one that was told.
    """

    def __init__(self, concurrency: int, sleep: Callable[[float], None]) -> None:
        self._most = concurrency
        self._limit = float(concurrency)
        self._sleep = sleep
        self._changed = Condition()
        self._in_flight = 0
        self._resume_at = 0.0
        self._halved_at = 0.0
        self._failures = 0
        self._answers = 0

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    def enter(self, served: float) -> float:
        """Wait for a place, then for the time that the server asked for.

        Args:
            served: the last such time that this thread has already waited for, or 0.

        Returns:
            When the call starts, on the monotonic clock.
        """
        with self._changed:
            while self._in_flight >= max(1, int(self._limit)):
                self._changed.wait(1.0)
            self._in_flight += 1
            resume_at = self._resume_at
        try:
            wait = resume_at - time.monotonic()
            if resume_at > served and wait > 0:
                self._sleep(wait)
        except BaseException:
            self.leave(0.0, None)
            raise
        return time.monotonic()

    def leave(self, started: float, error: BaseException | None) -> float:
        """Give the place back and learn from how the call ended.

        Returns:
            The time that the server asked to wait for, for `enter`.
        """
        with self._changed:
            self._in_flight -= 1
            if isinstance(error, TransportError):
                self._failures = self._failures + 1 if error.endpoint_down else 0
                if error.kind == "rate_limit":
                    # Calls that set out before the last cut say nothing about the new limit.
                    if started >= self._halved_at:
                        self._limit = max(1.0, self._limit / 2)
                        self._halved_at = time.monotonic()
                    self._resume_at = max(self._resume_at, time.monotonic() + (error.retry_after_s or 0.0))
            elif error is None and started:
                self._failures = 0
                self._answers += 1
                self._limit = min(float(self._most), self._limit + 1.0 / self._limit)
            self._changed.notify_all()
            return self._resume_at

    @property
    def failures(self) -> int:
        """Attempts in a row, over all threads, in which nothing came from the endpoint."""
        return self._failures

    @property
    def answers(self) -> int:
        """Calls that were answered so far."""
        return self._answers
