"""Building layers: the table of layers, and the loop that builds those that are missing or stale.

A layer that is up to date is skipped, so running a build again repeats nothing. Rows are committed as they come (per
document, per window), views in one transaction each, and files are written under a temporary name and renamed. A build
that was stopped continues from what was committed.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

from polygraph.execution.protocol import Executor
from polygraph.extract.nlp.workers import LocalExecutor
from polygraph.indexing.chunk_layers import embed_chunks, index_words, number_chunks
from polygraph.indexing.cleanup import delete_old_files
from polygraph.indexing.description_layer import describe_graph
from polygraph.indexing.edge_layers import find_shared_names, link_facts, link_mentions, link_synonyms
from polygraph.indexing.graph_layer import build_graph
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.lost_relations import listed_lost_relations
from polygraph.indexing.progress import BuildReport, Progress
from polygraph.indexing.report_layers import find_communities, report_communities
from polygraph.indexing.status import count_records
from polygraph.indexing.vector_layers import embed_graph
from polygraph.memory import trim_heap
from polygraph.models import Models
from polygraph.store.atomic_files import damage
from polygraph.store.connection import storage_errors_explained
from polygraph.store.layers import dependents, up_to_date, versions, with_dependencies
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store

_LONG_S = 1.0
"""After a layer that took longer, memory is released thoroughly, which takes time itself."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of an index and the function that builds it."""

    name: str
    rests_on: tuple[str, ...]
    build: Callable[[LayerTask], int]
    """Builds the layer and returns its number of rows."""


LAYERS = (
    Layer("chunks", (), number_chunks),
    Layer("lexical", ("chunks",), index_words),
    Layer("chunk_vectors", ("chunks",), embed_chunks),
    Layer("names", ("chunks",), find_shared_names),
    Layer("graph", ("chunks",), build_graph),
    Layer("mentions", ("graph",), link_mentions),
    Layer("facts", ("graph",), link_facts),
    Layer("descriptions", ("graph",), describe_graph),
    Layer("entity_vectors", ("descriptions",), embed_graph),
    Layer("name_vectors", ("graph",), embed_graph),
    Layer("synonyms", ("name_vectors",), link_synonyms),
    Layer("description_vectors", ("descriptions",), embed_graph),
    Layer("relation_vectors", ("descriptions",), embed_graph),
    Layer("fact_vectors", ("graph",), embed_graph),
    Layer("predicate_vectors", ("graph",), embed_graph),
    Layer("communities", ("graph",), find_communities),
    Layer("reports", ("communities",), report_communities),
    Layer("report_vectors", ("reports",), embed_graph),
)
"""Every layer in the order of building; `store.layers.DEPENDENCIES` is what readers know of it."""


def build(
    store: Store,
    manifest: Manifest,
    models: Models,
    layers: Sequence[str],
    report: BuildReport,
    progress: Progress,
    *,
    processes: int = 0,
    executor: Executor | None = None,
    rebuild: Collection[str] = (),
    extract: bool = True,
    on_change: Callable[[], object] = lambda: None,
) -> BuildReport:
    """Build some layers and those that they rest on, as far as they are missing or stale.

    Args:
        store: open for writing, with the documents in it.
        manifest: the settings to build with; becomes the manifest of the index.
        models: embedders, and a chat model if the manifest asks for one.
        layers: names from `LAYERS`.
        report: of `update_documents`; completed and returned.
        progress: called after each item.
        processes: workers for extraction without a model; 0: as many as pay off.
        executor: where extraction without a model runs; default: this machine.
        rebuild: the layers, of these, that are built even if they are up to date.
        extract: whether windows that are pending are read; imported ones stay as they are.
        on_change: called before a layer that was finished once is replaced.

    Raises:
        NothingExtracted: if the graph was asked for and no entity came out of any text.
        RequestsWaiting: with a batch, when nothing can continue without replies; what is done is kept.
    """
    with models.calls.batch_round(), models.calls.meter() as meter, storage_errors_explained(store.folder):
        if store.manifest() not in (None, manifest):
            on_change()
        is_intact = cache(lambda folder: not damage(folder, thorough=True))
        wanted = with_dependencies(layers)
        for layer in LAYERS:
            name = layer.name
            if name not in wanted:
                continue
            if name not in rebuild and name in up_to_date(store, manifest, is_intact):
                continue
            if name in store.layers():
                on_change()
            task = LayerTask(
                layer=name,
                store=store,
                manifest=manifest,
                models=models,
                progress=progress,
                processes=processes,
                executor=executor or LocalExecutor(),
                rebuild=name in rebuild,
                extract=extract,
            )
            # The layer before used other models, or none.
            task.release_models()
            started = time.perf_counter()
            n_rows = layer.build(task)
            seconds = time.perf_counter() - started
            _record(task, n_rows, seconds)
            is_intact.cache_clear()
            report.built[name] = seconds
            # Otherwise the memory of the next layers would add to the peak of this one.
            trim_heap(collect=seconds > _LONG_S)
        with store.transaction():
            store.set_manifest(manifest)
        report.notes = store.notes()
        delete_old_files(store, manifest)
    report.usage = meter.usage
    report.counts = count_records(store)
    report.lost_relations = listed_lost_relations(store)
    return report


def _record(task: LayerTask, n_rows: int, seconds: float) -> None:
    """Record that a layer is finished."""
    store = task.store
    with store.transaction():
        store.set_manifest(task.manifest)
        if task.rebuild:
            # Its version is the same, so the layers above would not notice that it changed.
            store.forget_layers(dependents(task.layer))
        store.put_layer(task.layer, versions(store, task.manifest)[task.layer], n_rows, seconds)
        store.set_notes(task.layer, task.notes)
