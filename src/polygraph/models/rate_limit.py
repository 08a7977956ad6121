"""How many calls and tokens an endpoint takes a minute: read from its headers, or found from its refusals.

Where an endpoint tells its limits (``x-ratelimit-limit-requests``, ``-tokens``, ``-remaining-*``, ``-reset-*``),
they are kept. Where it only refuses, with 429 and Retry-After, its limit is measured: a refusal says that nothing is
left now, so that what it took between two refusals is what it granted in that time, whatever it allows at once.
Where it does neither there is no limit, and nobody waits.

No clock and no thread in here: times are given, in seconds on any clock that runs forward.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Counted: TypeAlias = Literal["requests", "tokens"]

MINUTE_S = 60.0
EASE = 0.95
"""Share of a measured limit at which sending goes on after a refusal: a little below, so that what is left recovers."""
GROWTH = 0.001
"""By how much a measured limit is raised with each answer, and more the longer nothing was refused..."""
CALM_CALLS = 50
"""...twice as much after so many calls, three times after twice as many: it is found again when it was raised."""
LEAST_CALLS = 8
"""Calls between two refusals that a first measurement needs."""
MORE_CALLS = 32
"""The same for later ones, which are to be closer."""
LOST = 1 / 3
"""A measurement that falls below this share of the first did not measure a limit: refusals came by chance."""
SURE = 1 / 8
"""Of one call for each wait that is asked for: at least that is granted, since part of a wait may be over when it is
told, and yet refusals that come by chance must not slow everything down."""
MOST_STRIKES = 6
"""Refusals in a row, each within `LEAST_CALLS` of the last though the limit was kept, after which it is doubted."""
LONGEST_PATIENCE = 64
"""A limit that was not believed is measured over twice as many calls the next time, up to so many times."""
AT_ONCE_S = 0.1
"""What a measured limit lets go at once after a pause: as much as it grants in this time, or one call."""

_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|h|m|s|)")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_LONGEST_S = 40 * 86_400.0
"""No limit has a longer period: a larger number is a date."""
_NAMED: tuple[tuple[Counted, re.Pattern[str]], ...] = (
    ("tokens", re.compile(r"\btokens? per|\bTPM\b", re.IGNORECASE)),
    ("requests", re.compile(r"\b(?:requests?|calls?|queries) per|\bRPM\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Told:
    """What the headers of an answer say of one limit."""

    limit: float
    """Most that there can be."""
    remaining: float
    """What is left, this call already taken off."""
    reset_s: float | None
    """Seconds until all of it is there again, or None."""


def read_told(headers: Mapping[str, str]) -> dict[Counted, Told]:
    """Read what headers tell of limits; what cannot be read is left out.

    >>> read_told({"x-ratelimit-limit-tokens": "6000", "x-ratelimit-remaining-tokens": "3000",
    ...            "x-ratelimit-reset-tokens": "1m30s"})
    {'tokens': Told(limit=6000.0, remaining=3000.0, reset_s=90.0)}
    """
    found: dict[Counted, Told] = {}
    kinds: tuple[Counted, ...] = ("requests", "tokens")
    for kind in kinds:
        limit = _number(headers.get(f"x-ratelimit-limit-{kind}", ""))
        remaining = _number(headers.get(f"x-ratelimit-remaining-{kind}", ""))
        if limit and remaining is not None:
            reset = seconds(headers.get(f"x-ratelimit-reset-{kind}", ""))
            found[kind] = Told(limit, min(limit, remaining), reset)
    return found


def seconds(text: str) -> float | None:
    """Read a duration such as ``120ms``, ``6m0s`` or ``1.5``; None if it is none.

    >>> seconds("1h2m3.5s"), seconds("120ms"), seconds("7"), seconds("soon")
    (3723.5, 0.12, 7.0, None)
    """
    text = text.strip()
    total, at = 0.0, 0
    while part := _PART.match(text, at):
        total += float(part.group(1)) * _UNITS[part.group(2)]
        at = part.end()
    return total if text and at == len(text) and total <= _LONGEST_S else None


def limit_named(text: str) -> Counted | None:
    """Tell which limit a refusal speaks of, if it says so.

    >>> limit_named("Rate limit reached on tokens per min (TPM): Limit 10000")
    'tokens'
    """
    found: list[Counted] = [kind for kind, pattern in _NAMED if pattern.search(text[:1000])]
    return found[0] if len(found) == 1 else None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


class Rate:
    """One limit: what may start now, and what comes back each second.

    The level sinks by what starts and rises steadily up to `most`. It may lie below zero, when calls turn out larger
    than was thought.
    """

    def __init__(self) -> None:
        self._per_s: float | None = None
        self._most = 0.0
        self._level = 0.0
        self._at = 0.0
        self._started = 0.0
        self._told = False
        # Of the measurement: when nothing was left the last time, and what started since.
        self._empty_at: float | None = None
        self._since = 0.0
        self._n_since = 0
        self._first = 0.0
        self._wait_s = 0.0
        # Of the doubt whether refusals follow a rate at all.
        self._refused_at = 0.0
        self._n_calm = 0
        self._strikes = 0
        self._patience = 1

    @property
    def per_s(self) -> float | None:
        """What comes back each second, or None if no limit is known."""
        return self._per_s

    @property
    def told(self) -> bool:
        """True if the endpoint told this limit."""
        return self._told

    @property
    def started(self) -> float:
        """All that ever started, refusals taken off."""
        return self._started

    def level(self, now: float) -> float:
        """What may start now."""
        if self._per_s is not None:
            self._level = min(self._most, self._level + max(0.0, now - self._at) * self._per_s)
        self._at = max(self._at, now)
        return self._level

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may start; what is larger than the limit starts when all of it is there."""
        if self._per_s is None:
            return 0.0
        return max(0.0, (min(amount, self._most) - self.level(now)) / self._per_s)

    def start(self, amount: float, now: float) -> None:
        """Take off what starts."""
        self._level = self.level(now) - amount
        self._started += amount
        self._since += amount
        self._n_since += 1
        self._n_calm += 1

    def done(self, guess: float, amount: float, started_at: float) -> None:
        """Put right what was taken off for a call that was answered."""
        self._level -= amount - guess
        self._started += amount - guess
        if self._counts(started_at):
            self._since += amount - guess
        if self._per_s is not None and not self._told:
            self._set(self._per_s * (1 + GROWTH * (1 + self._n_calm / CALM_CALLS)))

    def refused(self, guess: float, started_at: float) -> None:
        """Give back what a refused call did not take."""
        self._started -= guess
        if not self._told:  # else the headers of the refusal have said what is left
            self._level = min(self._most, self._level + guess)
        if self._counts(started_at):
            self._since -= guess
            self._n_since -= 1

    def heard(self, told: Told, later: float, now: float) -> None:
        """Take what the endpoint tells.

        The limit of the time comes from the figures themselves, so that it need not be a minute: what is missing
        comes back within `reset_s`.

        Args:
            told: the limit.
            later: what started since the call that was told this, of which the endpoint did not know.
            now: the time.
        """
        missing = told.limit - told.remaining
        self._told = True
        self._per_s = missing / told.reset_s if told.reset_s and missing >= 1 else told.limit / MINUTE_S
        self._most = told.limit
        self._level = told.remaining - later
        self._at = max(self._at, now)

    def empty(self, started_at: float, wait_s: float, now: float) -> None:
        """Learn from a refusal that nothing is left.

        Args:
            started_at: when the refused call set out.
            wait_s: after how long the endpoint takes a call again.
            now: the time.
        """
        self._level = min(0.0, self.level(now))
        if self._told:
            return
        self._wait_s = max(wait_s, self._wait_s)
        fresh = started_at >= self._refused_at  # else it set out together with one that was refused before
        if fresh:
            soon = self._per_s is not None and self._n_calm < LEAST_CALLS
            self._strikes = self._strikes + 1 if soon else 0
            self._refused_at, self._n_calm = now, 0
        needed = self._patience * LEAST_CALLS if self._per_s is None else MORE_CALLS
        if self._strikes >= MOST_STRIKES:
            self._forget(now)
        elif self._empty_at is None or self._n_since <= 0 or self._since <= 0:
            self._measure_from(now)
        elif self._n_since >= needed and now > self._empty_at:
            self._slow_to(EASE * self._since / (now - self._empty_at), now)
            self._measure_from(now)
        elif fresh and self._per_s is not None:
            self._slow_to(EASE * self._per_s, now)

    def _slow_to(self, per_s: float, now: float) -> None:
        if self._per_s is None:
            self._first, self._level = per_s, 0.0
        if per_s < self._first * LOST:
            self._forget(now)
        else:
            least = self._since / self._n_since / self._wait_s
            self._set(max(per_s, SURE * least))

    def _forget(self, now: float) -> None:
        self._per_s, self._strikes, self._wait_s = None, 0, 0.0
        self._patience = min(2 * self._patience, LONGEST_PATIENCE)
        self._measure_from(now)

    def _set(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s * AT_ONCE_S)

    def _measure_from(self, now: float) -> None:
        self._empty_at, self._since, self._n_since = now, 0.0, 0

    def _counts(self, started_at: float) -> bool:
        return self._empty_at is None or started_at >= self._empty_at


