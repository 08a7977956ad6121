"""Limits of requests and tokens a minute over HTTP: a minute lasts a second or two here."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from polygraph.errors import ModelUnavailable
from polygraph.models.calls import Calls
from polygraph.models.protocols import ChatRequest, Message
from polygraph.models.providers.openai import OpenAIChat, OpenAIEmbedder
from polygraph.models.providers.scripted import ScriptedChat
from polygraph.models.providers.scripted_server import Quota, ScriptedServer


@contextmanager
def served(**options: object) -> Iterator[ScriptedServer]:
    with ScriptedServer(chat=ScriptedChat([("light", "Ada.")]), **options) as server:  # type: ignore[arg-type]
        yield server


def run(
    server: ScriptedServer, n: int, *, words: int = 1, threads: int = 8, calls: Calls | None = None
) -> tuple[float, list[float]]:
    """Ask `n` questions; return when the last was answered, and when each was, in seconds from the start."""
    model = OpenAIChat("small", base_url=server.base_url, timeout_s=20)
    model.chat(ChatRequest(messages=(Message("user", "light"),)))  # the SDK is imported, connections are made
    began, ended = time.monotonic(), []

    def ask(i: int) -> None:
        request = ChatRequest(messages=(Message("user", f"light {i}{' word' * words}"),))
        (calls or gate).ask(model, request, str, stage="x")
        ended.append(time.monotonic() - began)

    with Calls(None, concurrency=threads) as gate:
        (calls or gate).map(ask, range(n))
    return ended[-1], ended


def run_unlimited(words: int) -> float:
    """Return how many seconds 110 questions without a limit take now, with what else the machine does."""
    with served() as server:
        return run(server, 110, words=words)[0]


def refused(server: ScriptedServer, after: int = 0) -> int:
    return sum(entry.status == 429 for entry in server.log[after:])


@pytest.mark.parametrize("kind", ["requests", "tokens"])
def test_a_limit_that_the_endpoint_tells_is_used_up_and_hardly_ever_passed(kind: str) -> None:
    words = 20
    size = 1 if kind == "requests" else words + 6  # as our tokenizer counts question and answer
    quota = Quota(**{kind: 60 * size}, minute_s=1.5)  # type: ignore[arg-type]
    # 60 at once, and then 40 a second.
    best = (110 - 60) / 40

    def allowed(unlimited: list[float]) -> float:
        return 1.5 * best + max(0.5, 2 * max(unlimited))

    found: list[tuple[float, int]] = []
    # What else the machine does may hold up replies, and with them what they tell of the limit: not five times.
    while len(found) < 5 and not any(late < 0 and n <= 4 for late, n in found):
        unlimited = [run_unlimited(words)]
        with served(quota=quota) as server:
            seconds, _ = run(server, 110, words=words)
        if seconds > allowed(unlimited):
            unlimited.append(run_unlimited(words))  # the machine may have become busy meanwhile
        found.append((seconds - allowed(unlimited), refused(server)))
    late, n_refused = found[-1]
    assert late < 0, found
    assert n_refused <= 4, found


@pytest.mark.slow
def test_a_limit_that_is_only_refused_is_found_and_then_hardly_ever_passed() -> None:
    with served(quota=Quota(requests=45, minute_s=1.5, sends_headers=False)) as server:
        seconds, ended = run(server, 220)
        # 45 at once, and then 30 a second.
        assert seconds < 1.5 * (220 - 45) / 30 + 1.0
        half = sorted(ended)[110]
        late = server.log[len(server.log) // 2 :]
        assert sum(entry.status == 429 for entry in late) <= 0.1 * len(late)
        assert seconds - half < 1.5 * 110 / 30 + 0.5


@pytest.mark.slow
def test_a_limit_of_whole_minutes_costs_one_round_of_refusals_each() -> None:
    with served(quota=Quota(requests=50, minute_s=1.0, period="window")) as server:
        seconds, _ = run(server, 170)
        assert seconds < 3 * 1.0 + 2.5
        assert refused(server) <= 3 * 8


def test_without_a_limit_nobody_waits() -> None:
    with served(latency_s=0.05) as server:
        model = OpenAIChat("small", base_url=server.base_url)
        with Calls(None, concurrency=8) as calls:
            seconds, _ = run(server, 160, calls=calls)
            pacer = calls.pacer(model)
            assert pacer.limits("small").requests.per_s is None
            assert pacer.limits("small").tokens.per_s is None
            assert pacer.concurrency == 8
        # 20 rounds of 0.05 s, and what the machine takes.
        assert seconds < 20 * 0.05 + 3.0 or seconds < 20 * 0.05 + 3 * run_unlimited(1)


def test_a_limit_that_is_never_met_slows_nothing_down() -> None:
    with served(quota=Quota(requests=100_000, tokens=10_000_000, minute_s=60.0)) as server:
        seconds, _ = run(server, 100)
        assert seconds < 3.0 or seconds < 3 * run_unlimited(1)
        assert refused(server) == 0


@pytest.mark.slow
def test_a_large_call_is_not_left_behind_by_small_ones() -> None:
    with served(quota=Quota(tokens=1200, minute_s=1.0)) as server:
        model = OpenAIChat("small", base_url=server.base_url, timeout_s=20)
        order: list[int] = []
        lock = threading.Lock()
        with Calls(None, concurrency=4) as calls:

            def ask(i: int) -> None:
                text = "light " + "word " * (800 if i == 60 else 10) + str(i)
                calls.ask(model, ChatRequest(messages=(Message("user", text),)), str, stage="x")
                with lock:
                    order.append(i)

            calls.map(ask, range(260))
        # Should it be refused once after all, it comes back within two seconds: 150 small calls at most.
        assert order.index(60) < 220


def test_vectors_and_texts_have_limits_of_their_own() -> None:
    with served(quota=Quota(requests=20, minute_s=1.0)) as server:
        embedder = OpenAIEmbedder("vectors", base_url=server.base_url)
        with Calls(None) as calls:
            run(server, 10, calls=calls)
            calls.embed(embedder, [f"text {i}" for i in range(10)], "document", stage="y")
            pacer = calls.pacer(embedder)
            assert pacer.limits("small").requests.reported
            assert pacer.limits("endpoint:vectors").requests.reported


# --- silence, slowness, and an end --------------------------------------------------------------------


@pytest.mark.slow
def test_a_slow_model_that_writes_is_waited_for_and_a_silent_one_is_not() -> None:
    """Both at once, through the gate: the time-out follows progress."""
    words = " ".join(f"word{i}" for i in range(12))
    script = ScriptedChat([("light", words)])
    with ScriptedServer(chat=script, piece_s=0.2) as server, Calls(None, retries=0) as calls:
        model = OpenAIChat("small", base_url=server.base_url, timeout_s=1.0)
        request = ChatRequest(messages=(Message("user", "light"),))
        began = time.monotonic()
        assert calls.ask(model, request, str, stage="x") == words
        assert time.monotonic() - began > 2.0  # twice the time-out
        assert calls.ledger()[0].failed == 0
        server.faults = lambda n: "stall"  # a first piece, and then nothing
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="no data for 1 s"):
            calls.ask(model, ChatRequest(messages=(Message("user", "the light"),)), str, stage="x")
        assert time.monotonic() - began < 5.0


@pytest.mark.slow
def test_signs_of_life_without_a_word_do_not_hold_a_call_for_ever() -> None:
    with served() as server, Calls(None, retries=0) as calls:
        model = OpenAIChat("small", base_url=server.base_url, timeout_s=1)
        server.faults = lambda n: "pings"
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="only keep-alive messages for 10 s"):
            calls.ask(model, ChatRequest(messages=(Message("user", "light"),)), str, stage="x")
        assert 10.0 < time.monotonic() - began < 40.0


@pytest.mark.slow
def test_an_endpoint_that_falls_silent_half_way_ends_the_run_with_its_address_and_keeps_what_came() -> None:
    with (
        served(faults=lambda n: "ok" if n < 10 else "silence") as server,
        Calls(None, concurrency=4, sleep=lambda seconds: None) as calls,
    ):
        model = OpenAIChat("small", base_url=server.base_url, timeout_s=1)

        def ask(i: int) -> str:
            return calls.ask(model, ChatRequest(messages=(Message("user", f"light {i}"),)), str, stage="x")

        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"seems to be down: 1[0-9] attempts in a row") as caught:
            calls.map(ask, range(200))
        assert server.base_url in str(caught.value)
        assert "Finished work is kept" in str(caught.value)
        assert time.monotonic() - began < 40
        assert calls.ledger()[0].ok == 10
        # It recovers: the same call goes through once the endpoint answers again.
        server.faults = ()
        assert ask(150) == "Ada."


@pytest.mark.slow
def test_an_embedder_that_limits_its_tokens_is_paced_too() -> None:
    with served(quota=Quota(tokens=3000, minute_s=1.0)) as server, Calls(None, concurrency=4) as calls:
        embedder = OpenAIEmbedder("vectors", base_url=server.base_url)
        texts = [f"text {i}" + " word" * 6 for i in range(900)]
        vectors = calls.embed(embedder, texts, "document", stage="y")
        assert np.isfinite(vectors).all()
        assert len(vectors) == 900
        assert refused(server) <= 6
