"""The graph: maps of communities and entities, neighbourhoods, reports."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from polygraph.server.problems import Problem
from polygraph.server.state import Reader, ServerState, State
from polygraph.server.views import graph as graph_views
from polygraph.store.snapshot import Snapshot
from polygraph.workspace.graph_map import GraphMap

router = APIRouter(prefix="/api/v1/indexes/{index}", tags=["graph"])


@router.get("/graph/communities")
async def communities(
    index: str, state: State, _: Reader, level: Annotated[int | None, Query(ge=0, le=100)] = None
) -> Response:
    """Show the communities of a level as a map; without a level, those of all levels."""
    return await shown(state, index, lambda graph, _: graph_views.communities_view(graph, level))


@router.get("/graph/entities")
async def entities(
    index: str,
    state: State,
    _: Reader,
    cursor: Annotated[str, Query(pattern=r"^\d{0,9}$")] = "",
    limit: Annotated[int, Query(ge=1, le=graph_views.MAX_ENTITIES)] = 10_000,
) -> Response:
    """Show entities as columns with their places, the best connected first, and the edges among them."""
    start = int(cursor or 0)
    return await shown(state, index, lambda graph, _: graph_views.entities_view(graph, start, limit))


@router.get("/graph/neighbours")
async def neighbours(
    index: str,
    state: State,
    _: Reader,
    entity: Annotated[str, Query(max_length=2000)],
    hops: Annotated[int, Query(ge=1, le=2)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Show an entity with those around it, the strongest connected first."""
    return await shown(state, index, lambda graph, _: graph_views.neighbours_view(graph, entity, hops, limit))


@router.get("/reports/{report:path}")
async def report(index: str, report: str, state: State, _: Reader) -> Response:
    """Show the report of a community."""
    return await shown(state, index, lambda graph, snapshot: graph_views.report_view(graph, snapshot, report))


async def shown(
    state: ServerState, index: str, view: Callable[[GraphMap, Snapshot], dict[str, Any]]
) -> Response:
    """Return a view of the graph of an index as JSON; the whole is made in a thread, since it may be large."""
    served = state.indexes[index]

    def work() -> Response:
        with served.reading() as opened:
            snapshot = opened.snapshot()
            if not snapshot.store.count("documents"):
                raise Problem(
                    409, "no-documents", "the index has no documents yet. Add some, then look at its graph"
                )
            if "graph" not in snapshot.layers:
                raise Problem(
                    409,
                    "missing-layer",
                    f"the index {index} has no graph. Build it on the server with: polygraph index --index DIR",
                )
            return state.json(view(graph_views.map_of(snapshot), snapshot))

    return await state.threads.run(work)