@dataclass(slots=True)
class Turn:
    """A call on its way."""

    guess: float
    """Tokens that it is thought to take."""
    started: float = 0.0
    """When it set out; 0 until then."""
    requests_then: float = 0.0
    """Of `Rate.started`, when it had set out."""
    tokens_then: float = 0.0


class Rates:
    """The two limits of one model at an endpoint."""

    def __init__(self) -> None:
        self.requests = Rate()
        self.tokens = Rate()
        self._n_answers = 0
        self._n_tokens = 0.0

    @property
    def usual_tokens(self) -> float:
        """Mean of the calls that were answered."""
        return self._n_tokens / self._n_answers if self._n_answers else 0.0

    def wait(self, turn: Turn, now: float) -> float:
        """Seconds until a call may set out."""
        return max(self.requests.wait(1.0, now), self.tokens.wait(turn.guess, now))

    def start(self, turn: Turn, now: float) -> None:
        """Let a call set out."""
        self.requests.start(1.0, now)
        self.tokens.start(turn.guess, now)
        turn.started = now
        turn.requests_then, turn.tokens_then = self.requests.started, self.tokens.started

    def heard(self, turn: Turn, told: Mapping[Counted, Told], now: float) -> None:
        """Take what the headers of an answer or refusal tell."""
        if "requests" in told:
            self.requests.heard(told["requests"], self.requests.started - turn.requests_then, now)
        if "tokens" in told:
            self.tokens.heard(told["tokens"], self.tokens.started - turn.tokens_then, now)

    def done(self, turn: Turn, tokens: float) -> None:
        """Note what a call that was answered took."""
        self._n_answers += 1
        self._n_tokens += tokens
        self.requests.done(1.0, 1.0, turn.started)
        self.tokens.done(turn.guess, tokens, turn.started)

    def refused(self, turn: Turn, named: Counted | None, now: float, wait_s: float | None) -> bool:
        """Learn from a refusal.

        Args:
            turn: the call.
            named: which limit the refusal spoke of, or None.
            now: the time.
            wait_s: seconds after which to come again; None or 0: not said, so that it is no sign of a rate.

        Returns:
            True if the limit that was met is known, so that waiting is enough.
        """
        self.requests.refused(1.0, turn.started)
        self.tokens.refused(turn.guess, turn.started)
        both = {"requests": self.requests, "tokens": self.tokens}
        met = [both[named]] if named else list(both.values())
        if not named and any(rate.told and rate.level(now) < 1.0 for rate in met):
            return True
        if not named:
            met = [rate for rate in met if not rate.told]
        if wait_s:
            for rate in met:
                rate.empty(turn.started, wait_s, now)
        return bool(met) and all(rate.per_s is not None for rate in met)
