"""The indexes, their states and the methods."""

from typing import Any

from fastapi import APIRouter

from polygraph.errors import IndexMismatch, IndexUnreadable, MissingLayer, StorageFailed
from polygraph.retrieve import METHODS, describe
from polygraph.retrieve.base import require
from polygraph.server.problems import NoDocuments
from polygraph.server.served_indexes import PinnedIndex, ServedIndex
from polygraph.server.state import Reader, ServerState, State
from polygraph.store.generations import write_in_progress
from polygraph.workspace.json_views import methods_json, need_of

router = APIRouter(prefix="/api/v1", tags=["indexes"])


@router.get("/indexes")
async def list_indexes(state: State, principal: Reader) -> dict[str, Any]:
    """List the indexes with what they hold and which methods they are ready for."""
    found = await state.threads.run(lambda: [summary(state, each) for each in state.indexes.all()])
    may_write = principal.may("write")
    return {"indexes": [each | {"writable": each["writable"] and may_write} for each in found]}


@router.get("/indexes/{index}")
async def show_index(index: str, state: State, principal: Reader) -> dict[str, Any]:
    """Show one index, with its layers, failures and costs as `polygraph status --json`."""
    served = state.indexes[index]

    def work() -> dict[str, Any]:
        found = summary(state, served)
        try:
            status = served.index.status() | {"index": served.name}
        except (IndexUnreadable, StorageFailed):
            status = None
        return found | {"status": status}

    found = await state.threads.run(work)
    return found | {"writable": found["writable"] and principal.may("write")}


@router.get("/methods")
async def list_methods(state: State, _: Reader) -> dict[str, Any]:
    """List every method with its requirements, costs and strengths, as `polygraph methods --json`."""
    found = await state.threads.run(lambda: methods_json(list(METHODS), {}))
    return {"methods": [each | {"need": need_of(each["name"])} for each in found]}


def summary(state: ServerState, served: ServedIndex) -> dict[str, Any]:
    """Return what a list of indexes says of one; an index that is not made yet is empty."""
    chat = served.index.models.chat
    found = {
        "name": served.name,
        "default_method": served.index.settings.method,
        "chat_model": chat.name if chat is not None else None,
        "writable": state.settings.write,
    }
    try:
        facts: dict[str, Any] = served.facts(_facts)
        return found | facts
    except (IndexUnreadable, StorageFailed) as error:
        counts = dict.fromkeys(("documents", "chunks", "entities", "relations"), 0)
        note = {} if isinstance(error, NoDocuments) else {"note": str(error)}
        return found | counts | {"layers": [], "methods": [], "stale": False} | note


def _facts(index: PinnedIndex) -> dict[str, Any]:
    """Return what depends on the state of an index alone."""
    snapshot = index.snapshot()
    store = snapshot.store
    counts = {name: store.count(name) for name in ("documents", "chunks", "entities", "relations")}
    return {
        **counts,
        "layers": sorted(snapshot.layers),
        "methods": [
            {
                "name": name,
                "ready": _is_ready(index, name),
                "need": need_of(name),
                "summary": describe(name).summary,
            }
            for name in METHODS
            if ":" not in name
        ],
        "stale": bool(set(store.layers()) - snapshot.layers) or write_in_progress(store) is not None,
    }


def _is_ready(index: PinnedIndex, name: str) -> bool:
    try:
        require(index.snapshot(), name, METHODS[name].needs, index.models)
    except (MissingLayer, IndexMismatch):
        return False
    return True
