"""How fast an endpoint may be asked: found from its answers, shared by all threads."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Condition

from polygraph.models.rate_limit import Rates, Turn, read_told
from polygraph.models.transport import TransportError

WAKE_S = 1.0
"""How often a thread that waits looks up."""
LONGEST_WAIT_S = 60.0
"""For a limit that we believe in; then the endpoint is asked, and says itself whether it was true."""


class Pace:
    """Limits the calls in flight at one endpoint, and the requests and tokens of time of each of its models.

    Calls in flight, by additive increase and multiplicative decrease (Chiu and Jain 1989): each answer raises the
    limit by one call per round of answers, up to `concurrency`; a rate limit halves it, once per round, unless it is
    one of requests or tokens that is known: then waiting is enough. When the server names a time to wait, every
    thread waits, not only the one that was told. Requests and tokens: see `rates`. Calls to one model set out in the
    order in which they came, so that a large one is not left behind by small ones.
    """

    def __init__(
        self, concurrency: int, sleep: Callable[[float], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = concurrency
        self._limit = float(concurrency)
        self._sleep = sleep
        self._clock = clock
        self._changed = Condition()
        self._queues: dict[str, deque[Turn]] = {}
        self._rates: dict[str, Rates] = {}
        self._in_flight = 0
        self._resume_at = 0.0
        self._halved_at = 0.0
        self._failures = 0
        self._answers = 0

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    def rates(self, model: str = "") -> Rates:
        """What is known of a model's limits."""
        with self._changed:
            return self._rates.setdefault(model, Rates())

    def enter(self, served: float, model: str = "", size: Callable[[], int] | None = None) -> Turn:
        """Wait for a place and for what the limits allow, then for the time that the server asked for.

        Args:
            served: the last such time that this thread has already waited for, or 0.
            model: whose limits count.
            size: tells how many tokens the call will take; asked only if that matters.

        Returns:
            The call, which has set out.
        """
        rates = self.rates(model)
        matters = size is not None and rates.tokens.per_s is not None
        turn = Turn(float(size()) if size is not None and matters else rates.usual_tokens)
        with self._changed:
            self._wait_for_turn(turn, rates, self._queues.setdefault(model, deque()))
            self._in_flight += 1
            resume_at = self._resume_at
        try:
            wait = resume_at - self._clock()
            if resume_at > served and wait > 0:
                self._sleep(wait)
        except BaseException:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()
            raise
        return turn

    def _wait_for_turn(self, turn: Turn, rates: Rates, queue: "deque[Turn]") -> None:
        queue.append(turn)
        try:
            asked_at = self._clock()
            while True:
                pause = WAKE_S
                if queue[0] is turn and self._in_flight < max(1, int(self._limit)):
                    now = self._clock()
                    wait = rates.wait(turn, now)
                    if wait <= 0 or now - asked_at >= LONGEST_WAIT_S:
                        rates.start(turn, now)
                        return
                    pause = min(pause, wait)
                else:
                    asked_at = self._clock()
                self._changed.wait(pause)
        finally:
            queue.remove(turn)
            self._changed.notify_all()

    def heard(self, turn: Turn, headers: Mapping[str, str], model: str = "") -> None:
        """Read the headers of what came for a call."""
        told = read_told(headers)
        if told:
            with self._changed:
                self._rates[model].heard(turn, told, self._clock())
                self._changed.notify_all()

    def leave(self, turn: Turn, error: BaseException | None, *, model: str = "", tokens: int = 0) -> float:
        """Give the place back and learn from how the call ended.

        Returns:
            The time that the server asked to wait for, for `enter`.
        """
        with self._changed:
            self._in_flight -= 1
            rates, now = self._rates[model], self._clock()
            if isinstance(error, TransportError):
                self._failures = self._failures + 1 if error.endpoint_down else 0
                if error.kind == "rate_limit":
                    self._refused(turn, error, rates, now)
            elif error is None:
                self._failures = 0
                self._answers += 1
                self._limit = min(float(self._most), self._limit + 1.0 / self._limit)
                rates.done(turn, tokens)
            self._changed.notify_all()
            return self._resume_at

    def _refused(self, turn: Turn, error: TransportError, rates: Rates, now: float) -> None:
        known = rates.refused(turn, error.limit_met, now, error.retry_after_s)
        # Calls that set out before the last cut say nothing about the new limit.
        if not known and turn.started >= self._halved_at:
            self._limit = max(1.0, self._limit / 2)
            self._halved_at = now
        self._resume_at = max(self._resume_at, now + (error.retry_after_s or 0.0))

    @property
    def failures(self) -> int:
        """Attempts in a row, over all threads, in which nothing came from the endpoint."""
        return self._failures

    @property
    def answers(self) -> int:
        """Calls that were answered so far."""
        return self._answers
