"""Map a function over items in a bounded number of threads; calls may be nested."""

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from polygraph.errors import RequestsWaiting

S = TypeVar("S")
T = TypeVar("T")

_LINGER_S = 0.05
"""How long a thread waits for the next item of a caller that prepares items; starting one takes half a millisecond."""
_LOOK_S = 0.02
"""How often a caller who lets others start first looks whether they have."""
POLL_S = 0.2
"""How often a waiting main thread wakes up: some systems deliver Ctrl-C only then."""


def map_in_order(function: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Apply a function to one item after the other, and continue when an item waits for a batch reply.

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
class _Outcome(Generic[T]):
    """Result or error of an item."""

    index: int
    value: T | None
    error: BaseException | None


class _Job(Generic[S, T]):
    """Items that several threads process."""

    def __init__(
        self,
        function: Callable[[S], T],
        items: Iterable[S] = (),
        *,
        linger_s: float = 0.0,
        weight: int = 1,
        defer_s: float = 0.0,
    ) -> None:
        self._function = function
        self.weight = weight
        """How many threads of other items one that processes these counts for, where both wait for threads."""
        self._defer_s = defer_s
        self._deferred_until = 0.0
        self._context = contextvars.copy_context()
        self._items: list[S | None] = list(items)
        """None for those that were started: they may be large."""
        self._linger_s = linger_s
        self._outcomes: queue.SimpleQueue[_Outcome[T]] = queue.SimpleQueue()
        self._lock = threading.Condition()
        self._n_started = 0
        self._n_running = 0
        self._n_workers = 0
        self._stopped = False

    def add(self, item: S) -> int:
        """Add an item; return its index."""
        with self._lock:
            if self._defer_s and not self._n_workers and self._n_started == len(self._items):
                self._deferred_until = time.monotonic() + self._defer_s
            self._items.append(item)
            self._lock.notify()
            return len(self._items) - 1

    @property
    def has_waiting(self) -> bool:
        """Whether an item waits for a thread."""
        return not self._stopped and self._n_started < len(self._items)

    @property
    def is_deferred(self) -> bool:
        """Whether items of jobs with a smaller weight start first: until a thread has begun, or the delay ends."""
        return not self._n_workers and time.monotonic() < self._deferred_until

    def add_worker(self) -> bool:
        """Count one more thread that will call `work`, if there is an item for it."""
        with self._lock:
            n_waiting = 0 if self._stopped else len(self._items) - self._n_started
            wanted = n_waiting > self._n_workers - self._n_running
            self._n_workers += wanted
            return wanted

    def remove_worker(self) -> None:
        """Count one thread less, which could not be started."""
        with self._lock:
            self._n_workers -= 1

    @property
    def n_workers(self) -> int:
        """Threads that process items."""
        return self._n_workers

    @property
    def has_workers(self) -> bool:
        """Whether any thread processes items."""
        with self._lock:
            return self._n_workers > 0

    def stop(self) -> int:
        """Start no more items; return how many were started."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()
            return self._n_started

    def run(self, work: Callable[["_Job[S, T]"], None]) -> None:
        """Call a function in the context of the caller who made this."""
        self._context.copy().run(work, self)

    def work(
        self, find_other: "Callable[[], _Job[Any, Any] | None]" = lambda: None
    ) -> "_Job[Any, Any] | None":
        """Process items until none are left, and none come for a while, or another job needs this thread more.

        Args:
            find_other: called after each item; returns a job for which this thread leaves, or None.

        Returns:
            That job; None at the end.
        """
        while True:
            with self._lock:
                if self._linger_s:
                    self._lock.wait_for(self._has_next, self._linger_s)
                if self._stopped or self._n_started == len(self._items):
                    self._n_workers -= 1
                    return None
                i = self._n_started
                item = cast(S, self._items[i])
                self._items[i] = None
                self._n_started += 1
                self._n_running += 1
            value: T | None = None
            error: BaseException | None = None
            try:
                value = self._function(item)
            except RequestsWaiting as waiting:
                error = waiting  # continue with the others, so that one batch holds as much as possible
            except BaseException as raised:
                error = raised
                self.stop()
            self._outcomes.put(_Outcome(i, value, error))
            del item, value
            with self._lock:
                self._n_running -= 1
                if (other := find_other()) is not None:
                    self._n_workers -= 1
                    return other

    def _has_next(self) -> bool:
        return self._stopped or self._n_started < len(self._items)

    def next_if_any(self) -> _Outcome[T] | None:
        """Return the next outcome if there is one now."""
        try:
            return self._outcomes.get_nowait()
        except queue.Empty:
            return None

    def next(self) -> _Outcome[T]:
        """Wait for the next outcome."""
        while True:
            try:
                return self._outcomes.get(timeout=POLL_S)
            except queue.Empty:
                continue

    def wait_until_idle(self) -> None:
        """Wait until no item is being processed."""
        pause = threading.Event()
        while self._n_running:
            pause.wait(POLL_S)


class Background(Generic[S, T]):
    """Items that threads process while the caller prepares the next ones; see `Calls.background`."""

    def __init__(
        self, job: _Job[S, T], start_helpers: Callable[[], object], must_wait: Callable[[], bool]
    ) -> None:
        self._job = job
        self._start_helpers = start_helpers
        self._must_wait = must_wait

    def add(self, item: S) -> int:
        """Have an item processed as soon as a thread is free; return its number, from 0."""
        number = self._job.add(item)
        self._start_helpers()
        return number

    def receive(self, *, wait: bool = True) -> tuple[int, T] | None:
        """Return the number and the result of an item that is finished, in the order in which they finish.

        Args:
            wait: for an item to finish; otherwise None is returned if none is.

        Raises:
            BaseException: what the function raised.
        """
        while wait and self._must_wait():
            time.sleep(_LOOK_S)
        self._start_helpers()
        if wait and not self._job.has_workers and self._job.add_worker():
            # All threads are busy with other work. One item at a time, since threads may be free after it.
            self._job.work(lambda: self._job)
        outcome = self._job.next() if wait else self._job.next_if_any()
        if outcome is None:
            return None
        if outcome.error is not None:
            raise outcome.error
        return outcome.index, cast(T, outcome.value)


class ThreadPool:
    """At most `size` threads in total, however deeply calls of `map` are nested.

    Threads live for one call of `map`: starting a thread costs little compared to calling a model, and daemon threads
    do not keep a program from exiting. Where several calls run at once, a thread that is done with an item makes room
    for one that works for a call with fewer, counted by weight, so that none waits for all items of another.
    """

    def __init__(self, size: int) -> None:
        self._spare = threading.Semaphore(size)
        self._size = size
        self._thread = threading.local()
        self._jobs: list[_Job[Any, Any]] = []
        """Jobs that threads may join; replaced when one comes or goes."""
        self._lock = threading.Lock()

    def map(
        self, function: Callable[[S], T], items: Iterable[S], *, on_done: Callable[[int], None] | None = None
    ) -> list[T]:
        """Apply the function to each item; see `Calls.map`."""
        todo = list(items)
        job = _Job(function, todo)
        with self._offered(job):
            return self._map(job, todo, on_done)

    def _map(self, job: _Job[S, T], todo: Sequence[S], on_done: Callable[[int], None] | None) -> list[T]:
        nested = getattr(self._thread, "is_ours", False)
        n_helpers = self._start_helpers(job, len(todo) - 1 if nested else len(todo)) if len(todo) > 1 else 0

        def start_helpers() -> None:
            self._start_helpers(job)

        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        waiting: RequestsWaiting | None = None
        n_waiting = 0
        try:
            # A thread of the pool works too, so that there is progress when no thread is free. The main thread
            # only waits, so that Ctrl-C does not break a call in flight.
            if (nested or not n_helpers) and job.add_worker():
                job.work(start_helpers)
            expected = len(todo)
            while len(results) + len(errors) + n_waiting < expected:
                # Threads that were busy with other work may be free by now.
                self._start_helpers(job)
                outcome = job.next()
                if isinstance(outcome.error, RequestsWaiting):
                    # One is enough: every item has recorded its own request.
                    waiting = waiting or outcome.error
                    n_waiting += 1
                elif outcome.error is not None:
                    errors[outcome.index] = outcome.error
                    expected = job.stop()
                else:
                    results[outcome.index] = cast(T, outcome.value)
                    if on_done is not None:
                        on_done(len(results))
        except BaseException:
            # Ctrl-C, or `on_done` failed. A second Ctrl-C does not wait for calls in flight.
            job.stop()
            job.wait_until_idle()
            raise
        if errors:
            interrupts = [i for i, error in errors.items() if not isinstance(error, Exception)]
            raise errors[min(interrupts or errors)]
        if waiting is not None:
            raise waiting
        return [results[i] for i in range(len(todo))]

    @contextmanager
    def background(
        self, function: Callable[[S], T], *, weight: int = 1, defer_s: float = 0.0
    ) -> Iterator[Background[S, T]]:
        """Apply a function to items as they are added; see `Calls.background`.

        Args:
            function: see there.
            weight: how many threads of other calls one of this call counts for, where both wait for threads. With 8,
                this call has one thread until the others have eight.
            defer_s: how long items wait at most, before the first of them starts, while items of calls with a
                smaller weight wait for threads.
        """
        job: _Job[S, T] = _Job(function, linger_s=_LINGER_S, weight=weight, defer_s=defer_s)

        def start_helpers() -> None:
            if not self._must_wait(job):
                self._start_helpers(job)

        try:
            with self._offered(job):
                yield Background(job, start_helpers, lambda: self._must_wait(job))
        finally:
            job.stop()
            job.wait_until_idle()

    @contextmanager
    def _offered(self, job: _Job[Any, Any]) -> Iterator[None]:
        """Let threads of other jobs join a job inside a ``with`` block."""
        with self._lock:
            self._jobs = [*self._jobs, job]
        try:
            yield
        finally:
            with self._lock:
                self._jobs = [other for other in self._jobs if other is not job]

    def _start_helpers(self, job: _Job[S, T], limit: int | None = None) -> int:
        """Start as many threads as are free and useful, at most `limit`; return how many.

        Where the system starts no more threads, those that there are do the work, or the caller.
        """
        n = 0
        while (limit is None or n < limit) and self._spare.acquire(blocking=False):
            if not job.add_worker():
                self._spare.release()
                break
            thread = threading.Thread(target=job.run, args=(self._work,), name="polygraph-call", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                job.remove_worker()
                self._spare.release()
                break
            n += 1
        return n

    def _must_wait(self, job: _Job[Any, Any]) -> bool:
        """Tell whether the items of a job let those of others start first."""
        return job.is_deferred and any(
            other.weight < job.weight and other.has_waiting for other in self._jobs
        )

    def _work(self, job: _Job[Any, Any]) -> None:
        self._thread.is_ours = True
        try:
            other = job.work(lambda: self._job_short_of_threads(job))
        finally:
            self._spare.release()
        # A caller who waits for threads learns that some are free only when one of its own items is finished.
        if other := other or self._next_job():
            self._start_helpers(other, 1)

    def _next_job(self) -> _Job[Any, Any] | None:
        """Return the job with waiting items and the fewest threads by weight; None if there is none."""
        waiting = [job for job in self._jobs if job.has_waiting and not self._must_wait(job)]
        return min(waiting, key=lambda job: (job.n_workers + 1) * job.weight, default=None)

    def _job_short_of_threads(self, job: _Job[Any, Any]) -> _Job[Any, Any] | None:
        """Return the job with waiting items and the fewest threads by weight, if it has fewer even with one more.

        The last thread of a job stays.
        """
        others = [
            other for other in self._jobs if other is not job and other.has_waiting and not other.is_deferred
        ]
        found = min(others, key=lambda other: (other.n_workers + 1) * other.weight, default=None)
        if found is None or job.n_workers < 2:
            return None
        return found if (found.n_workers + 1) * found.weight < job.n_workers * job.weight else None
