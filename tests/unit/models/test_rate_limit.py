"""The arithmetic of rate limits, with a simulated clock and endpoint."""

import threading
import time
from collections import deque
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from polygraph.models.pacing import Pacer
from polygraph.models.rate_limit import (
    ModelLimits,
    RateLimit,
    RateLimitHeaders,
    Ticket,
    limit_in_message,
    parse_duration,
    parse_headers,
)
from polygraph.models.transport import TransportError


def test_headers_are_parsed_in_the_forms_that_endpoints_send() -> None:
    parsed = parse_headers(
        {
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "499",
            "x-ratelimit-reset-requests": "120ms",
            "x-ratelimit-limit-tokens": "30000",
            "x-ratelimit-remaining-tokens": "0",
        }
    )
    assert parsed == {
        "requests": RateLimitHeaders(500.0, 499.0, 0.12),
        "tokens": RateLimitHeaders(30_000.0, 0.0, None),
    }


@pytest.mark.parametrize("text", ["", "soon", "-3", "1s later", "1e9", "99999999999", "s", "ms"])
def test_text_that_is_not_a_duration_gives_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.dictionaries(st.sampled_from(["limit", "remaining", "reset"]), st.text(max_size=30)))
def test_any_header_text_can_be_parsed(values: dict[str, str]) -> None:
    for parsed in parse_headers({f"x-ratelimit-{k}-tokens": v for k, v in values.items()}).values():
        assert parsed.limit > 0
        assert 0 <= parsed.remaining <= parsed.limit


def test_a_refusal_names_its_limit_or_not() -> None:
    assert limit_in_message("Limit reached on requests per min (RPM): Limit 3, Used 3") == "requests"
    assert limit_in_message("tokens per minute exceeded") == "tokens"
    assert limit_in_message("too many requests") is None


def test_reported_limits_are_kept_as_computed_by_hand() -> None:
    limits, ticket = ModelLimits(), Ticket(tokens=100.0)
    limits.start(ticket, 10.0)
    # 600 of 1000 tokens are missing and come back in 30 s: 20 a second. 400 are left.
    limits.read(ticket, {"tokens": RateLimitHeaders(1000.0, 400.0, 30.0)}, 10.0)
    assert limits.tokens.per_s == 20.0
    assert limits.wait(Ticket(400.0), 10.0) == 0.0
    assert limits.wait(Ticket(500.0), 10.0) == pytest.approx(5.0)
    # Above the limit: when the quota is full.
    assert limits.wait(Ticket(5000.0), 10.0) == pytest.approx(30.0)
    # What started after the endpoint counted is subtracted.
    limits.start(Ticket(300.0), 11.0)
    limits.read(ticket, {"tokens": RateLimitHeaders(1000.0, 400.0, 30.0)}, 11.0)
    assert limits.tokens.level(11.0) == pytest.approx(100.0)


def test_the_measured_limit_is_what_was_granted_between_two_refusals() -> None:
    limit = RateLimit()
    for k in range(30):  # a burst, which says nothing about the rate
        limit.start(1.0, 0.01 * k)
        limit.complete(1.0, 1.0, 0.01 * k)
    limit.measure(1.0, 0.5, 1.0)
    assert limit.per_s is None
    for k in range(20):
        limit.start(1.0, 2.0 + k / 2)
        limit.complete(1.0, 1.0, 2.0 + k / 2)
    limit.measure(11.0, 0.5, 11.0)
    assert limit.per_s == pytest.approx(20 / 10 * 0.95)
    assert limit.wait(1.0, 11.0) == pytest.approx(1 / 1.9)


def test_an_endpoint_that_never_refuses_causes_no_waits() -> None:
    limits = ModelLimits()
    for k in range(1000):
        ticket = Ticket(1e6)
        assert limits.wait(ticket, k * 1e-6) == 0.0
        limits.start(ticket, k * 1e-6)
        limits.complete(ticket, 1e6)


class Bucket:
    """An endpoint that keeps one limit, on the clock of the test."""

    def __init__(self, per_s: float, at_once: float) -> None:
        self.per_s, self.most, self.left, self.at = per_s, at_once, at_once, 0.0

    def take(self, now: float) -> float:
        self.left = min(self.most, self.left + (now - self.at) * self.per_s)
        self.at = now
        if self.left >= 1 - 1e-9:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.per_s


def drive(bucket: Bucket, n: int, threads: int, latency: float) -> tuple[list[float], list[float]]:
    """Send `n` calls as threads would; return when calls were let in and when they were refused."""
    limits, now = ModelLimits(), 0.0
    resume, taken, refused = 0.0, [], []
    free = deque([0.0] * threads)
    while len(taken) < n:
        now = max(now, free.popleft(), resume)
        ticket = Ticket(0.0)
        now += limits.wait(ticket, now)
        limits.start(ticket, now)
        wait = bucket.take(now)
        if wait:
            refused.append(now)
            limits.refuse(ticket, None, now, wait)
            resume = now + wait
            free.append(resume)
        else:
            taken.append(now)
            limits.complete(ticket, 0.0)
            free.append(now + latency)
        free = deque(sorted(free))
    return taken, refused


