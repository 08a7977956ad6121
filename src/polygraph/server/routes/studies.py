"""Studies: what they found, their reports, and their answers as points."""

from typing import Any

from fastapi import APIRouter, Response

from polygraph.server.state import Reader, State
from polygraph.server.views.studies import study_list, study_points, study_report, study_view

router = APIRouter(prefix="/api/v1/studies", tags=["studies"])
_CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""A report contains texts of models; nothing in it may run or load."""


@router.get("")
async def list_studies(state: State, _: Reader) -> dict[str, Any]:
    """List the studies in the folder of the server."""
    return {"studies": await state.threads.run(lambda: study_list(state.studies))}


@router.get("/{study}")
async def show_study(study: str, state: State, _: Reader) -> dict[str, Any]:
    """Show what a study consists of and what it recommends."""
    return await state.threads.run(lambda: study_view(state.studies, study))


@router.get("/{study}/report")
async def show_report(study: str, state: State, _: Reader) -> Response:
    """Return the report that the study wrote, as a page in which nothing runs."""
    text = await state.threads.run(lambda: study_report(state.studies, study))
    headers = {"content-security-policy": _CSP, "x-frame-options": "SAMEORIGIN"}
    return Response(text, media_type="text/html", headers=headers)


@router.get("/{study}/points")
async def show_points(study: str, state: State, _: Reader) -> dict[str, Any]:
    """Show the answers in two dimensions, coloured by method."""
    models = state.indexes.all()[0].index.models
    return {"points": await state.threads.run(lambda: study_points(state.studies, study, models))}
