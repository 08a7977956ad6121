"""Calls to a worker travel together, come back as they finish, and are lost with the worker and not before."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from polygraph.errors import WorkerLost
from polygraph.execution.call_groups import MAX_GROUP, CallGroups, CallRunner


class Worker:
    """A worker in this process, whose messages take some time; it can be ended."""

    def __init__(self, n_threads=4, message_s=0.0):
        self.runner = CallRunner(n_threads)
        self.message_s = message_s
        self.groups = []
        self.n_received = []
        self.ended = threading.Event()
        self.losses = []
        self.calls = CallGroups(self._send, self._receive, lambda: self.losses.append(1))

    def _send(self, group):
        time.sleep(self.message_s)
        self.groups.append(len(group))
        self.runner.start(group)

    def _receive(self):
        if self.ended.is_set():
            raise WorkerLost("it was ended")
        found = self.runner.results()
        time.sleep(self.message_s)
        if self.ended.is_set():
            raise WorkerLost("it was ended")
        self.n_received.append(len(found))
        return found


def double(n):
    return 2 * n


def wait(seconds):
    time.sleep(seconds)
    return seconds


def fail(n):
    raise ValueError(f"no {n}")


def test_each_thread_gets_the_result_of_its_call():
    worker = Worker()
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(lambda n: worker.calls.call(double, n), range(200))) == [
            2 * n for n in range(200)
        ]
    worker.calls.end("done")


def test_calls_that_come_while_a_message_is_on_its_way_travel_together():
    worker = Worker(n_threads=64, message_s=0.2)
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(lambda _: worker.calls.call(wait, 0.01), range(64)))
    worker.calls.end("done")
    assert sum(worker.groups) == 64
    assert len(worker.groups) <= 6
    assert len(worker.n_received) <= 6


def test_a_result_does_not_wait_for_slower_calls_of_its_group():
    worker = Worker(n_threads=2, message_s=0.02)
    quick_came = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(worker.calls.call, quick_came.wait, 60)
        assert threads.submit(worker.calls.call, double, 1).result() == 2
        quick_came.set()
        assert slow.result(), "it ended after the quick call"
    worker.calls.end("done")


def test_a_group_has_a_limit():
    runner = CallRunner(1)
    runner.start([(n, double, n) for n in range(2 * MAX_GROUP)])
    received = 0
    while received < 2 * MAX_GROUP:
        group = runner.results()
        assert len(group) <= MAX_GROUP
        received += len(group)


def test_no_more_calls_run_at_once_than_a_worker_has_threads():
    worker, running, most = Worker(n_threads=3), [], []

    def count(n):
        running.append(n)
        most.append(len(running))
        time.sleep(0.01)
        running.remove(n)

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda n: worker.calls.call(count, n), range(40)))
    worker.calls.end("done")
    assert max(most) <= 3


def test_an_error_of_a_call_is_raised_for_it_alone():
    worker = Worker()
    with pytest.raises(ValueError, match="no 3"):
        worker.calls.call(fail, 3)
    assert worker.calls.call(double, 4) == 8
    worker.calls.end("done")


def test_a_group_that_cannot_be_sent_fails_and_the_next_is_sent():
    worker = Worker()
    send = worker.calls._send

    def refuse(group):
        worker.calls._send = send
        raise TypeError("cannot pickle")

    worker.calls._send = refuse
    with pytest.raises(TypeError, match="cannot pickle"):
        worker.calls.call(double, 1)
    assert worker.calls.call(double, 4) == 8
    worker.calls.end("done")


def leave(_):
    raise SystemExit(3)


def test_a_call_that_ends_its_thread_does_not_leave_its_caller_waiting():
    worker = Worker(n_threads=1)
    with pytest.raises(WorkerLost, match="SystemExit"):
        worker.calls.call(leave, 0)
    assert worker.calls.call(double, 4) == 8
    worker.calls.end("done")


def test_results_that_cannot_be_received_are_lost_with_the_worker():
    worker = Worker()

    def damaged():
        raise EOFError("half a message")

    worker.calls._receive = damaged
    with pytest.raises(WorkerLost, match="half a message"):
        worker.calls.call(double, 1)
    assert worker.losses == [1]


def test_calls_in_flight_are_lost_with_their_worker_and_others_are_not():
    worker = Worker(n_threads=4)
    assert worker.calls.call(double, 1) == 2
    with ThreadPoolExecutor(4) as threads:
        started, may_end = threading.Semaphore(0), threading.Event()

        def run(_):
            started.release()
            assert may_end.wait(60)

        calls = [threads.submit(worker.calls.call, run, n) for n in range(4)]
        assert all(started.acquire(timeout=60) for _ in calls)
        worker.ended.set()
        may_end.set()
        for call in calls:
            with pytest.raises(WorkerLost):
                call.result()
    assert worker.losses == [1]
    with pytest.raises(WorkerLost):
        worker.calls.call(double, 1)
