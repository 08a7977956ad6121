"""An executor on Ray (extra `ray`): a cluster on this machine, or one that is running.

Workers are actors without state. Each computes one item at a time and waits for several calls beside it, which
travel in groups. They get functions of this package and plain data; results, limits and what is stored stay with the
driver. A worker that ends is replaced.
"""

import os
import platform
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self, TypeVar

from polygraph.errors import BadInput, MissingExtra, WorkerLost, WorkFailed
from polygraph.execution.call_groups import Call, CallGroups, CallRunner, Result, value_or_error

S = TypeVar("S")
T = TypeVar("T")

OBJECT_STORE_BYTES = 200_000_000
"""Shared memory of a cluster on this machine; Ray accepts no less than 75 MB. Items and results are small."""
ITEMS_PER_WORKER = 3
"""Items of `map` in progress for each worker: one that computes, the others at hand."""
MAX_LOSSES = 3
"""Workers that may end during one item before it is at fault."""
START_S = 180
"""Seconds that a cluster on this machine may take to start; Ray's default is too short for a busy one."""
END_S = 5.0
"""Seconds that threads may take to notice that their workers were ended."""
_COMPUTING, _CALLING, _RECEIVING = "computing", "calling", "receiving"


class _Worker:
    """What runs in a worker process.

    Args:
        n_calls: calls that run at once.
    """

    def __init__(self, n_calls: int) -> None:
        self._calls = CallRunner(n_calls)

    def describe(self) -> tuple[str, str, int]:
        """Return the versions of Python and Polygraph, and the process id."""
        return (*_versions(), os.getpid())

    def run(self, function: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
        """Return the result of a function, or its error."""
        return value_or_error(function, item)

    def start(self, calls: list[Call]) -> None:
        """Start some calls."""
        self._calls.start(calls)

    def results(self) -> list[Result]:
        """Wait for results of calls."""
        return self._calls.results()


@dataclass(eq=False, slots=True)
class _Handle:
    """A worker as the driver knows it."""

    actor: Any
    calls: CallGroups
    pid: int = 0
    """Process id on its node; 0 until it is asked for."""
    running: int = 0
    """Items and calls in progress."""
    lost: bool = False


@dataclass(slots=True)
class _Running:
    """An item of `map` in progress."""

    function: Callable[[Any], Any]
    item: Any
    worker: _Handle
    result: Any


class RayExecutor:
    """Runs functions in workers of a Ray cluster.

    Args:
        address: `ray` starts a cluster on this machine that ends with the executor; `ray://HOST:PORT` joins one.
        workers: number of workers; 0 is one per processor of the cluster.
        calls: calls that may be in progress together, over all workers.

    Raises:
        MissingExtra: if Ray is not installed.
        BadInput: if the cluster cannot be started or joined, or its workers have other versions.
    """

    def __init__(self, address: str, *, workers: int = 0, calls: int = 8) -> None:
        self._ray = _import_ray()
        self._lock = threading.Lock()
        self._closed = False
        self._workers: list[_Handle] = []
        _connect(self._ray, address, workers)
        try:
            n = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            groups = dict.fromkeys((_COMPUTING, _CALLING, _RECEIVING), 1)
            self._type = self._ray.remote(num_cpus=1, max_restarts=0, concurrency_groups=groups)(_Worker)
            self._calls_per_worker = -(-calls // n)
            self._workers = [self._new_worker() for _ in range(n)]
            self._check_versions(address)
        except BaseException:
            self.close()
            raise

    def map(self, function: Callable[[S], T], items: Iterable[S], *, processes: int = 0) -> Iterator[T]:  # noqa: ARG002
        """Apply a function to each item; see `Executor.map`. An item whose worker ended is computed again."""
        running: deque[_Running] = deque()
        for item in items:
            worker, result = self._start(function, item)
            running.append(_Running(function, item, worker, result))
            if len(running) >= ITEMS_PER_WORKER * len(self._workers):
                yield self._result(running.popleft())
        while running:
            yield self._result(running.popleft())

    def call(self, function: Callable[[S], T], item: S) -> T:
        """Apply a function to one item, once; see `Executor.call`."""
        with self._lock:
            worker = min(self._workers, key=lambda worker: worker.running)
            worker.running += 1
        try:
            value: T = worker.calls.call(function, item)
        finally:
            with self._lock:
                worker.running -= 1
        return value

    def pids(self) -> list[int]:
        """Return the process ids of the workers on their nodes, in order."""
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            worker.pid = worker.pid or self._ray.get(worker.actor.describe.remote())[2]
        return [worker.pid for worker in workers]

    def close(self) -> None:
        """End the workers, and the cluster if it was started here; a second time does nothing."""
        if not self._closed:
            self._closed = True
            for worker in self._workers:
                self._ray.kill(worker.actor)
            for worker in self._workers:
                worker.calls.end("the cluster was left")
                worker.calls.join(END_S)
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- parts --------------------------------------------------------------------------------------

    def _start(self, function: Callable[[Any], Any], item: Any) -> tuple[_Handle, Any]:
        """Start an item in the worker that has the fewest; the first of several."""
        with self._lock:
            worker = min(self._workers, key=lambda worker: worker.running)
            worker.running += 1
            return worker, worker.actor.run.options(concurrency_group=_COMPUTING).remote(function, item)

    def _result(self, running: _Running) -> Any:
        for losses in range(1, MAX_LOSSES + 1):
            try:
                return self._wait(running.worker, running.result)
            except WorkerLost as error:
                lost = error
                if losses < MAX_LOSSES:
                    running.worker, running.result = self._start(running.function, running.item)
        raise WorkFailed(
            f"{MAX_LOSSES} workers ended during the same part of the work, often for want of memory ({lost}). Use "
            "fewer workers (POLYGRAPH_PROCESSES) or nodes with more memory. Finished work is kept, and the same "
            "command continues"
        ) from lost

    def _wait(self, worker: _Handle, result: Any) -> Any:
        try:
            value, error = self._get(result)
        except WorkerLost:
            self._replace(worker)
            raise
        finally:
            with self._lock:
                worker.running -= 1
        if error is not None:
            raise error
        return value

    def _get(self, result: Any) -> Any:
        """Return what a worker returned.

        Raises:
            WorkerLost: if it ended.
        """
        errors = self._ray.exceptions
        try:
            return self._ray.get(result)
        except (errors.RayActorError, errors.OutOfMemoryError, errors.ObjectLostError) as lost:
            raise WorkerLost(f"the worker ended: {type(lost).__name__}") from lost

    def _new_worker(self) -> _Handle:
        actor = self._type.remote(self._calls_per_worker)
        worker = _Handle(
            actor,
            CallGroups(
                actor.start.options(concurrency_group=_CALLING, num_returns=0).remote,
                lambda: self._get(actor.results.options(concurrency_group=_RECEIVING).remote()),
                lambda: self._replace(worker),
            ),
        )
        return worker

    def _replace(self, worker: _Handle) -> None:
        with self._lock:
            if not worker.lost and not self._closed:
                worker.lost = True
                self._workers[self._workers.index(worker)] = self._new_worker()

    def _check_versions(self, address: str) -> None:
        """Start the workers, those that end meanwhile again, and compare their versions with ours."""
        for losses in range(MAX_LOSSES):
            for worker in [worker for worker in self._workers if not worker.pid]:
                try:
                    python, polygraph, pid = self._ray.get(worker.actor.describe.remote())
                except self._ray.exceptions.RayError as error:
                    if losses + 1 == MAX_LOSSES:
                        raise BadInput(
                            f"the workers at {address} cannot run Polygraph: {_first_line(error)}. Install "
                            f"polygraph-rag {_versions()[1]} on every node of the cluster"
                        ) from error
                    self._replace(worker)
                    continue
                worker.pid = pid
                require_same_versions((python, polygraph), _versions())


def require_same_versions(theirs: tuple[str, str], ours: tuple[str, str]) -> None:
    """Check the versions of Python (major and minor) and Polygraph of a worker.

    Raises:
        BadInput: if one differs from ours.
    """
    for name, found, wanted in zip(("Python", "polygraph-rag"), theirs, ours, strict=True):
        if found != wanted:
            raise BadInput(
                f"the workers have {name} {found} and this process has {wanted}, so the index could differ from "
                f"a local one. Install {name} {wanted} on every node of the cluster"
            )


def _versions() -> tuple[str, str]:
    return ".".join(platform.python_version_tuple()[:2]), version("polygraph-rag")


def _import_ray() -> Any:
    # Read when Ray is imported, and by the processes that it starts.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", str(START_S))
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise MissingExtra("indexing on Ray", "ray") from error
    return ray


def _connect(ray: Any, address: str, workers: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    try:
        if address == "ray":
            ray.init(
                address="local",
                num_cpus=workers or None,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                **quiet,
            )
        elif address.startswith("ray://"):
            ray.init(address=address, **quiet)
        else:
            raise BadInput(
                f"work cannot run on {address!r}. Use: --on local, --on ray, or --on ray://HOST:PORT"
            )
    except (ConnectionError, RuntimeError, TimeoutError, OSError, ValueError) as error:
        where = (
            "no Ray cluster could be started here"
            if address == "ray"
            else f"the cluster at {address} was not joined"
        )
        raise BadInput(
            f"{where}: {_first_line(error)}. Check its address, its versions of Ray and Python and the free memory, or "
            "use: --on local"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".")
