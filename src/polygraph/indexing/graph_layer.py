"""The layer `graph`: extraction, entity resolution, and merging rows into entities, relations and triples."""

from collections.abc import Sequence
from contextlib import closing

import numpy as np

from polygraph.arrays import Table
from polygraph.errors import NothingExtracted
from polygraph.extract.resolution.records import ResolvedRows
from polygraph.extract.resolution.resolve import resolve_rows
from polygraph.graph.cooccurrence import Pruning, join_and_prune
from polygraph.graph.merge.merged_graph import MergedGraph
from polygraph.graph.merge.view import GraphView, view_of
from polygraph.indexing.extraction import extract_pending, why_nothing
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.row_cache import RowCache
from polygraph.memory import collector_paused, trim_heap
from polygraph.store.atomic_files import write_folder
from polygraph.store.layers import GRAPH_FILE


def build_graph(task: LayerTask) -> int:
    """Extract what is pending, resolve entities, and write the graph.

    Raises:
        NothingExtracted: if no entity came out of any text.
    """
    store = task.store
    extract_pending(task)
    trim_heap()
    cache = RowCache(store, store.extractions.decisions("apart"), task.manifest.language)
    with collector_paused(), closing(cache):
        cache.update(task.version, rebuild=task.rebuild)
        documents, features = cache.features()
        resolved = _resolve(task, documents, features)
        # Resolution takes as much memory as merging; most of it can be released before.
        features = features.only("written")
        trim_heap()
        n_entities = _write_graph(task, cache, documents, features, resolved)
    states = store.extractions.states()
    if states.get("failed"):
        task.notes.append(
            f"{states['failed']} of {sum(states.values())} windows could not be extracted; "
            "see: polygraph status --failed"
        )
    return n_entities


def _resolve(task: LayerTask, documents: Sequence[str], features: Table) -> ResolvedRows:
    """Decide which names are one entity."""
    store, models = task.store, task.models
    if not len(features) and store.count("windows"):
        raise NothingExtracted(why_nothing(store))
    task.progress("resolution", 0, 1)
    resolved = resolve_rows(
        documents,
        features,
        embed=lambda texts: models.calls.embed(models.name_embedder, texts, "name", stage="resolution"),
        cannot_link=store.extractions.decisions("apart"),
        must_link=store.extractions.decisions("together"),
    )
    task.progress("resolution", 1, 1)
    return resolved


def _write_graph(
    task: LayerTask, cache: RowCache, documents: Sequence[str], slots: Table, resolved: ResolvedRows
) -> int:
    """Merge rows by entity, write tables and arrays, and return the number of entities."""
    store = task.store
    first_chunk: dict[str, int] = {}
    chunk_ids: list[str] = []
    for document, n_chunks in store.documents.chunk_counts():
        first_chunk[document] = len(chunk_ids)
        chunk_ids += [f"{document}:{ordinal}" for ordinal in range(n_chunks)]
    merged = MergedGraph(
        cache.rows,
        slots,
        resolved.entity,
        resolved.ids,
        chunk_ids,
        first_chunk=np.array([first_chunk.get(document, 0) for document in documents], dtype=np.int64),
        read_texts=cache.texts,
    )
    cache.delete_texts_except(merged.text_keys())
    trim_heap()
    pruned = _join(task, view_of(merged)) if task.manifest.extractor.startswith("fast:") else None
    graph = (pruned or merged).graph()
    write_folder(task.folder, lambda folder: graph.save(folder / GRAPH_FILE), sealed=True)
    with store.transaction():
        store.graph.put(
            pruned.entities if pruned else merged.entities(),
            pruned.relations if pruned else merged.relations(),
            pruned.triples if pruned else merged.triples(),
            ((m.entity, m.name, m.document, m.rule, m.score, m.other) for m in resolved.merges),
        )
    return graph.n


def _join(task: LayerTask, view: GraphView) -> GraphView:
    """Build the pruned co-occurrence graph for an extractor without relations."""
    pruning = Pruning(**task.manifest.extractor_settings)
    joined = join_and_prune(view, task.store.count("chunks"), pruning)
    if view.entities and not joined.entities:
        task.notes.append(
            f"all {len(view.entities)} noun phrases were pruned, since none stands in {pruning.min_frequency} "
            "passages beside another: the graph is empty. Few or short documents are read better with: "
            "--extractor nlp"
        )
    return joined
