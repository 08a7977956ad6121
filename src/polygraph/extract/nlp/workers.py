"""Extraction without a model in several processes: the work of one process, and the pool of workers.

Each worker is a new interpreter that exchanges one line of JSON per batch over standard input and output. Unlike
`multiprocessing` this does not import the caller's main module, so it works in scripts without a
``__main__`` guard, in notebooks and with code from standard input.
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
from typing import Any, TypeAlias, TypeVar, cast

from polygraph.extract.nlp import dependency_trees
from polygraph.extract.nlp.capitalized_names import name_in_title
from polygraph.extract.nlp.english import extract_paragraph
from polygraph.extract.nlp.keyword_extractor import extract_keywords
from polygraph.extract.nlp.paragraphs import split_paragraphs
from polygraph.extract.nlp.row_builder import RowBuilder

S = TypeVar("S")
T = TypeVar("T")

Task: TypeAlias = tuple[str, str, str]
"""Text, language code, title of its document."""
Outcome: TypeAlias = list[Any]
"""Entity rows, relation rows, and the problem if extraction failed."""

MIN_ENTITIES = 30
WORDS_PER_ENTITY = 4
"""A window keeps at most `MIN_ENTITIES` entities and one more per this many words."""

_END_MARK = re.compile(r"[.?!:;]")

# An interrupt is sent to the whole process group; the parent handles it and ends its workers.
_BOOT = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from polygraph.extract.nlp.workers import serve; from {module} import {name}; serve({name})"
)


def serve(extract: Callable[[Sequence[Task]], list[Outcome]]) -> None:
    """Run the main loop of a worker: process batches until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a library prints must not mix with the results
    for line in sys.stdin.buffer:
        result = json.dumps(extract([tuple(task) for task in json.loads(line)])).encode() + b"\n"
        try:
            out.write(result)
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # the parent has gone: skip flushing and exit handlers


