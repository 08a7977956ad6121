"""The gate: over the scripted server on loopback wherever a wire matters."""

import itertools
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from polygraph.errors import (
    BadInput,
    BudgetReached,
    IndexUnreadable,
    ModelRefused,
    ModelUnavailable,
    StorageFailed,
    UnusableReply,
)
from polygraph.models.call_store import Attempt, CallStore
from polygraph.models.calls import Calls
from polygraph.models.pacing import Pacer
from polygraph.models.prices import Price
from polygraph.models.protocols import ChatReply, ChatRequest, Message
from polygraph.models.providers.openai import OpenAIChat, OpenAIEmbedder
from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
from polygraph.models.providers.scripted_server import PROSE, ScriptedServer, faults_at
from polygraph.models.reply_cache import request_key
from polygraph.models.retry import FailedAttempt
from polygraph.models.streaming import StreamAcrossRetries
from polygraph.models.transport import TransportError
from polygraph.text.tokens import count_tokens

SOURCE = Path(__file__).parents[3] / "src"
PRICES = {"small": Price(1.0, 2.0), "endpoint:vectors": Price(0.5)}


def question(text: str = "Who keeps the light?", **fields: object) -> ChatRequest:
    return replace(ChatRequest(messages=(Message("user", text),)), **fields)


def plain(text: str) -> str:
    return text


def only_json(text: str) -> str:
    if not (text.startswith("{") and text.endswith("}")):
        raise UnusableReply("it is not a JSON object")
    return text


def chat(server: ScriptedServer, **options: object) -> OpenAIChat:
    return OpenAIChat("small", base_url=server.base_url, **({"timeout_s": 5.0} | options))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(chat=ScriptedChat([("light", '{"keeper": "Ada"}')])) as running:
        yield running


class Naps:
    """Stands in for `time.sleep`, and remembers."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


# --- cache and coalescing -----------------------------------------------------------------------


def test_an_answered_request_is_not_sent_again_even_by_a_later_process(
    server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        first = calls.ask(chat(server), question(), plain, stage="answer")
        assert calls.spent.calls == 1
    with Calls(path) as calls:
        assert calls.ask(chat(server), question(), plain, stage="answer") == first
        assert (calls.spent.calls, calls.spent.cached_calls, calls.spent.cost) == (0, 1, 0.0)
        row = calls.ledger()[0]
        assert (row.ok, row.cached, row.attempts) == (1, 1, 1)
    assert server.calls == 1


def test_every_part_of_a_request_decides_its_key() -> None:
    base = question()
    others = [
        question("Who keeps the lamp?"),
        question(max_output_tokens=5),
        question(temperature=0.5),
        question(schema={"type": "object"}),
        question(sample=1),
        ChatRequest(messages=(Message("system", "Who keeps the light?"),)),
    ]
    keys = {request_key("small", request) for request in (base, *others)} | {request_key("large", base)}
    assert len(keys) == 8
    one, other = {"type": "object", "title": "x"}, {"title": "x", "type": "object"}
    assert request_key("small", question(schema=one)) == request_key("small", question(schema=other))


def test_equal_calls_in_flight_are_made_once(server: ScriptedServer) -> None:
    server.latency_s = 0.2
    with Calls(None, concurrency=8) as calls:
        model = chat(server)
        replies = calls.map(lambda _: calls.ask(model, question(), plain, stage="answer"), range(8))
        assert len(set(replies)) == 1
        assert (calls.spent.calls, calls.spent.cached_calls) == (1, 7)
    assert server.calls == 1


def test_the_scripted_server_prepares_its_reply_while_the_latency_passes(server: ScriptedServer) -> None:
    prepared = threading.Event()

    def answer(_: ChatRequest) -> str:
        prepared.set()
        return '{"keeper": "Ada"}'

    server.chat = ScriptedChat([("light", answer)])
    server.latency_s = 60.0
    call = threading.Thread(target=chat(server, timeout_s=30.0).chat, args=(question(),))
    call.start()
    assert prepared.wait(10)
    server.stopping.set()  # the rest of the latency is not waited for
    call.join(10)
    assert not call.is_alive()


def test_those_who_wait_for_a_call_share_its_failure(server: ScriptedServer) -> None:
    server.latency_s = 0.2
    server.api_key = "right"
    with Calls(None, concurrency=4) as calls:
        model = chat(server, api_key="wrong")
        errors = []

        def ask(_: int) -> None:
            try:
                calls.ask(model, question(), plain, stage="answer")
            except ModelRefused as error:
                errors.append(str(error))

        calls.map(ask, range(4))
    assert len(errors) == 4
    assert len(server.log) == 1


@pytest.mark.slow
def test_a_reply_is_stored_before_it_is_used(server: ScriptedServer, tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import os
        from pathlib import Path
        from polygraph.models.calls import Calls
        from polygraph.models.providers.openai import OpenAIChat
        from polygraph.models.protocols import ChatRequest, Message
        calls = Calls(Path({str(tmp_path / "calls.sqlite")!r}))
        request = ChatRequest(messages=(Message("user", "Who keeps the light?"),))
        model = OpenAIChat("small", base_url={server.base_url!r})
        calls.ask(model, request, lambda text: os._exit(9), stage="x")
        """
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert ended.returncode == 9
    with Calls(tmp_path / "calls.sqlite") as calls:
        assert calls.ask(chat(server), question(), plain, stage="x") == '{"keeper": "Ada"}'
        assert calls.ledger()[0].ok == 1
    assert server.calls == 1


