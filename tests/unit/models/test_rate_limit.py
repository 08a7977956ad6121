"""The arithmetic of limits, with a clock of our own, against a simulated endpoint."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from polygraph.models.pacing import Pace
from polygraph.models.rate_limit import Rate, Rates, Told, Turn, limit_named, read_told, seconds
from polygraph.models.transport import TransportError


def test_headers_are_read_in_the_forms_in_which_they_are_sent() -> None:
    told = read_told(
        {
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "499",
            "x-ratelimit-reset-requests": "120ms",
            "x-ratelimit-limit-tokens": "30000",
            "x-ratelimit-remaining-tokens": "0",
        }
    )
    assert told == {"requests": Told(500.0, 499.0, 0.12), "tokens": Told(30_000.0, 0.0, None)}


@pytest.mark.parametrize("text", ["", "soon", "-3", "1s later", "1e9", "99999999999", "s", "ms"])
def test_what_is_no_duration_is_not_taken_for_one(text: str) -> None:
    assert seconds(text) is None


@given(st.dictionaries(st.sampled_from(["limit", "remaining", "reset"]), st.text(max_size=30)))
def test_no_header_breaks_the_reading(values: dict[str, str]) -> None:
    for told in read_told({f"x-ratelimit-{k}-tokens": v for k, v in values.items()}).values():
        assert told.limit > 0
        assert 0 <= told.remaining <= told.limit


def test_a_refusal_names_its_limit_or_not() -> None:
    assert limit_named("Limit reached on requests per min (RPM): Limit 3, Used 3") == "requests"
    assert limit_named("tokens per minute exceeded") == "tokens"
    assert limit_named("too many requests") is None


def test_told_limits_are_kept_as_worked_out_by_hand() -> None:
    rates, turn = Rates(), Turn(guess=100.0)
    rates.start(turn, 10.0)
    # 600 of 1000 tokens are missing and come back in 30 s: 20 a second. 400 are left.
    rates.heard(turn, {"tokens": Told(1000.0, 400.0, 30.0)}, 10.0)
    assert rates.tokens.per_s == 20.0
    assert rates.wait(Turn(400.0), 10.0) == 0.0
    assert rates.wait(Turn(500.0), 10.0) == pytest.approx(5.0)
    # Larger than the limit: when everything is there.
    assert rates.wait(Turn(5000.0), 10.0) == pytest.approx(30.0)
    # What set out since the endpoint counted is taken off.
    rates.start(Turn(300.0), 11.0)
    rates.heard(turn, {"tokens": Told(1000.0, 400.0, 30.0)}, 11.0)
    assert rates.tokens.level(11.0) == pytest.approx(100.0)


def test_what_was_granted_between_two_refusals_is_the_limit() -> None:
    rate = Rate()
    for k in range(30):  # allowed at once: says nothing of the rate
        rate.start(1.0, 0.01 * k)
        rate.done(1.0, 1.0, 0.01 * k)
    rate.empty(1.0, 0.5, 1.0)
    assert rate.per_s is None
    for k in range(20):
        rate.start(1.0, 2.0 + k / 2)
        rate.done(1.0, 1.0, 2.0 + k / 2)
    rate.empty(11.0, 0.5, 11.0)
    assert rate.per_s == pytest.approx(20 / 10 * 0.95)
    assert rate.wait(1.0, 11.0) == pytest.approx(1 / 1.9)


def test_an_endpoint_that_never_refuses_is_never_waited_for() -> None:
    rates = Rates()
    for k in range(1000):
        turn = Turn(1e6)
        assert rates.wait(turn, k * 1e-6) == 0.0
        rates.start(turn, k * 1e-6)
        rates.done(turn, 1e6)


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
    rates, now = Rates(), 0.0
    resume, taken, refused = 0.0, [], []
    free = deque([0.0] * threads)
    while len(taken) < n:
        now = max(now, free.popleft(), resume)
        turn = Turn(0.0)
        now += rates.wait(turn, now)
        rates.start(turn, now)
        wait = bucket.take(now)
        if wait:
            refused.append(now)
            rates.refused(turn, None, now, wait)
            resume = now + wait
            free.append(resume)
        else:
            taken.append(now)
            rates.done(turn, 0.0)
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


def test_refusals_by_chance_do_not_bring_the_pace_to_a_stop() -> None:
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
        self.rates, self.now = Rates(), 1.0
        self.running: list[Turn] = []

    @rule(seconds=st.floats(0, 100))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(tokens=st.integers(0, 1_000_000))
    def start(self, tokens: float) -> None:
        turn = Turn(tokens)
        self.now += self.rates.wait(turn, self.now) + 1e-6
        assert self.rates.wait(turn, self.now) < 1e-3 + 1e-9 * self.now
        self.rates.start(turn, self.now)
        self.running.append(turn)

    @precondition(lambda self: self.running)
    @rule(tokens=st.integers(0, 1_000_000), i=st.integers(0, 99))
    def answer(self, tokens: float, i: int) -> None:
        self.rates.done(self.running.pop(i % len(self.running)), tokens)

    @precondition(lambda self: self.running)
    @rule(i=st.integers(0, 99), wait=st.floats(0, 60) | st.none(), named=st.sampled_from([None, "tokens"]))
    def refuse(self, i: int, wait: float | None, named: str | None) -> None:
        turn = self.running.pop(i % len(self.running))
        self.rates.refused(turn, named, self.now, wait)  # type: ignore[arg-type]

    @precondition(lambda self: self.running)
    @rule(
        i=st.integers(0, 99),
        limit=st.floats(1, 1e6),
        share=st.floats(0, 1),
        reset=st.floats(0, 1e5) | st.none(),
    )
    def tell(self, i: int, limit: float, share: float, reset: float | None) -> None:
        turn = self.running[i % len(self.running)]
        self.rates.heard(turn, {"tokens": Told(limit, limit * share, reset)}, self.now)

    @invariant()
    def holds(self) -> None:
        for rate in (self.rates.requests, self.rates.tokens):
            assert rate.per_s is None or rate.per_s > 0
            wait = rate.wait(1e9, self.now)
            assert 0 <= wait < 1e15
            if rate.per_s is None:
                assert wait == 0


TestLimits = Limits.TestCase
TestLimits.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_known_limit_of_requests_does_not_cost_places() -> None:
    pace = Pace(8, lambda seconds: None)
    headers = {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    turn = pace.enter(0.0)
    pace.heard(turn, headers)
    pace.leave(turn, TransportError("429", kind="rate_limit", retry_after_s=0.1))
    assert pace.limit == 8
    plain = pace.enter(0.0, "another model")
    pace.leave(plain, TransportError("429", kind="rate_limit", retry_after_s=0.1), model="another model")
    assert pace.limit == 4
