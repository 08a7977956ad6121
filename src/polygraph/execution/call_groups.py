"""Calls of many threads to one worker, in groups: a message takes all calls, or all results, that are at hand.

While a message is on its way, others gather for the next one, so that groups grow with the rate of calls and none waits
for a group to fill. Nothing here knows how messages travel.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from polygraph.errors import WorkerLost

Call: TypeAlias = tuple[int, Callable[[Any], Any], Any]
"""Number, function and item."""
Result: TypeAlias = tuple[int, Any, Exception | None]
"""Number of the call, and its value or its error."""

MAX_GROUP = 256
"""Calls, or results, of one message."""
WAIT_S = 5.0
"""Longest time that a worker holds a request for results when there are none."""


class CallRunner:
    """Runs calls in the threads of a worker.

    Args:
        n_threads: calls that run at once; others wait.
    """

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._started = False
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()

    def start(self, calls: list[Call]) -> None:
        """Run some calls as soon as threads are free."""
        for call in calls:
            self._calls.put(call)
        for _ in range(self._n_threads if not self._started else 0):
            threading.Thread(target=self._work, name="polygraph-call", daemon=True).start()
        self._started = True

    def results(self) -> list[Result]:
        """Wait for a result, and return it with all others at hand, in the order in which they came; at times none."""
        found: list[Result] = []
        try:
            found.append(self._results.get(timeout=WAIT_S))
            while len(found) < MAX_GROUP:
                found.append(self._results.get_nowait())
        except queue.Empty:
            pass
        return found

    def _work(self) -> None:
        while True:
            number, function, item = self._calls.get()
            try:
                outcome = value_or_error(function, item)
            except BaseException as error:  # the thread goes on, else its caller would wait for ever
                outcome = None, WorkerLost(f"the call was ended: {type(error).__name__}")
            self._results.put((number, *outcome))


def value_or_error(function: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
    """Return the result of a function, or its error: as a value, so that Ray neither wraps nor logs it."""
    try:
        return function(item), None
    except Exception as error:  # the driver raises it
        return None, error


class CallGroups:
    """Sends calls to one worker and receives their results.

    Args:
        send: passes a group of calls to the worker; called by one thread at a time.
        receive: waits for results, at times none; raises `WorkerLost` when the worker has ended. Any other error
            counts as the end of the worker too.
        on_loss: called once when the worker has ended.
    """

    def __init__(
        self,
        send: Callable[[list[Call]], object],
        receive: Callable[[], list[Result]],
        on_loss: Callable[[], object],
    ) -> None:
        self._send, self._receive, self._on_loss = send, receive, on_loss
        self._changed = threading.Condition()
        self._outbox: list[Call] = []
        self._sending = False
        self._waiting: dict[int, Future[Any]] = {}
        self._n_calls = 0
        self._ended = ""
        """Why no call is accepted any more."""
        self._receiver: threading.Thread | None = None

    def call(self, function: Callable[[Any], Any], item: Any) -> Any:
        """Run a function in the worker and return its result, or raise its error.

        Raises:
            WorkerLost: if the worker has ended.
        """
        done: Future[Any] = Future()
        with self._changed:
            if self._ended:
                raise WorkerLost(self._ended)
            self._n_calls += 1
            self._waiting[self._n_calls] = done
            self._outbox.append((self._n_calls, function, item))
            sends, self._sending = not self._sending, True
            if self._receiver is None:
                self._receiver = threading.Thread(
                    target=self._receive_all, name="polygraph-results", daemon=True
                )
                self._receiver.start()
            self._changed.notify()
        if sends:
            self._send_all()
        return done.result()

    def end(self, reason: str) -> None:
        """Accept no more calls; those in flight raise `WorkerLost`."""
        with self._changed:
            if self._ended:
                return
            self._ended = reason
            lost, self._waiting = list(self._waiting.values()), {}
            self._changed.notify()
        for done in lost:
            done.set_exception(WorkerLost(reason))

    def join(self, timeout_s: float) -> None:
        """Wait for the thread that receives results, after the worker was ended."""
        if self._receiver is not None:
            self._receiver.join(timeout_s)

    def _send_all(self) -> None:
        """Send all waiting calls, and those that other threads add meanwhile."""
        while True:
            with self._changed:
                group, self._outbox = self._outbox[:MAX_GROUP], self._outbox[MAX_GROUP:]
                if not group or self._ended:
                    self._sending = False
                    return
            try:
                self._send(group)
            except Exception as error:
                # An item that cannot be sent; the others of its group with it, since none was started.
                self._finish([(number, None, error) for number, _, _ in group])

    def _receive_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if self._ended:
                    return
            try:
                self._finish(self._receive())
            except Exception as error:  # else the callers would wait for ever
                self._on_loss()
                lost = isinstance(error, WorkerLost)
                self.end(
                    str(error) if lost else f"its results did not arrive: {type(error).__name__}: {error}"
                )
                return

    def _finish(self, results: list[Result]) -> None:
        with self._changed:
            finished = [(self._waiting.pop(number, None), value, error) for number, value, error in results]
        for done, value, error in finished:
            if done is None:
                continue
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(value)
