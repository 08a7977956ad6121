"""Building layers: the table of layers, and the loop that builds those that are missing or stale.

A layer that is up to date is skipped, so running a build again repeats nothing. Rows are committed as they come (per
document, per window or those that finished together), views in one transaction each, and files are written under a
temporary name and renamed. A build that was stopped continues from what was committed.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from polygraph.execution.protocol import Executor
from polygraph.indexing.chunk_layers import embed_chunks, index_words, number_chunks
from polygraph.indexing.cleanup import delete_old_files
from polygraph.indexing.description_layer import describe_graph
from polygraph.indexing.edge_layers import find_shared_names, link_facts, link_mentions, link_synonyms
from polygraph.indexing.graph_layer import build_graph
from polygraph.indexing.layer_task import LayerTask
from polygraph.indexing.lost_relations import listed_lost_relations
from polygraph.indexing.progress import BuildReport, Progress
from polygraph.indexing.report_layers import find_communities, report_communities
from polygraph.indexing.side_by_side import side_by_side
from polygraph.indexing.status import count_records
from polygraph.indexing.vector_layers import embed_graph
from polygraph.memory import limit_arenas, rare_collections, trim_heap
from polygraph.models import Models
from polygraph.models.retry import is_local
from polygraph.store.atomic_files import damage
from polygraph.store.connection import storage_errors_explained
from polygraph.store.layers import dependents, up_to_date, versions, with_dependencies
from polygraph.store.manifest import Manifest
from polygraph.store.protocol import Store

_LONG_S = 10.0
"""After a layer that took longer, garbage is collected before memory is released, which takes some dozens of
milliseconds."""


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
    Layer("names", ("chunks",), find_shared_names),
    Layer("chunk_vectors", ("chunks",), embed_chunks),
    Layer("graph", ("chunks",), build_graph),
    Layer("mentions", ("graph",), link_mentions),
    Layer("facts", ("graph",), link_facts),
    Layer("descriptions", ("graph",), describe_graph),
    Layer("communities", ("graph",), find_communities),
    Layer("entity_vectors", ("descriptions",), embed_graph),
    Layer("name_vectors", ("graph",), embed_graph),
    Layer("description_vectors", ("descriptions",), embed_graph),
    Layer("relation_vectors", ("descriptions",), embed_graph),
    Layer("fact_vectors", ("graph",), embed_graph),
    Layer("predicate_vectors", ("graph",), embed_graph),
    Layer("reports", ("communities",), report_communities),
    Layer("synonyms", ("name_vectors",), link_synonyms),
    Layer("report_vectors", ("reports",), embed_graph),
)
"""Every layer in the order of building; `store.layers.DEPENDENCIES` is what readers know of it."""

_SIDE_BY_SIDE = (
    frozenset({"lexical", "names", "chunk_vectors", "graph"}),
    frozenset(
        {
            "entity_vectors",
            "name_vectors",
            "description_vectors",
            "relation_vectors",
            "fact_vectors",
            "predicate_vectors",
            "reports",
        }
    ),
    frozenset({"synonyms", "report_vectors"}),
)
"""Layers that stand together in `LAYERS` and mostly wait for an endpoint; all but the last only read the store."""


def build(
    store: Store,
    manifest: Manifest,
    models: Models,
    layers: Sequence[str],
    report: BuildReport,
    progress: Progress,
    *,
    processes: int = 0,
    approximate_rows: int = 0,
    pgvector_rows: int = 0,
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
        approximate_rows: rows from which on the search of a layer of vectors is approximate; 0: never.
        pgvector_rows: rows from which on a database searches a layer of vectors itself; 0: never.
        executor: where extraction without a model runs; default: this machine.
        rebuild: the layers, of these, that are built even if they are up to date.
        extract: whether windows that are pending are read; imported ones stay as they are.
        on_change: called before a layer that was finished once is replaced.

    Raises:
        NothingExtracted: if the graph was asked for and no entity came out of any text.
        RequestsWaiting: with a batch, when nothing can continue without replies; what is done is kept.
    """
    with (
        models.calls.batch_round(),
        models.calls.meter() as meter,
        storage_errors_explained(store.folder),
        rare_collections(),
    ):
        if store.manifest() not in (None, manifest):
            on_change()
        wanted = with_dependencies(layers)
        # Nothing that a build does changes them.
        current = versions(store, manifest)
        intact: dict[Path, bool] = {}

        def is_intact(folder: Path) -> bool:
            if folder not in intact:
                intact[folder] = not damage(folder, thorough=True)
            return intact[folder]

        limit_arenas()
        told: set[str] = set()
        for group in _groups(models):
            tasks = []
            ready = up_to_date(store, manifest, is_intact, current)
            for layer in group:
                name = layer.name
                if name not in wanted:
                    continue
                if name not in rebuild and name in ready:
                    continue
                if name in store.layers():
                    on_change()
                task = LayerTask(
                    layer=name,
                    versions=current,
                    store=store,
                    manifest=manifest,
                    models=models,
                    progress=progress,
                    processes=processes,
                    approximate_rows=approximate_rows,
                    pgvector_rows=pgvector_rows,
                    executor=executor,
                    rebuild=name in rebuild,
                    extract=extract,
                )
                tasks.append((layer, task))
            if not tasks:
                continue
            # The layer before used other models, or none.
            tasks[0][1].release_models()
            seconds = _build_group(tasks, progress, told)
            # Reading what was just written would only find what the disk damages later.
            intact |= {task.folder: True for _, task in tasks}
            report.built |= seconds
            # Otherwise the memory of the next layers would add to the peak of this one.
            trim_heap(collect=max(seconds.values()) > _LONG_S)
        with store.transaction():
            store.set_manifest(manifest)
        report.notes = [*report.notes, *store.notes(), *sorted(told)]
        delete_old_files(store, manifest)
    report.usage = meter.usage
    report.counts = count_records(store)
    report.lost_relations = listed_lost_relations(store)
    return report


