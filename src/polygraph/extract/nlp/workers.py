"""Reading batches of texts in several processes.

Each worker is a fresh interpreter that is spoken to through its standard input and output, one line of JSON
a batch. Unlike `multiprocessing` this does not import the caller's main module again, so it works from
a script without a ``__main__`` guard, from a notebook and from standard input alike.
"""

import json
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import Any, TypeAlias

from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp.capitalized_names import name_in_title
from polygraph.extract.nlp.english import read_block
from polygraph.extract.nlp.keyword_extractor import read_plain
from polygraph.extract.nlp.paragraphs import blocks
from polygraph.extract.nlp.row_builder import Draft

Task: TypeAlias = tuple[str, str, str]
"""Text, language, title of its document."""
Outcome: TypeAlias = list[Any]
"""Entities, relations, and the problem if it failed."""

MIN_ENTITIES = 30
WORDS_PER_ENTITY = 4
"""A window keeps at most `MIN_ENTITIES` and one more per so many words."""

_MARK = re.compile(r"[.?!:;]")

# An interrupt goes to the whole group; the parent decides what to do and then ends its workers.
_BOOT = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from polygraph.extract.nlp.workers import serve; from {module} import {name}; serve({name})"
)


def n_cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve(read: Callable[[Sequence[Task]], list[Outcome]]) -> None:
    """Answer batches until the input ends: the main loop of a worker."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    for line in sys.stdin.buffer:
        answer = json.dumps(read([tuple(task) for task in json.loads(line)])).encode() + b"\n"
        try:
            out.write(answer)
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody waits for the answer any more, nor for what a normal end would flush


class _Worker:
    def __init__(self, read: Callable[[Sequence[Task]], list[Outcome]]) -> None:
        # The command names a function of ours; texts travel as JSON and are never executed.
        boot = _BOOT.format(module=read.__module__, name=read.__name__)
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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

    def runs(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # What was not yet sent to a dead worker cannot be flushed.
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def read_parallel(
    batches: Iterable[Sequence[Task]], processes: int, read: Callable[[Sequence[Task]], list[Outcome]]
) -> Iterator[list[Outcome]]:
    """Read batches in worker processes; answers come in the order of the batches.

    At most two batches per worker are under way, so memory does not grow with the input. If a worker dies, its
    batch is tried again text by text, and a text that kills its worker again is reported as failed. Where no
    worker can be started at all, this process reads. All workers are ended when the iterator is finished,
    closed or interrupted.

    Args:
        batches: what to read; drawn as needed.
        processes: number of workers.
        read: what the workers do, and this process if none can be started; a function of a module.
    """
    crew = _Crew(processes, read)
    pool = ThreadPoolExecutor(max_workers=processes, thread_name_prefix="extract")
    waiting: deque[Future[list[Outcome]]] = deque()
    try:
        for tasks in batches:
            waiting.append(pool.submit(crew.work, tasks))
            if len(waiting) >= 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        crew.end()
        pool.shutdown(wait=True)


class _Crew:
    """The workers, each used by one thread at a time."""

    def __init__(self, size: int, read: Callable[[Sequence[Task]], list[Outcome]]) -> None:
        self._read = read
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        self._alive: list[_Worker] = []
        self._lock = Lock()
        self._ended = False
        self._answered = False
        for _ in range(size):
            self._idle.put(None)

    def work(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Have one worker read a batch."""
        worker = self._idle.get()
        try:
            try:
                worker = worker or self._hire()
                answers = worker.ask(tasks)
                self._answered = True
                return answers
            except OSError:
                self._stop_if_ended()
            if not self._answered:
                return self._read(tasks)
            answers = []
            for task in tasks:
                worker = self._replace(worker)
                try:
                    answers += worker.ask([task])
                except OSError:
                    self._stop_if_ended()
                    answers.append([[], [], "the process that read this text died twice"])
            return answers
        finally:
            self._idle.put(worker if worker is not None and worker.runs() else None)

    def end(self) -> None:
        """End all workers; threads that wait for one see it die."""
        with self._lock:
            self._ended = True
            for worker in self._alive:
                worker.end()

    def _hire(self) -> _Worker:
        with self._lock:
            if self._ended:
                raise BrokenPipeError
            worker = _Worker(self._read)
            self._alive.append(worker)
            return worker

    def _replace(self, worker: _Worker | None) -> _Worker:
        if worker is not None and worker.runs():
            return worker
        return self._hire()

    def _stop_if_ended(self) -> None:
        if self._ended:
            raise BrokenPipeError


def read(tasks: Sequence[Task]) -> list[Outcome]:
    """Read texts; English ones with the parser if it is installed, the others without.

    Args:
        tasks: text, language code and title of the document.

    Returns:
        Per text its entities, its relations, and what went wrong, if anything did.
    """
    parsed = dependency_trees.installed()
    drafts = [Draft() for _ in tasks]
    problems = [""] * len(tasks)
    jobs = []
    for i, (text, language, title) in enumerate(tasks):
        if language == "en" and parsed:
            jobs += [(i, block) for block in blocks(text)]
        else:
            _guard(problems, i, partial(read_plain, drafts[i], text, language, title))
    if jobs:
        texts = (_calm(block.text, tasks[i][2]) for i, block in jobs)
        for (i, block), sentences in zip(jobs, dependency_trees.parse(texts), strict=True):
            _guard(problems, i, partial(read_block, drafts[i], block, sentences, tasks[i][2]))
    outcomes: list[Outcome] = []
    for (text, _, _), draft, problem in zip(tasks, drafts, problems, strict=True):
        n_words = text.count(" ") + text.count("\n") + len(text) // 40
        entities, relations = draft.rows(MIN_ENTITIES + n_words // WORDS_PER_ENTITY)
        outcomes.append([entities, relations, problem])
    return outcomes


def _calm(text: str, title: str) -> str:
    """Text as the parser should see it, letter for letter as long.

    Text in capitals throughout is read in lower case, which the parser knows better; marks inside the
    document's title do not end a sentence (``What Will You Do When You Catch Me?``).
    """
    if text.isupper() and len(text) > 20:
        lower = text.lower()
        text = lower if len(lower) == len(text) else text
    name = name_in_title(title)
    if _MARK.search(name) and name in text:
        text = text.replace(name, _MARK.sub("x", name))
    return text


def _guard(problems: list[str], i: int, work: Callable[[], None]) -> None:
    """Run one piece; what goes wrong is recorded for its text and does not stop the others."""
    try:
        work()
    except Exception as error:  # the edge of a process: one odd text must not end the build
        problems[i] = f"{type(error).__name__}: {error}"[:300]
