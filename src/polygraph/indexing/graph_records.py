"""The records of a graph that fits into memory, shared by the layers of a build."""

import threading
from collections.abc import Iterable
from typing import TypeAlias

from polygraph.graph.merge.view import GraphView
from polygraph.graph.reports.kept_records import MOST_KEPT
from polygraph.store.protocol import GraphStore, Store, SummaryKind

GraphSource: TypeAlias = GraphView | GraphStore
"""Where the layers read entities and relations: records in memory, or the tables."""


class GraphRecords:
    """Entities and relations of one build, made or read once.

    Half a dozen steps read all of them: descriptions, the texts of three layers of vectors, sentences and contexts of
    reports. Each would look up the texts and parse the JSON of every row again, a twentieth of the CPU of an index with
    an endpoint. Of a graph with more than `MOST_KEPT` entities or relations nothing is kept.

    Args:
        store: with the tables.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view: GraphView | None = None
        self._lock = threading.Lock()

    def source(self) -> GraphSource:
        """Return the records if there are few, else the tables; both say the same."""
        tables = self._store.graph
        with self._lock:  # layers that are built side by side read them once
            n_most = max(self._store.count("entities"), self._store.count("relations"))
            if self._view is None and n_most <= MOST_KEPT:
                self._view = GraphView(
                    entities=tuple(tables.all_entities()), relations=tuple(tables.all_relations())
                )
            return self._view or tables

    def put(self, view: GraphView | None) -> None:
        """Take the records of the graph that was just written, if they are at hand."""
        few = view is not None and max(len(view.entities), len(view.relations)) <= MOST_KEPT
        self._view = view if few else None

    def put_summaries(self, summaries: Iterable[tuple[SummaryKind, int, str]]) -> None:
        """Take the summaries that were just written instead of earlier ones.

        Args:
            summaries: of each the kind, the row of its entity or relation, and the text.
        """
        if self._view is not None:
            self._view = self._view.with_summaries(summaries)
