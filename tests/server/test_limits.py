"""What one caller may take: sizes, rates, slow clients, connections, waiting questions, and the end of the server."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from polygraph.server.access.limits import RateLimit
from polygraph.server.problems import Problem
from polygraph.testing import scripted_chat
from tests.server.conftest import READ, build, events_of, serving

LIST = "/api/v1/indexes"
ASK = "/api/v1/indexes/papers/ask"
QUESTION = {"question": "Who built the Skerry Light?", "method": "bm25"}
HEAD = f"POST {ASK} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {READ}\r\n"


class Slow:
    """A chat model that waits until it may reply."""

    name = "slow"

    def __init__(self):
        self.chats, self.may_reply, self.asked = scripted_chat(), threading.Event(), threading.Semaphore(0)

    def chat(self, request, on_text=None):
        self.asked.release()
        assert self.may_reply.wait(30)
        return self.chats.chat(request, on_text)


@pytest.fixture
def index(tmp_path):
    return build(tmp_path / "papers")


@pytest.fixture
def slow_model(tmp_path):
    """An index that was built, and a model that waits from then on."""
    model = Slow()
    model.may_reply.set()
    index = build(tmp_path / "papers", chat=model)
    model.may_reply.clear()
    model.asked = threading.Semaphore(0)
    yield index, model
    model.may_reply.set()


def test_a_comparison_that_nobody_waits_for_ends_before_the_next_method(slow_model):
    index, model = slow_model
    with serving({"papers": index}) as running:
        body = {"question": QUESTION["question"], "methods": ["bm25", "naive", "hybrid"]}
        with running.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/api/v1/indexes/papers/compare", json=body, timeout=1)
        assert model.asked.acquire(timeout=30)
        time.sleep(1.5)
        model.may_reply.set()
        until = time.monotonic() + 30
        while running.app._state.threads.running and time.monotonic() < until:
            time.sleep(0.05)
        assert not model.asked.acquire(blocking=False)


def connect(running):
    return socket.create_connection(("127.0.0.1", running.port), timeout=10)


def is_closed(connection):
    """Wait until the other side has closed a connection."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    return True


def test_a_body_that_says_it_is_huge_is_refused_unread(server):
    with connect(server) as connection:
        connection.sendall(f"{HEAD}content-length: 2147483648\r\n\r\n".encode())
        assert b" 413 " in connection.recv(4096)


def test_a_body_that_does_not_say_how_long_it_is_is_cut(client):
    def endless():
        for _ in range(100):
            yield b" " * 100_000

    assert client.post(ASK, content=endless()).status_code == 413


def test_a_head_without_end_is_refused(server):
    with connect(server) as connection:
        connection.sendall(HEAD.encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"x-filler: " + b"x" * 1000 + b"\r\n")
        assert is_closed(connection)


def test_deep_and_broken_json_is_a_problem(client):
    for body in (b"{", b"[" * 100_000, b'{"question":"\xff"}', b'{"question": NaN}', b""):
        response = client.post(ASK, content=body, headers={"content-type": "application/json"})
        assert response.status_code in {400, 422}
        assert "Traceback" not in response.text


def test_slow_clients_are_dropped(index):
    with serving({"papers": index}, header_timeout_s=1, body_timeout_s=1) as running:
        with connect(running) as silent, connect(running) as slow_head, connect(running) as slow_body:
            slow_head.sendall(b"GET /healthz HTT")
            slow_body.sendall(f"{HEAD}content-length: 50\r\n\r\n{{".encode())
            assert is_closed(silent)
            assert is_closed(slow_head)
            assert b" 408 " in slow_body.recv(4096)
        with running.client() as client:
            assert client.get("/healthz").status_code == 200


def test_a_slow_question_is_not_a_slow_head(slow_model):
    index, model = slow_model
    with serving({"papers": index}, header_timeout_s=1) as running, running.client() as client:
        threading.Timer(1.5, model.may_reply.set).start()
        assert client.post(ASK, json=QUESTION).status_code == 200
        assert client.get(LIST).status_code == 200, "on the same connection"


