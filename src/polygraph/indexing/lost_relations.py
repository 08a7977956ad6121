"""Relations that were extracted and are not in the graph, with the reason."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from polygraph.extract.llm import extractor as llm
from polygraph.graph.merge.merged_graph import SELF_LOOP
from polygraph.store.protocol import LostRelation, StoreReader

MAX_LISTED = 1_000
"""Lost relations in the JSON of `index` and `status`; `polygraph entities lost` lists all."""

EQUATES = "it says that both names are one entity"
"""Reason of a relation of which nothing is lost: its names were merged."""


def lost_relations(store: StoreReader) -> Iterator[LostRelation]:
    """Yield every relation that was extracted and is not in the graph.

    First those of model replies that could not be used, then those that became no relation of the graph, also those
    that say that two names are one entity; each by document and window. Of a window that failed nothing could be used,
    so it is listed as a failure instead.
    """
    yield from _unusable(store)
    yield from store.graph.lost_relations()


def count_lost_relations(store: StoreReader) -> int:
    """Return the number of relations that `lost_relations` lists, without those that merged two names."""
    in_graph = store.graph.n_lost_relations() - count_merging_relations(store)
    return sum(1 for _ in _unusable(store)) + in_graph


def count_merging_relations(store: StoreReader) -> int:
    """Return the number of relations that say that two names are one entity, and merged them."""
    return store.graph.n_lost_relations(EQUATES)


def count_self_loops(store: StoreReader) -> int:
    """Return the number of other relations whose names were resolved to one entity, of which the graph has no edge."""
    return store.graph.n_lost_relations(SELF_LOOP)


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
