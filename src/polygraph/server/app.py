"""The application: routes, the gate around them, start and stop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from polygraph import __version__
from polygraph.errors import PolygraphError
from polygraph.server import openai_api
from polygraph.server.access.limits import ClientTooSlow
from polygraph.server.access.tokens import Tokens
from polygraph.server.gate import Gate
from polygraph.server.jobs.supervisor import Jobs
from polygraph.server.log import problem_and_log
from polygraph.server.mcp.server import PATH as MCP_PATH
from polygraph.server.mcp.server import HttpEndpoint, McpServer
from polygraph.server.problems import MEDIA_TYPE, Problem, invalid, problem_of
from polygraph.server.routes import (
    asking,
    documents,
    entities,
    evaluations,
    graph,
    health,
    indexes,
    jobs,
    judging,
    page,
    studies,
)
from polygraph.server.served_indexes import ServedIndexes
from polygraph.server.settings import ServerSettings
from polygraph.server.state import ServerState
from polygraph.workspace.index import Index


def create_app(opened: Mapping[str, Index], tokens: Tokens, settings: ServerSettings) -> Gate:
    """Return the application.

    Args:
        opened: indexes by name; closed when the application stops.
        tokens: that are accepted.
        settings: of the server.
    """
    state = ServerState(settings, tokens, ServedIndexes(opened))
    if settings.write:
        first = state.indexes.first.folder
        state.jobs = Jobs(settings.jobs or first / "jobs.sqlite", opened, settings.open_index)
    app = FastAPI(
        title="Polygraph",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        default_response_class=state.json,
    )
    app.state.server = state
    for error in (Problem, PolygraphError):
        app.add_exception_handler(error, _show_problem)
    app.add_exception_handler(Exception, _show_unexpected)
    app.add_exception_handler(RequestValidationError, _show_invalid)
    app.add_exception_handler(HTTPException, _show_http)
    # Routes are tried one after the other, and most requests are questions in this form.
    for router in (
        openai_api.router,
        health.router,
        indexes.router,
        asking.router,
        documents.router,
        jobs.router,
        graph.router,
        entities.router,
        judging.router,
        studies.router,
        evaluations.router,
    ):
        app.include_router(router)
    app.state.mcp = HttpEndpoint(McpServer(state, write=settings.write))
    app.router.routes.append(Route(MCP_PATH, app.state.mcp, include_in_schema=False))
    if settings.page:
        app.include_router(page.router)
    return Gate(app, state)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: ServerState = app.state.server
    stopped = threading.Event()
    watcher = threading.Thread(target=state.indexes.watch, args=(stopped,), daemon=True)
    watcher.start()
    if state.jobs is not None:
        await asyncio.to_thread(state.jobs.start)
    try:
        async with app.state.mcp.running():
            yield
    finally:
        stopped.set()
        await state.stop()
        await asyncio.to_thread(watcher.join, 5)


def _problem_response(request: Request, problem: Problem) -> JSONResponse:
    state: ServerState = request.app.state.server
    path = request.url.path
    media_type = "application/json" if path.startswith("/v1/") else MEDIA_TYPE
    return state.json(problem.body(path), problem.status, problem.headers, media_type)


async def _show_problem(request: Request, error: Exception) -> JSONResponse:
    state: ServerState = request.app.state.server
    return _problem_response(request, problem_and_log(error, state.secrets))


async def _show_unexpected(request: Request, error: Exception) -> JSONResponse:
    # The framework calls this also when a part of another response was sent, and raises the error again.
    if isinstance(error, ClientTooSlow):
        return _problem_response(request, problem_of(error))
    return await _show_problem(request, error)


async def _show_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    first = error.errors()[0]
    if first["loc"] == ("body",) and isinstance(first.get("input"), bytes):
        # A body of another type is passed on as it is.
        problem = Problem(
            422,
            "bad-request",
            "the body is not marked as JSON. Add the header content-type: application/json",
        )
    else:
        problem = invalid(first)
    return _problem_response(request, problem)


async def _show_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    known = {
        # A body of which not even the characters can be read.
        400: Problem(400, "bad-request", "the body is not JSON in UTF-8. See: GET /openapi.json"),
        404: Problem(404, "unknown-path", "there is nothing at this address. See: GET /openapi.json"),
        405: Problem(
            405, "method-not-allowed", "this address does not support that method. See: GET /openapi.json"
        ),
    }
    problem = known.get(error.status_code, Problem(error.status_code, "bad-request", str(error.detail)[:200]))
    problem.headers.update(error.headers or {})
    return _problem_response(request, problem)
