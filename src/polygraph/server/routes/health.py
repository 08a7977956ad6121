"""Whether the server runs and can answer, and its metrics for Prometheus."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response

from polygraph import __version__
from polygraph.server.problems import Problem
from polygraph.server.routes.indexes import summary
from polygraph.server.state import Reader, ServerState, State

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def health() -> dict[str, Any]:
    """Reply while the server runs."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(state: State) -> dict[str, Any]:
    """Tell whether the server takes questions: it is not stopping, and an index can be opened."""
    if state.stopping:
        raise Problem(503, "stopping", "the server is stopping. Ask another one")
    found = await state.threads.run(lambda: [summary(state, each) for each in state.indexes.all()])
    if not any(each["documents"] for each in found):
        if any("note" in each for each in found):
            raise Problem(503, "unreadable", "no index can be read. See why: GET /api/v1/indexes")
        raise Problem(503, "no-documents", "no index has documents yet. Add some, then ask")
    return {"status": "ok"}


@router.get("/metrics")
async def metrics(state: State, _: Reader) -> Response:
    """Show the figures of the server in the text format of Prometheus."""
    found = await state.threads.run(lambda: list(_gauges(state)))
    return Response(state.metrics.text(found), media_type="text/plain; version=0.0.4")


def _gauges(state: ServerState) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
    yield "polygraph_info", "The version of the server.", {"version": __version__}, 1
    yield "polygraph_work_admitted", "Questions that run or wait.", {}, state.threads.admitted
    memory = _resident_bytes()
    if memory:
        yield "polygraph_resident_memory_bytes", "Memory of the process.", {}, memory
    held = [(each["name"], each) for each in (summary(state, served) for served in state.indexes.all())]
    for what in ("documents", "chunks", "entities", "relations"):
        for name, found in held:
            yield f"polygraph_index_{what}", f"Number of {what}.", {"index": name}, found[what]


def _resident_bytes() -> int:
    """Return the memory of this process; 0 where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