def _groups(models: Models) -> list[list[Layer]]:
    """Return the layers in order; those that are built side by side are in one group."""
    # Threads would write the requests of a batch in another order each time.
    waits = models.calls.batch is None and not (is_local(models.embedder) and is_local(models.name_embedder))
    groups: list[list[Layer]] = []
    for layer in LAYERS:
        if waits and groups and any({layer.name, groups[-1][-1].name} <= some for some in _SIDE_BY_SIDE):
            groups[-1].append(layer)
        else:
            groups.append([layer])
    return groups


def _build_group(
    tasks: Sequence[tuple[Layer, LayerTask]], progress: Progress, told: set[str]
) -> dict[str, float]:
    """Build the layers of a group and record those that are finished, also if another fails.

    Args:
        tasks: the layers.
        progress: called after each item.
        told: receives why the store cannot search layers itself.

    Returns:
        The seconds that each layer took.
    """
    done: dict[str, tuple[int, float]] = {}

    def build_one(layer: Layer, task: LayerTask, shared: Progress) -> None:
        task.progress = shared
        started = time.perf_counter()
        n_rows = layer.build(task)
        done[layer.name] = n_rows, time.perf_counter() - started

    try:
        if len(tasks) == 1:
            build_one(*tasks[0], progress)
        else:
            side_by_side([partial(build_one, *each) for each in tasks], progress)
    finally:
        for layer, task in tasks:
            if layer.name in done:
                told |= {_record(task, *done[layer.name])} - {""}
    return {layer.name: done[layer.name][1] for layer, _ in tasks}


def _record(task: LayerTask, n_rows: int, seconds: float) -> str:
    """Record that a layer is finished; return why the store cannot search it itself, if it should."""
    store = task.store
    with store.transaction():
        store.set_manifest(task.manifest)
        if task.rebuild:
            # Its version is the same, so the layers above would not notice that it changed.
            store.forget_layers(dependents(task.layer))
        store.put_layer(task.layer, task.version, n_rows, seconds)
        store.set_notes(task.layer, task.notes)
        return store.put_vectors(task.layer, task.version, task.pgvector_rows)
