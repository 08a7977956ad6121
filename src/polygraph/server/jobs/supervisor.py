"""The server's side of the jobs: asks for work, starts the worker process, restarts it and ends it."""

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from polygraph.errors import BadInput, IndexLocked
from polygraph.server.jobs.queue import Job, JobQueue
from polygraph.server.jobs.worker import COMMAND
from polygraph.server.uploads.folder import UploadFolder
from polygraph.workspace.index import Index

_POLL_S = 0.2
_IDLE_S = 60.0
"""Seconds after which a worker without work ends; it holds models in memory."""
_CANCEL_S = 10.0
"""Seconds that a cancelled job has to end by itself."""
_log = logging.getLogger("polygraph.server.jobs")


class Jobs:
    """The jobs of one server.

    Args:
        file: of the queue.
        indexes: by name; their folders and settings go to the worker, keys through a pipe and never to the disk.
        opener: ``MODULE:FUNCTION`` with which the worker opens an index from folder and settings.
    """

    def __init__(self, file: Path, indexes: Mapping[str, Index], opener: str) -> None:
        self.queue = JobQueue(file)
        self._indexes = {
            name: {
                "folder": str(index.folder.resolve()),
                "settings": index.settings.model_dump(mode="json", exclude_unset=True),
            }
            for name, index in indexes.items()
        }
        self._folders = {name: index.folder for name, index in indexes.items()}
        self._opener = opener
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._watched: set[str] = set()
        self._lock = _only_server(file)

    @property
    def worker_id(self) -> int | None:
        """Id of the worker process; None if there is none."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self) -> None:
        """Continue what an earlier server left, and watch the queue from a thread of its own."""
        for folder in self._folders.values():
            UploadFolder(folder).clean()
        for job in self.queue.recover():
            self._after(job)
        self._thread = threading.Thread(target=self._watch, name="jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the worker; its job goes on when a server starts again."""
        self._stopped.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(10)
        self._end_worker()
        self._lock.release()

    def add(
        self, kind: str, index: str, owner: str, arguments: Mapping[str, Any], about: tuple[str, ...] = ()
    ) -> Job:
        """Queue a job; raises as `JobQueue.add`."""
        job = self.queue.add(kind, index, owner, arguments, about)
        self._wanted.set()
        return job

    def cancel(self, id: str) -> Job:
        """End a job, or ask for its end; raises as `JobQueue.cancel`."""
        before = self.queue.get(id)
        job = self.queue.cancel(id)
        if before.state == "queued" and job.state == "cancelled":
            self._after(job)
        self._wanted.set()
        return job

    def _watch(self) -> None:
        while not self._stopped.is_set():
            try:
                busy = self._look()
            except Exception as error:  # the thread must live; the disk may have space again
                _log.exception("the queue of jobs cannot be worked off", exc_info=error)
                busy = False
                self._stopped.wait(2)
            self._wanted.wait(_POLL_S if busy else 2.0)
            self._wanted.clear()

    def _look(self) -> bool:
        """Start, end or replace the worker as the queue demands; return whether there is work."""
        running, process = self.queue.in_state("running"), self._process
        if process is not None and process.poll() is not None:
            self._process = process = None
        if running and process is None:
            # Nobody works on them: the worker has crashed.
            for job in running:
                _log.warning("the worker ended during job %s (%s)", job.id, job.kind)
            for job in self.queue.recover():
                self._after(job)
            running = []
        for job in running:
            self._watched.add(job.id)
            if job.cancelled_at is not None and time.time() - job.cancelled_at > _CANCEL_S:
                self._end_worker()
                for ended in self.queue.recover():
                    self._after(ended)
        for id in self._watched - {job.id for job in running}:
            try:
                self._after(self.queue.get(id))
            except BadInput:  # the folder with the queue was replaced
                self._watched.discard(id)
        waiting = bool(self.queue.in_state("queued"))
        if waiting and self._process is None and not self._stopped.is_set():
            self._start_worker()
        return bool(running or waiting)

    def _after(self, job: Job) -> None:
        """Take back, once, an upload whose job was cancelled: readers must not meet half of it later."""
        self._watched.discard(job.id)
        upload = job.arguments.get("upload")
        if job.state != "cancelled" or job.index not in self._folders or not upload:
            return
        if job.kind == "index" and job.attempts:
            self.queue.add("revert", job.index, job.owner, {"upload": upload}, job.about)
        else:
            UploadFolder(self._folders[job.index]).discard(upload)

    def _start_worker(self) -> None:
        given = {
            "path": sys.path,
            "queue": str(self.queue.file.resolve()),
            "open": self._opener,
            "indexes": self._indexes,
            "idle_s": _IDLE_S,
        }
        process = subprocess.Popen(  # noqa: S603 - this interpreter and a constant
            [sys.executable, "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self._process = process
        assert process.stdin is not None  # noqa: S101 - a pipe was asked for
        with suppress(OSError):  # it ended at once, which the next look notices
            process.stdin.write(json.dumps(given) + "\n")
            process.stdin.flush()

    def _end_worker(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(10)
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()


def _only_server(file: Path) -> Any:
    """Hold the queue for this server until it ends.

    Raises:
        IndexLocked: if another server holds it.
    """
    from filelock import FileLock, Timeout

    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise IndexLocked(
            f"another server works off the jobs in {file}. Stop it, or serve with --read-only"
        ) from error
    return lock
