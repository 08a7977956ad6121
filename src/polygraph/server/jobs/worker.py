"""The process that works off the queue. It ends when the server does, and when nothing has come for a while."""

import importlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polygraph.config import Settings
from polygraph.errors import BadInput, PolygraphError
from polygraph.server.jobs import work
from polygraph.server.jobs.queue import Job, JobQueue
from polygraph.server.log import show_log
from polygraph.workspace.index import Index

COMMAND = "from polygraph.server.jobs.worker import main; main()"
_POLL_S = 0.2
_REPORT_S = 0.25
"""Between two records of progress, at least."""
_log = logging.getLogger("polygraph.server")


class Cancelled(BaseException):
    """The end of the job was asked for; not an `Exception`, so that no step takes it for a failure of its own."""


def open_index(folder: Path, settings: Settings) -> Index:
    """Open an index with the models of its settings."""
    return Index.open(folder, settings=settings)


def main() -> None:
    """Work off the queue that standard input names, until the server closes standard input."""
    given = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = given["path"]
    show_log()
    threading.Thread(target=_end_with_server, daemon=True).start()
    queue = JobQueue(Path(given["queue"]))
    module, _, name = given["open"].partition(":")
    opener = getattr(importlib.import_module(module), name)
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < given["idle_s"]:
        job = queue.claim()
        if job is None:
            time.sleep(_POLL_S)
            continue
        run_job(queue, job, given["indexes"], opener)
        idle_since = time.monotonic()


def run_job(
    queue: JobQueue, job: Job, indexes: dict[str, Any], opener: Callable[[Path, Settings], Index]
) -> None:
    """Do one job and record its end.

    Args:
        queue: of the job.
        job: claimed.
        indexes: folder and settings of each index by name.
        opener: opens an index.
    """
    try:
        report = _report_of(queue, job, indexes, opener)
    except Cancelled:
        queue.finish(job.id, "cancelled", "cancelled. Finished work is kept")
    except PolygraphError as error:
        _log.warning("job %s (%s of %s) failed: %s", job.id, job.kind, job.index, error)
        queue.finish(job.id, "failed", str(error))
    except Exception as error:  # the edge: the next job must run
        _log.exception("job %s failed", job.id, exc_info=error)
        message = f"unexpected error: {type(error).__name__}. The log of the server has the details"
        queue.finish(job.id, "failed", message)
    else:
        queue.finish(job.id, "done", "", report)


def _report_of(
    queue: JobQueue, job: Job, indexes: dict[str, Any], opener: Callable[[Path, Settings], Index]
) -> Any:
    if job.index not in indexes or job.kind not in work.KINDS:
        raise BadInput(f"this server does not serve the index {job.index!r} any more. Start it with --index")
    settings = Settings(**indexes[job.index]["settings"])
    # The cap of a job cannot raise that of the server.
    caps = [cap for cap in (settings.max_cost, job.arguments.get("max_cost")) if cap is not None]
    settings = settings.model_copy(update={"max_cost": min(caps, default=None)})
    with opener(Path(indexes[job.index]["folder"]), settings) as index:
        progress = JobProgress(queue, job, index, settings.max_cost)
        progress("opening", 0, 0)
        try:
            return work.run(job.kind, index, job.arguments, progress)
        finally:
            progress.record()


class JobProgress:
    """Records how far a job is, and ends it when that is asked for.

    Args:
        queue: of the job.
        job: that runs.
        index: whose model calls cost.
        max_cost: in US dollars; None for no cap.
    """

    def __init__(self, queue: JobQueue, job: Job, index: Index, max_cost: float | None) -> None:
        self._queue, self._job, self._index, self._max_cost = queue, job, index, max_cost
        self._at: tuple[str, int, int] = ("", 0, 0)
        self._next = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` items of a stage are finished.

        Raises:
            Cancelled: if the end of the job was asked for.
        """
        changed = stage != self._at[0]
        self._at = (stage, done, total)
        if (changed or time.monotonic() >= self._next) and not self.record():
            raise Cancelled

    def record(self) -> bool:
        """Write the progress to the queue; return whether the job should go on."""
        self._next = time.monotonic() + _REPORT_S
        cost = self._index.models.calls.spent.cost
        left = None if self._max_cost is None else max(0.0, self._max_cost - (cost or 0.0))
        return self._queue.report_progress(self._job.id, *self._at, cost, left)


def _end_with_server() -> None:
    """End this process when the server closes its end of standard input, or dies.

    What the job had finished is kept, and a new server continues it.
    """
    # Not through `sys.stdin`, whose lock a thread that waits would hold when the process ends by itself.
    while os.read(0, 1):
        pass
    os._exit(0)
