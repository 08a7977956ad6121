"""Reading batches of texts in several processes.

Each worker is a fresh interpreter that is spoken to through its standard input and output, one line of JSON
a batch. Unlike `multiprocessing` this does not import the caller's main module again, so it works from
a script without a ``__main__`` guard, from a notebook and from standard input alike.
"""

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeAlias

Task: TypeAlias = tuple[str, str, str]
"""Text, language, title of its document."""
Outcome: TypeAlias = list[Any]
"""Entities, relations, and the problem if it failed."""

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from polygraph.extract.workers import serve; from polygraph.extract.reading import read; serve(read)"
)


def n_cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve(read: Callable[[Sequence[Task]], list[Outcome]]) -> None:
    """Answer batches until the input ends: the main loop of a worker."""
    # An interrupt goes to the whole group; the parent decides what to do and then closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    for line in sys.stdin.buffer:
        out.write(json.dumps(read([tuple(task) for task in json.loads(line)])).encode() + b"\n")
        out.flush()


class _Worker:
    def __init__(self) -> None:
        # The command is fixed; texts travel as JSON and are never executed.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(list(sys.path))

    def _send(self, value: object) -> None:
        if self._process.stdin is None:
            raise BrokenPipeError
        self._process.stdin.write(json.dumps(value).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Hand over a batch and wait for its answer.

        Raises:
            OSError: if the worker died.
        """
        self._send(tasks)
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line.endswith(b"\n"):
            raise BrokenPipeError
        answer: list[Outcome] = json.loads(line)
        return answer

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass  # what was not yet sent to a dead worker
        self._process.wait()


def read_parallel(batches: Iterable[Sequence[Task]], processes: int) -> Iterator[list[Outcome]]:
    """Read batches in worker processes; answers come in the order of the batches.

    At most two batches per worker are under way, so memory does not grow with the input. If a worker dies, its
    batch is tried again text by text, and a text that kills its worker again is reported as failed.
    All workers are ended when the iterator is finished, closed or interrupted.
    """
    idle: SimpleQueue[_Worker | None] = SimpleQueue()
    alive: list[_Worker] = []
    closing = False

    def hire() -> _Worker:
        worker = _Worker()
        alive.append(worker)
        return worker

    def work(tasks: Sequence[Task]) -> list[Outcome]:
        worker = idle.get() or hire()
        try:
            return worker.ask(tasks)
        except OSError:
            worker.end()
            if closing:
                raise
            worker = hire()
            answers: list[Outcome] = []
            for task in tasks:
                try:
                    answers += worker.ask([task])
                except OSError:
                    worker.end()
                    if closing:
                        raise
                    answers.append([[], [], "the process that read this text died twice"])
                    worker = hire()
            return answers
        finally:
            idle.put(worker)

    for _ in range(processes):
        idle.put(None)
    pool = ThreadPoolExecutor(max_workers=processes, thread_name_prefix="extract")
    waiting: deque[Future[list[Outcome]]] = deque()
    try:
        for tasks in batches:
            waiting.append(pool.submit(work, tasks))
            if len(waiting) >= 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        closing = True
        for future in waiting:
            future.cancel()
        for worker in list(alive):
            worker.end()
        pool.shutdown(wait=True)
