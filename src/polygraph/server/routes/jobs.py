"""Jobs: what is being done, how far it is and what it costs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from polygraph.errors import BadInput
from polygraph.server.access.tokens import Principal
from polygraph.server.events import HEARTBEAT, MEDIA_TYPE, encode_event, event_response, to_json
from polygraph.server.jobs.queue import ENDED, Job
from polygraph.server.jobs.supervisor import Jobs
from polygraph.server.problems import unknown
from polygraph.server.routes import accepted_job, jobs_of
from polygraph.server.state import Reader, ServerState, State, Writer

router = APIRouter(prefix="/api/v1", tags=["jobs"])
_POLL_S = 0.25


@router.get("/jobs")
async def list_jobs(
    state: State, _: Reader, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> dict[str, Any]:
    """List the last jobs, newest first."""
    jobs = state.jobs
    if jobs is None:
        return {"jobs": []}
    found = await state.threads.run(lambda: jobs.queue.all(limit))
    return {"jobs": [job.as_dict() for job in found]}


@router.get("/jobs/{job}")
async def show_job(job: str, request: Request, state: State, _: Reader) -> Any:
    """Show a job; with `accept: text/event-stream`, every change of it until it ends."""
    jobs = jobs_of(state)
    found = await state.threads.run(lambda: _known(jobs, job))
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return found.as_dict()
    return event_response(_changes(state, jobs, found))


@router.delete("/jobs/{job}")
async def cancel_job(job: str, state: State, _: Writer) -> dict[str, Any]:
    """Cancel a job. Finished work is kept; files of a cancelled upload are not."""
    jobs = jobs_of(state)

    def work() -> Job:
        _known(jobs, job)
        return jobs.cancel(job)

    return (await state.threads.run(work)).as_dict()


@router.post("/indexes/{index}/refresh", status_code=202)
async def refresh(index: str, state: State, principal: Writer) -> dict[str, Any]:
    """Have the model write again what was deleted when documents were removed, as `polygraph refresh`."""
    return await _begin("refresh", index, state, principal)


@router.post("/indexes/{index}/retry", status_code=202)
async def retry(index: str, state: State, principal: Writer) -> dict[str, Any]:
    """Have the model read again what failed, as `polygraph retry`."""
    return await _begin("retry", index, state, principal)


@router.post("/indexes/{index}/reread", status_code=202)
async def reread(index: str, state: State, principal: Writer) -> dict[str, Any]:
    """Read the sources of the index again, and index what has changed."""
    return await _begin("reread", index, state, principal)


async def _begin(kind: str, index: str, state: ServerState, principal: Principal) -> dict[str, Any]:
    served, jobs = state.indexes[index], jobs_of(state)
    job = await state.threads.run(lambda: jobs.add(kind, served.name, principal.name, {}))
    return accepted_job(job)


async def _changes(state: ServerState, jobs: Jobs, job: Job) -> AsyncIterator[bytes]:
    """Yield a job as events: `job` whenever it has changed, and a heartbeat when nothing happens."""
    shown, idle, n = "", 0.0, 0
    while True:
        values = job.as_dict()
        now = to_json({name: value for name, value in values.items() if name != "seconds"})
        if now != shown:
            shown, idle = now, 0.0
            yield encode_event("job", state.secrets.hide(to_json(values)), f"{job.id}:{n}")
            n += 1
        elif idle >= state.settings.heartbeat_s:
            idle = 0.0
            yield HEARTBEAT
        if job.state in ENDED or state.stopping:
            return
        await asyncio.sleep(_POLL_S)
        idle += _POLL_S
        job = await asyncio.to_thread(jobs.queue.get, job.id)


def _known(jobs: Jobs, id: str) -> Job:
    try:
        return jobs.queue.get(id)
    except BadInput:
        raise unknown("job", id, "/api/v1/jobs") from None
