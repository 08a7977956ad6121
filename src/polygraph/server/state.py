"""What all routes share: settings, tokens, indexes, the threads that work, and the answers of the last hour."""

import asyncio
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from fastapi.responses import JSONResponse

from polygraph.records import Answer
from polygraph.server.access.tokens import Principal, Scope, Tokens
from polygraph.server.events import EventLog, to_json
from polygraph.server.jobs.supervisor import Jobs
from polygraph.server.metrics import Metrics
from polygraph.server.problems import Problem, Secrets, no_valid_token
from polygraph.server.served_indexes import ServedIndex, ServedIndexes
from polygraph.server.settings import ServerSettings

T = TypeVar("T")


class WorkThreads:
    """The threads that do the work of requests: so many at once, and so many that wait.

    Args:
        threads: at once.
        waiting: that wait for a thread; further work is refused.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._threads, self._most = threads, threads + waiting
        self._limiter: CapacityLimiter | None = None
        self.admitted = 0
        """Works that run or wait."""
        self.running = 0
        """Functions that threads are in, also when nobody waits for them any more."""
        self._counting = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in a thread.

        Raises:
            Problem: 503 if too many wait already.
        """
        self.check()
        # The limiter belongs to the event loop, which does not exist when the server is configured.
        self._limiter = self._limiter or CapacityLimiter(self._threads)
        self.admitted += 1
        try:
            return await to_thread.run_sync(self._counted, work, limiter=self._limiter)
        finally:
            self.admitted -= 1

    def _counted(self, work: Callable[[], T]) -> T:
        with self._counting:
            self.running += 1
        try:
            return work()
        finally:
            with self._counting:
                self.running -= 1

    def check(self) -> None:
        """Refuse work that would wait behind too many others.

        Raises:
            Problem: 503.
        """
        if self.admitted >= self._most:
            raise Problem(
                503, "busy", "too many questions are waiting. Ask again in some seconds", {"retry-after": "2"}
            )


class KeptAnswers:
    """Answers of the last hour, for `explain` and for streams that resume; bounded in number, size and age."""

    def __init__(self, settings: ServerSettings) -> None:
        self._most, self._bytes, self._age_s = settings.kept_answers, settings.kept_bytes, settings.kept_s
        self._logs: dict[str, EventLog] = {}

    def begin(self, owner: str, index: str) -> EventLog:
        """Return the log of a new answer."""
        log = EventLog(secrets.token_hex(8), owner, index)
        self._logs[log.id] = log
        self._drop()
        return log

    async def log(self, id: str, principal: Principal, served: ServedIndex) -> EventLog:
        """Return the log of an answer.

        An answer is dropped once a document of the index was removed or replaced, since it may hold its text.

        Raises:
            Problem: 404 if there is none, or it is another's.
        """
        found = self._logs.get(id)
        if found is None or found.index != served.name or found.owner != principal.name:
            raise _not_kept()
        if found.removals is not None and found.removals != await to_thread.run_sync(served.removals):
            self._logs.pop(found.id, None)
            raise _not_kept()
        return found

    async def answer(self, id: str, principal: Principal, served: ServedIndex) -> Answer:
        """Return a finished answer; raises as `log`, and 409 for one in work."""
        log = await self.log(id, principal, served)
        if log.answer is None:
            raise Problem(409, "unfinished-answer", "this answer is not finished yet. Try again when it is")
        return log.answer

    def _drop(self) -> None:
        now = time.monotonic()
        size = sum(log.size for log in self._logs.values())
        for log in list(self._logs.values()):
            too_old = now - log.created > self._age_s
            if not too_old and len(self._logs) <= self._most and size <= self._bytes:
                return
            if not log.done:
                continue
            size -= log.size
            del self._logs[log.id]


def _not_kept() -> Problem:
    return Problem(404, "unknown-answer", "this answer is no longer kept. Ask the question again")


class ServerState:
    """Everything the routes share."""

    def __init__(self, settings: ServerSettings, tokens: Tokens, indexes: ServedIndexes) -> None:
        self.settings = settings
        self.tokens = tokens
        self.indexes = indexes
        self.threads = WorkThreads(settings.threads, settings.waiting)
        self.answers = KeptAnswers(settings)
        self.secrets = Secrets(each.index.settings.api_key for each in indexes.all())
        self.json = _json_without(self.secrets)
        """The class of JSON responses. A route that returns one avoids a walk of the framework through its content."""
        self.metrics = Metrics()
        self.jobs: Jobs | None = None
        """Long work; None if there are no jobs: nothing may be changed, or there is no server to wait for them."""
        self.studies = settings.studies or indexes.first.folder / "studies"
        """Folder of all studies."""
        self.makes_maps = False
        """Whether the maps of the indexes are made already, or being made."""
        self._stops_at: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the requests; the server waits for it when it stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def stopping(self) -> bool:
        """Whether the server is about to stop."""
        return self._stops_at is not None

    def stop_soon(self) -> float:
        """Begin to stop: running answers have `stop_timeout_s` from the first call on; return when that ends."""
        if self._stops_at is None:
            self._stops_at = time.monotonic() + self.settings.stop_timeout_s
        return self._stops_at

    async def stop(self) -> None:
        """Wait for running answers for the rest of their time, and close the indexes."""
        stops_at = self.stop_soon()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, stops_at - time.monotonic()))
        if self.jobs is not None:
            await asyncio.to_thread(self.jobs.stop)
        self.indexes.close()


def _json_without(secrets: Secrets) -> type[JSONResponse]:
    """Return a class of JSON responses that never contain a key of a model."""

    class _Json(JSONResponse):
        def render(self, content: Any) -> bytes:
            return secrets.hide(to_json(content)).encode("utf-8", "backslashreplace")

    return _Json


# FastAPI runs a dependency that is no coroutine in a thread, which takes ten times as long as these do.
async def _state(request: Request) -> ServerState:
    found: ServerState = request.app.state.server
    return found


def _needs(scope: Scope) -> Callable[[Request], Awaitable[Principal]]:
    async def check(request: Request) -> Principal:
        principal: Principal | None = request.scope.get("principal")
        if principal is None:
            raise no_valid_token()
        if not principal.may(scope):
            raise Problem(
                403,
                "missing-scope",
                f"this needs a token with the scope {scope}; yours has {principal.scope}",
            )
        return principal

    return check


State = Annotated[ServerState, Depends(_state)]
"""The shared state, as a parameter of a route."""
Reader = Annotated[Principal, Depends(_needs("read"))]
"""The caller, who may read."""
Writer = Annotated[Principal, Depends(_needs("write"))]
"""The caller, who may change documents and entities."""
