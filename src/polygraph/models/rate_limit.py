"""Rate limits of an endpoint, in requests and tokens per unit of time: read from headers, or measured from refusals.

An endpoint that sends ``x-ratelimit-limit-requests``, ``-tokens``, ``-remaining-*`` and ``-reset-*`` is taken at its
word. For one that only refuses, with 429 and Retry-After, the limit is measured: a refusal means that nothing is left
now, so what was accepted between two refusals is what the endpoint granted in that time, whatever burst it allows. An
endpoint that does neither has no limit, and nothing waits.

This module has no clock and no threads: callers pass times, in seconds on any monotonic clock.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

LimitKind: TypeAlias = Literal["requests", "tokens"]

MINUTE_S = 60.0
SAFETY = 0.95
"""Share of a measured limit that is used after a refusal: slightly below it, so that the quota recovers."""
GROWTH = 0.001
"""Growth of a measured limit with each answer; it speeds up while nothing is refused..."""
CALM_CALLS = 50
"""...doubling after this many calls, tripling after twice as many, so that a limit that was raised is found again."""
MIN_CALLS = 8
"""Calls between two refusals that a first measurement needs."""
MIN_CALLS_LATER = 32
"""Calls between two refusals that later measurements need, which should be more precise."""
IMPLAUSIBLE = 1 / 3
"""A measurement below this share of the first is discarded: the refusals were accidental."""
MIN_CALLS_PER_WAIT = 1 / 8
"""A measured limit grants at least this many calls per requested wait. Part of a wait may be over when it is announced,
but accidental refusals must not slow everything down."""
MAX_STRIKES = 6
"""Consecutive refusals, each within `MIN_CALLS` of the last although the limit was kept, that discard the limit."""
MAX_PATIENCE = 64
"""After each discarded limit the next measurement takes twice as many calls, up to this factor."""
BURST_S = 0.1
"""A measured limit allows a burst of what it grants in this time, at least one call."""

_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|h|m|s|)")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_MAX_PERIOD_S = 40 * 86_400.0
"""No limit has a longer period: a larger number is a date."""
_MENTIONS: tuple[tuple[LimitKind, re.Pattern[str]], ...] = (
    ("tokens", re.compile(r"\btokens? per|\bTPM\b", re.IGNORECASE)),
    ("requests", re.compile(r"\b(?:requests?|calls?|queries) per|\bRPM\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class RateLimitHeaders:
    """One limit as the headers of a response state it."""

    limit: float
    """Size of the quota."""
    remaining: float
    """What is left of it after this call."""
    reset_s: float | None
    """Seconds until the whole quota is available again, or None."""


def parse_headers(headers: Mapping[str, str]) -> dict[LimitKind, RateLimitHeaders]:
    """Read the rate-limit headers of a response; headers that cannot be read are ignored.

    >>> parse_headers({"x-ratelimit-limit-tokens": "6000", "x-ratelimit-remaining-tokens": "3000",
    ...                "x-ratelimit-reset-tokens": "1m30s"})
    {'tokens': RateLimitHeaders(limit=6000.0, remaining=3000.0, reset_s=90.0)}
    """
    parsed: dict[LimitKind, RateLimitHeaders] = {}
    kinds: tuple[LimitKind, ...] = ("requests", "tokens")
    for kind in kinds:
        limit = _number(headers.get(f"x-ratelimit-limit-{kind}", ""))
        remaining = _number(headers.get(f"x-ratelimit-remaining-{kind}", ""))
        if limit and remaining is not None:
            reset = parse_duration(headers.get(f"x-ratelimit-reset-{kind}", ""))
            parsed[kind] = RateLimitHeaders(limit, min(limit, remaining), reset)
    return parsed


def parse_duration(text: str) -> float | None:
    """Read a duration such as ``120ms``, ``6m0s`` or ``1.5`` in seconds; None if the text is not a duration.

    >>> parse_duration("1h2m3.5s"), parse_duration("120ms"), parse_duration("7"), parse_duration("soon")
    (3723.5, 0.12, 7.0, None)
    """
    text = text.strip()
    total, at = 0.0, 0
    while part := _PART.match(text, at):
        total += float(part.group(1)) * _UNITS[part.group(2)]
        at = part.end()
    return total if text and at == len(text) and total <= _MAX_PERIOD_S else None


def limit_in_message(text: str) -> LimitKind | None:
    """Return the limit that the message of a refusal names; None if it names none or both.

    >>> limit_in_message("Rate limit reached on tokens per min (TPM): Limit 10000")
    'tokens'
    """
    named: list[LimitKind] = [kind for kind, pattern in _MENTIONS if pattern.search(text[:1000])]
    return named[0] if len(named) == 1 else None


def _number(text: str) -> float | None:
    return float(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


class RateLimit:
    """One limit as a token bucket: what may start now, and what is refilled each second.

    Starting calls lowers the level; it rises steadily up to the capacity. It falls below zero when calls turn out
    larger than estimated.
    """

    def __init__(self) -> None:
        self._per_s: float | None = None
        self._capacity = 0.0
        self._level = 0.0
        self._at = 0.0
        self._started = 0.0
        self._reported = False
        # The measurement: time of the last refusal, and what started since.
        self._empty_at: float | None = None
        self._since = 0.0
        self._n_since = 0
        self._first = 0.0
        self._wait_s = 0.0
        # Evidence that refusals do not follow a rate at all.
        self._refused_at = 0.0
        self._n_calm = 0
        self._strikes = 0
        self._patience = 1

    @property
    def per_s(self) -> float | None:
        """Refill per second; None if no limit is known."""
        return self._per_s

    @property
    def reported(self) -> bool:
        """True if the limit comes from headers, False if it is measured or unknown."""
        return self._reported

    @property
    def started(self) -> float:
        """Total of everything that started, without refused calls."""
        return self._started

    def level(self, now: float) -> float:
        """Return how much may start now."""
        if self._per_s is not None:
            self._level = min(self._capacity, self._level + max(0.0, now - self._at) * self._per_s)
        self._at = max(self._at, now)
        return self._level

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until an amount may start; one above the capacity starts when the bucket is full."""
        if self._per_s is None:
            return 0.0
        return max(0.0, (min(amount, self._capacity) - self.level(now)) / self._per_s)

    def start(self, amount: float, now: float) -> None:
        """Take the amount of a call that starts."""
        self._level = self.level(now) - amount
        self._started += amount
        self._since += amount
        self._n_since += 1
        self._n_calm += 1

    def complete(self, estimate: float, amount: float, started_at: float) -> None:
        """Replace the estimate of an answered call by its real amount."""
        self._level -= amount - estimate
        self._started += amount - estimate
        if self._is_measured(started_at):
            self._since += amount - estimate
        if self._per_s is not None and not self._reported:
            self._set_rate(self._per_s * (1 + GROWTH * (1 + self._n_calm / CALM_CALLS)))

    def refund(self, estimate: float, started_at: float) -> None:
        """Return the estimate of a refused call."""
        self._started -= estimate
        if not self._reported:  # otherwise the headers of the refusal state what is left
            self._level = min(self._capacity, self._level + estimate)
        if self._is_measured(started_at):
            self._since -= estimate
            self._n_since -= 1

    def read(self, headers: RateLimitHeaders, started_later: float, now: float) -> None:
        """Adopt the limit that the endpoint reports.

        The refill rate follows from the reported numbers, so the period need not be a minute: what is missing comes
        back within `reset_s`.

        Args:
            headers: the limit.
            started_later: amount that started after the call of these headers, which they do not include.
            now: the time.
        """
        missing = headers.limit - headers.remaining
        self._reported = True
        steady = headers.limit / MINUTE_S
        self._per_s = missing / headers.reset_s if headers.reset_s and missing >= 1 else steady
        self._capacity = headers.limit
        self._level = headers.remaining - started_later
        self._at = max(self._at, now)

    def measure(self, started_at: float, wait_s: float, now: float) -> None:
        """Learn from a refusal, which means that nothing is left now.

        Args:
            started_at: when the refused call started.
            wait_s: seconds after which the endpoint asks to be called again.
            now: the time.
        """
        self._level = min(0.0, self.level(now))
        if self._reported:
            return
        self._wait_s = max(wait_s, self._wait_s)
        fresh = started_at >= self._refused_at  # otherwise it started together with a call refused before
        if fresh:
            soon = self._per_s is not None and self._n_calm < MIN_CALLS
            self._strikes = self._strikes + 1 if soon else 0
            self._refused_at, self._n_calm = now, 0
        needed = self._patience * MIN_CALLS if self._per_s is None else MIN_CALLS_LATER
        if self._strikes >= MAX_STRIKES:
            self._discard(now)
        elif self._empty_at is None or self._n_since <= 0 or self._since <= 0:
            self._measure_from(now)
        elif self._n_since >= needed and now > self._empty_at:
            self._slow_to(SAFETY * self._since / (now - self._empty_at), now)
            self._measure_from(now)
        elif fresh and self._per_s is not None:
            self._slow_to(SAFETY * self._per_s, now)

    def _slow_to(self, per_s: float, now: float) -> None:
        if self._per_s is None:
            self._first, self._level = per_s, 0.0
        if per_s < self._first * IMPLAUSIBLE:
            self._discard(now)
        else:
            mean_per_wait = self._since / self._n_since / self._wait_s
            self._set_rate(max(per_s, MIN_CALLS_PER_WAIT * mean_per_wait))

    def _discard(self, now: float) -> None:
        self._per_s, self._strikes, self._wait_s = None, 0, 0.0
        self._patience = min(2 * self._patience, MAX_PATIENCE)
        self._measure_from(now)

    def _set_rate(self, per_s: float) -> None:
        self._per_s = per_s
        self._capacity = max(1.0, per_s * BURST_S)

    def _measure_from(self, now: float) -> None:
        self._empty_at, self._since, self._n_since = now, 0.0, 0

    def _is_measured(self, started_at: float) -> bool:
        return self._empty_at is None or started_at >= self._empty_at


