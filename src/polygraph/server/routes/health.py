"""Whether the server lives and can answer."""

from typing import Any

from fastapi import APIRouter

from polygraph.server.problems import Problem
from polygraph.server.state import State

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def health() -> dict[str, Any]:
    """Tell that the server lives."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(state: State) -> dict[str, Any]:
    """Tell whether the server takes questions."""
    if state.stopping:
        raise Problem(503, "stopping", "the server is stopping. Ask another one")
    return {"status": "ok"}
