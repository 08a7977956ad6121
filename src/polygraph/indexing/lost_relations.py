"""Relations that were extracted and are not in the graph: those that were lost, and self-loops."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from polygraph.extract.llm import extractor as llm
from polygraph.graph.merge.merged_graph import SELF_LOOP
from polygraph.store.protocol import LostRelation, StoreReader

MAX_LISTED = 1_000
"""Lost relations in the JSON of `index` and `status`; `polygraph entities lost` lists all."""

EQUATES = "it says that both names are one entity"
"""Reason of a relation that merged its names."""
_SELF_LOOPS = (SELF_LOOP, EQUATES)
"""Reasons of relations whose names are one entity. Nothing is lost: their descriptions are kept with the entity."""


def lost_relations(store: StoreReader, *, self_loops: bool = False) -> Iterator[LostRelation]:
    """Yield the relations that were extracted and are nowhere in the graph.

    First those of model replies that could not be used, then those that became no relation of the graph; each by
    document and window. Of a window that failed nothing could be used, so it is listed as a failure instead.

    Args:
        store: open for reading.
        self_loops: also those whose two names are one entity.
    """
    yield from _unusable(store)
    for each in store.graph.lost_relations():
        if self_loops or each.reason not in _SELF_LOOPS:
            yield each


def count_lost_relations(store: StoreReader) -> int:
    """Return the number of relations that `lost_relations` yields without self-loops."""
    return sum(1 for _ in _unusable(store)) + store.graph.n_lost_relations() - count_self_loops(store)


def count_self_loops(store: StoreReader) -> int:
    """Return the number of relations whose two names are one entity."""
    return sum(map(store.graph.n_lost_relations, _SELF_LOOPS))


def listed_lost_relations(store: StoreReader) -> list[dict[str, Any]]:
    """Return the first lost relations as plain values."""
    return [each._asdict() for each in islice(lost_relations(store), MAX_LISTED)]


def _unusable(store: StoreReader) -> Iterator[LostRelation]:
    """Yield the relations of replies that the parser could not use."""
    manifest = store.manifest()
    if manifest is None or not manifest.reader.startswith("llm:"):
        return
    settings = manifest.extractor_settings
    gleans = settings.get("gleaning", "none") != "none"
    n_gleanings = int(settings.get("max_gleanings", 1)) if gleans else 0
    for window_id, status, problem, raw in store.extractions.failures():
        if status != "repaired" or not llm.may_have_lost_relations(problem):
            continue
        window = store.extractions.windows([window_id])[0]
        for dropped in llm.lost_relations(
            raw, window, entity_types=tuple(settings.get("entity_types", ())), max_gleanings=n_gleanings
        ):
            yield LostRelation(
                document=window.document,
                window=window.id,
                chunks=tuple(chunk.id for chunk in window.chunks),
                source="",
                predicate="",
                target="",
                description=dropped.line,
                reason=dropped.reason,
            )