@dataclass(slots=True, eq=False)
class Ticket:
    """Permission for one call, with what is needed to settle it; equal to no other, since calls wait in a queue."""

    tokens: float
    """Estimated tokens of the call."""
    started: float = 0.0
    """When the call started; 0 until then."""
    requests_before: float = 0.0
    """`RateLimit.started` of the requests right after the call started."""
    tokens_before: float = 0.0
    """`RateLimit.started` of the tokens right after the call started."""


class ModelLimits:
    """The limits of one model at an endpoint: requests and tokens."""

    def __init__(self) -> None:
        self.requests = RateLimit()
        self.tokens = RateLimit()
        self._n_answers = 0
        self._n_tokens = 0.0

    @property
    def mean_tokens(self) -> float:
        """Mean tokens of the answered calls, 0 before the first answer."""
        return self._n_tokens / self._n_answers if self._n_answers else 0.0

    def wait(self, ticket: Ticket, now: float) -> float:
        """Return the seconds until a call may start."""
        return max(self.requests.wait(1.0, now), self.tokens.wait(ticket.tokens, now))

    def start(self, ticket: Ticket, now: float) -> None:
        """Let a call start."""
        self.requests.start(1.0, now)
        self.tokens.start(ticket.tokens, now)
        ticket.started = now
        ticket.requests_before, ticket.tokens_before = self.requests.started, self.tokens.started

    def read(self, ticket: Ticket, headers: Mapping[LimitKind, RateLimitHeaders], now: float) -> None:
        """Adopt the limits that the headers of an answer or refusal report."""
        if "requests" in headers:
            self.requests.read(headers["requests"], self.requests.started - ticket.requests_before, now)
        if "tokens" in headers:
            self.tokens.read(headers["tokens"], self.tokens.started - ticket.tokens_before, now)

    def complete(self, ticket: Ticket, tokens: float) -> None:
        """Record the tokens of an answered call."""
        self._n_answers += 1
        self._n_tokens += tokens
        self.requests.complete(1.0, 1.0, ticket.started)
        self.tokens.complete(ticket.tokens, tokens, ticket.started)

    def refuse(self, ticket: Ticket, named: LimitKind | None, now: float, wait_s: float | None) -> bool:
        """Learn from a refused call.

        Args:
            ticket: of the call.
            named: the limit that the refusal names, or None.
            now: the time.
            wait_s: seconds after which to call again; None or 0 if the endpoint does not say, and then the refusal is
                no evidence of a rate.

        Returns:
            True if the limit that was reached is known, so that waiting is enough.
        """
        self.requests.refund(1.0, ticket.started)
        self.tokens.refund(ticket.tokens, ticket.started)
        both = {"requests": self.requests, "tokens": self.tokens}
        reached = [both[named]] if named else list(both.values())
        if not named and any(limit.reported and limit.level(now) < 1.0 for limit in reached):
            return True
        if not named:
            reached = [limit for limit in reached if not limit.reported]
        if wait_s:
            for limit in reached:
                limit.measure(ticket.started, wait_s, now)
        return bool(reached) and all(limit.per_s is not None for limit in reached)
