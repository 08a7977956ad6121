"""Routes of the API, one module for each kind of thing, and what routes that start jobs share.

- `asking`: ask as JSON or as events, retrieve, compare, explain.
- `documents`: list, read, upload and remove documents.
- `entities`, `graph`: who is who, with corrections; maps, neighbourhoods, reports.
- `evaluations`, `studies`, `judging`: retrieval evaluations; studies; a compared question judged.
- `indexes`, `jobs`: states and methods; what is being done.
- `health`, `page`: for monitoring; the page.
"""

from typing import Any

from polygraph.server.jobs.queue import Job
from polygraph.server.jobs.supervisor import Jobs
from polygraph.server.problems import Problem
from polygraph.server.state import ServerState


def jobs_of(state: ServerState) -> Jobs:
    """Return the jobs of the server.

    Raises:
        Problem: 403 if it only reads.
    """
    if state.jobs is None:
        raise Problem(
            403,
            "read-only",
            "this server only answers questions: it was started with --read-only, or serves a published index. Change "
            "the index where it is built",
        )
    return state.jobs


def accepted_job(job: Job, **more: Any) -> dict[str, Any]:
    """Return the response to a request that became a job: its id in `job`."""
    return {"job": job.id, **more}
