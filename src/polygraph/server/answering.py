"""An answer in work: a thread writes events, readers come and go, and work that nobody waits for ends."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from polygraph.records import Answer, AnswerForm, Retrieval
from polygraph.server.access.tokens import Principal
from polygraph.server.events import EventLog
from polygraph.server.log import problem_and_log
from polygraph.server.problems import Problem
from polygraph.server.served_indexes import ServedIndex
from polygraph.server.state import ServerState
from polygraph.workspace.json_views import answer_json, retrieval_json

T = TypeVar("T")
_POLL_S = 0.5
CLIENT_GONE = 499
"""Status, in the log only, of an answer that nobody waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the options of `Index.ask`."""

    question: str
    method: str | None = None
    where: dict[str, str] | None = None
    max_tokens: int | None = None
    form: AnswerForm | None = None
    history: Sequence[tuple[str, str]] = ()
    paths: bool = False
    """Whether the facts that lead to each citation are wanted."""


def start(
    state: ServerState, served: ServedIndex, principal: Principal, asked: Asked, *, streams: bool
) -> EventLog:
    """Begin to answer a question and return the log of its events.

    Args:
        state: of the server.
        served: the index to ask.
        principal: who asks.
        asked: the question.
        streams: whether anybody reads events; else only `EventLog.result` is set.

    Raises:
        Problem: 503 if too many questions wait.
    """
    state.threads.check()
    log = state.answers.begin(principal.name, served.name)
    state.spawn(_work(state, served, log, asked, streams))
    return log


async def result(log: EventLog, request: Request) -> dict[str, Any]:
    """Wait for an answer and return it whole; a client that hangs up ends the work before its next step.

    Raises:
        Problem: if there is none.
    """
    await wait(log.finished(), request, log.abandoned)
    if isinstance(log.result, Problem):
        raise log.result
    found: dict[str, Any] = log.result
    return found


async def wait(work: Coroutine[Any, Any, T], request: Request, gone: threading.Event) -> T:
    """Wait for work and return its result; `gone` is set once the client has hung up."""
    waiting = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({waiting}, timeout=_POLL_S))[0]:
            if await request.is_disconnected():
                gone.set()
        return waiting.result()
    finally:
        waiting.cancel()


def refuse_if_gone(gone: threading.Event) -> None:
    """Raise `Problem` if the client has hung up."""
    if gone.is_set():
        raise Problem(CLIENT_GONE, "client-gone", "nobody waits for this answer any more")


async def _work(state: ServerState, served: ServedIndex, log: EventLog, asked: Asked, streams: bool) -> None:
    try:
        await state.threads.run(lambda: _answer(state, served, log, asked, streams))
    except Exception as error:
        problem = problem_and_log(error, state.secrets)
        log.result = problem
        log.append("error", problem.as_dict())
    finally:
        log.close()


def _answer(state: ServerState, served: ServedIndex, log: EventLog, asked: Asked, streams: bool) -> None:
    """Answer in a thread, on one snapshot."""

    def check() -> None:
        refuse_if_gone(log.abandoned)

    def on_retrieval(found: Retrieval) -> None:
        check()
        if streams:
            log.append("retrieval", retrieval_json(found))

    def on_text(text: str) -> None:
        check()
        log.append("text", {"text": text})

    check()
    log.removals = served.removals()
    with served.reading() as opened:
        found = opened.answer_live(
            asked.question,
            asked.method,
            where=asked.where,
            max_tokens=asked.max_tokens,
            form=asked.form,
            history=asked.history,
            on_retrieval=on_retrieval,
            # A reply that nobody reads as it comes is not asked for piece by piece, which would cost more.
            on_text=on_text if streams else None,
        )
        chains = opened.paths(found, where=asked.where) if asked.paths else None
    whole = answer_json(found, chains) | {"id": log.id}
    if streams:
        for citation in whole["citations"]:
            log.append("citation", citation)
        log.append("usage", whole["usage"])
        log.append("answer", whole)
    log.result = whole
    log.keep(found)
    state.metrics.answer(found.method, found.usage, refused=found.refused)


def explained(found: Answer, id: str) -> dict[str, Any]:
    """Return the evidence, trace and cuts of an answer."""
    return retrieval_json(found.retrieval) | {"id": id, "text": found.text, "refused": found.refused}