@settings(max_examples=60, deadline=None)
@given(
    per_s=st.floats(0.2, 50),
    at_once=st.floats(1, 100),
    threads=st.integers(2, 32),
    latency=st.floats(0.0, 0.2),
)
def test_a_limit_that_is_only_refused_is_found_and_used(
    per_s: float, at_once: float, threads: int, latency: float
) -> None:
    taken, refused = drive(Bucket(per_s, at_once), 600, threads, latency)
    half = taken[300]
    late = sum(t > half for t in refused)
    assert late <= 0.06 * 300
    able = threads / latency if latency else float("inf")
    best = 300 / min(per_s, able)
    assert taken[-1] - half <= 1.12 * best + 2 / per_s


def test_accidental_refusals_do_not_slow_calls_to_a_stop() -> None:
    class Chance:
        def __init__(self) -> None:
            self.n = 0

        def take(self, now: float) -> float:
            self.n += 1
            return 1.0 if self.n * 2654435761 % 5 == 0 else 0.0

    taken, _ = drive(Chance(), 1000, 8, 0.5)  # type: ignore[arg-type]
    # Every fifth call holds all of them up for a second: four calls a second at best.
    assert taken[-1] - taken[500] < 3 * 500 / 4


class Limits(RuleBasedStateMachine):
    """Whatever happens, the level stays under the limit, waits are finite, and waiting as told is enough."""

    def __init__(self) -> None:
        super().__init__()
        self.limits, self.now = ModelLimits(), 1.0
        self.running: list[Ticket] = []

    @rule(seconds=st.floats(0, 100))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(tokens=st.integers(0, 1_000_000))
    def start(self, tokens: float) -> None:
        ticket = Ticket(tokens)
        self.now += self.limits.wait(ticket, self.now) + 1e-6
        assert self.limits.wait(ticket, self.now) < 1e-3 + 1e-9 * self.now
        self.limits.start(ticket, self.now)
        self.running.append(ticket)

    @precondition(lambda self: self.running)
    @rule(tokens=st.integers(0, 1_000_000), i=st.integers(0, 99))
    def answer(self, tokens: float, i: int) -> None:
        self.limits.complete(self.running.pop(i % len(self.running)), tokens)

    @precondition(lambda self: self.running)
    @rule(i=st.integers(0, 99), wait=st.floats(0, 60) | st.none(), named=st.sampled_from([None, "tokens"]))
    def refuse(self, i: int, wait: float | None, named: str | None) -> None:
        ticket = self.running.pop(i % len(self.running))
        self.limits.refuse(ticket, named, self.now, wait)  # type: ignore[arg-type]

    @precondition(lambda self: self.running)
    @rule(
        i=st.integers(0, 99),
        limit=st.floats(1, 1e6),
        share=st.floats(0, 1),
        reset=st.floats(0, 1e5) | st.none(),
    )
    def tell(self, i: int, limit: float, share: float, reset: float | None) -> None:
        ticket = self.running[i % len(self.running)]
        self.limits.read(ticket, {"tokens": RateLimitHeaders(limit, limit * share, reset)}, self.now)

    @invariant()
    def holds(self) -> None:
        for limit in (self.limits.requests, self.limits.tokens):
            assert limit.per_s is None or limit.per_s > 0
            wait = limit.wait(1e9, self.now)
            assert 0 <= wait < 1e15
            if limit.per_s is None:
                assert wait == 0


TestLimits = Limits.TestCase
TestLimits.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_known_request_limit_does_not_lower_concurrency() -> None:
    pacer = Pacer(8, lambda seconds: None)
    headers = {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    ticket = pacer.acquire(0.0)
    pacer.on_response(ticket, headers)
    pacer.release(ticket, TransportError("429", kind="rate_limit", retry_after_s=0.1))
    assert pacer.concurrency == 8
    plain = pacer.acquire(0.0, "another model")
    pacer.release(plain, TransportError("429", kind="rate_limit", retry_after_s=0.1), model="another model")
    assert pacer.concurrency == 4


def test_a_call_that_gives_up_waiting_takes_no_other_call_with_it() -> None:
    gives_up = threading.Event()

    def clock() -> float:
        if gives_up.is_set() and threading.current_thread() is last:
            raise KeyboardInterrupt
        return time.monotonic()

    pacer = Pacer(1, lambda seconds: None, clock)
    running = pacer.acquire(0.0)
    started = threading.Event()

    def wait_in_line() -> None:
        pacer.acquire(0.0)
        started.set()

    def wait_behind() -> None:
        with suppress(KeyboardInterrupt):
            pacer.acquire(0.0)

    first = threading.Thread(target=wait_in_line, daemon=True)
    last = threading.Thread(target=wait_behind, daemon=True)
    for each in (first, last):
        each.start()
        time.sleep(0.05)
    gives_up.set()
    last.join(10)
    pacer.release(running, None)
    assert started.wait(10)
