"""Documents: list and read, upload and remove, and what indexing them would cost."""

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from polygraph.errors import IndexUnreadable
from polygraph.retrieve import method as find_method
from polygraph.server.jobs.queue import ENDED, Job
from polygraph.server.problems import Problem, invalid
from polygraph.server.routes import accepted_job, jobs_of
from polygraph.server.state import Reader, ServerState, State, Writer
from polygraph.server.uploads.folder import Receiver, UploadFolder
from polygraph.server.uploads.form import MultipartForm
from polygraph.server.views.documents import document_list, document_text, to_remove

router = APIRouter(prefix="/api/v1/indexes/{index}", tags=["documents"])
OptionsT = TypeVar("OptionsT", bound="Options")
_POLL_S = 0.1
_ESTIMATE_S = 300.0
"""Longest wait for an estimate."""
_PAGE_S = 20.0
"""For a page of the web to arrive."""


class Options(BaseModel):
    """How documents are indexed."""

    model_config = ConfigDict(extra="forbid")

    methods: list[str] = Field([], max_length=50)
    """Build only the layers that these methods need."""
    extractor: str | None = Field(None, pattern="^(llm|nlp)$")
    max_cost: float | None = Field(None, ge=0)
    """Cap in US dollars; what is done when it is reached is kept."""


class PastedText(Options):
    """A text as a document."""

    text: str = Field(min_length=1, max_length=50_000_000)
    title: str = Field("", max_length=1000)


class PageAddress(Options):
    """A page of the web as a document."""

    url: str = Field(min_length=1, max_length=2_000)


