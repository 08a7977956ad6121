"""The queue of jobs in a file of its own: states survive a crash of the worker and of the server."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polygraph.errors import BadInput, StorageFailed
from polygraph.indexing.progress import stage_name

JobState: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})
MAX_ATTEMPTS = 3
"""Starts of one job; a job that ends its process so often is not started again."""
MAX_WAITING = 1000
_KEPT = 500
"""Jobs that are kept, with those that have ended."""
_SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    owner TEXT NOT NULL, about TEXT NOT NULL, arguments TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL,
    done INTEGER NOT NULL, total INTEGER NOT NULL, created REAL NOT NULL, started REAL, ended REAL,
    cost REAL, cost_left REAL, message TEXT NOT NULL, report TEXT, attempts INTEGER NOT NULL, cancelled_at REAL
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of long work."""

    id: str
    kind: str
    index: str
    """Name of the index."""
    owner: str
    """Name of the principal who asked for it."""
    about: tuple[str, ...]
    """What it works on, for people: names of files or entities."""
    arguments: Mapping[str, Any]
    state: JobState
    stage: str
    """What is being done."""
    done: int
    """Finished items of the stage."""
    total: int
    created: float
    """Seconds since the epoch."""
    started: float | None
    ended: float | None
    cost: float | None
    """US dollars so far; None if a price is not known."""
    cost_left: float | None
    """US dollars until the cap; None without a cap."""
    message: str
    """Why it failed, or what is remarkable."""
    report: Any
    """Result of a finished job."""
    attempts: int
    """How often it was started."""
    cancelled_at: float | None
    """When its end was asked for."""

    @property
    def seconds(self) -> float:
        """Time of work so far."""
        if self.started is None:
            return 0.0
        return round(max(0.0, (self.ended or time.time()) - self.started), 2)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of the API."""
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.created))
        return {
            "id": self.id,
            "kind": self.kind,
            "index": self.index,
            "about": list(self.about),
            "state": self.state,
            "stage": self.stage,
            "doing": stage_name(self.stage),
            "done": self.done,
            "total": self.total,
            "seconds": self.seconds,
            "cost": self.cost,
            "cost_left": self.cost_left,
            "message": self.message,
            "created": created,
            "report": self.report,
        }


class JobQueue:
    """The jobs of a server in an SQLite file. Every call opens the file anew, from any thread or process.

    Args:
        file: created if it is not there.

    Raises:
        StorageFailed: if the file cannot be written.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(file, error) from error
        with self._open():
            pass

    def add(
        self, kind: str, index: str, owner: str, arguments: Mapping[str, Any], about: tuple[str, ...] = ()
    ) -> Job:
        """Append a job.

        Raises:
            BadInput: if too many wait.
        """
        id = secrets.token_hex(8)
        row = (id, kind, index, owner, json.dumps(about), json.dumps(arguments), time.time())
        with self._open() as tables:
            (waiting,) = tables.execute("SELECT count(*) FROM jobs WHERE state = 'queued'").fetchone()
            if waiting >= MAX_WAITING:
                raise BadInput(f"{waiting:,} jobs wait already. Wait until some are done, or cancel them")
            tables.execute(
                "INSERT INTO jobs (id, kind, name, owner, about, arguments, state, stage, done, total, created, "
                "cost, message, attempts) VALUES (?, ?, ?, ?, ?, ?, 'queued', '', 0, 0, ?, 0, '', 0)",
                row,
            )
            tables.execute(
                "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND number <= "
                "(SELECT max(number) FROM jobs) - ?",
                (_KEPT,),
            )
        return self.get(id)

    def get(self, id: str) -> Job:
        """Return a job.

        Raises:
            BadInput: if there is none of this id.
        """
        found = self._select("WHERE id = ?", id)
        if not found:
            raise BadInput(f"there is no job {id[:100]!r}. List them with: GET /api/v1/jobs")
        return found[0]

    def all(self, limit: int = 100) -> list[Job]:
        """Return the last jobs, newest first."""
        return self._select("ORDER BY number DESC LIMIT ?", limit)

    def in_state(self, state: JobState) -> list[Job]:
        """Return the jobs in a state, oldest first."""
        return self._select("WHERE state = ? ORDER BY number", state)

    def claim(self) -> Job | None:
        """Mark the oldest waiting job as running and return it; None if none waits."""
        with self._open() as tables:
            row = tables.execute(
                "UPDATE jobs SET state = 'running', started = coalesce(started, ?), attempts = attempts + 1, "
                "stage = '', done = 0, total = 0 "
                "WHERE number = (SELECT min(number) FROM jobs WHERE state = 'queued') RETURNING id",
                (time.time(),),
            ).fetchone()
        return None if row is None else self.get(row[0])

    def report_progress(
        self, id: str, stage: str, done: int, total: int, cost: float | None, cost_left: float | None
    ) -> bool:
        """Record how far a running job is; return whether it should go on."""
        with self._open() as tables:
            row = tables.execute(
                "UPDATE jobs SET stage = ?, done = ?, total = ?, cost = ?, cost_left = ? "
                "WHERE id = ? AND state = 'running' RETURNING cancelled_at",
                (stage, done, total, cost, cost_left, id),
            ).fetchone()
        return row is not None and row[0] is None

    def finish(self, id: str, state: JobState, message: str = "", report: Any = None) -> None:
        """Record the end of a running job; one that has ended stays as it is."""
        with self._open() as tables:
            tables.execute(
                "UPDATE jobs SET state = ?, message = ?, report = ?, ended = ? WHERE id = ? AND state = 'running'",
                (state, message, json.dumps(report, default=str), time.time(), id),
            )

    def cancel(self, id: str) -> Job:
        """End a waiting job, or ask a running one to end; one that has ended stays as it is.

        Raises:
            BadInput: if there is none of this id.
        """
        with self._open() as tables:
            now = time.time()
            tables.execute(
                "UPDATE jobs SET state = 'cancelled', ended = ?, cancelled_at = ?, "
                "message = 'cancelled before it began' WHERE id = ? AND state = 'queued'",
                (now, now, id),
            )
            tables.execute(
                "UPDATE jobs SET cancelled_at = ? WHERE id = ? AND state = 'running' AND cancelled_at IS NULL",
                (now, id),
            )
        return self.get(id)

    def recover(self) -> list[Job]:
        """Queue the jobs again whose worker is gone, and return those that have ended instead.

        A job that was started too often failed; one whose end was asked for is cancelled.
        """
        left = self.in_state("running")
        for job in left:
            if job.cancelled_at is not None:
                self.finish(job.id, "cancelled", "cancelled. Finished work is kept")
            elif job.attempts >= MAX_ATTEMPTS:
                message = (
                    f"the process that worked on it ended {job.attempts} times without a message, perhaps for lack "
                    "of memory. See the log of the server; finished work is kept"
                )
                self.finish(job.id, "failed", message)
        with self._open() as tables:
            tables.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")
        return [ended for ended in (self.get(job.id) for job in left) if ended.state in ENDED]

    def _select(self, condition: str, value: str | int) -> list[Job]:
        with self._open() as tables:
            tables.row_factory = sqlite3.Row
            rows = tables.execute(f"SELECT * FROM jobs {condition}", (value,))  # noqa: S608 - constants
            return [_job(dict(row)) for row in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; it is made again if the folder was replaced by one without it."""
        try:
            with closing(sqlite3.connect(self.file, timeout=30)) as tables, tables:
                tables.executescript(_SCHEMA)
                yield tables
        except sqlite3.Error as error:
            raise _unwritable(self.file, error) from error


def _job(row: dict[str, Any]) -> Job:
    del row["number"]
    report = row.pop("report")
    return Job(
        index=row.pop("name"),
        about=tuple(json.loads(row.pop("about"))),
        arguments=json.loads(row.pop("arguments")),
        report=None if report is None else json.loads(report),
        **row,
    )


def _unwritable(file: Path, error: Exception) -> StorageFailed:
    return StorageFailed(
        f"the queue of jobs at {file} cannot be written: {error}. Free space or allow writing there"
    )
