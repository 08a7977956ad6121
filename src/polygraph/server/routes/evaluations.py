"""Retrieval evaluations: methods by metrics, with intervals and paired differences."""

from typing import Any

from fastapi import APIRouter

from polygraph.server.state import Reader, State
from polygraph.server.views.evaluations import evaluation_list, evaluation_view

router = APIRouter(prefix="/api/v1/evaluations", tags=["evaluations"])


@router.get("")
async def list_evaluations(state: State, _: Reader) -> dict[str, Any]:
    """List the retrieval evaluations in the folder of studies."""
    return {"evaluations": await state.threads.run(lambda: evaluation_list(state.studies))}


@router.get("/{evaluation}")
async def show_evaluation(evaluation: str, state: State, _: Reader) -> dict[str, Any]:
    """Show the table of a retrieval evaluation: metrics with intervals, and paired differences."""
    return await state.threads.run(lambda: evaluation_view(state.studies, evaluation))
