"""Questions: ask as JSON or as events, retrieve, compare, explain."""

import threading
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from polygraph.records import Answer, AnswerForm
from polygraph.retrieve import method as find_method
from polygraph.server import answering
from polygraph.server.events import MEDIA_TYPE, EventLog, event_response
from polygraph.server.problems import Problem
from polygraph.server.state import Reader, ServerState, State
from polygraph.workspace.json_views import compared_json, retrieval_json

router = APIRouter(prefix="/api/v1/indexes/{index}", tags=["questions"])


class Asked(BaseModel):
    """What questions have in common."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(max_length=20_000)
    where: dict[str, str] | None = Field(None, max_length=20)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    form: AnswerForm | None = None


class Question(Asked):
    """A question to one method."""

    method: str | None = Field(None, max_length=200)
    history: list[tuple[str, str]] = Field([], max_length=50)
    paths: bool = False


class Comparison(Asked):
    """A question to several methods."""

    methods: list[str] = Field(min_length=2, max_length=4)


@router.post("/ask")
async def ask(index: str, body: Question, request: Request, state: State, principal: Reader) -> Response:
    """Answer a question with citations, or refuse; as events with `accept: text/event-stream`."""
    served = state.indexes[index]
    wants_events = MEDIA_TYPE in request.headers.get("accept", "")
    last = request.headers.get("last-event-id", "")
    if wants_events and last:
        id, _, n = last.rpartition(":")
        log = await state.answers.log(id, principal, served)
        return events(state, log, int(n[:9]) + 1 if n.isdecimal() else 0)
    if body.method:
        find_method(body.method)
    asked = answering.Asked(**body.model_dump())
    log = answering.start(state, served, principal, asked, streams=wants_events)
    if wants_events:
        return events(state, log)
    return state.json(await answering.result(log, request))


@router.post("/retrieve")
async def retrieve(index: str, body: Question, state: State, _: Reader) -> dict[str, Any]:
    """Find the evidence for a question without answering it, as `polygraph explain --json`."""
    served = state.indexes[index]

    def work() -> dict[str, Any]:
        with served.reading() as opened:
            return retrieval_json(
                opened.retrieve(body.question, body.method, where=body.where, max_tokens=body.max_tokens)
            )

    return await state.threads.run(work)


@router.post("/compare")
async def compare(index: str, body: Comparison, request: Request, state: State, _: Reader) -> dict[str, Any]:
    """Answer a question with several methods, as `polygraph compare --json`; hanging up ends the work."""
    gone = threading.Event()
    served = state.indexes[index]
    if len(set(body.methods)) < len(body.methods):
        raise Problem(400, "bad-input", "methods: name each method once")

    def work() -> list[Answer]:
        with served.reading() as opened:
            return opened.compare_live(
                body.question,
                body.methods,
                check=partial(answering.refuse_if_gone, gone),
                where=body.where,
                max_tokens=body.max_tokens,
                form=body.form,
                history=(),
            )

    found = await answering.wait(state.threads.run(work), request, gone)
    for each in found:
        state.metrics.answer(each.method, each.usage, refused=each.refused)
    answers = compared_json(found)
    shared = {
        chunk: [a["method"] for a in answers if chunk in a["shared"]]
        for a in answers
        for chunk in a["shared"]
    }
    return {"answers": answers, "shared": shared}


@router.get("/explain/{answer}")
async def explain(index: str, answer: str, state: State, principal: Reader) -> dict[str, Any]:
    """Show why an answer of the last hour found its evidence: seeds, scores, what was truncated."""
    found = await state.answers.answer(answer, principal, state.indexes[index])
    return answering.explained(found, answer)


def events(state: ServerState, log: EventLog, start: int = 0) -> Response:
    """Return the events of an answer as a response, from number `start`."""
    return event_response(log.read(start, state.settings.heartbeat_s, state.settings.resume_s))
