"""The layers `communities` and `reports`."""

from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import numpy as np

from polygraph.graph.communities import communities
from polygraph.graph.csr import Graph
from polygraph.graph.reports.write import MIN_SIZE, extractive_reports, write_reports
from polygraph.ids import document_of_chunk
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.row_cache import known_qualities
from polygraph.records import Report
from polygraph.store.layers import GRAPH_FILE
from polygraph.store.protocol import DocumentReader
from polygraph.store.serialization import report_from_json, report_to_json


def find_communities(task: LayerTask) -> int:
    """Divide the graph into a hierarchy of communities."""
    store = task.store
    found = communities(
        _weighted_graph(task),
        store.graph.entity_ids(),
        (
            (chunk for _, chunks in parts for chunk in chunks)
            for _, parts in groupby(store.graph.mentions(), itemgetter(0))
        ),
        max_size=task.manifest.community_size,
    )
    with store.transaction():
        store.reports.put_communities(found)
    return store.count("communities")


def _weighted_graph(task: LayerTask) -> Graph:
    """Return the graph with relations weighted as the manifest says."""
    graph = Graph.load(task.folder_of("graph") / GRAPH_FILE)
    if task.manifest.community_weight == "strength":
        return graph
    edges = np.array(
        [(a, b, len(chunks)) for a, b, _, chunks in task.store.graph.edges_with_chunks("relations")],
        dtype=np.int64,
    ).reshape(-1, 3)
    return Graph.from_edges(graph.n, edges[:, 0], edges[:, 1], edges[:, 2].astype(np.float64))


def report_communities(task: LayerTask) -> int:
    """Write a report on each community."""
    if task.manifest.reports.startswith("extractive"):
        return _extractive_reports(task)
    return _model_reports(task)


def _extractive_reports(task: LayerTask) -> int:
    store, language = task.store, task.manifest.language
    with store.transaction():
        store.reports.put(
            extractive_reports(
                store.reports.counted_communities(),
                store.graph,
                store.documents.texts_of,
                language=language,
                qualities=known_qualities(store, store.extractions.decisions("split"), language),
                folder=task.scratch,
                on_done=task.counter(store.count("communities")),
            )
        )
        store.reports.keep_written(())
    return store.count("reports")


def _model_reports(task: LayerTask) -> int:
    """Have the model write what it has not written yet; without a model the missing reports are extractive."""
    store, language, chat = task.store, task.manifest.language, task.models.chat
    problems: list[str] = []
    used: set[str] = set()

    def known(key: str) -> Report | None:
        used.add(key)
        text = store.reports.written(key)
        return report_from_json(text) if text else None

    def keep(key: str, report: Report) -> None:
        with store.transaction():
            store.reports.put_written(key, report_to_json(report))

    communities = store.reports.communities()
    found = write_reports(
        communities,
        store.graph,
        store.documents.texts_of,
        task.models if chat is not None else None,
        max_words=task.manifest.report_words,
        language=language,
        date_of=_dates(store.documents),
        qualities=known_qualities(store, store.extractions.decisions("split"), language),
        folder=task.scratch,
        known=known,
        keep=keep if chat is not None else None,
        on_done=task.counter(store.count("communities")),
        on_problem=lambda _, problem: problems.append(problem),
    )
    if problems:
        task.notes.append(
            f"{len(problems)} of {len(found)} reports are extractive, because the model's replies could not be "
            f"used (first: {problems[0]})"
        )
    waiting = sum(
        report.written_by == "extractive" and len(community.entities) >= MIN_SIZE
        for community, report in zip(communities, found, strict=True)
    )
    if chat is None and waiting:
        task.notes.append(
            f"{waiting} of {len(found)} reports are extractive, because what a model had written of them is "
            "out of date. Have them written again with: polygraph refresh"
        )
    with store.transaction():
        store.reports.put(found)
        # Texts for inputs that no longer exist could quote documents that were removed.
        store.reports.keep_written(used)
    return len(found)


def _dates(documents: DocumentReader) -> Callable[[str], str]:
    """Return what finds the date of the document of a chunk, empty if it has none."""
    if not documents.has_dates():
        return lambda _: ""

    @lru_cache(maxsize=16_384)
    def date_of(chunk: str) -> str:
        document = document_of_chunk(chunk)
        return documents.dates([document]).get(document, "")

    return date_of