def test_a_reply_that_is_not_stored_yet_counts_as_a_call_in_flight(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsaved: list[int] = []
    saved: list[ChatReply] = []
    save = CallStore.save_reply

    def slow(store: CallStore, key: str, reply: ChatReply, attempt: Attempt) -> ChatReply:
        time.sleep(0.05)
        unsaved.append(server.calls - len(saved))
        saved.append(save(store, key, reply, attempt))
        return saved[-1]

    monkeypatch.setattr(CallStore, "save_reply", slow)
    with Calls(None, concurrency=2) as calls:
        model = chat(server)
        requests = [question(f"Who keeps the light {n}?") for n in range(8)]
        askers = [
            threading.Thread(target=partial(calls.ask, model, request, plain, stage="x"))
            for request in requests
        ]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
    assert len(saved) == len(requests)
    assert max(unsaved) <= 2


@pytest.mark.slow
def test_several_processes_may_share_the_file(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        from pathlib import Path
        from polygraph.models.calls import Calls
        from polygraph.models.protocols import ChatRequest, Message
        from polygraph.models.providers.scripted import ScriptedChat, ScriptedEmbedder
        with Calls(Path({str(tmp_path / "calls.sqlite")!r})) as calls:
            for i in range(25):
                request = ChatRequest(messages=(Message("user", f"Number {{i}}."),))
                calls.ask(ScriptedChat(), request, str, stage="x")
                calls.embed(ScriptedEmbedder(), [f"text {{i}}"], "document", stage="y")
        """
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    running = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    with Calls(tmp_path / "calls.sqlite") as calls:
        rows = {row.stage: row for row in calls.ledger()}
        assert rows["x"].ok + rows["x"].cached == 75
        assert rows["x"].ok >= 25


# --- retries ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "500", "drop", "cut_http", "empty"])
def test_a_fault_on_the_way_is_tried_again_and_both_attempts_are_in_the_ledger(
    server: ScriptedServer, fault: str
) -> None:
    server.faults = [fault]
    naps = Naps()
    with Calls(None, sleep=naps) as calls:
        assert calls.ask(chat(server), question(), only_json, stage="answer") == '{"keeper": "Ada"}'
        row = calls.ledger()[0]
        assert (row.failed, row.ok, row.repaired) == (1, 1, 0)
        assert calls.spent.calls == 2
        assert (row.prompt_tokens, row.completion_tokens) == (server.prompt_tokens, server.completion_tokens)
        assert row.unreported == (1 if fault in {"drop", "cut_http"} else 0)
    assert server.calls == 2
    assert len(naps.taken) == 1


def test_silence_ends_with_the_time_out_and_is_tried_again(server: ScriptedServer) -> None:
    server.faults = ["silence", "stall"]
    with Calls(None, sleep=Naps()) as calls:
        model = chat(server, timeout_s=1)
        assert calls.ask(model, question(), only_json, stage="answer") == '{"keeper": "Ada"}'
        assert calls.ledger()[0].failed == 2
        assert calls.ledger()[0].unreported == 2


def test_the_time_that_the_server_asks_for_is_kept(server: ScriptedServer) -> None:
    server.faults = ["429", "429"]
    server.retry_after_s = 17.0
    naps = Naps()
    with Calls(None, sleep=naps) as calls:
        calls.ask(chat(server), question(), plain, stage="answer")
    assert len(naps.taken) == 2
    assert all(17.0 <= nap <= 18.0 for nap in naps.taken)


def test_all_threads_wait_when_one_is_told_to() -> None:
    naps = Naps()
    pacer = Pacer(8, naps)
    started = pacer.acquire(0.0)
    served = pacer.release(started, TransportError("429", kind="rate_limit", retry_after_s=30.0))
    pacer.acquire(served)  # the one that was told has waited already
    assert naps.taken == []
    pacer.acquire(0.0)
    assert naps.taken == [pytest.approx(30.0, abs=1.0)]


def test_the_pace_halves_at_a_limit_and_recovers_with_answers() -> None:
    pacer = Pacer(8, Naps())
    starts = [pacer.acquire(0.0) for _ in range(4)]
    for started in starts:  # four calls of one round are one sign
        pacer.release(started, TransportError("429", kind="rate_limit"))
    assert pacer.concurrency == 4
    for _ in range(60):
        pacer.release(pacer.acquire(0.0), None)
    assert pacer.concurrency == 8


def test_backoff_grows_is_bounded_and_depends_on_the_seed_alone(server: ScriptedServer) -> None:
    def naps_with(seed: int) -> list[float]:
        server.faults = lambda n: "500"
        naps = Naps()
        with Calls(None, sleep=naps, seed=seed) as calls, pytest.raises(ModelUnavailable, match="7 attempts"):
            calls.ask(chat(server), question(), plain, stage="answer")
        return naps.taken

    first = naps_with(1)
    assert all(0 <= nap <= 2.0**i for i, nap in enumerate(first))
    assert first == naps_with(1)
    assert first != naps_with(2)


def test_a_server_that_asks_for_hours_is_given_up_at_once(server: ScriptedServer) -> None:
    server.faults = ["429"]
    server.retry_after_s = 7200
    naps = Naps()
    with Calls(None, sleep=naps) as calls, pytest.raises(ModelUnavailable):
        calls.ask(chat(server), question(), plain, stage="answer")
    assert naps.taken == []


def test_a_request_that_always_fails_does_not_stop_the_others(server: ScriptedServer) -> None:
    def fail(request: ChatRequest) -> str:
        time.sleep(0.05)
        raise ConnectionAbortedError

    server.chat = ScriptedChat([("unlucky", fail), ("light", "Ada.")])
    with Calls(None, concurrency=4, sleep=Naps()) as calls:
        model = chat(server)

        def ask(i: int) -> str:
            text = "unlucky light" if i == 3 else f"light {i}"
            try:
                return calls.ask(model, question(text), plain, stage="extract")
            except UnusableReply as error:
                return error.problem.split(",")[0]

        outcomes = calls.map(ask, range(20))
        assert outcomes.count("Ada.") == 19
        assert outcomes[3] == "no answer in 7 attempts"
        assert len(calls.quarantined()) == 1
        assert calls.ledger()[0].failed == 7


def test_an_endpoint_that_is_down_is_named_after_a_few_failures_of_each_thread() -> None:
    # Long enough for every thread to start before the first one has made all its attempts.
    with (
        ScriptedServer() as server,
        Calls(None, concurrency=4, sleep=lambda _: time.sleep(0.02)) as calls,
    ):
        url = server.base_url
        model = OpenAIChat("small", base_url=url, timeout_s=2)
        calls.ask(model, question(), plain, stage="x")
        server.close()
        with pytest.raises(ModelUnavailable, match="seems to be down") as caught:
            calls.map(lambda i: calls.ask(model, question(str(i)), plain, stage="x"), range(100))
        assert url in str(caught.value)
        failed = calls.ledger()[0].failed
        assert 12 <= failed <= 16  # 3 * concurrency, and those in flight
        # While it is down a call fails at its first attempt; it is tried, though, so that it can recover.
        with pytest.raises(ModelUnavailable, match="seems to be down"):
            calls.ask(model, question("again"), plain, stage="x")
        assert calls.ledger()[0].failed == failed + 1


def test_an_address_where_nobody_listens_is_given_up_soon_and_the_reason_is_shown_at_once() -> None:
    with ScriptedServer() as server:
        url = server.base_url
    naps = Naps()
    with Calls(None, sleep=naps) as calls:
        with (
            pytest.warns(FailedAttempt, match=f"^small at {url}: .*refused.*Trying again") as warned,
            pytest.raises(ModelUnavailable, match="did not answer in 3 attempts"),
        ):
            calls.ask(OpenAIChat("small", base_url=url), question(), plain, stage="answer")
        assert len(warned) == 1
        assert sum(naps.taken) < 3
        # Nothing was sent, so nothing can be billed.
        assert calls.ledger()[0].unreported == 0


def test_an_endpoint_that_has_answered_is_waited_for_while_it_starts_again() -> None:
    with ScriptedServer() as server, Calls(None, sleep=Naps()) as calls:
        model = chat(server)
        calls.ask(model, question("first"), plain, stage="answer")
        server.close()
        with (
            pytest.warns(FailedAttempt),
            pytest.raises(ModelUnavailable, match=r"seems to be down|in 7 attempts"),
        ):
            calls.ask(model, question("second"), plain, stage="answer")
        assert calls.ledger()[0].failed == 7


@pytest.mark.parametrize(
    ("fault", "advice"), [("500", "Its own log says why"), ("silence", "POLYGRAPH_TIMEOUT_S")]
)
def test_an_endpoint_that_is_there_and_fails_is_not_said_to_be_missing(
    server: ScriptedServer, fault: str, advice: str
) -> None:
    server.faults = [fault] * 2
    with (
        Calls(None, retries=1, sleep=Naps()) as calls,
        pytest.raises(ModelUnavailable, match=advice) as caught,
    ):
        calls.ask(chat(server, timeout_s=1), question(), plain, stage="answer")
    assert "base URL" not in str(caught.value)


def test_a_long_wait_for_a_rate_limit_is_announced_with_its_reason(server: ScriptedServer) -> None:
    server.faults = ["429", "429"]
    server.retry_after_s = 17.0
    with Calls(None, sleep=Naps()) as calls, pytest.warns(FailedAttempt, match="429.*in 1[78] s$") as warned:
        calls.ask(chat(server), question(), plain, stage="answer")
    # The second of two within half a minute says nothing new.
    assert len(warned) == 1


def test_a_wrong_key_says_which_setting_to_mend_and_is_not_tried_again(server: ScriptedServer) -> None:
    server.api_key = "right-key"
    with Calls(None) as calls, pytest.raises(ModelRefused, match="OPENAI_API_KEY") as caught:
        calls.ask(chat(server, api_key="wrong-key"), question(), plain, stage="answer")
    assert server.base_url in str(caught.value)
    assert "polygraph doctor" in str(caught.value)
    assert "wrong-key" not in str(caught.value)
    assert len(server.log) == 1


# --- repair -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["prose", "cut"])
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_the_reason(
    server: ScriptedServer, fault: str
) -> None:
    server.faults = [fault]
    with Calls(None) as calls:
        assert calls.ask(chat(server), question(), only_json, stage="extract") == '{"keeper": "Ada"}'
        row = calls.ledger()[0]
        assert (row.ok, row.repaired, row.failed) == (1, 1, 0)
        assert calls.quarantined() == []
        # Asked again, both rounds come from the store.
        assert calls.ask(chat(server), question(), only_json, stage="extract") == '{"keeper": "Ada"}'
        assert calls.spent.cached_calls == 2
    turns = [entry.body["messages"] for entry in server.log][1]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == (PROSE if fault == "prose" else '{"keeper'.ljust(8)[:8])
    assert "it is not a JSON object" in turns[2]["content"]
    assert ("cut off" in turns[2]["content"]) == (fault == "cut")
    assert server.calls == 2


def test_a_reply_that_stays_unreadable_is_quarantined_with_its_text_and_can_be_released(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.faults = ["prose", "prose"]
    with Calls(tmp_path / "calls.sqlite") as calls:
        with pytest.raises(UnusableReply) as caught:
            calls.ask(chat(server), question(), only_json, stage="extract", method="naive")
        assert caught.value.raw == PROSE
        assert caught.value.problem == "it is not a JSON object"
    with Calls(tmp_path / "calls.sqlite") as calls:
        entry = calls.quarantined()[0]
        assert (entry.stage, entry.method, entry.model, entry.raw) == ("extract", "naive", "small", PROSE)
        with pytest.raises(UnusableReply):  # the same, and nothing is paid for it
            calls.ask(chat(server), question(), only_json, stage="extract")
        assert calls.spent.calls == 0
        calls.release(calls.quarantined())
        assert calls.ask(chat(server), question(), only_json, stage="extract") == '{"keeper": "Ada"}'
        assert calls.quarantined() == []
    assert server.calls == 3


def test_a_better_reader_takes_a_request_out_of_quarantine(server: ScriptedServer) -> None:
    server.faults = ["prose", "prose"]
    with Calls(None) as calls:
        with pytest.raises(UnusableReply):
            calls.ask(chat(server), question(), only_json, stage="extract")
        assert calls.ask(chat(server), question(), plain, stage="extract") == PROSE
        assert calls.quarantined() == []


def test_a_model_that_writes_nothing_is_given_up_after_three_replies(server: ScriptedServer) -> None:
    server.faults = lambda n: "empty"
    with Calls(None, sleep=Naps()) as calls:
        with pytest.raises(UnusableReply, match="no text in the reply, in 3 attempts"):
            calls.ask(chat(server), question(), plain, stage="extract")
        assert len(calls.quarantined()) == 1
        assert calls.ledger()[0].prompt_tokens == server.prompt_tokens > 0
    assert server.calls == 3


def test_errors_of_the_reader_itself_are_not_hidden(server: ScriptedServer) -> None:
    with Calls(None) as calls, pytest.raises(ZeroDivisionError):
        calls.ask(chat(server), question(), lambda text: 1 // 0, stage="answer")
    assert server.calls == 1


# --- streaming ----------------------------------------------------------------------------------


def test_pieces_arrive_as_they_are_written_and_a_stored_reply_in_one(server: ScriptedServer) -> None:
    server.chat = ScriptedChat([("light", "Ada keeps the light.")])
    pieces: list[str] = []
    with Calls(None) as calls:
        text = calls.ask(chat(server), question(), plain, stage="answer", on_text=pieces.append)
        assert len(pieces) == 4
        assert "".join(pieces) == text
        calls.ask(chat(server), question(), plain, stage="answer", on_text=pieces.append)
    assert pieces[4:] == [text]


def test_a_stream_that_broke_off_goes_on_where_it_stopped(server: ScriptedServer) -> None:
    server.chat = ScriptedChat([("light", "Ada keeps the light.")])
    server.faults = ["cut_http"]
    pieces: list[str] = []
    with Calls(None, sleep=Naps()) as calls:
        text = calls.ask(chat(server), question(), plain, stage="answer", on_text=pieces.append)
        assert calls.ledger()[0].failed == 1
    assert "".join(pieces) == text


def test_a_second_attempt_that_says_something_else_is_shown_from_its_start() -> None:
    shown: list[str] = []
    stream = StreamAcrossRetries(shown.append)
    for piece in ("Ada ", "keeps"):
        stream(piece)
    stream.restart()
    for piece in ("Ada ", "tends ", "it."):
        stream(piece)
    assert shown[:2] == ["Ada ", "keeps"]
    assert shown[2].endswith("Ada tends ")
    assert "starts again" in shown[2]
    assert shown[3:] == ["it."]


# --- caps ---------------------------------------------------------------------------------------


def test_past_the_cap_no_new_call_starts_and_a_higher_cap_goes_on(
    server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "calls.sqlite"
    each = count_tokens("Number 10 of the light?") + count_tokens('{"keeper": "Ada"}')

    def run(cap: int) -> tuple[int, int, str]:
        model, message = chat(server), ""
        requests = [question(f"Number {i} of the light?", max_output_tokens=9) for i in range(10, 40)]
        with Calls(path, concurrency=4, max_tokens=cap) as calls:
            try:
                calls.map(lambda request: calls.ask(model, request, plain, stage="x"), requests)
            except BudgetReached as error:
                message = str(error)
            spent = calls.spent
            return spent.prompt_tokens + spent.completion_tokens, spent.calls, message

    cap = 200
    spent, n_first, message = run(cap)
    assert "--max-spend-tokens" in message
    assert "continues" in message
    assert 0 < n_first < 30
    assert spent <= cap + 4 * each  # at most by those in flight
    assert server.prompt_tokens + server.completion_tokens == spent
    _, n_second, message = run(100_000)
    assert not message
    assert n_first + n_second == 30  # nothing was paid twice


def test_the_cap_on_money_uses_the_prices_given(server: ScriptedServer) -> None:
    with Calls(None, max_cost=0.000_5, prices=PRICES) as calls:
        model = chat(server)
        requests = [question(f"{i} light", max_output_tokens=9) for i in range(100)]
        with pytest.raises(BudgetReached, match="--max-cost"):
            calls.map(lambda request: calls.ask(model, request, plain, stage="x"), requests)
        spent = calls.spent
        assert spent.cost == pytest.approx(
            (server.prompt_tokens * 1.0 + server.completion_tokens * 2.0) / 1e6
        )
        assert 0.0 < spent.cost <= 0.000_5


def test_a_call_that_is_larger_than_what_is_left_does_not_start(server: ScriptedServer) -> None:
    with Calls(None, max_tokens=100) as calls, pytest.raises(BudgetReached):
        calls.ask(chat(server), question("light " * 200), plain, stage="x")
    assert server.calls == 0


def test_what_is_stored_is_used_also_past_the_cap(server: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    with Calls(path) as calls:
        calls.ask(chat(server), question(), plain, stage="x")
    with Calls(path, max_tokens=0) as calls:
        assert calls.ask(chat(server), question(), plain, stage="x")
        with pytest.raises(BudgetReached):
            calls.ask(chat(server), question("Another light?"), plain, stage="x")


def test_an_unknown_price_is_unknown_and_a_cap_on_money_then_needs_one(server: ScriptedServer) -> None:
    with Calls(None) as calls:
        calls.ask(chat(server), question(), plain, stage="x")
        assert calls.spent.cost is None
        assert calls.ledger()[0].cost is None
    with (
        Calls(None, max_cost=1.0) as calls,
        pytest.raises(BadInput, match=r"polygraph\.toml.*--max-spend-tokens"),
    ):
        calls.ask(chat(server), question(), plain, stage="x")
    assert server.calls == 1


def test_models_on_this_machine_cost_nothing_and_count_against_no_cap() -> None:
    with Calls(None, max_cost=0.0, max_tokens=0) as calls:
        calls.ask(ScriptedChat(), question(), plain, stage="x")
        calls.embed(ScriptedEmbedder(), ["light"], "document", stage="y")
        assert calls.spent.cost == 0.0
        assert calls.spent.calls == 1


def test_embeddings_at_an_endpoint_are_counted_and_capped(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("vectors", base_url=server.base_url)
    texts = [f"text number {i}" for i in range(300)]
    with Calls(None, prices=PRICES) as calls:
        calls.embed(embedder, texts, "document", stage="vectors")
        row = calls.ledger()[0]
        assert (row.ok, row.prompt_tokens) == (3, server.prompt_tokens)  # 128 + 128 + 44 texts
        assert row.cost == pytest.approx(server.prompt_tokens * 0.5 / 1e6)
        assert calls.spent.calls == 0  # of language models
        assert calls.spent.cost == row.cost
    with Calls(None, max_tokens=600, concurrency=1) as calls:
        with pytest.raises(BudgetReached):
            calls.embed(embedder, texts, "document", stage="vectors")
        assert 0 < calls.ledger()[0].prompt_tokens <= 600


# --- the ledger against the server ----------------------------------------------------------------


@pytest.mark.parametrize("n", [50, pytest.param(200, marks=pytest.mark.deep)])
def test_with_a_faulty_server_all_is_accounted_for_and_the_ledger_is_what_the_server_counted(
    n: int, tmp_path: Path
) -> None:
    rates = {"429": 0.2, "500": 0.1, "drop": 0.05, "cut": 0.03, "prose": 0.02, "cut_http": 0.02}
    drawn = faults_at(rates, seed=5)
    # A time-out long enough for a busy machine, which two calls run into on purpose.
    faults = ["silence" if i in {n // 10, 3 * n // 10} else drawn(i) for i in range(3 * n)]
    script = ScriptedChat([("light", '{"keeper": "Ada"}')])
    with ScriptedServer(chat=script, faults=faults, retry_after_s=0.01) as server:
        model = chat(server, timeout_s=2.5)
        with Calls(tmp_path / "calls.sqlite", sleep=lambda seconds: time.sleep(min(seconds, 0.01))) as calls:

            def ask(i: int) -> str:
                try:
                    return calls.ask(model, question(f"Light {i} light"), only_json, stage="extract")
                except UnusableReply:
                    return "quarantined"

            outcomes = calls.map(ask, range(n))
            row = calls.ledger()[0]
            assert set(outcomes) <= {'{"keeper": "Ada"}', "quarantined"}
            assert len(calls.quarantined()) == outcomes.count("quarantined")
            assert row.ok == n
            assert row.attempts == server.calls == calls.spent.calls
            assert row.prompt_tokens == server.prompt_tokens
            assert row.completion_tokens == server.completion_tokens
            assert row.failed > n // 5
            assert row.repaired > 0


# --- map ----------------------------------------------------------------------------------------


def test_map_keeps_the_order_and_counts_in_the_callers_thread() -> None:
    with Calls(None, concurrency=4) as calls:
        seen: list[tuple[int, str]] = []
        pauses = random.Random(0)
        waits = [pauses.random() / 100 for _ in range(30)]

        def slow(i: int) -> int:
            time.sleep(waits[i])
            return i * i

        def done(n: int) -> None:
            seen.append((n, threading.current_thread().name))

        assert calls.map(slow, range(30), on_done=done) == [i * i for i in range(30)]
        assert seen == [(n, "MainThread") for n in range(1, 31)]
        assert calls.map(slow, []) == []


def test_map_is_bounded_and_nesting_does_not_deadlock() -> None:
    with Calls(None, concurrency=3) as calls:
        lock, running, most = threading.Lock(), 0, 0

        def leaf(i: int) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.002)
            with lock:
                running -= 1
            return i

        def middle(i: int) -> int:
            return sum(calls.map(leaf, range(i)))

        def outer(i: int) -> int:
            return sum(calls.map(middle, range(4)))

        assert calls.map(outer, range(6)) == [4] * 6
        assert 1 < most <= 3


def test_a_long_map_makes_room_for_a_short_one() -> None:
    both, done = threading.Barrier(2, timeout=30), threading.Event()

    def busy(_: int) -> None:
        done.wait(0.01)

    with Calls(None, concurrency=4) as calls:
        long = threading.Thread(target=calls.map, args=(busy, range(10_000)))
        long.start()
        time.sleep(0.05)
        try:
            # Two threads must work for it at once, although the other map keeps all four busy.
            calls.map(lambda _: both.wait(), range(4))
        finally:
            done.set()
            long.join()


def test_threads_that_become_free_work_for_a_caller_who_is_busy_with_an_item() -> None:
    together, free = threading.Barrier(3, timeout=30), threading.Event()
    with Calls(None, concurrency=2) as calls:
        other = threading.Thread(target=calls.map, args=(lambda _: free.wait(30), range(2)))
        other.start()
        time.sleep(0.05)
        threading.Timer(0.1, free.set).start()
        # All threads are busy, so that the caller begins. It is not done before two of them have joined.
        calls.map(lambda _: together.wait(), range(3))
        other.join()


class _Remote(ScriptedEmbedder):
    """An endpoint with one text in each call, which counts the calls that run at once."""

    local = False

    def __init__(self, delay_s: float = 0.02) -> None:
        super().__init__()
        self.running = self.most = 0
        self.delay_s = delay_s
        self.lock = threading.Lock()

    def batches(self, texts):  # type: ignore[no-untyped-def]
        return [range(n, n + 1) for n in range(len(texts))]

    def embed(self, texts, kind):  # type: ignore[no-untyped-def]
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(self.delay_s)
        with self.lock:
            self.running -= 1
        return super().embed(texts, kind)


def test_blocks_are_embedded_at_once_as_they_come() -> None:
    blocks = [[f"text {n}", f"other {n}"] for n in range(12)]
    with Calls(None, concurrency=4) as calls:
        remote = _Remote()
        read: list[int] = []
        found = calls.embed_each(
            remote, (read.append(n) or b for n, b in enumerate(blocks)), "document", stage="x"
        )
        vectors = dict(itertools.islice(found, 1))
        assert len(read) <= 5  # no more than may be in flight, and one that is added as one is finished
        vectors.update(found)
        assert sorted(vectors) == list(range(12))
        for number, block in enumerate(blocks):
            assert np.array_equal(vectors[number], calls.embed(remote, block, "document", stage="x"))
        assert 1 < remote.most <= 4


def test_blocks_that_are_embedded_are_not_kept():
    class Block(list):
        """A list that can be referred to weakly."""

    left: list[weakref.ref[Block]] = []

    def blocks():
        for n in range(40):
            block = Block([f"text {n}"])
            left.append(weakref.ref(block))
            yield block

    with Calls(None, concurrency=2) as calls:
        for _ in calls.embed_each(_Remote(0.0), blocks(), "document", stage="x"):
            assert sum(each() is not None for each in left) < 8
    assert len(left) == 40


def test_nothing_is_embedded_after_the_reader_of_blocks_has_gone():
    with Calls(None, concurrency=2) as calls:
        remote = _Remote()
        found = calls.embed_each(remote, ([f"text {n}"] for n in range(50)), "document", stage="x")
        next(found)
        found.close()
        assert remote.running == 0
        n_calls = len(remote.texts)
        time.sleep(0.1)
        assert len(remote.texts) == n_calls < 10


def test_a_block_that_cannot_be_embedded_ends_the_others() -> None:
    class Broken(_Remote):
        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            if texts == ["bad"]:
                raise ModelRefused("no")
            return super().embed(texts, kind)

    with Calls(None, concurrency=2) as calls, pytest.raises(ModelRefused):
        list(calls.embed_each(Broken(), [["a"], ["bad"], ["c"]], "document", stage="x"))


def test_documents_are_embedded_once_all_calls_to_language_models_are_under_way() -> None:
    under_way = threading.Semaphore(0)
    goes_on = threading.Semaphore(0)

    def answer(_: int) -> None:
        under_way.release()
        assert goes_on.acquire(timeout=30)

    remote = _Remote()
    with Calls(None, concurrency=2) as calls:
        asking = threading.Thread(target=calls.map, args=(answer, range(4)))
        asking.start()
        for _ in range(2):
            assert under_way.acquire(timeout=30)
        blocks = [[f"text {n}"] for n in range(4)]
        embedding = threading.Thread(
            target=lambda: list(calls.embed_each(remote, blocks, "document", stage="x"))
        )
        embedding.start()
        embedding.join(0.3)
        assert embedding.is_alive()
        assert remote.most == 0
        for _ in range(2):
            goes_on.release()
        for _ in range(2):
            assert under_way.acquire(timeout=30)
        embedding.join(30)
        assert not embedding.is_alive()
        assert asking.is_alive()
        for _ in range(2):
            goes_on.release()
        asking.join(30)


def test_documents_do_not_wait_longer_for_language_models_than_some_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("polygraph.models.embedding_cache._DEFER_S", 0.1)
    remote, done = _Remote(), threading.Event()
    with Calls(None, concurrency=4) as calls:
        asking = threading.Thread(target=calls.map, args=(lambda _: done.wait(0.01), range(10_000)))
        asking.start()
        time.sleep(0.05)
        try:
            blocks = [[f"beside {n}"] for n in range(8)]
            assert len(list(calls.embed_each(remote, blocks, "document", stage="x"))) == 8
        finally:
            done.set()
            asking.join()
        assert 1 <= remote.most <= 2  # the thread that asked for the vectors, and one of the pool


def test_a_caller_without_threads_does_one_item_and_looks_for_threads_again() -> None:
    both, free = threading.Barrier(2, timeout=30), threading.Event()
    with Calls(None, concurrency=2) as calls:
        long = threading.Thread(target=calls.map, args=(lambda _: free.wait(30), range(2)))
        long.start()
        time.sleep(0.05)

        def work(n: int) -> None:
            if n:
                both.wait()
            else:
                free.set()
                long.join()
                time.sleep(0.1)

        with calls.background(work) as running:
            for n in range(3):
                running.add(n)
            received = [running.receive() for _ in range(3)]
    assert sorted(each[0] for each in received if each) == [0, 1, 2]


def test_without_a_thread_to_spare_in_the_system_the_caller_does_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Calls(None, concurrency=2) as calls:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            assert calls.map(str, range(3)) == ["0", "1", "2"]
            with calls.background(str) as running:
                running.add(7)
                assert running.receive() == (0, "7")
        # Threads that did not start do not count later.
        both = threading.Barrier(2, timeout=30)
        assert len(calls.map(lambda _: both.wait(), range(2))) == 2


def test_a_single_item_leaves_the_threads_to_what_it_maps_itself() -> None:
    with Calls(None, concurrency=4) as calls:
        together = threading.Barrier(4, timeout=60)
        calls.map(lambda _: calls.map(lambda _: together.wait(), range(4)), [0])


def test_after_an_error_nothing_new_starts_and_those_in_flight_end(server: ScriptedServer) -> None:
    server.latency_s = 0.1
    with Calls(None, concurrency=4) as calls:
        model = chat(server)
        started: list[int] = []

        def ask(i: int) -> str:
            started.append(i)
            if i == 2:
                raise ValueError("item 2")
            return calls.ask(model, question(f"light {i}"), plain, stage="x")

        with pytest.raises(ValueError, match="item 2"):
            calls.map(ask, range(50))
        assert len(started) <= 5
        assert calls.ledger()[0].ok == len(started) - 1 == server.calls  # all that were sent are kept


def test_ctrl_c_lets_calls_in_flight_end_and_keeps_their_replies(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.latency_s = 0.4
    program = textwrap.dedent(
        f"""
        import signal, os, threading, sys
        from pathlib import Path
        from polygraph.models.calls import Calls
        from polygraph.models.providers.openai import OpenAIChat
        from polygraph.models.protocols import ChatRequest, Message
        import polygraph.models.providers.http_client
        # A shell starts background jobs with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        calls = Calls(Path({str(tmp_path / "calls.sqlite")!r}), concurrency=3)
        model = OpenAIChat("small", base_url={server.base_url!r})
        def ask(i):
            if i == 2:
                threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            request = ChatRequest(messages=(Message("user", f"light {{i}}"),))
            return calls.ask(model, request, str, stage="x")
        try:
            calls.map(ask, range(30))
        except KeyboardInterrupt:
            row = calls.ledger()[0]
            print(row.ok, row.failed)
        """
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert ended.stdout.split() == ["3", "0"]
    assert server.calls == 3


# --- meters -------------------------------------------------------------------------------------


def test_meters_see_what_happens_inside_also_in_threads_and_when_nested(server: ScriptedServer) -> None:
    with Calls(None, prices=PRICES) as calls:
        model = chat(server)
        calls.ask(model, question("light before"), plain, stage="x")
        with calls.meter() as outer:
            calls.map(lambda i: calls.ask(model, question(f"light {i}"), plain, stage="x"), range(5))
            with calls.meter() as inner:
                calls.ask(model, question("light 0"), plain, stage="x")
                calls.ask(model, question("light inside"), plain, stage="x")
        calls.ask(model, question("light after"), plain, stage="x")
        assert (inner.usage.calls, inner.usage.cached_calls) == (1, 1)
        assert (outer.usage.calls, outer.usage.cached_calls) == (6, 1)
        assert calls.spent.calls == 8
        assert outer.usage.seconds >= inner.usage.seconds > 0
        assert outer.usage.cost is not None
        assert calls.spent.cost > outer.usage.cost > (inner.usage.cost or 0) > 0


# --- vectors ------------------------------------------------------------------------------------


def test_each_text_is_embedded_once_and_fresh_vectors_equal_stored_ones(tmp_path: Path) -> None:
    path, embedder = tmp_path / "calls.sqlite", ScriptedEmbedder()
    texts = ["the light", "the harbour", "the light", "the observatory"]
    with Calls(path) as calls:
        fresh = calls.embed(embedder, texts, "document", stage="x")
        assert embedder.texts == ["the light", "the harbour", "the observatory"]
    with Calls(path) as calls:
        stored = calls.embed(embedder, [*reversed(texts), "new"], "document", stage="x")
        assert embedder.texts[3:] == ["new"]
        assert calls.ledger()[0].cached == 3
    assert stored[:4].tobytes() == fresh[::-1].tobytes()
    assert fresh.dtype == np.float32
    assert np.allclose(np.linalg.norm(fresh, axis=1), 1.0, atol=1e-6)
    assert np.abs(fresh - embedder.embed(texts, "document")).max() < 1e-3
    alone = np.concatenate([Calls(None).embed(embedder, [text], "document", stage="x") for text in texts])
    assert alone.tobytes() == fresh.tobytes()


def test_vectors_of_questions_stay_out_of_the_file(tmp_path: Path) -> None:
    embedder = ScriptedEmbedder()
    with Calls(tmp_path / "calls.sqlite") as calls:
        calls.embed(embedder, ["why?"], "query", stage="x")
        calls.embed(embedder, ["why?"], "query", stage="x")
        assert len(embedder.texts) == 1
        calls.embed(embedder, ["why?"], "document", stage="x")
        assert len(embedder.texts) == 2
    rows = sqlite3.connect(tmp_path / "calls.sqlite").execute("SELECT count(*) FROM vector").fetchone()
    assert rows == (1,)


def test_many_texts_come_back_in_order_block_by_block() -> None:
    embedder = ScriptedEmbedder(dimension=8)
    texts = [f"text {i % 5000}" for i in range(9000)]
    with Calls(None) as calls:
        vectors = calls.embed(embedder, iter(texts), "name", stage="x")
    assert vectors.shape == (9000, 8)
    assert len(embedder.texts) == 5000
    assert vectors[5000:].tobytes() == vectors[:4000].tobytes()
    assert calls.spent.calls == 0


def test_threads_that_want_the_same_texts_embed_each_once() -> None:
    class Slow(ScriptedEmbedder):
        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            time.sleep(0.05)
            return super().embed(texts, kind)

    embedder = Slow()
    with Calls(None, concurrency=4) as calls:
        results = calls.map(
            lambda i: calls.embed(embedder, [f"t{j}" for j in range(i, i + 6)], "document", stage="x"),
            range(6),
        )
        [line] = calls.ledger()
    assert sorted(embedder.texts) == sorted({f"t{j}" for j in range(11)})
    assert results[0][1].tobytes() == results[1][0].tobytes()
    # Each call wants 6 texts, and 11 differ: the others came from the store, also where a thread waited for another.
    assert line.cached == 6 * 6 - 11


def test_no_texts_and_blank_texts_are_harmless() -> None:
    with Calls(None) as calls:
        assert calls.embed(ScriptedEmbedder(), [], "document", stage="x").shape == (0, 64)
        assert not calls.embed(ScriptedEmbedder(), ["", " "], "document", stage="x").any()
        half = calls.embed(ScriptedEmbedder(), ["\ud83d lone half of a pair"], "document", stage="x")
        assert half.any()


def test_an_embedder_that_returns_nonsense_is_named() -> None:
    class Broken(ScriptedEmbedder):
        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            return super().embed(texts, kind) * np.float32("nan")

    with Calls(None) as calls, pytest.raises(ModelUnavailable, match="not a number"):
        calls.embed(Broken(), ["light"], "document", stage="x")


# --- the file -----------------------------------------------------------------------------------


def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    path.write_bytes(b"this was a database once" * 100)
    with pytest.raises(IndexUnreadable, match=r"calls\.sqlite is damaged.*Move it away"):
        Calls(path)


def test_a_file_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(IndexUnreadable, match=r"has format 99.* Upgrade"):
        Calls(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageFailed):
        Calls(tmp_path / "file" / "calls.sqlite")


def test_a_reply_that_cannot_be_stored_is_not_used(server: ScriptedServer, tmp_path: Path) -> None:
    with Calls(tmp_path / "calls.sqlite") as calls:
        calls.ask(chat(server), question(), plain, stage="x")
        # A database that may not grow behaves as one on a full disk.
        with calls.store.transaction() as connection:
            connection.execute("PRAGMA max_page_count = 1")
        read: list[str] = []
        server.chat = ScriptedChat([("light", random.Random(0).randbytes(100_000).hex())])
        with pytest.raises(StorageFailed, match=r"is full\. Free some space"):
            calls.ask(chat(server), question("Which light?"), read.append, stage="x")
        assert read == []


@pytest.mark.parametrize(("free", "said"), [(0, r"is full\. Free some space"), (10**9, "cannot write")])
def test_an_error_of_sqlite_on_a_full_disk_says_that_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, said: str
) -> None:
    with Calls(tmp_path / "calls.sqlite") as calls:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        with pytest.raises(StorageFailed, match=said), calls.store.transaction():
            raise sqlite3.OperationalError("disk I/O error")


def test_full_durability_is_asked_of_the_database(tmp_path: Path) -> None:
    for durability, level in (("normal", 1), ("full", 2)):
        with (
            Calls(tmp_path / "calls.sqlite", durability=durability) as calls,
            calls.store.transaction() as connection,
        ):
            assert connection.rows("PRAGMA synchronous") == [(level,)]


def test_caps_and_concurrency_that_cannot_be_meant_are_refused() -> None:
    for options in ({"concurrency": 0}, {"max_cost": -1.0}, {"max_tokens": -1}, {"max_cost": float("nan")}):
        with pytest.raises(BadInput):
            Calls(None, **options)


def test_a_reply_may_hold_any_text() -> None:
    class Odd:
        name, local = "odd", True

        def chat(self, request, on_text=None):  # type: ignore[no-untyped-def]
            return ChatReply(text="half \ud83d, null \x00, ’", prompt_tokens=1, completion_tokens=1)

    with Calls(None) as calls:
        first = calls.ask(Odd(), question(), plain, stage="x")
        assert "null \x00" in first
        assert calls.ask(Odd(), question(), plain, stage="x").replace("?", "") == first.replace("\ud83d", "")