def test_connections_are_bounded_and_health_answers_again(index):
    with serving({"papers": index}, max_connections=20, header_timeout_s=1) as running:
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(connect(running)) for _ in range(300)]
            time.sleep(0.2)
            assert len(running.server.server_state.connections) <= 20
            assert is_closed(opened[-1])
        time.sleep(0.2)
        with running.client() as client:
            assert client.get("/healthz").status_code == 200


def test_a_connection_beyond_the_limit_is_told_so(index):
    with serving({"papers": index}, max_connections=2) as running, connect(running), connect(running):
        time.sleep(0.2)
        with running.client() as client:
            response = client.get(LIST)
        assert (response.status_code, response.json()["title"]) == (503, "Busy")
        assert int(response.headers["retry-after"]) >= 1


LITTLE = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(int(sys.argv[3]))]
from polygraph.cli import main
sys.argv = ["polygraph", "serve", "--index", sys.argv[1], "--port", sys.argv[2]]
main()
"""


@contextlib.contextmanager
def little_server(folder, held):
    """A server that may open 400 files and holds some of them; yields its process, port and a client."""
    with build(folder):
        pass
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", LITTLE, str(folder), str(port), str(held)]
    environment = {**os.environ, "POLYGRAPH_SERVER_TOKENS": f"ada read {READ}"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            url, headers = f"http://127.0.0.1:{port}", {"authorization": f"Bearer {READ}"}
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                wait_until(process, 120, lambda: client.get("/readyz").status_code == 200)
                yield process, port, client
        finally:
            process.terminate()


def wait_until(process, seconds, is_so):
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(httpx.TransportError):
            if is_so():
                return
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.slow
def test_with_few_open_files_connections_leave_room_for_answers(tmp_path):
    with little_server(tmp_path / "papers", held=0) as (_, port, client), contextlib.ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        assert client.post(ASK, json=QUESTION).status_code == 200


@pytest.mark.slow
def test_a_server_without_files_to_spare_goes_on_when_connections_have_ended(tmp_path):
    with little_server(tmp_path / "papers", held=300) as (process, port, client):
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                with contextlib.suppress(TimeoutError):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=0.05))
        wait_until(process, 120, lambda: client.post(ASK, json=QUESTION).status_code == 200)


def test_the_rate_of_a_caller_is_bounded_and_others_are_served(index):
    limits = {"requests_per_minute": 60, "burst": 5}
    with serving({"papers": index}, **limits) as running, running.client() as client:
        found = [client.get(LIST) for _ in range(7)]
        assert [response.status_code for response in found[:5]] == [200] * 5
        assert found[-1].status_code == 429
        assert int(found[-1].headers["retry-after"]) >= 1
        with running.client("d" * 32) as other:
            assert other.get(LIST).status_code == 200


def test_whoever_tries_tokens_is_slowed_down(index):
    with serving({"papers": index}) as running, running.client("x" * 32) as client:
        assert {client.get(LIST).status_code for _ in range(40)} == {401, 429}


def test_a_bucket_refills():
    now = [0.0]
    limit = RateLimit(60, 2, clock=lambda: now[0])
    limit.take("ada")
    limit.take("ada")
    with pytest.raises(Problem, match="Wait 1 s"):
        limit.take("ada")
    limit.take("bea")
    now[0] = 1.0
    limit.take("ada")


def test_too_many_waiting_questions_are_refused_at_once(slow_model):
    index, model = slow_model
    with serving({"papers": index}, threads=1, waiting=1) as running, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(running.client()) for _ in range(3)]
        results = []

        def ask(client):
            results.append(client.post(ASK, json=QUESTION).status_code)

        threads = [threading.Thread(target=ask, args=(client,)) for client in clients[:2]]
        threads[0].start()
        assert model.asked.acquire(timeout=60)
        threads[1].start()
        time.sleep(0.3)
        refused = clients[2].post(ASK, json=QUESTION)
        assert refused.status_code == 503
        assert "retry-after" in refused.headers
        assert clients[2].get("/healthz").status_code == 200
        model.may_reply.set()
        for thread in threads:
            thread.join(30)
        assert results == [200, 200]


def test_an_answer_that_nobody_waits_for_ends_and_one_that_is_resumed_does_not(slow_model):
    index, model = slow_model
    with serving({"papers": index}, resume_s=0.2, heartbeat_s=0.1) as running, running.client() as client:
        state = running.app._state
        with client.stream("POST", ASK, json=QUESTION, headers={"accept": "text/event-stream"}) as response:
            lines = response.iter_lines()
            id = next(line for line in lines if line.startswith("id: ")).removeprefix("id: ")
        log = state.answers._logs[id.partition(":")[0]]
        assert log.abandoned.wait(60)
        model.may_reply.set()
        deadline = time.monotonic() + 60
        while not log.done and time.monotonic() < deadline:
            time.sleep(0.02)
        assert log.result.kind == "client-gone"


def test_heartbeats_keep_an_idle_stream_open(slow_model):
    index, model = slow_model
    with serving({"papers": index}, heartbeat_s=0.1) as running, running.client() as client:
        lines = []
        with client.stream("POST", ASK, json=QUESTION, headers={"accept": "text/event-stream"}) as response:
            for line in response.iter_lines():
                lines.append(line)
                if lines.count(": still working") == 2:
                    model.may_reply.set()
    assert events_of("\n".join(lines))[-1][1] == "answer"


def test_running_answers_are_finished_when_the_server_stops(slow_model):
    index, model = slow_model
    with serving({"papers": index}) as running, running.client() as client:
        results = []
        asking = threading.Thread(target=lambda: results.append(client.post(ASK, json=QUESTION).status_code))
        asking.start()
        assert model.asked.acquire(timeout=60)
        running.server.should_exit = True
        time.sleep(0.3)
        model.may_reply.set()
        asking.join(30)
    assert results == [200]


def test_an_answer_that_takes_longer_than_the_server_waits_is_told_that_it_stops(slow_model, caplog):
    index, model = slow_model
    found = []
    with serving({"papers": index}, stop_timeout_s=1) as running, running.client() as client:
        asking = threading.Thread(target=lambda: found.append(client.post(ASK, json=QUESTION)))
        asking.start()
        assert model.asked.acquire(timeout=30)
        running.stop()
        asking.join(30)
        assert running.app.is_working(), "the thread still waits for the model"
    (response,) = found
    assert (response.status_code, response.json()["type"]) == (503, "urn:polygraph:stopping")
    assert not any(record.exc_info for record in caplog.records)


def test_small_responses_are_sent_at_once(server, client):
    client.get("/healthz")
    seconds = []
    for _ in range(9):
        started = time.perf_counter()
        client.get("/healthz")
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.03, "40 ms are the delay of small pieces that wait for each other"


def test_routes_are_told_that_the_server_stops_while_answers_are_running(slow_model):
    index, model = slow_model
    with serving({"papers": index}) as running, running.client() as client:
        asking = threading.Thread(target=lambda: client.post(ASK, json=QUESTION))
        asking.start()
        assert model.asked.acquire(timeout=60)
        running.server.should_exit = True
        deadline = time.monotonic() + 60
        while not running.app._state.stopping and time.monotonic() < deadline:
            time.sleep(0.01)
        assert running.app._state.stopping
        assert asking.is_alive(), "streams that never end can end now, and the answer goes on"
        model.may_reply.set()
        asking.join(30)


def test_a_server_leaves_the_logging_of_others_alone(index):
    class Handler(logging.StreamHandler):
        closed = False

        def close(self):
            self.closed = True
            super().close()

    handler = Handler()
    with serving({"papers": index}):
        assert not handler.closed
