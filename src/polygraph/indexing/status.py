"""What an index holds and what state it is in."""

from dataclasses import asdict
from typing import Any

from polygraph.errors import quoted
from polygraph.indexing.documents import reading_notes
from polygraph.indexing.lost_relations import (
    count_lost_relations,
    count_self_loops,
    listed_lost_relations,
)
from polygraph.models.calls import Calls
from polygraph.store.generations import write_in_progress
from polygraph.store.layers import DEPENDENCIES, up_to_date
from polygraph.store.protocol import StoreReader


def count_records(store: StoreReader) -> dict[str, int]:
    """Return how many documents, chunks, entities and so on there are, relations in no graph, windows by state."""
    return {
        "documents": store.count("documents"),
        "chunks": store.count("chunks"),
        "entities": store.count("entities"),
        "relations": store.count("relations"),
        "communities": store.count("communities"),
        "reports": store.count("reports"),
        "lost relations": count_lost_relations(store),
        "self-loops": count_self_loops(store),
        **{f"windows {state}": n for state, n in store.extractions.states().items()},
    }


def describe_index(store: StoreReader, calls: Calls) -> dict[str, Any]:
    """Return counts, layers, notes, failures and the ledger as plain values.

    Args:
        store: open for reading.
        calls: of the models in use, with the ledger of the index.
    """
    from polygraph.indexing.estimate.reconcile import load_estimate

    manifest = store.manifest()
    ready, done = up_to_date(store, manifest), store.layers()
    return {
        "index": store.place,
        "documents": store.count("documents"),
        "counts": count_records(store),
        "layers": {
            name: {
                "state": "ready" if name in ready else "stale" if name in done else "missing",
                "rows": done[name][1] if name in done else 0,
                "seconds": round(done[name][2], 3) if name in done else 0.0,
            }
            for name in DEPENDENCIES
        },
        "embedder": manifest.embedder if manifest else "",
        "name_embedder": manifest.name_embedder if manifest else "",
        "extractor": manifest.extractor if manifest else "",
        "notes": _notes(store),
        "unread": [{"path": path, "reason": reason} for path, reason in store.documents.unread()],
        "failures": [
            {"window": window, "status": status, "problem": problem, "raw": raw}
            for window, status, problem, raw in store.extractions.failures()
        ],
        "lost_relations": listed_lost_relations(store),
        "batches": [asdict(file) for file in calls.waiting()],
        "ledger": [row.as_dict() for row in calls.ledger()],
        "estimate": load_estimate(store.folder, calls.ledger()),
    }


def _notes(store: StoreReader) -> list[str]:
    unread = reading_notes(store)
    if write_in_progress(store) is None:
        return [*unread, *store.notes()]
    other = "" if unread else f", or with: polygraph index --index {quoted(store.place)}"
    return [
        "a change is being made or was stopped, and questions are answered from the state before it. If it was "
        f"stopped, go on with the same command{other}",
        *unread,
        *store.notes(),
    ]
