"""An answer in work: a thread writes events, readers come and go, and work that nobody waits for ends."""

import asyncio
import logging
from typing import Any

from fastapi import Request

from polygraph.records import Answer
from polygraph.server.access import Principal
from polygraph.server.events import EventLog
from polygraph.server.problems import Problem, problem_of
from polygraph.server.served_indexes import ServedIndex
from polygraph.server.state import ServerState
from polygraph.workspace.json_views import answer_json, retrieval_json

_log = logging.getLogger("polygraph.server")
_POLL_S = 0.5


def start(state: ServerState, served: ServedIndex, principal: Principal, asked: dict[str, Any]) -> EventLog:
    """Begin to answer a question and return the log of its events.

    Args:
        state: of the server.
        served: the index to ask.
        principal: who asks.
        asked: `question` and the options of `Index.ask`, and `paths`.

    Raises:
        Problem: 503 if too many questions wait.
    """
    state.threads.check()
    log = state.answers.begin(principal.name, served.name)
    state.spawn(_work(state, served, log, asked))
    return log


async def result(log: EventLog, request: Request) -> dict[str, Any]:
    """Wait for an answer and return it whole; a client that hangs up ends the work.

    Raises:
        Problem: if there is none.
    """
    waiting = asyncio.ensure_future(log.finished())
    try:
        while not (await asyncio.wait({waiting}, timeout=_POLL_S))[0]:
            if await request.is_disconnected():
                log.abandoned.set()
    finally:
        waiting.cancel()
    if isinstance(log.result, Problem):
        raise log.result
    found: dict[str, Any] = log.result
    return found


async def _work(state: ServerState, served: ServedIndex, log: EventLog, asked: dict[str, Any]) -> None:
    try:
        await state.threads.run(lambda: _answer(state, served, log, asked))
    except Exception as error:
        problem = problem_of(error)
        if problem.status == 500:
            _log.exception("answer %s failed", log.id, exc_info=error)
        log.result = problem
        log.append("error", problem.as_dict())
    finally:
        log.close()


def _answer(state: ServerState, served: ServedIndex, log: EventLog, asked: dict[str, Any]) -> None:
    """Answer in a thread, on one snapshot."""
    options = dict(asked)
    question, method, paths = options.pop("question"), options.pop("method"), options.pop("paths")
    options["history"] = tuple(tuple(turn) for turn in options["history"])
    with served.reading() as opened:
        found: Answer | None = None
        for event in opened.stream(question, method, **options):
            if log.abandoned.is_set():
                raise Problem(499, "client-gone", "nobody waits for this answer any more")
            if event.retrieval is not None:
                log.append("retrieval", retrieval_json(event.retrieval))
            elif event.kind == "text":
                log.append("text", {"text": event.text})
            found = event.answer or found
        assert found is not None  # noqa: S101 - the last event of a stream
        chains = opened.paths(found, where=options["where"]) if paths else None
    whole = answer_json(found, chains) | {"id": log.id}
    for citation in whole["citations"]:
        log.append("citation", citation)
    log.append("usage", whole["usage"])
    state.answers.keep(log.id, retrieval_json(found.retrieval) | {"id": log.id, "text": found.text})
    log.result = whole
    log.append("answer", whole)
