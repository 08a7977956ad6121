"""Entities: find and look at them, why names are one, and decisions that correct it."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from polygraph.server.problems import Problem
from polygraph.server.routes import accepted_job, jobs_of
from polygraph.server.routes.graph import shown
from polygraph.server.state import Reader, State, Writer
from polygraph.server.views import graph as graph_views

router = APIRouter(prefix="/api/v1/indexes/{index}/entities", tags=["entities"])
_NEEDED = {"merge": ("a", "b"), "split": ("a",), "rename": ("a", "name"), "undo": ()}
"""What each action needs."""


class Decision(BaseModel):
    """A decision about entities, as the commands `polygraph entities merge`, `split`, `rename` and `undo`."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["merge", "split", "rename", "undo"]
    a: str | None = Field(None, max_length=2000)
    """Id or name of the entity."""
    b: str | None = Field(None, max_length=2000)
    """`merge`: the other entity."""
    other: str | None = Field(None, max_length=2000)
    """`split`: another name of the entity, which becomes one of its own."""
    by: Literal["document", "type"] | None = None
    """`split`: what tells the entities apart."""
    name: str | None = Field(None, max_length=2000)
    """`rename`: the new name."""
    number: int | None = Field(None, ge=0)
    """`undo`: of the decision; default: the last one."""


@router.get("")
async def find_entities(
    index: str,
    state: State,
    _: Reader,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Response:
    """Complete a name: equal names first, then beginnings, then the most mentioned."""
    return await shown(
        state, index, lambda graph, snapshot: {"entities": graph_views.completions(graph, snapshot, q, limit)}
    )


@router.get("/decisions")
async def list_decisions(index: str, state: State, _: Reader) -> dict[str, Any]:
    """List the decisions that are in force, as `polygraph entities decisions --json`."""
    served = state.indexes[index]
    found = await state.threads.run(lambda: [asdict(each) for each in served.index.entities.decisions()])
    return {"decisions": found}


@router.post("/decisions", status_code=202)
async def decide(index: str, body: Decision, state: State, principal: Writer) -> dict[str, Any]:
    """Merge, split or rename entities, or undo a decision, in a job."""
    served, jobs = state.indexes[index], jobs_of(state)
    missing = [name for name in _NEEDED[body.action] if not getattr(body, name)]
    if missing:
        raise Problem(
            422, "bad-request", f"{body.action} needs {' and '.join(missing)}. See: GET /openapi.json"
        )
    arguments = body.model_dump(exclude={"action"}, exclude_none=True)
    about = tuple(str(value) for value in (body.a, body.b, body.other, body.name) if value)
    job = await state.threads.run(
        lambda: jobs.add(body.action, served.name, principal.name, arguments, about)
    )
    return accepted_job(job)


@router.get("/why")
async def why(
    index: str,
    state: State,
    _: Reader,
    a: Annotated[str, Query(max_length=2000)],
    b: Annotated[str, Query(max_length=2000)] = "",
) -> dict[str, Any]:
    """Show why names are one entity or two, as `polygraph entities why --json`."""
    served = state.indexes[index]

    def work() -> dict[str, Any]:
        entities = served.index.entities
        if b:
            return {"pair": asdict(entities.why_pair(a, b))}
        return {"entities": [asdict(each) for each in entities.why(a)]}

    return await state.threads.run(work)


@router.get("/{entity:path}")
async def show_entity(index: str, entity: str, state: State, _: Reader) -> Response:
    """Show an entity: what documents say of it, its relations with the sentences they rest on, its reports."""
    return await shown(state, index, lambda graph, snapshot: graph_views.entity_view(graph, snapshot, entity))
