"""Applying a function to many items in a bounded number of threads, at any depth of nesting."""

import contextvars
import os
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from polygraph.errors import RequestsWaiting

S = TypeVar("S")
T = TypeVar("T")

WAKE_S = 0.2
"""How often a waiting main thread looks up: some systems deliver Ctrl-C only then."""


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_turn(function: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Apply a function to one item after the other; what waits for a batch does not keep the rest from being asked.

    Raises:
        RequestsWaiting: after all items, if any of them waits.
    """
    results: list[T] = []
    waiting: RequestsWaiting | None = None
    for item in items:
        try:
            results.append(function(item))
        except RequestsWaiting as error:
            waiting = waiting or error
    if waiting is not None:
        raise waiting
    return results


@dataclass(frozen=True, slots=True)
class _Ended(Generic[T]):
    """What became of an item."""

    index: int
    value: T | None
    error: BaseException | None


class _Job(Generic[S, T]):
    """Items that several threads take one after the other."""

    def __init__(self, function: Callable[[S], T], items: Sequence[S]) -> None:
        self._function = function
        self._items = items
        self._ended: queue.SimpleQueue[_Ended[T]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._n_started = 0
        self._n_running = 0
        self._stopped = False

    def stop(self) -> int:
        """Start nothing more; return how many items were started."""
        with self._lock:
            self._stopped = True
            return self._n_started

    def work(self) -> None:
        """Take items until there are none."""
        while True:
            with self._lock:
                if self._stopped or self._n_started == len(self._items):
                    return
                i = self._n_started
                self._n_started += 1
                self._n_running += 1
            value: T | None = None
            error: BaseException | None = None
            try:
                value = self._function(self._items[i])
            except RequestsWaiting as waiting:
                error = waiting  # the others are asked, too, so that one batch holds as much as possible
            except BaseException as raised:
                error = raised
                self.stop()
            self._ended.put(_Ended(i, value, error))
            with self._lock:
                self._n_running -= 1

    def next(self) -> _Ended[T]:
        """Wait for an item to end."""
        while True:
            try:
                return self._ended.get(timeout=WAKE_S)
            except queue.Empty:
                continue

    def settle(self) -> None:
        """Wait until nothing runs."""
        pause = threading.Event()
        while self._n_running:
            pause.wait(WAKE_S)


class Pool:
    """At most `size` threads in all, however deep the calls are nested.

    Threads live as long as one call of `map`: starting one is nothing beside a call of a model, and daemon
    threads do not keep a program alive that wants to end.
    """

    def __init__(self, size: int) -> None:
        self._spare = threading.Semaphore(size)
        self._size = size
        self._thread = threading.local()

    def map(
        self, function: Callable[[S], T], items: Iterable[S], *, on_done: Callable[[int], None] | None = None
    ) -> list[T]:
        """Apply the function to each item; see `Calls.map`."""
        todo = list(items)
        job = _Job(function, todo)
        nested = getattr(self._thread, "is_ours", False)
        helpers = self._help(job, len(todo) - 1 if nested else len(todo)) if len(todo) > 1 else 0
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        waiting: RequestsWaiting | None = None
        n_waiting = 0
        try:
            # A thread of the pool works itself, so that there is progress when no thread is to spare. The
            # main thread only waits, so that Ctrl-C does not break a call that is under way.
            if nested or not helpers:
                job.work()
            expected = len(todo)
            while len(results) + len(errors) + n_waiting < expected:
                ended = job.next()
                if isinstance(ended.error, RequestsWaiting):
                    # One speaks for all; each holds the request that it came from.
                    waiting = waiting or ended.error
                    n_waiting += 1
                elif ended.error is not None:
                    errors[ended.index] = ended.error
                    expected = job.stop()
                else:
                    results[ended.index] = cast(T, ended.value)
                    if on_done is not None:
                        on_done(len(results))
        except BaseException:
            # Ctrl-C, or `on_done` failed. A second Ctrl-C does not wait for what is under way.
            job.stop()
            job.settle()
            raise
        if errors:
            interrupts = [i for i, error in errors.items() if not isinstance(error, Exception)]
            raise errors[min(interrupts or errors)]
        if waiting is not None:
            raise waiting
        return [results[i] for i in range(len(todo))]

    def _help(self, job: _Job[S, T], most: int) -> int:
        """Start as many threads as are to spare and of use."""
        n = 0
        while n < min(most, self._size) and self._spare.acquire(blocking=False):
            context = contextvars.copy_context()
            threading.Thread(
                target=context.run, args=(self._work, job), name="polygraph-call", daemon=True
            ).start()
            n += 1
        return n

    def _work(self, job: _Job[S, T]) -> None:
        self._thread.is_ours = True
        try:
            job.work()
        finally:
            self._spare.release()