class _Worker:
    def __init__(self, extract: Callable[[Sequence[Task]], list[Outcome]]) -> None:
        # The command names one of our functions; texts are sent as JSON and never executed.
        boot = _BOOT.format(module=extract.__module__, name=extract.__name__)
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(list(sys.path))

    def _send(self, value: object) -> None:
        if self._process.stdin is None:
            raise BrokenPipeError
        self._process.stdin.write(json.dumps(value).encode() + b"\n")
        self._process.stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def process(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Send a batch and wait for its result.

        Raises:
            OSError: if the worker died.
        """
        self._send(tasks)
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line.endswith(b"\n"):
            raise BrokenPipeError
        result: list[Outcome] = json.loads(line)
        return result

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # Data that was not sent to a dead worker cannot be flushed.
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def extract_parallel(
    batches: Iterable[Sequence[Task]], processes: int, extract: Callable[[Sequence[Task]], list[Outcome]]
) -> Iterator[list[Outcome]]:
    """Process batches in worker processes and yield the results in the order of the batches.

    At most two batches per worker are in progress, so memory does not grow with the input. If a worker dies, its
    batch is retried text by text, and a text that kills its worker again is reported as failed. If no
    worker can be started, this process does the work. All workers are ended when the iterator is exhausted,
    closed or interrupted.

    Args:
        batches: consumed as needed.
        processes: number of workers.
        extract: the work for one batch; a function at the top level of a module.
    """
    workers = WorkerPool(processes, extract)
    threads = ThreadPoolExecutor(max_workers=processes, thread_name_prefix="extract")
    waiting: deque[Future[list[Outcome]]] = deque()
    try:
        for tasks in batches:
            waiting.append(threads.submit(workers.process, tasks))
            if len(waiting) >= 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        workers.end()
        threads.shutdown(wait=True)


class LocalExecutor:
    """Runs functions in this process, and batches of texts in worker processes where several pay off."""

    def map(self, function: Callable[[S], T], items: Iterable[S], *, processes: int = 0) -> Iterator[T]:
        """Apply a function to each item; see `Executor.map`. With several processes, items are batches of tasks."""
        if not processes:
            return map(function, items)
        found: Any = extract_parallel(cast(Any, items), processes, cast(Any, function))
        return cast("Iterator[T]", found)

    def call(self, function: Callable[[S], T], item: S) -> T:
        """Apply a function to one item, in this thread."""
        return function(item)


class WorkerPool:
    """Worker processes, each used by one thread at a time and started when it is first needed.

    Args:
        size: number of workers.
        extract: the work for one batch.
    """

    def __init__(self, size: int, extract: Callable[[Sequence[Task]], list[Outcome]]) -> None:
        self._extract = extract
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        self._started: list[_Worker] = []
        self._lock = Lock()
        self._ended = False
        self._succeeded = False
        for _ in range(size):
            self._idle.put(None)

    def pids(self) -> list[int]:
        """Return the process ids of all workers that were started, in order."""
        with self._lock:
            return [worker.pid for worker in self._started]

    def process(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Process a batch in an idle worker."""
        worker = self._idle.get()
        try:
            try:
                worker = worker or self._start()
                outcomes = worker.process(tasks)
                self._succeeded = True
                return outcomes
            except OSError:
                self._stop_if_ended()
            if not self._succeeded:
                return self._extract(tasks)
            outcomes = []
            for task in tasks:
                worker = self._replace(worker)
                try:
                    outcomes += worker.process([task])
                except OSError:
                    self._stop_if_ended()
                    outcomes.append([[], [], "the worker process died twice on this text"])
            return outcomes
        finally:
            self._idle.put(worker if worker is not None and worker.is_alive() else None)

    def end(self) -> None:
        """End all workers; a thread that waits for a result sees its worker die."""
        with self._lock:
            self._ended = True
            for worker in self._started:
                worker.end()

    def _start(self) -> _Worker:
        with self._lock:
            if self._ended:
                raise BrokenPipeError
            worker = _Worker(self._extract)
            self._started.append(worker)
            return worker

    def _replace(self, worker: _Worker | None) -> _Worker:
        if worker is not None and worker.is_alive():
            return worker
        return self._start()

    def _stop_if_ended(self) -> None:
        if self._ended:
            raise BrokenPipeError


def extract_texts(tasks: Sequence[Task]) -> list[Outcome]:
    """Extract the rows of texts: English with the parser if it is installed, others without.

    Args:
        tasks: text, language code and title of the document.

    Returns:
        One outcome per text.
    """
    parsed = dependency_trees.installed()
    builders = [RowBuilder(text, language) for text, language, _ in tasks]
    problems = [""] * len(tasks)
    jobs = []
    for i, (text, language, title) in enumerate(tasks):
        if language == "en" and parsed:
            jobs += [(i, paragraph) for paragraph in split_paragraphs(text)]
        else:
            _run(problems, i, partial(extract_keywords, builders[i], text, language, title))
    if jobs:
        texts = (_parser_input(paragraph.text, tasks[i][2]) for i, paragraph in jobs)
        for (i, paragraph), sentences in zip(jobs, dependency_trees.parse(texts), strict=True):
            _run(problems, i, partial(extract_paragraph, builders[i], paragraph, sentences, tasks[i][2]))
    outcomes: list[Outcome] = []
    for (text, _, _), builder, problem in zip(tasks, builders, problems, strict=True):
        n_words = text.count(" ") + text.count("\n") + len(text) // 40
        builder.settle_types()
        entities, relations = builder.rows(MIN_ENTITIES + n_words // WORDS_PER_ENTITY)
        outcomes.append([entities, relations, problem])
    return outcomes


def _parser_input(text: str, title: str) -> str:
    """Return the text to parse, of the same length.

    Text in capitals is converted to lower case, which is parsed better. End marks inside the document's title are
    masked, since they do not end a sentence (``What Will You Do When You Catch Me?``).
    """
    if text.isupper() and len(text) > 20:
        lower = text.lower()
        text = lower if len(lower) == len(text) else text
    name = name_in_title(title)
    if _END_MARK.search(name) and name in text:
        text = text.replace(name, _END_MARK.sub("x", name))
    return text


def _run(problems: list[str], i: int, work: Callable[[], None]) -> None:
    """Run the work for text `i` and record its error, so that other texts continue."""
    try:
        work()
    except Exception as error:  # top level of a process: one odd text must not abort the build
        problems[i] = f"{type(error).__name__}: {error}"[:300]