@router.get("/documents")
async def list_documents(
    index: str,
    state: State,
    _: Reader,
    q: Annotated[str, Query(max_length=500)] = "",
    cursor: Annotated[str, Query(max_length=4000)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """List documents by id, and the files that could not be read, with the reason."""
    served = state.indexes[index]

    def work() -> dict[str, Any]:
        try:
            with served.reading() as opened:
                return document_list(opened.snapshot(), q, cursor, limit)
        except IndexUnreadable as error:  # no index yet, one that is being built, or a damaged one
            return {"documents": [], "unread": [], "next": None, "note": str(error)}

    return await state.threads.run(work)


@router.get("/documents/{document:path}")
async def show_document(
    index: str,
    document: str,
    state: State,
    _: Reader,
    span: Annotated[str, Query(pattern=r"^(\d{1,12}-\d{1,12})?$")] = "",
    start: Annotated[int | None, Query(ge=0)] = None,
    end: Annotated[int | None, Query(ge=0)] = None,
) -> dict[str, Any]:
    """Show the text of a document with its passages; of a long one, the part around the span."""
    served = state.indexes[index]
    first, _dash, last = span.partition("-")
    marked = (int(first), int(last)) if span else None

    def work() -> dict[str, Any]:
        with served.reading() as opened:
            return document_text(opened.snapshot(), document, marked, start, end)

    return await state.threads.run(work)


@router.post("/documents", status_code=202)
async def add_documents(index: str, request: Request, state: State, principal: Writer) -> dict[str, Any]:
    """Upload files (multipart), a text or the address of a page (JSON), and index them in a job."""
    served, jobs = state.indexes[index], jobs_of(state)
    uploads = UploadFolder(served.folder)
    received, options = await _receive(request, state, uploads)

    def work() -> tuple[Job, list[dict[str, Any]]]:
        upload = uploads.hold(received)
        held = uploads.list_held(upload)
        names = tuple(each.name for each in held)
        job = jobs.add("index", served.name, principal.name, options | {"upload": upload}, names[:20])
        return job, [asdict(each) for each in held]

    job, files = await _kept(received, work)
    return accepted_job(job, files=files)


@router.delete("/documents/{document:path}", status_code=202)
async def remove_document(
    index: str, document: str, state: State, principal: Writer, forget: bool = False, whole_file: bool = False
) -> dict[str, Any]:
    """Remove a document in a job; an uploaded file is deleted. `forget` deletes every trace from the disk.

    `whole_file` removes an uploaded file that holds several documents, with all of them.
    """
    served, jobs = state.indexes[index], jobs_of(state)
    uploads = UploadFolder(served.folder)

    def work() -> Job:
        with served.reading() as opened:
            documents, files = to_remove(opened.snapshot(), document, uploads, whole_file=whole_file)
        arguments = {"documents": documents, "forget": forget, "files": files}
        return jobs.add("remove", served.name, principal.name, arguments, (document,))

    return accepted_job(await state.threads.run(work))


@router.post("/estimate")
async def estimate(index: str, request: Request, state: State, principal: Writer) -> Any:
    """Estimate what indexing uploaded files, a text, or what is missing would cost, as `polygraph estimate --json`."""
    served, jobs = state.indexes[index], jobs_of(state)
    uploads = UploadFolder(served.folder)
    received, options = await _receive(request, state, uploads, may_be_empty=True)
    del options["max_cost"]

    def work() -> Job:
        if received.n_files:
            options["upload"] = uploads.hold(received)
        return jobs.add("estimate", served.name, principal.name, options)

    job = await _kept(received, work)
    waited = 0.0
    while job.state not in ENDED and waited < _ESTIMATE_S:
        if await request.is_disconnected():
            await to_thread.run_sync(jobs.cancel, job.id)
            break
        await asyncio.sleep(_POLL_S)
        waited += _POLL_S
        job = await to_thread.run_sync(jobs.queue.get, job.id)
    if job.state == "done":
        return job.report
    if job.state in ENDED:
        raise Problem(422, "no-estimate", job.message or "the estimate was cancelled")
    raise Problem(
        503,
        "estimate-waits",
        f"other work goes first. Look for the result under /api/v1/jobs/{job.id}",
        {"retry-after": "30"},
    )


async def _receive(
    request: Request, state: ServerState, uploads: UploadFolder, *, may_be_empty: bool = False
) -> tuple[Receiver, dict[str, Any]]:
    """Take the files or the text of a request; what was received of a request that fails is deleted."""
    kind = request.headers.get("content-type", "")
    settings = state.settings
    received = await to_thread.run_sync(uploads.receive, settings.max_file_bytes, settings.max_files)
    try:
        if kind.startswith("multipart/"):
            form = MultipartForm(kind, received)
            async for piece in request.stream():
                if piece:
                    await to_thread.run_sync(form.feed, piece)
            await to_thread.run_sync(form.finish)
            options = _valid(Options, _from_form(form.fields))
        else:
            body = await request.body()
            given = _json(body) if body.strip() else {}
            is_page = isinstance(given, dict) and "url" in given
            take = _take_page if is_page else _take_text
            options = await to_thread.run_sync(take, given, received, may_be_empty)
        for name in options.methods:
            find_method(name)
        if not received.n_files and not may_be_empty:
            raise Problem(
                400, "nothing-sent", "there is no file in the upload. Send parts named files, or a JSON text"
            )
    except BaseException:
        await to_thread.run_sync(received.abort)
        raise
    return received, options.model_dump(exclude={"text", "title", "url"})


async def _kept(received: Receiver, work: Any) -> Any:
    """Run what puts received files in their place; they are deleted if it fails."""
    try:
        return await to_thread.run_sync(work)
    finally:
        await to_thread.run_sync(received.abort)


def _take_text(given: Any, received: Receiver, may_be_empty: bool) -> Options:
    if may_be_empty and isinstance(given, dict) and "text" not in given:
        return _valid(Options, given)
    pasted = _valid(PastedText, given)
    received.begin(f"{pasted.title or 'note'}.txt")
    received.write(pasted.text.encode("utf-8", "replace"))
    received.end()
    return pasted


def _take_page(given: Any, received: Receiver, _: bool) -> Options:
    """Fetch a page as if its file had been uploaded.

    Raises:
        Problem: 422 if it cannot be fetched, or is not of the public web.
    """
    from polygraph.fetching import FetchFailed, PrivateAddress, fetch_page

    asked = _valid(PageAddress, given)
    try:
        page = fetch_page(asked.url, max_bytes=received.max_bytes, deadline_s=_PAGE_S)
    except PrivateAddress:
        detail = "the page is not of the public web. Save it and upload the file"
        raise Problem(422, "private-address", detail) from None
    except FetchFailed as problem:
        raise Problem(422, "page-not-fetched", f"the page was not fetched: {problem}") from problem
    received.begin(page.name)
    received.write(page.body)
    received.end(page.url)
    return asked


def _valid(model: type[OptionsT], given: Any) -> OptionsT:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid(error.errors()[0]) from error


def _from_form(fields: dict[str, str]) -> dict[str, Any]:
    """Return the options among the fields of a form; numbers and lists are JSON."""
    found: dict[str, Any] = dict(fields)
    for name in ("methods", "max_cost"):
        if name in found:
            with suppress(ValueError):
                found[name] = json.loads(found[name])
    return found


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "bad-request", "the body is neither a form of files nor JSON") from error
